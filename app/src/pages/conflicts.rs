//! `/conflicts`: payloads that came under a key that has another one, in groups of what differs.

use guard::{
    clock::Timestamp,
    conflict::ConflictGroup,
    queue::PAGE_ROWS_DEFAULT,
    summary::{LISTED_COUNTED_MAX, Waiting},
};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{Age, AsOf, Moment},
        awaited::{Body, page_of},
        heading::Heading,
        money::Amount,
        plain::Plain,
        table::{Column, Table, numbers, words},
        views::Files,
    },
    functions::list_conflicts::{Block, ConflictQueue, ConflictRow, ConflictSearch, GROUPS_MAX, list_conflicts},
    wording,
};

/// The queue.
#[component]
pub(crate) fn ConflictsPage() -> impl IntoView {
    let query = use_query_map();
    let search = Memo::new(move |_| query.with(ConflictSearch::of));
    let queue = Resource::new(move || search.get(), list_conflicts);
    let page = page_of(queue, move |queue| view! { <Shown queue search=search.get_untracked() /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(queue: ConflictQueue, search: ConflictSearch) -> impl IntoView {
    let ConflictQueue { as_of, waiting, workflows, blocks, next } = queue;
    let is_empty = blocks.is_empty();
    let is_decided = search.state == "decided";
    let asked = search.query();
    let has_more_groups = blocks.len() >= GROUPS_MAX as usize;
    let shown: usize = blocks.iter().map(|block| block.rows.len()).sum();
    let is_cut = next.is_some() && shown < PAGE_ROWS_DEFAULT as usize;
    let next = next.map(|cursor| {
        let address = search.address("/conflicts");
        let mark = if address.contains('?') { '&' } else { '?' };
        format!("{address}{mark}cursor={cursor}")
    });
    let empty = match (search.limits(), is_decided) {
        _ if is_cut => "So far no conflict is like that.",
        (false, _) => {
            "No conflict is open. One comes here when the same key arrives with another payload: nothing of it is sent until a person has looked."
        }
        (true, false) => "No open conflict is like that.",
        (true, true) => "No decided conflict is like that.",
    };
    let blocks = blocks.into_iter().map(|block| view! { <BlockOf block search=search.clone() as_of /> }).collect_view();
    view! {
        <div class="page-head">
            <Heading title="Conflicts">"Conflicts"</Heading>
            <AsOf at=as_of />
        </div>
        <Sum waiting />
        <Filters search workflows />
        {is_cut.then(|| view! { <p class="looked" role="status">{wording::rare("conflicts")}</p> })}
        {is_empty.then(|| view! { <p class="empty">{empty}</p> })}
        {blocks}
        {has_more_groups.then(|| view! { <p class="note">"The largest groups are shown. Filter by workflow, company or place to see the others."</p> })}
        <nav class="pages" aria-label="Pages">
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>{if is_cut { "Look further" } else { "Next" }}</a> })}
        </nav>
        <Files list="conflicts" query=asked />
    }
    .into_any()
}

#[component]
fn Sum(waiting: Waiting) -> impl IntoView {
    let open = wording::counted_to(LISTED_COUNTED_MAX, waiting.open_conflicts, "conflict is", "conflicts are");
    view! {
        <div class="queue-sum">
            <p>{open} " open. Nothing of what came was sent."</p>
            <p>
                "Where the destination itself disagrees, the operation is disputed: it stands in "
                <a href="/unknown">"Unknown"</a> "."
            </p>
        </div>
    }
    .into_any()
}

