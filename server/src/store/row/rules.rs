//! Proposed changes of rules, and the versions of workflows.

use guard::actor::Actor;
use guard::conflict::Conflict;
use guard::refusal::StoreFault;
use guard::rules::{RulePart, RuleProposal, WorkflowVersion};
use uuid::Uuid;

use super::{ConflictRow, Place, WorkflowRow, json_text, uuid};

/// A row of `rule_proposal`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct RuleProposalRow {
    pub id: Uuid,
    pub workflow: String,
    pub standing: String,
    pub version: Option<i64>,
    pub volatile: bool,
    pub key_fields: bool,
    pub amendment: bool,
    pub proposal: String,
}

impl RuleProposalRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, workflow, standing, version, volatile, key_fields, amendment, proposal";
}

impl From<&RuleProposal> for RuleProposalRow {
    fn from(proposal: &RuleProposal) -> Self {
        Self {
            id: uuid(proposal.id.as_u128()),
            workflow: proposal.workflow.clone(),
            standing: proposal.standing.as_str().to_owned(),
            version: proposal.standing.version().map(i64::from),
            volatile: proposal.change.touches(RulePart::Volatile),
            key_fields: proposal.change.touches(RulePart::KeyFields),
            amendment: proposal.change.touches(RulePart::Amendment),
            proposal: json_text(proposal),
        }
    }
}

impl TryFrom<RuleProposalRow> for RuleProposal {
    type Error = StoreFault;

    fn try_from(row: RuleProposalRow) -> Result<Self, StoreFault> {
        let place = Place::new("rule_proposal", &row.id);
        let proposal: Self = place.json("proposal", &row.proposal)?;
        // What is searched by must be what the record says.
        let is_its_own = RuleProposalRow::from(&proposal);
        place.some(
            "standing",
            (RuleProposalRow { proposal: row.proposal.clone(), ..is_its_own } == row).then_some(()),
        )?;
        Ok(proposal)
    }
}

/// A row of `workflow` with who brought it about.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct WorkflowVersionRow {
    pub name: String,
    pub version: i64,
    pub definition: String,
    pub is_retired: bool,
    pub changed_at: Option<i64>,
    pub changed_by: Option<String>,
}

impl WorkflowVersionRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "name, version, definition, is_retired, changed_at, changed_by";
}

impl TryFrom<WorkflowVersionRow> for WorkflowVersion {
    type Error = StoreFault;

    fn try_from(row: WorkflowVersionRow) -> Result<Self, StoreFault> {
        let WorkflowVersionRow { name, version, definition, is_retired, changed_at, changed_by } = row;
        let id = format!("{name}/{version}");
        let place = Place::new("workflow", &id);
        let changed = match changed_at.zip(changed_by) {
            Some((at, by)) => {
                let by: Actor = place.read("changed_by", by.parse())?;
                Some((place.moment("changed_at", at)?, by))
            }
            None => None,
        };
        Ok(Self { held: WorkflowRow { name, version, definition, is_retired }.try_into()?, changed })
    }
}

/// A row of `conflict` with the payload that came.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ReceivedRow {
    #[sqlx(flatten)]
    pub conflict: ConflictRow,
    pub payload: Option<String>,
}

impl TryFrom<ReceivedRow> for (Conflict, Option<String>) {
    type Error = StoreFault;

    fn try_from(row: ReceivedRow) -> Result<Self, StoreFault> {
        Ok((row.conflict.try_into()?, row.payload))
    }
}
