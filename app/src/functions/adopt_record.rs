//! A person adopts a record that nobody guards.

use guard::id::OperationId;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::reconciliation::AdoptionDraft};

/// Registers the operation of a record that the destination holds already.
#[server(prefix = "/fn", endpoint = "adopt_record", output = Json)]
pub(crate) async fn adopt_record(draft: AdoptionDraft) -> Result<OperationId, Failure> {
    use super::read_reconciliation::NOTICE;
    use crate::{notice::reconciliation::FindingNotice, wording::reconciliation::row_address};

    let visit = crate::context::Visit::current()?;
    let result = adopt(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let page = row_address(draft.run, draft.number);
        match result {
            Ok(_) => (NOTICE, FindingNotice::Done, page),
            Err(failure) => (NOTICE, FindingNotice::AdoptionRefused(Box::new(draft), failure.clone()), page),
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn adopt(visit: &crate::context::Visit, draft: &AdoptionDraft) -> Result<OperationId, Failure> {
    use guard::service::Adoption;

    let adoption = Adoption {
        run: draft.run,
        number: draft.number,
        source_system: draft.source_system.clone(),
        document: draft.document.clone(),
        action: draft.action.clone(),
        reason: draft.reason.trim().to_owned(),
    };
    Ok(visit.guard.adopt(visit.person()?, &adoption).await?.id)
}
