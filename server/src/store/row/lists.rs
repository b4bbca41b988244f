//! The tables `saved_view`, `run` and `run_item`.

use guard::id::{OperationId, PersonId, RunId, ViewId};
use guard::lists::{ListPage, Run, RunItem, RunOutcome, RunStanding, SavedView};
use guard::refusal::StoreFault;
use rusqlite::Row;
use uuid::Uuid;

use super::sqlite::Columns;
use super::{FromSqlite, Place, column_number, json_text, uuid};

/// A row of `saved_view`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ViewRow {
    pub id: Uuid,
    pub person: Uuid,
    pub page: String,
    pub name: String,
    pub query: String,
    pub created_at: i64,
}

impl ViewRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, person, page, name, query, created_at";
}

impl From<&SavedView> for ViewRow {
    fn from(view: &SavedView) -> Self {
        Self {
            id: uuid(view.id.as_u128()),
            person: uuid(view.person.as_u128()),
            page: view.page.as_str().to_owned(),
            name: view.name.clone(),
            query: view.query.clone(),
            created_at: view.created_at.timestamp_millis(),
        }
    }
}

impl TryFrom<ViewRow> for SavedView {
    type Error = StoreFault;

    fn try_from(row: ViewRow) -> Result<Self, StoreFault> {
        let place = Place::new("saved_view", &row.id);
        Ok(Self {
            id: ViewId::from_u128(row.id.as_u128()),
            person: PersonId::from_u128(row.person.as_u128()),
            page: place.some("page", ListPage::parse(&row.page))?,
            created_at: place.moment("created_at", row.created_at)?,
            name: row.name,
            query: row.query,
        })
    }
}

/// A row of `run`, without its claim.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct RunRow {
    pub id: Uuid,
    pub person: Uuid,
    pub version: i64,
    pub standing: String,
    pub content: String,
}

impl RunRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, person, version, standing, content";
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        Self {
            id: uuid(run.id.as_u128()),
            person: uuid(run.person.as_u128()),
            version: column_number(run.version),
            standing: run.standing.as_str().to_owned(),
            content: json_text(run),
        }
    }
}

impl TryFrom<RunRow> for Run {
    type Error = StoreFault;

    fn try_from(row: RunRow) -> Result<Self, StoreFault> {
        let place = Place::new("run", &row.id);
        let run: Self = place.json("content", &row.content)?;
        let is_same = run.id == RunId::from_u128(row.id.as_u128())
            && run.person == PersonId::from_u128(row.person.as_u128())
            && run.version == place.number::<u64>("version", row.version)?
            && Some(run.standing) == RunStanding::parse(&row.standing);
        if is_same { Ok(run) } else { Err(place.corrupt("content")) }
    }
}

/// A row of `run_item`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct RunItemRow {
    pub run: Uuid,
    pub number: i64,
    pub operation: Uuid,
    pub outcome: Option<String>,
    pub told: Option<String>,
}

impl RunItemRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "run, number, operation, outcome, told";

    /// The row of an item.
    pub fn of(run: RunId, item: &RunItem) -> Self {
        let (outcome, told) = item.result.clone().unzip();
        Self {
            run: uuid(run.as_u128()),
            number: item.number.into(),
            operation: uuid(item.operation.as_u128()),
            outcome: outcome.map(|outcome| outcome.as_str().to_owned()),
            told,
        }
    }
}

impl TryFrom<RunItemRow> for RunItem {
    type Error = StoreFault;

    fn try_from(row: RunItemRow) -> Result<Self, StoreFault> {
        let place = Place::new("run_item", &row.run);
        let outcome = row.outcome.map(|outcome| place.some("outcome", RunOutcome::parse(&outcome))).transpose()?;
        let result =
            outcome.map(|outcome| Ok::<_, StoreFault>((outcome, place.some("told", row.told)?))).transpose()?;
        Ok(Self {
            number: place.number("number", row.number)?,
            operation: OperationId::from_u128(row.operation.as_u128()),
            result,
        })
    }
}

impl FromSqlite for ViewRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            person: columns.id()?,
            page: columns.take()?,
            name: columns.take()?,
            query: columns.take()?,
            created_at: columns.take()?,
        })
    }
}

impl FromSqlite for RunRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            person: columns.id()?,
            version: columns.take()?,
            standing: columns.take()?,
            content: columns.take()?,
        })
    }
}

impl FromSqlite for RunItemRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            run: columns.id()?,
            number: columns.take()?,
            operation: columns.id()?,
            outcome: columns.take()?,
            told: columns.take()?,
        })
    }
}
