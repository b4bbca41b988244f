//! What people did, over all chains of the trail.

use async_trait::async_trait;
use guard::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use guard::queue::{LOOKED_UP_ROWS_MAX, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Activities;
use guard::token::Reach;
use guard::trail::Entry;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use super::list::push_reach;
use crate::store::row::{EntryRow, OF_PEOPLE, SealingRow, TrailCheckRow, activity_edge, activity_page, person_actor};
use crate::trail::ChainId;

/// Adds the stretch of an index that a page walks through: what stands behind the columns, up to its limit.
fn push_stretch(query: &mut QueryBuilder<'static, Postgres>, filter: &ActivityFilter, page: &PageRequest) {
    query.push(format!(" FROM entry WHERE {OF_PEOPLE}"));
    if let Some(person) = &filter.person {
        query.push(" AND actor = ").push_bind(person_actor(person));
    }
    if let Some(kind) = filter.kind {
        query.push(" AND kind = ").push_bind(kind.as_str());
    }
    if let Some(operation) = filter.operation {
        query.push(" AND chain = ").push_bind(Uuid::from_u128(operation.as_u128()));
    }
    if let Some(from) = filter.from {
        query.push(" AND at >= ").push_bind(from.timestamp_millis());
    }
    if let Some(to) = filter.to {
        query.push(" AND at < ").push_bind(to.timestamp_millis());
    }
    if let Some((at, chain, sequence)) = page.cursor.as_ref().and_then(Activity::behind) {
        query.push(" AND (at, chain, sequence) < (").push_bind(at);
        query.push(", ").push_bind(Uuid::from_u128(chain)).push(", ").push_bind(sequence).push(")");
    }
    query.push(" ORDER BY at DESC, chain DESC, sequence DESC LIMIT ");
}

/// A page as one statement.
fn question(reach: &Reach, filter: &ActivityFilter, page: &PageRequest) -> QueryBuilder<'static, Postgres> {
    let columns = EntryRow::COLUMNS;
    let limit = i64::from(page.limit) + 1;
    if *reach == Reach::EVERYTHING {
        let mut query = QueryBuilder::new(format!("SELECT {columns}"));
        push_stretch(&mut query, filter, page);
        query.push_bind(limit);
        return query;
    }
    let mut query = QueryBuilder::new(format!("SELECT {columns} FROM (SELECT {columns}"));
    push_stretch(&mut query, filter, page);
    query.push_bind(i64::from(LOOKED_UP_ROWS_MAX));
    query.push(") AS walked WHERE EXISTS (SELECT 1 FROM operation WHERE operation.id = walked.chain");
    push_reach(&mut query, reach, "operation");
    query.push(") ORDER BY at DESC, chain DESC, sequence DESC LIMIT ").push_bind(limit);
    query
}

#[async_trait]
impl Activities for PostgresStore {
    async fn activities(
        &self,
        reach: &Reach,
        filter: &ActivityFilter,
        page: &PageRequest,
    ) -> Result<Page<Activity>, StoreFault> {
        let mut question = question(reach, filter, page);
        // Planned for each execution, as lists are: what fits one person does not fit another.
        let entries = self.all::<EntryRow, (ChainId, Entry)>(question.build().persistent(false)).await?;
        let mut found = activity_page(entries, page.limit);
        if found.next.is_none() && *reach != Reach::EVERYTHING {
            let mut edge = QueryBuilder::new(format!("SELECT {}", EntryRow::COLUMNS));
            push_stretch(&mut edge, filter, page);
            edge.push_bind(2_i64).push(" OFFSET ").push_bind(i64::from(LOOKED_UP_ROWS_MAX) - 1);
            let edge = self.all::<EntryRow, (ChainId, Entry)>(edge.build().persistent(false)).await?;
            found.next = activity_edge(&edge);
        }
        Ok(found)
    }

    async fn trail_state(&self) -> Result<TrailState, StoreFault> {
        let seal = self.all::<SealingRow, _>(sqlx::query(SealingRow::LAST)).await?.pop();
        let check = self.all::<TrailCheckRow, _>(sqlx::query(TrailCheckRow::LAST)).await?.pop();
        Ok(TrailState { seal, check })
    }

    async fn put_trail_check(&self, check: &TrailCheck) -> Result<(), StoreFault> {
        let TrailCheckRow { at, entries, broken } = check.into();
        let sql = "INSERT INTO trail_check (number, at, entries, broken) VALUES (1, $1, $2, $3) \
                   ON CONFLICT (number) DO UPDATE SET at = excluded.at, entries = excluded.entries, broken = excluded.broken";
        let put = sqlx::query(sql).bind(at).bind(entries).bind(broken);
        let mut connection = self.connection().await?;
        bounded(put.execute(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))?;
        Ok(())
    }
}
