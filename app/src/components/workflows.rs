//! Workflows and their rules, as they are configured.

use guard::{
    amendment::Place,
    destination::Destination,
    pointer::Pointer,
    workflow::{Correction, KeyPlace, KeyPlaces},
};
use leptos::prelude::*;

use super::{copy::Snippet, facts::Told, plain::Plain};
use crate::{functions::read_settings::ConfiguredWorkflow, wording};

/// One workflow with its rules.
#[component]
pub(crate) fn WorkflowCard(configured: ConfiguredWorkflow) -> impl IntoView {
    let ConfiguredWorkflow { workflow, version, destination, is_retired, retention: dropping } = configured;
    let actions = workflow.actions.iter().map(|action| action.as_str().to_owned()).collect::<Vec<_>>().join(", ");
    let steps = if workflow.two_step {
        "two: a worker marks the moment before it sends, so that a lease that ends before proves that nothing was sent"
    } else {
        "one: sending is possible from the begin on"
    };
    let money = match (&workflow.amount, &workflow.currency) {
        (Some(amount), Some(currency)) => format!("{amount} in {currency}"),
        (None | Some(_), None) | (None, Some(_)) => "not read".to_owned(),
    };
    let key_fields = workflow.key_fields.iter().map(|field| field.payload.to_string()).collect::<Vec<_>>();
    let retention = match workflow.retention.payload_days {
        Some(days) => format!("payloads {}, keys and outcomes for ever", wording::counted(days.into(), "day", "days")),
        None => "everything for ever".to_owned(),
    };
    let alike = match &workflow.look_alikes {
        Some(rules) => format!(
            "hinted: same company, amount and {}, at most {} apart",
            rules.counterparty,
            wording::counted(rules.days.into(), "day", "days")
        ),
        None => "not hinted".to_owned(),
    };
    let rules = &workflow.amendment;
    let amendment = if rules.amendable.is_empty() {
        "nothing may be amended".to_owned()
    } else {
        format!(
            "{}; before reconciliation {}, after it {}",
            places(&rules.amendable),
            correction(rules.before_reconciliation),
            correction(rules.after_reconciliation)
        )
    };
    view! {
        <article class="panel workflow" class:is-retired=is_retired>
            <h3>
                <Plain text=workflow.title().to_owned() />
            </h3>
            <p class="note">
                <code>
                    <Plain text=workflow.name.as_str().to_owned() />
                </code>
                " · policy version "
                {version}
            </p>
            {is_retired
                .then(|| {
                    view! {
                        <p>
                            <strong>"Retired"</strong>
                            ": the latest file left it out. Nothing new is begun in it; what was begun can be finished."
                        </p>
                    }
                })}
            {workflow.description.clone().map(|description| view! { <p><Plain text=description /></p> })}
            <dl class="facts">
                <Told name="Actions" text=actions />
                <Told name="Steps" text=steps.to_owned() />
                <Told name="Lease" text=format!("{}, at most {}", wording::seconds(workflow.lease_seconds), wording::seconds(workflow.max_lease_seconds)) />
                <Told name="Left out of the fingerprint" text=if workflow.volatile.is_empty() { "nothing".to_owned() } else { pointers(&workflow.volatile) } />
                <Told name="Money" text=money />
                <Told name="Key fields" text=if key_fields.is_empty() { "none".to_owned() } else { key_fields.join(", ") } />
                {proxy_key(&workflow.key).map(|text| view! { <Told name="Key of the proxy" text /> })}
                <Told name="Kept" text=retention />
                {dropping.map(|standing| view! { <Told name="Dropped" text=wording::retention::standing(&standing) /> })}
                <Told name="Amendments" text=amendment />
                <Told name="Look-alikes" text=alike />
                <Told name="Destination" text=destination.map_or_else(|| "none".to_owned(), |destination| told(&destination)) />
            </dl>
        </article>
    }
    .into_any()
}

/// How workflows are changed.
#[component]
pub(crate) fn WorkflowsHint() -> impl IntoView {
    view! {
        <p class="note">"Workflows are set by a file, all or nothing, each change an entry in the trail:"</p>
        <Snippet text="onceover export > onceover.toml\nonceover check onceover.toml\nonceover apply onceover.toml" what="commands" />
    }
    .into_any()
}

fn pointers(pointers: &[Pointer]) -> String {
    pointers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn places(places: &[Place]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Where the parts of a key stand for callers of the proxy; none where they send them all.
fn proxy_key(places: &KeyPlaces) -> Option<String> {
    let part = |name: &str, place: Option<&KeyPlace>| {
        place.map(|place| match place {
            KeyPlace::Body(pointer) => format!("{name} at {pointer}"),
            KeyPlace::Text(text) => format!("{name} {text}"),
        })
    };
    let placed = |name: &str, place: Option<&Pointer>| place.map(|pointer| format!("{name} at {pointer}"));
    let parts = [
        part("company", places.company.as_ref()),
        part("source system", places.source_system.as_ref()),
        placed("document", places.document.as_ref()),
        part("action", places.action.as_ref()),
        placed("revision", places.revision.as_ref()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

const fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::Amend => "amended in place",
        Correction::Replace => "replaced",
        Correction::ReverseAndRepost => "reversed and posted anew",
        Correction::Forbid => "not corrected",
        Correction::Reverse => "taken back",
    }
}

fn told(destination: &Destination) -> String {
    let lookup = match (&destination.lookup, destination.finality_seconds) {
        (None, _) => "without a lookup: every uncertain case goes to a person".to_owned(),
        (Some(_), None) => "with a lookup whose absence is never proof".to_owned(),
        (Some(_), Some(seconds)) => format!("with a lookup; absence is proof after {seconds} seconds"),
    };
    format!("{} at {}, {lookup}", destination.name, destination.base_url)
}
