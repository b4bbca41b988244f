//! A person proposes an amendment.

use guard::id::AmendmentId;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::amendment::ProposalDraft};

/// Under this name a proposal that was refused is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "proposal";

/// Proposes a change of a confirmed revision; another person approves it.
#[server(prefix = "/fn", endpoint = "propose_amendment", output = Json)]
pub(crate) async fn propose_amendment(draft: ProposalDraft) -> Result<AmendmentId, Failure> {
    use crate::notice::amendment::{AmendmentNotice, ProposalRefused};

    let visit = crate::context::Visit::current()?;
    let result = propose(&visit, &draft).await;
    if let Ok(amendment) = &result {
        let page = format!("/amendments/{amendment}");
        return crate::reply::answer(&visit, result, |_| {
            (super::decide_amendment::NOTICE, AmendmentNotice::Proposed, page)
        })
        .await;
    }
    crate::reply::answer(&visit, result, |result| {
        let page = format!("/operations/{}/amend#propose", draft.base);
        let failure = result.as_ref().err().cloned().unwrap_or(Failure::Internal);
        (NOTICE, ProposalRefused { draft, failure }, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn propose(visit: &crate::context::Visit, draft: &ProposalDraft) -> Result<AmendmentId, Failure> {
    use guard::{refusal::Refusal, service::Proposer};

    use super::read_proposal::{FIELDS_MAX, written};

    let (person, guard) = (visit.person()?, &visit.guard);
    if draft.fields.len() > FIELDS_MAX {
        return Err(Refusal::field("fields", format!("are more than {FIELDS_MAX}")).into());
    }
    let operation = guard.operation(&person.reach, draft.base).await?;
    let start = written::start(visit, &operation).await?;
    let payload = written::meant(&start, draft)?;
    let requested_by = Some(draft.requested_by.as_str());
    let who = Proposer::Person(person);
    Ok(guard.propose(who, operation.id, payload, draft.reason.trim(), requested_by, None).await?.id)
}
