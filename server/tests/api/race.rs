//! Many at once: one grant, and nobody hears a failure of the server.

use futures::future::join_all;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"subject":"Printer"}"#;

/// Rounds of two payloads that race; `ONCEOVER_SOAK=1` runs all of them.
const ROUNDS: usize = 40;
const ROUNDS_SOAK: usize = 200;

on_both!(
    fifty_at_once_are_one_grant,
    fifty_at_once_at_two_servers_are_one_grant,
    two_hundred_at_once_hear_no_failure,
    two_payloads_that_race_are_one_grant_and_one_conflict,
    the_next_attempt_is_granted_once,
    an_outcome_reported_by_ten_at_once_is_one,
);

/// Case C12.
async fn fifty_at_once_are_one_grant(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let mail = desk.worker("mail").await;
    let begin = mail.begin("<m-1@example.test>", PAYLOAD);
    let answers = join_all((0..50).map(|_| begin.clone().into_future())).await;
    let (granted, held): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(granted.len(), 1);
    assert_eq!(held.len(), 49);
    held.iter().for_each(|answer| drop(answer.expect_in_progress()));
    mail.confirm(&granted[0].expect_proceed(), "ticket-1").await.expect_state("confirmed");
    let answers = join_all((0..50).map(|_| begin.clone().into_future())).await;
    answers.iter().for_each(|answer| assert_eq!(answer.expect_replay(), "ticket-1"));
    assert_eq!(mail.get("/api/v1/operations").await.json()["operations"].as_array().unwrap().len(), 1);
    desk.close().await;
}

/// Case C12, with two servers over one database.
async fn fifty_at_once_at_two_servers_are_one_grant(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let here = desk.worker("mail").await;
    let second = desk.second().await;
    let there = second.worker(&here);
    for round in 0..10 {
        let document = format!("<m-{round}@example.test>");
        let begins = (0..50).map(|number| if number % 2 == 0 { &here } else { &there }.begin(&document, PAYLOAD));
        let answers = join_all(begins.map(IntoFuture::into_future)).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 49);
        let granted = answers.iter().find(|answer| answer.status == 201).unwrap().expect_proceed();
        there.confirm(&granted, "ticket").await.expect_state("confirmed");
        assert_eq!(here.begin(&document, PAYLOAD).await.expect_replay(), "ticket");
    }
    second.server.database.close().await;
    desk.close().await;
}

/// Case C14.
async fn two_hundred_at_once_hear_no_failure(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("INV-001", PAYLOAD);
    let answers = join_all((0..200).map(|_| begin.clone().into_future())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 199);
    desk.close().await;
}

/// Case C14, with transactions that the database gives up in favour of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn serialization_failures_are_heard_by_nobody() {
    let Some(fresh) = Fresh::postgres().await else { return };
    fresh.refuse_inserts("40001", 5).await;
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("INV-001", PAYLOAD);
    let answers = join_all((0..200).map(|_| begin.clone().into_future())).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 199);
    assert!(desk.fresh.number("SELECT last_value FROM refused").await > 5, "nothing was refused");
    desk.close().await;
}

/// Case C13.
async fn two_payloads_that_race_are_one_grant_and_one_conflict(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let is_soak = std::env::var("ONCEOVER_SOAK").is_ok_and(|value| value == "1");
    for round in 0..if is_soak { ROUNDS_SOAK } else { ROUNDS } {
        let document = format!("INV-{round}");
        let one = worker.begin(&document, r#"{"qty":1}"#).into_future();
        let two = worker.begin(&document, r#"{"qty":2}"#).into_future();
        let (one, two) = tokio::join!(one, two);
        let (granted, refused) = if one.status == 201 { (one, two) } else { (two, one) };
        granted.expect_proceed();
        refused.expect_conflict();
    }
    desk.close().await;
}

async fn the_next_attempt_is_granted_once(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("INV-001", PAYLOAD);
    let first = begin.clone().await.expect_proceed();
    worker.fail(&first, "refused").await.expect_state("failed");
    let answers = join_all((0..30).map(|_| begin.clone().into_future())).await;
    let granted: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(granted.len(), 1);
    assert_eq!(granted[0].expect_proceed().attempt, 2);
    desk.close().await;
}

async fn an_outcome_reported_by_ten_at_once_is_one(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let answers = join_all((0..10).map(|_| worker.confirm(&grant, "task-1"))).await;
    answers.iter().for_each(|answer| drop(answer.expect_state("confirmed")));
    assert_eq!(worker.event_kinds(&grant.id).await, ["begun", "reported"]);
    desk.close().await;
}
