//! The metrics, the health of the server, and its version.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

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

/// What a scrape would stumble over, and what only another reader notices: `promtool` lets a series that stands twice pass, and a
/// histogram without its last bucket.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.contains('\r') {
        faults.push("a line ends with a carriage return".to_owned());
    }
    if !text.ends_with('\n') {
        faults.push("the last line does not end".to_owned());
    }
    let (mut kinds, mut helped, mut sampled) = (BTreeMap::new(), HashSet::new(), HashSet::new());
    let (mut series, mut ends) = (HashSet::new(), HashMap::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(head) = line.strip_prefix("# ") {
            let mut words = head.splitn(3, ' ');
            let (kind, name, rest) = (words.next(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let is_second = match kind {
                Some("HELP") => !helped.insert(name),
                Some("TYPE") => kinds.insert(name, rest).is_some() || sampled.contains(name),
                _ => continue,
            };
            if is_second || !is_name(name) {
                faults.push(format!("a second head, one behind its samples, or a name that is none: {line}"));
            }
            continue;
        }
        let Some((name, labels, value)) = sample(line) else {
            faults.push(format!("no sample: {line}"));
            continue;
        };
        if !series.insert((name, labels.clone())) {
            faults.push(format!("a series that stands twice: {line}"));
        }
        let is_number = value.parse::<f64>().is_ok() || value == "+Inf" || value == "NaN";
        if !is_name(name) || !is_number {
            faults.push(format!("a name or a value that is none: {line}"));
        }
        let of = |end: &str| name.strip_suffix(end).filter(|base| kinds.get(base) == Some(&"histogram"));
        let base = of("_bucket").or_else(|| of("_sum")).or_else(|| of("_count")).unwrap_or(name);
        sampled.insert(base);
        if of("_bucket").is_some() {
            *ends.entry(base).or_insert(false) |= labels.iter().any(|label| *label == ("le", "+Inf".to_owned()));
        }
        match kinds.get(base) {
            None => faults.push(format!("a sample without its type: {line}")),
            Some(&"counter") if !base.ends_with("_total") => faults.push(format!("a counter by another name: {line}")),
            Some(_) => {}
        }
        if !helped.contains(base) || base.contains("milliseconds") {
            faults.push(format!("no help, or another unit than seconds: {line}"));
        }
    }
    faults.extend(ends.iter().filter(|(_, has_end)| !**has_end).map(|(name, _)| format!("{name} has no last bucket")));
    faults
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':');
    name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// The name, the labels without their escapes, and the value of a line.
type Sample<'a> = (&'a str, Vec<(&'a str, String)>, &'a str);

/// What a line says; none where it cannot be read.
fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, behind) = rest.split_once("=\"")?;
            let (mut value, mut escaped, mut length) = (String::new(), false, None);
            for (at, character) in behind.char_indices() {
                match (escaped, character) {
                    (true, 'n') => value.push('\n'),
                    (true, '\\' | '"') => value.push(character),
                    (true, _) => return None,
                    (false, '"') => {
                        length = Some(at);
                        break;
                    }
                    (false, '\\') => {}
                    (false, other) => value.push(other),
                }
                escaped = !escaped && character == '\\';
            }
            labels.push((label.trim(), value));
            rest = behind.get(length? + 1..)?;
            rest = rest.strip_prefix(',').unwrap_or(rest);
            if !rest.starts_with('}') && !rest.contains("=\"") {
                return None;
            }
        }
        rest = rest.strip_prefix('}')?;
    }
    let value = rest.trim();
    (!value.is_empty() && !value.contains('"')).then_some((name, labels, value))
}

/// Published expositions beside the repository, good and bad; without them nothing is said.
#[test]
fn whoever_checks_the_scrape_sees_what_is_wrong_with_others() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("ONCEOVER_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(files) = std::fs::read_dir(shared.join("vectors/prometheus")) else { return };
    let mut looked_at = 0;
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".prom") {
            continue;
        }
        let found = faults(&std::fs::read_to_string(&path).unwrap());
        assert_eq!(found.is_empty(), name.starts_with("good"), "{name}: {found:?}");
        looked_at += 1;
    }
    assert_eq!(looked_at, 16);
}

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
    assert_eq!(faults(text), [""; 0], "{text}");
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
