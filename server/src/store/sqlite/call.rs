//! Calls of the API.

use async_trait::async_trait;
use guard::call::{Call, CallFilter, CallRequest, first_call_id};
use guard::clock::Timestamp;
use guard::id::{CallId, TokenId};
use guard::queue::{Cursor, Page, PageRequest, WALKED_ROWS_MAX};
use guard::refusal::StoreFault;
use guard::store::Calls;
use guard::token::Reach;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::readers::{all, one};
use super::recovery::Task;
use super::stretch::edge_of;
use super::work::execute;
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::row::{CallRequestRow, CallRow};

const INSERT: &str = "INSERT INTO call (id, token, at, microseconds, method, endpoint, path, status, problem, detail, workflow, \
     company, source_system, document, action, revision, operation, decision, request_id, request, request_bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21) ON CONFLICT DO NOTHING";

/// So many calls are written in one go: begins that wait for the writer wait briefly.
const CALLS_PER_WRITE_MAX: usize = 100;

fn bytes(id: u128) -> Value {
    Value::Blob(id.to_be_bytes().to_vec())
}

/// The stretch of an index that a page walks through: what stands behind `FROM`, with its values.
fn stretch(filter: &CallFilter, page: &PageRequest) -> (String, Vec<Value>) {
    let mut sql = String::from("call");
    let mut values = Vec::new();
    match filter.token {
        Some(token) => {
            sql.push_str(" INDEXED BY call_by_token WHERE token = ?");
            values.push(bytes(token.as_u128()));
        }
        None => sql.push_str(" WHERE true"),
    }
    if let Some((_, id)) = page.cursor.as_ref().and_then(Cursor::read) {
        sql.push_str(" AND id < ?");
        values.push(bytes(id));
    }
    if let Some(from) = filter.from {
        sql.push_str(" AND id >= ?");
        values.push(bytes(first_call_id(from)));
    }
    if let Some(to) = filter.to {
        sql.push_str(" AND id < ?");
        values.push(bytes(first_call_id(to)));
    }
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    (sql, values)
}

/// A page as one statement with its values.
fn question(reach: &Reach, filter: &CallFilter, page: &PageRequest) -> (String, Vec<Value>) {
    let columns = CallRow::COLUMNS;
    let (stretch, mut values) = stretch(filter, page);
    let limit = Value::Integer(i64::from(page.limit) + 1);
    if filter.takes_all(reach) {
        values.push(limit);
        return (format!("SELECT {columns} FROM {stretch}"), values);
    }
    values.push(Value::Integer(WALKED_ROWS_MAX.into()));
    let mut sql = format!("SELECT {columns} FROM (SELECT {columns} FROM {stretch}) WHERE true");
    if let Some(decision) = filter.decision {
        sql.push_str(" AND decision = ?");
        values.push(Value::Text(decision.as_str().to_owned()));
    }
    if let Some(problem) = &filter.problem {
        sql.push_str(" AND problem = ?");
        values.push(Value::Text(problem.clone()));
    }
    if let Some(class) = filter.class {
        let (from, to) = class.bounds();
        sql.push_str(" AND status >= ? AND status < ?");
        values.extend([Value::Integer(from.into()), Value::Integer(to.into())]);
    }
    for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
        let Some(names) = names else { continue };
        sql.push_str(&format!(" AND {column} IN ({})", vec!["?"; names.len()].join(", ")));
        values.extend(names.iter().cloned().map(Value::Text));
    }
    sql.push_str(" ORDER BY id DESC LIMIT ?");
    values.push(limit);
    (sql, values)
}

/// How far a page has looked, where there is more behind.
fn edge(connection: &Connection, filter: &CallFilter, page: &PageRequest) -> Result<Option<Cursor>, StoreFault> {
    let (stretch, mut values) = stretch(filter, page);
    values.push(Value::Integer(2));
    let sql = format!("SELECT id FROM {stretch} OFFSET {}", WALKED_ROWS_MAX - 1);
    let mut statement = connection.prepare_cached(&sql).map_err(|error| fault::of(&error, "call", &"?"))?;
    edge_of(&mut statement, &values, "call")
}

#[async_trait]
impl Calls for SqliteStore {
    async fn add_calls(&self, calls: &[(Call, CallRequest)]) -> Result<(), StoreFault> {
        for part in calls.chunks(CALLS_PER_WRITE_MAX) {
            let rows: Vec<_> =
                part.iter().map(|(call, request)| (CallRow::from(call), CallRequestRow::of(call, request))).collect();
            let task = Task(move |transaction: &Connection| {
                for (row, request) in &rows {
                    let values = params![
                        &row.id.as_bytes()[..],
                        &row.token.as_bytes()[..],
                        row.at,
                        row.microseconds,
                        row.method,
                        row.endpoint,
                        row.path,
                        row.status,
                        row.problem,
                        row.detail,
                        row.workflow,
                        row.company,
                        row.source_system,
                        row.document,
                        row.action,
                        row.revision,
                        row.operation.as_ref().map(|operation| &operation.as_bytes()[..]),
                        row.decision,
                        row.request_id,
                        request.request,
                        request.request_bytes
                    ];
                    execute(transaction, "call", &row.id, INSERT, values)?;
                }
                Ok(())
            });
            perform(&self.queue, task).await?;
        }
        Ok(())
    }

