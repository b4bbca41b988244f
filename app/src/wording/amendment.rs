//! The plain words of amendments.

use guard::{json::Json, trail::Entry};

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

fn fact<'a>(entry: &'a Entry, name: &str) -> &'a str {
    entry.detail.member(name).and_then(Json::as_str).unwrap_or_default()
}

fn number(entry: &Entry, name: &str) -> String {
    entry.detail.member(name).map(ToString::to_string).unwrap_or_default()
}
