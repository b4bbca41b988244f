//! Values to take along.

use leptos::prelude::*;

use super::{
    icon::{Icon, Picture},
    plain::Plain,
};

/// How long a button says that it has copied, in milliseconds.
#[cfg(feature = "hydrate")]
const COPIED_MS: u64 = 2_000;

/// A value in full, to be selected at once or copied. The button appears once it works.
#[component]
pub(crate) fn Copyable(
    #[prop(into)] value: String,
    /// What the value is, for whoever does not see where the button stands.
    what: &'static str,
) -> impl IntoView {
    view! {
        <span class="copyable">
            <code>
                <Plain text=value.clone() />
            </code>
            <CopyButton value what />
        </span>
    }
    .into_any()
}

/// Several lines to take along: a command, a file.
#[component]
pub(crate) fn Snippet(#[prop(into)] text: String, what: &'static str) -> impl IntoView {
    view! {
        <div class="snippet">
            <pre tabindex="0" role="region" aria-label=what>
                <code>{text.clone()}</code>
            </pre>
            <CopyButton value=text what />
        </div>
    }
    .into_any()
}

#[component]
fn CopyButton(value: String, what: &'static str) -> impl IntoView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        #[cfg(feature = "hydrate")]
        {
            // Without a secure context there is no clipboard; the value can still be selected.
            let _ = window().navigator().clipboard().write_text(&value);
            copied.set(true);
            set_timeout(move || copied.set(false), std::time::Duration::from_millis(COPIED_MS));
        }
        #[cfg(not(feature = "hydrate"))]
        let _ = &value;
    };
    view! {
        <button type="button" class="copy" on:click=copy>
            <Icon picture=Picture::Sheets />
            <span role="status">{move || if copied.get() { "Copied" } else { "Copy" }}</span>
            <span class="hidden">" the "{what}</span>
        </button>
    }
    .into_any()
}
