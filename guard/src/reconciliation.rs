//! Reconciliation: what the source has done, beside what the destination holds.
//!
//! Records come out of a file or the destination's list, one by one; [`matching`] says what each is to which operation. A record is taken
//! as an operation's by the destination reference that is held of it, or by its external reference, byte for byte. Whatever merely
//! resembles it is a candidate, which a person confirms.

pub mod matching;

use std::collections::BTreeMap;
use std::fmt;

use chrono::NaiveDate;
use rust_decimal::Decimal;

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::id::{OperationId, ReconciliationId};
use crate::json::Json;
use crate::lookup::{Difference, agrees};
use crate::operation::{Operation, of_external_reference};
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::refusal::Refusal;
use crate::state::{State, StateName};
use crate::workflow::{Comparison, DefinitionFault, Workflow};

/// A reconciliation takes at most this many records, and compares at most this many operations: each costs about a hundred and fifty
/// bytes of memory while it runs.
pub const RECORDS_MAX: usize = 2_000_000;

/// A text of a record (a reference, a document's number) has at most this many characters.
pub const RECORD_TEXT_CHARACTERS_MAX: usize = 1_000;

/// A reconciliation knows at most this many currencies.
pub const CURRENCIES_MAX: usize = 300;

/// A record that nobody guards is shown with at most this many operations that it may belong to.
pub const CANDIDATES_SHOWN_MAX: usize = 5;

/// Up to this many contradictions are opened whatever their share.
pub const CONTRADICTIONS_ALWAYS_OPENED: u64 = 10;

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A table of separated values.
    Csv,
    /// A JSON array of objects.
    Json,
    /// A bank statement (ISO 20022, camt.053).
    Camt053,
    /// Vouchers as Tally exports them.
    Tally,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Json, Self::Camt053, Self::Tally];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Camt053 => "camt053",
            Self::Tally => "tally",
        }
    }

    /// The format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// What stands before the decimals of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// `1,234.56`
    Point,
    /// `1.234,56`
    Comma,
}

/// Which column holds what, and how values are written. What is left out is looked for under its own name, or where the destination's
/// lookup finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// What the file is written in; told by its media type and its beginning where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The column of the destination reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_reference: Option<String>,
    /// The column of the external reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_reference: Option<String>,
    /// The column of the document's number: shown, and a hint for candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The column that says which system a record came from: for the coverage of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_system: Option<String>,
    /// The column of the amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// The column of the currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The column of the date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The column that says whether a record is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What stands there where it is void; those of the destination's lookup where it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void_values: Vec<String>,
    /// The currency of every record, where no column says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_currency: Option<String>,
    /// What stands between two columns: one character, or `tab`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// The encoding (WHATWG's names); UTF-8, or what a byte order mark says, where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// What stands before the decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<DecimalMark>,
    /// How dates are written (strftime's signs), or `excel` for serial days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_format: Option<String>,
    /// Whether amounts are whole numbers of the currency's smallest unit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub minor_units: bool,
    /// The columns of key fields, by their place in the payload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The fields of a record that a column may be named for, besides the workflow's key fields.
pub const FIELDS: [&str; 8] = [
    "destination_reference",
    "external_reference",
    "document",
    "source_system",
    "amount",
    "currency",
    "date",
    "status",
];

impl Mapping {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The column that is named for a field.
    pub fn column(&self, field: &str) -> Option<&str> {
        let column = match field {
            "destination_reference" => &self.destination_reference,
            "external_reference" => &self.external_reference,
            "document" => &self.document,
            "source_system" => &self.source_system,
            "amount" => &self.amount,
            "currency" => &self.currency,
            "date" => &self.date,
            "status" => &self.status,
            _ => return self.fields.get(field).map(String::as_str),
        };
        column.as_deref()
    }

