//! The records: durable before they are acknowledged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

use super::locked;

/// The sandbox holds at most so many records.
pub const RECORDS_MAX: i64 = 1_000_000;

/// A count by a member of the records has at most so many groups.
pub const GROUPS_MAX: u32 = 100_000;

/// The status of a record that nobody changed.
const OPEN: &str = "OPEN";

/// The status of a void record.
pub(super) const VOIDED: &str = "VOIDED";

/// An id is this and a number.
const ID_PREFIX: &str = "task-";

/// The members that the sandbox itself writes; what a caller sends under these names is not kept.
const OWN_MEMBERS: [&str; 4] = ["id", "status", "external_reference", "created_at"];

/// `synchronous = FULL`: a record that was acknowledged survives the loss of power too.
const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS task (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    external_reference TEXT,
    status TEXT NOT NULL,
    members TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    searchable_at INTEGER NOT NULL,
    idempotency_key TEXT UNIQUE,
    request_hash BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS task_external_reference ON task (external_reference);
";

const COLUMNS: &str = "number, external_reference, status, members, created_at, request_hash";

/// The members of a record, each as it was written: a number keeps its digits.
pub(super) type Members = BTreeMap<String, Box<RawValue>>;

/// Why a record cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    /// The file.
    #[error("the sandbox's file: {0}")]
    Database(#[from] rusqlite::Error),
    /// A record that is no JSON.
    #[error("a record of the sandbox: {0}")]
    Body(#[from] serde_json::Error),
    /// There is no room.
    #[error("the sandbox holds {RECORDS_MAX} records already; start it with another file")]
    Full,
    /// The process ends.
    #[error("the sandbox is being stopped")]
    Ended,
}

/// How many records there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Those that count.
    pub live: u64,
    /// Those that are void.
    pub void: u64,
}

/// A record.
#[derive(Clone, Debug)]
pub(super) struct Task {
    number: i64,
    external_reference: Option<String>,
    status: String,
    members: String,
    created_at: i64,
    request_hash: Option<Vec<u8>>,
}

/// A record that is to be made.
pub(super) struct NewTask {
    pub(super) external_reference: Option<String>,
    pub(super) members: Members,
    pub(super) is_void: bool,
    /// How many records are made: a fault makes two of one.
    pub(super) copies: u32,
    /// Milliseconds since the epoch.
    pub(super) created_at: i64,
    pub(super) searchable_at: i64,
    /// Where keys are honoured and one was given.
    pub(super) idempotency_key: Option<String>,
    /// Whether a live record with the same external reference stands in the way.
    pub(super) is_unique: bool,
}

/// What became of it.
pub(super) enum Made {
    New(Task),
    /// The key was used for this very request: the record that it made.
    Repeated(Task),
    /// The key was used for another request.
    KeyReused,
    /// A live record with the external reference.
    Exists(Task),
}

/// What a search looks for.
pub(super) struct Search {
    pub(super) external_reference: Option<String>,
    pub(super) is_part_of_text: bool,
    /// Not those whose member `company` is another; one without it is everybody's.
    pub(super) company: Option<String>,
    /// Only those that were created at or after this moment, in milliseconds since the epoch.
    pub(super) created_from: i64,
    /// Only those that were created before this moment, in milliseconds since the epoch.
    pub(super) created_to: i64,
    /// Only what searches could find at this moment, in milliseconds since the epoch.
    pub(super) searchable_at: i64,
    /// Only records behind this number.
    pub(super) after: i64,
    pub(super) records_max: u32,
}

#[derive(Clone)]
pub(super) struct Records {
    connection: Arc<Mutex<Connection>>,
}

impl Records {
    pub(super) fn open(file: &Path) -> Result<Self, RecordFault> {
        let connection = Connection::open(file)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, RecordFault> + Send + 'static,
    ) -> Result<T, RecordFault> {
        let connection = Arc::clone(&self.connection);
        let done = tokio::task::spawn_blocking(move || work(&mut locked(&connection))).await;
        done.map_err(|_| RecordFault::Ended)?
    }

    /// Makes a record, all of it or nothing, durable when this returns.
    pub(super) async fn make(&self, new: NewTask) -> Result<Made, RecordFault> {
        self.with(move |connection| {
            let transaction = connection.transaction()?;
            let members = members_text(new.members)?;
            let request = format!("{:?} {members}", new.external_reference);
            let hash: [u8; 32] = Sha256::digest(request).into();
            if let Some(key) = &new.idempotency_key
                && let Some(first) = one(&transaction, "idempotency_key = ?1", &[key])?
            {
                let is_same = first.request_hash.as_deref() == Some(&hash);
                return Ok(if is_same { Made::Repeated(first) } else { Made::KeyReused });
            }
            if new.is_unique
                && let Some(reference) = &new.external_reference
                && let Some(other) =
                    one(&transaction, "external_reference = ?1 AND status <> 'VOIDED' ORDER BY number", &[reference])?
            {
                return Ok(Made::Exists(other));
            }
            // None is ever deleted, so that the last number is how many there are.
            let held: i64 = transaction.query_row("SELECT coalesce(max(number), 0) FROM task", [], |row| row.get(0))?;
            if held + i64::from(new.copies) > RECORDS_MAX {
                return Err(RecordFault::Full);
            }
            let mut first = None;
            for copy in 0..new.copies {
                // The key can stand once; the first record is the one that it made.
                let key = new.idempotency_key.as_ref().filter(|_| copy == 0);
                let status = if new.is_void { VOIDED } else { OPEN };
                transaction.execute(
                    "INSERT INTO task (external_reference, status, members, created_at, searchable_at, idempotency_key, request_hash) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![new.external_reference, status, members, new.created_at, new.searchable_at, key, hash],
                )?;
                first = first.or(Some(transaction.last_insert_rowid()));
            }
            let number = first.unwrap_or_default();
            let made = one(&transaction, "number = ?1", &[&number])?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            transaction.commit()?;
            Ok(Made::New(made))
        })
        .await
    }

    pub(super) async fn task(&self, id: &str) -> Result<Option<Task>, RecordFault> {
        let Some(number) = number_of(id) else { return Ok(None) };
        self.with(move |connection| Ok(one(connection, "number = ?1", &[&number])?)).await
    }

    /// The oldest live record with this external reference.
    pub(super) async fn live(&self, external_reference: String) -> Result<Option<Task>, RecordFault> {
        let condition = "external_reference = ?1 AND status <> 'VOIDED' ORDER BY number";
        self.with(move |connection| Ok(one(connection, condition, &[&external_reference])?)).await
    }

    /// Puts members of a record in the place of what they were, and its status.
    pub(super) async fn change(
        &self,
        id: &str,
        status: Option<String>,
        changed: Members,
    ) -> Result<Option<Task>, RecordFault> {
        let Some(number) = number_of(id) else { return Ok(None) };
        self.with(move |connection| {
            let transaction = connection.transaction()?;
            let Some(task) = one(&transaction, "number = ?1", &[&number])? else { return Ok(None) };
            let mut members: Members = serde_json::from_str(&task.members)?;
            members.extend(changed);
            transaction.execute(
                "UPDATE task SET status = ?2, members = ?3 WHERE number = ?1",
                params![number, status.unwrap_or(task.status), members_text(members)?],
            )?;
            let changed = one(&transaction, "number = ?1", &[&number])?;
            transaction.commit()?;
            Ok(changed)
        })
        .await
    }

    /// Records in the order in which they were made, at most so many, and whether there are more behind them.
    pub(super) async fn search(&self, search: Search) -> Result<(Vec<Task>, bool), RecordFault> {
        self.with(move |connection| {
            let matches = match (&search.external_reference, search.is_part_of_text) {
                (None, _) => "?3 IS NULL",
                (Some(_), false) => "external_reference = ?3",
                (Some(_), true) => "instr(lower(external_reference), lower(?3)) > 0",
            };
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM task WHERE number > ?1 AND searchable_at <= ?2 AND {matches} \
                 AND created_at >= ?5 AND created_at < ?6 \
                 AND (?7 IS NULL OR coalesce(members ->> '$.company', ?7) = ?7) ORDER BY number LIMIT ?4"
            ))?;
            let rows_max = i64::from(search.records_max) + 1;
            let bound = params![
                search.after,
                search.searchable_at,
                search.external_reference,
                rows_max,
                search.created_from,
                search.created_to,
                search.company
            ];
            let mut tasks = statement.query_map(bound, Task::read)?.collect::<Result<Vec<_>, _>>()?;
            let has_more = tasks.len() > usize::try_from(search.records_max).unwrap_or(usize::MAX);
            if has_more {
                tasks.pop();
            }
            Ok((tasks, has_more))
        })
        .await
    }

    pub(super) async fn counts(&self) -> Result<Counts, RecordFault> {
        self.with(|connection| {
            let sums = "SELECT count(*) FILTER (WHERE status <> 'VOIDED'), count(*) FILTER (WHERE status = 'VOIDED') FROM task";
            let read = |row: &Row<'_>| Ok(Counts { live: row.get(0)?, void: row.get(1)? });
            Ok(connection.query_row(sums, [], read)?)
        })
        .await
    }

    /// Counts for each value of a member; a record without it counts for the empty text.
    pub(super) async fn counts_by(&self, member: String) -> Result<BTreeMap<String, Counts>, RecordFault> {
        self.with(move |connection| {
            let value = if member == "external_reference" { "external_reference" } else { "members -> ('$.' || ?1)" };
            let mut statement = connection.prepare(&format!(
                "SELECT {value}, count(*) FILTER (WHERE status <> 'VOIDED'), count(*) FILTER (WHERE status = 'VOIDED') \
                 FROM task WHERE ?1 IS NOT NULL GROUP BY 1 LIMIT {GROUPS_MAX}"
            ))?;
            let groups = statement.query_map(params![member], |row| {
                let value: Option<String> = row.get(0)?;
                let value = value.unwrap_or_default();
                // A text of a member stands in quotes, other values as they were written.
                let plain = serde_json::from_str::<String>(&value).unwrap_or(value);
                Ok((plain, Counts { live: row.get(1)?, void: row.get(2)? }))
            })?;
            Ok(groups.collect::<Result<_, _>>()?)
        })
        .await
    }
}

