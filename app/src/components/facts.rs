//! Facts: a name, and what is known under it. They stand in a `dl` of the class `facts`.

use leptos::prelude::*;

use super::plain::Plain;

/// A fact that is shown in a way of its own.
#[component]
pub(crate) fn Fact(name: &'static str, children: Children) -> impl IntoView {
    view! {
        <div>
            <dt>{name}</dt>
            <dd>{children()}</dd>
        </div>
    }
    .into_any()
}

/// A fact that is a text.
#[component]
pub(crate) fn Told(name: &'static str, text: String) -> impl IntoView {
    view! {
        <Fact name>
            <Plain text />
        </Fact>
    }
    .into_any()
}

/// A value of a payload, under its place.
#[cfg(feature = "ssr")]
#[component]
pub(crate) fn Valued(place: String, value: String) -> impl IntoView {
    view! {
        <div>
            <dt>
                <code>
                    <Plain text=place />
                </code>
            </dt>
            <dd class="value">
                <Plain text=value />
            </dd>
        </div>
    }
    .into_any()
}
