//! What a look at a destination shows, and what follows from it.
//!
//! A record is taken as ours only where its external reference is that of the operation, byte for byte, and every key field of the
//! workflow agrees. Whatever merely resembles it is a candidate: shown to people, never taken.

mod agreement;

use crate::destination::Destination;
use crate::event::REPORT_TEXT_CHARACTERS_MAX;
use crate::json::Json;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::state::places;
use crate::workflow::{Comparison, KeyField};

pub(crate) use agreement::folded;
pub use agreement::{agrees, day_of};

/// A lookup tells at most this many candidates.
pub const CANDIDATES_MAX: usize = 10;

/// A finding names at most this many records, however many there are.
pub const REFERENCES_MAX: usize = 20;

/// The external reference of a candidate is shown with at most this many characters.
pub const CANDIDATE_CHARACTERS_MAX: usize = 200;

/// A value of a difference is kept with at most this many characters of its JSON text.
pub const DIFFERENCE_CHARACTERS_MAX: usize = 500;

/// A look tells at most this many records to people.
pub const RECORDS_SHOWN_MAX: usize = 10;

/// A record is shown with at most this many characters of its JSON text.
pub const RECORD_CHARACTERS_MAX: usize = 1_000;

/// What one look at the destination showed, whole: an entry of the trail is made of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Looked {
    /// The method and the address as they were sent, never a secret and no header; of the first page.
    pub request: String,
    /// The status of the last answer; none where none came.
    pub status: Option<u16>,
    /// How many pages were read.
    pub pages: u32,
    /// How long it took, in milliseconds.
    pub took_milliseconds: u64,
    /// What was found.
    pub finding: Finding,
    /// Records that carry only a part of the external reference, or the same in another spelling: at most [`CANDIDATES_MAX`].
    pub candidates: Vec<Candidate>,
}

/// What a look at the destination found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Exactly one live record carries the external reference, and every key field agrees.
    Found {
        /// Under which id the destination holds it.
        destination_reference: String,
    },
    /// Exactly one live record carries the external reference, and some key field disagrees or cannot be read.
    Differs {
        /// Under which id the destination holds it.
        destination_reference: String,
        /// What disagrees, in the order of the workflow's key fields.
        differences: Vec<Difference>,
    },
    /// More than one live record carries the external reference.
    Several {
        /// Their ids, at most [`REFERENCES_MAX`].
        destination_references: Vec<String>,
    },
    /// Only void records carry it.
    VoidOnly {
        /// Their ids, at most [`REFERENCES_MAX`].
        destination_references: Vec<String>,
    },
    /// Everything was read, and nothing carries it. Whether that is proof depends on when the last write was possible.
    Absent,
    /// Nothing follows.
    Inconclusive {
        /// What kind of answer it was.
        class: AnswerClass,
        /// What happened, in a sentence.
        reason: String,
    },
}

impl Finding {
    /// The name in the trail.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Found { .. } => "found",
            Self::Differs { .. } => "differs",
            Self::Several { .. } => "several",
            Self::VoidOnly { .. } => "void_only",
            Self::Absent => "absent",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }
}

impl Finding {
    /// What was found, in a sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Found { destination_reference } => format!("One live record carries it: {destination_reference}."),
            Self::Differs { destination_reference, differences } => {
                format!("{destination_reference} carries it, and differs in {}.", places(differences))
            }
            Self::Several { destination_references } => {
                format!("More than one live record carries it: {}.", destination_references.join(", "))
            }
            Self::VoidOnly { destination_references } => {
                format!("Only void records carry it: {}.", destination_references.join(", "))
            }
            Self::Absent => "Everything was read, and no record carries it.".to_owned(),
            Self::Inconclusive { reason, .. } => format!("Nothing follows from it: {reason}."),
        }
    }
}

