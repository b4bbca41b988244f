//! What workers tell of their attempts: sending, still alive, outcome.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test names what it expects; anything else fails it")]

#[path = "support/world.rs"]
mod world;

use std::sync::Arc;

use chrono::TimeDelta;
use guard::event::REPORT_TEXT_CHARACTERS_MAX;
use guard::json::Json;
use guard::operation::LeaseToken;
use guard::refusal::{Refusal, StoreFault};
use guard::state::{State, StateName};
use guard::summary::Counted;
use guard::token::Reach;
use guard::trail::Entry;
use world::{CAREFUL, Fault, Operator, Permit, Worker, World, assert_chain, confirmed, failed, start, unknown};

/// Two attempts: the first worker fell silent, a person said that nothing was applied, the second worker owns the next.
async fn takeover(world: &World) -> (Worker, Permit, Worker, Permit, Operator) {
    let (w1, w2, ada) = (world.worker("w1").await, world.worker("w2").await, world.operator());
    let first = w1.asks("order-1").for_seconds(5).permit().await;
    world.clock.advance(8);
    ada.denies(first.id).await.unwrap();
    let second = w2.owns("order-1").await;
    assert_eq!(second.attempt, 2);
    (w1, first, w2, second, ada)
}

fn last(world: &World, permit: &Permit) -> Entry {
    world.entries(permit.id).pop().unwrap()
}

fn fact(entry: &Entry, name: &str) -> Option<String> {
    entry.detail.member(name).map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
}

#[tokio::test]
async fn each_outcome_settles_the_attempt() {
    for (outcome, state) in [
        (confirmed("task-907"), StateName::Confirmed),
        (failed("400: no such customer"), StateName::Failed),
        (unknown("timed out after 30 s"), StateName::Unknown),
    ] {
        let world = World::new().await;
        let billing = world.worker("billing").await;
        let permit = billing.owns("order-1").await;
        let operation = billing.reports(&permit, outcome.clone()).await.unwrap();
        assert_eq!(operation.state.name(), state);
        assert_chain(&operation, &world.entries(permit.id));
        assert_eq!(world.memory.counted(Counted::Entered(state)), 1);

        let before = world.memory.snapshot();
        assert_eq!(billing.reports(&permit, outcome).await, Ok(operation), "again: the same answer");
        assert_eq!(world.memory.snapshot(), before);
        assert_eq!(last(&world, &permit).actor.to_string(), "token:billing/billing-1");
    }
}

#[tokio::test]
async fn an_outcome_that_disagrees_is_kept_once() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    for _ in 0..3 {
        let refusal = billing.fails(&permit, "was it?").await.unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal, @"the operation is held as confirmed, and the reported outcome disagrees; it was kept as evidence");
        }
    }
    assert_eq!(world.state(permit.id).await, StateName::Confirmed);
    assert_eq!(world.told(permit.id), ["begun", "reported", "report_kept"]);
    assert_eq!(fact(&last(&world, &permit), "disagrees_with").as_deref(), Some("confirmed"));
}

#[tokio::test]
async fn what_may_exist_twice_is_disputed() {
    for (first, then, held) in [
        (confirmed("task-1"), confirmed("task-2"), "confirmed"),
        (failed("refused"), confirmed("task-2"), "failed"),
        (failed("refused"), unknown("or was it?"), "failed"),
    ] {
        let world = World::new().await;
        let billing = world.worker("billing").await;
        let permit = billing.owns("order-1").await;
        billing.reports(&permit, first).await.unwrap();
        let refused = Err(Refusal::OutcomeDisagrees { held: StateName::parse(held).unwrap() });
        assert_eq!(billing.reports(&permit, then.clone()).await, refused);
        assert_eq!(world.state(permit.id).await, StateName::Disputed);
        let before = world.memory.snapshot();
        assert_eq!(billing.reports(&permit, then).await, refused, "again: the same answer");
        assert_eq!(world.memory.snapshot(), before);
        assert_eq!(billing.asks("order-1").hears().await, "unknown", "the key is not free");
    }
}

#[tokio::test]
async fn a_late_confirmation_of_the_latest_attempt_settles_it() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.clock.advance(3_600);
    let operation = billing.confirms(&permit, "task-1").await.unwrap();
    assert_eq!(operation.state.destination_reference(), Some("task-1"));
    assert_eq!(world.told(permit.id), ["begun", "expired", "reported"]);
}

