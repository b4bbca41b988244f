//! Notifications: who is told of what waits for people, once for a group.
//!
//! What is told is a group (what is late in one workflow, an incident, the amendments of a workflow), not an operation. A group that was
//! told is kept, so that it is not told again; when it grows, it is told again after a quiet time, with how many are new. Messages are
//! written into the store before anything is sent, each with an id that stays the same however often it is tried.

mod channel;
mod facts;

use chrono::TimeDelta;

use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::recovery::{jittered, later};

pub use channel::{
    CHANNELS_MAX, Channel, Mail, NAMES_MAX, QUIET_MINUTES_DEFAULT, QUIET_MINUTES_MAX, RECIPIENTS_MAX, SECRETS_MAX,
    Secret, Tls, Way, WayName, Webhook,
};
pub use facts::{About, Facts, Kind, Piece};

/// A group is counted up to so many of its members.
pub const COUNTED_MAX: u32 = crate::summary::UNCERTAIN_COUNTED_MAX;

/// What is told is what was so for this long, in seconds: by then every write of that moment has been stored, so that nothing slips in
/// behind what was told.
pub const SETTLED_SECONDS: i64 = 5;

/// A message that cannot be delivered is tried for so long, in hours; then it is given up, which its channel shows.
pub const TRY_HOURS_MAX: i64 = 24;

/// The wait after the first try in vain, in seconds; it doubles with every further one, and each is up to a fifth longer at random.
pub const TRY_WAIT_SECONDS_MIN: i64 = 10;

/// The longest wait between two tries, in seconds.
pub const TRY_WAIT_SECONDS_MAX: i64 = 3_600;

/// A group that was told, by the name of the channel, the kind and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The channel.
    pub channel: String,
    /// What kind of thing was told.
    pub kind: Kind,
    /// What it is about: the workflow, or the destination and the cause of an incident.
    pub subject: String,
    /// Raised each time that it is told: a telling is stored only where it follows on the version that was read.
    pub version: u64,
    /// When it was told last.
    pub told_at: Timestamp,
    /// What became due up to this moment has been told.
    pub told_until: Timestamp,
}

impl Group {
    /// Whether it may be told again, or forgotten where it is empty.
    pub fn is_over(&self, channel: &Channel, now: Timestamp) -> bool {
        now >= later(self.told_at, TimeDelta::minutes(channel.quiet_minutes.into()))
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, the same in each try: receivers drop repeats by it.
    pub id: MessageId,
    /// The channel.
    pub channel: String,
    /// The address, where it is mail.
    pub recipient: Option<String>,
    /// What it tells.
    pub facts: Facts,
    /// When it was written.
    pub made_at: Timestamp,
    /// When it is tried next.
    pub due_at: Timestamp,
    /// How often it was tried in vain.
    pub tries: u32,
}

impl Message {
    /// When it is tried again after a try that failed; none where it was tried long enough.
    pub fn again_at(&self, now: Timestamp, random: [u8; 16]) -> Option<Timestamp> {
        let doublings = self.tries.min(i64::BITS / 2);
        let seconds = (TRY_WAIT_SECONDS_MIN << doublings).min(TRY_WAIT_SECONDS_MAX);
        let again = later(now, jittered(TimeDelta::seconds(seconds), random));
        (again <= later(self.made_at, TimeDelta::hours(TRY_HOURS_MAX))).then_some(again)
    }
}

/// What became of one try.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It was taken.
    Delivered,
    /// It was not, or nobody knows; a sentence says why, without any secret.
    Failed(String),
    /// The receiver wants nothing more, ever (410).
    Gone(String),
}

/// What is counted of a try, and kept of its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// A message was taken. A channel that was switched off takes messages again.
    Delivered,
    /// It is tried again.
    Failed(String),
    /// It was tried long enough, or there is nobody left to tell.
    GivenUp(String),
    /// The receiver wants nothing more: the channel is switched off.
    SwitchedOff(String),
}

/// What became of a message with a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is done with.
    Over,
    /// It is tried again at this moment.
    Again(Timestamp),
}

/// How a channel fares.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ChannelState {
    /// The channel. It may have been taken out of the configuration since: what was counted stays.
    pub channel: String,
    /// The way that its messages go.
    pub way: WayName,
    /// How many messages were taken.
    pub delivered: u64,
    /// How many tries failed, of those that were followed by another one.
    pub failed: u64,
    /// How many messages were given up.
    pub given_up: u64,
    /// When a message was taken last.
    pub delivered_at: Option<Timestamp>,
    /// What went wrong last.
    pub last_error: Option<Trouble>,
    /// Since when it is switched off, and why; none where it is not.
    pub switched_off: Option<Trouble>,
}

impl ChannelState {
    /// Nothing was sent yet.
    pub const fn fresh(channel: String, way: WayName) -> Self {
        Self {
            channel,
            way,
            delivered: 0,
            failed: 0,
            given_up: 0,
            delivered_at: None,
            last_error: None,
            switched_off: None,
        }
    }

    /// How it stands after a try.
    pub fn after(self, attempt: &Attempt, at: Timestamp) -> Self {
        let trouble = |reason: &String| Some(Trouble { at, reason: reason.clone() });
        match attempt {
            Attempt::Delivered => {
                Self { delivered: self.delivered + 1, delivered_at: Some(at), switched_off: None, ..self }
            }
            Attempt::Failed(reason) => Self { failed: self.failed + 1, last_error: trouble(reason), ..self },
            Attempt::GivenUp(reason) => Self { given_up: self.given_up + 1, last_error: trouble(reason), ..self },
            Attempt::SwitchedOff(reason) => {
                let switched_off = self.switched_off.or_else(|| trouble(reason));
                Self { failed: self.failed + 1, last_error: trouble(reason), switched_off, ..self }
            }
        }
    }

    /// Whether the last try went wrong, or the channel is switched off.
    pub fn is_failing(&self) -> bool {
        let is_later = |error: &Trouble| self.delivered_at.is_none_or(|delivered| delivered < error.at);
        self.switched_off.is_some() || self.last_error.as_ref().is_some_and(is_later)
    }
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Trouble {
    /// When.
    pub at: Timestamp,
    /// What, in a sentence.
    pub reason: String,
}

#[cfg(test)]
mod tests;
