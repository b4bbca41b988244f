//! Both sides of an operation, rendered by the server for [`crate::components::sides::SidesPanel`]: what only stands there need not be
//! taken over by the browser's half.

use guard::{clock::Timestamp, evidence::Evidence, id::OperationId, message::MessageVersion};
use leptos::prelude::*;

use crate::{
    components::{
        age::Age,
        diff::{Diff, Diffed},
        evidence::Pieces,
        facts::Valued,
        payload::Payload,
        plain::Plain,
        received::ReceivedPanel,
    },
    wording,
};

/// What is shown of both sides; what is sensitive is masked already.
pub(crate) struct Shown {
    /// The operation.
    pub operation: OperationId,
    /// The values by which people know it, under their places.
    pub values: Vec<(String, String)>,
    /// Its payload; none where it was dropped.
    pub payload: Option<String>,
    /// When it was dropped.
    pub dropped_at: Option<Timestamp>,
    /// When and what the destination was last seen to hold, in a sentence.
    pub seen: Option<(Timestamp, String)>,
    /// The key fields of both, compared, where one record was found.
    pub diffed: Option<Diffed>,
    /// The versions of the message, where its workflow makes messages to customers.
    pub message: Option<Vec<MessageVersion>>,
    /// What people added.
    pub evidence: Vec<Evidence>,
}

/// What was sent, what the destination holds, and what people know, as HTML.
pub(crate) fn html(shown: Shown, now: Timestamp) -> String {
    let Shown { operation, values, payload, dropped_at, seen, diffed, message, evidence } = shown;
    let values = values.into_iter().map(|(place, value)| view! { <Valued place value /> }).collect_view();
    let has_payload = payload.is_some();
    let content = view! { <Payload payload dropped_at /> };
    let sent = if has_payload {
        view! {
            <dl class="facts">{values}</dl>
            <details class="rest">
                <summary>"The whole payload"</summary>
                {content}
            </details>
        }
        .into_any()
    } else {
        content.into_any()
    };
    let held = match seen {
        Some((at, sentence)) => view! {
            <p>
                <Plain text=sentence />
                "."
            </p>
            <p class="note">
                <Age since=at now />
                " ago"
            </p>
        }
        .into_any(),
        None => {
            view! { <p class="note">"Not known: nothing has been seen of it at the destination yet."</p> }.into_any()
        }
    };
    let compared = diffed.map(|diffed| match diffed.changes {
        0 => view! { <p>"The key fields of the record say the same as what was sent."</p> }.into_any(),
        number => view! {
            <p>
                {wording::counted(number as u64, "key field differs", "key fields differ")}
                "; any other says the same."
            </p>
            <Diff diffed />
        }
        .into_any(),
    });
    let known = (!evidence.is_empty()).then(|| {
        view! {
            <section aria-labelledby="known-title">
                <h3 id="known-title">"Evidence"</h3>
                <Pieces evidence dropped=dropped_at is_still=true />
            </section>
        }
    });
    view! {
        <section aria-labelledby="sent-title">
            <h3 id="sent-title">"What was sent"</h3>
            {sent}
        </section>
        <section aria-labelledby="held-title">
            <h3 id="held-title">"What the destination holds"</h3>
            {held}
            {compared}
        </section>
        {known}
        {message.map(|versions| view! { <ReceivedPanel versions shown=operation /> })}
    }
    .to_html()
}