#[tokio::test]
async fn a_late_word_of_the_worker_is_kept_with_what_it_says() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.clock.advance(60);
    world.guard.expire_due(10).await.unwrap();
    for _ in 0..2 {
        billing.is_unsure(&permit, "504 from the gateway").await.unwrap();
    }
    assert_eq!(world.told(permit.id), ["begun", "expired", "report_kept"], "acknowledged, so it is in the trail; once");
    assert_eq!(fact(&last(&world, &permit), "reason").as_deref(), Some("504 from the gateway"));
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_cannot_overwrite() {
    let world = World::new().await;
    let (w1, first, w2, second, _) = takeover(&world).await;
    let refusal = w1.confirms(&first, "A").await.unwrap_err();
    insta::assert_snapshot!(refusal, @"the lease token is not that of the latest attempt; do not send");
    let operation = world.operation(first.id).await;
    match &operation.state {
        State::Disputed { reason, destination_reference: None, .. } => {
            insta::assert_snapshot!(reason, @r#"attempt 1 reported "A" as confirmed after a newer attempt was permitted: there may be two records"#);
        }
        other => panic!("{other:?}"),
    }
    let told = last(&world, &first);
    assert_eq!(told.actor.to_string(), "token:w1/w1-1", "signed by the one who told it");
    assert_eq!(fact(&told, "attempt").as_deref(), Some("1"));

    let settled = w2.confirms(&second, "B").await.unwrap();
    assert_eq!(settled.state.destination_reference(), Some("B"), "completed with B, and A is not forgotten");
    assert_eq!(settled.state.name(), StateName::Disputed);
    let before = world.memory.snapshot();
    assert_eq!(w1.confirms(&first, "A").await, Err(Refusal::StaleLease));
    assert_eq!(w2.confirms(&second, "B").await, Ok(settled.clone()));
    assert_eq!(world.memory.snapshot(), before, "nothing is told twice");
    assert_chain(&settled, &world.entries(first.id));
}

#[tokio::test]
async fn a_late_report_after_the_end_disputes_it_unless_it_is_the_same_record() {
    let world = World::new().await;
    let (w1, first, w2, second, _) = takeover(&world).await;
    w2.confirms(&second, "A").await.unwrap();
    assert_eq!(w1.confirms(&first, "A").await, Err(Refusal::StaleLease));
    assert_eq!(world.state(first.id).await, StateName::Confirmed, "one record, told twice");
    assert_eq!(last(&world, &first).kind.as_str(), "report_kept");
    assert_eq!(w1.confirms(&first, "B").await, Err(Refusal::StaleLease));
    let operation = world.operation(first.id).await;
    assert_eq!(operation.state.name(), StateName::Disputed);
    assert_eq!(operation.state.destination_reference(), Some("A"));
}

#[tokio::test]
async fn a_late_report_that_contradicts_nothing_is_only_kept() {
    let world = World::new().await;
    let (w1, first, w2, second, _) = takeover(&world).await;
    for _ in 0..2 {
        assert_eq!(w1.fails(&first, "refused").await, Err(Refusal::StaleLease));
        assert_eq!(w1.is_unsure(&first, "timed out").await, Err(Refusal::StaleLease));
    }
    assert_eq!(world.told(first.id), ["begun", "expired", "resolved", "begun", "report_kept", "report_kept"]);
    w2.confirms(&second, "B").await.expect("the owner is not disturbed");
}

#[tokio::test]
async fn a_repeated_report_does_not_undo_a_persons_decision() {
    let world = World::new().await;
    let (w1, first, w2, second, ada) = takeover(&world).await;
    w1.confirms(&first, "A").await.unwrap_err();
    w2.confirms(&second, "B").await.unwrap();
    ada.confirms(first.id, "B").await.unwrap();
    let before = world.memory.snapshot();
    assert_eq!(w1.confirms(&first, "A").await, Err(Refusal::StaleLease));
    assert!(w2.confirms(&second, "B").await.is_ok());
    assert_eq!(world.memory.snapshot(), before, "it was known when the person decided");
    assert_eq!(w1.confirms(&first, "C").await, Err(Refusal::StaleLease));
    assert_eq!(world.state(first.id).await, StateName::Disputed, "this is new");

    let permit = w1.owns("order-2").await;
    w1.is_unsure(&permit, "timed out").await.unwrap();
    ada.denies(permit.id).await.unwrap();
    let again = w1.is_unsure(&permit, "timed out").await.unwrap();
    assert_eq!(again.state.name(), StateName::Failed, "the same words are no new doubt");
}

#[tokio::test]
async fn a_released_attempt_that_was_sent_after_all_is_disputed() {
    for outcome in [confirmed("task-1"), unknown("timed out")] {
        let world = World::new().await;
        let billing = world.worker("billing").await;
        let permit = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
        world.clock.advance(60);
        let refusal = billing.reports(&permit, outcome).await;
        assert_eq!(refusal, Err(Refusal::OutcomeDisagrees { held: StateName::Released }));
        assert_eq!(world.told(permit.id), ["begun", "released", "reported"]);
    }
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
    world.clock.advance(60);
    let agreed = billing.fails(&permit, "never sent").await.unwrap();
    assert_eq!(agreed.state.name(), StateName::Released);
}

#[tokio::test]
async fn marking_is_the_boundary() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
    world.clock.advance_ms(59_999);
    let marked = billing.marks(&permit).await.unwrap();
    assert_eq!(marked.state.name(), StateName::Sending);
    assert_eq!(billing.marks(&permit).await, Ok(marked), "again: nothing changes");
    assert_eq!(world.told(permit.id), ["begun", "marked_sending"]);
    world.clock.advance_ms(1);
    let refusal = billing.marks(&permit).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"the lease has expired; do not send. Ask again with a new begin");
    assert_eq!(world.state(permit.id).await, StateName::Unknown);

    let one_step = billing.owns("order-2").await;
    billing.marks(&one_step).await.expect("nothing to do in one step");
    assert_eq!(world.told(one_step.id), ["begun"]);

    let late = billing.asks("order-3").in_workflow(CAREFUL).permit().await;
    world.clock.advance(60);
    assert_eq!(billing.marks(&late).await, Err(Refusal::LeaseExpired));
    assert_eq!(world.state(late.id).await, StateName::Released);
}

