//! Bodies are dropped when their days are over or when somebody has them erased; what is unresolved or on hold stays.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::call::{About, Heard, HeardBody};
use guard::clock::{Clock, Entropy, Timestamp};
use guard::conflict::ConflictVerdict;
use guard::decision::Decision;
use guard::event::Outcome;
use guard::id::{OperationId, PersonId};
use guard::json::Json;
use guard::key::{KeyPart, OperationKey};
use guard::look_alike::LookAlikeRules;
use guard::operation::Operation;
use guard::payload::Payload;
use guard::person::{Person, Role};
use guard::recovery::Claim;
use guard::refusal::Refusal;
use guard::retention::{BodyKind, Content, HoldScope};
use guard::service::{BeginRequest, Definitions, Guard, NewEvidence, Proposer, Report, SeenConflict, SeenOperation};
use guard::token::{Reach, Scope, Token};
use guard::trail::{Entry, EntryKind};
use guard::veil::Veil;
use guard::workflow::{Correction, Workflow};
use server::clock::{OsEntropy, SystemClock};
use server::retention::Sweep;
use server::store::{Database, Pool};

use crate::support::{Fresh, on_both};

on_both!(
    settled_content_goes_after_its_days_and_the_file_of_a_year_ago_is_still_recognised,
    what_is_unresolved_stays,
    a_hold_keeps_content_until_it_is_lifted,
    a_drop_that_fails_half_way_drops_nothing,
    two_processes_drop_each_operation_once,
    an_erasure_takes_every_revision_at_once_or_none,
    what_is_begun_again_brings_its_payload_along,
    nobody_without_the_role_holds_or_erases,
);

/// What stands in payloads, responses and files, and nowhere else.
const SECRET: &str = "Rosalind-Q-Whittaker";

const DAYS: u32 = 30;

/// The machine's clock, moved by hand.
#[derive(Default)]
struct MovedClock {
    machine: SystemClock,
    ahead_milliseconds: AtomicI64,
}

impl MovedClock {
    fn advance(&self, days: i64) {
        let by = TimeDelta::days(days) + TimeDelta::minutes(5);
        self.ahead_milliseconds.fetch_add(by.num_milliseconds(), Ordering::Relaxed);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        self.machine.now() + TimeDelta::milliseconds(self.ahead_milliseconds.load(Ordering::Relaxed))
    }
}

/// A guard over a database, an automation, and people.
struct World {
    fresh: Fresh,
    guard: Guard,
    clock: Arc<MovedClock>,
    token: Token,
    olga: Person,
    fay: Person,
}

async fn guard_over(database: &Database, clock: &Arc<MovedClock>) -> Guard {
    let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    Guard::open(store, registry, Arc::<MovedClock>::clone(clock), entropy).await.unwrap()
}

fn person(email: &str, role: Role) -> Person {
    let id = PersonId::new(SystemClock::new().now(), OsEntropy.bytes());
    Person { id, email: email.to_owned(), role, reach: Reach::EVERYTHING }
}

