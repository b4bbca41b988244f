//! What a change of rules would have made different, had it been in force: looked at before it is approved.

use crate::clock::Timestamp;
use crate::id::OperationId;

/// So many days are looked back over.
pub const WHAT_IF_DAYS: i64 = 90;

/// At most this many conflicts are looked at, the newest first, whatever workflow they are of.
pub const WHAT_IF_CONFLICTS_MAX: u64 = 10_000;

/// At most this many operations of the workflow are looked at, the newest first.
pub const WHAT_IF_OPERATIONS_MAX: u64 = 20_000;

/// At most this many amendments are looked at, the newest first, whatever workflow they are of.
pub const WHAT_IF_AMENDMENTS_MAX: u64 = 5_000;

/// Each of these is looked at for at most so long, in seconds.
pub const WHAT_IF_SECONDS_MAX: i64 = 3;

/// Of what would have been different, so many examples are named.
pub const WHAT_IF_EXAMPLES_MAX: usize = 20;

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LookedAt {
    /// How many.
    pub number: u64,
    /// Whether there are more that were not looked at, since a bound was reached.
    pub is_cut: bool,
}

/// Operations for which something would have been different.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Different {
    /// How many.
    pub number: u64,
    /// The first of them: the operation with its plain sentence and what would have been different, at most
    /// [`WHAT_IF_EXAMPLES_MAX`].
    pub examples: Vec<Example>,
}

/// One operation for which something would have been different.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Example {
    /// The operation.
    pub operation: OperationId,
    /// Its plain sentence.
    pub sentence: String,
    /// Where, in a few words.
    pub what: String,
}

impl Different {
    /// Takes one more in.
    pub fn add(&mut self, operation: OperationId, sentence: String, what: String) {
        self.number += 1;
        if self.examples.len() < WHAT_IF_EXAMPLES_MAX {
            self.examples.push(Example { operation, sentence, what });
        }
    }
}

/// What a change of rules would have made different over the last [`WHAT_IF_DAYS`] days, within somebody's reach. A part that the
/// change does not touch is not looked at.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WhatIf {
    /// From when on it was looked.
    pub since: Timestamp,
    /// How many conflicts were looked at.
    pub conflicts: LookedAt,
    /// How many operations of the workflow were looked at.
    pub operations: LookedAt,
    /// How many amendments were looked at.
    pub amendments: LookedAt,
    /// Conflicts that would have been repetitions: what differed is left out now.
    pub replays: Different,
    /// Operations that were repeated and hold something at a place that would count now. Whether a repetition differed there is not
    /// known, since the payloads of repetitions are not kept: so many at most would have been conflicts.
    pub possible_conflicts: Different,
    /// Conflicts that may not be turned into an amendment by the rules as they are, and might by the changed ones.
    pub allowed: Different,
    /// Conflicts that may be turned into an amendment by the rules as they are, and might not by the changed ones.
    pub forbidden: Different,
    /// Amendments that were proposed, and could not have been.
    pub amendments_forbidden: Different,
    /// Amendments whose record would be corrected in another way.
    pub corrected_otherwise: Different,
    /// Amendments and reversals that another number of people would have to approve.
    pub approved_otherwise: Different,
    /// Lookups that found a record that disagrees, and would have agreed: it differs in no key field that stays.
    pub agreeing: Different,
    /// Operations whose record would disagree, as far as the destination's answer is kept: a new key field is missing in it, or
    /// differs.
    pub disagreeing: Different,
}
