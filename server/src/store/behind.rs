//! Deliveries that were answered and wait to be written: added up, so that a thousand repetitions cost one row.

use std::collections::HashMap;

use guard::clock::Timestamp;
use guard::id::{ConflictId, OperationId};
use guard::store::Delivery;
use guard::summary::{Count, Prevention};

use super::row::CountRow;

/// One flush tells at most this many deliveries in histories; all are counted.
const DELIVERIES_PER_FLUSH_MAX: usize = 1_000;

/// One flush tells at most this many deliveries of one operation: one that is repeated a thousand times a second leaves room for others.
const DELIVERIES_PER_OPERATION_AND_FLUSH_MAX: u32 = 20;

/// One flush raises at most this many operations and as many conflicts; the rest follows in the next, so that others wait briefly.
pub(super) const ROWS_PER_FLUSH_MAX: usize = 1_000;

/// From this many operations on, a flush is due at once.
const OPERATIONS_DUE: usize = 10_000;

/// More operations than this never wait: while the disk is full, those beyond are counted in the totals only.
const OPERATIONS_WAITING_MAX: usize = 200_000;

/// A day in milliseconds.
pub(super) const DAY_MILLISECONDS: i64 = 86_400_000;

/// The slot of counts that were added up for a whole day. Those of writers are greater.
pub(super) const FOLDED_SLOT: i64 = -1;

/// Sums of money stop here, in ten-thousandths, so that two of them can be added and compared in SQL.
pub(super) const TEN_THOUSANDTHS_BOUND: i64 = 4 * guard::money::STAKE_MAX;

/// What adds up to more than 64 bits is added up in two halves, of which this is the unit of the upper one.
pub(super) const UPPER_HALF: i64 = 1_000_000_000;

/// The sum of two halves.
pub(super) fn whole(upper: i64, lower: i64) -> i128 {
    i128::from(upper) * i128::from(UPPER_HALF) + i128::from(lower)
}

/// What a count is of.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CountKey {
    /// The start of the hour, in milliseconds since 1970.
    pub hour: i64,
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// What is counted, as its column names it.
    pub counted: String,
    /// The currency; empty where there is none.
    pub currency: String,
}

/// Counts, added up.
#[derive(Clone, Default)]
pub(super) struct Counts {
    sums: HashMap<CountKey, (i64, i64)>,
}

impl Counts {
    /// Adds a count.
    pub(super) fn add(&mut self, count: &Count) {
        let CountRow { workflow, company, counted, hour, currency, number, ten_thousandths } = CountRow::from(count);
        let key = CountKey { hour, workflow, company, counted, currency };
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

    /// Each number and sum of money (in ten-thousandths), in no order.
    pub(super) fn sums(&self) -> impl Iterator<Item = (&CountKey, i64, i64)> {
        self.sums.iter().map(|(key, (number, ten_thousandths))| (key, *number, *ten_thousandths))
    }
}

/// A repetition that was held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// What it was answered.
    pub kind: Prevention,
    /// The attempt on account of which.
    pub attempt: u32,
    /// When it came.
    pub at: Timestamp,
}

/// What waits to be written.
#[derive(Default)]
pub(super) struct Behind {
    /// How often each operation was asked for again and held back.
    pub repeated: HashMap<OperationId, i64>,
    /// The first repetition that the latest attempt of each operation held back.
    pub held: HashMap<OperationId, Held>,
    /// How often each conflict was hit.
    pub hits: HashMap<ConflictId, i64>,
    /// What is counted.
    pub counts: Counts,
    /// What is told in histories.
    pub told: Vec<Delivery>,
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
        self.size() == 0
    }

    /// How many rows wait to be written.
    pub(super) fn size(&self) -> usize {
        self.counts.sums.len() + self.repeated.len() + self.held.len() + self.hits.len() + self.told.len()
    }

    /// Adds a delivery.
    pub(super) fn note(&mut self, delivery: Delivery) -> Noted {
        let is_first = self.is_empty();
        self.counts.add(&delivery.count);
        if let Some(conflict) = delivery.conflict {
            *self.hits.entry(conflict).or_default() += 1;
        }
        if let Some(operation) = delivery.operation {
            if delivery.decision.holds_repetition() {
                let has_place = self.repeated.len() < OPERATIONS_WAITING_MAX || self.repeated.contains_key(&operation);
                if has_place {
                    *self.repeated.entry(operation).or_default() += 1;
                    if let Some((kind, attempt)) = delivery.count.counted.held_as().zip(delivery.held_by) {
                        self.hold(operation, Held { kind, attempt, at: delivery.at });
                    }
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
        Noted { is_first, is_full: self.repeated.len() == OPERATIONS_DUE }
    }

    /// Keeps a repetition, unless an earlier one of the same attempt is kept, or one of a later attempt.
    fn hold(&mut self, operation: OperationId, held: Held) {
        let known = self.held.entry(operation).or_insert(held);
        let is_first = held.attempt == known.attempt && held.at < known.at;
        if held.attempt > known.attempt || is_first {
            *known = held;
        }
    }

    /// Takes out what one flush writes.
    pub(super) fn take(&mut self) -> Self {
        self.told_of.clear();
        Self {
            repeated: take_some(&mut self.repeated),
            held: take_some(&mut self.held),
            hits: take_some(&mut self.hits),
            counts: std::mem::take(&mut self.counts),
            told: std::mem::take(&mut self.told),
            told_of: HashMap::new(),
        }
    }

    /// Puts back what could not be written.
    pub(super) fn put_back(&mut self, unwritten: Self) {
        let Self { repeated, held, hits, counts, mut told, told_of: _ } = unwritten;
        for (operation, number) in repeated {
            *self.repeated.entry(operation).or_default() += number;
        }
        for (operation, held) in held {
            self.hold(operation, held);
        }
        for (conflict, number) in hits {
            *self.hits.entry(conflict).or_default() += number;
        }
        self.counts.merge(counts);
        told.append(&mut self.told);
        told.truncate(DELIVERIES_PER_FLUSH_MAX);
        self.told = told;
    }
}

fn take_some<K: Copy + Eq + std::hash::Hash, V>(waiting: &mut HashMap<K, V>) -> HashMap<K, V> {
    if waiting.len() <= ROWS_PER_FLUSH_MAX {
        return std::mem::take(waiting);
    }
    let chosen: Vec<K> = waiting.keys().copied().take(ROWS_PER_FLUSH_MAX).collect();
    chosen.into_iter().filter_map(|key| waiting.remove_entry(&key)).collect()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn the_first_repetition_of_the_latest_attempt_is_kept() {
        let operation = OperationId::from_u128(1);
        let held = |kind, attempt, second| Held {
            kind,
            attempt,
            at: DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(second),
        };
        let mut behind = Behind::default();
        let steps = [
            (held(Prevention::InProgress, 1, 5), (1, 5)),
            (held(Prevention::Replay, 1, 6), (1, 5)),
            (held(Prevention::Unknown, 1, 4), (1, 4)),
            (held(Prevention::InProgress, 2, 9), (2, 9)),
            (held(Prevention::InProgress, 1, 1), (2, 9)),
        ];
        for (held, (attempt, second)) in steps {
            behind.hold(operation, held);
            let kept = behind.held[&operation];
            assert_eq!((kept.attempt, kept.at.timestamp()), (attempt, second), "{held:?}");
        }
    }
}
