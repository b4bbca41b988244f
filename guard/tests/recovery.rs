//! Lost answers become known: what lookups at the destination do to an operation, and when.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use chrono::TimeDelta;
use guard::clock::{Timestamp, rfc3339};
use guard::event::{Outcome, Resolution};
use guard::id::OperationId;
use guard::json::Json;
use guard::lookup::{AnswerClass, Candidate, Difference, Finding, Looked};
use guard::person::Role;
use guard::recovery::{Answer, NEGATIVES_APART_SECONDS};
use guard::refusal::{Refusal, StoreFault};
use guard::service::{Outlook, Proof};
use guard::state::{State, StateName};
use guard::store::Store as _;
use guard::summary::{Counted, Recovering};
use guard::token::Reach;
use guard::workflow::{Comparison, Workflow};
use world::{Fault, HANDOFF, World, assert_chain, handoff, ledger};

/// The finality window of the ledger, in seconds.
const FINALITY: i64 = 30;

fn found(reference: &str) -> Finding {
    Finding::Found { destination_reference: reference.to_owned() }
}

fn timeout() -> Finding {
    Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer in 10 s".to_owned() }
}

fn looked(finding: Finding) -> Looked {
    Looked {
        request: "GET /tasks?external_reference=oo-1".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 12,
        finding,
        candidates: Vec::new(),
    }
}

/// A world whose workflow creates its records in a ledger that can be asked.
async fn world() -> World {
    let world = World::new().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![ledger(Some(30))]).await;
    world
}

/// An operation that its worker reported as unknown.
async fn unknown(world: &World, document: &str) -> OperationId {
    let billing = world.worker(&format!("billing of {document}")).await;
    let permit = billing.owns(document).await;
    billing.is_unsure(&permit, "timed out").await.unwrap();
    permit.id
}

async fn looks(world: &World, id: OperationId, finding: Finding) -> StateName {
    let asked_at = world.guard.now();
    world.guard.looked_up(id, asked_at, &looked(finding)).await.unwrap().state.name()
}

async fn outlook(world: &World, id: OperationId) -> Option<Outlook> {
    world.guard.outlook(&world.operation(id).await).await.unwrap()
}

async fn due_at(world: &World, id: OperationId) -> Timestamp {
    world.memory.recovery(id).await.unwrap().unwrap().due_at
}

#[tokio::test]
async fn what_becomes_unknown_is_due_at_once_on_every_path() {
    let world = world().await;
    let reported = unknown(&world, "order-1").await;
    assert_eq!(due_at(&world, reported).await, world.guard.now());

    let permit = world.worker("silent").await.owns("order-2").await;
    world.clock.advance(90);
    assert_eq!(world.guard.expire_due(10).await, Ok(1));
    let recovery = world.memory.recovery(permit.id).await.unwrap().unwrap();
    assert_eq!(recovery.due_at, world.guard.now());
    assert_eq!(recovery.last_write_at, permit.until, "nobody may write once the lease is over");
    assert_eq!(
        world.guard.recovering(&Reach::EVERYTHING).await,
        Ok(Recovering { waiting: 2, ..Recovering::default() })
    );
}

#[tokio::test]
async fn the_timeout_that_catches_teams() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    assert_eq!(looks(&world, id, found("task-907")).await, StateName::Confirmed);
    assert_eq!(world.worker("again").await.asks("order-1").hears().await, "replay");
    assert_eq!(world.operation(id).await.state.destination_reference(), Some("task-907"));
    assert_eq!(world.told(id), ["begun", "reported", "looked_up"]);
    assert_eq!(world.memory.recovery(id).await, Ok(None));
    assert_eq!(world.memory.counted(Counted::LookedUp(Answer::Found)), 1);
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Confirmed)), 1);
    let entries = world.entries(id);
    let last = entries.last().unwrap();
    insta::assert_snapshot!(last.actor, @"system:recovery");
    insta::assert_snapshot!(last.detail, @r#"{"state":"confirmed","attempt":1,"request":"GET /tasks?external_reference=oo-1","asked_at":"2026-03-01T09:00:00.000Z","status":200,"pages":1,"took_milliseconds":12,"finding":"found","destination_reference":"task-907","found":["task-907"]}"#);
    assert_chain(&world.operation(id).await, &entries);
}

