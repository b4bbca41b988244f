//! Periods, and what lies in them.

use std::sync::LazyLock;

use async_trait::async_trait;
use guard::id::{OperationId, PeriodId};
use guard::period::{Basis, Day, Period, PeriodRow, SealMark, Span};
use guard::refusal::StoreFault;
use guard::store::Periods;
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::readers::{all, one};
use super::work::execute;
use super::{SqliteStore, fault};
use crate::store::row::{ClosedPeriodRow, DayRow, PeriodOperationRow, Place};

/// Operations by their creation, of one workflow, source system and action: a stretch of an index in the order of ids, and ids start
/// with their moment.
static CREATED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, NULL AS day FROM operation INDEXED BY operation_by_facet \
         WHERE company = ?1 AND workflow = ?2 AND source_system = ?3 AND action = ?4 AND id > ?5 AND id < ?6 \
         AND NOT EXISTS (SELECT 1 FROM dated WHERE dated.operation = operation.id) ORDER BY id LIMIT ?7",
        PeriodOperationRow::COLUMNS
    )
});

/// The next workflow, source system and action of a company.
const NEXT_FACET: &str = "SELECT workflow, source_system, action FROM facet \
     WHERE company = ?1 AND (workflow, source_system, action) > (?2, ?3, ?4) ORDER BY workflow, source_system, action LIMIT 1";

/// Operations by the day of their payload.
static DATED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, dated.day FROM dated INDEXED BY dated_by_day CROSS JOIN operation ON operation.id = dated.operation \
         WHERE dated.company = ?1 AND (dated.day, dated.operation) > (?2, ?3) AND dated.day <= ?4 \
         ORDER BY dated.day, dated.operation LIMIT ?5",
        PeriodOperationRow::COLUMNS
    )
});

static CLOSED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM period INDEXED BY period_closed WHERE company = ?1 AND standing = 'closed' AND to_day >= ?2 \
         AND from_day <= ?3 ORDER BY to_day LIMIT 1",
        ClosedPeriodRow::COLUMNS
    )
});

/// Stores a period as it stands now.
pub(super) fn put(transaction: &Connection, period: &Period) -> Result<(), StoreFault> {
    let row = ClosedPeriodRow::from(period);
    execute(
        transaction,
        "period",
        &row.id,
        "INSERT INTO period (id, company, from_day, to_day, standing, period) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (id) DO UPDATE SET standing = excluded.standing, period = excluded.period",
        params![&row.id.as_bytes()[..], row.company, row.from_day, row.to_day, row.standing, row.period],
    )?;
    Ok(())
}

/// Keeps the day of a new operation.
pub(super) fn keep_day(
    transaction: &Connection,
    operation: &uuid::Uuid,
    company: &str,
    day: Option<Day>,
) -> Result<(), StoreFault> {
    let Some(day) = day else { return Ok(()) };
    execute(
        transaction,
        "dated",
        operation,
        "INSERT INTO dated (operation, company, day) VALUES (?1, ?2, ?3)",
        params![&operation.as_bytes()[..], company, day.to_string()],
    )?;
    Ok(())
}

/// The first id of a day.
fn first_id(day: Day) -> [u8; 16] {
    let milliseconds = day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis();
    (u128::try_from(milliseconds).unwrap_or_default() << 80).to_be_bytes()
}

/// A workflow, source system and action.
type Facet = (String, String, String);

fn next_facet(connection: &Connection, company: &str, facet: &Facet) -> Result<Option<Facet>, StoreFault> {
    let (workflow, source_system, action) = facet;
    connection
        .prepare_cached(NEXT_FACET)
        .and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            statement.query_row(params![company, workflow, source_system, action], read).optional()
        })
        .map_err(|error| fault::of(&error, "operation", &"?"))
}

/// What was begun in a span, facet by facet.
fn created(
    connection: &Connection,
    company: &str,
    span: Span,
    after: Option<&PeriodRow>,
    limit: u32,
) -> Result<Vec<PeriodRow>, StoreFault> {
    let end = span.to.succ_opt().map_or([0xFF; 16], first_id);
    let (mut facet, mut behind) = match after {
        Some(row) => {
            let facet = (row.workflow.clone(), row.source_system.clone(), row.action.clone());
            (Some(facet), row.operation.as_u128().to_be_bytes())
        }
        None => (next_facet(connection, company, &Facet::default())?, first_id(span.from)),
    };
    let mut rows: Vec<PeriodRow> = Vec::new();
    while let Some(stretch) = facet {
        let (workflow, source_system, action) = &stretch;
        let left = limit.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        let parameters = params![company, workflow, source_system, action, behind, end, left];
        rows.extend(all::<PeriodOperationRow, PeriodRow>(connection, "operation", &CREATED, parameters)?);
        if rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
            break;
        }
        facet = next_facet(connection, company, &stretch)?;
        behind = first_id(span.from);
    }
    Ok(rows)
}

