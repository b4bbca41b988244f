//! Every decision and every refusal of a begin.

use guard::event::Resolution;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"doc":"INV-001","total":"118.00","currency":"EUR"}"#;

on_both!(
    the_first_begin_may_send_and_knows_what_it_needs,
    a_confirmed_operation_is_replayed,
    a_live_lease_is_in_progress,
    an_uncertain_operation_is_unknown_until_a_person_decides,
    what_a_person_dropped_is_never_sent_again,
    a_proven_failure_may_be_begun_again,
    revisions_wait_for_their_turn,
    what_is_left_out_has_its_default,
    every_field_that_cannot_be_taken_is_named,
    a_mistyped_member_is_refused_before_it_changes_the_meaning,
    an_unknown_workflow_lists_those_that_there_are,
    a_begin_id_is_not_the_delivery_id,
    nothing_is_stored_by_a_refusal,
);

async fn the_first_begin_may_send_and_knows_what_it_needs(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let answer = billing.begin("INV-001", PAYLOAD).with("worker", "\"w-3\"").await;
    let grant = answer.expect_proceed();
    assert_eq!(grant.attempt, 1);
    assert!(!grant.repeated);
    assert!((1..=35).contains(&grant.external_reference.len()), "what ISO 20022 takes: {grant:?}");
    let operation = billing.read(&grant.id).await;
    assert_eq!(operation["state"], "sending", "one step: a write is possible from here on");
    assert_eq!(operation["external_reference"], grant.external_reference.as_str());
    assert_eq!(operation["fingerprint"].as_str().unwrap().len(), "sha256:".len() + 64);
    assert_eq!(operation, answer.json()["operation"], "the answer has the operation as it is read");
    assert_eq!(answer.header("location").unwrap(), format!("/api/v1/operations/{}", grant.id));
    for moment in ["created_at", "updated_at", "lease_expires_at"] {
        let text = operation[moment].as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z'), "RFC 3339, UTC, milliseconds: {text}");
    }
    desk.close().await;
}

async fn a_confirmed_operation_is_replayed(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    billing.confirm(&grant, "task-907").await.expect_state("confirmed");
    for _ in 0..3 {
        assert_eq!(billing.begin("INV-001", PAYLOAD).await.expect_replay(), "task-907");
    }
    assert_eq!(billing.event_kinds(&grant.id).await, ["begun", "reported"], "a replay is read, not written");
    desk.close().await;
}

async fn a_live_lease_is_in_progress(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", PAYLOAD).with("lease_seconds", "5").await.expect_proceed();
    let held = billing.begin("INV-001", PAYLOAD).await;
    let body = held.expect_in_progress();
    assert_eq!(body["operation"]["id"], grant.id.as_str());
    assert!(body.get("lease").is_none(), "the lease is its owner's");
    assert!(!held.text.contains(&grant.lease_token));
    assert!(held.header("retry-after").unwrap().parse::<u64>().unwrap() <= 5, "{held:?}");
    desk.close().await;
}

async fn an_uncertain_operation_is_unknown_until_a_person_decides(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    billing.lose_track(&grant, "no answer within 10 s").await.expect_state("unknown");
    desk.pass(365 * 24 * 3_600);
    billing.begin("INV-001", PAYLOAD).await.expect_unknown();
    let confirmed = Resolution::Confirmed { destination_reference: "task-907".to_owned() };
    desk.resolve(&grant.id, confirmed).await;
    assert_eq!(billing.begin("INV-001", PAYLOAD).await.expect_replay(), "task-907");
    desk.close().await;
}

async fn what_a_person_dropped_is_never_sent_again(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    billing.lose_track(&grant, "no answer within 10 s").await.expect_state("unknown");
    desk.resolve(&grant.id, Resolution::Dropped { reason: "its day is over".to_owned() }).await;
    desk.pass(365 * 24 * 3_600);
    let body = billing.begin("INV-001", PAYLOAD).await.expect_stop("rejected");
    assert_eq!(body["detail"], "a person dropped it: its day is over");
    assert_eq!(body["operation"]["state"], "rejected");
    billing.lose_track(&grant, "still none").await.expect_state("rejected");
    billing.confirm(&grant, "task-907").await.expect_problem(409, "outcome_disagrees");
    billing.begin("INV-001", PAYLOAD).await.expect_unknown();
    desk.close().await;
}

async fn a_proven_failure_may_be_begun_again(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let first = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    billing.fail(&first, "422: unknown account").await.expect_state("failed");
    let second = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    assert_eq!((second.attempt, &second.id), (2, &first.id));
    assert_ne!(second.lease_token, first.lease_token);
    assert_eq!(
        second.idempotency_key, first.idempotency_key,
        "a destination that remembers it refuses a second record"
    );
    desk.close().await;
}

