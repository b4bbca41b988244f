//! What a customer received.

use super::Guard;
use crate::id::OperationId;
use crate::json::Json;
use crate::message::{MessageEvent, MessageStep, MessageVersion, Receipt, VERSIONS_TOLD_MAX};
use crate::refusal::Refusal;
use crate::token::Reach;
use crate::trail::{Entry, EntryKind};
use crate::workflow::Kind;

impl Guard {
    /// The versions of the message that an operation is one of, the first one first; none where its workflow makes no messages.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn message_versions(
        &self,
        reach: &Reach,
        id: OperationId,
    ) -> Result<Option<Vec<MessageVersion>>, Refusal> {
        let operation = self.operation(reach, id).await?;
        let catalogue = self.catalogue();
        let kind = catalogue.workflows.get(operation.key.workflow.as_str()).map(|known| known.workflow.kind);
        if kind != Some(Kind::Message) {
            return Ok(None);
        }
        let mut versions = Vec::new();
        for revision in 1..=VERSIONS_TOLD_MAX {
            let found = self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?;
            let Some(found) = found else { break };
            let entries = self.latest_entries(&found).await?;
            versions.push(MessageVersion {
                receipt: Receipt::of(&found.state),
                steps: entries.iter().filter_map(step).collect(),
                operation: self.view(&found),
            });
        }
        Ok(Some(versions))
    }
}

/// What an entry says of a message; none where it says nothing of its delivery.
fn step(entry: &Entry) -> Option<MessageStep> {
    const TOLD: [(EntryKind, MessageEvent); 7] = [
        (EntryKind::Begun, MessageEvent::Begun),
        (EntryKind::Released, MessageEvent::Released),
        (EntryKind::Expired, MessageEvent::Expired),
        (EntryKind::Reported, MessageEvent::Reported),
        (EntryKind::ReportKept, MessageEvent::LateReport),
        (EntryKind::LookedUp, MessageEvent::LookedUp),
        (EntryKind::Resolved, MessageEvent::Decided),
    ];
    let (_, event) = TOLD.into_iter().find(|(kind, _)| *kind == entry.kind)?;
    let attempt = match entry.detail.member("attempt") {
        Some(Json::Number(number)) if entry.kind == EntryKind::Begun => number.as_written().parse().ok(),
        _ => None,
    };
    let state = entry.detail.member("state").and_then(Json::as_str).map(ToOwned::to_owned);
    Some(MessageStep { at: entry.at, event, attempt, state })
}
