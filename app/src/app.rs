//! The URL space of the desk.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::{
    ParamSegment, SsrMode, StaticSegment,
    components::{ParentRoute, Route, Router, Routes},
};

use crate::{
    components::{frame::Frame, heading::LastPath},
    pages::{self, missing::MissingPage},
};

/// The whole desk: one route for each page, each rendered completely before it is sent, so that nothing stays hidden
/// until a script runs.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_context(LastPath::new());

    view! {
        <Title formatter=|title: String| format!("{title} · Onceover") />
        <Router>
            <Routes fallback=MissingPage>
                <Route path=StaticSegment("login") view=pages::login() ssr=SsrMode::Async />
                <Route path=StaticSegment("welcome") view=pages::welcome() ssr=SsrMode::Async />
                <ParentRoute path=StaticSegment("") view=Frame ssr=SsrMode::Async>
                    <Route path=StaticSegment("") view=pages::overview() ssr=SsrMode::Async />
                    <Route path=StaticSegment("operations") view=pages::operations() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id")) view=pages::operation() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id"), StaticSegment("compare")) view=pages::compare() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id"), StaticSegment("amend")) view=pages::proposal() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id"), StaticSegment("reverse")) view=pages::reversal() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id"), StaticSegment("content")) view=pages::content() ssr=SsrMode::Async />
                    <Route path=StaticSegment("amendments") view=pages::amendments() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("amendments"), ParamSegment("id")) view=pages::amendment() ssr=SsrMode::Async />
                    <Route path=StaticSegment("conflicts") view=pages::conflicts() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("conflicts"), ParamSegment("id")) view=pages::conflict() ssr=SsrMode::Async />
                    <Route path=StaticSegment("unknown") view=pages::unknown() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("runs"), ParamSegment("id")) view=pages::run() ssr=SsrMode::Async />
                    <Route path=StaticSegment("reconciliation") view=pages::reconciliations() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("reconciliation"), ParamSegment("id")) view=pages::reconciliation() ssr=SsrMode::Async />
                    <Route path=StaticSegment("metrics-board") view=pages::board() ssr=SsrMode::Async />
                    <Route path=StaticSegment("activity") view=pages::activity() ssr=SsrMode::Async />
                    <Route path=StaticSegment("developers") view=pages::calls() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("developers"), StaticSegment("calls"), ParamSegment("id")) view=pages::call() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("developers"), StaticSegment("reference")) view=pages::reference() ssr=SsrMode::Async />
                    <Route path=StaticSegment("settings") view=pages::settings() ssr=SsrMode::Async />
                    <Route path=StaticSegment("periods") view=pages::periods() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("periods"), ParamSegment("id")) view=pages::period() ssr=SsrMode::Async />
                    <Route path=(StaticSegment("settings"), StaticSegment("rules")) view=pages::rules() ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}
