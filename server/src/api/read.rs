//! `GET /api/v1/operations/{id}`

use axum::extract::State;
use axum::response::Response;
use guard::token::Scope;

use super::request::OperationPath;
use super::view::{OperationBody, json};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// One operation.
#[utoipa::path(
    get,
    path = "/api/v1/operations/{id}",
    operation_id = "read_operation",
    tag = "reading",
    params(("id" = String, Path, format = Uuid, description = "The operation")),
    responses((status = 200, description = "The operation", body = OperationBody))
)]
pub async fn read(
    State(server): State<Server>,
    caller: Caller,
    OperationPath(id): OperationPath,
) -> Result<Response, Problem> {
    caller.require(Scope::OperationsRead)?;
    let operation = server.guard.operation(&caller.token.reach, id).await?;
    let reach = &caller.token.reach;
    let reverses = server.guard.reverses(reach, id).await?;
    let reversed_by = server.guard.reversals(reach, id).await?;
    Ok(json(&OperationBody::of(&operation, &server.settings.public_url).with_reversals(reverses, reversed_by)))
}
