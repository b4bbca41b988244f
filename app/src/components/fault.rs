//! A page that cannot be shown, and what to do about it.

use guard::{
    conflict::ConflictRefusal,
    refusal::{Refusal, StoreFault},
};
use leptos::prelude::*;

use super::{heading::Heading, plain::Plain};
use crate::{failure::Failure, wording};

/// A failure that takes the place of a page; the answer takes its status.
#[component]
pub(crate) fn Fault(
    failure: Failure,
    /// Whether it takes the place of a part of the page, under the page's own heading.
    #[prop(optional)]
    is_part: bool,
) -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(answer) = use_context::<leptos_axum::ResponseOptions>() {
        answer.set_status(failure.status());
    }
    let (title, next) = told(&failure);
    let is_signed_out = matches!(failure, Failure::SignedOut);
    view! {
        <section class="fault">
            <p class="fault-code" aria-hidden="true">
                {failure.status().as_u16()}
            </p>
            {if is_part {
                view! { <h2>{title}</h2> }.into_any()
            } else {
                view! { <Heading title>{title}</Heading> }.into_any()
            }}
            <p class="fault-reason">
                <Plain text=sentence(&failure) />
            </p>
            <p>{next}</p>
            <p class="actions">
                {is_signed_out.then(|| view! { <a class="button" rel="external" href="/login">"Sign in"</a> })}
                <a class="button is-quiet" rel="external" href="">
                    "Try again"
                </a>
                <a class="button is-quiet" rel="external" href="/">
                    "To the overview"
                </a>
            </p>
        </section>
    }
    .into_any()
}

/// What a failure says, as a sentence.
pub(crate) fn sentence(failure: &Failure) -> String {
    if let Failure::Refused(Refusal::Stale { state, by, at }) = failure {
        let (state, by, at) = (wording::state_word(*state).to_lowercase(), wording::actor(by), wording::moment(*at));
        return format!("Meanwhile it is {state}: {by} changed it at {at}.");
    }
    if let Failure::Refused(Refusal::Conflict(ConflictRefusal::Decided { how, by, at })) = failure {
        return format!("{} decided it at {}: {how}. Nothing was changed.", wording::actor(by), wording::moment(*at));
    }
    let mut text = failure.to_string();
    // What a field is reads on behind its name.
    if let Failure::Refused(Refusal::InvalidField { field, message }) = failure
        && message.starts_with("is ")
    {
        text = format!("{} {message}", field.replace('_', " "));
    }
    let mut characters = text.chars();
    let start = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{start}{}{end}", characters.as_str())
}

const fn told(failure: &Failure) -> (&'static str, &'static str) {
    match failure {
        Failure::Refused(refusal) => match refusal {
            Refusal::RuleViolation { .. } => {
                ("The rules forbid this change", "Nothing was proposed. Finance sets the workflow's rules.")
            }
            Refusal::NotFound { .. } | Refusal::UnknownWorkflow { .. } => {
                ("Not found", "Either it does not exist, or it belongs to a company that you do not see.")
            }
            Refusal::Forbidden { .. } => ("Not allowed", "An administrator can give you the role that this needs."),
            Refusal::InvalidField { .. } => ("That address cannot be read", "Go back, and change what it names."),
            Refusal::Store(fault) => match fault {
                StoreFault::Unavailable | StoreFault::Contended { .. } => (
                    "The store is unavailable",
                    "Nothing that was acknowledged is lost. Automations are told to wait meanwhile.",
                ),
                StoreFault::Full => (
                    "The disk is full",
                    "Nothing that was acknowledged is lost. Automations are told to wait meanwhile.",
                ),
                StoreFault::Corrupt { .. } => (
                    "A record cannot be read",
                    "Keep the database as it is, and show this page to whoever runs Onceover.",
                ),
            },
            Refusal::LeaseExpired
            | Refusal::StaleLease
            | Refusal::OutcomeDisagrees { .. }
            | Refusal::Impossible { .. }
            | Refusal::Stale { .. }
            | Refusal::Unconfirmed { .. }
            | Refusal::AmendmentOpen { .. }
            | Refusal::ReversalExists { .. }
            | Refusal::NoChange
            | Refusal::BaseMoved { .. }
            | Refusal::BaseUncertain { .. }
            | Refusal::Taken { .. }
            | Refusal::Rules(_)
            | Refusal::Period(_)
            | Refusal::Conflict(_) => ("It has moved on", "Nothing was changed. Look at it as it is now."),
        },
        Failure::SignedOut => ("You are signed out", "Your session has ended. What you had open is where it was."),
        Failure::Malformed { .. } => {
            ("That request cannot be read", "The page may be older than the server: load it again.")
        }
        Failure::Transport { .. } => ("The server cannot be reached", "Check the connection, then try again."),
        Failure::Internal => ("Something broke", "It is in the log of the server, with the time of this request."),
    }
}
