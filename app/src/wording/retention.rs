//! The words of retention: what is kept, what was dropped, what is on hold.

use guard::{
    json::Json,
    person::Role,
    retention::{Bodies, BodyKind, DROPPED_COUNTED_DAYS, DUE_COUNTED_MAX, Hold, HoldScope, Obstacle, Standing},
    trail::Entry,
};

use super::{actor, counted, moment, number, role_phrase};

const fn names(kind: BodyKind) -> (&'static str, &'static str) {
    match kind {
        BodyKind::Payload => ("payload", "payloads"),
        BodyKind::Response => ("response of the destination", "responses of the destination"),
        BodyKind::Received => ("received payload", "received payloads"),
        BodyKind::Proposed => ("proposed payload", "proposed payloads"),
        BodyKind::File => ("file", "files"),
        BodyKind::Call => ("logged request", "logged requests"),
    }
}

/// Bodies by kind: "1 payload, 2 files (1,234 bytes)".
pub(crate) fn bodies(bodies: &[Bodies]) -> String {
    if bodies.is_empty() {
        return "nothing".to_owned();
    }
    let kinds: Vec<String> = bodies
        .iter()
        .map(|bodies| {
            let (one, many) = names(bodies.kind);
            counted(bodies.number, one, many)
        })
        .collect();
    let bytes: u64 = bodies.iter().map(|bodies| bodies.bytes).sum();
    format!("{} ({} bytes)", kinds.join(", "), number(bytes))
}

/// What an entry of the trail says was dropped, and by which rule.
pub(crate) fn dropped(entry: &Entry) -> String {
    let fact = |value: &Json, name: &str| {
        value.member(name).map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
    };
    let of = |value: &Json| {
        let number = |name: &str| fact(value, name).and_then(|text| text.parse().ok());
        Some(Bodies {
            kind: BodyKind::parse(&fact(value, "kind")?)?,
            number: number("number")?,
            bytes: number("bytes")?,
        })
    };
    let went = match entry.detail.member("dropped") {
        Some(Json::Array(kinds)) => kinds.iter().filter_map(of).collect(),
        Some(_) | None => Vec::new(),
    };
    let told = |name: &str| fact(&entry.detail, name).unwrap_or_default();
    let rule = if told("rule") == "erasure" {
        format!("erased at once: {}", told("reason"))
    } else {
        format!("under the rule payload_days = {}, policy version {}", told("payload_days"), told("rule_version"))
    };
    format!("Content dropped, {rule}. It was {}; key, fingerprints, decisions and outcome stay", bodies(&went))
}

fn scope_of(entry: &Entry) -> &'static str {
    match entry.detail.member("scope").and_then(Json::as_str).and_then(HoldScope::parse) {
        Some(HoldScope::Document) => "the document",
        Some(HoldScope::Operation) | None => "this operation",
    }
}

fn reason_of(entry: &Entry) -> &str {
    entry.detail.member("reason").and_then(Json::as_str).unwrap_or_default()
}

/// What an entry of the trail says was put on hold.
pub(crate) fn hold_placed(entry: &Entry) -> String {
    format!("Placed a legal hold on {}: nothing of it is dropped. Reason: {}", scope_of(entry), reason_of(entry))
}

/// What an entry of the trail says is no longer on hold.
pub(crate) fn hold_lifted(entry: &Entry) -> String {
    format!("Lifted the legal hold on {}. Reason: {}", scope_of(entry), reason_of(entry))
}

/// A hold, in a sentence.
pub(crate) fn hold(hold: &Hold) -> String {
    let what = match hold.scope {
        HoldScope::Operation => "This operation",
        HoldScope::Document => "The document, with all of its operations,",
    };
    format!("{what} is on legal hold since {}, placed by {}: {}", moment(hold.at), actor(&hold.by), hold.reason)
}

/// What is in the way of dropping the content, in a sentence.
pub(crate) fn obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Held(held) => hold(held),
        other @ (Obstacle::Unsettled { .. }
        | Obstacle::OpenConflicts { .. }
        | Obstacle::UnderWay { .. }
        | Obstacle::NothingKept) => super::amendment::sentence(&other.to_string()),
    }
}

/// Why this role neither holds nor erases; none where it may.
pub(crate) fn why_not_erase(role: Role) -> Option<String> {
    (!role.may_erase()).then(|| {
        format!(
            "A legal hold and the erasure of content need the role finance or admin; you are {}.",
            role_phrase(role)
        )
    })
}

/// How retention stands in a workflow.
pub(crate) fn standing(standing: &Standing) -> String {
    let due = match standing.due {
        0 => "no operation is due".to_owned(),
        DUE_COUNTED_MAX.. => format!("{} operations or more are due", number(DUE_COUNTED_MAX.into())),
        due => counted(due.into(), "operation is due", "operations are due"),
    };
    let dropped = match standing.last {
        None => format!("nothing was dropped within {DROPPED_COUNTED_DAYS} days"),
        Some(last) => format!(
            "{} within {DROPPED_COUNTED_DAYS} days, the last in the hour from {}",
            counted(standing.dropped, "body was dropped", "bodies were dropped"),
            moment(last)
        ),
    };
    format!("{due}; {dropped}")
}
