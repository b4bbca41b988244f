//! A person's decision on an amendment.

use guard::amendment::AmendmentStateName;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::amendment::AmendmentDraft};

/// Under this name the effect of a decision is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "amendment";

/// Approves, rejects or withdraws an amendment; tells where it stands then, or says why nothing was changed.
#[server(prefix = "/fn", endpoint = "decide_amendment", output = Json)]
pub(crate) async fn decide_amendment(draft: AmendmentDraft) -> Result<AmendmentStateName, Failure> {
    use crate::notice::amendment::AmendmentNotice;

    let visit = crate::context::Visit::current()?;
    let result = decide(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let page = format!("/amendments/{}", draft.amendment);
        match result {
            Ok(_) => (NOTICE, AmendmentNotice::Decided(draft.verdict), page),
            Err(failure) => {
                (NOTICE, AmendmentNotice::Refused(Box::new(draft), failure.clone()), format!("{page}#decide"))
            }
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn decide(visit: &crate::context::Visit, draft: &AmendmentDraft) -> Result<AmendmentStateName, Failure> {
    use guard::{refusal::Refusal, service::Approving};

    use crate::notice::amendment::AmendmentVerdict;

    let (person, guard) = (visit.person()?, &visit.guard);
    let (id, version, reason) = (draft.amendment, draft.version, draft.reason.trim());
    let held = guard.amendment(&person.reach, id).await?;
    if held.fingerprint.to_string() != draft.fingerprint {
        return Err(Refusal::field("fingerprint", "is not that of this amendment; open it again").into());
    }
    let decided = match draft.verdict {
        AmendmentVerdict::Approve => {
            // Whoever cannot approve is refused before anybody is asked; the guard says why.
            let is_open = held.state.name() == AmendmentStateName::AwaitingApproval;
            let is_asked = is_open && person.role.may_approve() && held.bars(&person.email).is_none();
            let looked = if is_asked {
                let base = guard.operation(&person.reach, held.base.operation).await?;
                visit.look_at(&base).await?
            } else {
                None
            };
            let approving = Approving {
                seen_version: version,
                reason: Some(reason.to_owned()),
                looked,
                despite_uncertainty: draft.despite_uncertainty,
            };
            guard.approve(person, id, &approving).await?
        }
        AmendmentVerdict::Reject => guard.reject(person, id, version, reason).await?,
        AmendmentVerdict::Withdraw => guard.withdraw(person, id, version, reason).await?,
    };
    Ok(decided.state.name())
}
