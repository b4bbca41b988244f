//! Amendments: a reviewed change, which becomes the next revision of a document.
//!
//! A proposal is a record of its own beside the operation of the next revision. It stays readable whatever becomes of it. An approval
//! holds for exactly one fingerprint on exactly one base; where the base has moved, it is void.

mod place;
mod violation;

use std::fmt;

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::diff::Change;
use crate::fingerprint::Fingerprint;
use crate::id::{AmendmentId, ConflictId, OperationId};
use crate::workflow::Correction;

pub use place::{NotAPlace, Place};
pub use violation::{Rule, VIOLATIONS_LISTED_MAX, Violation, violations};

/// Where the proposer names who asked for the change: at most this many characters.
pub const REQUESTED_BY_CHARACTERS_MAX: usize = 200;

/// The confirmed revision that an amendment changes, or the operation whose record it takes back, as it was when that was proposed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Base {
    /// Its operation.
    pub operation: OperationId,
    /// Its number.
    pub revision: u32,
    /// The operation's version then.
    pub version: u64,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The id under which the destination held the record; of a reversal, the record that is taken back.
    pub destination_reference: String,
    /// Since when it was confirmed: one that was disputed in between and settled anew is another base. Of a reversal, since when it was
    /// as it was, confirmed or disputed.
    pub confirmed_at: Timestamp,
}

/// The correction that is made, and the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ruled {
    /// How the destination's record is corrected.
    pub correction: Correction,
    /// The version of the workflow's rules.
    pub rule_version: u32,
    /// Which rule it is and why it applies, in a sentence.
    pub because: String,
}

/// What a look at the destination showed of the base right before an approval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The destination has no lookup.
    NoLookup,
    /// It holds the record of the base, and the key fields agree.
    Agrees,
    /// Nothing follows from its answer; the approver confirmed to approve all the same.
    Inconclusive {
        /// What it answered.
        reason: String,
    },
}

/// What a person approved, and what that person saw.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Approval {
    /// The address of the person.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why, where the person said so.
    pub reason: Option<String>,
    /// What the destination showed of the base.
    pub shown: Shown,
}

/// Where an amendment stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmendmentState {
    /// It waits for approval, or for the second one.
    AwaitingApproval,
    /// It may be begun.
    Approved {
        /// Since when.
        at: Timestamp,
    },
    /// It was rejected.
    Rejected {
        /// When.
        at: Timestamp,
        /// By whom.
        by: Actor,
        /// Why.
        reason: String,
    },
    /// It was taken back.
    Withdrawn {
        /// When.
        at: Timestamp,
        /// By whom.
        by: Actor,
        /// Why.
        reason: String,
    },
    /// Nobody decided in time.
    Expired {
        /// When.
        at: Timestamp,
    },
    /// A worker was permitted to send it.
    Begun {
        /// When first.
        at: Timestamp,
    },
    /// Its base moved before it was begun, so that its approval holds no longer.
    Void {
        /// When that was noticed.
        at: Timestamp,
        /// What moved.
        reason: String,
    },
}

/// The name of an amendment's state, without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmendmentStateName {
    /// See [`AmendmentState::AwaitingApproval`].
    AwaitingApproval,
    /// See [`AmendmentState::Approved`].
    Approved,
    /// See [`AmendmentState::Begun`].
    Begun,
    /// See [`AmendmentState::Rejected`].
    Rejected,
    /// See [`AmendmentState::Withdrawn`].
    Withdrawn,
    /// See [`AmendmentState::Expired`].
    Expired,
    /// See [`AmendmentState::Void`].
    Void,
}

impl AmendmentStateName {
    /// Every state, in the order in which people meet them.
    pub const ALL: [Self; 7] = [
        Self::AwaitingApproval,
        Self::Approved,
        Self::Begun,
        Self::Rejected,
        Self::Withdrawn,
        Self::Expired,
        Self::Void,
    ];

    /// The name in the store, the API and the URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingApproval => "awaiting_approval",
            Self::Approved => "approved",
            Self::Begun => "begun",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Void => "void",
        }
    }

    /// The state with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether it stands in the way of another proposal for the same revision: it waits, or it may be begun.
    pub const fn is_open(self) -> bool {
        match self {
            Self::AwaitingApproval | Self::Approved => true,
            Self::Begun | Self::Rejected | Self::Withdrawn | Self::Expired | Self::Void => false,
        }
    }
}

