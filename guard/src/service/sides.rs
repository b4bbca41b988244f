//! Both sides of an operation that somebody decides on: what was sent, and what the destination was seen to hold.

use super::Guard;
use super::desk::HISTORY_ROWS_MAX;
use crate::evidence::Evidence;
use crate::id::OperationId;
use crate::json::Json;
use crate::operation::Operation;
use crate::pointer::Pointer;
use crate::refusal::Refusal;
use crate::token::Reach;
use crate::trail::{Entry, EntryKind};
use crate::workflow::Workflow;

/// At most this many single values of a payload are told; the whole of it stands behind them.
pub const VALUES_TOLD_MAX: usize = 12;

/// What is known of both sides of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    /// The operation.
    pub operation: Operation,
    /// Its payload, compact JSON; none where it was dropped.
    pub payload: Option<String>,
    /// The values by which people know it: amount, counterparty, key fields, then what else stands alone; at most [`VALUES_TOLD_MAX`].
    pub values: Vec<(Pointer, Json)>,
    /// The last entry that tells what the destination holds; where none does, the last look from which nothing followed.
    pub shown: Option<Entry>,
    /// The key fields as they were sent and as the record holds them, where exactly one record was found.
    pub key_fields: Option<(Json, Json)>,
    /// What people added, oldest first.
    pub evidence: Vec<Evidence>,
    /// What is missing to mark it as not applied with no further link or file; none where what is there is enough.
    pub lacks_evidence: Option<String>,
}

impl Guard {
    /// Both sides of an operation within reach.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn sides(&self, reach: &Reach, id: OperationId) -> Result<Sides, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let store = &self.inner.store;
        let payload = store.payload(id).await?;
        let content = payload.as_deref().and_then(|text| Json::parse(text.as_bytes()).ok());
        let catalogue = self.catalogue();
        let workflow = catalogue.workflows.get(operation.key.workflow.as_str()).map(|known| &known.workflow);
        let shown = last_shown(self.latest_entries(&operation).await?);
        let values = workflow.zip(content.as_ref()).map(|(workflow, content)| values(workflow, content));
        let key_fields = workflow.zip(content.as_ref()).zip(shown.as_ref());
        Ok(Sides {
            values: values.unwrap_or_default(),
            key_fields: key_fields.and_then(|((workflow, content), shown)| compared(workflow, content, shown)),
            shown,
            evidence: store.evidence(id, HISTORY_ROWS_MAX).await?,
            lacks_evidence: self.lacks_evidence(&operation).await?,
            payload,
            operation,
        })
    }
}

/// The last entry from which something followed about the destination; the last look at all where there is none.
fn last_shown(entries: Vec<Entry>) -> Option<Entry> {
    let is_look = |entry: &Entry| entry.kind == EntryKind::LookedUp;
    let shows =
        |entry: &Entry| entry.kind == EntryKind::Reconciled || is_look(entry) && finding(entry) != "inconclusive";
    let place = entries.iter().rposition(shows).or_else(|| entries.iter().rposition(is_look))?;
    entries.into_iter().nth(place)
}

fn finding(entry: &Entry) -> &str {
    entry.detail.member("finding").and_then(Json::as_str).unwrap_or_default()
}

/// The single values of a payload, those first by which people know it. What the workflow calls volatile says nothing.
fn values(workflow: &Workflow, payload: &Json) -> Vec<(Pointer, Json)> {
    let counterparty = workflow.look_alikes.as_ref().map(|rules| &rules.counterparty);
    let named = [workflow.amount.as_ref(), workflow.currency.as_ref(), counterparty];
    let key_fields = workflow.key_fields.iter().map(|field| &field.payload);
    let mut places: Vec<Pointer> = named.into_iter().flatten().chain(key_fields).cloned().collect();
    single(payload, &mut Vec::new(), &mut places);
    let mut told: Vec<(Pointer, Json)> = Vec::new();
    for place in places {
        let is_told = told.iter().any(|(known, _)| known.covers(&place));
        let is_volatile = workflow.volatile.iter().any(|volatile| volatile.covers(&place));
        if let Some(value) = place.find(payload)
            && !(is_told || is_volatile)
        {
            told.push((place, value.clone()));
        }
    }
    told.truncate(VALUES_TOLD_MAX);
    told
}

