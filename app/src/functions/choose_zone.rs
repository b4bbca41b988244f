//! The time zone that a person chose for this browser.

use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Keeps the choice in a cookie and shows the page again.
#[server(prefix = "/fn", endpoint = "choose_zone", output = Json)]
pub(crate) async fn choose_zone(zone: String) -> Result<(), Failure> {
    use guard::refusal::Refusal;

    crate::context::Visit::current()?.person()?;
    let cookie = crate::components::zone::cookie(zone.trim());
    let cookie = cookie.and_then(|cookie| http::HeaderValue::try_from(cookie).ok());
    let cookie = cookie.ok_or_else(|| {
        Refusal::field("zone", "is no time zone; write UTC, browser, or a name such as Europe/Berlin")
    })?;
    if let Some(answer) = use_context::<leptos_axum::ResponseOptions>() {
        answer.append_header(http::header::SET_COOKIE, cookie);
    }
    crate::reply::go_back();
    Ok(())
}
