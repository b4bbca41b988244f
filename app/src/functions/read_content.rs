//! What is kept of a document, and what stands in the way of erasing it.

use guard::{clock::Timestamp, retention::Keeping, view::OperationView};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::retention::EraseNotice};

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ContentReport {
    /// When it was true.
    pub as_of: Timestamp,
    /// The operation at whose page it is asked for.
    pub operation: OperationView,
    /// What is kept of its document.
    pub keeping: Keeping,
    /// Why this person erases nothing; none where they may.
    pub why_not: Option<String>,
    /// What became of the erasure before.
    pub notice: Option<EraseNotice>,
}

/// Reads what is kept of the document of an operation.
#[server(prefix = "/fn", endpoint = "read_content", input = Json, output = Json)]
pub(crate) async fn read_content(id: String) -> Result<ContentReport, Failure> {
    use guard::refusal::Refusal;

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("operation"))?;
    let operation = guard.operation(&person.reach, id).await?;
    let notice: Option<EraseNotice> = crate::reply::take_notice(&visit, super::erase_content::NOTICE).await;
    let is_of_this = |notice: &EraseNotice| match notice {
        EraseNotice::Done(operation, _) => *operation == id,
        EraseNotice::Refused(draft, _) => draft.operation == id,
    };
    Ok(ContentReport {
        as_of: guard.now(),
        operation: guard.view(&operation),
        keeping: guard.keeping(&person.reach, id).await?,
        why_not: crate::wording::retention::why_not_erase(person.role),
        notice: notice.filter(is_of_this),
    })
}
