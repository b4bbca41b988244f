//! `/metrics-board`: what the guard was good for, drawn on the server; the address is the whole state of the page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::{
    components::{
        awaited::{Body, part_of},
        heading::Heading,
    },
    functions::read_board::read_board,
};

/// The metrics.
#[component]
pub(crate) fn BoardPage() -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| search.with(|search| search.trim_start_matches('?').to_owned()));
    let board = Resource::new(move || query.get(), read_board);
    let page = part_of(board, move |board| view! { <div class="board" inner_html=board></div> }.into_any());
    view! {
        <Heading title="Metrics">"Metrics"</Heading>
        <Body body=page />
    }
    .into_any()
}
