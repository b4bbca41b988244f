//! Reconciliations.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use futures::future::try_join_all;
use guard::id::{OperationId, ReconciliationId};
use guard::operation::Operation;
use guard::pull::PullSchedule;
use guard::reconciliation::{
    Bucket, DUPLICATES_COUNTED_MAX, OpenDuplicates, Progress, Reconciled, RecordDecision, Row, Run, RunFilter,
};
use guard::refusal::StoreFault;
use guard::store::{Reconciliations, Replaced, Replacement, Store};
use guard::token::Reach;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::connection::bounded;
use super::{PostgresStore, uuid};
use crate::store::row::{
    OpenDuplicatesRow, OperationRow, PullScheduleRow, ReconciledRow, ReconciliationRow, RecordDecisionRow, ReportRow,
    column_number, json_text, record_digest,
};

const fn run_id(id: ReconciliationId) -> Uuid {
    Uuid::from_u128(id.as_u128())
}

fn ids(operations: &[OperationId]) -> Vec<Uuid> {
    operations.iter().map(|operation| uuid(*operation)).collect()
}

fn progress(run: &Run) -> &'static str {
    match run.progress {
        Progress::Running => "running",
        Progress::Done => "done",
    }
}

/// What reconciliations said of operations, in the transaction of their changes.
pub(super) async fn put_reconciled(
    connection: &mut PgConnection,
    mut rows: Vec<ReconciledRow>,
) -> Result<(), sqlx::Error> {
    rows.sort_unstable_by_key(|row| row.operation);
    let sql = "INSERT INTO reconciled (operation, run, bucket, at) \
               SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) \
               ON CONFLICT (operation) DO UPDATE SET run = excluded.run, bucket = excluded.bucket, at = excluded.at";
    sqlx::query(sql)
        .bind(rows.iter().map(|row| row.operation).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.run).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.bucket.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.at).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

/// Stores a run, or takes up the one that is there; none where that is over.
async fn take_up(connection: &mut PgConnection, run: &Run) -> Result<Option<ReconciliationRow>, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let inserted = sqlx::query(
        "INSERT INTO reconciliation (id, identity, workflow, company, take, progress, content) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (identity) DO NOTHING",
    )
    .bind(run_id(run.id))
    .bind(&run.identity)
    .bind(&run.scope.workflow)
    .bind(&run.scope.company)
    .bind(i64::from(run.take))
    .bind(progress(run))
    .bind(json_text(run))
    .execute(&mut *transaction)
    .await?;
    if inserted.rows_affected() > 0 {
        transaction.commit().await?;
        return Ok(None);
    }
    let known =
        sqlx::query_as::<_, ReconciliationRow>("SELECT id, content FROM reconciliation WHERE identity = $1 FOR UPDATE");
    let known = known.bind(&run.identity).fetch_one(&mut *transaction).await?;
    let again = Run::try_from(known.clone()).ok().filter(|known| known.progress == Progress::Running);
    let Some(known_run) = again else {
        transaction.commit().await?;
        return Ok(Some(known));
    };
    let again = Run { take: known_run.take + 1, started_at: run.started_at, actor: run.actor.clone(), ..known_run };
    let content = json_text(&again);
    sqlx::query("UPDATE reconciliation SET take = $2, content = $3 WHERE id = $1")
        .bind(known.id)
        .bind(i64::from(again.take))
        .bind(&content)
        .execute(&mut *transaction)
        .await?;
    sqlx::query("DELETE FROM reconciliation_row WHERE run = $1").bind(known.id).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(Some(ReconciliationRow { content, ..known }))
}

async fn add_rows(
    connection: &mut PgConnection,
    run: ReconciliationId,
    take: u32,
    rows: &[Row],
) -> Result<Replaced, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let taken = sqlx::query_scalar::<_, i32>("SELECT 1 FROM reconciliation WHERE id = $1 AND take = $2 FOR SHARE");
    let taken = taken.bind(run_id(run)).bind(i64::from(take)).fetch_optional(&mut *transaction).await?;
    if taken.is_none() {
        return Ok(Replaced::Stale);
    }
    // Written again after an answer that was lost, they are the same rows.
    sqlx::query(
        "INSERT INTO reconciliation_row (run, bucket, number, content) \
         SELECT $1, row.bucket, row.number, row.content FROM unnest($2::text[], $3::bigint[], $4::text[]) AS row (bucket, number, content) \
         ON CONFLICT (run, bucket, number) DO UPDATE SET content = excluded.content",
    )
    .bind(run_id(run))
    .bind(rows.iter().map(|row| row.bucket.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| column_number(row.number)).collect::<Vec<_>>())
    .bind(rows.iter().map(json_text).collect::<Vec<_>>())
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Replaced::Replaced)
}

