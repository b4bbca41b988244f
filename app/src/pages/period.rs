//! `/periods/{id}`: a certificate, to be read and printed.

use guard::{period::PeriodStanding, person::Person};
use leptos::{form::ActionForm, prelude::*};
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::Moment,
        awaited::{Body, page_of},
        banner::{Done, Refused},
        certificate::{OpenList, TotalsTable},
        facts::{Fact, Told},
        heading::Heading,
        plain::Plain,
        tokens::WhyNot,
    },
    failure::Failure,
    functions::{
        read_period::{Certified, read_period},
        reopen_period::ReopenPeriod,
    },
    notice::period::{PeriodNotice, ReopeningDraft},
    wording,
};

/// The certificate of a period.
#[component]
pub(crate) fn PeriodPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let reopen = ServerAction::<ReopenPeriod>::new();
    let certified = Resource::new(move || (id.get(), reopen.version().get()), |(id, _)| read_period(id));
    let page = page_of(certified, move |certified| view! { <Shown certified reopen /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(certified: Certified, reopen: ServerAction<ReopenPeriod>) -> impl IntoView {
    let Certified { as_of: _, person, period, sha256, sentences, notice } = certified;
    let (mut is_new, mut refused) = (false, None);
    match notice {
        Some(PeriodNotice::Done(_)) => is_new = true,
        Some(PeriodNotice::ReopeningRefused(draft, failure)) => refused = Some((*draft, failure)),
        Some(PeriodNotice::ClosingRefused(..)) | None => {}
    }
    let totals = period.certificate.totals.clone();
    let open = totals.open.clone();
    let company = totals.company.clone();
    let signature = period.certificate.signature.clone();
    let title = format!("{} to {}", totals.span.from, totals.span.to);
    let standing = match &period.standing {
        PeriodStanding::Closed => None,
        PeriodStanding::Reopened { by, at, reason } => Some((by.clone(), *at, reason.clone())),
    };
    let told = is_new.then(|| {
        let text = if standing.is_some() {
            "The period is open again. What lies in it is corrected by the rule for before reconciliation."
        } else {
            "The period is closed. What lies in it is corrected by the rule for after reconciliation from now on."
        };
        view! { <Done><p>{text}</p></Done> }
    });
    let seal = period.certificate.seal.map_or_else(
        || "none yet: the trail had not been sealed".to_owned(),
        |seal| format!("number {}, {}", seal.number, seal.hash),
    );
    let is_closed = standing.is_none();
    view! {
        {told}
        <article class="certificate">
            <div class="page-head">
                <Heading title=format!("Certificate, {title}")>"Certificate of " <Plain text=company /> ", " {title}</Heading>
            </div>
            {standing
                .map(|(by, at, reason)| {
                    view! {
                        <p class="reopened">
                            <strong>"Opened again"</strong>
                            " by "
                            <Plain text=by />
                            " at "
                            <Moment at />
                            ": "
                            <Plain text=reason />
                            ". What follows is what was signed before."
                        </p>
                    }
                })}
            <dl class="facts">
                <Told name="Statement" text=signature.statement />
                <Fact name="Signed">
                    <Plain text=signature.name />
                    " ("
                    <Plain text=signature.by />
                    ") at "
                    <Moment at=signature.at />
                </Fact>
                {signature.reason.map(|reason| view! { <Told name="Reason" text=reason /> })}
                <Fact name="Figures as of">
                    <Moment at=totals.as_of />
                </Fact>
                <Told name="Operations" text=wording::number(totals.operations) />
                <Told name="Last seal of the trail" text=seal />
                <Told name="SHA-256 of this certificate" text=sha256 />
                <Told name="Proven by" text="onceover trail verify: it adds the figures up anew from the trail".to_owned() />
            </dl>
            <h2>"Totals"</h2>
            <TotalsTable totals />
            <h2>"Open when it was signed"</h2>
            <OpenList open sentences />
        </article>
        <p class="no-print">
            <a href="/periods">"All periods"</a>
        </p>
        {is_closed.then(|| view! { <Reopen id=period.id person refused reopen /> })}
    }
    .into_any()
}

#[component]
fn Reopen(
    id: guard::id::PeriodId,
    person: Person,
    refused: Option<(ReopeningDraft, Failure)>,
    reopen: ServerAction<ReopenPeriod>,
) -> impl IntoView {
    let (draft, failure) = refused.unzip();
    let reason = draft.map(|draft| draft.reason).unwrap_or_default();
    let why_not = (!person.role.may_sign()).then(|| "opening a period needs the role finance".to_owned());
    let is_barred = why_not.is_some();
    let inline = move || reopen.value().get().and_then(Result::err);
    view! {
        <section class="panel no-print" id="reopen" tabindex="-1" aria-labelledby="reopen-title">
            <h2 id="reopen-title">"Open it again"</h2>
            {failure.map(|failure| view! { <Refused what="Nothing was opened" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="Nothing was opened" failure /> })}
            <p>"The certificate stays readable. What lies in the period follows the rule for before reconciliation again."</p>
            <ActionForm action=reopen>
                <input type="hidden" name="draft[period]" value=id.to_string() />
                <label for="reopen-reason">"Reason"</label>
                <input id="reopen-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" autocomplete="off" />
                <WhyNot button="Open it again" id="reopen-why-not" why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}
