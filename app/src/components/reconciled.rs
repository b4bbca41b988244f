//! What reconciliations say on the overview.

use guard::reconciliation::{Bucket, OpenDuplicates};
use leptos::prelude::*;

use super::{
    age::Moment,
    icon::{Icon, Picture},
    plain::Plain,
    table::{Table, words},
};
use crate::{
    functions::read_overview::{LastReconciled, PullLine},
    wording::{self, reconciliation::bucket_word},
};

/// What destinations hold more than once: a single one matters more than everything that was prevented.
#[component]
pub(crate) fn Duplicates(duplicates: Vec<OpenDuplicates>) -> impl IntoView {
    if duplicates.is_empty() {
        return ().into_any();
    }
    let lines = duplicates.into_iter().map(|open| {
        let OpenDuplicates { workflow, company, number, run } = open;
        let number = wording::counted(number, "operation of ", "operations of ");
        view! {
            <li>
                <a href=format!("/reconciliation/{run}?bucket=duplicated")>
                    {number}
                    <Plain text=workflow />
                    " in "
                    <Plain text=company />
                </a>
            </li>
        }
    });
    view! {
        <section class="banner is-refused" aria-labelledby="duplicates-title">
            <Icon picture=Picture::Warning />
            <div>
                <h2 id="duplicates-title">"A destination holds an effect more than once"</h2>
                <ul>{lines.collect_view()}</ul>
                <p>"Nobody has explained it yet. Look at both records, then decide the operation."</p>
            </div>
        </section>
    }
    .into_any()
}

/// The last reconciliation of each workflow and company; nothing where there was none.
#[component]
pub(crate) fn LastReconciliations(reconciled: Vec<LastReconciled>) -> impl IntoView {
    if reconciled.is_empty() {
        return ().into_any();
    }
    let rows = reconciled.into_iter().map(|last| {
        let LastReconciled { id, workflow, company, at, findings } = last;
        let told = view! { <Findings id=id.to_string() findings /> };
        view! {
            <tr>
                <th scope="row" data-label="Workflow">
                    <a class="row-link" href=format!("/reconciliation/{id}")>
                        <Plain text=workflow />
                    </a>
                </th>
                <td data-label="Company"><Plain text=company /></td>
                <td data-label="Over"><Moment at /></td>
                <td data-label="What it came to">{told}</td>
            </tr>
        }
    });
    view! {
        <section class="part" aria-labelledby="reconciled-title">
            <h2 id="reconciled-title">"Last reconciliations"</h2>
            <Table
                region="The last reconciliation of each workflow and company"
                caption="The last reconciliation of each workflow and company"
                columns=[words("Workflow"), words("Company"), words("Over"), words("What it came to")]
                rows=rows.collect_view()
            />
        </section>
    }
    .into_any()
}

/// What a reconciliation came to, in the buckets that somebody has to look at.
#[component]
fn Findings(id: String, findings: Vec<(Bucket, u64)>) -> impl IntoView {
    if findings.is_empty() {
        return view! { <p>"Both sides agree."</p> }.into_any();
    }
    let findings = findings.into_iter().map(|(bucket, count)| {
        let name = bucket.as_str();
        view! {
            <li class=format!("tally is-{name}")>
                <a href=format!("/reconciliation/{id}?bucket={name}")>
                    {wording::number(count)} " " {bucket_word(bucket).to_lowercase()}
                </a>
            </li>
        }
    });
    view! { <ul class="tallies">{findings.collect::<Vec<_>>()}</ul> }.into_any()
}

/// The pulls that are scheduled: when each last went well and what it came to, why it fails; nothing where none is.
#[component]
pub(crate) fn ScheduledPulls(pulls: Vec<PullLine>) -> impl IntoView {
    if pulls.is_empty() {
        return ().into_any();
    }
    let rows = pulls.into_iter().map(|pull| view! { <Pulled pull /> }).collect::<Vec<_>>();
    view! {
        <section class="part" aria-labelledby="pulls-title">
            <h2 id="pulls-title">"Scheduled pulls"</h2>
            <Table
                region="The scheduled pulls of each workflow and company"
                caption="The scheduled pulls of each workflow and company"
                columns=[
                    words("Workflow"),
                    words("Company"),
                    words("Last one that went well"),
                    words("What it came to"),
                    words("Next"),
                ]
                rows
            />
        </section>
    }
    .into_any()
}

#[component]
fn Pulled(pull: PullLine) -> impl IntoView {
    let PullLine { workflow, company, destination, succeeded, failed, due_at } = pull;
    let last = match &succeeded {
        Some((at, _)) => view! { <Moment at=*at /> }.into_any(),
        None => view! { <p class="none">"None yet"</p> }.into_any(),
    };
    let findings =
        succeeded.map(|(_, last)| view! { <Findings id=last.id.to_string() findings=last.findings /> }.into_any());
    let failed = failed.map(|(at, reason)| {
        view! {
            <p>
                <strong>"Failed "</strong>
                <Moment at />
                ": "
                <Plain text=reason />
            </p>
        }
        .into_any()
    });
    let next = match due_at {
        None => view! { <p>"Due now"</p> }.into_any(),
        Some(at) => view! { <Moment at /> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row" data-label="Workflow">
                <Plain text=workflow />
                <p class="row-key">"from " <Plain text=destination /></p>
            </th>
            <td data-label="Company"><Plain text=company /></td>
            <td data-label="Last one that went well">{last}</td>
            <td data-label="What it came to">
                {failed}
                {findings}
            </td>
            <td data-label="Next">{next}</td>
        </tr>
    }
    .into_any()
}
