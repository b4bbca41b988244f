//! Channels of notifications, how they fare, and the button that sends a test message.

use guard::notification::{ChannelState, Delivery, Trouble};
use leptos::{form::ActionForm, prelude::*};

use super::{
    age::Moment,
    banner::Refused,
    facts::{Fact, Told},
    plain::Plain,
    tokens::WhyNot,
};
use crate::{
    failure::Failure,
    functions::{read_settings::ChannelView, test_channel::TestChannel},
    notice::ChannelTried,
    wording,
};

/// One channel.
#[component]
pub(crate) fn ChannelCard(
    channel: ChannelView,
    /// What came of the test before.
    #[prop(into)]
    tried: Option<Result<ChannelTried, Failure>>,
    /// Why the one who looks may not test.
    why_not: Option<String>,
) -> impl IntoView {
    let ChannelView { name, way, goes_to, kinds, companies, workflows, quiet_minutes, state } = channel;
    let anchor = wording::notification::anchor(&name);
    let (title, form) = (format!("{anchor}-title"), anchor.clone());
    let kinds: Vec<_> = kinds.into_iter().map(wording::notification::kind).collect();
    let all = |names: Vec<String>| if names.is_empty() { "every one".to_owned() } else { names.join(", ") };
    let quiet = wording::counted(quiet_minutes.into(), "minute", "minutes");
    view! {
        <article class="panel destination" id=anchor aria-labelledby=title>
            <h3 id=title.clone()>
                <Plain text=name.clone() />
            </h3>
            <p class="note">
                {format!("By {} to ", wording::notification::way(way))}
                <Plain text=goes_to />
            </p>
            <dl class="facts">
                <Told name="Tells of" text=kinds.join(", ") />
                <Told name="Companies" text=all(companies) />
                <Told name="Workflows" text=all(workflows) />
                <Told name="Told again" text=format!("after {quiet}, where more came") />
                {state.map(fares)}
            </dl>
            <TestForm name anchor=form tried why_not />
        </article>
    }
    .into_any()
}

/// How a channel fares.
fn fares(state: ChannelState) -> impl IntoView + use<> {
    let counted = format!("{} taken, {} given up", wording::number(state.delivered), wording::number(state.given_up));
    let is_failing = state.is_failing();
    let name = if is_failing { "Trouble" } else { "Trouble before" };
    view! {
        <Told name="Messages" text=counted />
        {state
            .delivered_at
            .map(|at| {
                view! {
                    <Fact name="Last one taken">
                        <Moment at />
                    </Fact>
                }
            })}
        {state.last_error.map(|error| trouble(name, error))}
        {state.switched_off.map(|off| trouble("Switched off", off))}
    }
}

fn trouble(name: &'static str, trouble: Trouble) -> impl IntoView + use<> {
    view! {
        <Fact name>
            <Moment at=trouble.at />
            ": "
            <Plain text=trouble.reason />
        </Fact>
    }
}

#[component]
fn TestForm(
    name: String,
    anchor: String,
    tried: Option<Result<ChannelTried, Failure>>,
    why_not: Option<String>,
) -> impl IntoView {
    let act = ServerAction::<TestChannel>::new();
    let before = StoredValue::new(tried);
    let shown = move || {
        let result = act.value().get().or_else(|| before.get_value())?;
        Some(match result {
            Ok(tried) => view! { <Tried tried /> }.into_any(),
            Err(failure) => view! { <Refused what="Nothing was sent" failure /> }.into_any(),
        })
    };
    view! {
        <div class="try">
            <ActionForm action=act>
                <input type="hidden" name="name" value=name />
                <WhyNot button="Send a test message" id=format!("{anchor}-why-not") why_not />
            </ActionForm>
            <div role="status">{shown}</div>
        </div>
    }
    .into_any()
}

#[component]
fn Tried(tried: ChannelTried) -> impl IntoView {
    let class = match tried.delivery {
        Delivery::Delivered => "tried is-found",
        Delivery::Failed(_) | Delivery::Gone(_) => "tried is-inconclusive",
    };
    view! {
        <section class=class>
            <p>
                <Plain text=wording::notification::delivery(&tried.delivery) />
            </p>
        </section>
    }
    .into_any()
}
