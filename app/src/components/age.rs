//! Moments and ages. The server writes UTC; the browser writes moments again where another zone is chosen. Nothing here asks the browser
//! for the time, so that both halves agree.

use guard::clock::{Timestamp, rfc3339};
use leptos::prelude::*;

use super::zone;
use crate::wording;

/// A moment to the second in the zone that is chosen, the exact moment in UTC on hover.
#[component]
pub(crate) fn Moment(at: Timestamp) -> impl IntoView {
    view! {
        <time class="moment" datetime=rfc3339(at) title=wording::exact_moment(at)>
            {move || zone::moment(at)}
        </time>
    }
    .into_any()
}

/// How long ago, the exact moment on hover.
#[component]
pub(crate) fn Age(since: Timestamp, now: Timestamp) -> impl IntoView {
    view! {
        <time class="age" datetime=rfc3339(since) title=wording::exact_moment(since)>
            {wording::age(since, now)}
        </time>
    }
    .into_any()
}

/// When the page was true.
#[component]
pub(crate) fn AsOf(at: Timestamp) -> impl IntoView {
    view! {
        <p class="as-of">
            "as of "
            <time datetime=rfc3339(at) title=wording::exact_moment(at)>
                {move || zone::time_of_day(at)}
            </time>
        </p>
    }
    .into_any()
}
