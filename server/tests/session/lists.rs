//! Lists as files, saved views and runs, with a browser that runs no script.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::Entropy;
use guard::decision::Decision;
use guard::event::Outcome;
use guard::id::OperationId;
use guard::key::{KeyPart, OperationKey};
use guard::operation::LeaseToken;
use guard::payload::Payload;
use guard::person::Role;
use guard::queue::PageRequest;
use guard::recovery::Claim;
use guard::service::{BeginRequest, Definitions, Report};
use guard::token::{Reach, Scope, Token};
use guard::trail::{Entry, EntryKind};
use server::clock::OsEntropy;
use server::runs;
use server::seed::{Plan, plant};
use server::trail::verify;

use super::support::{Desk, Scratch, on_each_database};

const ADA: &str = "ada@example.test";
const BOB: &str = "bob@example.test";

async fn seeded(desk: &Desk) {
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let plan = Plan { operations: 700, unknown: 60, conflicts: 10, seed: 3, adds: false };
    plant(&desk.database, &desk.guard, &entropy, plan, Arc::new(AtomicU64::new(0))).await.unwrap();
}

/// What the administration's chain tells of these kinds.
async fn told(desk: &Desk, kinds: &[EntryKind]) -> Vec<Entry> {
    let entries = desk.database.registry.administration_entries(0, 500).await.unwrap();
    entries.into_iter().filter(|entry| kinds.contains(&entry.kind)).collect()
}

fn fact(entry: &Entry, name: &str) -> String {
    entry.detail.member(name).map(|fact| fact.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn a_list_leaves_as_a_file_within_reach_and_the_trail_tells() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        seeded(&desk).await;
        desk.with_person(ADA, Role::Viewer).await;
        desk.with_person_of(BOB, Role::Operator, Reach::over(["acme-de".to_owned()], [])).await;
        let mut ada = desk.signed_in(ADA).await;
        let mut bob = desk.signed_in(BOB).await;

        let all = ada.open("/export/operations?format=csv").await;
        assert_eq!(all.status, 200, "{all:?}");
        assert_eq!(all.headers["content-type"], "text/csv; charset=utf-8; header=present");
        let name = all.headers["content-disposition"].to_str().unwrap();
        assert!(
            name.starts_with("attachment; filename=\"onceover-operations-20") && name.ends_with("Z.csv\""),
            "{name}"
        );
        let lines: Vec<&str> = all.body.lines().collect();
        let every = PageRequest { cursor: None, limit: 500 };
        let revisions = desk.guard.amendments(&Reach::EVERYTHING, None, &every).await.unwrap().rows.len();
        assert!(revisions > 0);
        assert_eq!(lines.len(), 701 + revisions, "every page of it");
        assert!(lines[0].starts_with("id,state,sentence,workflow,company,"));
        assert_eq!(lines.iter().collect::<std::collections::BTreeSet<_>>().len(), 701 + revisions, "each once");

        let own = bob.open("/export/operations?format=json&workflow=crm-task").await.body;
        let own: serde_json::Value = serde_json::from_str(&own).unwrap();
        let rows = own["rows"].as_array().unwrap();
        assert!(rows.len() > 3, "{}", rows.len());
        assert!(rows.iter().all(|row| row["company"] == "acme-de" && row["workflow"] == "crm-task"));
        assert!(rows[0]["created_at"].as_str().unwrap().ends_with('Z') && rows[0]["amount"].is_number());
        let unknown = ada.open("/export/unknown?format=csv&show=all").await.body;
        assert_eq!(unknown.lines().filter(|line| line.contains(",unknown,")).count(), 60);

        let conflicts = async |browser: &mut super::support::Browser| {
            let file = browser.open("/export/conflicts?format=json&state=open").await.body;
            let file: serde_json::Value = serde_json::from_str(&file).unwrap();
            file["rows"].as_array().unwrap().clone()
        };
        let all = conflicts(&mut ada).await;
        assert_eq!(all.len(), 10);
        let is_told =
            |row: &serde_json::Value| row["changed_paths"] == "/amount" || row["changed_paths"] == "/customer";
        assert!(all.iter().all(|row| is_told(row) && row["state"] == "open"), "{all:?}");
        let own = all.iter().filter(|row| row["company"] == "acme-de").count();
        assert_eq!(conflicts(&mut bob).await.len(), own);

        for (address, status) in [
            ("/export/operations", 422),
            ("/export/operations?format=xml", 422),
            ("/export/operations?format=csv&state=lost", 422),
            ("/export/amendments?format=csv&state=lost", 422),
            ("/export/conflicts?format=csv&state=lost", 422),
            ("/export/conflicts?format=csv&company=a&company=b", 422),
            ("/export/secrets?format=csv", 404),
        ] {
            assert_eq!(ada.open(address).await.status, status, "{address}");
        }
        let stranger = desk.browser().open("/export/operations?format=csv").await;
        assert!(stranger.location.unwrap().starts_with("/login"), "a stranger signs in first");

        // The end is told behind the last row.
        let kinds = [EntryKind::ExportBegun, EntryKind::ExportEnded];
        for _ in 0..100 {
            if told(&desk, &kinds).await.len() == 10 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let entries = told(&desk, &kinds).await;
        let ends: Vec<_> = entries.iter().filter(|entry| entry.kind == EntryKind::ExportEnded).collect();
        assert_eq!(ends.len(), 5, "what was refused left nothing");
        let written = (700 + revisions).to_string();
        assert_eq!((fact(ends[0], "rows"), fact(ends[0], "whole")), (written, "true".to_owned()));
        assert_eq!(fact(ends[1], "query"), "\"workflow=crm-task\"");
        assert_eq!(ends[1].actor, Actor::Person { email: BOB.to_owned() });
    })
    .await;
}

