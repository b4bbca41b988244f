//! What the form of a proposal starts from: the confirmed payload, the places that may change, and those that may not.

use guard::{amendment::Ruled, clock::Timestamp, view::OperationView};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::amendment::ProposalRefused};

/// A form has inputs for at most this many single places; the others are changed in the JSON.
#[cfg(feature = "ssr")]
pub(crate) const FIELDS_MAX: usize = 100;

/// At most this many places that may not change are listed.
#[cfg(feature = "ssr")]
pub(crate) const FIXED_LISTED_MAX: usize = 100;

/// A payload over this many bytes is not offered for writing; its change is proposed through the API.
#[cfg(feature = "ssr")]
pub(crate) const WRITTEN_BYTES_MAX: usize = 64 * 1024;

/// A single place that may change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Field {
    /// The place, a JSON Pointer.
    pub place: String,
    /// What stands there, as a form writes it.
    pub value: String,
    /// What can stand there.
    pub kind: FieldKind,
}

/// What kind of value a place takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Flag,
}

/// A single place that may not change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Fixed {
    /// The place, a JSON Pointer.
    pub place: String,
    /// What stands there, shortened.
    pub value: String,
}

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProposalPageReport {
    /// When it was true.
    pub as_of: Timestamp,
    /// The revision that would be changed.
    pub operation: OperationView,
    /// Why nothing can be proposed; none where it can.
    pub why_not: Option<String>,
    /// The correction that would be made, and by which rule.
    pub ruled: Option<Ruled>,
    /// The payload as indented JSON.
    pub payload: String,
    /// The first [`FIELDS_MAX`] single places that may change.
    pub fields: Vec<Field>,
    /// How many there are besides.
    pub fields_left_out: usize,
    /// The first [`FIXED_LISTED_MAX`] single places that may not.
    pub fixed: Vec<Fixed>,
    /// How many there are besides.
    pub fixed_left_out: usize,
    /// The rule that forbids the others, in a sentence.
    pub rule: String,
    /// What became of the proposal before.
    pub refused: Option<ProposalRefused>,
}

/// Reads what a proposal starts from.
#[server(prefix = "/fn", endpoint = "read_proposal", input = Json, output = Json)]
pub(crate) async fn read_proposal(id: String) -> Result<ProposalPageReport, Failure> {
    use guard::{amendment::Rule, refusal::Refusal};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("operation"))?;
    let operation = guard.operation(&person.reach, id).await?;
    let refused: Option<ProposalRefused> = crate::reply::take_notice(&visit, super::propose_amendment::NOTICE).await;
    let mut report = ProposalPageReport {
        as_of: guard.now(),
        operation: guard.view(&operation),
        why_not: None,
        ruled: None,
        payload: String::new(),
        fields: Vec::new(),
        fields_left_out: 0,
        fixed: Vec::new(),
        fixed_left_out: 0,
        rule: String::new(),
        refused: refused.filter(|refused| refused.draft.base == id),
    };
    match written::start(&visit, &operation).await {
        Ok(start) => {
            let places = &start.amendable.places;
            let rule =
                if places.is_empty() { Rule::NothingAmendable } else { Rule::Amendable { places: places.clone() } };
            report.rule = rule.to_string();
            report.payload = start.payload.content().indented();
            (report.fields, report.fixed) = written::places(&start);
            report.fields_left_out = report.fields.len().saturating_sub(FIELDS_MAX);
            report.fields.truncate(FIELDS_MAX);
            report.fixed_left_out = report.fixed.len().saturating_sub(FIXED_LISTED_MAX);
            report.fixed.truncate(FIXED_LISTED_MAX);
            report.ruled = Some(start.amendable.ruled);
        }
        Err(Failure::Refused(refusal)) => report.why_not = Some(refusal.to_string()),
        Err(failure) => return Err(failure),
    }
    Ok(report)
}

#[cfg(feature = "ssr")]
pub(crate) mod written {
    use guard::{
        json::Json,
        operation::Operation,
        payload::Payload,
        pointer::Pointer,
        refusal::Refusal,
        service::{Amendable, Proposer},
    };