/// An index that lags (the fifth second shows nothing, the twentieth does), thirty seconds to settle.
#[tokio::test]
async fn an_index_that_lags_frees_nothing() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    let worker = world.worker("again").await;
    for seconds in [0, 5] {
        world.clock.advance(seconds);
        assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Unknown);
        assert_eq!(worker.asks("order-1").hears().await, "unknown");
    }
    world.clock.advance(15);
    assert_eq!(looks(&world, id, found("task-907")).await, StateName::Confirmed);
    assert_eq!(worker.asks("order-1").hears().await, "replay");
}

#[tokio::test]
async fn absence_is_proven_by_two_lookups_after_the_window_and_frees_the_key() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    world.clock.advance(FINALITY - 1);
    assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Unknown);
    let window_ends = world.guard.now() + TimeDelta::seconds(1);
    assert_eq!(due_at(&world, id).await, window_ends, "asked for when it can be proof");
    let Some(Outlook::Waiting { proof, next_at, down: None, .. }) = outlook(&world, id).await else { panic!() };
    assert_eq!((proof, next_at), (Proof::From { at: window_ends }, window_ends));

    world.clock.advance(1);
    assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Unknown);
    let again_from = window_ends + TimeDelta::seconds(NEGATIVES_APART_SECONDS);
    let Some(Outlook::Waiting { proof, .. }) = outlook(&world, id).await else { panic!() };
    assert_eq!(proof, Proof::OneMore { from: again_from });
    assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Unknown, "the same moment again");

    world.clock.advance(NEGATIVES_APART_SECONDS);
    assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Failed);
    let State::Failed { reason, .. } = world.operation(id).await.state else { panic!() };
    assert!(reason.starts_with("proven absent"), "{reason}");
    let last = world.entries(id).pop().unwrap();
    assert_eq!(last.detail.member("counts_towards_proof"), Some(&Json::Bool(true)));
    assert_eq!(world.worker("again").await.owns("order-1").await.attempt, 2);
}

#[tokio::test]
async fn without_a_finality_window_absence_is_never_proven() {
    let world = world().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![ledger(None)]).await;
    let id = unknown(&world, "order-1").await;
    for _ in 0..5 {
        world.clock.advance(86_400);
        assert_eq!(looks(&world, id, Finding::Absent).await, StateName::Unknown);
    }
    let Some(Outlook::Waiting { proof: Proof::Never, .. }) = outlook(&world, id).await else { panic!() };
    for _ in 0..3 {
        world.clock.advance(86_400);
        looks(&world, id, Finding::Absent).await;
    }
    let Some(Outlook::Exhausted { .. }) = outlook(&world, id).await else { panic!() };
    assert_eq!(
        world.guard.recovering(&Reach::EVERYTHING).await,
        Ok(Recovering { exhausted: 1, ..Recovering::default() })
    );
    assert_eq!(world.state(id).await, StateName::Unknown, "it stays what it is, for a person");
}

#[tokio::test]
async fn what_is_inconclusive_moves_nothing_and_says_why() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    world.clock.advance(FINALITY);
    for class in AnswerClass::ALL {
        world.clock.advance(60);
        let finding = Finding::Inconclusive { class, reason: "some reason".to_owned() };
        assert_eq!(looks(&world, id, finding).await, StateName::Unknown);
        let last = world.entries(id).pop().unwrap();
        assert_eq!(last.detail.member("class").and_then(Json::as_str), Some(class.as_str()));
        assert_eq!(last.detail.member("counts_towards_proof"), None);
        assert_eq!(world.memory.counted(Counted::LookedUp(Answer::Inconclusive(class))), 1);
    }
    let recovery = world.memory.recovery(id).await.unwrap().unwrap();
    assert_eq!((recovery.lookups, recovery.first_negative_at), (12, None));
    assert_eq!(recovery.last.unwrap().reason.as_deref(), Some("some reason"));
}

