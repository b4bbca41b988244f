//! Leases: how they end, who notices, and whose clock counts.

use guard::event::Resolution;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    heartbeats_keep_redeliveries_away,
    a_lease_that_ends_while_sending_is_uncertain_and_never_free,
    a_lease_that_ends_before_sending_is_proof,
    a_worker_that_wakes_too_late_changes_nothing,
    times_that_callers_send_change_no_lease,
    a_lease_is_never_shortened,
    a_mark_in_one_step_mode_changes_nothing,
    a_lease_token_that_is_none_is_refused,
);

/// Case C16.
async fn heartbeats_keep_redeliveries_away(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("JOB-1", PAYLOAD);
    let grant = begin.clone().await.expect_proceed();
    for second in 1..=15 {
        desk.pass(20);
        worker.heartbeat(&grant, 60).await.expect_state("sending");
        if second % 3 == 0 {
            begin.clone().await.expect_in_progress();
        }
    }
    worker.confirm(&grant, "task-1").await.expect_state("confirmed");

    let silent = worker.begin("JOB-2", PAYLOAD);
    silent.clone().await.expect_proceed();
    for _ in 0..5 {
        desk.pass(60);
        silent.clone().await.expect_unknown();
    }
    desk.close().await;
}

/// Case C18.
async fn a_lease_that_ends_while_sending_is_uncertain_and_never_free(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("PAY-1", PAYLOAD).with("action", "\"pay\"").with("lease_seconds", "10");
    let grant = begin.clone().await.expect_proceed();
    desk.pass(11);
    assert_eq!(worker.read(&grant.id).await["state"], "unknown", "a page may be the first to notice");
    begin.clone().await.expect_unknown();
    desk.resolve(&grant.id, Resolution::NotApplied { reason: "no such transfer".to_owned() }).await;
    assert_eq!(begin.await.expect_proceed().attempt, 2);
    assert_eq!(worker.event_kinds(&grant.id).await, ["begun", "expired", "resolved", "begun"]);
    desk.close().await;
}

async fn a_lease_that_ends_before_sending_is_proof(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await.in_workflow("two-step");
    let begin = worker.begin("INV-001", PAYLOAD);
    let first = begin.clone().await.expect_proceed();
    assert_eq!(worker.read(&first.id).await["state"], "acquired");
    desk.pass(61);
    worker.mark_sending(&first).await.expect_problem(409, "lease_expired");
    assert_eq!(worker.read(&first.id).await["state"], "released");
    worker.heartbeat(&first, 60).await.expect_problem(409, "lease_expired");
    let second = begin.await.expect_proceed();
    assert_eq!(second.attempt, 2);
    worker.mark_sending(&first).await.expect_problem(409, "stale_lease");
    worker.mark_sending(&second).await.expect_state("sending");
    desk.pass(61);
    worker.mark_sending(&second).await.expect_problem(409, "lease_expired");
    assert_eq!(worker.read(&first.id).await["state"], "unknown", "once marked, a write is possible");
    desk.close().await;
}

/// Case C17.
async fn a_worker_that_wakes_too_late_changes_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("INV-001", PAYLOAD).with("lease_seconds", "5");
    let first = begin.clone().await.expect_proceed();
    desk.pass(8);
    begin.clone().await.expect_unknown();
    desk.resolve(&first.id, Resolution::NotApplied { reason: "not there".to_owned() }).await;
    let second = begin.clone().await.expect_proceed();
    worker.confirm(&first, "A").await.expect_problem(409, "stale_lease");
    assert_eq!(worker.read(&first.id).await["state"], "disputed", "two effects may exist");
    worker.confirm(&second, "B").await;
    begin.await.expect_unknown();
    let told = worker.get(&format!("/api/v1/operations/{}/events", first.id)).await;
    assert!(told.text.contains("\"A\"") && told.text.contains("\"B\""), "both reports are kept: {told:?}");
    desk.close().await;
}

/// Case C19.
async fn times_that_callers_send_change_no_lease(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let answer = worker.begin("INV-001", PAYLOAD).with("now", "\"2036-01-01T00:00:00Z\"").await;
    answer.expect_proceed();
    let body = answer.json();
    let moment = |value: &serde_json::Value| chrono::DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap();
    let lease = moment(&body["lease"]["expires_at"]) - moment(&body["operation"]["created_at"]);
    assert_eq!(lease.num_seconds(), 60);
    desk.pass(59);
    worker.begin("INV-001", PAYLOAD).await.expect_in_progress();
    desk.pass(1);
    worker.begin("INV-001", PAYLOAD).await.expect_unknown();
    desk.close().await;
}

async fn a_lease_is_never_shortened(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).with("lease_seconds", "600").await.expect_proceed();
    worker.heartbeat(&grant, 5).await.expect_state("sending");
    desk.pass(500);
    worker.begin("INV-001", PAYLOAD).await.expect_in_progress();
    let refused = worker.heartbeat(&grant, 3_601).await.expect_invalid("lease_seconds");
    assert!(refused["detail"].as_str().unwrap().contains("3600"), "{refused}");
    desk.close().await;
}

async fn a_mark_in_one_step_mode_changes_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    worker.mark_sending(&grant).await.expect_state("sending");
    assert_eq!(worker.event_kinds(&grant.id).await, ["begun"]);
    desk.close().await;
}

async fn a_lease_token_that_is_none_is_refused(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let path = |what: &str| format!("/api/v1/operations/{}/{what}", grant.id);
    for what in ["sending", "heartbeat"] {
        for token in ["", "x", "0123456789abcdef0123456789abcdef", "\\u0000"] {
            let body = format!("{{\"lease_token\":\"{token}\"}}");
            worker.post(&path(what), body).await.expect_problem(409, "stale_lease");
        }
        worker.post(&path(what), "{}").await.expect_invalid("lease_token");
        worker.post(&path(what), r#"{"lease_token":7}"#).await.expect_invalid("lease_token");
    }
    let body = r#"{"lease_token":"x","outcome":"failed","reason":"refused"}"#;
    worker.post(&path("outcome"), body).await.expect_problem(409, "stale_lease");
    worker.begin("INV-001", PAYLOAD).await.expect_in_progress();
    desk.close().await;
}
