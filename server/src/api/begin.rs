//! `POST /api/v1/operations`: may this be sent?

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use axum::response::{IntoResponse, Response};
use guard::decision::Decision;
use utoipa::ToSchema;

use super::answer::{DecisionProblem, Done, Granted, answer};
use super::view::JSON;
use super::{request, wait};
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::calls::Decided;
use crate::observe::RequestId;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A begin.
// It is described here; `request::begin` reads it.
#[derive(ToSchema)]
#[schema(as = Begin)]
pub struct BeginBody {
    /// The workflow, as it is configured.
    #[schema(
        pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$",
        min_length = 1,
        max_length = 200
    )]
    pub workflow: String,
    /// The company; the same document in two companies is two operations.
    #[schema(
        pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$",
        min_length = 1,
        max_length = 200
    )]
    pub company: String,
    /// The system that the document comes from.
    #[schema(
        pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$",
        min_length = 1,
        max_length = 200
    )]
    pub source_system: String,
    /// The document's number there.
    #[schema(
        pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$",
        min_length = 1,
        max_length = 200
    )]
    pub document: String,
    /// What is done with it; one of the workflow's actions. `create` where it is left out.
    #[schema(
        pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$",
        min_length = 1,
        max_length = 200,
        required = false
    )]
    pub action: String,
    /// Which version of the document; 1 where it is left out. A revision above 1 is an amendment.
    #[schema(minimum = 1, maximum = 1_000_000, required = false)]
    pub revision: u32,
    /// The content. Numbers are kept with all their digits; the order of members does not count.
    #[schema(value_type = serde_json::Map<String, serde_json::Value>)]
    pub payload: String,
    /// The worker, as it names itself: for the trail.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", max_length = 500, required = false)]
    pub worker: String,
    /// The message that the worker acts on: for the trail.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", max_length = 500, required = false)]
    pub delivery_id: String,
    /// A random value that is made for this one try and kept in memory: a begin whose answer was lost may be repeated with it and
    /// gets the same grant. Never the delivery id.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", max_length = 500, required = false)]
    pub begin_id: String,
    /// How long the lease lasts, in seconds; the workflow's where it is left out, and bounded by it.
    #[schema(minimum = 1, maximum = 604_800, required = false)]
    pub lease_seconds: u32,
}

/// May this be sent?
///
/// The decision is stored before it is answered. `next` is the one instruction: `send`, `use_result`, `wait` or `stop`.
#[utoipa::path(
    post,
    path = "/api/v1/operations",
    operation_id = "begin",
    tag = "operations",
    params((
        "Prefer" = Option<String>, Header,
        description = "`wait=N` holds an answer that says `wait` for up to N seconds, at most 60", example = "wait=1"
    )),
    request_body(content = BeginBody, content_type = "application/json"),
    responses(
        (status = 201, description = "Send: this caller owns the attempt", body = Granted),
        (status = 200, description = "Do not send: it is done already", body = Done),
        (
            status = 409, description = "Do not send: wait or stop, as `next` says",
            body = DecisionProblem, content_type = "application/problem+json"
        ),
        (
            status = 422, description = "Do not send: another payload under the same key, or a field that cannot be taken",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn begin(
    State(server): State<Server>,
    caller: Caller,
    id: RequestId,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let request = request::begin(body, id.as_str())?;
    let wait_seconds = wait::preference(&headers);
    let decision = match wait_seconds {
        Some(seconds) => wait::begin(&server, &caller.token, &request, seconds).await?,
        None => server.guard.begin(&caller.token, &request).await?,
    };
    // Once, however often it was decided while the answer was held.
    server.guard.delivered(&request, &decision);
    tracing::Span::current().record("decision", decision.name().as_str());

    let next_look = server.guard.next_look(&decision).await;
    let answered = answer(&decision, server.guard.now(), next_look, &server.settings.public_url);
    let mut response = match answered {
        Ok(answer) => {
            let mut response = (answer.status, [(CONTENT_TYPE, JSON)], answer.body).into_response();
            if answer.is_replay {
                response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
            }
            response
        }
        Err(problem) => problem.into_response(),
    };
    response.extensions_mut().insert(Decided::of(&decision));
    let headers = response.headers_mut();
    if let Decision::Proceed { operation, .. } = &decision {
        headers.extend(
            HeaderValue::try_from(format!("/api/v1/operations/{}", operation.id)).ok().map(|to| (LOCATION, to)),
        );
    }
    if let Some(seconds) = wait_seconds {
        headers
            .extend(HeaderValue::try_from(format!("wait={seconds}")).ok().map(|applied| (PREFERENCE_APPLIED, applied)));
    }
    Ok(response)
}