#[tokio::test]
async fn a_record_that_differs_or_stands_twice_is_disputed() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    let differs = Finding::Differs {
        destination_reference: "task-907".to_owned(),
        differences: vec![Difference {
            payload: "/amount".parse().unwrap(),
            record: "$.total".to_owned(),
            compare: Comparison::Decimal,
            ours: Some(Json::String("561.80".to_owned())),
            theirs: Some(Json::String("651.80".to_owned())),
        }],
    };
    assert_eq!(looks(&world, id, differs).await, StateName::Disputed);
    let State::Disputed { reason, destination_reference, .. } = world.operation(id).await.state else { panic!() };
    insta::assert_snapshot!(reason, @r#"the destination holds "task-907", and it differs in /amount"#);
    assert_eq!(destination_reference.as_deref(), Some("task-907"));
    let last = world.entries(id).pop().unwrap();
    insta::assert_snapshot!(last.detail.member("differences").unwrap(), @r#"[{"payload":"/amount","record":"$.total","ours":"561.80","theirs":"651.80"}]"#);
    assert_eq!(world.worker("again").await.asks("order-1").hears().await, "unknown", "its key is not free");
    assert_eq!(outlook(&world, id).await, None, "a person decides");

    let id = unknown(&world, "order-2").await;
    let several = Finding::Several { destination_references: vec!["task-1".to_owned(), "task-2".to_owned()] };
    assert_eq!(looks(&world, id, several).await, StateName::Disputed);
    let State::Disputed { reason, .. } = world.operation(id).await.state else { panic!() };
    insta::assert_snapshot!(reason, @r#"the destination holds several live records: "task-1", "task-2""#);
}

#[tokio::test]
async fn only_void_records_go_to_a_person_who_may_have_it_looked_for_again() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    let void = || Finding::VoidOnly { destination_references: vec!["task-1".to_owned()] };
    assert_eq!(looks(&world, id, void()).await, StateName::Unknown);
    assert!(matches!(outlook(&world, id).await, Some(Outlook::Exhausted { .. })));

    let ada = world.operator();
    let asked = world.guard.look_up_now(&ada.person, id).await.unwrap();
    assert!(matches!(asked, Outlook::Waiting { .. }), "{asked:?}");
    let claimed = world.guard.claim_recoveries("ledger", "me", TimeDelta::seconds(60), 9).await.unwrap();
    assert_eq!(claimed, [id]);
    let refusal = world.guard.look_up_now(&ada.person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be looked up twice at once: a lookup is under way");
    assert_eq!(looks(&world, id, found("task-2")).await, StateName::Confirmed);
    let refusal = world.guard.look_up_now(&ada.person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is confirmed cannot be looked up");
}

#[tokio::test]
async fn only_those_who_may_decide_ask_for_a_lookup_within_reach() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    for role in Role::ALL {
        let mut person = world.person(role).person;
        assert_eq!(world.guard.look_up_now(&person, id).await.is_ok(), role.may_resolve(), "{role:?}");
        person.reach = Reach::over(["globex".to_owned()], []);
        assert!(world.guard.look_up_now(&person, id).await.is_err());
    }
}

#[tokio::test]
async fn candidates_are_told_and_never_taken() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    let candidates =
        vec![Candidate { external_reference: "oo-10".to_owned(), destination_reference: Some("task-10".to_owned()) }];
    let resembling = Looked { candidates, ..looked(Finding::Absent) };
    world.guard.looked_up(id, world.guard.now(), &resembling).await.unwrap();
    assert_eq!(world.state(id).await, StateName::Unknown);
    let last = world.entries(id).pop().unwrap();
    insta::assert_snapshot!(last.detail.member("candidates").unwrap(), @r#"[{"external_reference":"oo-10","destination_reference":"task-10"}]"#);
}

#[tokio::test]
async fn not_applied_is_refused_while_the_destination_may_still_show_it() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    let ada = world.operator();
    let before = world.memory.snapshot();
    let refusal = ada.denies(id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be decided as not applied before 2026-03-01T09:00:30.000Z: until then the destination may still show a record that was written last");
    assert_eq!(world.memory.snapshot(), before);
    world.clock.advance(FINALITY);
    assert_eq!(ada.denies(id).await.unwrap().operation.state.name(), StateName::Failed);

    let other = unknown(&world, "order-2").await;
    assert!(ada.confirms(other, "task-1").await.is_ok(), "what is there may be said at any time");
}

/// The same end by a lookup, by a worker and by a person: the same state, the same counters, the same consequences.
#[tokio::test]
async fn whoever_settles_it_the_consequences_are_the_same() {
    let world = world().await;
    let ada = world.operator();
    let mut ids = Vec::new();
    let mut permits = Vec::new();
    let worker = world.worker("billing").await;
    for number in 0..3 {
        let permit = worker.owns(&format!("order-{number}")).await;
        worker.is_unsure(&permit, "timed out").await.unwrap();
        ids.push(permit.id);
        permits.push(permit);
    }
    world.clock.advance(FINALITY);
    looks(&world, ids[0], Finding::Absent).await;
    world.clock.advance(NEGATIVES_APART_SECONDS);
    looks(&world, ids[0], Finding::Absent).await;
    ada.denies(ids[1]).await.unwrap();
    worker.fails(&permits[2], "refused").await.unwrap();
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(world.state(*id).await, StateName::Failed);
        assert_eq!(world.memory.recovery(*id).await, Ok(None));
        let last = world.entries(*id).pop().unwrap();
        assert_eq!(last.detail.member("state").and_then(Json::as_str), Some("failed"), "{:?}", last.kind);
        assert!(last.detail.member("reason").is_some(), "{:?}", last.kind);
        assert_chain(&world.operation(*id).await, &world.entries(*id));
        assert_eq!(worker.owns(&format!("order-{number}")).await.attempt, 2, "its key is free");
    }
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Failed)), 3);
}

