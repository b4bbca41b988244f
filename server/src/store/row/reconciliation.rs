//! Rows of reconciliation: runs and their rows are kept as JSON, whose shape `guard` owns; what is searched by stands beside it.

use guard::id::{OperationId, ReconciliationId};
use guard::pull::PullSchedule;
use guard::reconciliation::{Bucket, OpenDuplicates, Reconciled, RecordDecision, Row, Run};
use guard::refusal::StoreFault;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Place, column_number, json_text, uuid};

/// A row of `reconciliation`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ReconciliationRow {
    pub id: Uuid,
    pub content: String,
}

impl TryFrom<ReconciliationRow> for Run {
    type Error = StoreFault;

    fn try_from(row: ReconciliationRow) -> Result<Self, StoreFault> {
        Place::new("reconciliation", &row.id).json("content", &row.content)
    }
}

/// A row of `reconciliation_row`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ReportRow {
    pub run: Uuid,
    pub content: String,
}

impl TryFrom<ReportRow> for Row {
    type Error = StoreFault;

    fn try_from(row: ReportRow) -> Result<Self, StoreFault> {
        Place::new("reconciliation_row", &row.run).json("content", &row.content)
    }
}

/// A row of `reconciled`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ReconciledRow {
    pub operation: Uuid,
    pub run: Uuid,
    pub bucket: String,
    pub at: i64,
}

impl ReconciledRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "operation, run, bucket, at";
}

impl From<&Reconciled> for ReconciledRow {
    fn from(reconciled: &Reconciled) -> Self {
        let Reconciled { operation, run, bucket, at } = reconciled;
        Self {
            operation: uuid(operation.as_u128()),
            run: uuid(run.as_u128()),
            bucket: bucket.as_str().to_owned(),
            at: at.timestamp_millis(),
        }
    }
}

impl TryFrom<ReconciledRow> for Reconciled {
    type Error = StoreFault;

    fn try_from(row: ReconciledRow) -> Result<Self, StoreFault> {
        let place = Place::new("reconciled", &row.operation);
        Ok(Self {
            operation: OperationId::from_u128(row.operation.as_u128()),
            run: ReconciliationId::from_u128(row.run.as_u128()),
            bucket: place.some("bucket", Bucket::parse(&row.bucket))?,
            at: place.moment("at", row.at)?,
        })
    }
}

/// A row of `pull_schedule`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct PullScheduleRow {
    pub workflow: String,
    pub company: String,
    pub version: i64,
    pub content: String,
}

impl PullScheduleRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "workflow, company, version, content";
}

impl From<&PullSchedule> for PullScheduleRow {
    fn from(schedule: &PullSchedule) -> Self {
        Self {
            workflow: schedule.workflow.clone(),
            company: schedule.company.clone(),
            version: column_number(schedule.version),
            content: json_text(schedule),
        }
    }
}

impl TryFrom<PullScheduleRow> for PullSchedule {
    type Error = StoreFault;

    fn try_from(row: PullScheduleRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}", row.workflow, row.company);
        let place = Place::new("pull_schedule", &id);
        let schedule: Self = place.json("content", &row.content)?;
        // What is changed by must be what the record says.
        let version: u64 = place.number("version", row.version)?;
        place.some("version", (schedule.version == version).then_some(schedule))
    }
}

/// A row of `record_decision`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct RecordDecisionRow {
    pub operation: Uuid,
    pub content: String,
}

impl TryFrom<RecordDecisionRow> for RecordDecision {
    type Error = StoreFault;

    fn try_from(row: RecordDecisionRow) -> Result<Self, StoreFault> {
        Place::new("record_decision", &row.operation).json("content", &row.content)
    }
}

/// The SHA-256 of a record's id at the destination.
pub fn record_digest(reference: &str) -> [u8; 32] {
    Sha256::digest(reference).into()
}

/// What is found more than once in a workflow and company.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "as in the domain")]
pub struct OpenDuplicatesRow {
    pub workflow: String,
    pub company: String,
    pub number: i64,
    pub run: Uuid,
}

impl TryFrom<OpenDuplicatesRow> for OpenDuplicates {
    type Error = StoreFault;

    fn try_from(row: OpenDuplicatesRow) -> Result<Self, StoreFault> {
        Ok(Self {
            number: Place::new("reconciled", &row.run).number("number", row.number)?,
            workflow: row.workflow,
            company: row.company,
            run: ReconciliationId::from_u128(row.run.as_u128()),
        })
    }
}