/// What kind of answer it is from which nothing follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerClass {
    /// No whole answer came in time.
    Timeout,
    /// No connection, or it broke.
    Unreachable,
    /// The certificate is not one to trust.
    Certificate,
    /// It does not let us look: 401 or 403.
    Refused,
    /// It asks to be asked less: 429.
    TooMany,
    /// It failed: 500 to 599.
    ServerError,
    /// It points elsewhere, and that is not followed.
    Redirect,
    /// Another status from which nothing follows.
    OtherStatus,
    /// The answer, or a record in it, cannot be read.
    Unreadable,
    /// The answer is larger than what is read.
    TooLarge,
    /// There are more pages than are read, or the next one lies elsewhere.
    TooManyPages,
    /// The profile cannot be used as it stands: no lookup, a secret or a value for the path is missing.
    Setup,
}

impl AnswerClass {
    /// Every class.
    pub const ALL: [Self; 12] = [
        Self::Timeout,
        Self::Unreachable,
        Self::Certificate,
        Self::Refused,
        Self::TooMany,
        Self::ServerError,
        Self::Redirect,
        Self::OtherStatus,
        Self::Unreadable,
        Self::TooLarge,
        Self::TooManyPages,
        Self::Setup,
    ];

    /// The name in the trail and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Certificate => "certificate",
            Self::Refused => "refused",
            Self::TooMany => "too_many",
            Self::ServerError => "server_error",
            Self::Redirect => "redirect",
            Self::OtherStatus => "other_status",
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::TooManyPages => "too_many_pages",
            Self::Setup => "setup",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// Whether the destination as a whole is down or overburdened: it is then asked less, for whatever operation.
    pub const fn means_down(self) -> bool {
        match self {
            Self::Timeout | Self::Unreachable | Self::TooMany | Self::ServerError => true,
            Self::Certificate
            | Self::Refused
            | Self::Redirect
            | Self::OtherStatus
            | Self::Unreadable
            | Self::TooLarge
            | Self::TooManyPages
            | Self::Setup => false,
        }
    }
}

/// A key field in which a record disagrees with the payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Difference {
    /// Where the field stands in the payload.
    pub payload: Pointer,
    /// Where it stands in the record (RFC 9535).
    pub record: String,
    /// How the two were compared.
    pub compare: Comparison,
    /// The payload's value; none where it has none, or its body was forgotten.
    pub ours: Option<Json>,
    /// The record's value; none where it has none, or several.
    pub theirs: Option<Json>,
}

/// A record that may be ours to a person's eye, and is not by the rule.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// What it carries as external reference.
    pub external_reference: String,
    /// Under which id the destination holds it, where that can be read.
    pub destination_reference: Option<String>,
}

/// What is read of a record in the destination's answer: the values at the places that the profile names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What stands where the external reference is.
    pub external_references: Vec<Json>,
    /// What stands where the destination reference is.
    pub references: Vec<Json>,
    /// What stands where it says that it is void.
    pub void_marks: Vec<Json>,
    /// What stands where each key field is, in the order of the workflow's.
    pub key_fields: Vec<Vec<Json>>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The external reference.
    pub external_reference: &'a str,
    /// The values that make a record void.
    pub void_values: &'a [String],
    /// The workflow's key fields.
    pub key_fields: &'a [KeyField],
    /// The payload that they are compared with; none where its body was forgotten.
    pub payload: Option<&'a Payload>,
}

impl<'a> Wanted<'a> {
    /// What is looked for at a destination.
    pub fn at(
        destination: &'a Destination,
        external_reference: &'a str,
        key_fields: &'a [KeyField],
        payload: Option<&'a Payload>,
    ) -> Self {
        let void = destination.lookup.as_ref().and_then(|lookup| lookup.void.as_ref());
        let void_values = void.map_or(&[][..], |void| &void.values);
        Self { external_reference, void_values, key_fields, payload }
    }
}

