//! The card of the pages before sign-in.

use leptos::prelude::*;

use super::frame::Mark;

/// The card.
#[component]
pub(crate) fn Entrance(children: Children) -> impl IntoView {
    view! {
        <main id="main" class="entrance">
            <div class="entrance-card">
                <p class="brand">
                    <Mark />
                    "Onceover"
                </p>
                {children()}
            </div>
        </main>
    }
    .into_any()
}
