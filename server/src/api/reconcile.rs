//! `POST /api/v1/reconciliations`: the destination's records come in, and what they are to the operations goes out.

use axum::extract::{RawQuery, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use guard::actor::Actor;
use guard::reconciliation::{DecimalMark, Format, Mapping, Scope as RunScope};
use guard::workflow::Workflow;

use super::query::Query;
use super::reconciliation::ReconciliationAnswer;
use super::request::part;
use super::view::json;
use crate::body::check_coding;
use crate::caller::Caller;
use crate::problem::{Code, Problem, ProblemDocument};
use crate::reconciliation::import::{Asked, Upload, reconcile as import};
use crate::state::Server;

/// The parameters, beside `map.<field>`.
pub const PARAMETERS: [&str; 13] = [
    "workflow",
    "company",
    "from",
    "to",
    "format",
    "delimiter",
    "encoding",
    "decimal",
    "date_format",
    "minor_units",
    "every_currency",
    "void_value",
    "open",
];

/// What a parameter that names the column of a field starts with.
const MAP: &str = "map.";

/// Hands in what the destination holds, and says what each record is to which operation.
///
/// The body is a table, a JSON array, a bank statement (camt.053) or Tally's vouchers. Which column holds what is the workflow's
/// mapping; `map.<field>=<column>` names another one, for the fields `destination_reference`, `external_reference`, `document`,
/// `source_system`, `amount`, `currency`, `date`, `status` and the workflow's key fields. The same file with the same parameters is the
/// same reconciliation: it is answered 200 and changes nothing. A file that broke off half way is sent again.
#[utoipa::path(
    post,
    path = "/api/v1/reconciliations",
    operation_id = "reconcile",
    tag = "reconciliation",
    params(
        ("workflow" = String, Query, description = "The workflow", max_length = 200),
        ("company" = String, Query, description = "The company", max_length = 200),
        ("from" = Option<String>, Query, description = "Operations begun first at or after this moment (RFC 3339) or day"),
        ("to" = Option<String>, Query, description = "Operations begun first before this moment (RFC 3339), or up to the end of this day"),
        ("format" = Option<String>, Query, description = "`csv`, `json`, `camt053` or `tally`"),
        ("delimiter" = Option<String>, Query, description = "What stands between two columns, or `tab`"),
        ("encoding" = Option<String>, Query, description = "The encoding, such as `windows-1252`"),
        ("decimal" = Option<String>, Query, description = "`point` or `comma`"),
        ("date_format" = Option<String>, Query, description = "How dates are written, such as `%d.%m.%Y`, or `excel`"),
        ("minor_units" = Option<bool>, Query, description = "Amounts are whole numbers of the currency's smallest unit"),
        ("every_currency" = Option<String>, Query, description = "The currency of every record, where no column says it"),
        ("void_value" = Option<String>, Query, description = "What stands in the column of the status where a record is void"),
        ("open" = Option<String>, Query, description = "`all`: contradictions are opened although more than half of what was compared disagrees"),
    ),
    request_body(content(
        (String = "text/csv"),
        (Vec<serde_json::Map<String, serde_json::Value>> = "application/json"),
        (String = "application/xml"),
    )),
    responses(
        (status = 201, description = "Reconciled", body = ReconciliationAnswer),
        (status = 200, description = "The same was reconciled before; nothing was changed", body = ReconciliationAnswer),
        (
            status = 422, description = "A parameter cannot be taken, or the file cannot be read as it stands",
            body = ProblemDocument, content_type = "application/problem+json"
        ),
    )
)]
pub async fn reconcile(
    State(server): State<Server>,
    caller: Caller,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let parameters =
        Parameters::of(serde_urlencoded::from_str(query.as_deref().unwrap_or_default()).unwrap_or_default())?;
    server.guard.may_reconcile(&caller.token, parameters.company()?)?;
    let workflow = server.guard.workflow_for(&caller.token, parameters.workflow()?).await?.workflow.clone();
    let actor = Actor::Token { name: caller.token.name.clone(), worker: None };
    let asked = parameters.asked(workflow, actor)?;
    let (declared, charset) = declared(request.headers())?;
    let upload = Upload::of_body(request.into_body()).await?;
    let asked = Asked { declared, charset, ..asked };
    let guard = server.guard.clone();
    // It goes on where its caller has gone, and the end of the server waits for it.
    let running = server.proxied.spawn(async move { import(&guard, upload, asked).await });
    let done = running.await.map_err(|_| Problem::new(Code::Internal, "something broke; the log says what"))??;
    let status = if done.is_repeated { StatusCode::OK } else { StatusCode::CREATED };
    let answer = ReconciliationAnswer::of(&done.run, done.is_repeated, &server.settings.public_url);
    Ok((status, json(&answer)).into_response())
}

type Pairs = Vec<(String, String)>;

