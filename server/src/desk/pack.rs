//! `GET /operations/{id}/evidence-pack?format=html|json`: everything that proves what became of an operation, as one file.

use app::context::Visit;
use axum::{
    Extension, Router,
    extract::{Path, Query, State},
    http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use guard::actor::Actor;
use guard::id::OperationId;

use crate::{
    pack::{Format, Wanted, make},
    problem::Problem,
    state::Server,
};

/// Where a pack is taken out.
pub fn routes(server: Server) -> Router {
    Router::new().route("/operations/{id}/evidence-pack", get(take)).with_state(server)
}

/// What its address asks for.
#[derive(serde::Deserialize)]
struct Asked {
    format: String,
}

async fn take(
    State(server): State<Server>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<OperationId>,
    Query(Asked { format }): Query<Asked>,
) -> Result<Response, Problem> {
    let Ok(person) = visit.person().cloned() else { return Err(Problem::not_found("operation")) };
    let format = Format::parse(&format).ok_or_else(|| Problem::field("format", "is html or json"))?;
    let operation = server.guard.operation(&person.reach, id).await?;
    let veil = server.guard.veil(&person, &operation).await?;
    let actor = Actor::Person { email: person.email };
    let wanted = Wanted { actor: &actor, reach: &person.reach, operation: id, veil: &veil, format };
    let text = make(&server.guard, server.database.ledger.as_ref(), &server.settings.public_url, &wanted).await?;
    let media_type = match format {
        Format::Html => "text/html; charset=utf-8",
        Format::Json => "application/json",
    };
    let headers = [
        (CONTENT_TYPE, media_type.to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"evidence-{id}.{}\"", format.as_str())),
        // It is saved and never shown; had it been shown, nothing of it could load or run.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, text).into_response())
}
