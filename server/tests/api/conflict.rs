//! Another payload under the same key is a conflict in every state, and only one of its kind.

use guard::conflict::ConflictVerdict;
use guard::event::Resolution;
use guard::key::KeyPart;
use serde_json::json;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

on_both!(
    a_changed_amount_is_a_conflict_in_every_state,
    a_conflict_gives_nothing_of_the_result_away,
    the_same_wrong_payload_is_one_conflict,
    member_order_does_not_count_and_item_order_does,
    what_changes_with_each_try_may_be_declared_volatile,
    digits_beyond_two_to_the_fifty_third_count,
    white_space_counts_and_is_shown,
    a_supplier_that_starts_again_at_number_one_is_a_conflict,
    many_changes_are_counted_and_a_hundred_listed,
    a_partial_refund_of_its_own_is_another_document,
    what_was_decided_is_told_to_the_one_who_asks_again,
);

/// Case C03.
async fn a_changed_amount_is_a_conflict_in_every_state(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    for state in ["sending", "confirmed", "failed", "unknown", "expired"] {
        let document = format!("INV-{state}");
        let grant = billing.begin(&document, r#"{"amount":"100"}"#).await.expect_proceed();
        match state {
            "confirmed" => drop(billing.confirm(&grant, "task-1").await.expect_state("confirmed")),
            "failed" => drop(billing.fail(&grant, "refused").await.expect_state("failed")),
            "unknown" => drop(billing.lose_track(&grant, "no answer").await.expect_state("unknown")),
            "expired" => desk.pass(61),
            _ => {}
        }
        let before = billing.read(&grant.id).await;
        for _ in 0..2 {
            let conflict = billing.begin(&document, r#"{"amount":"999"}"#).await.expect_conflict();
            let change = json!({"path": "/amount", "kind": "changed", "approved": "100", "received": "999"});
            assert_eq!((&conflict["changes"], &conflict["changes_total"]), (&json!([change]), &json!(1)), "{state}");
        }
        let after = billing.read(&grant.id).await;
        assert_eq!(after["open_conflicts"], 1, "{state}: one conflict for the pair");
        assert_eq!((&after["state"], &after["fingerprint"]), (&before["state"], &before["fingerprint"]), "{state}");
    }
    desk.close().await;
}

async fn a_conflict_gives_nothing_of_the_result_away(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", r#"{"amount":"100"}"#).await.expect_proceed();
    billing.confirm(&grant, "SECRET-REFERENCE").await;
    let answer = billing.begin("INV-001", r#"{"amount":"999"}"#).await;
    answer.expect_conflict();
    assert!(!answer.text.contains("SECRET-REFERENCE"), "{answer:?}");
    assert!(answer.header("idempotency-replayed").is_none());
    desk.close().await;
}

async fn the_same_wrong_payload_is_one_conflict(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let invoice = |total: &str, memo: &str| {
        billing.begin("INV-001", &format!(r#"{{"total":"{total}","currency":"EUR","memo":"{memo}"}}"#))
    };
    let grant = invoice("100", "a").await.expect_proceed();
    let first = invoice("999", "a").await.expect_conflict();
    for _ in 0..5 {
        assert_eq!(invoice("999", "a").await.expect_conflict()["id"], first["id"]);
    }
    let other_money = invoice("998", "a").await.expect_conflict();
    assert_ne!(other_money["id"], first["id"], "every other amount is a conflict of its own");
    let other_text = invoice("100", "b").await.expect_conflict();
    let another_text = invoice("100", "c").await.expect_conflict();
    assert_ne!(other_text["id"], another_text["id"], "a new wrong payload is a new conflict");
    assert_eq!(billing.read(&grant.id).await["open_conflicts"], 4);
    let opened = "conflict_opened";
    assert_eq!(billing.event_kinds(&grant.id).await, ["begun", opened, opened, opened, opened]);
    billing.confirm(&grant, "task-1").await.expect_state("confirmed");
    desk.close().await;
}

/// Case C01.
async fn member_order_does_not_count_and_item_order_does(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let first = r#"{"doc":"INV-001","supplier":{"name":"Test One","vat":"XX123"},"total":"118.00"}"#;
    let again = r#"{ "total":"118.00", "supplier":{"vat":"XX123","name":"Test One"}, "doc":"INV-001" }"#;
    let grant = billing.begin("INV-001", first).await.expect_proceed();
    let fingerprint = billing.read(&grant.id).await["fingerprint"].clone();
    assert_eq!(fingerprint, "sha256:65a5f4e0e3f8ebb46a1d36014ec941b252d6958d7e9d4556401c4e0d16adc540");
    billing.begin("INV-001", again).await.expect_in_progress();
    billing.begin("INV-002", r#"{"lines":["P1","P2"]}"#).await.expect_proceed();
    billing.begin("INV-002", r#"{"lines":["P2","P1"]}"#).await.expect_conflict();
    desk.close().await;
}

/// Case C04.
async fn what_changes_with_each_try_may_be_declared_volatile(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let tries = [
        r#"{"doc":"INV-001","total":"12.12","meta":{"attempt":1,"sent_at":"2026-04-01T10:00:00Z"}}"#,
        r#"{"doc":"INV-001","total":"12.12","meta":{"attempt":2,"sent_at":"2026-04-01T10:00:31Z"}}"#,
    ];
    let declared = billing.in_workflow("volatile");
    let grant = declared.begin("INV-001", tries[0]).await.expect_proceed();
    declared.begin("INV-001", tries[1]).await.expect_in_progress();
    declared.confirm(&grant, "task-1").await;
    declared.begin("INV-001", tries[1]).await.expect_replay();

    billing.begin("INV-001", tries[0]).await.expect_proceed();
    let conflict = billing.begin("INV-001", tries[1]).await.expect_conflict();
    let paths: Vec<_> = conflict["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["/meta/attempt", "/meta/sent_at"]);
    desk.close().await;
}

/// Case C05.
async fn digits_beyond_two_to_the_fifty_third_count(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let shop = desk.worker("shop").await;
    let order = |id: &str| format!("{{\"order_id\":{id}}}");
    let grant = shop.begin("820982911946154508", &order("820982911946154508")).await.expect_proceed();
    let answer = shop.begin("820982911946154508", &order("820982911946154509")).await;
    answer.expect_conflict();
    assert!(answer.text.contains(r#""approved":820982911946154508,"received":820982911946154509"#), "{answer:?}");
    let kept = shop.get(&format!("/api/v1/operations/{}/payloads/1", grant.id)).await;
    assert_eq!(kept.text, r#"{"order_id":820982911946154508}"#);
    shop.begin("820982911946154508", &order("820982911946154508.00")).await.expect_in_progress();
    desk.close().await;
}

/// Case C06.
async fn white_space_counts_and_is_shown(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    billing.begin("INV-001", r#"{"memo":"Pay  now"}"#).await.expect_proceed();
    let conflict = billing.begin("INV-001", r#"{"memo":"Pay\nnow"}"#).await.expect_conflict();
    assert_eq!(conflict["changes"][0]["approved"], "Pay  now");
    assert_eq!(conflict["changes"][0]["received"], "Pay\nnow");
    desk.close().await;
}

/// Case C09.
async fn a_supplier_that_starts_again_at_number_one_is_a_conflict(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let payables = desk.worker("payables").await;
    let first = payables.begin("SUP9-1", r#"{"date":"2025-04-02","total":"10.00"}"#).await.expect_proceed();
    payables.confirm(&first, "bill-1").await;
    let next_year = r#"{"date":"2026-04-02","total":"77.00"}"#;
    payables.begin("SUP9-1", next_year).await.expect_conflict();
    payables.begin("SUP9-FY26-1", next_year).await.expect_proceed();
    desk.close().await;
}

async fn many_changes_are_counted_and_a_hundred_listed(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let payload = |value: usize| {
        let members: Vec<String> = (0..250).map(|index| format!("\"line {index}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let grant = billing.begin("INV-001", &payload(1)).await.expect_proceed();
    let conflict = billing.begin("INV-001", &payload(2)).await.expect_conflict();
    assert_eq!((conflict["changes"].as_array().unwrap().len(), &conflict["changes_total"]), (100, &json!(250)));
    desk.pass(61);
    let not_applied = Resolution::NotApplied { reason: "not there".to_owned() };
    desk.resolve(&grant.id, not_applied).await;
    billing.begin("INV-001", &payload(2)).await.expect_conflict();
    billing.begin("INV-001", &payload(1)).await.expect_proceed();
    desk.close().await;
}

/// Case C42.
async fn a_partial_refund_of_its_own_is_another_document(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let refund = |document: &'static str, total: &'static str| {
        billing.begin(document, &format!(r#"{{"total":"{total}","currency":"EUR"}}"#))
    };
    let first = refund("BILL-1", "10.00").await.expect_proceed();
    billing.confirm(&first, "refund-1").await.expect_state("confirmed");
    let conflict = refund("BILL-1", "20.00").await.expect_conflict();
    let document = KeyPart::new("BILL-1#R2").unwrap();
    desk.decide_conflict(&conflict, ConflictVerdict::OtherDocument { document }).await;
    let told = refund("BILL-1", "20.00").await.expect_conflict();
    assert_eq!(told["decision"]["outcome"], "other_document");
    let key = &told["decision"]["key"];
    assert_eq!((&key["document"], &key["company"], &key["revision"]), (&json!("BILL-1#R2"), &json!("ACME"), &json!(1)));
    let second = refund("BILL-1#R2", "20.00").await.expect_proceed();
    billing.confirm(&second, "refund-2").await.expect_state("confirmed");
    assert_eq!(billing.event_kinds(&second.id).await, ["registered", "begun", "reported"]);
    assert_eq!(billing.read(&first.id).await["open_conflicts"], 0);
    desk.close().await;
}

async fn what_was_decided_is_told_to_the_one_who_asks_again(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-001", r#"{"amount":"100"}"#).await.expect_proceed();
    let conflict = billing.begin("INV-001", r#"{"amount":"999"}"#).await.expect_conflict();
    assert_eq!(conflict.get("decision"), None);
    let review = conflict["review_url"].as_str().unwrap();
    assert!(review.ends_with(&format!("/conflicts/{}", conflict["id"].as_str().unwrap())), "{review}");
    desk.decide_conflict(&conflict, ConflictVerdict::KeepApproved).await;
    let again = billing.begin("INV-001", r#"{"amount":"999"}"#).await;
    let decision = &again.expect_conflict()["decision"];
    assert_eq!((&decision["outcome"], &decision["reason"]), (&json!("kept_approved"), &json!("asked the supplier")));
    assert!(again.text.contains("A person decided: the approved payload stands"), "{again:?}");
    assert_eq!(billing.read(&grant.id).await["open_conflicts"], 0);
    billing.begin("INV-001", r#"{"amount":"998"}"#).await.expect_conflict();
    assert_eq!(billing.read(&grant.id).await["open_conflicts"], 1, "a new wrong payload is a new conflict");
    desk.close().await;
}
