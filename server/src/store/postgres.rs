//! A PostgreSQL database that several servers share: nothing that matters lives in a process.
//!
//! READ COMMITTED is enough: a key is taken by its unique index, and a change is made by a compare-and-set on the operation's version.
//! Begins and reports go through batches (`writer`) and lookups that are asked together (`lookup`), each over connections of their
//! own; everything else takes a connection of the pool.

mod activity;
mod amendment;
mod batch;
mod call;
mod clock;
mod conflict;
mod connection;
mod delivery;
mod fault;
mod fold;
mod ledger;
mod list;
mod lists;
mod look_alike;
mod lookup;
mod news;
mod notification;
mod page;
mod period;
mod proof;
mod reconciliation;
mod recovery;
mod registry;
mod retention;
mod review;
mod rules;
mod stretch;
mod triage;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guard::access::Access;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::conflict::Conflict;
use guard::evidence::Evidence;
use guard::fingerprint::Fingerprint;
use guard::id::{OperationId, PersonId};
use guard::key::OperationKey;
use guard::operation::Operation;
use guard::person::Person;
use guard::queue::{Filter, Order, Page, PageRequest};
use guard::recovery::{Claim, Recovery};
use guard::refusal::StoreFault;
use guard::store::{
    Act, Administered, Catalogue, Delivery, Insertion, NewOperation, Registry, Replaced, Replacement, Store,
};
use guard::summary::{Count, Recovering, Waiting};
use guard::token::{Reach, Token};
use guard::trail::{ChainHash, Entry};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, FromRow, PgPool, Postgres};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use self::batch::Change;
use self::clock::DatabaseClock;
use self::connection::{bounded, noted};
use self::delivery::Deliveries;
use self::fault::Trouble;
use self::list::all;
use self::lookup::{By, Lookup};
use self::news::Newsroom;
use self::writer::{WRITERS, Writers};
use super::row::{
    AccessRow, ConflictRow, CountRow, DeliveryRow, EntryRow, EvidenceRow, OperationRow, PersonRow, Place, RecoveryRow,
    TokenRow, column_number,
};
use super::walk::Walk;
use super::{Backend, BackupError, Changes, Database, OpenError, Pool};
use crate::trail::{ChainId, Ledger, Moment, Seal};

/// The tables of a PostgreSQL database, in the binary.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/postgres");

/// Processes choose their slots of `count` among so many, three each: two that choose the same wait for each other, no more.
const SLOTS: i64 = 256;

/// An act of the administration that got into another transaction's way is tried this often.
const ADMINISTRATION_TRIES_MAX: u32 = 5;

/// An act of the administration that got into another transaction's way waits this long.
const ADMINISTRATION_AGAIN_MILLISECONDS: u64 = 50;

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    pool: PgPool,
    writers: Writers,
    lookup: Lookup,
    deliveries: Arc<Deliveries>,
    /// Of `count`, for what is written behind answers.
    slot: i64,
    news: Arc<Newsroom>,
    /// Ends what runs until the end.
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Opens a database and brings its tables up to date.
///
/// # Errors
/// Which step failed, and why.
pub async fn open(url: &str, entropy: Arc<dyn Entropy>) -> Result<Database, OpenError> {
    let changes = Changes::new();
    let (store, clock) = PostgresStore::open(url, entropy, changes.clone()).await?;
    let store = Arc::new(store);
    Ok(Database {
        store: Arc::<PostgresStore>::clone(&store),
        registry: Arc::<PostgresStore>::clone(&store),
        ledger: Arc::<PostgresStore>::clone(&store),
        clock,
        changes,
        pool: Pool::Postgres(store.pool.clone()),
        backend: store,
    })
}

