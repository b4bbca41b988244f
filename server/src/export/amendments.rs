//! Amendments as a list that leaves the desk.

use std::sync::Arc;

use app::context::Visit;
use async_trait::async_trait;
use guard::amendment::{Amendment, AmendmentState, AmendmentStateName};
use guard::clock::Timestamp;
use guard::operation::Operation;
use guard::person::Person;
use guard::queue::{Cursor, PAGE_ROWS_MAX, Page, PageRequest};
use guard::refusal::Refusal;
use guard::service::Guard;

use super::{Cell, Listed};

const COLUMNS: [&str; 30] = [
    "id",
    "state",
    "operation",
    "workflow",
    "company",
    "source_system",
    "document",
    "action",
    "revision",
    "base_operation",
    "base_revision",
    "base_fingerprint",
    "base_destination_reference",
    "fingerprint",
    "changes_total",
    "changed_paths",
    "amount",
    "currency",
    "correction",
    "rule_version",
    "proposed_by",
    "requested_by",
    "reason",
    "proposed_at",
    "approvals_needed",
    "approved_by",
    "ended_at",
    "ended_by",
    "ended_reason",
    "review_url",
];

/// Amendments within a person's reach. What changes stays on the desk, where fields may be masked; the file names the places.
pub(super) struct Amendments {
    guard: Guard,
    person: Person,
    state: Option<AmendmentStateName>,
    address: Arc<str>,
}

impl Amendments {
    /// As the page's address asks for it.
    pub(super) fn of(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let (guard, address) = (visit.guard.clone(), Arc::clone(&visit.address));
        Ok(Self { guard, person: person.clone(), state: app::amendments_asked_for(query)?, address })
    }

    fn row(&self, amendment: &Amendment, operation: &Operation) -> Vec<Cell> {
        let Amendment { base, ruled, approvals, .. } = amendment;
        let (key, money) = (&operation.key, operation.money.as_ref());
        let paths: Vec<String> = amendment.changes.iter().map(|change| change.path.to_string()).collect();
        let approved: Vec<&str> = approvals.iter().map(|approval| approval.by.as_str()).collect();
        let (ended_at, ended_by, ended_reason) = ended(&amendment.state);
        vec![
            Cell::Text(amendment.id.to_string()),
            Cell::Text(amendment.state.name().as_str().to_owned()),
            Cell::Text(operation.id.to_string()),
            Cell::Text(key.workflow.to_string()),
            Cell::Text(key.company.to_string()),
            Cell::Text(key.source_system.to_string()),
            Cell::Text(key.document.to_string()),
            Cell::Text(key.action.to_string()),
            Cell::Number(amendment.revision.to_string()),
            Cell::Text(base.operation.to_string()),
            Cell::Number(base.revision.to_string()),
            Cell::Text(base.fingerprint.to_string()),
            Cell::Text(base.destination_reference.clone()),
            Cell::Text(amendment.fingerprint.to_string()),
            Cell::Number(amendment.changes_total.to_string()),
            Cell::Text(paths.join(" ")),
            money.map_or(Cell::Absent, |money| Cell::Number(money.amount.to_string())),
            Cell::of(money.map(|money| money.currency.as_str())),
            Cell::Text(ruled.correction.as_str().to_owned()),
            Cell::Number(ruled.rule_version.to_string()),
            Cell::Text(amendment.proposed_by.to_string()),
            Cell::of(amendment.requested_by.as_deref()),
            Cell::Text(amendment.reason.clone()),
            Cell::Moment(amendment.proposed_at),
            Cell::Number(amendment.approvals_needed.to_string()),
            Cell::Text(approved.join(" ")),
            ended_at.map_or(Cell::Absent, Cell::Moment),
            ended_by.map_or(Cell::Absent, Cell::Text),
            Cell::of(ended_reason),
            Cell::Text(format!("{}/amendments/{}", self.address, amendment.id)),
        ]
    }
}

/// When, by whom and why an amendment came to nothing.
fn ended(state: &AmendmentState) -> (Option<Timestamp>, Option<String>, Option<&str>) {
    match state {
        AmendmentState::AwaitingApproval | AmendmentState::Approved { .. } | AmendmentState::Begun { .. } => {
            (None, None, None)
        }
        AmendmentState::Rejected { at, by, reason } | AmendmentState::Withdrawn { at, by, reason } => {
            (Some(*at), Some(by.to_string()), Some(reason))
        }
        AmendmentState::Expired { at } => (Some(*at), None, None),
        AmendmentState::Void { at, reason } => (Some(*at), None, Some(reason)),
    }
}

#[async_trait]
impl Listed for Amendments {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, cursor: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let page = PageRequest { cursor, limit: PAGE_ROWS_MAX };
        let reach = &self.person.reach;
        let found = self.guard.amendments(reach, self.state, &page).await?;
        let mut rows = Vec::with_capacity(found.rows.len());
        for amendment in &found.rows {
            let operation = self.guard.operation(reach, amendment.operation).await?;
            rows.push(self.row(amendment, &operation));
        }
        Ok(Page { rows, next: found.next })
    }
}
