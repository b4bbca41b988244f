//! Amendments, kept in memory.

use async_trait::async_trait;
use guard::amendment::{Amendment, AmendmentStateName};
use guard::clock::Timestamp;
use guard::id::{AmendmentId, OperationId};
use guard::operation::Operation;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::{AmendmentChange, Amendments};
use guard::token::Reach;

use super::{Memory, Tables, is_within};

impl Tables {
    /// Adds a new amendment; at most one of an operation is open.
    pub(super) fn add_amendment(&mut self, amendment: &Amendment, payload: &str) {
        let is_open =
            |(held, _): &&(Amendment, String)| held.operation == amendment.operation && held.state.name().is_open();
        assert!(self.amendments.iter().find(is_open).is_none(), "one open proposal an operation");
        self.amendments.push((amendment.clone(), payload.to_owned()));
    }

    /// Makes of an operation's amendment what a change says.
    pub(super) fn amend(&mut self, operation: &Operation, change: &AmendmentChange) {
        match change {
            AmendmentChange::Keep => {}
            AmendmentChange::Propose { amendment, payload, look } => {
                self.payloads.insert(operation.id, payload.clone());
                self.looks.keep(operation.id, *look);
                self.add_amendment(amendment, payload);
            }
            AmendmentChange::Put(amendment) => {
                let held = self.amendments.iter_mut().find(|(held, _)| held.id == amendment.id);
                held.expect("an amendment that is changed").0 = (**amendment).clone();
            }
        }
    }
}

#[async_trait]
impl Amendments for Memory {
    async fn amendment(&self, id: AmendmentId) -> Result<Option<Amendment>, StoreFault> {
        let tables = self.tables();
        let found = tables.amendments.iter().find(|(amendment, _)| amendment.id == id);
        Ok(found.map(|(amendment, _)| amendment.clone()))
    }

    async fn amendment_payload(&self, id: AmendmentId) -> Result<Option<String>, StoreFault> {
        let tables = self.tables();
        let found = tables.amendments.iter().find(|(amendment, _)| amendment.id == id);
        Ok(found.map(|(_, payload)| payload.clone()))
    }

    async fn amendments_of(&self, operation: OperationId, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        let tables = self.tables();
        let of_operation = tables.amendments.iter().rev().filter(|(held, _)| held.operation == operation);
        Ok(of_operation.take(limit as usize).map(|(amendment, _)| amendment.clone()).collect())
    }

    async fn amendments(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, StoreFault> {
        let tables = self.tables();
        let behind = page.cursor.as_ref().and_then(Cursor::read).map(|(_, id)| AmendmentId::from_u128(id));
        let mut rows: Vec<Amendment> = tables
            .amendments
            .iter()
            .map(|(amendment, _)| amendment)
            .filter(|amendment| is_within(reach, &tables.operations[&amendment.operation]))
            .filter(|amendment| state.is_none_or(|state| amendment.state.name() == state))
            .filter(|amendment| behind.is_none_or(|behind| amendment.id < behind))
            .cloned()
            .collect();
        rows.sort_by_key(|amendment| std::cmp::Reverse(amendment.id));
        let has_more = rows.len() > page.limit as usize;
        rows.truncate(page.limit as usize);
        let last = rows.last().filter(|_| has_more);
        Ok(Page { next: last.map(|last| Cursor::behind(last.proposed_at, last.id.as_u128())), rows })
    }

    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault> {
        let all = PageRequest { cursor: None, limit: u32::MAX };
        let rows = self.amendments(reach, state, &all).await?.rows;
        Ok(rows.into_iter().rev().find(|amendment| amendment.id > id))
    }

    async fn proposals_over(&self, now: Timestamp, limit: u32) -> Result<Vec<Amendment>, StoreFault> {
        let tables = self.tables();
        let over = tables.amendments.iter().map(|(amendment, _)| amendment).filter(|amendment| {
            amendment.state.name() == AmendmentStateName::AwaitingApproval && amendment.expires_at <= now
        });
        Ok(over.take(limit as usize).cloned().collect())
    }

    async fn proposals_waiting(&self, reach: &Reach, most: u32) -> Result<u32, StoreFault> {
        let tables = self.tables();
        let waiting = tables.amendments.iter().filter(|(amendment, _)| {
            amendment.state.name() == AmendmentStateName::AwaitingApproval
                && is_within(reach, &tables.operations[&amendment.operation])
        });
        Ok(u32::try_from(waiting.take(most as usize).count()).unwrap())
    }
}
