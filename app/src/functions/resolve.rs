//! A person's decision on an uncertain operation.

use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::{Decided, Draft},
};

/// Under this name the effect of a decision is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "decision";

/// Decides, and tells from what to what; or says why nothing was changed.
#[server(prefix = "/fn", endpoint = "resolve", output = Json)]
pub(crate) async fn resolve(draft: Draft) -> Result<Decided, Failure> {
    use crate::notice::{DecisionNotice, Origin};

    let visit = crate::context::Visit::current()?;
    let result = decide(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(decided) => (
            NOTICE,
            DecisionNotice::Done(Box::new(decided.clone())),
            match draft.origin {
                Origin::Operation => format!("/operations/{}", draft.operation),
                Origin::Queue => "/unknown".to_owned(),
            },
        ),
        Err(failure) => {
            let page = match draft.origin {
                Origin::Operation => format!("/operations/{}#decide", draft.operation),
                Origin::Queue => format!("/unknown?decide={}#decide", draft.operation),
            };
            (NOTICE, DecisionNotice::Refused(Box::new(draft), failure.clone()), page)
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn decide(visit: &crate::context::Visit, draft: &Draft) -> Result<Decided, Failure> {
    use guard::{event::Resolution, refusal::Refusal};

    use crate::notice::Verdict;

    let person = visit.person()?;
    let reason = draft.reason.trim();
    let resolution = match draft.verdict {
        Verdict::Confirmed => {
            Resolution::Confirmed { destination_reference: draft.destination_reference.trim().to_owned() }
        }
        Verdict::NotApplied => Resolution::NotApplied { reason: reason.to_owned() },
    };
    let held = visit.guard.operation(&person.reach, draft.operation).await?;
    if held.fingerprint.to_string() != draft.fingerprint {
        return Err(Refusal::field("fingerprint", "is not that of this operation; open it again").into());
    }
    let link = Some(draft.link.as_str());
    let settled = visit.guard.resolve(person, draft.operation, draft.version, &resolution, reason, link).await?;
    Ok(Decided { settled, by: person.email.clone() })
}
