//! Periods that finance closes for a company, and the certificate of each.
//!
//! An operation belongs to a period by its day: the one that its workflow reads from the payload (`period`), kept when the operation is
//! first stored; without one, the day (UTC) of that moment. What lies in a closed period is corrected by the workflow's rule for after
//! reconciliation.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use rust_decimal::Decimal;

use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::id::{OperationId, PeriodId};
use crate::json::Json;
use crate::lookup::day_of;
use crate::money::Money;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::state::StateName;
use crate::trail::ChainHash;

/// A period holds at most this many operations: they are read one by one, so that the sums are exact.
pub const PERIOD_OPERATIONS_MAX: u64 = 2_000_000;

/// So many operations are read at once.
pub const PERIOD_ROWS_READ: u32 = 2_000;

/// A certificate has at most this many lines.
pub const CERTIFICATE_LINES_MAX: usize = 1_000;

/// A certificate names at most this many open items of each kind; it always says how many there are.
pub const OPEN_ITEMS_LISTED_MAX: usize = 100;

/// A period covers at most this many days.
pub const PERIOD_DAYS_MAX: i64 = 366;

/// A certificate tells what was so this long before it was signed, in seconds: by then every write of that moment is stored.
pub const CERTIFICATE_MARGIN_SECONDS: i64 = 5;

/// A name under a certificate has at most this many characters.
pub const SIGNATURE_CHARACTERS_MAX: usize = 200;

/// A page of periods holds at most this many.
pub const PERIODS_LISTED_MAX: u32 = 100;

/// A day of the calendar.
pub type Day = NaiveDate;

/// The day at a place of a payload; none where there is none, or it is no date.
pub fn day_at(payload: &Payload, place: &Pointer) -> Option<Day> {
    place.find(payload.content()).and_then(day_of)
}

/// From one day to another, both within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// The first day.
    pub from: Day,
    /// The last day.
    pub to: Day,
}

impl Span {
    /// Whether a day lies in it.
    pub fn holds(&self, day: Day) -> bool {
        self.from <= day && day <= self.to
    }

    /// How many days it has.
    pub fn days(&self) -> i64 {
        (self.to - self.from).num_days() + 1
    }
}

/// By what an operation was found to belong to a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// By the day on which it was first begun: its workflow names no day, or its payload held none.
    Created,
    /// By the day that its workflow read from the payload.
    Payload,
}

/// What is read of an operation for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodRow {
    /// The operation.
    pub operation: OperationId,
    /// Its workflow.
    pub workflow: String,
    /// The system that its document comes from.
    pub source_system: String,
    /// What is done with it.
    pub action: String,
    /// Where it stands now.
    pub state: StateName,
    /// Its money, where its workflow says how to read it.
    pub money: Option<Money>,
    /// Whether a newer revision is confirmed.
    pub is_superseded: bool,
    /// Whether it takes a record back: its money is taken from the others'.
    pub is_reversal: bool,
    /// Whether a conflict waits for somebody.
    pub in_conflict: bool,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The day by which it belongs to the period.
    pub day: Day,
}

/// How many operations of a workflow stood in a state, with the sum of their money in one currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CertificateLine {
    /// The workflow.
    pub workflow: String,
    /// The state.
    pub state: StateName,
    /// Whether a newer revision stands in their place: then they are not counted once more.
    pub is_superseded: bool,
    /// Whether they take records back: then what they are for is below zero, and belongs to the period in which that was asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_reversal: bool,
    /// The currency; none where no money is known.
    pub currency: Option<String>,
    /// How many operations.
    pub operations: u64,
    /// The exact sum; none where no money is known.
    pub amount: Option<Decimal>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Why an item is open when a period is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenKind {
    /// It may have been applied; nobody knows.
    Unknown,
    /// Two truths contradict each other.
    Disputed,
    /// Another payload came under its key, and nobody has decided.
    InConflict,
    /// An amendment waits for approval.
    Unapproved,
    /// A worker is on it.
    UnderWay,
}

