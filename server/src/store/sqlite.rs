//! One SQLite file: a writer that commits in groups, and readers that it never holds up.

mod activity;
mod amendment;
mod behind;
mod call;
mod conflict;
mod connection;
mod fault;
mod fold;
mod ledger;
mod list;
mod lists;
mod look_alike;
mod notification;
mod page;
mod period;
mod proof;
mod queue;
mod readers;
mod reconciliation;
mod recovery;
mod registry;
mod retention;
mod review;
mod rules;
mod stretch;
mod triage;
mod work;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use guard::access::Access;
use guard::clock::Timestamp;
use guard::conflict::Conflict;
use guard::evidence::Evidence;
use guard::fingerprint::Fingerprint;
use guard::id::OperationId;
use guard::key::OperationKey;
use guard::operation::Operation;
use guard::queue::{Filter, Order, Page, PageRequest};
use guard::recovery::{Claim, Recovery};
use guard::refusal::StoreFault;
use guard::store::{Delivery, Insertion, NewOperation, Replaced, Replacement, Store};
use guard::summary::{Count, Recovering, Waiting};
use guard::token::Reach;
use guard::trail::Entry;
use rusqlite::{Connection, params};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::sync::oneshot;

use self::queue::Queue;
use self::readers::{Readers, all, one};
use self::recovery::Task;
use self::work::{Insert, Inserted, Replace};
use self::writer::{Writer, perform};
use super::row::{AccessRow, ConflictRow, CountRow, DeliveryRow, EvidenceRow, OperationRow, RecoveryRow};
use super::walk::Walk;
use super::{Backend, BackupError, Changes, OpenError};

/// The tables of a SQLite database, in the binary.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// So many connections serve sessions.
const SESSION_CONNECTIONS_MAX: u32 = 4;

/// Two processes that start at the same moment may get into each other's way this often.
const MIGRATION_TRIES_MAX: u32 = 5;

/// A store in one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    queue: Arc<Queue>,
    readers: Arc<Readers>,
    closed: Mutex<Option<oneshot::Receiver<()>>>,
}

impl SqliteStore {
    /// Opens the file, makes it where it is missing, and brings its tables up to date. Also gives connections for sessions.
    ///
    /// # Errors
    /// Which step failed.
    pub async fn open(path: &Path, changes: Changes) -> Result<(Self, sqlx::SqlitePool), OpenError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| OpenError::Folder { folder: folder.to_owned(), source })?;
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(connection::BUSY_SECONDS_MAX));
        let pool = SqlitePoolOptions::new().max_connections(SESSION_CONNECTIONS_MAX).connect_with(options).await;
        let pool = pool.map_err(|error| OpenError::Connect(format!("{}: {error}", path.display())))?;
        migrate(&pool).await?;
        let not_opened = |error: rusqlite::Error| OpenError::Connect(format!("{}: {error}", path.display()));
        let store = Self::start(path, connection::writer(path).map_err(not_opened)?, changes)?;
        Ok((store, pool))
    }

    /// Starts the writer and the readers.
    fn start(path: &Path, connection: Connection, changes: Changes) -> Result<Self, OpenError> {
        let not_opened = |error: rusqlite::Error| OpenError::Connect(format!("{}: {error}", path.display()));
        let queue = Arc::new(Queue::new());
        let readers = Arc::new(Readers::open(path).map_err(not_opened)?);
        let (closed_sender, closed) = oneshot::channel();
        let writer =
            Writer { path: path.to_owned(), queue: Arc::clone(&queue), changes, connection, closed: closed_sender };
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::Connect(format!("no thread for the writer: {error}")))?;
        Ok(Self { path: path.to_owned(), queue, readers, closed: Mutex::new(Some(closed)) })
    }

    /// A body of an operation: its payload, or the destination's response.
    fn body(&self, operation: OperationId, kind: &str) -> Result<Option<String>, StoreFault> {
        self.read_here(|connection| work::body(connection, operation, kind))
    }

    /// Reads a few rows right here: microseconds, less than handing it to another thread would take.
    fn read_here<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        self.readers.with(read)
    }

    /// Reads where it may take longer, away from the threads that answer requests, and all of it from one state of the store.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let readers = Arc::clone(&self.readers);
        let done = tokio::task::spawn_blocking(move || readers.with_one_view(read)).await;
        done.unwrap_or(Err(StoreFault::Unavailable))
    }
}

/// Without a close, the writer still finishes what waits; nobody waits for it.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
    }
}

