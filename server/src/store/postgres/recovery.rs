//! Schedules of unknown operations, and how destinations may be asked.
//!
//! Whoever claims locks rows of `recovery` alone, and waits for none of them; whoever changes an operation locks that first. So no two
//! wait for each other.

use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::recovery::Claim;
use guard::store::{RecoveryChange, Replaced};
use guard::summary::Recovering;
use guard::token::Reach;
use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use super::list::unknown_last;
use super::stretch::FirstRows;
use super::{ReadError, uuid};
use crate::store::row::{AccessRow, Place, RecoveryRow};

/// What changes of operations make of their recoveries: those that are scheduled, and those that end.
#[derive(Default)]
pub(super) struct Keeping {
    scheduled: Vec<RecoveryRow>,
    ended: Vec<Uuid>,
}

impl Keeping {
    /// Takes in the change of an operation.
    pub(super) fn take(&mut self, operation: Uuid, change: &RecoveryChange) {
        match change {
            RecoveryChange::Keep => {}
            RecoveryChange::Schedule(recovery) => self.scheduled.push(recovery.as_ref().into()),
            RecoveryChange::End => self.ended.push(operation),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scheduled.is_empty() && self.ended.is_empty()
    }

    /// Stores it for the operations that were changed.
    pub(super) async fn store(mut self, connection: &mut PgConnection, stored: &[Uuid]) -> Result<(), sqlx::Error> {
        self.scheduled.retain(|row| stored.contains(&row.operation));
        self.ended.retain(|operation| stored.contains(operation));
        if !self.ended.is_empty() {
            self.ended.sort_unstable();
            let sql = "DELETE FROM recovery WHERE operation = ANY($1)";
            sqlx::query(sql).bind(self.ended).execute(&mut *connection).await?;
        }
        if !self.scheduled.is_empty() {
            self.scheduled.sort_unstable_by_key(|row| row.operation);
            put(connection, &self.scheduled, "", SCHEDULED).await?;
        }
        Ok(())
    }
}

/// All of it is as the change says.
const SCHEDULED: &str = "destination = excluded.destination, since = excluded.since, \
     last_write_at = excluded.last_write_at, due_at = excluded.due_at, lookups = excluded.lookups, \
     first_negative_at = excluded.first_negative_at, \
     exists_at = excluded.exists_at, last_at = excluded.last_at, last_answer = excluded.last_answer, \
     last_reason = excluded.last_reason, claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, \
     exhausted_at = excluded.exhausted_at";

async fn put(
    connection: &mut PgConnection,
    rows: &[RecoveryRow],
    condition: &str,
    update: &str,
) -> Result<(), sqlx::Error> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let columns = RecoveryRow::COLUMNS;
    let sql = format!(
        "INSERT INTO recovery ({columns}) SELECT {columns} FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], \
         $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[], \
         $14::bigint[]) AS row ({columns}) {condition} ORDER BY operation ON CONFLICT (operation) DO UPDATE SET {update}"
    );
    let insert = sqlx::query(&sql)
        .bind(column!(|row| row.operation))
        .bind(column!(|row| row.destination.as_str()))
        .bind(column!(|row| row.since))
        .bind(column!(|row| row.last_write_at))
        .bind(column!(|row| row.due_at))
        .bind(column!(|row| row.lookups))
        .bind(column!(|row| row.first_negative_at))
        .bind(column!(|row| row.exists_at))
        .bind(column!(|row| row.last_at))
        .bind(column!(|row| row.last_answer.as_deref()))
        .bind(column!(|row| row.last_reason.as_deref()))
        .bind(column!(|row| row.claimed_by.as_deref()))
        .bind(column!(|row| row.claimed_until))
        .bind(column!(|row| row.exhausted_at));
    insert.execute(connection).await?;
    Ok(())
}

/// Adds recoveries of operations that are still unknown; one that has a recovery keeps it, at the new destination.
pub(super) async fn add(connection: &mut PgConnection, rows: &[RecoveryRow]) -> Result<(), sqlx::Error> {
    let is_unknown = "WHERE EXISTS (SELECT FROM operation WHERE operation.id = row.operation AND state = 'unknown')";
    put(connection, rows, is_unknown, "destination = excluded.destination").await
}

/// Claims what is due at a destination; what others are claiming right now is passed over.
pub(super) async fn claim(
    connection: &mut PgConnection,
    destination: &str,
    now: Timestamp,
    claim: &Claim,
    limit: u32,
) -> Result<Vec<OperationId>, sqlx::Error> {
    let claimed: Vec<Uuid> = sqlx::query_scalar(
        "WITH due AS ( \
             SELECT operation FROM recovery \
             WHERE destination = $1 AND exhausted_at IS NULL AND due_at <= $2 \
               AND (claimed_until IS NULL OR claimed_until <= $2) \
             ORDER BY due_at, operation LIMIT $5 FOR UPDATE SKIP LOCKED \
         ) UPDATE recovery SET claimed_by = $3, claimed_until = $4 FROM due \
         WHERE recovery.operation = due.operation RETURNING recovery.operation",
    )
    .bind(destination)
    .bind(now.timestamp_millis())
    .bind(&claim.by)
    .bind(claim.until.timestamp_millis())
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    Ok(claimed.into_iter().map(|id| OperationId::from_u128(id.as_u128())).collect())
}

