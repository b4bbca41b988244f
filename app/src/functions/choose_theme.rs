//! The look that a person chose for this browser.

use leptos::prelude::*;

use crate::{components::theme::Theme, encoding::Json, failure::Failure};

/// Keeps the choice in a cookie and shows the page again.
#[server(prefix = "/fn", endpoint = "choose_theme", output = Json)]
pub(crate) async fn choose_theme(theme: Theme) -> Result<(), Failure> {
    crate::context::Visit::current()?.person()?;
    if let Some(answer) = use_context::<leptos_axum::ResponseOptions>()
        && let Ok(cookie) = http::HeaderValue::try_from(theme.cookie())
    {
        answer.append_header(http::header::SET_COOKIE, cookie);
    }
    crate::reply::go_back();
    Ok(())
}
