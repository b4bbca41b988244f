//! What people hand in for reconciliation, by a form of several parts, and lists that they have pulled.

use app::{context::Visit, failure::Failure};
use axum::{
    Extension, Form, Router,
    extract::{DefaultBodyLimit, Multipart, multipart::MultipartError},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::post,
};
use guard::actor::Actor;
use guard::person::Person;
use leptos::config::LeptosOptions;

use crate::api::reconcile::Parameters;
use crate::destination::Destinations;
use crate::problem::{Code, Problem};
use crate::reconciliation::FILE_BYTES_MAX;
use crate::reconciliation::import::{Asked, FILE_TIME_MAX, Keeping, NotReconciled, Upload, reconcile};
use crate::reconciliation::pull::{NotPulled, Pull, pull};

/// The form's other fields and what stands between them have up to this many bytes.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// The form has at most this many fields beside the file: each key field of a workflow has one.
const FIELDS_MAX: usize = 200;

/// One field beside the file has at most this many bytes.
const FIELD_BYTES_MAX: usize = 4 * 1024;

/// The list of reconciliations, with the form.
const LIST: &str = "/reconciliation";

/// Handing a file in, pulling a list.
pub(super) fn routes() -> Router<LeptosOptions> {
    let form = post(hand_in).layer(DefaultBodyLimit::max(FILE_BYTES_MAX + FORM_BYTES_MAX));
    let list = post(pull_list).layer(DefaultBodyLimit::max(FORM_BYTES_MAX));
    Router::new().route("/reconciliation/file", form).route("/reconciliation/pull", list)
}

/// Reconciles a file and leads to the report, or back to the form, which tells what is wrong.
async fn hand_in(Extension(visit): Extension<Visit>, form: Multipart) -> Response {
    let person = match visit.person() {
        Ok(person) => person.clone(),
        Err(failure) => return refuse(&failure),
    };
    if let Err(refusal) = visit.guard.person_may_hand_in(&person) {
        return refuse(&refusal.into());
    }
    let mut fields = Vec::new();
    let written = tokio::time::timeout(FILE_TIME_MAX, read(form, &mut fields)).await;
    let written = written
        .unwrap_or_else(|_| Err(Problem::new(Code::RequestTimeout, "the file did not arrive within 15 minutes")));
    let done = match written {
        Ok(Some(upload)) => take(&visit, &person, fields.clone(), upload).await,
        Ok(None) => Err(Problem::field("file", "is missing; choose one").into()),
        Err(problem) => Err(problem.into()),
    };
    let page = match done {
        Ok((page, is_repeated)) => {
            app::reconciliation::tell_done(&visit, is_repeated).await;
            page
        }
        Err(NotReconciled::Unreadable(faults)) => {
            let sentence =
                "The file cannot be read as it stands. Mend these places, or say how it is written.".to_owned();
            let faults = faults.iter().map(ToString::to_string).collect();
            app::reconciliation::tell_refused(&visit, fields, sentence, faults).await;
            format!("{LIST}#hand-in")
        }
        Err(NotReconciled::Refused(problem)) => {
            app::reconciliation::tell_refused(&visit, fields, sentence(problem.detail()), Vec::new()).await;
            format!("{LIST}#hand-in")
        }
    };
    Redirect::to(&page).into_response()
}

/// Reconciles what was handed in; the page of the report, and whether it was there before.
async fn take(
    visit: &Visit,
    person: &Person,
    fields: Vec<(String, String)>,
    upload: Upload,
) -> Result<(String, bool), NotReconciled> {
    let parameters = Parameters::of(fields)?;
    visit.guard.person_may_reconcile(person, parameters.company()?)?;
    let workflow = visit.guard.workflow_within(person, parameters.workflow()?).await?.workflow.clone();
    let asked = parameters.asked(workflow, Actor::Person { email: person.email.clone() })?;
    let guard = visit.guard.clone();
    // It goes on where its page was left.
    let running = tokio::spawn(async move { reconcile(&guard, upload, asked).await });
    let done = running.await.map_err(|_| Problem::new(Code::Internal, "something broke; the log says what"))??;
    Ok((format!("{LIST}/{}", done.run.id), done.is_repeated))
}

