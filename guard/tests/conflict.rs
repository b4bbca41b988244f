//! People decide on payloads that came under a key that has another one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test names what it expects; anything else fails it")]

#[path = "support/world.rs"]
mod world;

use guard::conflict::{Conflict, ConflictFilter, ConflictOrder, ConflictOutcome, ConflictRefusal, ConflictVerdict};
use guard::decision::Decision;
use guard::key::KeyPart;
use guard::operation::Operation;
use guard::person::Role;
use guard::queue::PageRequest;
use guard::refusal::Refusal;
use guard::rules::{RuleRefusal, RuleVerdict};
use guard::service::{ConflictSettled, SeenConflict, Version};
use guard::state::StateName;
use guard::store::Store as _;
use guard::token::Reach;
use world::{HANDOFF, Operator, Worker, World, assert_chain};

/// Another amount than a worker asks with.
const CHANGED: &str = r#"{"amount":"102.00","currency":"INR"}"#;

/// The same amount, sent at another moment than a worker says.
const SENT_LATER: &str = r#"{"amount":"118.00","currency":"INR","run":"2026-04-01T07:00:00Z"}"#;

async fn conflict(worker: &Worker, document: &str, payload: &str) -> (Operation, Conflict, bool) {
    match worker.asks(document).with(payload).decision().await {
        Decision::Conflict { operation, conflict, is_new } => (operation, conflict, is_new),
        other => panic!("expected conflict, got {other:?}"),
    }
}

fn other(document: &str) -> ConflictVerdict {
    ConflictVerdict::OtherDocument { document: KeyPart::new(document).unwrap() }
}

fn noise(places: &[&str]) -> ConflictVerdict {
    ConflictVerdict::Noise { places: places.iter().map(|place| place.parse().unwrap()).collect() }
}

async fn decides(who: &Operator, conflict: &Conflict, verdict: ConflictVerdict) -> Result<ConflictSettled, Refusal> {
    let version = who.guard.operation(&Reach::EVERYTHING, conflict.operation).await?.version;
    decides_on(who, conflict, version, verdict).await
}

async fn decides_on(
    who: &Operator,
    conflict: &Conflict,
    version: u64,
    verdict: ConflictVerdict,
) -> Result<ConflictSettled, Refusal> {
    let seen = SeenConflict { version, received: conflict.fingerprint };
    let link = Some("https://tickets.example.test/7");
    who.guard.decide_conflict(&who.person, conflict.id, &seen, &verdict, "asked the customer", link).await
}

#[tokio::test]
async fn what_is_decided_stays_decided() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    let (_, first, _) = conflict(&billing, "order-1", CHANGED).await;
    let settled = decides(&ada, &first, ConflictVerdict::KeepApproved).await.unwrap();
    assert_eq!(settled.operation.open_conflicts, 0);
    assert_eq!(settled.operation.state.name(), StateName::Sending, "the operation is not touched");
    assert_eq!(world.told(permit.id), ["begun", "conflict_opened", "conflict_decided"]);
    let entry = world.entries(permit.id).pop().unwrap();
    let fact = |name: &str| entry.detail.member(name).and_then(|fact| fact.as_str()).map(ToOwned::to_owned);
    assert_eq!(fact("outcome").as_deref(), Some("kept_approved"));
    assert_eq!(fact("reason").as_deref(), Some("asked the customer"));
    assert_eq!(fact("received_fingerprint"), Some(first.fingerprint.to_string()));
    assert_eq!(entry.actor.to_string(), "person:ada@example.test");
    assert_chain(&world.operation(permit.id).await, &world.entries(permit.id));

    // The same wrong payload raises the hits and reopens nothing; it is told how it was decided.
    let (operation, again, is_new) = conflict(&billing, "order-1", CHANGED).await;
    assert_eq!((again.id, is_new, operation.open_conflicts), (first.id, false, 0));
    assert_eq!(again.decision().unwrap().outcome, ConflictOutcome::KeptApproved);
    assert_eq!(world.memory.conflicts(permit.id, 10).await.unwrap()[0].hits, 2);
    // A new wrong payload is a new conflict.
    let (operation, new, is_new) = conflict(&billing, "order-1", r#"{"amount":"103.00","currency":"INR"}"#).await;
    assert!(is_new && new.id != first.id);
    assert_eq!(operation.open_conflicts, 1);
    billing.confirms(&permit, "task-1").await.expect("the owner is not disturbed");
}

