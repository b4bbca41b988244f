//! A reviewed change over HTTP: proposed, approved by somebody else, begun, confirmed; old events are answered with the newer result.

use guard::amendment::Amendment;
use guard::id::{AmendmentId, PersonId};
use guard::person::{Person, Role};
use guard::service::Approving;
use guard::token::{Reach, Scope};
use serde_json::{Value, json};

use crate::desk::{Desk, Worker};
use crate::support::{Fresh, now, on_both};

on_both!(a_change_goes_its_whole_way, what_may_not_be_proposed_is_told_why);

const FIRST: &str = r#"{"total":"118.00","currency":"INR","customer":"C-77"}"#;
const SECOND: &str = r#"{"total":"236.00","currency":"INR","customer":"C-77"}"#;

fn proposal(payload: &str) -> String {
    format!(r#"{{"payload":{payload},"reason":"quantity changed","requested_by":"the customer"}}"#)
}

async fn confirmed(worker: &Worker, document: &str) -> String {
    let grant = worker.begin(document, FIRST).await.expect_proceed();
    worker.confirm(&grant, "task-907").await.expect_state("confirmed");
    grant.id
}

/// Somebody of finance approves it, at the desk.
async fn approve(desk: &Desk, amendment: &Value) -> Amendment {
    let person = Person {
        id: PersonId::new(now(), [7; 16]),
        email: "grace@example.test".to_owned(),
        role: Role::Finance,
        reach: Reach::EVERYTHING,
    };
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
