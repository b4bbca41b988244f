//! A person says that a run shall begin.

use guard::{id::RunId, lists::Run};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Under this name what was written and why the run was not begun is told on the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "confirm_run";

/// Begins the run, for one reason that stands for all of it; `until` is a moment in UTC, for a run that keeps operations waiting.
#[server(prefix = "/fn", endpoint = "confirm_run", output = Json)]
pub(crate) async fn confirm_run(
    run: RunId,
    #[server(default)] reason: String,
    #[server(default)] until: String,
) -> Result<Run, Failure> {
    let visit = crate::context::Visit::current()?;
    let result = confirm(&visit, run, &reason, &until).await;
    let page = format!("/runs/{run}");
    crate::reply::answer(&visit, result, |result| {
        (NOTICE, result.clone().err().map(|failure| super::read_run::RunDraft { reason, until, failure }), page)
    })
    .await
}

#[cfg(feature = "ssr")]
async fn confirm(visit: &crate::context::Visit, run: RunId, reason: &str, until: &str) -> Result<Run, Failure> {
    let until = if until.is_empty() { None } else { Some(super::resolve::moment(until)?) };
    Ok(visit.guard.confirm_run(visit.person()?, run, reason, until).await?)
}
