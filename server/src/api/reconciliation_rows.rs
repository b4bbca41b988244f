//! `GET /api/v1/reconciliations/{id}/rows`: the rows of a report, all of them, streamed.

use std::io;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::stream;
use guard::id::ReconciliationId;
use guard::queue::PAGE_ROWS_MAX;
use guard::reconciliation::{Bucket, Row};
use guard::refusal::Refusal;
use guard::service::Guard;
use guard::token::Reach;

use super::query::Query;
use super::reconciliation::find;
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::reconciliation::export;
use crate::state::Server;

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A table.
    Csv,
    /// An object with the array `rows`.
    Json,
}

/// The rows of a reconciliation, by bucket in their order.
///
/// Each amount stands in one row only, so that a column's sum is the side's total. In the table, texts that a spreadsheet would take
/// for formulas have an apostrophe before them; numbers stay numbers.
#[utoipa::path(
    get,
    path = "/api/v1/reconciliations/{id}/rows",
    operation_id = "list_reconciliation_rows",
    tag = "reconciliation",
    params(
        ("id" = String, Path, format = Uuid, description = "The reconciliation"),
        ("bucket" = Option<String>, Query, description = "Only these; several are an OR"),
        ("format" = Option<String>, Query, description = "`json` (where it is left out) or `csv`"),
    ),
    responses(
        (status = 200, description = "The rows", content((serde_json::Value = "application/json"), (String = "text/csv"))),
        (
            status = 422, description = "A parameter cannot be taken",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn reconciliation_rows(
    State(server): State<Server>,
    caller: Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let run = find(&server, &caller, &id).await?;
    let query = Query::of(query.as_deref(), &["bucket", "format"])?;
    let known = || Bucket::ALL.map(Bucket::as_str).join(", ");
    let buckets = query.all("bucket").filter(|name| !name.is_empty()).map(|name| {
        Bucket::parse(name).ok_or_else(|| Problem::field("bucket", format!("is {name:?}; there are: {}", known())))
    });
    let mut buckets = buckets.collect::<Result<Vec<_>, _>>()?;
    if buckets.is_empty() {
        buckets = Bucket::ALL.to_vec();
    }
    let written = match query.one("format")? {
        None | Some("json") => Written::Json,
        Some("csv") => Written::Csv,
        Some(other) => return Err(Problem::field("format", format!("is {other:?}; csv and json are possible"))),
    };
    Ok(answer(server.guard.clone(), caller.token.reach.clone(), run.id, buckets, written))
}

/// Where the reading stands.
struct Reading {
    guard: Guard,
    reach: Reach,
    run: ReconciliationId,
    /// What is still to be read, the next last.
    buckets: Vec<Bucket>,
    after: u64,
    written: Written,
    is_begun: bool,
    has_rows: bool,
}

/// The rows as an answer that is written while it is read.
pub fn answer(
    guard: Guard,
    reach: Reach,
    run: ReconciliationId,
    mut buckets: Vec<Bucket>,
    written: Written,
) -> Response {
    buckets.reverse();
    let reading = Reading { guard, reach, run, buckets, after: 0, written, is_begun: false, has_rows: false };
    let chunks = stream::try_unfold(Some(reading), |reading| async move {
        let Some(mut reading) = reading else { return Ok::<_, io::Error>(None) };
        let chunk = reading.chunk().await.map_err(io::Error::other)?;
        let is_over = reading.buckets.is_empty();
        Ok(Some((chunk, (!is_over).then_some(reading))))
    });
    let (media_type, name) = match written {
        Written::Csv => ("text/csv; charset=utf-8", format!("reconciliation-{run}.csv")),
        Written::Json => ("application/json", format!("reconciliation-{run}.json")),
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(CONTENT_TYPE, media_type.to_owned()), (CONTENT_DISPOSITION, disposition)], Body::from_stream(chunks))
        .into_response()
}

impl Reading {
    /// The next piece of the text: at most a page of rows.
    async fn chunk(&mut self) -> Result<String, Refusal> {
        let mut text = String::new();
        if !self.is_begun {
            self.is_begun = true;
            text.push_str(&match self.written {
                Written::Csv => export::header(),
                Written::Json => "{\"rows\":[".to_owned(),
            });
        }
        if let Some(bucket) = self.buckets.last().copied() {
            let rows = self.guard.reconciliation_rows(&self.reach, self.run, bucket, self.after, PAGE_ROWS_MAX).await?;
            match rows.last() {
                Some(last) => self.after = last.number,
                None => {
                    self.buckets.pop();
                    self.after = 0;
                }
            }
            for row in &rows {
                self.write(&mut text, row);
            }
        }
        if self.buckets.is_empty() && self.written == Written::Json {
            text.push_str("]}");
        }
        Ok(text)
    }

    fn write(&mut self, text: &mut String, row: &Row) {
        match self.written {
            Written::Csv => text.push_str(&export::csv(row)),
            Written::Json => {
                text.push_str(if self.has_rows { ",\n" } else { "\n" });
                text.push_str(&export::json(row).to_string());
            }
        }
        self.has_rows = true;
    }
}
