//! Changes of rules, as people write them and as they are told.

#[cfg(feature = "ssr")]
mod reading;

use guard::{
    rules::{RuleProposal, RuleVerdict},
    workflow::Correction,
};

use crate::failure::Failure;

/// A change of rules as a person writes it: lists one entry a line. A field that the form did not offer stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RuleDraft {
    /// The workflow.
    pub workflow: String,
    /// The places left out of the fingerprint.
    #[serde(default)]
    pub volatile: Option<String>,
    /// The key fields: `/amount = $.total (decimal)`.
    #[serde(default)]
    pub key_fields: Option<String>,
    /// The places that may be amended.
    #[serde(default)]
    pub amendable: Option<String>,
    /// The correction before reconciliation.
    #[serde(default)]
    pub before: Option<Correction>,
    /// The correction after it.
    #[serde(default)]
    pub after: Option<Correction>,
    /// Above this amount two people approve.
    #[serde(default)]
    pub second_approval_over: String,
    /// After so many days a proposal expires.
    #[serde(default)]
    pub proposal_days: String,
    /// The addresses that are told.
    #[serde(default)]
    pub tell: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// A decision on a proposed change of rules.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RuleDecision {
    /// The proposal.
    pub proposal: guard::id::RuleProposalId,
    /// The workflow, for the page after it.
    pub workflow: String,
    /// What is decided.
    pub verdict: RuleVerdict,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What became of an act on rules.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum RulesNotice {
    /// A change was proposed, or a proposal decided.
    Done(Box<RuleProposal>),
    /// Nothing was proposed.
    ProposalRefused(Box<RuleDraft>, Failure),
    /// Nothing was decided.
    DecisionRefused(Box<RuleDecision>, Failure),
}