impl World {
    async fn over(fresh: Fresh) -> Self {
        let clock = Arc::new(MovedClock::default());
        let guard = guard_over(&fresh.database, &clock).await;
        let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
        workflow.retention.payload_days = Some(DAYS);
        workflow.amount = Some("/amount".parse().unwrap());
        workflow.currency = Some("/currency".parse().unwrap());
        let counterparty = "/customer".parse().unwrap();
        workflow.look_alikes = Some(LookAlikeRules { counterparty, days: 30 });
        workflow.amendment.amendable = vec!["/amount".parse().unwrap()];
        workflow.amendment.before_reconciliation = Correction::Amend;
        let mut kept = Workflow::named(KeyPart::new("kept").unwrap());
        kept.retention.payload_days = None;
        let definitions = Definitions { workflows: vec![workflow, kept], ..Definitions::default() };
        guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let scopes: BTreeSet<Scope> = Scope::ALL.into_iter().collect();
        let (token, _) = guard.create_token("billing", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        let (olga, fay) = (person("olga@example.test", Role::Operator), person("fay@example.test", Role::Finance));
        Self { fresh, guard, clock, token, olga, fay }
    }

    async fn begin(&self, key: OperationKey, amount: &str) -> Decision {
        let text = format!(r#"{{"customer":"{SECRET}","amount":"{amount}","currency":"EUR"}}"#);
        let payload = Payload::parse(text.as_bytes()).unwrap();
        let (worker, delivery_id, begin_id, request_id) = (None, None, None, None);
        let request = BeginRequest { key, payload, worker, delivery_id, begin_id, lease_seconds: None, request_id };
        self.guard.begin(&self.token, &request).await.unwrap()
    }

    async fn reported(&self, key: OperationKey, amount: &str, outcome: Outcome) -> Operation {
        let Decision::Proceed { operation, lease_token, .. } = self.begin(key, amount).await else {
            panic!("it may be sent")
        };
        let response = Json::parse(format!(r#"{{"status":201,"body":{{"for":"{SECRET}"}}}}"#).as_bytes()).unwrap();
        let report = Report { lease_token, outcome, response: Some(response), request_id: None };
        self.guard.report(&self.token, operation.id, &report).await.unwrap()
    }

    async fn confirmed(&self, document: &str) -> Operation {
        let destination_reference = format!("task-{document}");
        self.reported(key(document), "118.00", Outcome::Confirmed { destination_reference }).await
    }

    /// A settled operation that has a body of each kind.
    async fn with_everything(&self, document: &str) -> Operation {
        let operation = self.confirmed(document).await;
        let file: Arc<[u8]> = format!("{SECRET} paid").into_bytes().into();
        let new = NewEvidence {
            note: "the statement".to_owned(),
            link: String::new(),
            file: Some(("bank.txt".to_owned(), file)),
        };
        self.guard.add_evidence(&self.olga, operation.id, &new).await.unwrap();
        let Decision::Conflict { conflict, operation, .. } = self.begin(key(document), "236.00").await else {
            panic!("another payload")
        };
        let seen = SeenConflict { version: operation.version, received: conflict.fingerprint };
        let kept = ConflictVerdict::KeepApproved;
        self.guard.decide_conflict(&self.olga, conflict.id, &seen, &kept, "a typing mistake", None).await.unwrap();
        let request = format!(r#"{{"workflow":"handoff","company":"ACME","payload":{{"customer":"{SECRET}"}}}}"#);
        let heard = Heard {
            token: Arc::new(self.token.clone()),
            at: self.guard.now(),
            microseconds: 1,
            method: "POST".to_owned(),
            endpoint: "/api/v1/operations".to_owned(),
            path: "/api/v1/operations".to_owned(),
            status: 201,
            problem: None,
            operation: Some(operation.id),
            decision: None,
            about: About::operation(&operation.key),
            request_id: "r-1".to_owned(),
            body: HeardBody::Json(Json::parse(request.as_bytes()).unwrap(), 1),
        };
        self.guard.keep_calls(vec![heard]).await.unwrap();
        self.stored(operation.id).await
    }

    async fn stored(&self, id: OperationId) -> Operation {
        self.fresh.database.store.operation(id).await.unwrap().unwrap()
    }

    async fn sweep(&self) -> u32 {
        self.guard.drop_due("handoff", None, 100).await.unwrap().dropped
    }

    /// How many bodies the tables hold of an operation, whatever the store says of it.
    async fn rows(&self, id: OperationId) -> i64 {
        let id = self.fresh.id(id.as_u128());
        let mut sum = 0;
        for from in [
            format!("body WHERE operation = {id}"),
            format!("conflict WHERE operation = {id} AND (payload IS NOT NULL OR changes <> '[]')"),
            format!("amendment WHERE operation = {id} AND (payload IS NOT NULL OR changes <> '[]')"),
            format!("evidence_file WHERE evidence IN (SELECT id FROM evidence WHERE operation = {id})"),
            format!("look_alike WHERE operation = {id}"),
            format!("call WHERE operation = {id} AND request IS NOT NULL"),
        ] {
            sum += self.fresh.number(&format!("SELECT count(*) FROM {from}")).await;
        }
        sum
    }

    async fn certificates(&self, id: OperationId) -> Vec<Entry> {
        let entries = self.fresh.database.store.entries(id, 0, 500).await.unwrap();
        entries.into_iter().filter(|entry| entry.kind == EntryKind::BodiesDropped).collect()
    }

    async fn verify(&self) {
        let catalogue = self.fresh.database.registry.catalogue().await.unwrap();
        server::trail::verify(self.fresh.database.ledger.as_ref(), &catalogue).await.unwrap();
    }

    async fn seen(&self, id: OperationId) -> Vec<SeenOperation> {
        let keeping = self.guard.keeping(&Reach::EVERYTHING, id).await.unwrap();
        let of = |held: guard::retention::Erasable| SeenOperation {
            operation: held.operation.id,
            version: held.operation.version,
        };
        keeping.operations.into_iter().map(of).collect()
    }
}

fn key(document: &str) -> OperationKey {
    let part = |text: &str| KeyPart::new(text).unwrap();
    OperationKey {
        workflow: part("handoff"),
        company: part("ACME"),
        source_system: part("shop"),
        document: part(document),
        action: part("create"),
        revision: 1,
    }
}

async fn settled_content_goes_after_its_days_and_the_file_of_a_year_ago_is_still_recognised(fresh: Fresh) {
    let world = World::over(fresh).await;
    let settled = world.with_everything("A").await;
    let other = OperationKey { workflow: KeyPart::new("kept").unwrap(), ..key("A") };
    let kept = world.reported(other, "118.00", Outcome::Confirmed { destination_reference: "task-K".to_owned() }).await;
    world.clock.advance(i64::from(DAYS) - 1);
    assert_eq!((world.sweep().await, world.rows(settled.id).await), (0, 6), "its days are not over");
    world.clock.advance(1);
    assert_eq!(world.sweep().await, 1);
    assert_eq!(world.rows(settled.id).await, 0);
    assert_eq!(world.sweep().await, 0, "and there is nothing left to do");
    assert_eq!(world.guard.drop_due("kept", None, 100).await.unwrap().looked_at, 0);
    assert_eq!(world.rows(kept.id).await, 2, "a workflow without days keeps everything");

    // Key, fingerprint, outcome, evidence and the decision stay.
    let now = world.stored(settled.id).await;
    assert_eq!(
        (&now.key, now.fingerprint, &now.state, &now.money),
        (&settled.key, settled.fingerprint, &settled.state, &settled.money)
    );
    let Content::Dropped { at } = now.content else { panic!("{:?}", now.content) };
    let history = world.guard.history(&Reach::EVERYTHING, settled.id).await.unwrap();
    let file = history.evidence[0].file.clone().unwrap();
    assert_eq!((history.payload, file.name.as_str(), file.bytes > 0), (None, "bank.txt", true));
    assert_eq!((history.conflicts[0].changes.len(), history.conflicts[0].changes_total), (0, 1));
    assert!(history.conflicts[0].decision().is_some());

    // One certificate: what went by kind, under which rule, and the fingerprints that stay.
    let certificates = world.certificates(settled.id).await;
    assert_eq!(certificates.len(), 1);
    let detail = &certificates[0].detail;
    let text = detail.to_string();
    for fact in ["\"payload\"", "\"response\"", "\"received\"", "\"file\"", "\"call\"", "payload_days"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    assert!(text.contains(&settled.fingerprint.to_string()) && text.contains(&file.sha256.to_string()), "{text}");
    assert!(!text.contains(SECRET));
    assert_eq!(certificates[0].at, at);
    world.verify().await;

    // The old file again: done already. Another payload: a conflict, by the fingerprint alone.
    let Decision::Replay { operation } = world.begin(key("A"), "118.00").await else { panic!("it is recognised") };
    assert_eq!(operation.content.dropped_at(), Some(at));
    let Decision::Conflict { conflict, .. } = world.begin(key("A"), "999.00").await else { panic!("a conflict") };
    assert_eq!((conflict.changes.len(), conflict.changes_total), (0, 0));
    let refused = world.guard.payload(&Reach::EVERYTHING, settled.id, 1).await.unwrap_err().to_string();
    assert!(refused.contains("retention dropped it on"), "{refused}");
    let payload = Payload::parse(br#"{"amount":"1.00"}"#).unwrap();
    let proposed = world.guard.propose(Proposer::Person(&world.fay), settled.id, payload, "more", None, None).await;
    assert!(matches!(proposed, Err(Refusal::Impossible { .. })), "{proposed:?}");
    let pack = world.guard.pack(&Reach::EVERYTHING, settled.id, &Veil::default()).await.unwrap();
    assert_eq!((pack.versions[0].payload.as_ref(), pack.versions[0].dropped_at), (None, Some(at)));

    // What came since waits for a person, and goes when its own days are over.
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!(world.sweep().await, 0, "the conflict is open");
    let held = world.stored(settled.id).await;
    let seen = SeenConflict { version: held.version, received: conflict.fingerprint };
    let verdict = ConflictVerdict::KeepApproved;
    world.guard.decide_conflict(&world.olga, conflict.id, &seen, &verdict, "no", None).await.unwrap();
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!((world.sweep().await, world.rows(settled.id).await), (1, 0));
    assert_eq!(
        world.stored(settled.id).await.content,
        Content::Dropped { at },
        "the payload is told as dropped when it was"
    );
    world.verify().await;

    world.fresh.remove().await;
}

/// SQLite alone: PostgreSQL's files are its own business, and rows that were dropped leave them with its vacuum.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_dropped_is_left_in_the_file() {
    let world = World::over(Fresh::sqlite().await).await;
    let settled = world.with_everything("A").await;
    let path = world.fresh.url.strip_prefix("sqlite://").unwrap().to_owned();
    let holds = |path: &str| {
        let content = std::fs::read(path).unwrap_or_default();
        content.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    };
    let log = format!("{path}-wal");
    assert!(holds(&path) || holds(&log), "it is there before");
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!((world.sweep().await, world.rows(settled.id).await), (1, 0));
    world.fresh.database.close().await;
    assert!(!holds(&path), "the file holds what was dropped");
    assert!(!holds(&log), "its log holds what was dropped");
}

async fn what_is_unresolved_stays(fresh: Fresh) {
    let world = World::over(fresh).await;
    let lost = Outcome::Unknown { reason: "the connection was lost".to_owned() };
    let unknown = world.reported(key("unknown"), "118.00", lost).await;
    let Decision::Proceed { operation: sending, .. } = world.begin(key("sending"), "118.00").await else { panic!() };
    let in_conflict = world.confirmed("in conflict").await;
    world.begin(key("in conflict"), "1.00").await;
    let base = world.confirmed("base").await;
    let payload = format!(r#"{{"customer":"{SECRET}","amount":"7.00","currency":"EUR"}}"#);
    let payload = Payload::parse(payload.as_bytes()).unwrap();
    let amendment =
        world.guard.propose(Proposer::Person(&world.fay), base.id, payload, "more", None, None).await.unwrap();
    let waiting = amendment.operation;
    let refused = world.reported(key("refused"), "118.00", Outcome::Failed { reason: "closed".to_owned() }).await;
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!(world.sweep().await, 1, "what failed is settled");
    for id in [unknown.id, sending.id, in_conflict.id, base.id, waiting] {
        assert!(world.rows(id).await > 0 && world.certificates(id).await.is_empty());
    }
    assert_eq!(world.rows(refused.id).await, 0);
    // Rejected, the proposal is settled, and so is what it stood on.
    let version = world.stored(waiting).await.version;
    world.guard.expire_proposals(10).await.unwrap();
    assert!(world.stored(waiting).await.version > version, "nobody decided in time");
    assert_eq!(world.sweep().await, 1, "the base has been settled for long");
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!(world.sweep().await, 1);
    assert_eq!((world.rows(base.id).await, world.rows(waiting).await), (0, 0));
    world.verify().await;
    world.fresh.remove().await;
}

async fn a_hold_keeps_content_until_it_is_lifted(fresh: Fresh) {
    let world = World::over(fresh).await;
    let (one, other) = (world.confirmed("one").await, world.confirmed("other").await);
    let guard = &world.guard;
    guard.place_hold(&world.fay, one.id, one.version, HoldScope::Operation, "audit 7").await.unwrap();
    guard.place_hold(&world.fay, other.id, other.version, HoldScope::Document, "court").await.unwrap();
    let again = guard.place_hold(&world.fay, one.id, one.version, HoldScope::Operation, "twice").await;
    assert!(matches!(again, Err(Refusal::Impossible { .. })), "{again:?}");
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!(world.sweep().await, 0);
    assert_eq!((world.rows(one.id).await, world.rows(other.id).await), (3, 3));
    let seen = world.seen(one.id).await;
    let erased = guard.erase(&world.fay, one.id, &seen, "asked for").await.unwrap_err().to_string();
    assert!(erased.contains("legal hold") && erased.contains("audit 7"), "{erased}");
    assert_eq!(guard.holds_on(&world.stored(other.id).await).await.unwrap()[0].reason, "court");

    // A hold that comes between the look and the drop wins: what was decided on before is stale.
    for (operation, scope) in [(&one, HoldScope::Operation), (&other, HoldScope::Document)] {
        let now = world.stored(operation.id).await;
        guard.lift_hold(&world.fay, operation.id, now.version, scope, "over").await.unwrap();
    }
    let none = guard.lift_hold(&world.fay, one.id, world.stored(one.id).await.version, HoldScope::Operation, "x").await;
    assert!(matches!(none, Err(Refusal::Impossible { .. })), "{none:?}");
    assert_eq!(world.sweep().await, 0, "it was changed just now, so that its days count anew");
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!(world.sweep().await, 2);
    assert_eq!((world.rows(one.id).await, world.rows(other.id).await), (0, 0));
    world.verify().await;
    world.fresh.remove().await;
}

async fn a_drop_that_fails_half_way_drops_nothing(fresh: Fresh) {
    let world = World::over(fresh).await;
    let settled = world.with_everything("A").await;
    world.clock.advance(i64::from(DAYS) + 1);
    // Files go after payloads: what went before them must be there again.
    let (make, unmake) = match &world.fresh.database.pool {
        Pool::Sqlite(_) => (
            vec!["CREATE TRIGGER refuse BEFORE DELETE ON evidence_file BEGIN SELECT RAISE(ABORT, 'on purpose'); END"],
            vec!["DROP TRIGGER refuse"],
        ),
        Pool::Postgres(_) => (
            vec![
                "CREATE FUNCTION refuse_drop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'on purpose' \
                 USING ERRCODE = '23514'; END $$",
                "CREATE TRIGGER refuse BEFORE DELETE ON evidence_file FOR EACH ROW EXECUTE FUNCTION refuse_drop()",
            ],
            vec!["DROP TRIGGER refuse ON evidence_file"],
        ),
    };
    for sql in make {
        world.fresh.tamper(sql).await.unwrap();
    }
    assert!(world.guard.drop_due("handoff", None, 100).await.is_err());
    assert_eq!(world.rows(settled.id).await, 6);
    assert_eq!(world.stored(settled.id).await, settled, "and nothing tells of it");
    for sql in unmake {
        world.fresh.tamper(sql).await.unwrap();
    }
    assert_eq!((world.sweep().await, world.rows(settled.id).await), (1, 0));
    world.verify().await;
    world.fresh.remove().await;
}

async fn two_processes_drop_each_operation_once(fresh: Fresh) {
    let world = World::over(fresh).await;
    let mut settled = Vec::new();
    for number in 0..25 {
        settled.push(world.confirmed(&format!("D-{number}")).await);
    }
    world.clock.advance(i64::from(DAYS) + 1);
    let now = world.guard.now();
    let claim = |by: &str, seconds| Claim { by: by.to_owned(), until: now + TimeDelta::seconds(seconds) };
    assert!(world.guard.claim_sweep(&claim("first", 60)).await.unwrap());
    assert!(!world.guard.claim_sweep(&claim("second", 60)).await.unwrap(), "one at a time");
    assert!(world.guard.claim_sweep(&claim("first", -1)).await.unwrap());
    assert!(world.guard.claim_sweep(&claim("second", 60)).await.unwrap(), "the claim ran out");

    // Two that think they have the claim: whoever moves first wins, and each operation goes once.
    let second = world.fresh.opened_again().await;
    let other = guard_over(&second, &world.clock).await;
    let (one, two) = tokio::join!(world.guard.drop_due("handoff", None, 100), other.drop_due("handoff", None, 100));
    assert_eq!(one.unwrap().dropped + two.unwrap().dropped, 25);
    for operation in &settled {
        assert_eq!((world.certificates(operation.id).await.len(), world.rows(operation.id).await), (1, 0));
    }
    second.close().await;

    // A list is gone through in steps, each from where the last one ended.
    for number in 0..7 {
        world.confirmed(&format!("E-{number}")).await;
    }
    world.clock.advance(i64::from(DAYS) + 1);
    let (mut after, mut steps, mut dropped) = (None, 0, 0);
    loop {
        let swept = world.guard.drop_due("handoff", after, 3).await.unwrap();
        (after, steps, dropped) = (swept.next, steps + 1, dropped + swept.dropped);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((steps, dropped), (3, 7));
    // A server's turn does all of it, and another server without the claim nothing.
    for number in 0..3 {
        world.confirmed(&format!("F-{number}")).await;
    }
    world.clock.advance(i64::from(DAYS) + 1);
    let nobody_stops = tokio_util::sync::CancellationToken::new();
    let mut sweeps = (Sweep::default(), Sweep::default());
    assert_eq!(sweeps.0.turn(&world.guard, "third", &nobody_stops).await.unwrap(), 3);
    assert_eq!(sweeps.1.turn(&world.guard, "fourth", &nobody_stops).await.unwrap(), 0);
    let standings = world.guard.retention_standings(&Reach::EVERYTHING).await.unwrap();
    assert_eq!(standings.keys().collect::<Vec<_>>(), ["handoff"]);
    let standing = standings["handoff"];
    assert_eq!((standing.due, standing.dropped), (0, 6), "what was dropped long ago is not counted");
    world.verify().await;
    world.fresh.remove().await;
}

async fn an_erasure_takes_every_revision_at_once_or_none(fresh: Fresh) {
    let world = World::over(fresh).await;
    let guard = &world.guard;
    let first = world.with_everything("A").await;
    let elsewhere = OperationKey { company: KeyPart::new("OTHER").unwrap(), ..key("A") };
    let elsewhere =
        world.reported(elsewhere, "1.00", Outcome::Confirmed { destination_reference: "t".to_owned() }).await;
    let reversal = OperationKey { workflow: KeyPart::new("kept").unwrap(), ..key("A") };
    let lost = Outcome::Unknown { reason: "lost".to_owned() };
    let second = world.reported(reversal, "118.00", lost).await;
    let seen = world.seen(first.id).await;
    assert_eq!(seen.len(), 2, "in whatever workflow");
    let refused = guard.erase(&world.fay, first.id, &seen, "the customer asked").await.unwrap_err().to_string();
    assert!(refused.contains("unknown"), "{refused}");
    assert_eq!(world.rows(first.id).await, 6, "and nothing was erased");

    let report = Report {
        lease_token: world.stored(second.id).await.attempt.unwrap().lease_token,
        outcome: Outcome::Confirmed { destination_reference: "task-2".to_owned() },
        response: None,
        request_id: None,
    };
    guard.report(&world.token, second.id, &report).await.unwrap();
    let stale = guard.erase(&world.fay, first.id, &seen, "the customer asked").await;
    assert!(matches!(stale, Err(Refusal::Stale { .. })), "{stale:?}");
    let seen = world.seen(first.id).await;
    let lacking = guard.erase(&world.fay, first.id, &seen[..1], "the customer asked").await;
    assert!(matches!(lacking, Err(Refusal::InvalidField { .. })), "{lacking:?}");
    let erased = guard.erase(&world.fay, first.id, &seen, "the customer asked").await.unwrap();
    assert_eq!(erased.len(), 2);
    assert!(erased[0].1.iter().any(|bodies| bodies.kind == BodyKind::File && bodies.number == 1));
    assert_eq!((world.rows(first.id).await, world.rows(second.id).await), (0, 0));
    assert_eq!(world.rows(elsewhere.id).await, 3, "another company's document of the same number");
    let certificate = world.certificates(first.id).await.pop().unwrap();
    assert!(certificate.detail.to_string().contains("the customer asked"));
    assert_eq!(certificate.actor, Actor::Person { email: "fay@example.test".to_owned() });
    let twice = guard.erase(&world.fay, first.id, &world.seen(first.id).await, "again").await;
    assert!(matches!(twice, Err(Refusal::Impossible { .. })), "{twice:?}");
    assert!(matches!(world.begin(key("A"), "118.00").await, Decision::Replay { .. }));
    world.verify().await;
    world.fresh.remove().await;
}

async fn what_is_begun_again_brings_its_payload_along(fresh: Fresh) {
    let world = World::over(fresh).await;
    let refused = world.reported(key("A"), "118.00", Outcome::Failed { reason: "closed".to_owned() }).await;
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!((world.sweep().await, world.rows(refused.id).await), (1, 0));
    let Decision::Proceed { operation, lease_token, .. } = world.begin(key("A"), "118.00").await else { panic!() };
    assert_eq!((operation.id, operation.content), (refused.id, Content::Kept));
    assert_eq!(world.stored(refused.id).await.content, Content::Kept);
    assert!(world.guard.payload(&Reach::EVERYTHING, refused.id, 1).await.unwrap().contains(SECRET));
    let outcome = Outcome::Confirmed { destination_reference: "task-1".to_owned() };
    let report = Report { lease_token, outcome, response: None, request_id: None };
    world.guard.report(&world.token, refused.id, &report).await.unwrap();
    world.clock.advance(i64::from(DAYS) + 1);
    assert_eq!((world.sweep().await, world.rows(refused.id).await), (1, 0));
    world.verify().await;
    world.fresh.remove().await;
}

async fn nobody_without_the_role_holds_or_erases(fresh: Fresh) {
    let world = World::over(fresh).await;
    let settled = world.confirmed("A").await;
    let (guard, seen) = (&world.guard, world.seen(settled.id).await);
    for role in [Role::Viewer, Role::Operator] {
        let person = person("vic@example.test", role);
        let held = guard.place_hold(&person, settled.id, settled.version, HoldScope::Document, "why not").await;
        let lifted = guard.lift_hold(&person, settled.id, settled.version, HoldScope::Document, "why not").await;
        let erased = guard.erase(&person, settled.id, &seen, "why not").await;
        assert!(matches!(held, Err(Refusal::Forbidden { .. })), "{held:?}");
        assert!(matches!(lifted, Err(Refusal::Forbidden { .. })), "{lifted:?}");
        assert!(matches!(erased, Err(Refusal::Forbidden { .. })), "{erased:?}");
    }
    assert_eq!(world.stored(settled.id).await, settled);
    world.fresh.remove().await;
}
