//! A person asks what a run over everything that a filter says would act on.

use guard::{
    id::RunId,
    lists::{ListPage, RunAction},
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Asks the filter now, and keeps what it says; the preview is the run's page.
#[server(prefix = "/fn", endpoint = "propose_run", output = Json)]
pub(crate) async fn propose_run(
    page: ListPage,
    action: RunAction,
    #[server(default)] query: String,
) -> Result<RunId, Failure> {
    use super::{read_run::NOTICE, read_views::address};

    let visit = crate::context::Visit::current()?;
    let result = propose(&visit, page, action, &query).await;
    crate::reply::answer(&visit, result, |result| match result {
        Ok(run) => (NOTICE, None, format!("/runs/{run}")),
        Err(failure) => (NOTICE, Some(failure.clone()), address(page, &query)),
    })
    .await
}

#[cfg(feature = "ssr")]
async fn propose(
    visit: &crate::context::Visit,
    page: ListPage,
    action: RunAction,
    query: &str,
) -> Result<RunId, Failure> {
    let (guard, person) = (&visit.guard, visit.person()?);
    let run = match page {
        ListPage::Operations => {
            guard.propose_run(person, action, page, query, &super::list_operations::asked_for(query)?.0).await?
        }
        ListPage::Unknown => {
            let (filter, ..) = super::list_unknown::asked_for(query)?;
            guard.propose_run_over_queue(person, action, query, &filter).await?
        }
    };
    Ok(run.id)
}
