//! What tokens ask is kept behind the answer, for those who write automations.

use std::time::Duration;

use guard::actor::Actor;
use guard::call::{CALLS_PER_TOKEN_MAX, Call, CallFilter, CallRequest};
use guard::decision::DecisionName;
use guard::queue::PageRequest;
use guard::service::Definitions;
use guard::token::{Reach, Scope};
use serde_json::json;
use server::calls;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

on_both!(
    a_begin_is_told_with_its_decision_and_without_its_secrets,
    what_is_refused_is_told_with_its_code,
    nothing_beyond_a_tokens_reach_is_told_of_it,
    a_log_that_is_turned_off_keeps_nothing,
    the_log_is_kept_by_itself_and_by_every_process,
);

async fn calls_of(desk: &Desk) -> Vec<(Call, CallRequest)> {
    calls::write(&desk.server).await;
    let page = PageRequest { cursor: None, limit: 100 };
    let found = desk.server.guard.calls(&Reach::EVERYTHING, &CallFilter::default(), &page).await.unwrap();
    let mut calls = Vec::new();
    for call in found.rows.into_iter().rev() {
        calls.push(desk.server.guard.call(&Reach::EVERYTHING, call.id).await.unwrap());
    }
    calls
}

fn text(request: &CallRequest) -> &str {
    match request {
        CallRequest::Kept { text, .. } => text,
        CallRequest::Empty | CallRequest::Left { .. } => panic!("{request:?}"),
    }
}

async fn a_begin_is_told_with_its_decision_and_without_its_secrets(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let sensitive: Definitions =
        toml::from_str("[[workflow]]\nname = \"private\"\nactions = [\"post\"]\nsensitive = [\"/iban\"]").unwrap();
    desk.server.guard.apply(&sensitive, &Actor::CommandLine).await.unwrap();
    let billing = desk.worker("billing").await.in_workflow("private");
    let payload = r#"{"iban":"DE89370400440532013000","amount":1.10}"#;
    let begin = || billing.begin("INV-1", payload).begin_id("try-7f3a");
    let grant = begin().await.expect_proceed();
    billing.confirm(&grant, "task-1").await.expect_state("confirmed");
    billing.begin("INV-1", payload).await;
    billing.get(&format!("/api/v1/operations/{}", grant.id)).await;
    billing.get("/api/v1/openapi.json").await;
    desk.stranger().get("/api/v1/operations").await;

    let calls = calls_of(&desk).await;
    assert_eq!(calls.len(), 4, "the description asks for no token, and a stranger has none: {calls:?}");
    let [(began, body), (reported, report), (replayed, _), (read, empty)] = &calls[..] else { panic!() };
    assert_eq!((began.status, began.decision, &*began.method), (201, Some(DecisionName::Proceed), "POST"));
    assert_eq!((began.endpoint.as_str(), began.path.as_str()), ("/api/v1/operations", "/api/v1/operations"));
    assert_eq!(began.operation.map(|id| id.to_string()).as_ref(), Some(&grant.id));
    assert_eq!((began.about.company.as_deref(), began.about.document.as_deref()), (Some("ACME"), Some("INV-1")));
    assert!(began.microseconds > 0 && !began.request_id.is_empty());
    assert_eq!((reported.status, reported.decision, &reported.about), (200, None, &began.about));
    assert_eq!((replayed.status, replayed.decision), (200, Some(DecisionName::Replay)));
    assert_eq!((read.status, &*read.method, empty), (200, "GET", &CallRequest::Empty));
    assert_eq!(read.path, format!("/api/v1/operations/{}", grant.id));
    assert!(text(body).contains("1.10") && text(report).contains("task-1"), "{body:?} {report:?}");
    let kept = format!("{calls:?}");
    for secret in ["DE89370400440532013000", "try-7f3a", grant.lease_token.as_str(), "oo_"] {
        assert!(!kept.contains(secret), "{secret} is kept: {kept}");
    }
    desk.close().await;
}