/// How a record was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reading {
    /// What it carries as external reference, where that can be read.
    pub external_reference: Option<String>,
    /// Under which id the destination holds it, where that can be read.
    pub destination_reference: Option<String>,
    /// What that makes it.
    pub verdict: Verdict,
}

/// What a record is to the operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It carries the external reference and is live.
    Live {
        /// In which key fields it disagrees.
        differences: Vec<Difference>,
    },
    /// It carries the external reference and is void.
    Void,
    /// It carries a part of the external reference, or the same in another spelling.
    Candidate,
    /// It is something else.
    Other,
}

/// A look, with what people want to see of it beside.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    /// The look.
    pub looked: Looked,
    /// How many records came.
    pub records: u64,
    /// The first of them, at most [`RECORDS_SHOWN_MAX`].
    pub shown: Vec<ShownRecord>,
}

/// A record, and how it was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShownRecord {
    /// Its JSON text, at most [`RECORD_CHARACTERS_MAX`] characters.
    pub record: String,
    /// How it was read.
    pub reading: Reading,
}

/// Takes the records of an answer one by one; keeps of them only what a finding is made of.
#[derive(Debug)]
pub struct Judge<'a> {
    wanted: Wanted<'a>,
    live: Vec<(Option<String>, Vec<Difference>)>,
    void: Vec<Option<String>>,
    candidates: Vec<Candidate>,
}

impl<'a> Judge<'a> {
    /// A judge that has seen nothing yet.
    pub const fn new(wanted: Wanted<'a>) -> Self {
        Self { wanted, live: Vec::new(), void: Vec::new(), candidates: Vec::new() }
    }

    /// Takes a record, and says how it was read.
    pub fn take(&mut self, record: &Record) -> Reading {
        let reading = read(&self.wanted, record);
        match &reading.verdict {
            Verdict::Live { differences } => self.take_live(reading.destination_reference.clone(), differences),
            Verdict::Void => {
                if self.void.len() < REFERENCES_MAX && !is_known(&self.void, reading.destination_reference.as_ref()) {
                    self.void.push(reading.destination_reference.clone());
                }
            }
            Verdict::Candidate => self.take_candidate(&reading),
            Verdict::Other => {}
        }
        reading
    }

    fn take_live(&mut self, reference: Option<String>, differences: &[Difference]) {
        // Pages may overlap where records come in meanwhile: the same id is the same record, and what either shows of it counts.
        let is_same = |known: &Option<String>| known.is_some() && *known == reference;
        match self.live.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, shown)) if shown.is_empty() => shown.extend_from_slice(differences),
            Some(_) => {}
            None => {
                if self.live.len() < REFERENCES_MAX {
                    self.live.push((reference, differences.to_vec()));
                }
            }
        }
    }

    fn take_candidate(&mut self, reading: &Reading) {
        let Some(external_reference) = reading.external_reference.clone() else { return };
        let destination_reference = reading.destination_reference.clone();
        let candidate = Candidate { external_reference, destination_reference };
        if self.candidates.len() < CANDIDATES_MAX && !self.candidates.contains(&candidate) {
            self.candidates.push(candidate);
        }
    }

    /// What follows from all records that were taken, where every page was read to its end.
    pub fn finish(self) -> (Finding, Vec<Candidate>) {
        let Self { mut live, void, candidates, .. } = self;
        let finding = match (live.pop(), live.is_empty()) {
            (None, _) if void.is_empty() => Finding::Absent,
            (None, _) => Finding::VoidOnly { destination_references: void.into_iter().flatten().collect() },
            (Some((None, _)), true) => Finding::Inconclusive {
                class: AnswerClass::Unreadable,
                reason: "a record carries the external reference, and its own id cannot be read".to_owned(),
            },
            (Some((Some(destination_reference), differences)), true) if differences.is_empty() => {
                Finding::Found { destination_reference }
            }
            (Some((Some(destination_reference), differences)), true) => {
                Finding::Differs { destination_reference, differences }
            }
            (Some(last), false) => {
                live.push(last);
                let destination_references = live.into_iter().filter_map(|(reference, _)| reference).collect();
                Finding::Several { destination_references }
            }
        };
        (finding, candidates)
    }

    /// The candidates, where nothing else follows.
    pub fn into_candidates(self) -> Vec<Candidate> {
        self.candidates
    }
}

