//! How connections to the file are opened.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// A connection waits this long for another one that is writing. SQLite looks every tenth of a second whether it is its turn, and
/// a busy writer leaves small gaps: so that the command line and sign-in come in between, the wait is long.
pub(super) const BUSY_SECONDS_MAX: u64 = 30;

/// This many prepared statements are kept by each connection.
const STATEMENTS_KEPT: usize = 128;

/// After this many pages a commit carries the log over into the file. Half of SQLite's default: it halves the pause of the commit
/// that does it, at the same throughput.
const CHECKPOINT_PAGES: u32 = 500;

/// A log that grew past this is cut down again.
const LOG_BYTES_KEPT: u32 = 64 * 1024 * 1024;

/// The writer keeps this much of the file in memory, in KiB.
const WRITER_CACHE_KIB: u32 = 64 * 1024;

/// Each reader keeps this much of the file in memory, in KiB.
const READER_CACHE_KIB: u32 = 4 * 1024;

/// The one connection that writes. What it has committed survives the loss of power; what it has deleted is overwritten with noughts, so
/// that a body that was dropped is not in the file any more, once the log was carried over.
pub(super) fn writer(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; \
         PRAGMA journal_size_limit = {LOG_BYTES_KEPT}; PRAGMA cache_size = -{WRITER_CACHE_KIB};"
    ))?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    // Opened for writing all the same: only then may it recover the log of a process that was killed.
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch(&format!("PRAGMA query_only = ON; PRAGMA cache_size = -{READER_CACHE_KIB};"))?;
    Ok(connection)
}

fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.execute_batch("PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}
