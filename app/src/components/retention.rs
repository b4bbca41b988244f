//! How the content of an operation stands: kept, dropped, on hold; and the form of a hold.

use guard::{
    person::Person,
    retention::{Hold, HoldScope},
    view::OperationView,
};
use leptos::prelude::*;

use super::{
    banner::{Done, Refused},
    plain::Plain,
    tokens::WhyNot,
};
use crate::{
    notice::retention::{HoldAct, HoldNotice},
    wording,
};

/// What is kept of an operation, and for how long.
#[component]
pub(crate) fn RetentionPanel(
    operation: OperationView,
    holds: Vec<Hold>,
    person: Person,
    #[prop(into)] notice: Option<HoldNotice>,
) -> impl IntoView {
    let why_not = wording::retention::why_not_erase(person.role);
    let is_barred = why_not.is_some();
    let (told, chosen, reason) = match notice {
        None => (None, None, String::new()),
        Some(HoldNotice::Done(_, act)) => {
            let text = match act {
                HoldAct::HoldOperation | HoldAct::HoldDocument => "It is on legal hold: nothing of it is dropped.",
                HoldAct::LiftOperation | HoldAct::LiftDocument => "The hold is lifted.",
            };
            (Some(view! { <Done><p>{text}</p></Done> }.into_any()), None, String::new())
        }
        Some(HoldNotice::Refused(draft, failure)) => {
            (Some(view! { <Refused what="Nothing was changed" failure /> }.into_any()), Some(draft.act), draft.reason)
        }
    };
    let choices = HoldScope::ALL.map(|scope| {
        let is_held = holds.iter().any(|hold| hold.scope == scope);
        let act = if is_held { HoldAct::lift(scope) } else { HoldAct::place(scope) };
        let text = match (is_held, scope) {
            (false, HoldScope::Operation) => "Hold this operation",
            (false, HoldScope::Document) => "Hold the document, with every operation of it",
            (true, HoldScope::Operation) => "Lift the hold on this operation",
            (true, HoldScope::Document) => "Lift the hold on the document",
        };
        view! {
            <label class="check">
                <input
                    type="radio"
                    name="draft[act]"
                    value=act.as_str()
                    checked=chosen == Some(act)
                    disabled=is_barred
                    required
                />
                {text}
            </label>
        }
    });
    let content = match operation.payload_dropped_at {
        Some(at) => format!("The content was dropped {}.", wording::moment(at)),
        None if holds.is_empty() => "The content is kept, and nothing is on hold.".to_owned(),
        None => "The content is kept.".to_owned(),
    };
    view! {
        <section class="panel" id="content" aria-labelledby="content-title">
            <h2 id="content-title">"Content"</h2>
            {told}
            <p>{content}</p>
            {holds.iter().map(|hold| view! { <p class="held"><Plain text=wording::retention::hold(hold) /></p> }).collect_view()}
            <form method="post" action="/fn/change_hold" autocomplete="off">
                <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
                <input type="hidden" name="draft[version]" value=operation.version />
                <fieldset>
                    <legend>"Legal hold"</legend>
                    {choices.collect_view()}
                </fieldset>
                <label for="hold-reason">"Reason"</label>
                <input id="hold-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" />
                <WhyNot button="Change the hold" id="hold-why-not" why_not />
            </form>
            <p class="actions">
                <a class="button is-quiet" href=format!("/operations/{}/content", operation.id)>"Erase the content"</a>
            </p>
        </section>
    }
    .into_any()
}
