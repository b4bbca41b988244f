//! What people and readers ask: lists and histories.

use std::collections::HashMap;

use super::report::check_length;
use super::{Guard, LABEL_CHARACTERS_MAX, check_limit};
use crate::clock::{Timestamp, rfc3339};
use crate::conflict::Conflict;
use crate::event::REPORT_TEXT_CHARACTERS_MAX;
use crate::evidence::Evidence;
use crate::id::OperationId;
use crate::key::{KEY_PART_CHARACTERS_MAX, REVISION_MAX};
use crate::operation::Operation;
use crate::queue::{Filter, Order, Page, PageRequest, Sought};
use crate::refusal::Refusal;
use crate::state::StateName;
use crate::store::Delivery;
use crate::summary::{BADGE_COUNTED_MAX, Badges, Count, LISTED_COUNTED_MAX, UNCERTAIN_COUNTED_MAX, Waiting};
use crate::token::Reach;
use crate::trail::Entry;
use crate::view::OperationView;

/// A history shows at most this many conflicts, pieces of evidence and deliveries each; the trail is paged.
pub const HISTORY_ROWS_MAX: u32 = 200;

/// An operation with everything that is known about it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct History {
    /// The operation.
    pub operation: OperationView,
    /// Its payload, compact JSON; none when it was dropped.
    pub payload: Option<String>,
    /// The latest [`crate::queue::PAGE_ROWS_MAX`] entries of its trail, oldest first.
    pub entries: Vec<Entry>,
    /// Its conflicts, newest first.
    pub conflicts: Vec<Conflict>,
    /// Its evidence, oldest first.
    pub evidence: Vec<Evidence>,
    /// Its deliveries that were answered without a grant, newest first.
    pub deliveries: Vec<Delivery>,
}

impl Guard {
    /// The operation within reach; a lease that is over has been ended.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn operation(&self, reach: &Reach, id: OperationId) -> Result<Operation, Refusal> {
        self.reachable(reach, id).await
    }

    /// The operations with these ids, of those that are within reach; leases that are over have been ended. At most
    /// [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn operations_by_id(
        &self,
        reach: &Reach,
        ids: &[OperationId],
    ) -> Result<HashMap<OperationId, Operation>, Refusal> {
        let mut found = HashMap::new();
        for mut operation in self.inner.store.operations_of(ids).await? {
            if !reach.key(&operation.key) {
                continue;
            }
            if operation.state.lease_is_over(self.now()) {
                operation = self.reachable(reach, operation.id).await?;
            }
            found.insert(operation.id, operation);
        }
        Ok(found)
    }

    /// A page of operations within reach; leases that are over have been ended.
    ///
    /// # Errors
    /// A limit out of bounds, a text that is no cursor or could be in no key, the store's fault.
    pub async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, Refusal> {
        check_limit(page.limit)?;
        if page.cursor.as_ref().is_some_and(|cursor| cursor.read().is_none()) {
            return Err(Refusal::field("cursor", "is no cursor; take it from next_cursor of the page before"));
        }
        let texts = [
            ("workflow", &filter.workflow),
            ("company", &filter.company),
            ("source_system", &filter.source_system),
            ("document", &filter.document),
            ("action", &filter.action),
        ];
        check_length("worker", filter.worker.as_deref().unwrap_or_default(), LABEL_CHARACTERS_MAX)?;
        if let Some(Sought::Named(name)) = &filter.sought {
            check_length("q", name, REPORT_TEXT_CHARACTERS_MAX)?;
        }
        for (field, wanted) in texts {
            check_length(field, wanted.as_deref().unwrap_or_default(), KEY_PART_CHARACTERS_MAX)?;
        }
        let mut found = self.inner.store.operations(reach, filter, order, page).await?;
        for operation in &mut found.rows {
            if operation.state.lease_is_over(self.now()) {
                *operation = self.reachable(reach, operation.id).await?;
            }
        }
        let is_asked_for = |state: StateName| filter.states.is_empty() || filter.states.contains(&state);
        found.rows.retain(|operation| is_asked_for(operation.state.name()));
        Ok(found)
    }

    /// The entries of an operation's trail behind `after`, oldest first, at most `limit`.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn entries(&self, reach: &Reach, id: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, Refusal> {
        self.reachable(reach, id).await?;
        Ok(self.inner.store.entries(id, after, limit).await?)
    }

    /// The payload of a revision of the operation's document, compact JSON.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such revision, or its payload was dropped; the store's fault.
    pub async fn payload(&self, reach: &Reach, id: OperationId, revision: u32) -> Result<String, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let holder = if operation.key.revision == revision {
            Some(operation)
        } else if (1..=REVISION_MAX).contains(&revision) {
            self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?
        } else {
            None
        };
        let holder = holder.ok_or_else(|| Refusal::not_found("revision"))?;
        self.inner.store.payload(holder.id).await?.ok_or_else(|| match holder.content.dropped_at() {
            Some(at) => Refusal::not_found(&format!("payload any more: retention dropped it on {}", rfc3339(at))),
            None => Refusal::not_found("payload"),
        })
    }

    /// The destination's response that settled an operation, where it is kept.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn response(&self, reach: &Reach, id: OperationId) -> Result<Option<String>, Refusal> {
        self.reachable(reach, id).await?;
        Ok(self.inner.store.response(id).await?)
    }

    /// Everything that is known about an operation.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn history(&self, reach: &Reach, id: OperationId) -> Result<History, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let store = &self.inner.store;
        Ok(History {
            operation: self.view(&operation),
            payload: store.payload(id).await?,
            entries: self.latest_entries(&operation).await?,
            conflicts: store.conflicts(id, HISTORY_ROWS_MAX).await?,
            evidence: store.evidence(id, HISTORY_ROWS_MAX).await?,
            deliveries: store.deliveries(id, HISTORY_ROWS_MAX).await?,
        })
    }

    /// The counts of hours from `from` to before `to` within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, Refusal> {
        Ok(self.inner.store.counts(reach, from, to).await?)
    }

    /// What waits for a person within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn waiting(&self, reach: &Reach) -> Result<Waiting, Refusal> {
        Ok(self.inner.store.waiting(reach, UNCERTAIN_COUNTED_MAX).await?)
    }

    /// As [`Self::waiting`], counted up to [`LISTED_COUNTED_MAX`], as it stands above a list.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn waiting_above(&self, reach: &Reach) -> Result<Waiting, Refusal> {
        Ok(self.inner.store.waiting(reach, LISTED_COUNTED_MAX).await?)
    }

    /// What is told beside the entries of the navigation within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn badges(&self, reach: &Reach) -> Result<Badges, Refusal> {
        let store = &self.inner.store;
        let Waiting { uncertain, open_conflicts, .. } = store.waiting(reach, BADGE_COUNTED_MAX).await?;
        let proposals = store.proposals_waiting(reach, BADGE_COUNTED_MAX).await?;
        Ok(Badges { uncertain, open_conflicts, proposals })
    }
}
