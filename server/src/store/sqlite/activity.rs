//! What people did, over all chains of the trail.

use async_trait::async_trait;
use guard::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use guard::id::OperationId;
use guard::queue::{Cursor, Page, PageRequest, WALKED_ROWS_MAX};
use guard::refusal::StoreFault;
use guard::store::Activities;
use guard::summary::Count;
use guard::token::Reach;
use guard::trail::Entry;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::SqliteStore;
use super::readers::{all, one};
use super::work::execute;
use super::writer::{Work, perform};
use crate::store::row::{EntryRow, OF_PEOPLE, SealingRow, TrailCheckRow, activity_edge, activity_page, person_actor};
use crate::trail::ChainId;

fn id(id: u128) -> Value {
    Value::Blob(id.to_be_bytes().to_vec())
}

/// The stretch of an index that a page walks through: what stands behind the columns, with its values; its limit is the last of them.
fn stretch(filter: &ActivityFilter, page: &PageRequest, limit: u32) -> (String, Vec<Value>) {
    let mut sql = format!(" FROM entry WHERE {OF_PEOPLE}");
    let mut values = Vec::new();
    // One of the two has an index; a person did less than is done of a kind.
    match (&filter.person, filter.kind) {
        (Some(person), _) => {
            sql.push_str(" AND actor = ?");
            values.push(Value::Text(person_actor(person)));
        }
        (None, Some(kind)) => {
            sql.push_str(" AND kind = ?");
            values.push(Value::Text(kind.as_str().to_owned()));
        }
        (None, None) => {}
    }
    if let Some(operation) = filter.operation {
        sql.push_str(" AND chain = ?");
        values.push(id(operation.as_u128()));
    }
    if let Some(from) = filter.from {
        sql.push_str(" AND at >= ?");
        values.push(Value::Integer(from.timestamp_millis()));
    }
    if let Some(to) = filter.to {
        sql.push_str(" AND at < ?");
        values.push(Value::Integer(to.timestamp_millis()));
    }
    if let Some((at, chain, sequence)) = page.cursor.as_ref().and_then(Activity::behind) {
        sql.push_str(" AND (at, chain, sequence) < (?, ?, ?)");
        values.extend([Value::Integer(at), id(chain), Value::Integer(sequence)]);
    }
    sql.push_str(" ORDER BY at DESC, chain DESC, sequence DESC LIMIT ?");
    values.push(Value::Integer(limit.into()));
    (sql, values)
}

/// A page as one statement with its values.
fn question(reach: &Reach, filter: &ActivityFilter, page: &PageRequest) -> (String, Vec<Value>) {
    let columns = EntryRow::COLUMNS;
    if filter.takes_all(reach) {
        let (stretch, values) = stretch(filter, page, page.limit + 1);
        return (format!("SELECT {columns}{stretch}"), values);
    }
    let (stretch, mut values) = stretch(filter, page, WALKED_ROWS_MAX);
    let mut sql = format!("SELECT {columns} FROM (SELECT {columns}{stretch}) AS walked WHERE true");
    if let Some(kind) = filter.kind {
        sql.push_str(" AND kind = ?");
        values.push(Value::Text(kind.as_str().to_owned()));
    }
    if *reach != Reach::EVERYTHING {
        sql.push_str(" AND EXISTS (SELECT 1 FROM operation WHERE operation.id = walked.chain");
        for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
            let Some(names) = names else { continue };
            sql.push_str(&format!(" AND operation.{column} IN ({})", vec!["?"; names.len()].join(", ")));
            values.extend(names.iter().cloned().map(Value::Text));
        }
        sql.push(')');
    }
    sql.push_str(" ORDER BY at DESC, chain DESC, sequence DESC LIMIT ?");
    values.push(Value::Integer(i64::from(page.limit) + 1));
    (sql, values)
}

/// How far a page has looked, where there is more behind.
fn edge(connection: &Connection, filter: &ActivityFilter, page: &PageRequest) -> Result<Option<Cursor>, StoreFault> {
    let (stretch, values) = stretch(filter, page, 2);
    let sql = format!("SELECT {}{stretch} OFFSET {}", EntryRow::COLUMNS, WALKED_ROWS_MAX - 1);
    let entries = all::<EntryRow, (ChainId, Entry)>(connection, "entry", &sql, params_from_iter(values))?;
    Ok(activity_edge(&entries))
}

