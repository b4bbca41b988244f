//! A server as far as deciding goes: a guard over a database of its own handle.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta};
use guard::actor::Actor;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::decision::Decision;
use guard::event::Outcome;
use guard::id::TokenId;
use guard::key::OperationKey;
use guard::operation::Operation;
use guard::payload::Payload;
use guard::refusal::Refusal;
use guard::service::{BeginRequest, Definitions, Guard, Report};
use guard::token::{Reach, Scope, Token};
use server::clock::OsEntropy;
use server::store::Database;

use crate::support::{Fresh, key};

/// A clock that is moved by hand, the same for all servers of a test.
pub struct HandClock {
    milliseconds: AtomicI64,
}

impl HandClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { milliseconds: AtomicI64::new(1_790_000_000_000) })
    }

    pub fn advance(&self, by: TimeDelta) {
        self.milliseconds.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        DateTime::from_timestamp_millis(self.milliseconds.load(Ordering::SeqCst)).unwrap()
    }
}

/// One of several servers.
#[derive(Clone)]
pub struct Server {
    pub database: Database,
    pub guard: Guard,
    token: Token,
}

impl Server {
    /// A server over this handle, with the database's clock.
    pub async fn over(database: Database) -> Self {
        let clock = Arc::clone(&database.clock);
        Self::with_clock(database, clock).await
    }

    /// A server over this handle, with another clock.
    pub async fn with_clock(database: Database, clock: Arc<dyn Clock>) -> Self {
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let guard = Guard::open(store, registry, clock, Arc::new(OsEntropy)).await.unwrap();
        let definitions: Definitions =
            serde_json::from_str(r#"{"workflow": [{"name": "handoff", "lease_seconds": 60}]}"#).unwrap();
        guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let token = Token {
            id: TokenId::new(guard.now(), OsEntropy.bytes()),
            name: "billing".to_owned(),
            scopes: BTreeSet::from(Scope::ALL),
            reach: Reach::EVERYTHING,
            created_at: guard.now(),
            created_by: Actor::CommandLine,
            revoked_at: None,
        };
        Self { database, guard, token }
    }

    /// Three servers over one database.
    pub async fn three(fresh: &Fresh, clock: Option<&Arc<HandClock>>) -> Vec<Self> {
        let mut servers = Vec::new();
        for _ in 0..3 {
            let database = fresh.opened_again().await;
            servers.push(match clock {
                Some(clock) => Self::with_clock(database, Arc::<HandClock>::clone(clock)).await,
                None => Self::over(database).await,
            });
        }
        servers
    }

    /// May this document be sent?
    pub async fn begin(&self, document: &str) -> Result<Decision, Refusal> {
        let request = BeginRequest {
            key: key(document),
            payload: payload(&key(document)),
            worker: Some("worker 1".to_owned()),
            delivery_id: None,
            begin_id: Some(hex::encode(OsEntropy.bytes())),
            lease_seconds: None,
            request_id: None,
        };
        let decision = self.guard.begin(&self.token, &request).await?;
        self.guard.delivered(&request, &decision);
        Ok(decision)
    }

    /// The destination has it, under the document's number.
    pub async fn confirm(&self, operation: &Operation) -> Result<Operation, Refusal> {
        let report = Report {
            lease_token: operation.attempt.as_ref().unwrap().lease_token.clone(),
            outcome: Outcome::Confirmed { destination_reference: operation.key.document.to_string() },
            response: None,
            request_id: None,
        };
        self.guard.report(&self.token, operation.id, &report).await
    }
}

fn payload(key: &OperationKey) -> Payload {
    Payload::parse(format!(r#"{{"document":"{}","total":"118.00"}}"#, key.document).as_bytes()).unwrap()
}

/// Closes them all.
pub async fn close(servers: Vec<Server>) {
    for server in servers {
        server.database.close().await;
    }
}
