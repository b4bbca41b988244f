//! What people did, and how far the trail is known to be whole.

use guard::activity::{Activity, Sealing, TrailCheck};
use guard::id::OperationId;
use guard::queue::{Cursor, Page};
use guard::refusal::StoreFault;
use guard::trail::{ChainHash, Entry};
use sqlx::FromRow;

use super::{Place, column_number};
use crate::trail::ChainId;

/// Only entries of people; the indexes of this list hold no others.
pub const OF_PEOPLE: &str = "substr(actor, 1, 7) = 'person:'";

/// How an entry names a person as its actor.
pub fn person_actor(email: &str) -> String {
    format!("person:{email}")
}

/// The page that the entries make: one more than asked for says that there is a next one.
pub fn activity_page(mut entries: Vec<(ChainId, Entry)>, limit: u32) -> Page<Activity> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_next = entries.len() > limit;
    entries.truncate(limit);
    let rows = entries.into_iter().map(|(chain, entry)| {
        let operation = (chain != ChainId::ADMINISTRATION).then(|| OperationId::from_u128(chain.as_u128()));
        Activity { operation, entry }
    });
    let rows: Vec<Activity> = rows.collect();
    let next = rows.last().filter(|_| has_next).map(Activity::cursor);
    Page { rows, next }
}

/// The cursor behind the last entry that a page looks through, where another one follows.
pub fn activity_edge(entries: &[(ChainId, Entry)]) -> Option<Cursor> {
    match entries {
        [(chain, entry), _] => {
            Some(Activity::cursor_behind(entry.at.timestamp_millis(), chain.as_u128(), entry.sequence))
        }
        [] | [_] | [_, _, ..] => None,
    }
}

/// A seal, without what it holds.
#[derive(FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct SealingRow {
    pub number: i64,
    pub at: i64,
    pub until: i64,
    pub hash: Vec<u8>,
}

impl SealingRow {
    /// The last one.
    pub const LAST: &'static str = "SELECT number, at, until, hash FROM seal ORDER BY number DESC LIMIT 1";
}

impl TryFrom<SealingRow> for Sealing {
    type Error = StoreFault;

    fn try_from(row: SealingRow) -> Result<Self, StoreFault> {
        let place = Place::new("seal", &row.number);
        Ok(Self {
            number: place.number("number", row.number)?,
            at: place.moment("at", row.at)?,
            until: place.moment("until", row.until)?,
            hash: ChainHash::from_bytes(place.bytes("hash", &row.hash)?),
        })
    }
}

/// A verification of the trail.
#[derive(FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct TrailCheckRow {
    pub at: i64,
    pub entries: i64,
    pub broken: Option<String>,
}

impl TrailCheckRow {
    /// The last one.
    pub const LAST: &'static str = "SELECT at, entries, broken FROM trail_check WHERE number = 1";
}

impl From<&TrailCheck> for TrailCheckRow {
    fn from(check: &TrailCheck) -> Self {
        let TrailCheck { at, entries, broken } = check;
        Self { at: at.timestamp_millis(), entries: column_number(*entries), broken: broken.clone() }
    }
}

impl TryFrom<TrailCheckRow> for TrailCheck {
    type Error = StoreFault;

    fn try_from(row: TrailCheckRow) -> Result<Self, StoreFault> {
        let place = Place::new("trail_check", &1);
        Ok(Self { at: place.moment("at", row.at)?, entries: place.number("entries", row.entries)?, broken: row.broken })
    }
}