async fn what_is_refused_is_told_with_its_code(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    billing.post("/api/v1/operations", "{").await;
    billing.post("/api/v1/operations", r#"{"workflow":"nowhere","company":"ACME","payload":{"iban":"DE1"}}"#).await;
    let grant = billing.begin("INV-1", r#"{"total":"1"}"#).await.expect_proceed();
    billing.begin("INV-1", r#"{"total":"2"}"#).await.expect_conflict();
    let items = json!([
        { "workflow": "handoff", "company": "ACME", "source_system": "shop", "document": "a", "action": "post", "payload": {} },
        { "workflow": "handoff", "company": "Globex", "source_system": "shop", "document": "b", "action": "post", "payload": {} }
    ]);
    billing.post("/api/v1/operations/batch", json!({ "operations": items }).to_string()).await;
    let reader = desk.worker_within("reader", Reach::EVERYTHING, &[Scope::MetricsRead]).await;
    reader.get("/api/v1/operations?company=ACME").await;
    reader.get("/metrics").await;

    let calls = calls_of(&desk).await;
    let told: Vec<_> =
        calls.iter().map(|(call, _)| (call.status, call.problem.as_deref(), call.about.company.as_deref())).collect();
    assert_eq!(
        told,
        [
            (400, Some("invalid_json"), None),
            (422, Some("invalid_field"), Some("ACME")),
            (201, None, Some("ACME")),
            (422, Some("conflict"), Some("ACME")),
            (200, None, None),
            (403, Some("forbidden"), Some("ACME")),
        ]
    );
    assert_eq!(calls[0].1, CallRequest::Left { bytes: 1 }, "what is no JSON cannot be masked");
    assert!(calls[0].0.detail.as_deref().is_some_and(|detail| detail.contains("ends too early")), "{:?}", calls[0].0);
    assert!(!text(&calls[1].1).contains("DE1"), "nobody knows what is sensitive there");
    assert_eq!(calls[3].0.operation.map(|id| id.to_string()), Some(grant.id));
    desk.close().await;
}

async fn nothing_beyond_a_tokens_reach_is_told_of_it(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let billing = desk.worker("billing").await;
    let grant = billing.begin("INV-1", "{}").await.expect_proceed();
    let globex = desk.worker_of("Globex").await;
    globex.get(&format!("/api/v1/operations/{}", grant.id)).await;
    globex.for_company("ACME").begin("INV-2", "{}").await;
    let calls = calls_of(&desk).await;
    let told: Vec<_> =
        calls.iter().map(|(call, _)| (call.status, call.about.company.as_deref(), call.operation)).collect();
    assert_eq!(told[0].1, Some("ACME"));
    assert_eq!(&told[1..], [(404, None, None), (403, None, None)]);
    let page = PageRequest { cursor: None, limit: 100 };
    let acme = Reach::over(["ACME".to_owned()], []);
    let seen = desk.server.guard.calls(&acme, &CallFilter::default(), &page).await.unwrap();
    assert_eq!(seen.rows, [calls[0].0.clone()]);
    for (call, _) in &calls[1..] {
        assert!(desk.server.guard.call(&acme, call.id).await.is_err(), "by its address neither");
    }
    assert_eq!(desk.server.guard.calling_tokens(&acme).await.unwrap().len(), 1, "and no token of others by its name");
    desk.close().await;
}

async fn a_log_that_is_turned_off_keeps_nothing(fresh: Fresh) {
    let desk = Desk::with(fresh, |settings| settings.call_days = 0).await;
    let billing = desk.worker("billing").await;
    billing.begin("INV-1", "{}").await.expect_proceed();
    assert_eq!(calls_of(&desk).await, []);
    desk.close().await;
}

async fn the_log_is_kept_by_itself_and_by_every_process(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let other = desk.second().await;
    let keeping = [desk.server.clone(), other.server.clone()].map(|server| tokio::spawn(calls::keep(server)));
    let billing = desk.worker("billing").await;
    billing.begin("INV-1", "{}").await.expect_proceed();
    other.worker(&billing).begin("INV-1", "{}").await;
    let page = PageRequest { cursor: None, limit: 100 };
    let mut seen = Vec::new();
    for _ in 0..100 {
        seen = desk.server.guard.calls(&Reach::EVERYTHING, &CallFilter::default(), &page).await.unwrap().rows;
        if seen.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let decisions: Vec<_> = seen.iter().map(|call| call.decision).collect();
    assert_eq!(decisions, [Some(DecisionName::InProgress), Some(DecisionName::Proceed)]);
    desk.pass(8 * 24 * 60 * 60);
    desk.server.guard.forget_calls(7, &[seen[0].token]).await.unwrap();
    let left = desk.server.guard.calls(&Reach::EVERYTHING, &CallFilter::default(), &page).await.unwrap();
    assert_eq!((left.rows.len(), CALLS_PER_TOKEN_MAX), (0, 10_000));
    for server in [&desk.server, &other.server] {
        server.drain();
    }
    for task in keeping {
        task.await.unwrap();
    }
    desk.close().await;
}
