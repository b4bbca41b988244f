//! A reconciliation: what it came to, and the rows of one bucket.

use guard::{
    clock::Timestamp,
    person::Person,
    reconciliation::{Bucket, Row, Run},
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::reconciliation::HandInNotice};

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
    /// The number behind which the next page starts.
    pub next: Option<u64>,
    /// What became of the file just now.
    pub notice: Option<HandInNotice>,
}

/// Reads a reconciliation within reach; without the name of a bucket, the first that holds anything.
#[server(prefix = "/fn", endpoint = "read_reconciliation", input = Json, output = Json)]
pub(crate) async fn read_reconciliation(id: String, bucket: String, after: u64) -> Result<Report, Failure> {
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
    let known = guard.catalogue().workflows.get(&run.scope.workflow).and_then(|known| known.workflow.title.clone());
    Ok(Report {
        as_of: guard.now(),
        person: person.clone(),
        title: known.unwrap_or_else(|| run.scope.workflow.clone()),
        by: crate::wording::actor(&run.actor),
        bucket,
        next: rows.last().filter(|_| has_more).map(|row| row.number),
        rows,
        run,
        notice: crate::reply::take_notice(&visit, crate::reconciliation::NOTICE).await,
    })
}
