//! Answers with records: which is ours, to the last page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use guard::lookup::{AnswerClass, Finding, Verdict};
use serde_json::{Value, json};
use server::destination::{Destinations, PAGES_MAX};

use super::ledger::{self, Ledger, SECRET, destination, look, nothing, operation};

fn ours(id: &str) -> Value {
    json!({ "id": id, "reference": operation().external_reference(), "total": 1180.0, "status": "OPEN" })
}

fn found(id: &str) -> Finding {
    Finding::Found { destination_reference: id.to_owned() }
}

#[tokio::test]
async fn the_record_is_found_by_what_was_asked() {
    let ledger = Ledger::saying(200, json!({ "items": [ours("task-907")] })).await;
    let looked = ledger.look().await;
    assert_eq!(looked.finding, found("task-907"));
    assert_eq!((looked.status, looked.pages), (Some(200), 1));
    let reference = operation().external_reference();
    assert_eq!(looked.request, format!("GET /tasks?reference={reference}"));
    assert_eq!(ledger.asked(), [format!("GET /api/tasks?reference={reference}")], "asked once");
}

#[tokio::test]
async fn the_secret_goes_to_the_destination_and_values_into_the_address() {
    let ledger = Ledger::over(|request: axum::extract::Request| async move {
        let told = request.headers().get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let status = if told == SECRET { 200 } else { 401 };
        ledger::json(status, &json!({ "items": [ours("task-907")] }))
    })
    .await;
    let mut destination = ledger.destination();
    let path =
        "/tasks/{{ company }}/{{ document }}?for={{ payload.customer }}&r={{ revision }}&k={{ idempotency_key }}";
    destination.lookup.as_mut().unwrap().path = path.to_owned();
    assert_eq!(look(&destination).await.finding, found("task-907"));
    let key = operation().idempotency_key();
    assert_eq!(ledger.asked(), [format!("GET /api/tasks/acme/order%2F812%3F?for=C-77%20%26%20sons&r=1&k={key}")]);
}

#[tokio::test]
async fn c26_pages_are_read_to_the_end() {
    let page = |number: usize| {
        let items: Vec<Value> = (0..100.min(250 - number * 100))
            .map(|index| {
                if number * 100 + index == 229 {
                    ours("task-230")
                } else {
                    json!({ "id": index, "reference": format!("other-{number}-{index}") })
                }
            })
            .collect();
        let next = (number < 2).then(|| format!("/api/tasks?page={}", number + 1));
        json!({ "items": items, "next": next })
    };
    let ledger = Ledger::answering(move |path| {
        let number = path.split_once("page=").map_or(0, |(_, number)| number.parse().unwrap());
        ledger::json(200, &page(number))
    })
    .await;
    let looked = ledger.look().await;
    assert_eq!((looked.finding, looked.pages), (found("task-230"), 3));
}

#[tokio::test]
async fn c26_broken_off_half_way_is_not_absent() {
    for (status, class) in
        [(500, AnswerClass::ServerError), (404, AnswerClass::OtherStatus), (302, AnswerClass::Redirect)]
    {
        let ledger = Ledger::answering(move |path| {
            if path.contains("page=") {
                return ledger::json(status, &json!({}));
            }
            // Even what was found before does not count: a second one may follow.
            ledger::json(200, &json!({ "items": [ours("task-1")], "next": "tasks?page=2" }))
        })
        .await;
        let looked = ledger.look().await;
        let (seen, reason) = nothing(&looked);
        assert_eq!(seen, class, "{reason}");
        assert!(reason.starts_with("at page 2: "), "{reason}");
        assert_eq!((looked.status, looked.pages), (Some(status), 1));
    }
}

#[tokio::test]
async fn pages_end() {
    let turning = Ledger::saying(200, json!({ "items": [], "next": "?page=2" })).await;
    assert_eq!(nothing(&turning.look().await).0, AnswerClass::TooManyPages);
    assert_eq!(turning.asked().len(), 2, "the second page names itself");

    let count = Arc::new(AtomicUsize::new(0));
    let endless = Ledger::answering(move |_| {
        let next = count.fetch_add(1, Ordering::Relaxed);
        ledger::json(200, &json!({ "items": [], "next": format!("?page={next}") }))
    })
    .await;
    let mut destination = endless.destination();
    destination.timeout_seconds = 60;
    assert_eq!(nothing(&look(&destination).await).0, AnswerClass::TooManyPages);
    assert_eq!(endless.asked().len(), usize::try_from(PAGES_MAX).unwrap());
}

