//! Evidence: facts attached to an operation. Evidence is not a decision.

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::id::{EvidenceId, OperationId};

/// A note has at most this many characters.
pub const NOTE_CHARACTERS_MAX: usize = 4_000;

/// A link has at most this many characters.
pub const LINK_CHARACTERS_MAX: usize = 2_000;

/// What somebody knows about an operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    /// Its id.
    pub id: EvidenceId,
    /// The operation.
    pub operation: OperationId,
    /// When it was added.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// In words.
    pub note: String,
    /// A ticket, a bank's page, a screenshot: an `http` or `https` address.
    pub link: Option<String>,
}
