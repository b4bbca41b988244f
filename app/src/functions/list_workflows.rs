//! The names that a filter offers.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Every workflow that there is or was: name and title.
#[server(prefix = "/fn", endpoint = "list_workflows", input = Json, output = Json)]
pub(crate) async fn list_workflows() -> Result<Vec<(String, String)>, Failure> {
    let visit = crate::context::Visit::current()?;
    visit.person()?;
    visit.guard.refresh().await?;
    let catalogue = visit.guard.catalogue();
    let named = catalogue.workflows.iter().map(|(name, known)| (name.clone(), known.workflow.title().to_owned()));
    Ok(named.collect())
}