#[async_trait]
impl Periods for SqliteStore {
    async fn days(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, Day)>, StoreFault> {
        let places = vec!["?"; operations.len()].join(", ");
        let sql = format!("SELECT operation, day FROM dated WHERE operation IN ({places})");
        let ids: Vec<Value> = operations.iter().map(|id| Value::Blob(id.as_u128().to_be_bytes().to_vec())).collect();
        self.read_here(|connection| all::<DayRow, _>(connection, "dated", &sql, params_from_iter(ids)))
    }

    async fn period_rows(
        &self,
        company: &str,
        span: Span,
        basis: Basis,
        after: Option<&PeriodRow>,
        limit: u32,
    ) -> Result<Vec<PeriodRow>, StoreFault> {
        let (company, after) = (company.to_owned(), after.cloned());
        self.read(move |connection| match basis {
            Basis::Created => created(connection, &company, span, after.as_ref(), limit),
            Basis::Payload => {
                let place = after.map(|row| (row.day, row.operation));
                let (day, id) = place.unwrap_or((span.from, OperationId::from_u128(0)));
                let id = id.as_u128().to_be_bytes();
                let parameters = params![company, day.to_string(), id, span.to.to_string(), limit];
                all::<PeriodOperationRow, _>(connection, "operation", &DATED, parameters)
            }
        })
        .await
    }

    async fn period(&self, id: PeriodId) -> Result<Option<Period>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM period WHERE id = ?1", ClosedPeriodRow::COLUMNS);
            one::<ClosedPeriodRow, _>(connection, "period", &sql, [id.as_u128().to_be_bytes()])
        })
    }

    async fn closed_period(&self, company: &str, span: Span) -> Result<Option<Period>, StoreFault> {
        let (from, to) = (span.from.to_string(), span.to.to_string());
        self.read_here(|connection| {
            one::<ClosedPeriodRow, _>(connection, "period", &CLOSED, params![company, from, to])
        })
    }

    async fn periods(&self, reach: &Reach, before: Option<PeriodId>, limit: u32) -> Result<Vec<Period>, StoreFault> {
        let before = before.map_or(u128::MAX, PeriodId::as_u128).to_be_bytes().to_vec();
        let mut values = vec![Value::Blob(before), Value::Integer(limit.into())];
        let within = match &reach.companies {
            None => String::new(),
            Some(companies) => {
                let places: Vec<String> = (0..companies.len()).map(|index| format!("?{}", index + 3)).collect();
                let places = places.join(", ");
                values.extend(companies.iter().cloned().map(Value::Text));
                format!(" AND company IN ({places})")
            }
        };
        self.read(move |connection| {
            let columns = ClosedPeriodRow::COLUMNS;
            let sql = format!("SELECT {columns} FROM period WHERE id < ?1{within} ORDER BY id DESC LIMIT ?2");
            all::<ClosedPeriodRow, _>(connection, "period", &sql, params_from_iter(values))
        })
        .await
    }

    async fn last_seal_mark(&self) -> Result<Option<SealMark>, StoreFault> {
        self.read_here(|connection| {
            let failed = |error: rusqlite::Error| fault::of(&error, "seal", &"?");
            let found: Option<(i64, Vec<u8>)> = connection
                .prepare_cached("SELECT number, hash FROM seal ORDER BY number DESC LIMIT 1")
                .and_then(|mut statement| statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional())
                .map_err(failed)?;
            found.map(|(number, hash)| seal_mark(number, &hash)).transpose()
        })
    }
}

fn seal_mark(number: i64, hash: &[u8]) -> Result<SealMark, StoreFault> {
    let place = Place::new("seal", &number);
    let hash = guard::trail::ChainHash::from_bytes(place.bytes("hash", hash)?);
    Ok(SealMark { number: place.number("number", number)?, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sql: &str, places: usize) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map(params_from_iter(vec![Value::Null; places]), |row| row.get(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_lies_in_a_period_is_read_from_an_index_in_its_order() {
        for (sql, places, index) in [
            (
                CREATED.as_str(),
                7,
                "operation_by_facet (company=? AND workflow=? AND source_system=? AND action=? AND id>? AND id<?)",
            ),
            (NEXT_FACET, 4, "facet USING PRIMARY KEY (company=? AND (workflow,source_system,action)>(?,?,?))"),
            (DATED.as_str(), 5, "dated_by_day (company=? AND (day,operation)>(?,?) AND day<?)"),
            (CLOSED.as_str(), 3, "period_closed (company=? AND to_day>?)"),
        ] {
            let plan = plan(sql, places);
            assert!(plan.iter().any(|step| step.contains(index)), "{plan:#?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE") || step.contains("SCAN")), "{plan:#?}");
        }
    }
}
