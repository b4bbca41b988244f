//! `POST /api/v1/operations/{id}/outcome`: how the attempt went.

use axum::extract::State;
use axum::response::Response;
use guard::event::Outcome;
use guard::json::Json;
use guard::service::Report;
use utoipa::ToSchema;

use super::request::{OperationPath, lease_token};
use super::view::{OperationBody, json};
use crate::body::{Fields, JsonBody};
use crate::caller::Caller;
use crate::observe::RequestId;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// The members of an outcome.
const MEMBERS: [&str; 5] = ["lease_token", "outcome", "destination_reference", "response", "reason"];

/// The lowest and the highest status that HTTP has (RFC 9110, section 15).
const STATUS_MIN: u32 = 100;
const STATUS_MAX: u32 = 599;

/// An outcome.
// It is described here; `outcome` reads it.
#[derive(ToSchema)]
#[schema(as = OutcomeReport)]
pub struct OutcomeBody {
    /// The secret of the lease.
    pub lease_token: String,
    /// How it went.
    pub outcome: OutcomeName,
    /// The id under which the destination holds the record; needed with `confirmed`.
    #[schema(pattern = r"^[^\x00]*[^\s\x00][^\x00]*$", max_length = 2_000, required = false)]
    pub destination_reference: String,
    /// What the destination answered: kept for people.
    #[schema(required = false)]
    pub response: ResponseBody,
    /// How it is known; needed with `failed` and `unknown`.
    #[schema(pattern = r"^[^\x00]*[^\s\x00][^\x00]*$", max_length = 2_000, required = false)]
    pub reason: String,
}

/// What the destination answered.
#[derive(ToSchema)]
#[schema(as = DestinationResponse)]
pub struct ResponseBody {
    /// The HTTP status.
    #[schema(minimum = 100, maximum = 599, required = false)]
    pub status: u32,
    /// The body, kept with every digit.
    #[schema(value_type = serde_json::Value, required = false)]
    pub body: String,
}

/// How it went.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum OutcomeName {
    /// The destination holds the record.
    Confirmed,
    /// Proven not applied.
    Failed,
    /// It may have been applied.
    Unknown,
}

/// How the attempt went.
///
/// Repeating the same outcome changes nothing. A different outcome of a settled attempt is refused and kept as evidence.
#[utoipa::path(
    post,
    path = "/api/v1/operations/{id}/outcome",
    operation_id = "report_outcome",
    tag = "operations",
    params(("id" = String, Path, format = Uuid, description = "The operation")),
    request_body(content = OutcomeBody, content_type = "application/json"),
    responses(
        (status = 200, description = "The operation", body = OperationBody),
        (
            status = 409, description = "`outcome_disagrees` or `stale_lease`: kept as evidence",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn outcome(
    State(server): State<Server>,
    caller: Caller,
    request_id: RequestId,
    OperationPath(id): OperationPath,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let mut fields = Fields::of(body, &MEMBERS)?;
    let report = Report {
        lease_token: lease_token(&mut fields)?,
        outcome: read_outcome(&mut fields)?,
        response: fields.take("response").map(checked_response).transpose()?,
        request_id: Some(request_id.as_str().to_owned()),
    };
    let operation = server.guard.report(&caller.token, id, &report).await?;
    Ok(json(&OperationBody::of(&operation, &server.settings.public_url)))
}

fn read_outcome(fields: &mut Fields) -> Result<Outcome, Problem> {
    let name = fields.required_text("outcome")?;
    let reference = fields.text("destination_reference")?;
    let reason = fields.text("reason")?;
    let needed = |field, text: Option<String>| {
        text.filter(|text| !text.is_empty())
            .ok_or_else(|| Problem::field(field, format!("is missing; it is needed with {name}")))
    };
    match name.as_str() {
        "confirmed" => Ok(Outcome::Confirmed { destination_reference: needed("destination_reference", reference)? }),
        "failed" => Ok(Outcome::Failed { reason: needed("reason", reason)? }),
        "unknown" => Ok(Outcome::Unknown { reason: needed("reason", reason)? }),
        _ => Err(Problem::field("outcome", "is not known; it is confirmed, failed or unknown")),
    }
}

/// A response is an object; its status, where it has one, is one of HTTP.
fn checked_response(response: Json) -> Result<Json, Problem> {
    let kind = response.kind();
    if !matches!(response, Json::Object(_)) {
        return Err(Problem::field("response", format!("is {kind}; an object with status and body is needed")));
    }
    let Some(status) = response.member("status").filter(|status| **status != Json::Null) else { return Ok(response) };
    let number = match status {
        Json::Number(number) => number.as_written().parse().ok(),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    };
    if number.is_some_and(|number: u32| (STATUS_MIN..=STATUS_MAX).contains(&number)) {
        Ok(response)
    } else {
        Err(Problem::field("response", "has a status that is none of HTTP"))
    }
}