impl Task {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            external_reference: row.get(1)?,
            status: row.get(2)?,
            members: row.get(3)?,
            created_at: row.get(4)?,
            request_hash: row.get(5)?,
        })
    }

    pub(super) fn id(&self) -> String {
        format!("{ID_PREFIX}{}", self.number)
    }

    pub(super) const fn number(&self) -> i64 {
        self.number
    }

    /// The record as it is answered.
    pub(super) fn json(&self) -> Result<String, RecordFault> {
        let created_at = chrono::DateTime::from_timestamp_millis(self.created_at).unwrap_or_default();
        let mut members: Members = serde_json::from_str(&self.members)?;
        members.insert("id".to_owned(), to_raw_value(&self.id())?);
        members.insert("status".to_owned(), to_raw_value(&self.status)?);
        members.insert("external_reference".to_owned(), to_raw_value(&self.external_reference)?);
        members.insert("created_at".to_owned(), to_raw_value(&guard::clock::rfc3339(created_at))?);
        Ok(serde_json::to_string(&members)?)
    }
}

fn members_text(mut members: Members) -> Result<String, serde_json::Error> {
    for own in OWN_MEMBERS {
        members.remove(own);
    }
    serde_json::to_string(&members)
}

fn number_of(id: &str) -> Option<i64> {
    id.strip_prefix(ID_PREFIX)?.parse().ok()
}

fn one(
    connection: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Option<Task>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM task WHERE {condition} LIMIT 1"))?;
    statement.query_row(parameters, Task::read).optional()
}
