//! `GET /api/v1/metrics`: the numbers of the board.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use guard::board::Line;
use guard::token::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use super::openapi::MetricsParameters;
use super::query::Query;
use super::view::{Moment, json};
use crate::caller::Caller;
use crate::problem::{Problem, ProblemDocument};
use crate::state::Server;

/// The parameters, as the board's address has them.
const PARAMETERS: [&str; 5] = ["days", "from", "to", "workflow", "company"];

/// One number.
#[derive(Serialize, ToSchema)]
#[schema(as = Number)]
pub struct NumberBody {
    /// What it is a number of: `duplicates_prevented`, `repetitions_held`, `settled`, …
    pub measure: &'static str,
    /// Of which kind.
    pub of: Option<String>,
    /// In which workflow; null: in all.
    pub workflow: Option<String>,
    /// In which company; null: in all.
    pub company: Option<String>,
    /// In which currency, where it is money.
    pub currency: Option<String>,
    /// The number in decimal digits; null where there is none, as of a median of nothing.
    pub value: Option<String>,
    /// The same in the period before; null where it is a number of this moment.
    pub before: Option<String>,
}

/// The numbers of a period.
#[derive(Serialize, ToSchema)]
#[schema(as = Metrics)]
pub struct MetricsBody {
    /// The first moment of the period.
    #[schema(value_type = String, format = DateTime)]
    pub from: Moment,
    /// The moment before which it ends. The period before it is as long.
    #[schema(value_type = String, format = DateTime)]
    pub to: Moment,
    /// When the numbers were true.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Moment,
    /// One for each measure: in all, by workflow, by company.
    pub numbers: Vec<NumberBody>,
}

/// The numbers of a period beside those of the period before, as the desk's board shows them.
///
/// A prevented duplicate counts once for each operation, when the operation is confirmed; `repetitions_held` counts every ask.
#[utoipa::path(
    get,
    path = "/api/v1/metrics",
    operation_id = "read_metrics",
    tag = "reading",
    params(MetricsParameters),
    responses(
        (status = 200, description = "The numbers", body = MetricsBody),
        (
            status = 422, description = "A parameter cannot be taken",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn metrics(
    State(server): State<Server>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.require(Scope::MetricsRead)?;
    let query = query.unwrap_or_default();
    let parameters = Query::of(Some(&query), &PARAMETERS)?;
    for name in PARAMETERS {
        parameters.one(name)?;
    }
    let asked = app::board_asked_for(&query, server.guard.now())?;
    let board = server.guard.board(&caller.token.reach, asked.question).await?;
    let (from, to, as_of) = (board.question.from, board.question.to, board.as_of);
    let numbers = board.lines().into_iter().map(number).collect();
    Ok(json(&MetricsBody { from: Moment(from), to: Moment(to), as_of: Moment(as_of), numbers }))
}

fn number(line: Line) -> NumberBody {
    let Line { measure, of, workflow, company, currency, value, before } = line;
    let some = |text: String| (!text.is_empty()).then_some(text);
    NumberBody { measure, of, workflow, company, currency, value: some(value), before: before.and_then(some) }
}
