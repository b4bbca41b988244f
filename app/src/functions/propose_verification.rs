//! A person asks what verifying an incident together would act on.

use guard::id::{OperationId, RunId};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Keeps the incident as it is now as a run; the preview is the run's page. It is known by one of its operations.
#[server(prefix = "/fn", endpoint = "propose_verification", output = Json)]
pub(crate) async fn propose_verification(operation: OperationId) -> Result<RunId, Failure> {
    use super::read_run::NOTICE;

    let visit = crate::context::Visit::current()?;
    let result = propose(&visit, operation).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(run) => (NOTICE, None, format!("/runs/{run}")),
        Err(failure) => (NOTICE, Some(failure.clone()), "/unknown".to_owned()),
    })
    .await
}

#[cfg(feature = "ssr")]
async fn propose(visit: &crate::context::Visit, operation: OperationId) -> Result<RunId, Failure> {
    Ok(visit.guard.propose_verification(visit.person()?, operation).await?.id)
}
