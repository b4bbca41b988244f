//! Looks for what is to be told, and sends what waits: each message by one process at a time.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use guard::id::OperationId;
use guard::notification::{Attempt, Message};
use guard::recovery::Claim;
use guard::refusal::Refusal;
use guard::service::Guard;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::Notifications;
use crate::background::Work;
use crate::state::Server;

/// Messages that wait are looked for this often, in seconds.
const TICK_SECONDS: u64 = 5;

/// Where something changed, what is to be told is looked for after so many seconds.
pub const LOOK_SECONDS_MIN: u64 = 10;

/// Where nothing changed, it is looked for after so many seconds: what is uncertain grows older by itself.
pub const LOOK_SECONDS_MAX: u64 = 60;

/// One process sends at most so many messages at once.
const MESSAGES_AT_ONCE_MAX: u32 = 16;

/// A process has a message for so long, in seconds; another one sends it then.
const CLAIM_SECONDS: i64 = 60;

/// Tells until the server drains.
pub struct Teller {
    guard: Guard,
    notifications: Notifications,
    /// The name under which this process claims.
    name: Arc<str>,
    changes: broadcast::Receiver<OperationId>,
    looked_at: Option<Instant>,
    has_changed: bool,
}

impl Teller {
    /// The teller of a server, under a name of its own.
    pub fn of(server: &Server) -> Self {
        Self {
            guard: server.guard.clone(),
            notifications: server.notifications.clone(),
            name: hex::encode(server.entropy.bytes()).into(),
            changes: server.database.changes.subscribe(),
            looked_at: None,
            has_changed: false,
        }
    }

    /// Tells what is to be told until the server drains. A message that is on its way then is sent again by whoever serves next.
    pub async fn run(mut self, draining: CancellationToken) {
        let mut ticks = tokio::time::interval(Duration::from_secs(TICK_SECONDS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = Work::named("notifications");
        loop {
            tokio::select! {
                () = draining.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let done = tokio::select! {
                () = draining.cancelled() => return,
                done = self.turn() => done,
            };
            work.tell(done);
        }
    }

    async fn turn(&mut self) -> Result<(), Refusal> {
        let is_due = self.is_due();
        // Without a channel, what is left of those that were taken out is seen to now and then.
        if !is_due && self.guard.catalogue().channels.is_empty() {
            return Ok(());
        }
        if is_due {
            let written = self.guard.tell_news().await?;
            // What failed is looked for again at the next turn.
            (self.looked_at, self.has_changed) = (Some(Instant::now()), false);
            if written > 0 {
                tracing::info!(messages = written, "something is to be told");
            }
        }
        self.deliver().await.map(drop)
    }

    /// Whether it is time to look for what is to be told.
    fn is_due(&mut self) -> bool {
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = self.changes.try_recv() {
            self.has_changed = true;
        }
        let wait = if self.has_changed { LOOK_SECONDS_MIN } else { LOOK_SECONDS_MAX };
        self.looked_at.is_none_or(|looked_at| looked_at.elapsed() >= Duration::from_secs(wait))
    }

    /// Sends what is due; answers how many messages were taken.
    ///
    /// # Errors
    /// The store's fault; a message whose fate could not be stored is sent again.
    pub async fn deliver(&self) -> Result<usize, Refusal> {
        let mut taken = 0;
        loop {
            let until = self.guard.now() + TimeDelta::seconds(CLAIM_SECONDS);
            let claim = Claim { by: self.name.to_string(), until };
            let messages = self.guard.claim_messages(&claim, MESSAGES_AT_ONCE_MAX).await?;
            let is_all = messages.len() < MESSAGES_AT_ONCE_MAX as usize;
            let sent = futures::future::join_all(messages.iter().map(|message| self.deliver_one(message))).await;
            for attempt in sent {
                taken += usize::from(attempt? == Attempt::Delivered);
            }
            if is_all {
                return Ok(taken);
            }
        }
    }

    async fn deliver_one(&self, message: &Message) -> Result<Attempt, Refusal> {
        let delivery = match self.guard.channel_of(message) {
            Some(channel) => Some(self.notifications.send(&channel, message).await),
            None => None,
        };
        let attempt = self.guard.message_settled(message, &self.name, delivery.as_ref()).await?;
        let (id, channel, kind) = (message.id, message.channel.as_str(), message.facts.kind());
        match &attempt {
            Attempt::Delivered => tracing::info!(message = %id, channel, kind, "a message was taken"),
            Attempt::Failed(reason) => {
                tracing::warn!(message = %id, channel, kind, reason, "a message was not taken; it is tried again");
            }
            Attempt::GivenUp(reason) => tracing::error!(message = %id, channel, kind, reason, "a message is given up"),
            Attempt::SwitchedOff(reason) => {
                tracing::error!(channel, reason, "the channel is switched off until it is changed, or a test is taken");
            }
        }
        Ok(attempt)
    }
}
