//! What counts as a duplicate prevented, and what else is counted of the truth.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use chrono::TimeDelta;
use guard::board::{Board, BoardQuestion, Numbers};
use guard::id::OperationId;
use guard::refusal::Refusal;
use guard::state::StateName;
use guard::summary::{Prevention, SettledBy};
use guard::token::Reach;
use world::{World, start};

async fn board_of(world: &World, reach: &Reach, company: Option<&str>) -> Board {
    let day = guard::summary::start_of_hour(start());
    let company = company.map(ToOwned::to_owned);
    let question = BoardQuestion { from: day, to: day + TimeDelta::days(3), workflow: None, company };
    world.guard.board(reach, question).await.unwrap()
}

async fn numbers(world: &World) -> Numbers {
    board_of(world, &Reach::EVERYTHING, None).await.numbers
}

/// Each kind with how many duplicates of it were prevented.
async fn prevented(world: &World) -> Vec<(Prevention, u64)> {
    numbers(world).await.prevented.into_iter().map(|(kind, tally)| (kind, tally.number)).collect()
}

#[tokio::test]
async fn a_worker_that_polls_is_one_intention() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    for _ in 0..5 {
        assert_eq!(billing.asks("order-1").hears().await, "in_progress");
    }
    assert_eq!(world.guard.settle_held(10).await.unwrap(), 0, "nobody knows yet whether there is an original");
    assert_eq!(prevented(&world).await, []);
    billing.confirms(&permit, "task-1").await.unwrap();
    assert_eq!(world.guard.settle_held(10).await.unwrap(), 1);
    for _ in 0..3 {
        assert_eq!(billing.asks("order-1").hears().await, "replay");
    }
    assert_eq!(world.guard.settle_held(10).await.unwrap(), 0, "once");
    assert_eq!(prevented(&world).await, [(Prevention::InProgress, 1)]);
    let numbers = numbers(&world).await;
    assert_eq!(numbers.repetitions(), 8, "the asks are a number of their own");
    assert_eq!(numbers.prevented_in_all().money["INR"], 1_180_000, "once, and not eight times");
    assert_eq!(world.operation(permit.id).await.duplicates_prevented, 8);
}

#[tokio::test]
async fn a_repetition_of_what_is_confirmed_counts_at_once_and_once() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    billing.confirms(&permit, "task-1").await.unwrap();
    for _ in 0..4 {
        billing.asks("order-1").hears().await;
    }
    assert_eq!(prevented(&world).await, [(Prevention::Replay, 1)]);
    let board = board_of(&world, &Reach::EVERYTHING, None).await;
    let [(newest, original)] = board.newest.as_slice() else { panic!("{:?}", board.newest) };
    assert_eq!((newest.operation, original.id, newest.kind), (permit.id, permit.id, Prevention::Replay));
    assert_eq!(original.state.name(), StateName::Confirmed);
}

#[tokio::test]
async fn who_was_held_and_then_sent_prevented_nothing() {
    for is_settled_between in [true, false] {
        let world = World::new().await;
        let billing = world.worker("billing").await;
        let permit = billing.owns("order-1").await;
        billing.asks("order-1").hears().await;
        billing.fails(&permit, "refused: 400").await.unwrap();
        if is_settled_between {
            assert_eq!(world.guard.settle_held(10).await.unwrap(), 1, "forgotten");
        }
        let second = billing.owns("order-1").await;
        assert_eq!(second.attempt, 2);
        billing.confirms(&second, "task-2").await.unwrap();
        world.guard.settle_held(10).await.unwrap();
        assert_eq!(prevented(&world).await, [], "it would have been made once without a guard, too");
        billing.asks("order-1").hears().await;
        assert_eq!(prevented(&world).await, [(Prevention::Replay, 1)], "now it would have been made twice");
    }
}

#[tokio::test]
async fn what_was_held_while_nobody_knew_counts_when_somebody_does() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let mut permits = Vec::new();
    for document in ["found", "absent"] {
        let permit = billing.owns(document).await;
        billing.is_unsure(&permit, "no answer").await.unwrap();
        assert_eq!(billing.asks(document).hears().await, "unknown");
        permits.push(permit.id);
    }
    world.clock.advance(120);
    ada.confirms(permits[0], "task-1").await.unwrap();
    ada.denies(permits[1]).await.unwrap();
    assert_eq!(world.guard.settle_held(1).await.unwrap(), 1);
    assert_eq!(world.guard.settle_held(10).await.unwrap(), 1);
    assert_eq!(prevented(&world).await, [(Prevention::Unknown, 1)]);
}