#[tokio::test]
async fn one_of_two_people_wins_and_the_other_is_told() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    billing.owns("order-1").await;
    let (operation, found, _) = conflict(&billing, "order-1", CHANGED).await;
    let version = operation.version;
    let (one, two) = tokio::join!(
        decides_on(&ada, &found, version, ConflictVerdict::KeepApproved),
        decides_on(&ada, &found, version, other("order-2")),
    );
    let refusals: Vec<Refusal> = [one, two].into_iter().filter_map(Result::err).collect();
    let [Refusal::Conflict(ConflictRefusal::Decided { by, how, .. })] = refusals.as_slice() else {
        panic!("{refusals:?}");
    };
    assert_eq!((by.to_string().as_str(), how.as_str()), ("person:ada@example.test", "the approved payload stands"));
    assert_eq!(world.operation(found.operation).await.open_conflicts, 0);
    assert_eq!(billing.asks("order-2").with(CHANGED).permit().await.attempt, 1, "nothing was registered by the loser");
}

#[tokio::test]
async fn another_document_waits_to_be_begun() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    let (_, found, _) = conflict(&billing, "order-1", CHANGED).await;
    let settled = decides(&ada, &found, other("order-1b")).await.unwrap();
    let registered = settled.other.unwrap();
    assert_eq!((registered.state.name(), registered.attempt), (StateName::Released, 0));
    assert_eq!(registered.money.as_ref().unwrap().amount.to_string(), "102.00");
    assert_eq!(world.told(registered.id), ["registered"]);
    let (_, again, _) = conflict(&billing, "order-1", CHANGED).await;
    let ConflictOutcome::OtherDocument { key } = &again.decision().unwrap().outcome else { panic!("{again:?}") };
    assert_eq!(key.document.as_str(), "order-1b", "the worker is told which number to begin");

    // Something else under the new number is a conflict there; what was decided may be sent, once.
    assert_eq!(billing.asks("order-1b").hears().await, "conflict");
    let sent = billing.asks("order-1b").with(CHANGED).permit().await;
    assert_eq!((sent.id, sent.attempt), (registered.id, 1));
    billing.confirms(&sent, "task-2").await.unwrap();
    assert_eq!(billing.asks("order-1b").with(CHANGED).hears().await, "replay");
    assert_chain(&world.operation(sent.id).await, &world.entries(sent.id));
}

#[tokio::test]
async fn a_number_that_is_taken_is_refused() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    billing.owns("order-1").await;
    let taken = billing.owns("order-2").await;
    let (_, found, _) = conflict(&billing, "order-1", CHANGED).await;
    let refused = decides(&ada, &found, other("order-2")).await.unwrap_err();
    let expected = ConflictRefusal::DocumentTaken { document: "order-2".to_owned(), operation: taken.id };
    assert_eq!(refused, expected.into());
    assert!(
        matches!(decides(&ada, &found, other("order-1")).await, Err(Refusal::InvalidField { field, .. }) if field == "document")
    );
    // Where the same payload has been begun there, it is that document.
    let there = billing.asks("order-3").with(CHANGED).permit().await;
    let settled = decides(&ada, &found, other("order-3")).await.unwrap();
    assert_eq!(settled.other.unwrap().id, there.id);
}

#[tokio::test]
async fn noise_is_proposed_to_be_left_out() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    billing.owns("order-1").await;
    billing.owns("order-2").await;
    let (_, first, _) = conflict(&billing, "order-1", SENT_LATER).await;
    let (_, second, _) = conflict(&billing, "order-2", SENT_LATER).await;
    let sets = [vec!["/run".parse().unwrap()], vec!["/amount".parse().unwrap()]];
    assert_eq!(world.guard.conflicts_avoided(&Reach::EVERYTHING, HANDOFF, &sets).await, Ok((vec![2, 0], 2)));
    let refused = decides(&ada, &first, noise(&[])).await.unwrap_err();
    assert!(matches!(refused, Refusal::InvalidField { .. }), "{refused:?}");
    assert!(decides(&ada, &first, noise(&["/amount"])).await.is_err(), "money is no noise");
    assert_eq!(world.operation(first.operation).await.open_conflicts, 1, "nothing was decided by that");

    let settled = decides(&ada, &first, noise(&["/run"])).await.unwrap();
    let ConflictOutcome::Noise { proposal, .. } = settled.conflict.decision().unwrap().outcome.clone() else {
        panic!("{settled:?}");
    };
    // The same wish of another conflict joins the open proposal; another wish waits.
    let joined = decides(&ada, &second, noise(&["/run"])).await.unwrap();
    assert!(
        matches!(&joined.conflict.decision().unwrap().outcome, ConflictOutcome::Noise { proposal: same, .. } if *same == proposal)
    );
    billing.owns("order-3").await;
    let (_, third, _) = conflict(&billing, "order-3", r#"{"amount":"118.00","currency":"INR","memo":"x"}"#).await;
    let waits = decides(&ada, &third, noise(&["/memo"])).await.unwrap_err();
    assert!(matches!(waits, Refusal::Rules(RuleRefusal::Open { .. })), "{waits:?}");

    assert_eq!(billing.asks("order-1").with(SENT_LATER).hears().await, "conflict", "until it is approved");
    let finance = world.person(Role::Admin);
    let mut finance = finance;
    finance.person.email = "bob@example.test".to_owned();
    world.guard.decide_rules(&finance.person, proposal, RuleVerdict::Approve, "says nothing").await.unwrap();
    assert_eq!(billing.asks("order-1").with(SENT_LATER).hears().await, "in_progress", "now it is the same payload");
}