/// Pulls a list, reconciles it and leads to the report, or back to the form, which tells why not.
async fn pull_list(
    Extension(visit): Extension<Visit>,
    Extension(destinations): Extension<Destinations>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let person = match visit.person() {
        Ok(person) => person.clone(),
        Err(failure) => return refuse(&failure),
    };
    if let Err(refusal) = visit.guard.person_may_hand_in(&person) {
        return refuse(&refusal.into());
    }
    let mut fields = fields;
    fields.retain_mut(|(_, text)| {
        *text = text.trim().to_owned();
        !text.is_empty()
    });
    // It goes on where its page was left, and is told on the next one.
    let running = tokio::spawn(async move {
        match pull_asked(&visit, &person, &destinations, fields.clone()).await {
            Ok((page, is_repeated)) => {
                app::reconciliation::tell_done(&visit, is_repeated).await;
                page
            }
            Err(not) => {
                let (reason, faults) = not.told();
                app::reconciliation::tell_not_pulled(&visit, fields, sentence(&reason), faults).await;
                format!("{LIST}#pull")
            }
        }
    });
    // What broke there is in the log.
    let page = running.await.unwrap_or_else(|_broken| LIST.to_owned());
    Redirect::to(&page).into_response()
}

/// Pulls what the form asks for; the page of the report, and whether it was there before.
async fn pull_asked(
    visit: &Visit,
    person: &Person,
    destinations: &Destinations,
    fields: Vec<(String, String)>,
) -> Result<(String, bool), NotPulled> {
    let parameters = Parameters::of(fields)?;
    visit.guard.person_may_reconcile(person, parameters.company()?)?;
    let workflow = visit.guard.workflow_within(person, parameters.workflow()?).await?.workflow.clone();
    let asked = parameters.asked(workflow, Actor::Person { email: person.email.clone() })?;
    let Asked { workflow, scope, opens_all, actor, .. } = asked;
    let done = pull(&visit.guard, destinations, Pull { workflow, scope, opens_all, actor }).await?;
    Ok((format!("{LIST}/{}", done.run.id), done.is_repeated))
}

/// Reads the form: its fields into `fields`, also where it cannot be read to its end; the file, where one was chosen.
async fn read(mut form: Multipart, fields: &mut Vec<(String, String)>) -> Result<Option<Upload>, Problem> {
    let mut upload = None;
    while let Some(mut part) = form.next_field().await.map_err(|error| unreadable(&error))? {
        let name = part.name().unwrap_or_default().to_owned();
        let is_chosen = part.file_name().is_some_and(|file| !file.is_empty());
        if name == "file" {
            let mut kept = Keeping::new()?;
            while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
                kept.add(&chunk)?;
            }
            // A field in which no file was chosen is sent with no name and no bytes.
            if is_chosen {
                upload = Some(kept.finish()?);
            }
            continue;
        }
        let mut content = Vec::new();
        while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
            if content.len() + chunk.len() > FIELD_BYTES_MAX {
                return Err(Problem::field(&name, format!("has over {FIELD_BYTES_MAX} bytes")));
            }
            content.extend_from_slice(&chunk);
        }
        let text = String::from_utf8_lossy(&content).trim().to_owned();
        if !text.is_empty() {
            fields.push((name, text));
        }
        if fields.len() > FIELDS_MAX {
            return Err(Problem::new(Code::InvalidField, format!("the form has over {FIELDS_MAX} fields")));
        }
    }
    Ok(upload)
}

fn unreadable(error: &MultipartError) -> Problem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return crate::body::too_large(FILE_BYTES_MAX);
    }
    Problem::new(Code::InvalidFile, format!("the form cannot be read: {}; send it again", error.body_text()))
}

/// A detail as a sentence.
fn sentence(detail: &str) -> String {
    let mut characters = detail.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

fn refuse(failure: &Failure) -> Response {
    (failure.status(), format!("{failure}\n")).into_response()
}
