//! `GET /api/v1/operations/{id}/events`: the trail of an operation.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use guard::token::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use super::query::Query;
use super::request::OperationPath;
use super::view::{EventBody, json};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// This many events are answered where nothing is said: the whole life of nearly every operation.
pub const EVENTS_DEFAULT: u32 = 500;

/// At most this many events are answered.
pub const EVENTS_MAX: u32 = 1_000;

/// Events of an operation.
#[derive(Serialize, ToSchema)]
#[schema(as = EventPage)]
pub struct EventsBody<'a> {
    /// The events, oldest first.
    #[schema(max_items = 1_000)]
    pub events: Vec<EventBody<'a>>,
}

/// The trail of an operation, oldest first.
///
/// Every event is chained to the one before it with SHA-256. For more than one page, pass the last `sequence` as `after`.
#[utoipa::path(
    get,
    path = "/api/v1/operations/{id}/events",
    operation_id = "list_events",
    tag = "reading",
    params(
        ("id" = String, Path, format = Uuid, description = "The operation"),
        ("after" = Option<u64>, Query, description = "Only events behind this sequence", minimum = 0, maximum = 9_223_372_036_854_775_807_i64),
        ("limit" = Option<u32>, Query, description = "At most so many; 500 where it is left out", minimum = 1, maximum = 1_000),
    ),
    responses(
        (status = 200, description = "The events", body = EventsBody),
        (
            status = 422, description = "A parameter cannot be taken",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn events(
    State(server): State<Server>,
    caller: Caller,
    OperationPath(id): OperationPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.require(Scope::OperationsRead)?;
    let query = Query::of(query.as_deref(), &["after", "limit"])?;
    let after = query.whole_number("after", i64::MAX.unsigned_abs())?.unwrap_or(0);
    let limit = query.whole_number("limit", EVENTS_MAX.into())?.and_then(|limit| u32::try_from(limit).ok());
    let limit = limit.unwrap_or(EVENTS_DEFAULT);
    if limit == 0 {
        return Err(Problem::field("limit", format!("is 0; 1 to {EVENTS_MAX} are possible")));
    }
    let entries = server.guard.entries(&caller.token.reach, id, after, limit).await?;
    Ok(json(&EventsBody { events: entries.iter().map(EventBody::of).collect() }))
}
