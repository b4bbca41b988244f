//! What the guard asks of a database about conflicts, beyond those of one operation.

use async_trait::async_trait;

use crate::conflict::{Conflict, ConflictFilter, ConflictGroup, ConflictOrder};
use crate::id::ConflictId;
use crate::queue::{Page, PageRequest};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// In lists, the changes of a conflict are left out where their text is longer than this, in characters.
pub const LISTED_CHANGES_CHARACTERS_MAX: usize = 20_000;

/// Conflicts by their own ids, and as a queue.
#[async_trait]
pub trait Conflicts: Send + Sync {
    /// The conflict with this id.
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault>;

    /// The payload that came, compact JSON; none when it was dropped.
    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault>;

    /// A page of conflicts within reach; long changes are left out ([`LISTED_CHANGES_CHARACTERS_MAX`]).
    async fn conflict_page(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        order: ConflictOrder,
        page: &PageRequest,
    ) -> Result<Page<Conflict>, StoreFault>;

    /// The conflicts with these ids, those that there are; long changes are left out.
    async fn conflicts_by_id(&self, ids: &[ConflictId]) -> Result<Vec<Conflict>, StoreFault>;

    /// The groups of the oldest [`crate::conflict::CONFLICTS_GROUPED_MAX`] open conflicts within reach, the largest first, at most
    /// `limit`. Of the filter, the workflow and the company count.
    async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, StoreFault>;
}
