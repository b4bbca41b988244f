//! Conflicts by their own ids, and as a queue. Every list is read from an index behind a key, up to a limit.

use std::borrow::Cow;

use async_trait::async_trait;
use guard::conflict::{
    CONFLICTS_GROUPED_MAX, Conflict, ConflictFilter, ConflictGroup, ConflictOrder, GROUP_FIRST_MAX, place_key,
};
use guard::id::ConflictId;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use guard::token::Reach;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::PostgresStore;
use super::connection::bounded;
use super::stretch::{FirstRows, Walk};
use crate::store::row::{ConflictGroupRow, ConflictRow};

/// How a list is walked through: along what is rare, as far as an index tells. What it does not tell is asked of each row.
fn walk<'a>(within: &'a Reach, filter: &ConflictFilter, order: ConflictOrder, cursor: Option<&Cursor>) -> Walk<'a> {
    let (sign, direction, of_ids, of_place) = match order {
        ConflictOrder::Oldest => (">", "ASC", "id ASC", "conflict ASC"),
        ConflictOrder::Newest => ("<", "DESC", "id DESC", "conflict DESC"),
    };
    let behind = |column: &str| match cursor.and_then(Cursor::read) {
        Some((_, behind)) => format!(" AND {column} {sign} '{}'::uuid", Uuid::from_u128(behind)),
        None => String::new(),
    };
    let bytes = |bytes: &[u8]| format!("'\\x{}'::bytea", hex::encode(bytes));
    let at_place = filter.place.as_ref().map(|place| format!("place = {}", bytes(&place_key(place))));
    let listed = listed(filter.is_decided);
    // Few of all that ever were at a place are open, and most are decided.
    if let (Some(at_place), None, true) = (&at_place, filter.group, filter.is_decided) {
        let condition = format!("{at_place}{}", behind("conflict")).into();
        let (table, columns, standing) = ("conflict_place", "conflict AS id", listed.condition.clone());
        let rows = FirstRows { table, columns, condition, order: of_place, ..listed };
        return Walk::among(rows, within, direction).told_by("conflict", standing);
    }
    let of_group = filter.group.map(|group| format!(" AND grouping_key = {}", bytes(&group.as_bytes())));
    let condition = format!("{}{}{}", listed.condition, of_group.as_deref().unwrap_or_default(), behind("id"));
    let rows = FirstRows { columns: "id, company, workflow", condition: condition.into(), order: of_ids, ..listed };
    let walk = match of_group {
        None => Walk::along(rows, within, direction),
        Some(_) => Walk::among(rows, within, direction),
    };
    // As a value, it is looked up for each of these rows: joined, all that is at the place may be read instead.
    walk.asking(
        at_place.map(|at_place| format!("SELECT true FROM conflict_place WHERE {at_place} AND conflict = walked.id")),
    )
}

/// The conflicts that are open, or decided, the oldest first.
pub(super) const fn listed(is_decided: bool) -> FirstRows {
    FirstRows {
        table: "conflict",
        columns: "id",
        condition: Cow::Borrowed(if is_decided { "NOT is_open" } else { "is_open" }),
        order: "id",
        has_workflows: true,
        most: 0,
    }
}

fn groups(within: &Reach, limit: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new(format!(
        "SELECT workflow, (SELECT places FROM conflict WHERE id = ids[1]) AS places, open, hits, oldest_at, counted, \
         array_to_json(ids)::text AS first FROM ( \
         SELECT workflow, (array_agg(id ORDER BY id))[1:{GROUP_FIRST_MAX}] AS ids, count(*) AS open, sum(hits)::bigint AS hits, \
         min(opened_at) AS oldest_at, (sum(count(*)) OVER ())::bigint AS counted FROM (",
    ));
    let columns = "workflow, grouping_key, id, hits, opened_at";
    FirstRows { columns, most: CONFLICTS_GROUPED_MAX, ..listed(false) }.push(&mut query, within);
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
        let within = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
        if within.is_nothing() {
            return Ok(Page::EMPTY);
        }
        let walk = walk(&within, filter, order, page.cursor.as_ref());
        let columns = ConflictRow::listed_columns();
        let id = |conflict: &Conflict| conflict.id.as_u128();
        self.walk::<ConflictRow, _>(&walk, ("conflict", &columns), page, id).await
    }

    async fn conflicts_by_id(&self, ids: &[ConflictId]) -> Result<Vec<Conflict>, StoreFault> {
        let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from_u128(id.as_u128())).collect();
        let sql = format!("SELECT {} FROM conflict WHERE id = ANY($1)", ConflictRow::listed_columns());
        self.all::<ConflictRow, _>(sqlx::query(&sql).bind(ids)).await
    }

    async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, StoreFault> {
        let within = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
        let mut question = groups(&within, limit);
        self.all::<ConflictGroupRow, ConflictGroup>(question.build().persistent(false)).await
    }
}
