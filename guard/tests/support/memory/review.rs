//! Reviews of uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::money::Money;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::state::{REASON_LEASE_EXPIRED, State, StateName};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Cause, ClaimedBy, Place, Show, Step, Stretch, Triage};

use super::{Memory, Tables};

impl Tables {
    pub(super) fn review(&mut self, operation: OperationId, change: &ReviewChange) {
        match change {
            ReviewChange::Keep => {}
            ReviewChange::Put(review) => {
                self.reviews.insert(operation, (**review).clone());
            }
            ReviewChange::End => {
                self.reviews.remove(&operation);
            }
        }
    }
}

#[async_trait]
impl Reviews for Memory {
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault> {
        let tables = self.tables();
        Ok(operations.iter().filter_map(|operation| tables.reviews.get(operation).cloned()).collect())
    }

    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault> {
        let tables = self.tables();
        let evidence = tables.evidence.iter().find(|evidence| evidence.id == id);
        Ok(evidence.cloned().zip(tables.files.get(&id).cloned()))
    }

    async fn steps(&self, _: &Triage) -> Result<Vec<Step>, StoreFault> {
        let mut steps: Vec<Step> =
            self.tables().operations.values().filter_map(place).map(|place| place.step).collect();
        steps.sort_unstable_by(|left, right| right.cmp(left));
        steps.dedup();
        Ok(steps)
    }

    async fn places(
        &self,
        reach: &Reach,
        triage: &Triage,
        stretches: &[Stretch],
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        let mut places = self.asked_for(reach, triage);
        places.sort_unstable_by_key(|place| (place.since, place.id));
        let of = |stretch: &Stretch| {
            let Stretch { step, since, id } = *stretch;
            let is_behind = move |place: &&Place| place.step == step && (place.since, place.id.as_u128()) > (since, id);
            places.iter().filter(is_behind).take(limit as usize).copied().collect::<Vec<_>>()
        };
        Ok(stretches.iter().flat_map(of).collect())
    }

    async fn places_by_age(
        &self,
        reach: &Reach,
        triage: &Triage,
        latest_first: bool,
        behind: Option<(i64, OperationId)>,
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        let mut places = self.asked_for(reach, triage);
        places.sort_unstable_by_key(|place| (place.since, place.id));
        if latest_first {
            places.reverse();
        }
        let is_behind = |place: &Place| {
            behind.is_none_or(|behind| {
                if latest_first { (place.since, place.id) < behind } else { (place.since, place.id) > behind }
            })
        };
        Ok(places.into_iter().filter(is_behind).take(limit as usize).collect())
    }

    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        let tables = self.tables();
        Ok(ids.iter().filter_map(|id| tables.operations.get(id).cloned()).collect())
    }
}

impl Memory {
    fn asked_for(&self, reach: &Reach, triage: &Triage) -> Vec<Place> {
        let tables = self.tables();
        let Triage { filter, person, now } = triage;
        let is_asked_for = |operation: &&Operation| {
            let key = &operation.key;
            let is = |wanted: &Option<String>, held: &str| wanted.as_deref().is_none_or(|wanted| wanted == held);
            let review = tables.reviews.get(&operation.id);
            let claim = review.and_then(|review| review.claim_at(*now));
            let waits = review.is_some_and(|review| review.deferral_at(*now).is_some());
            let is_disputed = operation.state.name() == StateName::Disputed;
            let is_lease_ended =
                matches!(&operation.state, State::Unknown { reason, .. } if reason == REASON_LEASE_EXPIRED);
            let cause = match (is_disputed, is_lease_ended) {
                (true, _) => Cause::Disputed,
                (false, true) => Cause::LeaseEnded,
                (false, false) => Cause::Reported,
            };
            let recovery = tables.recoveries.get(&operation.id);
            let looks = recovery.is_some_and(|recovery| recovery.exhausted_at.is_none());
            reach.company(key.company.as_str())
                && reach.workflow(key.workflow.as_str())
                && is(&filter.workflow, key.workflow.as_str())
                && is(&filter.company, key.company.as_str())
                && is(&filter.currency, operation.money.as_ref().map_or("", |money| money.currency.as_str()))
                && filter.state.is_none_or(|state| state == operation.state.name())
                && filter.cause.is_none_or(|wanted| wanted == cause)
                && match filter.claim {
                    None => true,
                    Some(ClaimedBy::Me) => claim.is_some_and(|claim| claim.by == *person),
                    Some(ClaimedBy::Nobody) => claim.is_none(),
                }
                && match filter.show {
                    Show::All => true,
                    Show::Now => !waits,
                    Show::Waiting => waits,
                    Show::NeedsMe => !waits && (is_disputed || !looks),
                }
        };
        tables.operations.values().filter(is_asked_for).filter_map(place).collect()
    }
}

fn place(operation: &Operation) -> Option<Place> {
    let (State::Unknown { since, .. } | State::Disputed { since, .. }) = &operation.state else { return None };
    let since = since.timestamp_millis();
    Some(Place { step: Step::of(operation.money.as_ref().map(Money::stake)), since, id: operation.id })
}