    async fn calls(&self, reach: &Reach, filter: &CallFilter, page: &PageRequest) -> Result<Page<Call>, StoreFault> {
        let (reach, filter, page) = (reach.clone(), filter.clone(), page.clone());
        self.read(move |connection| {
            let (sql, values) = question(&reach, &filter, &page);
            let mut rows = all::<CallRow, Call>(connection, "call", &sql, params_from_iter(values))?;
            let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            let next = match rows.last().filter(|_| has_more) {
                Some(last) => Some(last.cursor()),
                None if filter.takes_all(&reach) => None,
                None => edge(connection, &filter, &page)?,
            };
            Ok(Page { rows, next })
        })
        .await
    }

    async fn call(&self, id: CallId) -> Result<Option<(Call, CallRequest)>, StoreFault> {
        self.read_here(|connection| {
            let id = id.as_u128().to_be_bytes();
            let sql = format!("SELECT {} FROM call WHERE id = ?1", CallRow::COLUMNS);
            let call = one::<CallRow, Call>(connection, "call", &sql, [id])?;
            let sql = format!("SELECT {} FROM call WHERE id = ?1", CallRequestRow::COLUMNS);
            let request = one::<CallRequestRow, CallRequest>(connection, "call", &sql, [id])?;
            Ok(call.zip(request))
        })
    }

    async fn forget_calls_of(&self, token: TokenId, keep: u32, limit: u32) -> Result<u64, StoreFault> {
        let task = Task(move |transaction: &Connection| {
            let token = token.as_u128().to_be_bytes();
            let last =
                "SELECT id FROM call INDEXED BY call_by_token WHERE token = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2";
            let last: Result<Option<[u8; 16]>, _> = transaction
                .prepare_cached(last)
                .and_then(|mut statement| statement.query_row((token, keep), |row| row.get(0)).optional());
            let Some(last) = last.map_err(|error| fault::of(&error, "call", &"?"))? else { return Ok(0) };
            let sql = "DELETE FROM call WHERE id IN (SELECT id FROM call INDEXED BY call_by_token \
                 WHERE token = ?1 AND id <= ?2 ORDER BY id LIMIT ?3)";
            Ok(execute(transaction, "call", &"?", sql, params![token, last, limit])? as u64)
        });
        perform(&self.queue, task).await
    }

    async fn forget_calls_before(&self, at: Timestamp, limit: u32) -> Result<u64, StoreFault> {
        let first = first_call_id(at).to_be_bytes();
        let task = Task(move |transaction: &Connection| {
            let sql = "DELETE FROM call WHERE id IN (SELECT id FROM call WHERE id < ?1 ORDER BY id LIMIT ?2)";
            Ok(execute(transaction, "call", &"?", sql, params![first, limit])? as u64)
        });
        // Most of the time there is nothing to forget, and a look costs the writer nothing.
        let is_any = self.read_here(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM call WHERE id < ?1)";
            let any: Result<bool, _> = connection.query_row(sql, [first], |row| row.get(0));
            any.map_err(|error| fault::of(&error, "call", &"?"))
        })?;
        if is_any { perform(&self.queue, task).await } else { Ok(0) }
    }
}

#[cfg(test)]
mod tests {
    use guard::call::StatusClass;
    use guard::decision::DecisionName;

    use super::*;

    #[test]
    fn every_filter_walks_an_index_and_no_further_than_it_may() {
        let connection = Connection::open_in_memory().unwrap();
        let path = format!("{}/../migrations/sqlite/0015_calls.sql", env!("CARGO_MANIFEST_DIR"));
        connection.execute_batch(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cursor = Cursor::from_text(&format!("1-{:032x}", 7));
        let one = Reach::over(["acme".to_owned()], []);
        let moment = Some(Timestamp::UNIX_EPOCH);
        let filters = [
            CallFilter::default(),
            CallFilter { decision: Some(DecisionName::Conflict), ..CallFilter::default() },
            CallFilter { problem: Some("stale".to_owned()), from: moment, ..CallFilter::default() },
            CallFilter { class: Some(StatusClass::ClientError), to: moment, ..CallFilter::default() },
        ];
        for filter in filters {
            for token in [None, Some(TokenId::from_u128(1))] {
                for (reach, cursor) in [(&Reach::EVERYTHING, None), (&one, None), (&one, Some(cursor.clone()))] {
                    let filter = CallFilter { token, ..filter.clone() };
                    let (sql, values) = question(reach, &filter, &PageRequest { cursor, limit: 50 });
                    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                    let plan = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
                    let plan = plan.map(Result::unwrap).collect::<Vec<_>>().join("\n");
                    let index = if token.is_some() { "call_by_token (token=?" } else { "call" };
                    assert!(plan.contains(index), "{plan}");
                    // Sorted is at most what one page looks through.
                    assert!(
                        filter.takes_all(reach) != plan.contains("CO-ROUTINE") || !plan.contains("TEMP B-TREE"),
                        "{plan}"
                    );
                    assert!(!filter.takes_all(reach) || !plan.contains("TEMP B-TREE"), "{plan}");
                }
            }
        }
    }
}