/// A confirmed revision supersedes the one before it, also when a lookup confirms it.
#[tokio::test]
async fn a_lookup_that_confirms_supersedes_the_revision_before() {
    let world = world().await;
    let worker = world.worker("billing").await;
    let first = worker.owns("order-1").await;
    worker.confirms(&first, "task-1").await.unwrap();
    let next = OperationId::from_u128(77);
    let since = world.guard.now();
    world.memory.force_revision(first.id, next, 2, State::Unknown { since, reason: "timed out".to_owned() });
    let chained = world.memory.operation(next).await.unwrap().unwrap();
    assert_eq!(chained.key.revision, 2);
    assert_eq!(looks(&world, next, found("task-2")).await, StateName::Confirmed);
    assert_eq!(world.operation(first.id).await.superseded_by, Some(next));
    assert_eq!(worker.asks("order-1").hears().await, "superseded");
}

#[tokio::test]
async fn a_late_report_that_it_may_be_there_begins_the_window_anew() {
    let world = world().await;
    let worker = world.worker("slow").await;
    let permit = worker.owns("order-1").await;
    world.clock.advance(60);
    assert_eq!(world.guard.expire_due(10).await, Ok(1));
    world.clock.advance(FINALITY);
    assert_eq!(looks(&world, permit.id, Finding::Absent).await, StateName::Unknown);
    // Its worker was asleep, sent, and heard nothing: what was looked for in vain before proves nothing.
    world.clock.advance(NEGATIVES_APART_SECONDS);
    let asked_at = world.guard.now();
    world.clock.advance(1);
    worker.is_unsure(&permit, "timed out").await.unwrap();
    let reported_at = world.guard.now();
    let after = world.guard.looked_up(permit.id, asked_at, &looked(Finding::Absent)).await.unwrap();
    assert_eq!(after.state.name(), StateName::Unknown);
    let recovery = world.memory.recovery(permit.id).await.unwrap().unwrap();
    assert_eq!((recovery.last_write_at, recovery.first_negative_at), (reported_at, None));
    let refusal = world.operator().denies(permit.id).await.unwrap_err();
    assert!(refusal.to_string().contains(&rfc3339(reported_at + TimeDelta::seconds(FINALITY))), "{refusal}");
}

#[tokio::test]
async fn that_an_earlier_attempt_was_refused_leaves_what_was_looked_for_since() {
    let world = world().await;
    let first = world.worker("first").await;
    let refused = first.owns("order-1").await;
    first.fails(&refused, "no such customer").await.unwrap();
    let second = world.worker("second").await;
    let permit = second.owns("order-1").await;
    second.is_unsure(&permit, "timed out").await.unwrap();
    world.clock.advance(FINALITY);
    assert_eq!(looks(&world, permit.id, Finding::Absent).await, StateName::Unknown);
    // Another sentence than before, so that it is kept; it says nothing of the attempt that is looked for.
    assert_eq!(first.fails(&refused, "the customer was closed").await, Err(Refusal::StaleLease));
    assert_eq!(world.told(permit.id).last(), Some(&"report_kept"));
    world.clock.advance(NEGATIVES_APART_SECONDS);
    assert_eq!(looks(&world, permit.id, Finding::Absent).await, StateName::Failed);
}

