//! The figures of a period.

use guard::period::{OpenItems, Totals};
use leptos::prelude::*;

use super::{
    badge::Badge,
    money::Amount,
    plain::Plain,
    table::{Table, numbers, words},
};
use crate::wording;

/// The sums, by workflow, state and currency.
#[component]
pub(crate) fn TotalsTable(totals: Totals) -> impl IntoView {
    if totals.lines.is_empty() {
        return view! { <p class="empty">"No operation of this company lies in these days."</p> }.into_any();
    }
    let rows = totals.lines.into_iter().map(|line| {
        let money = wording::line_money(&line);
        view! {
            <tr>
                <th scope="row" data-label="Workflow">
                    <Plain text=line.workflow />
                </th>
                <td data-label="State">
                    <Badge state=line.state />
                    {line.is_superseded.then_some(" superseded by a newer revision")}
                    {line.is_reversal.then_some(" takes records back")}
                </td>
                <td class="number" data-label="Operations">{wording::number(line.operations)}</td>
                <td class="number" data-label="Sum">
                    <Amount money />
                </td>
            </tr>
        }
    });
    view! {
        <Table
            region="Totals"
            caption="Totals by workflow, state and currency"
            class="totals"
            columns=[words("Workflow"), words("State"), numbers("Operations"), numbers("Sum")]
            rows=rows.collect_view()
        />
    }
    .into_any()
}

/// What is open, by kind, with links.
#[component]
pub(crate) fn OpenList(
    open: Vec<OpenItems>,
    /// The plain sentences, by the operation's id; one that is missing is shown by its id.
    sentences: Vec<(String, String)>,
) -> impl IntoView {
    if open.is_empty() {
        return view! { <p>"Nothing is open: no operation is unknown, disputed, in conflict, unapproved or under way."</p> }
            .into_any();
    }
    let kinds = open.into_iter().map(|items| {
        let OpenItems { kind, number, operations } = items;
        let more = number.saturating_sub(operations.len() as u64);
        let sentences = sentences.clone();
        let links = operations.into_iter().map(move |operation| {
            let id = operation.to_string();
            let sentence = sentences.iter().find(|(known, _)| *known == id).map(|(_, sentence)| sentence.clone());
            view! {
                <li>
                    <a href=format!("/operations/{id}")>
                        <Plain text=sentence.unwrap_or_else(|| id.clone()) />
                    </a>
                </li>
            }
        });
        view! {
            <p class="open-kind">
                {wording::number(number)}
                " · "
                {wording::open_kind(kind)}
            </p>
            <ul>{links.collect_view()}</ul>
            {(more > 0).then(|| view! { <p class="note">{format!("and {} more", wording::number(more))}</p> })}
        }
    });
    view! { <div class="open-items">{kinds.collect_view()}</div> }.into_any()
}
