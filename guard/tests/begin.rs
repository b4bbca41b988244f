//! Begin: may this be sent?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test names what it expects; anything else fails it")]

#[path = "support/world.rs"]
mod world;

use std::sync::Arc;

use chrono::TimeDelta;
use guard::clock::Clock as _;
use guard::conflict::Conflict;
use guard::decision::Decision;
use guard::id::OperationId;
use guard::key::KeyPart;
use guard::operation::Operation;
use guard::refusal::{Refusal, StoreFault};
use guard::service::{LABEL_CHARACTERS_MAX, TRIES_MAX};
use guard::state::{State, StateName};
use guard::store::Store as _;
use guard::summary::Counted;
use guard::token::Reach;
use guard::workflow::Workflow;
use world::{CAREFUL, Fault, HANDOFF, Permit, World, assert_chain, handoff, start};

/// Another amount than [`world::Worker::asks`] sends.
const CHANGED: &str = r#"{"amount":"999.00","currency":"INR"}"#;

fn conflict(decision: Decision) -> (Operation, Conflict, bool) {
    match decision {
        Decision::Conflict { operation, conflict, is_new } => (operation, conflict, is_new),
        other => panic!("expected conflict, got {other:?}"),
    }
}

#[tokio::test]
async fn the_first_caller_owns_the_attempt() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-812").await;
    assert_eq!((permit.attempt, permit.is_repeated), (1, false));
    assert_eq!(permit.until, start() + TimeDelta::seconds(60));
    assert_eq!(world.state(permit.id).await, StateName::Sending, "one step");

    let careful = billing.asks("order-812").in_workflow(CAREFUL).permit().await;
    assert_eq!(world.state(careful.id).await, StateName::Acquired, "two steps");
    let operation = world.operation(careful.id).await;
    assert_chain(&operation, &world.entries(careful.id));
}

#[tokio::test]
async fn every_state_has_its_answer() {
    let world = World::new().await;
    let (billing, shipping, ada) = (world.worker("billing").await, world.worker("shipping").await, world.operator());
    let permit = billing.owns("order-1").await;
    assert_eq!(shipping.asks("order-1").hears().await, "in_progress");

    world.clock.advance(60);
    assert_eq!(shipping.asks("order-1").hears().await, "unknown", "whoever asks notices that the lease is over");
    assert_eq!(world.told(permit.id), ["begun", "expired"]);

    ada.denies(permit.id).await.unwrap();
    let second = shipping.owns("order-1").await;
    assert_eq!(second.attempt, 2);

    shipping.fails(&second, "400 Bad Request").await.unwrap();
    let third = billing.owns("order-1").await;
    billing.confirms(&third, "task-907").await.unwrap();
    assert_eq!(shipping.asks("order-1").hears().await, "replay");

    billing.confirms(&third, "task-908").await.unwrap_err();
    assert_eq!(shipping.asks("order-1").hears().await, "unknown", "disputed");
}

#[tokio::test]
async fn a_lease_that_ends_before_sending_is_proof() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let first = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
    world.clock.advance(60);
    let second = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
    assert_eq!((second.id, second.attempt), (first.id, 2));
    assert_eq!(world.told(first.id), ["begun", "released", "begun"]);
    assert_eq!(billing.marks(&first).await, Err(Refusal::StaleLease));
    billing.marks(&second).await.unwrap();
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Released)), 1);
}

