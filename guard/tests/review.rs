//! People settle what is uncertain: who is on it, and which pages are still true.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use chrono::TimeDelta;
use guard::id::{OperationId, PersonId};
use guard::json::Json;
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::review::{CLAIM_MINUTES, CLAIM_RENEWED_BELOW_MINUTES};
use guard::state::StateName;
use guard::token::Reach;
use world::{Operator, World, assert_chain, not_applied, start};

/// An operation whose worker was never heard of again.
async fn uncertain(world: &World, document: &str) -> OperationId {
    let permit = world.worker(&format!("billing of {document}")).await.owns(document).await;
    world.clock.advance(60);
    assert_eq!(world.state(permit.id).await, StateName::Unknown);
    permit.id
}

fn somebody(world: &World, name: &str, role: Role) -> Operator {
    let person = Person {
        id: PersonId::new(start(), [9; 16]),
        email: format!("{name}@example.test"),
        role,
        reach: Reach::EVERYTHING,
    };
    Operator { guard: world.guard.clone(), person }
}

#[tokio::test]
async fn a_claim_tells_who_is_on_it_and_ends_by_itself() {
    let world = World::new().await;
    let ada = somebody(&world, "ada", Role::Operator);
    let id = uncertain(&world, "order-1").await;
    let claim = world.guard.claim(&ada.person, id).await.unwrap();
    assert_eq!(claim.until - world.guard.now(), TimeDelta::minutes(CLAIM_MINUTES));
    let shown = async || {
        let review = world.guard.reviews(&[world.operation(id).await]).await.unwrap().pop().flatten();
        review.and_then(|review| review.claim_at(world.guard.now()).cloned())
    };
    assert_eq!(shown().await, Some(claim.clone()));
    // Pressed twice: nothing more is told.
    assert_eq!(world.guard.claim(&ada.person, id).await.unwrap(), claim);
    assert_eq!(world.told(id), ["begun", "expired", "claimed"]);
    world.clock.advance(60 * (CLAIM_MINUTES - CLAIM_RENEWED_BELOW_MINUTES) + 1);
    let renewed = world.guard.claim(&ada.person, id).await.unwrap();
    assert!(renewed.until > claim.until);
    world.clock.advance(60 * CLAIM_MINUTES);
    assert_eq!(shown().await, None);
    assert_chain(&world.operation(id).await, &world.entries(id));
}

#[tokio::test]
async fn a_claim_is_taken_over_released_and_over_with_the_decision() {
    let world = World::new().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Admin));
    let id = uncertain(&world, "order-1").await;
    world.guard.claim(&ada.person, id).await.unwrap();
    let taken = world.guard.claim(&ben.person, id).await.unwrap();
    assert_eq!(taken.by, "ben@example.test");
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.detail.member("taken_from").and_then(Json::as_str), Some("ada@example.test"));
    assert_eq!(entry.detail.member("state").and_then(Json::as_str), Some("unknown"));

    // Who is not on it any more releases nothing.
    let before = world.memory.snapshot();
    world.guard.release_claim(&ada.person, id).await.unwrap();
    assert_eq!(world.memory.snapshot(), before);
    world.guard.release_claim(&ben.person, id).await.unwrap();
    world.guard.claim(&ada.person, id).await.unwrap();
    assert_eq!(world.told(id)[2..], ["claimed", "claimed", "claim_released", "claimed"]);

    // A claim of another keeps nobody from deciding.
    ben.confirms(id, "task-907").await.unwrap();
    assert_eq!(world.guard.reviews(&[world.operation(id).await]).await.unwrap(), [None]);
    let refusal = world.guard.claim(&ada.person, id).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"an operation that is confirmed cannot be claimed");
}

#[tokio::test]
async fn only_who_may_decide_may_claim_and_only_within_reach() {
    let world = World::new().await;
    let id = uncertain(&world, "order-1").await;
    for role in Role::ALL {
        let person = somebody(&world, "ada", role).person;
        assert_eq!(world.guard.claim(&person, id).await.is_ok(), role.may_resolve(), "{role:?}");
        let elsewhere = Person { reach: Reach::over(["globex".to_owned()], []), ..person };
        let refusal = world.guard.claim(&elsewhere, id).await.unwrap_err();
        assert_eq!(matches!(refusal, Refusal::NotFound { .. }), role.may_resolve(), "{role:?}: {refusal}");
    }
}

#[tokio::test]
async fn a_page_is_stale_only_by_what_a_decision_rests_on() {
    let world = World::new().await;
    let (ada, ben) = (somebody(&world, "ada", Role::Operator), somebody(&world, "ben", Role::Operator));
    let id = uncertain(&world, "order-1").await;
    let seen = world.operation(id).await.version;
    world.guard.claim(&ben.person, id).await.unwrap();
    world.guard.release_claim(&ben.person, id).await.unwrap();
    let operation = world.operation(id).await;
    assert_eq!(operation.version, seen + 2);
    assert_eq!(world.guard.moved_since(&operation, seen).await, Ok(None));
    // From before the lease ended it is.
    let moved = world.guard.moved_since(&operation, seen - 1).await.unwrap().unwrap();
    assert_eq!(moved.kind.as_str(), "expired");
    let refusal = world.guard.moved_since(&operation, operation.version + 1).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"version: is none that this operation has had; open it again");

    let settled = ada.decides_on(id, seen, not_applied()).await.unwrap();
    assert_eq!(settled.operation.state.name(), StateName::Failed);
    let entry = world.entries(id).pop().unwrap();
    assert_eq!(entry.detail.member("seen_version").map(ToString::to_string), Some(seen.to_string()));
    let refusal = ben.decides_on(id, seen, not_applied()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"meanwhile it is failed: changed by person:ada@example.test at 2026-03-01T09:01:00.000Z");
}
