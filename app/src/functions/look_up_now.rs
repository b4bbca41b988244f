//! A person asks that an unknown operation is looked for now.

use guard::id::OperationId;
use leptos::prelude::*;

use super::list_unknown::Asked;
use crate::{
    encoding::Json,
    failure::Failure,
    notice::{Haste, Origin},
};

/// Under this name what became of the wish is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "look_up_now";

/// Makes the next lookup due now, within the destination's limits. What is disputed is looked at at once: nobody looks for it by itself.
#[server(prefix = "/fn", endpoint = "look_up_now", output = Json)]
pub(crate) async fn look_up_now(
    operation: OperationId,
    #[server(default)] origin: Origin,
    #[server(default)] place: Asked,
) -> Result<Haste, Failure> {
    use crate::notice::HasteNotice;

    let visit = crate::context::Visit::current()?;
    let result = hasten(&visit, operation).await;
    crate::reply::answer(&visit, result, |result| {
        let notice = match result {
            Ok(haste) => HasteNotice::Done(haste.clone()),
            Err(failure) => HasteNotice::Refused(failure.clone()),
        };
        let page = match origin {
            Origin::Operation => format!("/operations/{operation}#recovery"),
            Origin::Queue => place.address(&operation.to_string()),
        };
        (NOTICE, notice, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn hasten(visit: &crate::context::Visit, id: OperationId) -> Result<Haste, Failure> {
    use guard::state::StateName;

    let (person, guard) = (visit.person()?, &visit.guard);
    let operation = guard.operation(&person.reach, id).await?;
    if operation.state.name() != StateName::Disputed {
        guard.look_up_now(person, id).await?;
        return Ok(Haste::Due);
    }
    // Refused before anybody is asked.
    guard.may_look(person, &operation)?;
    let asked_at = guard.now();
    let Some(looked) = visit.look_at(&operation).await? else { return Err(Failure::Internal) };
    guard.looked_at(person, id, asked_at, &looked).await?;
    Ok(Haste::Looked { shown: looked.finding.sentence() })
}
