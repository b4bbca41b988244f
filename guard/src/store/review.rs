//! What people do about uncertain operations. Written with the operation, by [`super::Store::replace`].

use async_trait::async_trait;

use crate::evidence::Evidence;
use crate::id::{EvidenceId, OperationId};
use crate::incident::Unsettled;
use crate::operation::Operation;
use crate::refusal::StoreFault;
use crate::review::Review;
use crate::token::Reach;
use crate::triage::{Look, Part, Place, Seen, Step, Stretch, Triage};

/// Reviews of uncertain operations.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// The reviews of these operations, of those that have one; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault>;

    /// Evidence that is a file, with its bytes.
    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault>;

    /// The unknown operations within reach that were begun last, at most `limit`.
    async fn latest_unknown(&self, reach: &Reach, limit: u32) -> Result<Vec<Unsettled>, StoreFault>;

    /// The steps of money of what is uncertain in each of these parts; at most [`crate::triage::STEPS_MAX`] of each.
    async fn steps(&self, parts: &[Part]) -> Result<Vec<(Part, Step)>, StoreFault>;

    /// Looks through each stretch for what is asked for, so far as the look says.
    async fn places(&self, triage: &Triage, stretches: &[Stretch], look: Look) -> Result<Seen, StoreFault>;

    /// The places that are asked for, where [`Triage::is_of_reviewed`]; none where people have claimed, or keep waiting, over `most`.
    async fn places_reviewed(&self, triage: &Triage, most: u32) -> Result<Option<Vec<Place>>, StoreFault>;

    /// The operations with these ids, of those that there are; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault>;
}
