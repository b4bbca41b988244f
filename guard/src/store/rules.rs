//! What is kept of the rules of workflows and of how they changed. Writes are acts of the administration.

use async_trait::async_trait;

use crate::conflict::Conflict;
use crate::id::{ConflictId, RuleProposalId};
use crate::refusal::StoreFault;
use crate::rules::{RulePart, RuleProposal, WorkflowVersion};

/// Proposed changes of rules, and the versions of workflows.
#[async_trait]
pub trait Rules: Send + Sync {
    /// The proposal with this id.
    async fn rule_proposal(&self, id: RuleProposalId) -> Result<Option<RuleProposal>, StoreFault>;

    /// The proposal of a workflow that nobody has decided: there is at most one.
    async fn open_rule_proposal(&self, workflow: &str) -> Result<Option<RuleProposal>, StoreFault>;

    /// Every proposal that nobody has decided, the oldest first: at most one for each workflow.
    async fn open_rule_proposals(&self) -> Result<Vec<RuleProposal>, StoreFault>;

    /// The proposals of a workflow, the newest first, before the id `before` where one is given, at most `limit`.
    async fn rule_proposals(
        &self,
        workflow: &str,
        before: Option<RuleProposalId>,
        limit: u32,
    ) -> Result<Vec<RuleProposal>, StoreFault>;

    /// The proposal that last set a part of a workflow's rules, of those that were approved.
    async fn approved_rules(&self, workflow: &str, part: RulePart) -> Result<Option<RuleProposal>, StoreFault>;

    /// The versions of a workflow, the newest first, at most `limit`.
    async fn workflow_versions(&self, workflow: &str, limit: u32) -> Result<Vec<WorkflowVersion>, StoreFault>;

    /// The conflicts of all workflows, the newest first, before the id `before` where one is given, with the payload that came where
    /// it is kept; at most `limit`.
    async fn conflicts_before(
        &self,
        before: Option<ConflictId>,
        limit: u32,
    ) -> Result<Vec<(Conflict, Option<String>)>, StoreFault>;
}
