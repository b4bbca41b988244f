//! Both sides of one operation that waits for a decision.

use guard::{id::OperationId, veil::Veil};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// What was sent, what the destination was seen to hold, and what people know; what is sensitive is masked.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct BothSides {
    /// The operation.
    pub operation: OperationId,
    /// Both sides, as HTML that the server rendered.
    pub html: String,
    /// What is masked.
    pub veil: Veil,
    /// What is missing to mark it as not applied; none where what is there is enough.
    pub lacks_evidence: Option<String>,
}

/// Reads both sides of the operation with this id: of one at a time, never of a whole list.
#[server(prefix = "/fn", endpoint = "read_sides", input = Json, output = Json)]
pub(crate) async fn read_sides(id: String) -> Result<BothSides, Failure> {
    use guard::{json, refusal::Refusal, service::Sides};

    use crate::{
        comparison::{Side, differences},
        sides::{Shown, html},
    };

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("operation"))?;
    let Sides { operation, payload, values, shown, key_fields, evidence, lacks_evidence } =
        guard.sides(&person.reach, id).await?;
    let veil = guard.veil(person, &operation).await?;
    let written = |value: json::Json| match value {
        json::Json::String(text) => text,
        other @ (json::Json::Null
        | json::Json::Bool(_)
        | json::Json::Number(_)
        | json::Json::Array(_)
        | json::Json::Object(_)) => other.to_string(),
    };
    let values = values.into_iter().map(|(place, value)| (place.to_string(), written(veil.value(&place, &value))));
    let diffed = key_fields.map(|(sent, held)| {
        let (sent, held) = veil.texts(&sent.to_string(), &held.to_string());
        differences([
            Side { label: "What was sent", payload: Some(&sent) },
            Side { label: "What the destination holds", payload: Some(&held) },
        ])
    });
    let seen = shown.map(|mut entry| {
        entry.detail = veil.facts(&entry.detail);
        (entry.at, crate::components::timeline::sentence(&entry))
    });
    let shown = Shown {
        operation: id,
        values: values.collect(),
        payload: payload.map(|payload| veil.text(&payload)),
        dropped_at: operation.content.dropped_at(),
        seen,
        diffed,
        message: guard.message_versions(&person.reach, id).await?,
        evidence,
    };
    Ok(BothSides { operation: id, html: html(shown, guard.now()), veil, lacks_evidence })
}
