//! Bodies and holds in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::retention::{Bodies, BodyKind, DuePlace, Hold, HoldChange, HoldSubject, unsettled};
use guard::store::Retentions;

use super::{Memory, Tables};

#[derive(Clone, Default)]
pub(super) struct RetentionTables {
    holds: BTreeMap<HoldSubject, Hold>,
    sweep: Option<Claim>,
}

impl RetentionTables {
    pub(super) fn holds(&self, subject: &HoldSubject) -> bool {
        self.holds.contains_key(subject)
    }

    pub(super) fn change(&mut self, change: &HoldChange) {
        match change {
            HoldChange::Keep => {}
            HoldChange::Place(hold) => {
                self.holds.insert(hold.subject, (**hold).clone());
            }
            HoldChange::Lift(subject) => {
                self.holds.remove(subject);
            }
        }
    }
}

impl Tables {
    pub(super) fn drop_bodies(&mut self, id: OperationId) {
        self.payloads.remove(&id);
        self.responses.remove(&id);
        for (conflict, payload) in self.conflicts.iter_mut().filter(|(conflict, _)| conflict.operation == id) {
            conflict.changes.clear();
            payload.clear();
        }
        for (amendment, payload) in self.amendments.iter_mut().filter(|(amendment, _)| amendment.operation == id) {
            amendment.changes.clear();
            payload.clear();
        }
        for evidence in self.evidence.iter().filter(|evidence| evidence.operation == id) {
            self.files.remove(&evidence.id);
        }
        self.looks.keep(id, None);
    }

    fn due(&self, workflow: &str, until: Timestamp) -> Vec<Operation> {
        let is_due = |operation: &&Operation| {
            operation.key.workflow.as_str() == workflow
                && operation.updated_at <= until
                && operation.content.keeps_some()
                && unsettled(operation).is_none()
        };
        let mut due: Vec<Operation> = self.operations.values().filter(is_due).cloned().collect();
        due.sort_by_key(|operation| (operation.updated_at, operation.id));
        due
    }
}

#[async_trait]
impl Retentions for Memory {
    async fn due_to_drop(
        &self,
        workflow: &str,
        until: Timestamp,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let mut due = self.tables().due(workflow, until);
        due.retain(|operation| after.is_none_or(|after| (operation.updated_at, operation.id) > after));
        due.truncate(limit as usize);
        Ok(due)
    }

    async fn count_due_to_drop(&self, workflow: &str, until: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        Ok(u32::try_from(self.tables().due(workflow, until).len()).unwrap().min(limit))
    }

    async fn bodies(&self, operation: OperationId) -> Result<Vec<Bodies>, StoreFault> {
        let tables = self.tables();
        let texts = |kept: Vec<usize>| (kept.len() as u64, kept.iter().sum::<usize>() as u64);
        let some = |text: Option<&String>| texts(text.map(String::len).into_iter().collect());
        let long = |all: Vec<&String>| texts(all.into_iter().map(String::len).filter(|bytes| *bytes > 0).collect());
        let received = tables.conflicts.iter().filter(|(conflict, _)| conflict.operation == operation);
        let proposed = tables.amendments.iter().filter(|(amendment, _)| amendment.operation == operation);
        let evidence = tables.evidence.iter().filter(|evidence| evidence.operation == operation);
        let found = [
            (BodyKind::Payload, some(tables.payloads.get(&operation))),
            (BodyKind::Response, some(tables.responses.get(&operation))),
            (BodyKind::Received, long(received.map(|(_, payload)| payload).collect())),
            (BodyKind::Proposed, long(proposed.map(|(_, payload)| payload).collect())),
            (BodyKind::File, texts(evidence.filter_map(|kept| tables.files.get(&kept.id)).map(Vec::len).collect())),
        ];
        let bodies = found.into_iter().map(|(kind, (number, bytes))| Bodies { kind, number, bytes });
        Ok(bodies.filter(|bodies| bodies.number > 0).collect())
    }

    async fn holds(&self, subjects: &[HoldSubject]) -> Result<Vec<Hold>, StoreFault> {
        let tables = self.tables();
        Ok(subjects.iter().filter_map(|subject| tables.retention.holds.get(subject)).cloned().collect())
    }

    async fn built_on(&self, base: OperationId) -> Result<Option<OperationId>, StoreFault> {
        let tables = self.tables();
        let is_under_way = |operation: &Operation| {
            use guard::state::StateName;
            matches!(
                operation.state.name(),
                StateName::AwaitingApproval
                    | StateName::Acquired
                    | StateName::Sending
                    | StateName::Unknown
                    | StateName::Disputed
            )
        };
        let found = tables.amendments.iter().map(|(amendment, _)| amendment).find(|amendment| {
            let stands = amendment.state.name().is_open()
                || tables.operations.get(&amendment.operation).is_some_and(is_under_way);
            amendment.base.operation == base && stands
        });
        Ok(found.map(|amendment| amendment.operation))
    }

    async fn claim_sweep(&self, now: Timestamp, claim: &Claim) -> Result<bool, StoreFault> {
        let mut tables = self.tables();
        let sweep = &mut tables.retention.sweep;
        let is_free = sweep.as_ref().is_none_or(|held| held.until <= now || held.by == claim.by);
        if is_free {
            *sweep = Some(claim.clone());
        }
        Ok(is_free)
    }
}
