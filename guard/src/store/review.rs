//! What people do about uncertain operations. Written with the operation, by [`super::Store::replace`].

use async_trait::async_trait;

use crate::id::OperationId;
use crate::refusal::StoreFault;
use crate::review::Review;

/// Reviews of uncertain operations.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// The reviews of these operations, of those that have one; at most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault>;
}