#[tokio::test]
async fn a_view_is_kept_by_its_person_and_found_again() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person(ADA, Role::Viewer).await;
        desk.with_person(BOB, Role::Operator).await;
        let mut ada = desk.signed_in(ADA).await;
        let mut bob = desk.signed_in(BOB).await;
        let query = "company=S%C3%B6hne&state=failed";
        let form = [("page", "operations"), ("name", " Failed & late "), ("query", query)];
        let request = ada.post("/fn/save_view").header("accept", "text/html").form(&form);
        let answer = ada.send(request).await;
        assert_eq!(answer.leads(), (302, "/operations?company=S%C3%B6hne&state=failed"), "{answer:?}");
        let page = ada.open("/operations").await.body;
        assert!(page.contains("Failed &amp; late"), "{page}");
        assert!(page.contains("href=\"/operations?company=S%C3%B6hne&amp;state=failed\""), "the address is the view");
        assert!(!bob.open("/operations").await.body.contains("Failed &amp; late"));

        let form = [("page", "operations"), ("name", "  "), ("query", "")];
        let request = ada.post("/fn/save_view").header("accept", "text/html").form(&form);
        assert_eq!(ada.send(request).await.leads(), (302, "/operations"));
        assert!(ada.open("/operations").await.body.contains("The view was not kept"));

        let person = desk.database.registry.person_by_email(ADA).await.unwrap().unwrap().0;
        let view = desk.guard.views(&person, guard::lists::ListPage::Operations).await.unwrap().pop().unwrap();
        let id = view.id.to_string();
        let form = [("page", "operations"), ("view", &*id)];
        let request = bob.post("/fn/drop_view").header("accept", "text/html").form(&form);
        bob.send(request).await;
        assert!(ada.open("/operations").await.body.contains("Failed &amp; late"), "another cannot forget it");
        let request = ada.post("/fn/drop_view").header("accept", "text/html").form(&form);
        ada.send(request).await;
        assert!(!ada.open("/operations").await.body.contains("Failed &amp; late"));
    })
    .await;
}

/// A workflow whose destination can be asked, and so many unknown operations in it.
async fn unknown(desk: &Desk, number: u32) -> (Token, Vec<(OperationId, LeaseToken)>) {
    let definitions: Definitions = toml::from_str(
        r#"
        [[workflow]]
        name = "handoff"
        destination = "ledger"
        [[destination]]
        name = "ledger"
        base_url = "http://127.0.0.1:9"
        [destination.lookup]
        method = "GET"
        path = "/tasks?reference={{ external_reference }}"
        records = "$[*]"
        external_reference = "$.reference"
        reference = "$.id"
        "#,
    )
    .unwrap();
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    let scopes = [Scope::OperationsWrite].into();
    let (token, _) = desk.guard.create_token("shop", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    let mut lost = Vec::new();
    for document in 0..number {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part("handoff"),
            company: part("ACME"),
            source_system: part("shop"),
            document: part(&document.to_string()),
            action: part("create"),
            revision: 1,
        };
        let payload = Payload::parse(b"{}").unwrap();
        let (worker, delivery_id, begin_id) = (None, None, None);
        let request =
            BeginRequest { key, payload, worker, delivery_id, begin_id, lease_seconds: None, request_id: None };
        let Decision::Proceed { operation, lease_token, .. } = desk.guard.begin(&token, &request).await.unwrap() else {
            panic!("a new one is granted")
        };
        let outcome = Outcome::Unknown { reason: "lost".to_owned() };
        let report = Report { lease_token: lease_token.clone(), outcome, response: None, request_id: None };
        desk.guard.report(&token, operation.id, &report).await.unwrap();
        lost.push((operation.id, lease_token));
    }
    (token, lost)
}

