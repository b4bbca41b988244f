//! Conflicts in memory.

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::ConflictId;
use guard::refusal::StoreFault;
use guard::store::Conflicts;

use super::Memory;

#[async_trait]
impl Conflicts for Memory {
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault> {
        let tables = self.tables();
        Ok(tables.conflicts.iter().find(|(known, _)| known.id == id).map(|(known, _)| known.clone()))
    }

    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault> {
        let tables = self.tables();
        Ok(tables.conflicts.iter().find(|(known, _)| known.id == id).map(|(_, payload)| payload.clone()))
    }
}
