//! Two drawings that read without colour: columns over time, and bars by name. Each has its sentence and its table.

use chrono::TimeDelta;
use guard::clock::Timestamp;
use leptos::prelude::*;

use crate::wording;

/// The width of a column's place in units of the drawing, and what of it stays free.
const PLACE: f64 = 12.0;
const FREE: f64 = 2.0;
/// The height of the drawing, in its units.
const HEIGHT: f64 = 100.0;

/// Numbers over time, by name.
pub(super) struct Columns {
    /// Apart from every other drawing of the page.
    pub id: &'static str,
    /// What is drawn.
    pub title: &'static str,
    /// How many days each stretch holds.
    pub days: u32,
    /// What is told apart; at most five, for which there are patterns.
    pub names: Vec<&'static str>,
    /// The start of each stretch with a number for each name.
    pub stretches: Vec<(Timestamp, Vec<u64>)>,
    /// On top of each other, or side by side.
    pub is_stacked: bool,
    /// What the numbers of a stretch are.
    pub meaning: Meaning,
}

/// What numbers over time are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What happened in a stretch: stretches add up.
    Happened,
    /// What stood at the end of a stretch: the last one tells how it is.
    Stood,
}

impl Columns {
    /// The drawing with its sentence, its legend and its table.
    pub(super) fn view(self) -> AnyView {
        let Self { id, title, days, names, stretches, is_stacked, meaning } = self;
        let totals: Vec<u64> = match meaning {
            Meaning::Happened => (0..names.len())
                .map(|name| stretches.iter().filter_map(|(_, numbers)| numbers.get(name)).sum())
                .collect(),
            Meaning::Stood => stretches.last().map(|(_, numbers)| numbers.clone()).unwrap_or_default(),
        };
        let highest = stretches.iter().map(|(_, numbers)| {
            if is_stacked { numbers.iter().sum::<u64>() } else { numbers.iter().copied().max().unwrap_or_default() }
        });
        let top = crate::components::chart::rounded_up(highest.max().unwrap_or_default().max(1));
        let said: Vec<String> = names
            .iter()
            .zip(&totals)
            .filter(|(_, number)| **number > 0)
            .map(|(name, number)| format!("{} {}", name.to_lowercase(), wording::number(*number)))
            .collect();
        let said = if said.is_empty() { "none".to_owned() } else { said.join(", ") };
        let most = stretches.iter().filter(|_| is_stacked).max_by_key(|(_, numbers)| numbers.iter().sum::<u64>());
        let most = most.filter(|(_, numbers)| numbers.iter().sum::<u64>() > 0).map(|(start, numbers)| {
            let (what, number) = (when(*start, days), wording::number(numbers.iter().sum()));
            match meaning {
                Meaning::Happened => format!(" Most of it {what}: {number}."),
                Meaning::Stood => format!(" The most {what}: {number}."),
            }
        });
        let lead = match meaning {
            Meaning::Happened => "In all",
            Meaning::Stood => "At the end",
        };
        let told = format!("{lead}: {said}.{}", most.unwrap_or_default());
        let drawn = stretches
            .iter()
            .enumerate()
            .map(|(place, (start, numbers))| {
                let title = format!("{}: {}", when(*start, days), values(&names, numbers));
                view! {
                    <g>
                        <title>{title}</title>
                        {column(id, place, numbers, top, is_stacked)}
                    </g>
                }
            })
            .collect_view();
        #[allow(clippy::cast_precision_loss, reason = "a few dozen")]
        let width = PLACE * stretches.len() as f64;
        let legend = names.iter().zip(&totals).enumerate().map(|(series, (name, number))| {
            view! {
                <li>
                    <svg class="swatch" width="14" height="14" viewBox="0 0 10 10" aria-hidden="true" focusable="false">
                        <rect class=format!("bar is-series-{series}") width="10" height="10" />
                        <rect class="bar-pattern" width="10" height="10" fill=pattern(id, series) />
                    </svg>
                    {*name} " "
                    <span class="number">{wording::number(*number)}</span>
                </li>
            }
        });
        let legend = legend.collect_view();
        let label = |place: usize| stretches.get(place).map(|(start, _)| start.format("%d %b").to_string());
        let (first, middle) = (label(0), label(stretches.len() / 2).filter(|_| stretches.len() > 2));
        let last = label(stretches.len().saturating_sub(1)).filter(|_| stretches.len() > 1);
        let table = table(title, days, &names, &stretches);
        let heading = format!("{id}-title");
        view! {
            <section class="panel" aria-labelledby=heading>
                <h2 id=heading.clone()>{title}</h2>
                <p class="note">{told.clone()}</p>
                <figure class="chart">
                    <figcaption class="legend">
                        <ul>{legend}</ul>
                    </figcaption>
                    <div class="plot">
                        <p class="plot-top" aria-hidden="true">{wording::number(top)}</p>
                        <svg
                            class="bars"
                            viewBox=format!("0 0 {width} {HEIGHT}")
                            preserveAspectRatio="none"
                            role="img"
                            aria-label=format!("{title}. {told}")
                        >
                            {patterns(id)}
                            <path class="grid" d=format!("M0 .5h{width}M0 50h{width}") />
                            {drawn}
                        </svg>
                        <p class="plot-axis" aria-hidden="true">
                            <span>{first}</span>
                            <span>{middle}</span>
                            <span>{last}</span>
                        </p>
                    </div>
                    {table}
                </figure>
            </section>
        }
        .into_any()
    }
}

