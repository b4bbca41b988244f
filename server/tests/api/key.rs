//! What is one operation, and what are two.

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    a_missing_document_is_refused_and_the_text_null_is_one,
    spellings_are_told_apart_byte_for_byte,
    every_part_of_the_key_counts,
    a_random_id_of_a_try_decides_nothing,
    twins_in_one_file_are_two_payments,
);

/// Case C02.
async fn a_missing_document_is_refused_and_the_text_null_is_one(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let done = billing.begin("null", PAYLOAD).await.expect_proceed();
    billing.confirm(&done, "task-of-null").await;
    for value in ["null", "\"\"", "\"   \""] {
        let refused = billing.begin("x", PAYLOAD).with("document", value).await;
        refused.expect_invalid("document");
        assert!(!refused.text.contains("task-of-null"), "nobody gets the answer of another");
    }
    billing.begin("x", PAYLOAD).without("document").await.expect_invalid("document");
    assert_eq!(billing.get("/api/v1/operations").await.json()["operations"].as_array().unwrap().len(), 1);
    desk.close().await;
}

/// Cases C07 and C08.
async fn spellings_are_told_apart_byte_for_byte(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    for document in ["INV-a1", "INV-A1", "Caf\u{e9}-7", "Cafe\u{301}-7"] {
        billing.begin(document, PAYLOAD).await.expect_proceed();
    }
    billing.for_company("acme").begin("INV-a1", PAYLOAD).await.expect_proceed();
    billing.begin("INV-a1 ", PAYLOAD).await.expect_invalid("document");
    for document in ["INV-a1", "Cafe%CC%81-7"] {
        let found = billing.get(&format!("/api/v1/operations?company=ACME&document={document}")).await.json();
        assert_eq!(found["operations"].as_array().unwrap().len(), 1, "{document}: a search says the same");
    }
    desk.close().await;
}

/// Case C11.
async fn every_part_of_the_key_counts(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let begin = billing.begin("INV-1", PAYLOAD);
    let mut ids = vec![
        begin.clone().await.expect_proceed().id,
        begin.clone().with("action", "\"cancel\"").await.expect_proceed().id,
        begin.clone().with("company", "\"ACME/erp\"").with("source_system", "\"X\"").await.expect_proceed().id,
        begin.clone().with("source_system", "\"erp/X\"").await.expect_proceed().id,
        billing.in_workflow("volatile").begin("INV-1", PAYLOAD).await.expect_proceed().id,
    ];
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let keyless = billing.post("/api/v1/operations", r#"{"total":"5"}"#).await;
    keyless.expect_invalid("workflow");
    desk.close().await;
}

/// Case C29.
async fn a_random_id_of_a_try_decides_nothing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let agent = desk.worker("agent").await;
    let begin = agent.begin("INV-001", PAYLOAD);
    begin.clone().begin_id("r-1").with("delivery_id", "\"d-1\"").await.expect_proceed();
    begin.clone().begin_id("r-2").with("delivery_id", "\"d-2\"").await.expect_in_progress();
    desk.pass(90);
    begin.begin_id("r-3").await.expect_unknown();
    desk.close().await;
}

/// Case C32.
async fn twins_in_one_file_are_two_payments(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let tally = desk.worker("tally").await;
    let payment = r#"{"date":"20260401","amount":"5000.00","text":"Rent"}"#;
    let first = tally.begin("PMT-9", payment).await.expect_proceed();
    let second = tally.begin("PMT-10", payment).await.expect_proceed();
    assert_ne!(first.id, second.id);
    assert_eq!(tally.read(&first.id).await["fingerprint"], tally.read(&second.id).await["fingerprint"]);
    desk.close().await;
}
