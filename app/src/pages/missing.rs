//! Where there is no page.

use leptos::prelude::*;

use crate::components::{frame::Around, heading::Heading};

/// No such page. Strangers are sent to sign in before it is known what there is.
#[component]
pub(crate) fn MissingPage() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(answer) = use_context::<leptos_axum::ResponseOptions>() {
        answer.set_status(http::StatusCode::NOT_FOUND);
    }
    view! {
        <Around>
            <section class="fault">
            <p class="fault-code" aria-hidden="true">
                "404"
            </p>
            <Heading title="Not found">"There is no such page"</Heading>
            <p>"The address may be mistyped, or the page has gone."</p>
            <p class="actions">
                <a class="button is-quiet" rel="external" href="/">
                    "To the overview"
                </a>
                <a class="button is-quiet" rel="external" href="/operations">
                    "To the operations"
                </a>
            </p>
        </section>
        </Around>
    }
    .into_any()
}
