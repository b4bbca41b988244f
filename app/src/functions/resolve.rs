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
    let visit = crate::context::Visit::current()?;
    let result = decide(&visit, &draft, None).await;
    crate::reply::answer(&visit, result, |result| told(draft, result)).await
}

/// What is told on which page after a decision.
#[cfg(feature = "ssr")]
pub(crate) fn told(
    draft: Draft,
    result: &Result<Decided, Failure>,
) -> (&'static str, crate::notice::DecisionNotice, String) {
    use crate::notice::{DecisionNotice, Origin};

    match result {
        Ok(decided) => (
            NOTICE,
            DecisionNotice::Done(Box::new(decided.clone())),
            match draft.origin {
                Origin::Operation => format!("/operations/{}", draft.operation),
                // The next one opens.
                Origin::Queue => draft.place.address(&draft.next),
            },
        ),
        Err(failure) => {
            let page = match draft.origin {
                Origin::Operation => format!("/operations/{}#decide", draft.operation),
                Origin::Queue => draft.place.address(&draft.operation.to_string()),
            };
            (NOTICE, DecisionNotice::Refused(Box::new(draft), failure.clone()), page)
        }
    }
}

/// The name and the bytes of a file that came with a decision.
#[cfg(feature = "ssr")]
pub(crate) type SentFile = (String, std::sync::Arc<[u8]>);

/// Decides; a file is evidence of it.
#[cfg(feature = "ssr")]
pub(crate) async fn decide(
    visit: &crate::context::Visit,
    draft: &Draft,
    file: Option<SentFile>,
) -> Result<Decided, Failure> {
    use guard::{event::Resolution, refusal::Refusal, service::Settled};

    use crate::notice::Verdict;

    let person = visit.person()?;
    let (guard, id, version, reason) = (&visit.guard, draft.operation, draft.version, draft.reason.trim());
    let held = guard.operation(&person.reach, id).await?;
    if held.fingerprint.to_string() != draft.fingerprint {
        return Err(Refusal::field("fingerprint", "is not that of this operation; open it again").into());
    }
    let mut deferral = None;
    let settled = match draft.verdict {
        Verdict::Confirmed => {
            let destination_reference = match draft.destination_reference.trim() {
                // What gives no id is known by ours.
                "" if guard.catalogue().destination_to_ask(held.key.workflow.as_str()).is_none() => {
                    held.external_reference()
                }
                written => written.to_owned(),
            };
            let look = look(visit, &held, &draft.acknowledged).await?;
            let resolution = Resolution::Confirmed { destination_reference };
            guard.resolve(person, id, &ruling(draft, resolution, file, look)).await?
        }
        Verdict::NotApplied => {
            let resolution = Resolution::NotApplied { reason: reason.to_owned() };
            guard.resolve(person, id, &ruling(draft, resolution, file, None)).await?
        }
        Verdict::Dropped => {
            let resolution = Resolution::Dropped { reason: reason.to_owned() };
            guard.resolve(person, id, &ruling(draft, resolution, file, None)).await?
        }
        Verdict::KeepWaiting => {
            let until = moment(&draft.until)?;
            deferral = Some(guard.keep_waiting(person, id, version, until, reason).await?);
            let now = guard.operation(&person.reach, id).await?;
            Settled { before: now.state.name(), operation: guard.view(&now), proposal: None }
        }
        Verdict::ConfirmProposal => guard.confirm_proposal(person, id, version).await?,
        Verdict::RejectProposal => guard.reject_proposal(person, id, version, reason).await?,
    };
    Ok(Decided { settled, verdict: draft.verdict, deferral, by: person.email.clone() })
}

/// The decision as it was written.
#[cfg(feature = "ssr")]
fn ruling(
    draft: &Draft,
    resolution: guard::event::Resolution,
    file: Option<SentFile>,
    look: Option<guard::review::Look>,
) -> guard::review::Ruling {
    guard::review::Ruling {
        seen_version: draft.version,
        resolution,
        reason: draft.reason.trim().to_owned(),
        link: Some(draft.link.clone()),
        file,
        look,
    }
}

/// What the destination holds of an operation, where it can be asked: before anything is confirmed.
#[cfg(feature = "ssr")]
async fn look(
    visit: &crate::context::Visit,
    operation: &guard::operation::Operation,
    acknowledged: &str,
) -> Result<Option<guard::review::Look>, Failure> {
    let person = visit.person()?;
    if !person.role.may_resolve() {
        // Refused before anybody is asked; the guard says why.
        return Ok(None);
    }
    let asked_at = visit.guard.now();
    let Some(looked) = visit.look_at(operation).await? else { return Ok(None) };
    let acknowledged = Some(acknowledged).filter(|shown| !shown.is_empty()).map(ToOwned::to_owned);
    Ok(Some(guard::review::Look { asked_at, looked, acknowledged }))
}

/// A moment as a browser's field writes it, in UTC.
#[cfg(feature = "ssr")]
pub(super) fn moment(text: &str) -> Result<guard::clock::Timestamp, Failure> {
    let written = text.trim().trim_end_matches('Z');
    let read = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]
        .into_iter()
        .find_map(|form| chrono::NaiveDateTime::parse_from_str(written, form).ok());
    let refused = || guard::refusal::Refusal::field("until", "is no moment; write it as 2026-03-01T14:30, in UTC");
    Ok(read.ok_or_else(refused)?.and_utc())
}
