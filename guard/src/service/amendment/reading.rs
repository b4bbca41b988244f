//! What the desk asks about amendments before anybody decides.

use super::{Proposer, after_drop, base_of, may_stand_on_approval, next_key};
use crate::amendment::{Amendment, AmendmentStateName, Place, Ruled};
use crate::event::{AmendmentStep, Event};
use crate::id::{AmendmentId, OperationId};
use crate::operation::Operation;
use crate::pointer::Pointer;
use crate::queue::{Cursor, PageRequest};
use crate::refusal::Refusal;
use crate::service::{Guard, REVISIONS_LISTED_MAX};
use crate::state::StateName;
use crate::summary::UNCERTAIN_COUNTED_MAX;
use crate::token::Reach;
use crate::view::OperationView;
use crate::workflow::Correction;

/// What may be proposed on a confirmed revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendable {
    /// The correction that would be made.
    pub ruled: Ruled,
    /// The places that may change, with all below them.
    pub places: Vec<Place>,
    /// The places that do not count.
    pub volatile: Vec<Pointer>,
}

/// An amendment with what a person looks at to decide it. It holds payloads as they are: what is sensitive in them is masked by whoever
/// shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmendmentReport {
    /// The amendment.
    pub amendment: Amendment,
    /// The operation of the revision that it proposes.
    pub operation: OperationView,
    /// The revision that it changes, as it is now.
    pub base: Option<OperationView>,
    /// Why the base is no longer the one that it was proposed on; none where it is.
    pub moved: Option<String>,
    /// Whether it can be taken back as it stands.
    pub is_withdrawable: bool,
    /// The payload of the base, compact JSON; none where it was dropped.
    pub base_payload: Option<String>,
    /// The payload that it proposes, compact JSON; none where it was dropped.
    pub proposed_payload: Option<String>,
}

impl Guard {
    /// What may be proposed on an operation, by somebody who may propose.
    ///
    /// # Errors
    /// Why nothing may be: [`Refusal::Forbidden`], [`Refusal::NotFound`], [`Refusal::Impossible`] where it is not the latest confirmed
    /// revision or its correction is forbidden, [`Refusal::AmendmentOpen`]; the store's fault.
    pub async fn amendable(&self, who: Proposer<'_>, id: OperationId) -> Result<Amendable, Refusal> {
        who.may_propose()?;
        let base = self.reachable(who.reach(), id).await?;
        base_of(&base)?;
        if base.content.dropped_at().is_some() {
            return Err(after_drop(&base));
        }
        Box::pin(self.refuse_reversed(&base)).await?;
        let next = self.inner.store.operation_by_key(&next_key(&base)?).await?;
        if let Some(open) = next.filter(|next| next.state.name() != StateName::Rejected) {
            return Err(self.amendment_open(&open).await?);
        }
        let workflow = self.workflow_in_force(base.key.workflow.as_str(), who.reach()).await?;
        let ruled = self.correction_for(&base, self.now()).await?;
        if ruled.correction == Correction::Forbid {
            let what = format!("amended: {}", ruled.because).into();
            return Err(Refusal::Impossible { state: base.state.name(), what });
        }
        let workflow = &workflow.workflow;
        Ok(Amendable { ruled, places: workflow.amendment.amendable.clone(), volatile: workflow.volatile.clone() })
    }

    /// An amendment within reach, with what belongs to it.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn amendment_report(&self, reach: &Reach, id: AmendmentId) -> Result<AmendmentReport, Refusal> {
        let (amendment, operation) = self.amendment_with_operation(reach, id).await?;
        let store = &self.inner.store;
        let base = store.operation(amendment.base.operation).await?;
        let step = AmendmentStep::Withdrawn { reason: String::new() };
        let is_withdrawable = operation.state.after(&Event::Amended { at: self.now(), step }).is_ok();
        Ok(AmendmentReport {
            operation: self.view(&operation),
            moved: self.base_moved(&amendment).await?,
            is_withdrawable,
            base_payload: store.payload(amendment.base.operation).await?,
            proposed_payload: store.amendment_payload(id).await?,
            base: base.map(|base| self.view(&base)),
            amendment,
        })
    }

    /// The latest amendment of an operation within reach; none for a first revision, unless it takes a record back.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn latest_amendment(&self, reach: &Reach, id: OperationId) -> Result<Option<Amendment>, Refusal> {
        let operation = self.reachable(reach, id).await?;
        if !may_stand_on_approval(&operation.key) {
            return Ok(None);
        }
        Ok(self.inner.store.amendments_of(id, 1).await?.pop())
    }

    /// The revisions of an operation's document, from the first, at most [`REVISIONS_LISTED_MAX`].
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn revisions(&self, reach: &Reach, id: OperationId) -> Result<Vec<Operation>, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let mut revisions = Vec::new();
        for revision in 1..=REVISIONS_LISTED_MAX {
            let Some(held) = self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await? else {
                break;
            };
            revisions.push(held);
        }
        Ok(revisions)
    }

    /// The amendments before and behind one in the list that is within reach and in this state, the newest first; in all states where
    /// none is named.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn amendment_neighbours(
        &self,
        reach: &Reach,
        state: Option<AmendmentStateName>,
        amendment: &Amendment,
    ) -> Result<(Option<AmendmentId>, Option<AmendmentId>), Refusal> {
        let store = &self.inner.store;
        let before = store.amendment_before(reach, state, amendment.id).await?;
        let cursor = Some(Cursor::behind(amendment.proposed_at, amendment.id.as_u128()));
        let behind = store.amendments(reach, state, &PageRequest { cursor, limit: 1 }).await?.rows.pop();
        Ok((before.map(|before| before.id), behind.map(|behind| behind.id)))
    }

    /// How many amendments wait for approval within reach, up to [`crate::summary::UNCERTAIN_COUNTED_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn proposals_waiting(&self, reach: &Reach) -> Result<u32, Refusal> {
        Ok(self.inner.store.proposals_waiting(reach, UNCERTAIN_COUNTED_MAX).await?)
    }
}
