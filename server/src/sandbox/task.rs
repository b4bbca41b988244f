//! One record: create, read, change, void.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::fault::{Fault, Faults, Step};
use super::record::{Made, Members, NewTask, Task, VOIDED};
use super::settings::ExistsShape;
use super::{IDEMPOTENCY_HEADER, REFERENCE_HEADER, Sandbox, answer_error, answer_json, cut};

/// The longest external reference and idempotency key, in bytes.
const REFERENCE_BYTES_MAX: usize = 1_000;

/// How long a caller is asked to wait by a 429, in seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// `POST /tasks`.
pub(super) async fn create(State(sandbox): State<Sandbox>, headers: HeaderMap, body: Bytes) -> Response {
    let faults = match sandbox.faults(Step::Create, &headers) {
        Ok(faults) => faults,
        Err(unknown) => return unknown.into_response(),
    };
    let asked = match Asked::read(&headers, &body) {
        Ok(asked) => asked,
        Err(message) => return answer_error(StatusCode::BAD_REQUEST, "invalid", &message),
    };
    let worker = sandbox.clone();
    sandbox.to_the_end(async move { carry_out(worker, asked, faults).await }).await
}

async fn carry_out(sandbox: Sandbox, asked: Asked, faults: Faults) -> Response {
    if let Some(early) = before(&faults, StatusCode::UNPROCESSABLE_ENTITY).await {
        return early;
    }
    let settings = sandbox.settings();
    if faults.has(Fault::Exists) {
        let held = match asked.external_reference {
            Some(reference) => sandbox.shared.records.live(reference).await,
            None => Ok(None),
        };
        return match held {
            Ok(held) => exists(settings.exists, held.map(|task| task.id())),
            Err(fault) => fault.into(),
        };
    }
    let now = sandbox.shared.clock.now().timestamp_millis();
    let lag = faults.lag_milliseconds(settings.lag_milliseconds);
    let new = NewTask {
        external_reference: asked.external_reference,
        members: asked.members,
        is_void: faults.has(Fault::Void),
        copies: if faults.has(Fault::Twice) { 2 } else { 1 },
        created_at: now,
        searchable_at: now.saturating_add(i64::try_from(lag).unwrap_or(i64::MAX)),
        idempotency_key: asked.idempotency_key.filter(|_| settings.honours_idempotency_keys),
        is_unique: settings.is_unique,
    };
    let answer = match sandbox.shared.records.make(new).await {
        Ok(Made::New(task)) => created(&task, false),
        Ok(Made::Repeated(task)) => created(&task, true),
        Ok(Made::Exists(task)) => exists(settings.exists, Some(task.id())),
        Ok(Made::KeyReused) => {
            let message = "the idempotency key was used for another request";
            answer_error(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", message)
        }
        Err(fault) => fault.into(),
    };
    after(&faults, answer).await
}

/// `GET /tasks/{id}`.
pub(super) async fn read(State(sandbox): State<Sandbox>, headers: HeaderMap, Path(id): Path<String>) -> Response {
    let faults = match sandbox.faults(Step::Read, &headers) {
        Ok(faults) => faults,
        Err(unknown) => return unknown.into_response(),
    };
    if let Some(early) = before(&faults, StatusCode::FORBIDDEN).await {
        return early;
    }
    let answer = held(sandbox.shared.records.task(&id).await);
    after(&faults, answer).await
}

/// `PATCH /tasks/{id}`.
pub(super) async fn change(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let mut members: Members = match serde_json::from_slice(&body) {
        Ok(members) => members,
        Err(error) => return answer_error(StatusCode::BAD_REQUEST, "invalid", &not_an_object(&error)),
    };
    let status = members.remove("status").map(|status| serde_json::from_str::<String>(status.get())).transpose();
    let Ok(status) = status else {
        return answer_error(StatusCode::BAD_REQUEST, "invalid", "status is a text");
    };
    changed(sandbox, &headers, id, status, members).await
}

/// `DELETE /tasks/{id}`: nothing is deleted, the record is void.
pub(super) async fn void(State(sandbox): State<Sandbox>, headers: HeaderMap, Path(id): Path<String>) -> Response {
    changed(sandbox, &headers, id, Some(VOIDED.to_owned()), Members::new()).await
}

async fn changed(
    sandbox: Sandbox,
    headers: &HeaderMap,
    id: String,
    status: Option<String>,
    members: Members,
) -> Response {
    let faults = match sandbox.faults(Step::Change, headers) {
        Ok(faults) => faults,
        Err(unknown) => return unknown.into_response(),
    };
    let worker = sandbox.clone();
    let work = async move {
        if let Some(early) = before(&faults, StatusCode::UNPROCESSABLE_ENTITY).await {
            return early;
        }
        let answer = held(worker.shared.records.change(&id, status, members).await);
        after(&faults, answer).await
    };
    sandbox.to_the_end(work).await
}

/// The faults that come before anything is done; an answer where nothing is done at all.
pub(super) async fn before(faults: &Faults, refused: StatusCode) -> Option<Response> {
    pause(faults.before_milliseconds()).await;
    if faults.has(Fault::CutBefore) {
        return Some(cut());
    }
    if faults.has(Fault::FailBefore) {
        return Some(answer_error(StatusCode::INTERNAL_SERVER_ERROR, "failed", "nothing was done"));
    }
    if faults.has(Fault::Refuse) {
        return Some(answer_error(refused, "refused", "nothing was done, and nothing will be"));
    }
    if faults.has(Fault::TooMany) {
        let answer = answer_error(StatusCode::TOO_MANY_REQUESTS, "too_many", "nothing was done; ask again later");
        return Some(([(header::RETRY_AFTER, RETRY_AFTER_SECONDS)], answer).into_response());
    }
    None
}

/// The faults that happen to an answer.
pub(super) async fn after(faults: &Faults, answer: Response) -> Response {
    pause(faults.after_milliseconds()).await;
    if faults.has(Fault::CutAfter) {
        return cut();
    }
    if faults.has(Fault::FailAfter) {
        return answer_error(StatusCode::INTERNAL_SERVER_ERROR, "failed", "something went wrong");
    }
    if faults.has(Fault::Garbage) {
        return (StatusCode::OK, [(header::CONTENT_TYPE, "text/html")], "<html><body>It works!").into_response();
    }
    if faults.has(Fault::HalfAnswer) {
        let (parts, body) = answer.into_parts();
        // It was made here, of at most one record or page.
        let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        let half = whole.slice(..whole.len() / 2);
        let broken = std::io::Error::other("the fault that was asked for");
        let body = Body::from_stream(futures::stream::iter([Ok(half), Err(broken)]));
        let mut halved = (parts.status, body).into_response();
        if let Some(kind) = parts.headers.get(header::CONTENT_TYPE) {
            halved.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
        }
        return halved;
    }
    answer
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

fn created(task: &Task, is_repeated: bool) -> Response {
    let text = match task.json() {
        Ok(text) => text,
        Err(fault) => return fault.into(),
    };
    let mut answer = answer_json(StatusCode::CREATED, text);
    if let Ok(location) = HeaderValue::from_str(&format!("/tasks/{}", task.id())) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    if is_repeated {
        answer.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    answer
}

fn held(found: Result<Option<Task>, super::RecordFault>) -> Response {
    match found.and_then(|task| task.map(|task| task.json()).transpose()) {
        Ok(Some(text)) => answer_json(StatusCode::OK, text),
        Ok(None) => answer_error(StatusCode::NOT_FOUND, "not_found", "there is no such task"),
        Err(fault) => fault.into(),
    }
}

/// "Already exists", as different systems say it.
fn exists(shape: ExistsShape, id: Option<String>) -> Response {
    let message = "a task with this external reference exists already";
    let error = json!({ "code": "DUPLICATE", "message": message, "id": id });
    match shape {
        ExistsShape::Object => (StatusCode::CONFLICT, axum::Json(json!({ "error": error }))).into_response(),
        ExistsShape::List => {
            let other = json!({ "code": "WARNING", "message": "the request was not carried out" });
            (StatusCode::CONFLICT, axum::Json(json!([other, error]))).into_response()
        }
        ExistsShape::Text => (StatusCode::CONFLICT, message).into_response(),
        ExistsShape::Success => {
            (StatusCode::OK, axum::Json(json!({ "success": false, "error": error }))).into_response()
        }
    }
}

/// What a caller wants to have made.
struct Asked {
    external_reference: Option<String>,
    members: Members,
    idempotency_key: Option<String>,
}

impl Asked {
    fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, String> {
        let members: Members = serde_json::from_slice(body).map_err(|error| not_an_object(&error))?;
        let header = |name: &'static str| {
            let value = headers.get(name).map(HeaderValue::to_str).transpose();
            let value = value.map_err(|_| format!("{name} is not ASCII"))?;
            match value {
                Some(text) if text.len() > REFERENCE_BYTES_MAX => {
                    Err(format!("{name} has over {REFERENCE_BYTES_MAX} bytes"))
                }
                value => Ok(value.map(ToOwned::to_owned)),
            }
        };
        let in_header = header(REFERENCE_HEADER)?;
        let in_body = members.get("external_reference").map(|value| {
            let text = serde_json::from_str::<Option<String>>(value.get());
            let text = text.map_err(|_| "external_reference is a text".to_owned())?;
            let is_short = text.as_ref().is_none_or(|text| text.len() <= REFERENCE_BYTES_MAX);
            if is_short { Ok(text) } else { Err(format!("external_reference has over {REFERENCE_BYTES_MAX} bytes")) }
        });
        let in_body = in_body.transpose()?.flatten();
        if let (Some(one), Some(other)) = (&in_header, &in_body)
            && one != other
        {
            return Err(format!("{REFERENCE_HEADER} and external_reference differ"));
        }
        Ok(Self { external_reference: in_header.or(in_body), members, idempotency_key: header(IDEMPOTENCY_HEADER)? })
    }
}

fn not_an_object(error: &serde_json::Error) -> String {
    format!("the body is no JSON object: {error}")
}
