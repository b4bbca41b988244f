//! The form that pulls a destination's list.

use guard::person::Person;
use leptos::prelude::*;

use super::{hand_in::Unread, tokens::WhyNot};
use crate::{notice::reconciliation::HandInDraft, wording};

/// A plain form: it works as it is, with script and without.
#[component]
pub(crate) fn PullNow(
    person: Person,
    /// Name and title of each workflow.
    workflows: Vec<(String, String)>,
    /// The workflows whose destination has a list, and that destination.
    lists: Vec<(String, String)>,
    /// What stands in the fields.
    draft: HandInDraft,
    /// Why nothing was reconciled, with what is wrong with which record.
    refused: Option<(String, Vec<String>)>,
) -> impl IntoView {
    let why_not = if !person.role.may_reconcile() {
        let role = wording::role_phrase(person.role);
        Some(format!("Only an operator, finance or an administrator pulls records; you are {role}."))
    } else if lists.is_empty() {
        Some(
            "No workflow within your reach has a destination with a list: write a [destination.list] into its profile."
                .to_owned(),
        )
    } else {
        None
    };
    let is_barred = why_not.is_some();
    let chosen = draft.text("workflow");
    let options = workflows.into_iter().map(|(name, title)| {
        let destination = lists.iter().find(|(workflow, _)| *workflow == name).map(|(_, destination)| destination);
        let text = destination.map_or_else(
            || format!("{title}: its destination has no list"),
            |destination| format!("{title}, from {destination}"),
        );
        let (selected, is_unlisted) = (name == chosen, destination.is_none());
        view! { <option value=name selected=selected disabled=is_unlisted>{text}</option> }
    });
    let options = options.collect_view();
    let refused = refused.map(|(sentence, faults)| view! { <Unread sentence faults /> });
    view! {
        <section class="panel no-print" id="pull" tabindex="-1" aria-labelledby="pull-title">
            <h2 id="pull-title">"Pull what the destination holds"</h2>
            <p class="note">
                "Onceover reads the destination's list to its last page, then compares. A list that breaks off half way is not compared at all. Without a first day, it asks for the days that the workflow says."
            </p>
            {refused}
            <form method="post" action="/reconciliation/pull">
                <div class="fields">
                    <div class="field">
                        <label for="pull-workflow">"Workflow to pull"</label>
                        <select id="pull-workflow" name="workflow" required disabled=is_barred>
                            {options}
                        </select>
                    </div>
                    <div class="field">
                        <label for="pull-company">"Company to pull"</label>
                        <input id="pull-company" name="company" value=draft.text("company") required disabled=is_barred maxlength="200" autocomplete="off" />
                    </div>
                    <div class="field">
                        <label for="pull-from">"First day"</label>
                        <input id="pull-from" name="from" type="date" value=draft.text("from") disabled=is_barred />
                    </div>
                    <div class="field">
                        <label for="pull-to">"Last day"</label>
                        <input id="pull-to" name="to" type="date" value=draft.text("to") disabled=is_barred />
                    </div>
                </div>
                <label class="check">
                    <input type="checkbox" name="open" value="all" checked={draft.text("open") == "all"} disabled=is_barred />
                    <span>"Open contradictions although more than half of what is pulled disagrees"</span>
                </label>
                <WhyNot button="Pull now" id="pull-why-not" why_not />
            </form>
        </section>
    }
    .into_any()
}
