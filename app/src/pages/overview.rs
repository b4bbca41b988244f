//! `/`: what was prevented, what waits, what was decided.

use guard::{
    clock::Timestamp,
    summary::{UNCERTAIN_COUNTED_MAX, Waiting},
    view::OperationView,
};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        age::{Age, AsOf},
        awaited::{Body, page_of},
        badge::Badge,
        chart::Chart,
        fresh::{is_in_use, look_again},
        guide::FirstSteps,
        heading::Heading,
        incidents::Incidents,
        money::{Amount, Amounts},
        plain::Plain,
        reconciled::{Duplicates, LastReconciliations, ScheduledPulls},
        table::{Table, numbers, words},
    },
    functions::read_overview::{Overview, Prevented, Span, WorkflowRow, read_overview},
    wording,
};

/// What the team needs to see first.
#[component]
pub(crate) fn OverviewPage() -> impl IntoView {
    let query = use_query_map();
    let span = Memo::new(move |_| query.with(|query| Span::parse(query.get_str("span").unwrap_or_default())));
    let overview = Resource::new(move || span.get(), read_overview);
    let look = Callback::new(move |()| overview.refetch());
    look_again(move || {
        if !is_in_use() {
            overview.refetch();
        }
    });
    let page = page_of(overview, move |overview| view! { <Shown overview look /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(overview: Overview, look: Callback<()>) -> impl IntoView {
    let administers = overview.administers();
    let Overview {
        as_of,
        span,
        waiting,
        proposals,
        rules,
        duplicates,
        reconciled,
        pulls,
        prevented,
        prevented_in_all,
        bars,
        workflows,
        needs,
        guide,
        ..
    } = overview;
    let head = view! {
        <div class="page-head">
            <Heading title="Overview">"Overview"</Heading>
            <AsOf at=as_of />
        </div>
    };
    if let Some(guide) = guide {
        return view! {
            {head}
            <FirstSteps guide administers look />
        }
        .into_any();
    }
    let spans = Span::ALL.map(|choice| {
        let current = (choice == span).then_some("true");
        view! {
            <li>
                <a href=format!("/?span={}", choice.as_str()) aria-current=current>
                    {choice.title()}
                </a>
            </li>
        }
    });
    view! {
        {head}
        <Duplicates duplicates />
        <nav class="spans" aria-label="How far back">
            <ul>{spans.into_iter().collect_view()}</ul>
        </nav>
        <Figures waiting proposals rules prevented prevented_in_all span as_of />
        <Incidents />
        <div class="columns">
            <section class="panel" aria-labelledby="needs-title">
                <h2 id="needs-title">"What needs you now"</h2>
                <Needs needs as_of />
            </section>
            <section class="panel" aria-labelledby="decisions-title">
                <h2 id="decisions-title">"Decisions, last " {span.title()}</h2>
                <Chart bars span />
            </section>
        </div>
        <section aria-labelledby="workflows-title">
            <h2 id="workflows-title">"Workflows, last " {span.title()}</h2>
            <WorkflowTable workflows />
        </section>
        <LastReconciliations reconciled />
        <ScheduledPulls pulls />
    }
    .into_any()
}

#[component]
fn Figures(
    waiting: Waiting,
    proposals: u32,
    #[prop(into)] rules: Option<u32>,
    prevented: Prevented,
    prevented_in_all: Prevented,
    span: Span,
    as_of: Timestamp,
) -> impl IntoView {
    let many = |number: u32| match number {
        UNCERTAIN_COUNTED_MAX.. => format!("{}+", wording::number(UNCERTAIN_COUNTED_MAX.into())),
        fewer => wording::number(fewer.into()),
    };
    let is_quiet = waiting.uncertain == 0;
    let oldest = waiting.oldest_since.map(|since| {
        view! {
            <p class="figure-note">
                "the oldest for "
                <Age since now=as_of />
            </p>
        }
    });
    view! {
        <ul class="figures">
            <li class="figure is-good">
                <h2>"Duplicates prevented"</h2>
                <p class="figure-number">{wording::number(prevented.number)}</p>
                <p class="figure-note">
                    "in the last " {span.title()} ", of " <a href="/metrics-board">{wording::number(prevented.asks)} " repetitions"</a>
                </p>
                <Amounts money=prevented.money />
            </li>
            <li class="figure">
                <h2>"Prevented in all"</h2>
                <p class="figure-number">{wording::number(prevented_in_all.number)}</p>
                <p class="figure-note">"since the first begin"</p>
                <Amounts money=prevented_in_all.money />
            </li>
            <li class="figure" class:is-doubt=!is_quiet>
                <h2>
                    <a href="/unknown">"Unknown, awaiting review"</a>
                </h2>
                <p class="figure-number">{many(waiting.uncertain)}</p>
                {oldest}
                {is_quiet.then(|| view! { <p class="figure-note">"nothing is uncertain"</p> })}
                {(!waiting.at_risk.is_empty()).then(|| view! { <p class="figure-note">"at risk"</p> })}
                <Amounts money=waiting.at_risk />
            </li>
            <li class="figure" class:is-bad=(waiting.open_conflicts > 0)>
                <h2>
                    <a href="/conflicts">"Open conflicts"</a>
                </h2>
                <p class="figure-number">{many(waiting.open_conflicts)}</p>
                <p class="figure-note">"the same key with another payload"</p>
            </li>
            <li class="figure">
                <h2>
                    <a href="/amendments">"Amendments to approve"</a>
                </h2>
                <p class="figure-number">{many(proposals)}</p>
                <p class="figure-note">"nothing of them is sent before that"</p>
            </li>
            {rules
                .map(|rules| {
                    view! {
                        <li class="figure">
                            <h2>
                                <a href="/settings/rules">"Rules to approve"</a>
                            </h2>
                            <p class="figure-number">{many(rules)}</p>
                            <p class="figure-note">"no rule changes before that"</p>
                        </li>
                    }
                })}
        </ul>
    }
    .into_any()
}

#[component]
fn Needs(needs: Vec<OperationView>, as_of: Timestamp) -> impl IntoView {
    if needs.is_empty() {
        return view! { <p class="empty">"Nothing is uncertain. What becomes so is named here, by money at risk and age."</p> }
            .into_any();
    }
    let rows = needs.into_iter().map(|operation| {
        let since = wording::since(&operation.state).unwrap_or(operation.updated_at);
        view! {
            <li>
                <a class="need" href=format!("/operations/{}#decide", operation.id)>
                    <Plain text=operation.sentence />
                </a>
                <p class="need-facts">
                    <Badge state=operation.state.name() />
                    <Age since now=as_of />
                    <Amount money=operation.money />
                </p>
            </li>
        }
    });
    view! {
        <ol class="needs">{rows.collect_view()}</ol>
        <p>
            <a href="/unknown">"The whole queue"</a>
        </p>
    }
    .into_any()
}

#[component]
fn WorkflowTable(workflows: Vec<WorkflowRow>) -> impl IntoView {
    let rows = workflows.into_iter().map(|row| {
        let address = serde_urlencoded::to_string([("workflow", &row.name)]).unwrap_or_default();
        view! {
            <tr>
                <th scope="row" data-label="Workflow">
                    <a href=format!("/operations?{address}")>
                        <Plain text=row.title />
                    </a>
                </th>
                <td class="number" data-label="Asked">{wording::number(row.asked)}</td>
                <td class="number" data-label="Sent">{wording::number(row.sent)}</td>
                <td class="number" data-label="Confirmed">{wording::number(row.confirmed)}</td>
                <td class="number" data-label="Duplicates prevented">{wording::number(row.prevented.number)}</td>
                <td class="number" data-label="Money kept from doubling">
                    {if row.prevented.money.is_empty() {
                        view! { <Amount money=None /> }.into_any()
                    } else {
                        view! { <Amounts money=row.prevented.money /> }.into_any()
                    }}
                </td>
                <td class="number" data-label="Became uncertain">{wording::number(row.uncertain)}</td>
                <td class="number" data-label="Conflicts">{wording::number(row.conflicts)}</td>
            </tr>
        }
    });
    view! {
        <Table
            region="Workflows side by side"
            caption="Workflows side by side"
            columns=[
                words("Workflow"),
                numbers("Asked"),
                numbers("Sent"),
                numbers("Confirmed"),
                numbers("Duplicates prevented"),
                numbers("Money kept from doubling"),
                numbers("Became uncertain"),
                numbers("Conflicts"),
            ]
            rows=rows.collect_view()
        />
    }
    .into_any()
}
