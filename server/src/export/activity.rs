//! What people did, as a list that leaves the desk.

use app::context::Visit;
use async_trait::async_trait;
use guard::activity::ActivityFilter;
use guard::person::Person;
use guard::queue::{Cursor, PAGE_ROWS_MAX, Page, PageRequest};
use guard::refusal::Refusal;
use guard::service::Guard;

use super::{Cell, Listed};

const COLUMNS: [&str; 7] = ["at", "actor", "kind", "operation", "sequence", "detail", "hash"];

/// What people did within a person's reach.
pub(super) struct Activities {
    guard: Guard,
    person: Person,
    filter: ActivityFilter,
}

impl Activities {
    /// As the page's address asks for it.
    pub(super) fn of(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        Ok(Self { guard: visit.guard.clone(), person: person.clone(), filter: app::activity_asked_for(query)? })
    }
}

#[async_trait]
impl Listed for Activities {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let request = PageRequest { cursor, limit: PAGE_ROWS_MAX };
        let page = self.guard.activities(&self.person.reach, &self.filter, &request).await?;
        Ok(page.map(|activity| {
            let entry = activity.entry;
            vec![
                Cell::Moment(entry.at),
                Cell::Text(entry.actor.to_string()),
                Cell::Text(entry.kind.as_str().to_owned()),
                activity.operation.map_or(Cell::Absent, |operation| Cell::Text(operation.to_string())),
                Cell::Number(entry.sequence.to_string()),
                Cell::Text(entry.detail.to_string()),
                Cell::Text(entry.hash.to_string()),
            ]
        }))
    }
}
