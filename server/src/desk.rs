//! Mounts the pages of the desk.

mod evidence;
pub mod pack;
mod reconciliation;

use app::{App, shell};
use axum::{
    Extension, Router,
    extract::Request,
    http::{
        HeaderValue, Uri,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY},
    },
    middleware::map_request,
    routing::get,
};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::{LeptosRoutes, ResponseOptions, generate_route_list, render_app_async_with_context};

use crate::{
    export::{self, Exports},
    session::provide_visit,
    site,
};

/// The desk's pages, rendered on the server.
pub fn routes() -> Router {
    let options = LeptosOptions::builder().output_name("onceover").build();
    let files = site::files();

    let document = {
        let options = options.clone();
        move || shell(options.clone(), files.clone())
    };

    Router::new()
        .leptos_routes_with_context(&options, generate_route_list(App), prepare, document.clone())
        .route("/export/{list}", get(export::export))
        .layer(Extension(Exports::default()))
        // What no server function takes or gives: files.
        .merge(evidence::routes())
        .merge(reconciliation::routes())
        // Where there is no page, the desk says so.
        .fallback(render_app_async_with_context(prepare, document))
        .with_state(options)
        .layer(map_request(forget_told_errors))
}

/// Leptos reads from a page's address what a form is said to have been answered, and shows it: any link could put words into the
/// desk's mouth. Our forms tell through the session (`app::context::Flash`), so that nothing of it is needed.
async fn forget_told_errors(mut request: Request) -> Request {
    const TOLD: [&str; 2] = ["__path", "__err"];
    let uri = request.uri();
    let Some(query) = uri.query() else { return request };
    let is_told = |pair: &&str| url::form_urlencoded::parse(pair.as_bytes()).any(|(name, _)| TOLD.contains(&&*name));
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_told(pair)).collect();
    if let Ok(forgotten) = format!("{}?{}", uri.path(), kept.join("&")).parse::<Uri>() {
        *request.uri_mut() = forgotten;
    }
    request
}

/// Prepares each page and each server function: who visits, and the headers of the answer.
fn prepare() {
    provide_visit();
    protect_page();
}

/// Gives the page in hand its headers: it is kept nowhere, and runs no script, style or frame but its own.
///
/// The nonce is the one that Leptos made for this answer and puts on its inline scripts.
fn protect_page() {
    let Some((answer, nonce)) = use_context::<ResponseOptions>().zip(use_nonce()) else {
        return;
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        answer.insert_header(CONTENT_SECURITY_POLICY, policy);
    }
    answer.insert_header(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}
