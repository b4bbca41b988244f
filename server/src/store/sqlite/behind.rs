//! Deliveries that were answered and wait to be written: added up, so that a thousand repetitions cost one row.

use std::collections::HashMap;

use guard::id::{ConflictId, OperationId};
use guard::refusal::StoreFault;
use guard::store::Delivery;
use guard::summary::Count;
use rusqlite::{Connection, params};

use super::fault;
use crate::store::row::CountRow;

/// One flush tells at most this many deliveries in histories; all are counted.
pub(super) const DELIVERIES_PER_FLUSH_MAX: usize = 1_000;

/// One flush tells at most this many deliveries of one operation: one that is repeated a thousand times a second leaves room for others.
pub(super) const DELIVERIES_PER_OPERATION_AND_FLUSH_MAX: u32 = 20;

/// One flush raises at most this many operations and as many conflicts; the rest follows in the next, so that jobs wait briefly.
pub(super) const ROWS_PER_FLUSH_MAX: usize = 1_000;

/// From this many operations on, a flush is due at once.
const OPERATIONS_DUE: usize = 10_000;

/// More operations than this never wait: while the disk is full, those beyond are counted in the totals only.
const OPERATIONS_WAITING_MAX: usize = 200_000;

/// What a count is of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CountKey {
    workflow: String,
    company: String,
    counted: String,
    hour: i64,
    currency: String,
}

/// Counts, added up.
#[derive(Default)]
pub(super) struct Counts {
    sums: HashMap<CountKey, (i64, i64)>,
}

/// Sums of money stop here, in ten-thousandths, so that two of them can be added and compared in SQL.
const TEN_THOUSANDTHS_BOUND: i64 = 9_000_000_000_000_000_000;

/// Readers add slots up. One process writes at a time here, so there is one.
const SLOT: i64 = 0;

const ADD_COUNT: &str = "INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
     ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE SET \
         number = number + excluded.number, \
         ten_thousandths = max(min(ten_thousandths + excluded.ten_thousandths, ?9), -?9)";

impl Counts {
    /// Adds a count.
    pub(super) fn add(&mut self, count: &Count) {
        let CountRow { workflow, company, counted, hour, currency, number, ten_thousandths } = CountRow::from(count);
        let key = CountKey { workflow, company, counted, hour, currency };
        self.add_sum(key, number, ten_thousandths);
    }

    fn add_sum(&mut self, key: CountKey, number: i64, ten_thousandths: i64) {
        let sum = self.sums.entry(key).or_default();
        sum.0 = sum.0.saturating_add(number);
        sum.1 = sum.1.saturating_add(ten_thousandths).clamp(-TEN_THOUSANDTHS_BOUND, TEN_THOUSANDTHS_BOUND);
    }

    fn merge(&mut self, other: Self) {
        for (key, (number, ten_thousandths)) in other.sums {
            self.add_sum(key, number, ten_thousandths);
        }
    }

    /// Writes the sums inside the transaction.
    pub(super) fn write(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let failed = |error: rusqlite::Error| fault::of(&error, "count", &"?");
        let mut statement = transaction.prepare_cached(ADD_COUNT).map_err(failed)?;
        for (key, (number, ten_thousandths)) in &self.sums {
            let CountKey { workflow, company, counted, hour, currency } = key;
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

/// What waits to be written.
#[derive(Default)]
pub(super) struct Behind {
    prevented: HashMap<OperationId, i64>,
    hits: HashMap<ConflictId, i64>,
    counts: Counts,
    told: Vec<Delivery>,
    told_of: HashMap<OperationId, u32>,
}

/// What noting a delivery did.
pub(super) struct Noted {
    /// Nothing waited before.
    pub is_first: bool,
    /// So much waits that a flush is due.
    pub is_full: bool,
}

impl Behind {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.sums.is_empty() && self.prevented.is_empty() && self.hits.is_empty() && self.told.is_empty()
    }

    /// How many rows wait to be written.
    pub(super) fn size(&self) -> usize {
        self.counts.sums.len() + self.prevented.len() + self.hits.len() + self.told.len()
    }

    /// Adds a delivery.
    pub(super) fn note(&mut self, delivery: Delivery) -> Noted {
        let is_first = self.is_empty();
        self.counts.add(&delivery.count);
        if let Some(conflict) = delivery.conflict {
            *self.hits.entry(conflict).or_default() += 1;
        }
        if let Some(operation) = delivery.operation {
            if delivery.decision.prevents_duplicate() {
                let has_place =
                    self.prevented.len() < OPERATIONS_WAITING_MAX || self.prevented.contains_key(&operation);
                if has_place {
                    *self.prevented.entry(operation).or_default() += 1;
                }
            }
            if self.told.len() < DELIVERIES_PER_FLUSH_MAX {
                let told = self.told_of.entry(operation).or_default();
                if *told < DELIVERIES_PER_OPERATION_AND_FLUSH_MAX {
                    *told += 1;
                    self.told.push(delivery);
                }
            }
        }
        // Once, on the way up: while flushes fail, each further delivery need not wake the writer.
        Noted { is_first, is_full: self.prevented.len() == OPERATIONS_DUE }
    }

    /// Takes out what one flush writes.
    pub(super) fn take(&mut self) -> Self {
        self.told_of.clear();
        Self {
            prevented: take_some(&mut self.prevented),
            hits: take_some(&mut self.hits),
            counts: std::mem::take(&mut self.counts),
            told: std::mem::take(&mut self.told),
            told_of: HashMap::new(),
        }
    }

    /// Puts back what could not be written.
    pub(super) fn put_back(&mut self, unwritten: Self) {
        let Self { prevented, hits, counts, mut told, told_of: _ } = unwritten;
        for (operation, number) in prevented {
            *self.prevented.entry(operation).or_default() += number;
        }
        for (conflict, number) in hits {
            *self.hits.entry(conflict).or_default() += number;
        }
        self.counts.merge(counts);
        told.append(&mut self.told);
        told.truncate(DELIVERIES_PER_FLUSH_MAX);
        self.told = told;
    }

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

fn take_some<K: Copy + Eq + std::hash::Hash>(waiting: &mut HashMap<K, i64>) -> HashMap<K, i64> {
    if waiting.len() <= ROWS_PER_FLUSH_MAX {
        return std::mem::take(waiting);
    }
    let chosen: Vec<K> = waiting.keys().copied().take(ROWS_PER_FLUSH_MAX).collect();
    chosen.into_iter().filter_map(|key| waiting.remove_entry(&key)).collect()
}
