//! How recovery stands, as people see it with a browser that runs no script; and their wish for a lookup now.

use std::collections::BTreeSet;

use guard::actor::Actor;
use guard::destination::Destination;
use guard::event::Outcome;
use guard::key::{KeyPart, OperationKey};
use guard::lookup::{AnswerClass, Finding, Looked};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::person::Role;
use guard::service::{BeginRequest, Definitions, Report};
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;

use super::support::{Desk, Scratch, on_each_database};

pub fn ledger(finality_seconds: u32) -> Destination {
    let profile = format!(
        r#"
        name = "ledger"
        base_url = "http://127.0.0.1:9"
        finality_seconds = {finality_seconds}
        [lookup]
        method = "GET"
        path = "/tasks?reference={{{{ external_reference }}}}"
        records = "$[*]"
        external_reference = "$.reference"
        reference = "$.id"
        "#
    );
    toml::from_str(&profile).unwrap()
}

pub async fn configured(desk: &Desk, destinations: Vec<Destination>) {
    let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
    workflow.destination = destinations.first().map(|destination| destination.name.clone());
    let definitions = Definitions { workflows: vec![workflow], destinations, ..Definitions::default() };
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
}

/// An operation that its worker reported as unknown.
pub async fn unknown(desk: &Desk, document: &str) -> Operation {
    unknown_of(desk, document, r#"{"amount":"118.00"}"#).await
}

/// One with this payload.
pub async fn unknown_of(desk: &Desk, document: &str, payload: &str) -> Operation {
    let scopes = BTreeSet::from([Scope::OperationsWrite]);
    let made = desk.guard.create_token(document, scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    let part = |text: &str| KeyPart::new(text).unwrap();
    let key = OperationKey {
        workflow: part("handoff"),
        company: part("acme"),
        source_system: part("shop"),
        document: part(document),
        action: part("create"),
        revision: 1,
    };
    let request = BeginRequest {
        key,
        payload: Payload::parse(payload.as_bytes()).unwrap(),
        worker: None,
        delivery_id: None,
        begin_id: None,
        lease_seconds: None,
        request_id: None,
    };
    let begun = desk.guard.begin(&made.0, &request).await.unwrap();
    let operation = begun.operation().unwrap();
    let lease_token = operation.attempt.as_ref().unwrap().lease_token.clone();
    let outcome = Outcome::Unknown { reason: "the connection was lost".to_owned() };
    let report = Report { lease_token, outcome, response: None, request_id: None };
    desk.guard.report(&made.0, operation.id, &report).await.unwrap()
}

pub fn looked(finding: Finding) -> Looked {
    let (request, candidates) = ("GET /tasks?reference=oo-1".to_owned(), Vec::new());
    Looked { request, status: Some(200), pages: 1, took_milliseconds: 12, finding, candidates }
}

#[tokio::test]
async fn what_is_waited_for_is_said_and_a_lookup_can_be_asked_for() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        configured(&desk, vec![ledger(3_600)]).await;
        desk.with_person("ada@example.test", Role::Operator).await;
        desk.with_person("vic@example.test", Role::Viewer).await;
        let mut ada = desk.signed_in("ada@example.test").await;
        let operation = unknown(&desk, "order-812").await;
        let page = format!("/operations/{}", operation.id);

        let shown = ada.open(&page).await.body;
        for sentence in ["Looking for it", "It is looked for next now.", "It has not been looked for yet.", "(in 1 h"] {
            assert!(shown.contains(sentence) || shown.contains("(in 59 min"), "{sentence}: {shown}");
        }
        assert!(shown.contains("until then the destination may still show the record"), "not applied is barred");
        assert!(ada.open("/unknown").await.body.contains("Looked for next now."));

        let timeout = Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer in 10 s".to_owned() };
        for _ in 0..guard::access::FAILURES_MAX {
            desk.guard.looked_up(operation.id, desk.guard.now(), &looked(timeout.clone())).await.unwrap();
            desk.guard.answered("ledger", &looked(timeout.clone())).await.unwrap();
        }
        let queue = ada.open("/unknown").await.body;
        assert!(queue.contains("The destination is down (no answer in 10 s); asked again in"), "{queue}");
        let shown = ada.open(&page).await.body;
        for sentence in ["The destination has been down for", "It was looked for 5 times", "Looked at the destination."]
        {
            assert!(shown.contains(sentence), "{sentence}: {shown}");
        }

        let form = [("operation", operation.id.to_string())];
        let request = ada.post("/fn/look_up_now").header("accept", "text/html").form(&form);
        let answer = ada.send(request).await;
        assert_eq!(answer.leads(), (302, format!("{page}#recovery").as_str()), "{answer:?}");
        assert!(ada.open(&page).await.body.contains("It is looked for within a moment"));
        assert!(!ada.open(&page).await.body.contains("It is looked for within a moment"), "told once");

        let void = Finding::VoidOnly { destination_references: vec!["task-907".to_owned()] };
        desk.guard.looked_up(operation.id, desk.guard.now(), &looked(void)).await.unwrap();
        let shown = ada.open(&page).await.body;
        assert!(shown.contains("It is no longer looked for, and has waited for a person"), "{shown}");
        assert!(shown.contains("It holds void records only (task-907); a person decides"), "{shown}");
        assert!(ada.open("/unknown").await.body.contains("no longer looks for 1"));

        let mut vic = desk.signed_in("vic@example.test").await;
        let shown = vic.open(&page).await.body;
        assert!(shown.contains("Deciding needs the role operator or admin"), "the button is barred, with the reason");
        let request = vic.post("/fn/look_up_now").header("accept", "text/html").form(&form);
        vic.send(request).await;
        let shown = vic.open(&page).await.body;
        assert!(shown.contains("asking for a lookup needs the role operator or admin"), "and the server refuses it");
    })
    .await;
}

#[tokio::test]
async fn what_nobody_can_be_asked_about_waits_for_a_person() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        configured(&desk, Vec::new()).await;
        desk.with_person("ada@example.test", Role::Operator).await;
        let mut ada = desk.signed_in("ada@example.test").await;
        let operation = unknown(&desk, "mail-1").await;
        let shown = ada.open(&format!("/operations/{}", operation.id)).await.body;
        assert!(
            shown.contains("It cannot be looked for: its workflow names no destination that has a lookup."),
            "{shown}"
        );
        assert!(shown.contains("Its destination has no lookup"), "the button is barred, with the reason");
        assert!(ada.open("/unknown").await.body.contains("No lookup at its destination: a person decides"));
    })
    .await;
}
