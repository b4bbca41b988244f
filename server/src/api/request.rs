//! What endpoints take out of a request: begins, lease tokens, ids.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use guard::id::{AmendmentId, OperationId};
use guard::json::Json;
use guard::key::{ACTION_DEFAULT, KeyPart, OperationKey, REVISION_MAX};
use guard::operation::LeaseToken;
use guard::payload::{NotAPayload, Payload};
use guard::service::BeginRequest;

use crate::body::Fields;
use crate::problem::{Code, Problem};

/// The members of a begin.
const BEGIN_MEMBERS: [&str; 11] = [
    "workflow",
    "company",
    "source_system",
    "document",
    "action",
    "revision",
    "payload",
    "worker",
    "delivery_id",
    "begin_id",
    "lease_seconds",
];

/// Reads a begin.
///
/// # Errors
/// The first field that cannot be taken.
pub fn begin(body: Json, request_id: &str) -> Result<BeginRequest, Problem> {
    let mut fields = Fields::of(body, &BEGIN_MEMBERS)?;
    let key = OperationKey {
        workflow: required_part(&mut fields, "workflow")?,
        company: required_part(&mut fields, "company")?,
        source_system: required_part(&mut fields, "source_system")?,
        document: required_part(&mut fields, "document")?,
        action: part("action", fields.text("action")?.as_deref().unwrap_or(ACTION_DEFAULT))?,
        revision: revision(fields.whole_number("revision")?)?,
    };
    Ok(BeginRequest {
        key,
        payload: payload(fields.required("payload")?)?,
        worker: free_text(&mut fields, "worker")?,
        delivery_id: free_text(&mut fields, "delivery_id")?,
        begin_id: free_text(&mut fields, "begin_id")?,
        lease_seconds: fields.whole_number("lease_seconds")?,
        request_id: Some(request_id.to_owned()),
    })
}

fn required_part(fields: &mut Fields, name: &str) -> Result<KeyPart, Problem> {
    part(name, &fields.required_text(name)?)
}

/// A text as a key part.
///
/// # Errors
/// It is none.
pub fn part(name: &str, text: &str) -> Result<KeyPart, Problem> {
    KeyPart::new(text).map_err(|fault| Problem::field(name, fault))
}

/// The number of a revision; 1 where none is named.
///
/// # Errors
/// It is out of bounds.
pub fn revision(asked: Option<u32>) -> Result<u32, Problem> {
    let revision = asked.unwrap_or(1);
    if (1..=REVISION_MAX).contains(&revision) {
        Ok(revision)
    } else {
        Err(Problem::field("revision", format!("is {revision}; it is 1 to {REVISION_MAX}")))
    }
}

/// A JSON value as a payload.
///
/// # Errors
/// It is no object.
pub fn payload(content: Json) -> Result<Payload, Problem> {
    Payload::new(content).map_err(|fault| match fault {
        NotAPayload::NotAnObject(kind) => Problem::field("payload", format!("is {kind}; an object is needed")),
        NotAPayload::TooDeep(_) | NotAPayload::Json(_) => Problem::new(Code::InvalidJson, fault.to_string()),
    })
}

/// A text for the trail; an empty one is none.
fn free_text(fields: &mut Fields, name: &str) -> Result<Option<String>, Problem> {
    let Some(text) = fields.text(name)?.filter(|text| !text.is_empty()) else { return Ok(None) };
    if let Some(control) = text.chars().find(|character| character.is_control()) {
        return Err(Problem::field(name, format!("contains the control character U+{:04X}", u32::from(control))));
    }
    Ok(Some(text))
}

/// The secret of a lease, as a worker sends it back.
///
/// # Errors
/// It is missing or no text.
pub fn lease_token(fields: &mut Fields) -> Result<LeaseToken, Problem> {
    fields.required_text("lease_token").map(|token| LeaseToken::from_text(&token))
}

/// The operation in the path.
pub struct OperationPath(pub OperationId);

impl<S: Send + Sync> FromRequestParts<S> for OperationPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // What is no id names nothing.
        let id = path_parameter(parts, state, "id").await?.parse();
        id.map(Self).map_err(|_| Problem::not_found("operation"))
    }
}

/// The amendment in the path.
pub struct AmendmentPath(pub AmendmentId);

impl<S: Send + Sync> FromRequestParts<S> for AmendmentPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // What is no id names nothing.
        let id = path_parameter(parts, state, "id").await?.parse();
        id.map(Self).map_err(|_| Problem::not_found("amendment"))
    }
}

/// The operation and the revision in the path.
pub struct RevisionPath(pub OperationId, pub u32);

impl<S: Send + Sync> FromRequestParts<S> for RevisionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let OperationPath(id) = OperationPath::from_request_parts(parts, state).await?;
        let revision = path_parameter(parts, state, "revision").await?;
        let is_number = revision.bytes().all(|byte| byte.is_ascii_digit());
        let revision = is_number.then(|| revision.parse().ok()).flatten();
        let revision = revision.filter(|revision| (1..=REVISION_MAX).contains(revision));
        revision.map(|revision| Self(id, revision)).ok_or_else(|| Problem::not_found("revision"))
    }
}

async fn path_parameter<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, Problem> {
    // What is no UTF-8 names nothing either.
    let parameters =
        RawPathParams::from_request_parts(parts, state).await.map_err(|_| Problem::not_found("address"))?;
    let found = parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    found.ok_or_else(|| Problem::not_found("address"))
}
