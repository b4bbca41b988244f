//! What the form of a reversal starts from: the records that are known of an operation.

use guard::{clock::Timestamp, reversal::Reversal, view::OperationView};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::amendment::ReversalRefused};

/// At most this many records of an operation are offered; any other is written.
#[cfg(feature = "ssr")]
const RECORDS_LISTED_MAX: usize = 20;

/// A record that the trail of an operation tells of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct KnownRecord {
    /// The id under which the destination holds it.
    pub reference: String,
    /// Whether it is the one that the operation is confirmed as.
    pub is_own: bool,
    /// When it was told of last.
    pub told_at: Timestamp,
    /// Why it cannot be asked to be taken back; none where it can.
    pub why_not: Option<String>,
}

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReversalPageReport {
    /// When it was true.
    pub as_of: Timestamp,
    /// The operation.
    pub operation: OperationView,
    /// The records that are known of it, the one that it is confirmed as first.
    pub records: Vec<KnownRecord>,
    /// What was asked before.
    pub reversals: Vec<Reversal>,
    /// Why nothing can be asked, whichever record it is.
    pub why_not: Option<String>,
    /// What became of the wish before.
    pub refused: Option<ReversalRefused>,
}

/// Reads what a reversal starts from.
#[server(prefix = "/fn", endpoint = "read_reversal", input = Json, output = Json)]
pub(crate) async fn read_reversal(id: String) -> Result<ReversalPageReport, Failure> {
    use guard::refusal::Refusal;

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("operation"))?;
    let history = guard.history(&person.reach, id).await?;
    let own = history.operation.state.destination_reference().map(ToOwned::to_owned);
    let sentence = |refusal: Refusal| crate::wording::amendment::sentence(&refusal.to_string());
    let mut records = Vec::new();
    for (reference, told_at) in told::records(&history.entries, RECORDS_LISTED_MAX) {
        let why_not = guard.why_not_reverse(person, id, &reference).await?.map(sentence);
        records.push(KnownRecord { is_own: own.as_deref() == Some(&reference), reference, told_at, why_not });
    }
    records.sort_by_key(|record| !record.is_own);
    // No record in particular: what stands in its way stands in the way of all.
    let why_not = guard.why_not_reverse(person, id, "").await?.map(sentence);
    let refused: Option<ReversalRefused> = crate::reply::take_notice(&visit, super::ask_reversal::NOTICE).await;
    Ok(ReversalPageReport {
        as_of: guard.now(),
        operation: guard.operation(&person.reach, id).await.map(|operation| guard.view(&operation))?,
        records,
        reversals: guard.reversals(&person.reach, id).await?,
        why_not,
        refused: refused.filter(|refused| refused.draft.operation == id),
    })
}

#[cfg(feature = "ssr")]
mod told {
    use guard::{clock::Timestamp, json::Json, trail::Entry};

    /// The records that a trail tells of, the latest first.
    pub(super) fn records(entries: &[Entry], most: usize) -> Vec<(String, Timestamp)> {
        let mut found: Vec<(String, Timestamp)> = Vec::new();
        for entry in entries.iter().rev() {
            let named = entry.detail.member("destination_reference").and_then(Json::as_str);
            let listed = match entry.detail.member("found") {
                Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
                Some(_) | None => Vec::new(),
            };
            for reference in named.into_iter().chain(listed) {
                if found.len() < most && !found.iter().any(|(known, _)| known == reference) {
                    found.push((reference.to_owned(), entry.at));
                }
            }
        }
        found
    }

    #[cfg(test)]
    mod tests {
        use guard::{
            actor::Actor,
            trail::{ChainHash, EntryKind},
        };

        use super::*;

        #[test]
        fn every_record_is_named_once_the_latest_first() {
            let at = |second: i64| Timestamp::from_timestamp_millis(second * 1_000).unwrap();
            let details = [
                r#"{"destination_reference":"task-1"}"#,
                r#"{"found":["task-1","task-2"]}"#,
                r#"{"state":"disputed"}"#,
            ];
            let entries: Vec<Entry> = (1..)
                .zip(details)
                .map(|(second, text)| {
                    let detail = Json::parse(text.as_bytes()).unwrap();
                    Entry::following((0, ChainHash::START), at(second), Actor::Sweeper, EntryKind::Reported, detail)
                })
                .collect();
            assert_eq!(records(&entries, 5), [("task-1".to_owned(), at(2)), ("task-2".to_owned(), at(2))]);
            assert_eq!(records(&entries, 1).len(), 1);
        }
    }
}
