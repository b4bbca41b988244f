//! A reconciliation: what it came to, and the rows of one bucket.

use guard::{
    clock::Timestamp,
    person::Person,
    reconciliation::{Bucket, RecordDecision, Row, Run},
    view::OperationView,
};
use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::reconciliation::{FindingNotice, HandInNotice},
};

/// A reconciliation, opened at one bucket.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Report {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The reconciliation.
    pub run: Run,
    /// The title of its workflow.
    pub title: String,
    /// Who started it.
    pub by: String,
    /// The bucket whose rows are shown.
    pub bucket: Bucket,
    /// Rows of it.
    pub rows: Vec<Row>,
    /// What people said of the records on this page, with the names of the operations.
    pub decisions: Vec<(RecordDecision, String)>,
    /// The record that something is to be done about.
    pub opened: Option<Opened>,
    /// The number behind which the next page starts.
    pub next: Option<u64>,
    /// What became of the file just now.
    pub notice: Option<HandInNotice>,
}

/// A record that nobody guards, with what may be done about it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Opened {
    /// Its row.
    pub row: Row,
    /// The operations that it may belong to, and how many fields say so.
    pub candidates: Vec<(OperationView, u32)>,
    /// What the workflow's operations do.
    pub actions: Vec<String>,
    /// What became of the act before.
    pub notice: Option<FindingNotice>,
}

/// Under this name the effect of an act on a record is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "finding";

/// Reads a reconciliation within reach, and a row of it that something is to be done about; without the name of a bucket, the first that holds anything.
#[server(prefix = "/fn", endpoint = "read_reconciliation", input = Json, output = Json)]
pub(crate) async fn read_reconciliation(
    id: String,
    bucket: String,
    after: u64,
    row: Option<u64>,
) -> Result<Report, Failure> {
    use guard::{id::ReconciliationId, queue::PAGE_ROWS_DEFAULT, refusal::Refusal};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id: ReconciliationId = id.parse().map_err(|_| Refusal::not_found("reconciliation"))?;
    let run = guard.reconciliation(&person.reach, id).await?;
    let bucket = match bucket.as_str() {
        "" => {
            let first = Bucket::ALL.into_iter().find(|bucket| run.summary.count(*bucket) > 0);
            first.unwrap_or(Bucket::Matched)
        }
        name => Bucket::parse(name).ok_or_else(|| {
            let known = Bucket::ALL.map(Bucket::as_str).join(", ");
            Refusal::field("bucket", format!("is {name:?}; there are: {known}"))
        })?,
    };
    let limit = PAGE_ROWS_DEFAULT as usize;
    let mut rows = guard.reconciliation_rows(&person.reach, id, bucket, after, PAGE_ROWS_DEFAULT + 1).await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    guard.cover_rows(&run, &mut rows);
    let numbers = rows.first().zip(rows.last()).filter(|_| bucket == Bucket::Unguarded);
    let mut decisions = Vec::new();
    if let Some((first, last)) = numbers {
        for decision in guard.record_decisions(id, first.number..=last.number).await? {
            let operation = guard.operation(&person.reach, decision.operation).await?;
            decisions.push((decision, guard.view(&operation).sentence));
        }
    }
    let opened = match row {
        Some(number) if bucket == Bucket::Unguarded => Some(open(&visit, id, number).await?),
        Some(_) | None => None,
    };
    let known = guard.catalogue().workflows.get(&run.scope.workflow).and_then(|known| known.workflow.title.clone());
    Ok(Report {
        as_of: guard.now(),
        person: person.clone(),
        title: known.unwrap_or_else(|| run.scope.workflow.clone()),
        by: crate::wording::actor(&run.actor),
        bucket,
        decisions,
        opened,
        next: rows.last().filter(|_| has_more).map(|row| row.number),
        rows,
        run,
        notice: crate::reply::take_notice(&visit, crate::reconciliation::NOTICE).await,
    })
}

/// A record with what may be done about it. A candidate of which a person has said that it is none is left out.
#[cfg(feature = "ssr")]
async fn open(visit: &crate::context::Visit, id: guard::id::ReconciliationId, number: u64) -> Result<Opened, Failure> {
    let (person, guard) = (visit.person()?, &visit.guard);
    let (run, row) = guard.unguarded_row(&person.reach, id, number).await?;
    let said = guard.record_decisions(id, number..=number).await?;
    let mut candidates = Vec::new();
    for candidate in &row.candidates {
        if said.iter().all(|decision| decision.operation != candidate.operation) {
            let operation = guard.operation(&person.reach, candidate.operation).await?;
            candidates.push((guard.view(&operation), candidate.same_fields));
        }
    }
    let known = guard.catalogue().workflows.get(&run.scope.workflow).cloned();
    let actions = known.map(|known| known.workflow.actions.iter().map(|action| action.as_str().to_owned()).collect());
    let notice = crate::reply::take_notice(visit, NOTICE).await;
    Ok(Opened { row, candidates, actions: actions.unwrap_or_default(), notice })
}