    /// Names the column of a field: one of [`FIELDS`], or a key field of the workflow by its place (`/customer`) or name (`customer`).
    ///
    /// # Errors
    /// The workflow has no such field.
    pub fn set(&mut self, workflow: &Workflow, field: &str, column: &str) -> Result<(), Refusal> {
        let name = field.strip_prefix('/').unwrap_or(field);
        let is_place = |place: Option<&Pointer>| place.is_some_and(|place| place.to_string() == format!("/{name}"));
        let column = Some(column.to_owned());
        // The amount's place means the amount: both are one to whoever sends the file.
        match name {
            _ if is_place(workflow.amount.as_ref()) => self.amount = column,
            _ if is_place(workflow.currency.as_ref()) => self.currency = column,
            "destination_reference" | "reference" => self.destination_reference = column,
            "external_reference" => self.external_reference = column,
            "document" => self.document = column,
            "source_system" => self.source_system = column,
            "amount" => self.amount = column,
            "currency" => self.currency = column,
            "date" => self.date = column,
            "status" => self.status = column,
            _ => {
                let places = workflow.key_fields.iter().map(|known| known.payload.to_string());
                let Some(place) = places.into_iter().find(|place| place.trim_start_matches('/') == name) else {
                    let mut known: Vec<String> = FIELDS.iter().map(|known| (*known).to_owned()).collect();
                    known.extend(workflow.key_fields.iter().map(|known| known.payload.to_string()));
                    let message = format!("names no field of a record; there are: {}", known.join(", "));
                    return Err(Refusal::field(&format!("map.{field}"), message));
                };
                self.fields.extend(column.map(|column| (place, column)));
            }
        }
        Ok(())
    }

    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first key that contradicts a limit or another key.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        if self.delimiter.as_deref().is_some_and(|text| delimiter(text).is_none()) {
            return Err(DefinitionFault::new(
                "reconciliation.delimiter",
                "is no delimiter; write one ASCII character such as \";\", or \"tab\"",
            ));
        }
        if self.fields.keys().any(|place| place.parse::<Pointer>().is_err()) {
            return Err(DefinitionFault::new(
                "reconciliation.fields",
                "names a key field by something else than its place in the payload, for example \"/customer\"",
            ));
        }
        if self.every_currency.as_deref().is_some_and(|currency| !is_currency(currency)) {
            return Err(DefinitionFault::new("reconciliation.every_currency", "is no currency of ISO 4217"));
        }
        Ok(())
    }
}

/// The byte that a delimiter's text means.
pub fn delimiter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Some(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\r' | b'\n') => {
            Some(*byte)
        }
        _ => None,
    }
}

/// Whether ISO 4217 has the currency.
pub fn is_currency(code: &str) -> bool {
    iso_currency::Currency::from_code(code).is_some()
}

/// How many decimals a currency's smallest unit makes: 2 for EUR, 0 for JPY, 3 for KWD. None where ISO 4217 does not have the
/// currency, or it has no smallest unit.
pub fn minor_digits(code: &str) -> Option<u32> {
    iso_currency::Currency::from_code(code)?.exponent().map(u32::from)
}

/// One record, as the destination holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Where it stands in what was read: a line, or the place in a list, from 1.
    pub line: u64,
    /// Under which id the destination holds it.
    pub destination_reference: Option<String>,
    /// What it carries as external reference.
    pub external_reference: Option<String>,
    /// The document's number.
    pub document: Option<String>,
    /// The system that it came from.
    pub source_system: Option<String>,
    /// The amount, in whole units of the currency; none where no column says it, or it could not be told for want of the currency.
    pub amount: Option<Decimal>,
    /// The currency as it is written.
    pub currency: Option<String>,
    /// Its day.
    pub date: Option<NaiveDate>,
    /// Whether it is void.
    pub is_void: bool,
    /// What stands in the columns of the workflow's key fields, in their order.
    pub key_fields: Vec<Option<Json>>,
}

/// Where something lies after a reconciliation. Every operation and every record lies in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// Both sides hold it, and they agree.
    Matched,
    /// The source says that it was done, and no live record is there.
    Missing,
    /// More than one live record of one operation.
    Duplicated,
    /// Both sides hold it, and they disagree.
    Mismatched,
    /// The destination holds it, and no operation belongs to it.
    Unguarded,
    /// The operation is not settled yet, or was confirmed too late to be in the list that was pulled.
    Pending,
    /// A record that counts for nothing: it was voided.
    Void,
    /// An operation that should leave no live record, and left none: failed, released, rejected, superseded, or one that took a record
    /// back.
    NotExpected,
    /// The operation was confirmed, its record was taken back since, and no live record is there any more.
    TakenBack,
}

impl Bucket {
    /// Every bucket, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Duplicated,
        Self::Missing,
        Self::Mismatched,
        Self::Unguarded,
        Self::Pending,
        Self::Matched,
        Self::TakenBack,
        Self::Void,
        Self::NotExpected,
    ];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Missing => "missing",
            Self::Duplicated => "duplicated",
            Self::Mismatched => "mismatched",
            Self::Unguarded => "unguarded",
            Self::Pending => "pending",
            Self::Void => "void",
            Self::NotExpected => "not_expected",
            Self::TakenBack => "taken_back",
        }
    }

    /// The bucket with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bucket| bucket.as_str() == name)
    }
}

