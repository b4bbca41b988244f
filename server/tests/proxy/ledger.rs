//! A destination that keeps what it was sent, with faults that a header asks for; and an automation that knows nothing but a URL.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use guard::actor::Actor;
use guard::service::Definitions;
use reqwest::Method;
use serde_json::Value;
use tokio::sync::Notify;

use crate::desk::{Desk, Worker};

/// What the destination asks for; the automation has never heard of it.
pub const SECRET: &str = "Bearer s3cret-of-the-ledger";

/// What it was sent.
#[derive(Clone, Debug)]
pub struct Record {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A running destination.
#[derive(Clone)]
pub struct Ledger {
    pub address: SocketAddr,
    records: Arc<Mutex<Vec<Record>>>,
    /// Told when a request is held.
    pub held: Arc<Notify>,
    /// Lets what is held go on.
    pub go_on: Arc<Notify>,
}

impl Ledger {
    pub async fn new() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ledger = Self {
            address: listener.local_addr().unwrap(),
            records: Arc::default(),
            held: Arc::default(),
            go_on: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(ledger.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        ledger
    }

    /// How many records it holds.
    pub fn count(&self) -> usize {
        self.records.lock().unwrap().len()
    }

    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap().clone()
    }

    /// What it holds under this external reference.
    fn found(&self, reference: &str) -> Response {
        let records = self.records.lock().unwrap();
        let carries = |record: &Record| record.headers.get("x-reference").is_some_and(|held| held == reference);
        let held = records.iter().enumerate().filter(|(_, record)| carries(record));
        let held = held.map(|(at, _)| serde_json::json!({ "id": format!("task-{}", at + 1), "reference": reference }));
        serde_json::json!({ "items": held.collect::<Vec<_>>() }).to_string().into_response()
    }

    fn write(&self, record: Record) -> usize {
        let mut records = self.records.lock().unwrap();
        records.push(record);
        records.len()
    }
}

async fn answer(State(ledger): State<Ledger>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
    let path = head.uri.path_and_query().unwrap().to_string();
    if let Some((_, reference)) = path.split_once("?reference=") {
        return ledger.found(reference);
    }
    if head.method.is_safe() {
        return ([("set-cookie", "session=1")], format!("{} of {path}", head.method)).into_response();
    }
    let fault = head.headers.get("x-fault").map(|fault| fault.to_str().unwrap().to_owned()).unwrap_or_default();
    let record = Record { path, headers: head.headers, body };
    match fault.as_str() {
        "refuse" => return (StatusCode::UNPROCESSABLE_ENTITY, r#"{"error":"no such customer"}"#).into_response(),
        "exists" => {
            return (StatusCode::CONFLICT, r#"{"code":307,"message":"it has a stamp already"}"#).into_response();
        }
        "broken" => return (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response(),
        _ => {}
    }
    let number = ledger.write(record);
    match fault.as_str() {
        "silent" => std::future::pending().await,
        "hold" => {
            ledger.held.notify_one();
            ledger.go_on.notified().await;
        }
        "slow" => tokio::time::sleep(Duration::from_millis(400)).await,
        "nameless" => return (StatusCode::CREATED, "{}").into_response(),
        "exists-after" => return (StatusCode::CONFLICT, r#"{"code":307}"#).into_response(),
        "broken-after" => return (StatusCode::INTERNAL_SERVER_ERROR, "out of order").into_response(),
        "cut" => {
            let chunks = futures::stream::iter([Ok("{\"id\":"), Err(std::io::Error::other("gone"))]);
            return (StatusCode::CREATED, Body::from_stream(chunks)).into_response();
        }
        "binary" => {
            let headers = [("content-type", "application/octet-stream"), ("content-encoding", "x-own")];
            return (StatusCode::CREATED, headers, vec![0xff_u8, 0, 0xfe]).into_response();
        }
        _ => {}
    }
    let headers = [
        ("content-type", "application/vnd.ledger+json"),
        ("location", "/tasks/907"),
        ("set-cookie", "session=of-the-shared-account"),
        ("x-trace", "t-1"),
        ("connection", "close"),
    ];
    // Neither compact nor in order: it comes back as it is.
    (StatusCode::CREATED, headers, format!("{{ \"state\": \"OPEN\",\n  \"id\": \"task-{number}\" }}\n")).into_response()
}

/// The workflows behind the proxy with their destination at this address, with more lines of its profile.
pub fn configuration(address: SocketAddr, more: &str) -> String {
    format!(
        r#"
        [[workflow]]
        name = "handoff"
        destination = "ledger"
        lease_seconds = 1

        [[workflow]]
        name = "two-step"
        destination = "ledger"
        two_step = true

        [[workflow]]
        name = "placed"
        destination = "ledger"
        [workflow.key]
        company = "/org"
        source_system = "shop"
        document = "/order/number"
        revision = "/order/version"

        [[workflow]]
        name = "alone"

        [[destination]]
        name = "ledger"
        base_url = "http://{address}/api"
        timeout_seconds = 1
        headers = {{ Authorization = "{SECRET}" }}
        idempotency_header = "X-Once"
        [destination.create]
        method = "POST"
        path = "/tasks"
        reference = "$.id"
        confirmed = ["200-299"]
        failed = ["400-404", "410", "422"]
        exists = ["409"]
        external_reference_header = "X-Reference"
        {more}
        "#
    )
}

/// A desk with these workflows.
pub async fn configure(desk: &Desk, address: SocketAddr, more: &str) {
    let definitions: Definitions = toml::from_str(&configuration(address, more)).unwrap();
    desk.server.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
}

/// What an automation was answered.
#[derive(Clone, Debug)]
pub struct Answered {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answered {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn decision(&self) -> &str {
        self.header("onceover-decision")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem document.
    #[track_caller]
    pub fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        self.json()["code"].as_str().unwrap().to_owned()
    }
}

/// An automation's request for a document.
pub struct Asking {
    request: reqwest::RequestBuilder,
}

impl Asking {
    /// With this token, and everything of the key in headers.
    pub fn document(worker: &Worker, document: &str) -> Self {
        Self::plain(worker, Method::POST, "/proxy/handoff/tasks")
            .with("onceover-company", "ACME")
            .with("onceover-source-system", "erp")
            .with("onceover-document", document)
            .body(BODY)
    }

    /// With this token, and nothing else.
    pub fn plain(worker: &Worker, method: Method, path: &str) -> Self {
        Self { request: worker.request(method, path) }
    }

    pub fn with(self, name: &str, value: &str) -> Self {
        Self { request: self.request.header(name, value) }
    }

    pub fn body(self, body: &'static str) -> Self {
        Self { request: self.request.header("content-type", "application/json").body(body) }
    }

    pub fn raw(self, body: impl Into<reqwest::Body>) -> Self {
        Self { request: self.request.body(body) }
    }

    /// Gives up after so long.
    pub async fn lose_patience(self, after: Duration) {
        let lost = self.request.timeout(after).send().await;
        assert!(lost.is_err(), "{lost:?}");
    }

    pub async fn answered(self) -> Answered {
        let response = self.request.send().await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        let body = response.bytes().await.unwrap().to_vec();
        Answered { status, headers, body }
    }
}

/// A body whose digits, order and white space must arrive.
pub const BODY: &str = "{ \"total\": 118.00,\t\"order\": 820982911946154509, \"currency\": \"EUR\" }\n";

/// The answer to a document's first request, which must have been sent.
pub const CREATED: &str = "{ \"state\": \"OPEN\",\n  \"id\": \"task-1\" }\n";