#[tokio::test]
async fn a_report_that_comes_first_is_not_overwritten_by_the_lookup() {
    let world = world().await;
    let worker = world.worker("slow").await;
    let permit = worker.owns("order-1").await;
    world.clock.advance(60);
    world.guard.expire_due(10).await.unwrap();
    let (reporter, late) = (worker.clone(), permit.clone());
    let reports = async move {
        reporter.confirms(&late, "task-1").await.unwrap();
    };
    world.memory.disturb(1, Fault::meanwhile(reports));
    assert_eq!(looks(&world, permit.id, found("task-1")).await, StateName::Confirmed);
    assert_eq!(world.told(permit.id), ["begun", "expired", "reported", "looked_up"]);

    // Another record than the worker's: the effect may be there twice.
    let permit = worker.owns("order-2").await;
    worker.is_unsure(&permit, "timed out").await.unwrap();
    let (reporter, late) = (worker.clone(), permit.clone());
    let reports = async move {
        reporter.confirms(&late, "task-2").await.unwrap();
    };
    world.memory.disturb(1, Fault::meanwhile(reports));
    assert_eq!(looks(&world, permit.id, found("task-3")).await, StateName::Disputed);
    let State::Disputed { reason, .. } = world.operation(permit.id).await.state else { panic!() };
    insta::assert_snapshot!(reason, @r#"confirmed as "task-2", and the destination holds "task-3""#);
}

/// A person said that nothing was applied while a lookup was under way that then found it.
#[tokio::test]
async fn a_record_found_after_it_was_denied_is_disputed() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    world.clock.advance(FINALITY);
    let asked_at = world.guard.now();
    world.operator().denies(id).await.unwrap();
    let after = world.guard.looked_up(id, asked_at, &looked(found("task-1"))).await.unwrap();
    assert_eq!(after.state.name(), StateName::Disputed);
    assert_eq!(world.worker("again").await.asks("order-1").hears().await, "unknown", "its key is no longer free");
}

#[tokio::test]
async fn a_store_that_stumbles_tells_a_lookup_once() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    world.memory.disturb(1, Fault::Fails(StoreFault::Unavailable));
    let asked_at = world.guard.now();
    let refused = world.guard.looked_up(id, asked_at, &looked(found("task-1"))).await;
    assert_eq!(refused, Err(Refusal::Store(StoreFault::Unavailable)));
    assert_eq!(world.state(id).await, StateName::Unknown);
    world.memory.disturb(1, Fault::IsRetried);
    assert_eq!(looks(&world, id, found("task-1")).await, StateName::Confirmed);
    assert_eq!(world.told(id), ["begun", "reported", "looked_up"]);
}

#[tokio::test]
async fn a_lookup_configured_later_picks_up_what_waits() {
    let world = World::new().await;
    let id = unknown(&world, "order-1").await;
    assert_eq!(outlook(&world, id).await, Some(Outlook::NoLookup));
    assert_eq!(world.memory.recovery(id).await, Ok(None));
    let refusal = world.guard.look_up_now(&world.operator().person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is unknown cannot be looked up: its destination has no lookup");
    assert_eq!(world.guard.adopt_unknown().await, Ok(0));

    let unknown_since = world.guard.now();
    world.clock.advance(3_600);
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![ledger(Some(30))]).await;
    assert_eq!(world.guard.adopt_unknown().await, Ok(1));
    assert_eq!(world.guard.adopt_unknown().await, Ok(0));
    let recovery = world.memory.recovery(id).await.unwrap().unwrap();
    assert_eq!((recovery.due_at, recovery.last_write_at), (world.guard.now(), unknown_since));
    assert!(world.guard.sought(id).await.unwrap().is_some());
    assert_eq!(looks(&world, id, found("task-1")).await, StateName::Confirmed);
    assert!(world.guard.sought(id).await.unwrap().is_none(), "nothing is looked for that is known");
}

#[tokio::test]
async fn a_destination_that_is_down_is_the_reason_that_people_see() {
    let world = world().await;
    let id = unknown(&world, "order-1").await;
    for _ in 0..guard::access::FAILURES_MAX {
        looks(&world, id, timeout()).await;
        world.guard.answered("ledger", &looked(timeout())).await.unwrap();
    }
    let Some(Outlook::Waiting { down: Some(down), next_at, .. }) = outlook(&world, id).await else { panic!() };
    assert_eq!(down.reason, "no answer in 10 s");
    assert!(next_at >= down.probe_at);
    let access = world.guard.accesses().await.unwrap().remove(0);
    assert_eq!(world.guard.take_probe(&access).await, Ok(false));
    world.clock.advance(20);
    assert_eq!(world.guard.take_probe(&access).await, Ok(true));
    assert_eq!(world.guard.take_probe(&access).await, Ok(false), "it was taken");
    world.guard.answered("ledger", &looked(Finding::Absent)).await.unwrap();
    let Some(Outlook::Waiting { down: None, .. }) = outlook(&world, id).await else { panic!() };
}

