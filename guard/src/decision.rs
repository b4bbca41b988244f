//! What an automation is told when it asks whether it may send.

use crate::clock::Timestamp;
use crate::conflict::Conflict;
use crate::fingerprint::Fingerprint;
use crate::id::TokenId;
use crate::operation::{LeaseToken, Operation};
use crate::payload::Payload;
use crate::state::State;
use crate::workflow::Correction;

/// The decision on one begin, with what the caller needs to act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The caller owns the attempt and may send.
    Proceed {
        /// The operation with its new attempt.
        operation: Operation,
        /// The secret of the lease.
        lease_token: LeaseToken,
        /// When the lease ends.
        lease_expires_at: Timestamp,
        /// Whether this is the same grant again, for a begin whose answer was lost.
        repeated: bool,
        /// What is corrected, where this is an amendment.
        amends: Option<Box<Amends>>,
    },
    /// It is done already.
    Replay {
        /// The confirmed operation.
        operation: Operation,
    },
    /// It was done, and a newer revision is done too.
    Superseded {
        /// The operation that was asked for.
        operation: Operation,
        /// The newest confirmed revision.
        current: Box<Operation>,
    },
    /// Another attempt holds a live lease.
    InProgress {
        /// The operation.
        operation: Operation,
        /// When that lease ends.
        lease_expires_at: Timestamp,
    },
    /// An earlier attempt is uncertain or disputed.
    Unknown {
        /// The operation.
        operation: Operation,
    },
    /// The amendment is proposed and not approved.
    AwaitingApproval {
        /// The operation.
        operation: Operation,
    },
    /// A revision above 1 for which nobody proposed an amendment.
    ApprovalMissing {
        /// The confirmed revision before it.
        previous: Operation,
    },
    /// The revision before it is missing or not confirmed.
    PreviousRevision {
        /// The revision before it, where it exists.
        previous: Option<Box<Operation>>,
        /// Why an approval that was given holds no longer, where that is so.
        reason: Option<String>,
    },
    /// The amendment was rejected, or a person dropped the operation.
    Rejected {
        /// The operation.
        operation: Operation,
        /// Why.
        reason: String,
    },
    /// The same key came with another payload.
    Conflict {
        /// The operation, unaltered.
        operation: Operation,
        /// The conflict.
        conflict: Conflict,
        /// Whether this begin opened it; otherwise it only raises its hits.
        is_new: bool,
    },
}

/// What an amendment corrects, and how: a worker is told, it never chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amends {
    /// How the destination's record is corrected.
    pub correction: Correction,
    /// What is corrected: the revision before it, or the operation whose record is taken back.
    pub previous: Operation,
    /// The id of the record that is corrected or taken back.
    pub record: Option<String>,
    /// The payload of what is corrected; none where it was forgotten.
    pub payload: Option<Payload>,
}

/// The name of a decision, without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionName {
    /// See [`Decision::Proceed`].
    Proceed,
    /// See [`Decision::Replay`].
    Replay,
    /// See [`Decision::Superseded`].
    Superseded,
    /// See [`Decision::InProgress`].
    InProgress,
    /// See [`Decision::Unknown`].
    Unknown,
    /// See [`Decision::AwaitingApproval`].
    AwaitingApproval,
    /// See [`Decision::ApprovalMissing`].
    ApprovalMissing,
    /// See [`Decision::PreviousRevision`].
    PreviousRevision,
    /// See [`Decision::Rejected`].
    Rejected,
    /// See [`Decision::Conflict`].
    Conflict,
}

/// The one instruction that goes with a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Send to the destination, then report the outcome.
    Send,
    /// Do not send; use the result that is there.
    UseResult,
    /// Do not send; ask again later.
    Wait,
    /// Do not send; a person or the sender has to act.
    Stop,
}

impl DecisionName {
    /// Every decision.
    pub const ALL: [Self; 10] = [
        Self::Proceed,
        Self::Replay,
        Self::Superseded,
        Self::InProgress,
        Self::Unknown,
        Self::AwaitingApproval,
        Self::ApprovalMissing,
        Self::PreviousRevision,
        Self::Rejected,
        Self::Conflict,
    ];

