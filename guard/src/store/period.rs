//! What is kept of periods. They are written by acts of the administration, days together with their operation.

use async_trait::async_trait;

use crate::id::{OperationId, PeriodId};
use crate::period::{Basis, Day, Period, PeriodRow, SealMark, Span};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// Periods, and what lies in them.
#[async_trait]
pub trait Periods: Send + Sync {
    /// The days of these operations, of those that have one by their payload; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn days(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, Day)>, StoreFault>;

    /// Operations of a company whose day, by this basis, lies in a span: behind the row `after`, at most `limit`. Those by creation
    /// are ordered by workflow, source system, action and id, those by payload by day and id.
    async fn period_rows(
        &self,
        company: &str,
        span: Span,
        basis: Basis,
        after: Option<&PeriodRow>,
        limit: u32,
    ) -> Result<Vec<PeriodRow>, StoreFault>;

    /// The period with this id.
    async fn period(&self, id: PeriodId) -> Result<Option<Period>, StoreFault>;

    /// The earliest closed period of a company that shares a day with a span.
    async fn closed_period(&self, company: &str, span: Span) -> Result<Option<Period>, StoreFault>;

    /// Periods of companies within reach, the newest first, before the id `before` where one is given, at most `limit`.
    async fn periods(&self, reach: &Reach, before: Option<PeriodId>, limit: u32) -> Result<Vec<Period>, StoreFault>;

    /// The last seal of the trail.
    async fn last_seal_mark(&self) -> Result<Option<SealMark>, StoreFault>;
}
