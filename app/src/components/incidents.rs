//! Bursts of unknown operations: one row for each, and the button that has them verified together.

use leptos::{form::ActionForm, prelude::*};

use super::{age::Moment, banner::Refused, money::Amounts, plain::Plain};
use crate::{
    functions::{
        propose_verification::ProposeVerification,
        read_incidents::{IncidentView, read_incidents},
    },
    wording,
};

/// The incidents, where there are some.
#[component]
pub(crate) fn Incidents() -> impl IntoView {
    let act = ServerAction::<ProposeVerification>::new();
    let found = Resource::new(|| (), |()| read_incidents());
    #[cfg(feature = "hydrate")]
    {
        let navigate = leptos_router::hooks::use_navigate();
        Effect::new(move |_| {
            if let Some(Ok(run)) = act.value().get() {
                navigate(&format!("/runs/{run}"), leptos_router::NavigateOptions::default());
            }
        });
    }
    let inline = move || match act.value().get() {
        Some(Err(failure)) => Some(view! { <Refused what="Nothing was begun" failure /> }),
        Some(Ok(_)) | None => None,
    };
    let shown = move || {
        Suspend::new(async move {
            let found = found.await.unwrap_or_default();
            let refused = found.refused.map(|failure| view! { <Refused what="Nothing was begun" failure /> });
            if found.shown.is_empty() {
                return refused.into_any();
            }
            let why_not = found.why_not;
            let rows = found.shown.into_iter().map(|incident| {
                view! { <Row incident is_barred=why_not.is_some() act /> }
            });
            let rows = rows.collect_view();
            let further = (found.further > 0)
                .then(|| view! { <p>{format!("and {} more", wording::counted(found.further as u64, "incident", "incidents"))}</p> });
            view! {
                {refused}
                <section class="panel incidents" aria-labelledby="incidents-title">
                    <h2 id="incidents-title">"Incidents"</h2>
                    <ul>{rows}</ul>
                    {further}
                    {why_not.map(|why| view! { <p class="why-not"><Plain text=why /></p> })}
                    {inline}
                </section>
            }
            .into_any()
        })
    };
    view! { <Transition>{shown}</Transition> }.into_any()
}

#[component]
fn Row(incident: IncidentView, is_barred: bool, act: ServerAction<ProposeVerification>) -> impl IntoView {
    let IncidentView { destination, cause, from, to, operation, count, is_cut, money } = incident;
    let told = wording::counted_or_more(count as u64, is_cut, "unknown operation", "unknown operations");
    view! {
        <li>
            <div>
                <p>
                    <strong>
                        <Plain text=destination />
                    </strong>
                    ": "
                    <Plain text=cause />
                </p>
                <p class="incident-told">
                    {told}
                    ", "
                    <Moment at=from />
                    " to "
                    <Moment at=to />
                </p>
            </div>
            <Amounts money />
            <ActionForm action=act>
                <input type="hidden" name="operation" value=operation.to_string() />
                <button type="submit" class="is-quiet is-small" disabled=is_barred>"Verify together…"</button>
            </ActionForm>
        </li>
    }
    .into_any()
}
