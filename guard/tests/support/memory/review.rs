//! Reviews of uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;

use super::{Memory, Tables};

impl Tables {
    pub(super) fn review(&mut self, operation: OperationId, change: &ReviewChange) {
        match change {
            ReviewChange::Keep => {}
            ReviewChange::Put(review) => {
                self.reviews.insert(operation, (**review).clone());
            }
            ReviewChange::End => {
                self.reviews.remove(&operation);
            }
        }
    }
}

#[async_trait]
impl Reviews for Memory {
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault> {
        let tables = self.tables();
        Ok(operations.iter().filter_map(|operation| tables.reviews.get(operation).cloned()).collect())
    }

    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault> {
        let tables = self.tables();
        let evidence = tables.evidence.iter().find(|evidence| evidence.id == id);
        Ok(evidence.cloned().zip(tables.files.get(&id).cloned()))
    }
}
