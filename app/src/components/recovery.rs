//! How recovery of an unknown operation stands: what was shown, what is waited for, and the button that asks for a lookup now.

use guard::{
    clock::Timestamp,
    id::OperationId,
    person::Person,
    service::{Outlook, Standing},
};
use leptos::{form::ActionForm, prelude::*};

use super::{banner::Refused, claim::PlaceFields, plain::Plain};
use crate::{
    functions::{list_unknown::Asked, look_up_now::LookUpNow},
    notice::{Haste, HasteNotice, Origin},
    wording,
};

/// The panel about an uncertain operation.
#[component]
pub(crate) fn RecoveryPanel(
    operation: OperationId,
    /// How recovery stands; none where two truths contradict each other.
    #[prop(into)]
    outlook: Option<Outlook>,
    standing: Standing,
    person: Person,
    origin: Origin,
    /// The queue as it is, where it stands there.
    #[prop(optional)]
    place: Asked,
    /// When the outlook was true.
    now: Timestamp,
    /// What became of the wish before.
    #[prop(into)]
    notice: Option<HasteNotice>,
    /// The act, so that the page can read anew.
    act: ServerAction<LookUpNow>,
    /// The operation that it was last asked for: the page may show others.
    asked: RwSignal<Option<OperationId>>,
) -> impl IntoView {
    let why_not = wording::why_not_look_up(outlook.as_ref(), &standing, person.role);
    let is_barred = why_not.is_some();
    let told = notice.map(|notice| match notice {
        HasteNotice::Done(haste) => view! { <Done haste /> }.into_any(),
        HasteNotice::Refused(failure) => view! { <Refused what="No lookup was asked for" failure /> }.into_any(),
    });
    let inline = move || match act.value().get().filter(|_| asked.get() == Some(operation)) {
        Some(Ok(haste)) => Some(view! { <Done haste /> }.into_any()),
        Some(Err(failure)) => Some(view! { <Refused what="No lookup was asked for" failure /> }.into_any()),
        None => None,
    };
    let sentences = wording::looking(outlook.as_ref(), &standing, now).into_iter().map(|sentence| {
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
            <div on:submit=move |_| asked.set(Some(operation))>
                <ActionForm action=act>
                    <input type="hidden" name="operation" value=operation.to_string() />
                    <input type="hidden" name="origin" value=origin.as_str() />
                    <PlaceFields place prefix="place" />
                    <p class="actions">
                        <button type="submit" class="is-quiet" data-key="l" disabled=is_barred aria-describedby=is_barred.then_some("look-up-why-not")>
                            "Look up now"
                        </button>
                        {why_not.map(|why| view! { <span class="why-not" id="look-up-why-not"><Plain text=why /></span> })}
                    </p>
                </ActionForm>
            </div>
        </section>
    }
    .into_any()
}

#[component]
fn Done(haste: Haste) -> impl IntoView {
    let told = match haste {
        Haste::Due => "It is looked for within a moment; what comes of it stands in the timeline.".to_owned(),
        Haste::Looked { shown } => {
            format!("The destination was asked just now. {shown} It stays disputed until a person decides.")
        }
    };
    view! {
        <p class="note" role="status">
            <Plain text=told />
        </p>
    }
    .into_any()
}
