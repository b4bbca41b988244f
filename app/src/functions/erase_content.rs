//! A person has the content of a document erased.

use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::retention::{EraseDraft, Erased},
};

/// Under this name what became of an erasure is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "erasure";

/// Erases what is kept of every operation of the document.
#[server(prefix = "/fn", endpoint = "erase_content", output = Json)]
pub(crate) async fn erase_content(draft: EraseDraft) -> Result<Vec<Erased>, Failure> {
    use crate::notice::retention::EraseNotice;

    let visit = crate::context::Visit::current()?;
    let result = erase(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let page = format!("/operations/{}/content#erase", draft.operation);
        let notice = match result {
            Ok(erased) => EraseNotice::Done(draft.operation, erased.clone()),
            Err(failure) => EraseNotice::Refused(Box::new(draft.clone()), failure.clone()),
        };
        (NOTICE, notice, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn erase(visit: &crate::context::Visit, draft: &EraseDraft) -> Result<Vec<Erased>, Failure> {
    use guard::service::SeenOperation;

    let person = visit.person()?;
    let seen = |text: &str| {
        let (operation, version) = text.split_once(':')?;
        Some(SeenOperation { operation: operation.parse().ok()?, version: version.parse().ok()? })
    };
    let seen: Vec<_> = draft.seen.split_whitespace().filter_map(seen).collect();
    let erased = visit.guard.erase(person, draft.operation, &seen, draft.reason.trim()).await?;
    Ok(erased.into_iter().map(|(operation, bodies)| Erased { operation, bodies }).collect())
}