    use super::{Field, FieldKind, Fixed, WRITTEN_BYTES_MAX};
    use crate::{context::Visit, failure::Failure, notice::amendment::ProposalDraft};

    /// A value in the list of what may not change shows this many characters.
    const VALUE_CHARACTERS_MAX: usize = 80;

    /// What a proposal starts from.
    pub(crate) struct Start {
        /// What may be proposed.
        pub amendable: Amendable,
        /// The confirmed payload.
        pub payload: Payload,
    }

    /// What a proposal of this person on this operation starts from.
    ///
    /// # Errors
    /// Why nothing can be proposed here.
    pub(crate) async fn start(visit: &Visit, operation: &Operation) -> Result<Start, Failure> {
        let (person, guard) = (visit.person()?, &visit.guard);
        let amendable = guard.amendable(Proposer::Person(person), operation.id).await?;
        let veil = guard.veil(person, operation).await?;
        if !veil.is_lifted() {
            let places = veil.places().join(", ");
            let reason = format!("{places} is masked as sensitive; open it on the operation's page first");
            return Err(Refusal::Forbidden { reason }.into());
        }
        let text = guard.payload(&person.reach, operation.id, operation.key.revision).await?;
        if text.len() > WRITTEN_BYTES_MAX {
            let message = format!(
                "has {} bytes; a change of more than {WRITTEN_BYTES_MAX} is proposed through the API",
                text.len()
            );
            return Err(Refusal::field("payload", message).into());
        }
        let payload = Payload::parse(text.as_bytes()).map_err(|error| Refusal::field("payload", error))?;
        Ok(Start { amendable, payload })
    }

    /// The single places that may change, and those that may not. What does not count stands in neither.
    pub(crate) fn places(start: &Start) -> (Vec<Field>, Vec<Fixed>) {
        let mut found = (Vec::new(), Vec::new());
        walk(start, &mut Vec::new(), start.payload.content(), &mut found);
        found
    }