#[component]
fn Filters(search: ConflictSearch, workflows: Vec<(String, String)>) -> impl IntoView {
    let chosen = search.workflow.clone();
    let options = workflows.into_iter().map(|(name, title)| {
        let is_chosen = name == chosen;
        view! { <option value=name selected=is_chosen>{title}</option> }
    });
    let is_decided = search.state == "decided";
    let limits = search.limits();
    view! {
        <form class="search" role="search" aria-label="Filter conflicts" method="get" action="/conflicts" autocomplete="off">
            <div class="fields">
                <div class="field">
                    <label for="conflicts-workflow">"Workflow"</label>
                    <select id="conflicts-workflow" name="workflow">
                        <option value="">"All workflows"</option>
                        {options.collect_view()}
                    </select>
                </div>
                <div class="field">
                    <label for="conflicts-company">"Company"</label>
                    <input id="conflicts-company" name="company" value=search.company maxlength="200" spellcheck="false" />
                </div>
                <div class="field">
                    <label for="conflicts-path">"Place"</label>
                    <input id="conflicts-path" name="path" value=search.path maxlength="2000" placeholder="/amount" spellcheck="false" />
                </div>
                <div class="field">
                    <label for="conflicts-state">"Standing"</label>
                    <select id="conflicts-state" name="state">
                        <option value="">"Open"</option>
                        <option value="decided" selected=is_decided>"Decided"</option>
                    </select>
                </div>
            </div>
            <div class="search-end">
                <p class="actions">
                    <button type="submit">"Filter"</button>
                    {limits.then(|| view! { <a class="button is-quiet" href="/conflicts">"Clear"</a> })}
                </p>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn BlockOf(block: Block, search: ConflictSearch, as_of: Timestamp) -> impl IntoView {
    let Block { group, rows } = block;
    let is_decided = search.state == "decided";
    // Within a group, what is before and behind is within it, too.
    let search = match &group {
        Some(group) => ConflictSearch { group: group.places.group.to_string(), ..search },
        None => search,
    };
    let shown = rows.len();
    let id = group.as_ref().map(|group| format!("group-{}", group.places.group));
    let (title, more) = match group {
        Some(group) => {
            let name = group_name(&group);
            let more = (group.is_cut || group.open as usize > shown).then(|| {
                let address = search.address("/conflicts");
                let number = (!group.is_cut).then(|| wording::number(group.open.into()));
                let text = number.map_or_else(|| "Show all".to_owned(), |number| format!("Show all {number}"));
                view! {
                    <p class="group-more">
                        <a class="button is-quiet is-small" href=address>
                            {text}
                            <span class="hidden">" of this group"</span>
                        </a>
                    </p>
                }
            });
            let heading = view! {
                <h2 class="group-title" id=id.clone()>
                    <Plain text=group.workflow.clone() />
                    ": "
                    <code><Plain text=name /></code>
                    " "
                    <span class="group-count">
                        {wording::counted_or_more(group.open.into(), group.is_cut, "conflict", "conflicts")}
                        ", oldest "
                        <Age since=group.oldest_at now=as_of />
                    </span>
                </h2>
            };
            (Some(heading), more)
        }
        None => (None, None),
    };
    let rows = rows.into_iter().map(|row| view! { <RowOf row search=search.clone() as_of /> }).collect_view();
    let label = if is_decided { "Decided conflicts" } else { "Open conflicts" };
    view! {
        <section class="conflict-block" aria-labelledby=id>
            {title}
            <Table
                region=label
                caption=label
                class="queue conflicts"
                columns=[
                    words("What differs"),
                    words("Operation"),
                    numbers("Money"),
                    words(if is_decided { "Decided" } else { "Age" }),
                    numbers("Came"),
                    Column::of(view! { <span class="hidden">"Decide"</span> }),
                ]
                rows
            />
            {more}
        </section>
    }
    .into_any()
}

/// The places of a group, the first few.
fn group_name(group: &ConflictGroup) -> String {
    const SHOWN: usize = 4;
    let shown = group.places.listed.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = group.places.total as usize - group.places.listed.len().min(SHOWN).min(group.places.total as usize);
    match (shown.is_empty(), more) {
        (true, _) => "places not recorded".to_owned(),
        (false, 0) => shown,
        (false, more) => format!("{shown} and {more} more"),
    }
}

#[component]
fn RowOf(row: ConflictRow, search: ConflictSearch, as_of: Timestamp) -> impl IntoView {
    let ConflictRow { id, operation, headline, more, opened_at, hits, decided } = row;
    let address = search.address(&format!("/conflicts/{id}"));
    let company = operation.key.company.as_str().to_owned();
    let (to_it, named, is_open) = (address.clone(), operation.sentence.clone(), decided.is_none());
    let more = (more > 0).then(|| format!(" and {} more", wording::number(more.into())));
    let moment = match decided {
        Some((how, by, at)) => view! {
            <p><Plain text=how /></p>
            <p class="row-key"><Plain text=by /> " · " <Moment at /></p>
        }
        .into_any(),
        None => view! { <Age since=opened_at now=as_of /> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row" data-label="What differs">
                <a class="row-link headline" href=address>
                    <Plain text=headline />
                    {more}
                </a>
            </th>
            <td data-label="Operation">
                <a class="sentence" href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence />
                </a>
                <p class="row-key"><Plain text=company /></p>
            </td>
            <td class="number" data-label="Money">
                <Amount money=operation.money />
            </td>
            <td data-label=if search.state == "decided" { "Decided" } else { "Age" }>{moment}</td>
            <td class="number" data-label="Came">{wording::counted(hits, "time", "times")}</td>
            <td data-label="Decide">
                <a class="button is-quiet is-small" href=to_it>
                    {if is_open { "Decide" } else { "See" }}
                    <span class="hidden">" "{named}</span>
                </a>
            </td>
        </tr>
    }
    .into_any()
}