/// The places of what is neither a list nor an object, outside of lists.
fn single(value: &Json, at: &mut Vec<String>, places: &mut Vec<Pointer>) {
    match value {
        Json::Object(members) => {
            for (name, member) in members {
                at.push(name.clone());
                single(member, at, places);
                at.pop();
            }
        }
        Json::Array(_) => {}
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => places.push(Pointer::from_tokens(at.clone())),
    }
}

/// The key fields of both sides. A look keeps of a record what disagrees: in everything else it is as it was sent.
fn compared(workflow: &Workflow, payload: &Json, shown: &Entry) -> Option<(Json, Json)> {
    if shown.kind != EntryKind::LookedUp || !matches!(finding(shown), "found" | "differs") {
        return None;
    }
    let differences = match shown.detail.member("differences") {
        Some(Json::Array(differences)) => differences.as_slice(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) | None => &[],
    };
    let (mut sent, mut held) = (Json::Object(Vec::new()), Json::Object(Vec::new()));
    for place in workflow.key_fields.iter().map(|field| &field.payload) {
        let ours = place.find(payload);
        let written = place.to_string();
        let differs = differences
            .iter()
            .find(|difference| difference.member("payload").and_then(Json::as_str) == Some(written.as_str()));
        if let Some(ours) = ours {
            place.put(&mut sent, ours.clone());
        }
        let theirs = match differs {
            Some(difference) => difference.member("theirs"),
            None => ours,
        };
        if let Some(theirs) = theirs {
            place.put(&mut held, theirs.clone());
        }
    }
    Some((sent, held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::Actor;
    use crate::key::KeyPart;
    use crate::trail::ChainHash;
    use crate::workflow::{Comparison, KeyField};

    fn workflow(key_fields: &[&str]) -> Workflow {
        let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
        workflow.amount = Some("/total".parse().unwrap());
        workflow.volatile = vec!["/sent_at".parse().unwrap()];
        let field = |place: &&str| KeyField {
            payload: place.parse().unwrap(),
            record: "$.x".to_owned(),
            compare: Comparison::default(),
        };
        workflow.key_fields = key_fields.iter().map(field).collect();
        workflow
    }

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_people_know_it_by_stands_first() {
        let payload = json(
            r#"{"memo":"m","customer":{"name":"A","iban":"D"},"lines":[{"sku":"s"}],"total":"7.00","sent_at":"x","due":null}"#,
        );
        let told = values(&workflow(&["/customer/name", "/lines/0/sku", "/nowhere"]), &payload);
        let told: Vec<String> = told.iter().map(|(place, value)| format!("{place}={value}")).collect();
        assert_eq!(
            told,
            [
                r#"/total="7.00""#,
                r#"/customer/name="A""#,
                r#"/lines/0/sku="s""#,
                r#"/memo="m""#,
                r#"/customer/iban="D""#,
                "/due=null"
            ]
        );
        let wide: Vec<String> = (0..50).map(|at| format!(r#""m{at}":1"#)).collect();
        assert_eq!(values(&workflow(&[]), &json(&format!("{{{}}}", wide.join(",")))).len(), VALUES_TOLD_MAX);
    }

    #[test]
    fn a_record_is_what_was_sent_but_for_what_differs() {
        let payload = json(r#"{"total":"7.00","customer":{"name":"A"},"memo":"m"}"#);
        let told = |detail: &str| {
            let at = chrono::DateTime::UNIX_EPOCH;
            let chain = (0, ChainHash::START);
            let entry = Entry::following(chain, at, Actor::Recovery, EntryKind::LookedUp, json(detail));
            compared(&workflow(&["/total", "/customer/name"]), &payload, &entry)
                .map(|(sent, held)| (sent.to_string(), held.to_string()))
        };
        let sent = r#"{"total":"7.00","customer":{"name":"A"}}"#.to_owned();
        assert_eq!(told(r#"{"finding":"found"}"#), Some((sent.clone(), sent.clone())));
        assert_eq!(
            told(
                r#"{"finding":"differs","differences":[{"payload":"/total","ours":"7.00","theirs":9},{"payload":"/customer/name","ours":"A"}]}"#
            ),
            Some((sent, r#"{"total":9}"#.to_owned()))
        );
        assert_eq!(told(r#"{"finding":"several"}"#), None);
    }
}
