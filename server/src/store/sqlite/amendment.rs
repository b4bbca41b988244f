//! Amendments.

use async_trait::async_trait;
use guard::amendment::{Amendment, AmendmentStateName};
use guard::clock::Timestamp;
use guard::id::{AmendmentId, OperationId};
use guard::look_alike::Look;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::{AmendmentChange, Amendments};
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::look_alike::{forget_look, keep_look};
use super::readers::{all, one};
use super::work::{execute, key};
use super::{SqliteStore, fault};
use crate::store::row::{AmendmentRow, Place};

/// What a change makes of an amendment, as rows.
pub(super) enum Amending {
    Keep,
    /// A new row with its payload; where the operation has been there before, its payload becomes this one.
    Propose(Box<AmendmentRow>, String, Option<Look>),
    Put(Box<AmendmentRow>),
}

impl From<AmendmentChange> for Amending {
    fn from(change: AmendmentChange) -> Self {
        match change {
            AmendmentChange::Keep => Self::Keep,
            AmendmentChange::Propose { amendment, payload, look } => {
                Self::Propose(Box::new((&*amendment).into()), payload, look)
            }
            AmendmentChange::Put(amendment) => Self::Put(Box::new((&*amendment).into())),
        }
    }
}

impl Amending {
    /// Writes it; the operation's row has been written.
    pub(super) fn write(&self, transaction: &Connection) -> Result<(), StoreFault> {
        match self {
            Self::Keep => Ok(()),
            Self::Propose(row, payload, look) => {
                super::work::keep_body(transaction, &row.operation, "payload", payload)?;
                forget_look(transaction, &row.operation)?;
                keep_look(transaction, &row.operation, *look)?;
                insert(transaction, row, payload)
            }
            Self::Put(row) => {
                let sql = "UPDATE amendment SET approvals = ?2, state = ?3, settled_at = ?4, settled_by = ?5, \
                           settled_reason = ?6 WHERE id = ?1";
                let AmendmentRow { id, approvals, state, settled_at, settled_by, settled_reason, .. } = &**row;
                let values = params![&id.as_bytes()[..], approvals, state, settled_at, settled_by, settled_reason];
                execute(transaction, "amendment", id, sql, values).map(drop)
            }
        }
    }
}

/// Stores a new amendment.
pub(super) fn insert(transaction: &Connection, row: &AmendmentRow, payload: &str) -> Result<(), StoreFault> {
    let places: Vec<String> = (1..=29).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT INTO {} VALUES ({})", AmendmentRow::INTO, places.join(", "));
    let values = params![
        &row.id.as_bytes()[..],
        &row.operation.as_bytes()[..],
        row.revision,
        &row.base.as_bytes()[..],
        row.base_revision,
        row.base_version,
        row.base_fingerprint,
        row.base_reference,
        row.base_confirmed_at,
        row.fingerprint,
        row.changes,
        row.changes_total,
        row.proposed_by,
        row.behind,
        row.proposal_reason,
        row.requested_by,
        row.conflict.as_ref().map(|conflict| &conflict.as_bytes()[..]),
        row.correction,
        row.rule_version,
        row.because,
        row.approvals_needed,
        row.approvals,
        row.proposed_at,
        row.expires_at,
        row.state,
        row.settled_at,
        row.settled_by,
        row.settled_reason,
        payload,
    ];
    execute(transaction, "amendment", &row.id, &sql, values).map(drop)
}

/// A list within reach: what follows on `FROM amendment`, with its values.
struct Within {
    sql: String,
    values: Vec<Value>,
}

