//! Fresh databases, and operations to put into them.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::decision::DecisionName;
use guard::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use guard::id::{OperationId, TokenId};
use guard::json::Json;
use guard::key::{KeyPart, OperationKey};
use guard::money::Money;
use guard::operation::{Attempt, LeaseToken, Operation};
use guard::payload::Payload;
use guard::retention::HoldChange;
use guard::review::ReviewChange;
use guard::state::State;
use guard::store::{AmendmentChange, Delivery, NewOperation, RecoveryChange, Replacement};
use guard::summary::{Count, Counted};
use guard::trail::{ChainHash, Entry, EntryKind};
use server::clock::{OsEntropy, SystemClock};
use server::store::{Database, Pool};
use tempfile::TempDir;

/// A database of its own for one test.
pub struct Fresh {
    pub database: Database,
    pub url: String,
    home: Home,
}

enum Home {
    Folder(TempDir),
    Server { url: String, name: String },
}

impl Fresh {
    /// An empty SQLite file.
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/below/onceover.db", folder.path().display());
        let database = open(&url).await;
        Self { database, url, home: Home::Folder(folder) }
    }

    /// An empty PostgreSQL database; none where PostgreSQL is left out on purpose.
    pub async fn postgres() -> Option<Self> {
        let Ok(server) = std::env::var("ONCEOVER_TEST_POSTGRES") else {
            let is_left_out = std::env::var("ONCEOVER_SKIP_POSTGRES").is_ok_and(|value| value == "1");
            assert!(
                is_left_out,
                "ONCEOVER_TEST_POSTGRES is not set: run scripts/with-postgres.sh, or set ONCEOVER_SKIP_POSTGRES=1"
            );
            return None;
        };
        let name = format!("store_{}", hex::encode(OsEntropy.bytes()));
        let pool = sqlx::PgPool::connect(&server).await.unwrap();
        sqlx::query(&format!("CREATE DATABASE {name}")).execute(&pool).await.unwrap();
        pool.close().await;
        let (address, parameters) =
            server.split_once('?').map_or((server.as_str(), ""), |(before, after)| (before, after));
        let (address, _) = address.rsplit_once('/').unwrap();
        let url = format!("{address}/{name}?{parameters}");
        let database = open(&url).await;
        Some(Self { database, url, home: Home::Server { url: server, name } })
    }

    /// Closes it and opens it again, as a restart does.
    pub async fn reopened(self) -> Self {
        self.database.close().await;
        Self { database: open(&self.url).await, ..self }
    }

    /// Opens the same database once more, as another process does.
    pub async fn opened_again(&self) -> Database {
        open(&self.url).await
    }

    /// Closes it and takes it away.
    pub async fn remove(self) {
        self.database.close().await;
        match self.home {
            Home::Folder(folder) => folder.close().unwrap(),
            Home::Server { url, name } => {
                let pool = sqlx::PgPool::connect(&url).await.unwrap();
                sqlx::query(&format!("DROP DATABASE {name} WITH (FORCE)")).execute(&pool).await.unwrap();
                pool.close().await;
            }
        }
    }

    /// Does something to the tables behind the store's back; answers how many rows it touched.
    pub async fn tamper(&self, sql: &str) -> Result<u64, String> {
        match &self.database.pool {
            Pool::Sqlite(pool) => {
                let done = sqlx::query(sql).execute(pool).await;
                done.map(|done| done.rows_affected()).map_err(|error| error.to_string())
            }
            Pool::Postgres(pool) => {
                let done = sqlx::query(sql).execute(pool).await;
                done.map(|done| done.rows_affected()).map_err(|error| error.to_string())
            }
        }
    }

    /// Makes PostgreSQL refuse the next so many inserts of operations with this SQLSTATE.
    #[allow(dead_code, reason = "each test binary uses a part")]
    pub async fn refuse_inserts(&self, sqlstate: &str, inserts: u32) {
        let function = format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF nextval('refused') <= {inserts} THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = '{sqlstate}'; END IF; \
             RETURN NEW; END $$"
        );
        // What a sequence gave is not taken back with the transaction.
        let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON operation FOR EACH ROW EXECUTE FUNCTION refuse()";
        for sql in ["CREATE SEQUENCE refused", function.as_str(), trigger] {
            self.tamper(sql).await.unwrap();
        }
    }

    /// A number that the tables hold.
    pub async fn number(&self, sql: &str) -> i64 {
        match &self.database.pool {
            Pool::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await.unwrap(),
            Pool::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await.unwrap(),
        }
    }

    /// An id as the dialect writes it in SQL.
    pub fn id(&self, id: u128) -> String {
        match &self.database.pool {
            Pool::Sqlite(_) => format!("x'{id:032x}'"),
            Pool::Postgres(_) => format!("'{}'::uuid", OperationId::from_u128(id)),
        }
    }

    /// Bytes as the dialect writes them in SQL.
    pub fn bytes(&self, bytes: &[u8]) -> String {
        match &self.database.pool {
            Pool::Sqlite(_) => format!("x'{}'", hex::encode(bytes)),
            Pool::Postgres(_) => format!("'\\x{}'::bytea", hex::encode(bytes)),
        }
    }

    /// Stores a new operation of this document.
    pub async fn begun(&self, document: &str) -> Operation {
        let new = begun(document);
        let operation = new.operation.clone();
        self.database.store.insert_if_absent(new).await.unwrap();
        operation
    }

    /// How the store holds the operation now.
    pub async fn stored(&self, id: OperationId) -> Operation {
        self.database.store.operation(id).await.unwrap().unwrap()
    }
}

async fn open(url: &str) -> Database {
    Database::open(url, Arc::new(OsEntropy)).await.unwrap()
}