#[async_trait]
impl Reconciliations for PostgresStore {
    async fn operations_by_reference(
        &self,
        workflow: &str,
        company: &str,
        references: &[String],
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        // A list of none implies whatever a partial index asks, and may be looked for in all of its rows.
        if references.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {} FROM operation WHERE destination_reference = ANY($1) AND destination_reference IS NOT NULL \
             AND workflow || '' = $2 AND company || '' = $3 ORDER BY id LIMIT $4",
            OperationRow::COLUMNS
        );
        let found = sqlx::query(&sql).bind(references).bind(workflow).bind(company).bind(i64::from(limit));
        self.all::<OperationRow, _>(found).await
    }

    async fn operations_by_id(&self, operations: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        if operations.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {} FROM operation WHERE id = ANY($1)", OperationRow::COLUMNS);
        self.all::<OperationRow, _>(sqlx::query(&sql).bind(ids(operations))).await
    }

    async fn payloads_of(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
        let mut connection = self.connection().await?;
        super::read(super::ledger::payloads(&mut connection, operations)).await
    }

    async fn take_up(&self, run: &Run) -> Result<Run, StoreFault> {
        let mut connection = self.connection().await?;
        let known = bounded(take_up(&mut connection, run)).await.map_err(|trouble| trouble.fault(&run.id))?;
        known.map_or_else(|| Ok(run.clone()), Run::try_from)
    }

    async fn add_rows(&self, run: ReconciliationId, take: u32, rows: Vec<Row>) -> Result<Replaced, StoreFault> {
        let mut connection = self.connection().await?;
        bounded(add_rows(&mut connection, run, take, &rows)).await.map_err(|trouble| trouble.fault(&run))
    }

    async fn finish(&self, run: &Run) -> Result<Replaced, StoreFault> {
        let mut connection = self.connection().await?;
        let sql = "UPDATE reconciliation SET progress = $3, content = $4 WHERE id = $1 AND take = $2";
        let done =
            sqlx::query(sql).bind(run_id(run.id)).bind(i64::from(run.take)).bind(progress(run)).bind(json_text(run));
        let done = bounded(done.execute(&mut *connection)).await.map_err(|trouble| trouble.fault(&run.id))?;
        Ok(if done.rows_affected() == 0 { Replaced::Stale } else { Replaced::Replaced })
    }

    async fn reconciliation(&self, id: ReconciliationId) -> Result<Option<Run>, StoreFault> {
        let question = sqlx::query("SELECT id, content FROM reconciliation WHERE id = $1").bind(run_id(id));
        Ok(self.all::<ReconciliationRow, _>(question).await?.pop())
    }

    async fn reconciliations(
        &self,
        reach: &Reach,
        filter: &RunFilter,
        before: Option<ReconciliationId>,
        limit: u32,
    ) -> Result<Vec<Run>, StoreFault> {
        let names = |names: &Option<std::collections::BTreeSet<String>>| {
            names.as_ref().map(|names| names.iter().cloned().collect::<Vec<_>>())
        };
        let sql = "SELECT id, content FROM reconciliation WHERE ($1::uuid IS NULL OR id < $1) \
                   AND ($2::text[] IS NULL OR company = ANY($2)) AND ($3::text[] IS NULL OR workflow = ANY($3)) \
                   AND ($4::text IS NULL OR company = $4) AND ($5::text IS NULL OR workflow = $5) \
                   ORDER BY id DESC LIMIT $6";
        let question = sqlx::query(sql)
            .bind(before.map(run_id))
            .bind(names(&reach.companies))
            .bind(names(&reach.workflows))
            .bind(filter.company.as_deref())
            .bind(filter.workflow.as_deref())
            .bind(i64::from(limit));
        self.all::<ReconciliationRow, _>(question).await
    }

    async fn last_reconciliations(&self, reach: &Reach) -> Result<Vec<Run>, StoreFault> {
        let sql = "SELECT DISTINCT ON (company, workflow) id, content FROM reconciliation WHERE progress = 'done' \
                   ORDER BY company, workflow, id DESC";
        let mut found = self.all::<ReconciliationRow, Run>(sqlx::query(sql)).await?;
        found.retain(|run| reach.workflow(&run.scope.workflow) && reach.company(&run.scope.company));
        Ok(found)
    }

    async fn reconciliation_rows(
        &self,
        run: ReconciliationId,
        bucket: Bucket,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Row>, StoreFault> {
        let sql = "SELECT run, content FROM reconciliation_row WHERE run = $1 AND bucket = $2 AND number > $3 \
                   ORDER BY number LIMIT $4";
        let rows = sqlx::query(sql).bind(run_id(run)).bind(bucket.as_str()).bind(column_number(after));
        self.all::<ReportRow, _>(rows.bind(i64::from(limit))).await
    }

    async fn pull_schedules(&self) -> Result<Vec<PullSchedule>, StoreFault> {
        let sql = format!("SELECT {} FROM pull_schedule ORDER BY workflow, company", PullScheduleRow::COLUMNS);
        self.all::<PullScheduleRow, _>(sqlx::query(&sql)).await
    }

    async fn put_pull_schedule(&self, schedule: &PullSchedule) -> Result<Replaced, StoreFault> {
        let PullScheduleRow { workflow, company, version, content } = PullScheduleRow::from(schedule);
        let mut connection = self.connection().await?;
        let sql = if version == 1 {
            "INSERT INTO pull_schedule (workflow, company, version, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
        } else {
            "UPDATE pull_schedule SET version = $3, content = $4 WHERE workflow = $1 AND company = $2 AND version = $3 - 1"
        };
        let put = sqlx::query(sql).bind(workflow).bind(company).bind(version).bind(content);
        let put = bounded(put.execute(&mut *connection)).await.map_err(|trouble| trouble.fault(&schedule.workflow))?;
        Ok(if put.rows_affected() == 0 { Replaced::Stale } else { Replaced::Replaced })
    }

    async fn reconciled(&self, operations: &[OperationId]) -> Result<Vec<Reconciled>, StoreFault> {
        let sql = format!("SELECT {} FROM reconciled WHERE operation = ANY($1)", ReconciledRow::COLUMNS);
        self.all::<ReconciledRow, _>(sqlx::query(&sql).bind(ids(operations))).await
    }

    async fn put_record_decision(&self, decision: &RecordDecision) -> Result<(), StoreFault> {
        let mut connection = self.connection().await?;
        let sql = "INSERT INTO record_decision (operation, digest, run, number, content) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT (operation, digest) DO UPDATE SET run = excluded.run, number = excluded.number, \
                   content = excluded.content";
        let put = sqlx::query(sql)
            .bind(uuid(decision.operation))
            .bind(record_digest(&decision.reference).to_vec())
            .bind(run_id(decision.run))
            .bind(column_number(decision.number))
            .bind(json_text(decision));
        let put = bounded(put.execute(&mut *connection)).await;
        put.map(drop).map_err(|trouble| trouble.fault(&decision.operation))
    }

    async fn record_decisions_of_rows(
        &self,
        run: ReconciliationId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<RecordDecision>, StoreFault> {
        let sql = "SELECT operation, content FROM record_decision WHERE run = $1 AND number BETWEEN $2 AND $3 \
                   ORDER BY number, operation";
        let question = sqlx::query(sql).bind(run_id(run));
        let question = question.bind(column_number(*numbers.start())).bind(column_number(*numbers.end()));
        self.all::<RecordDecisionRow, _>(question).await
    }

    async fn record_decisions_of(&self, operations: &[OperationId]) -> Result<Vec<RecordDecision>, StoreFault> {
        let sql = "SELECT operation, content FROM record_decision WHERE operation = ANY($1) ORDER BY operation, digest";
        self.all::<RecordDecisionRow, _>(sqlx::query(sql).bind(ids(operations))).await
    }

    async fn open_duplicates(&self) -> Result<Vec<OpenDuplicates>, StoreFault> {
        // There is no max of a uuid: the last of the array that is in order.
        let sql = "SELECT o.workflow, o.company, count(*) AS number, (array_agg(d.run ORDER BY d.run DESC))[1] AS run \
                   FROM (SELECT operation, run FROM reconciled WHERE bucket = 'duplicated' LIMIT $1) d \
                   JOIN operation o ON o.id = d.operation WHERE o.state = 'disputed' \
                   GROUP BY o.company, o.workflow ORDER BY o.company, o.workflow";
        self.all::<OpenDuplicatesRow, _>(sqlx::query(sql).bind(i64::from(DUPLICATES_COUNTED_MAX))).await
    }

    async fn replace_all(&self, replacements: Vec<Replacement>) -> Result<Vec<Replaced>, StoreFault> {
        // They wait together, so that they are stored in few batches.
        try_join_all(replacements.into_iter().map(|replacement| self.replace(replacement))).await
    }
}
