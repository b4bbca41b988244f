//! What people do about an uncertain operation before it is decided: who is on it, until when it is kept waiting, what one person
//! proposed and a second one has to confirm.

use crate::clock::Timestamp;
use crate::event::Resolution;
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::json::Json;
use crate::lookup::{Finding, Looked};
use crate::trail::{Entry, EntryKind};

/// A claim ends by itself after this many minutes.
pub const CLAIM_MINUTES: i64 = 15;

/// Whoever claims again with fewer minutes left than this gets the whole span once more; before that, nothing changes.
pub const CLAIM_RENEWED_BELOW_MINUTES: i64 = 10;

/// An operation is kept waiting for at least this many minutes.
pub const KEEP_WAITING_MINUTES_MIN: i64 = 1;

/// An operation is kept waiting for at most this many days; then it needs somebody again.
pub const KEEP_WAITING_DAYS_MAX: i64 = 30;

/// What people have done about an uncertain operation. It is gone when the operation's state changes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Review {
    /// The operation.
    pub operation: OperationId,
    /// Who is on it; over when its end has come.
    pub claim: Option<Claim>,
    /// Until when it is kept waiting; over when its end has come.
    pub deferral: Option<Deferral>,
    /// What waits for a second person.
    pub proposal: Option<Proposal>,
}

/// Somebody is on it. It tells others, and guards nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Claim {
    /// The address of whoever is on it.
    pub by: String,
    /// Since when.
    pub at: Timestamp,
    /// Until when.
    pub until: Timestamp,
}

/// Somebody decided to wait.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Deferral {
    /// The address of whoever decided so.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
}

/// A decision that is made once a second person confirms it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Proposal {
    /// The address of the first person, who cannot confirm it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What was decided.
    pub resolution: Resolution,
    /// Why.
    pub reason: String,
    /// A web address of evidence.
    pub link: Option<String>,
    /// The version of the operation that the proposal made: whatever moves the operation from there on makes it void.
    pub version: u64,
    /// The fingerprint that the first person saw.
    pub fingerprint: Fingerprint,
}

/// A person's decision as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The version that the page showed.
    pub seen_version: u64,
    /// What is decided.
    pub resolution: Resolution,
    /// Why.
    pub reason: String,
    /// A web address of evidence.
    pub link: Option<String>,
    /// The name and the bytes of a file that is evidence, kept with the decision.
    pub file: Option<(String, std::sync::Arc<[u8]>)>,
    /// What the destination showed when it was asked for this decision; needed to confirm where it can be asked.
    pub look: Option<Look>,
}

/// A look at the destination that was made for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// When it was begun.
    pub asked_at: Timestamp,
    /// What it showed.
    pub looked: Looked,
    /// What the person was shown before and decides against, as [`Finding::sentence`] said it.
    pub acknowledged: Option<String>,
}

impl Look {
    /// Whether it shows exactly the record that is to be confirmed.
    pub fn shows(&self, reference: &str) -> bool {
        match &self.looked.finding {
            Finding::Found { destination_reference } => destination_reference == reference,
            Finding::Differs { .. }
            | Finding::Several { .. }
            | Finding::VoidOnly { .. }
            | Finding::Absent
            | Finding::Inconclusive { .. } => false,
        }
    }
}

/// What a change of an operation makes of its review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReviewChange {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is this from now on.
    Put(Box<Review>),
    /// There is none any more.
    End,
}

impl Review {
    /// Nothing was done yet.
    pub const fn fresh(operation: OperationId) -> Self {
        Self { operation, claim: None, deferral: None, proposal: None }
    }

    /// The claim that still holds.
    pub fn claim_at(&self, now: Timestamp) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| now < claim.until)
    }

    /// The wait that still holds.
    pub fn deferral_at(&self, now: Timestamp) -> Option<&Deferral> {
        self.deferral.as_ref().filter(|deferral| now < deferral.until)
    }

    /// What is to be kept of it.
    pub fn change(self) -> ReviewChange {
        if self.claim.is_none() && self.deferral.is_none() && self.proposal.is_none() {
            ReviewChange::End
        } else {
            ReviewChange::Put(Box::new(self))
        }
    }
}

/// Whether an entry tells of something that a decision on the operation rests on, so that a page from before it is no longer true.
///
/// Who is on it, that a masked field was opened, that a lease lasts longer, what was decided on another payload, and that a look at the destination showed nothing, are none.
pub fn moves(entry: &Entry) -> bool {
    match entry.kind {
        EntryKind::Claimed
        | EntryKind::ClaimReleased
        | EntryKind::Extended
        | EntryKind::RunApplied
        | EntryKind::ConflictDecided
        | EntryKind::FieldsOpened
        | EntryKind::HoldPlaced
        | EntryKind::HoldLifted => false,
        EntryKind::LookedUp => {
            let fact = |name: &str| entry.detail.member(name).and_then(Json::as_str).unwrap_or_default();
            let shows_nothing = matches!(fact("finding"), "absent" | "inconclusive");
            // The second look in vain was proof.
            !shows_nothing || fact("state") == "failed"
        }
        EntryKind::Begun
        | EntryKind::MarkedSending
        | EntryKind::Released
        | EntryKind::Expired
        | EntryKind::Reported
        | EntryKind::ReportKept
        | EntryKind::ConflictOpened
        | EntryKind::EvidenceAdded
        | EntryKind::KeptWaiting
        | EntryKind::ResolutionProposed
        | EntryKind::ResolutionRejected
        | EntryKind::Registered
        | EntryKind::Resolved
        | EntryKind::AmendmentProposed
        | EntryKind::AmendmentApproved
        | EntryKind::AmendmentRejected
        | EntryKind::AmendmentWithdrawn
        | EntryKind::AmendmentExpired
        | EntryKind::AmendmentVoid
        | EntryKind::ReversalAsked
        | EntryKind::Reversed
        | EntryKind::BodiesDropped
        | EntryKind::Reconciled
        | EntryKind::CandidateConfirmed
        | EntryKind::CandidateRefused
        | EntryKind::Adopted
        | EntryKind::WorkflowApplied
        | EntryKind::WorkflowRemoved
        | EntryKind::DestinationApplied
        | EntryKind::DestinationRemoved
        | EntryKind::ChannelApplied
        | EntryKind::ChannelRemoved
        | EntryKind::ChannelTested
        | EntryKind::PersonAdded
        | EntryKind::TokenCreated
        | EntryKind::TokenRevoked
        | EntryKind::ExportBegun
        | EntryKind::ExportEnded
        | EntryKind::EvidencePacked
        | EntryKind::RunBegun
        | EntryKind::RunEnded
        | EntryKind::RulesProposed
        | EntryKind::RulesApproved
        | EntryKind::RulesRejected
        | EntryKind::RulesWithdrawn
        | EntryKind::RulesVoided
        | EntryKind::PeriodClosed
        | EntryKind::PeriodReopened => true,
    }
}
