//! What people do about uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::incident::Unsettled;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Look, Part, Place, Seen, Step, Stretch, Triage};
use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use super::connection::bounded;
use super::list::unknown_last;
use super::{PostgresStore, triage, uuid};
use crate::store::row::{EvidenceRow, OperationRow, ReviewRow, UnsettledRow};

/// What changes of operations make of their reviews.
#[derive(Default)]
pub(super) struct Keeping {
    put: Vec<ReviewRow>,
    ended: Vec<Uuid>,
}

impl Keeping {
    /// Takes in the change of an operation.
    pub(super) fn take(&mut self, operation: Uuid, change: &ReviewChange) {
        match change {
            ReviewChange::Keep => {}
            ReviewChange::Put(review) => self.put.push(review.as_ref().into()),
            ReviewChange::End => self.ended.push(operation),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.ended.is_empty()
    }

    /// Stores it for the operations that were changed.
    pub(super) async fn store(mut self, connection: &mut PgConnection, stored: &[Uuid]) -> Result<(), sqlx::Error> {
        self.ended.retain(|operation| stored.contains(operation));
        self.put.retain(|row| stored.contains(&row.operation));
        // The order in which rows are locked.
        self.ended.sort_unstable();
        self.put.sort_unstable_by_key(|row| row.operation);
        if !self.ended.is_empty() {
            let sql = "DELETE FROM review WHERE operation = ANY($1)";
            sqlx::query(sql).bind(self.ended).execute(&mut *connection).await?;
        }
        for row in self.put {
            let sql = format!(
                "INSERT INTO review ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                 ON CONFLICT (operation) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_at = excluded.claimed_at, \
                 claimed_until = excluded.claimed_until, waits_by = excluded.waits_by, waits_since = excluded.waits_since, \
                 waits_until = excluded.waits_until, waits_reason = excluded.waits_reason, proposal = excluded.proposal",
                ReviewRow::COLUMNS
            );
            let put = sqlx::query(&sql)
                .bind(row.operation)
                .bind(row.claimed_by)
                .bind(row.claimed_at)
                .bind(row.claimed_until)
                .bind(row.waits_by)
                .bind(row.waits_since)
                .bind(row.waits_until)
                .bind(row.waits_reason)
                .bind(row.proposal);
            put.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Reviews for PostgresStore {
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault> {
        let ids: Vec<Uuid> = operations.iter().map(|operation| uuid(*operation)).collect();
        let sql = format!("SELECT {} FROM review WHERE operation = ANY($1)", ReviewRow::COLUMNS);
        self.all::<ReviewRow, _>(sqlx::query(&sql).bind(ids)).await
    }

    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault> {
        let key = Uuid::from_u128(id.as_u128());
        let sql = format!("SELECT {} FROM evidence WHERE id = $1", EvidenceRow::COLUMNS);
        let evidence = self.all::<EvidenceRow, Evidence>(sqlx::query(&sql).bind(key)).await?.pop();
        let mut connection = self.connection().await?;
        let content = sqlx::query_scalar("SELECT content FROM evidence_file WHERE evidence = $1").bind(key);
        let content = bounded(content.fetch_optional(&mut *connection)).await.map_err(|trouble| trouble.fault(&id))?;
        Ok(evidence.zip(content))
    }

    async fn latest_unknown(&self, reach: &Reach, limit: u32) -> Result<Vec<Unsettled>, StoreFault> {
        let mut query = QueryBuilder::new("");
        unknown_last(limit).push(&mut query, reach);
        self.all::<UnsettledRow, _>(query.build()).await
    }

    async fn steps(&self, parts: &[Part]) -> Result<Vec<(Part, Step)>, StoreFault> {
        let mut connection = self.connection().await?;
        let mut steps = Vec::new();
        for part in parts {
            let found = bounded(triage::steps(part).build_query_scalar().fetch_all(&mut *connection)).await;
            let found: Vec<i64> = found.map_err(|trouble| trouble.fault(&""))?;
            steps.extend(found.into_iter().map(|number| (part.clone(), Step::from_number(number))));
        }
        Ok(steps)
    }

    async fn places(&self, triage: &Triage, stretches: &[Stretch], look: Look) -> Result<Seen, StoreFault> {
        let Some(mut question) = triage::places(triage, stretches, look) else { return Ok(Seen::default()) };
        let mut connection = self.connection().await?;
        let found = bounded(question.build_query_as::<triage::Looked>().fetch_all(&mut *connection)).await;
        Ok(triage::seen(&found.map_err(|trouble| trouble.fault(&""))?, look))
    }

    async fn places_reviewed(&self, triage: &Triage, most: u32) -> Result<Option<Vec<Place>>, StoreFault> {
        let (mut number, mut question) = (triage::reviewed_number(triage, most), triage::places_reviewed(triage, most));
        let mut connection = self.connection().await?;
        let number = bounded(number.build_query_scalar::<i64>().fetch_one(&mut *connection)).await;
        if number.map_err(|trouble| trouble.fault(&""))? > i64::from(most) {
            return Ok(None);
        }
        let found = bounded(question.build_query_as::<(i64, i64, Uuid, bool)>().fetch_all(&mut *connection)).await;
        let found = found.map_err(|trouble| trouble.fault(&""))?;
        let fitting = found.into_iter().filter(|(_, _, _, fits)| *fits);
        let place = |(step, since, id, _): (i64, i64, Uuid, bool)| Place {
            step: Step::from_number(step),
            since,
            id: OperationId::from_u128(id.as_u128()),
        };
        Ok(Some(fitting.map(place).collect()))
    }

    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        // A list of none implies whatever a partial index asks, and may be looked for in all of its rows.
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = ids.iter().map(|id| uuid(*id)).collect();
        let sql = format!("SELECT {} FROM operation WHERE id = ANY($1)", OperationRow::COLUMNS);
        self.all::<OperationRow, _>(sqlx::query(&sql).bind(ids)).await
    }
}
