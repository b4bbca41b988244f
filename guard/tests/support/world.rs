//! A guard over a store in memory, with a clock that is moved by hand, and persons who use it.

#![allow(dead_code, reason = "each test uses its part of the world")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![allow(clippy::clone_on_ref_ptr, reason = "a trait object is made of a counted pointer by its clone")]

pub mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use chrono::TimeZone as _;
use guard::actor::Actor;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::decision::Decision;
use guard::destination::{Destination, Lookup};
use guard::event::{Outcome, Resolution};
use guard::id::{OperationId, PersonId};
use guard::json::Json;
use guard::key::{KeyPart, OperationKey};
use guard::lookup::{Finding, Looked};
use guard::operation::{LeaseToken, Operation};
use guard::payload::Payload;
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::review::{Look, Ruling};
use guard::service::{BeginRequest, Definitions, Guard, Report, Settled};
use guard::state::{State, StateName};
use guard::token::{Reach, Scope, Token};
use guard::trail::{ChainHash, Entry};
use guard::workflow::Workflow;

#[allow(unused_imports, reason = "each test uses its part of the world")]
pub use memory::{Fault, Memory};

/// The moment at which every world starts.
pub fn start() -> Timestamp {
    chrono::Utc.with_ymd_and_hms(2026, 3, 1, 9, 0, 0).unwrap()
}

/// A clock that stands still until somebody moves it.
pub struct HandClock(AtomicI64);

impl HandClock {
    pub fn advance(&self, seconds: i64) {
        self.advance_ms(seconds * 1_000);
    }

    pub fn advance_ms(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        chrono::Utc.timestamp_millis_opt(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// Bytes that are never the same twice, and the same in every run.
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn bytes(&self) -> [u8; 16] {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        u128::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_be_bytes()
    }
}

/// A guard and what is around it.
pub struct World {
    pub memory: Arc<Memory>,
    pub clock: Arc<HandClock>,
    pub guard: Guard,
    entropy: Arc<Counting>,
}

/// A workflow in one step with a lease of a minute, `/meta/attempt` and `/meta/sent_at` volatile, and money.
pub const HANDOFF: &str = "handoff";

/// The same in two steps.
pub const CAREFUL: &str = "careful";

pub fn handoff() -> Workflow {
    Workflow {
        volatile: vec!["/meta/attempt".parse().unwrap(), "/meta/sent_at".parse().unwrap()],
        amount: Some("/amount".parse().unwrap()),
        currency: Some("/currency".parse().unwrap()),
        ..Workflow::named(KeyPart::new(HANDOFF).unwrap())
    }
}

pub fn careful() -> Workflow {
    Workflow { two_step: true, name: KeyPart::new(CAREFUL).unwrap(), ..handoff() }
}

/// A destination that can be asked, with this finality window in seconds.
pub fn ledger(finality_seconds: Option<u32>) -> Destination {
    let lookup = Lookup {
        method: "GET".to_owned(),
        path: "/tasks?external_reference={{ external_reference }}".to_owned(),
        records: "$.items[*]".to_owned(),
        external_reference: "$.external_reference".to_owned(),
        reference: "$.id".to_owned(),
        next_page: None,
        void: None,
        inconclusive: Vec::new(),
        absent: Vec::new(),
    };
    Destination {
        name: "ledger".to_owned(),
        base_url: "http://127.0.0.1:1".to_owned(),
        timeout_seconds: 10,
        finality_seconds,
        headers: BTreeMap::new(),
        idempotency_header: None,
        idempotency_ttl_seconds: None,
        lookups_per_second: None,
        create: None,
        lookup: Some(lookup),
        list: None,
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(vec![handoff(), careful()]).await
    }

    pub async fn with(workflows: Vec<Workflow>) -> Self {
        let memory = Arc::new(Memory::default());
        let clock = Arc::new(HandClock(AtomicI64::new(start().timestamp_millis())));
        let entropy = Arc::new(Counting(AtomicU64::new(1)));
        let guard =
            Guard::open(memory.clone(), memory.clone(), clock.clone(), entropy.clone()).await.expect("an empty store");
        let world = Self { memory, clock, guard, entropy };
        world.apply(workflows).await;
        world
    }

    pub async fn apply(&self, workflows: Vec<Workflow>) {
        self.configure(workflows, Vec::new()).await;
    }

    pub async fn configure(&self, workflows: Vec<Workflow>, destinations: Vec<Destination>) {
        let definitions = Definitions { workflows, destinations, ..Definitions::default() };
        self.guard.apply(&definitions, &Actor::CommandLine).await.expect("definitions that hold");
    }

    /// Another process on the same store, with what is configured as it is now.
    pub async fn another_process(&self) -> Guard {
        Guard::open(self.memory.clone(), self.memory.clone(), self.clock.clone(), self.entropy.clone())
            .await
            .expect("the store")
    }

    pub async fn worker(&self, name: &str) -> Worker {
        self.worker_within(name, Reach::EVERYTHING).await
    }

    pub async fn worker_within(&self, name: &str, reach: Reach) -> Worker {
        let scopes = BTreeSet::from([Scope::OperationsWrite]);
        let (token, _) = self.guard.create_token(name, scopes, reach, &Actor::CommandLine).await.expect("a token");
        Worker { guard: self.guard.clone(), token, name: name.to_owned() }
    }

    pub fn operator(&self) -> Operator {
        self.person(Role::Operator)
    }

    pub fn person(&self, role: Role) -> Operator {
        let id = PersonId::new(start(), [7; 16]);
        let person = Person { id, email: "ada@example.test".to_owned(), role, reach: Reach::EVERYTHING };
        Operator { guard: self.guard.clone(), person }
    }

    pub async fn operation(&self, id: OperationId) -> Operation {
        self.guard.operation(&Reach::EVERYTHING, id).await.expect("an operation")
    }

    pub async fn state(&self, id: OperationId) -> StateName {
        self.operation(id).await.state.name()
    }

    pub fn entries(&self, id: OperationId) -> Vec<Entry> {
        self.memory.trail(id)
    }

    /// The kinds of an operation's trail, in order.
    pub fn told(&self, id: OperationId) -> Vec<&'static str> {
        self.entries(id).iter().map(|entry| entry.kind.as_str()).collect()
    }
}

/// An automation with its token.
#[derive(Clone)]
pub struct Worker {
    pub guard: Guard,
    pub token: Token,
    pub name: String,
}

impl Worker {
    /// The same automation, talking to another process.
    pub fn through(&self, guard: Guard) -> Self {
        Self { guard, ..self.clone() }
    }