#[tokio::test]
async fn a_changed_payload_wins_over_every_state() {
    let states = [
        StateName::AwaitingApproval,
        StateName::Rejected,
        StateName::Acquired,
        StateName::Sending,
        StateName::Released,
        StateName::Failed,
        StateName::Unknown,
        StateName::Confirmed,
        StateName::Disputed,
    ];
    assert_eq!(states, StateName::ALL);
    for name in states {
        let world = World::new().await;
        let billing = world.worker("billing").await;
        let permit = billing.owns("order-1").await;
        let since = start();
        let reason = || "why".to_owned();
        let state = match name {
            StateName::AwaitingApproval => State::AwaitingApproval,
            StateName::Rejected => State::Rejected { reason: reason(), dropped_at: None },
            // The lease is over: a changed payload is a conflict even then.
            StateName::Acquired => State::Acquired { lease_expires_at: since },
            StateName::Sending => State::Sending { since, lease_expires_at: since },
            StateName::Released => State::Released { since },
            StateName::Failed => State::Failed { since, reason: reason() },
            StateName::Unknown => State::Unknown { since, reason: reason() },
            StateName::Confirmed => State::Confirmed { since, destination_reference: "task-1".to_owned() },
            StateName::Disputed => State::Disputed { since, reason: reason(), destination_reference: None },
        };
        world.memory.force(permit.id, state.clone());
        let (operation, found, is_new) = conflict(billing.asks("order-1").with(CHANGED).decision().await);
        assert_eq!(operation.state, state, "{} is not altered", name.as_str());
        assert!(is_new);
        let changes: Vec<String> =
            found.changes.iter().map(|change| format!("{} {}", change.path, change.kind.as_str())).collect();
        assert_eq!(changes, ["/amount changed"]);
    }
}

#[tokio::test]
async fn the_same_wrong_payload_is_one_conflict() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let (_, first, is_new) = conflict(billing.asks("order-1").with(CHANGED).decision().await);
    assert!(is_new);
    assert_eq!((first.hits, first.changes_total), (1, 1));
    for hits in 2..=5 {
        let again = billing.asks("order-1").with(r#"{ "currency":"INR", "amount":"999.00" }"#).decision().await;
        let (operation, again, is_new) = conflict(again);
        assert_eq!((again.id, is_new), (first.id, false));
        assert_eq!(operation.open_conflicts, 1);
        let held = world.memory.conflicts(permit.id, 10).await.unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].hits, hits);
    }
    let (operation, other, is_new) =
        conflict(billing.asks("order-1").with(r#"{"amount":"1.00","currency":"INR"}"#).decision().await);
    assert_ne!(other.id, first.id);
    assert!(is_new);
    assert_eq!(operation.open_conflicts, 2);
    assert_eq!(world.told(permit.id), ["begun", "conflict_opened", "conflict_opened"]);
    billing.confirms(&permit, "task-1").await.expect("the owner is not disturbed");
}

#[tokio::test]
async fn a_long_list_of_changes_says_how_long_it_is() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    billing.owns("order-1").await;
    let lines: Vec<String> = (0..250).map(|line| format!("\"m{line}\":{line}")).collect();
    let wide = format!(r#"{{"amount":"118.00","currency":"INR",{}}}"#, lines.join(","));
    let (_, found, _) = conflict(billing.asks("order-1").with(&wide).decision().await);
    assert_eq!((found.changes.len(), found.changes_total), (100, 250));
}

#[tokio::test]
async fn a_conflict_with_a_forgotten_payload_lists_nothing() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    world.memory.forget_payload(permit.id);
    assert_eq!(billing.asks("order-1").hears().await, "replay", "the fingerprint stays");
    let (_, found, _) = conflict(billing.asks("order-1").with(CHANGED).decision().await);
    assert_eq!(found.changes, []);
}

#[tokio::test]
async fn volatile_fields_make_no_conflict() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let sent = |attempt: u32| {
        format!(
            r#"{{"amount":"118.00","currency":"INR","meta":{{"attempt":{attempt},"sent_at":"2026-03-01T09:00:0{attempt}Z"}}}}"#
        )
    };
    let permit = billing.asks("order-1").with(&sent(1)).permit().await;
    billing.confirms(&permit, "task-1").await.unwrap();
    assert_eq!(billing.asks("order-1").with(&sent(2)).hears().await, "replay");
}

