//! `/periods`: what was closed, and what may be; `?company=&from=&to=` looks at one.

use guard::{period::Period, period::PeriodStanding, period::Totals, person::Person};
use leptos::{form::ActionForm, prelude::*};
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        banner::Refused,
        certificate::{OpenList, TotalsTable},
        heading::Heading,
        plain::Plain,
        table::{Table, numbers, words},
        tokens::WhyNot,
    },
    failure::Failure,
    functions::{
        close_period::ClosePeriod,
        list_periods::{Periods, list_periods},
    },
    notice::period::{ClosingDraft, PeriodNotice},
    wording,
};

/// What the address asks for.
type Asked = (String, String, String);

/// The periods.
#[component]
pub(crate) fn PeriodsPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let text = |name: &str| query.with(|query| query.get(name).unwrap_or_default());
        (text("company"), text("from"), text("to"))
    });
    let close = ServerAction::<ClosePeriod>::new();
    let navigate = use_navigate();
    Effect::new(move || {
        if let Some(Ok(period)) = close.value().get() {
            navigate(&format!("/periods/{}", period.id), leptos_router::NavigateOptions::default());
        }
    });
    let refused = move || close.version().get();
    let periods =
        Resource::new(move || (asked.get(), refused()), |((company, from, to), _)| list_periods(company, from, to));
    let page =
        page_of(periods, move |periods| view! { <Shown periods asked=asked.get_untracked() close /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(periods: Periods, asked: Asked, close: ServerAction<ClosePeriod>) -> impl IntoView {
    let Periods { as_of, person, periods, asked: totals, notice } = periods;
    let refused = match notice {
        Some(PeriodNotice::ClosingRefused(draft, failure)) => Some((*draft, failure)),
        Some(PeriodNotice::Done(_) | PeriodNotice::ReopeningRefused(..)) | None => None,
    };
    let (company, from, to) = asked;
    let looked = totals.map(|totals| match totals {
        Ok(totals) => view! { <Closing totals person=person.clone() refused close /> }.into_any(),
        Err(failure) => view! { <Refused what="The figures cannot be shown" failure /> }.into_any(),
    });
    view! {
        <div class="page-head">
            <Heading title="Periods">"Periods"</Heading>
            <AsOf at=as_of />
        </div>
        <p class="note rules-lead">
            "A closed period is signed by a person of finance. What lies in it is corrected by the workflow's rule for after reconciliation. An operation belongs to the day that its workflow reads from the payload, or else to the day (UTC) on which it was first begun."
        </p>
        <section class="panel" aria-labelledby="look-title">
            <h2 id="look-title">"Look at a period"</h2>
            <form method="get" action="/periods" class="period-fields">
                <label for="period-company">"Company"</label>
                <input id="period-company" name="company" value=company required maxlength="200" autocomplete="off" />
                <label for="period-from">"First day"</label>
                <input id="period-from" name="from" type="date" value=from required />
                <label for="period-to">"Last day"</label>
                <input id="period-to" name="to" type="date" value=to required />
                <p class="actions">
                    <button type="submit">"Show the figures"</button>
                </p>
            </form>
        </section>
        {looked}
        <List periods />
    }
    .into_any()
}

#[component]
fn Closing(
    totals: Totals,
    person: Person,
    refused: Option<(ClosingDraft, Failure)>,
    close: ServerAction<ClosePeriod>,
) -> impl IntoView {
    let (draft, failure) = refused.unzip();
    let draft = draft.unwrap_or_default();
    let why_not = (!person.role.may_sign()).then(|| "signing a period needs the role finance".to_owned());
    let is_barred = why_not.is_some();
    let is_open = totals.is_open();
    let inline = move || close.value().get().and_then(Result::err);
    let seen = totals.fingerprint().to_string();
    let statement = if draft.statement.is_empty() {
        "I have compared these figures with the ledger, and they agree.".to_owned()
    } else {
        draft.statement
    };
    view! {
        <section class="part" id="figures" aria-labelledby="figures-title">
            <h2 id="figures-title">
                <Plain text=totals.company.clone() />
                {format!(", {} to {}", totals.span.from, totals.span.to)}
            </h2>
            <p class="note">
                {wording::counted(totals.operations, "operation", "operations")}
                ", as of "
                <Moment at=totals.as_of />
            </p>
            <TotalsTable totals=totals.clone() />
            <h3>"What is open"</h3>
            <OpenList open=totals.open.clone() sentences=Vec::new() />
        </section>
        <section class="panel" id="sign" tabindex="-1" aria-labelledby="sign-title">
            <h2 id="sign-title">"Sign and close"</h2>
            {failure.map(|failure| view! { <Refused what="Nothing was closed" failure /> })}
            {move || inline().map(|failure| view! { <Refused what="Nothing was closed" failure /> })}
            <ActionForm action=close>
                <input type="hidden" name="draft[company]" value=totals.company.clone() />
                <input type="hidden" name="draft[from]" value=totals.span.from.to_string() />
                <input type="hidden" name="draft[to]" value=totals.span.to.to_string() />
                <input type="hidden" name="draft[seen]" value=seen />
                <label for="sign-name">"Your name"</label>
                <input id="sign-name" name="draft[name]" value=draft.name required disabled=is_barred maxlength="200" autocomplete="name" />
                <label for="sign-statement">"What you state"</label>
                <input id="sign-statement" name="draft[statement]" value=statement required disabled=is_barred maxlength="2000" autocomplete="off" />
                <label for="sign-reason">
                    {if is_open { "Why it is closed although something is open" } else { "Remark" }}
                    {(!is_open).then(|| view! { <span class="optional">" optional"</span> })}
                </label>
                <input id="sign-reason" name="draft[reason]" value=draft.reason required=is_open disabled=is_barred maxlength="2000" autocomplete="off" />
                <WhyNot button="Sign and close" id="sign-why-not" why_not />
            </ActionForm>
        </section>
    }
    .into_any()
}

#[component]
fn List(periods: Vec<Period>) -> impl IntoView {
    if periods.is_empty() {
        return view! { <p class="empty">"No period was closed yet. Look at one above: its figures and what is still open stand there before anybody signs."</p> }
            .into_any();
    }
    let rows = periods.into_iter().map(|period| {
        let span = period.span();
        let signature = period.certificate.signature.clone();
        let standing = match &period.standing {
            PeriodStanding::Closed => "closed",
            PeriodStanding::Reopened { .. } => "opened again",
        };
        let open: u64 = period.certificate.totals.open.iter().map(|open| open.number).sum();
        view! {
            <tr>
                <th scope="row" data-label="Period">
                    <a href=format!("/periods/{}", period.id)>{format!("{} to {}", span.from, span.to)}</a>
                </th>
                <td data-label="Company">
                    <Plain text=period.company().to_owned() />
                </td>
                <td data-label="Standing">{standing}</td>
                <td class="number" data-label="Operations">{wording::number(period.certificate.totals.operations)}</td>
                <td class="number" data-label="Open when signed">{wording::number(open)}</td>
                <td data-label="Signed">
                    <Plain text=signature.name />
                    ", "
                    <Moment at=signature.at />
                </td>
            </tr>
        }
    });
    view! {
        <section class="part" aria-labelledby="closed-title">
            <h2 id="closed-title">"What was closed"</h2>
            <Table
                region="Periods"
                caption="Periods, the newest first"
                columns=[
                    words("Period"),
                    words("Company"),
                    words("Standing"),
                    numbers("Operations"),
                    numbers("Open when signed"),
                    words("Signed"),
                ]
                rows=rows.collect_view()
            />
        </section>
    }
    .into_any()
}
