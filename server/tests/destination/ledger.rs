//! A destination of the tests' own: a small server on a real socket that keeps what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::DateTime;
use guard::destination::Destination;
use guard::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use guard::id::OperationId;
use guard::key::{KeyPart, OperationKey};
use guard::lookup::{AnswerClass, Finding, Looked};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::state::State;
use guard::trail::ChainHash;
use guard::workflow::Workflow;
use serde_json::Value;
use server::destination::Destinations;

pub const SECRET: &str = "Bearer s3cret-of-the-ledger";

/// A running destination.
pub struct Ledger {
    pub address: SocketAddr,
    /// `METHOD path?query` of everything that was asked.
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Ledger {
    /// Answers every request by this function of its path and query.
    pub async fn answering(answer: impl Fn(&str) -> Response + Clone + Send + Sync + 'static) -> Self {
        Self::over(move |request: Request| {
            let answer = answer(request.uri().path_and_query().unwrap().as_str());
            async move { answer }
        })
        .await
    }

    pub async fn over<F: Future<Output = Response> + Send>(
        answer: impl Fn(Request) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let router = Router::new().fallback(move |request: Request| {
            seen.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
            answer(request)
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, asked }
    }

    /// Always the same JSON, with this status.
    pub async fn saying(status: u16, body: Value) -> Self {
        Self::answering(move |_| json(status, &body)).await
    }

    pub fn destination(&self) -> Destination {
        destination(&format!("http://{}/api", self.address))
    }

    pub async fn look(&self) -> Looked {
        look(&self.destination()).await
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

pub fn json(status: u16, body: &Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), [("content-type", "application/json")], body.to_string()).into_response()
}

/// A profile like that of the configuration's example.
pub fn destination(base_url: &str) -> Destination {
    toml::from_str(&format!(
        r#"
        name = "ledger"
        base_url = "{base_url}"
        timeout_seconds = 5
        headers = {{ Authorization = "{SECRET}" }}
        [lookup]
        method = "GET"
        path = "/tasks?reference={{{{ external_reference }}}}"
        records = "$.items[*]"
        external_reference = "$.reference"
        reference = "$.id"
        next_page = "$.next"
        void = {{ path = "$.status", values = ["VOIDED"] }}
        inconclusive = ["403", "429", "500-599"]
        absent = ["404"]
        "#
    ))
    .unwrap()
}

/// A workflow whose amount must agree.
pub fn workflow() -> Workflow {
    toml::from_str(
        r#"
        name = "handoff"
        key_fields = [{ payload = "/amount", record = "$.total", compare = "decimal" }]
        "#,
    )
    .unwrap()
}

pub fn payload() -> Payload {
    Payload::parse(br#"{"amount":"1180.00","customer":"C-77 & sons"}"#).unwrap()
}

/// An operation that is uncertain.
pub fn operation() -> Operation {
    let part = |text| KeyPart::new(text).unwrap();
    let at = DateTime::from_timestamp_millis(1_700_000_000_000).unwrap();
    Operation {
        id: OperationId::new(at, [7; 16]),
        key: OperationKey {
            workflow: part("handoff"),
            company: part("acme"),
            source_system: part("shop"),
            document: part("order/812?"),
            action: part("create"),
            revision: 1,
        },
        state: State::Unknown { since: at, reason: "the connection was lost".to_owned() },
        version: 2,
        head: ChainHash::START,
        fingerprint: Fingerprint::of(&payload(), &[]),
        fingerprint_scheme: FINGERPRINT_SCHEME,
        policy_version: 1,
        attempt: None,
        money: None,
        superseded_by: None,
        duplicates_prevented: 0,
        open_conflicts: 0,
        created_at: at,
        updated_at: at,
        content: guard::retention::Content::Kept,
    }
}

/// A look for [`operation`]. No secret is ever in it.
pub async fn look(destination: &Destination) -> Looked {
    let trial = Destinations::default().look_up(destination, &workflow(), &operation(), Some(&payload())).await;
    let looked = trial.looked;
    let told = format!("{looked:?}{}", serde_json::to_string(&looked).unwrap());
    assert!(!told.contains("s3cret"), "{told}");
    looked
}

/// The class of a look from which nothing follows, and the reason.
#[track_caller]
pub fn nothing(looked: &Looked) -> (AnswerClass, &str) {
    let Finding::Inconclusive { class, reason } = &looked.finding else { panic!("{:?}", looked.finding) };
    (*class, reason)
}
