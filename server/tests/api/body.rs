//! Bodies that two readers could understand differently, and bytes that are no JSON at all.

use std::path::PathBuf;

use serde_json::Value;

use crate::desk::Desk;
use crate::support::{Fresh, on_both};

on_both!(
    what_two_readers_could_understand_differently_is_refused,
    equal_values_have_equal_fingerprints_and_others_do_not,
    no_bytes_break_the_server,
    published_bodies_are_taken_or_refused_as_they_should,
    published_pairs_have_the_fingerprints_that_they_should,
);

async fn what_two_readers_could_understand_differently_is_refused(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    for payload in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"l":[{"q":1,"q":2}]}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00\ud800"}"#,
        r#"{"\ud800":1}"#,
        "{\"a\":\"\u{1}\"}",
        r#"{"a":"\x"}"#,
        r#"{"a":01}"#,
        r#"{"a":1.}"#,
        r#"{"a":.5}"#,
        r#"{"a":+1}"#,
        r#"{"a":NaN}"#,
        r#"{"a":Infinity}"#,
        r#"{'a':1}"#,
        r#"{"a":1,}"#,
        r#"{"a":1}/**/"#,
        &nested(65),
        &nested(10_000),
    ] {
        let problem = worker.begin("INV-001", payload).await.expect_problem(400, "invalid_json");
        assert!(problem["line"].as_u64() >= Some(1) && problem["column"].as_u64() >= Some(1), "{problem}");
    }
    for payload in
        [r#"{"a":1e1001}"#.to_owned(), r#"{"a":1e-1001}"#.to_owned(), format!("{{\"a\":{}}}", "9".repeat(1_001))]
    {
        worker.begin("INV-001", &payload).await.expect_problem(422, "unsafe_number");
    }
    let body = worker.begin("INV-001", "{}").body();
    worker.post("/api/v1/operations", format!("\u{feff}{body}")).await.expect_problem(400, "invalid_json");
    worker.post("/api/v1/operations", format!("{body}{body}")).await.expect_problem(400, "invalid_json");
    worker.begin("INV-001", &nested(64)).await.expect_proceed();
    worker.begin("INV-002", &format!("{{\"a\":{},\"b\":1e1000}}", "9".repeat(1_000))).await.expect_proceed();
    desk.close().await;
}

async fn equal_values_have_equal_fingerprints_and_others_do_not(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    for (row, (one, other, is_same)) in [
        (r#"{"a":1180.00}"#, r#"{"a":1.18e3}"#, true),
        (r#"{"a":0}"#, r#"{"a":-0.0}"#, true),
        (r#"{"a":"é"}"#, r#"{"a":"\u00E9"}"#, true),
        (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
        (r#"{"a":null}"#, "{}", false),
        (r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#, false),
        (r#"{"a":1.000000000000000005}"#, r#"{"a":1}"#, false),
        (r#"{"a":1e-999}"#, r#"{"a":0}"#, false),
        (r#"{"a":"Caf\u00e9"}"#, r#"{"a":"Cafe\u0301"}"#, false),
    ]
    .into_iter()
    .enumerate()
    {
        let document = format!("INV-{row}");
        worker.begin(&document, one).await.expect_proceed();
        let again = worker.begin(&document, other).await;
        if is_same { drop(again.expect_in_progress()) } else { drop(again.expect_conflict()) }
    }
    desk.close().await;
}

async fn no_bytes_break_the_server(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let worker = desk.worker("worker").await;
    let body = worker.begin("INV-001", r#"{"a":["\ud83d\ude9a",1.5e3,true,null,{}]}"#).body().into_bytes();
    for at in 0..body.len() {
        worker.post("/api/v1/operations", body[..at].to_vec()).await.expect_problem(400, "invalid_json");
    }
    for at in (0..body.len()).step_by(3) {
        for byte in [0, b'"', b'\\', 0xC3, 0xFF] {
            let mut broken = body.clone();
            broken[at] = byte;
            let answer = worker.post("/api/v1/operations", broken).await;
            assert!([201, 400, 403, 404, 409, 422].contains(&answer.status), "{answer:?}");
        }
    }
    desk.close().await;
}

/// A folder of published texts beside the repository; the tests that need it say nothing without it.
fn published(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors").join(folder);
    path.exists().then_some(path)
}

async fn published_bodies_are_taken_or_refused_as_they_should(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let Some(folder) = published("jsontestsuite") else { return desk.close().await };
    let worker = desk.worker("worker").await;
    let expectations = std::fs::read_to_string(folder.join("EXPECT_GUARD.tsv")).unwrap();
    let mut looked_at = 0;
    for line in expectations.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (file, expected) = (columns[0], columns[2]);
        let text = std::fs::read(folder.join("test_parsing").join(file)).unwrap();
        let whole = worker.post("/api/v1/operations", text.clone()).await;
        let mut body = worker.begin(file, "0").body().into_bytes();
        let at = body.windows(11).position(|window| window == b"\"payload\":0").unwrap();
        body.splice(at + 10..at + 11, [b"{\"v\":".as_slice(), &text, b"}"].concat());
        let within = worker.post("/api/v1/operations", body).await;
        // Whole, it is no begin; within a payload it may be one.
        assert!([400, 422].contains(&whole.status), "{file}: {whole:?}");
        match expected {
            "ACCEPT" => drop(within.expect_proceed()),
            // Exact decimals are kept where they are no longer than a thousand digits.
            "REFUSE" if file.starts_with("i_number") => {
                assert!([201, 422].contains(&within.status), "{file}: {within:?}");
            }
            "REFUSE" => assert_eq!(within.status, 400, "{file}: {within:?}"),
            _ => assert!([201, 400, 422].contains(&within.status), "{file}: {within:?}"),
        }
        if within.status == 201 {
            let id = within.expect_proceed().id;
            assert_eq!(worker.get(&format!("/api/v1/operations/{id}/payloads/1")).await.status, 200, "{file}");
        }
        looked_at += 1;
    }
    assert!(looked_at >= 300, "{looked_at}");
    desk.close().await;
}

async fn published_pairs_have_the_fingerprints_that_they_should(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let Some(folder) = published("guard-json") else { return desk.close().await };
    let worker = desk.worker("worker").await;
    let pairs = std::fs::read_to_string(folder.join("fingerprint_pairs.jsonl")).unwrap();
    let mut looked_at = 0;
    for line in pairs.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| pair[name].as_str().unwrap_or_default().to_owned();
        let (id, expected) = (text("id"), text("expect"));
        let one = worker.begin(&id, &text("a")).await;
        let other = worker.begin(&id, &text("b")).await;
        match expected.as_str() {
            "SAME" | "DIFFERENT" => {
                let grant = one.expect_proceed();
                let fingerprint = worker.read(&grant.id).await["fingerprint"].clone();
                assert_eq!(fingerprint, format!("sha256:{}", text("sha256_a")), "{id}");
                if expected == "SAME" { drop(other.expect_in_progress()) } else { drop(other.expect_conflict()) }
            }
            "REFUSE_OR_DIFFERENT" => {
                one.expect_proceed();
                other.expect_conflict();
            }
            // Beyond the range of doubles, yet an exact decimal: kept.
            "REFUSE" if id == "R05" => drop(one.expect_proceed()),
            _ => assert!([400, 422].contains(&one.status), "{id}: {one:?}"),
        }
        looked_at += 1;
    }
    assert!(looked_at >= 30, "{looked_at}");
    desk.close().await;
}
