//! The records of an operation that were asked to be taken back.

use guard::reversal::Reversal;
use leptos::prelude::*;

use super::{badge::Badge, plain::Plain};
use crate::wording;

/// The list, with the operation that takes each record back; nothing where nobody asked.
#[component]
pub(crate) fn Reversals(reversals: Vec<Reversal>) -> impl IntoView {
    if reversals.is_empty() {
        return ().into_any();
    }
    let items = reversals.into_iter().map(|reversal| {
        let told = wording::amendment::reversal(&reversal);
        view! {
            <li>
                <p><code><Plain text=reversal.record.clone() /></code> ": " {told} "."</p>
                <p>
                    <a href=format!("/operations/{}", reversal.operation)>"The reversal"</a>
                    " "
                    <Badge state=reversal.state />
                    " "
                    <a href=format!("/amendments/{}", reversal.amendment)>"how it was decided"</a>
                </p>
                <p class="note"><Plain text=reversal.reason /></p>
            </li>
        }
    });
    view! {
        <section class="panel" aria-labelledby="reversals-title">
            <h2 id="reversals-title">"Records that are taken back"</h2>
            <ul class="evidence">{items.collect_view()}</ul>
        </section>
    }
    .into_any()
}
