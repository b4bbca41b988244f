//! Rows of recovery: schedules of unknown operations, and how destinations may be asked.

use guard::access::{Access, Down};
use guard::id::OperationId;
use guard::recovery::{Answer, Claim, LastLookup, Recovery};
use guard::refusal::StoreFault;
use uuid::Uuid;

use super::{Place, column_number, uuid};

/// A row of `recovery`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct RecoveryRow {
    pub operation: Uuid,
    pub destination: String,
    pub since: i64,
    pub last_write_at: i64,
    pub due_at: i64,
    pub lookups: i64,
    pub first_negative_at: Option<i64>,
    pub exists_at: Option<i64>,
    pub last_at: Option<i64>,
    pub last_answer: Option<String>,
    pub last_reason: Option<String>,
    pub claimed_by: Option<String>,
    pub claimed_until: Option<i64>,
    pub exhausted_at: Option<i64>,
}

impl RecoveryRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "operation, destination, since, last_write_at, due_at, lookups, first_negative_at, \
         exists_at, last_at, last_answer, last_reason, claimed_by, claimed_until, exhausted_at";
}

impl From<&Recovery> for RecoveryRow {
    fn from(recovery: &Recovery) -> Self {
        let Recovery {
            operation,
            destination,
            since,
            last_write_at,
            due_at,
            lookups,
            first_negative_at,
            exists_at,
            last,
            claim,
            exhausted_at,
        } = recovery;
        Self {
            operation: uuid(operation.as_u128()),
            destination: destination.clone(),
            since: since.timestamp_millis(),
            last_write_at: last_write_at.timestamp_millis(),
            due_at: due_at.timestamp_millis(),
            lookups: i64::from(*lookups),
            first_negative_at: first_negative_at.map(|at| at.timestamp_millis()),
            exists_at: exists_at.map(|at| at.timestamp_millis()),
            last_at: last.as_ref().map(|last| last.at.timestamp_millis()),
            last_answer: last.as_ref().map(|last| last.answer.as_str().to_owned()),
            last_reason: last.as_ref().and_then(|last| last.reason.clone()),
            claimed_by: claim.as_ref().map(|claim| claim.by.clone()),
            claimed_until: claim.as_ref().map(|claim| claim.until.timestamp_millis()),
            exhausted_at: exhausted_at.map(|at| at.timestamp_millis()),
        }
    }
}

impl TryFrom<RecoveryRow> for Recovery {
    type Error = StoreFault;

    fn try_from(row: RecoveryRow) -> Result<Self, StoreFault> {
        let place = Place::new("recovery", &row.operation);
        let moment = |column: &str, value: Option<i64>| value.map(|value| place.moment(column, value)).transpose();
        let last = match (row.last_at, &row.last_answer) {
            (Some(at), Some(answer)) => Some(LastLookup {
                at: place.moment("last_at", at)?,
                answer: place.some("last_answer", Answer::parse(answer))?,
                reason: row.last_reason.clone(),
            }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(place.corrupt("last_answer")),
        };
        let claim = match (&row.claimed_by, row.claimed_until) {
            (Some(by), Some(until)) => Some(Claim { by: by.clone(), until: place.moment("claimed_until", until)? }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(place.corrupt("claimed_until")),
        };
        Ok(Self {
            operation: OperationId::from_u128(row.operation.as_u128()),
            destination: row.destination.clone(),
            since: place.moment("since", row.since)?,
            last_write_at: place.moment("last_write_at", row.last_write_at)?,
            due_at: place.moment("due_at", row.due_at)?,
            lookups: place.number("lookups", row.lookups)?,
            first_negative_at: moment("first_negative_at", row.first_negative_at)?,
            exists_at: moment("exists_at", row.exists_at)?,
            last,
            claim,
            exhausted_at: moment("exhausted_at", row.exhausted_at)?,
        })
    }
}

/// A row of `access`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct AccessRow {
    pub destination: String,
    pub version: i64,
    pub failures: i64,
    pub down_since: Option<i64>,
    pub down_reason: Option<String>,
    pub probes: Option<i64>,
    pub probe_at: Option<i64>,
    pub paced_until: i64,
}

impl AccessRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str =
        "destination, version, failures, down_since, down_reason, probes, probe_at, paced_until";
}

impl From<&Access> for AccessRow {
    fn from(access: &Access) -> Self {
        let Access { destination, version, failures, down, paced_until } = access;
        Self {
            destination: destination.clone(),
            version: column_number(*version),
            failures: i64::from(*failures),
            down_since: down.as_ref().map(|down| down.since.timestamp_millis()),
            down_reason: down.as_ref().map(|down| down.reason.clone()),
            probes: down.as_ref().map(|down| i64::from(down.probes)),
            probe_at: down.as_ref().map(|down| down.probe_at.timestamp_millis()),
            paced_until: paced_until.timestamp_millis(),
        }
    }
}

impl TryFrom<AccessRow> for Access {
    type Error = StoreFault;

    fn try_from(row: AccessRow) -> Result<Self, StoreFault> {
        let place = Place::new("access", &row.destination);
        let down = match (row.down_since, &row.down_reason, row.probes, row.probe_at) {
            (None, None, None, None) => None,
            (Some(since), Some(reason), Some(probes), Some(probe_at)) => Some(Down {
                since: place.moment("down_since", since)?,
                reason: reason.clone(),
                probes: place.number("probes", probes)?,
                probe_at: place.moment("probe_at", probe_at)?,
            }),
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(place.corrupt("down_since"));
            }
        };
        Ok(Self {
            destination: row.destination.clone(),
            version: place.number("version", row.version)?,
            failures: place.number("failures", row.failures)?,
            down,
            paced_until: place.moment("paced_until", row.paced_until)?,
        })
    }
}
