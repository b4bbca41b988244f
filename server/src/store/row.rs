//! Rows as both databases hold them, flat, and what they mean. A row that is no legal record is a named fault, never a default.
//!
//! PostgreSQL reads them through `FromRow`, by name; SQLite through [`FromSqlite`], by the order of the `COLUMNS` constants.

mod activity;
mod administration;
mod amendment;
mod call;
mod history;
mod lists;
mod notification;
mod operation;
mod period;
mod proof;
mod reconciliation;
mod recovery;
mod retention;
mod review;
mod rules;
mod sqlite;

pub use activity::{OF_PEOPLE, SealingRow, TrailCheckRow, activity_edge, activity_page, person_actor};
pub use administration::{DestinationRow, PersonRow, TokenRow, WorkflowRow};
pub use amendment::AmendmentRow;
pub use call::{CallRequestRow, CallRow};
pub use history::{ConflictGroupRow, ConflictRow, CountRow, DeliveryRow, EntryRow, EvidenceRow, SealRow};
pub use lists::{RunItemRow, RunRow, ViewRow};
pub use notification::{ChannelRow, ChannelStateRow, GroupRow, MessageRow, PieceRow};
pub use operation::OperationRow;
pub use period::{ClosedPeriodRow, DayRow, PeriodOperationRow, period_uuid};
pub use proof::{AgesRow, CertainRow, PlacesRow, PreventedRow};
pub use reconciliation::{
    OpenDuplicatesRow, PullScheduleRow, ReconciledRow, ReconciliationRow, RecordDecisionRow, ReportRow, record_digest,
};
pub use recovery::{AccessRow, RecoveryRow};
pub use retention::{BodiesRow, HoldRow, to_drop};
pub use review::{ReviewRow, UnsettledRow};
pub use rules::{ReceivedRow, RuleProposalRow, WorkflowVersionRow};
pub use sqlite::FromSqlite;

use chrono::DateTime;
use guard::clock::Timestamp;
use guard::refusal::StoreFault;
use guard::token::Reach;
use uuid::Uuid;

/// Names a row for people, when it turns out to be no legal record.
pub(crate) struct Place<'a> {
    table: &'static str,
    id: &'a dyn std::fmt::Display,
}

impl<'a> Place<'a> {
    pub(crate) fn new(table: &'static str, id: &'a dyn std::fmt::Display) -> Self {
        Self { table, id }
    }

    /// The fault of a column.
    pub(crate) fn corrupt(&self, column: &str) -> StoreFault {
        StoreFault::Corrupt { table: self.table.to_owned(), column: column.to_owned(), id: self.id.to_string() }
    }

    /// The value, or the fault of the column that should have held it.
    pub(crate) fn some<T>(&self, column: &str, value: Option<T>) -> Result<T, StoreFault> {
        value.ok_or_else(|| self.corrupt(column))
    }

    /// The value, or the fault of the column that should have held it.
    pub(crate) fn read<T, E>(&self, column: &str, value: Result<T, E>) -> Result<T, StoreFault> {
        value.map_err(|_| self.corrupt(column))
    }

    /// The moment of a column in milliseconds since 1970.
    pub(crate) fn moment(&self, column: &str, milliseconds: i64) -> Result<Timestamp, StoreFault> {
        self.some(column, DateTime::from_timestamp_millis(milliseconds))
    }

    /// A number that must not be negative, or not over its type.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: &str, value: i64) -> Result<T, StoreFault> {
        self.read(column, T::try_from(value))
    }

    /// Bytes of a fixed length.
    pub(crate) fn bytes<const N: usize>(&self, column: &str, value: &[u8]) -> Result<[u8; N], StoreFault> {
        self.read(column, <[u8; N]>::try_from(value))
    }

    /// A value that is kept as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, column: &str, text: &str) -> Result<T, StoreFault> {
        self.read(column, serde_json::from_str(text))
    }
}

/// A value as JSON, for a column. What is kept so cannot fail to be written: names are texts and numbers are finite.
pub(crate) fn json_text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A count for a column; what does not fit (2⁶³ of something) stays at the greatest number.
pub(crate) fn column_number<T: TryInto<i64>>(value: T) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

/// An id for a column: sixteen bytes in SQLite, `uuid` in PostgreSQL.
pub const fn uuid(id: u128) -> Uuid {
    Uuid::from_u128(id)
}

/// The reach as a column holds it.
pub fn reach_text(reach: &Reach) -> String {
    json_text(reach)
}
