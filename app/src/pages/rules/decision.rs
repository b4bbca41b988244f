//! A proposed change of rules that waits, with what it would have made different.

use guard::{
    person::Person,
    rules::{RuleProposal, RuleVerdict},
    what_if::WhatIf,
};
use leptos::{form::ActionForm, prelude::*};

use super::{Lines, what_if::WhatIfPanel};
use crate::{
    components::{age::Moment, banner::Refused, plain::Plain, tokens::WhyNot},
    failure::Failure,
    functions::decide_rules::DecideRules,
    notice::rules::RuleDecision,
    wording,
};

/// What waits, and the forms to decide it.
#[component]
pub(crate) fn Waiting(
    proposal: RuleProposal,
    person: Person,
    what_if: Option<WhatIf>,
    refused: Option<(RuleDecision, Failure)>,
    act: ServerAction<DecideRules>,
) -> impl IntoView {
    let is_mine = proposal.proposed_by == person.email;
    let why_not = proposal.why_not_decide(&person).map(|why| wording::amendment::sentence(&why));
    let (draft, failure) = refused.unzip();
    let reason = draft.map(|draft| draft.reason).unwrap_or_default();
    let inline = move || act.value().get().and_then(Result::err);
    let lines = proposal.lines();
    let form = |verdict: RuleVerdict, title: &'static str, why_not: Option<String>| {
        view! { <Form proposal=proposal.clone() verdict title reason=reason.clone() why_not act /> }
    };
    let forms = if is_mine {
        view! {
            {form(RuleVerdict::Approve, "Approve", why_not)}
            {form(RuleVerdict::Withdraw, "Withdraw", None)}
        }
        .into_any()
    } else {
        view! {
            {form(RuleVerdict::Approve, "Approve", why_not.clone())}
            {form(RuleVerdict::Reject, "Reject", why_not)}
        }
        .into_any()
    };
    view! {
        <section class="panel" id="waiting" tabindex="-1" aria-labelledby="waiting-title">
            <h3 id="waiting-title">"Waits for approval"</h3>
            <p>
                <Plain text=proposal.proposed_by.clone() />
                " proposed it at "
                <Moment at=proposal.proposed_at />
                " on version "
                {proposal.base_version}
                ": "
                <Plain text=proposal.reason.clone() />
            </p>
            {failure.map(|failure| view! { <Refused what="Nothing was decided" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="Nothing was decided" failure /> })}
            <Lines lines />
            {what_if.map(|what_if| view! { <WhatIfPanel what_if parts=proposal.change.parts() /> })}
            <div class="decision-forms">{forms}</div>
        </section>
    }
    .into_any()
}

#[component]
fn Form(
    proposal: RuleProposal,
    verdict: RuleVerdict,
    title: &'static str,
    reason: String,
    why_not: Option<String>,
    act: ServerAction<DecideRules>,
) -> impl IntoView {
    let name = match verdict {
        RuleVerdict::Approve => "approve",
        RuleVerdict::Reject => "reject",
        RuleVerdict::Withdraw => "withdraw",
    };
    let is_barred = why_not.is_some();
    let effect = match verdict {
        RuleVerdict::Approve => "It is in force at once, as the workflow's next version.",
        RuleVerdict::Reject => "The rules stay as they are. The proposal stays readable.",
        RuleVerdict::Withdraw => "You take it back. The rules stay as they are.",
    };
    view! {
        <section class="decision-form" aria-labelledby=format!("{name}-title")>
            <h4 id=format!("{name}-title")>{title}</h4>
            <p>{effect}</p>
            <ActionForm action=act>
                <input type="hidden" name="draft[proposal]" value=proposal.id.to_string() />
                <input type="hidden" name="draft[workflow]" value=proposal.workflow.clone() />
                <input type="hidden" name="draft[verdict]" value=name />
                <label for=format!("{name}-reason")>"Reason"</label>
                <input id=format!("{name}-reason") name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" autocomplete="off" />
                <WhyNot button=title id=format!("{name}-why-not") why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}
