//! Behind the back of the system of record: the count to believe, faults, settings.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::fault::{FAULT_HEADER, Fault, Step};
use super::record::GROUPS_MAX;
use super::rule::{Rule, Times};
use super::settings::{ExistsShape, LAG_MILLISECONDS_MAX, PAGE_RECORDS_MAX};
use super::{Sandbox, answer_error, locked};

/// What `GET /sandbox` says.
const HELP: &str = "\
The system of record
  POST   /tasks                       a JSON object; external reference in X-Reference or external_reference
  GET    /tasks?external_reference=…  {\"items\":[…],\"next\":…}; also company, from, to (moments of creation), page_size, after
  GET    /tasks/{id}
  PATCH  /tasks/{id}                  members to change; {\"status\":\"VOIDED\"} makes it void
  DELETE /tasks/{id}                  makes it void

Behind its back: never a fault, never late
  GET    /sandbox/count               records held; ?by=external_reference or another member: for each value
  GET    /sandbox/tasks               every record; also external_reference, page_size, after
  GET    /sandbox/faults              rules in force
  POST   /sandbox/faults?fault=…      &on=create|search|page|read|change; &requests=N or &probability=P&seed=N
  DELETE /sandbox/faults              no rules any more
  GET    /sandbox/settings
  PATCH  /sandbox/settings?…          idempotency, unique, part_of_text (true, false); exists (object, list,
                                      text, success); lag_milliseconds; page_records
";

/// `GET /sandbox`.
pub(super) async fn help() -> String {
    let faults: String =
        Fault::ALL.iter().map(|fault| format!("  {:18}  {}\n", fault.to_string(), fault.meaning())).collect();
    format!("{HELP}\nFaults, for rules and for the header {FAULT_HEADER} (several: separated by commas)\n{faults}")
}

/// What a count may say.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CountQuery {
    by: Option<String>,
}

/// `GET /sandbox/count`.
pub(super) async fn count(State(sandbox): State<Sandbox>, Query(asked): Query<CountQuery>) -> Response {
    let counts = match sandbox.counts().await {
        Ok(counts) => counts,
        Err(fault) => return fault.into(),
    };
    let requests = locked(&sandbox.shared.requests).clone();
    let mut told = json!({
        "records": counts.live + counts.void, "live": counts.live, "void": counts.void, "requests": requests
    });
    if let Some(member) = asked.by {
        if member.is_empty() || !member.chars().all(|character| character.is_ascii_alphanumeric() || character == '_') {
            return invalid("by is the name of a member: letters, digits and \"_\"");
        }
        let groups = match sandbox.counts_by(&member).await {
            Ok(groups) => groups,
            Err(fault) => return fault.into(),
        };
        if u32::try_from(groups.len()).is_ok_and(|groups| groups >= GROUPS_MAX) {
            return invalid("there are too many values; page through /sandbox/tasks");
        }
        told["by"] = json!(groups);
    }
    Json(told).into_response()
}

/// What a rule may say.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleQuery {
    fault: String,
    on: Option<String>,
    requests: Option<u32>,
    probability: Option<f64>,
    seed: Option<u64>,
}

impl RuleQuery {
    fn rule(&self) -> Result<Rule, String> {
        let fault: Fault = self.fault.parse()?;
        let step = self.on.as_deref().map_or(Ok(Step::Create), str::parse)?;
        let times = match (self.requests, self.probability, self.seed) {
            (None, None, None) => Times::Every,
            (Some(0), None, None) => return Err("requests is at least 1".to_owned()),
            (Some(requests), None, None) => Times::Next(requests),
            (None, Some(probability), seed) => Times::random(probability, seed.unwrap_or(0))?,
            (Some(_), _, _) | (None, None, Some(_)) => {
                return Err("write requests, or probability with seed, or neither".to_owned());
            }
        };
        Ok(Rule { fault, step, times })
    }
}

/// `GET /sandbox/faults`.
pub(super) async fn rules(State(sandbox): State<Sandbox>) -> Json<BTreeMap<&'static str, Vec<String>>> {
    let rules = locked(&sandbox.shared.rules).in_words();
    Json(BTreeMap::from([("rules", rules)]))
}

/// `POST /sandbox/faults`.
pub(super) async fn add_rule(State(sandbox): State<Sandbox>, Query(asked): Query<RuleQuery>) -> Response {
    match asked.rule().and_then(|rule| sandbox.add_rule(rule)) {
        Ok(()) => (StatusCode::CREATED, rules(State(sandbox)).await).into_response(),
        Err(message) => invalid(&message),
    }
}

/// `DELETE /sandbox/faults`.
pub(super) async fn clear_rules(State(sandbox): State<Sandbox>) -> Response {
    locked(&sandbox.shared.rules).clear();
    rules(State(sandbox)).await.into_response()
}

/// `GET /sandbox/settings`.
pub(super) async fn settings(State(sandbox): State<Sandbox>) -> Response {
    Json(sandbox.settings()).into_response()
}

/// Settings that are to change.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsQuery {
    idempotency: Option<bool>,
    unique: Option<bool>,
    exists: Option<String>,
    lag_milliseconds: Option<u64>,
    page_records: Option<u32>,
    part_of_text: Option<bool>,
}

/// `PATCH /sandbox/settings`.
pub(super) async fn change_settings(State(sandbox): State<Sandbox>, Query(asked): Query<SettingsQuery>) -> Response {
    if asked.lag_milliseconds.is_some_and(|lag| lag > LAG_MILLISECONDS_MAX) {
        return invalid(&format!("lag_milliseconds is at most {LAG_MILLISECONDS_MAX}"));
    }
    if asked.page_records.is_some_and(|records| !(1..=PAGE_RECORDS_MAX).contains(&records)) {
        return invalid(&format!("page_records is 1 to {PAGE_RECORDS_MAX}"));
    }
    let exists = match asked.exists.map(|shape| shape.parse::<ExistsShape>()).transpose() {
        Ok(exists) => exists,
        Err(message) => return invalid(&message),
    };
    let changed = {
        let mut settings = locked(&sandbox.shared.settings);
        settings.honours_idempotency_keys = asked.idempotency.unwrap_or(settings.honours_idempotency_keys);
        settings.is_unique = asked.unique.unwrap_or(settings.is_unique);
        settings.exists = exists.unwrap_or(settings.exists);
        settings.lag_milliseconds = asked.lag_milliseconds.unwrap_or(settings.lag_milliseconds);
        settings.page_records = asked.page_records.unwrap_or(settings.page_records);
        settings.is_part_of_text = asked.part_of_text.unwrap_or(settings.is_part_of_text);
        settings.clone()
    };
    Json(changed).into_response()
}

fn invalid(message: &str) -> Response {
    answer_error(StatusCode::BAD_REQUEST, "invalid", message)
}
