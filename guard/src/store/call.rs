//! Calls of the API.

use async_trait::async_trait;

use crate::call::{Call, CallFilter, CallRequest};
use crate::clock::Timestamp;
use crate::id::{CallId, TokenId};
use crate::queue::{Page, PageRequest};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// The log of what automations asked. It is written behind answers, and a crash may lose its last second.
#[async_trait]
pub trait Calls: Send + Sync {
    /// Keeps calls; one that is there already stays as it is.
    async fn add_calls(&self, calls: &[(Call, CallRequest)]) -> Result<(), StoreFault>;

    /// A page of the calls within reach, the latest first. At most [`crate::queue::WALKED_ROWS_MAX`] are looked through for a page.
    async fn calls(&self, reach: &Reach, filter: &CallFilter, page: &PageRequest) -> Result<Page<Call>, StoreFault>;

    /// A call, with what is kept of its request.
    async fn call(&self, id: CallId) -> Result<Option<(Call, CallRequest)>, StoreFault>;

    /// Forgets the oldest calls of a token beyond the latest `keep`, at most `limit` of them; answers how many.
    async fn forget_calls_of(&self, token: TokenId, keep: u32, limit: u32) -> Result<u64, StoreFault>;

    /// Forgets the oldest calls of those that came before a moment, at most `limit` of them; answers how many.
    async fn forget_calls_before(&self, at: Timestamp, limit: u32) -> Result<u64, StoreFault>;
}
