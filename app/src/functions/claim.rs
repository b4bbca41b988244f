//! A person says to be on an uncertain operation, or not to be any more.

use guard::id::OperationId;
use leptos::prelude::*;

use super::list_unknown::Asked;
use crate::{encoding::Json, failure::Failure, notice::Origin};

/// Under this name what became of a claim is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "claim";

/// Claims it for a while, taking it over from whoever is on it; or gives the claim back.
#[server(prefix = "/fn", endpoint = "claim", output = Json)]
pub(crate) async fn claim(
    operation: OperationId,
    give_back: bool,
    origin: Origin,
    #[server(default)] place: Asked,
) -> Result<(), Failure> {
    use crate::notice::ClaimNotice;

    let visit = crate::context::Visit::current()?;
    let result = put(&visit, operation, give_back).await;
    crate::reply::answer(&visit, result, |result| {
        let notice = match result {
            Ok(()) => ClaimNotice::Done,
            Err(failure) => ClaimNotice::Refused(operation, failure.clone()),
        };
        let page = match origin {
            Origin::Operation => format!("/operations/{operation}#decide"),
            Origin::Queue => place.address(&operation.to_string()),
        };
        (NOTICE, notice, page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn put(visit: &crate::context::Visit, operation: OperationId, give_back: bool) -> Result<(), Failure> {
    let person = visit.person()?;
    if give_back {
        visit.guard.release_claim(person, operation).await?;
    } else {
        visit.guard.claim(person, operation).await?;
    }
    Ok(())
}
