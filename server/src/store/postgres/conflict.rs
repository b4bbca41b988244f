//! Conflicts by their own ids, and as a queue. Every list is read from an index behind a key, up to a limit.

use async_trait::async_trait;
use guard::conflict::{CONFLICTS_GROUPED_MAX, Conflict, ConflictFilter, ConflictGroup, ConflictOrder, place_key};
use guard::id::ConflictId;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use guard::token::Reach;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use super::list::push_reach;
use crate::store::row::{ConflictGroupRow, ConflictRow};

fn question(
    reach: &Reach,
    filter: &ConflictFilter,
    order: ConflictOrder,
    page: &PageRequest,
) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(ConflictRow::listed_columns()).push(" FROM conflict");
    let id = match &filter.place {
        Some(place) => {
            query.push(" JOIN conflict_place ON conflict_place.conflict = conflict.id WHERE conflict_place.place = ");
            query.push_bind(place_key(place).to_vec());
            "conflict_place.conflict"
        }
        None => {
            query.push(" WHERE true");
            "conflict.id"
        }
    };
    query.push(if filter.is_decided { " AND NOT conflict.is_open" } else { " AND conflict.is_open" });
    if let Some(group) = filter.group {
        query.push(" AND conflict.grouping_key = ").push_bind(group.as_bytes().to_vec());
    }
    push_texts(&mut query, filter);
    push_reach(&mut query, reach, "conflict");
    let (sign, direction) = match order {
        ConflictOrder::Oldest => (">", "ASC"),
        ConflictOrder::Newest => ("<", "DESC"),
    };
    if let Some((_, behind)) = page.cursor.as_ref().and_then(Cursor::read) {
        query.push(format!(" AND {id} {sign} ")).push_bind(Uuid::from_u128(behind));
    }
    query.push(format!(" ORDER BY {id} {direction} LIMIT ")).push_bind(i64::from(page.limit) + 1);
    query
}

fn push_texts(query: &mut QueryBuilder<'static, Postgres>, filter: &ConflictFilter) {
    for (condition, wanted) in
        [(" AND conflict.company = ", &filter.company), (" AND conflict.workflow = ", &filter.workflow)]
    {
        if let Some(wanted) = wanted {
            query.push(condition).push_bind(wanted.clone());
        }
    }
}

fn groups(reach: &Reach, filter: &ConflictFilter, limit: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new(
        "SELECT workflow, (SELECT places FROM conflict WHERE id = first) AS places, open, hits, oldest_at, counted FROM ( \
         SELECT workflow, (array_agg(id ORDER BY id))[1] AS first, count(*) AS open, sum(hits)::bigint AS hits, \
         min(opened_at) AS oldest_at, (sum(count(*)) OVER ())::bigint AS counted FROM (SELECT workflow, grouping_key, id, hits, opened_at FROM conflict WHERE is_open",
    );
    push_texts(&mut query, filter);
    push_reach(&mut query, reach, "conflict");
    query.push(" ORDER BY id LIMIT ").push_bind(i64::from(CONFLICTS_GROUPED_MAX));
    query.push(") AS counted GROUP BY workflow, grouping_key ORDER BY open DESC, oldest_at LIMIT ");
    query.push_bind(i64::from(limit)).push(") AS grouped ORDER BY open DESC, oldest_at");
    query
}

#[async_trait]
impl Conflicts for PostgresStore {
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault> {
        let sql = format!("SELECT {} FROM conflict WHERE id = $1", ConflictRow::COLUMNS);
        let id = Uuid::from_u128(id.as_u128());
        Ok(self.all::<ConflictRow, _>(sqlx::query(&sql).bind(id)).await?.pop())
    }

    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault> {
        let id = Uuid::from_u128(id.as_u128());
        let mut connection = self.connection().await?;
        let question = sqlx::query_scalar("SELECT payload FROM conflict WHERE id = $1").bind(id);
        let found = bounded(question.fetch_optional(&mut *connection)).await;
        Ok(found.map_err(|trouble| trouble.fault(&id))?.flatten())
    }

    async fn conflict_page(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        order: ConflictOrder,
        page: &PageRequest,
    ) -> Result<Page<Conflict>, StoreFault> {
        let mut question = question(reach, filter, order, page);
        let found = self.all::<ConflictRow, Conflict>(question.build().persistent(false)).await?;
        Ok(crate::store::conflict_page(found, page))
    }

    async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, StoreFault> {
        let mut question = groups(reach, filter, limit);
        self.all::<ConflictGroupRow, ConflictGroup>(question.build().persistent(false)).await
    }
}
