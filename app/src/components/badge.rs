//! A state: a word, a drawing and a colour.

use guard::state::StateName;
use leptos::prelude::*;

use super::icon::{Icon, Picture};
use crate::wording;

/// The drawing of a state.
const fn picture(state: StateName) -> Picture {
    match state {
        StateName::AwaitingApproval => Picture::Clock,
        StateName::Rejected => Picture::Barred,
        StateName::Acquired => Picture::Lock,
        StateName::Sending => Picture::Arrow,
        StateName::Released => Picture::Back,
        StateName::Failed => Picture::Cross,
        StateName::Unknown => Picture::Question,
        StateName::Confirmed => Picture::Check,
        StateName::Disputed => Picture::Warning,
    }
}

/// The badge of a state.
#[component]
pub(crate) fn Badge(state: StateName) -> impl IntoView {
    view! {
        <span class=format!("badge is-{}", state.as_str())>
            <Icon picture=picture(state) />
            {wording::state_word(state)}
        </span>
    }
    .into_any()
}
