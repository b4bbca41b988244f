//! `/developers`: what automations asked through the API, and what they were answered.

use guard::{call::StatusClass, decision::DecisionName};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        fresh::{is_in_use, look_often},
        heading::Heading,
        plain::Plain,
        table::{Table, numbers, words},
    },
    functions::{
        list_calls::{CallList, CallRow, CallSearch, list_calls},
        list_operations::field_moment,
    },
    wording,
};

/// The calls, the latest first.
#[component]
pub(crate) fn CallsPage() -> impl IntoView {
    let query = use_query_map();
    let search = Memo::new(move |_| query.with(CallSearch::of));
    let list = Resource::new(move || search.get(), list_calls);
    // Calls that change nothing are told by nobody.
    look_often(move || {
        if search.with_untracked(|search| search.cursor.is_empty()) && !is_in_use() {
            list.refetch();
        }
    });
    let page = page_of(list, move |list| view! { <Shown list search=search.get_untracked() /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(list: CallList, search: CallSearch) -> impl IntoView {
    let CallList { as_of, page, tokens, days } = list;
    let first = (!search.cursor.is_empty()).then(|| search.address(""));
    let next = page.next.as_ref().map(|cursor| search.address(cursor.as_str()));
    let shown = match (page.rows.len(), next.is_some()) {
        (0, true) => "Nothing of the kind in the calls that were looked through; there are more behind".to_owned(),
        (rows, _) => format!("{}, the latest first", wording::counted(rows as u64, "call", "calls")),
    };
    let limits = search.limits();
    let table = if page.rows.is_empty() {
        let told = match (days, limits) {
            (0, _) => "The log of calls is turned off (call_days = 0).".to_owned(),
            (_, true) => "No call is like that.".to_owned(),
            (days, false) => format!(
                "No automation has asked anything in the last {}. What one asks appears here a second later.",
                wording::counted(days.into(), "day", "days")
            ),
        };
        view! { <p class="empty" role="status">{told}</p> }.into_any()
    } else {
        let rows = page.rows.into_iter().map(|call| row(call, &search)).collect_view();
        view! {
            <Table
                region="Calls"
                caption="Calls of the API, the latest first"
                class="calls"
                columns=[words("When"), words("Call"), words("Answer"), words("Token"), numbers("Took"), words("Request id")]
                rows
            />
        }
        .into_any()
    };
    view! {
        <div class="page-head">
            <Heading title="Developers">"Developers"</Heading>
            <AsOf at=as_of />
        </div>
        <p class="lead">
            "What your automations asked, and what they were answered. "
            <a href="/developers/reference">"API reference"</a>
            " · "
            <a rel="external" href="/api/v1/openapi.json">"openapi.json"</a>
        </p>
        <Filters search tokens />
        {table}
        <nav class="pages" aria-label="Pages">
            <p>{shown}</p>
            {first.map(|address| view! { <a class="button is-quiet" href=address>"Back to the latest"</a> })}
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>"Earlier"</a> })}
        </nav>
    }
    .into_any()
}

#[component]
fn Filters(search: CallSearch, tokens: Vec<String>) -> impl IntoView {
    let limits = search.limits();
    let option = |value: String, told: String, chosen: &str| {
        let selected = value == chosen;
        view! { <option value=value selected=selected>{told}</option> }
    };
    let tokens = tokens.into_iter().map(|name| option(name.clone(), name, &search.token)).collect_view();
    let decisions = DecisionName::ALL.map(|decision| {
        let name = decision.as_str().to_owned();
        option(name.clone(), name.replace('_', " "), &search.decision)
    });
    let classes = StatusClass::ALL.map(|class| {
        let told = match class {
            StatusClass::Successful => "2xx: it went well",
            StatusClass::Redirection => "3xx: redirected",
            StatusClass::ClientError => "4xx: refused",
            StatusClass::ServerError => "5xx: something failed",
        };
        option(class.as_str().to_owned(), told.to_owned(), &search.status)
    });
    view! {
        <form class="search" role="search" aria-label="Filter the calls" method="get" action="/developers" autocomplete="off">
            <div class="fields">
                <Choice name="token" label="Token" every="Every token">{tokens}</Choice>
                <Choice name="decision" label="Decision" every="Every decision">{decisions.into_iter().collect_view()}</Choice>
                <Choice name="status" label="Status" every="Every status">{classes.into_iter().collect_view()}</Choice>
                <Field name="problem" label="Problem code" value=search.problem />
                <Field name="from" label="From (UTC)" kind="datetime-local" value=field_moment(&search.from) />
                <Field name="to" label="Before (UTC)" kind="datetime-local" value=field_moment(&search.to) />
            </div>
            <p class="actions">
                <button type="submit">"Filter"</button>
                {limits.then(|| view! { <a class="button is-quiet" href="/developers">"Clear"</a> })}
            </p>
        </form>
    }
    .into_any()
}

#[component]
fn Choice(name: &'static str, label: &'static str, every: &'static str, children: Children) -> impl IntoView {
    let id = format!("calls-{name}");
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <select id=id name=name>
                <option value="">{every}</option>
                {children()}
            </select>
        </div>
    }
    .into_any()
}

#[component]
fn Field(
    name: &'static str,
    label: &'static str,
    value: String,
    #[prop(default = "text")] kind: &'static str,
) -> impl IntoView {
    let id = format!("calls-{name}");
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input id=id name=name type=kind value=value maxlength="80" autocomplete="off" spellcheck="false" />
        </div>
    }
    .into_any()
}

fn row(call: CallRow, search: &CallSearch) -> AnyView {
    let answer = answer(&call);
    let of_token = CallSearch { token: call.token.clone(), cursor: String::new(), ..search.clone() }.address("");
    view! {
        <tr>
            <td data-label="When"><Moment at=call.at /></td>
            <th scope="row" data-label="Call">
                <a class="row-link" href=format!("/developers/calls/{}", call.id)>{call.call}</a>
                <div class="row-key"><Plain text=call.about /></div>
            </th>
            <td data-label="Answer">{answer}</td>
            <td data-label="Token"><a href=of_token><Plain text=call.token /></a></td>
            <td class="number" data-label="Took">{call.taken}</td>
            <td data-label="Request id"><code class="request-id">{call.request_id}</code></td>
        </tr>
    }
    .into_any()
}

/// The status of an answer, and the word that says why.
pub(crate) fn answer(call: &CallRow) -> AnyView {
    let tone = match call.status {
        200..300 => "status is-confirmed",
        500.. => "status is-conflict",
        _ => "status is-unknown",
    };
    let word = call.decision.clone().or_else(|| call.problem.clone()).unwrap_or_default();
    view! {
        <span class=tone>{call.status}</span>
        " "
        <code>{word}</code>
    }
    .into_any()
}
