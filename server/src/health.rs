//! Whether the process lives, whether it can answer, and which version it is.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::{Code, Problem};
use crate::state::Server;

/// `GET /healthz`: the process lives.
pub async fn live() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the store is reachable, its migrations are applied, and the server is not about to stop.
pub async fn ready(State(server): State<Server>) -> Result<&'static str, Problem> {
    if server.draining.is_cancelled() {
        return Err(Problem::new(Code::Draining, "the server is about to stop; send new requests elsewhere"));
    }
    server.database.ready().await?;
    Ok("ready\n")
}

/// Which version it is.
#[derive(Serialize)]
struct Version {
    name: &'static str,
    version: &'static str,
}

/// `GET /version`
pub async fn version() -> Response {
    Json(Version { name: "onceover", version: env!("CARGO_PKG_VERSION") }).into_response()
}
