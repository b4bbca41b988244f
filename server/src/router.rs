//! The whole URL space on one page.

use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{
    self, batch, begin, events, heartbeat, list, mark_sending, openapi, outcome, payload, proposal, read,
    read_amendment, reconcile, reconciliation, reconciliation_rows,
};
use crate::observe::observe;
use crate::problem::{Code, Problem, explain};
use crate::session::{Gate, harden};
use crate::state::Server;
use crate::{desk, health, live, metrics, proxy, reference, site};

/// Every path that this server answers; the desk's lie behind the gate.
pub fn router(server: Server, gate: &Gate) -> Router {
    let answers = Router::new()
        // The API for automations
        .route("/api/v1/operations", post(begin::begin).get(list::list))
        .route("/api/v1/operations/batch", post(batch::batch))
        .route("/api/v1/operations/{id}", get(read::read))
        .route("/api/v1/operations/{id}/sending", post(mark_sending::mark_sending))
        .route("/api/v1/operations/{id}/heartbeat", post(heartbeat::heartbeat))
        .route("/api/v1/operations/{id}/outcome", post(outcome::outcome))
        .route("/api/v1/operations/{id}/events", get(events::events))
        .route("/api/v1/operations/{id}/payloads/{revision}", get(payload::payload))
        .route("/api/v1/operations/{id}/amendments", post(proposal::propose))
        .route("/api/v1/amendments/{id}", get(read_amendment::read_amendment))
        .route("/api/v1/reconciliations", post(reconcile::reconcile))
        .route("/api/v1/reconciliations/{id}", get(reconciliation::reconciliation))
        .route("/api/v1/reconciliations/{id}/rows", get(reconciliation_rows::reconciliation_rows))
        .route("/api/v1/metrics", get(api::metrics::metrics))
        .route("/api/v1/openapi.json", get(openapi::openapi))
        // For automations whose only editable things are a URL and headers
        .route("/proxy/{workflow}", any(proxy::proxy))
        .route("/proxy/{workflow}/", any(proxy::proxy))
        .route("/proxy/{workflow}/{*path}", any(proxy::proxy))
        // Around it
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/problems/{code}", get(explain))
        // What the API does not have is a problem document, not a page.
        .route("/api", any(nothing_here))
        .route("/api/", any(nothing_here))
        .route("/api/{*rest}", any(nothing_here))
        // A method that a path does not take is a problem document too; axum adds `Allow`.
        .method_not_allowed_fallback(wrong_method)
        .with_state(server.clone());

    let all = Router::new()
        .merge(answers)
        // The site's files: they are in everybody's browser anyway
        .route("/pkg/{*file}", get(site::serve))
        // The desk
        .merge(
            gate.guard_pages(
                desk::routes()
                    .merge(desk::pack::routes(server.clone()))
                    .merge(live::routes(server.clone(), gate.clone()))
                    .layer(Extension(reference::told(&server))),
                &server.destinations,
                &server.notifications,
            ),
        );

    // From the last to the first: a request comes to `observe` first, an answer last.
    harden(all, gate.is_secure())
        // A panic in a handler is an answer like any other failure.
        .layer(CatchPanicLayer::custom(broken))
        // Outermost: gives the request its id, writes problem documents and the log line, takes the time.
        .layer(from_fn_with_state(server, observe))
}

async fn nothing_here() -> Problem {
    Problem::not_found("address; /api/v1/openapi.json describes those that there are")
}

async fn wrong_method() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the header Allow lists the methods that are answered here")
}

fn broken(panic: Box<dyn std::any::Any + Send>) -> Response {
    let told = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = told.unwrap_or("of an unknown kind"), "a handler panicked");
    Problem::new(Code::Internal, "something broke in the server; its log has this request's id").into_response()
}
