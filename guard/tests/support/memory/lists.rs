//! Saved views and runs in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::{PersonId, RunId, ViewId};
use guard::lists::{ListPage, Run, RunItem, RunStanding, SavedView};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::store::{Lists, Replaced};

use super::Memory;

#[derive(Clone, Default)]
pub(super) struct ListTables {
    views: Vec<SavedView>,
    runs: BTreeMap<RunId, (Run, Option<Claim>)>,
    items: BTreeMap<(RunId, u32), RunItem>,
}

#[async_trait]
impl Lists for Memory {
    async fn views(&self, person: PersonId, page: ListPage) -> Result<Vec<SavedView>, StoreFault> {
        let tables = self.tables();
        let own = tables.lists.views.iter().filter(|view| view.person == person && view.page == page);
        let mut views: Vec<_> = own.cloned().collect();
        views.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(views)
    }

    async fn put_view(&self, view: &SavedView) -> Result<(), StoreFault> {
        let views = &mut self.tables().lists.views;
        let is_same =
            |known: &SavedView| (known.person, known.page, &known.name) == (view.person, view.page, &view.name);
        views.retain(|known| !is_same(known));
        views.push(view.clone());
        Ok(())
    }

    async fn drop_view(&self, person: PersonId, id: ViewId) -> Result<bool, StoreFault> {
        let views = &mut self.tables().lists.views;
        let before = views.len();
        views.retain(|view| view.person != person || view.id != id);
        Ok(views.len() < before)
    }

    async fn add_run(&self, run: &Run, items: &[RunItem]) -> Result<(), StoreFault> {
        let lists = &mut self.tables().lists;
        lists.runs.insert(run.id, (run.clone(), None));
        lists.items.extend(items.iter().map(|item| ((run.id, item.number), item.clone())));
        Ok(())
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreFault> {
        Ok(self.tables().lists.runs.get(&id).map(|(run, _)| run.clone()))
    }

    async fn change_run(&self, run: &Run) -> Result<Replaced, StoreFault> {
        let lists = &mut self.tables().lists;
        match lists.runs.get_mut(&run.id).filter(|(held, _)| held.version + 1 == run.version) {
            Some(held) => {
                *held = (run.clone(), None);
                Ok(Replaced::Replaced)
            }
            None => Ok(Replaced::Stale),
        }
    }

    async fn run_items(&self, id: RunId, after: u32, limit: u32) -> Result<Vec<RunItem>, StoreFault> {
        let tables = self.tables();
        let behind = tables.lists.items.range((id, after + 1)..=(id, u32::MAX));
        Ok(behind.take(limit as usize).map(|(_, item)| item.clone()).collect())
    }

    async fn settle_run_item(&self, id: RunId, item: &RunItem) -> Result<(), StoreFault> {
        let lists = &mut self.tables().lists;
        if let Some(held) = lists.items.get_mut(&(id, item.number)).filter(|held| held.result.is_none()) {
            *held = item.clone();
        }
        Ok(())
    }

    async fn claim_run(&self, now: Timestamp, claim: &Claim) -> Result<Option<RunId>, StoreFault> {
        let lists = &mut self.tables().lists;
        let is_free = |held: &Option<Claim>| held.as_ref().is_none_or(|held| held.until <= now || held.by == claim.by);
        let free =
            lists.runs.iter_mut().filter(|(_, (run, held))| run.standing == RunStanding::Running && is_free(held));
        let found = free.min_by_key(|(id, (_, held))| (held.as_ref().map(|held| held.until), **id));
        Ok(found.map(|(id, (_, held))| {
            *held = Some(claim.clone());
            *id
        }))
    }
}