/// What nobody can be asked about waits for a person, and their choice is in the trail.
#[tokio::test]
async fn mail_cannot_be_asked_for() {
    let world = World::new().await;
    let worker = world.worker("mailer").await;
    let permit = worker.asks("mail-1").in_workflow(HANDOFF).permit().await;
    world.clock.advance(60);
    world.guard.expire_due(10).await.unwrap();
    assert_eq!(outlook(&world, permit.id).await, Some(Outlook::NoLookup));
    for _ in 0..3 {
        world.clock.advance(86_400);
        assert_eq!(worker.asks("mail-1").hears().await, "unknown", "no age frees it");
    }
    let ada = world.operator();
    let sent = Resolution::Confirmed { destination_reference: "<m-1@example.test>".to_owned() };
    ada.decides(permit.id, sent).await.unwrap();
    assert_eq!(world.entries(permit.id).pop().unwrap().actor.to_string(), "person:ada@example.test");
    assert!(worker.reports(&permit, Outcome::Unknown { reason: "?".to_owned() }).await.is_err());
}

/// The ledger of these tests, which answers 409 where it holds such a record already.
fn strict_ledger() -> guard::destination::Destination {
    let create = guard::destination::Create {
        method: "POST".to_owned(),
        path: "/tasks".to_owned(),
        reference: "$.id".to_owned(),
        confirmed: vec!["200-299".to_owned()],
        failed: vec!["422".to_owned()],
        exists: vec!["409".to_owned()],
        external_reference_header: None,
        external_reference_pointer: None,
    };
    guard::destination::Destination { create: Some(create), ..ledger(Some(30)) }
}

#[tokio::test]
async fn a_destination_that_says_it_exists_and_never_shows_it_goes_to_a_person() {
    let world = World::new().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![strict_ledger()]).await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let exists = Outcome::Unknown { reason: "the destination answered 409".to_owned() };
    billing.hands_in(&permit, exists, Some(r#"{"status":409,"body":{"code":307}}"#)).await.unwrap();

    world.clock.advance(FINALITY);
    for _ in 0..2 {
        world.guard.looked_up(permit.id, world.guard.now(), &looked(Finding::Absent)).await.unwrap();
        world.clock.advance(NEGATIVES_APART_SECONDS);
    }
    // Two in vain would be proof; what it said is worth more than what it does not show.
    let operation = world.operation(permit.id).await;
    assert_eq!(operation.state.name(), StateName::Unknown);
    assert_eq!(billing.asks("order-1").hears().await, "unknown");
    let Some(Outlook::Exhausted { recovery, proof: Proof::Contradicted { .. } }) =
        world.guard.outlook(&operation).await.unwrap()
    else {
        panic!("it is still looked for")
    };
    assert_eq!(
        recovery.last.unwrap().reason.unwrap(),
        "the destination answered that there is such a record already, and does not show it"
    );
    assert!(world.entries(permit.id).iter().all(|entry| entry.detail.member("counts_towards_proof").is_none()));

    // However often somebody asks again, it is no proof; the record itself would be.
    world.guard.look_up_now(&world.operator().person, permit.id).await.unwrap();
    world.guard.looked_up(permit.id, world.guard.now(), &looked(Finding::Absent)).await.unwrap();
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
    world.guard.looked_up(permit.id, world.guard.now(), &looked(found("task-907"))).await.unwrap();
    assert_eq!(world.state(permit.id).await, StateName::Confirmed);
}

#[tokio::test]
async fn the_latest_report_of_an_attempt_tells_whether_it_exists() {
    let world = World::new().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    world.configure(vec![workflow], vec![strict_ledger()]).await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.is_unsure(&permit, "timed out").await.unwrap();
    let says = async || world.memory.recovery(permit.id).await.unwrap().unwrap().exists_at.is_some();
    assert!(!says().await);
    let again = Outcome::Unknown { reason: "sent once more: 409".to_owned() };
    billing.hands_in(&permit, again, Some(r#"{"status":409}"#)).await.unwrap();
    assert!(says().await);
    let lost = Outcome::Unknown { reason: "sent a third time: no answer".to_owned() };
    billing.hands_in(&permit, lost, None).await.unwrap();
    assert!(!says().await);
}
