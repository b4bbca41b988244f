//! Connections that read. The log lets them read while the writer writes, so that nobody waits for anybody.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use guard::refusal::StoreFault;
use rusqlite::{Connection, Params};

use super::{connection, fault};
use crate::store::row::FromSqlite;

/// There are at least this many readers.
const READERS_MIN: usize = 4;

/// There are at most this many readers.
const READERS_MAX: usize = 16;

/// A few connections, each used by one thread at a time.
pub(super) struct Readers {
    connections: Vec<Mutex<Option<Connection>>>,
    next: AtomicUsize,
}

impl Readers {
    /// Opens the readers: two for each processor.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let number = (processors * 2).clamp(READERS_MIN, READERS_MAX);
        let connections =
            (0..number).map(|_| Ok(Mutex::new(Some(connection::reader(path)?)))).collect::<rusqlite::Result<_>>()?;
        Ok(Self { connections, next: AtomicUsize::new(0) })
    }

    /// Reads with a connection that is free, or waits for one.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let number = self.connections.len();
        let candidates = (0..number).filter_map(|step| self.connections.get((start + step) % number));
        let mut free = candidates.filter_map(|candidate| match candidate.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        let held = free.next().or_else(|| {
            let waited_for = self.connections.get(start % number)?;
            Some(waited_for.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match held.as_ref().and_then(|held| held.as_ref()) {
            Some(connection) => read(connection),
            None => Err(StoreFault::Unavailable),
        }
    }

    /// As [`Self::with`], all of it from one state of the store. Statements by themselves each take their locks anew besides.
    pub(super) fn with_one_view<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        self.with(|connection| {
            let view = connection.unchecked_transaction().map_err(|error| fault::of(&error, "operation", &"?"))?;
            read(&view)
        })
    }

    /// Closes all readers, each as it becomes free.
    pub(super) fn close(&self) {
        for connection in &self.connections {
            drop(connection.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// The first row of a query, as its domain type.
pub(super) fn one<R, T>(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    parameters: impl Params,
) -> Result<Option<T>, StoreFault>
where
    R: FromSqlite,
    T: TryFrom<R, Error = StoreFault>,
{
    let failed = |error: rusqlite::Error| fault::of(&error, table, &"?");
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(parameters).map_err(failed)?;
    match rows.next().map_err(failed)? {
        Some(row) => fault::read::<R>(row, table)?.try_into().map(Some),
        None => Ok(None),
    }
}

/// Every row of a query, as its domain type.
pub(super) fn all<R, T>(
    connection: &Connection,
    table: &'static str,
    sql: &str,
    parameters: impl Params,
) -> Result<Vec<T>, StoreFault>
where
    R: FromSqlite,
    T: TryFrom<R, Error = StoreFault>,
{
    let failed = |error: rusqlite::Error| fault::of(&error, table, &"?");
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(parameters).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(fault::read::<R>(row, table)?.try_into()?);
    }
    Ok(found)
}
