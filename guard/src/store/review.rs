//! What people do about uncertain operations. Written with the operation, by [`super::Store::replace`].

use async_trait::async_trait;

use crate::evidence::Evidence;
use crate::id::{EvidenceId, OperationId};
use crate::operation::Operation;
use crate::refusal::StoreFault;
use crate::review::Review;
use crate::token::Reach;
use crate::triage::{Place, Step, Stretch, Triage};

/// Reviews of uncertain operations.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// The reviews of these operations, of those that have one; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault>;

    /// Evidence that is a file, with its bytes.
    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault>;

    /// The steps of money of what is uncertain, the largest first; at most [`crate::triage::STEPS_MAX`].
    async fn steps(&self, triage: &Triage) -> Result<Vec<Step>, StoreFault>;

    /// The places of each stretch within reach that the question asks for, at most `limit` of each.
    async fn places(
        &self,
        reach: &Reach,
        triage: &Triage,
        stretches: &[Stretch],
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault>;

    /// The places within reach that the question asks for by age alone: the longest uncertain first, or the latest. Behind a moment in
    /// milliseconds and an id; at most `limit`.
    async fn places_by_age(
        &self,
        reach: &Reach,
        triage: &Triage,
        latest_first: bool,
        behind: Option<(i64, OperationId)>,
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault>;

    /// The operations with these ids, of those that there are; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault>;
}
