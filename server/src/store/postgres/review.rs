//! What people do about uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Place, Step, Stretch, Triage};
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::connection::bounded;
use super::{PostgresStore, triage, uuid};
use crate::store::row::{EvidenceRow, OperationRow, ReviewRow};

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

    async fn steps(&self, triage: &Triage) -> Result<Vec<Step>, StoreFault> {
        let mut connection = self.connection().await?;
        let mut question = triage::steps(triage);
        let steps = bounded(question.build_query_scalar().fetch_all(&mut *connection)).await;
        let steps: Vec<i64> = steps.map_err(|trouble| trouble.fault(&""))?;
        Ok(steps.into_iter().map(Step::from_number).collect())
    }

    async fn places(
        &self,
        reach: &Reach,
        triage: &Triage,
        stretches: &[Stretch],
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        self.found(triage::places(reach, triage, stretches, limit)).await
    }

    async fn places_by_age(
        &self,
        reach: &Reach,
        triage: &Triage,
        latest_first: bool,
        behind: Option<(i64, OperationId)>,
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        self.found(triage::places_by_age(reach, triage, latest_first, behind, limit)).await
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

impl PostgresStore {
    /// The places that a question finds.
    async fn found(&self, mut question: QueryBuilder<'static, Postgres>) -> Result<Vec<Place>, StoreFault> {
        let mut connection = self.connection().await?;
        let found = bounded(question.build_query_as::<(i64, i64, Uuid)>().fetch_all(&mut *connection)).await;
        let place = |(step, since, id): (i64, i64, Uuid)| Place {
            step: Step::from_number(step),
            since,
            id: OperationId::from_u128(id.as_u128()),
        };
        Ok(found.map_err(|trouble| trouble.fault(&""))?.into_iter().map(place).collect())
    }
}
