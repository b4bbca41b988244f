//! `POST /api/v1/operations/{id}/sending`: the worker is about to call the destination.

use axum::extract::State;
use axum::response::Response;
use utoipa::ToSchema;

use super::request::{OperationPath, lease_token};
use super::view::{OperationBody, json};
use crate::body::{Fields, JsonBody};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// A mark.
// It is described here; the handler reads it.
#[derive(ToSchema)]
#[schema(as = MarkSending)]
pub struct MarkBody {
    /// The secret of the lease.
    pub lease_token: String,
}

/// The worker is about to call the destination.
///
/// For workflows in two-step mode, just before the external call: from here on a lost worker leaves uncertainty. It changes nothing
/// in one-step mode, and nothing when it is repeated.
#[utoipa::path(
    post,
    path = "/api/v1/operations/{id}/sending",
    operation_id = "mark_sending",
    tag = "operations",
    params(("id" = String, Path, format = Uuid, description = "The operation")),
    request_body(content = MarkBody, content_type = "application/json"),
    responses(
        (status = 200, description = "The operation; send now", body = OperationBody),
        (
            status = 409, description = "Do not send: `lease_expired` or `stale_lease`",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn mark_sending(
    State(server): State<Server>,
    caller: Caller,
    OperationPath(id): OperationPath,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let mut fields = Fields::of(body, &["lease_token"])?;
    let lease_token = lease_token(&mut fields)?;
    let operation = server.guard.mark_sending(&caller.token, id, &lease_token).await?;
    Ok(json(&OperationBody::of(&operation, &server.settings.public_url)))
}
