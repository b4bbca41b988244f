//! What waits for the server's answer.
//!
//! One type for all of it: each further type of view brought the browser its own copy of the code that waits and takes over.

use leptos::{children::ViewFn, prelude::*};

/// What a page is about: until it is there, it says that it is loading; afterwards it stays until the next one has come.
#[component]
pub(crate) fn Body(
    /// What is shown; asked again when what it reads changes.
    #[prop(into)]
    body: ViewFn,
) -> impl IntoView {
    view! { <Transition fallback=|| view! { <p class="loading">"Loading…"</p> }>{move || body.run()}</Transition> }
        .into_any()
}

/// A small part of something that is there already: nothing until it comes.
#[component]
pub(crate) fn Part(
    /// What is shown; asked again when what it reads changes.
    #[prop(into)]
    part: ViewFn,
) -> impl IntoView {
    view! { <Transition>{move || part.run()}</Transition> }.into_any()
}
