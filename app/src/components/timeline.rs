//! What happened to an operation, in plain sentences: its trail, and the begins that changed nothing.

use std::cmp::Reverse;

use guard::{
    clock::{Timestamp, rfc3339},
    decision::DecisionName,
    json::Json,
    store::Delivery,
    trail::{Entry, EntryKind},
};
use leptos::prelude::*;

use super::plain::{Outside, Plain};
use crate::wording;

/// One line of the timeline.
struct Happening {
    at: Timestamp,
    /// Where it stands in the trail; none for a begin that changed nothing.
    sequence: Option<u64>,
    actor: String,
    sentence: String,
    facts: Vec<(&'static str, String)>,
    link: Option<String>,
    tone: &'static str,
}

/// The timeline, the newest first; as it is read on paper, the oldest first.
#[component]
pub(crate) fn Timeline(
    entries: Vec<Entry>,
    deliveries: Vec<Delivery>,
    #[prop(optional)] is_oldest_first: bool,
) -> impl IntoView {
    let deliveries = without_openings(&entries, deliveries);
    let mut happenings: Vec<Happening> = entries.iter().map(of_entry).chain(of_deliveries(&deliveries)).collect();
    happenings.sort_by_key(|happening| Reverse((happening.at, happening.sequence.unwrap_or(u64::MAX))));
    if is_oldest_first {
        happenings.reverse();
    }
    view! { <ol class="timeline">{happenings.into_iter().map(line).collect_view()}</ol> }
}

fn line(happening: Happening) -> impl IntoView {
    let Happening { at, sequence, actor, sentence, facts, link, tone } = happening;
    let facts = facts.into_iter().map(|(name, value)| {
        let title = value.clone();
        view! {
            <span class="fact">
                {name}
                " "
                <code class="fact-id" title=title>
                    <Plain text=value />
                </code>
            </span>
        }
    });
    view! {
        <li class=format!("happening is-{tone}")>
            <p class="happening-what">
                <Plain text=sentence />
                {link.map(|link| view! { " "<Outside link /> })}
            </p>
            <p class="happening-who">
                <time class="moment" datetime=rfc3339(at)>
                    {wording::exact_moment(at)}
                </time>
                " · "
                <Plain text=actor />
                {sequence.map(|sequence| view! { <span class="fact">"entry "{sequence}</span> })}
                {facts.collect_view()}
            </p>
        </li>
    }
    .into_any()
}

/// What an entry of the trail tells, in words.
#[cfg(feature = "ssr")]
pub(crate) fn sentence(entry: &Entry) -> String {
    of_entry(entry).sentence
}

fn of_entry(entry: &Entry) -> Happening {
    let fact = |name: &str| entry.detail.member(name).map(plain);
    let attempt = fact("attempt").unwrap_or_default();
    let because = fact("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
    let as_reference = fact("destination_reference").map(|reference| format!(" as {reference}")).unwrap_or_default();
    let outcome = fact("outcome").unwrap_or_default();
    let (sentence, tone) = match entry.kind {
        EntryKind::Begun => (format!("Attempt {attempt} was permitted: it may be sent"), "go"),
        EntryKind::MarkedSending => ("Marked as sending: from here on it may have been written".to_owned(), "go"),
        EntryKind::Extended => {
            let until = fact("lease_expires_at").map(|end| format!(" to {end}")).unwrap_or_default();
            (format!("The lease was extended{until}"), "quiet")
        }
        EntryKind::Released => {
            (format!("The lease of attempt {attempt} ended before anything was sent: released"), "quiet")
        }
        EntryKind::Expired => {
            (format!("The lease of attempt {attempt} ended while a write was possible: unknown"), "doubt")
        }
        EntryKind::Reported => {
            let tone = match outcome.as_str() {
                "confirmed" => "good",
                "unknown" => "doubt",
                _ => "bad",
            };
            let disputes =
                if fact("state").as_deref() == Some("disputed") { ". Two truths contradict: disputed" } else { "" };
            (format!("Attempt {attempt} was reported {outcome}{as_reference}{because}{disputes}"), tone)
        }
        EntryKind::ReportKept => {
            let effect = match fact("disagrees_with") {
                Some(held) => format!("It disagrees, the operation is held as {held}"),
                None => "It changes nothing".to_owned(),
            };
            (
                format!("Attempt {attempt} was reported {outcome}{as_reference}{because}. {effect}; kept as evidence"),
                "doubt",
            )
        }
        EntryKind::LookedUp => of_lookup(entry),
        EntryKind::RunApplied => {
            let what = if fact("action").as_deref() == Some("claim") { "Claimed" } else { "Looked for at once" };
            (format!("{what}, in a run over many operations{because}"), "quiet")
        }
        EntryKind::ConflictOpened => {
            let total = fact("changes_total").and_then(|total| total.parse().ok()).unwrap_or(0);
            let changes = wording::counted(total, "change", "changes");
            (format!("Another payload came under the same key ({changes}): a conflict, nothing was sent"), "bad")
        }
        EntryKind::Claimed => {
            let until = fact("until").map(|end| format!(" until {end}")).unwrap_or_default();
            let from = fact("taken_from").map(|who| format!(", taken over from {who}")).unwrap_or_default();
            (format!("Is on it{until}{from}"), "quiet")
        }
        EntryKind::ClaimReleased => ("Is no longer on it".to_owned(), "quiet"),
        EntryKind::EvidenceAdded => {
            let file = entry.detail.member("file");
            let part = |name: &str| file.and_then(|file| file.member(name)).map(plain).unwrap_or_default();
            let file =
                file.map(|_| format!(" (file {}, SHA-256 {})", part("name"), part("sha256"))).unwrap_or_default();
            (format!("Added evidence{because}{file}"), "quiet")
        }
        EntryKind::FieldsOpened => {
            let places = list(entry.detail.member("fields"), plain).join(", ");
            (format!("Opened masked fields: {places}"), "quiet")
        }
        EntryKind::KeptWaiting => {
            let until = fact("until").unwrap_or_default();
            (format!("Keeps it waiting until {until}{because}"), "doubt")
        }
        EntryKind::ResolutionProposed => {
            let reference = fact("destination_reference_proposed");
            let reference = reference.map(|reference| format!(" as {reference}")).unwrap_or_default();
            let proposed = fact("proposed").unwrap_or_default();
            (
                format!("Proposed: {proposed}{reference}{because}. A second person has to confirm it{}", looked(entry)),
                "doubt",
            )
        }
        EntryKind::ResolutionRejected => {
            let by = fact("proposed_by").unwrap_or_default();
            (format!("Rejected what {by} proposed{because}"), "bad")
        }
        EntryKind::ConflictDecided => {
            let what = match fact("outcome").unwrap_or_default().as_str() {
                "other_document" => format!("it is another document, {}", fact("document").unwrap_or_default()),
                "noise" => "what differs is noise".to_owned(),
                "amendment_proposed" => "it is a change, proposed as an amendment".to_owned(),
                _ => "the approved payload stands".to_owned(),
            };
            (format!("A conflict was decided: {what}{because}"), "good")
        }
        EntryKind::Registered => {
            (format!("Registered from a conflict of another document, never sent: it may be begun{because}"), "good")
        }
        EntryKind::Resolved => {
            let before = fact("before").unwrap_or_default();
            let second = fact("proposed_by").map(|by| format!(". Proposed by {by}")).unwrap_or_default();
            let state = fact("state").unwrap_or_default();
            (
                format!("Decided: {before} → {state}{as_reference}{because}{second}{}", looked(entry)),
                if state == "confirmed" { "good" } else { "bad" },
            )
        }
        EntryKind::AmendmentProposed => wording::amendment::proposed(entry),
        EntryKind::AmendmentApproved => wording::amendment::approved(entry),
        EntryKind::AmendmentRejected => wording::amendment::ended(entry, "Rejected", "bad"),
        EntryKind::AmendmentWithdrawn => wording::amendment::ended(entry, "Withdrawn", "quiet"),
        EntryKind::AmendmentExpired => wording::amendment::ended(entry, "Expired", "quiet"),
        EntryKind::ReversalAsked => wording::amendment::reversal_asked(entry),
        EntryKind::Reversed => wording::amendment::reversed(entry),
        EntryKind::BodiesDropped => (wording::retention::dropped(entry), "quiet"),
        EntryKind::HoldPlaced => (wording::retention::hold_placed(entry), "quiet"),
        EntryKind::HoldLifted => (wording::retention::hold_lifted(entry), "quiet"),
        EntryKind::AmendmentVoid => wording::amendment::ended(entry, "The approval holds no longer", "bad"),
        EntryKind::Reconciled => of_reconciliation(entry),
        EntryKind::CandidateConfirmed => {
            let (before, state) = (fact("before").unwrap_or_default(), fact("state").unwrap_or_default());
            let found = list(entry.detail.member("found"), plain).join(", ");
            let tone = if state == "confirmed" { "good" } else { "bad" };
            (format!("Decided that the record {found} is this operation's: {before} → {state}{because}"), tone)
        }
        EntryKind::CandidateRefused => {
            let found = list(entry.detail.member("found"), plain).join(", ");
            (format!("Decided that the record {found} is not this operation's{because}"), "quiet")
        }
        EntryKind::Adopted => (
            format!("Adopted: registered for a record that the destination held already{as_reference}{because}"),
            "good",
        ),
        EntryKind::WorkflowApplied
        | EntryKind::WorkflowRemoved
        | EntryKind::DestinationApplied
        | EntryKind::DestinationRemoved
        | EntryKind::ChannelApplied
        | EntryKind::ChannelRemoved
        | EntryKind::ChannelTested
        | EntryKind::PersonAdded
        | EntryKind::TokenCreated
        | EntryKind::TokenRevoked
        | EntryKind::ExportBegun
        | EntryKind::ExportEnded
        | EntryKind::EvidencePacked
        | EntryKind::RunBegun
        | EntryKind::RunEnded
        | EntryKind::RulesProposed
        | EntryKind::RulesApproved
        | EntryKind::RulesRejected
        | EntryKind::RulesWithdrawn
        | EntryKind::RulesVoided
        | EntryKind::PeriodClosed
        | EntryKind::PeriodReopened => (entry.kind.as_str().replace('_', " "), "quiet"),
    };
    let took = fact("took_milliseconds").map(|took| format!("{took} ms"));
    let status = fact("response_status").or_else(|| fact("status"));
    let request = fact("request_id").or_else(|| fact("request"));
    let named = [("delivery", fact("delivery_id")), ("request", request), ("status", status), ("took", took)];
    Happening {
        at: entry.at,
        sequence: Some(entry.sequence),
        actor: wording::actor(&entry.actor),
        sentence,
        facts: named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        // The guard takes web addresses only.
        link: fact("link"),
        tone,
    }
}

/// What the destination showed for a decision, and whether it was decided against that.
fn looked(entry: &Entry) -> String {
    let Some(look) = entry.detail.member("look") else { return String::new() };
    let shown = look.member("shown").map(plain).unwrap_or_default();
    let against = if look.member("acknowledged").is_some() { " (it was confirmed against that)" } else { "" };
    format!(". The destination showed{against}: {}", shown.trim_end_matches('.'))
}

/// Where a reconciliation found the operation, and what followed.
fn of_reconciliation(entry: &Entry) -> (String, &'static str) {
    let fact = |name: &str| entry.detail.member(name).map(plain);
    let found = list(entry.detail.member("found"), plain).join(", ");
    let differences = list(entry.detail.member("differences"), disagreement).join("; ");
    let state = fact("state").unwrap_or_default();
    match fact("bucket").unwrap_or_default().as_str() {
        "matched" => {
            ("Reconciled: the destination holds it, and everything that was compared agrees".to_owned(), "good")
        }
        "missing" => ("Reconciled: the destination's records do not show it".to_owned(), "doubt"),
        "duplicated" => (format!("Reconciled: the destination holds it more than once ({found}): {state}"), "bad"),
        "mismatched" => (format!("Reconciled: the destination holds something else ({differences}): {state}"), "bad"),
        bucket => (format!("Reconciled: {}", bucket.replace('_', " ")), "quiet"),
    }
}

fn disagreement(value: &Json) -> String {
    let fact = |name: &str| value.member(name).map(plain).unwrap_or_else(|| "nothing".to_owned());
    format!("{}: {} here, {} there", fact("field"), fact("ours"), fact("theirs"))
}

/// What a look at the destination showed, and what followed.
fn of_lookup(entry: &Entry) -> (String, &'static str) {
    let fact = |name: &str| entry.detail.member(name).map(plain);
    let found = list(entry.detail.member("found"), plain).join(", ");
    let state = fact("state").unwrap_or_default();
    let reason = fact("reason").unwrap_or_default();
    let (shown, tone) = match fact("finding").unwrap_or_default().as_str() {
        "found" => (format!("It holds {found}, and the key fields agree: {state}"), "good"),
        "differs" => {
            let differences = list(entry.detail.member("differences"), difference).join("; ");
            (format!("It holds {found}, and that differs ({differences}): {state}"), "bad")
        }
        "several" => (format!("It holds several live records ({found}): {state}"), "bad"),
        "void_only" => (format!("It holds void records only ({found}); a person decides"), "doubt"),
        "absent" if state == "failed" => (format!("It does not hold it; {reason}"), "bad"),
        "absent" if entry.detail.member("counts_towards_proof").is_some() => {
            ("It does not hold it; once more, and that is proof".to_owned(), "doubt")
        }
        "absent" => ("It does not show it; that is no proof yet".to_owned(), "doubt"),
        _ => (format!("Nothing follows: {reason}"), "doubt"),
    };
    let candidates = list(entry.detail.member("candidates"), candidate);
    let resembling = match candidates.as_slice() {
        [] => String::new(),
        some => format!(". It holds others that resemble it, and are not taken: {}", some.join(", ")),
    };
    let exhausted = match entry.detail.member("exhausted") {
        Some(_) => ". It is no longer looked for; a person decides",
        None => "",
    };
    (format!("Looked at the destination. {shown}{resembling}{exhausted}"), tone)
}

/// The elements of a list in words; none where it is no list.
fn list(value: Option<&Json>, word: impl Fn(&Json) -> String) -> Vec<String> {
    match value {
        Some(Json::Array(elements)) => elements.iter().map(word).collect(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) | None => Vec::new(),
    }
}

fn difference(value: &Json) -> String {
    let side = |name: &str| value.member(name).map_or_else(|| "nothing".to_owned(), ToString::to_string);
    let place = value.member("payload").map(plain).unwrap_or_default();
    format!("{place}: ours {}, theirs {}", side("ours"), side("theirs"))
}

fn candidate(value: &Json) -> String {
    let reference = value.member("external_reference").map(plain).unwrap_or_default();
    value
        .member("destination_reference")
        .map(plain)
        .map_or_else(|| reference.clone(), |id| format!("{id} ({reference})"))
}

/// The deliveries without those that opened a conflict: the trail tells of them already.
fn without_openings(entries: &[Entry], mut deliveries: Vec<Delivery>) -> Vec<Delivery> {
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::ConflictOpened) {
        let request = entry.detail.member("request_id").map(plain);
        // The oldest one: a client may use the id of a request again.
        let opening = deliveries.iter().rposition(|delivery| {
            delivery.decision == DecisionName::Conflict && request.is_some() && delivery.request_id == request
        });
        if let Some(opening) = opening {
            deliveries.remove(opening);
        }
    }
    deliveries
}

/// Begins that changed nothing, newest first; equal ones behind each other become one line.
fn of_deliveries(deliveries: &[Delivery]) -> Vec<Happening> {
    deliveries
        .chunk_by(|newer, older| newer.decision == older.decision && newer.worker == older.worker)
        .filter_map(|alike| {
            let (newest, oldest) = (alike.first()?, alike.last()?);
            let mut sentence = wording::decision_sentence(newest.decision).to_owned();
            if alike.len() > 1 {
                let times = wording::counted(alike.len() as u64, "time", "times");
                sentence = format!("{sentence} ({times} since {})", wording::moment(oldest.at));
            }
            let named = [("delivery", newest.delivery_id.clone()), ("request", newest.request_id.clone())];
            let is_prevented = newest.decision.holds_repetition();
            Some(Happening {
                at: newest.at,
                sequence: None,
                actor: newest.worker.clone().unwrap_or_else(|| "a worker".to_owned()),
                sentence,
                facts: named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
                link: None,
                tone: if newest.decision == DecisionName::Conflict || !is_prevented { "bad" } else { "quiet" },
            })
        })
        .collect()
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