impl PostgresStore {
    async fn open(url: &str, entropy: Arc<dyn Entropy>, changes: Changes) -> Result<(Self, Arc<dyn Clock>), OpenError> {
        let not_opened = |error: sqlx::Error| OpenError::Connect(error.to_string());
        let options = connection::options(url).map_err(not_opened)?;
        // A pool says only that it waited in vain; this says why.
        let reached = connection::connect(&options).await.map_err(not_opened)?;
        reached.close().await.map_err(not_opened)?;
        migrate(&options).await?;
        let pool = connection::pool(options.clone());
        let clock = Arc::new(DatabaseClock::open(&pool).await.map_err(|trouble| trouble.fault(&""))?);
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let keeping = Arc::clone(&clock).keep_right(pool.clone());
        let until = closing.clone();
        tasks.spawn(async move { until.run_until_cancelled(keeping).await });
        let chosen = u128::from_be_bytes(entropy.bytes()) & 0xFFFF;
        let first_slot = i64::try_from(chosen).unwrap_or_default() % SLOTS * 3;
        let slots: [i64; WRITERS] = [first_slot, first_slot + 1];
        let news = Newsroom::open(&options, changes, entropy.as_ref(), &tasks, closing.clone());
        let news = Arc::new(news);
        let store = Self {
            writers: Writers::start(&options, slots, &news, &tasks),
            lookup: Lookup::open(&options, &tasks),
            deliveries: Deliveries::start(&options, first_slot + 2, entropy, &tasks, closing.clone()),
            slot: first_slot + 2,
            news,
            pool,
            closing,
            tasks,
        };
        Ok((store, clock))
    }

    /// A body of an operation: its payload, or the destination's response.
    async fn body(&self, operation: OperationId, kind: &str) -> Result<Option<String>, StoreFault> {
        let mut connection = self.connection().await?;
        let content = sqlx::query_scalar("SELECT content FROM body WHERE operation = $1 AND kind = $2");
        let content = content.bind(uuid(operation)).bind(kind).fetch_optional(&mut *connection);
        bounded(content).await.map_err(|trouble| trouble.fault(&operation))
    }

    /// A connection of the pool.
    async fn connection(&self) -> Result<PoolConnection<Postgres>, StoreFault> {
        self.pool.acquire().await.map_err(|error| noted(&error).fault(&""))
    }

    /// Reads rows into what they mean.
    async fn all<R, T>(
        &self,
        query: sqlx::query::Query<'_, Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<Vec<T>, StoreFault>
    where
        R: for<'r> FromRow<'r, sqlx::postgres::PgRow>,
        T: TryFrom<R, Error = StoreFault>,
    {
        let mut connection = self.connection().await?;
        let rows = bounded(query.fetch_all(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))?;
        all::<R, T>(&rows).map_err(ReadError::fault)
    }
}

/// What kept rows from being read.
#[derive(Debug)]
enum ReadError {
    /// The database.
    Database(sqlx::Error),
    /// What a row holds.
    Row(StoreFault),
}

impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreFault> for ReadError {
    fn from(fault: StoreFault) -> Self {
        Self::Row(fault)
    }
}

impl ReadError {
    fn fault(self) -> StoreFault {
        match self {
            Self::Database(error) => noted(&error).fault(&""),
            Self::Row(fault) => fault,
        }
    }
}

/// Waits for a read of several statements, but never for ever.
async fn read<T>(answer: impl Future<Output = Result<T, ReadError>>) -> Result<T, StoreFault> {
    match tokio::time::timeout(connection::ANSWER_MAX, answer).await {
        Ok(answer) => answer.map_err(ReadError::fault),
        Err(_) => Err(StoreFault::Unavailable),
    }
}

/// Applies what is missing, behind a lock of the database that processes which start together wait for. A database that a newer
/// program has changed is refused.
///
/// The connection has no limits of time, unlike those that serve: a change of a large table takes as long as it takes. Nor are the
/// tables analysed afterwards: statements are planned anew each time, by the size that a table then has.
async fn migrate(options: &PgConnectOptions) -> Result<(), OpenError> {
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.clone());
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default();
    let done = MIGRATIONS.run(&pool).await;
    pool.close().await;
    match done {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(migration)) if migration > known => Err(OpenError::Newer { migration, known }),
        Err(error) => Err(OpenError::Migrate(error.to_string())),
    }
}

#[async_trait]
impl Backend for PostgresStore {
    async fn ready(&self) -> Result<(), StoreFault> {
        self.epoch().await.map(drop)
    }

    async fn close(&self) {
        self.writers.close();
        self.lookup.close();
        self.closing.cancel();
        self.news.close();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn backup(&self, _to: &Path) -> Result<(), BackupError> {
        Err(BackupError::UseTheirTools)
    }

    async fn fold_counts(&self, until: Timestamp) -> Result<bool, StoreFault> {
        let mut connection = self.connection().await?;
        bounded(fold::oldest_day(&mut connection, until)).await.map_err(|trouble| trouble.fault(&"count"))
    }
}

/// Without a close, the tasks still finish what waits; nobody waits for them.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

fn uuid(id: OperationId) -> Uuid {
    Uuid::from_u128(id.as_u128())
}

#[async_trait]
impl Store for PostgresStore {
    async fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        self.lookup.find(By::Id(uuid(id))).await
    }

