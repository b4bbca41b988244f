//! The table `prevented`, and the places of conflicts.

use guard::board::AgesOfDay;
use guard::conflict::Places;
use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::store::PreventedDuplicate;
use guard::summary::{Count, Counted, Prevention, start_of_hour};
use rusqlite::Row;
use uuid::Uuid;

use super::sqlite::Columns;
use super::{FromSqlite, Place};

/// What is counted of a row of `prevented` once it is certain.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct CertainRow {
    pub workflow: String,
    pub company: String,
    pub kind: String,
    pub currency: String,
    pub ten_thousandths: i64,
    pub certain_at: Option<i64>,
}

impl TryFrom<CertainRow> for Count {
    type Error = StoreFault;

    fn try_from(row: CertainRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}", row.workflow, row.company);
        let place = Place::new("prevented", &id);
        let certain_at = place.some("certain_at", row.certain_at)?;
        Ok(Self {
            counted: Counted::Prevented(place.some("kind", Prevention::parse(&row.kind))?),
            hour: start_of_hour(place.moment("certain_at", certain_at)?),
            workflow: row.workflow,
            company: row.company,
            number: 1,
            currency: row.currency,
            ten_thousandths: row.ten_thousandths,
        })
    }
}

/// A row of `prevented` that is certain.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct PreventedRow {
    pub operation: Uuid,
    pub kind: String,
    pub asked_at: i64,
    pub certain_at: i64,
}

impl PreventedRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "operation, kind, asked_at, certain_at";
}

impl TryFrom<PreventedRow> for PreventedDuplicate {
    type Error = StoreFault;

    fn try_from(row: PreventedRow) -> Result<Self, StoreFault> {
        let place = Place::new("prevented", &row.operation);
        Ok(Self {
            operation: OperationId::from_u128(row.operation.as_u128()),
            kind: place.some("kind", Prevention::parse(&row.kind))?,
            asked_at: place.moment("asked_at", row.asked_at)?,
            certain_at: place.moment("certain_at", row.certain_at)?,
        })
    }
}

/// Where a conflict differs.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct PlacesRow {
    pub id: Uuid,
    pub places: String,
}

impl TryFrom<PlacesRow> for Places {
    type Error = StoreFault;

    fn try_from(row: PlacesRow) -> Result<Self, StoreFault> {
        Place::new("conflict", &row.id).json("places", &row.places)
    }
}

/// The rows of `uncertain_age` of one day, added up.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct AgesRow {
    pub day: i64,
    pub within_hour: i64,
    pub within_day: i64,
    pub within_week: i64,
    pub longer: i64,
}

impl AgesRow {
    /// What is read of the rows of a day, in the order of the fields.
    pub const COLUMNS: &'static str = "day, CAST(sum(within_hour) AS BIGINT) AS within_hour, \
         CAST(sum(within_day) AS BIGINT) AS within_day, CAST(sum(within_week) AS BIGINT) AS within_week, \
         CAST(sum(longer) AS BIGINT) AS longer";
}

impl TryFrom<AgesRow> for AgesOfDay {
    type Error = StoreFault;

    fn try_from(row: AgesRow) -> Result<Self, StoreFault> {
        let place = Place::new("uncertain_age", &row.day);
        Ok(Self {
            day: place.moment("day", row.day)?,
            numbers: [
                place.number("within_hour", row.within_hour)?,
                place.number("within_day", row.within_day)?,
                place.number("within_week", row.within_week)?,
                place.number("longer", row.longer)?,
            ],
        })
    }
}

impl FromSqlite for AgesRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            day: columns.take()?,
            within_hour: columns.take()?,
            within_day: columns.take()?,
            within_week: columns.take()?,
            longer: columns.take()?,
        })
    }
}

impl FromSqlite for CertainRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            workflow: columns.take()?,
            company: columns.take()?,
            kind: columns.take()?,
            currency: columns.take()?,
            ten_thousandths: columns.take()?,
            certain_at: columns.take()?,
        })
    }
}

impl FromSqlite for PreventedRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            operation: columns.id()?,
            kind: columns.take()?,
            asked_at: columns.take()?,
            certain_at: columns.take()?,
        })
    }
}

impl FromSqlite for PlacesRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { id: columns.id()?, places: columns.take()? })
    }
}