    /// The name in the store, the API and the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proceed => "proceed",
            Self::Replay => "replay",
            Self::Superseded => "superseded",
            Self::InProgress => "in_progress",
            Self::Unknown => "unknown",
            Self::AwaitingApproval => "awaiting_approval",
            Self::ApprovalMissing => "approval_missing",
            Self::PreviousRevision => "previous_revision",
            Self::Rejected => "rejected",
            Self::Conflict => "conflict",
        }
    }

    /// The decision with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.as_str() == name)
    }

    /// What the caller does next.
    pub const fn next(self) -> Next {
        match self {
            Self::Proceed => Next::Send,
            Self::Replay | Self::Superseded => Next::UseResult,
            Self::InProgress | Self::Unknown | Self::AwaitingApproval => Next::Wait,
            Self::ApprovalMissing | Self::PreviousRevision | Self::Rejected | Self::Conflict => Next::Stop,
        }
    }

    /// Whether it held back a repetition of what was permitted before. How many duplicates that prevented is another number:
    /// [`crate::summary::Counted::Prevented`].
    pub const fn holds_repetition(self) -> bool {
        crate::summary::Prevention::of(self).is_some()
    }
}

impl Next {
    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::UseResult => "use_result",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

impl Decision {
    /// The name without the facts.
    pub const fn name(&self) -> DecisionName {
        match self {
            Self::Proceed { .. } => DecisionName::Proceed,
            Self::Replay { .. } => DecisionName::Replay,
            Self::Superseded { .. } => DecisionName::Superseded,
            Self::InProgress { .. } => DecisionName::InProgress,
            Self::Unknown { .. } => DecisionName::Unknown,
            Self::AwaitingApproval { .. } => DecisionName::AwaitingApproval,
            Self::ApprovalMissing { .. } => DecisionName::ApprovalMissing,
            Self::PreviousRevision { .. } => DecisionName::PreviousRevision,
            Self::Rejected { .. } => DecisionName::Rejected,
            Self::Conflict { .. } => DecisionName::Conflict,
        }
    }

    /// The operation that the decision is about, where there is one.
    pub const fn operation(&self) -> Option<&Operation> {
        match self {
            Self::Proceed { operation, .. }
            | Self::Replay { operation }
            | Self::Superseded { operation, .. }
            | Self::InProgress { operation, .. }
            | Self::Unknown { operation }
            | Self::AwaitingApproval { operation }
            | Self::Rejected { operation, .. }
            | Self::Conflict { operation, .. } => Some(operation),
            Self::ApprovalMissing { .. } | Self::PreviousRevision { .. } => None,
        }
    }
}

/// Who asks, for the question whether a begin repeats one whose answer was lost.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The API token.
    pub token: TokenId,
    /// The value that the worker made for this one try.
    pub begin_id: Option<&'a str>,
}

/// What an existing operation means for a begin, before anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another payload: a conflict, whatever the state.
    Conflict,
    /// The lease is over and nobody noticed yet: expire it, then decide again.
    Expire,
    /// The same grant again.
    Repeat,
    /// Another attempt holds a live lease.
    InProgress,
    /// Uncertain or disputed.
    Unknown,
    /// Confirmed, and nothing newer is.
    Replay,
    /// Confirmed, and so is a newer revision.
    Superseded,
    /// Released or failed: the next attempt may be permitted.
    BeginAgain,
    /// Proposed, not approved.
    AwaitingApproval,
    /// Rejected.
    Rejected,
}

/// Decides on a begin for an operation that exists. Precedence: a changed payload wins over in progress, which wins over replay.
pub fn decide(operation: &Operation, received: &Fingerprint, asker: Asker<'_>, now: Timestamp) -> Verdict {
    if operation.fingerprint != *received {
        return Verdict::Conflict;
    }
    match &operation.state {
        State::Acquired { lease_expires_at } | State::Sending { lease_expires_at, .. } => {
            if now >= *lease_expires_at {
                Verdict::Expire
            } else if repeats(operation, asker) {
                Verdict::Repeat
            } else {
                Verdict::InProgress
            }
        }
        State::Unknown { .. } | State::Disputed { .. } => Verdict::Unknown,
        State::Confirmed { .. } if operation.superseded_by.is_some() => Verdict::Superseded,
        State::Confirmed { .. } => Verdict::Replay,
        State::Released { .. } | State::Failed { .. } => Verdict::BeginAgain,
        State::AwaitingApproval => Verdict::AwaitingApproval,
        State::Rejected { .. } => Verdict::Rejected,
    }
}

fn repeats(operation: &Operation, asker: Asker<'_>) -> bool {
    operation.attempt.as_ref().is_some_and(|attempt| {
        attempt.token == asker.token && asker.begin_id.is_some() && attempt.begin_id.as_deref() == asker.begin_id
    })
}
