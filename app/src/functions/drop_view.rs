//! A person forgets a view.

use guard::{id::ViewId, lists::ListPage};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Forgets the view.
#[server(prefix = "/fn", endpoint = "drop_view", output = Json)]
pub(crate) async fn drop_view(page: ListPage, view: ViewId) -> Result<(), Failure> {
    use super::read_views::{NOTICE, address};

    let visit = crate::context::Visit::current()?;
    let result = forget(&visit, view).await;
    crate::reply::answer(&visit, result, |result| (NOTICE, result.clone().err(), address(page, ""))).await
}

#[cfg(feature = "ssr")]
async fn forget(visit: &crate::context::Visit, view: ViewId) -> Result<(), Failure> {
    Ok(visit.guard.drop_view(visit.person()?, view).await?)
}
