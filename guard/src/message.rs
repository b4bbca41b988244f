//! Messages to customers: what was received, when, in which version.
//!
//! An identical message that is sent again after a delivery error is a further attempt of the same revision; a changed one is a new
//! revision.

use crate::clock::Timestamp;
use crate::state::State;
use crate::view::OperationView;

/// At most this many versions of a message are told, from the first on.
pub const VERSIONS_TOLD_MAX: u32 = 50;

/// Whether the customer received a version.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// It was delivered.
    Received {
        /// Since when that is known.
        at: Timestamp,
        /// Under which id the destination holds it.
        reference: String,
    },
    /// It may have been: nobody knows.
    Uncertain {
        /// Why.
        reason: String,
    },
    /// It was not.
    NotReceived {
        /// How that is known, or what it waits for.
        reason: String,
    },
}

impl Receipt {
    /// What a state says of the receipt.
    pub fn of(state: &State) -> Self {
        let not = |reason: &str| Self::NotReceived { reason: reason.to_owned() };
        match state {
            State::Confirmed { since, destination_reference } => {
                Self::Received { at: *since, reference: destination_reference.clone() }
            }
            State::Unknown { reason, .. } | State::Disputed { reason, .. } => {
                Self::Uncertain { reason: reason.clone() }
            }
            State::Sending { .. } => Self::Uncertain { reason: "a worker may be sending it right now".to_owned() },
            State::Failed { reason, .. } => not(reason),
            State::Released { .. } => not("its lease ended before anything could be sent"),
            State::Acquired { .. } => not("a worker owns it and has not sent it yet"),
            State::AwaitingApproval => not("it waits for approval"),
            State::Rejected { reason, dropped_at: None } => not(&format!("it was rejected: {reason}")),
            State::Rejected { reason, dropped_at: Some(_) } => {
                Self::Uncertain { reason: format!("a person dropped it without knowing: {reason}") }
            }
        }
    }
}

/// What happened to a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageEvent {
    /// An attempt was permitted.
    Begun,
    /// Its lease ended before anything could be sent.
    Released,
    /// Its lease ended while it may have been sent.
    Expired,
    /// Its worker reported.
    Reported,
    /// Its worker reported, too late or otherwise than what is held.
    LateReport,
    /// The destination was asked.
    LookedUp,
    /// A person decided.
    Decided,
}

/// One thing that happened to a version: an attempt, or what became known of one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageStep {
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: MessageEvent,
    /// The attempt that was begun, where one was.
    pub attempt: Option<u64>,
    /// Where the operation stood then, as the trail names it.
    pub state: Option<String>,
}

/// One version of a message.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MessageVersion {
    /// The operation of this revision.
    pub operation: OperationView,
    /// Whether the customer received it.
    pub receipt: Receipt,
    /// Its attempts, and what became known of them, oldest first.
    pub steps: Vec<MessageStep>,
}
