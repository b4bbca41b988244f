//! The plain words of amendments.

use guard::{
    amendment::{Amendment, AmendmentState, AmendmentStateName, Shown},
    json::Json,
    person::{Person, Role},
    trail::Entry,
    workflow::Correction,
};

/// What the entry of a proposal tells in a history, and its tone.
pub(crate) fn proposed(entry: &Entry) -> (String, &'static str) {
    let total = number(entry, "changes_total").parse().unwrap_or(0);
    let (places, revision) = (super::counted(total, "change", "changes"), number(entry, "base_revision"));
    (format!("Proposed as an amendment of revision {revision} ({places}): {}", fact(entry, "reason")), "go")
}

/// What the entry of an approval tells.
pub(crate) fn approved(entry: &Entry) -> (String, &'static str) {
    let reason = fact(entry, "reason");
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let (given, needed) = (number(entry, "approvals"), number(entry, "approvals_needed"));
    if given == needed {
        (format!("Approved{because}. It may be begun"), "good")
    } else {
        (format!("Approved{because}. That is {given} of {needed} approvals"), "go")
    }
}

/// What the entry of an amendment that came to nothing tells.
pub(crate) fn ended(entry: &Entry, how: &str, tone: &'static str) -> (String, &'static str) {
    (format!("{how}: {}", fact(entry, "reason")), tone)
}

/// The word for an amendment's state.
pub(crate) const fn state_word(state: AmendmentStateName) -> &'static str {
    match state {
        AmendmentStateName::AwaitingApproval => "Awaiting approval",
        AmendmentStateName::Approved => "Approved",
        AmendmentStateName::Begun => "Begun",
        AmendmentStateName::Rejected => "Rejected",
        AmendmentStateName::Withdrawn => "Withdrawn",
        AmendmentStateName::Expired => "Expired",
        AmendmentStateName::Void => "Void",
    }
}

/// Where an amendment stands, and what happens next.
pub(crate) fn standing(amendment: &Amendment) -> (String, String) {
    let moment = super::moment;
    let actor = super::actor;
    match &amendment.state {
        AmendmentState::AwaitingApproval => (
            match amendment.approvals_missing() {
                1 if amendment.approvals_needed == 1 => "It waits for the approval of another person.".to_owned(),
                1 => "One person has approved it; it waits for a second one.".to_owned(),
                missing => format!("It waits for the approval of {missing} other people."),
            },
            format!("Nothing is sent before that. It expires at {}.", moment(amendment.expires_at)),
        ),
        AmendmentState::Approved { at } => (
            format!("It was approved at {}.", moment(*at)),
            "A worker that begins this revision with exactly this payload may send it. The base is checked once more then."
                .to_owned(),
        ),
        AmendmentState::Begun { at } => (
            format!("A worker was permitted to send it at {}.", moment(*at)),
            "How that went stands on the operation of the revision.".to_owned(),
        ),
        AmendmentState::Rejected { at, by, reason } => (
            format!("{} rejected it at {}: {reason}", actor(by), moment(*at)),
            "It is never sent. The change can be proposed anew.".to_owned(),
        ),
        AmendmentState::Withdrawn { at, by, reason } => (
            format!("{} took it back at {}: {reason}", actor(by), moment(*at)),
            "It is never sent. The change can be proposed anew.".to_owned(),
        ),
        AmendmentState::Expired { at } => (
            format!("Nobody decided in time: it expired at {}.", moment(*at)),
            "It is never sent. The change can be proposed anew.".to_owned(),
        ),
        AmendmentState::Void { at, reason } => (
            format!("Its base moved, noticed at {}: {reason}", moment(*at)),
            "Its approval holds no longer. The change can be proposed anew on what is confirmed now.".to_owned(),
        ),
    }
}

/// What a worker does to the destination's record.
pub(crate) const fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::Amend => "The record is amended in place",
        Correction::Replace => "The record is replaced by a new one",
        Correction::ReverseAndRepost => "The record is reversed and posted anew",
        Correction::Forbid => "The record is not corrected",
    }
}

/// What the destination showed of the base when somebody approved.
pub(crate) fn shown(shown: &Shown) -> String {
    match shown {
        Shown::NoLookup => "The destination has no lookup: it was not asked.".to_owned(),
        Shown::Agrees => "The destination showed the base as it is held.".to_owned(),
        Shown::Inconclusive { reason } => {
            format!("The destination could not tell ({reason}); approved all the same.")
        }
    }
}

/// Why this person may not approve it; none where they may.
pub(crate) fn why_not_approve(amendment: &Amendment, person: &Person, moved: Option<&str>) -> Option<String> {
    let barred = || amendment.bars(&person.email).map(|barred| sentence(&barred.to_string()));
    let moved = || moved.map(|reason| format!("The base has moved: {reason}."));
    why_not_decide(person.role).or_else(barred).or_else(moved)
}

/// Why this role may not decide on amendments; none where it may.
pub(crate) fn why_not_decide(role: Role) -> Option<String> {
    (!role.may_approve())
        .then(|| format!("Deciding on an amendment needs the role finance; you are {}.", super::role_phrase(role)))
}

/// Why this role may not take an amendment back; none where it may.
pub(crate) fn why_not_withdraw(role: Role, is_withdrawable: bool) -> Option<String> {
    if !role.may_propose() {
        let role = super::role_phrase(role);
        return Some(format!("Withdrawing needs the role operator, finance or admin; you are {role}."));
    }
    (!is_withdrawable).then(|| "It may have been applied: it can no longer be taken back.".to_owned())
}

/// The text with a capital at its start and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let start = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{start}{}{end}", characters.as_str())
}

fn fact<'a>(entry: &'a Entry, name: &str) -> &'a str {
    entry.detail.member(name).and_then(Json::as_str).unwrap_or_default()
}

fn number(entry: &Entry, name: &str) -> String {
    entry.detail.member(name).map(ToString::to_string).unwrap_or_default()
}
