//! How recovery of an unknown operation stands: what was shown, what is waited for, and the button that asks for a lookup now.

use guard::{clock::Timestamp, id::OperationId, person::Person, service::Outlook};
use leptos::{form::ActionForm, prelude::*};

use super::{banner::Refused, plain::Plain};
use crate::{functions::look_up_now::LookUpNow, notice::HasteNotice, wording};

/// The panel on the page of an operation.
#[component]
pub(crate) fn RecoveryPanel(
    operation: OperationId,
    outlook: Outlook,
    person: Person,
    /// When the outlook was true.
    now: Timestamp,
    /// What became of the wish before.
    #[prop(into)]
    notice: Option<HasteNotice>,
    /// The act, so that the page can read anew.
    act: ServerAction<LookUpNow>,
) -> impl IntoView {
    let why_not = wording::why_not_look_up(&outlook, person.role);
    let is_barred = why_not.is_some();
    let told = notice.map(|notice| match notice {
        HasteNotice::Due => view! { <Due /> }.into_any(),
        HasteNotice::Refused(failure) => view! { <Refused what="No lookup was asked for" failure /> }.into_any(),
    });
    let inline = move || match act.value().get() {
        Some(Ok(_)) => Some(view! { <Due /> }.into_any()),
        Some(Err(failure)) => Some(view! { <Refused what="No lookup was asked for" failure /> }.into_any()),
        None => None,
    };
    let sentences = wording::outlook(&outlook, now).into_iter().map(|sentence| {
        view! {
            <p>
                <Plain text=sentence />
            </p>
        }
    });
    view! {
        <section class="panel recovery" id="recovery" aria-labelledby="recovery-title">
            <h2 id="recovery-title">"Looking for it"</h2>
            {told}
            {inline}
            {sentences.collect_view()}
            <ActionForm action=act>
                <input type="hidden" name="operation" value=operation.to_string() />
                <p class="actions">
                    <button type="submit" class="is-quiet" data-key="l" disabled=is_barred aria-describedby=is_barred.then_some("look-up-why-not")>
                        "Look up now"
                    </button>
                    {why_not.map(|why| view! { <span class="why-not" id="look-up-why-not"><Plain text=why /></span> })}
                </p>
            </ActionForm>
        </section>
    }
    .into_any()
}

#[component]
fn Due() -> impl IntoView {
    view! {
        <p class="note" role="status">
            "It is looked for within a moment; what comes of it stands in the timeline."
        </p>
    }
    .into_any()
}
