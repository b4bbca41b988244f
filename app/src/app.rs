//! The URL space of the desk.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::{
    SsrMode, StaticSegment,
    components::{Route, Router, Routes},
};

use crate::pages::day::DayPage;

/// The whole desk: one route for each page, each rendered completely before it is sent, so that nothing stays hidden
/// until a script runs.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();

    view! {
        <Title formatter=|title: String| format!("{title} · Onceover") />
        <Router>
            <Routes fallback=|| view! { <h1>"There is no such page"</h1> }.into_any()>
                <Route path=StaticSegment("") view=DayPage ssr=SsrMode::Async />
            </Routes>
        </Router>
    }
}
