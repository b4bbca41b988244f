//! Money, never added over currencies.

use guard::money::Money;
use leptos::prelude::*;

use crate::wording;

/// One amount, or a dash where none is known.
#[component]
pub(crate) fn Amount(money: Option<Money>) -> impl IntoView {
    match money {
        Some(money) => view! { <bdi class="money">{wording::money(&money)}</bdi> }.into_any(),
        None => view! {
            <span class="none">
                <span aria-hidden="true">"–"</span>
                <span class="hidden">"no amount"</span>
            </span>
        }
        .into_any(),
    }
}

/// Amounts of several currencies, one beside the other.
#[component]
pub(crate) fn Amounts(money: Vec<Money>) -> impl IntoView {
    let amounts = money.iter().map(|money| {
        view! {
            <li>
                <bdi class="money">{wording::money(money)}</bdi>
            </li>
        }
    });
    (!money.is_empty()).then(|| view! { <ul class="amounts">{amounts.collect_view()}</ul> })
}
