//! A running server, and the persons who use it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::{Clock, Timestamp};
use guard::conflict::ConflictVerdict;
use guard::event::Resolution;
use guard::id::{OperationId, PersonId};
use guard::lookup::{Finding, Looked};
use guard::person::{Person, Role};
use guard::review::{Look, Ruling};
use guard::service::{ConflictSettled, Definitions, Guard, SeenConflict, Settled};
use guard::token::{Reach, Scope};
use serde_json::Value;
use server::clock::OsEntropy;
use server::router::router;
use server::session::{Gate, GateSettings};
use server::state::{Server, Settings};
use server::store::Database;

use crate::answer::{Answer, Grant};
use crate::support::Fresh;

/// The workflows that the tests use: one step, two steps, one that leaves out what changes with each try, and one whose total may be
/// amended.
const WORKFLOWS: &str = r#"
[[workflow]]
name = "handoff"
actions = ["post", "cancel", "pay"]
lease_seconds = 60
max_lease_seconds = 3600
amount = "/total"
currency = "/currency"

[[workflow]]
name = "two-step"
actions = ["post"]
two_step = true

[[workflow]]
name = "volatile"
actions = ["post"]
volatile = ["/meta/attempt", "/meta/sent_at", "/created", "/modified"]

[[workflow]]
name = "amendable"
actions = ["post"]

[workflow.amendment]
amendable = ["/total"]
before_reconciliation = "amend"
"#;

/// A clock that runs, and can be moved ahead by hand.
pub struct MovableClock {
    base: Arc<dyn Clock>,
    ahead_milliseconds: AtomicI64,
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        self.base.now() + TimeDelta::milliseconds(self.ahead_milliseconds.load(Ordering::SeqCst))
    }
}

/// A running server with its database.
pub struct Desk {
    pub server: Server,
    pub address: SocketAddr,
    clock: Arc<MovableClock>,
    client: reqwest::Client,
    pub fresh: Fresh,
}

impl Desk {
    /// A server over this database.
    pub async fn over(fresh: Fresh) -> Self {
        Self::with(fresh, |_| {}).await
    }

    /// A server over this database with other settings.
    pub async fn with(fresh: Fresh, change: impl FnOnce(&mut Settings)) -> Self {
        let base = Arc::clone(&fresh.database.clock);
        let clock = Arc::new(MovableClock { base, ahead_milliseconds: AtomicI64::new(0) });
        let (server, address) = serve(&fresh.database, &clock, change).await;
        let definitions: Definitions = toml::from_str(WORKFLOWS).unwrap();
        server.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        Self { server, address, clock, client: client(), fresh }
    }

    /// A second server over the same database, as another process.
    pub async fn second(&self) -> SecondServer {
        let database = self.fresh.opened_again().await;
        let (server, address) = serve(&database, &self.clock, |_| {}).await;
        SecondServer { server, address }
    }

