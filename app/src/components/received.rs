//! What a customer received, when, in which version.

use guard::{
    id::OperationId,
    message::{MessageEvent, MessageStep, MessageVersion, Receipt},
};
use leptos::prelude::*;

use super::{age::Moment, money::Amount, plain::Plain};

/// The versions of a message, plainly.
#[component]
pub(crate) fn ReceivedPanel(
    versions: Vec<MessageVersion>,
    /// The operation whose page it is.
    shown: OperationId,
) -> impl IntoView {
    let received = versions.iter().rev().find(|version| matches!(version.receipt, Receipt::Received { .. }));
    let answer = match received {
        Some(version) => format!("The customer received version {}.", version.operation.key.revision),
        None if versions.iter().any(|version| matches!(version.receipt, Receipt::Uncertain { .. })) => {
            "Nobody knows whether the customer received it.".to_owned()
        }
        None => "The customer has received nothing.".to_owned(),
    };
    let items = versions.into_iter().map(|version| view! { <Version version shown /> });
    view! {
        <section class="panel received" aria-labelledby="received-title">
            <h2 id="received-title">"What the customer received"</h2>
            <p>
                <strong>{answer}</strong>
                " The same message again is an attempt of the same version; a changed one is a new version."
            </p>
            <ol>{items.collect_view()}</ol>
        </section>
    }
    .into_any()
}

#[component]
fn Version(version: MessageVersion, shown: OperationId) -> impl IntoView {
    let MessageVersion { operation, receipt, steps } = version;
    let is_shown = operation.id == shown;
    let receipt = match receipt {
        Receipt::Received { at, reference } => view! {
            "received, known since "
            <Moment at />
            ", as "
            <code>
                <Plain text=reference />
            </code>
        }
        .into_any(),
        Receipt::Uncertain { reason } => view! {
            "may have been received: "
            <Plain text=reason />
        }
        .into_any(),
        Receipt::NotReceived { reason } => view! {
            "not received: "
            <Plain text=reason />
        }
        .into_any(),
    };
    let name = format!("Version {}", operation.key.revision);
    let name = if is_shown {
        view! { <strong aria-current="true">{name}</strong> }.into_any()
    } else {
        view! { <a href=format!("/operations/{}", operation.id)>{name}</a> }.into_any()
    };
    let steps = steps.into_iter().map(|step| {
        view! {
            <li>
                <Moment at=step.at />
                " "
                {in_words(&step)}
            </li>
        }
    });
    view! {
        <li>
            <p>
                {name}
                " "
                <Amount money=operation.money />
                " · "
                {receipt}
            </p>
            <ul>{steps.collect_view()}</ul>
        </li>
    }
    .into_any()
}

fn in_words(step: &MessageStep) -> String {
    let state = step.state.as_deref().unwrap_or_default().replace('_', " ");
    let then = if state.is_empty() { String::new() } else { format!(": {state}") };
    let what = match step.event {
        MessageEvent::Begun => return format!("attempt {} was permitted", step.attempt.unwrap_or(1)),
        MessageEvent::Expired => "the worker did not come back",
        MessageEvent::Released => "the lease ended before anything could be sent",
        MessageEvent::Reported => "the worker reported",
        MessageEvent::LateReport => "a late report was kept",
        MessageEvent::LookedUp => "the destination was asked",
        MessageEvent::Decided => "a person decided",
    };
    format!("{what}{then}")
}
