//! `/activity`: who did what, and how far the trail is known to be whole.

use guard::{activity::TrailState, clock::Timestamp, trail::EntryKind};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{Age, AsOf, Moment},
        awaited::{Body, page_of},
        heading::Heading,
        icon::{Icon, Picture},
        plain::Plain,
        table::{Table, words},
    },
    functions::{
        list_activity::{ActivityList, ActivitySearch, Deed, list_activity},
        list_operations::field_moment,
    },
    wording,
};

/// What people did, the latest first.
#[component]
pub(crate) fn ActivityPage() -> impl IntoView {
    let query = use_query_map();
    let search = Memo::new(move |_| query.with(ActivitySearch::of));
    let list = Resource::new(move || search.get(), list_activity);
    let page = page_of(list, move |list| view! { <Shown list search=search.get_untracked() /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(list: ActivityList, search: ActivitySearch) -> impl IntoView {
    let ActivityList { as_of, page, trail } = list;
    let is_later = !search.cursor.is_empty();
    let first = is_later.then(|| search.address("/activity", ""));
    let next = page.next.as_ref().map(|cursor| search.address("/activity", cursor.as_str()));
    let exports = ["csv", "json"].map(|format| {
        let address = search.address(&format!("/export/activity?format={format}"), "");
        view! { <a class="button is-quiet" rel="external" download href=address>{format.to_uppercase()}</a> }
    });
    let shown = match (page.rows.len(), next.is_some()) {
        (0, true) => "Nothing of the kind in what was looked through; there is more behind".to_owned(),
        (rows, _) => format!("{}, the latest first", wording::counted(rows as u64, "entry", "entries")),
    };
    let limits = search.limits();
    let table = if page.rows.is_empty() {
        let told = if next.is_some() {
            "So far nobody did anything like that. Look further back with \u{201c}Earlier\u{201d}."
        } else if limits {
            "Nobody did anything like that. Addresses and ids are compared letter by letter."
        } else {
            "Nobody has done anything yet that the trail would tell of."
        };
        view! { <p class="empty" role="status">{told}</p> }.into_any()
    } else {
        view! { <Deeds deeds=page.rows /> }.into_any()
    };
    view! {
        <div class="page-head">
            <Heading title="Activity">"Activity"</Heading>
            <AsOf at=as_of />
        </div>
        <Trail trail as_of />
        <Filters search />
        {table}
        <nav class="pages" aria-label="Pages">
            <p>{shown}</p>
            {first.map(|address| view! { <a class="button is-quiet" href=address>"Back to the latest"</a> })}
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>"Earlier"</a> })}
            <p class="actions">"Take out as " {exports.into_iter().collect_view()}</p>
        </nav>
    }
    .into_any()
}

#[component]
fn Trail(trail: TrailState, as_of: Timestamp) -> impl IntoView {
    let sealed = match trail.seal {
        Some(seal) => view! {
            <p>
                "Sealed up to " <Moment at=seal.until /> " by seal " {wording::number(seal.number)} ", "
                <code class="seal-hash">{seal.hash.to_string()}</code> "."
            </p>
        }
        .into_any(),
        None => view! { <p>"Nothing is sealed yet; every minute a seal is made of what has changed."</p> }.into_any(),
    };
    let (is_broken, checked) = match trail.check {
        Some(check) => match check.broken {
            None => (
                false,
                view! {
                    <p>
                        <Icon picture=Picture::Check />
                        " Verified " <Age since=check.at now=as_of /> " ago: whole, "
                        {wording::counted(check.entries, "entry", "entries")} "."
                    </p>
                }
                .into_any(),
            ),
            Some(broken) => (
                true,
                view! {
                    <p role="alert">
                        <Icon picture=Picture::Warning />
                        " Verified " <Age since=check.at now=as_of /> " ago: broken. " <Plain text=broken />
                    </p>
                }
                .into_any(),
            ),
        },
        None => (
            false,
            view! { <p>"Never verified. "<code>"onceover trail verify"</code>" walks every chain and every seal."</p> }
                .into_any(),
        ),
    };
    view! {
        <section class="panel trail" class:is-bad=is_broken aria-labelledby="trail-title">
            <h2 id="trail-title">"The trail"</h2>
            {checked}
            {sealed}
        </section>
    }
    .into_any()
}

#[component]
fn Filters(search: ActivitySearch) -> impl IntoView {
    let kinds = EntryKind::ALL.map(|kind| {
        let name = kind.as_str();
        view! { <option value=name selected={search.kind == name}>{name.replace('_', " ")}</option> }
    });
    let limits = search.limits();
    view! {
        <form class="search" role="search" aria-label="Filter the activity" method="get" action="/activity" autocomplete="off">
            <div class="fields">
                <Field name="person" label="Person" value=search.person />
                <div class="field">
                    <label for="activity-kind">"Kind"</label>
                    <select id="activity-kind" name="kind">
                        <option value="">"Every kind"</option>
                        {kinds.into_iter().collect_view()}
                    </select>
                </div>
                <Field name="operation" label="Operation's id" value=search.operation />
                <Field name="from" label="From (UTC)" kind="datetime-local" value=field_moment(&search.from) />
                <Field name="to" label="Before (UTC)" kind="datetime-local" value=field_moment(&search.to) />
            </div>
            <p class="actions">
                <button type="submit">"Filter"</button>
                {limits.then(|| view! { <a class="button is-quiet" href="/activity">"Clear"</a> })}
            </p>
        </form>
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
    let id = format!("activity-{name}");
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input id=id name=name type=kind value=value maxlength="254" autocomplete="off" spellcheck="false" />
        </div>
    }
    .into_any()
}

#[component]
fn Deeds(deeds: Vec<Deed>) -> impl IntoView {
    view! {
        <Table
            region="Activity"
            caption="What people did, the latest first"
            class="activity"
            columns=[words("When"), words("Who"), words("What"), words("Operation")]
            rows=deeds.into_iter().map(row).collect_view()
        />
    }
    .into_any()
}

fn row(deed: Deed) -> AnyView {
    let operation = match deed.operation {
        Some((id, sentence)) => {
            view! { <a class="row-link" href=format!("/operations/{id}")><Plain text=sentence /></a> }.into_any()
        }
        None => view! { <span class="none">"administration"</span> }.into_any(),
    };
    view! {
        <tr>
            <td data-label="When"><Moment at=deed.at /></td>
            <td data-label="Who"><Plain text=deed.who /></td>
            <th scope="row" data-label="What" title=deed.kind><Plain text=deed.what /></th>
            <td data-label="Operation">{operation}</td>
        </tr>
    }
    .into_any()
}