    pub fn asks(&self, document: &str) -> Ask {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part(HANDOFF),
            company: part("acme"),
            source_system: part("shop"),
            document: part(document),
            action: part("create"),
            revision: 1,
        };
        let request = BeginRequest {
            key,
            payload: payload(r#"{"amount":"118.00","currency":"INR"}"#),
            worker: Some(format!("{}-1", self.name)),
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        Ask { worker: self.clone(), request }
    }

    /// Begins and expects to be permitted.
    pub async fn owns(&self, document: &str) -> Permit {
        self.asks(document).permit().await
    }

    pub async fn marks(&self, permit: &Permit) -> Result<Operation, Refusal> {
        self.guard.mark_sending(&self.token, permit.id, &permit.lease).await
    }

    pub async fn extends(&self, permit: &Permit, seconds: u32) -> Result<Operation, Refusal> {
        self.guard.extend(&self.token, permit.id, &permit.lease, Some(seconds)).await
    }

    pub async fn confirms(&self, permit: &Permit, reference: &str) -> Result<Operation, Refusal> {
        self.reports(permit, confirmed(reference)).await
    }

    pub async fn fails(&self, permit: &Permit, reason: &str) -> Result<Operation, Refusal> {
        self.reports(permit, failed(reason)).await
    }

    pub async fn is_unsure(&self, permit: &Permit, reason: &str) -> Result<Operation, Refusal> {
        self.reports(permit, unknown(reason)).await
    }

    pub async fn reports(&self, permit: &Permit, outcome: Outcome) -> Result<Operation, Refusal> {
        self.hands_in(permit, outcome, None).await
    }

    pub async fn hands_in(
        &self,
        permit: &Permit,
        outcome: Outcome,
        response: Option<&str>,
    ) -> Result<Operation, Refusal> {
        let response = response.map(|text| Json::parse(text.as_bytes()).unwrap());
        let report = Report { lease_token: permit.lease.clone(), outcome, response, request_id: None };
        self.guard.report(&self.token, permit.id, &report).await
    }
}

/// A begin that is being put together.
#[derive(Clone)]
pub struct Ask {
    worker: Worker,
    pub request: BeginRequest,
}

impl Ask {
    pub fn in_workflow(mut self, workflow: &str) -> Self {
        self.request.key.workflow = KeyPart::new(workflow).unwrap();
        self
    }

    pub fn in_company(mut self, company: &str) -> Self {
        self.request.key.company = KeyPart::new(company).unwrap();
        self
    }

    pub fn with_action(mut self, action: &str) -> Self {
        self.request.key.action = KeyPart::new(action).unwrap();
        self
    }

    pub fn at_revision(mut self, revision: u32) -> Self {
        self.request.key.revision = revision;
        self
    }

    pub fn with(mut self, text: &str) -> Self {
        self.request.payload = payload(text);
        self
    }

    pub fn for_seconds(mut self, seconds: u32) -> Self {
        self.request.lease_seconds = Some(seconds);
        self
    }

    pub fn under(mut self, begin_id: &str) -> Self {
        self.request.begin_id = Some(begin_id.to_owned());
        self
    }

    pub fn delivered_as(mut self, delivery_id: &str) -> Self {
        self.request.delivery_id = Some(delivery_id.to_owned());
        self
    }

