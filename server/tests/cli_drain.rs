//! How a server stops: who asked is answered, nobody new is let in, and then it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;

#[path = "support/automation.rs"]
mod automation;
#[path = "support/process.rs"]
mod process;

use automation::{Automation, answered, begin};
use process::{Machine, PATIENCE, Serving, eventually};
use server::listener::DRAIN_SECONDS_MAX;

/// Whatever has to happen at once happens within this time on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

fn serving() -> (Machine, Serving, Automation) {
    let machine = Machine::new();
    machine.apply("[[workflow]]\nname = \"handoff\"\n");
    let serving = machine.serve();
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    (machine, serving, shop)
}

/// A begin whose head is there and whose body is awaited: the server has answered `100 Continue`.
fn half_asked(serving: &Serving, token: &str) -> (TcpStream, String) {
    let body = begin("order-1").to_string();
    let mut stream = connected(serving);
    let head = format!(
        "POST /api/v1/operations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = [0; 256];
    let length = stream.read(&mut bytes).unwrap();
    assert_eq!(&bytes[..length], b"HTTP/1.1 100 Continue\r\n\r\n");
    (stream, body)
}

fn connected(serving: &Serving) -> TcpStream {
    let stream = TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn draining(serving: &Serving, signal: &str) {
    serving.signal(signal);
    eventually(PATIENCE, "it says that it drains", || serving.log().contains("draining"));
}

fn rest_of(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn who_is_asking_is_answered_and_nobody_new_is_let_in() {
    for signal in ["TERM", "INT"] {
        let machine = Machine::new();
        machine.apply("[[workflow]]\nname = \"handoff\"\n");
        let mut serving = machine.serve();
        let token = machine.token("shop");
        let (mut asking, body) = half_asked(&serving, &token);
        draining(&serving, signal);
        eventually(AT_ONCE, "nobody new is let in", || {
            TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).is_err()
        });

        asking.write_all(body.as_bytes()).unwrap();
        let answer = rest_of(asking);
        assert!(answer.starts_with("HTTP/1.1 201 Created\r\n") && answer.contains("connection: close\r\n"), "{answer}");
        assert_eq!(serving.ended(), Some(0), "{}", serving.log());
        let verified = machine.run(&["trail", "verify"]).ok();
        assert!(verified.contains(" 1 operations"), "what was acknowledged is there: {verified}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_kept_waiting_is_answered_at_once() {
    let (_machine, mut serving, shop) = serving();
    assert_eq!(answered(shop.begin("order-1")).await.status, StatusCode::CREATED);
    let waiting = tokio::spawn(answered(shop.begin("order-1").header("prefer", "wait=50")));
    // The held one has been decided once, and is told in the log only when it is answered: the next request is behind it.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "it is held");

    draining(&serving, "TERM");
    let answer = tokio::time::timeout(AT_ONCE, waiting).await.expect("at once").unwrap();
    assert_eq!((answer.status, &answer.body["decision"]), (StatusCode::CONFLICT, &json!("in_progress")));
    assert_eq!(serving.ended(), Some(0), "{}", serving.log());
}

#[test]
fn a_server_that_drains_is_not_ready() {
    let (_machine, mut serving, _shop) = serving();
    let mut asking = connected(&serving);
    asking.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n").unwrap();
    // Connections are accepted one after another: once this one has its answer, the one before is accepted too.
    let mut next = connected(&serving);
    next.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    assert!(rest_of(next).starts_with("HTTP/1.1 200 OK\r\n"));

    draining(&serving, "TERM");
    asking.write_all(b"\r\n").unwrap();
    let answer = rest_of(asking);
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n") && answer.contains("draining"), "{answer}");
    assert_eq!(serving.ended(), Some(0), "{}", serving.log());
}

#[test]
fn a_connection_that_is_not_used_keeps_nobody_waiting() {
    let (_machine, mut serving, _shop) = serving();
    let mut idle = connected(&serving);
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut bytes = [0; 2_048];
    assert!(idle.read(&mut bytes).unwrap() > 0, "answered, and kept open");
    let asked = Instant::now();
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0), "{}", serving.log());
    assert!(asked.elapsed() < AT_ONCE);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let machine = Machine::new();
    let mut serving = machine.serve();
    let token = machine.token("shop");
    let (_asking, _body) = half_asked(&serving, &token);
    draining(&serving, "TERM");
    let asked = Instant::now();
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(1), "{}", serving.log());
    assert!(asked.elapsed() < AT_ONCE);
}

#[test]
fn a_connection_that_does_not_end_is_broken_off_within_the_bound() {
    // It takes the whole bound.
    if std::env::var_os("ONCEOVER_SOAK").is_none() {
        return;
    }
    let machine = Machine::new();
    let mut serving = machine.serve();
    let token = machine.token("shop");
    let (_asking, _body) = half_asked(&serving, &token);
    let asked = Instant::now();
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0), "{}", serving.log());
    assert!(
        asked.elapsed() >= Duration::from_secs(DRAIN_SECONDS_MAX)
            && asked.elapsed() < Duration::from_secs(DRAIN_SECONDS_MAX) + AT_ONCE
    );
    assert!(serving.log().contains("connections were broken off"), "{}", serving.log());
}