#[tokio::test]
async fn no_other_host_gets_the_secret() {
    let other = Ledger::saying(200, json!({ "items": [] })).await;
    for next in
        [format!("http://{}/api", other.address), "https://127.0.0.1/api".to_owned(), "//elsewhere.example/".to_owned()]
    {
        let ledger = Ledger::saying(200, json!({ "items": [], "next": next })).await;
        assert_eq!(nothing(&ledger.look().await).0, AnswerClass::TooManyPages, "{next}");
    }
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn c25_a_search_index_that_lags_shows_nothing_and_then_the_record() {
    let count = Arc::new(AtomicUsize::new(0));
    let ledger = Ledger::answering(move |_| {
        let items = if count.fetch_add(1, Ordering::Relaxed) < 2 { vec![] } else { vec![ours("task-907")] };
        ledger::json(200, &json!({ "items": items }))
    })
    .await;
    let looks = [ledger.look().await.finding, ledger.look().await.finding, ledger.look().await.finding];
    assert_eq!(looks, [Finding::Absent, Finding::Absent, found("task-907")]);
}

#[tokio::test]
async fn several_void_and_different_records_are_told_apart() {
    let finding = async |items: Value| Ledger::saying(200, json!({ "items": items })).await.look().await.finding;
    let mut void = ours("task-1");
    void["status"] = json!("VOIDED");
    let references = vec!["task-1".to_owned()];
    assert_eq!(finding(json!([void])).await, Finding::VoidOnly { destination_references: references });
    assert_eq!(finding(json!([void, ours("task-2")])).await, found("task-2"));
    let references = vec!["task-1".to_owned(), "task-2".to_owned()];
    assert_eq!(
        finding(json!([ours("task-1"), ours("task-2")])).await,
        Finding::Several { destination_references: references }
    );
    let mut other = ours("task-1");
    other["total"] = json!("1081.00");
    let Finding::Differs { differences, .. } = finding(json!([other])).await else { panic!() };
    assert_eq!(differences[0].theirs.as_ref().unwrap().to_string(), r#""1081.00""#);
}

#[tokio::test]
async fn c27_a_search_for_a_part_of_the_text_shows_candidates() {
    let reference = operation().external_reference();
    let near = |reference: String| json!({ "id": 1, "reference": reference, "total": 1180 });
    let items = json!([near(format!("{reference}0")), near(format!("X{reference}")), near(reference.to_uppercase())]);
    let ledger = Ledger::saying(200, json!({ "items": items })).await;
    let looked = ledger.look().await;
    assert_eq!(looked.finding, Finding::Absent);
    assert_eq!(looked.candidates.len(), 3);
}

#[tokio::test]
async fn every_digit_of_an_id_arrives() {
    let reference = operation().external_reference();
    let body = format!(
        r#"{{"items":[{{"id":820982911946154509,"reference":"{reference}","total":1180.000000000000000000}}]}}"#
    );
    let ledger = Ledger::answering(move |_| axum::response::IntoResponse::into_response(body.clone())).await;
    assert_eq!(ledger.look().await.finding, found("820982911946154509"));
}

#[tokio::test]
async fn people_see_how_each_record_was_read() {
    let items: Vec<Value> = (0..40)
        .map(|index| json!({ "id": index, "reference": format!("task {index}"), "memo": "x".repeat(5_000) }))
        .collect();
    let ledger = Ledger::saying(200, json!({ "items": items })).await;
    let trial = Destinations::default().look_for(&ledger.destination(), "task 3").await;
    assert_eq!(trial.looked.finding, found("3"));
    assert_eq!((trial.records, trial.shown.len()), (40, guard::lookup::RECORDS_SHOWN_MAX));
    assert_eq!(trial.shown[3].reading.verdict, Verdict::Live { differences: vec![] });
    assert_eq!(trial.shown[5].reading.verdict, Verdict::Other);
    assert_eq!(trial.shown[0].record.chars().count(), guard::lookup::RECORD_CHARACTERS_MAX + 1);
    assert_eq!(ledger.asked(), ["GET /api/tasks?reference=task%203"]);
}

#[tokio::test]
async fn what_the_path_needs_and_nobody_has_is_a_matter_of_the_profile() {
    let mut destination = destination("http://127.0.0.1:9");
    destination.lookup.as_mut().unwrap().path = "/tasks?of={{ payload.number }}".to_owned();
    let looked = look(&destination).await;
    let (class, reason) = nothing(&looked);
    assert_eq!(class, AnswerClass::Setup);
    insta::assert_snapshot!(reason, @"the path cannot be made: a value that it names is missing");
    destination.lookup = None;
    assert_eq!(nothing(&look(&destination).await), (AnswerClass::Setup, "the destination has no lookup"));
    destination.headers.insert("X-Key".to_owned(), "env:ONCEOVER_TEST_OF_NO_SUCH_VARIABLE".to_owned());
    destination.lookup = ledger::destination("http://127.0.0.1:9").lookup;
    let looked = look(&destination).await;
    insta::assert_snapshot!(nothing(&looked).1, @"headers.X-Key: the environment variable ONCEOVER_TEST_OF_NO_SUCH_VARIABLE is not set; set it where the server is started");
}
