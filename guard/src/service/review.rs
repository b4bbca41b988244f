//! People settle what is uncertain: claims.

use chrono::TimeDelta;

use super::{Guard, TRIES_MAX, Transition, contended, text};
use crate::actor::Actor;
use crate::clock::rfc3339;
use crate::id::OperationId;
use crate::operation::Operation;
use crate::person::Person;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::Refusal;
use crate::review::{CLAIM_MINUTES, CLAIM_RENEWED_BELOW_MINUTES, Claim, Review, moves};
use crate::store::Replaced;
use crate::trail::{Entry, EntryKind, detail};

impl Guard {
    /// The last entry since `seen_version` that a decision on the operation rests on; none where a page of that version is still true.
    ///
    /// # Errors
    /// A version that the operation has not had yet, the store's fault.
    pub async fn moved_since(&self, operation: &Operation, seen_version: u64) -> Result<Option<Entry>, Refusal> {
        if seen_version > operation.version {
            return Err(Refusal::field("version", "is none that this operation has had; open it again"));
        }
        let mut moved = None;
        let mut after = seen_version;
        while after < operation.version {
            let entries = self.inner.store.entries(operation.id, after, PAGE_ROWS_MAX).await?;
            let Some(last) = entries.last() else { break };
            after = last.sequence;
            moved = entries.into_iter().rev().find(moves).or(moved);
        }
        Ok(moved)
    }

    /// Refuses a decision on a page that is no longer true, and tells who changed it.
    pub(super) async fn refuse_stale(&self, operation: &Operation, seen_version: u64) -> Result<(), Refusal> {
        match self.moved_since(operation, seen_version).await? {
            None => Ok(()),
            Some(Entry { actor, at, .. }) => Err(Refusal::Stale { state: operation.state.name(), by: actor, at }),
        }
    }

    /// What people have done about each of these operations.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn reviews(&self, operations: &[Operation]) -> Result<Vec<Option<Review>>, Refusal> {
        let ids: Vec<OperationId> = operations.iter().map(|operation| operation.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.inner.store.reviews(&ids).await?;
        let mut of = |id: &OperationId| {
            let place = found.iter().position(|review| review.operation == *id)?;
            Some(found.swap_remove(place))
        };
        Ok(ids.iter().map(&mut of).collect())
    }

    /// A person says to be on an uncertain operation, for [`CLAIM_MINUTES`]; whoever was on it before is relieved, and the trail tells
    /// so. Claiming again soon after changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] where it is not uncertain, the store's fault.
    pub async fn claim(&self, person: &Person, id: OperationId) -> Result<Claim, Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "claimed").await?;
            let at = self.now();
            let held = review.claim_at(at).cloned();
            let renewed_below = TimeDelta::minutes(CLAIM_RENEWED_BELOW_MINUTES);
            if let Some(mine) = held.as_ref().filter(|claim| claim.by == person.email)
                && mine.until - at >= renewed_below
            {
                return Ok(mine.clone());
            }
            let claim = Claim { by: person.email.clone(), at, until: at + TimeDelta::minutes(CLAIM_MINUTES) };
            let others = held.filter(|claim| claim.by != person.email);
            let facts = detail([
                ("until", Some(text(&rfc3339(claim.until)))),
                ("taken_from", others.as_ref().map(|claim| text(&claim.by))),
            ]);
            let review = Review { claim: Some(claim.clone()), ..review };
            if self.put_review(person, &operation, review, EntryKind::Claimed, facts).await? == Replaced::Replaced {
                return Ok(claim);
            }
        }
        Err(contended())
    }

    /// A person is no longer on an uncertain operation. Where somebody else is, or nobody, nothing changes.
    ///
    /// # Errors
    /// As for [`Guard::claim`].
    pub async fn release_claim(&self, person: &Person, id: OperationId) -> Result<(), Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "released").await?;
            if review.claim_at(self.now()).is_none_or(|claim| claim.by != person.email) {
                return Ok(());
            }
            let review = Review { claim: None, ..review };
            let put = self.put_review(person, &operation, review, EntryKind::ClaimReleased, detail([])).await?;
            if put == Replaced::Replaced {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// An uncertain operation within the person's reach with its review, for somebody who may decide on it.
    async fn reviewed(
        &self,
        person: &Person,
        id: OperationId,
        what: &'static str,
    ) -> Result<(Operation, Review), Refusal> {
        if !person.role.may_resolve() {
            return Err(Refusal::Forbidden { reason: "this needs the role operator or admin".to_owned() });
        }
        let operation = self.reachable(&person.reach, id).await?;
        if !operation.state.is_uncertain() {
            return Err(Refusal::Impossible { state: operation.state.name(), what: what.into() });
        }
        let review = self.review(id).await?;
        Ok((operation, review))
    }

    /// What people have done about an operation so far. Read behind the operation: whatever changes it since makes a change stale.
    pub(super) async fn review(&self, id: OperationId) -> Result<Review, Refusal> {
        Ok(self.inner.store.reviews(&[id]).await?.pop().unwrap_or_else(|| Review::fresh(id)))
    }

    /// Writes a review with the entry that tells of it; the state stays.
    pub(super) async fn put_review(
        &self,
        person: &Person,
        operation: &Operation,
        review: Review,
        kind: EntryKind,
        facts: crate::json::Json,
    ) -> Result<Replaced, Refusal> {
        let actor = Actor::Person { email: person.email.clone() };
        let transition = Transition { state: operation.state.clone(), at: self.now(), actor, kind, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.review = review.change();
        self.replace(replacement).await
    }
}
