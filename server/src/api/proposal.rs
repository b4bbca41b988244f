//! `POST /api/v1/operations/{id}/amendments`: propose a change of the latest confirmed revision.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use guard::service::Proposer;
use utoipa::ToSchema;

use super::amendment::{AmendmentAnswer, AmendmentBody, OpenAmendment, Violated};
use super::request::{self, OperationPath};
use super::view::json;
use crate::body::{Fields, JsonBody};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// The members of a proposal.
const MEMBERS: [&str; 3] = ["payload", "reason", "requested_by"];

/// A proposal.
// It is described here; `propose` reads it.
#[derive(ToSchema)]
#[schema(as = Proposal)]
pub struct ProposalBody {
    /// The whole payload of the new revision.
    #[schema(value_type = serde_json::Map<String, serde_json::Value>)]
    pub payload: String,
    /// Why the change is wanted.
    #[schema(pattern = r"^[^\x00]*[^\s\x00][^\x00]*$", max_length = 2_000)]
    pub reason: String,
    /// Who asked for it. A person who is named here by address cannot approve it.
    #[schema(pattern = r"^[^\x00]*$", max_length = 200, required = false)]
    pub requested_by: String,
}

/// A problem of a change that the rules forbid.
#[derive(serde::Serialize, ToSchema)]
pub struct RuleViolationProblem<'a> {
    /// The members of every problem.
    #[serde(flatten)]
    pub problem: ProblemDocument<'a>,
    /// What is forbidden.
    #[serde(flatten)]
    pub violated: Violated<'a>,
}

/// A problem of a proposal beside one that is open.
#[derive(serde::Serialize, ToSchema)]
pub struct AmendmentOpenProblem<'a> {
    /// The members of every problem.
    #[serde(flatten)]
    pub problem: ProblemDocument<'a>,
    /// The one that is open.
    #[serde(flatten)]
    pub open: OpenAmendment,
}

/// Propose a change of the latest confirmed revision.
///
/// It becomes the next revision, which waits for a person's approval; nothing is sent. One proposal is open at a time.
#[utoipa::path(
    post,
    path = "/api/v1/operations/{id}/amendments",
    operation_id = "propose_amendment",
    tag = "amendments",
    params(("id" = String, Path, format = Uuid, description = "The latest confirmed revision")),
    request_body(content = ProposalBody, content_type = "application/json"),
    responses(
        (status = 201, description = "It waits for approval", body = AmendmentAnswer),
        (
            status = 409, description = "`amendment_open`, `no_change`, or it is not the latest confirmed revision",
            body = AmendmentOpenProblem, content_type = "application/problem+json"
        ),
        (
            status = 422, description = "`rule_violation`: the workflow forbids the change; or a field cannot be taken",
            body = RuleViolationProblem, content_type = "application/problem+json"
        ),
    )
)]
pub async fn propose(
    State(server): State<Server>,
    caller: Caller,
    OperationPath(id): OperationPath,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let mut fields = Fields::of(body, &MEMBERS)?;
    let payload = request::payload(fields.required("payload")?)?;
    let reason = fields.required_text("reason")?;
    let requested_by = fields.text("requested_by")?;
    let who = Proposer::Token(&caller.token);
    let amendment = server.guard.propose(who, id, payload, &reason, requested_by.as_deref(), None).await?;
    let answer = json(&AmendmentAnswer { amendment: AmendmentBody::of(&amendment, &server.settings.public_url) });
    Ok((StatusCode::CREATED, answer).into_response())
}
