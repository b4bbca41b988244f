//! Conflicts in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::conflict::{CONFLICTS_GROUPED_MAX, Conflict, ConflictFilter, ConflictGroup, ConflictOrder, GROUP_FIRST_MAX};
use guard::id::ConflictId;
use guard::queue::{Cursor, Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Conflicts;
use guard::token::Reach;

use super::Memory;

impl Memory {
    fn conflicts_within(&self, reach: &Reach, filter: &ConflictFilter) -> Vec<Conflict> {
        let is = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|wanted| wanted == text);
        let mut found: Vec<Conflict> = self
            .tables()
            .conflicts
            .iter()
            .map(|(conflict, _)| conflict.clone())
            .filter(|conflict| {
                conflict.is_open() != filter.is_decided
                    && reach.company(&conflict.company)
                    && reach.workflow(&conflict.workflow)
                    && is(&filter.workflow, &conflict.workflow)
                    && is(&filter.company, &conflict.company)
                    && filter.group.is_none_or(|group| group == conflict.places.group)
                    && filter.place.as_ref().is_none_or(|place| conflict.places.listed.contains(place))
            })
            .collect();
        found.sort_by_key(|conflict| conflict.id);
        found
    }
}

#[async_trait]
impl Conflicts for Memory {
    async fn conflict_by_id(&self, id: ConflictId) -> Result<Option<Conflict>, StoreFault> {
        let tables = self.tables();
        Ok(tables.conflicts.iter().find(|(known, _)| known.id == id).map(|(known, _)| known.clone()))
    }

    async fn conflict_payload(&self, id: ConflictId) -> Result<Option<String>, StoreFault> {
        let tables = self.tables();
        Ok(tables.conflicts.iter().find(|(known, _)| known.id == id).map(|(_, payload)| payload.clone()))
    }

    async fn conflict_page(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        order: ConflictOrder,
        page: &PageRequest,
    ) -> Result<Page<Conflict>, StoreFault> {
        let behind = page.cursor.as_ref().and_then(Cursor::read).map(|(_, id)| ConflictId::from_u128(id));
        let mut found = self.conflicts_within(reach, filter);
        match order {
            ConflictOrder::Oldest => found.retain(|conflict| behind.is_none_or(|behind| conflict.id > behind)),
            ConflictOrder::Newest => {
                found.reverse();
                found.retain(|conflict| behind.is_none_or(|behind| conflict.id < behind));
            }
        }
        let has_more = found.len() > page.limit as usize;
        found.truncate(page.limit as usize);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|last| Cursor::behind(last.opened_at, last.id.as_u128()));
        Ok(Page { rows: found, next })
    }

    async fn conflicts_by_id(&self, ids: &[ConflictId]) -> Result<Vec<Conflict>, StoreFault> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.conflict_by_id(*id).await?);
        }
        Ok(found)
    }

    async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, StoreFault> {
        let filter = ConflictFilter { place: None, group: None, is_decided: false, ..filter.clone() };
        let mut groups: BTreeMap<_, ConflictGroup> = BTreeMap::new();
        for conflict in self.conflicts_within(reach, &filter).into_iter().take(CONFLICTS_GROUPED_MAX as usize) {
            let group = groups.entry((conflict.workflow.clone(), conflict.places.group)).or_insert(ConflictGroup {
                workflow: conflict.workflow,
                places: conflict.places,
                open: 0,
                hits: 0,
                oldest_at: conflict.opened_at,
                is_cut: false,
                first: Vec::new(),
            });
            if group.first.len() < GROUP_FIRST_MAX as usize {
                group.first.push(conflict.id);
            }
            group.open += 1;
            group.hits += conflict.hits;
            group.oldest_at = group.oldest_at.min(conflict.opened_at);
        }
        let mut groups: Vec<ConflictGroup> = groups.into_values().collect();
        let is_cut = groups.iter().map(|group| group.open).sum::<u32>() >= CONFLICTS_GROUPED_MAX;
        groups.iter_mut().for_each(|group| group.is_cut = is_cut);
        groups.sort_by_key(|group| std::cmp::Reverse(group.open));
        groups.truncate(limit as usize);
        Ok(groups)
    }
}
