//! Calls in memory.

use async_trait::async_trait;
use guard::call::{Call, CallFilter, CallRequest};
use guard::clock::Timestamp;
use guard::id::{CallId, TokenId};
use guard::queue::{Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Calls;
use guard::token::Reach;

use super::Memory;

#[async_trait]
impl Calls for Memory {
    async fn add_calls(&self, calls: &[(Call, CallRequest)]) -> Result<(), StoreFault> {
        let kept = &mut self.tables().calls;
        for call in calls {
            if kept.iter().all(|(known, _)| known.id != call.0.id) {
                kept.push(call.clone());
            }
        }
        kept.sort_by_key(|(call, _)| call.id);
        Ok(())
    }

    async fn calls(&self, reach: &Reach, filter: &CallFilter, page: &PageRequest) -> Result<Page<Call>, StoreFault> {
        let behind = page.cursor.as_ref().and_then(|cursor| cursor.read());
        let fits = |call: &Call| {
            let is_of_class = filter.class.is_none_or(|class| {
                let (from, to) = class.bounds();
                (from..to).contains(&call.status)
            });
            call.about.is_within(reach)
                && is_of_class
                && filter.token.is_none_or(|token| token == call.token)
                && filter.decision.is_none_or(|decision| call.decision == Some(decision))
                && filter.problem.as_ref().is_none_or(|problem| call.problem.as_ref() == Some(problem))
                && filter.from.is_none_or(|from| call.at >= from)
                && filter.to.is_none_or(|to| call.at < to)
                && behind.is_none_or(|(_, id)| call.id.as_u128() < id)
        };
        let tables = self.tables();
        let mut rows: Vec<_> =
            tables.calls.iter().rev().map(|(call, _)| call).filter(|call| fits(call)).cloned().collect();
        let has_next = rows.len() > page.limit as usize;
        rows.truncate(page.limit as usize);
        let next = rows.last().filter(|_| has_next).map(Call::cursor);
        Ok(Page { rows, next })
    }

    async fn call(&self, id: CallId) -> Result<Option<(Call, CallRequest)>, StoreFault> {
        Ok(self.tables().calls.iter().find(|(call, _)| call.id == id).cloned())
    }

    async fn forget_calls_of(&self, token: TokenId, keep: u32, limit: u32) -> Result<u64, StoreFault> {
        let calls = &mut self.tables().calls;
        let own = calls.iter().filter(|(call, _)| call.token == token).count();
        let mut over = own.saturating_sub(keep as usize).min(limit as usize);
        let forgotten = over as u64;
        calls.retain(|(call, _)| {
            let is_forgotten = over > 0 && call.token == token;
            over -= usize::from(is_forgotten);
            !is_forgotten
        });
        Ok(forgotten)
    }

    async fn forget_calls_before(&self, at: Timestamp, limit: u32) -> Result<u64, StoreFault> {
        let calls = &mut self.tables().calls;
        let over = calls.iter().take_while(|(call, _)| call.at < at).count().min(limit as usize);
        calls.drain(..over);
        Ok(over as u64)
    }
}
