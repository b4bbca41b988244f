//! What the guard asks of a database to show what it was good for.

use async_trait::async_trait;

use crate::board::AgesOfDay;
use crate::clock::Timestamp;
use crate::conflict::Places;
use crate::id::OperationId;
use crate::refusal::StoreFault;
use crate::summary::Prevention;
use crate::token::Reach;

/// A confirmed operation that would have been done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreventedDuplicate {
    /// The confirmed original.
    pub operation: OperationId,
    /// What the first repetition was answered.
    pub kind: Prevention,
    /// When that repetition came.
    pub asked_at: Timestamp,
    /// When it was certain: the original was confirmed by then. It is counted in the hour of this moment.
    pub certain_at: Timestamp,
}

/// Duplicates prevented, what conflicts were about, and for how long operations were uncertain.
///
/// Each operation has at most one row: the first repetition that was held back. It waits while the attempt that holds it is under way or
/// uncertain; it is counted once the operation is confirmed by that attempt, and forgotten once that attempt is proven not applied,
/// since the repetition was the one that could be sent then.
#[async_trait]
pub trait Proofs: Send + Sync {
    /// Counts repetitions that waited and whose operation is confirmed by now, in the hour of `now`, and forgets those that turned out
    /// to be no duplicates; at most `limit` at a time. Answers how many it looked after.
    async fn settle_held(&self, now: Timestamp, limit: u32) -> Result<u32, StoreFault>;

    /// The duplicates that were counted from `from` to before `to` within reach, the latest first, at most `limit`.
    async fn prevented(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<PreventedDuplicate>, StoreFault>;

    /// In which places the conflicts differ that were opened from `from` to before `to` within reach, the latest first, at most `limit`.
    async fn places_of_conflicts(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Places>, StoreFault>;

    /// Remembers for the day of `at` for how long operations are uncertain then, in place of what was remembered of that day before.
    /// One that became uncertain after `at` is none of them.
    async fn remember_ages(&self, at: Timestamp) -> Result<(), StoreFault>;

    /// What is remembered of the days from `from` to before `to` within reach, added up for each day, the earliest first.
    async fn ages(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<AgesOfDay>, StoreFault>;
}