/// What an operation lets one expect at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// A live record: it is confirmed.
    Live,
    /// A record that settles it: its outcome is unknown.
    Settling,
    /// A record or none, and a person or a worker has the word: disputed, or being sent.
    Open,
    /// None: failed, released, or not sent yet.
    Nothing,
}

impl Expectation {
    /// What is expected of an operation.
    pub const fn of(state: &State) -> Self {
        match state {
            State::Confirmed { .. } => Self::Live,
            State::Unknown { .. } => Self::Settling,
            State::Disputed { .. } | State::Sending { .. } => Self::Open,
            State::AwaitingApproval
            | State::Rejected { .. }
            | State::Acquired { .. }
            | State::Released { .. }
            | State::Failed { .. } => Self::Nothing,
        }
    }
}

/// A field in which an operation and its record disagree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Disagreement {
    /// The field: a place in the payload, or `destination_reference`, `external_reference`, `amount`, `currency`, `state`.
    pub field: String,
    /// What the source says.
    pub ours: Option<String>,
    /// What the record says.
    pub theirs: Option<String>,
}

/// How an operation and one record compare, apart from their amounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// In what they disagree.
    pub disagreements: Vec<Disagreement>,
    /// The key fields among them, as a lookup tells them.
    pub differences: Vec<Difference>,
    /// Whether every key field of the workflow could be compared.
    pub is_complete: bool,
}

impl Compared {
    /// Whether nothing that was compared disagrees.
    pub fn agrees(&self) -> bool {
        self.disagreements.is_empty()
    }
}

/// Compares an operation with a record that is linked to it; amounts apart, since a record may hold several operations.
pub fn compare(workflow: &Workflow, operation: &Operation, payload: Option<&Payload>, record: &Record) -> Compared {
    let mut compared = Compared { is_complete: true, ..Compared::default() };
    let held = operation.state.destination_reference();
    if let (Some(held), Some(theirs)) = (held, record.destination_reference.as_deref())
        && held != theirs
    {
        compared.disagreements.push(Disagreement {
            field: "destination_reference".to_owned(),
            ours: Some(held.to_owned()),
            theirs: Some(theirs.to_owned()),
        });
    }
    let named = record.external_reference.as_deref().filter(|named| of_external_reference(named).is_some());
    if let Some(named) = named.filter(|named| *named != operation.external_reference()) {
        compared.disagreements.push(Disagreement {
            field: "external_reference".to_owned(),
            ours: Some(operation.external_reference()),
            theirs: Some(named.to_owned()),
        });
    }
    let has_money = operation.money.is_some() && record.amount.is_some();
    for (index, field) in workflow.key_fields.iter().enumerate() {
        let is_money =
            Some(&field.payload) == workflow.amount.as_ref() || Some(&field.payload) == workflow.currency.as_ref();
        if is_money && has_money {
            continue;
        }
        let ours = payload.and_then(|payload| field.payload.find(payload.content()));
        let theirs = record.key_fields.get(index).and_then(Option::as_ref);
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            compared.is_complete = false;
            continue;
        };
        if !agrees(field.compare, ours, theirs) {
            compared.disagreements.push(Disagreement {
                field: field.payload.to_string(),
                ours: Some(plain(ours)),
                theirs: Some(plain(theirs)),
            });
            compared.differences.push(Difference {
                payload: field.payload.clone(),
                record: field.record.clone(),
                compare: field.compare,
                ours: Some(ours.clone()),
                theirs: Some(theirs.clone()),
            });
        }
    }
    compared
}

/// Whether every key field that both sides have says the same, and how many there are: what makes a record a candidate.
pub fn resembles(workflow: &Workflow, payload: Option<&Payload>, record: &Record) -> Option<usize> {
    let mut same = 0;
    for (index, field) in workflow.key_fields.iter().enumerate() {
        let ours = payload.and_then(|payload| field.payload.find(payload.content()));
        let theirs = record.key_fields.get(index).and_then(Option::as_ref);
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        if !agrees(field.compare, ours, theirs) {
            return None;
        }
        same += 1;
    }
    Some(same)
}

