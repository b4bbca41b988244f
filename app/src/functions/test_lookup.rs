//! A look at a destination, to see whether its profile is right. It changes nothing.

use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    notice::{LookedUp, LookupDraft},
};

/// Asks the destination, and tells what came back and how it was read.
#[server(prefix = "/fn", endpoint = "test_lookup", output = Json)]
pub(crate) async fn test_lookup(draft: LookupDraft) -> Result<LookedUp, Failure> {
    use super::read_settings::NOTICE;
    use crate::{notice::SettingsNotice, wording};

    let visit = crate::context::Visit::current()?;
    let page = format!("/settings#{}", wording::destination_anchor(&draft.destination));
    let result = look(&visit, draft.clone()).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(looked) => (NOTICE, SettingsNotice::LookedUp(Box::new(looked.clone())), page),
        Err(failure) => (NOTICE, SettingsNotice::LookupRefused(Box::new(draft), failure.clone()), page),
    })
    .await
}

#[cfg(feature = "ssr")]
async fn look(visit: &crate::context::Visit, draft: LookupDraft) -> Result<LookedUp, Failure> {
    use guard::{lookup::Verdict, refusal::Refusal, token::Reach};

    use crate::wording;

    let person = visit.person()?;
    if let Some(reason) = wording::why_not_resolve(person.role) {
        return Err(Refusal::Forbidden { reason }.into());
    }
    let sought = draft.sought.trim();
    if sought.is_empty() || sought.chars().count() > guard::key::KEY_PART_CHARACTERS_MAX {
        let message = "is empty or over 200 characters; write an external reference, or the id of an operation";
        return Err(Refusal::field("sought", message).into());
    }
    let catalogue = visit.guard.catalogue();
    let destination = catalogue.destinations.get(&draft.destination);
    let destination = destination.ok_or_else(|| Refusal::not_found("destination"))?;
    tracing::info!(person = %person.id, destination = destination.name, "tests a lookup");
    let reaches_everything = person.reach == Reach::EVERYTHING;
    let operation = match named(sought) {
        Some(id) => match visit.guard.operation(&person.reach, id).await {
            Ok(operation) => Some(operation),
            Err(Refusal::NotFound { .. }) => None,
            Err(refusal) => return Err(refusal.into()),
        },
        None => None,
    };
    let Some(operation) = operation else {
        if !reaches_everything {
            let message =
                "is no operation within your companies; without that limit any external reference can be tried";
            return Err(Refusal::field("sought", message).into());
        }
        let trial = visit.lookups.look_for(destination, sought).await;
        return Ok(LookedUp { draft, sentence: None, trial });
    };
    let known = catalogue.workflows.get(operation.key.workflow.as_str());
    let workflow = known.map(|known| &known.workflow);
    let goes_there = |workflow: &&guard::workflow::Workflow| workflow.destination.as_ref() == Some(&destination.name);
    let workflow = workflow
        .filter(goes_there)
        .ok_or_else(|| Refusal::field("sought", format!("is an operation that does not go to {}", destination.name)))?;
    let payload = match visit.guard.payload(&person.reach, operation.id, operation.key.revision).await {
        Ok(text) => guard::payload::Payload::parse(text.as_bytes()).ok(),
        // Dropped by retention: the key fields cannot be compared, and the look says so.
        Err(Refusal::NotFound { .. }) => None,
        Err(refusal) => return Err(refusal.into()),
    };
    let mut trial = visit.lookups.look_up(destination, workflow, &operation, payload.as_ref()).await;
    if !reaches_everything {
        // Whatever else the destination answered may be another company's.
        trial.looked.candidates.clear();
        trial.shown.retain(|shown| matches!(shown.reading.verdict, Verdict::Live { .. } | Verdict::Void));
    }
    Ok(LookedUp { draft, sentence: Some(visit.guard.view(&operation).sentence), trial })
}

/// The operation that is meant: by its id, or by the external reference that is made of it.
#[cfg(feature = "ssr")]
fn named(sought: &str) -> Option<guard::id::OperationId> {
    guard::operation::of_external_reference(sought).or_else(|| sought.parse().ok())
}