#[tokio::test]
async fn a_field_that_becomes_volatile_later_makes_no_conflict_with_old_operations() {
    let strict = Workflow { volatile: Vec::new(), ..handoff() };
    let world = World::with(vec![strict.clone()]).await;
    let billing = world.worker("billing").await;
    let created = |hour: u32| format!(r#"{{"amount":"49.00","currency":"INR","created":"{hour}:00"}}"#);
    let permit = billing.asks("sub-7").with(&created(9)).permit().await;
    billing.confirms(&permit, "invoice-1").await.unwrap();
    assert_eq!(billing.asks("sub-7").with(&created(10)).hears().await, "conflict");

    world.apply(vec![Workflow { volatile: vec!["/created".parse().unwrap()], ..strict.clone() }]).await;
    assert_eq!(billing.asks("sub-7").with(&created(11)).hears().await, "replay");
    assert_eq!(billing.asks("sub-7").with(CHANGED).hears().await, "conflict", "the amount still counts");
    assert_eq!(world.operation(permit.id).await.policy_version, 1, "and the old fingerprint stands");
    let newer = billing.asks("sub-8").with(&created(11)).permit().await;
    assert_eq!(world.operation(newer.id).await.policy_version, 2);

    // Taken back: what was begun under it is compared under it for ever.
    world.apply(vec![strict]).await;
    billing.confirms(&newer, "invoice-2").await.unwrap();
    assert_eq!(billing.asks("sub-8").with(&created(12)).hears().await, "replay");
    assert_eq!(billing.asks("sub-9").with(&created(12)).hears().await, "proceed");
    assert_eq!(billing.asks("sub-9").with(&created(13)).hears().await, "conflict");
}

#[tokio::test]
async fn a_definition_of_another_process_is_looked_up() {
    let world = World::with(vec![Workflow { volatile: Vec::new(), ..handoff() }]).await;
    let billing = world.worker("billing").await;
    let stale = billing.through(world.another_process().await);
    world.apply(vec![handoff(), world::careful()]).await;
    let sent = |attempt: u32| format!(r#"{{"amount":"1","currency":"INR","meta":{{"attempt":{attempt}}}}}"#);
    billing.asks("order-1").with(&sent(1)).permit().await;
    assert_eq!(stale.asks("order-1").with(&sent(2)).hears().await, "in_progress", "no conflict");

    let stale = billing.through(world.another_process().await);
    let late = Workflow::named(KeyPart::new("late").unwrap());
    world.apply(vec![handoff(), late]).await;
    let permit = billing.asks("order-1").in_workflow("late").permit().await;
    stale.extends(&permit, 60).await.expect("a workflow that this process has not seen yet");
    assert_eq!(stale.asks("order-2").in_workflow("late").hears().await, "proceed");
}

#[tokio::test]
async fn a_begin_whose_answer_was_lost_may_be_repeated() {
    let world = World::new().await;
    let (billing, shipping) = (world.worker("billing").await, world.worker("shipping").await);
    let first = billing.asks("order-1").under("b-1").permit().await;
    world.clock.advance(1);
    let again = billing.asks("order-1").under("b-1").permit().await;
    assert_eq!((&again.lease, again.attempt, again.is_repeated), (&first.lease, 1, true));
    assert_eq!(again.until, first.until, "the lease is not longer for it");
    assert_eq!(billing.asks("order-1").under("b-2").hears().await, "in_progress");
    assert_eq!(billing.asks("order-1").hears().await, "in_progress");
    assert_eq!(shipping.asks("order-1").under("b-1").hears().await, "in_progress", "another token");
    assert_eq!(billing.asks("order-1").under("b-1").with(CHANGED).hears().await, "conflict");
    billing.confirms(&again, "task-1").await.unwrap();
    assert_eq!(billing.asks("order-1").under("b-1").hears().await, "replay");

    billing.asks("order-2").under("b-3").permit().await;
    world.clock.advance(60);
    assert_eq!(billing.asks("order-2").under("b-3").hears().await, "unknown", "only while the lease lives");
    assert_eq!(world.memory.counted(Counted::Decision(guard::decision::DecisionName::Proceed)), 2);
}

#[tokio::test]
async fn a_grant_is_stored_before_it_is_answered() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    world.memory.disturb(1, Fault::Fails(StoreFault::Unavailable));
    let refusal = billing.asks("order-1").refusal().await;
    insta::assert_snapshot!(refusal, @"the store cannot be reached; nothing was decided, try again");
    assert_eq!(billing.asks("order-1").hears().await, "proceed", "nothing was stored");

    world.memory.disturb(1, Fault::Fails(StoreFault::Full));
    let refusal = billing.asks("order-2").refusal().await;
    insta::assert_snapshot!(refusal, @"the disk of the store is full; nothing was decided. Free space, then try again");

    world.memory.disturb(1, Fault::LosesAnswer);
    billing.asks("order-3").under("b-1").refusal().await;
    assert_eq!(billing.asks("order-3").hears().await, "in_progress", "stored, and nobody was told to send");
    assert!(billing.asks("order-3").under("b-1").permit().await.is_repeated, "the one who asked may ask again");
}

#[tokio::test]
async fn a_store_that_tried_twice_meets_its_own_write() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    world.memory.disturb(1, Fault::IsRetried);
    let first = billing.owns("order-1").await;
    billing.fails(&first, "refused").await.unwrap();
    world.memory.disturb(1, Fault::IsRetried);
    let second = billing.owns("order-1").await;
    assert_eq!(second.attempt, 2);
    world.memory.disturb(1, Fault::IsRetried);
    billing.confirms(&second, "task-1").await.unwrap();
    assert_eq!(world.told(first.id), ["begun", "reported", "begun", "reported"]);
}

