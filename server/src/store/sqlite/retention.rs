//! Bodies that may be forgotten, and legal holds.

use std::sync::LazyLock;

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::retention::{Bodies, DuePlace, Hold, HoldChange, HoldSubject};
use guard::store::Retentions;
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::readers::{all, one};
use super::recovery::Task;
use super::work::{execute, key};
use super::writer::perform;
use super::{SqliteStore, fault};
use crate::store::row::{BodiesRow, HoldRow, OperationRow, Place, to_drop};

/// What is due behind a place.
static DUE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM operation INDEXED BY operation_to_drop WHERE {} AND workflow = ?1 AND updated_at <= ?2 \
         AND (updated_at, id) > (?3, ?4) ORDER BY updated_at, id LIMIT ?5",
        OperationRow::COLUMNS,
        to_drop("keeps_bodies = 1")
    )
});

/// How much is due.
static COUNT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT count(*) FROM (SELECT 1 FROM operation INDEXED BY operation_to_drop WHERE {} AND workflow = ?1 \
         AND updated_at <= ?2 LIMIT ?3)",
        to_drop("keeps_bodies = 1")
    )
});

static BODIES: LazyLock<String> = LazyLock::new(|| BodiesRow::counted("?1"));

static DROPPED: LazyLock<[String; 6]> = LazyLock::new(|| BodiesRow::dropped("?1"));

/// What stands on an operation and is under way.
const BUILT_ON: &str = "SELECT operation.id FROM amendment INDEXED BY amendment_by_base \
     JOIN operation ON operation.id = amendment.operation \
     WHERE amendment.base = ?1 AND (amendment.state IN ('awaiting_approval', 'approved') \
       OR operation.state IN ('awaiting_approval', 'acquired', 'sending', 'unknown', 'disputed')) LIMIT 1";

/// Drops every body of an operation.
pub(super) fn drop_bodies(transaction: &Connection, operation: &Uuid) -> Result<(), StoreFault> {
    for sql in &*DROPPED {
        execute(transaction, "body", operation, sql, [&operation.as_bytes()[..]])?;
    }
    Ok(())
}

/// Whether there is a hold on this subject.
pub(super) fn is_held(transaction: &Connection, subject: &HoldSubject) -> Result<bool, StoreFault> {
    transaction
        .prepare_cached("SELECT 1 FROM legal_hold WHERE subject = ?1")
        .and_then(|mut statement| statement.exists([&subject.as_bytes()[..]]))
        .map_err(|error| fault::of(&error, "legal_hold", &"?"))
}

/// Writes what becomes of holds.
pub(super) fn change_hold(transaction: &Connection, change: &HoldChange) -> Result<(), StoreFault> {
    match change {
        HoldChange::Keep => Ok(()),
        HoldChange::Place(hold) => {
            let row = HoldRow::from(&**hold);
            let sql = "INSERT OR REPLACE INTO legal_hold (subject, scope, operation, placed_by, placed_at, reason) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let values = params![
                row.subject,
                row.scope,
                &row.operation.as_bytes()[..],
                row.placed_by,
                row.placed_at,
                row.reason
            ];
            execute(transaction, "legal_hold", &row.operation, sql, values).map(drop)
        }
        HoldChange::Lift(subject) => {
            let sql = "DELETE FROM legal_hold WHERE subject = ?1";
            execute(transaction, "legal_hold", &"?", sql, [&subject.as_bytes()[..]]).map(drop)
        }
    }
}

#[async_trait]
impl Retentions for SqliteStore {
    async fn due_to_drop(
        &self,
        workflow: &str,
        until: Timestamp,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let workflow = workflow.to_owned();
        let (moment, id) = after.map_or((i64::MIN, 0), |(moment, id)| (moment.timestamp_millis(), id.as_u128()));
        self.read(move |connection| {
            let place = params![workflow, until.timestamp_millis(), moment, id.to_be_bytes(), limit];
            all::<OperationRow, Operation>(connection, "operation", &DUE, place)
        })
        .await
    }

    async fn count_due_to_drop(&self, workflow: &str, until: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        let workflow = workflow.to_owned();
        self.read(move |connection| {
            let counted: Result<i64, _> = connection.prepare_cached(&COUNT).and_then(|mut statement| {
                statement.query_row(params![workflow, until.timestamp_millis(), limit], |row| row.get(0))
            });
            let counted = counted.map_err(|error| fault::of(&error, "operation", &"counts"))?;
            Place::new("operation", &"counts").number("updated_at", counted)
        })
        .await
    }

    async fn bodies(&self, operation: OperationId) -> Result<Vec<Bodies>, StoreFault> {
        self.read(move |connection| {
            let mut found = all::<BodiesRow, Bodies>(connection, "body", &BODIES, [key(operation)])?;
            found.retain(|bodies| bodies.number > 0);
            Ok(found)
        })
        .await
    }

    async fn holds(&self, subjects: &[HoldSubject]) -> Result<Vec<Hold>, StoreFault> {
        self.read_here(|connection| {
            let sql = format!("SELECT {} FROM legal_hold WHERE subject = ?1", HoldRow::COLUMNS);
            let mut found = Vec::new();
            for subject in subjects {
                found.extend(one::<HoldRow, Hold>(connection, "legal_hold", &sql, [&subject.as_bytes()[..]])?);
            }
            Ok(found)
        })
    }

    async fn built_on(&self, base: OperationId) -> Result<Option<OperationId>, StoreFault> {
        self.read_here(|connection| {
            let found: Result<Option<[u8; 16]>, _> = connection
                .prepare_cached(BUILT_ON)
                .and_then(|mut statement| statement.query_row([key(base)], |row| row.get(0)).optional());
            let found = found.map_err(|error| fault::of(&error, "amendment", &base))?;
            Ok(found.map(|id| OperationId::from_u128(u128::from_be_bytes(id))))
        })
    }

    async fn claim_sweep(&self, now: Timestamp, claim: &Claim) -> Result<bool, StoreFault> {
        let claim = claim.clone();
        let task = Task(move |transaction: &Connection| {
            let sql = "UPDATE body_sweep SET claimed_by = ?1, claimed_until = ?2 \
                       WHERE number = 1 AND (claimed_until IS NULL OR claimed_until <= ?3 OR claimed_by = ?1)";
            let place = params![claim.by, claim.until.timestamp_millis(), now.timestamp_millis()];
            Ok(execute(transaction, "body_sweep", &1, sql, place)? > 0)
        });
        perform(&self.queue, task).await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    fn plan(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map(parameters, |row| row.get::<_, String>(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_is_due_is_a_stretch_of_its_index_and_what_is_dropped_is_found_by_the_operation() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        let due = plan(&connection, &super::DUE, ("w", 1, 0, [0_u8; 16], 10));
        let reads = due.iter().any(|step| {
            step.contains("USING INDEX operation_to_drop (workflow=? AND updated_at>? AND updated_at<?)")
                || step
                    .contains("USING INDEX operation_to_drop (workflow=? AND (updated_at,id)>(?,?) AND updated_at<?)")
        });
        assert!(reads && !due.iter().any(|step| step.contains("TEMP B-TREE")), "{due:#?}");
        let count = plan(&connection, &super::COUNT, ("w", 1, 10));
        assert!(count.iter().any(|step| step.contains("operation_to_drop (workflow=?")), "{count:#?}");
        let by_operation = super::DROPPED.iter().chain([&*super::BODIES]).map(String::as_str);
        for sql in by_operation.chain([super::BUILT_ON]) {
            let plan = plan(&connection, sql, [[0_u8; 16]]);
            assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{sql}: {plan:#?}");
        }
    }
}