/// The amounts as a difference of a lookup, where the workflow says where the amount stands.
pub fn amount_difference(workflow: &Workflow, operation: &Operation, theirs: &Decimal) -> Option<Difference> {
    let text = |amount: &Decimal| Json::String(amount.to_string());
    Some(Difference {
        payload: workflow.amount.clone()?,
        record: "amount".to_owned(),
        compare: Comparison::Decimal,
        ours: operation.money.as_ref().map(|money| text(&money.amount)),
        theirs: Some(text(theirs)),
    })
}

fn plain(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    crate::lookup::cut(&text, crate::lookup::DIFFERENCE_CHARACTERS_MAX)
}

/// The operation's side of a row.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SourceSide {
    /// The operation.
    pub operation: OperationId,
    /// The system that its document comes from.
    pub source_system: String,
    /// Its document.
    pub document: String,
    /// Its revision.
    pub revision: u32,
    /// Where it stood when it was compared.
    pub state: StateName,
    /// Its amount.
    pub amount: Option<Decimal>,
    /// Its currency.
    pub currency: Option<String>,
}

/// The record's side of a row.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordSide {
    /// Where it stands in what was read.
    pub line: u64,
    /// Under which id the destination holds it.
    pub destination_reference: Option<String>,
    /// What it carries as external reference.
    pub external_reference: Option<String>,
    /// The document's number.
    pub document: Option<String>,
    /// The system that it came from.
    pub source_system: Option<String>,
    /// Its amount; a row that repeats a record counts for nothing.
    pub amount: Option<Decimal>,
    /// Its currency.
    pub currency: Option<String>,
    /// Its day.
    pub date: Option<NaiveDate>,
    /// An operation that it belongs to, also where that stands in another row.
    pub about: Option<OperationId>,
}

/// What a row tells beside its two sides.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The same record was listed before; it counts once.
    Repeats,
    /// The record is listed more than once, with different values.
    ListedDifferently,
    /// One record holds several operations.
    Together {
        /// How many operations.
        operations: u32,
        /// How many records.
        records: u32,
    },
    /// The only records are void.
    OnlyVoid,
    /// ISO 4217 does not have the currency.
    UnknownCurrency {
        /// As it is written.
        currency: String,
    },
    /// Some key fields could not be compared, so it is not settled by this.
    NotAllCompared,
    /// A newer revision took its place.
    Superseded,
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeats => formatter.write_str("repeats a record that is listed before; it counts once"),
            Self::ListedDifferently => formatter.write_str("listed more than once with different values"),
            Self::Together { operations, records } => {
                write!(formatter, "{operations} operations and {records} records together")
            }
            Self::OnlyVoid => formatter.write_str("only void records"),
            Self::UnknownCurrency { currency } => write!(formatter, "ISO 4217 has no currency {currency}"),
            Self::NotAllCompared => formatter.write_str("not every key field could be compared"),
            Self::Superseded => formatter.write_str("a newer revision took its place"),
        }
    }
}

/// An operation that an unguarded record may belong to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// The operation.
    pub operation: OperationId,
    /// Its document.
    pub document: String,
    /// How many key fields say the same, beside the amount.
    pub same_fields: u32,
}

/// A row of the report: an operation beside its record, or either alone. Each amount stands in one row only.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// Its number, from 1: records in the order of the file, then operations without one.
    pub number: u64,
    /// Where it lies.
    pub bucket: Bucket,
    /// The same for all rows that belong together: the number of the first.
    pub together: u64,
    /// The operation.
    pub operation: Option<SourceSide>,
    /// The record.
    pub record: Option<RecordSide>,
    /// In what they disagree.
    pub disagreements: Vec<Disagreement>,
    /// What else is to be said.
    pub notes: Vec<Note>,
    /// Operations that an unguarded record may belong to.
    pub candidates: Vec<Candidate>,
}

/// What lies in one bucket, in one currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Total {
    /// The bucket.
    pub bucket: Bucket,
    /// The currency; none where no amount is known.
    pub currency: Option<String>,
    /// How many operations.
    pub operations: u64,
    /// Their money.
    pub source: Decimal,
    /// How many records; one that is listed twice counts once.
    pub records: u64,
    /// Their money.
    pub destination: Decimal,
}

/// How much of what the destination holds came through the guard, of one source system.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Coverage {
    /// The source system; none where the records do not say it.
    pub source_system: Option<String>,
    /// Live records with an operation.
    pub guarded: u64,
    /// Live records without one.
    pub unguarded: u64,
}