    pub fn named(mut self, worker: &str) -> Self {
        self.request.worker = Some(worker.to_owned());
        self
    }

    /// Begins, and takes note of the answer as the API does.
    pub async fn answer(&self) -> Result<Decision, Refusal> {
        let decision = self.worker.guard.begin(&self.worker.token, &self.request).await?;
        self.worker.guard.delivered(&self.request, &decision);
        Ok(decision)
    }

    pub async fn decision(&self) -> Decision {
        self.answer().await.expect("a decision")
    }

    pub async fn permit(&self) -> Permit {
        Permit::of(self.decision().await)
    }

    pub async fn refusal(&self) -> Refusal {
        self.answer().await.expect_err("a refusal")
    }

    /// The name of the decision: what an automation switches on.
    pub async fn hears(&self) -> &'static str {
        self.decision().await.name().as_str()
    }
}

/// A permission to send, as the worker keeps it.
#[derive(Clone, Debug)]
pub struct Permit {
    pub id: OperationId,
    pub attempt: u32,
    pub lease: LeaseToken,
    pub until: Timestamp,
    pub is_repeated: bool,
}

impl Permit {
    pub fn of(decision: Decision) -> Self {
        match decision {
            Decision::Proceed { operation, lease_token, lease_expires_at, repeated, amends: _ } => Self {
                id: operation.id,
                attempt: operation.attempt_number(),
                lease: lease_token,
                until: lease_expires_at,
                is_repeated: repeated,
            },
            other @ (Decision::Replay { .. }
            | Decision::Superseded { .. }
            | Decision::InProgress { .. }
            | Decision::Unknown { .. }
            | Decision::AwaitingApproval { .. }
            | Decision::ApprovalMissing { .. }
            | Decision::PreviousRevision { .. }
            | Decision::Rejected { .. }
            | Decision::Conflict { .. }) => panic!("expected proceed, got {other:?}"),
        }
    }
}

/// Somebody at the desk.
#[derive(Clone)]
pub struct Operator {
    pub guard: Guard,
    pub person: Person,
}

impl Operator {
    /// Looks at the operation, then says that the destination holds it.
    pub async fn confirms(&self, id: OperationId, reference: &str) -> Result<Settled, Refusal> {
        self.decides(id, Resolution::Confirmed { destination_reference: reference.to_owned() }).await
    }

    /// Looks at the operation, then says that the destination does not hold it.
    pub async fn denies(&self, id: OperationId) -> Result<Settled, Refusal> {
        self.decides(id, not_applied()).await
    }

    pub async fn decides(&self, id: OperationId, resolution: Resolution) -> Result<Settled, Refusal> {
        let seen = self.guard.operation(&self.person.reach, id).await?.version;
        self.decides_on(id, seen, resolution).await
    }

    /// Decides on the page as it was at `version`.
    pub async fn decides_on(&self, id: OperationId, version: u64, resolution: Resolution) -> Result<Settled, Refusal> {
        self.guard.resolve(&self.person, id, &ruling(&self.guard, version, resolution)).await
    }
}

/// A decision with everything that it needs: a link to evidence, and the destination showing what is confirmed.
pub fn ruling(guard: &Guard, seen_version: u64, resolution: Resolution) -> Ruling {
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
    let link = Some("https://tickets.example/4711".to_owned());
    Ruling { seen_version, resolution, reason: "looked in the ledger".to_owned(), link, file: None, look }
}

pub fn not_applied() -> Resolution {
    Resolution::NotApplied { reason: "the ledger has no such entry".to_owned() }
}

pub fn dropped() -> Resolution {
    Resolution::Dropped { reason: "nobody can ask a mail server".to_owned() }
}

pub fn payload(text: &str) -> Payload {
    Payload::parse(text.as_bytes()).unwrap()
}

pub fn confirmed(reference: &str) -> Outcome {
    Outcome::Confirmed { destination_reference: reference.to_owned() }
}

pub fn failed(reason: &str) -> Outcome {
    Outcome::Failed { reason: reason.to_owned() }
}

pub fn unknown(reason: &str) -> Outcome {
    Outcome::Unknown { reason: reason.to_owned() }
}

/// Walks an operation's chain: every entry follows on the one before it, and the operation stands at its end.
pub fn assert_chain(operation: &Operation, entries: &[Entry]) {
    let mut head = ChainHash::START;
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(entry.sequence, index as u64 + 1);
        assert_eq!(entry.hash, entry.hash_after(head), "entry {}", entry.sequence);
        Json::parse(entry.detail.to_string().as_bytes()).expect("facts that are strict JSON, no member twice");
        head = entry.hash;
    }
    assert_eq!(operation.head, head);
    assert_eq!(operation.version, entries.len() as u64);
}

/// The destination's record that a state names.
pub fn reference_of(state: &State) -> Option<&str> {
    state.destination_reference()
}
