//! `/`: the day.

use leptos::prelude::*;
use leptos_meta::Title;

/// What the team needs to see first.
#[component]
pub(crate) fn DayPage() -> impl IntoView {
    let presses = RwSignal::new(0_u32);

    view! {
        <Title text="The day" />
        <main>
            <h1>"The day"</h1>
            <button type="button" on:click=move |_| presses.update(|presses| *presses += 1)>
                "Pressed " {presses} " times"
            </button>
        </main>
    }
    .into_any()
}
