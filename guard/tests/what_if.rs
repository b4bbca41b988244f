//! A change of rules is run over what happened, before anybody approves it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::id::OperationId;
use guard::json::Json;
use guard::pointer::Pointer;
use guard::rules::RuleChange;
use guard::token::Reach;
use guard::what_if::{Different, WhatIf};
use guard::workflow::{AmendmentRules, Comparison, KeyField};
use world::{CAREFUL, HANDOFF, World, handoff};

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

/// Reads `$.name` alone.
fn member(path: &str, record: &Json) -> Option<Json> {
    record.member(path.strip_prefix("$.")?).cloned()
}

async fn run(world: &World, reach: &Reach, change: RuleChange) -> WhatIf {
    world.guard.what_if(reach, HANDOFF, &change, &member).await.unwrap()
}

fn ids(different: &Different) -> Vec<OperationId> {
    assert_eq!(different.number, different.examples.len() as u64);
    different.examples.iter().map(|example| example.operation).collect()
}

#[tokio::test]
async fn noise_would_have_been_a_repetition_and_a_change_would_not() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let with = |amount: &str, printed: &str| {
        format!(
            r#"{{"amount":"{amount}","currency":"INR","printed":"{printed}","meta":{{"attempt":{}}}}}"#,
            printed.len()
        )
    };
    let noisy = billing.asks("noisy").with(&with("1", "9:00")).permit().await;
    let changed = billing.asks("changed").with(&with("1", "9:00")).permit().await;
    let quiet = billing.asks("quiet").permit().await;
    for permit in [&noisy, &changed, &quiet] {
        billing.confirms(permit, "task").await.unwrap();
    }
    assert_eq!(billing.asks("noisy").with(&with("1", "9:05")).hears().await, "conflict");
    assert_eq!(billing.asks("changed").with(&with("2", "9:05")).hears().await, "conflict");
    let abroad = billing.asks("noisy").in_company("globex").with(&with("1", "9:00")).permit().await;
    billing.confirms(&abroad, "task").await.unwrap();
    assert_eq!(billing.asks("noisy").in_company("globex").with(&with("1", "9:05")).hears().await, "conflict");
    let other = billing.asks("noisy").in_workflow(CAREFUL).with(&with("1", "9:00"));
    other.permit().await;
    assert_eq!(other.with(&with("1", "9:05")).hears().await, "conflict");
    // These are repetitions: one with something at the volatile place, one without.
    assert_eq!(billing.asks("noisy").with(&with("1", "9:00")).hears().await, "replay");
    assert_eq!(billing.asks("quiet").hears().await, "replay");

    let noise = RuleChange::leaving_out(&handoff(), pointer("/printed"));
    let what_if = run(&world, &Reach::over(["acme".to_owned()], []), noise.clone()).await;
    assert_eq!(ids(&what_if.replays), [noisy.id]);
    assert_eq!((what_if.conflicts.number, what_if.conflicts.is_cut), (4, false));
    assert_eq!(what_if.replays.examples[0].what, "/printed");
    let everywhere = run(&world, &Reach::EVERYTHING, noise).await;
    assert_eq!(everywhere.replays.number, 2, "{:?}", everywhere.replays);

    let strict = RuleChange { volatile: Some(vec![pointer("/meta/sent_at")]), ..RuleChange::default() };
    let what_if = run(&world, &Reach::EVERYTHING, strict).await;
    assert_eq!(ids(&what_if.possible_conflicts), [noisy.id], "what was repeated and holds something there");
    assert_eq!(what_if.replays.number, 0);

    world.clock.advance(91 * 24 * 3_600);
    let noise = RuleChange::leaving_out(&handoff(), pointer("/printed"));
    let later = run(&world, &Reach::EVERYTHING, noise).await;
    assert_eq!((later.replays.number, later.conflicts.number), (0, 0), "ninety days are looked back over");
}

#[tokio::test]
async fn amendable_places_and_key_fields_are_tried_out() {
    let world = World::new().await;
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let answer = r#"{"status":201,"body":{"id":"task-1","total":"118.0","name":"x"}}"#;
    let outcome = world::confirmed("task-1");
    billing.hands_in(&permit, outcome, Some(answer)).await.unwrap();
    billing.asks("order-1").with(r#"{"amount":"120.00","currency":"INR"}"#).decision().await;

    let amendment = AmendmentRules { amendable: vec!["/amount".parse().unwrap()], ..AmendmentRules::default() };
    let allowing = RuleChange { amendment: Some(amendment), ..RuleChange::default() };
    let what_if = run(&world, &Reach::EVERYTHING, allowing).await;
    assert_eq!((ids(&what_if.allowed), what_if.forbidden.number), (vec![permit.id], 0));

    let field = |record: &str, compare| KeyField { payload: pointer("/amount"), record: record.to_owned(), compare };
    for (record, compare, differs) in [
        ("$.total", Comparison::Decimal, false),
        ("$.total", Comparison::Exact, true),
        ("$.gone", Comparison::Decimal, true),
    ] {
        let change = RuleChange { key_fields: Some(vec![field(record, compare)]), ..RuleChange::default() };
        let what_if = run(&world, &Reach::EVERYTHING, change).await;
        assert_eq!(what_if.disagreeing.number, u64::from(differs), "{record} {compare:?}");
        assert_eq!(what_if.operations.number, 1);
    }
}
