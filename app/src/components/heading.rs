//! The heading of a page, which is also its place for the focus and its title.

use leptos::{html::H1, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use wasm_bindgen::JsCast as _;

/// The path whose heading was shown last, so that only a navigation moves the focus, not the first page.
#[derive(Clone, Copy)]
pub(crate) struct LastPath(StoredValue<Option<String>>);

impl LastPath {
    /// Nothing was shown yet.
    pub(crate) fn new() -> Self {
        Self(StoredValue::new(None))
    }
}

/// Sets the focus on an element that is made, but may not stand on the page before the next frame. One that is gone by then has
/// nothing to focus.
pub(crate) fn focus_soon(element: web_sys::HtmlElement) {
    request_animation_frame(move || {
        let _ = element.focus();
    });
}

/// Brings an element to the top of the window, and the focus into it; as [`focus_soon`], in the next frame.
pub(crate) fn bring_soon(element: web_sys::HtmlElement) {
    request_animation_frame(move || bring(&element));
}

fn bring(element: &web_sys::HtmlElement) {
    element.scroll_into_view();
    let options = web_sys::FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}

/// The heading. After a navigation the focus is set on it, which also reads it out; an address that names a place of the page
/// leads there instead.
#[component]
pub(crate) fn Heading(
    /// The title of the document.
    #[prop(into)]
    title: String,
    children: Children,
) -> impl IntoView {
    let heading = NodeRef::<H1>::new();
    let location = use_location();
    let (path, hash) = (location.pathname, location.hash);
    let last = use_context::<LastPath>();
    Effect::new(move || {
        let Some((heading, LastPath(last))) = heading.get().zip(last) else { return };
        let path = path.get_untracked();
        if last.get_value().is_some_and(|last| last != path) {
            let hash = hash.get_untracked();
            request_animation_frame(move || {
                let place = document().get_element_by_id(hash.trim_start_matches('#'));
                match place.and_then(|place| place.dyn_into::<web_sys::HtmlElement>().ok()) {
                    Some(place) => bring(&place),
                    None => drop(heading.focus()),
                }
            });
        }
        last.set_value(Some(path));
    });
    view! {
        <Title text=title />
        <h1 tabindex="-1" node_ref=heading>
            {children()}
        </h1>
    }
    .into_any()
}
