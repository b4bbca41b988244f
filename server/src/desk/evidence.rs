//! Files as evidence: added by a form of several parts, by itself or with a decision, and given back as they came.

use std::sync::Arc;

use app::{context::Visit, evidence::Decision, failure::Failure};
use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, Multipart, Path, multipart::MultipartError},
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use guard::evidence::{FILE_BYTES_MAX, MediaType};
use guard::id::OperationId;
use guard::refusal::Refusal;
use guard::service::NewEvidence;
use leptos::config::LeptosOptions;

/// The form's other fields and what stands between them have up to this many bytes.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// A form has at most this many fields beside its file.
const FIELDS_MAX: usize = 64;

/// Adding evidence, deciding with it, and reading a file of it.
pub(super) fn routes() -> Router<LeptosOptions> {
    let bound = || DefaultBodyLimit::max(FILE_BYTES_MAX + FORM_BYTES_MAX);
    Router::new()
        .route("/operations/{id}/evidence", post(add).layer(bound()))
        .route("/operations/{id}/decision", post(decide).layer(bound()))
        .route("/evidence/{id}", get(read))
}

/// Adds evidence and leads back to the operation, which tells what became of it.
async fn add(Extension(visit): Extension<Visit>, Path(id): Path<OperationId>, form: Multipart) -> Response {
    let (sent, fault) = written(form).await;
    let mut new = NewEvidence { file: sent.file, ..NewEvidence::default() };
    for (name, text) in sent.fields {
        match name.as_str() {
            "note" => new.note = text,
            "link" => new.link = text,
            _ => {}
        }
    }
    let refusal = match (fault, visit.person()) {
        (_, Err(failure)) => return refuse(failure),
        (Some(refusal), Ok(_)) => Some(refusal),
        (None, Ok(person)) => visit.guard.add_evidence(person, id, &new).await.err(),
    };
    if matches!(refusal, Some(Refusal::NotFound { .. })) {
        return refuse(Refusal::not_found("operation").into());
    }
    app::evidence::tell(&visit, new.note, new.link, refusal).await;
    Redirect::to(&format!("/operations/{id}#evidence")).into_response()
}

/// Marks an operation as not applied with the evidence that came in the same form, and leads to the page that tells what became of it.
async fn decide(Extension(visit): Extension<Visit>, Path(id): Path<OperationId>, form: Multipart) -> Response {
    let (decision, fault) = written(form).await;
    match app::evidence::not_applied(&visit, id, decision, fault).await {
        Ok(page) => Redirect::to(&page).into_response(),
        Err(failure) => refuse(failure),
    }
}

/// What the form holds; where it cannot be read to its end, what was read of it and why.
async fn written(mut form: Multipart) -> (Decision, Option<Refusal>) {
    let mut sent = Decision::default();
    loop {
        let field = match form.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return (sent, None),
            Err(error) => return (sent, Some(unreadable(&error))),
        };
        let (name, file_name) = (field.name().map(ToOwned::to_owned), field.file_name().map(ToOwned::to_owned));
        let content = match field.bytes().await {
            Ok(content) => content,
            Err(error) => return (sent, Some(unreadable(&error))),
        };
        match (name, file_name) {
            (Some(name), None) if sent.fields.len() < FIELDS_MAX => {
                sent.fields.push((name, String::from_utf8_lossy(&content).into_owned()));
            }
            // A field in which no file was chosen is sent with no name and no bytes.
            (Some(name), Some(file)) if name == "file" && (!file.is_empty() || !content.is_empty()) => {
                sent.file = Some((file, Arc::from(&content[..])));
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }
}

fn unreadable(error: &MultipartError) -> Refusal {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Refusal::field("file", "has over 5 MiB; put it where others can see it, and give the link");
    }
    Refusal::field("file", format!("cannot be read: {}; send the form again", error.body_text()))
}

/// The file as it came. Whatever it holds, no browser runs it: it is saved and never shown, and had it been shown, nothing of it could
/// load or run.
async fn read(Extension(visit): Extension<Visit>, Path(id): Path<guard::id::EvidenceId>) -> Response {
    let person = match visit.person() {
        Ok(person) => person,
        Err(failure) => return refuse(failure),
    };
    let (file, content) = match visit.guard.evidence_file(&person.reach, id).await {
        Ok(found) => found,
        Err(refusal) => return refuse(refusal.into()),
    };
    let media_type = match file.media_type {
        MediaType::Text | MediaType::Csv => format!("{}; charset=utf-8", file.media_type.as_str()),
        MediaType::Png | MediaType::Jpeg | MediaType::Webp | MediaType::Pdf | MediaType::Json | MediaType::Email => {
            file.media_type.as_str().to_owned()
        }
    };
    let headers = [
        (CONTENT_TYPE, media_type),
        (CONTENT_DISPOSITION, attachment(&file.name)),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, content).into_response()
}

/// The header that makes a browser save it under its name: plain for old ones, and as RFC 6266 says.
fn attachment(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
    let plain: String = name.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    let encoded: String = name
        .bytes()
        .map(|byte| if is_plain(char::from(byte)) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

fn refuse(failure: Failure) -> Response {
    (failure.status(), format!("{failure}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(
            attachment("Auszug \"März\";\r\n.pdf"),
            "attachment; filename=\"Auszug__M_rz____.pdf\"; filename*=UTF-8''Auszug%20%22M%C3%A4rz%22%3B%0D%0A.pdf"
        );
    }
}
