//! Schedules of unknown operations, and how destinations may be asked.

use guard::access::Access;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::recovery::{Claim, Recovery};
use guard::refusal::StoreFault;
use guard::store::{RecoveryChange, Replaced};
use guard::summary::{Count, Recovering};
use guard::token::Reach;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::readers::{all, one};
use super::work::{execute, key};
use super::writer::Work;
use super::{fault, list};
use crate::store::row::{AccessRow, OperationRow, Place, RecoveryRow};

/// A write of recovery: it counts nothing, and changes no operation.
pub(super) struct Task<F>(pub F);

impl<T: Send + 'static, F: Fn(&Connection) -> Result<T, StoreFault> + Send + 'static> Work for Task<F> {
    type Answer = T;

    fn run(&self, transaction: &Connection) -> Result<T, StoreFault> {
        (self.0)(transaction)
    }

    fn counts(&self, _: &T) -> &[Count] {
        &[]
    }

    fn changed(&self, _: &T) -> Option<OperationId> {
        None
    }
}

/// What a change of an operation makes of its recovery, as a row.
pub(super) enum Keeping {
    Keep,
    Schedule(Box<RecoveryRow>),
    End,
}

impl From<RecoveryChange> for Keeping {
    fn from(change: RecoveryChange) -> Self {
        match change {
            RecoveryChange::Keep => Self::Keep,
            RecoveryChange::Schedule(recovery) => Self::Schedule(Box::new(recovery.as_ref().into())),
            RecoveryChange::End => Self::End,
        }
    }
}

impl Keeping {
    /// Writes it for an operation.
    pub(super) fn write(&self, transaction: &Connection, operation: &Uuid) -> Result<(), StoreFault> {
        match self {
            Self::Keep => Ok(()),
            Self::Schedule(row) => put(
                transaction,
                row,
                "DO UPDATE SET destination = excluded.destination, since = excluded.since, \
                 last_write_at = excluded.last_write_at, due_at = excluded.due_at, lookups = excluded.lookups, \
                 first_negative_at = excluded.first_negative_at, exists_at = excluded.exists_at, last_at = excluded.last_at, \
                 last_answer = excluded.last_answer, last_reason = excluded.last_reason, \
                 claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, \
                 exhausted_at = excluded.exhausted_at",
            ),
            Self::End => {
                let sql = "DELETE FROM recovery WHERE operation = ?1";
                execute(transaction, "recovery", operation, sql, [&operation.as_bytes()[..]]).map(drop)
            }
        }
    }
}

fn put(transaction: &Connection, row: &RecoveryRow, otherwise: &str) -> Result<(), StoreFault> {
    let sql = format!(
        "INSERT INTO recovery ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
         ON CONFLICT (operation) {otherwise}",
        RecoveryRow::COLUMNS
    );
    let values = params![
        &row.operation.as_bytes()[..],
        row.destination,
        row.since,
        row.last_write_at,
        row.due_at,
        row.lookups,
        row.first_negative_at,
        row.exists_at,
        row.last_at,
        row.last_answer,
        row.last_reason,
        row.claimed_by,
        row.claimed_until,
        row.exhausted_at,
    ];
    execute(transaction, "recovery", &row.operation, &sql, values).map(drop)
}

/// The recovery of an operation.
pub(super) fn recovery(connection: &Connection, operation: OperationId) -> Result<Option<Recovery>, StoreFault> {
    let sql = format!("SELECT {} FROM recovery WHERE operation = ?1", RecoveryRow::COLUMNS);
    one::<RecoveryRow, _>(connection, "recovery", &sql, [key(operation)])
}

/// Claims what is due. There is one writer, so nobody else is claiming.
pub(super) const CLAIM: &str = "UPDATE recovery SET claimed_by = ?3, claimed_until = ?4 WHERE operation IN ( \
     SELECT operation FROM recovery INDEXED BY recovery_due \
     WHERE destination = ?1 AND exhausted_at IS NULL AND due_at <= ?2 AND (claimed_until IS NULL OR claimed_until <= ?2) \
     ORDER BY due_at, operation LIMIT ?5) RETURNING operation";

/// Whether there may be something to claim at a destination.
pub(super) fn is_any_due(connection: &Connection, destination: &str, now: Timestamp) -> Result<bool, StoreFault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM recovery INDEXED BY recovery_due WHERE destination = ?1 \
         AND exhausted_at IS NULL AND due_at <= ?2 AND (claimed_until IS NULL OR claimed_until <= ?2))";
    let found = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row(params![destination, now.timestamp_millis()], |row| row.get(0)));
    found.map_err(|error| fault::of(&error, "recovery", &destination))
}

/// Claims what is due at a destination.
pub(super) fn claim(
    transaction: &Connection,
    destination: &str,
    now: Timestamp,
    claim: &Claim,
    limit: u32,
) -> Result<Vec<OperationId>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "recovery", &destination);
    let now = now.timestamp_millis();
    let mut statement = transaction.prepare_cached(CLAIM).map_err(failed)?;
    let values = params![destination, now, claim.by, claim.until.timestamp_millis(), limit];
    let claimed = statement.query_map(values, |row| row.get::<_, Vec<u8>>(0)).map_err(failed)?;
    let id = |bytes: Vec<u8>| Place::new("recovery", &destination).bytes("operation", &bytes);
    claimed.map(|bytes| Ok(OperationId::from_u128(u128::from_be_bytes(id(bytes.map_err(failed)?)?)))).collect()
}

