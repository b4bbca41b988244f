//! Batches: independent items, answered in their order.

use serde_json::Value;

use crate::answer::Grant;
use crate::desk::{Begin, Desk, Worker};
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    a_batch_sent_again_does_only_what_is_missing,
    a_faulty_item_fails_alone,
    equal_keys_in_one_batch_are_two_calls_in_their_order,
    a_thousand_items_are_taken_and_no_more,
    what_is_no_batch_is_refused,
);

async fn send(worker: &Worker, items: &[Begin]) -> Vec<Value> {
    let bodies: Vec<String> = items.iter().map(Begin::body).collect();
    let answer = worker.post("/api/v1/operations/batch", format!("{{\"operations\":[{}]}}", bodies.join(","))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["results"].as_array().unwrap().clone()
}

fn grant_of(result: &Value) -> Grant {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Grant {
        id: text(&result["operation"]["id"]),
        lease_token: text(&result["lease"]["token"]),
        attempt: result["attempt"].as_u64().unwrap(),
        external_reference: text(&result["external_reference"]),
        idempotency_key: text(&result["idempotency_key"]),
        repeated: result["repeated"].as_bool().unwrap(),
    }
}

fn decisions(results: &[Value]) -> Vec<(u64, &str)> {
    results
        .iter()
        .map(|result| {
            (result["status"].as_u64().unwrap(), result["decision"].as_str().or(result["code"].as_str()).unwrap())
        })
        .collect()
}

/// Case C34.
async fn a_batch_sent_again_does_only_what_is_missing(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let import = desk.worker("import").await;
    let rows: Vec<Begin> = (1..=5).map(|row| import.begin(&format!("ROW-{row}"), PAYLOAD)).collect();
    let first = send(&import, &rows).await;
    assert_eq!(decisions(&first), [(201, "proceed"); 5]);
    for (index, result) in first.iter().enumerate() {
        assert_eq!(result["operation"]["document"], format!("ROW-{}", index + 1), "in input order");
        if index == 2 {
            import.fail(&grant_of(result), "422: no such account").await.expect_state("failed");
        } else {
            import.confirm(&grant_of(result), &format!("record-{index}")).await.expect_state("confirmed");
        }
    }
    let second = send(&import, &rows).await;
    let replay = (200, "replay");
    assert_eq!(decisions(&second), [replay, replay, (201, "proceed"), replay, replay]);
    desk.close().await;
}

async fn a_faulty_item_fails_alone(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let import = desk.worker("import").await;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(70), "]".repeat(70));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(256 * 1_024));
    let items = [
        import.begin("A", PAYLOAD),
        import.begin("B", PAYLOAD).with("document", "\" B\""),
        import.begin("C", r#"{"a":1,"a":2}"#),
        import.begin("D", r#"{"a":1e1001}"#),
        import.begin("E", &deep),
        import.begin("F", &large),
        import.in_workflow("nowhere").begin("G", PAYLOAD),
        import.begin("H", r#"{"a":"\ud800"}"#),
        import.begin("I", PAYLOAD),
    ];
    let results = send(&import, &items).await;
    assert_eq!(
        decisions(&results),
        [
            (201, "proceed"),
            (422, "invalid_field"),
            (400, "invalid_json"),
            (422, "unsafe_number"),
            (400, "invalid_json"),
            (413, "payload_too_large"),
            (404, "unknown_workflow"),
            (400, "invalid_json"),
            (201, "proceed"),
        ]
    );
    assert_eq!(results[1]["field"], "document");
    desk.close().await;
}

async fn equal_keys_in_one_batch_are_two_calls_in_their_order(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let import = desk.worker("import").await;
    let other = r#"{"total":"119.00","currency":"EUR"}"#;
    for round in 0..10 {
        let document = format!("INV-{round}");
        let items =
            [import.begin(&document, PAYLOAD), import.begin(&document, PAYLOAD), import.begin(&document, other)];
        let results = send(&import, &items).await;
        assert_eq!(decisions(&results), [(201, "proceed"), (409, "in_progress"), (422, "conflict")]);
    }
    desk.close().await;
}

async fn a_thousand_items_are_taken_and_no_more(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let import = desk.worker("import").await;
    let mut items: Vec<Begin> = (0..1_000).map(|row| import.begin(&format!("ROW-{row}"), PAYLOAD)).collect();
    let results = send(&import, &items).await;
    assert!(results.iter().all(|result| result["decision"] == "proceed"));
    assert!(results.iter().enumerate().all(|(row, result)| result["operation"]["document"] == format!("ROW-{row}")));
    items.push(import.begin("ROW-1000", PAYLOAD));
    let bodies: Vec<String> = items.iter().map(Begin::body).collect();
    let body = format!("{{\"operations\":[{}]}}", bodies.join(","));
    import.post("/api/v1/operations/batch", body).await.expect_invalid("operations");
    assert_eq!(send(&import, &[]).await, Vec::<Value>::new());
    desk.close().await;
}

async fn what_is_no_batch_is_refused(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let import = desk.worker("import").await;
    let path = "/api/v1/operations/batch";
    import.post(path, "{}").await.expect_invalid("operations");
    import.post(path, r#"{"operation":[]}"#).await.expect_invalid("operation");
    import.post(path, r#"{"operations":{}}"#).await.expect_invalid("operations");
    import.post(path, r#"{"operations":[{]}"#).await.expect_problem(400, "invalid_json");
    import.post(path, "").await.expect_problem(400, "invalid_json");
    let items = import.post(path, r#"{"operations":[7,null,[]]}"#).await.json();
    assert!(items["results"].as_array().unwrap().iter().all(|result| result["field"] == "body"), "{items}");
    desk.close().await;
}
