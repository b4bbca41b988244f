//! Decisions over time: bars that read without colour, and the numbers behind them.

use chrono::TimeDelta;
use leptos::prelude::*;

use crate::{
    functions::read_overview::{Bar, Kind, Span},
    wording,
};

/// The width of a bar's place, and of the bar in it, in units of the drawing.
const PLACE: f64 = 10.0;
const BAR: f64 = 8.0;
/// The height of the drawing, in its units.
const HEIGHT: f64 = 100.0;

/// The bars with their legend and their table.
#[component]
pub(crate) fn Chart(bars: Vec<Bar>, span: Span) -> impl IntoView {
    let totals = Kind::ALL.map(|kind| bars.iter().map(|bar| bar.numbers[kind as usize]).sum::<u64>());
    let top = bars.iter().map(|bar| bar.numbers.iter().sum::<u64>()).max().unwrap_or(0).max(1);
    let top = rounded_up(top);
    let (count, hours) = span.bars();
    let view_box = format!("0 0 {} {HEIGHT}", PLACE * f64::from(count));
    let drawn = bars.iter().enumerate().map(|(place, bar)| stack(place, bar, top)).collect_view();
    let label = |bar: Option<&Bar>| bar.map(|bar| short(bar.start, span)).unwrap_or_default();
    let (first, middle) = (label(bars.first()), label(bars.get(bars.len() / 2)));
    let legend = Kind::ALL.map(|kind| {
        view! {
            <li>
                <svg class="swatch" width="14" height="14" viewBox="0 0 10 10" aria-hidden="true" focusable="false">
                    <rect class=format!("bar is-{}", kind.as_str()) width="10" height="10" />
                    <rect class="bar-pattern" width="10" height="10" fill=pattern(kind) />
                </svg>
                {kind.title()}
                <span class="number">{wording::number(totals[kind as usize])}</span>
            </li>
        }
    });
    let summary = format!("Decisions in the last {}: {}", span.title(), said(&totals));

    view! {
        <figure class="chart">
            <figcaption class="legend">
                <ul>{legend.into_iter().collect_view()}</ul>
            </figcaption>
            <div class="plot">
                <p class="plot-top" aria-hidden="true">
                    {wording::number(top)}
                </p>
                <svg class="bars" viewBox=view_box preserveAspectRatio="none" role="img" aria-label=summary>
                    <defs>
                        <pattern id="pattern-replayed" width="2.4" height="4" patternUnits="userSpaceOnUse">
                            <path d="M0 2h2.4" />
                        </pattern>
                        <pattern id="pattern-held" width="2.4" height="4.8" patternUnits="userSpaceOnUse">
                            <path d="M0 4.8L2.4 0" />
                        </pattern>
                        <pattern id="pattern-conflict" width="2.4" height="4.8" patternUnits="userSpaceOnUse">
                            <path d="M0 4.8L2.4 0M0 0L2.4 4.8" />
                        </pattern>
                        <pattern id="pattern-stopped" width="1.6" height="4" patternUnits="userSpaceOnUse">
                            <path d="M.8 0v4" />
                        </pattern>
                    </defs>
                    <path class="grid" d=format!("M0 .5h{w}M0 50h{w}", w = PLACE * f64::from(count)) />
                    {drawn}
                </svg>
                <p class="plot-axis" aria-hidden="true">
                    <span>{first}</span>
                    <span>{middle}</span>
                    <span>"now"</span>
                </p>
            </div>
            <details class="chart-table">
                <summary>"Show the numbers"</summary>
                <div class="scroll" tabindex="0" role="region" aria-label="Decisions over time, as a table">
                    <table>
                        <caption class="hidden">{format!("Decisions over time, last {} (UTC)", span.title())}</caption>
                        <thead>
                            <tr>
                                <th scope="col">"From (UTC)"</th>
                                {Kind::ALL.map(|kind| view! { <th scope="col" class="number">{kind.title()}</th> }).into_iter().collect_view()}
                            </tr>
                        </thead>
                        <tbody>{bars.iter().rev().map(|bar| row(bar, hours)).collect_view()}</tbody>
                    </table>
                </div>
            </details>
        </figure>
    }
    .into_any()
}

fn row(bar: &Bar, hours: u32) -> impl IntoView + use<> {
    let end = bar.start + TimeDelta::hours(hours.into());
    let when = format!("{} – {}", bar.start.format("%Y-%m-%d %H:%M"), end.format("%H:%M"));
    let numbers = bar.numbers.map(|number| view! { <td class="number">{wording::number(number)}</td> });
    view! {
        <tr>
            <th scope="row">{when}</th>
            {numbers.into_iter().collect_view()}
        </tr>
    }
    .into_any()
}

/// One bar: its kinds on top of each other.
#[allow(clippy::cast_precision_loss, reason = "a drawing needs no more than 52 bits")]
fn stack(place: usize, bar: &Bar, top: u64) -> impl IntoView + use<> {
    let x = PLACE * place as f64 + (PLACE - BAR) / 2.0;
    let mut y = HEIGHT;
    let parts = Kind::ALL
        .into_iter()
        .filter(|kind| bar.numbers[*kind as usize] > 0)
        .map(|kind| {
            let height = HEIGHT * bar.numbers[kind as usize] as f64 / top as f64;
            y -= height;
            let (y, height) = (format!("{y:.2}"), format!("{height:.2}"));
            view! {
                <rect class=format!("bar is-{}", kind.as_str()) x=x y=y.clone() width=BAR height=height.clone() />
                <rect class="bar-pattern" fill=pattern(kind) x=x y=y width=BAR height=height />
            }
        })
        .collect_view();
    let title = format!("{} UTC: {}", bar.start.format("%Y-%m-%d %H:%M"), said(&bar.numbers));
    view! {
        <g>
            <title>{title}</title>
            {parts}
        </g>
    }
    .into_any()
}

fn pattern(kind: Kind) -> String {
    match kind {
        Kind::Sent => "none".to_owned(),
        Kind::Replayed | Kind::Held | Kind::Conflict | Kind::Stopped => format!("url(#pattern-{})", kind.as_str()),
    }
}

fn said(numbers: &[u64; 5]) -> String {
    let parts = Kind::ALL.map(|kind| (kind, numbers[kind as usize]));
    let named = parts.iter().filter(|(_, number)| *number > 0);
    let texts: Vec<_> = named.map(|(kind, number)| format!("{} {}", number, kind.title().to_lowercase())).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

fn short(at: guard::clock::Timestamp, span: Span) -> String {
    match span {
        Span::Day => at.format("%H:%M UTC").to_string(),
        Span::Week | Span::Month => at.format("%d %b").to_string(),
    }
}

/// The next number with a leading digit of 1, 2, 4, 6 or 8: the top of an axis.
pub(crate) fn rounded_up(number: u64) -> u64 {
    let mut step = 1_u64;
    loop {
        for factor in [1, 2, 4, 6, 8] {
            if step.saturating_mul(factor) >= number {
                return step.saturating_mul(factor);
            }
        }
        step = step.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_on_a_round_number() {
        assert_eq!([1, 2, 3, 7, 11, 501].map(rounded_up), [1, 2, 4, 8, 20, 600]);
        assert_eq!(rounded_up(u64::MAX), u64::MAX);
    }
}
