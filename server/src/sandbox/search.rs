//! Searches, as the system of record answers them, and the whole truth behind its back.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use guard::clock::Timestamp;
use serde_json::json;

use super::fault::{Fault, Step};
use super::record::{Search, Task};
use super::settings::PAGE_RECORDS_MAX;
use super::task::{after, before};
use super::{RecordFault, Sandbox, answer_json};

/// What a search may say.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    company: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<i64>,
}

impl Asked {
    /// What is looked for, of what searches could find at this moment in milliseconds.
    fn search(&self, searchable_at: i64, is_part_of_text: bool, records_max: u32) -> Search {
        Search {
            external_reference: self.external_reference.clone(),
            is_part_of_text,
            company: self.company.clone(),
            created_from: self.from.map_or(i64::MIN, |from| from.timestamp_millis()),
            created_to: self.to.map_or(i64::MAX, |to| to.timestamp_millis()),
            searchable_at,
            after: self.after.unwrap_or(0),
            records_max: records_max.clamp(1, PAGE_RECORDS_MAX),
        }
    }
}

/// `GET /tasks`.
pub(super) async fn search(State(sandbox): State<Sandbox>, headers: HeaderMap, Query(asked): Query<Asked>) -> Response {
    let step = if asked.after.is_some() { Step::Page } else { Step::Search };
    let faults = match sandbox.faults(step, &headers) {
        Ok(faults) => faults,
        Err(unknown) => return unknown.into_response(),
    };
    if let Some(early) = before(&faults, StatusCode::FORBIDDEN).await {
        return early;
    }
    let settings = sandbox.settings();
    let page = faults.page_records(asked.page_size.unwrap_or(settings.page_records));
    let is_part_of_text = settings.is_part_of_text || faults.has(Fault::PartOfText);
    let search = asked.search(sandbox.shared.clock.now().timestamp_millis(), is_part_of_text, page);
    let answer = answered(&sandbox, "/tasks", asked, search).await;
    after(&faults, answer).await
}

/// `GET /sandbox/tasks`: every record at once findable, whatever the settings and faults are.
pub(super) async fn all(State(sandbox): State<Sandbox>, Query(asked): Query<Asked>) -> Response {
    let search = asked.search(i64::MAX, false, asked.page_size.unwrap_or(PAGE_RECORDS_MAX));
    answered(&sandbox, "/sandbox/tasks", asked, search).await
}

async fn answered(sandbox: &Sandbox, path: &str, asked: Asked, search: Search) -> Response {
    let page = sandbox.shared.records.search(search).await;
    match page.and_then(|(tasks, has_more)| page_text(path, asked, &tasks, has_more)) {
        Ok(text) => answer_json(StatusCode::OK, text),
        Err(fault) => fault.into(),
    }
}

/// `{"items":[…],"next":…}`; the next page is named by its path, or null.
fn page_text(path: &str, asked: Asked, tasks: &[Task], has_more: bool) -> Result<String, RecordFault> {
    let items = tasks.iter().map(Task::json).collect::<Result<Vec<_>, _>>()?.join(",");
    let last = tasks.last().filter(|_| has_more).map(Task::number);
    let next = last.map(|last| Asked { after: Some(last), ..asked });
    // Plain values can always be written.
    let next = next.map(|next| format!("{path}?{}", serde_urlencoded::to_string(next).unwrap_or_default()));
    Ok(format!("{{\"items\":[{items}],\"next\":{}}}", json!(next)))
}
