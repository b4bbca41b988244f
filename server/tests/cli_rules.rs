//! What people set in the browser, seen from the command line: files do not overwrite rules, and certificates are proven.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use chrono::TimeDelta;
use guard::clock::{Clock, Timestamp};
use guard::id::PersonId;
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::period::{Period, Span};
use guard::person::{Person, Role};
use guard::rules::{RuleChange, RuleVerdict};
use guard::service::{BeginRequest, Guard, Report, Signing};
use guard::token::{Reach, Scope};
use insta::assert_snapshot;
use server::clock::OsEntropy;
use server::store::Database;

#[path = "support/process.rs"]
mod process;

use process::Machine;

const HANDOFF: &str = r#"[[workflow]]
name = "handoff"
amount = "/amount"
currency = "/currency"

[workflow.amendment]
amendable = ["/lines"]
"#;

/// The machine's clock, so much later: figures are those of a moment that is over.
struct Later(Arc<dyn Clock>, TimeDelta);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        self.0.now() + self.1
    }
}

/// The desk on the database of a machine.
struct Desk {
    database: Database,
    guard: Guard,
}

impl Desk {
    async fn on(machine: &Machine, later: TimeDelta) -> Self {
        let database = Database::open(machine.database(), Arc::new(OsEntropy)).await.unwrap();
        let clock = Arc::new(Later(Arc::clone(&database.clock), later));
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let guard = Guard::open(store, registry, clock, Arc::new(OsEntropy)).await.unwrap();
        Self { database, guard }
    }
}

fn finance(name: &str) -> Person {
    let id = PersonId::from_u128(name.len() as u128);
    Person { id, email: format!("{name}@example.test"), role: Role::Finance, reach: Reach::EVERYTHING }
}

