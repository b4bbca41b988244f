//! `/reconciliation`: what was compared with the destinations, and the forms that pull records and hand them in.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        hand_in::HandIn,
        heading::Heading,
        plain::Plain,
        pull_now::PullNow,
        table::{Table, words},
    },
    functions::list_reconciliations::{ReconciliationList, RunLine, list_reconciliations},
    notice::reconciliation::{HandInDraft, HandInNotice},
    wording::{self, reconciliation::bucket_word},
};

/// What the address asks for: workflow, company, and where the page starts.
type Asked = (String, String, String);

/// The list.
#[component]
pub(crate) fn ReconciliationsPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let text = |name: &str| query.with(|query| query.get(name).unwrap_or_default());
        (text("workflow"), text("company"), text("before"))
    });
    let list = Resource::new(
        move || asked.get(),
        |(workflow, company, before)| list_reconciliations(workflow, company, before),
    );
    let page = page_of(list, move |list| view! { <Shown list asked=asked.get_untracked() /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(list: ReconciliationList, asked: Asked) -> impl IntoView {
    let ReconciliationList { as_of, person, runs, next, workflows, lists, key_fields, notice } = list;
    let (workflow, company, before) = asked;
    let known = [("workflow", workflow.clone()), ("company", company.clone())];
    let known = HandInDraft(known.map(|(name, text)| (name.to_owned(), text)).into());
    let (mut draft, mut refused, mut pull_draft, mut not_pulled) = (known.clone(), None, known, None);
    match notice {
        Some(HandInNotice::Refused { draft: written, sentence, faults }) => {
            (draft, refused) = (written, Some((sentence, faults)));
        }
        Some(HandInNotice::NotPulled { draft: written, sentence, faults }) => {
            (pull_draft, not_pulled) = (written, Some((sentence, faults)));
        }
        Some(HandInNotice::Done { .. }) | None => {}
    }
    let (puller, pullable) = (person.clone(), workflows.clone());
    let is_filtered = !workflow.is_empty() || !company.is_empty();
    let choices = workflows.iter().map(|(name, title)| {
        view! { <option value=name.clone() selected={*name == workflow}>{title.clone()}</option> }
    });
    let choices = choices.collect_view();
    let next = next.map(|before| {
        let pairs = [("workflow", workflow.as_str()), ("company", company.as_str()), ("before", before.as_str())];
        let query = serde_urlencoded::to_string(pairs).unwrap_or_default();
        view! { <a class="button is-quiet" rel="next" href=format!("/reconciliation?{query}")>"Older"</a> }
    });
    let body = if runs.is_empty() {
        let told = if is_filtered || !before.is_empty() {
            "No reconciliation is like that."
        } else {
            "Nothing was reconciled yet. Pull or hand in what the destination holds, and see each record beside the operation that made it: what is there twice, what is missing, and what came past Onceover."
        };
        view! { <p class="empty">{told}</p> }.into_any()
    } else {
        view! { <Runs runs /> }.into_any()
    };
    view! {
        <div class="page-head">
            <Heading title="Reconciliation">"Reconciliation"</Heading>
            <AsOf at=as_of />
        </div>
        <form class="search" role="search" aria-label="Filter reconciliations" method="get" action="/reconciliation">
            <div class="fields">
                <div class="field">
                    <label for="runs-workflow">"Workflow"</label>
                    <select id="runs-workflow" name="workflow">
                        <option value="">"Any"</option>
                        {choices}
                    </select>
                </div>
                <div class="field">
                    <label for="runs-company">"Company"</label>
                    <input id="runs-company" name="company" value=company autocomplete="off" maxlength="200" />
                </div>
            </div>
            <div class="search-end">
                <p class="actions">
                    <button type="submit">"Filter"</button>
                    {is_filtered.then(|| view! { <a class="button is-quiet" href="/reconciliation">"Clear"</a> })}
                </p>
            </div>
        </form>
        {body}
        <nav class="pages" aria-label="Pages">{next}</nav>
        <PullNow person=puller workflows=pullable lists draft=pull_draft refused=not_pulled />
        <HandIn person workflows key_fields draft refused />
    }
    .into_any()
}

#[component]
fn Runs(runs: Vec<RunLine>) -> impl IntoView {
    let rows = runs.into_iter().map(|run| view! { <Line run /> }).collect_view();
    view! {
        <Table
            region="Reconciliations"
            caption="Reconciliations, the newest first"
            columns=[
                words("Reconciliation"),
                words("Company"),
                words("Operations"),
                words("What it came to"),
                words("Started"),
            ]
            rows
        />
    }
    .into_any()
}

/// From when to when the operations were begun, as far as that is limited.
pub(super) fn span(scope: &guard::reconciliation::Scope) -> String {
    match (scope.from, scope.to) {
        (None, None) => "all".to_owned(),
        (Some(from), None) => format!("from {}", wording::moment(from)),
        (None, Some(to)) => format!("before {}", wording::moment(to)),
        (Some(from), Some(to)) => format!("from {} to {}", wording::moment(from), wording::moment(to)),
    }
}

#[component]
fn Line(run: RunLine) -> impl IntoView {
    let RunLine { id, scope, origin, by, started_at, is_done, counts } = run;
    let span = span(&scope);
    let counts = counts.into_iter().map(|(bucket, count)| {
        view! { <li class=format!("tally is-{}", bucket.as_str())>{wording::number(count)} " " {bucket_word(bucket).to_lowercase()}</li> }
    });
    let counts = counts.collect::<Vec<_>>();
    let told = match (is_done, counts.is_empty()) {
        (false, _) => {
            view! { <p class="none">"Under way, or broken off: the same records again take it up."</p> }.into_any()
        }
        (true, true) => view! { <p class="none">"Neither side holds anything."</p> }.into_any(),
        (true, false) => view! { <ul class="tallies">{counts}</ul> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row" data-label="Reconciliation">
                <a class="row-link" href=format!("/reconciliation/{id}")>
                    <Plain text=scope.workflow />
                </a>
                <p class="row-key">"with " {wording::reconciliation::origin(&origin)}</p>
            </th>
            <td data-label="Company">
                <Plain text=scope.company />
            </td>
            <td data-label="Operations">{span}</td>
            <td data-label="What it came to">{told}</td>
            <td data-label="Started">
                <p>
                    <Moment at=started_at />
                </p>
                <p class="row-key">
                    <Plain text=by />
                </p>
            </td>
        </tr>
    }
    .into_any()
}
