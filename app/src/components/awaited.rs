//! What waits for the server's answer.
//!
//! One type for all of it: each further type of view brought the browser its own copy of the code that waits and takes over.

use leptos::{children::ViewFn, prelude::*};

use super::fault::Fault;
use crate::failure::Failure;

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

/// What a page shows of what it waits for; where that failed, the page says why.
pub(crate) fn page_of<T: Clone + Send + Sync + 'static>(
    awaited: Resource<Result<T, Failure>>,
    shown: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static,
) -> ViewFn {
    told(awaited, shown, |failure| view! { <Fault failure /> }.into_any())
}

/// What a part of a page shows of what it waits for; where that failed, the part says why.
pub(crate) fn part_of<T: Clone + Send + Sync + 'static>(
    awaited: Resource<Result<T, Failure>>,
    shown: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static,
) -> ViewFn {
    told(awaited, shown, |failure| view! { <Fault failure is_part=true /> }.into_any())
}

fn told<T: Clone + Send + Sync + 'static>(
    awaited: Resource<Result<T, Failure>>,
    shown: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static,
    failed: fn(Failure) -> AnyView,
) -> ViewFn {
    ViewFn::from(move || {
        let shown = shown.clone();
        Suspend::new(async move {
            match awaited.await {
                Ok(there) => shown(there),
                Err(failure) => failed(failure),
            }
        })
    })
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
