//! `/amendments`: proposed changes of confirmed documents, those that wait for approval first.

use guard::{amendment::AmendmentStateName, queue::PAGE_ROWS_DEFAULT};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{AsOf, Moment},
        amendment::AmendmentBadge,
        awaited::{Body, page_of},
        fresh::{is_in_use, look_again},
        heading::Heading,
        money::Amount,
        plain::Plain,
        table::{Table, numbers, words},
        views::Files,
    },
    functions::list_amendments::{AmendmentList, AmendmentRow, EVERY_STATE, list_amendments},
    wording,
};

/// The list.
#[component]
pub(crate) fn AmendmentsPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let text = |name: &str| query.with(|query| query.get(name).unwrap_or_default());
        (text("state"), text("cursor"))
    });
    let list = Resource::new(move || asked.get(), |(state, cursor)| list_amendments(state, cursor));
    look_again(move || {
        if !is_in_use() {
            list.refetch();
        }
    });
    let page = page_of(list, move |list| view! { <Shown list state=asked.get_untracked().0 /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(list: AmendmentList, state: String) -> impl IntoView {
    let waiting = list.waiting_words();
    let AmendmentList { as_of, rows, next, .. } = list;
    let is_default = state.is_empty() || state == AmendmentStateName::AwaitingApproval.as_str();
    let is_cut = next.is_some() && rows.len() < PAGE_ROWS_DEFAULT as usize;
    let empty = if is_cut {
        "So far no amendment is like that."
    } else if is_default {
        "No amendment waits for approval. One comes here when somebody proposes a change of a confirmed document: nothing of it is sent until another person has approved it."
    } else {
        "No amendment is like that."
    };
    let is_empty = rows.is_empty();
    let asked = if state.is_empty() { String::new() } else { format!("state={state}") };
    let next = next.map(|cursor| {
        let query = serde_urlencoded::to_string([("state", state.as_str()), ("cursor", cursor.as_str())]);
        let address = format!("/amendments?{}", query.unwrap_or_default());
        view! { <a class="button is-quiet" rel="next" href=address>{if is_cut { "Look further" } else { "Next" }}</a> }
    });
    let choices = AmendmentStateName::ALL.map(|choice| {
        let name = if choice == AmendmentStateName::AwaitingApproval { "" } else { choice.as_str() };
        let is_chosen = state == choice.as_str() || (is_default && name.is_empty());
        view! { <option value=name selected=is_chosen>{wording::amendment::state_word(choice)}</option> }
    });
    let of_list = if state.is_empty() { String::new() } else { format!("?state={state}") };
    let rows = rows.into_iter().enumerate().map(|(at, row)| {
        let address = format!("/amendments/{}{of_list}", row.id);
        view! { <RowOf row address is_first=at == 0 /> }
    });
    let rows = rows.collect_view();
    view! {
        <div class="page-head">
            <Heading title="Amendments">"Amendments"</Heading>
            <AsOf at=as_of />
        </div>
        <div class="queue-sum">
            <p>{waiting} " for approval. Nothing of them is sent before that."</p>
        </div>
        <nav class="spans" aria-label="What amendments rest on">
            <ul>
                <li><a href="/settings/rules">"Rules"</a></li>
                <li><a href="/periods">"Periods"</a></li>
            </ul>
        </nav>
        <form class="search" role="search" aria-label="Filter amendments" method="get" action="/amendments">
            <div class="fields">
                <div class="field">
                    <label for="amendments-state">"Standing"</label>
                    <select id="amendments-state" name="state">
                        {choices.into_iter().collect_view()}
                        <option value=EVERY_STATE selected={state == EVERY_STATE}>"All"</option>
                    </select>
                </div>
            </div>
            <div class="search-end">
                <p class="actions">
                    <button type="submit">"Filter"</button>
                    {(!is_default).then(|| view! { <a class="button is-quiet" href="/amendments">"Clear"</a> })}
                </p>
            </div>
        </form>
        {is_cut.then(|| view! { <p class="looked" role="status">{wording::rare("amendments")}</p> })}
        {if is_empty {
            view! { <p class="empty">{empty}</p> }.into_any()
        } else {
            view! {
                <Table
                    region="Amendments"
                    caption="Amendments, the newest first"
                    class="queue"
                    columns=[
                        words("What changes"),
                        words("Operation"),
                        numbers("Money"),
                        words("Proposed"),
                        words("Approvals"),
                        words("Standing"),
                    ]
                    rows
                />
            }
            .into_any()
        }}
        <nav class="pages" aria-label="Pages">{next}</nav>
        {(!is_empty).then(|| view! { <Files list="amendments" query=asked /> })}
    }
    .into_any()
}

#[component]
fn RowOf(
    row: AmendmentRow,
    address: String,
    /// Whether it is the one that comes next for whoever has opened none.
    is_first: bool,
) -> impl IntoView {
    let AmendmentRow {
        operation, headline, more, proposed_by, proposed_at, approvals, approvals_needed, state, ..
    } = row;
    let more = (more > 0).then(|| format!(" and {} more", wording::number(more.into())));
    let company = operation.key.company.as_str().to_owned();
    view! {
        <tr>
            <th scope="row" data-label="What changes">
                <a class="row-link headline" data-key=is_first.then_some("]") href=address>
                    <Plain text=headline />
                    {more}
                </a>
            </th>
            <td data-label="Operation">
                <a href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence />
                </a>
                <p class="row-key"><Plain text=company /> " · revision " {operation.key.revision}</p>
            </td>
            <td class="number" data-label="Money">
                <Amount money=operation.money />
            </td>
            <td data-label="Proposed">
                <p><Plain text=proposed_by /></p>
                <p class="row-key"><Moment at=proposed_at /></p>
            </td>
            <td data-label="Approvals">{format!("{approvals} of {approvals_needed}")}</td>
            <td data-label="Standing">
                <AmendmentBadge state />
            </td>
        </tr>
    }
    .into_any()
}