    fn walk(start: &Start, path: &mut Vec<String>, value: &Json, found: &mut (Vec<Field>, Vec<Fixed>)) {
        let place = Pointer::from_tokens(path.clone());
        if start.amendable.volatile.iter().any(|volatile| volatile.covers(&place)) {
            return;
        }
        let mut into = |token: String, value: &Json, path: &mut Vec<String>| {
            path.push(token);
            walk(start, path, value, found);
            path.pop();
        };
        match value {
            Json::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    into(name.clone(), value, path);
                }
            }
            Json::Array(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    into(index.to_string(), value, path);
                }
            }
            Json::Object(_) | Json::Array(_) | Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                let is_open = start.amendable.places.iter().any(|open| open.covers(start.payload.content(), &place));
                if !is_open {
                    let value = value.to_string().chars().take(VALUE_CHARACTERS_MAX).collect();
                    found.1.push(Fixed { place: place.to_string(), value });
                } else if let Some((kind, value)) = field(value) {
                    found.0.push(Field { place: place.to_string(), value, kind });
                }
            }
        }
    }

    /// How a form writes a value; none where only the JSON can: a browser's field changes line breaks.
    fn field(value: &Json) -> Option<(FieldKind, String)> {
        match value {
            Json::String(text) if !text.chars().any(char::is_control) => Some((FieldKind::Text, text.clone())),
            Json::Number(number) => Some((FieldKind::Number, number.as_written().to_owned())),
            Json::Bool(flag) => Some((FieldKind::Flag, flag.to_string())),
            Json::String(_) | Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The payload that a form means: its JSON, with the single places that were changed put into it.
    ///
    /// # Errors
    /// The place that cannot be read, and how to mend it.
    pub(crate) fn meant(start: &Start, draft: &ProposalDraft) -> Result<Payload, Refusal> {
        let base = start.payload.content();
        let mut content = match draft.payload.trim() {
            "" => base.clone(),
            text => Payload::parse(text.as_bytes()).map_err(|error| Refusal::field("payload", error))?.into(),
        };
        for written in &draft.fields {
            let wrong = |message: &str| Refusal::field(&written.place, message);
            let place: Pointer = written.place.parse().map_err(|error| Refusal::field(&written.place, error))?;
            let held = place.find(base).and_then(field);
            let (kind, before) = held.ok_or_else(|| wrong("is no place of this form; load the page again"))?;
            if written.value == before {
                continue;
            }
            let value = match kind {
                FieldKind::Text => Json::String(written.value.clone()),
                FieldKind::Number => match Json::parse(written.value.trim().as_bytes()) {
                    Ok(number @ Json::Number(_)) => number,
                    Ok(_) | Err(_) => return Err(wrong("is no number; write it as 12.50")),
                },
                FieldKind::Flag => Json::Bool(written.value == "true"),
            };
            if !place.put(&mut content, value) {
                return Err(wrong("was changed, but the JSON has no such place any more"));
            }
        }
        Payload::new(content).map_err(|error| Refusal::field("payload", error))
    }

    #[cfg(test)]
    mod tests {
        use guard::{amendment::Ruled, workflow::Correction};

        use super::*;
        use crate::notice::amendment::FieldDraft;

        fn start(payload: &str, places: &[&str]) -> Start {
            let ruled = Ruled { correction: Correction::Amend, rule_version: 1, because: String::new() };
            let places = places.iter().map(|place| place.parse().unwrap()).collect();
            let volatile = vec!["/meta".parse().unwrap()];
            let amendable = Amendable { ruled, places, volatile };
            Start { amendable, payload: Payload::parse(payload.as_bytes()).unwrap() }
        }

        fn draft(payload: &str, fields: &[(&str, &str)]) -> ProposalDraft {
            let field =
                |&(place, value): &(&str, &str)| FieldDraft { place: place.to_owned(), value: value.to_owned() };
            ProposalDraft {
                base: guard::id::OperationId::from_u128(1),
                payload: payload.to_owned(),
                fields: fields.iter().map(field).collect(),
                reason: String::new(),
                requested_by: String::new(),
            }
        }

        const BASE: &str =
            r#"{"customer":"C-77","lines":[{"sku":"A","quantity":2,"gift":false,"note":"a\nb"}],"meta":{"at":1}}"#;

        #[test]
        fn places_stand_where_they_belong() {
            let (fields, fixed) = places(&start(BASE, &["/lines[sku]"]));
            let fields: Vec<_> = fields.iter().map(|field| (field.place.as_str(), field.value.as_str())).collect();
            assert_eq!(fields, [("/lines/0/quantity", "2"), ("/lines/0/gift", "false")]);
            let fixed: Vec<_> = fixed.iter().map(|fixed| fixed.place.as_str()).collect();
            assert_eq!(fixed, ["/customer", "/lines/0/sku"], "what does not count is no place");
        }

        #[test]
        fn single_places_go_over_the_json_where_they_were_changed() {
            let start = start(BASE, &["/lines"]);
            let meant = |payload: &str, fields: &[(&str, &str)]| {
                meant(&start, &draft(payload, fields)).map(|payload| payload.to_text())
            };
            let quantity = [("/lines/0/quantity", "3.50")];
            assert_eq!(meant("", &quantity).unwrap(), BASE.replace(":2,", ":3.50,"));
            let written = BASE.replace(":2,", ":9,");
            assert_eq!(
                meant(&written, &[("/lines/0/quantity", "2")]).unwrap(),
                written,
                "an untouched field says nothing"
            );
            let told = |result: Result<String, Refusal>| result.unwrap_err().to_string();
            assert_eq!(
                told(meant("", &[("/lines/0/quantity", "two")])),
                "/lines/0/quantity: is no number; write it as 12.50"
            );
            assert!(told(meant(r#"{"lines":[]}"#, &quantity)).ends_with("has no such place any more"));
            assert!(told(meant("{", &[])).starts_with("payload: "));
            assert!(told(meant("", &[("/lines", "x")])).starts_with("/lines: is no place of this form"));
        }
    }
}
