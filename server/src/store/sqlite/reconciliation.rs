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
use rusqlite::{Connection, params};

use super::readers::{all, one};
use super::recovery::Task;
use super::work::{self, execute};
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::row::{
    OpenDuplicatesRow, OperationRow, PullScheduleRow, ReconciledRow, ReconciliationRow, RecordDecisionRow, ReportRow,
    column_number, json_text, record_digest,
};

fn bytes(id: ReconciliationId) -> [u8; 16] {
    id.as_u128().to_be_bytes()
}

/// Ids for `json_each`, as SQLite's `hex` writes them.
fn hexadecimal(ids: &[OperationId]) -> String {
    json_text(&ids.iter().map(|id| hex::encode_upper(work::key(*id))).collect::<Vec<_>>())
}

/// What the last reconciliation said of an operation, in the transaction of its change.
pub(super) fn put_reconciled(transaction: &Connection, row: &ReconciledRow) -> Result<(), StoreFault> {
    let sql = "INSERT INTO reconciled (operation, run, bucket, at) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (operation) DO UPDATE SET run = excluded.run, bucket = excluded.bucket, at = excluded.at";
    let values = params![&row.operation.as_bytes()[..], &row.run.as_bytes()[..], row.bucket, row.at];
    execute(transaction, "reconciled", &row.operation, sql, values).map(drop)
}

fn progress(run: &Run) -> &'static str {
    match run.progress {
        Progress::Running => "running",
        Progress::Done => "done",
    }
}

fn take_up(transaction: &Connection, run: &Run) -> Result<Run, StoreFault> {
    let sql = "SELECT id, content FROM reconciliation WHERE identity = ?1";
    let known = one::<ReconciliationRow, Run>(transaction, "reconciliation", sql, [&run.identity])?;
    let taken = match known {
        None => run.clone(),
        Some(known) if known.progress == Progress::Done => return Ok(known),
        Some(known) => Run { take: known.take + 1, started_at: run.started_at, actor: run.actor.clone(), ..known },
    };
    execute(
        transaction,
        "reconciliation",
        &taken.id,
        "INSERT INTO reconciliation (id, identity, workflow, company, take, progress, content) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET take = excluded.take, content = excluded.content",
        params![
            bytes(taken.id),
            taken.identity,
            taken.scope.workflow,
            taken.scope.company,
            taken.take,
            progress(&taken),
            json_text(&taken)
        ],
    )?;
    execute(
        transaction,
        "reconciliation_row",
        &taken.id,
        "DELETE FROM reconciliation_row WHERE run = ?1",
        [bytes(taken.id)],
    )?;
    Ok(taken)
}

fn is_taken_by(transaction: &Connection, run: ReconciliationId, take: u32) -> Result<bool, StoreFault> {
    transaction
        .prepare_cached("SELECT 1 FROM reconciliation WHERE id = ?1 AND take = ?2")
        .and_then(|mut statement| statement.exists(params![bytes(run), take]))
        .map_err(|error| fault::of(&error, "reconciliation", &run))
}

fn add_rows(transaction: &Connection, run: ReconciliationId, take: u32, rows: &[Row]) -> Result<Replaced, StoreFault> {
    if !is_taken_by(transaction, run, take)? {
        return Ok(Replaced::Stale);
    }
    for row in rows {
        execute(
            transaction,
            "reconciliation_row",
            &row.number,
            "INSERT INTO reconciliation_row (run, bucket, number, content) VALUES (?1, ?2, ?3, ?4)",
            params![bytes(run), row.bucket.as_str(), column_number(row.number), json_text(row)],
        )?;
    }
    Ok(Replaced::Replaced)
}

/// How operations are found by destination references.
pub(super) fn by_reference_question() -> String {
    format!(
        "SELECT {} FROM operation INDEXED BY operation_by_reference \
         WHERE destination_reference IN (SELECT value FROM json_each(?1)) AND destination_reference IS NOT NULL \
         AND workflow = ?2 AND company = ?3 ORDER BY id LIMIT ?4",
        OperationRow::COLUMNS
    )
}

/// How the rows of a run are read.
pub(super) const ROWS: &str = "SELECT run, content FROM reconciliation_row \
     WHERE run = ?1 AND bucket = ?2 AND number > ?3 ORDER BY number LIMIT ?4";