#[tokio::test]
async fn a_mark_that_meets_the_end_of_its_lease_loses() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.asks("order-1").in_workflow(CAREFUL).permit().await;
    let (clock, guard) = (Arc::clone(&world.clock), world.another_process().await);
    world.memory.disturb(
        1,
        Fault::meanwhile(async move {
            clock.advance(60);
            assert_eq!(guard.expire_due(10).await, Ok(1));
        }),
    );
    assert_eq!(billing.marks(&permit).await, Err(Refusal::LeaseExpired));
    assert_eq!(world.told(permit.id), ["begun", "released"]);
}

#[tokio::test]
async fn heartbeats_keep_a_lease() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    for _ in 0..180 {
        world.clock.advance(20);
        billing.extends(&permit, 60).await.unwrap();
        assert_eq!(world.guard.expire_due(10).await, Ok(0));
    }
    assert_eq!(billing.asks("order-1").hears().await, "in_progress");
    let shorter = billing.extends(&permit, 1).await.unwrap();
    let until = world.operation(permit.id).await.state.lease_expires_at();
    assert_eq!(shorter.state.lease_expires_at(), until, "it is never shortened");
    let refusal = billing.extends(&permit, 3_601).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"lease_seconds: is 3601; this workflow allows 1 to 3600 seconds");
    world.clock.advance(60);
    assert_eq!(billing.extends(&permit, 60).await, Err(Refusal::LeaseExpired));
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
}

#[tokio::test]
async fn leases_end_once_whoever_notices() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let mut permits = Vec::new();
    for number in 0..3 {
        permits.push(billing.owns(&format!("order-{number}")).await);
        permits.push(billing.asks(&format!("order-{number}")).in_workflow(CAREFUL).permit().await);
    }
    world.clock.advance(60);
    let guard = world.another_process().await;
    world.memory.disturb(1, Fault::meanwhile(async move { assert_eq!(guard.expire_due(100).await, Ok(6)) }));
    assert_eq!(world.guard.expire_due(100).await, Ok(0), "the other process was first");
    for permit in &permits {
        assert_eq!(world.told(permit.id).len(), 2);
        assert_eq!(last(&world, permit).actor.to_string(), "system:sweeper");
    }
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Unknown)), 3);
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Released)), 3);
}

#[tokio::test]
async fn one_operation_that_cannot_be_ended_does_not_keep_the_rest() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    for number in 0..3 {
        billing.owns(&format!("order-{number}")).await;
    }
    world.clock.advance(60);
    let corrupt = StoreFault::Corrupt { table: "operation".into(), column: "head".into(), id: "1".into() };
    world.memory.disturb(1, Fault::Fails(corrupt.clone()));
    assert_eq!(world.guard.expire_due(100).await, Err(Refusal::Store(corrupt)));
    assert_eq!(world.memory.counted(Counted::Entered(StateName::Unknown)), 2);
    world.memory.disturb(1, Fault::Fails(StoreFault::Unavailable));
    assert_eq!(world.guard.expire_due(100).await, Err(Refusal::Store(StoreFault::Unavailable)));
    assert_eq!(world.guard.expire_due(100).await, Ok(1));
}

