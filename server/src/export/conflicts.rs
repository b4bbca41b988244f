//! Conflicts as a list that leaves the desk.

use std::sync::Arc;

use app::context::Visit;
use async_trait::async_trait;
use guard::conflict::{Conflict, ConflictFilter, ConflictOrder};
use guard::person::Person;
use guard::queue::{Cursor, PAGE_ROWS_MAX, Page, PageRequest};
use guard::refusal::Refusal;
use guard::service::Guard;

use super::{Cell, Listed};

const COLUMNS: [&str; 14] = [
    "id",
    "state",
    "operation",
    "workflow",
    "company",
    "changes_total",
    "changed_paths",
    "hits",
    "opened_at",
    "decision",
    "decided_by",
    "decided_at",
    "reason",
    "review_url",
];

/// Conflicts within a person's reach. What came and what was approved stays on the desk, where fields may be masked; the file names the
/// places that differ.
pub(super) struct Conflicts {
    guard: Guard,
    person: Person,
    filter: ConflictFilter,
    order: ConflictOrder,
    address: Arc<str>,
}

impl Conflicts {
    /// The queue, as its address asks for it; one by one.
    pub(super) fn of(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let (filter, order) = app::conflicts_asked_for(query)?;
        let (guard, address) = (visit.guard.clone(), Arc::clone(&visit.address));
        Ok(Self { guard, person: person.clone(), filter, order, address })
    }

    fn row(&self, conflict: &Conflict) -> Vec<Cell> {
        let decision = conflict.decision();
        let paths: Vec<String> = conflict.changes.iter().map(|change| change.path.to_string()).collect();
        vec![
            Cell::Text(conflict.id.to_string()),
            Cell::Text(if conflict.is_open() { "open" } else { "decided" }.to_owned()),
            Cell::Text(conflict.operation.to_string()),
            Cell::Text(conflict.workflow.clone()),
            Cell::Text(conflict.company.clone()),
            Cell::Number(conflict.changes_total.to_string()),
            Cell::Text(paths.join(" ")),
            Cell::Number(conflict.hits.to_string()),
            Cell::Moment(conflict.opened_at),
            Cell::of(decision.map(|decision| decision.outcome.as_str())),
            Cell::of(decision.map(|decision| decision.by.as_str())),
            decision.map_or(Cell::Absent, |decision| Cell::Moment(decision.at)),
            Cell::of(decision.map(|decision| decision.reason.as_str())),
            Cell::Text(format!("{}/conflicts/{}", self.address, conflict.id)),
        ]
    }
}

#[async_trait]
impl Listed for Conflicts {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let page = PageRequest { cursor, limit: PAGE_ROWS_MAX };
        let found = self.guard.conflict_page(&self.person.reach, &self.filter, self.order, &page).await?;
        Ok(found.map(|conflict| self.row(&conflict)))
    }
}