impl Within {
    fn of(reach: &Reach, state: Option<AmendmentStateName>) -> Self {
        // Rows go with their operations' companies and workflows, which limit only some people.
        let is_limited = reach.companies.is_some() || reach.workflows.is_some();
        // There are few amendments beside operations: each has its operation looked up, never the other way round.
        let join = if is_limited { " CROSS JOIN operation ON operation.id = amendment.operation" } else { "" };
        // Each state has a stretch of its own in the index; the newest of all states are in the order of their ids.
        let index = if state.is_some() { " INDEXED BY amendment_by_state" } else { "" };
        let mut within = Self { sql: format!("{index}{join} WHERE true"), values: Vec::new() };
        if let Some(state) = state {
            within.sql.push_str(&format!(" AND amendment.state = '{}'", state.as_str()));
        }
        for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
            let Some(names) = names else { continue };
            let places: Vec<&str> = names.iter().map(|_| "?").collect();
            within.sql.push_str(&format!(" AND operation.{column} IN ({})", places.join(", ")));
            within.values.extend(names.iter().map(|name| Value::Text(name.clone())));
        }
        within
    }
}

#[async_trait]
impl Amendments for SqliteStore {
    async fn amendment(&self, id: AmendmentId) -> Result<Option<Amendment>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM amendment WHERE id = ?1", AmendmentRow::COLUMNS);
            one::<AmendmentRow, _>(connection, "amendment", &sql, [id.as_u128().to_be_bytes()])
        })
    }

    async fn amendment_payload(&self, id: AmendmentId) -> Result<Option<String>, StoreFault> {
        self.read_here(|connection| {
            let found =
                connection.prepare_cached("SELECT payload FROM amendment WHERE id = ?1").and_then(|mut statement| {
                    statement.query_row([id.as_u128().to_be_bytes()], |row| row.get(0)).optional()
                });
            found.map(Option::flatten).map_err(|error| fault::of(&error, "amendment", &id))
        })
    }

    async fn amendments_of(&self, operation: OperationId, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!(
                "SELECT {} FROM amendment WHERE operation = ?1 ORDER BY id DESC LIMIT ?2",
                AmendmentRow::COLUMNS
            );
            all::<AmendmentRow, _>(connection, "amendment", &sql, params![key(operation), limit])
        })
    }

    async fn amendments(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, StoreFault> {
        let Within { mut sql, mut values } = Within::of(reach, state);
        if let Some((_, id)) = page.cursor.as_ref().and_then(Cursor::read) {
            sql.push_str(" AND amendment.id < ?");
            values.push(Value::Blob(id.to_be_bytes().to_vec()));
        }
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        values.push(Value::Integer(i64::from(page.limit) + 1));
        let sql = format!("SELECT {} FROM amendment {sql} ORDER BY amendment.id DESC LIMIT ?", AmendmentRow::COLUMNS);
        let mut rows: Vec<Amendment> = self
            .read(move |connection| {
                all::<AmendmentRow, _>(connection, "amendment", &sql, rusqlite::params_from_iter(values))
            })
            .await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        Ok(Page { next: last.map(|last| Cursor::behind(last.proposed_at, last.id.as_u128())), rows })
    }

    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault> {
        let Within { sql, mut values } = Within::of(reach, state);
        values.push(Value::Blob(id.as_u128().to_be_bytes().to_vec()));
        let columns = AmendmentRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM amendment {sql} AND amendment.id > ? ORDER BY amendment.id LIMIT 1");
        self.read(move |connection| {
            one::<AmendmentRow, _>(connection, "amendment", &sql, rusqlite::params_from_iter(values))
        })
        .await
    }

    async fn proposals_over(&self, now: Timestamp, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM amendment INDEXED BY amendment_over \
                 WHERE state = 'awaiting_approval' AND expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2",
                AmendmentRow::COLUMNS
            );
            all::<AmendmentRow, _>(connection, "amendment", &sql, params![now.timestamp_millis(), limit])
        })
        .await
    }

    async fn proposals_waiting(&self, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
        let Within { sql, mut values } = Within::of(reach, Some(AmendmentStateName::AwaitingApproval));
        values.push(Value::Integer(most.into()));
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM amendment {sql} LIMIT ?)");
        self.read(move |connection| {
            let counted: Result<i64, _> = connection
                .prepare_cached(&sql)
                .and_then(|mut statement| statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0)));
            let counted = counted.map_err(|error| fault::of(&error, "amendment", &"counts"))?;
            Place::new("amendment", &"counts").number("state", counted)
        })
        .await
    }
}
