//! A reviewed change over HTTP: proposed, approved by somebody else, begun, confirmed; old events are answered with the newer result.

use guard::amendment::Amendment;
use guard::id::{AmendmentId, PersonId};
use guard::person::{Person, Role};
use guard::service::{Approving, AskedReversal};
use guard::token::{Reach, Scope};
use serde_json::{Value, json};

use crate::desk::{Desk, Worker};
use crate::support::{Fresh, now, on_both};

on_both!(
    a_change_goes_its_whole_way,
    what_may_not_be_proposed_is_told_why,
    nothing_of_a_later_revision_goes_out_while_the_first_one_is_uncertain,
    old_and_early_events_never_run,
    an_approval_covers_one_payload_alone,
    a_record_is_taken_back_once,
);

const FIRST: &str = r#"{"total":"118.00","currency":"INR","customer":"C-77"}"#;
const SECOND: &str = r#"{"total":"236.00","currency":"INR","customer":"C-77"}"#;
const THIRD: &str = r#"{"total":"354.00","currency":"INR","customer":"C-77"}"#;

fn proposal(payload: &str) -> String {
    format!(r#"{{"payload":{payload},"reason":"quantity changed","requested_by":"the customer"}}"#)
}

async fn confirmed(worker: &Worker, document: &str) -> String {
    let grant = worker.begin(document, FIRST).await.expect_proceed();
    worker.confirm(&grant, "task-907").await.expect_state("confirmed");
    grant.id
}

fn person(name: &str) -> Person {
    let email = format!("{name}@example.test");
    Person { id: PersonId::new(now(), [7; 16]), email, role: Role::Finance, reach: Reach::EVERYTHING }
}

/// Somebody of finance approves it, at the desk.
async fn approve(desk: &Desk, amendment: &Value) -> Amendment {
    let person = person("grace");
    let id: AmendmentId = amendment["id"].as_str().unwrap().parse().unwrap();
    let operation = amendment["operation_id"].as_str().unwrap().parse().unwrap();
    let seen_version = desk.server.guard.operation(&Reach::EVERYTHING, operation).await.unwrap().version;
    let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
    desk.server.guard.approve(&person, id, &approving).await.unwrap()
}

async fn a_change_goes_its_whole_way(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let base = confirmed(&billing, "812").await;
    let path = format!("/api/v1/operations/{base}/amendments");
    // C33: sent again with a change it is a conflict; as the next revision it needs an approval.
    assert_eq!(billing.begin("812", SECOND).await.json()["decision"], "conflict");
    assert_eq!(billing.begin("812", SECOND).with("revision", "2").await.json()["decision"], "approval_missing");
    let proposed = billing.post(&path, proposal(SECOND)).await;
    assert_eq!(proposed.status, 201, "{proposed:?}");
    let amendment = proposed.json()["amendment"].clone();
    let change = json!({"path": "/total", "kind": "changed", "approved": "118.00", "received": "236.00"});
    assert_eq!((&amendment["changes"], &amendment["violations"]), (&json!([change]), &json!([])));
    assert_eq!((&amendment["revision"], &amendment["state"]), (&json!(2), &json!("awaiting_approval")));

    let again = billing.post(&path, proposal(SECOND)).await;
    assert_eq!((again.status, &again.json()["code"]), (409, &json!("amendment_open")));
    assert_eq!(again.json()["amendment_id"], amendment["id"]);
    let second = || billing.begin("812", SECOND).with("revision", "2");
    assert_eq!(second().await.json()["decision"], "awaiting_approval");

    approve(&desk, &amendment).await;
    let granted = second().await;
    assert_eq!(granted.json()["correction"], "amend");
    let previous = &granted.json()["previous"];
    assert_eq!((&previous["operation"], &previous["revision"]), (&json!(base), &json!(1)));
    assert_eq!(previous["destination_reference"], "task-907");
    assert_eq!(previous["payload"]["total"], "118.00");
    let grant = granted.expect_proceed();
    assert_eq!(second().await.json()["decision"], "in_progress");
    billing.confirm(&grant, "task-907").await.expect_state("confirmed");

    let old = billing.begin("812", FIRST).await;
    assert_eq!((old.status, &old.json()["decision"]), (200, &json!("superseded")));
    assert_eq!(old.json()["current"]["id"], json!(grant.id));
    let read = billing.get(&format!("/api/v1/amendments/{}", amendment["id"].as_str().unwrap())).await;
    assert_eq!(read.json()["amendment"]["state"], "begun");
    let ledger = desk.fresh.database.ledger.as_ref();
    let proven = server::trail::verify(ledger, &desk.server.guard.catalogue()).await;
    assert!(proven.is_ok(), "{proven:?}");
    desk.close().await;
}

async fn what_may_not_be_proposed_is_told_why(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let base = confirmed(&billing, "812").await;
    let path = format!("/api/v1/operations/{base}/amendments");
    let forbidden = billing.post(&path, proposal(r#"{"total":"118.00","currency":"INR","customer":"C-78"}"#)).await;
    assert_eq!((forbidden.status, &forbidden.json()["code"]), (422, &json!("rule_violation")));
    assert_eq!(forbidden.json()["violations"][0]["path"], "/customer");
    assert_eq!(forbidden.json()["violations"][0]["rule"], "workflow.amendment.amendable");
    let same = billing.post(&path, proposal(FIRST)).await;
    assert_eq!((same.status, &same.json()["code"]), (409, &json!("no_change")));
    let without_reason = billing.post(&path, format!(r#"{{"payload":{SECOND}}}"#)).await;
    assert_eq!(without_reason.json()["field"], "reason");
    let reader = desk.worker_within("reader", Reach::EVERYTHING, &[Scope::OperationsRead]).await;
    assert_eq!(reader.post(&path, proposal(SECOND)).await.status, 403);
    let elsewhere = desk.worker_of("other").await;
    assert_eq!(elsewhere.post(&path, proposal(SECOND)).await.status, 404);
    desk.close().await;
}

/// Case C22.
async fn nothing_of_a_later_revision_goes_out_while_the_first_one_is_uncertain(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let first = billing.begin("812", FIRST).await.expect_proceed();
    billing.lose_track(&first, "timed out").await.expect_state("unknown");
    let second = billing.begin("812", SECOND).with("revision", "2").await;
    assert_eq!((second.status, &second.json()["decision"]), (409, &json!("previous_revision")));
    assert_eq!(second.json()["previous"]["operation"], json!(first.id));
    assert_eq!(second.json()["previous"]["state"], "unknown");
    let proposed = billing.post(&format!("/api/v1/operations/{}/amendments", first.id), proposal(SECOND)).await;
    assert_eq!((proposed.status, &proposed.json()["code"]), (409, &json!("impossible")));
    // The late success settles it, and only then a change may be proposed.
    billing.confirm(&first, "task-907").await.expect_state("confirmed");
    let proposed = billing.post(&format!("/api/v1/operations/{}/amendments", first.id), proposal(SECOND)).await;
    assert_eq!(proposed.status, 201, "{proposed:?}");
    desk.close().await;
}

/// Case C40.
async fn old_and_early_events_never_run(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let base = confirmed(&billing, "812").await;
    let early = billing.begin("812", THIRD).with("revision", "3").await;
    assert_eq!((early.status, &early.json()["decision"]), (409, &json!("previous_revision")));
    let proposed = billing.post(&format!("/api/v1/operations/{base}/amendments"), proposal(SECOND)).await;
    approve(&desk, &proposed.json()["amendment"]).await;
    let grant = billing.begin("812", SECOND).with("revision", "2").await.expect_proceed();
    billing.confirm(&grant, "task-907").await.expect_state("confirmed");
    // Minutes later the older event arrives, and again.
    for _ in 0..2 {
        let old = billing.begin("812", FIRST).await;
        assert_eq!((old.status, &old.json()["decision"]), (200, &json!("superseded")));
        assert_eq!(old.json()["current"]["id"], json!(grant.id));
    }
    assert_eq!(billing.read(&base).await["attempt"], 1, "it never ran on top");
    desk.close().await;
}

/// Case C41.
async fn an_approval_covers_one_payload_alone(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let base = confirmed(&billing, "812").await;
    let proposed = billing.post(&format!("/api/v1/operations/{base}/amendments"), proposal(SECOND)).await;
    let amendment = proposed.json()["amendment"].clone();
    approve(&desk, &amendment).await;
    let other = billing.begin("812", THIRD).with("revision", "2").await;
    assert_eq!((other.status, &other.json()["decision"]), (422, &json!("conflict")));
    assert_eq!(billing.read(amendment["operation_id"].as_str().unwrap()).await["state"], "released", "nothing ran");
    // What was approved still may, once; the trail keeps both.
    billing.begin("812", SECOND).with("revision", "2").await.expect_proceed();
    let kinds = billing.event_kinds(amendment["operation_id"].as_str().unwrap()).await;
    assert_eq!(kinds, ["amendment_proposed", "amendment_approved", "conflict_opened", "begun"]);
    desk.close().await;
}

async fn a_record_is_taken_back_once(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await.in_workflow("amendable");
    let of = confirmed(&billing, "812").await;
    let reverse = |payload: &str| billing.begin("812", payload).with("action", r#""reverse""#);
    let unasked = reverse(r#"{"reverses":{}}"#).await;
    assert_eq!((unasked.status, &unasked.json()["field"]), (422, &json!("action")));
    let guard = &desk.server.guard;
    let seen = billing.read(&of).await;
    assert!(seen.get("reversed_by").is_none() && seen.get("reverses").is_none(), "{seen}");
    let ask = || async {
        let id = of.parse().unwrap();
        let version = guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
        let asked = AskedReversal { record: "task-907", reason: "posted twice", requested_by: None };
        guard.ask_reversal(&person("ada"), id, version, asked).await
    };
    let asked = ask().await.unwrap();
    let waits = billing.get("/api/v1/operations?action=reverse&state=awaiting_approval").await.json();
    assert_eq!(waits["operations"][0]["id"], json!(asked.operation));
    approve(&desk, &json!({"id": asked.id, "operation_id": asked.operation})).await;
    let payload = billing.get(&format!("/api/v1/operations/{}/payloads/1", asked.operation)).await.json();
    let expected = json!({"operation": of, "revision": 1, "destination_reference": "task-907"});
    assert_eq!(payload["payload"].get("reverses").or(payload.get("reverses")), Some(&expected), "{payload}");
    let text = format!(r#"{{"reverses":{}}}"#, expected);
    let granted = reverse(&text).await;
    assert_eq!(granted.json()["correction"], "reverse");
    assert_eq!(granted.json()["previous"]["operation"], json!(of));
    assert_eq!(granted.json()["previous"]["destination_reference"], "task-907");
    assert_eq!(granted.json()["previous"]["payload"]["total"], "118.00");
    let grant = granted.expect_proceed();
    assert_eq!(reverse(&text).await.json()["decision"], "in_progress");
    billing.confirm(&grant, "credit-1").await.expect_state("confirmed");
    assert_eq!(reverse(&text).await.json()["decision"], "replay");
    assert!(ask().await.unwrap_err().to_string().contains(&grant.id), "it points to the first");

    let held = billing.read(&of).await;
    let link = json!([{"operation": grant.id, "destination_reference": "task-907", "state": "confirmed"}]);
    assert_eq!((&held["state"], &held["reversed_by"]), (&json!("confirmed"), &link));
    let back = json!({"operation": of, "destination_reference": "task-907", "state": "confirmed"});
    assert_eq!(billing.read(&grant.id).await["reverses"], back);
    assert_eq!(billing.event_kinds(&of).await, ["begun", "reported", "reversal_asked", "reversed"]);
    let changed = billing.post(&format!("/api/v1/operations/{of}/amendments"), proposal(SECOND)).await;
    assert_eq!((changed.status, &changed.json()["code"]), (409, &json!("reversal_exists")));
    assert_eq!(changed.json()["operation_id"], json!(grant.id));
    let ledger = desk.fresh.database.ledger.as_ref();
    let proven = server::trail::verify(ledger, &guard.catalogue()).await;
    assert!(proven.is_ok(), "{proven:?}");
    desk.close().await;
}