impl AmendmentState {
    /// The name without the facts.
    pub const fn name(&self) -> AmendmentStateName {
        match self {
            Self::AwaitingApproval => AmendmentStateName::AwaitingApproval,
            Self::Approved { .. } => AmendmentStateName::Approved,
            Self::Rejected { .. } => AmendmentStateName::Rejected,
            Self::Withdrawn { .. } => AmendmentStateName::Withdrawn,
            Self::Expired { .. } => AmendmentStateName::Expired,
            Self::Begun { .. } => AmendmentStateName::Begun,
            Self::Void { .. } => AmendmentStateName::Void,
        }
    }
}

/// A proposed change of a confirmed revision, without the payload.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Amendment {
    /// Its id.
    pub id: AmendmentId,
    /// The operation of the revision that it proposes.
    pub operation: OperationId,
    /// The number of that revision.
    pub revision: u32,
    /// The revision that it changes.
    pub base: Base,
    /// The fingerprint of the proposed payload.
    pub fingerprint: Fingerprint,
    /// The first [`crate::diff::CHANGES_LISTED_MAX`] changes from the base to it.
    pub changes: Vec<Change>,
    /// How many changes there are.
    pub changes_total: u32,
    /// Who proposed it.
    pub proposed_by: Actor,
    /// The address of the person who made the token that proposed it; none where a person did, or the command line made the token.
    pub behind: Option<String>,
    /// Why.
    pub reason: String,
    /// Who asked for it, as the proposer says.
    pub requested_by: Option<String>,
    /// The conflict that it came from.
    pub from_conflict: Option<ConflictId>,
    /// The correction that will be made, and by which rule.
    pub ruled: Ruled,
    /// How many different people must approve.
    pub approvals_needed: u32,
    /// Who has approved.
    pub approvals: Vec<Approval>,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// When it expires, unless somebody decides before.
    pub expires_at: Timestamp,
    /// Where it stands.
    pub state: AmendmentState,
}

/// Why a person may not approve an amendment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Barred {
    /// The person proposed it.
    Proposed,
    /// The person made the token that proposed it.
    MadeTheToken,
    /// The proposal names the person as the one who asked for it.
    AskedForIt,
    /// The person has approved it already; another one is needed.
    ApprovedAlready,
}

impl fmt::Display for Barred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Proposed => "you proposed it; somebody else approves it",
            Self::MadeTheToken => "it was proposed with a token that you made; somebody else approves it",
            Self::AskedForIt => "the proposal names you as the one who asked for it; somebody else approves it",
            Self::ApprovedAlready => "you have approved it; a second person is needed",
        })
    }
}

impl Amendment {
    /// Why the person with this address may not approve it: four eyes are two people. None where that is no obstacle.
    pub fn bars(&self, email: &str) -> Option<Barred> {
        let is = |other: &str| other.trim().eq_ignore_ascii_case(email);
        let proposed = match &self.proposed_by {
            Actor::Person { email } => is(email),
            Actor::Token { .. }
            | Actor::Sweeper
            | Actor::Recovery
            | Actor::Schedule
            | Actor::CommandLine
            | Actor::FirstStart => false,
        };
        if proposed {
            Some(Barred::Proposed)
        } else if self.behind.as_deref().is_some_and(is) {
            Some(Barred::MadeTheToken)
        } else if self.requested_by.as_deref().is_some_and(is) {
            Some(Barred::AskedForIt)
        } else if self.approvals.iter().any(|approval| is(&approval.by)) {
            Some(Barred::ApprovedAlready)
        } else {
            None
        }
    }

    /// Whether it takes a record back instead of changing the document.
    pub fn is_reversal(&self) -> bool {
        self.ruled.correction == Correction::Reverse
    }

    /// How many approvals are still missing.
    pub fn approvals_missing(&self) -> u32 {
        self.approvals_needed.saturating_sub(u32::try_from(self.approvals.len()).unwrap_or(u32::MAX))
    }
}
