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
    use guard::{queue::Filter, state::StateName};

    let filter = match page {
        ListPage::Operations => super::list_operations::asked_for(query)?.0,
        ListPage::Unknown => {
            let states = match action {
                RunAction::LookUp | RunAction::Verify => vec![StateName::Unknown],
                RunAction::Claim => vec![StateName::Unknown, StateName::Disputed],
            };
            Filter { states, ..Filter::default() }
        }
    };
    Ok(visit.guard.propose_run(visit.person()?, action, page, query, &filter).await?.id)
}
