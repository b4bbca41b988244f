//! The amendments, those that wait for approval first.

use guard::{
    amendment::AmendmentStateName, clock::Timestamp, id::AmendmentId, summary::UNCERTAIN_COUNTED_MAX,
    view::OperationView,
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// In an address, this asks for amendments in every state.
pub(crate) const EVERY_STATE: &str = "all";

/// An amendment in the list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AmendmentRow {
    /// The amendment.
    pub id: AmendmentId,
    /// The operation of the revision that it proposes.
    pub operation: OperationView,
    /// The first change: `quantity 2 → 3`; or the record that is taken back.
    pub headline: String,
    /// How many places change besides.
    pub more: u32,
    /// Who proposed it.
    pub proposed_by: String,
    /// When.
    pub proposed_at: Timestamp,
    /// How many people have approved.
    pub approvals: usize,
    /// How many must.
    pub approvals_needed: u32,
    /// Where it stands.
    pub state: AmendmentStateName,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AmendmentList {
    /// When it was true.
    pub as_of: Timestamp,
    /// How many wait for approval, up to [`UNCERTAIN_COUNTED_MAX`].
    pub waiting: u32,
    /// The amendments, the newest first.
    pub rows: Vec<AmendmentRow>,
    /// Where the next page starts.
    pub next: Option<String>,
}

impl AmendmentList {
    /// How many wait, in words.
    pub(crate) fn waiting_words(&self) -> String {
        crate::wording::counted_to(UNCERTAIN_COUNTED_MAX, self.waiting, "amendment waits", "amendments wait")
    }
}

/// The state that the address of the list asks for; none for every one.
///
/// # Errors
/// The parameter that cannot be read, and what can.
#[cfg(feature = "ssr")]
pub fn amendments_asked_for(query: &str) -> Result<Option<AmendmentStateName>, guard::refusal::Refusal> {
    use guard::refusal::Refusal;

    let pairs: Vec<(String, String)> =
        serde_urlencoded::from_str(query).map_err(|error| Refusal::field("query", error))?;
    let mut states = pairs.into_iter().filter(|(name, _)| name == "state").map(|(_, state)| state);
    let state = states.next().unwrap_or_default();
    if states.next().is_some() {
        return Err(Refusal::field("state", "is given twice"));
    }
    state_asked_for(&state)
}

#[cfg(feature = "ssr")]
pub(crate) fn state_asked_for(state: &str) -> Result<Option<AmendmentStateName>, guard::refusal::Refusal> {
    Ok(match state {
        "" => Some(AmendmentStateName::AwaitingApproval),
        EVERY_STATE => None,
        name => Some(AmendmentStateName::parse(name).ok_or_else(|| {
            let known = AmendmentStateName::ALL.map(AmendmentStateName::as_str).join(", ");
            guard::refusal::Refusal::field("state", format!("is {name:?}; {known} or {EVERY_STATE} are possible"))
        })?),
    })
}

/// Reads a page of the list: in the state that is named, or those that wait where none is.
#[server(prefix = "/fn", endpoint = "list_amendments", input = Json, output = Json)]
pub(crate) async fn list_amendments(state: String, cursor: String) -> Result<AmendmentList, Failure> {
    use guard::queue::{Cursor, PAGE_ROWS_DEFAULT, PageRequest};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let reach = &person.reach;
    let state = state_asked_for(&state)?;
    let cursor = (!cursor.is_empty()).then(|| Cursor::from_text(&cursor));
    let page = guard.amendments(reach, state, &PageRequest { cursor, limit: PAGE_ROWS_DEFAULT }).await?;
    let ids: Vec<_> = page.rows.iter().map(|amendment| amendment.operation).collect();
    let operations = guard.operations_by_id(reach, &ids).await?;
    let mut rows = Vec::with_capacity(page.rows.len());
    for mut amendment in page.rows {
        let operation = operations
            .get(&amendment.operation)
            .ok_or_else(|| guard::refusal::Refusal::not_found("operation of an amendment"))?;
        guard.veil(person, operation).await?.cover(&mut amendment.changes);
        let headline = if amendment.is_reversal() {
            Some(format!("{} is taken back", amendment.base.destination_reference))
        } else {
            amendment.changes.first().map(super::list_conflicts::asked::headline)
        };
        rows.push(AmendmentRow {
            id: amendment.id,
            operation: guard.view(operation),
            headline: headline.unwrap_or_else(|| "the payload".to_owned()),
            more: amendment.changes_total.saturating_sub(1),
            proposed_by: crate::wording::actor(&amendment.proposed_by),
            proposed_at: amendment.proposed_at,
            approvals: amendment.approvals.len(),
            approvals_needed: amendment.approvals_needed,
            state: amendment.state.name(),
        });
    }
    Ok(AmendmentList {
        as_of: guard.now(),
        waiting: guard.proposals_waiting(reach).await?,
        rows,
        next: page.next.map(|next| next.as_str().to_owned()),
    })
}