/// One column: what is told apart, on top of each other or side by side.
#[allow(clippy::cast_precision_loss, reason = "a drawing needs no more than 52 bits")]
fn column(id: &'static str, place: usize, numbers: &[u64], top: u64, is_stacked: bool) -> AnyView {
    let left = PLACE * place as f64 + FREE / 2.0;
    let whole = PLACE - FREE;
    let width = if is_stacked { whole } else { whole / numbers.len().max(1) as f64 };
    let mut below = 0.0;
    let parts = numbers.iter().enumerate().filter(|(_, number)| **number > 0).map(|(series, number)| {
        let height = HEIGHT * *number as f64 / top as f64;
        let x = if is_stacked { left } else { left + width * series as f64 };
        let y = HEIGHT - below - height;
        if is_stacked {
            below += height;
        }
        let [x, y, width, height] = [x, y, width, height].map(|unit| format!("{unit:.2}"));
        view! {
            <rect
                class=format!("bar is-series-{series}")
                x=x.clone()
                y=y.clone()
                width=width.clone()
                height=height.clone()
            />
            <rect class="bar-pattern" fill=pattern(id, series) x=x y=y width=width height=height />
        }
    });
    parts.collect_view().into_any()
}

/// The patterns of a drawing: none, lines, strokes, crosses, stripes.
fn patterns(id: &'static str) -> AnyView {
    let paths = ["M0 2h2.4", "M0 4.8L2.4 0", "M0 4.8L2.4 0M0 0L2.4 4.8", "M.8 0v4.8"];
    let sizes = [("2.4", "4"), ("2.4", "4.8"), ("2.4", "4.8"), ("1.6", "4.8")];
    let all = paths.into_iter().zip(sizes).enumerate().map(|(place, (path, (width, height)))| {
        view! {
            <pattern id=format!("{id}-pattern-{}", place + 1) width=width height=height patternUnits="userSpaceOnUse">
                <path d=path />
            </pattern>
        }
    });
    view! { <defs>{all.collect_view()}</defs> }.into_any()
}

fn pattern(id: &str, series: usize) -> String {
    if series == 0 { "none".to_owned() } else { format!("url(#{id}-pattern-{series})") }
}

