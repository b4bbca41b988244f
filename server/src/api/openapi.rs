//! `GET /api/v1/openapi.json`: the API described by its own code (OpenAPI 3.1).

use std::sync::LazyLock;

use axum::response::Response;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoParams, OpenApi};

use super::view::{StateSchema, json_text};
use crate::problem::ProblemDocument;

/// The name of the security scheme.
const TOKEN: &str = "token";

/// The API of Onceover for automations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Onceover",
        description = "Ask before you create a record in another system; report how it went. Every refusal is a problem document \
                       (RFC 9457), every begin gets one instruction in `next`: `send`, `use_result`, `wait` or `stop`."
    ),
    tags(
        (name = "operations", description = "Ask, mark, extend, report"),
        (name = "amendments", description = "Change what is confirmed, reviewed"),
        (name = "reading", description = "What there is and how it came about"),
        (name = "reconciliation", description = "What the destination really holds"),
    ),
    paths(
        super::begin::begin,
        super::batch::batch,
        super::list::list,
        super::read::read,
        super::mark_sending::mark_sending,
        super::heartbeat::heartbeat,
        super::outcome::outcome,
        super::events::events,
        super::payload::payload,
        super::metrics::metrics,
        super::proposal::propose,
        super::read_amendment::read_amendment,
        super::reconcile::reconcile,
        super::reconciliation::reconciliation,
        super::reconciliation_rows::reconciliation_rows,
    ),
    components(schemas(ProblemDocument))
)]
struct Api;

/// What every endpoint may be answered, beside its own answers.
const EVERYWHERE: [(&str, &str); 5] = [
    ("401", "The request came without a valid token"),
    ("403", "The token may not do this"),
    ("404", "There is no such thing for this token"),
    ("429", "The token asks too often"),
    ("503", "The store cannot be reached; nothing was decided"),
];

/// What every endpoint that takes a body may be answered.
const WITH_BODY: [(&str, &str); 5] = [
    ("400", "The body is not the JSON that is taken"),
    ("408", "The body did not arrive in time"),
    ("413", "The body is too large"),
    ("415", "The body must be JSON"),
    ("422", "A field or a number cannot be taken"),
];

static DESCRIPTION: LazyLock<String> = LazyLock::new(|| {
    let mut api = Api::openapi();
    let components = api.components.get_or_insert_default();
    let bearer = Http::builder().scheme(HttpAuthScheme::Bearer).description(Some("A token of Onceover")).build();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(bearer));
    api.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], _>(TOKEN, [])]);
    for path in api.paths.paths.values_mut() {
        for operation in [&mut path.get, &mut path.post].into_iter().flatten() {
            add_common_answers(operation);
        }
    }
    api.to_json().unwrap_or_default()
});

fn add_common_answers(operation: &mut Operation) {
    let with_body: &[_] = if operation.request_body.is_some() { &WITH_BODY } else { &[] };
    for (status, description) in EVERYWHERE.iter().chain(with_body) {
        operation.responses.responses.entry((*status).to_owned()).or_insert_with(|| {
            let content = Content::builder().schema(Some(Ref::from_schema_name("Problem"))).build();
            let response = ResponseBuilder::new().description(*description);
            RefOr::T(response.content("application/problem+json", content).build())
        });
    }
}

/// The description as JSON text.
pub fn description() -> &'static str {
    &DESCRIPTION
}

/// The description.
pub async fn openapi() -> Response {
    json_text(DESCRIPTION.clone())
}

/// The parameters of a list, as they are described; [`super::list`] reads them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListParameters {
    /// Only of this workflow.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub workflow: String,
    /// Only of this company.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub company: String,
    /// Only from this source system.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub source_system: String,
    /// Only of this document.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub document: String,
    /// Only of this action.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub action: String,
    /// Only in this state; several are an OR.
    #[param(value_type = Vec<StateSchema>, required = false, explode = true)]
    pub state: Vec<String>,
    /// Only begun first at or after this moment (RFC 3339).
    #[param(pattern = r"^(\d{4}-\d{2}-\d{2}[Tt].+)?$", required = false)]
    pub from: String,
    /// Only begun first before this moment (RFC 3339).
    #[param(pattern = r"^(\d{4}-\d{2}-\d{2}[Tt].+)?$", required = false)]
    pub to: String,
    /// Where the page starts: the `next_cursor` of the page before.
    #[param(required = false)]
    pub cursor: String,
    /// At most so many; 50 where it is left out.
    #[param(minimum = 1, maximum = 500, required = false)]
    pub limit: u32,
}

/// The parameters of the numbers of a period, as they are described; [`super::metrics`] reads them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MetricsParameters {
    /// So many days back, today included; 30 where nothing is named.
    #[param(minimum = 1, maximum = 366, required = false)]
    pub days: u32,
    /// From this day on (UTC), instead of `days`.
    #[param(pattern = r"^(\d{4}-\d{2}-\d{2})?$", required = false)]
    pub from: String,
    /// Up to the end of this day (UTC).
    #[param(pattern = r"^(\d{4}-\d{2}-\d{2})?$", required = false)]
    pub to: String,
    /// Only of this workflow.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub workflow: String,
    /// Only of this company.
    #[param(
        pattern = r"^([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$",
        max_length = 200,
        required = false
    )]
    pub company: String,
}
