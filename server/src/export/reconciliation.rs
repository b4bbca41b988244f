//! The rows of a reconciliation as a list that leaves the desk.

use app::context::Visit;
use async_trait::async_trait;
use guard::id::ReconciliationId;
use guard::person::Person;
use guard::queue::{Cursor, PAGE_ROWS_MAX, Page};
use guard::reconciliation::{Bucket, Row};
use guard::refusal::Refusal;
use guard::service::Guard;
use rust_decimal::Decimal;

use super::{Cell, Listed};
use crate::reconciliation::export::{COLUMNS, difference};

/// The rows of one reconciliation, by bucket in their order. Each amount stands in one row only, so that a column's sum is the side's
/// total.
pub(super) struct Rows {
    guard: Guard,
    person: Person,
    id: ReconciliationId,
    buckets: Vec<Bucket>,
}

impl Rows {
    /// The rows that an address asks for: `id`, and `bucket` where only that one is.
    pub(super) fn of(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
        let value = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let id = value("id").and_then(|id| id.parse().ok()).ok_or_else(|| Refusal::not_found("reconciliation"))?;
        let buckets = match value("bucket") {
            None => Bucket::ALL.to_vec(),
            Some(name) => {
                let bucket = Bucket::parse(name);
                vec![bucket.ok_or_else(|| Refusal::field("bucket", format!("is {name:?}, which is no bucket")))?]
            }
        };
        Ok(Self { guard: visit.guard.clone(), person: person.clone(), id, buckets })
    }
}

/// Where a page starts: in which bucket, behind which number.
fn place(cursor: Option<&Cursor>) -> Option<(Bucket, u64)> {
    let (bucket, number) = cursor?.as_str().split_once('-')?;
    Some((Bucket::parse(bucket)?, number.parse().ok()?))
}

fn cells(row: &Row) -> Vec<Cell> {
    let (operation, record) = (row.operation.as_ref(), row.record.as_ref());
    let about = operation.map(|side| side.operation).or_else(|| record?.about);
    let text = |text: Option<String>| text.map_or(Cell::Absent, Cell::Text);
    let amount = |amount: Option<Decimal>| amount.map_or(Cell::Absent, |amount| Cell::Number(amount.to_string()));
    let number = |number: Option<u64>| number.map_or(Cell::Absent, |number| Cell::Number(number.to_string()));
    let differences: Vec<String> = row.disagreements.iter().map(difference).collect();
    let notes: Vec<String> = row.notes.iter().map(ToString::to_string).collect();
    vec![
        number(Some(row.number)),
        Cell::of(Some(row.bucket.as_str())),
        number(Some(row.together)),
        text(about.map(|id| id.to_string())),
        Cell::of(operation.map(|side| side.source_system.as_str()).or_else(|| record?.source_system.as_deref())),
        Cell::of(operation.map(|side| side.document.as_str())),
        number(operation.map(|side| side.revision.into())),
        Cell::of(operation.map(|side| side.state.as_str())),
        amount(operation.and_then(|side| side.amount)),
        Cell::of(operation.and_then(|side| side.currency.as_deref())),
        number(record.map(|side| side.line)),
        Cell::of(record.and_then(|side| side.destination_reference.as_deref())),
        Cell::of(record.and_then(|side| side.external_reference.as_deref())),
        Cell::of(record.and_then(|side| side.document.as_deref())),
        text(record.and_then(|side| side.date).map(|date| date.to_string())),
        amount(record.and_then(|side| side.amount)),
        Cell::of(record.and_then(|side| side.currency.as_deref())),
        Cell::Text(differences.join("; ")),
        Cell::Text(notes.join("; ")),
    ]
}

#[async_trait]
impl Listed for Rows {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let reach = &self.person.reach;
        let run = self.guard.reconciliation(reach, self.id).await?;
        let start = place(cursor.as_ref());
        let from = start.and_then(|(bucket, _)| self.buckets.iter().position(|known| *known == bucket));
        let Some((bucket, rest)) = self.buckets.get(from.unwrap_or_default()..).and_then(<[Bucket]>::split_first)
        else {
            return Ok(Page::EMPTY);
        };
        let after = start.map(|(_, number)| number).unwrap_or_default();
        let mut rows = self.guard.reconciliation_rows(reach, self.id, *bucket, after, PAGE_ROWS_MAX).await?;
        self.guard.cover_rows(&run, &mut rows);
        let next = match rows.last() {
            Some(last) => Some((*bucket, last.number)),
            None => rest.first().map(|bucket| (*bucket, 0)),
        };
        let next = next.map(|(bucket, number)| Cursor::from_text(&format!("{}-{number}", bucket.as_str())));
        Ok(Page { rows: rows.iter().map(cells).collect(), next })
    }
}
