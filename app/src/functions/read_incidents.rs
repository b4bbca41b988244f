//! Bursts of unknown operations, each as one.

use guard::{clock::Timestamp, id::OperationId, money::Money};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// At most so many incidents are shown; they are the greatest.
#[cfg(feature = "ssr")]
const INCIDENTS_SHOWN_MAX: usize = 5;

/// An incident, as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct IncidentView {
    /// The destination.
    pub destination: String,
    /// Why its operations are unknown.
    pub cause: String,
    /// When the first became unknown.
    pub from: Timestamp,
    /// When the last did.
    pub to: Timestamp,
    /// One of its operations, by which it is known.
    pub operation: OperationId,
    /// How many.
    pub count: usize,
    /// Whether there may be more.
    pub is_cut: bool,
    /// The money in them.
    pub money: Vec<Money>,
}

/// What the incidents are, and why the one who looks may not have them verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct IncidentList {
    /// The greatest, five at most.
    pub shown: Vec<IncidentView>,
    /// How many more there are.
    pub further: usize,
    /// Why not; none where it is allowed.
    pub why_not: Option<String>,
    /// Why nothing was begun.
    pub refused: Option<Failure>,
}

/// The incidents within reach.
#[server(prefix = "/fn", endpoint = "read_incidents", input = Json, output = Json)]
pub(crate) async fn read_incidents() -> Result<IncidentList, Failure> {
    let visit = crate::context::Visit::current()?;
    let person = visit.person()?;
    let found = visit.guard.incidents(person).await?;
    let further = found.len().saturating_sub(INCIDENTS_SHOWN_MAX);
    let shown = found.into_iter().filter_map(IncidentView::of).take(INCIDENTS_SHOWN_MAX).collect();
    let refused: Option<Option<Failure>> = crate::reply::take_notice(&visit, super::read_run::NOTICE).await;
    let why_not = crate::wording::why_not_resolve(person.role);
    Ok(IncidentList { shown, further, why_not, refused: refused.flatten() })
}

impl IncidentView {
    #[cfg(feature = "ssr")]
    fn of(incident: guard::incident::Incident) -> Option<Self> {
        let guard::incident::Incident { destination, cause, from, to, operations, is_cut, money } = incident;
        let operation = *operations.first()?;
        Some(Self { destination, cause, from, to, operation, count: operations.len(), is_cut, money })
    }
}
