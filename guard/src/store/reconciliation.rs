//! What is kept of reconciliations: runs, their rows, and what the last one said of each operation.

use std::ops::RangeInclusive;

use async_trait::async_trait;

use super::{Replaced, Replacement};
use crate::id::{OperationId, ReconciliationId};
use crate::operation::Operation;
use crate::pull::PullSchedule;
use crate::reconciliation::{Bucket, OpenDuplicates, Reconciled, RecordDecision, Row, Run, RunFilter};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// Reconciliations.
#[async_trait]
pub trait Reconciliations: Send + Sync {
    /// The operations of a workflow and company that hold one of these destination references, by id, at most `limit`.
    async fn operations_by_reference(
        &self,
        workflow: &str,
        company: &str,
        references: &[String],
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault>;

    /// The operations with these ids, of those that there are.
    async fn operations_by_id(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault>;

    /// The payloads of these operations, compact JSON, of those that are kept.
    async fn payloads_of(&self, ids: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault>;

    /// Stores a run that is begun. Where its identity is there already, that one is answered: as it is when it is over; otherwise taken
    /// up once more, without the rows that were written before.
    async fn take_up(&self, run: &Run) -> Result<Run, StoreFault>;

    /// Adds rows to a run, unless it was taken up by somebody else since.
    async fn add_rows(&self, run: ReconciliationId, take: u32, rows: Vec<Row>) -> Result<Replaced, StoreFault>;

    /// Stores how a run ended, unless it was taken up by somebody else since.
    async fn finish(&self, run: &Run) -> Result<Replaced, StoreFault>;

    /// The run with this id.
    async fn reconciliation(&self, id: ReconciliationId) -> Result<Option<Run>, StoreFault>;

    /// Runs within reach that the filter takes, the newest first, before the id `before` where one is given, at most `limit`.
    async fn reconciliations(
        &self,
        reach: &Reach,
        filter: &RunFilter,
        before: Option<ReconciliationId>,
        limit: u32,
    ) -> Result<Vec<Run>, StoreFault>;

    /// The last run that is over of each workflow and company within reach.
    async fn last_reconciliations(&self, reach: &Reach) -> Result<Vec<Run>, StoreFault>;

    /// The rows of a run in a bucket behind the number `after`, at most `limit`.
    async fn reconciliation_rows(
        &self,
        run: ReconciliationId,
        bucket: Bucket,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Row>, StoreFault>;

    /// How the scheduled pulls stand, of those that were ever begun, by workflow and company.
    async fn pull_schedules(&self) -> Result<Vec<PullSchedule>, StoreFault>;

    /// Stores how a scheduled pull stands, where it follows on the version that is stored; version 1 where none is.
    async fn put_pull_schedule(&self, schedule: &PullSchedule) -> Result<Replaced, StoreFault>;

    /// What the last reconciliation said of these operations, of those that had one.
    async fn reconciled(&self, operations: &[OperationId]) -> Result<Vec<Reconciled>, StoreFault>;

    /// Keeps what a person said of a record and an operation, in place of what was said of both before.
    async fn put_record_decision(&self, decision: &RecordDecision) -> Result<(), StoreFault>;

    /// What people said of the records in these rows of a run, by the number of the row.
    async fn record_decisions_of_rows(
        &self,
        run: ReconciliationId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<RecordDecision>, StoreFault>;

    /// What people said of these operations and records.
    async fn record_decisions_of(&self, operations: &[OperationId]) -> Result<Vec<RecordDecision>, StoreFault>;

    /// Disputed operations that the last reconciliation found more than once at their destinations, by company and workflow.
    async fn open_duplicates(&self) -> Result<Vec<OpenDuplicates>, StoreFault>;

    /// Makes changes of different operations together, each for itself, in their order.
    async fn replace_all(&self, replacements: Vec<Replacement>) -> Result<Vec<Replaced>, StoreFault>;
}
