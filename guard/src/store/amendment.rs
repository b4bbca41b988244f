//! What the guard asks of a database for amendments.

use async_trait::async_trait;

use crate::amendment::{Amendment, AmendmentStateName};
use crate::clock::Timestamp;
use crate::id::{AmendmentId, OperationId};
use crate::look_alike::Look;
use crate::queue::{Page, PageRequest};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// What a change of an operation makes of the amendment that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AmendmentChange {
    /// Nothing.
    Keep,
    /// It is proposed anew: the operation's payload, fingerprint and money become those of this amendment.
    Propose {
        /// The amendment.
        amendment: Box<Amendment>,
        /// The proposed payload, compact JSON.
        payload: String,
        /// By what it looks like others then.
        look: Option<Look>,
    },
    /// It is this from now on: its approvals and its state may have changed.
    Put(Box<Amendment>),
}

/// Amendments. They are written together with their operation ([`super::Store::insert_if_absent`], [`super::Store::replace`]), so that
/// the operation's version guards them too; at most one of an operation is open.
#[async_trait]
pub trait Amendments: Send + Sync {
    /// The amendment with this id.
    async fn amendment(&self, id: AmendmentId) -> Result<Option<Amendment>, StoreFault>;

    /// The payload that an amendment proposes, compact JSON; none when it was dropped.
    async fn amendment_payload(&self, id: AmendmentId) -> Result<Option<String>, StoreFault>;

    /// The amendments of an operation, newest first, at most `limit`.
    async fn amendments_of(&self, operation: OperationId, limit: u32) -> Result<Vec<Amendment>, StoreFault>;

    /// A page of the amendments within reach, newest first; only in this state, where one is named.
    async fn amendments(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, StoreFault>;

    /// The amendment that stands before this one in [`Self::amendments`]: the next newer one.
    async fn amendment_before(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        id: AmendmentId,
    ) -> Result<Option<Amendment>, StoreFault>;

    /// Amendments that wait for approval and expire at or before `now`, the longest ago first, at most `limit`.
    async fn proposals_over(&self, now: Timestamp, limit: u32) -> Result<Vec<Amendment>, StoreFault>;

    /// How many amendments wait for approval within reach, counted up to `most`.
    async fn proposals_waiting(&self, reach: &Reach, most: u32) -> Result<u32, StoreFault>;
}
