//! Sessions in the database, for tower-sessions.
//!
//! A row is named by a hash of the session's id and enciphered with a key that comes from the id too. The id is with its person
//! alone, so that neither the database nor a backup lets anybody in, or shows a secret that was on its way to the next page.
//!
//! Not tower-sessions-sqlx-store, for three reasons: it keeps ids and data in the clear; its `save` inserts, so that a request
//! under way at sign-out brings the session back; and on PostgreSQL it creates a schema.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use guard::clock::{Clock, Entropy};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
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
    entropy: Arc<dyn Entropy>,
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
    pub(crate) fn new(pool: Pool, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { pool, clock, entropy }
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

    /// The data of a session as it is stored: a random nonce, then the enciphered JSON. A session is written a few times in its
    /// life, so that no nonce comes twice.
    fn sealed(&self, record: &Record) -> Result<Vec<u8>> {
        let unsealed = |reason: &dyn ToString| Error::Encode(reason.to_string());
        let mut text = serde_json::to_vec(&record.data).map_err(|error| unsealed(&error))?;
        let random = self.entropy.bytes();
        let (nonce, _) = random.split_first_chunk::<NONCE_LEN>().ok_or_else(|| unsealed(&"no nonce"))?;
        key(record.id)
            .ok_or_else(|| unsealed(&"no key"))?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut text)
            .map_err(|error| unsealed(&error))?;
        Ok([nonce.as_slice(), &text].concat())
    }

    /// What a session holds, as long as it is one. To look is no sign of its person.
    pub(crate) async fn peek(&self, id: Id) -> Result<Option<HashMap<String, serde_json::Value>>> {
        Ok(self.row(digest(id)).await?.and_then(|(data, _, _)| opened(id, data)))
    }

    async fn row(&self, digest: Vec<u8>) -> Result<Option<(Vec<u8>, i64, i64)>> {
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
        let data = self.sealed(record)?;
        execute!(&self.pool, STATEMENT, digest(record.id), data, now.timestamp_millis(), ends.timestamp_millis())?;
        Ok(())
    }

    /// Only a session that still is can be saved; one that ended meanwhile stays so.
    async fn save(&self, record: &Record) -> Result<()> {
        let data = self.sealed(record)?;
        let statement = "UPDATE session SET data = $1 WHERE digest = $2";
        execute!(&self.pool, statement, data, digest(record.id))?;
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some((data, seen_at, ends_at)) = self.row(digest(*id)).await? else { return Ok(None) };
        let now = self.clock.now().timestamp_millis();
        if now - seen_at >= SEEN_EVERY_SECONDS * 1_000 {
            execute!(&self.pool, "UPDATE session SET seen_at = $1 WHERE digest = $2", now, digest(*id))?;
        }
        let Some(data) = opened(*id, data) else {
            tracing::error!("a session's row was altered; its person has to sign in again");
            return Ok(None);
        };
        let expiry_date =
            OffsetDateTime::from_unix_timestamp(ends_at / 1_000).map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        execute!(&self.pool, "DELETE FROM session WHERE digest = $1", digest(*id))?;
        Ok(())
    }
}

/// What a hash of an id is for: from one nobody can tell the other.
#[derive(Clone, Copy)]
enum Purpose {
    Name,
    Key,
}

/// The id has 128 random bits, so a slow hash would add nothing.
fn hash(purpose: Purpose, id: Id) -> [u8; 32] {
    let purpose: &[u8] = match purpose {
        Purpose::Name => b"onceover session name",
        Purpose::Key => b"onceover session key",
    };
    Sha256::new().chain_update(purpose).chain_update(id.0.to_be_bytes()).finalize().into()
}

/// What is kept of an id.
fn digest(id: Id) -> Vec<u8> {
    hash(Purpose::Name, id).to_vec()
}

/// The key to a session's data; none only where the cipher wanted another length.
fn key(id: Id) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, &hash(Purpose::Key, id)).ok().map(LessSafeKey::new)
}

/// The data of a row, where it is as it was sealed.
fn opened(id: Id, mut row: Vec<u8>) -> Option<HashMap<String, serde_json::Value>> {
    let (nonce, sealed) = row.split_first_chunk_mut::<NONCE_LEN>()?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let text = key(id)?.open_in_place(nonce, Aad::empty(), sealed).ok()?;
    serde_json::from_slice(text).ok()
}

fn backend(error: &sqlx::Error) -> Error {
    Error::Backend(error.to_string())
}