/// Gives back what a process has claimed of these operations.
pub(super) fn release(transaction: &Connection, operations: &[OperationId], by: &str) -> Result<(), StoreFault> {
    let sql = "UPDATE recovery SET claimed_by = NULL, claimed_until = NULL WHERE operation = ?1 AND claimed_by = ?2";
    operations.iter().try_for_each(|operation| {
        execute(transaction, "recovery", operation, sql, params![key(*operation), by]).map(drop)
    })
}

/// Makes a recovery due, unless it is claimed; whether it did.
pub(super) fn hasten(transaction: &Connection, operation: OperationId, now: Timestamp) -> Result<bool, StoreFault> {
    let sql = "UPDATE recovery SET due_at = min(due_at, ?2), exhausted_at = NULL \
               WHERE operation = ?1 AND (claimed_until IS NULL OR claimed_until <= ?2)";
    let changed = execute(transaction, "recovery", &operation, sql, params![key(operation), now.timestamp_millis()])?;
    Ok(changed > 0)
}

/// Unknown operations of a workflow without a recovery at a destination.
pub(super) fn without(
    connection: &Connection,
    workflow: &str,
    destination: &str,
    after: OperationId,
    limit: u32,
) -> Result<Vec<Operation>, StoreFault> {
    let sql = without_question();
    all::<OperationRow, _>(connection, "operation", &sql, params![workflow, destination, key(after), limit])
}

/// How [`without`] asks.
pub(super) fn without_question() -> String {
    format!(
        "SELECT {} FROM operation INDEXED BY operation_unfinished \
         WHERE state = 'unknown' AND state <> 'confirmed' AND id > ?3 AND workflow = ?1 \
         AND NOT EXISTS (SELECT 1 FROM recovery WHERE recovery.operation = operation.id AND recovery.destination = ?2) \
         ORDER BY id LIMIT ?4",
        OperationRow::COLUMNS
    )
}

/// Adds recoveries of operations that are still unknown.
pub(super) fn add(transaction: &Connection, rows: &[RecoveryRow]) -> Result<(), StoreFault> {
    for row in rows {
        let is_unknown = transaction
            .prepare_cached("SELECT 1 FROM operation WHERE id = ?1 AND state = 'unknown'")
            .and_then(|mut statement| statement.exists([&row.operation.as_bytes()[..]]))
            .map_err(|error| fault::of(&error, "operation", &row.operation))?;
        if is_unknown {
            put(transaction, row, "DO UPDATE SET destination = excluded.destination")?;
        }
    }
    Ok(())
}

/// Takes out the recovery of an operation that is no longer unknown.
pub(super) fn end(transaction: &Connection, operation: OperationId) -> Result<(), StoreFault> {
    let sql = "DELETE FROM recovery WHERE operation = ?1 \
               AND NOT EXISTS (SELECT 1 FROM operation WHERE id = ?1 AND state = 'unknown')";
    execute(transaction, "recovery", &operation, sql, [key(operation)]).map(drop)
}

/// How many recoveries there are within reach, as far as they are counted.
pub(super) fn recovering(connection: &Connection, reach: &Reach, most: u32) -> Result<Recovering, StoreFault> {
    let list::Question { sql, values } = list::recovering(reach, most);
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| {
            statement.query_row(rusqlite::params_from_iter(values), |row| {
                Ok(Recovering { waiting: row.get(0)?, exhausted: row.get(1)?, is_cut: row.get::<_, u32>(2)? == most })
            })
        })
        .map_err(|error| fault::of(&error, "recovery", &"counts"))
}

/// How each destination may be asked.
pub(super) fn accesses(connection: &Connection) -> Result<Vec<Access>, StoreFault> {
    let sql = format!("SELECT {} FROM access ORDER BY destination", AccessRow::COLUMNS);
    all::<AccessRow, _>(connection, "access", &sql, [])
}

/// Stores how a destination may be asked, where it follows on the version that is stored.
pub(super) fn put_access(transaction: &Connection, row: &AccessRow) -> Result<Replaced, StoreFault> {
    let AccessRow { destination, version, failures, down_since, down_reason, probes, probe_at, paced_until } = row;
    let values = params![destination, version, failures, down_since, down_reason, probes, probe_at, paced_until];
    let sql = if *version == 1 {
        format!(
            "INSERT INTO access ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            AccessRow::COLUMNS
        )
    } else {
        "UPDATE access SET version = ?2, failures = ?3, down_since = ?4, down_reason = ?5, probes = ?6, probe_at = ?7, \
         paced_until = ?8 WHERE destination = ?1 AND version = ?2 - 1"
            .to_owned()
    };
    let stored = execute(transaction, "access", destination, &sql, values)?;
    Ok(if stored == 0 { Replaced::Stale } else { Replaced::Replaced })
}
