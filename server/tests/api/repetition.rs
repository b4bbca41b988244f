//! The same request again: clients that lose answers, senders that deliver twice, jobs that run every hour.

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    a_client_that_lost_the_answer_gets_its_grant_again,
    a_grant_is_repeated_to_nobody_else,
    every_write_may_be_repeated,
    a_job_that_failed_to_store_its_result_does_not_send_again,
    an_hourly_subscription_makes_one_invoice,
    a_webhook_delivered_four_times_has_one_effect,
    an_older_state_does_not_overwrite_a_newer_one,
);

/// Case C28.
async fn a_client_that_lost_the_answer_gets_its_grant_again(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let begin = billing.begin("INV-001", PAYLOAD).begin_id("try-1");
    let lost = begin.clone().await.expect_proceed();
    let again = begin.clone().await.expect_proceed();
    assert!(again.repeated && !lost.repeated);
    assert_eq!((&again.lease_token, again.attempt), (&lost.lease_token, 1));
    let first = billing.confirm(&again, "task-1").await.expect_state("confirmed");
    assert_eq!(billing.confirm(&again, "task-1").await.expect_state("confirmed"), first);
    assert_eq!(begin.await.expect_replay(), "task-1");
    assert_eq!(billing.event_kinds(&lost.id).await, ["begun", "reported"]);
    desk.close().await;
}

async fn a_grant_is_repeated_to_nobody_else(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let other = desk.worker("other").await;
    billing.begin("INV-001", PAYLOAD).begin_id("try-1").await.expect_proceed();
    other.begin("INV-001", PAYLOAD).begin_id("try-1").await.expect_in_progress();
    billing.begin("INV-001", PAYLOAD).begin_id("try-2").await.expect_in_progress();
    billing.begin("INV-001", PAYLOAD).await.expect_in_progress();
    billing.begin("INV-001", r#"{"total":"1.00","currency":"EUR"}"#).begin_id("try-1").await.expect_conflict();
    desk.pass(61);
    billing.begin("INV-001", PAYLOAD).begin_id("try-1").await.expect_unknown();
    desk.close().await;
}

async fn every_write_may_be_repeated(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("billing").await.in_workflow("two-step");
    let begin = worker.begin("INV-001", PAYLOAD).begin_id("try-1");
    let grant = begin.clone().await.expect_proceed();
    assert_eq!(begin.await.expect_proceed().lease_token, grant.lease_token);
    let marked = worker.mark_sending(&grant).await.expect_state("sending");
    assert_eq!(worker.mark_sending(&grant).await.expect_state("sending"), marked);
    worker.heartbeat(&grant, 600).await.expect_state("sending");
    worker.heartbeat(&grant, 600).await.expect_state("sending");
    let unknown = worker.lose_track(&grant, "no answer").await.expect_state("unknown");
    assert_eq!(worker.lose_track(&grant, "no answer").await.expect_state("unknown"), unknown);
    let confirmed = worker.confirm(&grant, "task-1").await.expect_state("confirmed");
    assert_eq!(worker.confirm(&grant, "task-1").await.expect_state("confirmed"), confirmed);
    let failing = worker.begin("INV-002", PAYLOAD).await.expect_proceed();
    worker.mark_sending(&failing).await.expect_state("sending");
    let failed = worker.fail(&failing, "refused").await.expect_state("failed");
    assert_eq!(worker.fail(&failing, "refused").await.expect_state("failed"), failed);
    desk.close().await;
}

/// Case C15.
async fn a_job_that_failed_to_store_its_result_does_not_send_again(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", PAYLOAD).await.expect_proceed();
    for _ in 0..3 {
        billing.begin("INV-001", PAYLOAD).await.expect_in_progress();
    }
    desk.pass(61);
    billing.begin("INV-001", PAYLOAD).await.expect_unknown();
    billing.confirm(&grant, "charge-1").await.expect_state("confirmed");
    assert_eq!(billing.begin("INV-001", PAYLOAD).await.expect_replay(), "charge-1");
    desk.close().await;
}

/// Case C38.
async fn an_hourly_subscription_makes_one_invoice(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let month = "SUB-7@2026-04-01..2026-04-30";
    let invoice = |hour: u32| format!("{{\"total\":\"49.00\",\"created\":\"2026-04-01T{hour:02}:00:00Z\"}}");
    let declared = billing.in_workflow("volatile");
    let grant = declared.begin(month, &invoice(0)).await.expect_proceed();
    declared.confirm(&grant, "invoice-1").await;
    for hour in 1..24 {
        assert_eq!(declared.begin(month, &invoice(hour)).await.expect_replay(), "invoice-1");
    }
    let undeclared = billing.begin(month, &invoice(0)).await.expect_proceed();
    billing.confirm(&undeclared, "invoice-2").await;
    let conflict = billing.begin(month, &invoice(1)).await.expect_conflict();
    for hour in 2..24 {
        let again = billing.begin(month, &invoice(hour)).await.expect_conflict();
        assert_eq!(again["id"], conflict["id"]);
        let received = format!("2026-04-01T{hour:02}:00:00Z");
        assert_eq!(again["changes"][0]["received"], received, "each is told its own difference");
    }
    assert_eq!(billing.read(&undeclared.id).await["open_conflicts"], 1);
    desk.close().await;
}

/// Case C39.
async fn a_webhook_delivered_four_times_has_one_effect(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let shop = desk.worker("shop").await;
    let order = r#"{"id":820982911946154508,"total_price":"254.98"}"#;
    let deliver = || shop.begin("820982911946154508", order).with("delivery_id", "\"b54557e4\"");
    let (first, second) = tokio::join!(deliver().into_future(), deliver().into_future());
    let (granted, held) = if first.status == 201 { (first, second) } else { (second, first) };
    held.expect_in_progress();
    shop.confirm(&granted.expect_proceed(), "task-1").await;
    for hours in [1, 47] {
        desk.pass(hours * 3_600);
        assert_eq!(deliver().await.expect_replay(), "task-1");
    }
    desk.close().await;
}

/// Case C40, as far as it goes without amendments.
async fn an_older_state_does_not_overwrite_a_newer_one(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let kyc = desk.worker("kyc").await;
    let status = |value: &str| format!("{{\"status\":\"{value}\"}}");
    let newer = kyc.begin("SELLER-3", &status("verified")).with("revision", "2");
    newer.clone().await.expect_stop("previous_revision");
    let older = kyc.begin("SELLER-3", &status("required")).await.expect_proceed();
    newer.clone().await.expect_stop("previous_revision");
    kyc.confirm(&older, "status-1").await;
    newer.await.expect_stop("approval_missing");
    desk.close().await;
}