#[tokio::test]
async fn a_run_acts_on_what_was_previewed_and_tells_of_each() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let (token, lost) = unknown(&desk, 3).await;
        desk.with_person(ADA, Role::Operator).await;
        desk.with_person(BOB, Role::Viewer).await;
        let mut ada = desk.signed_in(ADA).await;
        let mut bob = desk.signed_in(BOB).await;

        let form = [("page", "operations"), ("action", "look_up"), ("query", "state=unknown&company=ACME")];
        let answer = bob.send(bob.post("/fn/propose_run").header("accept", "text/html").form(&form)).await;
        assert_eq!(answer.leads().1, "/operations?state=unknown&company=ACME", "a viewer may not: {answer:?}");
        let answer = ada.send(ada.post("/fn/propose_run").header("accept", "text/html").form(&form)).await;
        let page = answer.location.clone().unwrap();
        assert!(page.starts_with("/runs/"), "{answer:?}");
        let preview = ada.open(&page).await.body;
        assert!(
            preview.contains("3 operations, as the filter said a moment ago. Nothing has been done yet."),
            "{preview}"
        );
        assert_eq!(bob.open(&page).await.status, 404, "a run is its person's");

        // What was settled meanwhile is skipped.
        let (first, lease_token) = lost[0].clone();
        let outcome = Outcome::Confirmed { destination_reference: "907".to_owned() };
        let report = Report { lease_token, outcome, response: None, request_id: None };
        desk.guard.report(&token, first, &report).await.unwrap();

        let run = page.trim_start_matches("/runs/").to_owned();
        let form = [("run", &*run), ("reason", " ")];
        ada.send(ada.post("/fn/confirm_run").header("accept", "text/html").form(&form)).await;
        assert!(ada.open(&page).await.body.contains("It was not begun"), "without a reason nothing begins");
        let form = [("run", &*run), ("reason", "the ledger is back")];
        for _ in 0..2 {
            let answer = ada.send(ada.post("/fn/confirm_run").header("accept", "text/html").form(&form)).await;
            assert_eq!(answer.leads(), (302, &*page));
        }

        // The process that had it is gone.
        let claim = Claim { by: "gone".to_owned(), until: desk.guard.now() + TimeDelta::seconds(60) };
        assert!(desk.guard.claim_run(&claim).await.unwrap().is_some());
        runs::step(&desk.guard, "here").await.unwrap();
        assert!(ada.open(&page).await.body.contains("0 of 3 operations have their result"));
        desk.clock.advance(TimeDelta::seconds(61));
        runs::step(&desk.guard, "here").await.unwrap();
        let ended = ada.open(&page).await.body;
        for shown in ["It has ended: 3 operations have their result.", "it is confirmed by now", "it is looked for now"]
        {
            assert!(ended.contains(shown), "{shown}: {ended}");
        }
        let kinds = [EntryKind::RunBegun, EntryKind::RunEnded];
        let entries = told(&desk, &kinds).await;
        assert_eq!(entries.len(), 2, "one run");
        assert_eq!(
            (fact(&entries[0], "items"), fact(&entries[0], "reason")),
            ("3".into(), "\"the ledger is back\"".into())
        );
        assert_eq!((fact(&entries[1], "applied"), fact(&entries[1], "skipped")), ("2".into(), "1".into()));
        for (id, _) in &lost[1..] {
            let chain = desk.database.store.entries(*id, 0, 50).await.unwrap();
            let own: Vec<_> = chain.iter().filter(|entry| entry.kind == EntryKind::RunApplied).collect();
            assert_eq!(own.len(), 1);
            assert_eq!(fact(own[0], "run"), format!("\"{run}\""));
        }
        let catalogue = desk.database.registry.catalogue().await.unwrap();
        verify(desk.database.ledger.as_ref(), &catalogue).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_verification_asks_one_first_and_stops_without_an_answer() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        unknown(&desk, 13).await;
        let ada = desk.with_person(ADA, Role::Operator).await;
        let filter = app::asked_for("state=unknown").unwrap().0;
        let page = guard::lists::ListPage::Unknown;
        let run = desk.guard.propose_run(&ada, guard::lists::RunAction::Verify, page, "", &filter).await.unwrap();
        assert_eq!(run.items, 13);
        desk.guard.confirm_run(&ada, run.id, "is it back?", None).await.unwrap();
        let results = async || {
            let items = desk.guard.run_items(&ada, run.id, 0, 50).await.unwrap();
            items.iter().filter(|(item, _)| item.result.is_some()).count()
        };
        for _ in 0..2 {
            runs::step(&desk.guard, "here").await.unwrap();
            assert_eq!(results().await, 1, "one first");
        }
        desk.clock.advance(TimeDelta::seconds(181));
        runs::step(&desk.guard, "here").await.unwrap();
        assert_eq!(results().await, 13);
        let ended = desk.guard.run(&ada, run.id).await.unwrap();
        assert_eq!(ended.standing, guard::lists::RunStanding::Ended, "it ends by itself");
        let items = desk.guard.run_items(&ada, run.id, 1, 1).await.unwrap();
        let (outcome, why) = items[0].0.result.clone().unwrap();
        assert_eq!(
            (outcome.as_str(), &*why),
            ("skipped", "the lookups before it were not answered, so it was left alone")
        );
    })
    .await;
}

