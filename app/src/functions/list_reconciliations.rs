//! The reconciliations, the newest first.

use guard::{
    clock::Timestamp,
    id::ReconciliationId,
    person::Person,
    reconciliation::{Bucket, Origin, Scope},
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::reconciliation::HandInNotice};

/// A reconciliation in the list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RunLine {
    /// The reconciliation.
    pub id: ReconciliationId,
    /// Which operations it compares.
    pub scope: Scope,
    /// Where the records came from.
    pub origin: Origin,
    /// Who started it.
    pub by: String,
    /// When.
    pub started_at: Timestamp,
    /// Whether it is over.
    pub is_done: bool,
    /// How many lie in the buckets that hold any, in the order in which they are shown.
    pub counts: Vec<(Bucket, u64)>,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReconciliationList {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The reconciliations.
    pub runs: Vec<RunLine>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// The workflows that a file can be handed in for: name and title.
    pub workflows: Vec<(String, String)>,
    /// The workflows whose destination has a list: name, and the destination's name.
    pub lists: Vec<(String, String)>,
    /// The key fields of the workflow that is asked for, by their places in the payload.
    pub key_fields: Vec<String>,
    /// What became of the file before.
    pub notice: Option<HandInNotice>,
}

/// Reads a page of the list: of a workflow and a company where they are named.
#[server(prefix = "/fn", endpoint = "list_reconciliations", input = Json, output = Json)]
pub(crate) async fn list_reconciliations(
    workflow: String,
    company: String,
    before: String,
) -> Result<ReconciliationList, Failure> {
    use guard::{queue::PAGE_ROWS_DEFAULT, reconciliation::RunFilter, refusal::Refusal};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let filter = RunFilter { workflow: some(&workflow), company: some(&company) };
    let before: Option<ReconciliationId> = match before.as_str() {
        "" => None,
        text => {
            Some(text.parse().map_err(|_| Refusal::field("before", "is no reconciliation; start at the first page"))?)
        }
    };
    let (runs, has_more) = guard.reconciliations(&person.reach, &filter, before, PAGE_ROWS_DEFAULT).await?;
    let next = runs.last().filter(|_| has_more).map(|run| run.id.to_string());
    let runs = runs.into_iter().map(|run| RunLine {
        id: run.id,
        by: crate::wording::actor(&run.actor),
        started_at: run.started_at,
        is_done: run.progress == guard::reconciliation::Progress::Done,
        counts: Bucket::ALL
            .into_iter()
            .map(|bucket| (bucket, run.summary.count(bucket)))
            .filter(|(_, count)| *count > 0)
            .collect(),
        scope: run.scope,
        origin: run.origin,
    });
    let catalogue = guard.catalogue();
    let reached = catalogue.workflows.values().filter(|known| !known.is_retired);
    let reached = reached.map(|known| &known.workflow).filter(|known| person.reach.workflow(known.name.as_str()));
    let reached: Vec<_> = reached.collect();
    let list_of = |workflow: &&guard::workflow::Workflow| {
        let destination = catalogue.destinations.get(workflow.destination.as_ref()?)?;
        destination.list.as_ref()?;
        Some((workflow.name.as_str().to_owned(), destination.name.clone()))
    };
    let lists = reached.iter().filter_map(list_of).collect();
    let workflows = reached
        .into_iter()
        .map(|known| {
            let name = known.name.as_str().to_owned();
            (name.clone(), known.title.clone().unwrap_or(name))
        })
        .collect();
    let notice: Option<HandInNotice> = crate::reply::take_notice(&visit, crate::reconciliation::NOTICE).await;
    let asked = match &notice {
        Some(HandInNotice::Refused { draft, .. }) => draft.text("workflow"),
        Some(HandInNotice::NotPulled { .. } | HandInNotice::Done { .. }) | None => workflow,
    };
    let key_fields = catalogue
        .workflows
        .get(&asked)
        .map(|known| known.workflow.key_fields.iter().map(|field| field.payload.to_string()).collect());
    Ok(ReconciliationList {
        as_of: guard.now(),
        person: person.clone(),
        runs: runs.collect(),
        next,
        workflows,
        lists,
        key_fields: key_fields.unwrap_or_default(),
        notice,
    })
}
