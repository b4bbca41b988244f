//! `/reconciliation/{id}`: what each record of the destination is to which operation, to be read, worked through and printed.

use std::collections::BTreeMap;

use guard::{
    money::Money,
    reconciliation::{
        Bucket, Coverage, Disagreement, Origin, Progress, RecordDecision, RecordSide, Row, Run, SourceSide, Summary,
        Total,
    },
};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use rust_decimal::Decimal;

use super::reconciliations::span;
use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        badge::Badge,
        banner::Done,
        facts::{Fact, Told},
        finding::{Decisions, Finding},
        fresh::look_again,
        heading::Heading,
        icon::{Icon, Picture},
        money::Amount,
        plain::Plain,
        table::{Table, numbers, words},
    },
    failure::Failure,
    functions::read_reconciliation::{Report, read_reconciliation},
    notice::reconciliation::HandInNotice,
    wording::{
        self,
        reconciliation::{bucket_meaning, bucket_word},
    },
};

/// A reconciliation.
#[component]
pub(crate) fn ReconciliationPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let asked = Memo::new(move |_| {
        let id = params.with(|params| params.get("id").unwrap_or_default());
        let text = |name: &str| query.with(|query| query.get(name).unwrap_or_default());
        let number = |name: &str| text(name).parse::<u64>().ok();
        (id, text("bucket"), number("after").unwrap_or_default(), number("row"))
    });
    let report =
        Resource::new(move || asked.get(), |(id, bucket, after, row)| read_reconciliation(id, bucket, after, row));
    // Only while it goes on: nothing is taken from under whoever works through it.
    look_again(move || {
        let goes_on = |report: &Option<Result<Report, Failure>>| matches!(report, Some(Ok(report)) if report.run.progress == Progress::Running);
        if report.with_untracked(goes_on) {
            report.refetch();
        }
    });
    let page = page_of(report, move |report| view! { <Shown report /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(report: Report) -> impl IntoView {
    let Report { as_of, person, run, title, by, bucket, rows, decisions, opened, next, notice } = report;
    let is_done = run.progress == Progress::Done;
    let told = match notice {
        Some(HandInNotice::Done { is_repeated: true }) => Some(match run.origin {
            Origin::File { .. } => {
                "The same file was reconciled before, with the same parameters: nothing was changed. This is what it came to then."
            }
            Origin::Pulled { .. } => {
                "The list says what it said before, and no operation has changed since: nothing was changed. This is what it came to then."
            }
        }),
        Some(HandInNotice::Done { is_repeated: false }) => Some("Reconciled. This is what it came to."),
        Some(HandInNotice::Refused { .. } | HandInNotice::NotPulled { .. }) | None => None,
    };
    let told = told.map(|told| view! { <Done><p>{told}</p></Done> });
    let company = run.scope.company.clone();
    let (id, summary) = (run.id, run.summary.clone());
    let finding = opened.map(|opened| view! { <Finding run=run.clone() person opened decisions=decisions.clone() /> });
    view! {
        {told}
        <div class="page-head">
            <Heading title=format!("Reconciliation of {title}")>"Reconciliation of " <Plain text=title.clone() /> " in " <Plain text=company /></Heading>
            <AsOf at=as_of />
        </div>
        {(!is_done).then(|| view! { <p class="run-told" role="status">"It is under way, or broke off: the same file, handed in again, takes it up."</p> })}
        <Warnings summary=summary.clone() />
        <Facts run by />
        <Totals totals=summary.totals.clone() />
        <CoverageTable coverage=summary.coverage.clone() />
        <section class="part" aria-labelledby="rows-title">
            <Buckets id=id.to_string() summary bucket />
            <h2 id="rows-title">{bucket_word(bucket)}</h2>
            <p class="note">{bucket_meaning(bucket)}</p>
            {finding}
            <Rows id=id.to_string() rows bucket decisions />
            <Pages id=id.to_string() bucket next />
        </section>
    }
    .into_any()
}

/// What was noticed, before any figure: a contradiction that was not opened, a file that was read with a doubt.
#[component]
fn Warnings(summary: Summary) -> impl IntoView {
    let Summary { is_held_back, warnings, .. } = summary;
    if !is_held_back && warnings.is_empty() {
        return ().into_any();
    }
    let held = is_held_back.then(|| {
        view! {
            <p>
                <strong>"No contradiction was opened."</strong>
                " More than half of what was compared disagrees, which is more likely a column read wrongly than as many faults. Look at some, then reconcile again with the box for it ticked."
            </p>
        }
    });
    let warnings = warnings.into_iter().map(|warning| view! { <li><Plain text=warning /></li> }).collect::<Vec<_>>();
    view! {
        <div class="banner is-held" role="note">
            <Icon picture=Picture::Warning />
            <div>{held} <ul>{warnings}</ul></div>
        </div>
    }
    .into_any()
}

#[component]
fn Facts(run: Run, by: String) -> impl IntoView {
    let compared = span(&run.scope);
    let Run { origin, started_at, finished_at, summary, .. } = run;
    let source = wording::reconciliation::origin(&origin);
    let digest = match origin {
        Origin::File { sha256, .. } => view! { <Told name="SHA-256 of the file" text=sha256 /> }.into_any(),
        Origin::Pulled { pages, sha256, .. } => view! {
            <Told name="Pages" text=wording::number(pages.into()) />
            <Told name="SHA-256 of the records" text=sha256 />
        }
        .into_any(),
    };
    view! {
        <dl class="facts">
            <Told name="Records" text=source />
            <Told name="Operations begun" text=compared />
            <Fact name="Started">
                <Moment at=started_at />
                ", "
                <Plain text=by />
            </Fact>
            {finished_at.map(|at| view! { <Fact name="Over"><Moment at /></Fact> })}
            <Told name="Operations moved" text=wording::number(summary.moved) />
            {(summary.repeated > 0).then(|| view! { <Told name="Rows that repeat a record" text=wording::number(summary.repeated) /> })}
            {digest}
        </dl>
    }
    .into_any()
}

/// One side's money; none where no amount is known.
fn side(amount: Decimal, currency: Option<&String>) -> Option<Money> {
    currency.map(|currency| Money { amount, currency: currency.clone() })
}

/// Numbers and money of both sides, and that they add up.
#[component]
fn Totals(totals: Vec<Total>) -> impl IntoView {
    if totals.is_empty() {
        return view! { <p class="empty">"Neither side holds anything."</p> }.into_any();
    }
    let mut sums: BTreeMap<Option<String>, (u64, Decimal, u64, Decimal)> = BTreeMap::new();
    for total in &totals {
        let (operations, source, records, destination) = sums.entry(total.currency.clone()).or_default();
        *operations += total.operations;
        *source = source.saturating_add(total.source);
        *records += total.records;
        *destination = destination.saturating_add(total.destination);
    }
    let mut totals = totals;
    let place = |bucket: Bucket| Bucket::ALL.iter().position(|known| *known == bucket);
    totals.sort_by(|one, other| (place(one.bucket), &one.currency).cmp(&(place(other.bucket), &other.currency)));
    let rows = totals.into_iter().map(|total| {
        let Total { bucket, currency, operations, source, records, destination } = total;
        let money = (side(source, currency.as_ref()), side(destination, currency.as_ref()));
        view! { <Sum name=bucket_word(bucket) operations source=money.0 records destination=money.1 /> }
    });
    let rows = rows.collect_view();
    let ends = sums.into_iter().map(|(currency, (operations, source, records, destination))| {
        let money = (side(source, currency.as_ref()), side(destination, currency.as_ref()));
        view! { <Sum name="Everything" operations source=money.0 records destination=money.1 /> }
    });
    let ends = ends.collect_view();
    view! {
        <section class="part" aria-labelledby="totals-title">
            <h2 id="totals-title">"Totals"</h2>
            <Table
                region="Totals of both sides"
                caption="Numbers and money of both sides by bucket and currency; the last lines add them up"
                class="totals"
                columns=[
                    words("Bucket"),
                    numbers("Operations"),
                    numbers("Money here"),
                    numbers("Records"),
                    numbers("Money there"),
                    numbers("There less here"),
                ]
                rows
                sums=ends.into_any()
            />
        </section>
    }
    .into_any()
}

#[component]
fn Sum(
    name: &'static str,
    operations: u64,
    source: Option<Money>,
    records: u64,
    destination: Option<Money>,
) -> impl IntoView {
    let difference = source.as_ref().zip(destination.as_ref()).map(|(here, there)| Money {
        amount: there.amount.saturating_sub(here.amount),
        currency: here.currency.clone(),
    });
    view! {
        <tr>
            <th scope="row" data-label="Bucket">{name}</th>
            <td class="number" data-label="Operations">{wording::number(operations)}</td>
            <td class="number" data-label="Money here"><Amount money=source /></td>
            <td class="number" data-label="Records">{wording::number(records)}</td>
            <td class="number" data-label="Money there"><Amount money=destination /></td>
            <td class="number" data-label="There less here"><Amount money=difference /></td>
        </tr>
    }
    .into_any()
}

/// How much of what the destination holds came through Onceover.
#[component]
fn CoverageTable(coverage: Vec<Coverage>) -> impl IntoView {
    if coverage.is_empty() {
        return ().into_any();
    }
    let rows = coverage.into_iter().map(|coverage| {
        let Coverage { source_system, guarded, unguarded } = coverage;
        let all = guarded + unguarded;
        // Rounded down: 100 % is said of all alone.
        let percent = (guarded * 100).checked_div(all).unwrap_or_default();
        let name = source_system.map_or_else(
            || view! { <span class="none">"not said"</span> }.into_any(),
            |name| view! { <Plain text=name /> }.into_any(),
        );
        view! {
            <tr>
                <th scope="row" data-label="Source system">{name}</th>
                <td class="number" data-label="Guarded">{wording::number(guarded)}</td>
                <td class="number" data-label="Unguarded">{wording::number(unguarded)}</td>
                <td class="number" data-label="Coverage">{percent} " %"</td>
            </tr>
        }
    });
    view! {
        <section class="part" aria-labelledby="coverage-title">
            <h2 id="coverage-title">"Coverage by source system"</h2>
            <Table
                region="Coverage"
                caption="Live records with an operation and without one, by source system"
                columns=[words("Source system"), numbers("Guarded"), numbers("Unguarded"), numbers("Coverage")]
                rows=rows.collect_view()
            />
        </section>
    }
    .into_any()
}

/// The buckets, each a link to its rows.
#[component]
fn Buckets(id: String, summary: Summary, bucket: Bucket) -> impl IntoView {
    let links = Bucket::ALL.map(|known| {
        let current = (known == bucket).then_some("page");
        view! {
            <li>
                <a href=format!("/reconciliation/{id}?bucket={}", known.as_str()) aria-current=current>
                    {bucket_word(known)}
                    " "
                    <span class="tally">{wording::number(summary.count(known))}</span>
                </a>
            </li>
        }
    });
    view! {
        <nav class="buckets no-print" aria-label="Buckets">
            <ul>{links.into_iter().collect_view()}</ul>
        </nav>
    }
    .into_any()
}

#[component]
fn Pages(id: String, bucket: Bucket, next: Option<u64>) -> impl IntoView {
    let name = bucket.as_str();
    let next = next.map(|after| {
        view! { <a class="button is-quiet" rel="next" href=format!("/reconciliation/{id}?bucket={name}&after={after}#rows-title")>"Next"</a> }
    });
    let export = |bucket: &str, format: &str| format!("/export/reconciliation?id={id}{bucket}&format={format}");
    let of = format!("&bucket={name}");
    view! {
        <nav class="pages no-print" aria-label="Pages">
            {next}
            <a class="button is-quiet" href="/reconciliation">"All reconciliations"</a>
        </nav>
        <p class="exports no-print">
            "Take out these rows as "
            <a rel="external" download href=export(&of, "csv")>"CSV"</a>
            " or "
            <a rel="external" download href=export(&of, "json")>"JSON"</a>
            ", or every row as "
            <a rel="external" download href=export("", "csv")>"CSV"</a>
            " or "
            <a rel="external" download href=export("", "json")>"JSON"</a>
            "."
        </p>
    }
    .into_any()
}

#[component]
fn Rows(id: String, rows: Vec<Row>, bucket: Bucket, decisions: Vec<(RecordDecision, String)>) -> impl IntoView {
    if rows.is_empty() {
        return view! { <p class="empty">"Nothing lies here."</p> }.into_any();
    }
    let rows = rows.into_iter().map(|row| {
        let said: Vec<_> = decisions.iter().filter(|(decision, _)| decision.number == row.number).cloned().collect();
        let number = row.number;
        let act = (bucket == Bucket::Unguarded)
            .then(|| format!("/reconciliation/{id}?bucket=unguarded&after={}&row={number}#act", number - 1));
        view! { <RowOf row said act /> }
    });
    let rows = rows.collect_view();
    view! {
        <Table
            region="Rows"
            caption=format!("{}, by their numbers", bucket_word(bucket))
            class="report"
            columns=[
                numbers("Row"),
                words("Operation here"),
                numbers("Money here"),
                words("Record there"),
                numbers("Money there"),
                words("What is to be said"),
            ]
            rows
        />
    }
    .into_any()
}

fn money_of(amount: Option<Decimal>, currency: Option<&String>) -> Option<Money> {
    amount.and_then(|amount| side(amount, currency))
}

#[component]
fn RowOf(row: Row, said: Vec<(RecordDecision, String)>, act: Option<String>) -> impl IntoView {
    let Row { number, together, operation, record, disagreements, notes, candidates, .. } = row;
    let here = operation.as_ref().and_then(|side| money_of(side.amount, side.currency.as_ref()));
    let there = record.as_ref().and_then(|side| money_of(side.amount, side.currency.as_ref()));
    let notes = notes.iter().map(|note| view! { <li>{note.to_string()}</li> }).collect_view();
    let differences = disagreements.into_iter().map(|disagreement| view! { <Differs disagreement /> }).collect_view();
    let candidates = candidates.into_iter().map(|candidate| {
        view! {
            <li>
                "may belong to "
                <a href=format!("/operations/{}", candidate.operation)>
                    <Plain text=candidate.document />
                </a>
            </li>
        }
    });
    let candidates = candidates.collect_view();
    let name = record.as_ref().and_then(|side| side.destination_reference.clone()).unwrap_or_default();
    let act = act.map(|address| {
        view! { <p class="no-print"><a href=address>"Act on it"<span class="hidden">" "{name}</span></a></p> }
    });
    let said = (!said.is_empty()).then(|| view! { <Decisions decisions=said /> });
    let with =
        (together != number).then(|| view! { <li>{format!("goes with row {}", wording::number(together))}</li> });
    view! {
        <tr id=format!("row-{number}")>
            <th scope="row" class="number" data-label="Row">{wording::number(number)}</th>
            <td data-label="Operation here"><Here operation /></td>
            <td class="number" data-label="Money here"><Amount money=here /></td>
            <td data-label="Record there"><There record /></td>
            <td class="number" data-label="Money there"><Amount money=there /></td>
            <td data-label="What is to be said">
                <ul class="said">{differences} {notes} {with} {candidates}</ul>
                {said}
                {act}
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Here(operation: Option<SourceSide>) -> impl IntoView {
    let Some(side) = operation else { return view! { <span class="none">"none"</span> }.into_any() };
    view! {
        <a class="row-link" href=format!("/operations/{}", side.operation)>
            <Plain text=side.document />
        </a>
        <p class="row-key">
            <Plain text=side.source_system />
            {(side.revision > 1).then(|| format!(", revision {}", side.revision))}
        </p>
        <Badge state=side.state />
    }
    .into_any()
}

#[component]
fn There(record: Option<RecordSide>) -> impl IntoView {
    let Some(side) = record else { return view! { <span class="none">"none"</span> }.into_any() };
    let name = side
        .destination_reference
        .clone()
        .or_else(|| side.document.clone())
        .or_else(|| side.external_reference.clone());
    let about = side.about.map(|about| {
        view! { <p class="row-key"><a href=format!("/operations/{about}")>"Its operation"</a></p> }
    });
    let facts = [side.document, side.source_system, side.date.map(|date| date.to_string())];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    view! {
        <p>
            <Plain text=name.unwrap_or_else(|| "without a reference".to_owned()) />
        </p>
        <p class="row-key">
            {format!("line {}", wording::number(side.line))}
            {(!facts.is_empty()).then_some(" · ")}
            <Plain text=facts />
        </p>
        {about}
    }
    .into_any()
}

#[component]
fn Differs(disagreement: Disagreement) -> impl IntoView {
    let Disagreement { field, ours, theirs } = disagreement;
    let side = |side: Option<String>| {
        side.map_or_else(
            || view! { <span class="none">"nothing"</span> }.into_any(),
            |text| view! { <Plain text /> }.into_any(),
        )
    };
    view! {
        <li>
            <code>{field}</code>
            ": "
            {side(ours)}
            " here, "
            {side(theirs)}
            " there"
        </li>
    }
    .into_any()
}
