//! `GET /api/v1/operations`: what there is, newest first, page by page.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use guard::queue::{Cursor, Filter, Order, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, PageRequest};
use guard::state::StateName;
use guard::token::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use super::openapi::ListParameters;
use super::query::Query;
use super::request::part;
use super::view::{OperationBody, Shown, json};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// The parameters of a list.
const PARAMETERS: [&str; 10] =
    ["workflow", "company", "source_system", "document", "action", "state", "from", "to", "cursor", "limit"];

/// One page of operations.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationPage)]
pub struct PageBody<'a> {
    /// The operations, newest first.
    #[schema(max_items = 500)]
    pub operations: Vec<OperationBody<'a>>,
    /// Where the next page starts; null on the last one. Rows that are added meanwhile do not move it. A page that holds fewer than
    /// were asked for may have a next one: where little fits, a page looks through a bounded number of operations.
    #[schema(value_type = Option<String>)]
    pub next_cursor: Option<Shown<&'a str>>,
}

/// What there is, newest first, page by page.
///
/// Texts are compared byte for byte. Several `state` parameters are an OR.
#[utoipa::path(
    get,
    path = "/api/v1/operations",
    operation_id = "list_operations",
    tag = "reading",
    params(ListParameters),
    responses(
        (status = 200, description = "One page", body = PageBody),
        (
            status = 422, description = "A parameter cannot be taken",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn list(
    State(server): State<Server>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.require(Scope::OperationsRead)?;
    let query = Query::of(query.as_deref(), &PARAMETERS)?;
    let filter = read_filter(&query)?;
    let page = PageRequest { cursor: query.one("cursor")?.map(Cursor::from_text), limit: read_limit(&query)? };
    let found = server.guard.operations(&caller.token.reach, &filter, Order::Newest, &page).await?;
    let operations = found.rows.iter().map(|operation| OperationBody::of(operation, &server.settings.public_url));
    let next_cursor = found.next.as_ref().map(|cursor| Shown(cursor.as_str()));
    Ok(json(&PageBody { operations: operations.collect(), next_cursor }))
}

fn read_filter(query: &Query) -> Result<Filter, Problem> {
    // What is no key part is the key part of nothing: say so instead of showing an empty list.
    let text = |name| query.one(name)?.map(|value| part(name, value).map(|_| value.to_owned())).transpose();
    let states = query.all("state").filter(|name| !name.is_empty()).map(|name| {
        StateName::parse(name).ok_or_else(|| {
            let known = StateName::ALL.map(StateName::as_str).join(", ");
            Problem::field("state", format!("is {name:?}, which is no state; there are: {known}"))
        })
    });
    Ok(Filter {
        workflow: text("workflow")?,
        company: text("company")?,
        source_system: text("source_system")?,
        document: text("document")?,
        action: text("action")?,
        states: states.collect::<Result<_, _>>()?,
        from: query.moment("from")?,
        to: query.moment("to")?,
        ..Filter::default()
    })
}

fn read_limit(query: &Query) -> Result<u32, Problem> {
    let limit = query.whole_number("limit", u32::MAX.into())?;
    let limit = limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(PAGE_ROWS_DEFAULT);
    if (1..=PAGE_ROWS_MAX).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::field("limit", format!("is {limit}; 1 to {PAGE_ROWS_MAX} are possible")))
    }
}
