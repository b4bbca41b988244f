//! Sessions in the database, for tower-sessions.
//!
//! Not tower-sessions-sqlx-store, for three reasons: it keeps ids in the clear, so that a backup would let its finder in; its
//! `save` inserts, so that a request under way at sign-out brings the session back; and on PostgreSQL it creates a schema.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use guard::clock::Clock;
use sha2::{Digest, Sha256};
use tower_sessions::SessionStore;
use tower_sessions::cookie::time::OffsetDateTime;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

use crate::store::Pool;

/// A session ends when its person was not seen for this long.
pub const SESSION_IDLE_HOURS_MAX: i64 = 12;

/// A session ends this long after its beginning, however busy it is.
pub const SESSION_DAYS_MAX: i64 = 7;

/// That somebody was seen is written down at most this often.
const SEEN_EVERY_SECONDS: i64 = 60;

/// The sessions of a database. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Sessions {
    pool: Pool,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions")
    }
}

/// The same statement for both dialects; answers how many rows it touched.
macro_rules! execute {
    ($pool:expr, $statement:expr, $($value:expr),+) => {
        match $pool {
            Pool::Sqlite(pool) => sqlx::query($statement)$(.bind($value))+.execute(pool).await.map(|done| done.rows_affected()),
            Pool::Postgres(pool) => sqlx::query($statement)$(.bind($value))+.execute(pool).await.map(|done| done.rows_affected()),
        }
        .map_err(|error| backend(&error))
    };
}

impl Sessions {
    pub(crate) fn new(pool: Pool, clock: Arc<dyn Clock>) -> Self {
        Self { pool, clock }
    }

    /// Deletes the sessions that are over; answers how many.
    pub(crate) async fn delete_ended(&self) -> Result<u64> {
        let (now, seen_after) = self.bounds();
        execute!(&self.pool, "DELETE FROM session WHERE ends_at <= $1 OR seen_at <= $2", now, seen_after)
    }

    /// Now, and the moment after which a person must have been seen, in milliseconds.
    fn bounds(&self) -> (i64, i64) {
        let now = self.clock.now();
        (now.timestamp_millis(), (now - TimeDelta::hours(SESSION_IDLE_HOURS_MAX)).timestamp_millis())
    }

    async fn row(&self, digest: Vec<u8>) -> Result<Option<(String, i64, i64)>> {
        const STATEMENT: &str =
            "SELECT data, seen_at, ends_at FROM session WHERE digest = $1 AND ends_at > $2 AND seen_at > $3";
        let (now, seen_after) = self.bounds();
        match &self.pool {
            Pool::Sqlite(pool) => {
                sqlx::query_as(STATEMENT).bind(digest).bind(now).bind(seen_after).fetch_optional(pool).await
            }
            Pool::Postgres(pool) => {
                sqlx::query_as(STATEMENT).bind(digest).bind(now).bind(seen_after).fetch_optional(pool).await
            }
        }
        .map_err(|error| backend(&error))
    }
}

#[async_trait]
impl SessionStore for Sessions {
    /// A session that begins gets a new id, whatever id came with it: none can be planted.
    async fn create(&self, record: &mut Record) -> Result<()> {
        const STATEMENT: &str = "INSERT INTO session (digest, data, seen_at, ends_at) VALUES ($1, $2, $3, $4)";
        record.id = Id::default();
        let now = self.clock.now();
        let ends = now + TimeDelta::days(SESSION_DAYS_MAX);
        let data = written(record)?;
        execute!(
            &self.pool,
            STATEMENT,
            digest(record.id),
            data.as_str(),
            now.timestamp_millis(),
            ends.timestamp_millis()
        )?;
        Ok(())
    }

    /// Only a session that still is can be saved; one that ended meanwhile stays so.
    async fn save(&self, record: &Record) -> Result<()> {
        let data = written(record)?;
        let statement = "UPDATE session SET data = $1 WHERE digest = $2";
        execute!(&self.pool, statement, data.as_str(), digest(record.id))?;
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some((data, seen_at, ends_at)) = self.row(digest(*id)).await? else { return Ok(None) };
        let now = self.clock.now().timestamp_millis();
        if now - seen_at >= SEEN_EVERY_SECONDS * 1_000 {
            execute!(&self.pool, "UPDATE session SET seen_at = $1 WHERE digest = $2", now, digest(*id))?;
        }
        let data: HashMap<String, serde_json::Value> =
            serde_json::from_str(&data).map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date =
            OffsetDateTime::from_unix_timestamp(ends_at / 1_000).map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        execute!(&self.pool, "DELETE FROM session WHERE digest = $1", digest(*id))?;
        Ok(())
    }
}

/// What is kept of an id. It has 128 random bits, so a slow hash would add nothing.
fn digest(id: Id) -> Vec<u8> {
    Sha256::digest(id.0.to_be_bytes()).to_vec()
}

fn written(record: &Record) -> Result<String> {
    serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))
}

fn backend(error: &sqlx::Error) -> Error {
    Error::Backend(error.to_string())
}
