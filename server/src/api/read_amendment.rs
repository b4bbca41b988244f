//! `GET /api/v1/amendments/{id}`

use axum::extract::State;
use axum::response::Response;
use guard::token::Scope;

use super::amendment::{AmendmentAnswer, AmendmentBody};
use super::request::AmendmentPath;
use super::view::json;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::Server;

/// One amendment.
#[utoipa::path(
    get,
    path = "/api/v1/amendments/{id}",
    operation_id = "read_amendment",
    tag = "amendments",
    params(("id" = String, Path, format = Uuid, description = "The amendment")),
    responses((status = 200, description = "The amendment", body = AmendmentAnswer))
)]
pub async fn read_amendment(
    State(server): State<Server>,
    caller: Caller,
    AmendmentPath(id): AmendmentPath,
) -> Result<Response, Problem> {
    // Whoever may propose may follow what became of it.
    if caller.require(Scope::AmendmentsPropose).is_err() {
        caller.require(Scope::OperationsRead)?;
    }
    let amendment = server.guard.amendment(&caller.token.reach, id).await?;
    Ok(json(&AmendmentAnswer { amendment: AmendmentBody::of(&amendment, &server.settings.public_url) }))
}
