//! What stands around every page: where one can go, who one is, what waits.

use guard::summary::BADGE_COUNTED_MAX;
use leptos::{html::Details, prelude::*};
use leptos_router::{
    components::{A, Outlet},
    hooks::{use_location, use_query_map},
};

use super::{
    awaited::Part,
    fresh::look_again,
    icon::{Icon, Picture},
    keys::KeyList,
    live::{Live, LiveSwitch},
    plain::Plain,
    theme::ThemeSwitch,
    zone::{Zone, ZoneChoice},
};
use crate::functions::read_frame::{Surroundings, read_frame};

/// Told by pages whose act changed what waits.
#[derive(Clone, Copy)]
pub(crate) struct Stirred(RwSignal<u32>);

impl Stirred {
    /// Something that waits has changed.
    pub(crate) fn stir(self) {
        self.0.update(|times| *times += 1);
    }
}

/// The frame around the pages for those who are signed in.
#[component]
pub(crate) fn Frame() -> impl IntoView {
    view! {
        <Around>
            <Outlet />
        </Around>
    }
    .into_any()
}

/// The frame around whatever stands in it.
#[component]
pub(crate) fn Around(children: Children) -> impl IntoView {
    let stirred = Stirred(RwSignal::new(0));
    provide_context(stirred);
    let path = use_location().pathname;
    let live = Live::listen(path);
    provide_context(live);
    Zone::provide(use_query_map());
    let surroundings = Resource::new(move || (path.get(), stirred.0.get()), |_| read_frame());
    look_again(move || surroundings.refetch());
    let waits = move |number: fn(&Surroundings) -> u32| {
        move || {
            Suspend::new(async move {
                surroundings.await.ok().map(|surroundings| view! { <Waits number=number(&surroundings) /> }).into_any()
            })
        }
    };
    let waiting = waits(|surroundings| surroundings.uncertain);
    let conflicting = waits(|surroundings| surroundings.open_conflicts);
    let proposed = waits(|surroundings| surroundings.proposals);
    let ruled = waits(|surroundings| surroundings.rules);
    let in_all = waits(|surroundings| {
        let Surroundings { uncertain, open_conflicts, proposals, rules, .. } = *surroundings;
        [uncertain, open_conflicts, proposals, rules].into_iter().fold(0, u32::saturating_add)
    });
    let menu = NodeRef::<Details>::new();
    Effect::new(move || {
        // Whoever has gone somewhere wants to see it.
        path.track();
        let menu: Option<web_sys::HtmlElement> = menu.get().map(Into::into);
        // Only an element that is gone could refuse it.
        let _ = menu.map(|menu| menu.remove_attribute("open"));
    });
    let person = move || {
        Suspend::new(async move {
            surroundings.await.ok().map(|surroundings| view! { <Who surroundings live /> }).into_any()
        })
    };

    view! {
        <a class="skip" rel="external" href="#main">
            "Skip to the page"
        </a>
        <div class="frame">
            <header class="rail">
                <a class="brand" href="/">
                    <Mark />
                    "Onceover"
                </a>
                <details class="menu" node_ref=menu>
                    <summary>
                        "Menu"
                        <Part part=in_all />
                    </summary>
                </details>
                <nav aria-label="Desk">
                    <ul>
                        <li>
                            <A href="/" exact=true attr:data-go="h">
                                <Icon picture=Picture::Tiles />
                                "Overview"
                            </A>
                        </li>
                        <li>
                            <A href="/operations" attr:data-go="o">
                                <Icon picture=Picture::Lines />
                                "Operations"
                            </A>
                        </li>
                        <li>
                            <A href="/unknown" attr:data-go="u">
                                <Icon picture=Picture::Question />
                                "Unknown"
                                <Part part=waiting />
                            </A>
                        </li>
                        <li>
                            <A href="/conflicts" attr:data-go="c">
                                <Icon picture=Picture::Unequal />
                                "Conflicts"
                                <Part part=conflicting />
                            </A>
                        </li>
                        <li>
                            <A href="/amendments" attr:data-go="a">
                                <Icon picture=Picture::Sheets />
                                "Amendments"
                                <Part part=proposed />
                            </A>
                        </li>
                        <li>
                            <A href="/reconciliation" attr:data-go="r">
                                <Icon picture=Picture::Scales />
                                "Reconciliation"
                            </A>
                        </li>
                        <li>
                            <A href="/metrics-board" attr:data-go="m">
                                <Icon picture=Picture::Columns />
                                "Metrics"
                            </A>
                        </li>
                        <li>
                            <A href="/activity" attr:data-go="y">
                                <Icon picture=Picture::Clock />
                                "Activity"
                            </A>
                        </li>
                        <li>
                            <A href="/developers" attr:data-go="d">
                                <Icon picture=Picture::Angles />
                                "Developers"
                            </A>
                        </li>
                        <li>
                            <A href="/settings/rules">
                                <Icon picture=Picture::Sheets />
                                "Rules"
                                <Part part=ruled />
                            </A>
                        </li>
                        <li>
                            <A href="/settings" exact=true attr:data-go="s">
                                <Icon picture=Picture::Sliders />
                                "Settings"
                            </A>
                        </li>
                    </ul>
                </nav>
                <Part part=person />
            </header>
            <main id="main" tabindex="-1">
                {children()}
            </main>
        </div>
    }
    .into_any()
}

/// The mark of Onceover: once around, and checked.
#[component]
pub(crate) fn Mark() -> impl IntoView {
    view! {
        <svg class="mark" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <path d="M27 13.5A11.5 11.5 0 1 0 27.5 17" />
            <path d="m11 16 4 4L27 8" />
        </svg>
    }
    .into_any()
}

#[component]
fn Waits(number: u32) -> impl IntoView {
    let is_any = number > 0;
    let number = match number {
        BADGE_COUNTED_MAX.. => format!("{}+", BADGE_COUNTED_MAX - 1),
        fewer => fewer.to_string(),
    };
    is_any.then(|| {
        view! {
            <span class="waits">
                {number}
                <span class="hidden">" waiting"</span>
            </span>
        }
    })
}

#[component]
fn Who(surroundings: Surroundings, live: Live) -> impl IntoView {
    let person = surroundings.person;
    let reach = match &person.reach.companies {
        None => "all companies".to_owned(),
        Some(companies) => companies.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    view! {
        <div class="who">
            <p class="who-email">
                <Plain text=person.email />
            </p>
            <p class="who-role">
                {person.role.as_str()}
                " · "
                <Plain text=reach />
            </p>
            <ThemeSwitch />
            <ZoneChoice zone=surroundings.zone />
            <div class="aids">
                <LiveSwitch live />
                <KeyList />
            </div>
            <form method="post" action="/logout">
                <button type="submit" class="sign-out">
                    <Icon picture=Picture::Door />
                    "Sign out"
                </button>
            </form>
        </div>
    }
    .into_any()
}
