//! Reviews of uncertain operations.

use std::collections::BTreeSet;

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::incident::Unsettled;
use guard::money::Money;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::state::{REASON_LEASE_EXPIRED, State, StateName};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Cause, ClaimedBy, Look, Part, Place, Seen, Show, Sort, Step, Stretch, Triage};

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

    async fn latest_unknown(&self, reach: &Reach, limit: u32) -> Result<Vec<Unsettled>, StoreFault> {
        let tables = self.tables();
        let unsettled = |operation: &Operation| {
            let State::Unknown { since, reason } = &operation.state else { return None };
            let (workflow, company) = (operation.key.workflow.as_str(), operation.key.company.as_str());
            let is_within = reach.company(company) && reach.workflow(workflow);
            is_within.then(|| Unsettled {
                id: operation.id,
                workflow: workflow.to_owned(),
                company: company.to_owned(),
                since: *since,
                reason: reason.clone(),
                money: operation.money.clone(),
            })
        };
        let mut found: Vec<Unsettled> = tables.operations.values().filter_map(unsettled).collect();
        found.sort_unstable_by_key(|unsettled| std::cmp::Reverse(unsettled.id));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn steps(&self, parts: &[Part]) -> Result<Vec<(Part, Step)>, StoreFault> {
        let tables = self.tables();
        let of = |part: &Part| {
            let held = tables.operations.values().filter(|operation| holds(part, operation));
            let steps: BTreeSet<Step> = held.filter_map(place).map(|place| place.step).collect();
            steps.into_iter().map(|step| (part.clone(), step)).collect::<Vec<_>>()
        };
        Ok(parts.iter().flat_map(of).collect())
    }

    async fn places(&self, triage: &Triage, stretches: &[Stretch], look: Look) -> Result<Seen, StoreFault> {
        let tables = self.tables();
        let mut seen = Seen::default();
        for (number, Stretch { part, step, behind }) in stretches.iter().enumerate() {
            let held = tables.operations.values().filter(|operation| holds(part, operation));
            let mut places: Vec<(Place, &Operation)> =
                held.filter_map(|operation| Some((place(operation)?, operation))).collect();
            places.sort_unstable_by_key(|(place, _)| (place.since, place.id));
            if triage.sort == Sort::Latest {
                places.reverse();
            }
            let is_behind = |place: &Place| {
                behind.is_none_or(|behind| {
                    let key = (place.since, place.id);
                    if triage.sort == Sort::Latest { key < behind } else { key > behind }
                })
            };
            let (mut fitting, mut looked) = (0, 0);
            for (place, operation) in places {
                if step.is_some_and(|step| step != place.step) || !is_behind(&place) {
                    continue;
                }
                looked += 1;
                if tables.is_asked_for(triage, operation) {
                    fitting += 1;
                    seen.places.push(place);
                }
                if fitting == look.rows || looked == look.seen {
                    seen.stops.push((number, place));
                    break;
                }
            }
        }
        Ok(seen)
    }

    async fn places_reviewed(&self, triage: &Triage, most: u32) -> Result<Option<Vec<Place>>, StoreFault> {
        let tables = self.tables();
        let asked = tables.operations.values().filter(|operation| tables.is_asked_for(triage, operation));
        let places: Vec<Place> = asked.filter_map(place).collect();
        Ok((places.len() <= most as usize).then_some(places))
    }

    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        let tables = self.tables();
        Ok(ids.iter().filter_map(|id| tables.operations.get(id).cloned()).collect())
    }
}

fn holds(part: &Part, operation: &Operation) -> bool {
    match part {
        Part::All => true,
        Part::Disputed => operation.state.name() == StateName::Disputed,
        Part::Company(company) => operation.key.company.as_str() == company,
        Part::Workflow(workflow) => operation.key.workflow.as_str() == workflow,
    }
}

impl Tables {
    fn is_asked_for(&self, triage: &Triage, operation: &Operation) -> bool {
        let Triage { filter, reach, person, now, .. } = triage;
        let key = &operation.key;
        let is = |wanted: &Option<String>, held: &str| wanted.as_deref().is_none_or(|wanted| wanted == held);
        let review = self.reviews.get(&operation.id);
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
        let recovery = self.recoveries.get(&operation.id);
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
    }
}

fn place(operation: &Operation) -> Option<Place> {
    let (State::Unknown { since, .. } | State::Disputed { since, .. }) = &operation.state else { return None };
    let since = since.timestamp_millis();
    Some(Place { step: Step::of(operation.money.as_ref().map(Money::stake)), since, id: operation.id })
}
