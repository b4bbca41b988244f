//! The queue of what is uncertain, page by page.

use super::report::check_length;
use super::{Guard, check_limit};
use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::key::KEY_PART_CHARACTERS_MAX;
use crate::operation::Operation;
use crate::person::Person;
use crate::refusal::Refusal;
use crate::triage::{Part, Places, REVIEWED_MAX, Sort, Spot, Triage, TriageFilter, Walk, stretches, stretches_by_age};

/// A page of the queue of what is uncertain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriagePage {
    /// The moment by which ages are measured: that of the first page, as long as somebody goes on from there.
    pub as_of: Timestamp,
    /// The rows; fewer than asked for where as many as one page looks at were looked at.
    pub rows: Vec<Operation>,
    /// Where the next page starts, where there is one.
    pub next: Option<Spot>,
}

impl Guard {
    /// A page of the queue of what is uncertain, within the person's reach, behind a spot.
    ///
    /// # Errors
    /// A limit out of bounds, a text that could be in no key, the store's fault.
    pub async fn triage(
        &self,
        person: &Person,
        filter: &TriageFilter,
        sort: Sort,
        spot: Option<&Spot>,
        limit: u32,
    ) -> Result<TriagePage, Refusal> {
        check_limit(limit)?;
        let texts = [("workflow", &filter.workflow), ("company", &filter.company), ("currency", &filter.currency)];
        for (field, wanted) in texts {
            check_length(field, wanted.as_deref().unwrap_or_default(), KEY_PART_CHARACTERS_MAX)?;
        }
        let now = self.now();
        let as_of = spot.map_or(now, |spot| spot.as_of);
        let triage =
            Triage { filter: filter.clone(), sort, reach: person.reach.clone(), person: person.email.clone(), now };
        let Places { rows, next } = self.places(triage, as_of, spot, limit).await?;
        let next = next.map(|behind| Spot { as_of, behind });
        let ids: Vec<OperationId> = rows.iter().map(|place| place.id).collect();
        let mut found = self.operations_by_id(&person.reach, &ids).await?;
        // What was settled between the two reads is uncertain no more.
        let rows = ids.iter().filter_map(|id| found.remove(id)).filter(|row| row.state.is_uncertain()).collect();
        Ok(TriagePage { as_of, rows, next })
    }

    async fn places(
        &self,
        triage: Triage,
        as_of: Timestamp,
        spot: Option<&Spot>,
        limit: u32,
    ) -> Result<Places, Refusal> {
        let store = &self.inner.store;
        let parts = triage.parts();
        if parts.is_empty() {
            return Ok(Places { rows: Vec::new(), next: None });
        }
        if triage.is_of_reviewed()
            && let Some(all) = store.places_reviewed(&triage, REVIEWED_MAX).await?
        {
            return Ok(triage.page_of(all, as_of, spot, limit));
        }
        let stretches = if triage.sort.is_by_age() && parts.iter().all(Part::is_held_by_age) {
            stretches_by_age(parts, spot)
        } else {
            stretches(&store.steps(&parts).await?, triage.sort, spot)
        };
        let mut walk = Walk::over(stretches, triage.clone(), as_of, limit);
        while let Some((stretches, look)) = walk.next() {
            let seen = store.places(&triage, stretches, look).await?;
            walk.take(seen);
        }
        Ok(walk.page())
    }
}
