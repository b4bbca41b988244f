//! `POST /api/v1/operations/batch`: up to a thousand begins, independent of each other.

use std::collections::HashMap;
use std::num::NonZeroU32;

use axum::extract::{Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use guard::key::OperationKey;
use guard::service::BeginRequest;
use serde::Deserialize as _;
use serde::de::{self, Visitor};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AnyOfBuilder, SchemaType};
use utoipa::openapi::{Array, ArrayBuilder, ObjectBuilder, Ref};

use super::answer::answer;
use super::begin::BeginBody;
use super::request;
use super::view::json_text;
use crate::body::{check_names, parse, read, too_large};
use crate::caller::Caller;
use crate::observe::RequestId;
use crate::problem::{Code, Problem};
use crate::state::Server;

/// A batch has at most this many items.
pub const BATCH_ITEMS_MAX: usize = 1_000;

/// So many items of a batch are decided at the same time: enough to share the commits of the store, and few beside other callers.
const CONCURRENT_MAX: usize = 64;

/// The members of a batch.
const MEMBERS: [&str; 1] = ["operations"];

/// Begins, independent of each other.
#[derive(ToSchema)]
#[schema(as = Batch)]
pub struct BatchBody {
    /// The begins, each as for a single one; what is none is refused by itself, with its own `status`.
    #[schema(schema_with = items)]
    pub operations: Vec<BeginBody>,
}

/// One result per item, in their order.
#[derive(ToSchema)]
#[schema(as = BatchResults)]
pub struct ResultsBody {
    /// Each is what a single begin would have been answered, with its own `status`.
    #[schema(schema_with = results)]
    pub results: String,
}

fn items() -> Array {
    let anything = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let item = AnyOfBuilder::new().item(Ref::from_schema_name("Begin")).item(anything);
    ArrayBuilder::new().items(item).max_items(Some(BATCH_ITEMS_MAX)).build()
}

fn results() -> Array {
    let kinds = ["Granted", "Done", "DecisionProblem", "Problem"];
    let item = kinds.into_iter().fold(AnyOfBuilder::new(), |item, kind| item.item(Ref::from_schema_name(kind)));
    ArrayBuilder::new().items(item).max_items(Some(BATCH_ITEMS_MAX)).build()
}

/// May these be sent?
///
/// Each item is decided by itself, at the same time as the others; items with equal keys are decided in their order.
#[utoipa::path(
    post,
    path = "/api/v1/operations/batch",
    operation_id = "begin_batch",
    tag = "operations",
    request_body(content = BatchBody, content_type = "application/json"),
    responses((status = 200, description = "One result per item, in their order", body = ResultsBody))
)]
pub async fn batch(
    State(server): State<Server>,
    caller: Caller,
    id: RequestId,
    request: Request,
) -> Result<Response, Problem> {
    let text = read(request, server.settings.batch_bytes_max).await?;
    let items = split(&text)?;
    // The first was counted when the caller came in.
    if let Some(further) = u32::try_from(items.len()).ok().and_then(|number| NonZeroU32::new(number.saturating_sub(1)))
    {
        caller.spend(&server, further)?;
    }
    let mut results: Vec<Option<String>> = vec![None; items.len()];
    let mut by_key: HashMap<OperationKey, Vec<(usize, BeginRequest)>> = HashMap::new();
    for (index, item) in items.into_iter().enumerate() {
        match read_item(item, server.settings.body_bytes_max, id.as_str()) {
            Ok(begin) => by_key.entry(begin.key.clone()).or_default().push((index, begin)),
            Err(problem) => results[index] = Some(problem.document(&server.settings.public_url, id.as_str())),
        }
    }
    // Items with equal keys are one after the other, as if they had been called so; all others do not wait for each other.
    let decisions = by_key.into_values().map(|same_key| async {
        let mut decided = Vec::with_capacity(same_key.len());
        for (index, begin) in same_key {
            decided.push((index, decide(&server, &caller, &begin, id.as_str()).await));
        }
        decided
    });
    let mut decisions = futures::stream::iter(decisions).buffer_unordered(CONCURRENT_MAX);
    while let Some(decided) = decisions.next().await {
        for (index, result) in decided {
            results[index] = Some(result);
        }
    }
    let results: Vec<String> = results.into_iter().flatten().collect();
    Ok(json_text(format!("{{\"results\":[{}]}}", results.join(","))))
}

