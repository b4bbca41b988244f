//! Where everything is kept: one SQLite file, or a PostgreSQL database that several servers share.

mod along;
mod behind;
pub mod postgres;
pub mod row;
pub mod sqlite;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::store::{Registry, Store};
use tokio::sync::broadcast;

use crate::trail::Ledger;

/// This many changes are kept for a subscriber that is slow; one that falls behind further is told that it missed some.
pub const CHANGES_KEPT_MAX: usize = 4_096;

/// The changes of operations, told after their commit.
#[derive(Clone, Debug)]
pub struct Changes {
    sender: broadcast::Sender<OperationId>,
}

impl Changes {
    /// Nobody listens yet.
    #[allow(clippy::new_without_default, reason = "a default would look like a value that needs no owner")]
    pub fn new() -> Self {
        Self { sender: broadcast::Sender::new(CHANGES_KEPT_MAX) }
    }

    /// Every change from now on. A subscriber that misses some gets [`broadcast::error::RecvError::Lagged`] and looks again.
    pub fn subscribe(&self) -> broadcast::Receiver<OperationId> {
        self.sender.subscribe()
    }

    /// Tells a change; that nobody listens is no fault.
    pub fn tell(&self, operation: OperationId) {
        let _listeners = self.sender.send(operation);
    }
}

/// Connections for what is not the guard's: sessions live here.
#[derive(Clone, Debug)]
pub enum Pool {
    /// One SQLite file.
    Sqlite(sqlx::SqlitePool),
    /// A PostgreSQL database.
    Postgres(sqlx::PgPool),
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no database that Onceover knows.
    #[error("the database {url:?} is not known; write sqlite://PATH or postgres://USER@HOST/NAME")]
    UnknownScheme {
        /// The URL, as far as it holds no password.
        url: String,
    },
    /// The folder of the file cannot be made.
    #[error("the folder {} of the database cannot be made: {source}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It cannot be reached or opened.
    #[error("the database cannot be opened: {0}")]
    Connect(String),
    /// A newer Onceover has changed the tables.
    #[error(
        "the database was changed by a newer Onceover (migration {migration}, this one knows up to {known}); use that version or a newer one"
    )]
    Newer {
        /// The newest migration that the database has.
        migration: i64,
        /// The newest migration that this program has.
        known: i64,
    },
    /// A migration failed.
    #[error("the tables cannot be brought up to date: {0}")]
    Migrate(String),
    /// What is stored cannot be read.
    #[error(transparent)]
    Fault(#[from] StoreFault),
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is there already; it is not overwritten.
    #[error("{} exists already; name a file that does not", .0.display())]
    Exists(PathBuf),
    /// It could not be written.
    #[error("the backup to {} failed: {reason}", .to.display())]
    Failed {
        /// The file.
        to: PathBuf,
        /// Why.
        reason: String,
    },
    /// PostgreSQL has its own tools.
    #[error(
        "a PostgreSQL database is backed up with its own tools: pg_dump --format=custom for a copy, or continuous archiving (pg_basebackup) to restore any moment"
    )]
    UseTheirTools,
}

/// A database, open and up to date. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Database {
    /// Operations.
    pub store: Arc<dyn Store>,
    /// People, tokens, workflows, destinations.
    pub registry: Arc<dyn Registry>,
    /// Seals and verification.
    pub ledger: Arc<dyn Ledger>,
    /// SQLite: the machine's clock. PostgreSQL: the database's, kept by offset.
    pub clock: Arc<dyn Clock>,
    /// What changes, as it is committed.
    pub changes: Changes,
    /// Connections for sessions.
    pub pool: Pool,
    pub(crate) backend: Arc<dyn Backend>,
}

/// What differs between databases beside their tables.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// Whether the database can be reached now.
    async fn ready(&self) -> Result<(), StoreFault>;

    /// Writes what waits behind its answer, then closes.
    async fn close(&self);

    /// Writes a consistent copy into a new file.
    async fn backup(&self, to: &Path) -> Result<(), BackupError>;

    /// Adds up the counts of the oldest day before `until` of which hours are told apart; whether there was one.
    async fn fold_counts(&self, until: Timestamp) -> Result<bool, StoreFault>;
}

impl Database {
    /// Connects, and brings the tables up to date. `sqlite://PATH` makes the file and its folder; `postgres://…` must exist.
    ///
    /// # Errors
    /// Which of the steps failed, and why.
    pub async fn open(url: &str, entropy: Arc<dyn Entropy>) -> Result<Self, OpenError> {
        match url.split_once("://") {
            Some(("sqlite", path)) => {
                let changes = Changes::new();
                let (store, pool) = sqlite::SqliteStore::open(Path::new(path), changes.clone()).await?;
                let store = Arc::new(store);
                Ok(Self {
                    store: Arc::<sqlite::SqliteStore>::clone(&store),
                    registry: Arc::<sqlite::SqliteStore>::clone(&store),
                    ledger: Arc::<sqlite::SqliteStore>::clone(&store),
                    clock: Arc::new(crate::clock::SystemClock::new()),
                    changes,
                    pool: Pool::Sqlite(pool),
                    backend: store,
                })
            }
            Some(("postgres" | "postgresql", _)) => postgres::open(url, entropy).await,
            Some((scheme, _)) => Err(OpenError::UnknownScheme { url: format!("{scheme}://…") }),
            None => Err(OpenError::UnknownScheme { url: url.to_owned() }),
        }
    }

    /// Whether the database can be reached now.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn ready(&self) -> Result<(), StoreFault> {
        self.backend.ready().await
    }

    /// Writes what waits behind its answer, then closes. Calls that come later are answered [`StoreFault::Unavailable`].
    pub async fn close(&self) {
        self.backend.close().await;
        match &self.pool {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }

    /// Writes a consistent copy of a SQLite database into a new file, while it is in use.
    ///
    /// # Errors
    /// The file exists, it cannot be written, or the database is PostgreSQL, which has its own tools.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        self.backend.backup(to).await
    }

    /// Adds up the counts of the oldest day whose hours need not be told apart any more
    /// ([`hours_kept_since`](guard::summary::hours_kept_since)); whether there was one, and no other process was at it.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn fold_counts(&self, now: Timestamp) -> Result<bool, StoreFault> {
        self.backend.fold_counts(guard::summary::hours_kept_since(now)).await
    }
}