impl OpenKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Disputed, Self::InConflict, Self::Unapproved, Self::UnderWay];

    /// The kind that a state is; none for what is settled.
    pub const fn of(state: StateName) -> Option<Self> {
        match state {
            StateName::Unknown => Some(Self::Unknown),
            StateName::Disputed => Some(Self::Disputed),
            StateName::AwaitingApproval => Some(Self::Unapproved),
            StateName::Acquired | StateName::Sending => Some(Self::UnderWay),
            StateName::Rejected | StateName::Released | StateName::Failed | StateName::Confirmed => None,
        }
    }
}

/// The open items of one kind.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OpenItems {
    /// Why they are open.
    pub kind: OpenKind,
    /// How many there are.
    pub number: u64,
    /// The first of them, at most [`OPEN_ITEMS_LISTED_MAX`].
    pub operations: Vec<OperationId>,
}

/// The last seal of the trail before a period was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SealMark {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: ChainHash,
}

/// What a period held at a moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// The company.
    pub company: String,
    /// From when to when.
    pub span: Span,
    /// The moment at which it was so.
    pub as_of: Timestamp,
    /// How many operations there were.
    pub operations: u64,
    /// The sums, by workflow, state and currency.
    pub lines: Vec<CertificateLine>,
    /// What was open, by kind; a kind without items is left out.
    pub open: Vec<OpenItems>,
}

impl Totals {
    /// What a signature holds for: two looks at the same figures have the same, whenever they were made.
    pub fn fingerprint(&self) -> Fingerprint {
        let content = (&self.company, &self.span, self.operations, &self.lines, &self.open);
        let text = serde_json::to_vec(&content).unwrap_or_default();
        Fingerprint::of_value(&Json::parse(&text).unwrap_or(Json::Null))
    }

    /// Whether something is open.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }
}

/// Under a certificate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Signature {
    /// The address of the person.
    pub by: String,
    /// The person's name, as they wrote it.
    pub name: String,
    /// What they state.
    pub statement: String,
    /// Why it is closed although something is open.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// What a person signed when a period was closed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Certificate {
    /// What the period held.
    pub totals: Totals,
    /// The last seal of the trail before.
    pub seal: Option<SealMark>,
    /// Who signed.
    pub signature: Signature,
}

impl Certificate {
    /// The certificate as JSON, as its entry in the trail holds it.
    pub fn to_json(&self) -> Json {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Json::parse(&text).unwrap_or(Json::Null)
    }

    /// Its SHA-256, of its canonical form (RFC 8785).
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_value(&self.to_json())
    }
}

/// Where a period stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodStanding {
    /// It is closed.
    Closed,
    /// It was opened again: its certificate is history.
    Reopened {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
}

impl PeriodStanding {
    /// The name in the store.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reopened { .. } => "reopened",
        }
    }
}

/// A period of a company that was closed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Period {
    /// Its id.
    pub id: PeriodId,
    /// Its certificate.
    pub certificate: Certificate,
    /// Where it stands.
    pub standing: PeriodStanding,
}

impl Period {
    /// The company.
    pub fn company(&self) -> &str {
        &self.certificate.totals.company
    }

    /// From when to when.
    pub const fn span(&self) -> Span {
        self.certificate.totals.span
    }
}

