//! How a form is answered: a browser without script is sent to a page that tells the effect, a script reads the result.

use http::{
    Uri,
    header::{ACCEPT, COOKIE, REFERER},
    request::Parts,
};
use leptos::prelude::use_context;
use serde::{Serialize, de::DeserializeOwned};

use crate::{context::Visit, failure::Failure};

/// Answers a form. Where a browser sent it by itself, the notice is kept for the page that it is sent to.
pub(crate) async fn answer<T, N: Serialize>(
    visit: &Visit,
    result: Result<T, Failure>,
    notice: impl FnOnce(&Result<T, Failure>) -> (&'static str, N, String),
) -> Result<T, Failure> {
    if !is_sent_by_browser() {
        return result;
    }
    if matches!(result, Err(Failure::SignedOut)) {
        leptos_axum::redirect("/login");
        return result;
    }
    let (name, notice, page) = notice(&result);
    if let Ok(text) = serde_json::to_string(&notice) {
        visit.flash.put(name, text).await;
    }
    leptos_axum::redirect(&page);
    result
}

/// Sends whoever posted a form back to the page that it stood on; to the overview where that is not told.
pub(crate) fn go_back() {
    let parts = use_context::<Parts>();
    let referer = parts.and_then(|parts| parts.headers.get(REFERER)?.to_str().ok()?.parse::<Uri>().ok());
    // Two slashes would lead to another host.
    let page =
        referer.as_ref().and_then(Uri::path_and_query).map(|page| page.as_str()).filter(|page| !page.starts_with("//"));
    leptos_axum::redirect(page.unwrap_or("/"));
}

/// What the request in hand brings under this name of a cookie.
pub(crate) fn cookie(name: &str) -> Option<String> {
    let parts = use_context::<Parts>()?;
    let headers = parts.headers.get_all(COOKIE).iter();
    let mut pairs = headers.filter_map(|header| header.to_str().ok()).flat_map(|header| header.split(';'));
    pairs.find_map(|pair| {
        pair.trim().split_once('=').filter(|(held, _)| *held == name).map(|(_, value)| value.to_owned())
    })
}

/// The notice that was kept for this page.
pub(crate) async fn take_notice<N: DeserializeOwned>(visit: &Visit, name: &str) -> Option<N> {
    // A notice of an older version of the desk is lost; what it told of is in the trail.
    serde_json::from_str(&visit.flash.take(name).await?).ok()
}

fn is_sent_by_browser() -> bool {
    let accepts = |parts: &Parts| {
        parts.headers.get(ACCEPT).is_some_and(|value| value.to_str().is_ok_and(|value| value.contains("text/html")))
    };
    use_context::<Parts>().is_some_and(|parts| accepts(&parts))
}
