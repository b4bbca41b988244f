//! A person opens what a workflow marks as sensitive.

use guard::id::OperationId;
use leptos::prelude::*;

use super::list_unknown::Asked;
use crate::{encoding::Json, failure::Failure, notice::Origin};

/// Opens the masked fields of an operation for whoever asks, for a while; the trail tells so.
#[server(prefix = "/fn", endpoint = "open_fields", output = Json)]
pub(crate) async fn open_fields(
    operation: OperationId,
    #[server(default)] origin: Origin,
    #[server(default)] place: Asked,
) -> Result<(), Failure> {
    let visit = crate::context::Visit::current()?;
    let result = open(&visit, operation).await;
    let page = match origin {
        Origin::Operation => format!("/operations/{operation}#payload"),
        Origin::Queue => place.address(&operation.to_string()),
    };
    crate::reply::answer(&visit, result, |_| ("opened", (), page)).await
}

#[cfg(feature = "ssr")]
async fn open(visit: &crate::context::Visit, operation: OperationId) -> Result<(), Failure> {
    Ok(visit.guard.open_fields(visit.person()?, operation).await?)
}
