//! Calls of the API.

use async_trait::async_trait;
use guard::call::{Call, CallFilter, CallRequest, first_call_id};
use guard::clock::Timestamp;
use guard::id::{CallId, TokenId};
use guard::queue::{Cursor, Page, PageRequest, WALKED_ROWS_MAX};
use guard::refusal::StoreFault;
use guard::store::Calls;
use guard::token::Reach;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use super::list::push_reach;
use crate::store::row::{CallRequestRow, CallRow};

const INSERT: &str = "INSERT INTO call (id, token, at, microseconds, method, endpoint, path, status, problem, detail, workflow, \
     company, source_system, document, action, revision, operation, decision, request_id, request, request_bytes) \
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
     $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[], $17::uuid[], \
     $18::text[], $19::text[], $20::text[], $21::bigint[]) ON CONFLICT DO NOTHING";

/// Adds the stretch of an index that a page walks through: what stands behind `FROM call`.
fn push_stretch(query: &mut QueryBuilder<'static, Postgres>, filter: &CallFilter, page: &PageRequest) {
    query.push(" FROM call WHERE true");
    if let Some(token) = filter.token {
        query.push(" AND token = ").push_bind(Uuid::from_u128(token.as_u128()));
    }
    if let Some((_, id)) = page.cursor.as_ref().and_then(Cursor::read) {
        query.push(" AND id < ").push_bind(Uuid::from_u128(id));
    }
    if let Some(from) = filter.from {
        query.push(" AND id >= ").push_bind(Uuid::from_u128(first_call_id(from)));
    }
    if let Some(to) = filter.to {
        query.push(" AND id < ").push_bind(Uuid::from_u128(first_call_id(to)));
    }
    query.push(" ORDER BY id DESC LIMIT ");
}

/// A page as one statement.
fn question(reach: &Reach, filter: &CallFilter, page: &PageRequest) -> QueryBuilder<'static, Postgres> {
    let columns = CallRow::COLUMNS;
    let limit = i64::from(page.limit) + 1;
    if filter.takes_all(reach) {
        let mut query = QueryBuilder::new(format!("SELECT {columns}"));
        push_stretch(&mut query, filter, page);
        query.push_bind(limit);
        return query;
    }
    let mut query = QueryBuilder::new(format!("SELECT {columns} FROM (SELECT {columns}"));
    push_stretch(&mut query, filter, page);
    query.push_bind(i64::from(WALKED_ROWS_MAX)).push(") AS walked WHERE true");
    if let Some(decision) = filter.decision {
        query.push(" AND decision = ").push_bind(decision.as_str());
    }
    if let Some(problem) = &filter.problem {
        query.push(" AND problem = ").push_bind(problem.clone());
    }
    if let Some(class) = filter.class {
        let (from, to) = class.bounds();
        query.push(" AND status >= ").push_bind(i64::from(from)).push(" AND status < ").push_bind(i64::from(to));
    }
    push_reach(&mut query, reach, "walked");
    query.push(" ORDER BY id DESC LIMIT ").push_bind(limit);
    query
}

/// The last row that a page looks through, and the one behind it.
fn edge(filter: &CallFilter, page: &PageRequest) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT id");
    push_stretch(&mut query, filter, page);
    query.push_bind(2_i64).push(" OFFSET ").push_bind(i64::from(WALKED_ROWS_MAX) - 1);
    query
}

#[async_trait]
impl Calls for PostgresStore {
    async fn add_calls(&self, calls: &[(Call, CallRequest)]) -> Result<(), StoreFault> {
        if calls.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = calls.iter().map(|(call, _)| CallRow::from(call)).collect();
        let requests: Vec<_> = calls.iter().map(|(call, request)| CallRequestRow::of(call, request)).collect();
        let texts = |of: fn(&CallRow) -> &String| rows.iter().map(|row| of(row).clone()).collect::<Vec<_>>();
        let perhaps = |of: fn(&CallRow) -> &Option<String>| rows.iter().map(|row| of(row).clone()).collect::<Vec<_>>();
        let numbers = |of: fn(&CallRow) -> i64| rows.iter().map(of).collect::<Vec<_>>();
        let insert = sqlx::query(INSERT)
            .bind(rows.iter().map(|row| row.id).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.token).collect::<Vec<_>>())
            .bind(numbers(|row| row.at))
            .bind(numbers(|row| row.microseconds))
            .bind(texts(|row| &row.method))
            .bind(texts(|row| &row.endpoint))
            .bind(texts(|row| &row.path))
            .bind(numbers(|row| row.status))
            .bind(perhaps(|row| &row.problem))
            .bind(perhaps(|row| &row.detail))
            .bind(perhaps(|row| &row.workflow))
            .bind(perhaps(|row| &row.company))
            .bind(perhaps(|row| &row.source_system))
            .bind(perhaps(|row| &row.document))
            .bind(perhaps(|row| &row.action))
            .bind(rows.iter().map(|row| row.revision).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.operation).collect::<Vec<_>>())
            .bind(perhaps(|row| &row.decision))
            .bind(texts(|row| &row.request_id))
            .bind(requests.iter().map(|row| row.request.clone()).collect::<Vec<_>>())
            .bind(requests.iter().map(|row| row.request_bytes).collect::<Vec<_>>());
        let mut connection = self.connection().await?;
        bounded(insert.execute(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))?;
        Ok(())
    }

    async fn calls(&self, reach: &Reach, filter: &CallFilter, page: &PageRequest) -> Result<Page<Call>, StoreFault> {
        let mut question = question(reach, filter, page);
        let mut rows = self.all::<CallRow, Call>(question.build().persistent(false)).await?;
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = match rows.last().filter(|_| has_more) {
            Some(last) => Some(last.cursor()),
            None if filter.takes_all(reach) => None,
            None => self.edge(edge(filter, page)).await?,
        };
        Ok(Page { rows, next })
    }

    async fn call(&self, id: CallId) -> Result<Option<(Call, CallRequest)>, StoreFault> {
        let id = Uuid::from_u128(id.as_u128());
        let sql = format!("SELECT {} FROM call WHERE id = $1", CallRow::COLUMNS);
        let call = self.all::<CallRow, Call>(sqlx::query(&sql).bind(id)).await?.pop();
        let sql = format!("SELECT {} FROM call WHERE id = $1", CallRequestRow::COLUMNS);
        let request = self.all::<CallRequestRow, CallRequest>(sqlx::query(&sql).bind(id)).await?.pop();
        Ok(call.zip(request))
    }

    async fn forget_calls_of(&self, token: TokenId, keep: u32, limit: u32) -> Result<u64, StoreFault> {
        let sql = "DELETE FROM call WHERE id IN (SELECT id FROM call WHERE token = $1 AND id <= \
             (SELECT id FROM call WHERE token = $1 ORDER BY id DESC LIMIT 1 OFFSET $2) ORDER BY id LIMIT $3)";
        let token = Uuid::from_u128(token.as_u128());
        self.write(sqlx::query(sql).bind(token).bind(i64::from(keep)).bind(i64::from(limit))).await
    }

    async fn forget_calls_before(&self, at: Timestamp, limit: u32) -> Result<u64, StoreFault> {
        let sql = "DELETE FROM call WHERE id IN (SELECT id FROM call WHERE id < $1 ORDER BY id LIMIT $2)";
        self.write(sqlx::query(sql).bind(Uuid::from_u128(first_call_id(at))).bind(i64::from(limit))).await
    }
}
