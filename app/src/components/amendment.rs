//! Where an amendment stands: a word, a drawing and a colour.

use guard::amendment::AmendmentStateName;
use leptos::prelude::*;

use super::icon::{Icon, Picture};
use crate::wording;

/// The badge of an amendment's state; in the colours of what becomes of its operation.
#[component]
pub(crate) fn AmendmentBadge(state: AmendmentStateName) -> impl IntoView {
    let (picture, tone) = match state {
        AmendmentStateName::AwaitingApproval => (Picture::Clock, "awaiting_approval"),
        AmendmentStateName::Approved => (Picture::Check, "confirmed"),
        AmendmentStateName::Begun => (Picture::Arrow, "sending"),
        AmendmentStateName::Rejected | AmendmentStateName::Withdrawn | AmendmentStateName::Expired => {
            (Picture::Barred, "rejected")
        }
        AmendmentStateName::Void => (Picture::Warning, "disputed"),
    };
    view! {
        <span class=format!("badge is-{tone}")>
            <Icon picture />
            {wording::amendment::state_word(state)}
        </span>
    }
    .into_any()
}