    async fn operation_by_key(&self, key: &OperationKey) -> Result<Option<Operation>, StoreFault> {
        self.lookup.find(By::KeyHash(key.hash())).await
    }

    async fn insert_if_absent(&self, new: NewOperation) -> Result<Insertion, StoreFault> {
        let (id, hash) = (new.operation.id, new.operation.key.hash());
        if self.writers.store(Change::Insert(Box::new(new))).await? {
            return Ok(Insertion::Inserted);
        }
        // Operations are never taken out: whoever holds the key is there.
        let existing = self.lookup.find(By::KeyHash(hash)).await?;
        existing
            .map(|existing| Insertion::Existing(Box::new(existing)))
            .ok_or_else(|| Place::new("operation", &id).corrupt("id"))
    }

    async fn replace(&self, replacement: Replacement) -> Result<Replaced, StoreFault> {
        let is_stored = self.writers.store(Change::Replace(Box::new(replacement))).await?;
        Ok(if is_stored { Replaced::Replaced } else { Replaced::Stale })
    }

    async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, StoreFault> {
        let Some(walk) = Walk::of(reach, filter, order, page) else { return Ok(Page::EMPTY) };
        let mut connection = self.connection().await?;
        read(page::page(&mut connection, &walk)).await
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> Result<Vec<Operation>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM operation WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= $1 \
             ORDER BY lease_expires_at, id LIMIT $2",
            OperationRow::COLUMNS
        );
        let due = sqlx::query(&sql).bind(now.timestamp_millis()).bind(i64::from(limit));
        self.all::<OperationRow, _>(due).await
    }

    async fn entries(&self, operation: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM entry WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
            EntryRow::COLUMNS
        );
        let entries = sqlx::query(&sql).bind(uuid(operation)).bind(column_number(after)).bind(i64::from(limit));
        let entries = self.all::<EntryRow, (ChainId, Entry)>(entries).await?;
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    async fn payload(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        self.body(operation, "payload").await
    }

    async fn response(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        self.body(operation, "response").await
    }

    async fn conflict(
        &self,
        operation: OperationId,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Conflict>, StoreFault> {
        let sql = format!("SELECT {} FROM conflict WHERE operation = $1 AND fingerprint = $2", ConflictRow::COLUMNS);
        let conflict = sqlx::query(&sql).bind(uuid(operation)).bind(fingerprint.as_bytes().as_slice());
        Ok(self.all::<ConflictRow, _>(conflict).await?.pop())
    }

    async fn conflicts(&self, operation: OperationId, limit: u32) -> Result<Vec<Conflict>, StoreFault> {
        let sql =
            format!("SELECT {} FROM conflict WHERE operation = $1 ORDER BY id DESC LIMIT $2", ConflictRow::COLUMNS);
        self.all::<ConflictRow, _>(sqlx::query(&sql).bind(uuid(operation)).bind(i64::from(limit))).await
    }

    async fn evidence(&self, operation: OperationId, limit: u32) -> Result<Vec<Evidence>, StoreFault> {
        let sql = format!("SELECT {} FROM evidence WHERE operation = $1 ORDER BY id LIMIT $2", EvidenceRow::COLUMNS);
        self.all::<EvidenceRow, _>(sqlx::query(&sql).bind(uuid(operation)).bind(i64::from(limit))).await
    }

    async fn deliveries(&self, operation: OperationId, limit: u32) -> Result<Vec<Delivery>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM delivery JOIN operation ON operation.id = delivery.operation \
             WHERE delivery.operation = $1 ORDER BY delivery.id DESC LIMIT $2",
            DeliveryRow::COLUMNS
        );
        self.all::<DeliveryRow, _>(sqlx::query(&sql).bind(uuid(operation)).bind(i64::from(limit))).await
    }

    fn note_delivery(&self, delivery: Delivery) {
        self.deliveries.note(delivery);
    }

    async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, StoreFault> {
        self.all::<CountRow, _>(list::counts(reach, from, to).build()).await
    }

    async fn waiting(&self, reach: &Reach, most: u32) -> Result<Waiting, StoreFault> {
        let mut connection = self.connection().await?;
        read(list::waiting(&mut connection, reach, most)).await
    }

    async fn recovery(&self, operation: OperationId) -> Result<Option<Recovery>, StoreFault> {
        let sql = format!("SELECT {} FROM recovery WHERE operation = $1", RecoveryRow::COLUMNS);
        Ok(self.all::<RecoveryRow, _>(sqlx::query(&sql).bind(uuid(operation))).await?.pop())
    }

    async fn recoveries(&self, operations: &[OperationId]) -> Result<Vec<Recovery>, StoreFault> {
        // A list of none implies whatever a partial index asks, and may be looked for in all of its rows.
        if operations.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = operations.iter().map(|operation| uuid(*operation)).collect();
        let sql = format!("SELECT {} FROM recovery WHERE operation = ANY($1)", RecoveryRow::COLUMNS);
        self.all::<RecoveryRow, _>(sqlx::query(&sql).bind(ids)).await
    }

    async fn claim_recoveries(
        &self,
        destination: &str,
        now: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreFault> {
        let mut connection = self.connection().await?;
        let claimed = bounded(recovery::claim(&mut connection, destination, now, claim, limit)).await;
        claimed.map_err(|trouble| trouble.fault(&destination))
    }

    async fn release_recoveries(&self, operations: &[OperationId], by: &str) -> Result<(), StoreFault> {
        let mut connection = self.connection().await?;
        let released = bounded(recovery::release(&mut connection, operations, by)).await;
        released.map_err(|trouble| trouble.fault(&by))
    }

    async fn hasten_recovery(&self, operation: OperationId, now: Timestamp) -> Result<bool, StoreFault> {
        let mut connection = self.connection().await?;
        let hastened = bounded(recovery::hasten(&mut connection, operation, now)).await;
        hastened.map_err(|trouble| trouble.fault(&operation))
    }

    async fn without_recovery(
        &self,
        workflow: &str,
        destination: &str,
        after: OperationId,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        // Joined with nothing, so that the index by workflow, which holds everything that was ever done, does not answer.
        let sql = format!(
            "SELECT {} FROM operation WHERE state = 'unknown' AND state <> 'confirmed' AND workflow || '' = $1 AND id > $3 \
             AND NOT EXISTS (SELECT FROM recovery WHERE recovery.operation = operation.id AND recovery.destination = $2) \
             ORDER BY id LIMIT $4",
            OperationRow::COLUMNS
        );
        let lacking = sqlx::query(&sql).bind(workflow).bind(destination).bind(uuid(after)).bind(i64::from(limit));
        self.all::<OperationRow, _>(lacking).await
    }

    async fn add_recoveries(&self, recoveries: Vec<Recovery>) -> Result<(), StoreFault> {
        let rows: Vec<RecoveryRow> = recoveries.iter().map(RecoveryRow::from).collect();
        let mut connection = self.connection().await?;
        bounded(recovery::add(&mut connection, &rows)).await.map_err(|trouble| trouble.fault(&""))
    }

    async fn drop_recovery(&self, operation: OperationId) -> Result<(), StoreFault> {
        let mut connection = self.connection().await?;
        bounded(recovery::end(&mut connection, operation)).await.map_err(|trouble| trouble.fault(&operation))
    }

    async fn recovering(&self, reach: &Reach, most: u32) -> Result<Recovering, StoreFault> {
        let mut connection = self.connection().await?;
        read(recovery::recovering(&mut connection, reach, most)).await
    }

    async fn accesses(&self) -> Result<Vec<Access>, StoreFault> {
        let sql = format!("SELECT {} FROM access ORDER BY destination COLLATE \"C\"", AccessRow::COLUMNS);
        self.all::<AccessRow, _>(sqlx::query(&sql)).await
    }

    async fn put_access(&self, access: &Access) -> Result<Replaced, StoreFault> {
        let mut connection = self.connection().await?;
        let put = bounded(recovery::put_access(&mut connection, access.into())).await;
        put.map_err(|trouble| trouble.fault(&access.destination))
    }
}

