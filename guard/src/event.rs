//! What can happen to an operation.

use crate::clock::Timestamp;
use crate::lookup::Finding;
use crate::recovery::Absence;

/// A reason, a reference or another text from a caller has at most this many characters.
pub const REPORT_TEXT_CHARACTERS_MAX: usize = 2_000;

/// What a worker says of its attempt.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The destination holds the record.
    Confirmed {
        /// Under which id.
        destination_reference: String,
    },
    /// Proven not applied.
    Failed {
        /// The proof.
        reason: String,
    },
    /// It may have been applied.
    Unknown {
        /// What happened.
        reason: String,
    },
}

impl Outcome {
    /// The name in every interface.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Confirmed { .. } => "confirmed",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// Whose report it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The reporter holds, or held, the latest lease.
    Latest,
    /// A newer attempt was permitted since.
    Earlier {
        /// The reporter's attempt.
        attempt: u32,
    },
}

/// What a person decides about an uncertain operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The destination holds the record.
    Confirmed {
        /// Under which id.
        destination_reference: String,
    },
    /// The destination does not hold it.
    NotApplied {
        /// How the person knows.
        reason: String,
    },
    /// Nobody can know, and it is not to be sent (again): its key stays taken.
    Dropped {
        /// Why.
        reason: String,
    },
}

/// What happens to the amendment that an operation stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AmendmentStep {
    /// It is proposed anew, after the one before came to nothing.
    Proposed,
    /// It has all the approvals that it needs.
    Approved,
    /// A person rejected it.
    Rejected {
        /// Why.
        reason: String,
    },
    /// It was taken back before anything was applied.
    Withdrawn {
        /// Why.
        reason: String,
    },
    /// Nobody decided in time.
    Expired {
        /// What that means, in a sentence.
        reason: String,
    },
    /// Its base moved, so that its approval holds no longer.
    Void {
        /// What moved.
        reason: String,
    },
}

/// Something that happens to an operation; [`crate::state::State::after`] says what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A further attempt is permitted.
    Begun {
        /// When.
        at: Timestamp,
        /// When its lease ends.
        lease_expires_at: Timestamp,
        /// Whether the worker marks its sending.
        two_step: bool,
    },
    /// The worker is about to call the destination.
    MarkedSending {
        /// When.
        at: Timestamp,
    },
    /// The lease is extended.
    Extended {
        /// When.
        at: Timestamp,
        /// Its new end.
        lease_expires_at: Timestamp,
    },
    /// The guard lengthens the lease of a grant that it has not handed out yet, even when it ran down meanwhile: nobody can have
    /// acted on it.
    Renewed {
        /// When.
        at: Timestamp,
        /// Its new end.
        lease_expires_at: Timestamp,
    },
    /// The lease ended without an outcome.
    LeaseExpired {
        /// When that was noticed.
        at: Timestamp,
    },
    /// A worker reported.
    Reported {
        /// When.
        at: Timestamp,
        /// What.
        outcome: Outcome,
        /// From which attempt.
        standing: Standing,
    },
    /// The destination was looked at.
    LookedUp {
        /// When that was over.
        at: Timestamp,
        /// What it showed.
        finding: Finding,
        /// The proof that nothing was applied, where this lookup completed it.
        absence: Option<Absence>,
    },
    /// A person decided.
    Resolved {
        /// When.
        at: Timestamp,
        /// What.
        resolution: Resolution,
    },
    /// The amendment that the operation stands for was proposed, decided, or came to nothing.
    Amended {
        /// When.
        at: Timestamp,
        /// Which.
        step: AmendmentStep,
    },
}
