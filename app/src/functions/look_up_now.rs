//! A person asks that an unknown operation is looked for now.

use guard::{id::OperationId, service::Outlook};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Under this name what became of the wish is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "look_up_now";

/// Makes the next lookup due now, within the destination's limits; tells how recovery stands then.
#[server(prefix = "/fn", endpoint = "look_up_now", output = Json)]
pub(crate) async fn look_up_now(operation: OperationId) -> Result<Outlook, Failure> {
    use crate::notice::HasteNotice;

    let visit = crate::context::Visit::current()?;
    let result = hasten(&visit, operation).await;
    crate::reply::answer(&visit, result, |result| {
        let notice = match result {
            Ok(_) => HasteNotice::Due,
            Err(failure) => HasteNotice::Refused(failure.clone()),
        };
        (NOTICE, notice, format!("/operations/{operation}#recovery"))
    })
    .await
}

#[cfg(feature = "ssr")]
async fn hasten(visit: &crate::context::Visit, operation: OperationId) -> Result<Outlook, Failure> {
    Ok(visit.guard.look_up_now(visit.person()?, operation).await?)
}