#[tokio::test]
async fn who_brought_the_truth_and_how_long_it_took_is_counted() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let unsure = async |document: &str| {
        let permit = billing.owns(document).await;
        billing.is_unsure(&permit, "no answer").await.unwrap();
        permit
    };
    let (by_person, by_worker) = (unsure("order-1").await, unsure("order-2").await);
    let plain = billing.owns("order-3").await;
    billing.confirms(&plain, "task-3").await.unwrap();
    world.clock.advance(30);
    billing.confirms(&by_worker, "task-2").await.unwrap();
    world.clock.advance(170);
    ada.confirms(by_person.id, "task-1").await.unwrap();
    let numbers = numbers(&world).await;
    assert_eq!(SettledBy::ALL.map(|by| numbers.settled_by(by)), [0, 1, 1]);
    assert_eq!((numbers.truth_seconds, numbers.truth.iter().sum::<u64>()), (230, 2));
    assert_eq!(numbers.truth_milliseconds(500), Some(60_000), "the bound above 30 seconds");
    assert_eq!((numbers.became_uncertain(), numbers.accuracy_permille()), (2, Some(1_000)));
}

#[tokio::test]
async fn a_decision_that_a_later_truth_contradicts_is_counted() {
    let world = World::new().await;
    let (billing, ada) = (world.worker("billing").await, world.operator());
    let contradict = async |document: &str, decided: bool| -> OperationId {
        let permit = billing.owns(document).await;
        if decided {
            billing.is_unsure(&permit, "no answer").await.unwrap();
            world.clock.advance(120);
            ada.denies(permit.id).await.unwrap();
        } else {
            billing.fails(&permit, "refused: 400").await.unwrap();
        }
        let refusal = billing.confirms(&permit, "task-1").await.unwrap_err();
        assert!(matches!(refusal, Refusal::OutcomeDisagrees { .. }), "{refusal}");
        assert_eq!(world.state(permit.id).await, StateName::Disputed);
        permit.id
    };
    contradict("order-1", false).await;
    assert_eq!(numbers(&world).await.contradicted, 0, "nobody decided");
    let id = contradict("order-2", true).await;
    let told = numbers(&world).await;
    assert_eq!((told.contradicted, told.accuracy_permille()), (1, Some(0)));
    ada.confirms(id, "task-1").await.unwrap();
    assert_eq!(numbers(&world).await.accuracy_permille(), Some(500));
}

#[tokio::test]
async fn nothing_of_another_company_is_in_a_number() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    for company in ["acme", "other"] {
        let permit = billing.asks("order-1").in_company(company).permit().await;
        billing.asks("order-1").in_company(company).hears().await;
        billing.confirms(&permit, "task-1").await.unwrap();
        billing.asks("order-1").in_company(company).with(r#"{"amount":"9.00","currency":"INR"}"#).hears().await;
    }
    world.guard.settle_held(10).await.unwrap();
    let own = Reach::over(["acme".to_owned()], []);
    let all = board_of(&world, &Reach::EVERYTHING, None).await;
    assert_eq!((all.numbers.prevented_in_all().number, all.companies.len(), all.newest.len()), (2, 2, 2));
    assert_eq!(all.places, [("/amount".to_owned(), 2)]);
    for board in [board_of(&world, &own, None).await, board_of(&world, &Reach::EVERYTHING, Some("acme")).await] {
        assert_eq!((board.numbers.prevented_in_all().number, board.newest.len()), (1, 1));
        assert_eq!(board.companies.keys().collect::<Vec<_>>(), ["acme"]);
        assert_eq!(board.places, [("/amount".to_owned(), 1)]);
        assert_eq!(board.waiting.open_conflicts, 1);
    }
    let beyond = board_of(&world, &own, Some("other")).await;
    assert_eq!((beyond.numbers, beyond.newest.len()), (Numbers::default(), 0));
}
