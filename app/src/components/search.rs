//! The filters of the table: a form whose address is the whole state of the page.

use guard::state::StateName;
use leptos::prelude::*;

use crate::{
    functions::list_operations::{Search, field_moment},
    wording,
};

/// The filters. Without script it is an ordinary form; with script, the address leaves out what is empty.
#[component]
pub(crate) fn SearchForm(search: Memo<Search>, workflows: Vec<(String, String)>) -> impl IntoView {
    let chosen_workflow = move || search.with(|search| search.workflow.clone());
    let options = workflows.into_iter().map(|(name, title)| {
        let value = name.clone();
        view! {
            <option value=name selected=move || search.with(|search| search.workflow == value)>
                {title}
            </option>
        }
    });
    let states = StateName::ALL.map(|state| {
        let name = state.as_str();
        let is_chosen = move || search.with(|search| search.states.iter().any(|chosen| chosen == name));
        view! {
            <label class=format!("chip is-{name}")>
                <input type="checkbox" name="state" value=name checked=is_chosen prop:checked=is_chosen />
                <span>{wording::state_word(state)}</span>
            </label>
        }
    });
    let has_conflicts = move || search.with(|search| search.conflicts == "open");
    #[cfg(feature = "hydrate")]
    let submit = {
        let navigate = leptos_router::hooks::use_navigate();
        move |event: leptos::ev::SubmitEvent| {
            use wasm_bindgen::JsCast as _;
            let form = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlFormElement>().ok());
            let Some(written) = form.and_then(|form| web_sys::FormData::new_with_form(&form).ok()) else { return };
            event.prevent_default();
            let text = |name: &str| written.get(name).as_string().unwrap_or_default();
            let search = Search {
                workflow: text("workflow"),
                company: text("company"),
                source_system: text("source_system"),
                document: text("document"),
                action: text("action"),
                states: written.get_all("state").iter().filter_map(|state| state.as_string()).collect(),
                conflicts: text("conflicts"),
                from: text("from"),
                to: text("to"),
                q: text("q"),
                worker: text("worker"),
                amount_from: text("amount_from"),
                amount_to: text("amount_to"),
                order: text("order"),
                cursor: String::new(),
            };
            navigate(&search.address(""), leptos_router::NavigateOptions { scroll: false, ..Default::default() });
        }
    };
    #[cfg(not(feature = "hydrate"))]
    let submit = |_: leptos::ev::SubmitEvent| {};

    view! {
        // Without completion, so that the browser's way back does not put older choices over those of the address.
        <form
            class="search"
            role="search"
            aria-label="Filter operations"
            method="get"
            action="/operations"
            autocomplete="off"
            on:submit=submit
        >
            <div class="field find">
                <label for="search-q">"Find"</label>
                <input
                    id="search-q"
                    name="q"
                    type="search"
                    value=move || search.get().q
                    prop:value=move || search.get().q
                    placeholder="id, external reference, destination’s reference, document"
                    maxlength="2000"
                    autocomplete="off"
                    spellcheck="false"
                />
            </div>
            <div class="fields">
                <Field name="document" label="Document" value=Signal::derive(move || search.get().document) />
                <div class="field">
                    <label for="search-workflow">"Workflow"</label>
                    <select id="search-workflow" name="workflow" prop:value=chosen_workflow>
                        <option value="">"All workflows"</option>
                        {options.collect_view()}
                    </select>
                </div>
                <Field name="company" label="Company" value=Signal::derive(move || search.get().company) />
                <Field name="source_system" label="Source system" value=Signal::derive(move || search.get().source_system) />
                <Field name="action" label="Action" value=Signal::derive(move || search.get().action) />
                <Field name="from" label="Created from (UTC)" kind="datetime-local" value=Signal::derive(move || field_moment(&search.get().from)) />
                <Field name="to" label="Created before (UTC)" kind="datetime-local" value=Signal::derive(move || field_moment(&search.get().to)) />
                <Field name="worker" label="Worker" value=Signal::derive(move || search.get().worker) />
                <Field name="amount_from" label="Amount from" value=Signal::derive(move || search.get().amount_from) />
                <Field name="amount_to" label="Amount up to" value=Signal::derive(move || search.get().amount_to) />
                <div class="field">
                    <label for="search-order">"Order"</label>
                    <select id="search-order" name="order" prop:value=move || search.get().order>
                        <option value="" selected=move || !search.get().is_oldest_first()>"Newest first"</option>
                        <option value="oldest" selected=move || search.get().is_oldest_first()>"Oldest first"</option>
                    </select>
                </div>
            </div>
            <div class="search-end">
            <fieldset class="chips">
                <legend>"State"</legend>
                {states.into_iter().collect_view()}
                <label class="chip is-conflict">
                    <input type="checkbox" name="conflicts" value="open" checked=has_conflicts prop:checked=has_conflicts />
                    <span>"Open conflict"</span>
                </label>
            </fieldset>
            <p class="actions">
                <button type="submit">"Filter"</button>
                {move || search.get().limits().then(|| view! { <a class="button is-quiet" href="/operations">"Clear"</a> })}
            </p>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Field(
    name: &'static str,
    label: &'static str,
    value: Signal<String>,
    #[prop(default = "text")] kind: &'static str,
) -> impl IntoView {
    let id = format!("search-{name}");
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input
                id=id
                name=name
                type=kind
                value=move || value.get()
                prop:value=move || value.get()
                maxlength="200"
                autocomplete="off"
                spellcheck="false"
            />
        </div>
    }
    .into_any()
}