/// The present moment of this machine.
pub fn now() -> Timestamp {
    SystemClock::new().now()
}

/// A moment, so many milliseconds after some other.
pub fn moment(milliseconds: i64) -> Timestamp {
    chrono::DateTime::from_timestamp_millis(1_790_000_000_000 + milliseconds).unwrap()
}

/// Who did what in these tests.
pub fn actor() -> Actor {
    Actor::Token { name: "billing".to_owned(), worker: Some("worker 1".to_owned()) }
}

/// The key of a document.
pub fn key(document: &str) -> OperationKey {
    let part = |text: &str| KeyPart::new(text).unwrap();
    OperationKey {
        workflow: part("handoff"),
        company: part("ACME"),
        source_system: part("shop"),
        document: part(document),
        action: part("create"),
        revision: 1,
    }
}

/// A new operation of this document, begun now, in sending.
pub fn begun(document: &str) -> NewOperation {
    begun_as(key(document), now())
}

/// A new operation with this key, begun at this moment, in sending for a minute.
pub fn begun_as(key: OperationKey, at: Timestamp) -> NewOperation {
    let text = format!(r#"{{"document":"{}","total":"118.00","currency":"EUR"}}"#, key.document);
    let payload = Payload::parse(text.as_bytes()).unwrap();
    let lease_expires_at = at + TimeDelta::seconds(60);
    let state = State::Sending { since: at, lease_expires_at };
    let fingerprint = Fingerprint::of(&payload, &[]);
    let lease_token = LeaseToken::new(OsEntropy.bytes());
    let detail = object(&[
        ("state", state.name().as_str()),
        ("lease", &lease_token.digest()),
        ("key", &hex::encode(key.hash())),
        ("fingerprint", &fingerprint.to_string()),
    ]);
    let entry = Entry::following((0, ChainHash::START), at, actor(), EntryKind::Begun, detail);
    let money = Money { amount: "118.00".parse().unwrap(), currency: "EUR".to_owned() };
    let counts =
        vec![Count::one(key.workflow.as_str(), key.company.as_str(), Counted::Entered(state.name()), at, Some(&money))];
    let operation = Operation {
        id: OperationId::new(at, OsEntropy.bytes()),
        key,
        state,
        version: 1,
        head: entry.hash,
        fingerprint,
        fingerprint_scheme: FINGERPRINT_SCHEME,
        policy_version: 1,
        attempt: Some(Attempt {
            number: 1,
            lease_token,
            token: TokenId::new(at, OsEntropy.bytes()),
            begin_id: Some("try 1".to_owned()),
            worker: Some("worker 1".to_owned()),
            begun_at: at,
        }),
        money: Some(money),
        superseded_by: None,
        duplicates_prevented: 0,
        open_conflicts: 0,
        created_at: at,
        updated_at: at,
        content: guard::retention::Content::Kept,
    };
    NewOperation { operation, payload: payload.to_text(), day: None, look: None, entry, counts, amendment: None }
}

/// An object of texts.
pub fn object(members: &[(&str, &str)]) -> Json {
    Json::Object(members.iter().map(|(name, value)| ((*name).to_owned(), Json::String((*value).to_owned()))).collect())
}

/// The change of an operation into a state.
pub fn change(operation: &Operation, state: State, at: Timestamp) -> Replacement {
    let mut facts = vec![("state", state.name().as_str())];
    facts.extend(state.destination_reference().map(|reference| ("destination_reference", reference)));
    let detail = object(&facts);
    let entry = Entry::following((operation.version, operation.head), at, actor(), EntryKind::Reported, detail);
    let key = &operation.key;
    let counts = vec![Count::one(
        key.workflow.as_str(),
        key.company.as_str(),
        Counted::Entered(state.name()),
        at,
        operation.money.as_ref(),
    )];
    let operation = Operation { state, version: entry.sequence, head: entry.hash, updated_at: at, ..operation.clone() };
    Replacement {
        operation,
        entry,
        conflict: None,
        decided: None,
        evidence: None,
        file: None,
        response: None,
        supersedes: None,
        recovery: RecoveryChange::Keep,
        review: ReviewChange::Keep,
        reconciled: None,
        counts,
        amendment: AmendmentChange::Keep,
        payload: None,
        hold: HoldChange::Keep,
        dropped: None,
    }
}

/// The change into confirmed.
pub fn confirmation(operation: &Operation) -> Replacement {
    let at = now();
    change(operation, State::Confirmed { since: at, destination_reference: "task 907".to_owned() }, at)
}

/// The change into unknown.
pub fn uncertainty(operation: &Operation, since: Timestamp) -> Replacement {
    change(operation, State::Unknown { since, reason: "the connection was lost".to_owned() }, since)
}

/// Looks again and again, for at most five seconds, until it holds.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    for _ in 0..250 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("did not come true: {what}");
}

/// Runs each of these tests against both databases.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let fresh = crate::support::Fresh::sqlite().await;
                    super::$name(fresh).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(fresh) = crate::support::Fresh::postgres().await {
                        super::$name(fresh).await;
                    }
                }
            )+
        }
    };
}
pub(crate) use on_both;

/// A delivery of this operation, now.
pub fn delivery(operation: &Operation, decision: DecisionName) -> Delivery {
    let at = now();
    let key = &operation.key;
    let money = operation.money.as_ref();
    Delivery {
        operation: Some(operation.id),
        at,
        decision,
        conflict: None,
        worker: Some("worker 2".to_owned()),
        delivery_id: Some("message 5".to_owned()),
        request_id: None,
        count: Count::one(key.workflow.as_str(), key.company.as_str(), Counted::Decision(decision), at, money),
        held_by: decision.holds_repetition().then(|| operation.attempt_number()),
    }
}
