//! The form by which a change of rules is proposed.

use guard::{
    person::Person,
    rules::{RulePart, field_text, why_not_propose},
    workflow::{Correction, Workflow},
};
use leptos::{form::ActionForm, prelude::*};

use crate::{
    components::{banner::Refused, tokens::WhyNot},
    failure::Failure,
    functions::propose_rules::ProposeRules,
    notice::rules::RuleDraft,
    wording,
};

/// The rules as they are, to be changed.
#[component]
pub(crate) fn RuleForm(
    workflow: Workflow,
    person: Person,
    /// Whether a proposal waits already.
    waiting: bool,
    refused: Option<(RuleDraft, Failure)>,
    act: ServerAction<ProposeRules>,
) -> impl IntoView {
    let (draft, failure) = refused.unzip();
    let draft = draft.unwrap_or_else(|| written(&workflow));
    let noise_why_not = why_not_propose(&person, &[RulePart::Volatile]);
    let amendment_why_not = why_not_propose(&person, &[RulePart::Amendment]);
    let why_not = if waiting {
        Some("a proposal waits already; it is decided or withdrawn first".to_owned())
    } else {
        noise_why_not
    };
    let is_barred = why_not.is_some();
    let is_amendment_barred = is_barred || amendment_why_not.is_some();
    let inline = move || act.value().get().and_then(Result::err);
    let held = &workflow.amendment;
    let before = draft.before.unwrap_or(held.before_reconciliation);
    let after = draft.after.unwrap_or(held.after_reconciliation);
    let area = |id: &'static str, name: &'static str, text: Option<String>, is_barred: bool| {
        let area = leptos::html::textarea().id(id).name(name).disabled(is_barred).rows("4").spellcheck("false");
        match text.filter(|text| !text.is_empty()) {
            Some(text) => area.child(text).into_any(),
            None => area.into_any(),
        }
    };
    view! {
        <section class="panel" id="propose" tabindex="-1" aria-labelledby="propose-title">
            <h3 id="propose-title">"Propose a change"</h3>
            {failure.map(|failure| view! { <Refused what="Nothing was proposed" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="Nothing was proposed" failure /> })}
            <ActionForm action=act>
                <input type="hidden" name="draft[workflow]" value=draft.workflow />
                <div class="rule-fields">
                    <fieldset>
                        <legend>"What counts"</legend>
                        <label for="rule-volatile">
                            "Left out of the fingerprint "
                            <span class="optional">"JSON Pointers, one a line"</span>
                        </label>
                        {area("rule-volatile", "draft[volatile]", draft.volatile, is_barred)}
                        <label for="rule-key-fields">
                            "Key fields "
                            <span class="optional">"/amount = $.total (decimal), one a line"</span>
                        </label>
                        {area("rule-key-fields", "draft[key_fields]", draft.key_fields, is_barred)}
                    </fieldset>
                    <fieldset>
                        <legend>"Amendments"</legend>
                        {amendment_why_not.map(|reason| view! { <p class="note">{reason}</p> })}
                        <label for="rule-amendable">
                            "May be amended "
                            <span class="optional">"JSON Pointers with all below them, one a line; empty: nothing"</span>
                        </label>
                        {area("rule-amendable", "draft[amendable]", draft.amendable, is_amendment_barred)}
                        <label for="rule-before">"Before reconciliation, a confirmed record is"</label>
                        <Corrections id="rule-before" name="draft[before]" chosen=before is_barred=is_amendment_barred />
                        <label for="rule-after">"After reconciliation, and in a closed period, it is"</label>
                        <Corrections id="rule-after" name="draft[after]" chosen=after is_barred=is_amendment_barred />
                        <label for="rule-second">
                            "Two people approve above "
                            <span class="optional">"an amount, such as 100000.00; empty: never"</span>
                        </label>
                        <input id="rule-second" name="draft[second_approval_over]" value=draft.second_approval_over disabled=is_amendment_barred inputmode="decimal" autocomplete="off" />
                        <label for="rule-days">
                            "A proposal expires after "
                            <span class="optional">"days; empty: 30"</span>
                        </label>
                        <input id="rule-days" name="draft[proposal_days]" value=draft.proposal_days disabled=is_amendment_barred inputmode="numeric" autocomplete="off" />
                        <label for="rule-tell">
                            "Who is told "
                            <span class="optional">"addresses, one a line"</span>
                        </label>
                        {area("rule-tell", "draft[tell]", Some(draft.tell), is_amendment_barred)}
                    </fieldset>
                </div>
                <label for="rule-reason">"Reason"</label>
                <input id="rule-reason" name="draft[reason]" value=draft.reason required disabled=is_barred maxlength="2000" autocomplete="off" />
                <WhyNot button="Propose" id="propose-why-not" why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}

#[component]
fn Corrections(id: &'static str, name: &'static str, chosen: Correction, is_barred: bool) -> impl IntoView {
    let all = [Correction::Amend, Correction::Replace, Correction::ReverseAndRepost, Correction::Forbid];
    let options = all.map(|correction| {
        view! {
            <option value=guard::rules::correction_name(correction) selected={correction == chosen}>
                {wording::correction(correction)}
            </option>
        }
    });
    view! {
        <select id=id name=name disabled=is_barred>
            {options.into_iter().collect_view()}
        </select>
    }
    .into_any()
}

/// The rules as they are, as the form writes them.
fn written(workflow: &Workflow) -> RuleDraft {
    let rules = &workflow.amendment;
    let joined = |lines: Vec<String>| lines.join("\n");
    RuleDraft {
        workflow: workflow.name.as_str().to_owned(),
        volatile: Some(joined(workflow.volatile.iter().map(ToString::to_string).collect())),
        key_fields: Some(joined(workflow.key_fields.iter().map(field_text).collect())),
        amendable: Some(joined(rules.amendable.iter().map(ToString::to_string).collect())),
        before: Some(rules.before_reconciliation),
        after: Some(rules.after_reconciliation),
        second_approval_over: rules.second_approval_over.clone().unwrap_or_default(),
        proposal_days: rules.proposal_days.map(|days| days.to_string()).unwrap_or_default(),
        tell: rules.tell.join("\n"),
        reason: String::new(),
    }
}
