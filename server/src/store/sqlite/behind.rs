//! Deliveries that were answered, and counts, as a SQLite file takes them.

use guard::refusal::StoreFault;
use rusqlite::{Connection, params};

use super::fault;
use crate::store::behind::{Behind, CountKey, Counts, TEN_THOUSANDTHS_BOUND};
use crate::store::row::{CertainRow, FromSqlite as _};

/// Readers add slots up. One process writes at a time here, so there is one.
const SLOT: i64 = 0;

const ADD_COUNT: &str = "INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
     ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE SET \
         number = number + excluded.number, \
         ten_thousandths = max(min(ten_thousandths + excluded.ten_thousandths, ?9), -?9)";

/// A repetition is kept while the attempt that held it back is still the latest and not proven not applied; one of a later attempt takes
/// the place of one that still waits.
const HOLD: &str = "INSERT INTO prevented (operation, workflow, company, kind, attempt, currency, ten_thousandths, asked_at, certain_at) \
     SELECT id, workflow, company, ?2, ?3, ifnull(currency, ''), ifnull(ten_thousandths, 0), ?4, \
            CASE WHEN state = 'confirmed' THEN ?4 END \
     FROM operation WHERE id = ?1 AND attempt = ?3 AND state NOT IN ('released', 'failed', 'rejected') \
     ON CONFLICT (operation) DO UPDATE SET kind = excluded.kind, attempt = excluded.attempt, asked_at = excluded.asked_at, \
         certain_at = excluded.certain_at \
         WHERE prevented.certain_at IS NULL AND prevented.attempt < excluded.attempt \
     RETURNING workflow, company, kind, currency, ten_thousandths, certain_at";

impl Counts {
    /// Writes the sums inside the transaction.
    pub(super) fn write(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let failed = |error: rusqlite::Error| fault::of(&error, "count", &"?");
        let mut statement = transaction.prepare_cached(ADD_COUNT).map_err(failed)?;
        for (key, number, ten_thousandths) in self.sums() {
            let CountKey { hour, workflow, company, counted, currency } = key;
            let values = params![
                workflow,
                company,
                counted,
                hour,
                currency,
                SLOT,
                number,
                ten_thousandths,
                TEN_THOUSANDTHS_BOUND
            ];
            statement.execute(values).map_err(failed)?;
        }
        Ok(())
    }
}

impl Behind {
    /// Writes everything inside the transaction.
    pub(super) fn write(&self, transaction: &Connection) -> Result<(), StoreFault> {
        self.counts.write(transaction)?;
        self.hold_back(transaction)?;
        let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
        let mut statement = transaction
            .prepare_cached("UPDATE operation SET duplicates_prevented = duplicates_prevented + ?2 WHERE id = ?1")
            .map_err(failed)?;
        for (operation, number) in &self.repeated {
            statement.execute(params![operation.as_u128().to_be_bytes(), number]).map_err(failed)?;
        }
        let failed = |error: rusqlite::Error| fault::of(&error, "conflict", &"?");
        let mut statement =
            transaction.prepare_cached("UPDATE conflict SET hits = hits + ?2 WHERE id = ?1").map_err(failed)?;
        for (conflict, number) in &self.hits {
            statement.execute(params![conflict.as_u128().to_be_bytes(), number]).map_err(failed)?;
        }
        self.tell(transaction)
    }

    /// Keeps the repetitions that were held back, and counts those whose operation is confirmed.
    fn hold_back(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let failed = |error: rusqlite::Error| fault::of(&error, "prevented", &"?");
        let mut statement = transaction.prepare_cached(HOLD).map_err(failed)?;
        let mut certain = Counts::default();
        for (operation, held) in &self.held {
            let values = params![
                operation.as_u128().to_be_bytes(),
                held.kind.as_str(),
                held.attempt,
                held.at.timestamp_millis()
            ];
            let rows = statement.query_map(values, CertainRow::from_sqlite).map_err(failed)?;
            for row in rows {
                let row = row.map_err(failed)?;
                if row.certain_at.is_some() {
                    certain.add(&row.try_into()?);
                }
            }
        }
        certain.write(transaction)
    }

    fn tell(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let failed = |error: rusqlite::Error| fault::of(&error, "delivery", &"?");
        let mut statement = transaction
            .prepare_cached(
                "INSERT INTO delivery (operation, at, decision, conflict, worker, delivery_id, request_id) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )
            .map_err(failed)?;
        for delivery in &self.told {
            let Some(operation) = delivery.operation else { continue };
            let values = params![
                operation.as_u128().to_be_bytes(),
                delivery.at.timestamp_millis(),
                delivery.decision.as_str(),
                delivery.conflict.map(|conflict| conflict.as_u128().to_be_bytes()),
                delivery.worker,
                delivery.delivery_id,
                delivery.request_id
            ];
            statement.execute(values).map_err(failed)?;
        }
        Ok(())
    }
}