#[async_trait]
impl Registry for PostgresStore {
    async fn catalogue(&self) -> Result<Catalogue, StoreFault> {
        let mut connection = self.connection().await?;
        read(registry::catalogue(&mut connection)).await
    }

    async fn epoch(&self) -> Result<u64, StoreFault> {
        let mut connection = self.connection().await?;
        let epoch = sqlx::query_scalar("SELECT epoch FROM administration").fetch_one(&mut *connection);
        let epoch = bounded(epoch).await.map_err(|trouble| trouble.fault(&1))?;
        Place::new("administration", &1).number("epoch", epoch)
    }

    async fn administration_head(&self) -> Result<(u64, ChainHash), StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::administration(&mut connection)).await
    }

    async fn administration_entries(&self, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        self.entries(OperationId::from_u128(ChainId::ADMINISTRATION.as_u128()), after, limit).await
    }

    async fn administer(&self, acts: Vec<(Act, Entry)>) -> Result<Administered, StoreFault> {
        let Some((_, last)) = acts.last() else { return Ok(Administered::Done) };
        let mark = [(Uuid::from_u128(ChainId::ADMINISTRATION.as_u128()), last.sequence, last.hash)];
        let mut is_in_doubt = false;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut connection = self.connection().await?;
            if is_in_doubt {
                let found = bounded(batch::stored_of(&mut connection, &mark)).await;
                if !found.map_err(|trouble| trouble.fault(&""))?.is_empty() {
                    return Ok(Administered::Done);
                }
            }
            let trouble = match bounded(registry::administer(&mut connection, &acts)).await {
                Ok(administered) => return Ok(administered),
                Err(trouble) => trouble,
            };
            is_in_doubt |= trouble == Trouble::Lost;
            if tries == ADMINISTRATION_TRIES_MAX || !matches!(trouble, Trouble::Lost | Trouble::Contended) {
                return Err(trouble.fault(&last.sequence));
            }
            tokio::time::sleep(Duration::from_millis(ADMINISTRATION_AGAIN_MILLISECONDS)).await;
        }
    }

    async fn token_by_digest(&self, digest: &[u8; 32]) -> Result<Option<Token>, StoreFault> {
        let sql = format!("SELECT {} FROM token WHERE digest = $1", TokenRow::COLUMNS);
        Ok(self.all::<TokenRow, _>(sqlx::query(&sql).bind(digest.as_slice())).await?.pop())
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreFault> {
        let sql = format!("SELECT {} FROM token ORDER BY id DESC", TokenRow::COLUMNS);
        self.all::<TokenRow, _>(sqlx::query(&sql)).await
    }

    async fn person_by_email(&self, email: &str) -> Result<Option<(Person, String)>, StoreFault> {
        let sql = format!("SELECT {} FROM person WHERE email = $1", PersonRow::COLUMNS);
        Ok(self.all::<PersonRow, (Person, String)>(sqlx::query(&sql).bind(email)).await?.pop())
    }

    async fn person(&self, id: PersonId) -> Result<Option<Person>, StoreFault> {
        let sql = format!("SELECT {} FROM person WHERE id = $1", PersonRow::COLUMNS);
        let person = sqlx::query(&sql).bind(Uuid::from_u128(id.as_u128()));
        Ok(self.all::<PersonRow, (Person, String)>(person).await?.pop().map(|(person, _)| person))
    }

    async fn people(&self) -> Result<Vec<Person>, StoreFault> {
        let sql = format!("SELECT {} FROM person ORDER BY email COLLATE \"C\"", PersonRow::COLUMNS);
        let people = self.all::<PersonRow, (Person, String)>(sqlx::query(&sql)).await?;
        Ok(people.into_iter().map(|(person, _)| person).collect())
    }
}

