//! A person asks that a record is taken back.

use guard::id::AmendmentId;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::amendment::ReversalDraft};

/// Under this name a wish that was refused is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "reversal";

/// Asks that a record of an operation is taken back; another person approves it.
#[server(prefix = "/fn", endpoint = "ask_reversal", output = Json)]
pub(crate) async fn ask_reversal(draft: ReversalDraft) -> Result<AmendmentId, Failure> {
    use crate::notice::amendment::{AmendmentNotice, ReversalRefused};

    let visit = crate::context::Visit::current()?;
    let result = ask(&visit, &draft).await;
    if let Ok(amendment) = &result {
        let page = format!("/amendments/{amendment}");
        return crate::reply::answer(&visit, result, |_| {
            (super::decide_amendment::NOTICE, AmendmentNotice::Proposed, page)
        })
        .await;
    }
    crate::reply::answer(&visit, result, |result| {
        let page = format!("/operations/{}/reverse#reverse", draft.operation);
        let failure = result.as_ref().err().cloned().unwrap_or(Failure::Internal);
        (NOTICE, ReversalRefused { draft, failure }, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn ask(visit: &crate::context::Visit, draft: &ReversalDraft) -> Result<AmendmentId, Failure> {
    use guard::service::AskedReversal;

    let named = if draft.record.is_empty() { &draft.other_record } else { &draft.record };
    let asked = AskedReversal {
        record: named.trim(),
        reason: draft.reason.trim(),
        requested_by: Some(draft.requested_by.as_str()),
    };
    Ok(visit.guard.ask_reversal(visit.person()?, draft.operation, draft.version, asked).await?.id)
}
