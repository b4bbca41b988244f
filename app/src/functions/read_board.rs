//! The metrics, as the server writes them for an address of their page.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Reads them, as HTML; `query` is the query of the page's address.
#[server(prefix = "/fn", endpoint = "read_board", input = Json, output = Json)]
pub(crate) async fn read_board(query: String) -> Result<String, Failure> {
    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let asked = crate::board::board_asked_for(&query, guard.now())?;
    let board = guard.board(&person.reach, asked.question).await?;
    let catalogue = guard.catalogue();
    let known = catalogue.workflows.iter().filter(|(name, _)| person.reach.workflow(name));
    let workflows = known.map(|(name, known)| (name.clone(), known.workflow.title().to_owned())).collect();
    Ok(crate::board::html(&crate::board::Page { board: &board, days: asked.days, workflows }))
}
