//! `/operations`: the table. Its address is its whole state.

use guard::{lists::ListPage, queue::PAGE_ROWS_DEFAULT, view::OperationView};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        act_on_all::ActOnAll,
        age::Moment,
        awaited::{Body, Part, part_of},
        badge::Badge,
        fresh::{Freshness, News, is_in_use, look_again},
        heading::Heading,
        icon::{Icon, Picture},
        money::Amount,
        plain::Plain,
        search::SearchForm,
        table::{Column, Table, numbers, words},
        views::ViewBar,
    },
    functions::{
        list_operations::{OperationList, Search, list_operations},
        list_workflows::list_workflows,
    },
    wording,
};

/// The table with its filters.
#[component]
pub(crate) fn OperationsPage() -> impl IntoView {
    let query = use_query_map();
    let search = Memo::new(move |_| query.with(Search::of));
    let list = Resource::new(move || search.get(), list_operations);
    let workflows = Resource::new(|| (), |()| list_workflows());
    let seen = RwSignal::new(None);
    look_again(move || {
        let asked = search.get_untracked();
        leptos::task::spawn_local(async move {
            let Ok(later) = list_operations(asked.clone()).await else { return };
            // Another page may have been asked for meanwhile, or left.
            if search.try_get_untracked() != Some(asked) {
                return;
            }
            list.maybe_update(|list| {
                let stays = match list {
                    Some(Ok(shown)) => !News::between(&shown.page.rows, &later.page).moves() && !is_in_use(),
                    Some(Err(_)) => true,
                    None => false,
                };
                if stays {
                    *list = Some(Ok(later));
                } else {
                    seen.set(Some((later.as_of, later.page)));
                }
                stays
            });
        });
    });
    let show = Callback::new(move |()| list.refetch());
    let as_of = move || {
        Suspend::new(async move {
            let list = list.await.ok();
            list.map(|list| view! { <Freshness as_of=list.as_of shown=list.page.rows seen show /> }).into_any()
        })
    };
    let form = move || {
        Suspend::new(async move {
            let workflows = workflows.await.unwrap_or_default();
            view! { <SearchForm search workflows /> }.into_any()
        })
    };
    let table = part_of(list, move |list| view! { <Shown list search=search.get_untracked() /> }.into_any());
    view! {
        <div class="page-head">
            <Heading title="Operations">"Operations"</Heading>
            <Part part=as_of />
        </div>
        <ViewBar page=ListPage::Operations query=Signal::derive(move || search.with(Search::query)) />
        <Part part=form />
        <Body body=table />
    }
    .into_any()
}

#[component]
fn Shown(list: OperationList, search: Search) -> impl IntoView {
    let OperationList { page, why_not_act, .. } = list;
    let is_later = !search.cursor.is_empty();
    // A page that is short and has a next one was left where its bound was reached.
    let is_cut = page.next.is_some() && page.rows.len() < PAGE_ROWS_DEFAULT as usize;
    let looked_until = page.next.as_ref().filter(|_| is_cut).and_then(|next| {
        let (milliseconds, _) = next.read()?;
        chrono::DateTime::from_timestamp_millis(milliseconds)
    });
    if page.rows.is_empty() && looked_until.is_none() {
        let empty = if search.limits() {
            view! {
                <p class="empty" role="status">
                    "No operation is like that. Texts are compared letter by letter; "
                    <a href="/operations">"clear the filters"</a>
                    " to see all."
                </p>
            }
            .into_any()
        } else {
            view! {
                <p class="empty" role="status">
                    "No operation was begun yet. "
                    <a href="/">"The overview says how"</a>
                    "."
                </p>
            }
            .into_any()
        };
        return empty;
    }
    let shown = wording::counted(page.rows.len() as u64, "operation", "operations");
    let is_oldest_first = search.is_oldest_first();
    let (first_word, next_word, order_word, sorted, turn_word) = if is_oldest_first {
        (
            "Back to the oldest",
            "Newer operations",
            "the oldest first",
            "ascending",
            "Begun, oldest first; show the newest first",
        )
    } else {
        (
            "Back to the newest",
            "Older operations",
            "the newest first",
            "descending",
            "Begun, newest first; show the oldest first",
        )
    };
    let turned = search.turned().address("");
    let next_word = if is_cut { "Look further" } else { next_word };
    let first = is_later.then(|| search.address(""));
    let next = page.next.as_ref().map(|cursor| search.address(cursor.as_str()));
    let cut = looked_until.map(|until| {
        let word =
            if is_oldest_first { "So far up to operations begun at " } else { "So far back to operations begun at " };
        view! {
            <p class="looked" role="status">
                {word}
                <Moment at=until />
                " was looked. "
                {wording::rare("operations")}
            </p>
        }
    });
    let rows = page.rows.into_iter().map(|operation| view! { <Row operation /> });
    let begun = view! {
        <a class="sort" href=turned>
            "Begun"
            <span aria-hidden="true">{if is_oldest_first { " ↑" } else { " ↓" }}</span>
            <span class="hidden">{turn_word}</span>
        </a>
    };
    view! {
        <p class="hidden" role="status">
            {format!("{shown} shown")}
        </p>
        {cut}
        <Table
            region="Operations"
            caption=format!("Operations, {order_word}")
            class="operations"
            columns=[
                words("State"),
                words("Operation"),
                words("Company"),
                numbers("Amount"),
                numbers("Attempts"),
                numbers("Asked again"),
                Column::of(begun).sorted(sorted),
                words("Updated"),
            ]
            rows=rows.collect_view()
        />
        <nav class="pages" aria-label="Pages">
            <p>{shown}", "{order_word}</p>
            {first.map(|address| view! { <a class="button is-quiet" href=address>{first_word}</a> })}
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>{next_word}</a> })}
        </nav>
        {search.limits().then(|| view! { <ActOnAll page=ListPage::Operations query=search.query() why_not=why_not_act /> })}
    }
    .into_any()
}

#[component]
fn Row(operation: OperationView) -> impl IntoView {
    let conflicts = operation.open_conflicts;
    let key = operation.key;
    view! {
        <tr>
            <td data-label="State">
                <Badge state=operation.state.name() />
                {(conflicts > 0)
                    .then(|| {
                        view! {
                            " "
                            <span class="badge is-conflict">
                                <Icon picture=Picture::Unequal />
                                {wording::counted(conflicts.into(), "conflict", "conflicts")}
                            </span>
                        }
                    })}
            </td>
            <th scope="row" data-label="Operation">
                <a class="row-link" href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence />
                </a>
                <p class="row-key">
                    <Plain text=key.workflow.as_str() />
                    " · "
                    <Plain text=key.source_system.as_str() />
                    " · "
                    <Plain text=key.document.as_str() />
                    {(key.revision > 1).then(|| format!(" · revision {}", key.revision))}
                    {operation.worker.map(|worker| view! { " · " <Plain text=worker /> })}
                </p>
            </th>
            <td data-label="Company">
                <Plain text=key.company.as_str() />
            </td>
            <td class="number" data-label="Amount">
                <Amount money=operation.money />
            </td>
            <td class="number" data-label="Attempts">
                {operation.attempt}
            </td>
            <td class="number" data-label="Asked again">
                {wording::number(operation.duplicates_prevented)}
            </td>
            <td data-label="Begun">
                <Moment at=operation.created_at />
            </td>
            <td data-label="Updated">
                <Moment at=operation.updated_at />
            </td>
        </tr>
    }
    .into_any()
}
