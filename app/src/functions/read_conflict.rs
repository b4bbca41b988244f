//! One conflict with everything that a person needs to decide it.

use guard::{
    clock::Timestamp,
    person::Person,
    service::{ConflictReport, Neighbours},
};
use leptos::prelude::*;

use super::list_conflicts::ConflictSearch;
use crate::{
    components::diff::{DiffQuery, Diffed},
    encoding::Json,
    failure::Failure,
    notice::ConflictNotice,
};

/// What leaving out places would have avoided.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Avoided {
    /// The place, or none for all of them together.
    pub place: Option<String>,
    /// So many of the latest conflicts would not have been.
    pub avoided: usize,
    /// So many were looked at.
    pub looked_at: usize,
}

/// What the page of a conflict shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConflictPageReport {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The conflict.
    pub report: ConflictReport,
    /// The places that are masked.
    pub masked: Vec<String>,
    /// Both payloads, compared.
    pub diffed: Diffed,
    /// What stands before and behind it in the queue.
    pub neighbours: Neighbours,
    /// The places that could be left out, each with what it would have avoided; the last is all of them.
    pub noise: Vec<Avoided>,
    /// What became of the decision before.
    pub notice: Option<ConflictNotice>,
}

/// So many places are offered as noise.
#[cfg(feature = "ssr")]
const PLACES_OFFERED_MAX: usize = 10;

/// Reads a conflict; its neighbours are those of the queue that `search` limits.
#[server(prefix = "/fn", endpoint = "read_conflict", input = Json, output = Json)]
pub(crate) async fn read_conflict(
    id: String,
    search: ConflictSearch,
    shown: DiffQuery,
) -> Result<ConflictPageReport, Failure> {
    use guard::{refusal::Refusal, service::Version};

    use crate::comparison::{Place, Side, diff};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let reach = &person.reach;
    let id = id.parse().map_err(|_| Refusal::not_found("conflict"))?;
    let mut report = guard.conflict_report(reach, id).await?;
    let operation = guard.operation(reach, report.operation.id).await?;
    let approved = guard.version(reach, operation.id, Version::Revision(operation.key.revision)).await?;
    let received = guard.version(reach, operation.id, Version::Received(id)).await?;
    let veil = guard.veil(person, &operation).await?;
    veil.cover(&mut report.conflict.changes);
    let (approved, received) = veil.compared(approved, received);
    let path = format!("/conflicts/{id}");
    let query = [
        ("workflow", &search.workflow),
        ("company", &search.company),
        ("path", &search.path),
        ("group", &search.group),
        ("state", &search.state),
    ];
    let query = query.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.clone()));
    let place = Place { path: &path, query: query.collect(), shown: &shown };
    let sides = [
        Side { label: crate::wording::standing_payload(operation.key.revision), payload: approved.as_deref() },
        Side { label: "Received payload", payload: received.as_deref() },
    ];
    let diffed = diff(sides, &guard.left_out(&operation).await?, &place);
    let mut noise = Vec::new();
    if report.conflict.is_open() {
        let workflow = operation.key.workflow.as_str();
        let places: Vec<_> =
            report.conflict.changes.iter().map(|change| change.path.clone()).take(PLACES_OFFERED_MAX).collect();
        let mut sets: Vec<_> = places.iter().map(|place| vec![place.clone()]).collect();
        if places.len() > 1 {
            sets.push(places.clone());
        }
        let (avoided, looked_at) = guard.conflicts_avoided(reach, workflow, &sets).await?;
        let names = places.iter().map(|place| Some(place.to_string())).chain([None]);
        noise.extend(names.zip(avoided).map(|(place, avoided)| Avoided { place, avoided, looked_at }));
    }
    let filter = super::list_conflicts::asked::filter(&search)?;
    Ok(ConflictPageReport {
        as_of: guard.now(),
        person: person.clone(),
        neighbours: guard.conflict_neighbours(reach, &filter, &report.conflict).await?,
        report,
        masked: veil.places().to_vec(),
        diffed,
        noise,
        notice: crate::reply::take_notice(&visit, super::decide_conflict::NOTICE).await,
    })
}