#[tokio::test]
async fn a_lease_that_ran_down_in_the_store_is_renewed() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    for (document, workflow, seconds) in
        [("slow", HANDOFF, 40), ("over", HANDOFF, 600), ("slow", CAREFUL, 40), ("over", CAREFUL, 600)]
    {
        let clock = Arc::clone(&world.clock);
        world.memory.disturb(1, Fault::afterwards(async move { clock.advance(seconds) }));
        let permit = billing.asks(document).in_workflow(workflow).permit().await;
        assert_eq!(permit.until, world.clock.now() + TimeDelta::seconds(60), "{document} {workflow}");
        assert_eq!(world.told(permit.id), ["begun", "extended"]);
        assert_eq!(permit.attempt, 1);
        assert_chain(&world.operation(permit.id).await, &world.entries(permit.id));
        billing.confirms(&permit, "task-1").await.unwrap();
    }
    let clock = Arc::clone(&world.clock);
    world.memory.disturb(1, Fault::afterwards(async move { clock.advance(10) }));
    let permit = billing.owns("quick").await;
    assert_eq!(world.told(permit.id), ["begun"], "what is left is enough");
}

#[tokio::test]
async fn a_lease_that_somebody_saw_ending_is_not_renewed() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let (clock, guard) = (Arc::clone(&world.clock), world.another_process().await);
    world.memory.disturb(
        1,
        Fault::afterwards(async move {
            clock.advance(60);
            guard.expire_due(10).await.unwrap();
        }),
    );
    assert_eq!(billing.asks("order-1").hears().await, "unknown");
}

#[tokio::test]
async fn of_two_at_once_one_is_permitted() {
    let world = World::new().await;
    let (billing, shipping) = (world.worker("billing").await, world.worker("shipping").await);
    let other = shipping.asks("order-1");
    world.memory.disturb(1, Fault::meanwhile(async move { assert_eq!(other.hears().await, "proceed") }));
    assert_eq!(billing.asks("order-1").hears().await, "in_progress");

    let other = shipping.asks("order-2").with(CHANGED);
    world.memory.disturb(1, Fault::meanwhile(async move { assert_eq!(other.hears().await, "proceed") }));
    assert_eq!(billing.asks("order-2").hears().await, "conflict", "decided before anything runs");

    let failed = billing.owns("order-3").await;
    billing.fails(&failed, "refused").await.unwrap();
    let other = shipping.asks("order-3");
    world.memory.disturb(1, Fault::meanwhile(async move { assert_eq!(other.hears().await, "proceed") }));
    assert_eq!(billing.asks("order-3").hears().await, "in_progress");
    assert_eq!(world.told(failed.id), ["begun", "reported", "begun"]);
}

#[tokio::test]
async fn an_operation_that_never_stands_still_is_contended() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    // Every try to open the conflict meets another heartbeat that came first.
    for turn in 0..TRIES_MAX as usize {
        let (guard, token, permit) = (world.another_process().await, billing.token.clone(), permit.clone());
        world.memory.disturb(
            2 * turn + 1,
            Fault::meanwhile(async move {
                let seconds = u32::try_from(61 + turn).unwrap();
                guard.extend(&token, permit.id, &permit.lease, Some(seconds)).await.unwrap();
            }),
        );
    }
    let refusal = billing.asks("order-1").with(CHANGED).refusal().await;
    insta::assert_snapshot!(refusal, @"the record changed under 64 tries in a row; nothing was decided, try again");
    assert_eq!(billing.asks("order-1").with(CHANGED).hears().await, "conflict", "then it is quiet again");
}

