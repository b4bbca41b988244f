//! `/operations/{id}/amend`: a change of a confirmed document, to be proposed.

use std::collections::BTreeMap;

use guard::{amendment::Violation, refusal::Refusal};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::AsOf,
        awaited::{Body, page_of},
        badge::Badge,
        banner::Refused,
        facts::Fact,
        facts::Told,
        heading::Heading,
        plain::Plain,
        tokens::WhyNot,
    },
    failure::Failure,
    functions::read_proposal::{Field, FieldKind, Fixed, ProposalPageReport, read_proposal},
    notice::amendment::ProposalRefused,
    wording,
};

/// The form of a proposal.
#[component]
pub(crate) fn ProposalPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let report = Resource::new(move || id.get(), read_proposal);
    let page = page_of(report, move |report| view! { <Shown report /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(report: ProposalPageReport) -> impl IntoView {
    let ProposalPageReport { as_of, operation, ruled, .. } = report.clone();
    let title = format!("Propose an amendment: {}", operation.sentence);
    let next = operation.key.revision + 1;
    let violations = match report.refused.as_ref().map(|refused| &refused.failure) {
        Some(Failure::Refused(Refusal::RuleViolation { violations, .. })) => violations.clone(),
        Some(_) | None => Vec::new(),
    };
    let ruled = ruled.map(|ruled| {
        view! {
            <Fact name="Correction">{wording::amendment::correction(ruled.correction)}</Fact>
            <Told name="By rule" text=ruled.because />
            <Fact name="Rule version">{ruled.rule_version}</Fact>
        }
    });
    let fixed = view! {
        <FixedPlaces fixed=report.fixed.clone() left_out=report.fixed_left_out rule=report.rule.clone() violations />
    };
    view! {
        <div class="page-head">
            <Heading title>
                "Propose an amendment: "
                <Plain text=operation.sentence.clone() />
            </Heading>
            <AsOf at=as_of />
        </div>
        <p class="note">
            "It becomes revision " {next} " of this document, once another person has approved it and a worker has sent it. Nothing is sent before that."
        </p>
        <div class="detail">
            <div class="detail-main">
                <ProposalForm report />
            </div>
            <div class="detail-side">
                <section class="panel" aria-labelledby="base-title">
                    <h2 id="base-title">"What is changed"</h2>
                    <dl class="facts">
                        <Fact name="Base">
                            <a href=format!("/operations/{}", operation.id)>"revision " {operation.key.revision}</a>
                            " "
                            <Badge state=operation.state.name() />
                        </Fact>
                        {ruled}
                    </dl>
                </section>
                {fixed}
            </div>
        </div>
    }
    .into_any()
}

/// The places that may not change, and the rule that says so; those that a proposal tried to change are marked.
#[component]
fn FixedPlaces(fixed: Vec<Fixed>, left_out: usize, rule: String, violations: Vec<Violation>) -> impl IntoView {
    let mut violated: BTreeMap<String, String> =
        violations.into_iter().map(|violation| (violation.path.to_string(), violation.rule.to_string())).collect();
    let rows = fixed.into_iter().map(|fixed| (violated.remove(&fixed.place), fixed)).collect::<Vec<_>>();
    // What the proposal added, or changed as a whole.
    let others = violated.into_iter().map(|(place, rule)| (Some(rule), Fixed { place, value: String::new() }));
    let rows = others.chain(rows).collect::<Vec<_>>();
    if rows.is_empty() {
        return ().into_any();
    }
    let rows = rows.into_iter().map(|(violated, fixed)| {
        let is_violated = violated.is_some();
        view! {
            <li class:is-violated=is_violated>
                <code><Plain text=fixed.place /></code>
                " "
                <span class="note"><Plain text=fixed.value /></span>
                {violated.map(|rule| view! { <p class="field-fault">"Changed in your proposal: " <Plain text=rule /></p> })}
            </li>
        }
    });
    let more = (left_out > 0).then(|| {
        view! { <p class="note">{wording::counted(left_out as u64, "more place", "more places")}</p> }
    });
    view! {
        <section class="panel" aria-labelledby="fixed-title">
            <h2 id="fixed-title">"What may not change"</h2>
            <p class="note"><Plain text=wording::amendment::sentence(&rule) /> " Finance sets that in the rules (amendment.amendable)."</p>
            <ul class="fixed-places">{rows.collect_view()}</ul>
            {more}
        </section>
    }
    .into_any()
}

#[component]
fn ProposalForm(report: ProposalPageReport) -> impl IntoView {
    let ProposalPageReport { operation, why_not, payload, fields, fields_left_out, refused, .. } = report;
    let is_barred = why_not.is_some();
    let (draft, failure) = refused.map(|ProposalRefused { draft, failure }| (draft, failure)).unzip();
    // At which place something cannot be read.
    let fault = match &failure {
        Some(Failure::Refused(Refusal::InvalidField { field, message })) => Some((field.clone(), message.clone())),
        Some(_) | None => None,
    };
    let written = draft.as_ref().map(|draft| {
        draft.fields.iter().map(|field| (field.place.clone(), field.value.clone())).collect::<BTreeMap<_, _>>()
    });
    let written = written.unwrap_or_default();
    let has_fields = !fields.is_empty();
    let inputs = fields.into_iter().enumerate().map(|(number, field)| {
        let value = written.get(&field.place).unwrap_or(&field.value).clone();
        let fault = fault.as_ref().filter(|(place, _)| *place == field.place).map(|(_, message)| message.clone());
        view! { <Input number field value fault is_barred /> }
    });
    let inputs = inputs.collect_view();
    let (text, reason, requested_by) = match draft {
        Some(draft) => (draft.payload, draft.reason, draft.requested_by),
        None => (payload.clone(), String::new(), String::new()),
    };
    let text = if text.trim().is_empty() { payload } else { text };
    let area = leptos::html::textarea()
        .id("proposal-payload")
        .name("draft[payload]")
        .disabled(is_barred)
        .rows("16")
        .spellcheck("false")
        .class("payload-text");
    let area = if text.is_empty() { area.into_any() } else { area.child(text).into_any() };
    let more = (fields_left_out > 0).then(|| {
        let number = wording::counted(fields_left_out as u64, "more place", "more places");
        view! { <p class="note">{number} " may change: in the JSON."</p> }
    });
    view! {
        <section class="panel decision" id="propose" tabindex="-1" aria-labelledby="propose-title">
            <h2 id="propose-title">"The change"</h2>
            {failure.map(|failure| view! { <Refused what="Nothing was proposed" failure /> })}
            <form method="post" action="/fn/propose_amendment" autocomplete="off">
                <input type="hidden" name="draft[base]" value=operation.id.to_string() />
                {has_fields.then(|| view! {
                    <fieldset class="proposal-fields">
                        <legend>"Places that may change"</legend>
                        {inputs}
                        {more}
                    </fieldset>
                })}
                <label for="proposal-payload">
                    "The whole payload "
                    <span class="optional">"JSON; a place that is changed above goes over it"</span>
                </label>
                {area}
                <label for="proposal-reason">"Reason"</label>
                <input id="proposal-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" />
                <label for="proposal-requested-by">
                    "Asked for by "
                    <span class="optional">"optional; whoever asked for it does not approve it"</span>
                </label>
                <input id="proposal-requested-by" name="draft[requested_by]" value=requested_by disabled=is_barred maxlength="200" />
                <WhyNot button="Propose" id="propose-why-not" why_not=why_not.map(|why| wording::amendment::sentence(&why)) />
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Input(number: usize, field: Field, value: String, fault: Option<String>, is_barred: bool) -> impl IntoView {
    let id = format!("field-{number}");
    let described = fault.is_some().then(|| format!("{id}-fault"));
    let name = format!("draft[fields][{number}][value]");
    let input = match field.kind {
        FieldKind::Flag => view! {
            <select id=id.clone() name=name disabled=is_barred>
                <option value="true" selected={value == "true"}>"true"</option>
                <option value="false" selected={value != "true"}>"false"</option>
            </select>
        }
        .into_any(),
        FieldKind::Text | FieldKind::Number => view! {
            <input
                id=id.clone()
                name=name
                value=value
                disabled=is_barred
                spellcheck="false"
                inputmode=(field.kind == FieldKind::Number).then_some("decimal")
                aria-invalid=fault.is_some().then_some("true")
                aria-describedby=described.clone()
            />
        }
        .into_any(),
    };
    view! {
        <div class="proposal-field">
            <label for=id><code><Plain text=field.place.clone() /></code></label>
            <input type="hidden" name=format!("draft[fields][{number}][place]") value=field.place />
            {input}
            {fault.map(|message| view! { <p class="field-fault" id=described><Plain text=wording::amendment::sentence(&message) /></p> })}
        </div>
    }
    .into_any()
}
