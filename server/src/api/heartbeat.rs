//! `POST /api/v1/operations/{id}/heartbeat`: the worker is still at it.

use axum::extract::State;
use axum::response::Response;
use utoipa::ToSchema;

use super::request::{OperationPath, lease_token};
use super::view::{OperationBody, json};
use crate::body::{Fields, JsonBody};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// A heartbeat.
// It is described here; the handler reads it.
#[derive(ToSchema)]
#[schema(as = Heartbeat)]
pub struct HeartbeatBody {
    /// The secret of the lease.
    pub lease_token: String,
    /// How long the lease lasts from now, in seconds; the workflow's where it is left out, and bounded by it.
    #[schema(minimum = 1, maximum = 604_800, required = false)]
    pub lease_seconds: u32,
}

/// The worker is still at it: extends a live lease.
///
/// A lease is never shortened. The operation's `lease_expires_at` tells the new end.
#[utoipa::path(
    post,
    path = "/api/v1/operations/{id}/heartbeat",
    operation_id = "heartbeat",
    tag = "operations",
    params(("id" = String, Path, format = Uuid, description = "The operation")),
    request_body(content = HeartbeatBody, content_type = "application/json"),
    responses(
        (status = 200, description = "The operation with its extended lease", body = OperationBody),
        (
            status = 409, description = "Do not send: `lease_expired` or `stale_lease`",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn heartbeat(
    State(server): State<Server>,
    caller: Caller,
    OperationPath(id): OperationPath,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let mut fields = Fields::of(body, &["lease_token", "lease_seconds"])?;
    let lease_token = lease_token(&mut fields)?;
    let lease_seconds = fields.whole_number("lease_seconds")?;
    let operation = server.guard.extend(&caller.token, id, &lease_token, lease_seconds).await?;
    Ok(json(&OperationBody::of(&operation, &server.settings.public_url)))
}
