//! One amendment with everything that a person needs to decide it.

use guard::{amendment::Amendment, clock::Timestamp, id::AmendmentId, person::Person, view::OperationView};
use leptos::prelude::*;

use crate::{
    components::diff::{DiffQuery, Diffed},
    encoding::Json,
    failure::Failure,
    notice::amendment::AmendmentNotice,
};

/// What the page of an amendment shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AmendmentPageReport {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The amendment; what is sensitive in its changes is masked.
    pub amendment: Amendment,
    /// The operation of the revision that it proposes.
    pub operation: OperationView,
    /// The revision that it changes, as it is now.
    pub base: Option<OperationView>,
    /// Why the base is no longer the one that it was proposed on.
    pub moved: Option<String>,
    /// Whether it can be taken back as it stands.
    pub is_withdrawable: bool,
    /// Whether the destination is asked before an approval.
    pub is_looked_at: bool,
    /// The places that are masked.
    pub masked: Vec<String>,
    /// Both payloads, compared; none where a record is taken back.
    pub diffed: Option<Diffed>,
    /// The payload of which the record is taken back, indented; none where it was dropped, or the document is changed.
    pub taken_back: Option<String>,
    /// The one before it in the list that it was opened from.
    pub before: Option<AmendmentId>,
    /// The one behind it.
    pub behind: Option<AmendmentId>,
    /// What became of the act before.
    pub notice: Option<AmendmentNotice>,
}

/// Reads an amendment; the ones before and behind it are those of the list that is limited to `state`, as the list's address writes it.
#[server(prefix = "/fn", endpoint = "read_amendment", input = Json, output = Json)]
pub(crate) async fn read_amendment(
    id: String,
    shown: DiffQuery,
    state: String,
) -> Result<AmendmentPageReport, Failure> {
    use guard::{json, refusal::Refusal, service::AmendmentReport};

    use crate::comparison::{Place, Side, diff};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("amendment"))?;
    let report = guard.amendment_report(&person.reach, id).await?;
    let AmendmentReport { mut amendment, operation, base, moved, is_withdrawable, base_payload, proposed_payload } =
        report;
    let held = guard.operation(&person.reach, operation.id).await?;
    let veil = guard.veil(person, &held).await?;
    veil.cover(&mut amendment.changes);
    let payloads = veil.compared(base_payload, proposed_payload);
    let labels = (format!("Revision {}", amendment.base.revision), format!("Proposed revision {}", amendment.revision));
    let path = format!("/amendments/{id}");
    let query = if state.is_empty() { Vec::new() } else { vec![("state", state.clone())] };
    let place = Place { path: &path, query, shown: &shown };
    let sides = [
        Side { label: &labels.0, payload: payloads.0.as_deref() },
        Side { label: &labels.1, payload: payloads.1.as_deref() },
    ];
    let is_reversal = amendment.is_reversal();
    let diffed = if is_reversal { None } else { Some(diff(sides, &guard.left_out(&held).await?, &place)) };
    let taken_back = payloads.0.clone().filter(|_| is_reversal).map(|text| {
        // What the store holds was read strictly when it came; should it not be JSON any more, it is shown as it is.
        json::Json::parse(text.as_bytes()).map_or(text, |json| json.indented())
    });
    let state = super::list_amendments::state_asked_for(&state)?;
    let (before, behind) = guard.amendment_neighbours(&person.reach, state, &amendment).await?;
    Ok(AmendmentPageReport {
        before,
        behind,
        as_of: guard.now(),
        person: person.clone(),
        diffed,
        taken_back,
        is_looked_at: guard.catalogue().destination_to_ask(held.key.workflow.as_str()).is_some(),
        masked: veil.places().to_vec(),
        amendment,
        operation,
        base,
        moved,
        is_withdrawable,
        notice: crate::reply::take_notice(&visit, super::decide_amendment::NOTICE).await,
    })
}
