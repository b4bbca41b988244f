//! Reading: one, many, the trail, the payload.

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    pages_are_complete_although_rows_are_added,
    filters_are_exact_and_states_are_an_or,
    a_parameter_that_cannot_be_taken_is_named,
    the_trail_is_chained_and_paged,
    a_payload_is_read_as_it_came,
    what_is_no_id_is_not_found,
);

async fn pages_are_complete_although_rows_are_added(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let mut begun = Vec::new();
    for number in 0..25 {
        begun.push(worker.begin(&format!("INV-{number}"), PAYLOAD).await.expect_proceed().id);
    }
    begun.reverse();
    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = worker.get(&format!("/api/v1/operations?limit=7&cursor={cursor}")).await.json();
        let operations = page["operations"].as_array().unwrap();
        read.extend(operations.iter().map(|operation| operation["id"].as_str().unwrap().to_owned()));
        worker.begin(&format!("NEW-{}", read.len()), PAYLOAD).await.expect_proceed();
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(read, begun, "newest first, each once, none of those that came meanwhile");
    desk.close().await;
}

async fn filters_are_exact_and_states_are_an_or(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let confirmed = worker.begin("INV-1", PAYLOAD).await.expect_proceed();
    worker.confirm(&confirmed, "task-1").await;
    desk.pass(10);
    let failed = worker.begin("INV-2", PAYLOAD).await.expect_proceed();
    worker.fail(&failed, "refused").await;
    desk.pass(10);
    worker.begin("INV-3", PAYLOAD).with("action", "\"pay\"").await.expect_proceed();
    worker
        .for_company("Zürich & Söhne")
        .begin("INV-1", PAYLOAD)
        .with("source_system", "\"shop\"")
        .await
        .expect_proceed();
    let documents = async |query: &str| {
        let page = worker.get(&format!("/api/v1/operations?{query}")).await.json();
        let operations = page["operations"].as_array().unwrap().clone();
        operations.iter().map(|operation| operation["document"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(documents("state=confirmed&state=failed").await, ["INV-2", "INV-1"]);
    assert_eq!(documents("state=confirmed").await, ["INV-1"]);
    assert_eq!(documents("state=disputed").await, [""; 0]);
    assert_eq!(documents("company=Z%C3%BCrich+%26+S%C3%B6hne").await, ["INV-1"]);
    assert_eq!(documents("company=ACME&document=INV-1").await, ["INV-1"]);
    assert_eq!(documents("document=inv-1").await, [""; 0]);
    assert_eq!(documents("action=pay").await, ["INV-3"]);
    assert_eq!(documents("source_system=shop").await, ["INV-1"]);
    assert_eq!(documents("workflow=volatile").await, [""; 0]);
    let moment = worker.read(&failed.id).await["created_at"].as_str().unwrap().to_owned();
    assert_eq!(documents(&format!("to={moment}")).await, ["INV-1"]);
    assert_eq!(documents(&format!("company=ACME&from={moment}")).await, ["INV-3", "INV-2"]);
    assert_eq!(documents(&format!("from={moment}&to={moment}")).await, [""; 0]);
    desk.pass(61);
    documents("").await;
    assert_eq!(documents("state=unknown").await, ["INV-1", "INV-3"], "leases that are over have been ended");
    desk.close().await;
}

async fn a_parameter_that_cannot_be_taken_is_named(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=-1", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("state=done", "state"),
        ("from=yesterday", "from"),
        ("to=2026-01-01", "to"),
        ("cursor=x", "cursor"),
        ("cursor=%00", "cursor"),
        ("document=%00", "document"),
        ("company=%20ACME", "company"),
        ("company=a&company=b", "company"),
        ("compnay=a", "compnay"),
        ("status=unknown", "status"),
        ("unheard=of", "unheard"),
    ] {
        worker.get(&format!("/api/v1/operations?{query}")).await.expect_invalid(field);
    }
    assert_eq!(worker.get("/api/v1/operations?state=&company=&limit=500").await.status, 200);
    let detail = async |query: &str| {
        let answer = worker.get(&format!("/api/v1/operations?{query}")).await.json();
        answer["detail"].as_str().unwrap().to_owned()
    };
    assert!(detail("status=unknown").await.contains("did you mean state?"));
    assert!(detail("state=unkown").await.contains(r#""unkown""#), "the value is quoted");
    desk.close().await;
}

async fn the_trail_is_chained_and_paged(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let begin = worker.begin("INV-1", PAYLOAD).with("worker", "\"w-3\"").with("delivery_id", "\"evt-1\"");
    let grant = begin.await.expect_proceed();
    worker.heartbeat(&grant, 120).await.expect_state("sending");
    worker.confirm(&grant, "task-1").await.expect_state("confirmed");
    let path = format!("/api/v1/operations/{}/events", grant.id);
    let all = worker.get(&path).await.json();
    let events = all["events"].as_array().unwrap();
    assert_eq!(events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(events[0]["actor"], "token:worker/w-3");
    assert_eq!(events[0]["detail"]["delivery_id"], "evt-1");
    assert!(events.iter().all(|event| event["hash"].as_str().unwrap().len() == 64));
    assert!(!all.to_string().contains(&grant.lease_token), "the lease's secret is its owner's");
    let page = worker.get(&format!("{path}?after=1&limit=1")).await.json();
    assert_eq!(page["events"], serde_json::json!([events[1]]));
    assert_eq!(worker.get(&format!("{path}?after=3")).await.json()["events"], serde_json::json!([]));
    worker.get(&format!("{path}?limit=0")).await.expect_invalid("limit");
    worker.get(&format!("{path}?limit=1001")).await.expect_invalid("limit");
    worker.get(&format!("{path}?after=-1")).await.expect_invalid("after");
    assert_eq!(worker.get(&format!("{path}?after=9223372036854775807")).await.json()["events"], serde_json::json!([]));
    desk.close().await;
}

async fn a_payload_is_read_as_it_came(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let payload = r#"{"z":1180.00,"a":1e3,"id":9007199254740993,"n":null,"text":"é\"\\\u0000","l":[],"o":{}}"#;
    let grant = worker.begin("INV-1", payload).await.expect_proceed();
    let answer = worker.get(&format!("/api/v1/operations/{}/payloads/1", grant.id)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.text, payload);
    for revision in ["2", "0", "x", "-1", "99999999999", ""] {
        let answer = worker.get(&format!("/api/v1/operations/{}/payloads/{revision}", grant.id)).await;
        answer.expect_problem(404, "not_found");
    }
    desk.close().await;
}

async fn what_is_no_id_is_not_found(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    for id in
        ["x", "00000000-0000-7000-8000-000000000000", "%00", "%FF", "..%2F", "018bcfe5-687b-7bab-abab-abababababag"]
    {
        worker.get(&format!("/api/v1/operations/{id}")).await.expect_problem(404, "not_found");
        worker
            .post(&format!("/api/v1/operations/{id}/sending"), r#"{"lease_token":"x"}"#)
            .await
            .expect_problem(404, "not_found");
    }
    desk.close().await;
}