async fn migrate(pool: &sqlx::SqlitePool) -> Result<(), OpenError> {
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default();
    let mut tries = 0;
    loop {
        tries += 1;
        match MIGRATIONS.run(pool).await {
            Ok(()) => return Ok(()),
            Err(MigrateError::VersionMissing(migration)) if migration > known => {
                return Err(OpenError::Newer { migration, known });
            }
            // Another process may have been at it: it is so already, or busy, and then it is looked at again.
            Err(error @ (MigrateError::Execute(_) | MigrateError::ExecuteMigration(..)))
                if tries < MIGRATION_TRIES_MAX =>
            {
                tracing::info!(%error, "another process may be bringing the tables up to date; trying again");
            }
            Err(error) => return Err(OpenError::Migrate(error.to_string())),
        }
    }
}

#[async_trait]
impl Backend for SqliteStore {
    async fn ready(&self) -> Result<(), StoreFault> {
        self.read_here(|connection| {
            let found: Result<i64, _> =
                connection.query_row("SELECT epoch FROM administration WHERE singleton = 1", [], |row| row.get(0));
            found.map(drop).map_err(|error| fault::of(&error, "administration", &1))
        })
    }

    async fn close(&self) {
        self.queue.close();
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(closed) = closed {
            // An error says that the writer is gone already.
            let _written = closed.await;
        }
        self.readers.close();
    }

    async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        if to.exists() {
            return Err(BackupError::Exists(to.to_owned()));
        }
        let (from, target) = (self.path.clone(), to.to_owned());
        let copied = tokio::task::spawn_blocking(move || copy(&from, &target)).await;
        let reason = match copied {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        Err(BackupError::Failed { to: to.to_owned(), reason })
    }

    async fn fold_counts(&self, until: Timestamp) -> Result<bool, StoreFault> {
        fold::oldest_day(self, until).await
    }
}

/// Copies the database as it is at one moment; the writer goes on meanwhile.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let target = to.to_str().ok_or("the path is not UTF-8")?;
    let connection = connection::reader(from).map_err(|error| error.to_string())?;
    connection.execute_batch("PRAGMA query_only = OFF;").map_err(|error| error.to_string())?;
    connection.execute("VACUUM INTO ?1", [target]).map_err(|error| error.to_string())?;
    let synced = std::fs::File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|error| error.to_string())
}

