//! What the guard asks of a database about conflicts, beyond those of one operation.

use async_trait::async_trait;

use crate::conflict::Conflict;
use crate::id::ConflictId;
use crate::refusal::StoreFault;

/// Conflicts by their own ids.
#[async_trait]
pub trait Conflicts: Send + Sync {
    /// The conflict with this id.
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault>;

    /// The payload that came, compact JSON; none when it was dropped.
    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault>;
}
