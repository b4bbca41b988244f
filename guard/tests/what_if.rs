//! A change of rules is run over what happened, before anybody approves it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::id::OperationId;
use guard::json::Json;
use guard::person::{Person, Role};
use guard::pointer::Pointer;
use guard::rules::RuleChange;
use guard::service::{AskedReversal, Proposer};
use guard::token::Reach;
use guard::what_if::{Different, WhatIf};
use guard::workflow::{AmendmentRules, Comparison, Correction, KeyField, Workflow};
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

#[tokio::test]
async fn what_would_have_been_different_for_amendments_is_told() {
    let before = AmendmentRules {
        amendable: vec!["/amount".parse().unwrap(), "/memo".parse().unwrap()],
        before_reconciliation: Correction::Amend,
        second_approval_over: Some("1000.00".to_owned()),
        ..AmendmentRules::default()
    };
    let world = World::with(vec![Workflow { amendment: before.clone(), ..handoff() }]).await;
    let (billing, ada) = (world.worker("billing").await, world.person(Role::Operator).person);
    let mut proposed = Vec::new();
    for (document, changed) in [
        ("dearer", r#"{"amount":"600.00","currency":"INR"}"#),
        ("noted", r#"{"amount":"118.00","currency":"INR","memo":"x"}"#),
        ("reversed", ""),
    ] {
        let permit = billing.owns(document).await;
        let of = billing.confirms(&permit, document).await.unwrap();
        let amendment = if changed.is_empty() {
            let asked = AskedReversal { record: document, reason: "twice", requested_by: None };
            world.guard.ask_reversal(&ada, of.id, of.version, asked).await
        } else {
            let person: &Person = &ada;
            let payload = world::payload(changed);
            world.guard.propose(Proposer::Person(person), of.id, payload, "changed", None, None).await
        };
        proposed.push(amendment.unwrap().operation);
    }
    let [dearer, noted, reversed] = proposed[..] else { panic!("three were proposed") };

    let whats = |different: &Different| {
        let examples = different.examples.iter();
        examples.map(|example| (example.operation, example.what.clone())).collect::<Vec<_>>()
    };
    let tried = async |rules: AmendmentRules| {
        let change = RuleChange { amendment: Some(rules), ..RuleChange::default() };
        run(&world, &Reach::EVERYTHING, change).await
    };
    let what_if = tried(AmendmentRules { amendable: vec!["/amount".parse().unwrap()], ..before.clone() }).await;
    assert_eq!(whats(&what_if.amendments_forbidden), [(noted, "/memo".to_owned())]);
    assert_eq!(
        (what_if.amendments.number, what_if.corrected_otherwise.number, what_if.approved_otherwise.number),
        (3, 0, 0)
    );

    let what_if = tried(AmendmentRules { before_reconciliation: Correction::Replace, ..before.clone() }).await;
    let replaced = |operation| (operation, "amend → replace".to_owned());
    assert_eq!(whats(&what_if.corrected_otherwise), [replaced(noted), replaced(dearer)], "not what is taken back");
    let what_if = tried(AmendmentRules { before_reconciliation: Correction::Forbid, ..before.clone() }).await;
    assert_eq!((what_if.amendments_forbidden.number, what_if.corrected_otherwise.number), (2, 0));

    let second = |over: &str| AmendmentRules { second_approval_over: Some(over.to_owned()), ..before.clone() };
    let more = |operation| (operation, "1 → 2".to_owned());
    assert_eq!(whats(&tried(second("500.00")).await.approved_otherwise), [more(dearer)]);
    assert_eq!(whats(&tried(second("100.00")).await.approved_otherwise), [more(reversed), more(noted), more(dearer)]);

    world.clock.advance(91 * 24 * 3_600);
    assert_eq!(tried(second("100.00")).await.amendments.number, 0, "ninety days are looked back over");
}
