//! `/operations/{id}/compare?left=…&right=…`: two payloads of one document, by address.

use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    components::{
        age::AsOf,
        awaited::{Body, page_of},
        diff::{Diff, DiffQuery},
        heading::Heading,
        plain::Plain,
    },
    functions::compare_versions::{Choice, Compared, compare_versions},
};

/// The comparison.
#[component]
pub(crate) fn ComparePage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let id = params.with(|params| params.get("id").unwrap_or_default());
        let (left, right, shown) = query.with(|query| {
            let text = |name: &str| query.get(name).unwrap_or_default();
            (text("left"), text("right"), DiffQuery::of(query))
        });
        (id, left, right, shown)
    });
    let compared =
        Resource::new(move || asked.get(), |(id, left, right, shown)| compare_versions(id, left, right, shown));
    let page = page_of(compared, move |compared| view! { <Shown compared /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(compared: Compared) -> impl IntoView {
    let Compared { as_of, operation, choices, left, right, diffed } = compared;
    let address = format!("/operations/{}", operation.id);
    let action = format!("{address}/compare");
    let swapped = format!("{action}?left={right}&right={left}");
    view! {
        <div class="page-head">
            <Heading title="Compare payloads">"Compare payloads"</Heading>
            <AsOf at=as_of />
        </div>
        <p>
            <a href=address>
                <Plain text=operation.sentence />
            </a>
        </p>
        <form class="compare" method="get" action=action aria-label="Choose two payloads">
            <Chosen name="left" label="Left" choices=choices.clone() chosen=left />
            <Chosen name="right" label="Right" choices chosen=right />
            <p class="actions">
                <button type="submit">"Compare"</button>
                <a class="button is-quiet" href=swapped>"Swap"</a>
            </p>
        </form>
        <Diff diffed />
    }
    .into_any()
}

#[component]
fn Chosen(name: &'static str, label: &'static str, choices: Vec<Choice>, chosen: String) -> impl IntoView {
    let id = format!("compare-{name}");
    let options = choices.into_iter().map(|Choice { version, label }| {
        let is_chosen = version == chosen;
        view! { <option value=version selected=is_chosen>{label}</option> }
    });
    let options = options.collect_view();
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <select id=id name=name>{options}</select>
        </div>
    }
    .into_any()
}
