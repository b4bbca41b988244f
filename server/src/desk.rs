//! Mounts the pages of the desk.

use app::{App, shell};
use axum::{
    Router,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY},
    },
};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::{LeptosRoutes, ResponseOptions, generate_route_list, render_app_async_with_context};

use crate::{session::provide_visit, site};

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
        // Where there is no page, the desk says so.
        .fallback(render_app_async_with_context(prepare, document))
        .with_state(options)
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
