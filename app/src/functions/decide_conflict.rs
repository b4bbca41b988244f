//! A person's decision on a conflict.

use guard::service::ConflictSettled;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::ConflictDraft};

/// Under this name the effect of a decision is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "conflict";

/// Decides, and tells what came of it; or says why nothing was changed.
#[server(prefix = "/fn", endpoint = "decide_conflict", output = Json)]
pub(crate) async fn decide_conflict(draft: ConflictDraft) -> Result<ConflictSettled, Failure> {
    use crate::notice::ConflictNotice;

    let visit = crate::context::Visit::current()?;
    let result = decide(&visit, &draft).await;
    crate::reply::answer(&visit, result, |result| {
        let search: super::list_conflicts::ConflictSearch =
            serde_urlencoded::from_str(&draft.search).unwrap_or_default();
        match result {
            Ok(settled) => {
                let page = match draft.next.parse::<guard::id::ConflictId>() {
                    Ok(next) => search.address(&format!("/conflicts/{next}")),
                    Err(_) => format!("/conflicts/{}", draft.conflict),
                };
                (NOTICE, ConflictNotice::Done(Box::new(settled.clone())), page)
            }
            Err(failure) => {
                let page = format!("{}#decide", search.address(&format!("/conflicts/{}", draft.conflict)));
                (NOTICE, ConflictNotice::Refused(Box::new(draft), failure.clone()), page)
            }
        }
    })
    .await
}

#[cfg(feature = "ssr")]
async fn decide(visit: &crate::context::Visit, draft: &ConflictDraft) -> Result<ConflictSettled, Failure> {
    use guard::{conflict::ConflictVerdict, key::KeyPart, refusal::Refusal, service::SeenConflict};

    use crate::notice::ConflictChoice;

    let person = visit.person()?;
    let verdict = match draft.verdict {
        None => return Err(Refusal::field("decision", "is not chosen; choose one").into()),
        Some(ConflictChoice::Keep) => ConflictVerdict::KeepApproved,
        Some(ConflictChoice::Propose) => ConflictVerdict::ProposeAmendment,
        Some(ConflictChoice::Other) => {
            let document = draft.document.trim();
            let document = KeyPart::new(document).map_err(|error| Refusal::field("document", error))?;
            ConflictVerdict::OtherDocument { document }
        }
        Some(ConflictChoice::Noise) => {
            let places = draft.places.iter().map(|place| place.parse());
            let places = places.collect::<Result<_, guard::pointer::NotAPointer>>();
            ConflictVerdict::Noise { places: places.map_err(|error| Refusal::field("places", error))? }
        }
    };
    let received = draft.fingerprint.parse();
    let received =
        received.map_err(|error: guard::fingerprint::NotAFingerprint| Refusal::field("fingerprint", error))?;
    let seen = SeenConflict { version: draft.version, received };
    let (reason, link) = (draft.reason.trim(), Some(draft.link.as_str()));
    Ok(visit.guard.decide_conflict(person, draft.conflict, &seen, &verdict, reason, link).await?)
}
