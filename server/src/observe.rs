//! What is done around every request: its id, its log line, its latency, and the text of its problem document.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

use crate::problem::{PROBLEM_JSON, Problem};
use crate::state::Server;

/// The header of the request's id.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// An id that came with the request is taken up to this length; beyond, a new one is made.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 128;

/// What the log and the metrics call a path that nothing answers.
const UNMATCHED: &str = "(none)";

/// Paths that are asked all the time by machines: their log lines are for debugging.
const QUIET_PATHS: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/pkg/{*file}"];

/// The id of the request in hand: the one that came with it where that is well-formed, else a new one.
#[derive(Clone, Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    fn of(headers: &HeaderMap, server: &Server) -> Self {
        let given = headers.get(X_REQUEST_ID).filter(|given| is_well_formed(given.as_bytes()));
        let made =
            || HeaderValue::try_from(hex::encode(server.entropy.bytes())).unwrap_or(HeaderValue::from_static("-"));
        Self(given.cloned().unwrap_or_else(made))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or("-")
    }
}

/// Letters, digits and `-_.:+/=@`: what ids are made of, and nothing that could forge a log line.
fn is_well_formed(id: &[u8]) -> bool {
    let taken = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(byte);
    (1..=REQUEST_ID_CHARACTERS_MAX).contains(&id.len()) && id.iter().all(taken)
}

/// The outermost layer.
pub async fn observe(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers(), &server);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(id.clone());
    let listening = server.calls.listen(&server, route.as_ref().map(MatchedPath::as_str), &mut request);
    let span = tracing::info_span!(
        "request",
        request_id = id.as_str(),
        token = tracing::field::Empty,
        decision = tracing::field::Empty,
    );
    let mut response = next.run(request).instrument(span.clone()).await;
    let problem = response.extensions_mut().remove::<Problem>();
    if let Some(problem) = &problem {
        write_problem(&mut response, problem, &server, &id);
    }
    let route = route.as_ref().map_or(UNMATCHED, |route| route.as_str());
    let taken = started.elapsed();
    if let Some(listening) = listening {
        server.calls.heard(listening, &response, problem.as_ref(), id.as_str(), taken);
    }
    response.headers_mut().insert(X_REQUEST_ID, id.0);
    server.latency.took(&method, route, response.status(), taken);
    span.in_scope(|| log(&method, route, &response, taken));
    response
}

fn write_problem(response: &mut Response, problem: &Problem, server: &Server, id: &RequestId) {
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
    *response.body_mut() = Body::from(problem.document(&server.settings.public_url, id.as_str()));
}

/// The access log: never payloads, query strings or tokens.
fn log(method: &Method, route: &str, response: &Response, taken: Duration) {
    let status = response.status().as_u16();
    let milliseconds = taken.as_secs_f64() * 1_000.0;
    if response.status().is_server_error() {
        tracing::warn!(%method, route, status, milliseconds, "answered");
    } else if QUIET_PATHS.contains(&route) {
        tracing::debug!(%method, route, status, milliseconds, "answered");
    } else {
        tracing::info!(%method, route, status, milliseconds, "answered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_forge_a_log_line_is_not_taken() {
        assert!(is_well_formed(b"0192-abc_DEF.7:/+=@"));
        for id in [&b""[..], b"a b", b"a\"b", b"a\tb", b"\xC3\xA9", &[b'x'; 129]] {
            assert!(!is_well_formed(id), "{id:?}");
        }
    }
}
