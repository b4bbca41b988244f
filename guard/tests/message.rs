//! What a customer received, when, in which version.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use guard::message::Receipt;
use guard::state::StateName;
use guard::token::Reach;
use guard::workflow::{Kind, Workflow};
use world::{CAREFUL, World, careful, dropped, handoff};

async fn world() -> World {
    World::with(vec![Workflow { kind: Kind::Message, ..handoff() }, careful()]).await
}

/// The receipt of each version with what happened to it.
async fn told(world: &World, id: guard::id::OperationId) -> Vec<(&'static str, Vec<String>)> {
    let versions = world.guard.message_versions(&Reach::EVERYTHING, id).await.unwrap().unwrap();
    let words = versions.into_iter().map(|version| {
        let receipt = match version.receipt {
            Receipt::Received { .. } => "received",
            Receipt::Uncertain { .. } => "uncertain",
            Receipt::NotReceived { .. } => "not received",
        };
        let steps = version.steps.iter().map(|step| {
            let attempt = step.attempt.map(|attempt| format!(" {attempt}")).unwrap_or_default();
            format!("{:?}{attempt}: {}", step.event, step.state.as_deref().unwrap_or("-"))
        });
        (receipt, steps.collect())
    });
    words.collect()
}

#[tokio::test]
async fn a_reminder_after_a_delivery_error_is_an_attempt_and_a_changed_amount_is_none() {
    let world = world().await;
    let mailer = world.worker("mailer").await;
    let first = mailer.owns("reminder-1").await;
    mailer.fails(&first, "550 no such mailbox").await.unwrap();
    let again = mailer.owns("reminder-1").await;
    assert_eq!((again.id, again.attempt), (first.id, 2), "the identical reminder is an attempt of the same revision");
    mailer.confirms(&again, "mail-7").await.unwrap();
    assert_eq!(mailer.asks("reminder-1").hears().await, "replay");
    let changed = mailer.asks("reminder-1").with(r#"{"amount":"120.00","currency":"INR"}"#);
    assert_eq!(changed.hears().await, "conflict", "a changed amount is no attempt");
    assert_eq!(changed.at_revision(2).hears().await, "approval_missing", "it is a revision, and needs its approval");
    let steps = ["Begun 1: sending", "Reported: failed", "Begun 2: sending", "Reported: confirmed"];
    assert_eq!(told(&world, first.id).await, [("received", steps.map(ToOwned::to_owned).to_vec())]);
}

#[tokio::test]
async fn a_mail_server_cannot_be_asked_so_a_person_says_what_happened() {
    // C31: the message left, and the one who sent it died before it could say so.
    let world = world().await;
    let mailer = world.worker("mailer").await;
    let sent = mailer.owns("reminder-1").await;
    let lost = mailer.owns("reminder-2").await;
    let stale = mailer.owns("reminder-3").await;
    world.clock.advance(61);
    for permit in [&sent, &lost, &stale] {
        assert_eq!(world.state(permit.id).await, StateName::Unknown);
    }
    assert_eq!(mailer.asks("reminder-1").hears().await, "unknown", "nothing is sent again by itself");
    assert_eq!(told(&world, sent.id).await[0].0, "uncertain");
    let operator = world.operator();
    operator.confirms(sent.id, "seen in the customer's answer").await.unwrap();
    operator.denies(lost.id).await.unwrap();
    operator.decides(stale.id, dropped()).await.unwrap();
    assert_eq!(told(&world, sent.id).await[0].0, "received");
    assert_eq!(told(&world, lost.id).await[0].0, "not received");
    assert_eq!(told(&world, stale.id).await[0].0, "uncertain", "nobody knows, and nobody asks any more");
    assert_eq!(mailer.asks("reminder-1").hears().await, "replay", "it was sent");
    assert_eq!(mailer.asks("reminder-3").hears().await, "rejected", "it is never sent again");
    assert_eq!(mailer.asks("reminder-1").hears().await, "replay", "it was sent: never again");
    assert_eq!(mailer.owns("reminder-2").await.attempt, 2, "it was not: it is sent again");
    for permit in [&sent, &lost] {
        let resolved = world.entries(permit.id).into_iter().find(|entry| entry.kind.as_str() == "resolved").unwrap();
        assert_eq!(resolved.actor.to_string(), "person:ada@example.test", "the choice is in the trail");
    }
}

#[tokio::test]
async fn what_makes_records_has_no_versions_of_a_message() {
    let world = world().await;
    let permit = world.worker("billing").await.asks("order-1").in_workflow(CAREFUL).permit().await;
    assert_eq!(world.guard.message_versions(&Reach::EVERYTHING, permit.id).await, Ok(None));
    let elsewhere = Reach::over(["globex".to_owned()], []);
    assert!(world.guard.message_versions(&elsewhere, permit.id).await.is_err());
}
