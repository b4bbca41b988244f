//! `GET /api/v1/operations/{id}/payloads/{revision}`: the content, as it is kept.

use axum::extract::State;
use axum::response::Response;
use guard::token::Scope;

use super::request::RevisionPath;
use super::view::json_text;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// The payload of a revision of the operation's document, with every digit of its numbers.
///
/// What retention has dropped is not found.
#[utoipa::path(
    get,
    path = "/api/v1/operations/{id}/payloads/{revision}",
    operation_id = "read_payload",
    tag = "reading",
    params(
        ("id" = String, Path, format = Uuid, description = "The operation"),
        ("revision" = u32, Path, description = "The revision", minimum = 1, maximum = 1_000_000),
    ),
    responses((status = 200, description = "The payload", body = serde_json::Map<String, serde_json::Value>))
)]
pub async fn payload(
    State(server): State<Server>,
    caller: Caller,
    RevisionPath(id, revision): RevisionPath,
) -> Result<Response, Problem> {
    caller.require(Scope::OperationsRead)?;
    server.guard.payload(&caller.token.reach, id, revision).await.map(json_text).map_err(Problem::from)
}