/// What is added up together: workflow, state, whether it is superseded, whether it takes records back, currency.
type LinePlace = (String, &'static str, bool, bool, Option<String>);

/// Adds up what a period holds.
#[derive(Debug)]
pub struct Adding {
    lines: BTreeMap<LinePlace, CertificateLine>,
    open: BTreeMap<OpenKind, OpenItems>,
    operations: u64,
}

impl Default for Adding {
    fn default() -> Self {
        Self::new()
    }
}

impl Adding {
    /// Nothing is added yet.
    pub const fn new() -> Self {
        Self { lines: BTreeMap::new(), open: BTreeMap::new(), operations: 0 }
    }

    /// Takes an operation in, as it stood.
    ///
    /// # Errors
    /// A bound is reached, or a sum has more digits than are kept.
    pub fn take(&mut self, row: &PeriodRow, state: StateName) -> Result<(), PeriodRefusal> {
        self.operations += 1;
        if self.operations > PERIOD_OPERATIONS_MAX {
            return Err(PeriodRefusal::TooLarge { what: "operations".to_owned(), most: PERIOD_OPERATIONS_MAX });
        }
        let is_superseded = row.is_superseded && state == StateName::Confirmed;
        let currency = row.money.as_ref().map(|money| money.currency.clone());
        let place = (row.workflow.clone(), state.as_str(), is_superseded, row.is_reversal, currency.clone());
        if self.lines.len() >= CERTIFICATE_LINES_MAX && !self.lines.contains_key(&place) {
            let most = CERTIFICATE_LINES_MAX as u64;
            return Err(PeriodRefusal::TooLarge { what: "workflows, states and currencies".to_owned(), most });
        }
        let line = self.lines.entry(place).or_insert_with(|| CertificateLine {
            workflow: row.workflow.clone(),
            state,
            is_superseded,
            is_reversal: row.is_reversal,
            currency,
            operations: 0,
            amount: row.money.as_ref().map(|_| Decimal::ZERO),
        });
        line.operations += 1;
        if let (Some(sum), Some(money)) = (line.amount, &row.money) {
            let sum = sum
                .checked_add(if row.is_reversal { -money.amount } else { money.amount })
                .ok_or(PeriodRefusal::TooLarge { what: "digits in a sum".to_owned(), most: 28 })?;
            line.amount = Some(sum);
        }
        let conflict = row.in_conflict.then_some(OpenKind::InConflict);
        for kind in OpenKind::of(state).into_iter().chain(conflict) {
            let items = self.open.entry(kind).or_insert_with(|| OpenItems { kind, number: 0, operations: Vec::new() });
            items.number += 1;
            if items.operations.len() < OPEN_ITEMS_LISTED_MAX {
                items.operations.push(row.operation);
            }
        }
        Ok(())
    }

    /// The totals at a moment.
    pub fn finish(self, company: &str, span: Span, as_of: Timestamp) -> Totals {
        Totals {
            company: company.to_owned(),
            span,
            as_of,
            operations: self.operations,
            lines: self.lines.into_values().collect(),
            open: self.open.into_values().collect(),
        }
    }
}

/// Why a period is not closed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeriodRefusal {
    /// Some of it is closed already.
    #[error("{} to {} is closed already for this company, and shares days with it", .span.from, .span.to)]
    Closed {
        /// The period that is closed.
        period: PeriodId,
        /// Its days.
        span: Span,
    },
    /// What the page showed is no longer so.
    #[error("the figures have changed since the page was made: look at them again, then sign")]
    Moved,
    /// It was opened again before.
    #[error("it was opened again already, by {by} at {}", crate::clock::rfc3339(*.at))]
    Reopened {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// It holds more than one certificate can.
    #[error("it holds more than {most} {what}; close shorter periods")]
    TooLarge {
        /// Of what.
        what: String,
        /// The bound.
        most: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn row(number: u128, state: StateName, amount: &str) -> PeriodRow {
        PeriodRow {
            operation: OperationId::from_u128(number),
            workflow: "handoff".to_owned(),
            source_system: "shop".to_owned(),
            action: "create".to_owned(),
            state,
            money: Some(Money { amount: amount.parse().unwrap(), currency: "EUR".to_owned() }),
            is_superseded: false,
            is_reversal: false,
            in_conflict: false,
            updated_at: Timestamp::UNIX_EPOCH,
            day: day("2026-03-01"),
        }
    }

    #[test]
    fn sums_are_exact_and_open_items_are_named() {
        let mut adding = Adding::new();
        for number in 0..150 {
            let row = row(number, StateName::Unknown, "0.1");
            adding.take(&row, row.state).unwrap();
        }
        let superseded = PeriodRow { is_superseded: true, ..row(200, StateName::Confirmed, "7.00001") };
        adding.take(&superseded, StateName::Confirmed).unwrap();
        let conflict = PeriodRow { in_conflict: true, money: None, ..row(201, StateName::Confirmed, "1") };
        adding.take(&conflict, StateName::Confirmed).unwrap();
        let span = Span { from: day("2026-03-01"), to: day("2026-03-31") };
        let totals = adding.finish("acme", span, Timestamp::UNIX_EPOCH);
        let lines: Vec<String> = totals
            .lines
            .iter()
            .map(|line| {
                let amount = line.amount.map(|amount| amount.to_string()).unwrap_or_default();
                format!("{} {} {} {amount}", line.state.as_str(), line.is_superseded, line.operations)
            })
            .collect();
        assert_eq!(lines, ["confirmed false 1 ", "confirmed true 1 7.00001", "unknown false 150 15.0"]);
        let open: Vec<_> = totals.open.iter().map(|open| (open.kind, open.number, open.operations.len())).collect();
        assert_eq!(open, [(OpenKind::Unknown, 150, OPEN_ITEMS_LISTED_MAX), (OpenKind::InConflict, 1, 1)]);
        let later = Totals { as_of: Timestamp::MAX_UTC, ..totals.clone() };
        assert_eq!(later.fingerprint(), totals.fingerprint(), "the same figures, whenever they are looked at");
        let other = Totals { operations: 1, ..totals.clone() };
        assert_ne!(other.fingerprint(), totals.fingerprint());
    }

    #[test]
    fn what_takes_records_back_stands_below_zero_in_a_line_of_its_own() {
        let mut adding = Adding::new();
        for (number, amount) in [(1, "100.00"), (2, "20.50")] {
            adding.take(&row(number, StateName::Confirmed, amount), StateName::Confirmed).unwrap();
        }
        let reversal = PeriodRow { is_reversal: true, ..row(3, StateName::Confirmed, "20.50") };
        adding.take(&reversal, StateName::Confirmed).unwrap();
        let span = Span { from: day("2026-03-01"), to: day("2026-03-31") };
        let totals = adding.finish("acme", span, Timestamp::UNIX_EPOCH);
        let line = |line: &CertificateLine| (line.is_reversal, line.operations, line.amount.unwrap().to_string());
        let lines: Vec<_> = totals.lines.iter().map(line).collect();
        assert_eq!(lines, [(false, 2, "120.50".to_owned()), (true, 1, "-20.50".to_owned())]);
        let text = serde_json::to_string(&totals.lines).unwrap();
        assert_eq!(text.matches("is_reversal").count(), 1, "what was signed before reads and hashes as it did: {text}");
    }

    #[test]
    fn a_sum_beyond_what_is_kept_is_refused() {
        let mut adding = Adding::new();
        let row = row(1, StateName::Confirmed, "79228162514264337593543950335");
        adding.take(&row, row.state).unwrap();
        assert!(matches!(adding.take(&row, row.state), Err(PeriodRefusal::TooLarge { .. })));
    }

    #[test]
    fn days_are_read_as_they_are_written() {
        let read = |text: &str| {
            let payload = Payload::parse(format!(r#"{{"date":{text}}}"#).as_bytes()).unwrap();
            day_at(&payload, &"/date".parse().unwrap()).map(|day| day.to_string())
        };
        assert_eq!(read(r#""2026-04-01""#).as_deref(), Some("2026-04-01"));
        assert_eq!(read(r#""20260401""#).as_deref(), Some("2026-04-01"));
        assert_eq!(read(r#""2026-04-01T23:30:00-04:00""#).as_deref(), Some("2026-04-01"));
        assert_eq!(read(r#""01/04/2026""#), None);
        assert_eq!(read("null"), None);
    }
}
