//! Deliveries that were answered, and counts, as a SQLite file takes them.

use guard::refusal::StoreFault;
use rusqlite::{Connection, params};

use super::fault;
use crate::store::behind::{Behind, CountKey, Counts, TEN_THOUSANDTHS_BOUND};

/// Readers add slots up. One process writes at a time here, so there is one.
const SLOT: i64 = 0;

const ADD_COUNT: &str = "INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
     ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE SET \
         number = number + excluded.number, \
         ten_thousandths = max(min(ten_thousandths + excluded.ten_thousandths, ?9), -?9)";

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
        let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
        let mut statement = transaction
            .prepare_cached("UPDATE operation SET duplicates_prevented = duplicates_prevented + ?2 WHERE id = ?1")
            .map_err(failed)?;
        for (operation, number) in &self.prevented {
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
