//! The words for rules.

use guard::{
    rules::{RuleProposal, RuleStanding},
    workflow::Correction,
};

use super::moment;

/// The page of a workflow's rules.
pub(crate) fn rules_address(workflow: &str) -> String {
    let query = serde_urlencoded::to_string([("workflow", workflow)]).unwrap_or_default();
    format!("/settings/rules?{query}")
}

/// What a correction means, in a few words.
pub(crate) const fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::Amend => "amended in place",
        Correction::Replace => "replaced by a new record",
        Correction::ReverseAndRepost => "reversed and posted anew",
        Correction::Forbid => "not corrected",
        Correction::Reverse => "taken back",
    }
}

/// Where a proposal stands, in a sentence.
pub(crate) fn rule_standing(proposal: &RuleProposal) -> String {
    match &proposal.standing {
        RuleStanding::Open => "waits for another person".to_owned(),
        RuleStanding::Approved { by, at, reason, version } => {
            format!("approved by {by} at {}, in force as version {version}: {reason}", moment(*at))
        }
        RuleStanding::Rejected { by, at, reason } => format!("rejected by {by} at {}: {reason}", moment(*at)),
        RuleStanding::Withdrawn { at, reason } => format!("withdrawn by its proposer at {}: {reason}", moment(*at)),
        RuleStanding::Void { because, .. } => format!("void: {because}"),
    }
}