#[tokio::test]
async fn an_old_page_and_a_role_that_may_not_are_refused() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    let (operation, found, _) = conflict(&billing, "order-1", CHANGED).await;
    for role in [Role::Viewer, Role::Finance] {
        let refused = decides(&world.person(role), &found, ConflictVerdict::KeepApproved).await.unwrap_err();
        assert!(matches!(refused, Refusal::Forbidden { .. }), "{role:?} {refused:?}");
    }
    billing.confirms(&permit, "task-1").await.unwrap();
    let refused = decides_on(&ada, &found, operation.version, ConflictVerdict::KeepApproved).await.unwrap_err();
    assert!(matches!(refused, Refusal::Stale { state: StateName::Confirmed, .. }), "{refused:?}");
    let other_payload = SeenConflict { version: operation.version + 1, received: operation.fingerprint };
    let refused =
        ada.guard.decide_conflict(&ada.person, found.id, &other_payload, &ConflictVerdict::KeepApproved, "seen", None);
    assert!(matches!(refused.await, Err(Refusal::InvalidField { field, .. }) if field == "fingerprint"));
    assert_eq!(world.operation(permit.id).await.open_conflicts, 1);
}

#[tokio::test]
async fn the_queue_shows_groups_and_what_is_within_reach() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    for document in ["order-1", "order-2"] {
        billing.owns(document).await;
        conflict(&billing, document, CHANGED).await;
        // The queue is ordered by the moment at which each came.
        world.clock.advance_ms(1);
    }
    billing.owns("order-3").await;
    let (_, third, _) = conflict(&billing, "order-3", SENT_LATER).await;
    let all = ConflictFilter::default();
    let groups = world.guard.conflict_groups(&Reach::EVERYTHING, &all, 10).await.unwrap();
    let told: Vec<_> = groups.iter().map(|group| (group.places.listed.join(" "), group.open)).collect();
    assert_eq!(told, [("/amount".to_owned(), 2), ("/run".to_owned(), 1)]);

    let page = |filter: ConflictFilter, reach: Reach| {
        let guard = world.guard.clone();
        async move {
            let request = PageRequest { cursor: None, limit: 10 };
            let found = guard.conflict_page(&reach, &filter, ConflictOrder::Oldest, &request).await.unwrap();
            found.rows.into_iter().map(|conflict| conflict.id).collect::<Vec<_>>()
        }
    };
    let by_place = ConflictFilter { place: Some("/run".to_owned()), ..all.clone() };
    assert_eq!(page(by_place, Reach::EVERYTHING).await, [third.id]);
    let elsewhere = Reach::over(["Globex".to_owned()], []);
    assert_eq!(page(all.clone(), elsewhere.clone()).await, []);
    let refused = world.guard.conflict_report(&elsewhere, third.id).await.unwrap_err();
    assert_eq!(refused, Refusal::not_found("conflict"), "as if it did not exist");
    let neighbours = world.guard.conflict_neighbours(&Reach::EVERYTHING, &all, &third).await.unwrap();
    assert!(neighbours.previous.is_some() && neighbours.next.is_none());

    decides(&ada, &third, ConflictVerdict::KeepApproved).await.unwrap();
    assert_eq!(page(all.clone(), Reach::EVERYTHING).await.len(), 2);
    let decided = ConflictFilter { is_decided: true, ..all };
    assert_eq!(page(decided, Reach::EVERYTHING).await, [third.id]);
}

#[tokio::test]
async fn versions_are_found_by_their_names() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let (_, found, _) = conflict(&billing, "order-1", CHANGED).await;
    let version = |text: &str| text.parse::<Version>();
    assert_eq!(version("1"), Ok(Version::Revision(1)));
    assert_eq!(version(&found.id.to_string()), Ok(Version::Received(found.id)));
    assert!(version("0").is_err() && version("latest").is_err());
    let read = |version: Version| world.guard.version(&Reach::EVERYTHING, permit.id, version);
    assert_eq!(read(Version::Received(found.id)).await.unwrap().as_deref(), Some(CHANGED));
    assert_eq!(read(Version::Revision(2)).await, Err(Refusal::not_found("revision")));
    let elsewhere = billing.owns("order-2").await;
    let foreign = world.guard.version(&Reach::EVERYTHING, elsewhere.id, Version::Received(found.id)).await;
    assert_eq!(foreign, Err(Refusal::not_found("conflict of this document")));
}