/// What is said beside a file: by the address of a request, or by a form with the same names.
pub struct Parameters {
    /// What names the columns of fields.
    map: Pairs,
    /// Everything else.
    query: Query,
}

impl Parameters {
    /// Takes parameters in.
    ///
    /// # Errors
    /// One that there is not.
    pub fn of(pairs: Vec<(String, String)>) -> Result<Self, Problem> {
        let (map, rest): (Pairs, Pairs) = pairs.into_iter().partition(|(name, _)| name.starts_with(MAP));
        let map = map.into_iter().map(|(name, column)| (name.trim_start_matches(MAP).to_owned(), column)).collect();
        Ok(Self { map, query: Query::among(rest, &PARAMETERS)? })
    }

    fn required(&self, name: &str) -> Result<&str, Problem> {
        self.query.one(name)?.ok_or_else(|| Problem::field(name, "is missing; it is required"))
    }

    /// The name of the workflow.
    ///
    /// # Errors
    /// It is missing, or stands twice.
    pub fn workflow(&self) -> Result<&str, Problem> {
        self.required("workflow")
    }

    /// The company.
    ///
    /// # Errors
    /// It is missing, stands twice, or cannot be one.
    pub fn company(&self) -> Result<&str, Problem> {
        let company = self.required("company")?;
        part("company", company)?;
        Ok(company)
    }

    /// What is asked for of this workflow.
    ///
    /// # Errors
    /// The parameter that cannot be taken.
    pub fn asked(&self, workflow: Workflow, actor: Actor) -> Result<Asked, Problem> {
        let Self { map, query } = self;
        let scope = RunScope {
            workflow: workflow.name.as_str().to_owned(),
            company: self.company()?.to_owned(),
            from: query.day_or_moment("from", false)?,
            to: query.day_or_moment("to", true)?,
        };
        if scope.from.zip(scope.to).is_some_and(|(from, to)| from >= to) {
            return Err(Problem::field("to", "is not behind from"));
        }
        let mapping = mapping(&workflow, map, query)?;
        let opens_all = match query.one("open")? {
            None => false,
            Some("all") => true,
            Some(other) => return Err(Problem::field("open", format!("is {other:?}; all is possible"))),
        };
        Ok(Asked { workflow, scope, mapping, declared: None, charset: None, opens_all, pulled: None, actor })
    }
}

/// The workflow's mapping with what the parameters say instead.
fn mapping(workflow: &Workflow, map: &Pairs, query: &Query) -> Result<Mapping, Problem> {
    let mut mapping = workflow.reconciliation.clone();
    for (field, column) in map {
        mapping.set(workflow, field, column)?;
    }
    let text = |name: &str| Ok::<_, Problem>(query.one(name)?.map(ToOwned::to_owned));
    if let Some(name) = query.one("format")? {
        let known = || Format::ALL.map(Format::as_str).join(", ");
        let format = Format::parse(name);
        let format = format.ok_or_else(|| Problem::field("format", format!("is {name:?}; there are: {}", known())))?;
        mapping.format = Some(format);
    }
    mapping.delimiter = text("delimiter")?.or(mapping.delimiter);
    mapping.encoding = text("encoding")?.or(mapping.encoding);
    mapping.date_format = text("date_format")?.or(mapping.date_format);
    mapping.every_currency = text("every_currency")?.or(mapping.every_currency);
    match query.one("decimal")? {
        None => {}
        Some("point") => mapping.decimal = Some(DecimalMark::Point),
        Some("comma") => mapping.decimal = Some(DecimalMark::Comma),
        Some(other) => return Err(Problem::field("decimal", format!("is {other:?}; point and comma are possible"))),
    }
    match query.one("minor_units")? {
        None => {}
        Some("true") => mapping.minor_units = true,
        Some("false") => mapping.minor_units = false,
        Some(other) => return Err(Problem::field("minor_units", format!("is {other:?}; true and false are possible"))),
    }
    let void: Vec<String> = query.all("void_value").filter(|value| !value.is_empty()).map(ToOwned::to_owned).collect();
    if !void.is_empty() {
        mapping.void_values = void;
    }
    mapping
        .validate()
        .map_err(|fault| Problem::field(fault.key.trim_start_matches("reconciliation."), fault.message))?;
    Ok(mapping)
}

/// The format and the encoding that the media type says; what says nothing is told by the file's beginning.
fn declared(headers: &HeaderMap) -> Result<(Option<Format>, Option<String>), Problem> {
    check_coding(headers)?;
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| part.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("charset")));
    let charset = charset.map(|(_, label)| label.trim_matches('"').to_owned());
    let format = match essence.as_str() {
        "text/csv" | "application/csv" | "text/tab-separated-values" => Some(Format::Csv),
        "application/json" => Some(Format::Json),
        "application/xml" | "text/xml" | "text/plain" | "application/octet-stream" | "" => None,
        _ => {
            let detail = "send text/csv, application/json or application/xml";
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
    };
    Ok((format, charset))
}