/// What a reconciliation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Money and numbers by bucket and currency.
    pub totals: Vec<Total>,
    /// How much was guarded, by source system.
    pub coverage: Vec<Coverage>,
    /// Rows that only repeat a record.
    pub repeated: u64,
    /// How many operations a finding of this run moved.
    pub moved: u64,
    /// Whether contradictions were shown only, since more than half of what was compared disagrees.
    pub is_held_back: bool,
    /// What was noticed while reading: at most [`WARNINGS_MAX`].
    pub warnings: Vec<String>,
}

/// A run keeps at most this many warnings.
pub const WARNINGS_MAX: usize = 50;

impl Summary {
    /// How many lie in a bucket: operations, or of those that have none records.
    pub fn count(&self, bucket: Bucket) -> u64 {
        let of = |count: fn(&Total) -> u64| self.totals.iter().filter(|total| total.bucket == bucket).map(count).sum();
        match bucket {
            Bucket::Unguarded | Bucket::Void => of(|total| total.records),
            Bucket::Matched
            | Bucket::Missing
            | Bucket::Duplicated
            | Bucket::Mismatched
            | Bucket::Pending
            | Bucket::NotExpected
            | Bucket::TakenBack => of(|total| total.operations),
        }
    }
}

/// Where the records came from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file.
    File {
        /// What it was written in.
        format: Format,
        /// The SHA-256 of its bytes, in hexadecimal.
        sha256: String,
    },
    /// The destination's list.
    Pulled {
        /// The destination.
        destination: String,
        /// Over how many pages it was spread.
        pages: u32,
        /// The SHA-256 of the records as they were read, in hexadecimal.
        sha256: String,
    },
}

/// Which operations a run compares.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Scope {
    /// Of this workflow.
    pub workflow: String,
    /// Of this company.
    pub company: String,
    /// Begun first at or after this moment; none: from the first.
    pub from: Option<Timestamp>,
    /// Begun first before this moment; none: up to the start of the run.
    pub to: Option<Timestamp>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It was begun. When it broke off, the same file sent again takes it over.
    Running,
    /// It is over.
    Done,
}

/// A reconciliation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Run {
    /// Its id.
    pub id: ReconciliationId,
    /// What tells the same file with the same parameters: SHA-256 over all of them, in hexadecimal.
    pub identity: String,
    /// Which operations are compared.
    pub scope: Scope,
    /// Where the records came from.
    pub origin: Origin,
    /// Who started it.
    pub actor: Actor,
    /// When it was started.
    pub started_at: Timestamp,
    /// How often it was taken up: whoever took it up last writes it.
    pub take: u32,
    /// How far it is.
    pub progress: Progress,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
    /// What it came to.
    pub summary: Summary,
}

/// Which runs are asked for; what is left out limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RunFilter {
    /// Of this workflow.
    pub workflow: Option<String>,
    /// Of this company.
    pub company: Option<String>,
}

impl RunFilter {
    /// Whether a run is asked for.
    pub fn takes(&self, run: &Run) -> bool {
        let is = |asked: &Option<String>, held: &str| asked.as_ref().is_none_or(|asked| asked == held);
        is(&self.workflow, &run.scope.workflow) && is(&self.company, &run.scope.company)
    }
}

/// What the last reconciliation said of an operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reconciled {
    /// The operation.
    pub operation: OperationId,
    /// The run.
    pub run: ReconciliationId,
    /// What it said.
    pub bucket: Bucket,
    /// When.
    pub at: Timestamp,
}

/// What a person said of a record and an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkVerdict {
    /// The record is this operation's.
    Confirmed,
    /// It is not.
    Refused,
    /// The operation was registered for the record.
    Adopted,
}

/// What a person said of a record and an operation, with the reason. One stands for each pair: the last.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordDecision {
    /// The operation.
    pub operation: OperationId,
    /// Under which id the destination holds the record.
    pub reference: String,
    /// What they said.
    pub verdict: LinkVerdict,
    /// The reconciliation in which they saw the record.
    pub run: ReconciliationId,
    /// Its row there.
    pub number: u64,
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// What destinations hold more than once and nobody has explained is counted up to this many operations.
pub const DUPLICATES_COUNTED_MAX: u32 = 10_000;

/// Operations of a workflow and company that the destination holds more than once, as the last reconciliation found, and that are
/// disputed still.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OpenDuplicates {
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// How many operations; counting ends at [`DUPLICATES_COUNTED_MAX`] over all.
    pub number: u64,
    /// The latest reconciliation that found one of them.
    pub run: ReconciliationId,
}

#[cfg(test)]
mod tests;
