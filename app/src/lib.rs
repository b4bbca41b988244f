//! The review desk: pages, components and server functions.
//!
//! Compiled twice: with `ssr` into the server, which renders every page, and with `hydrate` for the browser, which adds
//! inline results and navigation without reloading. Every page works without the second half.

// The type of a page nests as deep as its elements do; the default of 128 is reached.
#![recursion_limit = "512"]

mod app;
#[cfg(feature = "ssr")]
mod board;
#[cfg(feature = "ssr")]
mod comparison;
mod components;
#[cfg(feature = "ssr")]
pub mod context;
mod encoding;
#[cfg(feature = "ssr")]
pub mod evidence;
pub mod failure;
mod functions;
mod look_alike;
mod notice;
#[cfg(feature = "ssr")]
pub mod pack;
mod pages;
#[cfg(feature = "ssr")]
pub mod reconciliation;
#[cfg(feature = "ssr")]
mod reply;
#[cfg(feature = "ssr")]
mod shell;
#[cfg(feature = "ssr")]
mod sides;
mod wording;

pub use app::App;
#[cfg(feature = "ssr")]
pub use board::{AskedOfBoard, board_asked_for};
#[cfg(feature = "ssr")]
pub use functions::list_activity::asked_for as activity_asked_for;
#[cfg(feature = "ssr")]
pub use functions::list_unknown::asked_for as asked_of_queue;
#[cfg(feature = "ssr")]
pub use functions::{
    list_amendments::amendments_asked_for, list_conflicts::conflicts_asked_for, list_operations::asked_for,
};
#[cfg(feature = "ssr")]
pub use shell::{SiteFiles, shell};

/// Takes over the page that the server rendered; called by the script in its head.
///
/// `data-hydrated` on the document tells the style what works from here on.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub async fn hydrate() {
    use leptos::{mount::hydrate_from_async, prelude::document, tachys::dom::body};

    console_error_panic_hook::set_once();
    // The part of the page in hand is loaded first.
    hydrate_from_async(body(), App).await.forget();
    let root = document().document_element();
    // Only an element that is gone could refuse the attribute.
    let _ = root.map(|root| root.set_attribute("data-hydrated", "true"));
}
