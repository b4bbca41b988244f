//! What a request is about: headers, the body, an idempotency key.

use guard::token::Reach;
use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;
use crate::ledger::{Asking, BODY, Ledger, configure};
use crate::support::{Fresh, on_both};

on_both!(
    a_request_without_a_key_is_not_sent,
    a_key_may_stand_in_the_body,
    an_idempotency_key_is_the_last_resort,
    two_companies_are_two_documents,
);

async fn a_request_without_a_key_is_not_sent(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = || Asking::plain(&worker, Method::POST, "/proxy/handoff/tasks").body(BODY);
    let nothing = asking().answered().await;
    assert_eq!((nothing.status, nothing.code().as_str()), (400, "key_missing"));
    assert_eq!(nothing.json()["missing"], json!(["company", "source_system", "document"]));
    let document = asking().with("onceover-document", "INV-1").answered().await;
    assert_eq!(document.json()["missing"], json!(["company", "source_system"]), "a number means nothing by itself");
    let keyed = asking().with("idempotency-key", "k-1").answered().await;
    assert_eq!(keyed.json()["missing"], json!(["company"]));
    for (name, value) in [("onceover-document", " "), ("onceover-revision", "x"), ("onceover-action", "erase")] {
        let asking = asking().with("onceover-company", "ACME").with("onceover-source-system", "erp").with(name, value);
        let asking = if name == "onceover-document" { asking } else { asking.with("onceover-document", "INV-1") };
        let answer = asking.answered().await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "invalid_field"), "{name}: {answer:?}");
    }
    let wrong = asking().with("onceover-company", "ACME").with("idempotency-key", "\"open").answered().await;
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "key_missing"));
    assert_eq!(ledger.count(), 0);
    desk.close().await;
}

async fn a_key_may_stand_in_the_body(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker("billing").await;
    let asking = || Asking::plain(&worker, Method::POST, "/proxy/placed/tasks");
    let body = r#"{"org":"ACME","order":{"number":820982911946154509,"version":1}}"#;
    let answer = asking().body(body).answered().await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let operation = worker.read(answer.header("onceover-operation")).await;
    assert_eq!(operation["document"], "820982911946154509");
    assert_eq!((&operation["company"], &operation["source_system"]), (&json!("ACME"), &json!("shop")));
    let named = asking().body(body).with("onceover-document", "INV-2").answered().await;
    assert_eq!(named.decision(), "proceed", "a header wins");
    for (body, code) in [
        (r#"{"org":"ACME"}"#, "key_missing"),
        (r#"{"org":"ACME","order":{"number":null}}"#, "key_missing"),
        (r#"{"org":"ACME","order":{"number":["1"]}}"#, "invalid_field"),
        (r#"{"org":"ACME","order":{"number":""}}"#, "invalid_field"),
        (r#"{"org":"ACME","order":{"number":"1","version":1.5}}"#, "invalid_field"),
    ] {
        assert_eq!(asking().body(body).answered().await.code(), code, "{body}");
    }
    assert_eq!(ledger.count(), 2);
    desk.close().await;
}

async fn an_idempotency_key_is_the_last_resort(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let worker = desk.worker_of("ACME").await;
    let asking = |key: &str| {
        Asking::plain(&worker, Method::POST, "/proxy/handoff/tasks").body(BODY).with("idempotency-key", key)
    };
    let first = asking("\"8e03978e-40d5-43e8-bc93-6894a57f9324\"").answered().await;
    assert_eq!((first.status, first.decision()), (201, "proceed"), "{first:?}");
    let operation = worker.read(first.header("onceover-operation")).await;
    assert_eq!(
        (&operation["company"], &operation["document"]),
        (&json!("ACME"), &json!("8e03978e-40d5-43e8-bc93-6894a57f9324"))
    );
    let bare = asking("8e03978e-40d5-43e8-bc93-6894a57f9324").answered().await;
    assert_eq!((bare.decision(), bare.header("idempotency-replayed")), ("replay", "true"));
    assert_eq!(asking("8E03978E-40D5-43E8-BC93-6894A57F9324").answered().await.decision(), "proceed", "case counts");
    assert_eq!(ledger.count(), 2);
    desk.close().await;
}

async fn two_companies_are_two_documents(fresh: Fresh) {
    let (desk, ledger) = (Desk::over(fresh).await, Ledger::new().await);
    configure(&desk, ledger.address, "").await;
    let wide = desk.worker_within("wide", Reach::EVERYTHING, &guard::token::Scope::ALL).await;
    let asking = |company: &str| {
        Asking::plain(&wide, Method::POST, "/proxy/handoff/tasks")
            .body(BODY)
            .with("onceover-company", company)
            .with("onceover-source-system", "erp")
            .with("onceover-document", "INV-1")
    };
    for company in ["ACME", "other"] {
        assert_eq!(asking(company).answered().await.decision(), "proceed");
    }
    let limited = desk.worker_of("other").await;
    let refused = Asking::document(&limited, "INV-9").answered().await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    assert_eq!(ledger.count(), 2);
    desk.close().await;
}
