//! A person says that a run shall begin.

use guard::{id::RunId, lists::Run};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Begins the run, for one reason that stands for all of it.
#[server(prefix = "/fn", endpoint = "confirm_run", output = Json)]
pub(crate) async fn confirm_run(run: RunId, #[server(default)] reason: String) -> Result<Run, Failure> {
    use super::read_run::NOTICE;

    let visit = crate::context::Visit::current()?;
    let result = confirm(&visit, run, &reason).await;
    let page = format!("/runs/{run}");
    crate::reply::answer(&visit, result, |result| (NOTICE, result.clone().err(), page)).await
}

#[cfg(feature = "ssr")]
async fn confirm(visit: &crate::context::Visit, run: RunId, reason: &str) -> Result<Run, Failure> {
    Ok(visit.guard.confirm_run(visit.person()?, run, reason).await?)
}
