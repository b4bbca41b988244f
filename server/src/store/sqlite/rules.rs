//! Proposed changes of rules, and the versions of workflows.

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::{ConflictId, RuleProposalId};
use guard::refusal::StoreFault;
use guard::rules::{RulePart, RuleProposal, WorkflowVersion};
use guard::store::Rules;
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::readers::{all, one};
use super::work::execute;
use crate::store::row::{ConflictRow, ReceivedRow, RuleProposalRow, WorkflowVersionRow};

/// Stores a proposal as it stands now.
pub(super) fn put(transaction: &Connection, proposal: &RuleProposal) -> Result<(), StoreFault> {
    let row = RuleProposalRow::from(proposal);
    execute(
        transaction,
        "rule_proposal",
        &row.id,
        "INSERT INTO rule_proposal (id, workflow, standing, version, volatile, key_fields, amendment, proposal) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, \
         version = excluded.version, proposal = excluded.proposal",
        params![
            &row.id.as_bytes()[..],
            row.workflow,
            row.standing,
            row.version,
            row.volatile,
            row.key_fields,
            row.amendment,
            row.proposal
        ],
    )?;
    Ok(())
}

#[async_trait]
impl Rules for SqliteStore {
    async fn rule_proposal(&self, id: RuleProposalId) -> Result<Option<RuleProposal>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM rule_proposal WHERE id = ?1", RuleProposalRow::COLUMNS);
            one::<RuleProposalRow, _>(connection, "rule_proposal", &sql, [id.as_u128().to_be_bytes()])
        })
    }

    async fn open_rule_proposal(&self, workflow: &str) -> Result<Option<RuleProposal>, StoreFault> {
        self.read_here(|connection| {
            let columns = RuleProposalRow::COLUMNS;
            let sql = format!("SELECT {columns} FROM rule_proposal WHERE workflow = ?1 AND standing = 'open'");
            one::<RuleProposalRow, _>(connection, "rule_proposal", &sql, [workflow])
        })
    }

    async fn open_rule_proposals(&self) -> Result<Vec<RuleProposal>, StoreFault> {
        self.read(|connection| {
            let columns = RuleProposalRow::COLUMNS;
            let sql = format!("SELECT {columns} FROM rule_proposal WHERE standing = 'open' ORDER BY id");
            all::<RuleProposalRow, _>(connection, "rule_proposal", &sql, [])
        })
        .await
    }

    async fn rule_proposals(
        &self,
        workflow: &str,
        before: Option<RuleProposalId>,
        limit: u32,
    ) -> Result<Vec<RuleProposal>, StoreFault> {
        let workflow = workflow.to_owned();
        let before = before.map_or(u128::MAX, RuleProposalId::as_u128).to_be_bytes();
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM rule_proposal WHERE workflow = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
                RuleProposalRow::COLUMNS
            );
            all::<RuleProposalRow, _>(connection, "rule_proposal", &sql, params![workflow, before, limit])
        })
        .await
    }

    async fn approved_rules(&self, workflow: &str, part: RulePart) -> Result<Option<RuleProposal>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!(
                "SELECT {} FROM rule_proposal WHERE workflow = ?1 AND standing = 'approved' AND {} = 1 \
                 ORDER BY version DESC LIMIT 1",
                RuleProposalRow::COLUMNS,
                part.as_str()
            );
            one::<RuleProposalRow, _>(connection, "rule_proposal", &sql, [workflow])
        })
    }

    async fn workflow_versions(&self, workflow: &str, limit: u32) -> Result<Vec<WorkflowVersion>, StoreFault> {
        let workflow = workflow.to_owned();
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM workflow WHERE name = ?1 ORDER BY version DESC LIMIT ?2",
                WorkflowVersionRow::COLUMNS
            );
            all::<WorkflowVersionRow, _>(connection, "workflow", &sql, params![workflow, limit])
        })
        .await
    }
    async fn conflicts_before(
        &self,
        before: Option<ConflictId>,
        limit: u32,
    ) -> Result<Vec<(Conflict, Option<String>)>, StoreFault> {
        let before = before.map_or(u128::MAX, ConflictId::as_u128).to_be_bytes();
        self.read(move |connection| {
            let sql = format!(
                "SELECT {}, payload FROM conflict WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
                ConflictRow::COLUMNS
            );
            all::<ReceivedRow, _>(connection, "conflict", &sql, params![before, limit])
        })
        .await
    }
}
