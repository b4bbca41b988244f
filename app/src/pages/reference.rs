//! `/developers/reference`: the API, described by its own code, without anything from elsewhere.

use leptos::prelude::*;

use crate::{
    components::{
        awaited::{Body, part_of},
        heading::Heading,
    },
    functions::read_reference::read_reference,
};

/// The reference.
#[component]
pub(crate) fn ReferencePage() -> impl IntoView {
    let reference = Resource::new(|| (), |()| read_reference());
    let page =
        part_of(reference, move |reference| view! { <div class="reference" inner_html=reference></div> }.into_any());
    view! {
        <Heading title="API reference">"API reference"</Heading>
        <p class="lead">
            <a href="/developers">"Calls of your tokens"</a>
            " · "
            <a rel="external" href="/api/v1/openapi.json">"openapi.json"</a>
            " (OpenAPI 3.1)"
        </p>
        <Body body=page />
    }
    .into_any()
}