#[tokio::test]
async fn a_file_does_not_overwrite_rules_that_were_approved_in_the_browser() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let desk = Desk::on(&machine, TimeDelta::zero()).await;
    let mut change = RuleChange::of(&desk.guard.catalogue().workflows["handoff"].workflow);
    change.amendment.as_mut().unwrap().second_approval_over = Some("5000.00".to_owned());
    let proposal = desk.guard.propose_rules(&finance("fay"), "handoff", change, "a new limit").await.unwrap();
    let (verdict, reason) = (RuleVerdict::Approve, "as the board decided");
    desk.guard.decide_rules(&finance("finn"), proposal.id, verdict, reason).await.unwrap();
    desk.database.close().await;

    let refused = machine.write("older.toml", HANDOFF).run(&["apply", "older.toml"]).refused(1);
    let (start, rest) = refused.split_once(" at 20").unwrap();
    assert_snapshot!(start, @"onceover: older.toml:6:11: workflow.amendment: would overwrite what finn@example.test approved in the browser");
    assert!(rest.contains("(version 2 of handoff). Write what is in force (`onceover export` prints it)"), "{rest}");

    let exported = machine.run(&["export"]).ok();
    assert!(exported.contains(r#"second_approval_over = "5000.00""#), "{exported}");
    assert!(machine.apply(&exported).contains("unchanged"));
    let renamed = exported.replace("name = \"handoff\"", "name = \"handoff\"\ntitle = \"Handoff\"");
    assert!(machine.apply(&renamed).contains("changed"), "what was not set in the browser is the file's");

    // A server that starts with the older file does start.
    let serving = machine.serve_with(&["--config", "older.toml"]);
    serving.stop();
    assert!(machine.run(&["export"]).ok().contains(r#"second_approval_over = "5000.00""#));
    machine.run(&["trail", "verify"]).ok();
}

/// A closed period of March with one confirmed and one unknown operation.
async fn closed(machine: &Machine) -> Period {
    machine.apply(HANDOFF);
    let desk = Desk::on(machine, TimeDelta::zero()).await;
    let scopes = [Scope::OperationsWrite].into();
    let actor = guard::actor::Actor::CommandLine;
    let (token, _) = desk.guard.create_token("shop", scopes, Reach::EVERYTHING, &actor).await.unwrap();
    for (document, outcome) in [
        ("order-1", guard::event::Outcome::Confirmed { destination_reference: "task-1".to_owned() }),
        ("order-2", guard::event::Outcome::Unknown { reason: "no answer".to_owned() }),
    ] {
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
            payload: Payload::parse(br#"{"amount":"0.10","currency":"EUR"}"#).unwrap(),
            worker: None,
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        let decision = desk.guard.begin(&token, &request).await.unwrap();
        let guard::decision::Decision::Proceed { operation, lease_token, .. } = decision else {
            panic!("{decision:?}")
        };
        let report = Report { lease_token, outcome, response: None, request_id: None };
        desk.guard.report(&token, operation.id, &report).await.unwrap();
    }
    desk.database.close().await;

    let desk = Desk::on(machine, TimeDelta::minutes(1)).await;
    let today = desk.guard.now().date_naive();
    let span = Span { from: today - TimeDelta::days(2), to: today };
    let totals = desk.guard.period_totals(&Reach::EVERYTHING, "acme", span).await.unwrap();
    assert_eq!((totals.operations, totals.open.len()), (2, 1));
    let (name, statement, reason) = ("Fay", "they agree with the ledger", "order-2 is being looked for");
    let signing = Signing { name, statement, reason, seen: totals.fingerprint() };
    let period = desk.guard.close_period(&finance("fay"), "acme", span, &signing).await.unwrap();
    desk.database.close().await;
    period
}

#[tokio::test]
async fn a_certificate_is_proven_from_the_trail_and_a_changed_figure_is_found() {
    let machine = Machine::new();
    let period = closed(&machine).await;
    let verified = machine.run(&["trail", "verify"]).ok();
    assert!(verified.contains("1 certificate of a closed period says what the trail says."), "{verified}");

    // What happens later does not touch what was signed.
    let desk = Desk::on(&machine, TimeDelta::minutes(2)).await;
    let operator = Person { role: Role::Operator, ..finance("olga") };
    let open = period.certificate.totals.open[0].operations[0];
    let version = desk.guard.operation(&Reach::EVERYTHING, open).await.unwrap().version;
    let found = guard::event::Resolution::Confirmed { destination_reference: "task-2".to_owned() };
    let ruling = guard::review::Ruling {
        seen_version: version,
        resolution: found,
        reason: "found it".to_owned(),
        link: None,
        file: None,
        look: None,
    };
    desk.guard.resolve(&operator, open, &ruling).await.unwrap();
    desk.database.close().await;
    machine.run(&["trail", "verify"]).ok();

    let alter = |statement: &str| {
        let altered = rusqlite::Connection::open(machine.path("onceover.db")).unwrap();
        assert_eq!(altered.execute(statement, []).unwrap(), 1, "{statement}");
    };
    let refused = || machine.run(&["trail", "verify"]).refused(1).replace(&period.id.to_string(), "ID");
    alter("UPDATE period SET period = replace(period, '\"name\":\"Fay\"', '\"name\":\"Flo\"')");
    assert_snapshot!(refused(), @"onceover: the certificate of period ID does not hold: what is shown of it is not what its entry says");
    alter("UPDATE period SET period = replace(period, '\"name\":\"Flo\"', '\"name\":\"Fay\"')");
    machine.run(&["trail", "verify"]).ok();

    // The amount of an operation is in no entry of its own: the certificate tells that it was altered.
    alter("UPDATE operation SET amount = '0.90', ten_thousandths = 9000 WHERE document = 'order-1'");
    assert_snapshot!(refused(), @"onceover: the certificate of period ID does not hold: handoff, confirmed: 1 operations with 0.10 EUR were signed, and the trail tells of 1 with 0.90");
    alter("UPDATE operation SET amount = '0.10', ten_thousandths = 1000 WHERE document = 'order-1'");
    machine.run(&["trail", "verify"]).ok();

    alter("DELETE FROM period");
    assert_snapshot!(refused(), @"onceover: the certificate of period ID does not hold: it is no longer kept; its entry is there");
}
