//! Saved views, and runs over what a filter says.

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::{PersonId, RunId, ViewId};
use guard::lists::{ListPage, Run, RunItem, SavedView, VIEWS_MAX};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::store::{Lists, Replaced};
use sqlx::Connection as _;
use uuid::Uuid;

use super::connection::bounded;
use super::{PostgresStore, read};
use crate::store::row::{RunItemRow, RunRow, ViewRow};

impl PostgresStore {
    /// Writes; answers how many rows were touched.
    pub(super) async fn write(
        &self,
        query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<u64, StoreFault> {
        let mut connection = self.connection().await?;
        let done = bounded(query.execute(&mut *connection)).await.map_err(|trouble| trouble.fault(&""))?;
        Ok(done.rows_affected())
    }
}

#[async_trait]
impl Lists for PostgresStore {
    async fn views(&self, person: PersonId, page: ListPage) -> Result<Vec<SavedView>, StoreFault> {
        let columns = ViewRow::COLUMNS;
        let sql = format!(
            "SELECT {columns} FROM saved_view WHERE person = $1 AND page = $2 ORDER BY name COLLATE \"C\" LIMIT {VIEWS_MAX}"
        );
        self.all::<ViewRow, _>(sqlx::query(&sql).bind(Uuid::from_u128(person.as_u128())).bind(page.as_str())).await
    }

    async fn put_view(&self, view: &SavedView) -> Result<(), StoreFault> {
        let ViewRow { id, person, page, name, query, created_at } = ViewRow::from(view);
        let sql = "INSERT INTO saved_view (id, person, page, name, query, created_at) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (person, page, name) DO UPDATE SET query = excluded.query, created_at = excluded.created_at";
        let put = sqlx::query(sql).bind(id).bind(person).bind(page).bind(name).bind(query).bind(created_at);
        self.write(put).await.map(drop)
    }

    async fn drop_view(&self, person: PersonId, id: ViewId) -> Result<bool, StoreFault> {
        let drop = sqlx::query("DELETE FROM saved_view WHERE id = $1 AND person = $2")
            .bind(Uuid::from_u128(id.as_u128()))
            .bind(Uuid::from_u128(person.as_u128()));
        Ok(self.write(drop).await? == 1)
    }

    async fn add_run(&self, run: &Run, items: &[RunItem]) -> Result<(), StoreFault> {
        let RunRow { id, person, version, standing, content } = RunRow::from(run);
        let numbers: Vec<i64> = items.iter().map(|item| item.number.into()).collect();
        let operations: Vec<Uuid> = items.iter().map(|item| Uuid::from_u128(item.operation.as_u128())).collect();
        let mut connection = self.connection().await?;
        read(async {
            let mut transaction = connection.begin().await?;
            sqlx::query("INSERT INTO run (id, person, version, standing, content) VALUES ($1, $2, $3, $4, $5)")
                .bind(id)
                .bind(person)
                .bind(version)
                .bind(standing)
                .bind(content)
                .execute(&mut *transaction)
                .await?;
            let sql = "INSERT INTO run_item (run, number, operation) \
                 SELECT $1, number, operation FROM unnest($2::bigint[], $3::uuid[]) AS item (number, operation)";
            sqlx::query(sql).bind(id).bind(numbers).bind(operations).execute(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(())
        })
        .await
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreFault> {
        let sql = format!("SELECT {} FROM run WHERE id = $1", RunRow::COLUMNS);
        Ok(self.all::<RunRow, _>(sqlx::query(&sql).bind(Uuid::from_u128(id.as_u128()))).await?.pop())
    }

    async fn change_run(&self, run: &Run) -> Result<Replaced, StoreFault> {
        let RunRow { id, version, standing, content, .. } = RunRow::from(run);
        let sql = "UPDATE run SET version = $2, standing = $3, content = $4, claimed_by = NULL, claimed_until = NULL \
             WHERE id = $1 AND version = $2 - 1";
        let changed = self.write(sqlx::query(sql).bind(id).bind(version).bind(standing).bind(content)).await?;
        Ok(if changed == 1 { Replaced::Replaced } else { Replaced::Stale })
    }

    async fn run_items(&self, id: RunId, after: u32, limit: u32) -> Result<Vec<RunItem>, StoreFault> {
        let columns = RunItemRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM run_item WHERE run = $1 AND number > $2 ORDER BY number LIMIT $3");
        let id = Uuid::from_u128(id.as_u128());
        self.all::<RunItemRow, _>(sqlx::query(&sql).bind(id).bind(i64::from(after)).bind(i64::from(limit))).await
    }

    async fn settle_run_item(&self, id: RunId, item: &RunItem) -> Result<(), StoreFault> {
        let RunItemRow { run, number, outcome, told, .. } = RunItemRow::of(id, item);
        let sql = "UPDATE run_item SET outcome = $3, told = $4 WHERE run = $1 AND number = $2 AND outcome IS NULL";
        self.write(sqlx::query(sql).bind(run).bind(number).bind(outcome).bind(told)).await.map(drop)
    }

    async fn claim_run(&self, now: Timestamp, claim: &Claim) -> Result<Option<RunId>, StoreFault> {
        let sql = "UPDATE run SET claimed_by = $2, claimed_until = $3 WHERE id = (SELECT id FROM run \
             WHERE standing = 'running' AND (claimed_until IS NULL OR claimed_until <= $1 OR claimed_by = $2) \
             ORDER BY claimed_until NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
        let claimed = sqlx::query_scalar::<_, Uuid>(sql)
            .bind(now.timestamp_millis())
            .bind(claim.by.clone())
            .bind(claim.until.timestamp_millis());
        let mut connection = self.connection().await?;
        let claimed = bounded(claimed.fetch_optional(&mut *connection)).await;
        let claimed = claimed.map_err(|trouble| trouble.fault(&""))?;
        Ok(claimed.map(|id| RunId::from_u128(id.as_u128())))
    }
}
