//! `Prefer: wait`: answers that are held until something changes.

use std::time::{Duration, Instant};

use guard::event::Resolution;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

/// Far more than an answer needs, far less than a preference holds.
const SOON: Duration = Duration::from_secs(8);

on_both!(
    a_held_answer_comes_when_the_operation_is_confirmed,
    a_held_answer_comes_when_another_server_confirms,
    who_goes_away_while_waiting_gets_no_grant,
    one_of_those_who_wait_gets_the_next_attempt,
    a_held_answer_comes_when_a_person_decides,
    a_held_answer_comes_when_the_lease_ends,
    a_held_answer_ends_with_the_preference_and_is_counted_once,
    what_needs_no_waiting_is_answered_at_once,
    a_server_that_stops_lets_nobody_wait,
);

async fn a_held_answer_comes_when_the_operation_is_confirmed(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let started = Instant::now();
    let held = tokio::spawn(worker.begin("INV-001", PAYLOAD).wait(60).into_future());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!held.is_finished());
    worker.confirm(&grant, "task-1").await.expect_state("confirmed");
    let answer = held.await.unwrap();
    assert_eq!(answer.expect_replay(), "task-1");
    assert_eq!(answer.header("preference-applied"), Some("wait=60"));
    assert!(started.elapsed() < SOON);
    desk.close().await;
}

async fn a_held_answer_comes_when_another_server_confirms(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let here = desk.worker("worker").await;
    let second = desk.second().await;
    let grant = here.begin("INV-001", PAYLOAD).await.expect_proceed();
    let started = Instant::now();
    let held = tokio::spawn(here.begin("INV-001", PAYLOAD).wait(60).into_future());
    tokio::time::sleep(Duration::from_millis(200)).await;
    second.worker(&here).confirm(&grant, "task-1").await.expect_state("confirmed");
    assert_eq!(held.await.unwrap().expect_replay(), "task-1");
    assert!(started.elapsed() < SOON);
    second.server.database.close().await;
    desk.close().await;
}

async fn who_goes_away_while_waiting_gets_no_grant(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let held = tokio::spawn(worker.begin("INV-001", PAYLOAD).wait(60).into_future());
    tokio::time::sleep(Duration::from_millis(300)).await;
    held.abort();
    assert!(held.await.is_err());
    tokio::time::sleep(Duration::from_millis(300)).await;
    worker.fail(&grant, "refused").await.expect_state("failed");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(worker.read(&grant.id).await["state"], "failed", "nobody is there to send");
    assert_eq!(worker.begin("INV-001", PAYLOAD).await.expect_proceed().attempt, 2);
    desk.close().await;
}

async fn one_of_those_who_wait_gets_the_next_attempt(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let held: Vec<_> = (0..5).map(|_| tokio::spawn(worker.begin("INV-001", PAYLOAD).wait(6).into_future())).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    worker.fail(&grant, "refused").await.expect_state("failed");
    let mut granted = 0;
    for answer in held {
        let answer = answer.await.unwrap();
        if answer.status == 201 {
            assert_eq!(answer.expect_proceed().attempt, 2);
            granted += 1;
        } else {
            answer.expect_in_progress();
        }
    }
    assert_eq!(granted, 1);
    desk.close().await;
}

async fn a_held_answer_comes_when_a_person_decides(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    worker.lose_track(&grant, "no answer").await.expect_state("unknown");
    let started = Instant::now();
    let held = tokio::spawn(worker.begin("INV-001", PAYLOAD).wait(60).into_future());
    tokio::time::sleep(Duration::from_millis(200)).await;
    desk.resolve(&grant.id, Resolution::Confirmed { destination_reference: "task-1".to_owned() }).await;
    assert_eq!(held.await.unwrap().expect_replay(), "task-1");
    assert!(started.elapsed() < SOON);
    desk.close().await;
}

async fn a_held_answer_comes_when_the_lease_ends(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await.in_workflow("two-step");
    worker.begin("INV-001", PAYLOAD).with("lease_seconds", "2").await.expect_proceed();
    let started = Instant::now();
    let held = worker.begin("INV-001", PAYLOAD).wait(60).await;
    assert_eq!(held.expect_proceed().attempt, 2, "nothing was sent, so the next one may");
    assert!(started.elapsed() < SOON);
    desk.close().await;
}

async fn a_held_answer_ends_with_the_preference_and_is_counted_once(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let started = Instant::now();
    worker.begin("INV-001", PAYLOAD).wait(1).await.expect_in_progress();
    assert!((Duration::from_millis(990)..SOON).contains(&started.elapsed()));
    crate::support::eventually("the delivery is counted", async || {
        worker.read(&grant.id).await["duplicates_prevented"] != 0
    })
    .await;
    assert_eq!(worker.read(&grant.id).await["duplicates_prevented"], 1);
    desk.close().await;
}

async fn what_needs_no_waiting_is_answered_at_once(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let started = Instant::now();
    let grant = worker.begin("INV-001", PAYLOAD).wait(60).await.expect_proceed();
    worker.begin("INV-001", r#"{"total":"1","currency":"EUR"}"#).wait(60).await.expect_conflict();
    worker.begin("INV-001", PAYLOAD).wait(0).await.expect_in_progress();
    worker.confirm(&grant, "task-1").await;
    worker.begin("INV-001", PAYLOAD).wait(60).await.expect_replay();
    worker.begin("INV-002", PAYLOAD).with("revision", "2").wait(60).await.expect_stop("previous_revision");
    assert!(started.elapsed() < SOON);
    desk.close().await;
}

async fn a_server_that_stops_lets_nobody_wait(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    let started = Instant::now();
    let held = tokio::spawn(worker.begin("INV-001", PAYLOAD).wait(60).into_future());
    tokio::time::sleep(Duration::from_millis(200)).await;
    desk.server.drain();
    held.await.unwrap().expect_in_progress();
    assert!(started.elapsed() < SOON);
    let readiness = worker.request(reqwest::Method::GET, "/readyz").send().await.unwrap();
    assert_eq!(readiness.status(), 503);
    assert_eq!(worker.get("/healthz").await.status, 200, "it still lives");
    desk.close().await;
}
