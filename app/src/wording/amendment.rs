//! The plain words of amendments.

use guard::{
    amendment::{Amendment, AmendmentState, AmendmentStateName, Shown},
    json::Json,
    person::{Person, Role},
    reversal::Reversal,
    state::StateName,
    trail::Entry,
    workflow::Correction,
};

/// What the entry of a proposal tells in a history, and its tone.
pub(crate) fn proposed(entry: &Entry) -> (String, &'static str) {
    if fact(entry, "correction") == Correction::Reverse.as_str() {
        return (format!("Asked to take back {}: {}", fact(entry, "record"), fact(entry, "reason")), "go");
    }
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

/// What the entry of an operation tells of which a record is to be taken back.
pub(crate) fn reversal_asked(entry: &Entry) -> (String, &'static str) {
    (format!("Asked to take back its record {}: {}", fact(entry, "record"), fact(entry, "reason")), "doubt")
}

/// What the entry of an operation tells of which a record was taken back.
pub(crate) fn reversed(entry: &Entry) -> (String, &'static str) {
    (format!("Its record {} was taken back", fact(entry, "record")), "good")
}

/// Where the reversal of a record stands, in a sentence without its end.
pub(crate) fn reversal(reversal: &Reversal) -> &'static str {
    match reversal.state {
        StateName::AwaitingApproval => "it is asked to be taken back, and waits for approval",
        StateName::Rejected => "it is not taken back",
        StateName::Acquired | StateName::Sending => "it is being taken back",
        StateName::Released | StateName::Failed => "it may be taken back by a worker",
        StateName::Unknown | StateName::Disputed => "nobody knows yet whether it was taken back",
        StateName::Confirmed => "it was taken back",
    }
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
    let anew = if amendment.is_reversal() {
        "It is never sent. It can be asked for anew."
    } else {
        "It is never sent. The change can be proposed anew."
    };
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
            "A worker that begins it with exactly this payload may send it, once. What it rests on is checked once more then."
                .to_owned(),
        ),
        AmendmentState::Begun { at } => (
            format!("A worker was permitted to send it at {}.", moment(*at)),
            "How that went stands on its operation.".to_owned(),
        ),
        AmendmentState::Rejected { at, by, reason } => (
            format!("{} rejected it at {}: {reason}", actor(by), moment(*at)),
            anew.to_owned(),
        ),
        AmendmentState::Withdrawn { at, by, reason } => (
            format!("{} took it back at {}: {reason}", actor(by), moment(*at)),
            anew.to_owned(),
        ),
        AmendmentState::Expired { at } => (
            format!("Nobody decided in time: it expired at {}.", moment(*at)),
            anew.to_owned(),
        ),
        AmendmentState::Void { at, reason } => (
            format!("Its base moved, noticed at {}: {reason}", moment(*at)),
            "Its approval holds no longer. It can be proposed anew on what is so now.".to_owned(),
        ),
    }
}

/// What whoever decided saw: exactly this payload on exactly this base, under these rules.
pub(crate) fn saw(amendment: &Amendment) -> String {
    let Amendment { base, ruled, fingerprint, .. } = amendment;
    let correction = correction(ruled.correction);
    let (version, revision, held) = (ruled.rule_version, base.revision, base.fingerprint);
    if amendment.is_reversal() {
        let record = &base.destination_reference;
        return format!(
            "Seen: the record {record} of revision {revision} ({held}), to be taken back by {fingerprint}; rules version {version}."
        );
    }
    let changes = super::counted(amendment.changes_total.into(), "change", "changes");
    format!(
        "Seen: {fingerprint}, {changes} from revision {revision} ({held}); rules version {version}: {}{}.",
        correction.chars().next().map(|first| first.to_lowercase().to_string()).unwrap_or_default(),
        correction.chars().skip(1).collect::<String>()
    )
}

/// Who ended it without it being sent, when and why; none where nobody did.
pub(crate) fn ended_by(amendment: &Amendment) -> Option<String> {
    let moment = super::moment;
    match &amendment.state {
        AmendmentState::Rejected { at, by, reason } => {
            Some(format!("Rejected by {} at {}. Reason: {reason}", super::actor(by), moment(*at)))
        }
        AmendmentState::Withdrawn { at, by, reason } => {
            Some(format!("Withdrawn by {} at {}. Reason: {reason}", super::actor(by), moment(*at)))
        }
        AmendmentState::AwaitingApproval
        | AmendmentState::Approved { .. }
        | AmendmentState::Expired { .. }
        | AmendmentState::Begun { .. }
        | AmendmentState::Void { .. } => None,
    }
}

/// What a worker does to the destination's record.
pub(crate) const fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::Amend => "The record is amended in place",
        Correction::Replace => "The record is replaced by a new one",
        Correction::ReverseAndRepost => "The record is reversed and posted anew",
        Correction::Forbid => "The record is not corrected",
        Correction::Reverse => "The record is taken back",
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

/// Why an amendment can no longer be taken back; none where it can.
pub(crate) fn why_not_withdraw(is_withdrawable: bool) -> Option<String> {
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
