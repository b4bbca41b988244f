//! Duplicates prevented, in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::board::{AgeBand, AgesOfDay, start_of_day};
use guard::clock::Timestamp;
use guard::conflict::Places;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::state::{State, StateName};
use guard::store::{Delivery, PreventedDuplicate, Proofs};
use guard::summary::{Count, Counted, Prevention};
use guard::token::Reach;

use super::{Memory, Tables, is_within};

#[derive(Clone)]
pub(super) struct Row {
    kind: Prevention,
    attempt: u32,
    asked_at: Timestamp,
    certain_at: Option<Timestamp>,
}

/// For how long operations are uncertain, by workflow and company.
pub(super) type Ages = BTreeMap<(String, String), [u64; AgeBand::ALL.len()]>;

/// Whether what an attempt held back is a duplicate, is none, or may still be either.
fn is_duplicate(operation: &Operation, attempt: u32) -> Option<bool> {
    if operation.attempt_number() != attempt {
        return Some(false);
    }
    match operation.state.name() {
        StateName::Confirmed => Some(true),
        StateName::Released | StateName::Failed | StateName::Rejected => Some(false),
        StateName::AwaitingApproval
        | StateName::Acquired
        | StateName::Sending
        | StateName::Unknown
        | StateName::Disputed => None,
    }
}

fn counted(operation: &Operation, kind: Prevention, at: Timestamp) -> Count {
    let (workflow, company) = (operation.key.workflow.as_str(), operation.key.company.as_str());
    Count::one(workflow, company, Counted::Prevented(kind), at, operation.money.as_ref())
}

impl Tables {
    pub(super) fn hold_back(&mut self, delivery: &Delivery) {
        let held = delivery.count.counted.held_as().zip(delivery.held_by).zip(delivery.operation);
        let Some(((kind, attempt), id)) = held else { return };
        let Some(operation) = self.operations.get(&id) else { return };
        let verdict = is_duplicate(operation, attempt);
        let is_newer = self.prevented.get(&id).is_none_or(|row| row.certain_at.is_none() && row.attempt < attempt);
        if verdict == Some(false) || !is_newer {
            return;
        }
        let certain_at = (verdict == Some(true)).then_some(delivery.at);
        let count = certain_at.map(|at| counted(operation, kind, at));
        self.counts.extend(count);
        self.prevented.insert(id, Row { kind, attempt, asked_at: delivery.at, certain_at });
    }
}

#[async_trait]
impl Proofs for Memory {
    async fn settle_held(&self, now: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        let mut tables = self.tables();
        let waits = tables.prevented.iter().filter(|(_, row)| row.certain_at.is_none());
        let due: Vec<(OperationId, bool)> = waits
            .filter_map(|(id, row)| Some((*id, is_duplicate(&tables.operations[id], row.attempt)?)))
            .take(limit as usize)
            .collect();
        for (id, is_duplicate) in &due {
            if !is_duplicate {
                tables.prevented.remove(id);
                continue;
            }
            let row = tables.prevented.get_mut(id).unwrap();
            row.certain_at = Some(now);
            let kind = row.kind;
            let count = counted(&tables.operations[id], kind, now);
            tables.counts.push(count);
        }
        Ok(u32::try_from(due.len()).unwrap())
    }

    async fn prevented(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<PreventedDuplicate>, StoreFault> {
        let tables = self.tables();
        let mut found: Vec<PreventedDuplicate> = tables
            .prevented
            .iter()
            .filter(|(id, _)| is_within(reach, &tables.operations[id]))
            .filter_map(|(id, row)| {
                let certain_at = row.certain_at.filter(|at| (from..to).contains(at))?;
                Some(PreventedDuplicate { operation: *id, kind: row.kind, asked_at: row.asked_at, certain_at })
            })
            .collect();
        found.sort_by_key(|prevented| std::cmp::Reverse(prevented.certain_at));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn places_of_conflicts(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Places>, StoreFault> {
        let tables = self.tables();
        let within = tables.conflicts.iter().rev().map(|(conflict, _)| conflict).filter(|conflict| {
            reach.company(&conflict.company)
                && reach.workflow(&conflict.workflow)
                && (from..to).contains(&conflict.opened_at)
        });
        Ok(within.take(limit as usize).map(|conflict| conflict.places.clone()).collect())
    }

    async fn remember_ages(&self, at: Timestamp) -> Result<(), StoreFault> {
        let mut tables = self.tables();
        let mut found = Ages::new();
        for operation in tables.operations.values() {
            let (State::Unknown { since, .. } | State::Disputed { since, .. }) = &operation.state else { continue };
            if *since <= at {
                let of = (operation.key.workflow.as_str().to_owned(), operation.key.company.as_str().to_owned());
                found.entry(of).or_default()[AgeBand::of(at - *since) as usize] += 1;
            }
        }
        tables.ages.insert(start_of_day(at), found);
        Ok(())
    }

    async fn ages(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<AgesOfDay>, StoreFault> {
        let tables = self.tables();
        let days = tables.ages.range(from..to).filter_map(|(day, found)| {
            let within =
                found.iter().filter(|((workflow, company), _)| reach.workflow(workflow) && reach.company(company));
            let sum = |mut sum: AgesOfDay, numbers: &[u64; AgeBand::ALL.len()]| {
                sum.numbers.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
                sum
            };
            let mut within = within.map(|(_, numbers)| numbers).peekable();
            within.peek()?;
            Some(within.fold(AgesOfDay { day: *day, numbers: Default::default() }, sum))
        });
        Ok(days.collect())
    }
}
