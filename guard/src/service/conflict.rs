//! Conflicts: which payloads there are of an operation, and what people decide about one that came under its key.

use std::fmt;
use std::str::FromStr;

use super::Guard;
use super::desk::HISTORY_ROWS_MAX;
use crate::conflict::Conflict;
use crate::id::{ConflictId, OperationId};
use crate::key::REVISION_MAX;
use crate::operation::Operation;
use crate::pointer::Pointer;
use crate::refusal::Refusal;
use crate::token::Reach;

/// A payload of a document: what is compared with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// That of a revision, as it stands.
    Revision(u32),
    /// One that came under the key and made a conflict.
    Received(ConflictId),
}

impl fmt::Display for Version {
    /// As an address writes it: `2`, or the conflict's id.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(revision) => write!(formatter, "{revision}"),
            Self::Received(conflict) => write!(formatter, "{conflict}"),
        }
    }
}

impl FromStr for Version {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        if let Some(revision) = text.parse().ok().filter(|revision| (1..=REVISION_MAX).contains(revision)) {
            return Ok(Self::Revision(revision));
        }
        let message = "is no version; write the number of a revision, or the id of a conflict";
        text.parse().map(Self::Received).map_err(|_| Refusal::field("version", format!("{text:?} {message}")))
    }
}

/// The payloads that there are of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// The revisions, from 1.
    pub revisions: Vec<u32>,
    /// The conflicts of the operation that was asked for, the newest first.
    pub received: Vec<Conflict>,
}

/// At most this many revisions of a document are listed; any other is compared by its address.
pub const REVISIONS_LISTED_MAX: u32 = 50;

impl Guard {
    /// Which payloads there are to compare: the revisions of the operation's document, and what came under its key.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn versions(&self, reach: &Reach, id: OperationId) -> Result<Versions, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let mut revisions = Vec::new();
        for revision in 1..=REVISIONS_LISTED_MAX {
            if self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?.is_none() {
                break;
            }
            revisions.push(revision);
        }
        Ok(Versions { revisions, received: self.inner.store.conflicts(id, HISTORY_ROWS_MAX).await? })
    }

    /// The payload of a version of the operation's document, compact JSON; none where it was dropped.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] where there is no such version within reach, the store's fault.
    pub async fn version(&self, reach: &Reach, id: OperationId, version: Version) -> Result<Option<String>, Refusal> {
        let operation = self.reachable(reach, id).await?;
        match version {
            Version::Revision(revision) => {
                let holder = self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?;
                let holder = holder.ok_or_else(|| Refusal::not_found("revision"))?;
                Ok(self.inner.store.payload(holder.id).await?)
            }
            Version::Received(conflict) => {
                let found = self.inner.store.conflict_by_id(conflict).await?;
                let found = found.ok_or_else(|| Refusal::not_found("conflict"))?;
                let (_, holder) = self.conflict_within(reach, found).await?;
                if holder.key.at_revision(1) != operation.key.at_revision(1) {
                    return Err(Refusal::not_found("conflict of this document"));
                }
                Ok(self.inner.store.conflict_payload(conflict).await?)
            }
        }
    }

    /// The places that do not count in an operation's fingerprint.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn left_out(&self, operation: &Operation) -> Result<Vec<Pointer>, Refusal> {
        Ok(self.volatile_of(operation).await?.map(|places| places.to_vec()).unwrap_or_default())
    }

    /// A conflict with its operation, where that lies within reach.
    async fn conflict_within(&self, reach: &Reach, conflict: Conflict) -> Result<(Conflict, Operation), Refusal> {
        let operation = self.reachable(reach, conflict.operation).await;
        let operation = operation.map_err(|refusal| match refusal {
            Refusal::NotFound { .. } => Refusal::not_found("conflict"),
            other => other,
        })?;
        Ok((conflict, operation))
    }
}
