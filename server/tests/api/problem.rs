//! What every refusal has in common, and those that no endpoint makes.

use std::num::NonZeroU32;
use std::time::Duration;

use reqwest::Method;

use crate::answer::Answer;
use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    an_unknown_address_is_a_problem_too,
    a_wrong_method_names_those_that_are_answered,
    a_body_must_say_that_it_is_json,
    a_body_has_a_limit,
    a_token_that_asks_too_often_is_told_when_to_come_back,
    every_answer_has_its_requests_id,
    a_type_leads_to_its_explanation,
);

async fn an_unknown_address_is_a_problem_too(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    for path in ["/api", "/api/", "/api/v1", "/api/v2/operations", "/api/v1/operations/", "/api/v1/nothing?x=1"] {
        worker.get(path).await.expect_problem(404, "not_found");
        worker.post(path, "{}").await.expect_problem(404, "not_found");
        desk.stranger().get(path).await.expect_problem(404, "not_found");
    }
    desk.close().await;
}

async fn a_wrong_method_names_those_that_are_answered(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let id = "00000000-0000-7000-8000-000000000000";
    for (path, allowed) in [
        ("/api/v1/operations".to_owned(), &["GET", "POST"][..]),
        ("/api/v1/operations/batch".to_owned(), &["POST"]),
        (format!("/api/v1/operations/{id}"), &["GET"]),
        (format!("/api/v1/operations/{id}/sending"), &["POST"]),
        (format!("/api/v1/operations/{id}/outcome"), &["POST"]),
        (format!("/api/v1/operations/{id}/events"), &["GET"]),
        ("/api/v1/openapi.json".to_owned(), &["GET"]),
        ("/metrics".to_owned(), &["GET"]),
    ] {
        for method in [Method::DELETE, Method::PUT, Method::PATCH, Method::OPTIONS, Method::TRACE] {
            let answer = Answer::of(worker.request(method, &path).send().await.unwrap()).await;
            answer.expect_problem(405, "method_not_allowed");
            let allow = answer.header("allow").unwrap_or_else(|| panic!("{answer:?}"));
            assert!(allowed.iter().all(|method| allow.split(',').any(|named| named.trim() == *method)), "{answer:?}");
        }
    }
    desk.close().await;
}

async fn a_body_must_say_that_it_is_json(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let send = async |headers: &[(&str, &str)]| {
        let mut request = worker.request(Method::POST, "/api/v1/operations");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request.body(worker.begin("INV-001", PAYLOAD).begin_id("t").body()).send().await.unwrap()).await
    };
    send(&[]).await.expect_problem(415, "unsupported_media_type");
    for media in
        ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "application/problem+json"]
    {
        send(&[("content-type", media)]).await.expect_problem(415, "unsupported_media_type");
    }
    send(&[("content-type", "application/json"), ("content-encoding", "gzip")])
        .await
        .expect_problem(415, "unsupported_media_type");
    for media in ["application/json", "Application/JSON; charset=utf-8", "application/json;x=y"] {
        send(&[("content-type", media)]).await.expect_proceed();
    }
    desk.close().await;
}

async fn a_body_has_a_limit(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let sized = |bytes: usize| {
        let frame = worker.begin("INV-001", r#"{"a":""}"#).body().len();
        let begin = worker.begin("INV-001", &format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - frame)));
        assert_eq!(begin.body().len(), bytes);
        begin
    };
    let limit = 256 * 1_024;
    sized(limit + 1).await.expect_problem(413, "payload_too_large");
    sized(4 * limit).await.expect_problem(413, "payload_too_large");
    let chunks = futures::stream::iter((0..40).map(|_| Ok::<_, std::io::Error>(vec![b' '; 10_000])));
    worker
        .post("/api/v1/operations", reqwest::Body::wrap_stream(chunks))
        .await
        .expect_problem(413, "payload_too_large");
    sized(limit).await.expect_proceed();
    desk.close().await;
}

async fn a_token_that_asks_too_often_is_told_when_to_come_back(fresh: Fresh) {
    let slow = NonZeroU32::new(5).unwrap();
    let desk = Desk::with(fresh, |settings| settings.requests_per_second = slow).await;
    let worker = desk.worker("worker").await;
    let other = desk.worker("other").await;
    let mut refused = None;
    for _ in 0..30 {
        let answer = worker.get("/api/v1/operations").await;
        if answer.status == 429 {
            refused = Some(answer);
        }
    }
    let refused = refused.expect("thirty at once are more than five a second");
    refused.expect_problem(429, "rate_limited");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(other.get("/api/v1/operations").await.status, 200, "each token has its own rate");
    let items = vec!["{}"; 50].join(",");
    let batch = other.post("/api/v1/operations/batch", format!("{{\"operations\":[{items}]}}")).await;
    batch.expect_problem(429, "rate_limited");
    // Whoever waits as long as they are told gets through, also with more items than a burst may hold.
    let mut tries = 0;
    loop {
        let batch = other.post("/api/v1/operations/batch", format!("{{\"operations\":[{items}]}}")).await;
        if batch.status == 200 {
            break;
        }
        batch.expect_problem(429, "rate_limited");
        let seconds = batch.header("retry-after").unwrap().parse().unwrap();
        tries += 1;
        assert!(tries < 10, "a batch never gets through");
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
    desk.close().await;
}

async fn every_answer_has_its_requests_id(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let send = async |id: &str| {
        let request = worker.request(Method::POST, "/api/v1/operations").header("x-request-id", id);
        let request = request.header("content-type", "application/json").body(worker.begin(id, PAYLOAD).body());
        Answer::of(request.send().await.unwrap()).await
    };
    let taken = send("req-7/a:b").await;
    assert_eq!(taken.header("x-request-id"), Some("req-7/a:b"));
    let events = worker.get(&format!("/api/v1/operations/{}/events", taken.expect_proceed().id)).await.json();
    assert_eq!(events["events"][0]["detail"]["request_id"], "req-7/a:b", "the trail tells it too");
    for forged in ["a b", "a\"b", &"x".repeat(129)] {
        let answer = send(forged).await;
        let id = answer.header("x-request-id").unwrap();
        assert!(id != forged && id.len() == 32, "{answer:?}");
    }
    desk.close().await;
}

async fn a_type_leads_to_its_explanation(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let problem = worker.begin("", PAYLOAD).await.expect_invalid("document");
    let address = problem["type"].as_str().unwrap();
    let path = &address[address.find("/problems/").unwrap()..];
    let explanation = desk.stranger().get(path).await;
    assert!(explanation.text.contains(problem["title"].as_str().unwrap()), "{explanation:?}");
    desk.stranger().get("/problems/nothing").await.expect_problem(404, "not_found");
    desk.close().await;
}
