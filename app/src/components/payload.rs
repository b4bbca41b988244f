//! A payload, and what of it is masked.

use guard::{clock::Timestamp, id::OperationId, json::Json, person::Person, veil::Veil};
use leptos::{form::ActionForm, prelude::*};

use super::{claim::PlaceFields, plain::Plain};
use crate::{
    functions::{list_unknown::Asked, open_fields::OpenFields},
    notice::Origin,
    wording,
};

/// What is masked, and the button that opens it.
#[component]
pub(crate) fn Opening(
    operation: OperationId,
    veil: Veil,
    person: Person,
    origin: Origin,
    /// The queue as it is, where it stands there.
    #[prop(optional)]
    place: Asked,
    /// The act, so that the page can read anew.
    act: ServerAction<OpenFields>,
) -> impl IntoView {
    if veil.is_lifted() {
        return ().into_any();
    }
    let why_not = wording::review::why_not_open(person.role);
    let is_barred = why_not.is_some();
    view! {
        <ActionForm action=act>
            <input type="hidden" name="operation" value=operation.to_string() />
            <input type="hidden" name="origin" value=origin.as_str() />
            <PlaceFields place prefix="place" />
            <p class="actions">
                <span class="note">"Masked as sensitive: "<Plain text=veil.places().join(", ") /></span>
                <button type="submit" class="is-quiet is-small" disabled=is_barred aria-describedby=is_barred.then_some("open-why-not")>
                    "Open (the trail tells so)"
                </button>
                {why_not.map(|why| view! { <span class="why-not" id="open-why-not"><Plain text=why /></span> })}
            </p>
        </ActionForm>
    }
    .into_any()
}

/// A payload as JSON, line by line.
#[component]
pub(crate) fn Payload(payload: Option<String>, dropped_at: Option<Timestamp>) -> impl IntoView {
    let Some(payload) = payload else {
        let when = dropped_at.map(|at| format!(" {}", wording::moment(at))).unwrap_or_default();
        let text =
            format!("The payload was dropped{when} by retention. Its fingerprint, its key and its outcome stay.");
        return view! { <p class="empty">{text}</p> }.into_any();
    };
    // What the store holds was read strictly when it came; should it not be JSON any more, it is shown as it is.
    let text = Json::parse(payload.as_bytes()).map_or(payload, |json| json.indented());
    let lines = text.lines().map(|line| {
        view! {
            <span class="line">
                <Plain text=line.to_owned() />
            </span>
            "\n"
        }
    });
    view! {
        <pre class="payload" tabindex="0" role="region" aria-label="The payload as JSON">
            <code>{lines.collect_view()}</code>
        </pre>
    }
    .into_any()
}