    /// Time passes.
    pub fn pass(&self, seconds: i64) {
        self.clock.ahead_milliseconds.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    /// A worker with every scope, everywhere.
    pub async fn worker(&self, name: &str) -> Worker {
        self.worker_within(name, Reach::EVERYTHING, &Scope::ALL).await
    }

    /// A worker whose token is limited to one company.
    pub async fn worker_of(&self, company: &str) -> Worker {
        let reach = Reach::over([company.to_owned()], []);
        let worker = self.worker_within(&format!("worker of {company}"), reach, &Scope::ALL).await;
        Worker { company: company.to_owned(), ..worker }
    }

    /// A worker whose token has this reach and these scopes.
    pub async fn worker_within(&self, name: &str, reach: Reach, scopes: &[Scope]) -> Worker {
        let scopes: BTreeSet<Scope> = scopes.iter().copied().collect();
        let made = self.server.guard.create_token(name, scopes, reach, &Actor::CommandLine).await;
        let (token, secret) = made.unwrap();
        Worker {
            client: self.client.clone(),
            address: self.address,
            id: token.id,
            secret: secret.reveal().to_owned(),
            workflow: "handoff".to_owned(),
            company: "ACME".to_owned(),
        }
    }

    /// Somebody without a token.
    pub fn stranger(&self) -> Worker {
        Worker {
            client: self.client.clone(),
            address: self.address,
            id: guard::id::TokenId::from_u128(0),
            secret: String::new(),
            workflow: "handoff".to_owned(),
            company: "ACME".to_owned(),
        }
    }

    /// An operator decides at the desk what is uncertain.
    pub async fn resolve(&self, id: &str, resolution: Resolution) -> Settled {
        let id: OperationId = id.parse().unwrap();
        let operator = Person {
            id: PersonId::from_u128(1),
            email: "olga@example.test".to_owned(),
            role: Role::Operator,
            reach: Reach::EVERYTHING,
        };
        let version = self.server.guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
        let guard = &self.server.guard;
        let look = match &resolution {
            Resolution::Confirmed { destination_reference } => Some(Look {
                asked_at: guard.now(),
                looked: Looked {
                    request: "GET /tasks".to_owned(),
                    status: Some(200),
                    pages: 1,
                    took_milliseconds: 12,
                    finding: Finding::Found { destination_reference: destination_reference.clone() },
                    candidates: Vec::new(),
                },
                acknowledged: None,
            }),
            Resolution::NotApplied { .. } | Resolution::Dropped { .. } => None,
        };
        let (reason, link) = ("looked it up there".to_owned(), Some("https://tickets.example/4711".to_owned()));
        guard
            .resolve(&operator, id, &Ruling { seen_version: version, resolution, reason, link, file: None, look })
            .await
            .unwrap()
    }

    /// An operator decides a conflict at the desk.
    pub async fn decide_conflict(&self, conflict: &Value, verdict: ConflictVerdict) -> ConflictSettled {
        let id = conflict["id"].as_str().unwrap().parse().unwrap();
        let operator = Person {
            id: PersonId::from_u128(1),
            email: "olga@example.test".to_owned(),
            role: Role::Operator,
            reach: Reach::EVERYTHING,
        };
        let guard = &self.server.guard;
        let report = guard.conflict_report(&Reach::EVERYTHING, id).await.unwrap();
        let seen = SeenConflict { version: report.operation.version, received: report.conflict.fingerprint };
        guard.decide_conflict(&operator, id, &seen, &verdict, "asked the supplier", None).await.unwrap()
    }

    /// What the store goes away for: closes it under the running server.
    pub async fn lose_the_store(&self) {
        self.fresh.database.close().await;
    }

    /// Stops, and takes the database away.
    pub async fn close(self) {
        self.server.drain();
        self.fresh.remove().await;
    }
}

/// A second server over the same database.
pub struct SecondServer {
    pub server: Server,
    address: SocketAddr,
}

impl SecondServer {
    /// The same worker, asking here.
    pub fn worker(&self, other: &Worker) -> Worker {
        Worker { address: self.address, ..other.clone() }
    }
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn serve(
    database: &Database,
    clock: &Arc<MovableClock>,
    change: impl FnOnce(&mut Settings),
) -> (Server, SocketAddr) {
    let entropy = || Arc::new(OsEntropy);
    let clock: Arc<dyn Clock> = Arc::<MovableClock>::clone(clock);
    let guard = Guard::open(Arc::clone(&database.store), Arc::clone(&database.registry), clock, entropy());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let public_url = format!("http://{address}");
    let mut settings = Settings::at(&public_url);
    change(&mut settings);
    let server = Server::new(guard.await.unwrap(), database.clone(), entropy(), settings);
    let gate = Gate::open(server.guard.clone(), database, entropy(), GateSettings::at(&public_url)).await.unwrap();
    let routes = router(server.clone(), &gate).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (server, address)
}

/// An automation with its token.
#[derive(Clone)]
pub struct Worker {
    client: reqwest::Client,
    address: SocketAddr,
    pub id: guard::id::TokenId,
    pub secret: String,
    workflow: String,
    company: String,
}

impl Worker {
    /// The same worker in another workflow.
    pub fn in_workflow(&self, workflow: &str) -> Self {
        Self { workflow: workflow.to_owned(), ..self.clone() }
    }

    /// The same worker for another company.
    pub fn for_company(&self, company: &str) -> Self {
        Self { company: company.to_owned(), ..self.clone() }
    }