#[tokio::test]
async fn an_outcome_whose_answer_was_lost_is_repeated() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    world.memory.disturb(1, Fault::LosesAnswer);
    assert_eq!(billing.confirms(&permit, "task-1").await, Err(Refusal::Store(StoreFault::Unavailable)));
    assert!(billing.confirms(&permit, "task-1").await.is_ok());
    assert_eq!(world.told(permit.id), ["begun", "reported"]);
}

#[tokio::test]
async fn a_stranger_to_the_operation_is_told_nothing() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let guess = Permit { lease: LeaseToken::from_text("00"), ..permit.clone() };
    assert_eq!(billing.confirms(&guess, "task-1").await, Err(Refusal::StaleLease));
    assert_eq!(billing.marks(&guess).await, Err(Refusal::StaleLease));
    assert_eq!(billing.extends(&guess, 60).await, Err(Refusal::StaleLease));
    let elsewhere = world.worker_within("elsewhere", Reach::over(["globex".to_owned()], [])).await;
    for refusal in [
        elsewhere.confirms(&permit, "task-1").await.unwrap_err(),
        elsewhere.marks(&permit).await.unwrap_err(),
        elsewhere.extends(&permit, 60).await.unwrap_err(),
    ] {
        insta::allow_duplicates! { insta::assert_snapshot!(refusal, @"there is no such operation") };
    }
    assert_eq!(world.told(permit.id), ["begun"]);
}

#[tokio::test]
async fn texts_have_limits() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let refusal = async |outcome| billing.reports(&permit, outcome).await.unwrap_err().to_string();
    insta::assert_snapshot!(refusal(confirmed("")).await, @"destination_reference: is empty; it is needed here");
    insta::assert_snapshot!(refusal(failed(" \n")).await, @"reason: is empty; it is needed here");
    insta::assert_snapshot!(refusal(unknown("a\0b")).await, @"reason: contains the character U+0000");
    insta::assert_snapshot!(refusal(unknown(&"x".repeat(REPORT_TEXT_CHARACTERS_MAX + 1))).await, @"reason: has over 2000 characters");
    assert_eq!(world.told(permit.id), ["begun"]);
    billing.is_unsure(&permit, &"é".repeat(REPORT_TEXT_CHARACTERS_MAX)).await.unwrap();
}

#[tokio::test]
async fn the_response_that_settled_it_is_kept() {
    let world = World::new().await;
    let (w1, first, w2, second, _) = takeover(&world).await;
    let kept = r#"{"status":201,"body":{"id":820982911946154509,"memo":"a\u0000b"}}"#;
    w2.hands_in(&second, confirmed("B"), Some(kept)).await.unwrap();
    assert_eq!(world.memory.response(first.id).as_deref(), Some(kept), "with all its digits");
    let told = last(&world, &first);
    assert_eq!(fact(&told, "response_status").as_deref(), Some("201"));
    assert!(fact(&told, "response_fingerprint").is_some_and(|text| text.starts_with("sha256:")));
    w1.hands_in(&first, confirmed("A"), Some(r#"{"status":"secret text"}"#)).await.unwrap_err();
    assert_eq!(world.memory.response(first.id).as_deref(), Some(kept), "a contradiction does not replace it");
    let told = last(&world, &first);
    assert_eq!(fact(&told, "response_status"), None, "the trail keeps statuses and no bodies");
    let Json::Object(facts) = &told.detail else { panic!("facts") };
    assert!(facts.iter().all(|(_, value)| value.as_str() != Some("secret text")));
}

#[tokio::test]
async fn times_of_callers_change_no_lease() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let ask = billing.asks("order-1").with(r#"{"amount":"1","currency":"INR","now":"2036-01-01T00:00:00Z"}"#);
    let permit = ask.for_seconds(10).permit().await;
    assert_eq!(permit.until, start() + TimeDelta::seconds(10));
    world.clock.advance_ms(9_999);
    assert_eq!(billing.asks("order-1").hears().await, "conflict");
    assert_eq!(world.state(permit.id).await, StateName::Sending);
    world.clock.advance_ms(1);
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
}