#[async_trait]
impl Store for SqliteStore {
    async fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        self.read_here(|connection| work::operation(connection, id))
    }

    async fn operation_by_key(&self, key: &OperationKey) -> Result<Option<Operation>, StoreFault> {
        let hash = key.hash();
        self.read_here(|connection| work::operation_by_hash(connection, &hash))
    }

    async fn insert_if_absent(&self, new: NewOperation) -> Result<Insertion, StoreFault> {
        Ok(match perform(&self.queue, Insert::from(new)).await? {
            Inserted::New => Insertion::Inserted,
            Inserted::Existing(existing) => Insertion::Existing(existing),
        })
    }

    async fn replace(&self, replacement: Replacement) -> Result<Replaced, StoreFault> {
        perform(&self.queue, Replace::from(replacement)).await
    }

    async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, StoreFault> {
        let Some(walk) = Walk::of(reach, filter, order, page) else { return Ok(Page::EMPTY) };
        self.read(move |connection| page::page(connection, &walk)).await
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> Result<Vec<Operation>, StoreFault> {
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM operation INDEXED BY operation_by_lease \
                 WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= ?1 ORDER BY lease_expires_at, id LIMIT ?2",
                OperationRow::COLUMNS
            );
            all::<OperationRow, _>(connection, "operation", &sql, params![now.timestamp_millis(), limit])
        })
        .await
    }

    async fn entries(&self, operation: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        self.read(move |connection| work::entries(connection, operation.into(), after, limit)).await
    }

    async fn payload(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        self.body(operation, "payload")
    }

    async fn response(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        self.body(operation, "response")
    }

    async fn conflict(
        &self,
        operation: OperationId,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Conflict>, StoreFault> {
        self.read_here(|connection| {
            let sql =
                format!("SELECT {} FROM conflict WHERE operation = ?1 AND fingerprint = ?2", ConflictRow::COLUMNS);
            one::<ConflictRow, _>(connection, "conflict", &sql, params![work::key(operation), fingerprint.as_bytes()])
        })
    }

    async fn conflicts(&self, operation: OperationId, limit: u32) -> Result<Vec<Conflict>, StoreFault> {
        self.read(move |connection| {
            let sql =
                format!("SELECT {} FROM conflict WHERE operation = ?1 ORDER BY id DESC LIMIT ?2", ConflictRow::COLUMNS);
            all::<ConflictRow, _>(connection, "conflict", &sql, params![work::key(operation), limit])
        })
        .await
    }

    async fn evidence(&self, operation: OperationId, limit: u32) -> Result<Vec<Evidence>, StoreFault> {
        self.read(move |connection| {
            let sql =
                format!("SELECT {} FROM evidence WHERE operation = ?1 ORDER BY id LIMIT ?2", EvidenceRow::COLUMNS);
            all::<EvidenceRow, _>(connection, "evidence", &sql, params![work::key(operation), limit])
        })
        .await
    }

    async fn deliveries(&self, operation: OperationId, limit: u32) -> Result<Vec<Delivery>, StoreFault> {
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM delivery INDEXED BY delivery_by_operation JOIN operation ON operation.id = delivery.operation \
                 WHERE delivery.operation = ?1 ORDER BY delivery.number DESC LIMIT ?2",
                DeliveryRow::COLUMNS
            );
            all::<DeliveryRow, _>(connection, "delivery", &sql, params![work::key(operation), limit])
        })
        .await
    }

    fn note_delivery(&self, delivery: Delivery) {
        self.queue.note(delivery);
    }

    async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, StoreFault> {
        let list::Question { sql, values } = list::counts(reach, from, to);
        self.read(move |connection| all::<CountRow, _>(connection, "count", &sql, rusqlite::params_from_iter(values)))
            .await
    }

    async fn waiting(&self, reach: &Reach, most: u32) -> Result<Waiting, StoreFault> {
        let reach = reach.clone();
        self.read(move |connection| list::waiting(connection, &reach, most)).await
    }

    async fn recovery(&self, operation: OperationId) -> Result<Option<Recovery>, StoreFault> {
        self.read_here(|connection| recovery::recovery(connection, operation))
    }

    async fn recoveries(&self, operations: &[OperationId]) -> Result<Vec<Recovery>, StoreFault> {
        let operations = operations.to_vec();
        self.read(move |connection| {
            let found = operations.iter().map(|operation| recovery::recovery(connection, *operation).transpose());
            found.flatten().collect()
        })
        .await
    }

    async fn claim_recoveries(
        &self,
        destination: &str,
        now: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreFault> {
        // Asked every second: where nothing is due, nothing is written.
        if !self.read_here(|connection| recovery::is_any_due(connection, destination, now))? {
            return Ok(Vec::new());
        }
        let (destination, claim) = (destination.to_owned(), claim.clone());
        let task = Task(move |transaction: &Connection| recovery::claim(transaction, &destination, now, &claim, limit));
        perform(&self.queue, task).await
    }

    async fn release_recoveries(&self, operations: &[OperationId], by: &str) -> Result<(), StoreFault> {
        let (operations, by) = (operations.to_vec(), by.to_owned());
        let task = Task(move |transaction: &Connection| recovery::release(transaction, &operations, &by));
        perform(&self.queue, task).await
    }

    async fn hasten_recovery(&self, operation: OperationId, now: Timestamp) -> Result<bool, StoreFault> {
        let task = Task(move |transaction: &Connection| recovery::hasten(transaction, operation, now));
        perform(&self.queue, task).await
    }

    async fn without_recovery(
        &self,
        workflow: &str,
        destination: &str,
        after: OperationId,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let (workflow, destination) = (workflow.to_owned(), destination.to_owned());
        self.read(move |connection| recovery::without(connection, &workflow, &destination, after, limit)).await
    }

    async fn add_recoveries(&self, recoveries: Vec<Recovery>) -> Result<(), StoreFault> {
        let rows: Vec<RecoveryRow> = recoveries.iter().map(RecoveryRow::from).collect();
        let task = Task(move |transaction: &Connection| recovery::add(transaction, &rows));
        perform(&self.queue, task).await
    }

    async fn drop_recovery(&self, operation: OperationId) -> Result<(), StoreFault> {
        let task = Task(move |transaction: &Connection| recovery::end(transaction, operation));
        perform(&self.queue, task).await
    }

    async fn recovering(&self, reach: &Reach, most: u32) -> Result<Recovering, StoreFault> {
        let reach = reach.clone();
        self.read(move |connection| recovery::recovering(connection, &reach, most)).await
    }

    async fn accesses(&self) -> Result<Vec<Access>, StoreFault> {
        self.read_here(recovery::accesses)
    }

    async fn put_access(&self, access: &Access) -> Result<Replaced, StoreFault> {
        let row = AccessRow::from(access);
        let task = Task(move |transaction: &Connection| recovery::put_access(transaction, &row));
        perform(&self.queue, task).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use guard::actor::Actor;
    use guard::clock::{Clock as _, Entropy as _};
    use guard::decision::Decision;
    use guard::id::TokenId;
    use guard::key::KeyPart;
    use guard::payload::Payload;
    use guard::refusal::Refusal;
    use guard::service::{BeginRequest, Definitions, Guard};
    use guard::store::Registry;
    use guard::token::{Scope, Token};
    use guard::workflow::Workflow;

    use super::*;
    use crate::clock::{OsEntropy, SystemClock};

    /// The file may grow up to this many pages: SQLite then answers as it does when the disk is full.
    const PAGES_MAX: u32 = 200;

    fn request(document: u32) -> BeginRequest {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part("handoff"),
            company: part("ACME"),
            source_system: part("shop"),
            document: part(&document.to_string()),
            action: part("create"),
            revision: 1,
        };
        let payload = Payload::parse(format!(r#"{{"lines":"{}"}}"#, "x".repeat(2_000)).as_bytes()).unwrap();
        let (worker, delivery_id, begin_id) = (None, None, None);
        BeginRequest { key, payload, worker, delivery_id, begin_id, lease_seconds: None, request_id: None }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_full_disk_acknowledges_nothing_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("onceover.db");
        let (unlimited, pool) = SqliteStore::open(&path, Changes::new()).await.unwrap();
        let connection = connection::writer(&path).unwrap();
        connection.query_row(&format!("PRAGMA max_page_count = {PAGES_MAX}"), [], |_| Ok(())).unwrap();
        let store = Arc::new(SqliteStore::start(&path, connection, Changes::new()).unwrap());
        let clock = Arc::new(SystemClock::new());
        let guard = Guard::open(
            Arc::<SqliteStore>::clone(&store),
            Arc::<SqliteStore>::clone(&store),
            Arc::<SystemClock>::clone(&clock),
            Arc::new(OsEntropy),
        );
        let guard = guard.await.unwrap();
        let workflows = vec![Workflow::named(KeyPart::new("handoff").unwrap())];
        guard.apply(&Definitions { workflows, ..Definitions::default() }, &Actor::CommandLine).await.unwrap();
        let token = Token {
            id: TokenId::new(clock.now(), OsEntropy.bytes()),
            name: "billing".to_owned(),
            scopes: BTreeSet::from([Scope::OperationsWrite]),
            reach: Reach::EVERYTHING,
            created_at: clock.now(),
            created_by: Actor::CommandLine,
            revoked_at: None,
        };

        // Eight at a time, so that groups fail too.
        let mut granted = Vec::new();
        let mut refused = Vec::new();
        for round in 0..100 {
            let begun: Vec<_> = (0..8)
                .map(|number| {
                    let (guard, token, request) = (guard.clone(), token.clone(), request(round * 8 + number));
                    tokio::spawn(async move { (guard.begin(&token, &request).await, request) })
                })
                .collect();
            for task in begun {
                match task.await.unwrap() {
                    (Ok(Decision::Proceed { operation, .. }), _) => granted.push(operation),
                    (Err(Refusal::Store(StoreFault::Full)), request) => refused.push(request),
                    (other, _) => panic!("{other:?}"),
                }
            }
            if !refused.is_empty() {
                break;
            }
        }
        assert!(granted.len() > 10 && !refused.is_empty(), "{} {}", granted.len(), refused.len());
        for operation in &granted {
            assert_eq!(unlimited.operation(operation.id).await.as_ref(), Ok(&Some(operation.clone())));
        }
        for request in &refused {
            assert_eq!(unlimited.operation_by_key(&request.key).await, Ok(None));
        }
        let proof = crate::trail::verify(&*store, &Registry::catalogue(&*store).await.unwrap()).await.unwrap();
        assert_eq!(proof.operations, u64::try_from(granted.len()).unwrap());

        // There is room again: the same request is granted.
        store.close().await;
        let connection = connection::writer(&path).unwrap();
        let store = SqliteStore::start(&path, connection, Changes::new()).unwrap();
        let store = Arc::new(store);
        let guard = Guard::open(
            Arc::<SqliteStore>::clone(&store),
            Arc::<SqliteStore>::clone(&store),
            clock,
            Arc::new(OsEntropy),
        );
        let again = guard.await.unwrap().begin(&token, &refused[0]).await;
        assert!(matches!(again, Ok(Decision::Proceed { .. })), "{again:?}");
        pool.close().await;
    }
}