/// Gives back what a process has claimed of these operations.
pub(super) async fn release(
    connection: &mut PgConnection,
    operations: &[OperationId],
    by: &str,
) -> Result<(), sqlx::Error> {
    let ids: Vec<Uuid> = operations.iter().map(|operation| uuid(*operation)).collect();
    let sql =
        "UPDATE recovery SET claimed_by = NULL, claimed_until = NULL WHERE operation = ANY($1) AND claimed_by = $2";
    sqlx::query(sql).bind(ids).bind(by).execute(connection).await?;
    Ok(())
}

/// Makes a recovery due, unless it is claimed; whether it did.
pub(super) async fn hasten(
    connection: &mut PgConnection,
    operation: OperationId,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let sql = "UPDATE recovery SET due_at = least(due_at, $2), exhausted_at = NULL \
               WHERE operation = $1 AND (claimed_until IS NULL OR claimed_until <= $2)";
    let done = sqlx::query(sql).bind(uuid(operation)).bind(now.timestamp_millis()).execute(connection).await?;
    Ok(done.rows_affected() > 0)
}

/// Takes out the recovery of an operation that is no longer unknown.
pub(super) async fn end(connection: &mut PgConnection, operation: OperationId) -> Result<(), sqlx::Error> {
    let sql = "DELETE FROM recovery WHERE operation = $1 \
               AND NOT EXISTS (SELECT FROM operation WHERE id = $1 AND state = 'unknown')";
    sqlx::query(sql).bind(uuid(operation)).execute(connection).await?;
    Ok(())
}

/// How many recoveries there are within reach, as far as they are counted. Of a limited reach, they are looked for from the operations that
/// are within it: among those of all, they may be rare.
pub(super) async fn recovering(
    connection: &mut PgConnection,
    reach: &Reach,
    most: u32,
) -> Result<Recovering, ReadError> {
    let mut query = QueryBuilder::new("");
    if reach == &Reach::EVERYTHING {
        let count = |query: &mut QueryBuilder<'_, _>, condition: &str, name: &str| {
            query.push(format!("(SELECT count(*) FROM (SELECT FROM recovery WHERE exhausted_at {condition} LIMIT "));
            query.push_bind(i64::from(most)).push(format!(") AS counted) AS {name}"));
        };
        query.push("SELECT waiting, exhausted, greatest(waiting, exhausted) FROM (SELECT ");
        count(&mut query, "IS NULL", "waiting");
        query.push(", ");
        count(&mut query, "IS NOT NULL", "exhausted");
        query.push(") AS kinds");
    } else {
        query.push(
            "SELECT count(*) FILTER (WHERE operation IS NOT NULL AND exhausted_at IS NULL), \
             count(*) FILTER (WHERE exhausted_at IS NOT NULL), count(*) FROM (",
        );
        FirstRows { columns: "id", ..unknown_last(most) }.push(&mut query, reach);
        query.push(") AS latest LEFT JOIN recovery ON recovery.operation = latest.id");
    }
    let (waiting, exhausted, counted): (i64, i64, i64) = query.build_query_as().fetch_one(connection).await?;
    let number = |count: i64| Place::new("recovery", &"counts").number("exhausted_at", count);
    Ok(Recovering { waiting: number(waiting)?, exhausted: number(exhausted)?, is_cut: counted == i64::from(most) })
}

/// Stores how a destination may be asked, where it follows on the version that is stored.
pub(super) async fn put_access(connection: &mut PgConnection, row: AccessRow) -> Result<Replaced, sqlx::Error> {
    let AccessRow { destination, version, failures, down_since, down_reason, probes, probe_at, paced_until } = row;
    let sql = if version == 1 {
        format!(
            "INSERT INTO access ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
            AccessRow::COLUMNS
        )
    } else {
        "UPDATE access SET version = $2, failures = $3, down_since = $4, down_reason = $5, probes = $6, probe_at = $7, \
         paced_until = $8 WHERE destination = $1 AND version = $2 - 1"
            .to_owned()
    };
    let put = sqlx::query(&sql).bind(destination).bind(version).bind(failures).bind(down_since).bind(down_reason);
    let done = put.bind(probes).bind(probe_at).bind(paced_until).execute(connection).await?;
    Ok(if done.rows_affected() == 0 { Replaced::Stale } else { Replaced::Replaced })
}
