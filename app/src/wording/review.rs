//! The words of settling: who is on it, until when it waits, what was proposed, how it ages.

use chrono::TimeDelta;
use guard::{
    clock::Timestamp,
    event::Resolution,
    person::Role,
    review::{Claim, Deferral, Proposal},
    state::StateName,
    workflow::ReviewRules,
};

use super::{age, duration, moment, role_phrase};

/// Who is on it, for whoever looks.
pub(crate) fn claim(held: Option<&Claim>, mine: &str, now: Timestamp) -> String {
    match held {
        None => "Nobody is on it.".to_owned(),
        Some(claim) if claim.by == mine => {
            format!("You are on it until {} (for {}).", moment(claim.until), duration(claim.until - now))
        }
        Some(claim) => {
            format!("{} is on it until {} (for {}).", claim.by, moment(claim.until), duration(claim.until - now))
        }
    }
}

/// Who is on it, for a row of a list.
pub(crate) fn claim_in_brief(claim: &Claim, mine: &str, now: Timestamp) -> String {
    let who = if claim.by == mine { "you" } else { claim.by.as_str() };
    format!("{who}, for {}", duration(claim.until - now))
}

/// Until when it is kept waiting, by whom and why.
pub(crate) fn deferral(deferral: &Deferral, now: Timestamp) -> String {
    format!(
        "Kept waiting until {} (for {}) by {}: {}",
        moment(deferral.until),
        duration(deferral.until - now),
        deferral.by,
        deferral.reason
    )
}

/// What was proposed, in a sentence.
pub(crate) fn proposal(proposal: &Proposal, now: Timestamp) -> String {
    let decided = match &proposal.resolution {
        Resolution::Confirmed { destination_reference } => format!("confirmed as {destination_reference}"),
        Resolution::NotApplied { .. } => "not applied".to_owned(),
        Resolution::Dropped { .. } => "drop it".to_owned(),
    };
    format!("{} proposed {} ago: {decided}. Reason: {}", proposal.by, age(proposal.at, now), proposal.reason)
}

/// Why this role may not add evidence; none where it may.
pub(crate) fn why_not_add_evidence(role: Role) -> Option<String> {
    (!role.may_add_evidence())
        .then(|| format!("Adding evidence needs the role operator, finance or admin; you are {}.", role_phrase(role)))
}

/// Why this role may not open masked fields; none where it may.
pub(crate) fn why_not_open(role: Role) -> Option<String> {
    (!role.may_open_sensitive())
        .then(|| format!("Opening needs the role operator, finance or admin; you are {}.", role_phrase(role)))
}

/// Why an operation in this state may not be dropped; none where it may.
pub(crate) fn why_not_drop(state: StateName, stands_for_amendment: bool) -> Option<&'static str> {
    if stands_for_amendment {
        return Some("It stands for an amendment: say whether it was applied, then the amendment can be withdrawn.");
    }
    (state == StateName::Disputed).then_some("Two truths contradict each other: say whether it was applied.")
}

/// Why this person may not confirm a proposal; none where they may.
pub(crate) fn why_not_confirm(proposal: &Proposal, mine: &str) -> Option<String> {
    (proposal.by == mine).then(|| "You proposed it: another person has to confirm it.".to_owned())
}

/// How an uncertain operation ages against its workflow's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ageing {
    /// Within them, or there are none.
    Fresh,
    /// Beyond the first.
    Old,
    /// Beyond the last.
    Late,
}

/// How what has been uncertain since a moment ages.
pub(crate) fn ageing(rules: &ReviewRules, since: Timestamp, now: Timestamp) -> Ageing {
    let is_over =
        |minutes: Option<u32>| minutes.is_some_and(|minutes| now - since >= TimeDelta::minutes(i64::from(minutes)));
    if is_over(rules.late_after_minutes) {
        Ageing::Late
    } else if is_over(rules.warn_after_minutes) {
        Ageing::Old
    } else {
        Ageing::Fresh
    }
}

impl Ageing {
    /// The name in a style.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Old => "ageing",
            Self::Late => "late",
        }
    }

    /// The words for it, with the limit.
    pub(crate) fn words(self, rules: &ReviewRules) -> Option<String> {
        let limit = |minutes: Option<u32>| duration(TimeDelta::minutes(minutes.unwrap_or_default().into()));
        match self {
            Self::Fresh => None,
            Self::Old => Some(format!("over {}", limit(rules.warn_after_minutes))),
            Self::Late => Some(format!("late: over {}", limit(rules.late_after_minutes))),
        }
    }
}
