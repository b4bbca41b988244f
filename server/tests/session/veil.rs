//! What a workflow marks as sensitive, on every page that shows a payload or a part of one.

use std::collections::BTreeSet;

use guard::actor::Actor;
use guard::decision::Decision;
use guard::id::{ConflictId, OperationId};
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::person::Role;
use guard::service::{BeginRequest, Definitions};
use guard::token::{Reach, Scope, Token};
use guard::veil::{MASK, MASK_OTHER};
use guard::workflow::Workflow;
use reqwest::StatusCode;

use super::support::{Desk, Scratch, on_each_database};

pub(super) const APPROVED: &str = "DE00-APPROVED";
pub(super) const RECEIVED: &str = "DE00-RECEIVED";

async fn begin(desk: &Desk, token: &Token, iban: &str) -> Decision {
    let part = |text: &str| KeyPart::new(text).unwrap();
    let key = OperationKey {
        workflow: part("payout"),
        company: part("acme"),
        source_system: part("shop"),
        document: part("order-812"),
        action: part("create"),
        revision: 1,
    };
    let payload = format!(r#"{{"iban":"{iban}","amount":"118.00"}}"#);
    let request = BeginRequest {
        key,
        payload: Payload::parse(payload.as_bytes()).unwrap(),
        worker: None,
        delivery_id: None,
        begin_id: None,
        lease_seconds: None,
        request_id: None,
    };
    desk.guard.begin(token, &request).await.unwrap()
}

/// A desk with an operation and a conflict whose payloads differ in a place that their workflow marks as sensitive.
pub(super) async fn with_a_sensitive_conflict(scratch: &Scratch) -> (Desk, OperationId, ConflictId) {
    let desk = scratch.desk().await;
    let mut workflow = Workflow::named(KeyPart::new("payout").unwrap());
    workflow.sensitive = vec!["/iban".parse().unwrap()];
    let definitions = Definitions { workflows: vec![workflow], ..Definitions::default() };
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    let scopes = BTreeSet::from([Scope::OperationsWrite]);
    let (token, _) = desk.guard.create_token("shop", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    begin(&desk, &token, APPROVED).await;
    let Decision::Conflict { operation, conflict, .. } = begin(&desk, &token, RECEIVED).await else {
        panic!("another payload is a conflict");
    };
    (desk, operation.id, conflict.id)
}

#[tokio::test]
async fn what_is_sensitive_stands_on_no_page_until_it_is_opened() {
    on_each_database(async |scratch: &Scratch| {
        let (desk, id, conflict) = with_a_sensitive_conflict(scratch).await;
        desk.with_person("vic@example.test", Role::Viewer).await;
        desk.with_person("ada@example.test", Role::Operator).await;
        let (mut vic, mut ada) = (desk.signed_in("vic@example.test").await, desk.signed_in("ada@example.test").await);
        let item = format!("/conflicts/{conflict}");
        let pages = [
            "/conflicts".to_owned(),
            "/conflicts?path=/iban".to_owned(),
            item.clone(),
            format!("/operations/{id}"),
            format!("/operations/{id}/compare"),
        ];
        for page in &pages {
            for browser in [&mut vic, &mut ada] {
                let answer = browser.open(page).await;
                assert_eq!(answer.status, StatusCode::OK, "{page}");
                for secret in [APPROVED, RECEIVED] {
                    assert!(!answer.body.contains(secret), "{page} shows {secret}");
                }
                assert!(answer.body.contains(MASK), "{page} says that something is masked");
            }
        }
        let masked = vic.open(&item).await.body;
        assert!(masked.contains(MASK_OTHER), "that it differs is seen");
        assert!(masked.contains("Masked as sensitive"), "and where it is opened");

        let form = [("operation", id.to_string())];
        let request = ada.post("/fn/open_fields").header("accept", "text/html").form(&form);
        assert_eq!(ada.send(request).await.status, StatusCode::FOUND);
        let opened = ada.open(&item).await.body;
        assert!(opened.contains(APPROVED) && opened.contains(RECEIVED), "{opened}");
        assert!(!vic.open(&item).await.body.contains(RECEIVED), "for whoever opened it alone");
    })
    .await;
}