#[async_trait]
impl Ledger for PostgresStore {
    async fn last_seal(&self) -> Result<Option<Seal>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::last_seal(&mut connection)).await
    }

    async fn seals(&self, after: u64, limit: u32) -> Result<Vec<Seal>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::seals(&mut connection, after, limit)).await
    }

    async fn add_seal(&self, seal: &Seal) -> Result<bool, StoreFault> {
        let mut connection = self.connection().await?;
        bounded(ledger::add_seal(&mut connection, seal)).await.map_err(|trouble| trouble.fault(&seal.number))
    }

    async fn heads_by_moment(
        &self,
        after: Moment,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Moment, ChainHash)>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::heads_by_moment(&mut connection, after, until, limit)).await
    }

    async fn all_entries(&self, after: (ChainId, u64), limit: u32) -> Result<Vec<(ChainId, Entry)>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::all_entries(&mut connection, after, limit)).await
    }

    async fn all_operations(&self, after: OperationId, limit: u32) -> Result<Vec<Operation>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::all_operations(&mut connection, after, limit)).await
    }

    async fn administration(&self) -> Result<(u64, ChainHash), StoreFault> {
        self.administration_head().await
    }

    async fn payloads(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::payloads(&mut connection, operations)).await
    }

    async fn hashes(&self, entries: &[(ChainId, u64)]) -> Result<Vec<Option<ChainHash>>, StoreFault> {
        let mut connection = self.connection().await?;
        read(ledger::hashes(&mut connection, entries)).await
    }
}
