//! Retention: bodies are dropped after their days, or at once where somebody asks for it; what proves an operation stays.
//!
//! A body is whatever repeats what was in a payload, a response or a file. Keys, fingerprints, states, references, decisions, money and
//! the trail are none. Nothing that is unresolved and nothing on legal hold is touched.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::id::OperationId;
use crate::key::{KeyPart, OperationKey, first_half, with_parts};
use crate::operation::Operation;
use crate::state::{State, StateName};
use crate::view::OperationView;

/// An erasure concerns at most this many operations of a document.
pub const ERASED_OPERATIONS_MAX: u32 = 100;

/// What is due is counted up to this many operations: past it, "1,000+" says enough.
pub const DUE_COUNTED_MAX: u32 = 1_000;

/// A certificate names at most this many fingerprints of conflicts, of amendments and of files each; the rows keep them all.
pub const CERTIFIED_FINGERPRINTS_MAX: u32 = 100;

/// Which bodies a store keeps of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Its payload, and perhaps more.
    #[default]
    Kept,
    /// None.
    Dropped {
        /// Since when.
        at: Timestamp,
    },
    /// Not its payload, and perhaps something that came later: another payload under its key, a file.
    CameSince {
        /// When its payload was dropped.
        dropped_at: Timestamp,
    },
}

impl Content {
    /// When the payload was dropped; none while it is kept.
    pub const fn dropped_at(self) -> Option<Timestamp> {
        match self {
            Self::Kept => None,
            Self::Dropped { at } | Self::CameSince { dropped_at: at } => Some(at),
        }
    }

    /// Whether there may be something to drop.
    pub const fn keeps_some(self) -> bool {
        match self {
            Self::Kept | Self::CameSince { .. } => true,
            Self::Dropped { .. } => false,
        }
    }

    /// What is kept after everything was dropped at this moment: the payload is told as dropped when it was.
    #[must_use]
    pub const fn dropped(self, at: Timestamp) -> Self {
        match self {
            Self::Kept => Self::Dropped { at },
            Self::Dropped { at } | Self::CameSince { dropped_at: at } => Self::Dropped { at },
        }
    }

    /// What is kept after something came that is not the payload.
    #[must_use]
    pub const fn with_more(self) -> Self {
        match self {
            Self::Kept => Self::Kept,
            Self::Dropped { at: dropped_at } | Self::CameSince { dropped_at } => Self::CameSince { dropped_at },
        }
    }
}

/// The kinds of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// The approved payload.
    Payload,
    /// What the destination answered.
    Response,
    /// A payload that came under the key and made a conflict, with what differed.
    Received,
    /// A payload that an amendment proposed, with what it changes.
    Proposed,
    /// The bytes of a file that is evidence.
    File,
    /// A request in the log of calls.
    Call,
}

impl BodyKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Payload, Self::Response, Self::Received, Self::Proposed, Self::File, Self::Call];

    /// The name in the store and the trail.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Response => "response",
            Self::Received => "received",
            Self::Proposed => "proposed",
            Self::File => "file",
            Self::Call => "call",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// How many bodies of a kind an operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bodies {
    /// The kind.
    pub kind: BodyKind,
    /// How many.
    pub number: u64,
    /// Their bytes together, as they are stored.
    pub bytes: u64,
}

/// What a legal hold covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldScope {
    /// One operation.
    Operation,
    /// Every operation of a document, those to come as well: whatever is under this number of this source system in this company.
    Document,
}

impl HoldScope {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Operation, Self::Document];

    /// The name in the store, the trail and the form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Document => "document",
        }
    }

    /// The scope with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// What a hold is found by: an operation's id, or the hash of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct HoldSubject([u8; 16]);

impl HoldSubject {
    /// What a hold on this operation is found by.
    pub fn operation(id: OperationId) -> Self {
        Self(id.as_u128().to_be_bytes())
    }

    /// What a hold on the document of this key is found by: the first half of a SHA-256 over company, source system and document, each
    /// with its length.
    pub fn document(key: &OperationKey) -> Self {
        let parts = [&key.company, &key.source_system, &key.document].map(KeyPart::as_str);
        Self(first_half(with_parts(Sha256::new().chain_update(b"onceover document\0"), parts)))
    }

    /// What a hold of this scope on an operation is found by.
    pub fn of(scope: HoldScope, operation: &Operation) -> Self {
        match scope {
            HoldScope::Operation => Self::operation(operation.id),
            HoldScope::Document => Self::document(&operation.key),
        }
    }

    /// The subject with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A legal hold: while it stands, nothing of what it covers is dropped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hold {
    /// What it is found by.
    pub subject: HoldSubject,
    /// What it covers.
    pub scope: HoldScope,
    /// The operation at whose page it was placed.
    pub operation: OperationId,
    /// Who placed it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// What a change of an operation makes of holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldChange {
    /// They stay as they are.
    Keep,
    /// This one is placed.
    Place(Box<Hold>),
    /// The one on this subject is lifted.
    Lift(HoldSubject),
}

