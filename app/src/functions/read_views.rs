//! The views that a person has kept of a page.

use guard::lists::{ListPage, SavedView};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Under this name why a view was not kept is told on the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "view";

/// Every view of the page, and why the last one was not kept.
#[server(prefix = "/fn", endpoint = "read_views", input = Json, output = Json)]
pub(crate) async fn read_views(page: ListPage) -> Result<(Vec<SavedView>, Option<Failure>), Failure> {
    let visit = crate::context::Visit::current()?;
    let views = visit.guard.views(visit.person()?, page).await?;
    let refused: Option<Option<Failure>> = crate::reply::take_notice(&visit, NOTICE).await;
    Ok((views, refused.flatten()))
}

/// The address of a page with a query.
#[cfg(feature = "ssr")]
pub(crate) fn address(page: ListPage, query: &str) -> String {
    match query {
        "" => format!("/{}", page.as_str()),
        query => format!("/{}?{query}", page.as_str()),
    }
}
