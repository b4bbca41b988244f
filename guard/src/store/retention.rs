//! Bodies that may be forgotten, and what is on legal hold.

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::operation::Operation;
use crate::recovery::Claim;
use crate::refusal::StoreFault;
use crate::retention::{Bodies, DuePlace, Hold, HoldSubject};

/// What retention asks. Bodies are dropped by [`super::Store::replace`], in the transaction of the entry that tells so.
#[async_trait]
pub trait Retentions: Send + Sync {
    /// Settled operations of a workflow without an open conflict that keep some body and last changed at or before `until`, in the
    /// order of that moment and their ids, behind `after`, at most `limit`.
    async fn due_to_drop(
        &self,
        workflow: &str,
        until: Timestamp,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault>;

    /// How many of them there are, counted up to `limit`.
    async fn count_due_to_drop(&self, workflow: &str, until: Timestamp, limit: u32) -> Result<u32, StoreFault>;

    /// What is kept of an operation, by kind; kinds of which there is nothing are left out.
    async fn bodies(&self, operation: OperationId) -> Result<Vec<Bodies>, StoreFault>;

    /// The holds on any of these subjects.
    async fn holds(&self, subjects: &[HoldSubject]) -> Result<Vec<Hold>, StoreFault>;

    /// An operation that changes this one or takes its record back and is under way: proposed, approved, or begun and not settled.
    async fn built_on(&self, base: OperationId) -> Result<Option<OperationId>, StoreFault>;

    /// Claims the sweep of bodies, unless somebody else has it at `now`; answers whether it is claimed.
    async fn claim_sweep(&self, now: Timestamp, claim: &Claim) -> Result<bool, StoreFault>;
}
