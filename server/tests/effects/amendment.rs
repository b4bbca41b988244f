//! Changes that people approved, with faults drawn at random, old events that arrive again at any time, and servers that are killed: each
//! document stays one live record, which shows its newest confirmed revision.

use std::sync::Arc;

use guard::clock::Entropy as _;
use guard::id::{AmendmentId, OperationId, PersonId};
use guard::lookup::{Finding, Looked};
use guard::person::{Person, Role};
use guard::service::{Approving, Guard};
use guard::token::Reach;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use server::clock::OsEntropy;
use server::store::Database;

use super::*;

const DOCUMENTS: usize = 24;

/// So many workers are handed each event.
const WORKERS: usize = 3;

/// What may happen to the change of a record.
const FAULTS: [&str; 7] = ["", "", "", "cut_before", "cut_after", "fail_after", "slow_after=300"];

/// What the document says in each of its revisions.
const AMOUNTS: [&str; 2] = ["1180.00", "1260.00"];

/// Whatever becomes of a lost change is asked for so often: nothing follows from it but that a person decides.
const ASKED_MAX: u32 = 8;

/// A begin of a revision of a document.
fn begin_of(world: &World, document: &str, revision: usize) -> Value {
    let mut begin = world.begin_of("amendable", &order(document));
    begin["revision"] = json!(revision);
    begin["payload"]["amount"] = json!(AMOUNTS[revision - 1]);
    begin
}

/// Somebody of finance, at the desk.
async fn approve(guard: &Guard, amendment: &Value, reference: &str) {
    let person = Person {
        id: PersonId::new(guard.now(), OsEntropy.bytes()),
        email: "grace@example.test".to_owned(),
        role: Role::Finance,
        reach: Reach::EVERYTHING,
    };
    let id: AmendmentId = text(&amendment["id"]).parse().unwrap();
    let operation: OperationId = text(&amendment["operation_id"]).parse().unwrap();
    let seen_version = guard.operation(&Reach::EVERYTHING, operation).await.unwrap().version;
    let looked = Looked {
        request: "GET /tasks".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 1,
        finding: Finding::Found { destination_reference: reference.to_owned() },
        candidates: Vec::new(),
    };
    let approving = Approving { seen_version, reason: None, looked: Some(looked), despite_uncertainty: false };
    guard.approve(&person, id, &approving).await.unwrap();
}

/// A worker that is handed the change: it changes the record when it may, and says how that went.
async fn change(world: &World, document: &str, fault: &str) {
    for _ in 0..ASKED_MAX {
        let begun = world.insist("/api/v1/operations", &begin_of(world, document, 2)).await.body;
        match begun["next"].as_str() {
            Some("send") => {
                assert_eq!(begun["correction"], "amend", "{begun}");
                let held = text(&begun["previous"]["destination_reference"]).to_owned();
                let request = world.client.patch(format!("{}/tasks/{held}", world.sandbox.url));
                let request = request.header("sandbox-fault", fault).body(json!({ "amount": AMOUNTS[1] }).to_string());
                let is_changed = request.send().await.is_ok_and(|answer| answer.status() == StatusCode::OK);
                world.permissions.fetch_add(1, Ordering::Relaxed);
                world.report(&begun, is_changed.then_some(held.as_str())).await;
            }
            Some("use_result") => return,
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// An old event: never is anything sent for it.
async fn old_event(world: &World, document: &str) {
    let begun = world.insist("/api/v1/operations", &begin_of(world, document, 1)).await.body;
    assert!(["replay", "superseded"].contains(&text(&begun["decision"])), "{begun}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_faults_and_old_events_leave_one_record_that_shows_the_newest_confirmed_revision() {
    on_each_database(async |world: &World| {
        let database = Database::open(world.machine.database(), Arc::new(OsEntropy)).await.unwrap();
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::new(OsEntropy)).await.unwrap();
        let mut documents = Vec::new();
        for number in 0..DOCUMENTS {
            let document = format!("order-{number}");
            let begun = world.insist("/api/v1/operations", &begin_of(world, &document, 1)).await.body;
            let created = world.create(&begun, &order(&document), "").await.unwrap();
            assert_eq!(world.report(&begun, Some(&created)).await.body["state"], "confirmed");
            let path = format!("/api/v1/operations/{}/amendments", text(&begun["operation"]["id"]));
            let mut payload = begin_of(world, &document, 2)["payload"].clone();
            payload["amount"] = json!(AMOUNTS[1]);
            let proposal = json!({ "payload": payload, "reason": "the quantity changed" });
            let proposed = world.insist(&path, &proposal).await;
            assert_eq!(proposed.status, StatusCode::CREATED, "{proposed:?}");
            let amendment = &proposed.body["amendment"];
            let refused = world.insist("/api/v1/operations", &begin_of(world, &document, 2)).await.body;
            assert_eq!(refused["decision"], "awaiting_approval", "{refused}");
            approve(&guard, amendment, &created).await;
            documents.push((document, text(&amendment["operation_id"]).to_owned(), created));
        }
        database.close().await;

        let work = documents.iter().enumerate().map(|(number, (document, ..))| async move {
            let mut dice = StdRng::seed_from_u64(812 + number as u64);
            let fault = FAULTS.choose(&mut dice).unwrap();
            let pauses: Vec<u64> = (0..WORKERS).map(|_| dice.random_range(0..600)).collect();
            let changes = join_all((0..WORKERS).map(|_| change(world, document, fault)));
            let events = join_all(pauses.into_iter().map(|milliseconds| async move {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                old_event(world, document).await;
            }));
            tokio::join!(changes, events);
        });
        let killed = async {
            for _ in 0..2 {
                tokio::time::sleep(Duration::from_millis(400)).await;
                world.kill_and_start_again();
            }
        };
        tokio::join!(join_all(work), killed);

        assert_eq!(world.records().await, DOCUMENTS as u64, "nothing is doubled or lost");
        let (mut confirmed, mut waiting) = (0, 0);
        for (document, operation, task) in &documents {
            old_event(world, document).await;
            let held = answered(world.automation().get(&format!("/api/v1/operations/{operation}"))).await.body;
            let record = world.client.get(format!("{}/tasks/{task}", world.sandbox.url)).send().await.unwrap();
            let record: Value = record.json().await.unwrap();
            match text(&held["state"]) {
                "confirmed" => {
                    assert_eq!((&record["amount"], &held["destination_reference"]), (&json!(AMOUNTS[1]), &json!(task)));
                    confirmed += 1;
                }
                // The answer was lost: whether the record was changed is for a person, and nothing is sent again.
                "unknown" => waiting += 1,
                _ => panic!("{held}"),
            }
        }
        assert!(confirmed > waiting && waiting > 0, "{confirmed} confirmed, {waiting} waiting");
    })
    .await;
}
