//! What people do about uncertain operations. Written with the operation, by [`super::Store::replace`].

use async_trait::async_trait;

use crate::evidence::Evidence;
use crate::id::{EvidenceId, OperationId};
use crate::refusal::StoreFault;
use crate::review::Review;

/// Reviews of uncertain operations.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// The reviews of these operations, of those that have one; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault>;

    /// Evidence that is a file, with its bytes.
    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault>;
}