fn when(start: Timestamp, days: u32) -> String {
    if days == 1 {
        return format!("on {}", start.format("%Y-%m-%d"));
    }
    let last = start + TimeDelta::days(i64::from(days) - 1);
    format!("from {} to {}", start.format("%Y-%m-%d"), last.format("%Y-%m-%d"))
}

fn values(names: &[&str], numbers: &[u64]) -> String {
    let all = names.iter().zip(numbers).filter(|(_, number)| **number > 0);
    let all: Vec<String> = all.map(|(name, number)| format!("{} {number}", name.to_lowercase())).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn table(title: &'static str, days: u32, names: &[&'static str], stretches: &[(Timestamp, Vec<u64>)]) -> AnyView {
    let head = if days == 1 { "Day (UTC)".to_owned() } else { format!("{days} days from (UTC)") };
    let lines = stretches.iter().rev().map(|(start, numbers)| {
        let cells = numbers.iter().map(|number| view! { <td class="number">{wording::number(*number)}</td> });
        view! {
            <tr>
                <th scope="row">{start.format("%Y-%m-%d").to_string()}</th>
                {cells.collect_view()}
            </tr>
        }
    });
    let heads = names.iter().map(|name| view! { <th scope="col" class="number">{*name}</th> });
    shut(
        title,
        view! {
            <table>
                <caption class="hidden">{title}</caption>
                <thead>
                    <tr>
                        <th scope="col">{head}</th>
                        {heads.collect_view()}
                    </tr>
                </thead>
                <tbody>{lines.collect_view()}</tbody>
            </table>
        }
        .into_any(),
    )
}

/// A table that is shown when somebody asks for it.
fn shut(title: &str, table: AnyView) -> AnyView {
    view! {
        <details class="chart-table">
            <summary>"Show the numbers"<span class="hidden">{format!(": {title}")}</span></summary>
            <div class="scroll" tabindex="0" role="region" aria-label=format!("{title}, as a table")>
                {table}
            </div>
        </details>
    }
    .into_any()
}

/// A number with its name.
pub(super) struct Row {
    /// The name.
    pub name: String,
    /// The number.
    pub number: u64,
}

/// Bars by name, each with its number beside it, a sentence and a table.
pub(super) fn rows(id: &'static str, title: &'static str, counts: &'static str, told: &str, list: Vec<Row>) -> AnyView {
    let top = list.iter().map(|row| row.number).max().unwrap_or_default().max(1);
    let bars = list.iter().map(|row| {
        let width = format!("{}%", row.number.saturating_mul(100) / top);
        view! {
            <li>
                <span class="bar-name">
                    <bdi>{row.name.clone()}</bdi>
                </span>
                <svg class="bar-line" height="12" aria-hidden="true" focusable="false">
                    <rect class="bar is-series-0" width=width height="12" />
                </svg>
                <span class="number">{wording::number(row.number)}</span>
            </li>
        }
    });
    let lines = list.iter().map(|row| {
        view! {
            <tr>
                <th scope="row">
                    <bdi>{row.name.clone()}</bdi>
                </th>
                <td class="number">{wording::number(row.number)}</td>
            </tr>
        }
    });
    let table = view! {
        <table>
            <caption class="hidden">{title}</caption>
            <thead>
                <tr>
                    <th scope="col">{title}</th>
                    <th scope="col" class="number">{counts}</th>
                </tr>
            </thead>
            <tbody>{lines.collect_view()}</tbody>
        </table>
    };
    let table = shut(title, table.into_any());
    let drawn = (!list.is_empty()).then(|| view! { <ul class="bar-list">{bars.collect_view()}</ul> });
    let heading = format!("{id}-title");
    view! {
        <section class="panel" aria-labelledby=heading>
            <h2 id=heading.clone()>{title}</h2>
            <p class="note">{told.to_owned()}</p>
            <figure class="chart">{drawn} {(!list.is_empty()).then_some(table)}</figure>
        </section>
    }
    .into_any()
}
