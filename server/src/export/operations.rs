//! Operations as a list that leaves the desk: the table and the queue.

use std::sync::Arc;

use app::context::Visit;
use async_trait::async_trait;
use guard::operation::Operation;
use guard::person::Person;
use guard::queue::{Cursor, Filter, Order, PAGE_ROWS_MAX, Page, PageRequest};
use guard::refusal::Refusal;
use guard::service::Guard;
use guard::state::State;
use guard::triage::{Sort, Spot, TriageFilter};

use super::{Cell, Listed};

const COLUMNS: [&str; 23] = [
    "id",
    "state",
    "sentence",
    "workflow",
    "company",
    "source_system",
    "document",
    "action",
    "revision",
    "amount",
    "currency",
    "attempts",
    "duplicates_prevented",
    "open_conflicts",
    "worker",
    "external_reference",
    "destination_reference",
    "fingerprint",
    "reason",
    "uncertain_since",
    "created_at",
    "updated_at",
    "review_url",
];

/// Operations within a person's reach.
pub(super) struct Operations {
    guard: Guard,
    person: Person,
    filter: Filter,
    order: Order,
    address: Arc<str>,
}

impl Operations {
    /// The table, as its address asks for it.
    pub(super) fn of_table(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let (filter, order) = app::asked_for(query)?;
        Ok(Self::of(visit, person, filter, order))
    }

    fn of(visit: &Visit, person: &Person, filter: Filter, order: Order) -> Self {
        let (guard, address) = (visit.guard.clone(), Arc::clone(&visit.address));
        Self { guard, person: person.clone(), filter, order, address }
    }

    fn row(&self, operation: &Operation) -> Vec<Cell> {
        let view = self.guard.view(operation);
        let key = &operation.key;
        let money = operation.money.as_ref();
        let (reason, since) = match &operation.state {
            State::Unknown { since, reason } | State::Disputed { since, reason, .. } => (Some(reason), Some(*since)),
            State::Rejected { reason, .. } | State::Failed { reason, .. } => (Some(reason), None),
            State::AwaitingApproval
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Confirmed { .. } => (None, None),
        };
        let text = |text: &str| Cell::Text(text.to_owned());
        let number = |number: u64| Cell::Number(number.to_string());
        vec![
            Cell::Text(operation.id.to_string()),
            text(operation.state.name().as_str()),
            Cell::Text(view.sentence),
            text(key.workflow.as_str()),
            text(key.company.as_str()),
            text(key.source_system.as_str()),
            text(key.document.as_str()),
            text(key.action.as_str()),
            number(key.revision.into()),
            money.map_or(Cell::Absent, |money| Cell::Number(money.amount.to_string())),
            Cell::of(money.map(|money| money.currency.as_str())),
            number(operation.attempt_number().into()),
            number(operation.duplicates_prevented),
            number(operation.open_conflicts.into()),
            Cell::of(view.worker.as_deref()),
            Cell::Text(view.external_reference),
            Cell::of(operation.state.destination_reference()),
            Cell::Text(operation.fingerprint.to_string()),
            Cell::of(reason.map(String::as_str)),
            since.map_or(Cell::Absent, Cell::Moment),
            Cell::Moment(operation.created_at),
            Cell::Moment(operation.updated_at),
            Cell::Text(format!("{}/operations/{}", self.address, operation.id)),
        ]
    }
}

/// The queue of what is uncertain within a person's reach, in the columns of the table.
pub(super) struct Uncertain {
    rows: Operations,
    filter: TriageFilter,
    sort: Sort,
}

impl Uncertain {
    /// The queue, as its address asks for it.
    pub(super) fn of_queue(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let (filter, sort, _) = app::asked_of_queue(query)?;
        Ok(Self { rows: Operations::of(visit, person, Filter::default(), Order::Newest), filter, sort })
    }
}

#[async_trait]
impl Listed for Uncertain {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let spot = cursor.as_ref().and_then(|cursor| Spot::parse(cursor.as_str()));
        let Operations { guard, person, .. } = &self.rows;
        let found = guard.triage(person, &self.filter, self.sort, spot.as_ref(), PAGE_ROWS_MAX).await?;
        let rows = found.rows.iter().map(|operation| self.rows.row(operation)).collect();
        Ok(Page { rows, next: found.next.map(|spot| Cursor::from_text(&spot.to_text())) })
    }
}

#[async_trait]
impl Listed for Operations {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let page = PageRequest { cursor, limit: PAGE_ROWS_MAX };
        let found = self.guard.operations(&self.person.reach, &self.filter, self.order, &page).await?;
        Ok(found.map(|operation| self.row(&operation)))
    }
}
