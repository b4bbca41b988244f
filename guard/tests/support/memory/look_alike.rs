//! Look-alikes in memory.

use std::collections::HashMap;

use async_trait::async_trait;
use guard::id::OperationId;
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::store::{LookAlikeQuestion, LookAlikes};

use super::Memory;

#[derive(Clone, Default)]
pub(super) struct Looks(HashMap<OperationId, Look>);

impl Looks {
    pub(super) fn keep(&mut self, operation: OperationId, look: Option<Look>) {
        match look {
            Some(look) => self.0.insert(operation, look),
            None => self.0.remove(&operation),
        };
    }
}

#[async_trait]
impl LookAlikes for Memory {
    async fn look_alikes(
        &self,
        questions: &[LookAlikeQuestion],
        limit: u32,
    ) -> Result<Vec<(OperationId, Operation)>, StoreFault> {
        let tables = self.tables();
        let mut found = Vec::new();
        for LookAlikeQuestion { operation: of, from, to } in questions {
            let Some(look) = tables.looks.0.get(of) else { continue };
            let is_alike = |other: &&Operation| {
                tables.looks.0.get(&other.id) == Some(look) && (*from..*to).contains(&other.created_at)
            };
            let before = tables.operations.range(..of).rev().map(|(_, other)| other).filter(is_alike);
            let behind = tables.operations.range(of..).skip(1).map(|(_, other)| other).filter(is_alike);
            let limit = limit as usize;
            found.extend(before.take(limit).chain(behind.take(limit)).map(|other| (*of, other.clone())));
        }
        Ok(found)
    }
}
