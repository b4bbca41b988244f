//! Answers that never come, callers that leave, stores that go away.

use std::time::Duration;

use tokio::net::TcpListener;

use crate::desk::Desk;
use crate::ledger::{Asking, CREATED, Ledger, configure};
use crate::support::{Fresh, on_both};

on_both!(
    c20_a_lost_answer_is_unknown_and_never_sent_again,
    an_answer_that_says_neither_is_unknown,
    c23_already_there_is_passed_on_and_looked_into,
    a_caller_that_leaves_cancels_nothing,
    nothing_sent_is_proven,
    c15_an_outcome_that_cannot_be_stored_does_not_send_again,
    c24_a_destination_that_ignores_keys_is_still_asked_once,
);

async fn c20_a_lost_answer_is_unknown_and_never_sent_again(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    for fault in ["silent", "cut"] {
        let before = ledger.count();
        let lost = Asking::document(&worker, fault).with("x-fault", fault).answered().await;
        assert_eq!((lost.status, lost.code().as_str()), (504, "outcome_unknown"), "{lost:?}");
        let document = lost.json();
        assert_eq!((&document["decision"], &document["next"]), (&"unknown".into(), &"wait".into()));
        assert_eq!(lost.decision(), "unknown", "the header says what the body says");
        assert_eq!(document["operation"]["state"], "unknown");
        assert!(document["review_url"].as_str().unwrap().ends_with(lost.header("onceover-operation")), "{document}");
        assert_ne!(lost.header("retry-after"), "");
        for _ in 0..3 {
            let again = Asking::document(&worker, fault).answered().await;
            assert_eq!((again.status, again.decision(), again.code().as_str()), (409, "unknown", "unknown"));
        }
        assert_eq!(ledger.count(), before + 1);
    }
    desk.close().await;
}

async fn an_answer_that_says_neither_is_unknown(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    for (fault, status) in [("broken", 500), ("broken-after", 500), ("nameless", 201)] {
        let answer = Asking::document(&worker, fault).with("x-fault", fault).answered().await;
        assert_eq!((answer.status, answer.decision()), (status, "proceed"), "what the destination answered");
        assert_eq!(worker.read(answer.header("onceover-operation")).await["state"], "unknown", "{fault}");
        assert_eq!(Asking::document(&worker, fault).answered().await.decision(), "unknown");
    }
    assert_eq!(ledger.count(), 2);
    desk.close().await;
}

async fn c23_already_there_is_passed_on_and_looked_into(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let answer = Asking::document(&worker, "INV-1").with("x-fault", "exists").answered().await;
    assert_eq!((answer.status, answer.decision()), (409, "proceed"));
    assert_eq!(answer.json()["code"], 307, "the destination's words");
    let id = answer.header("onceover-operation");
    assert_eq!(worker.read(id).await["state"], "unknown");
    let events = worker.get(&format!("/api/v1/operations/{id}/events")).await.json();
    let reason = events["events"][1]["detail"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "the destination answered 409 Conflict: there is such a record already");
    assert_eq!(
        Asking::document(&worker, "INV-1").answered().await.decision(),
        "unknown",
        "neither failed nor confirmed"
    );
    assert_eq!(ledger.count(), 0);
    desk.close().await;
}

async fn a_caller_that_leaves_cancels_nothing(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    Asking::document(&worker, "INV-1").with("x-fault", "slow").lose_patience(Duration::from_millis(150)).await;
    let answer = loop {
        let answer = Asking::document(&worker, "INV-1").answered().await;
        if answer.decision() != "in_progress" {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((answer.status, answer.decision()), (201, "replay"));
    assert_eq!(String::from_utf8_lossy(&answer.body), CREATED);
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn nothing_sent_is_proven(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    configure(&desk, closed, "").await;
    let worker = desk.worker("billing").await;
    let answer = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((answer.status, answer.code().as_str()), (502, "destination_unreachable"), "{answer:?}");
    assert_ne!(answer.header("retry-after"), "");
    assert_eq!(worker.read(answer.header("onceover-operation")).await["state"], "failed");
    let ledger = Ledger::new().await;
    configure(&desk, ledger.address, "").await;
    let sent = Asking::document(&worker, "INV-1").answered().await;
    assert_eq!((sent.status, sent.header("onceover-operation")), (201, answer.header("onceover-operation")));
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn c15_an_outcome_that_cannot_be_stored_does_not_send_again(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let other = desk.second().await;
    let sending = tokio::spawn(Asking::document(&worker, "INV-1").with("x-fault", "hold").answered());
    ledger.held.notified().await;
    desk.lose_the_store().await;
    ledger.go_on.notify_one();
    let lost = sending.await.unwrap();
    assert_eq!((lost.status, lost.code().as_str()), (504, "outcome_unknown"), "{lost:?}");
    let elsewhere = other.worker(&worker);
    assert_eq!(Asking::document(&elsewhere, "INV-1").answered().await.decision(), "in_progress");
    desk.pass(60);
    for _ in 0..3 {
        assert_eq!(Asking::document(&elsewhere, "INV-1").answered().await.decision(), "unknown");
    }
    assert_eq!(ledger.count(), 1);
    desk.close().await;
}

async fn c24_a_destination_that_ignores_keys_is_still_asked_once(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    for _ in 0..5 {
        let answer = Asking::document(&worker, "INV-1").with("idempotency-key", "another-each-time").answered().await;
        assert_eq!(answer.status, 201);
    }
    assert_eq!(ledger.count(), 1, "it makes a record of everything that it is sent");
    desk.close().await;
}