    /// Asks whether a document may be posted; the payload is JSON text.
    pub fn begin(&self, document: &str, payload: &str) -> Begin {
        let text = |value: &str| Value::String(value.to_owned()).to_string();
        let members = vec![
            ("workflow".to_owned(), text(&self.workflow)),
            ("company".to_owned(), text(&self.company)),
            ("source_system".to_owned(), text("erp")),
            ("document".to_owned(), text(document)),
            ("action".to_owned(), text("post")),
            ("payload".to_owned(), payload.to_owned()),
        ];
        Begin { worker: self.clone(), members, wait_seconds: None }
    }

    /// A request of any kind with this worker's token.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        if self.secret.is_empty() { request } else { request.bearer_auth(&self.secret) }
    }

    /// Reads a path.
    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(reqwest::Method::GET, path).send().await.unwrap()).await
    }

    /// Posts JSON text to a path.
    pub async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request(reqwest::Method::POST, path).header("content-type", "application/json");
        Answer::of(request.body(body).send().await.unwrap()).await
    }

    /// Reports on an attempt; `facts` is JSON members without braces.
    pub async fn report(&self, grant: &Grant, facts: &str) -> Answer {
        let body = format!("{{\"lease_token\":\"{}\",{facts}}}", grant.lease_token);
        self.post(&format!("/api/v1/operations/{}/outcome", grant.id), body).await
    }

    /// The destination holds the record.
    pub async fn confirm(&self, grant: &Grant, reference: &str) -> Answer {
        self.report(grant, &format!("\"outcome\":\"confirmed\",\"destination_reference\":\"{reference}\"")).await
    }

    /// Proven not applied.
    pub async fn fail(&self, grant: &Grant, reason: &str) -> Answer {
        self.report(grant, &format!("\"outcome\":\"failed\",\"reason\":\"{reason}\"")).await
    }

    /// It may have been applied.
    pub async fn lose_track(&self, grant: &Grant, reason: &str) -> Answer {
        self.report(grant, &format!("\"outcome\":\"unknown\",\"reason\":\"{reason}\"")).await
    }

    /// Marks the sending.
    pub async fn mark_sending(&self, grant: &Grant) -> Answer {
        let body = format!("{{\"lease_token\":\"{}\"}}", grant.lease_token);
        self.post(&format!("/api/v1/operations/{}/sending", grant.id), body).await
    }

    /// Is still at it.
    pub async fn heartbeat(&self, grant: &Grant, lease_seconds: u32) -> Answer {
        let body = format!("{{\"lease_token\":\"{}\",\"lease_seconds\":{lease_seconds}}}", grant.lease_token);
        self.post(&format!("/api/v1/operations/{}/heartbeat", grant.id), body).await
    }

    /// Reads an operation.
    pub async fn read(&self, id: &str) -> Value {
        let answer = self.get(&format!("/api/v1/operations/{id}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The kinds of the events of an operation, oldest first.
    pub async fn event_kinds(&self, id: &str) -> Vec<String> {
        let events = self.get(&format!("/api/v1/operations/{id}/events")).await.json();
        let events = events["events"].as_array().unwrap().clone();
        events.iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
    }
}

/// A begin before it is sent.
#[derive(Clone)]
pub struct Begin {
    worker: Worker,
    members: Vec<(String, String)>,
    wait_seconds: Option<u64>,
}

impl Begin {
    /// With this member, JSON text; replaces one that is there.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.members.retain(|(known, _)| known != name);
        self.members.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without this member.
    pub fn without(mut self, name: &str) -> Self {
        self.members.retain(|(known, _)| known != name);
        self
    }

    /// With this random value of one try.
    pub fn begin_id(self, id: &str) -> Self {
        self.with("begin_id", &format!("\"{id}\""))
    }

    /// Held for so long where the answer is "wait".
    pub fn wait(self, seconds: u64) -> Self {
        Self { wait_seconds: Some(seconds), ..self }
    }

    /// The body.
    pub fn body(&self) -> String {
        let members: Vec<String> = self.members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

impl IntoFuture for Begin {
    type Output = Answer;
    type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let request = self.worker.request(reqwest::Method::POST, "/api/v1/operations");
            let mut request = request.header("content-type", "application/json");
            if let Some(seconds) = self.wait_seconds {
                request = request.header("prefer", format!("wait={seconds}"));
            }
            Answer::of(request.body(self.body()).send().await.unwrap()).await
        })
    }
}
