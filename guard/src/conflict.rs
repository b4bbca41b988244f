//! Conflicts: another payload under the same key. A record beside the operation, which it never alters.

use crate::clock::Timestamp;
use crate::diff::Change;
use crate::fingerprint::Fingerprint;
use crate::id::{ConflictId, OperationId};

/// A conflict. The same wrong payload again raises `hits`, and so does one that differs from it only in moments, at the same places;
/// any other wrong payload is another conflict.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Conflict {
    /// Its id.
    pub id: ConflictId,
    /// The operation under whose key the payload came.
    pub operation: OperationId,
    /// The fingerprint of the payload that came.
    pub fingerprint: Fingerprint,
    /// The first [`crate::diff::CHANGES_LISTED_MAX`] changes.
    pub changes: Vec<Change>,
    /// How many changes there are.
    pub changes_total: u32,
    /// When it came first.
    pub opened_at: Timestamp,
    /// How often it came.
    pub hits: u64,
    /// Whether somebody has to look at it.
    pub is_open: bool,
}
