//! Outcomes: what is needed, what settles, what is refused and kept.

use guard::actor::Actor;
use guard::event::Resolution;
use guard::lookup::{Finding, Looked};

use crate::answer::Grant;
use crate::desk::{Desk, Worker};
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    each_outcome_needs_its_proof,
    a_different_outcome_of_a_settled_attempt_is_kept_as_evidence,
    a_late_confirmation_settles_what_was_unknown,
    the_response_is_kept_with_its_digits,
    an_unknown_operation_found_not_applied_is_the_same_whoever_says_so,
);

/// The workflow with a destination that shows what it does not hold ten seconds later.
const WITH_LOOKUP: &str = r#"
[[workflow]]
name = "handoff"
actions = ["post", "cancel", "pay"]
destination = "ledger"
amount = "/total"
currency = "/currency"

[[destination]]
name = "ledger"
base_url = "http://127.0.0.1:9"
finality_seconds = 10
[destination.lookup]
method = "GET"
path = "/tasks?reference={{ external_reference }}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
"#;

/// The destination is looked at in the background until that it holds nothing is proven.
async fn look_in_vain(desk: &Desk, grant: &Grant) {
    let looked = Looked {
        request: "GET /tasks".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 1,
        finding: Finding::Absent,
        candidates: Vec::new(),
    };
    let guard = &desk.server.guard;
    for _ in 0..2 {
        desk.pass(30);
        guard.looked_up(grant.id.parse().unwrap(), guard.now(), &looked).await.unwrap();
    }
}

async fn granted(worker: &Worker, document: &str) -> Grant {
    worker.begin(document, PAYLOAD).await.expect_proceed()
}

async fn each_outcome_needs_its_proof(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = granted(&worker, "INV-001").await;
    let long = "x".repeat(2_001);
    for (facts, field) in [
        (r#""outcome":"confirmed""#, "destination_reference"),
        (r#""outcome":"confirmed","destination_reference":"""#, "destination_reference"),
        (r#""outcome":"confirmed","destination_reference":"  ""#, "destination_reference"),
        (r#""outcome":"confirmed","destination_reference":907"#, "destination_reference"),
        (r#""outcome":"confirmed","destination_reference":"a\u0000""#, "destination_reference"),
        (r#""outcome":"failed""#, "reason"),
        (r#""outcome":"unknown","reason":null"#, "reason"),
        (r#""outcome":"unknown","reason":["x"]"#, "reason"),
        (r#""outcome":"done","reason":"x""#, "outcome"),
        (r#""reason":"x""#, "outcome"),
        (r#""outcome":"failed","reason":"x","response":[]"#, "response"),
        (r#""outcome":"failed","reason":"x","response":{"status":"201"}"#, "response"),
        (r#""outcome":"failed","reason":"x","response":{"status":99}"#, "response"),
        (r#""outcome":"failed","raeson":"x""#, "raeson"),
        (&format!(r#""outcome":"failed","reason":"{long}""#), "reason"),
    ] {
        worker.report(&grant, facts).await.expect_invalid(field);
    }
    assert_eq!(worker.event_kinds(&grant.id).await, ["begun"], "nothing of it was stored");
    worker
        .report(&grant, r#""outcome":"confirmed","destination_reference":"task-1","reason":"""#)
        .await
        .expect_state("confirmed");
    desk.close().await;
}

async fn a_different_outcome_of_a_settled_attempt_is_kept_as_evidence(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let confirmed = granted(&worker, "INV-001").await;
    worker.confirm(&confirmed, "task-1").await.expect_state("confirmed");
    for _ in 0..2 {
        worker.fail(&confirmed, "refused").await.expect_problem(409, "outcome_disagrees");
    }
    assert_eq!(worker.read(&confirmed.id).await["destination_reference"], "task-1");
    assert_eq!(worker.event_kinds(&confirmed.id).await, ["begun", "reported", "report_kept"], "kept once");

    worker.confirm(&confirmed, "task-2").await.expect_problem(409, "outcome_disagrees");
    assert_eq!(worker.read(&confirmed.id).await["state"], "disputed", "two records may exist");

    let failed = granted(&worker, "INV-002").await;
    worker.fail(&failed, "refused").await.expect_state("failed");
    worker.confirm(&failed, "task-3").await.expect_problem(409, "outcome_disagrees");
    assert_eq!(worker.read(&failed.id).await["state"], "disputed", "a proof was wrong");
    worker.begin("INV-002", PAYLOAD).await.expect_unknown();
    desk.close().await;
}

async fn a_late_confirmation_settles_what_was_unknown(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = granted(&worker, "INV-001").await;
    desk.pass(61);
    worker.begin("INV-001", PAYLOAD).await.expect_unknown();
    worker.confirm(&grant, "task-1").await.expect_state("confirmed");
    assert_eq!(worker.begin("INV-001", PAYLOAD).await.expect_replay(), "task-1");
    desk.close().await;
}

async fn the_response_is_kept_with_its_digits(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = granted(&worker, "INV-001").await;
    let facts = r#""outcome":"confirmed","destination_reference":"820982911946154508",
        "response":{"status":201,"body":{"id":820982911946154508,"total":118.00}}"#;
    worker.report(&grant, facts).await.expect_state("confirmed");
    assert_eq!(worker.begin("INV-001", PAYLOAD).await.expect_replay(), "820982911946154508");
    let events = worker.get(&format!("/api/v1/operations/{}/events", grant.id)).await.json();
    assert_eq!(events["events"][1]["detail"]["response_status"], 201);
    assert!(events["events"][1]["detail"].get("response").is_none(), "bodies are not in the trail");
    desk.close().await;
}

/// Case C46: a person at the desk, a worker by the API, and the lookups of the background.
async fn an_unknown_operation_found_not_applied_is_the_same_whoever_says_so(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let by_person = granted(&worker, "INV-001").await;
    let by_worker = granted(&worker, "INV-002").await;
    worker.lose_track(&by_person, "no answer").await.expect_state("unknown");
    worker.lose_track(&by_worker, "no answer").await.expect_state("unknown");
    desk.resolve(&by_person.id, Resolution::NotApplied { reason: "not there".to_owned() }).await;
    worker.fail(&by_worker, "not there").await.expect_state("failed");
    desk.server.guard.apply(&toml::from_str(WITH_LOOKUP).unwrap(), &Actor::CommandLine).await.unwrap();
    let by_lookup = granted(&worker, "INV-003").await;
    worker.lose_track(&by_lookup, "no answer").await.expect_state("unknown");
    look_in_vain(&desk, &by_lookup).await;
    let ways = [
        (&by_person, "INV-001", "resolved"),
        (&by_worker, "INV-002", "reported"),
        (&by_lookup, "INV-003", "looked_up"),
    ];
    for (grant, document, kind) in ways {
        assert_eq!(worker.read(&grant.id).await["state"], "failed");
        assert_eq!(worker.event_kinds(&grant.id).await.last().unwrap(), kind);
        assert_eq!(granted(&worker, document).await.attempt, 2, "it may be begun again");
    }
    let metrics = worker.get("/metrics").await.text;
    let failed = r#"onceover_states_entered_total{workflow="handoff",company="ACME",state="failed"} 3"#;
    assert!(metrics.lines().any(|line| line == failed), "{metrics}");
    desk.close().await;
}
