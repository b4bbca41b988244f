//! A person keeps what a page's address asks for, under a name.

use guard::lists::ListPage;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Keeps the view; one of the same name is replaced.
#[server(prefix = "/fn", endpoint = "save_view", output = Json)]
pub(crate) async fn save_view(page: ListPage, name: String, #[server(default)] query: String) -> Result<(), Failure> {
    use super::read_views::{NOTICE, address};

    let visit = crate::context::Visit::current()?;
    let result = keep(&visit, page, &name, &query).await;
    crate::reply::answer(&visit, result, |result| (NOTICE, result.clone().err(), address(page, &query))).await
}

#[cfg(feature = "ssr")]
async fn keep(visit: &crate::context::Visit, page: ListPage, name: &str, query: &str) -> Result<(), Failure> {
    visit.guard.save_view(visit.person()?, page, name, query).await?;
    Ok(())
}
