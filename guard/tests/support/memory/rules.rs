//! Rules in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::{ConflictId, RuleProposalId};
use guard::refusal::StoreFault;
use guard::rules::{RulePart, RuleProposal, RuleStanding, WorkflowVersion};
use guard::store::{Act, Rules};
use guard::trail::Entry;

use super::Memory;

#[derive(Clone, Default)]
pub(super) struct RuleTables {
    proposals: BTreeMap<RuleProposalId, RuleProposal>,
    versions: BTreeMap<(String, u32), WorkflowVersion>,
}

impl RuleTables {
    pub(super) fn follow(&mut self, act: &Act, entry: &Entry) {
        if let Act::PutRuleProposal(proposal) = act {
            self.proposals.insert(proposal.id, (**proposal).clone());
        }
        if let Act::PutWorkflow(held) = act {
            let place = (held.workflow.name.as_str().to_owned(), held.version);
            let changed =
                self.versions.get(&place).map_or(Some((entry.at, entry.actor.clone())), |known| known.changed.clone());
            self.versions.insert(place, WorkflowVersion { held: (**held).clone(), changed });
        }
    }

    fn newest_first(&self, workflow: &str) -> Vec<RuleProposal> {
        self.proposals.values().rev().filter(|proposal| proposal.workflow == workflow).cloned().collect()
    }
}

#[async_trait]
impl Rules for Memory {
    async fn rule_proposal(&self, id: RuleProposalId) -> Result<Option<RuleProposal>, StoreFault> {
        Ok(self.tables().rules.proposals.get(&id).cloned())
    }

    async fn open_rule_proposal(&self, workflow: &str) -> Result<Option<RuleProposal>, StoreFault> {
        let mut proposals = self.tables().rules.newest_first(workflow);
        proposals.retain(|proposal| proposal.standing == RuleStanding::Open);
        Ok(proposals.pop())
    }

    async fn open_rule_proposals(&self) -> Result<Vec<RuleProposal>, StoreFault> {
        let tables = self.tables();
        let proposals = tables.rules.proposals.values();
        Ok(proposals.filter(|proposal| proposal.standing == RuleStanding::Open).cloned().collect())
    }

    async fn rule_proposals(
        &self,
        workflow: &str,
        before: Option<RuleProposalId>,
        limit: u32,
    ) -> Result<Vec<RuleProposal>, StoreFault> {
        let mut proposals = self.tables().rules.newest_first(workflow);
        proposals.retain(|proposal| before.is_none_or(|before| proposal.id < before));
        proposals.truncate(limit as usize);
        Ok(proposals)
    }

    async fn approved_rules(&self, workflow: &str, part: RulePart) -> Result<Option<RuleProposal>, StoreFault> {
        let mut proposals = self.tables().rules.newest_first(workflow);
        proposals.retain(|proposal| proposal.standing.version().is_some() && proposal.change.touches(part));
        Ok(proposals.into_iter().max_by_key(|proposal| proposal.standing.version()))
    }

    async fn workflow_versions(&self, workflow: &str, limit: u32) -> Result<Vec<WorkflowVersion>, StoreFault> {
        let tables = self.tables();
        let versions = tables.rules.versions.values().rev();
        let of_workflow = versions.filter(|version| version.held.workflow.name.as_str() == workflow);
        Ok(of_workflow.take(limit as usize).cloned().collect())
    }
    async fn conflicts_before(
        &self,
        before: Option<ConflictId>,
        limit: u32,
    ) -> Result<Vec<(Conflict, Option<String>)>, StoreFault> {
        let mut conflicts = self.tables().conflicts.clone();
        conflicts.retain(|(conflict, _)| before.is_none_or(|before| conflict.id < before));
        conflicts.sort_by_key(|(conflict, _)| std::cmp::Reverse(conflict.id));
        conflicts.truncate(limit as usize);
        Ok(conflicts.into_iter().map(|(conflict, payload)| (conflict, Some(payload))).collect())
    }
}