async fn amendable_world() -> World {
    let rules = guard::workflow::AmendmentRules {
        amendable: vec!["/amount".parse().unwrap()],
        before_reconciliation: guard::workflow::Correction::Amend,
        ..world::handoff().amendment
    };
    World::with(vec![guard::workflow::Workflow { amendment: rules, ..world::handoff() }]).await
}

#[tokio::test]
async fn whoever_loses_the_race_on_a_conflict_leaves_no_proposal_open() {
    let world = amendable_world().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    let (operation, found, _) = conflict(&billing, "order-1", CHANGED).await;
    // Between ada's proposal and her decision, grace decides through another process.
    let other = Operator { guard: world.another_process().await, ..world.person(Role::Admin) };
    let other =
        Operator { person: guard::person::Person { email: "grace@example.test".to_owned(), ..other.person }, ..other };
    let raced = found.clone();
    world.memory.disturb(
        2,
        world::Fault::meanwhile(async move {
            decides_on(&other, &raced, operation.version, ConflictVerdict::KeepApproved).await.unwrap();
        }),
    );
    let lost = decides(&ada, &found, ConflictVerdict::ProposeAmendment).await.unwrap_err();
    assert!(matches!(lost, Refusal::Conflict(ConflictRefusal::Decided { .. })), "{lost:?}");
    let page = PageRequest { cursor: None, limit: 10 };
    let rows = world.guard.amendments(&Reach::EVERYTHING, None, &page).await.unwrap().rows;
    let [proposed] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(proposed.state.name().as_str(), "withdrawn", "it was taken back, and stays readable");
    assert_eq!(billing.asks("order-1").with(CHANGED).at_revision(2).hears().await, "rejected");
}

#[tokio::test]
async fn a_proposal_is_bound_to_its_own_conflict() {
    let world = amendable_world().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    for document in ["order-1", "order-2"] {
        let permit = billing.owns(document).await;
        billing.confirms(&permit, document).await.unwrap();
    }
    let (first, _, _) = conflict(&billing, "order-1", CHANGED).await;
    let (_, second, _) = conflict(&billing, "order-2", CHANGED).await;
    let propose = |conflict: guard::id::ConflictId| {
        let who = guard::service::Proposer::Person(&ada.person);
        world.guard.propose(who, first.id, world::payload(CHANGED), "changed", None, Some(conflict))
    };
    let refused = propose(second.id).await.unwrap_err();
    assert!(matches!(&refused, Refusal::InvalidField { field, .. } if field == "from_conflict"), "{refused:?}");
    let (_, own, _) = conflict(&billing, "order-1", CHANGED).await;
    decides(&ada, &own, ConflictVerdict::KeepApproved).await.unwrap();
    assert!(propose(own.id).await.unwrap_err().to_string().contains("the approved payload stands"));
}

#[tokio::test]
async fn a_change_is_proposed_by_whoever_decides() {
    let world = amendable_world().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let permit = billing.owns("order-1").await;
    let (_, early, _) = conflict(&billing, "order-1", CHANGED).await;
    let refused = decides(&ada, &early, ConflictVerdict::ProposeAmendment).await;
    assert!(refused.is_err(), "only what is confirmed can be amended: {refused:?}");
    assert_eq!(world.operation(permit.id).await.open_conflicts, 1, "nothing was decided by that");
    billing.confirms(&permit, "task-1").await.unwrap();
    let settled = decides(&ada, &early, ConflictVerdict::ProposeAmendment).await.unwrap();
    let ConflictOutcome::AmendmentProposed { amendment, revision } = settled.conflict.decision().unwrap().outcome
    else {
        panic!("{settled:?}");
    };
    assert_eq!((revision, settled.operation.open_conflicts), (2, 0));
    let proposed = world.guard.amendment(&Reach::EVERYTHING, amendment).await.unwrap();
    assert_eq!(proposed.from_conflict, Some(early.id));
    assert_eq!(proposed.proposed_by.to_string(), "person:ada@example.test", "so that ada cannot approve it");
    assert_eq!(billing.asks("order-1").with(CHANGED).at_revision(2).hears().await, "awaiting_approval");
    assert_eq!(billing.asks("order-1").with(CHANGED).hears().await, "conflict");
}
