//! The metrics, the health of the server, and its version.

use std::collections::HashSet;

use guard::token::{Reach, Scope};

use crate::answer::Answer;
use crate::desk::Desk;
use crate::support::{Fresh, eventually, on_both};

const PAYLOAD: &str = r#"{"total":"118.00","currency":"EUR"}"#;

on_both!(
    names_with_quotes_do_not_break_the_scrape,
    what_was_prevented_is_counted_in_every_process,
    metrics_may_be_open,
    the_numbers_of_a_period_are_told_within_reach,
    a_server_whose_store_is_gone_lives_and_is_not_ready,
);

/// Case C45.
async fn names_with_quotes_do_not_break_the_scrape(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let company = r#""ACME 14\" \\ é""#;
    worker.begin("DOC-1", PAYLOAD).with("company", company).await.expect_proceed();
    worker.begin("DOC-1", PAYLOAD).with("company", r#""line\nbreak""#).await.expect_invalid("company");
    worker.begin("DOC-1", PAYLOAD).with("source_system", r#""x\r\ny""#).await.expect_invalid("source_system");
    let answer = worker.get("/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = &answer.text;
    let line = r#"onceover_decisions_total{workflow="handoff",company="ACME 14\" \\ é",decision="proceed"} 1"#;
    assert!(text.lines().any(|found| found == line), "{text}");
    assert!(text.ends_with('\n') && !text.contains('\r'), "{text}");
    assert!(!text.contains("DOC-1"), "documents are no labels");
    let (mut series, mut heads) = (HashSet::new(), HashSet::new());
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(head) => {
                let kind_and_name: Vec<&str> = head.splitn(3, ' ').take(2).collect();
                assert!(heads.insert(kind_and_name), "one HELP and one TYPE: {line}");
            }
            None => {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(value.parse::<f64>().is_ok(), "{line}");
                assert!(series.insert(name), "no series stands twice: {line}");
            }
        }
    }
    desk.close().await;
}

async fn what_was_prevented_is_counted_in_every_process(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    worker.begin("INV-001", PAYLOAD).await.expect_in_progress();
    worker.confirm(&grant, "task-1").await;
    worker.begin("INV-001", PAYLOAD).await.expect_replay();
    worker.begin("INV-001", PAYLOAD).await.expect_replay();
    worker.begin("INV-001", r#"{"total":"1.00","currency":"EUR"}"#).await.expect_conflict();
    let unsure = worker.begin("INV-002", PAYLOAD).await.expect_proceed();
    worker.lose_track(&unsure, "no answer").await;
    let expected = [
        r#"onceover_decisions_total{workflow="handoff",company="ACME",decision="proceed"} 2"#,
        r#"onceover_decisions_total{workflow="handoff",company="ACME",decision="replay"} 2"#,
        r#"onceover_decisions_total{workflow="handoff",company="ACME",decision="in_progress"} 1"#,
        r#"onceover_decisions_total{workflow="handoff",company="ACME",decision="conflict"} 1"#,
        r#"onceover_states_entered_total{workflow="handoff",company="ACME",state="confirmed"} 1"#,
        r#"onceover_states_entered_total{workflow="handoff",company="ACME",state="unknown"} 1"#,
        r#"onceover_repetitions_total{workflow="handoff",company="ACME",kind="replay"} 2"#,
        r#"onceover_repetitions_total{workflow="handoff",company="ACME",kind="in_progress"} 1"#,
        r#"onceover_duplicates_prevented_total{workflow="handoff",company="ACME",kind="in_progress"} 1"#,
        r#"onceover_duplicates_prevented_total{workflow="handoff",company="ACME",kind="replay"} 0"#,
        r#"onceover_duplicates_prevented_money_total{workflow="handoff",company="ACME",kind="in_progress",currency="EUR"} 118.00"#,
        r#"onceover_uncertain_money{currency="EUR"} 118.00"#,
        "onceover_uncertain_operations 1",
        "onceover_open_conflicts 1",
    ];
    let holds = async |worker: &crate::desk::Worker| {
        // As the server's background does; the repetition that was held is certain since its original was confirmed.
        desk.server.guard.settle_held(10).await.unwrap();
        let text = worker.get("/metrics").await.text;
        expected.iter().all(|line| text.lines().any(|found| found == *line))
    };
    eventually("everything is counted", async || holds(&worker).await).await;
    assert_eq!(worker.read(&grant.id).await["duplicates_prevented"], 3);
    let second = desk.second().await;
    assert!(holds(&second.worker(&worker)).await, "another process, or this one after a restart, says the same");
    desk.pass(5 * 3_600);
    assert!(holds(&worker).await, "hours that are over still count");
    assert!(holds(&worker).await);
    second.server.database.close().await;
    desk.close().await;
}

async fn the_numbers_of_a_period_are_told_within_reach(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let grant = worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    worker.confirm(&grant, "task-1").await;
    worker.begin("INV-001", PAYLOAD).await.expect_replay();
    let told = async |worker: &crate::desk::Worker, query: &str| {
        let body = worker.get(&format!("/api/v1/metrics{query}")).await.json();
        let numbers = body["numbers"].as_array().unwrap().clone();
        let found = numbers.into_iter().find(|number| {
            number["measure"] == "duplicates_prevented"
                && number["of"] == "replay"
                && number["workflow"].is_null()
                && number["company"].is_null()
        });
        let found = found.unwrap();
        (found["value"].as_str().unwrap().to_owned(), found["before"].as_str().unwrap().to_owned())
    };
    let none = ("0".to_owned(), "0".to_owned());
    eventually("it is counted", async || told(&worker, "").await.0 == "1").await;
    assert_eq!(told(&worker, "?company=ACME&workflow=handoff&days=1").await, ("1".to_owned(), "0".to_owned()));
    assert_eq!(told(&worker, "?company=other").await, none);
    assert_eq!(told(&worker, "?from=2020-01-01&to=2020-01-31").await, none);
    let other = desk.worker_of("other").await;
    assert_eq!(told(&other, "").await, none, "nothing of another company");
    assert_eq!(told(&other, "?company=ACME").await, none);
    desk.pass(86_400);
    assert_eq!(told(&worker, "?days=1").await, ("0".to_owned(), "1".to_owned()), "the day before");
    for (query, field) in [
        ("?days=0", "days"),
        ("?days=7&days=8", "days"),
        ("?day=7", "day"),
        ("?from=2026-13-01", "from"),
        ("?from=2026-03-02&to=2026-03-01", "to"),
        ("?from=2020-01-01&to=2026-03-01", "from"),
        ("?from=-262143-01-01&to=-262143-01-01", "from"),
        ("?workflow=%00", "workflow"),
    ] {
        let answer = worker.get(&format!("/api/v1/metrics{query}")).await;
        assert_eq!(answer.status, 422, "{query}: {answer:?}");
        assert!(answer.text.contains(&format!("\"{field}\"")), "{query}: {answer:?}");
    }
    let blind = desk.worker_within("blind", Reach::EVERYTHING, &[Scope::OperationsRead]).await;
    assert_eq!(blind.get("/api/v1/metrics").await.status, 403);
    desk.close().await;
}

async fn metrics_may_be_open(fresh: Fresh) {
    let desk = Desk::with(fresh, |settings| settings.metrics_open = true).await;
    let answer = desk.stranger().get("/metrics").await;
    assert!(answer.text.contains("onceover_build_info{version=\""), "{answer:?}");
    let reader = desk.worker_within("reader", Reach::EVERYTHING, &[Scope::OperationsRead]).await;
    assert_eq!(reader.get("/metrics").await.status, 200);
    desk.close().await;
}

async fn a_server_whose_store_is_gone_lives_and_is_not_ready(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    worker.begin("INV-001", PAYLOAD).await.expect_proceed();
    assert_eq!(worker.get("/readyz").await.status, 200);
    assert_eq!(worker.get("/version").await.json()["version"], env!("CARGO_PKG_VERSION"));
    desk.lose_the_store().await;
    let raw = async |path: &str| Answer::raw(worker.request(reqwest::Method::GET, path).send().await.unwrap()).await;
    raw("/readyz").await.expect_problem(503, "store_unavailable");
    assert_eq!(raw("/healthz").await.status, 200);
    let begin = worker.begin("INV-002", PAYLOAD);
    let request = worker.request(reqwest::Method::POST, "/api/v1/operations");
    let request = request.header("content-type", "application/json").body(begin.body());
    let refused = Answer::raw(request.send().await.unwrap()).await;
    refused.expect_problem(503, "store_unavailable");
    assert!(refused.header("retry-after").is_some());
    desk.close().await;
}
