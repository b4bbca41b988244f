//! What reconciliations say on the overview.

use guard::reconciliation::OpenDuplicates;
use leptos::prelude::*;

use super::{
    age::Moment,
    icon::{Icon, Picture},
    plain::Plain,
};
use crate::{
    functions::read_overview::LastReconciled,
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
        let is_clean = findings.is_empty();
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
        let findings = findings.collect::<Vec<_>>();
        let told = if is_clean {
            view! { <p>"Both sides agree."</p> }.into_any()
        } else {
            view! { <ul class="tallies">{findings}</ul> }.into_any()
        };
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
            <div class="scroll" tabindex="0" role="region" aria-label="The last reconciliation of each workflow and company">
                <table class="cards">
                    <caption class="hidden">"The last reconciliation of each workflow and company"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Workflow"</th>
                            <th scope="col">"Company"</th>
                            <th scope="col">"Over"</th>
                            <th scope="col">"What it came to"</th>
                        </tr>
                    </thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}