/// Why the bodies of an operation are not dropped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// It is not settled.
    Unsettled {
        /// Where it stands.
        state: StateName,
    },
    /// Conflicts of it wait for a person.
    OpenConflicts {
        /// How many.
        number: u32,
    },
    /// A change of the document, or the taking back of its record, is under way.
    UnderWay {
        /// The operation that is under way.
        operation: OperationId,
    },
    /// It is on legal hold.
    Held(Box<Hold>),
    /// Nothing is kept of it.
    NothingKept,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsettled { state } => {
                write!(formatter, "it is {}, which is not settled", state.as_str().replace('_', " "))
            }
            Self::OpenConflicts { number: 1 } => formatter.write_str("a conflict of it waits for a decision"),
            Self::OpenConflicts { number } => write!(formatter, "{number} conflicts of it wait for a decision"),
            Self::UnderWay { operation } => {
                write!(
                    formatter,
                    "a change of it, or the taking back of its record, is under way (operation {operation})"
                )
            }
            Self::Held(hold) => {
                let Hold { scope, by, at, reason, .. } = &**hold;
                let what = match scope {
                    HoldScope::Operation => "it is",
                    HoldScope::Document => "its document is",
                };
                write!(formatter, "{what} on legal hold since {}, placed by {by}: {reason}", rfc3339(*at))
            }
            Self::NothingKept => formatter.write_str("nothing is kept of it any more"),
        }
    }
}

/// Why an operation as it stands, by itself, is not one whose bodies may be dropped; none where they may be, unless a hold or another
/// operation says otherwise.
///
/// `confirmed`, `failed`, `released` and `rejected` are settled: nothing is under way, and no decision is awaited. Those of them that may
/// be begun again bring their payload along then, and it is kept anew.
pub fn unsettled(operation: &Operation) -> Option<Obstacle> {
    match &operation.state {
        State::AwaitingApproval
        | State::Acquired { .. }
        | State::Sending { .. }
        | State::Unknown { .. }
        | State::Disputed { .. } => return Some(Obstacle::Unsettled { state: operation.state.name() }),
        State::Confirmed { .. } | State::Failed { .. } | State::Released { .. } | State::Rejected { .. } => {}
    }
    (operation.open_conflicts > 0).then_some(Obstacle::OpenConflicts { number: operation.open_conflicts })
}

/// By which rule bodies are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DropRule {
    /// The workflow's days are over.
    Days {
        /// How many days bodies are kept after the last change.
        payload_days: u32,
        /// The version of the workflow that says so.
        rule_version: u32,
    },
    /// A person had them erased.
    Erasure {
        /// Why.
        reason: String,
    },
}

/// A place in the list of what is due: behind this moment and this id.
pub type DuePlace = (Timestamp, OperationId);

/// What came of a step through what is due in a workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many operations were looked at.
    pub looked_at: u32,
    /// Of how many the bodies were dropped.
    pub dropped: u32,
    /// Where the next step starts; none where nothing is behind.
    pub next: Option<DuePlace>,
}

/// One operation of a document that is to be erased.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Erasable {
    /// The operation.
    pub operation: OperationView,
    /// Since when its payload is gone; none while it is kept.
    pub dropped_at: Option<Timestamp>,
    /// What is kept of it.
    pub bodies: Vec<Bodies>,
    /// Why nothing of it is dropped; none where it may be.
    pub obstacle: Option<Obstacle>,
}

/// How content stands for an operation and its document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Keeping {
    /// Every operation of the document within reach, the oldest first; at most [`ERASED_OPERATIONS_MAX`].
    pub operations: Vec<Erasable>,
    /// Whether there are more.
    pub has_more: bool,
    /// The holds that cover the operation: on it, on its document.
    pub holds: Vec<Hold>,
    /// After how many days bodies of its workflow are dropped; none: never.
    pub payload_days: Option<u32>,
}

/// How retention stands in a workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// How many operations are due, those with something in the way included; counted up to [`DUE_COUNTED_MAX`].
    pub due: u32,
    /// How many bodies were dropped within the last [`DROPPED_COUNTED_DAYS`] days.
    pub dropped: u64,
    /// The hour in which some were dropped last, within these days.
    pub last: Option<Timestamp>,
}

/// What was dropped is told for this many days.
pub const DROPPED_COUNTED_DAYS: i64 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyPart;

    #[test]
    fn a_payload_is_told_as_dropped_when_it_was() {
        let (first, later) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + chrono::TimeDelta::days(1));
        let gone = Content::Kept.dropped(first);
        assert_eq!((gone.dropped_at(), gone.keeps_some()), (Some(first), false));
        let again = gone.with_more();
        assert_eq!((again.dropped_at(), again.keeps_some()), (Some(first), true));
        assert_eq!(again.dropped(later), Content::Dropped { at: first });
        assert_eq!(Content::Kept.with_more(), Content::Kept);
    }

    #[test]
    fn a_document_is_one_in_its_company_and_source_system_alone() {
        let key = |company: &str, document: &str, action: &str, revision| OperationKey {
            workflow: KeyPart::new("w").unwrap(),
            company: KeyPart::new(company).unwrap(),
            source_system: KeyPart::new("erp").unwrap(),
            document: KeyPart::new(document).unwrap(),
            action: KeyPart::new(action).unwrap(),
            revision,
        };
        let subject = HoldSubject::document(&key("acme", "1", "create", 1));
        assert_eq!(subject, HoldSubject::document(&key("acme", "1", "reverse", 2)));
        assert_ne!(subject, HoldSubject::document(&key("other", "1", "create", 1)));
        assert_ne!(subject, HoldSubject::document(&key("acme", "2", "create", 1)));
    }

    #[test]
    fn every_name_is_read_back() {
        for kind in BodyKind::ALL {
            assert_eq!(BodyKind::parse(kind.as_str()), Some(kind));
        }
        for scope in HoldScope::ALL {
            assert_eq!(HoldScope::parse(scope.as_str()), Some(scope));
        }
    }
}
