//! What the guard asks of a database for look-alikes.

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::operation::Operation;
use crate::refusal::StoreFault;

/// Which look-alikes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookAlikeQuestion {
    /// Those of this operation.
    pub operation: OperationId,
    /// Created at or after this moment.
    pub from: Timestamp,
    /// Created before this moment.
    pub to: Timestamp,
}

/// Looks of operations. One is written with a new operation ([`super::Store::insert_if_absent`]), and anew where it is proposed anew.
#[async_trait]
pub trait LookAlikes: Send + Sync {
    /// The operations with the look of each one that is asked about, without itself, each beside the one that it looks like: the nearest
    /// `limit` by id before it and the nearest `limit` behind it, in no order.
    async fn look_alikes(
        &self,
        questions: &[LookAlikeQuestion],
        limit: u32,
    ) -> Result<Vec<(OperationId, Operation)>, StoreFault>;
}