#[tokio::test]
async fn a_later_revision_needs_the_one_before_it() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    assert_eq!(billing.asks("order-1").at_revision(2).hears().await, "previous_revision");
    let permit = billing.owns("order-1").await;
    match billing.asks("order-1").at_revision(2).decision().await {
        Decision::PreviousRevision { previous: Some(previous), reason: None } => assert_eq!(previous.id, permit.id),
        other => panic!("{other:?}"),
    }
    billing.confirms(&permit, "task-1").await.unwrap();
    match billing.asks("order-1").at_revision(2).decision().await {
        Decision::ApprovalMissing { previous } => assert_eq!(previous.id, permit.id),
        other => panic!("{other:?}"),
    }
    assert_eq!(billing.asks("order-1").at_revision(3).hears().await, "previous_revision");
    assert_eq!(world.memory.every_operation().len(), 1, "nothing was stored for them");
}

#[tokio::test]
async fn an_old_revision_after_a_newer_one_sends_nothing() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let first = billing.owns("seller-3").await;
    billing.confirms(&first, "kyc-1").await.unwrap();
    let (second, third) = (OperationId::from_u128(2), OperationId::from_u128(3));
    let sending = State::Sending { since: start(), lease_expires_at: start() + TimeDelta::seconds(60) };
    world.memory.force_revision(first.id, second, 2, sending);
    assert_eq!(billing.asks("seller-3").hears().await, "replay", "the newer one is not confirmed yet");
    let confirmed = State::Confirmed { since: start(), destination_reference: "kyc-1".to_owned() };
    world.memory.force_revision(first.id, third, 3, confirmed);
    world.memory.force_superseded(first.id, second);
    world.memory.force_superseded(second, third);
    match billing.asks("seller-3").decision().await {
        Decision::Superseded { operation, current } => assert_eq!((operation.id, current.id), (first.id, third)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn proposals_are_answered() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.memory.force(permit.id, State::AwaitingApproval);
    assert_eq!(billing.asks("order-1").hears().await, "awaiting_approval");
    world.memory.force(permit.id, State::Rejected { reason: "a typing error".to_owned(), dropped_at: None });
    match billing.asks("order-1").decision().await {
        Decision::Rejected { reason, .. } => assert_eq!(reason, "a typing error"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_part_of_the_key_counts() {
    let world = World::with(vec![Workflow {
        actions: ["create", "cancel"].map(|action| KeyPart::new(action).unwrap()).to_vec(),
        ..handoff()
    }])
    .await;
    let billing = world.worker("billing").await;
    billing.owns("INV-a1").await;
    for ask in [
        billing.asks("INV-A1"),
        billing.asks("INV-a1").in_company("ACME"),
        billing.asks("INV-a1").with_action("cancel"),
        billing.asks("Caf\u{e9}"),
        billing.asks("Cafe\u{301}"),
    ] {
        assert_eq!(ask.hears().await, "proceed");
    }
    assert_eq!(billing.asks("INV-a1").hears().await, "in_progress");
}

#[tokio::test]
async fn what_the_caller_may_not_is_refused_before_anything_is_stored() {
    let world = World::new().await;
    let billing = world.worker_within("billing", Reach::over(["acme".to_owned()], [HANDOFF.to_owned()])).await;
    let refusal = async |ask: world::Ask| ask.refusal().await.to_string();
    insta::assert_snapshot!(refusal(billing.asks("o").in_company("globex")).await, @r#"not allowed: this token does not reach the company "globex""#);
    insta::assert_snapshot!(refusal(billing.asks("o").in_workflow(CAREFUL)).await, @r#"not allowed: this token does not reach the workflow "careful""#);
    let everywhere = world.worker("everywhere").await;
    insta::assert_snapshot!(refusal(everywhere.asks("o").in_workflow("hand-off")).await, @r#"there is no workflow "hand-off" for this caller; there are: careful, handoff"#);
    insta::assert_snapshot!(refusal(billing.asks("o").with_action("delete")).await, @r#"action: is "delete"; this workflow allows create"#);
    insta::assert_snapshot!(refusal(billing.asks("o").for_seconds(3_601)).await, @"lease_seconds: is 3601; this workflow allows 1 to 3600 seconds");
    insta::assert_snapshot!(refusal(billing.asks("o").for_seconds(0)).await, @"lease_seconds: is 0; this workflow allows 1 to 3600 seconds");
    insta::assert_snapshot!(refusal(billing.asks("o").at_revision(0)).await, @"revision: is 0; 1 to 1000000 are possible");
    insta::assert_snapshot!(refusal(billing.asks("o").at_revision(u32::MAX)).await, @"revision: is 4294967295; 1 to 1000000 are possible");
    insta::assert_snapshot!(refusal(billing.asks("o").under("evt-1").delivered_as("evt-1")).await, @"begin_id: equals delivery_id; it must be new for every try, or a redelivered message would get a second grant");
    insta::assert_snapshot!(refusal(billing.asks("o").under(" ")).await, @"begin_id: is empty; make a new random value for every try, or two workers would share one grant");
    insta::assert_snapshot!(refusal(billing.asks("o").named("w\0")).await, @"worker: contains the character U+0000");
    insta::assert_snapshot!(refusal(billing.asks("o").delivered_as(&"é".repeat(LABEL_CHARACTERS_MAX + 1))).await, @"delivery_id: has over 500 characters");
    assert_eq!(billing.asks("o").delivered_as(&"é".repeat(LABEL_CHARACTERS_MAX)).named("").hears().await, "proceed");
    assert_eq!(world.memory.every_operation().len(), 1);
}

#[tokio::test]
async fn a_retired_workflow_begins_nothing_and_finishes_what_it_began() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.apply(vec![world::careful()]).await;
    let refusal = billing.asks("order-2").refusal().await;
    insta::assert_snapshot!(refusal, @r#"the workflow "handoff" is retired, so nothing new is begun in it; there are: careful"#);
    billing.extends(&permit, 60).await.unwrap();
    billing.confirms(&permit, "task-1").await.unwrap();
}

#[tokio::test]
async fn money_is_read_and_counted() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let money = world.operation(permit.id).await.money.expect("the workflow says where it stands");
    assert_eq!((money.amount.to_string().as_str(), money.currency.as_str()), ("118.00", "INR"));
    billing.confirms(&permit, "task-1").await.unwrap();
    for _ in 0..3 {
        billing.asks("order-1").hears().await;
    }
    assert_eq!(world.operation(permit.id).await.duplicates_prevented, 3);
    let hour = guard::summary::start_of_hour(start());
    let counts = world.guard.counts(&Reach::EVERYTHING, hour, hour + TimeDelta::hours(1)).await.unwrap();
    let replays =
        counts.iter().find(|count| count.counted == Counted::Decision(guard::decision::DecisionName::Replay)).unwrap();
    assert_eq!((replays.number, replays.ten_thousandths, replays.currency.as_str()), (3, 3 * 1_180_000, "INR"));
}

#[tokio::test]
async fn counts_in_all_neither_lose_nor_repeat_an_hour() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    for hour in 1..=5u64 {
        billing.asks("order-1").hears().await;
        // Twice, since the second answer comes from what the first one kept.
        for _ in 0..2 {
            let counts = world.guard.counts_in_all(&Reach::EVERYTHING).await.unwrap();
            let replays =
                counts.iter().filter(|count| count.counted == Counted::Decision(guard::decision::DecisionName::Replay));
            assert_eq!(replays.map(|count| count.number).sum::<u64>(), hour);
        }
        world.clock.advance(3_600);
    }
    let elsewhere = Reach::over(["elsewhere".to_owned()], []);
    assert_eq!(world.guard.counts_in_all(&elsewhere).await.unwrap(), []);
}

#[tokio::test]
async fn twins_both_survive() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let first: Permit = billing.owns("PMT-9").await;
    let second = billing.owns("PMT-10").await;
    assert_ne!(first.id, second.id);
    let fingerprint = async |id| world.operation(id).await.fingerprint;
    assert_eq!(fingerprint(first.id).await, fingerprint(second.id).await);
}