#[async_trait]
impl Reconciliations for SqliteStore {
    async fn operations_by_reference(
        &self,
        workflow: &str,
        company: &str,
        references: &[String],
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let (workflow, company, references) = (workflow.to_owned(), company.to_owned(), json_text(&references));
        self.read(move |connection| {
            let values = params![references, workflow, company, limit];
            all::<OperationRow, _>(connection, "operation", &by_reference_question(), values)
        })
        .await
    }

    async fn operations_by_id(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        let ids = ids.to_vec();
        self.read(move |connection| ids.iter().filter_map(|id| work::operation(connection, *id).transpose()).collect())
            .await
    }

    async fn payloads_of(&self, ids: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
        let ids = ids.to_vec();
        self.read(move |connection| {
            let mut kept = Vec::with_capacity(ids.len());
            for id in ids {
                kept.extend(work::body(connection, id, "payload")?.map(|payload| (id, payload)));
            }
            Ok(kept)
        })
        .await
    }

    async fn take_up(&self, run: &Run) -> Result<Run, StoreFault> {
        let run = run.clone();
        perform(&self.queue, Task(move |transaction: &Connection| take_up(transaction, &run))).await
    }

    async fn add_rows(&self, run: ReconciliationId, take: u32, rows: Vec<Row>) -> Result<Replaced, StoreFault> {
        perform(&self.queue, Task(move |transaction: &Connection| add_rows(transaction, run, take, &rows))).await
    }

    async fn finish(&self, run: &Run) -> Result<Replaced, StoreFault> {
        let run = run.clone();
        let task = Task(move |transaction: &Connection| {
            let sql = "UPDATE reconciliation SET progress = ?3, content = ?4 WHERE id = ?1 AND take = ?2";
            let values = params![bytes(run.id), run.take, progress(&run), json_text(&run)];
            let changed = execute(transaction, "reconciliation", &run.id, sql, values)?;
            Ok(if changed == 0 { Replaced::Stale } else { Replaced::Replaced })
        });
        perform(&self.queue, task).await
    }

    async fn reconciliation(&self, id: ReconciliationId) -> Result<Option<Run>, StoreFault> {
        self.read_here(|connection| {
            one::<ReconciliationRow, _>(
                connection,
                "reconciliation",
                "SELECT id, content FROM reconciliation WHERE id = ?1",
                [bytes(id)],
            )
        })
    }

    async fn reconciliations(
        &self,
        reach: &Reach,
        filter: &RunFilter,
        before: Option<ReconciliationId>,
        limit: u32,
    ) -> Result<Vec<Run>, StoreFault> {
        let (reach, filter) = (reach.clone(), filter.clone());
        self.read(move |connection| {
            let (companies, workflows) =
                (reach.companies.map(|names| json_text(&names)), reach.workflows.map(|names| json_text(&names)));
            let sql = "SELECT id, content FROM reconciliation WHERE (?1 IS NULL OR id < ?1) \
                       AND (?2 IS NULL OR +company IN (SELECT value FROM json_each(?2))) \
                       AND (?3 IS NULL OR +workflow IN (SELECT value FROM json_each(?3))) \
                       AND (?4 IS NULL OR +company = ?4) AND (?5 IS NULL OR +workflow = ?5) ORDER BY id DESC LIMIT ?6";
            let RunFilter { workflow, company } = filter;
            let values = params![before.map(bytes), companies, workflows, company, workflow, limit];
            all::<ReconciliationRow, _>(connection, "reconciliation", sql, values)
        })
        .await
    }

    async fn last_reconciliations(&self, reach: &Reach) -> Result<Vec<Run>, StoreFault> {
        let reach = reach.clone();
        self.read(move |connection| {
            let sql = "SELECT id, content FROM reconciliation WHERE id IN ( \
                           SELECT max(id) FROM reconciliation WHERE progress = 'done' GROUP BY company, workflow) ORDER BY company, workflow";
            let mut found = all::<ReconciliationRow, Run>(connection, "reconciliation", sql, [])?;
            found.retain(|run| reach.workflow(&run.scope.workflow) && reach.company(&run.scope.company));
            Ok(found)
        })
        .await
    }

