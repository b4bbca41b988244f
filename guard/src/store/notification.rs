//! What is kept of notifications: which groups were told, the messages on their way, and how each channel fares.

use async_trait::async_trait;

use super::Replaced;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::notification::{Attempt, ChannelState, Fate, Group, Message, Piece, WayName};
use crate::recovery::Claim;
use crate::refusal::StoreFault;
use crate::token::Reach;

/// Groups, messages and the state of channels.
#[async_trait]
pub trait Notifications: Send + Sync {
    /// Every group that was told.
    async fn told_groups(&self) -> Result<Vec<Group>, StoreFault>;

    /// What has been uncertain in a workflow for so long (in minutes) at a moment, and is not kept waiting; at most
    /// [`crate::notification::COUNTED_MAX`]. It is due since it became late, or since the wait ended.
    async fn overdue(
        &self,
        reach: &Reach,
        workflow: &str,
        limit_minutes: u32,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault>;

    /// The amendments of a workflow that were proposed up to a moment and wait for approval; at most
    /// [`crate::notification::COUNTED_MAX`].
    async fn amendments_waiting(
        &self,
        reach: &Reach,
        workflow: &str,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault>;

    /// Keeps that a group is told and the messages that tell it, if the group still has the version before (none, for version 1).
    async fn tell(&self, group: &Group, messages: &[Message]) -> Result<Replaced, StoreFault>;

    /// Forgets a group that is over, if it still has this version.
    async fn forget_group(&self, group: &Group) -> Result<(), StoreFault>;

    /// Whether a message could be claimed now; reads alone.
    async fn is_message_due(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
    ) -> Result<bool, StoreFault>;

    /// Claims messages that are due and that nobody else has, the longest due first, at most `limit`. Those of channels that are
    /// switched off are left alone, unless they were made at or before `over`.
    async fn claim_messages(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<Message>, StoreFault>;

    /// Keeps what became of a message and of its channel, if this process still has the message.
    async fn settle_message(&self, id: MessageId, by: &str, fate: Fate, tried: &Tried) -> Result<Replaced, StoreFault>;

    /// Keeps how a channel fared in a try that no message stands behind.
    async fn note_try(&self, tried: &Tried) -> Result<(), StoreFault>;

    /// How each channel fares, of those that were ever used, by name.
    async fn channel_states(&self) -> Result<Vec<ChannelState>, StoreFault>;

    /// How many messages are on their way.
    async fn messages_waiting(&self) -> Result<u64, StoreFault>;
}

/// One try of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The channel.
    pub channel: String,
    /// The way that its messages go.
    pub way: WayName,
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub attempt: Attempt,
}
