//! Who is on an uncertain operation, and the buttons by which somebody is or no longer is.

use guard::{clock::Timestamp, id::OperationId, person::Person, review::Claim as Held};
use leptos::{form::ActionForm, prelude::*};

use super::{banner::Refused, plain::Plain};
use crate::{
    failure::Failure,
    functions::{claim::Claim, list_unknown::Asked},
    notice::Origin,
    wording::{self, review},
};

/// Who is on it, with the one button that applies: claim, take over, or give back.
#[component]
pub(crate) fn ClaimBar(
    operation: OperationId,
    #[prop(into)] held: Option<Held>,
    person: Person,
    now: Timestamp,
    origin: Origin,
    /// The queue as it is, where it stands there.
    place: Asked,
    /// Why the claim before was refused.
    #[prop(into)]
    refused: Option<Failure>,
    /// The act, so that the page can read anew.
    act: ServerAction<Claim>,
) -> impl IntoView {
    let why_not = wording::why_not_resolve(person.role);
    let is_barred = why_not.is_some();
    let is_mine = held.as_ref().is_some_and(|held| held.by == person.email);
    let button = match (&held, is_mine) {
        (Some(_), true) => "Give it back",
        (Some(_), false) => "Take over",
        (None, _) => "Claim",
    };
    let inline = move || match act.value().get() {
        Some(Err(failure)) => Some(view! { <Refused what="The claim was not changed" failure /> }),
        Some(Ok(())) | None => None,
    };
    view! {
        <div class="claim">
            {refused.map(|failure| view! { <Refused what="The claim was not changed" failure /> })}
            {inline}
            <ActionForm action=act>
                <input type="hidden" name="operation" value=operation.to_string() />
                <input type="hidden" name="give_back" value=is_mine.to_string() />
                <input type="hidden" name="origin" value=origin.as_str() />
                <PlaceFields place prefix="place" />
                <p class="claim-line">
                    <span class="claim-who">
                        <Plain text=review::claim(held.as_ref(), &person.email, now) />
                    </span>
                    <button type="submit" data-key="e" class="is-quiet is-small" disabled=is_barred aria-describedby=is_barred.then_some("claim-why-not")>
                        {button}
                    </button>
                    {why_not.map(|why| view! { <span class="why-not" id="claim-why-not"><Plain text=why /></span> })}
                </p>
            </ActionForm>
        </div>
    }
    .into_any()
}

/// The queue as it is, in a form: so that whoever comes back finds it as it was.
#[component]
pub(crate) fn PlaceFields(place: Asked, prefix: &'static str) -> impl IntoView {
    let fields = place.pairs().into_iter().map(|(name, value)| {
        view! { <input type="hidden" name=format!("{prefix}[{name}]") value=value.to_owned() /> }
    });
    fields.collect::<Vec<_>>()
}
