//! What every answer tells the browser not to do.

use axum::{
    Router,
    extract::State,
    http::{
        HeaderName, HeaderValue,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
            X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware,
    response::Response,
};

use crate::problem::Problem;

/// For every answer that does not say otherwise itself.
const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // Pages have a policy of their own; what is no page runs nothing at all.
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// For what a browser could show. Automations are spared them: they would be longer than most answers.
const SHOWN: [(HeaderName, HeaderValue); 5] = [
    // Not `no-referrer`: a form without WebAssembly is sent back to the page that it came from.
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static(
            "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
        ),
    ),
];

/// A year, for this host alone: what other hosts of the domain do is not for us to say.
const TLS_ALONE: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Gives every answer of the router the headers that keep browsers from guessing, framing, leaking and keeping.
pub fn harden(router: Router, is_secure: bool) -> Router {
    router.layer(middleware::map_response_with_state(is_secure, add))
}

async fn add(State(is_secure): State<bool>, mut answer: Response) -> Response {
    // A problem becomes JSON further out.
    let is_problem = answer.extensions().get::<Problem>().is_some();
    let headers = answer.headers_mut();
    let is_json = is_problem || headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().ends_with(b"json"));
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(value);
    }
    if !is_json {
        for (name, value) in SHOWN {
            headers.entry(name).or_insert(value);
        }
    }
    if is_secure {
        headers.insert(STRICT_TRANSPORT_SECURITY, TLS_ALONE);
    }
    answer
}
