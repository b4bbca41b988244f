//! What an act did, or why it did nothing.

use guard::state::StateName;
use leptos::prelude::*;

use super::{
    age::Moment,
    badge::Badge,
    fault,
    icon::{Icon, Picture},
    plain::Plain,
};
use crate::{failure::Failure, notice::Decided};

/// An effect: read out, and standing until the next page.
#[component]
pub(crate) fn Done(children: Children) -> impl IntoView {
    view! {
        <div class="banner is-done" role="status">
            <Icon picture=Picture::Check />
            <div>{children()}</div>
        </div>
    }
    .into_any()
}

/// No effect, and the reason.
#[component]
pub(crate) fn Refused(
    /// What was not done.
    what: &'static str,
    failure: Failure,
) -> impl IntoView {
    view! {
        <div class="banner is-refused" role="alert">
            <Icon picture=Picture::Warning />
            <div>
                <p>
                    <strong>{what}</strong>
                </p>
                <p>
                    <Plain text=fault::sentence(&failure) />
                </p>
            </div>
        </div>
    }
    .into_any()
}

/// The effect of a decision: from what to what, by whom, when.
#[component]
pub(crate) fn DecidedBanner(decided: Decided) -> impl IntoView {
    let Decided { settled, by } = decided;
    let operation = settled.operation;
    let state = operation.state.name();
    let effect = match state {
        StateName::Confirmed => "Repetitions are answered with this result from now on.",
        StateName::Failed => "The next begin with the same payload may send it again.",
        StateName::AwaitingApproval
        | StateName::Rejected
        | StateName::Acquired
        | StateName::Sending
        | StateName::Released
        | StateName::Unknown
        | StateName::Disputed => "",
    };
    let reference = operation.state.destination_reference().map(|reference| {
        view! {
            " as "
            <code>
                <Plain text=reference />
            </code>
        }
    });
    view! {
        <Done>
            <p>
                <a href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.sentence.clone() />
                </a>
                ": "
                <Badge state=settled.before />
                <span aria-hidden="true">" → "</span>
                <span class="hidden">" became "</span>
                <Badge state=state />
                {reference}
                ", by "
                <Plain text=by />
                " at "
                <Moment at=operation.updated_at />
                "."
            </p>
            <p>{effect}</p>
        </Done>
    }
    .into_any()
}
