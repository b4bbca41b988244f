//! What people did, over all chains of the trail.

use async_trait::async_trait;
use guard::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use guard::id::OperationId;
use guard::queue::{Cursor, LOOKED_UP_ROWS_MAX, Page, PageRequest};
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

const LATEST_FIRST: &str = "ORDER BY at DESC, chain DESC, sequence DESC";

/// The stretch of an index that a page walks through: what stands behind the columns, with its values; its limit is the last of them.
fn stretch(filter: &ActivityFilter, page: &PageRequest, limit: u32) -> (String, Vec<Value>) {
    // An operation's chain is short. A plus keeps the planner from choosing an index by what else is asked of it.
    let (index, plain) = match (filter.operation, &filter.person, filter.kind) {
        (Some(_), ..) => ("", "+"),
        (None, Some(_), Some(_)) => (" INDEXED BY entry_by_person_and_kind", ""),
        (None, Some(_), None) => (" INDEXED BY entry_by_person", ""),
        (None, None, Some(_)) => (" INDEXED BY entry_of_people_by_kind", ""),
        (None, None, None) => (" INDEXED BY entry_by_people", ""),
    };
    let mut sql = format!(" FROM entry{index} WHERE {OF_PEOPLE}");
    let mut values = Vec::new();
    if let Some(person) = &filter.person {
        sql.push_str(&format!(" AND {plain}actor = ?"));
        values.push(Value::Text(person_actor(person)));
    }
    if let Some(kind) = filter.kind {
        sql.push_str(&format!(" AND {plain}kind = ?"));
        values.push(Value::Text(kind.as_str().to_owned()));
    }
    if let Some(operation) = filter.operation {
        sql.push_str(" AND chain = ?");
        values.push(id(operation.as_u128()));
    }
    if let Some(from) = filter.from {
        sql.push_str(&format!(" AND {plain}at >= ?"));
        values.push(Value::Integer(from.timestamp_millis()));
    }
    if let Some(to) = filter.to {
        sql.push_str(&format!(" AND {plain}at < ?"));
        values.push(Value::Integer(to.timestamp_millis()));
    }
    if let Some((at, chain, sequence)) = page.cursor.as_ref().and_then(Activity::behind) {
        sql.push_str(" AND (at, chain, sequence) < (?, ?, ?)");
        values.extend([Value::Integer(at), id(chain), Value::Integer(sequence)]);
    }
    sql.push_str(&format!(" {LATEST_FIRST} LIMIT ?"));
    values.push(Value::Integer(limit.into()));
    (sql, values)
}

/// A page as one statement with its values. Entries are walked through in an index; only those that are shown are read.
fn question(reach: &Reach, filter: &ActivityFilter, page: &PageRequest) -> (String, Vec<Value>) {
    let columns = EntryRow::COLUMNS;
    let limit = page.limit.saturating_add(1);
    if *reach == Reach::EVERYTHING {
        let (stretch, values) = stretch(filter, page, limit);
        return (format!("SELECT {columns}{stretch}"), values);
    }
    let (stretch, mut values) = stretch(filter, page, LOOKED_UP_ROWS_MAX);
    let mut of_it = String::from("operation.id = walked.chain");
    for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
        let Some(names) = names else { continue };
        of_it.push_str(&format!(" AND operation.{column} IN ({})", vec!["?"; names.len()].join(", ")));
        values.extend(names.iter().cloned().map(Value::Text));
    }
    values.push(Value::Integer(limit.into()));
    let sql = format!(
        "SELECT {columns} FROM (SELECT at AS found_at, chain AS found_chain, sequence AS found_sequence \
         FROM (SELECT at, chain, sequence{stretch}) AS walked \
         WHERE EXISTS (SELECT 1 FROM operation WHERE {of_it}) {LATEST_FIRST} LIMIT ?) \
         CROSS JOIN entry ON chain = found_chain AND sequence = found_sequence \
         ORDER BY found_at DESC, found_chain DESC, found_sequence DESC"
    );
    (sql, values)
}

/// How far a page has looked, where there is more behind.
fn edge(connection: &Connection, filter: &ActivityFilter, page: &PageRequest) -> Result<Option<Cursor>, StoreFault> {
    let (stretch, values) = stretch(filter, page, 2);
    let sql = format!("SELECT {}{stretch} OFFSET {}", EntryRow::COLUMNS, LOOKED_UP_ROWS_MAX - 1);
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
            if found.next.is_none() && reach != Reach::EVERYTHING {
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
    use super::super::list::Question;
    use super::super::list::tests::{plan, schema};
    use super::*;

    #[test]
    fn every_filter_is_read_from_an_index_of_its_own() {
        let connection = schema();
        let cursor = Cursor::from_text(&format!("1-{:032x}-1", 7));
        let one = Reach::over(["acme".to_owned()], []);
        let persons = [None, Some("ada@example.test".to_owned())];
        let kinds = [None, Some(guard::trail::EntryKind::Resolved)];
        for (person, kind) in persons.iter().flat_map(|person| kinds.map(|kind| (person.clone(), kind))) {
            let index = match (&person, kind) {
                (None, None) => "INDEX entry_by_people",
                (Some(_), None) => "INDEX entry_by_person (",
                (None, Some(_)) => "INDEX entry_of_people_by_kind",
                (Some(_), Some(_)) => "INDEX entry_by_person_and_kind",
            };
            let filter = ActivityFilter { person, kind, ..ActivityFilter::default() };
            for cursor in [None, Some(cursor.clone())] {
                let page = PageRequest { cursor, limit: 50 };
                let plan = |reach: &Reach, filter: &ActivityFilter| {
                    let (sql, values) = question(reach, filter, &page);
                    plan(&connection, &Question { sql, values }).join("\n")
                };
                let of_all = plan(&Reach::EVERYTHING, &filter);
                assert!(of_all.contains(index) && !of_all.contains("TEMP B-TREE"), "{of_all}");
                let of_one = plan(&one, &filter);
                assert!(of_one.contains(&format!("COVERING {index}")), "{of_one}");
                assert!(of_one.contains("SEARCH operation USING"), "{of_one}");
                assert!(of_one.contains("SEARCH entry USING PRIMARY KEY (chain=? AND sequence=?)"), "{of_one}");
                let of_operation = ActivityFilter { operation: Some(OperationId::from_u128(7)), ..filter.clone() };
                let of_operation = plan(&Reach::EVERYTHING, &of_operation);
                assert!(of_operation.contains("SEARCH entry USING PRIMARY KEY (chain=?)"), "{of_operation}");
            }
        }
    }
}
