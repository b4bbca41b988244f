//! Two payloads of one document, compared.

use guard::{clock::Timestamp, view::OperationView};
use leptos::prelude::*;

use crate::{
    components::diff::{DiffQuery, Diffed},
    encoding::Json,
    failure::Failure,
};

/// A version that may be chosen.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Choice {
    /// As the address writes it.
    pub version: String,
    /// What it is called.
    pub label: String,
}

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Compared {
    /// When it was true.
    pub as_of: Timestamp,
    /// The operation.
    pub operation: OperationView,
    /// What can be compared.
    pub choices: Vec<Choice>,
    /// The left one, as the address writes it.
    pub left: String,
    /// The right one.
    pub right: String,
    /// Both, compared.
    pub diffed: Diffed,
}

/// The name of a payload that made a conflict.
#[cfg(feature = "ssr")]
fn received_label(id: guard::id::ConflictId, opened_at: Timestamp) -> String {
    let start: String = id.to_string().chars().take(8).collect();
    format!("Received {} ({start})", crate::wording::moment(opened_at))
}

/// Compares two versions of the operation's document. A version that is left out is the one that stands; on the right, the newest
/// payload that came under its key, where one did.
#[server(prefix = "/fn", endpoint = "compare_versions", input = Json, output = Json)]
pub(crate) async fn compare_versions(
    id: String,
    left: String,
    right: String,
    shown: DiffQuery,
) -> Result<Compared, Failure> {
    use guard::{refusal::Refusal, service::Version};

    use crate::comparison::{Place, Side, diff};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("operation"))?;
    let operation = guard.operation(&person.reach, id).await?;
    let known = guard.versions(&person.reach, id).await?;
    let label = |version: &Version| match version {
        Version::Revision(revision) => format!("Revision {revision}"),
        Version::Received(conflict) => known
            .received
            .iter()
            .find(|known| known.id == *conflict)
            .map_or_else(|| format!("Received ({conflict})"), |known| received_label(known.id, known.opened_at)),
    };
    let stands = Version::Revision(operation.key.revision);
    let newest = known.received.first().map_or(stands, |newest| Version::Received(newest.id));
    let chosen = |text: &str, otherwise: Version| match text {
        "" => Ok(otherwise),
        text => text.parse::<Version>(),
    };
    let (left, right) = (chosen(&left, stands)?, chosen(&right, newest)?);
    let payloads = (guard.version(&person.reach, id, left).await?, guard.version(&person.reach, id, right).await?);
    let payloads = guard.veil(person, &operation).await?.compared(payloads.0, payloads.1);
    let labels = (label(&left), label(&right));
    let volatile = guard.left_out(&operation).await?;
    let path = format!("/operations/{id}/compare");
    let place =
        Place { path: &path, query: vec![("left", left.to_string()), ("right", right.to_string())], shown: &shown };
    let sides = [
        Side { label: &labels.0, payload: payloads.0.as_deref() },
        Side { label: &labels.1, payload: payloads.1.as_deref() },
    ];
    let revisions = known.revisions.iter().map(|revision| Version::Revision(*revision));
    let received = known.received.iter().map(|known| Version::Received(known.id));
    let choices = revisions.chain(received);
    Ok(Compared {
        as_of: guard.now(),
        choices: choices.map(|version| Choice { version: version.to_string(), label: label(&version) }).collect(),
        operation: guard.view(&operation),
        left: left.to_string(),
        right: right.to_string(),
        diffed: diff(sides, &volatile, &place),
    })
}
