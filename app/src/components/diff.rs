//! Two payloads compared: the table of what differs, and behind it the whole of both.
//!
//! The server renders it ([`crate::comparison`]): thousands of rows are neither sent twice nor taken over one by one by the browser's
//! half, and what tells look-alike characters apart stays out of it. Every part of it is a link or a `<details>`.

use guard::id::OperationId;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;

use super::plain::Plain;

/// What the address of a page says about its comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct DiffQuery {
    /// The first row of the table, from 0.
    #[serde(default)]
    pub row: usize,
    /// The first line of the whole payloads, from 0; none where they are not opened.
    #[serde(default)]
    pub line: Option<usize>,
    /// Whether the whole payloads stand side by side.
    #[serde(default)]
    pub is_split: bool,
}

impl DiffQuery {
    /// Reads the address: `row`, `line`, `whole=split`. What is no number is taken as left out.
    pub(crate) fn of(query: &ParamsMap) -> Self {
        let number = |name: &str| query.get(name).and_then(|text| text.parse().ok());
        Self {
            row: number("row").unwrap_or(0),
            line: number("line"),
            is_split: query.get("whole").is_some_and(|whole| whole == "split"),
        }
    }
}

/// A comparison, rendered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Diffed {
    /// How many places differ and count.
    pub changes: usize,
    /// The table and the whole, as HTML that the server rendered.
    pub html: String,
}

/// Shows a comparison.
#[component]
pub(crate) fn Diff(diffed: Diffed) -> impl IntoView {
    view! { <div class="diff" inner_html=diffed.html></div> }.into_any()
}

/// Which places a comparison does not show, and where they are opened.
#[component]
pub(crate) fn Masked(places: Vec<String>, operation: OperationId) -> impl IntoView {
    (!places.is_empty()).then(|| {
        view! {
            <p class="note">
                "Masked as sensitive: " <Plain text=places.join(", ") /> ". "
                <a href=format!("/operations/{operation}")>"The operation"</a> " opens it."
            </p>
        }
    })
}
