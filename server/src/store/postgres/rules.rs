//! Proposed changes of rules, and the versions of workflows.

use async_trait::async_trait;
use guard::conflict::Conflict;
use guard::id::{ConflictId, RuleProposalId};
use guard::refusal::StoreFault;
use guard::rules::{RulePart, RuleProposal, WorkflowVersion};
use guard::store::Rules;
use sqlx::PgConnection;
use uuid::Uuid;

use super::PostgresStore;
use crate::store::row::{ConflictRow, ReceivedRow, RuleProposalRow, WorkflowVersionRow};

/// Stores a proposal as it stands now.
pub(super) async fn put(connection: &mut PgConnection, proposal: &RuleProposal) -> Result<(), sqlx::Error> {
    let RuleProposalRow { id, workflow, standing, version, volatile, key_fields, amendment, proposal } =
        RuleProposalRow::from(proposal);
    sqlx::query(
        "INSERT INTO rule_proposal (id, workflow, standing, version, volatile, key_fields, amendment, proposal) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, \
         version = excluded.version, proposal = excluded.proposal",
    )
    .bind(id)
    .bind(workflow)
    .bind(standing)
    .bind(version)
    .bind(volatile)
    .bind(key_fields)
    .bind(amendment)
    .bind(proposal)
    .execute(connection)
    .await?;
    Ok(())
}

#[async_trait]
impl Rules for PostgresStore {
    async fn rule_proposal(&self, id: RuleProposalId) -> Result<Option<RuleProposal>, StoreFault> {
        let sql = format!("SELECT {} FROM rule_proposal WHERE id = $1", RuleProposalRow::COLUMNS);
        Ok(self.all::<RuleProposalRow, _>(sqlx::query(&sql).bind(Uuid::from_u128(id.as_u128()))).await?.pop())
    }

    async fn open_rule_proposal(&self, workflow: &str) -> Result<Option<RuleProposal>, StoreFault> {
        let columns = RuleProposalRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM rule_proposal WHERE workflow = $1 AND standing = 'open'");
        Ok(self.all::<RuleProposalRow, _>(sqlx::query(&sql).bind(workflow)).await?.pop())
    }

    async fn open_rule_proposals(&self) -> Result<Vec<RuleProposal>, StoreFault> {
        let columns = RuleProposalRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM rule_proposal WHERE standing = 'open' ORDER BY id");
        self.all::<RuleProposalRow, _>(sqlx::query(&sql)).await
    }

    async fn rule_proposals(
        &self,
        workflow: &str,
        before: Option<RuleProposalId>,
        limit: u32,
    ) -> Result<Vec<RuleProposal>, StoreFault> {
        let before = Uuid::from_u128(before.map_or(u128::MAX, RuleProposalId::as_u128));
        let sql = format!(
            "SELECT {} FROM rule_proposal WHERE workflow = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
            RuleProposalRow::COLUMNS
        );
        let proposals = sqlx::query(&sql).bind(workflow).bind(before).bind(i64::from(limit));
        self.all::<RuleProposalRow, _>(proposals).await
    }

    async fn approved_rules(&self, workflow: &str, part: RulePart) -> Result<Option<RuleProposal>, StoreFault> {
        let sql = format!(
            "SELECT {} FROM rule_proposal WHERE workflow = $1 AND standing = 'approved' AND {} \
             ORDER BY version DESC LIMIT 1",
            RuleProposalRow::COLUMNS,
            part.as_str()
        );
        Ok(self.all::<RuleProposalRow, _>(sqlx::query(&sql).bind(workflow)).await?.pop())
    }

    async fn workflow_versions(&self, workflow: &str, limit: u32) -> Result<Vec<WorkflowVersion>, StoreFault> {
        let columns = WorkflowVersionRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM workflow WHERE name = $1 ORDER BY version DESC LIMIT $2");
        self.all::<WorkflowVersionRow, _>(sqlx::query(&sql).bind(workflow).bind(i64::from(limit))).await
    }
    async fn conflicts_before(
        &self,
        before: Option<ConflictId>,
        limit: u32,
    ) -> Result<Vec<(Conflict, Option<String>)>, StoreFault> {
        let before = Uuid::from_u128(before.map_or(u128::MAX, ConflictId::as_u128));
        let sql =
            format!("SELECT {}, payload FROM conflict WHERE id < $1 ORDER BY id DESC LIMIT $2", ConflictRow::COLUMNS);
        self.all::<ReceivedRow, _>(sqlx::query(&sql).bind(before).bind(i64::from(limit))).await
    }
}