async fn decide(server: &Server, caller: &Caller, begin: &BeginRequest, request_id: &str) -> String {
    let public_url = &server.settings.public_url;
    let answered = match server.guard.begin(&caller.token, begin).await {
        Ok(decision) => {
            server.guard.delivered(begin, &decision);
            let next_look = server.guard.next_look(&decision).await;
            answer(&decision, server.guard.now(), next_look, public_url)
        }
        Err(refusal) => Err(refusal.into()),
    };
    match answered {
        // The body of an answer is an object that is never empty.
        Ok(answer) => format!("{{\"status\":{},{}", answer.status.as_u16(), answer.body.get(1..).unwrap_or_default()),
        Err(problem) => problem.document(public_url, request_id),
    }
}

fn read_item(item: &RawValue, bytes_max: usize, request_id: &str) -> Result<BeginRequest, Problem> {
    if item.get().len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    request::begin(parse(item.get().as_bytes())?, request_id)
}

/// Splits a batch into the texts of its items, so that a fault within one is a fault of that one.
fn split(text: &[u8]) -> Result<Vec<&RawValue>, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let members = Members::deserialize(&mut reader).and_then(|members| reader.end().map(|()| members));
    let Members(members) = members.map_err(|error| unreadable(&error))?;
    check_names(members.iter().map(|(name, _)| name.as_str()), &MEMBERS)?;
    for (index, (name, _)) in members.iter().enumerate() {
        if members[..index].iter().any(|(known, _)| known == name) {
            return Err(Problem::new(Code::InvalidJson, format!("the member {name:?} stands twice in one object")));
        }
    }
    let found = members.into_iter().find(|(name, _)| name == "operations");
    let (_, operations) = found.ok_or_else(|| Problem::field("operations", "is missing; it is required"))?;
    let items: Vec<&RawValue> = serde_json::from_str(operations.get())
        .map_err(|_| Problem::field("operations", "is no array; an array of begins is needed"))?;
    if items.len() > BATCH_ITEMS_MAX {
        let detail = format!("has {} items; at most {BATCH_ITEMS_MAX} are taken", items.len());
        return Err(Problem::field("operations", detail));
    }
    Ok(items)
}

fn unreadable(error: &serde_json::Error) -> Problem {
    #[derive(serde::Serialize)]
    struct Place {
        line: usize,
        column: usize,
    }
    let place = Place { line: error.line(), column: error.column() };
    match error.classify() {
        serde_json::error::Category::Data => Problem::field("body", "is no object with an array \"operations\""),
        serde_json::error::Category::Io | serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
            Problem::new(Code::InvalidJson, error.to_string()).with(&place)
        }
    }
}

/// The members of an object with the texts of their values.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> de::Deserialize<'de> for Members<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_split_without_looking_into_its_items() {
        let items = split(br#" {"operations": [ {"a":1e999999}, 7 , "x" ] , "note": null} "#).unwrap();
        let texts: Vec<&str> = items.iter().map(|item| item.get()).collect();
        assert_eq!(texts, [r#"{"a":1e999999}"#, "7", r#""x""#]);
    }

    #[test]
    fn what_cannot_be_split_is_refused_whole() {
        let code = |text: &str| split(text.as_bytes()).unwrap_err().code();
        assert_eq!(code(r#"{"operations":[1}"#), Code::InvalidJson);
        assert_eq!(code(r#"{"operations":[]}x"#), Code::InvalidJson);
        assert_eq!(code(r#"{"operations":[],"operations":[]}"#), Code::InvalidJson);
        assert_eq!(code("\u{feff}{\"operations\":[]}"), Code::InvalidJson);
        assert_eq!(code(r#"{"operation":[]}"#), Code::InvalidField);
        assert_eq!(code(r#"{"operations":{}}"#), Code::InvalidField);
        assert_eq!(code("[]"), Code::InvalidField);
        assert_eq!(code(&format!("{{\"operations\":[{}0]}}", "0,".repeat(1_000))), Code::InvalidField);
    }
}
