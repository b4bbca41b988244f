//! `GET /api/v1/reconciliations/{id}`: what a reconciliation came to.

use axum::extract::{Path, State};
use axum::response::Response;
use guard::id::ReconciliationId;
use guard::reconciliation::{Bucket, Progress, Run, Summary};
use guard::token::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use super::view::{Moment, json};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// A reconciliation.
#[derive(Serialize, ToSchema)]
pub struct ReconciliationAnswer {
    /// The reconciliation.
    pub reconciliation: ReconciliationBody,
}

/// A reconciliation.
#[derive(Serialize, ToSchema)]
#[schema(as = Reconciliation)]
pub struct ReconciliationBody {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// Whether it is over; one that broke off is taken up by sending the same file again.
    pub is_done: bool,
    /// Whether the same file was reconciled before.
    pub is_repeated: bool,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Moment,
    /// How many operations lie in each bucket; of what has no operation, how many records.
    pub counts: Counts,
    /// Numbers and money by bucket and currency; their sums over all buckets are everything on either side.
    pub totals: Vec<TotalBody>,
    /// How much of what the destination holds came through the guard.
    pub coverage: Vec<CoverageBody>,
    /// Rows of the file that only repeat a record; it counts once.
    pub repeated_rows: u64,
    /// How many operations changed their state.
    pub moved: u64,
    /// Whether contradictions were shown only, since more than half of what was compared disagrees: the mapping may be wrong.
    pub is_held_back: bool,
    /// What was noticed while reading.
    pub warnings: Vec<String>,
    /// The address of the report for people.
    #[schema(format = "uri")]
    pub report_url: String,
}

/// How many lie in each bucket.
#[derive(Serialize, ToSchema)]
#[allow(missing_docs, reason = "the buckets are described in docs/API.md")]
pub struct Counts {
    pub matched: u64,
    pub missing: u64,
    pub duplicated: u64,
    pub mismatched: u64,
    pub unguarded: u64,
    pub pending: u64,
    pub void: u64,
    pub not_expected: u64,
    pub taken_back: u64,
}

/// Numbers and money of one bucket in one currency.
#[derive(Serialize, ToSchema)]
pub struct TotalBody {
    /// The bucket.
    pub bucket: &'static str,
    /// The currency; null where no amount is known.
    pub currency: Option<String>,
    /// How many operations.
    pub operations: u64,
    /// Their money, an exact decimal.
    pub source: String,
    /// How many records.
    pub records: u64,
    /// Their money, an exact decimal.
    pub destination: String,
}

/// Coverage of one source system.
#[derive(Serialize, ToSchema)]
pub struct CoverageBody {
    /// The source system; null where the records do not say it.
    pub source_system: Option<String>,
    /// Live records with an operation.
    pub guarded: u64,
    /// Live records without one.
    pub unguarded: u64,
}

impl ReconciliationAnswer {
    /// What is told of a run.
    pub fn of(run: &Run, is_repeated: bool, public_url: &str) -> Self {
        let Summary { totals, coverage, repeated, moved, is_held_back, warnings } = &run.summary;
        let count = |bucket| run.summary.count(bucket);
        Self {
            reconciliation: ReconciliationBody {
                id: run.id.to_string(),
                workflow: run.scope.workflow.clone(),
                company: run.scope.company.clone(),
                is_done: run.progress == Progress::Done,
                is_repeated,
                started_at: Moment(run.started_at),
                counts: Counts {
                    matched: count(Bucket::Matched),
                    missing: count(Bucket::Missing),
                    duplicated: count(Bucket::Duplicated),
                    mismatched: count(Bucket::Mismatched),
                    unguarded: count(Bucket::Unguarded),
                    pending: count(Bucket::Pending),
                    void: count(Bucket::Void),
                    not_expected: count(Bucket::NotExpected),
                    taken_back: count(Bucket::TakenBack),
                },
                totals: totals
                    .iter()
                    .map(|total| TotalBody {
                        bucket: total.bucket.as_str(),
                        currency: total.currency.clone(),
                        operations: total.operations,
                        source: total.source.to_string(),
                        records: total.records,
                        destination: total.destination.to_string(),
                    })
                    .collect(),
                coverage: coverage
                    .iter()
                    .map(|coverage| CoverageBody {
                        source_system: coverage.source_system.clone(),
                        guarded: coverage.guarded,
                        unguarded: coverage.unguarded,
                    })
                    .collect(),
                repeated_rows: *repeated,
                moved: *moved,
                is_held_back: *is_held_back,
                warnings: warnings.clone(),
                report_url: format!("{public_url}/reconciliation/{}", run.id),
            },
        }
    }
}

/// The run with the id of a path, for a token that may see it.
///
/// # Errors
/// The token lacks the scope, there is none within its reach, the store's fault.
pub async fn find(server: &Server, caller: &Caller, id: &str) -> Result<Run, Problem> {
    caller.require(Scope::ReconciliationWrite)?;
    let id: ReconciliationId = id.parse().map_err(|_| Problem::not_found("reconciliation"))?;
    Ok(server.guard.reconciliation(&caller.token.reach, id).await?)
}

/// What a reconciliation came to.
#[utoipa::path(
    get,
    path = "/api/v1/reconciliations/{id}",
    operation_id = "read_reconciliation",
    tag = "reconciliation",
    params(("id" = String, Path, format = Uuid, description = "The reconciliation")),
    responses((status = 200, description = "The reconciliation", body = ReconciliationAnswer))
)]
pub async fn reconciliation(
    State(server): State<Server>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = find(&server, &caller, &id).await?;
    Ok(json(&ReconciliationAnswer::of(&run, false, &server.settings.public_url)))
}
