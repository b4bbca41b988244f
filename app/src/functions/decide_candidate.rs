//! A person says whether a record belongs to an operation.

use guard::state::StateName;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::reconciliation::CandidateDraft};

/// Says whether a record belongs to an operation; tells where that stands then.
#[server(prefix = "/fn", endpoint = "decide_candidate", output = Json)]
pub(crate) async fn decide_candidate(draft: CandidateDraft) -> Result<StateName, Failure> {
    use super::read_reconciliation::NOTICE;
    use crate::{notice::reconciliation::FindingNotice, wording::reconciliation::row_address};

    let visit = crate::context::Visit::current()?;
    let result = decide(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let page = row_address(draft.run, draft.number);
        match result {
            Ok(_) => (NOTICE, FindingNotice::Done, page),
            Err(failure) => (NOTICE, FindingNotice::CandidateRefused(Box::new(draft), failure.clone()), page),
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn decide(visit: &crate::context::Visit, draft: &CandidateDraft) -> Result<StateName, Failure> {
    use guard::service::CandidateRuling;

    use crate::notice::reconciliation::Belonging;

    let ruling = CandidateRuling {
        run: draft.run,
        number: draft.number,
        operation: draft.operation,
        seen_version: draft.version,
        belongs: draft.belonging == Belonging::Belongs,
        reason: draft.reason.trim().to_owned(),
    };
    Ok(visit.guard.decide_candidate(visit.person()?, &ruling).await?.state.name())
}