/// Keeps what a verification showed.
struct PutCheck {
    row: TrailCheckRow,
}

impl Work for PutCheck {
    type Answer = ();

    fn run(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let TrailCheckRow { at, entries, broken } = &self.row;
        let sql = "INSERT OR REPLACE INTO trail_check (number, at, entries, broken) VALUES (1, ?1, ?2, ?3)";
        execute(transaction, "trail_check", &1, sql, params![at, entries, broken]).map(drop)
    }

    fn counts(&self, (): &()) -> &[Count] {
        &[]
    }

    fn changed(&self, (): &()) -> Option<OperationId> {
        None
    }
}

#[async_trait]
impl Activities for SqliteStore {
    async fn activities(
        &self,
        reach: &Reach,
        filter: &ActivityFilter,
        page: &PageRequest,
    ) -> Result<Page<Activity>, StoreFault> {
        let (reach, filter, page) = (reach.clone(), filter.clone(), page.clone());
        self.read(move |connection| {
            let (sql, values) = question(&reach, &filter, &page);
            let entries = all::<EntryRow, _>(connection, "entry", &sql, params_from_iter(values))?;
            let mut found = activity_page(entries, page.limit);
            if found.next.is_none() && !filter.takes_all(&reach) {
                found.next = edge(connection, &filter, &page)?;
            }
            Ok(found)
        })
        .await
    }

    async fn trail_state(&self) -> Result<TrailState, StoreFault> {
        self.read(|connection| {
            Ok(TrailState {
                seal: one::<SealingRow, _>(connection, "seal", SealingRow::LAST, [])?,
                check: one::<TrailCheckRow, _>(connection, "trail_check", TrailCheckRow::LAST, [])?,
            })
        })
        .await
    }

    async fn put_trail_check(&self, check: &TrailCheck) -> Result<(), StoreFault> {
        perform(&self.queue, PutCheck { row: check.into() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_read_from_an_index_of_its_own() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in ["0001_operations", "0002_administration", "0010_live"] {
            let path = format!("{}/../migrations/sqlite/{migration}.sql", env!("CARGO_MANIFEST_DIR"));
            connection.execute_batch(&std::fs::read_to_string(path).unwrap()).unwrap();
        }
        let cursor = Cursor::from_text(&format!("1-{:032x}-1", 7));
        let one = Reach::over(["acme".to_owned()], []);
        let person = || Some("ada@example.test".to_owned());
        for (reach, filter, index) in [
            (&Reach::EVERYTHING, ActivityFilter::default(), "entry_by_people"),
            (&one, ActivityFilter::default(), "entry_by_people"),
            (&Reach::EVERYTHING, ActivityFilter { person: person(), ..ActivityFilter::default() }, "entry_by_person"),
            (
                &Reach::EVERYTHING,
                ActivityFilter { kind: Some(guard::trail::EntryKind::Resolved), ..ActivityFilter::default() },
                "entry_of_people_by_kind",
            ),
            (
                &one,
                ActivityFilter { kind: Some(guard::trail::EntryKind::Resolved), ..ActivityFilter::default() },
                "entry_of_people_by_kind",
            ),
            (
                &Reach::EVERYTHING,
                ActivityFilter {
                    person: person(),
                    kind: Some(guard::trail::EntryKind::Resolved),
                    ..ActivityFilter::default()
                },
                "entry_by_person",
            ),
        ] {
            for cursor in [None, Some(cursor.clone())] {
                let (sql, values) = question(reach, &filter, &PageRequest { cursor, limit: 50 });
                let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let plan = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
                let plan = plan.map(Result::unwrap).collect::<Vec<_>>().join("\n");
                // What is sorted outside is at most what a page looks through.
                let is_sorted = !filter.takes_all(reach);
                assert!(plan.contains(index) && !plan.contains("SCAN operation"), "{plan}");
                let sorts = plan.matches("TEMP B-TREE").count();
                assert!(sorts <= usize::from(is_sorted), "{plan}");
            }
        }
    }
}
