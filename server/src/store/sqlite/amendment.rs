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

use super::list::{Question, Values};
use super::look_alike::{forget_look, keep_look};
use super::readers::{all, one};
use super::stretch::{FirstRows, Walk};
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
    let sql = AmendmentRow::insert(&places);
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

/// The amendments in a state, or in any.
fn rows<'a>(state: Option<AmendmentStateName>, condition: &'a str, order: &'a str) -> FirstRows<'a> {
    // Each state has a stretch of its own in an index; the newest of all states are in the order of their ids.
    let (index, index_by_company) = match state {
        Some(_) => ("amendment_by_state", "amendment_by_company_and_state"),
        None => ("amendment_by_id", "amendment_by_company"),
    };
    FirstRows {
        table: "amendment",
        columns: "id, company, workflow",
        condition,
        order,
        index,
        index_by_company,
        index_by_workflow: None,
        most: 0,
    }
}

/// What is asked of amendments in a state, or in any.
fn in_state(state: Option<AmendmentStateName>) -> String {
    state.map_or_else(|| "true".to_owned(), |state| format!("state = '{}'", state.as_str()))
}

/// The amendments within reach behind this one, or before it.
fn walk(reach: &Reach, state: Option<AmendmentStateName>, id: Option<u128>, is_ascending: bool) -> Walk {
    let mut values = Values::default();
    let mut condition = in_state(state);
    let (sign, order) = if is_ascending { (">", "id ASC") } else { ("<", "id DESC") };
    if let Some(id) = id {
        let place = values.place(Value::Blob(id.to_be_bytes().to_vec()));
        condition.push_str(&format!(" AND id {sign} {place}"));
    }
    Walk::along(values, &rows(state, &condition, order), reach, is_ascending)
}

fn read(connection: &Connection, walk: &Walk, page: &PageRequest) -> Result<Page<Amendment>, StoreFault> {
    let of_table = ("amendment", AmendmentRow::COLUMNS);
    walk.read::<AmendmentRow, _>(connection, of_table, page, |amendment: &Amendment| amendment.id.as_u128())
}

/// The amendments that wait for approval within reach, as far as they are counted.
fn waiting(reach: &Reach, most: u32) -> Question {
    let mut values = Values::default();
    let state = Some(AmendmentStateName::AwaitingApproval);
    let first = FirstRows { most, ..rows(state, &in_state(state), "id") }.sql(&mut values, reach);
    Question { sql: format!("SELECT count(*) FROM ({first})"), values: values.0 }
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
        if reach.is_nothing() {
            return Ok(Page::EMPTY);
        }
        let behind = page.cursor.as_ref().and_then(Cursor::read).map(|(_, id)| id);
        let (walk, page) = (walk(reach, state, behind, false), page.clone());
        self.read(move |connection| read(connection, &walk, &page)).await
    }

    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault> {
        let walk = walk(reach, state, Some(id.as_u128()), true);
        let next = PageRequest { cursor: None, limit: 1 };
        Ok(self.read(move |connection| read(connection, &walk, &next)).await?.rows.pop())
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
        let Question { sql, values } = waiting(reach, most);
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

#[cfg(test)]
mod tests {
    use super::super::list::tests::{plan, schema};
    use super::*;

    #[test]
    fn lists_and_counts_are_read_from_indexes_that_tell_who_may_see_them() {
        let connection = schema();
        let names = |number: usize| (0..number).map(|index| format!("name {index}")).collect::<Vec<_>>();
        let states = std::iter::once(None).chain(AmendmentStateName::ALL.map(Some));
        for reach in
            [Reach::EVERYTHING, Reach::over(names(1), names(1)), Reach::over(names(64), []), Reach::over(names(65), [])]
        {
            let mut questions = vec![waiting(&reach, 9)];
            for state in states.clone() {
                for is_ascending in [false, true] {
                    questions.push(walk(&reach, state, Some(7), is_ascending).page(
                        "amendment",
                        AmendmentRow::COLUMNS,
                        50,
                    ));
                }
            }
            for question in questions {
                let plan = plan(&connection, &question);
                let reads: Vec<_> = plan.iter().filter(|step| step.contains("amendment")).collect();
                let is_found =
                    |step: &str| ["COVERING INDEX", "PRIMARY KEY (id=?)"].iter().any(|way| step.contains(way));
                assert!(!reads.is_empty() && reads.iter().all(|step| is_found(step)), "{plan:#?} {}", question.sql);
            }
        }
    }
}
