//! One module for each page of the desk, and the parts in which the browser loads them.
//!
//! The browser's half comes in parts: the frame with what every page needs, and one part for each group of pages below, which is
//! loaded with the first of its pages. A new page is a line here and a route in `app.rs`; it costs the other parts nothing.

pub(crate) mod activity;
pub(crate) mod amendment;
pub(crate) mod amendments;
pub(crate) mod board;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod compare;
pub(crate) mod conflict;
pub(crate) mod conflicts;
pub(crate) mod content;
pub(crate) mod login;
pub(crate) mod missing;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod period;
pub(crate) mod periods;
pub(crate) mod proposal;
pub(crate) mod reconciliation;
pub(crate) mod reconciliations;
pub(crate) mod reference;
pub(crate) mod reversal;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod unknown;
pub(crate) mod welcome;

/// Makes, of each page, a function of the same name for its route. Pages of one part are loaded together; the name of the part
/// is that of its file.
macro_rules! parts {
    ($($part:ident { $($page:ident::$Page:ident),+ $(,)? })+) => {
        $($(
            /// What the route of this page shows, once its part is there.
            pub(crate) fn $page() -> leptos_router::Lazy<part_of::$page::Route> {
                leptos_router::Lazy::new()
            }
        )+)+

        mod part_of { $($(
            pub(crate) mod $page {
                use leptos::prelude::*;

                use crate::pages::$page::$Page;

                /// The route of the page.
                pub(crate) struct Route;

                impl leptos_router::LazyRoute for Route {
                    fn data() -> Self {
                        Self
                    }

                    #[cfg(feature = "hydrate")]
                    async fn view(_: Self) -> AnyView {
                        $page().await
                    }

                    #[cfg(feature = "hydrate")]
                    async fn preload() {
                        preload().await;
                    }

                    #[cfg(not(feature = "hydrate"))]
                    async fn view(_: Self) -> AnyView {
                        // The head of the page names the part, so that it is fetched together with the rest.
                        #[cfg(feature = "ssr")]
                        crate::shell::name_part(stringify!($part));
                        $page()
                    }
                }

                #[cfg_attr(
                    feature = "hydrate",
                    leptos::wasm_split::wasm_split($part, wasm_split_path = ::leptos::wasm_split, preload(preload))
                )]
                fn $page() -> AnyView {
                    view! { <$Page /> }.into_any()
                }
            }
        )+)+ }
    };
}

parts! {
    entrance { login::LoginPage, welcome::WelcomePage }
    overview { overview::OverviewPage }
    activity { activity::ActivityPage }
    metrics { board::BoardPage }
    lists { operations::OperationsPage, run::RunPage }
    operation { operation::OperationPage }
    content { content::ContentPage }
    compare { compare::ComparePage }
    queues { unknown::UnknownPage }
    amendments { amendments::AmendmentsPage, amendment::AmendmentPage, proposal::ProposalPage, reversal::ReversalPage }
    conflicts { conflicts::ConflictsPage, conflict::ConflictPage }
    settings { settings::SettingsPage }
    reconciliation { reconciliations::ReconciliationsPage, reconciliation::ReconciliationPage }
    developers { calls::CallsPage, call::CallPage, reference::ReferencePage }
    finance { period::PeriodPage, periods::PeriodsPage, rules::RulesPage }
}