#[tokio::test]
async fn everything_that_the_queue_says_is_kept_waiting_for_one_reason() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let (token, lost) = unknown(&desk, 4).await;
        let ada = desk.with_person(ADA, Role::Operator).await;
        let mut browser = desk.signed_in(ADA).await;
        let until = desk.guard.now() + TimeDelta::hours(3);
        let version = desk.guard.operation(&Reach::EVERYTHING, lost[3].0).await.unwrap().version;
        desk.guard.keep_waiting(&ada, lost[3].0, version, until, "asked the bank").await.unwrap();

        let form = [("page", "unknown"), ("action", "keep_waiting"), ("query", "show=all&company=ACME")];
        let answer = browser.send(browser.post("/fn/propose_run").header("accept", "text/html").form(&form)).await;
        let page = answer.location.clone().unwrap();
        assert!(page.starts_with("/runs/"), "{answer:?}");
        assert!(browser.open(&page).await.body.contains("4 operations, as the filter said a moment ago"));
        let run = page.trim_start_matches("/runs/").to_owned();
        let far = (desk.guard.now() + TimeDelta::days(31)).format("%Y-%m-%dT%H:%M").to_string();
        for wrong in ["", "soon", &far] {
            let form = [("run", &*run), ("reason", "the ledger is down until the evening"), ("until", wrong)];
            browser.send(browser.post("/fn/confirm_run").header("accept", "text/html").form(&form)).await;
            let refused = browser.open(&page).await.body;
            assert!(refused.contains("It was not begun"), "{wrong}");
            assert!(refused.contains("the ledger is down until the evening</textarea>"), "what was written stays");
        }

        // What was settled meanwhile is skipped.
        let (first, lease_token) = lost[0].clone();
        let outcome = Outcome::Confirmed { destination_reference: "907".to_owned() };
        let report = Report { lease_token, outcome, response: None, request_id: None };
        desk.guard.report(&token, first, &report).await.unwrap();
        let written = until.format("%Y-%m-%dT%H:%M:%S").to_string();
        let form = [("run", &*run), ("reason", "the ledger is down until the evening"), ("until", &*written)];
        let answer = browser.send(browser.post("/fn/confirm_run").header("accept", "text/html").form(&form)).await;
        assert_eq!(answer.leads(), (302, &*page));
        runs::step(&desk.guard, "here").await.unwrap();

        let ended = browser.open(&page).await.body;
        for shown in ["It has ended: 4 operations have their result.", "it is confirmed by now: nothing to wait for"] {
            assert!(ended.contains(shown), "{shown}: {ended}");
        }
        let entries = told(&desk, &[EntryKind::RunBegun]).await;
        assert_eq!(fact(&entries[0], "action"), "\"keep_waiting\"");
        assert!(fact(&entries[0], "until").starts_with(&format!("\"{written}")), "{:?}", entries[0]);
        for (id, _) in &lost[1..] {
            let operation = desk.guard.operation(&Reach::EVERYTHING, *id).await.unwrap();
            let review = desk.guard.reviews(&[operation]).await.unwrap().pop().flatten().unwrap();
            let deferral = review.deferral.unwrap();
            assert_eq!(deferral.until.format("%Y-%m-%dT%H:%M:%S").to_string(), written);
            assert_eq!(deferral.reason, "the ledger is down until the evening");
        }
        assert!(browser.open("/unknown").await.body.contains("Nothing here."), "they need nobody now");
        desk.clock.advance(TimeDelta::hours(4));
        assert!(!browser.open("/unknown").await.body.contains("Nothing here."), "and come back");
        let catalogue = desk.database.registry.catalogue().await.unwrap();
        verify(desk.database.ledger.as_ref(), &catalogue).await.unwrap();
    })
    .await;
}
