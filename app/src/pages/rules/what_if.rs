//! What a change of rules would have made different.

use guard::{
    rules::RulePart,
    what_if::{Different, LookedAt, WHAT_IF_DAYS, WhatIf},
};
use leptos::prelude::*;

use crate::{components::plain::Plain, wording};

/// What would have been different, with how much was looked at.
#[component]
pub(crate) fn WhatIfPanel(what_if: WhatIf, parts: Vec<RulePart>) -> impl IntoView {
    let mut rows = Vec::new();
    for part in parts {
        match part {
            RulePart::Volatile => {
                rows.push(("Conflicts that would have been repetitions", what_if.replays.clone()));
                rows.push(("Repeated operations that hold something where it would count now: so many at most would have been conflicts", what_if.possible_conflicts.clone()));
            }
            RulePart::KeyFields => {
                rows.push(("Lookups that disagreed and would have agreed", what_if.agreeing.clone()));
                rows.push(("Confirmed operations whose kept answer would disagree", what_if.disagreeing.clone()));
            }
            RulePart::Amendment => {
                rows.push(("Conflicts that could have become an amendment, and cannot now", what_if.allowed.clone()));
                rows.push(("Conflicts that could no longer become an amendment", what_if.forbidden.clone()));
                rows.push(("Amendments that could not have been proposed", what_if.amendments_forbidden.clone()));
                rows.push((
                    "Amendments whose record would be corrected in another way",
                    what_if.corrected_otherwise.clone(),
                ));
                rows.push((
                    "Amendments that another number of people would have to approve",
                    what_if.approved_otherwise.clone(),
                ));
            }
        }
    }
    let looked = [
        (what_if.conflicts, "conflict of any workflow", "conflicts of all workflows"),
        (what_if.operations, "operation", "operations"),
        (what_if.amendments, "amendment", "amendments"),
    ];
    let looked: Vec<String> = looked.into_iter().filter_map(|(looked, one, many)| told(looked, one, many)).collect();
    let looked = if looked.is_empty() { "nothing to look at".to_owned() } else { looked.join(", ") };
    let rows = rows.into_iter().map(|(name, different)| view! { <Row name different /> });
    view! {
        <section class="what-if" aria-labelledby="what-if-title">
            <h4 id="what-if-title">"What if: the last " {WHAT_IF_DAYS} " days under these rules"</h4>
            <p class="note">"Looked at: " {looked} "."</p>
            <dl class="facts">{rows.collect_view()}</dl>
        </section>
    }
    .into_any()
}

fn told(looked: LookedAt, one: &str, many: &str) -> Option<String> {
    if looked.number == 0 {
        return None;
    }
    let number = wording::counted(looked.number, one, many);
    Some(if looked.is_cut { format!("the newest {number} (there are more; the bound was reached)") } else { number })
}

#[component]
fn Row(name: &'static str, different: Different) -> impl IntoView {
    let more = different.number.saturating_sub(different.examples.len() as u64);
    let examples = different.examples.into_iter().map(|example| {
        view! {
            <li>
                <a href=format!("/operations/{}", example.operation)>
                    <Plain text=example.sentence />
                </a>
                " "
                <code>
                    <Plain text=example.what />
                </code>
            </li>
        }
    });
    view! {
        <div>
            <dt>{name}</dt>
            <dd>
                <strong>{wording::number(different.number)}</strong>
                <ul>{examples.collect_view()}</ul>
                {(more > 0).then(|| view! { <p class="note">{format!("and {} more", wording::number(more))}</p> })}
            </dd>
        </div>
    }
    .into_any()
}