    async fn reconciliation_rows(
        &self,
        run: ReconciliationId,
        bucket: Bucket,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Row>, StoreFault> {
        self.read(move |connection| {
            let values = params![bytes(run), bucket.as_str(), column_number(after), limit];
            all::<ReportRow, _>(connection, "reconciliation_row", ROWS, values)
        })
        .await
    }

    async fn pull_schedules(&self) -> Result<Vec<PullSchedule>, StoreFault> {
        self.read(|connection| {
            let sql = format!("SELECT {} FROM pull_schedule ORDER BY workflow, company", PullScheduleRow::COLUMNS);
            all::<PullScheduleRow, _>(connection, "pull_schedule", &sql, [])
        })
        .await
    }

    async fn put_pull_schedule(&self, schedule: &PullSchedule) -> Result<Replaced, StoreFault> {
        let row = PullScheduleRow::from(schedule);
        let task = Task(move |transaction: &Connection| {
            let PullScheduleRow { workflow, company, version, content } = &row;
            let sql = if *version == 1 {
                "INSERT INTO pull_schedule (workflow, company, version, content) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
            } else {
                "UPDATE pull_schedule SET version = ?3, content = ?4 WHERE workflow = ?1 AND company = ?2 AND version = ?3 - 1"
            };
            let stored =
                execute(transaction, "pull_schedule", workflow, sql, params![workflow, company, version, content])?;
            Ok(if stored == 0 { Replaced::Stale } else { Replaced::Replaced })
        });
        perform(&self.queue, task).await
    }

    async fn reconciled(&self, operations: &[OperationId]) -> Result<Vec<Reconciled>, StoreFault> {
        let ids = hexadecimal(operations);
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM reconciled WHERE operation IN (SELECT unhex(value) FROM json_each(?1))",
                ReconciledRow::COLUMNS
            );
            all::<ReconciledRow, _>(connection, "reconciled", &sql, [ids])
        })
        .await
    }

    async fn put_record_decision(&self, decision: &RecordDecision) -> Result<(), StoreFault> {
        let decision = decision.clone();
        let task = Task(move |transaction: &Connection| {
            let sql = "INSERT INTO record_decision (operation, digest, run, number, content) VALUES (?1, ?2, ?3, ?4, ?5) \
                       ON CONFLICT (operation, digest) DO UPDATE SET run = excluded.run, number = excluded.number, \
                       content = excluded.content";
            let values = params![
                &work::key(decision.operation)[..],
                &record_digest(&decision.reference)[..],
                bytes(decision.run),
                column_number(decision.number),
                json_text(&decision)
            ];
            execute(transaction, "record_decision", &decision.operation, sql, values).map(drop)
        });
        perform(&self.queue, task).await
    }

    async fn record_decisions_of_rows(
        &self,
        run: ReconciliationId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<RecordDecision>, StoreFault> {
        self.read(move |connection| {
            let sql = "SELECT operation, content FROM record_decision WHERE run = ?1 AND number BETWEEN ?2 AND ?3 \
                       ORDER BY number, operation";
            let values = params![bytes(run), column_number(*numbers.start()), column_number(*numbers.end())];
            all::<RecordDecisionRow, _>(connection, "record_decision", sql, values)
        })
        .await
    }

    async fn record_decisions_of(&self, operations: &[OperationId]) -> Result<Vec<RecordDecision>, StoreFault> {
        let ids = hexadecimal(operations);
        self.read(move |connection| {
            let sql = "SELECT operation, content FROM record_decision \
                       WHERE operation IN (SELECT unhex(value) FROM json_each(?1)) ORDER BY operation, digest";
            all::<RecordDecisionRow, _>(connection, "record_decision", sql, [ids])
        })
        .await
    }

    async fn open_duplicates(&self) -> Result<Vec<OpenDuplicates>, StoreFault> {
        self.read(|connection| {
            let sql = "SELECT o.workflow, o.company, count(*), max(d.run) \
                       FROM (SELECT operation, run FROM reconciled WHERE bucket = 'duplicated' LIMIT ?1) d \
                       JOIN operation o ON o.id = d.operation WHERE o.state = 'disputed' \
                       GROUP BY o.company, o.workflow ORDER BY o.company, o.workflow";
            all::<OpenDuplicatesRow, _>(connection, "reconciled", sql, [DUPLICATES_COUNTED_MAX])
        })
        .await
    }

    async fn replace_all(&self, replacements: Vec<Replacement>) -> Result<Vec<Replaced>, StoreFault> {
        // They wait in the queue together, so that the writer commits them together.
        try_join_all(replacements.into_iter().map(|replacement| self.replace(replacement))).await
    }
}