fn is_known(references: &[Option<String>], reference: Option<&String>) -> bool {
    reference.is_some_and(|reference| references.iter().flatten().any(|known| known == reference))
}

/// How one record is read.
pub fn read(wanted: &Wanted<'_>, record: &Record) -> Reading {
    let carried: Vec<&str> = record.external_references.iter().filter_map(scalar).collect();
    let destination_reference = destination_reference(&record.references);
    let is_ours = carried.contains(&wanted.external_reference);
    let is_void = || {
        let marks = record.void_marks.iter().filter_map(scalar);
        marks.into_iter().any(|mark| wanted.void_values.iter().any(|value| value == mark))
    };
    if is_ours {
        let verdict =
            if is_void() { Verdict::Void } else { Verdict::Live { differences: differences(wanted, record) } };
        let external_reference = Some(wanted.external_reference.to_owned());
        return Reading { external_reference, destination_reference, verdict };
    }
    let resembling = carried.iter().copied().find(|carried| resembles(carried, wanted.external_reference));
    let verdict = if resembling.is_some() { Verdict::Candidate } else { Verdict::Other };
    let external_reference = resembling.or(carried.first().copied()).map(|text| cut(text, CANDIDATE_CHARACTERS_MAX));
    Reading { external_reference, destination_reference, verdict }
}

/// The id of a record, where exactly one can be read: a text as it is, a number with all its digits.
pub fn destination_reference(values: &[Json]) -> Option<String> {
    let [value] = values else { return None };
    let text = match value {
        Json::String(text) => text.as_str(),
        Json::Number(number) => number.as_written(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return None,
    };
    let fits = text.chars().count() <= REPORT_TEXT_CHARACTERS_MAX && !text.contains('\0');
    (fits && !text.trim().is_empty()).then(|| text.to_owned())
}

/// The text of a value that is no list or object: of a number as it was written.
fn scalar(value: &Json) -> Option<&str> {
    match value {
        Json::String(text) => Some(text),
        Json::Number(number) => Some(number.as_written()),
        Json::Bool(true) => Some("true"),
        Json::Bool(false) => Some("false"),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Whether one contains the other, with case and white space folded.
fn resembles(carried: &str, wanted: &str) -> bool {
    let (carried, wanted) = (folded(carried), folded(wanted));
    !carried.is_empty() && (carried.contains(&wanted) || wanted.contains(&carried))
}

fn differences(wanted: &Wanted<'_>, record: &Record) -> Vec<Difference> {
    let fields = wanted.key_fields.iter().enumerate();
    let difference = |(index, field): (usize, &KeyField)| {
        let ours = wanted.payload.and_then(|payload| field.payload.find(payload.content()));
        let theirs = match record.key_fields.get(index).map(Vec::as_slice) {
            Some([value]) => Some(value),
            Some(_) | None => None,
        };
        let agree = ours.zip(theirs).is_some_and(|(ours, theirs)| agrees(field.compare, ours, theirs));
        (!agree).then(|| Difference {
            payload: field.payload.clone(),
            record: field.record.clone(),
            compare: field.compare,
            ours: ours.map(bounded),
            theirs: theirs.map(bounded),
        })
    };
    fields.filter_map(difference).collect()
}

/// The value, or where it is long the beginning of its text.
fn bounded(value: &Json) -> Json {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    if text.chars().count() <= DIFFERENCE_CHARACTERS_MAX {
        return value.clone();
    }
    Json::String(cut(&text, DIFFERENCE_CHARACTERS_MAX))
}

/// The text, or where it is long its beginning and a sign that there is more.
pub fn cut(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