async fn revisions_wait_for_their_turn(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let second = || billing.begin("INV-001", PAYLOAD).with("revision", "2");
    let body = second().await.expect_stop("previous_revision");
    assert!(body.get("operation").is_none() && body.get("previous").is_none(), "{body}");
    let grant = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    assert_eq!(second().await.expect_stop("previous_revision")["previous"]["operation"], grant.id.as_str());
    billing.confirm(&grant, "task-907").await;
    assert_eq!(second().await.expect_stop("approval_missing")["previous"]["state"], "confirmed");
    billing.begin("INV-001", PAYLOAD).with("revision", "3").await.expect_stop("previous_revision");
    desk.close().await;
}

async fn what_is_left_out_has_its_default(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let body = billing.begin("INV-001", PAYLOAD).without("action").await.expect_invalid("action");
    assert!(body["detail"].as_str().unwrap().contains("\"create\""), "the default is create: {body}");
    let answer = billing.begin("INV-001", PAYLOAD).with("begin_id", "null").with("worker", "\"\"").await;
    answer.expect_proceed();
    let operation = &answer.json()["operation"];
    assert_eq!(operation["revision"], 1);
    let moment = |name: &str| chrono::DateTime::parse_from_rfc3339(operation[name].as_str().unwrap()).unwrap();
    assert_eq!((moment("lease_expires_at") - moment("created_at")).num_seconds(), 60, "the workflow's lease");
    desk.close().await;
}

async fn every_field_that_cannot_be_taken_is_named(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let long = format!("\"{}\"", "x".repeat(201));
    let parts = ["workflow", "company", "source_system", "document", "action"];
    for field in parts {
        for value in ["\"\"", "\"   \"", "\" a\"", "\"a\\n\"", "\"a\\u0000b\"", "7", "[]", "{}", "true", &long] {
            billing.begin("INV-001", PAYLOAD).with(field, value).await.expect_invalid(field);
        }
    }
    for field in ["workflow", "company", "source_system", "document", "payload"] {
        billing.begin("INV-001", PAYLOAD).without(field).await.expect_invalid(field);
        billing.begin("INV-001", PAYLOAD).with(field, "null").await.expect_invalid(field);
    }
    for value in ["0", "-1", "1.5", "\"1\"", "1000001", "1e99", "true"] {
        billing.begin("INV-001", PAYLOAD).with("revision", value).await.expect_invalid("revision");
    }
    for value in ["0", "3601", "-5", "\"60\"", "0.5"] {
        billing.begin("INV-001", PAYLOAD).with("lease_seconds", value).await.expect_invalid("lease_seconds");
    }
    for value in ["[]", "\"{}\"", "7", "false"] {
        billing.begin("INV-001", PAYLOAD).with("payload", value).await.expect_invalid("payload");
    }
    let too_long = format!("\"{}\"", "x".repeat(501));
    for field in ["worker", "delivery_id", "begin_id"] {
        for value in ["7", "\"a\\u0000\"", &too_long] {
            billing.begin("INV-001", PAYLOAD).with(field, value).await.expect_invalid(field);
        }
    }
    billing.begin("INV-001", PAYLOAD).with("action", "\"burn\"").await.expect_invalid("action");
    billing.post("/api/v1/operations", "[1]").await.expect_invalid("body");
    desk.close().await;
}

async fn a_mistyped_member_is_refused_before_it_changes_the_meaning(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let refused = billing.begin("INV-001", PAYLOAD).with("revison", "2").await.expect_invalid("revison");
    assert!(refused["detail"].as_str().unwrap().contains("did you mean revision?"), "{refused}");
    billing.begin("INV-001", PAYLOAD).with("lease_second", "5").await.expect_invalid("lease_second");
    billing.begin("INV-001", PAYLOAD).with("correlation", "\"c-1\"").await.expect_proceed();
    desk.close().await;
}

async fn an_unknown_workflow_lists_those_that_there_are(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let problem =
        billing.in_workflow("hand-off").begin("INV-001", PAYLOAD).await.expect_problem(404, "unknown_workflow");
    assert_eq!(problem["workflows"], serde_json::json!(["amendable", "handoff", "two-step", "volatile"]));
    desk.close().await;
}

async fn a_begin_id_is_not_the_delivery_id(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let begin = billing.begin("INV-001", PAYLOAD).begin_id("evt_9f2");
    begin.clone().with("delivery_id", "\"evt_9f2\"").await.expect_invalid("begin_id");
    begin.with("delivery_id", "\"evt_9f3\"").await.expect_proceed();
    desk.close().await;
}

async fn nothing_is_stored_by_a_refusal(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    billing.begin("INV-001", PAYLOAD).with("lease_seconds", "0").await.expect_invalid("lease_seconds");
    billing.begin("INV-001", r#"{"a":1,"a":1}"#).await.expect_problem(400, "invalid_json");
    billing.begin("INV-001", r#"{"a":1e1001}"#).await.expect_problem(422, "unsafe_number");
    assert_eq!(billing.get("/api/v1/operations").await.json()["operations"], serde_json::json!([]));
    billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    desk.close().await;
}
