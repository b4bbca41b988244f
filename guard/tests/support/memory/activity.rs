//! What people did.

use std::cmp::Reverse;

use async_trait::async_trait;
use guard::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use guard::actor::Actor;
use guard::queue::{Page, PageRequest};
use guard::refusal::StoreFault;
use guard::store::Activities;
use guard::token::Reach;

use super::Memory;

#[async_trait]
impl Activities for Memory {
    async fn activities(
        &self,
        reach: &Reach,
        filter: &ActivityFilter,
        page: &PageRequest,
    ) -> Result<Page<Activity>, StoreFault> {
        let tables = self.tables();
        let within = |id| {
            let key = &tables.operations[id].key;
            reach.company(key.company.as_str()) && reach.workflow(key.workflow.as_str())
        };
        let operations = tables.entries.iter().filter(|(id, _)| within(id));
        let mut all: Vec<Activity> = operations
            .flat_map(|(id, entries)| {
                entries.iter().map(|entry| Activity { operation: Some(*id), entry: entry.clone() })
            })
            .collect();
        if *reach == Reach::EVERYTHING {
            all.extend(tables.administration.iter().map(|entry| Activity { operation: None, entry: entry.clone() }));
        }
        let place = |activity: &Activity| {
            let chain = activity.operation.map_or(0, |operation| operation.as_u128());
            (activity.entry.at.timestamp_millis(), chain, i64::try_from(activity.entry.sequence).unwrap())
        };
        let behind = page.cursor.as_ref().and_then(Activity::behind);
        all.retain(|activity| {
            let entry = &activity.entry;
            let by = match &entry.actor {
                Actor::Person { email } => Some(email),
                Actor::Token { .. }
                | Actor::Sweeper
                | Actor::Recovery
                | Actor::Schedule
                | Actor::CommandLine
                | Actor::FirstStart => None,
            };
            by.is_some()
                && (filter.person.is_none() || filter.person.as_ref() == by)
                && filter.kind.is_none_or(|kind| kind == entry.kind)
                && (filter.operation.is_none() || filter.operation == activity.operation)
                && filter.from.is_none_or(|from| entry.at >= from)
                && filter.to.is_none_or(|to| entry.at < to)
                && behind.is_none_or(|behind| place(activity) < behind)
        });
        all.sort_by_key(|activity| Reverse(place(activity)));
        let has_next = all.len() > page.limit as usize;
        all.truncate(page.limit as usize);
        let next = all.last().filter(|_| has_next).map(Activity::cursor);
        Ok(Page { rows: all, next })
    }

    async fn trail_state(&self) -> Result<TrailState, StoreFault> {
        // Nothing seals what lives in memory.
        Ok(TrailState { seal: None, check: self.tables().trail_check.clone() })
    }

    async fn put_trail_check(&self, check: &TrailCheck) -> Result<(), StoreFault> {
        self.tables().trail_check = Some(check.clone());
        Ok(())
    }
}
