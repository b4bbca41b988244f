//! What stands behind the proxies under measurement: a destination that answers at once, and a proxy that only passes through.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{any, post};
use bytes::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

static RECORDS: AtomicU64 = AtomicU64::new(0);

/// Serves a destination that takes every record and finds none: each answer is the least that a real one would say.
pub async fn serve(address: &str) -> std::io::Result<()> {
    let create = |_body: Bytes| async {
        (StatusCode::CREATED, format!(r#"{{"id":"task-{}"}}"#, RECORDS.fetch_add(1, Ordering::Relaxed)))
    };
    let router = Router::new().route("/tasks", post(create).get(|| async { r#"{"items":[]}"# }));
    axum::serve(TcpListener::bind(address).await?, router).await
}

/// Serves a proxy that hands each request to `upstream` and answers what it answers: what any proxy costs.
pub async fn serve_pass_through(address: &str, upstream: &str) -> std::io::Result<()> {
    let client: Client<HttpConnector, axum::body::Body> = Client::builder(TokioExecutor::new()).build_http();
    let upstream = upstream.to_owned();
    let router = Router::new().fallback(any(pass)).with_state((client, upstream));
    axum::serve(TcpListener::bind(address).await?, router).await
}

async fn pass(
    State((client, upstream)): State<(Client<HttpConnector, axum::body::Body>, String)>,
    mut request: Request,
) -> Result<Response, StatusCode> {
    // The path below the workflow, as the guard's proxy takes it.
    let path = request.uri().path().splitn(4, '/').nth(3).unwrap_or_default();
    *request.uri_mut() = format!("http://{upstream}/{path}").parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    let answer = client.request(request).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(answer.map(axum::body::Body::new))
}
