//! `/operations/{id}/reverse`: a record of the destination that shall be taken back.

use guard::reversal::Reversal;
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        badge::Badge,
        banner::Refused,
        facts::Fact,
        heading::Heading,
        money::Amount,
        plain::Plain,
        reversals::Reversals,
        tokens::WhyNot,
    },
    functions::read_reversal::{KnownRecord, ReversalPageReport, read_reversal},
    notice::amendment::ReversalRefused,
};

/// The form of a reversal.
#[component]
pub(crate) fn ReversalPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let report = Resource::new(move || id.get(), read_reversal);
    let page = page_of(report, move |report| view! { <Shown report /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(report: ReversalPageReport) -> impl IntoView {
    let operation = report.operation.clone();
    let reversals: Vec<Reversal> = report.reversals.clone();
    let title = format!("Take a record back: {}", operation.sentence);
    view! {
        <div class="page-head">
            <Heading title>
                "Take a record back: "
                <Plain text=operation.sentence.clone() />
            </Heading>
            <AsOf at=report.as_of />
        </div>
        <p class="note">
            "A record is taken back by an operation of its own, so that this cannot happen twice either. Another person of finance approves it; then a worker sends it. Nothing is sent before that."
        </p>
        <div class="detail">
            <div class="detail-main">
                <ReversalForm report />
            </div>
            <div class="detail-side">
                <section class="panel" aria-labelledby="of-title">
                    <h2 id="of-title">"Whose record it is"</h2>
                    <dl class="facts">
                        <Fact name="Operation">
                            <a href=format!("/operations/{}", operation.id)>"revision " {operation.key.revision}</a>
                            " "
                            <Badge state=operation.state.name() />
                        </Fact>
                        <Fact name="Company"><Plain text=operation.key.company.as_str().to_owned() /></Fact>
                        <Fact name="Money">
                            <Amount money=operation.money />
                        </Fact>
                    </dl>
                </section>
                <Reversals reversals />
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn ReversalForm(report: ReversalPageReport) -> impl IntoView {
    let ReversalPageReport { operation, records, why_not, refused, .. } = report;
    let is_barred = why_not.is_some();
    let (draft, failure) = refused.map(|ReversalRefused { draft, failure }| (draft, failure)).unzip();
    let (chosen, other, reason, requested_by) = match draft {
        Some(draft) => (Some(draft.record), draft.other_record, draft.reason, draft.requested_by),
        None => {
            // The one that is confirmed is right more often than not: nothing is chosen where there are several.
            let mut possible = records.iter().filter(|record| record.why_not.is_none());
            let only = possible.next().filter(|_| possible.next().is_none()).map(|record| record.reference.clone());
            (only, String::new(), String::new(), String::new())
        }
    };
    let is_other = chosen.as_deref() == Some("");
    let choices = records.into_iter().enumerate().map(|(number, record)| {
        let is_chosen = chosen.as_deref() == Some(record.reference.as_str());
        view! { <Choice number record is_chosen is_barred /> }
    });
    let choices = choices.collect_view();
    view! {
        <section class="panel decision" id="reverse" tabindex="-1" aria-labelledby="reverse-title">
            <h2 id="reverse-title">"The record"</h2>
            {failure.map(|failure| view! { <Refused what="Nothing was asked" failure /> })}
            <form method="post" action="/fn/ask_reversal" autocomplete="off">
                <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
                <input type="hidden" name="draft[version]" value=operation.version />
                <fieldset class="reversible">
                    <legend>"Which record shall be taken back"</legend>
                    {choices}
                    <div class="reversible-record">
                        <label class="check">
                            <input type="radio" name="draft[record]" value="" checked=is_other disabled=is_barred required />
                            "Another one"
                        </label>
                        <label for="other-record">"Its id at the destination"</label>
                        <input
                            id="other-record"
                            name="draft[other_record]"
                            value=other
                            disabled=is_barred
                            maxlength="2000"
                            spellcheck="false"
                        />
                    </div>
                </fieldset>
                <label for="reversal-reason">"Reason"</label>
                <input id="reversal-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" />
                <label for="reversal-requested-by">
                    "Asked for by "
                    <span class="optional">"optional; whoever asked for it does not approve it"</span>
                </label>
                <input
                    id="reversal-requested-by"
                    name="draft[requested_by]"
                    value=requested_by
                    disabled=is_barred
                    maxlength="200"
                />
                <WhyNot button="Ask to take it back" id="reverse-why-not" why_not />
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Choice(number: usize, record: KnownRecord, is_chosen: bool, is_barred: bool) -> impl IntoView {
    let KnownRecord { reference, is_own, told_at, why_not } = record;
    let is_barred = is_barred || why_not.is_some();
    let id = format!("record-{number}-why-not");
    let described = why_not.is_some().then(|| id.clone());
    view! {
        <div class="reversible-record">
            <label class="check">
                <input
                    type="radio"
                    name="draft[record]"
                    value=reference.clone()
                    checked=is_chosen && !is_barred
                    disabled=is_barred
                    required
                    aria-describedby=described
                />
                <span>
                    <code><Plain text=reference /></code>
                    " "
                    <span class="note">
                        {if is_own { "the one that it is held as, told of at " } else { "told of at " }}
                        <Moment at=told_at />
                    </span>
                </span>
            </label>
            {why_not.map(|why| view! { <p class="why-not" id=id><Plain text=why /></p> })}
        </div>
    }
    .into_any()
}
