//! The URL space of the desk.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::{
    ParamSegment, SsrMode, StaticSegment,
    components::{ParentRoute, Route, Router, Routes},
};

use crate::{
    components::{frame::Frame, heading::LastPath},
    pages::{
        compare::ComparePage, login::LoginPage, missing::MissingPage, operation::OperationPage,
        operations::OperationsPage, overview::OverviewPage, settings::SettingsPage, unknown::UnknownPage,
        welcome::WelcomePage,
    },
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
                <Route path=StaticSegment("login") view=LoginPage ssr=SsrMode::Async />
                <Route path=StaticSegment("welcome") view=WelcomePage ssr=SsrMode::Async />
                <ParentRoute path=StaticSegment("") view=Frame ssr=SsrMode::Async>
                    <Route path=StaticSegment("") view=OverviewPage ssr=SsrMode::Async />
                    <Route path=StaticSegment("operations") view=OperationsPage ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id")) view=OperationPage ssr=SsrMode::Async />
                    <Route path=(StaticSegment("operations"), ParamSegment("id"), StaticSegment("compare")) view=ComparePage ssr=SsrMode::Async />
                    <Route path=StaticSegment("unknown") view=UnknownPage ssr=SsrMode::Async />
                    <Route path=StaticSegment("settings") view=SettingsPage ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}
