//! Operations that look alike are hinted, and never blocked: two equal documents stay two.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::decision::Decision;
use guard::id::OperationId;
use guard::key::KeyPart;
use guard::look_alike::{LOOK_ALIKES_SIDE_ROWS_MAX, LookAlikeRules, LookAlikes};
use guard::token::Reach;
use guard::workflow::Workflow;
use world::{Ask, Worker, World, handoff};

const DAY_SECONDS: i64 = 24 * 3_600;

/// The workflow that looks for payments to the same supplier within a week.
fn payments() -> Workflow {
    let counterparty = "/supplier/account".parse().unwrap();
    Workflow { look_alikes: Some(LookAlikeRules { counterparty, days: 7 }), ..handoff() }
}

fn payment(worker: &Worker, document: &str, amount: &str, account: &str) -> Ask {
    let text = format!(
        r#"{{"number":"{document}","amount":{amount},"currency":"EUR","supplier":{{"account":"{account}"}},"text":"rent"}}"#
    );
    worker.asks(document).with(&text)
}

async fn begun(ask: Ask) -> OperationId {
    ask.permit().await.id
}

async fn alike_within(world: &World, reach: &Reach, id: OperationId) -> Option<LookAlikes> {
    let operation = world.operation(id).await;
    world.guard.look_alikes(reach, &[operation]).await.unwrap().pop().unwrap()
}

async fn alike(world: &World, id: OperationId) -> Vec<OperationId> {
    let found = alike_within(world, &Reach::EVERYTHING, id).await.unwrap();
    found.rows.iter().map(|operation| operation.id).collect()
}

/// Two real payments on one day, of one amount, to one supplier, with one text: both are sent, and each hints at the other.
#[tokio::test]
async fn twin_payments_stay_two_and_are_hinted_on_both() {
    let world = World::with(vec![payments()]).await;
    let worker = world.worker("tally").await;
    let first = begun(payment(&worker, "PMT-9", r#""840.00""#, "DE-1")).await;
    let second = begun(payment(&worker, "PMT-10", "840", "de-1 ")).await;
    assert_ne!(first, second);
    assert_eq!(alike(&world, first).await, [second]);
    assert_eq!(alike(&world, second).await, [first]);
    // The same document again is a repetition, or a conflict; it is no look-alike.
    let again = payment(&worker, "PMT-9", r#""840.00""#, "DE-1").answer().await.unwrap();
    assert!(matches!(again, Decision::InProgress { .. }), "{again:?}");
    assert_eq!(alike(&world, second).await, [first]);
}

/// Two equal partial refunds of one bill under numbers of their own are permitted, too.
#[tokio::test]
async fn a_second_refund_of_the_same_amount_is_permitted() {
    let mut workflow = payments();
    workflow.actions.push(KeyPart::new("refund").unwrap());
    let world = World::with(vec![workflow]).await;
    let worker = world.worker("erp").await;
    let refund = |document: &str| payment(&worker, document, "20.00", "C-1").with_action("refund");
    let first = begun(refund("BILL-1")).await;
    let second = begun(refund("BILL-1#R2")).await;
    assert_eq!(alike(&world, first).await, [second]);
}

#[tokio::test]
async fn what_differs_or_is_expected_is_not_hinted() {
    let world = World::with(vec![payments()]).await;
    let worker = world.worker("erp").await;
    let first = begun(payment(&worker, "A-1", "100", "DE-1")).await;
    begun(payment(&worker, "A-2", "-100", "DE-1")).await;
    begun(payment(&worker, "A-3", "100.01", "DE-1")).await;
    begun(payment(&worker, "A-4", "100", "DE-2")).await;
    // The same number in another company is another operation, and nobody's twin.
    begun(payment(&worker, "A-1", "100", "DE-1").in_company("globex")).await;
    assert_eq!(alike(&world, first).await, []);

    world.clock.advance(7 * DAY_SECONDS);
    let late = begun(payment(&worker, "A-5", "100", "DE-1")).await;
    assert_eq!(alike(&world, late).await, [first], "a week later to the second");
    world.clock.advance(1);
    let later = begun(payment(&worker, "A-6", "100", "DE-1")).await;
    assert_eq!(alike(&world, later).await, [late]);
    assert_eq!(alike(&world, first).await, [late]);
}

#[tokio::test]
async fn the_nearest_are_shown_and_a_bound_says_so() {
    let world = World::with(vec![payments()]).await;
    let worker = world.worker("erp").await;
    let mut all = Vec::new();
    for number in 0..LOOK_ALIKES_SIDE_ROWS_MAX + 2 {
        all.push(begun(payment(&worker, &format!("A-{number}"), "100", "DE-1")).await);
        world.clock.advance(60);
    }
    let found = alike_within(&world, &Reach::EVERYTHING, all[0]).await.unwrap();
    let side = LOOK_ALIKES_SIDE_ROWS_MAX as usize;
    let shown: Vec<_> = found.rows.iter().map(|operation| operation.id).collect();
    assert_eq!(shown, all[1..=side].iter().rev().copied().collect::<Vec<_>>());
    assert!(found.has_more);
    let middle = alike_within(&world, &Reach::EVERYTHING, all[side / 2]).await.unwrap();
    assert_eq!((middle.rows.len(), middle.has_more), (side + 1, false));
}

#[tokio::test]
async fn nothing_is_hinted_where_nobody_asked_or_beyond_somebodys_reach() {
    let world = World::with(vec![handoff()]).await;
    let worker = world.worker("erp").await;
    let first = begun(payment(&worker, "A-1", "100", "DE-1")).await;
    assert_eq!(alike_within(&world, &Reach::EVERYTHING, first).await, None, "no rule");
    world.apply(vec![payments()]).await;
    let second = begun(payment(&worker, "A-2", "100", "DE-1")).await;
    assert_eq!(alike(&world, second).await, [], "what was begun before the rule is not known by its look");
    let third = begun(payment(&worker, "A-3", "100", "DE-1")).await;
    assert_eq!(alike(&world, third).await, [second]);
    let elsewhere = Reach::over(["globex".to_owned()], []);
    assert_eq!(alike_within(&world, &elsewhere, third).await.unwrap().rows, []);
}
