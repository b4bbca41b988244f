//! The hint that other operations look like one.

use leptos::prelude::*;

use super::{age::Moment, badge::Badge, plain::Plain};
use crate::{
    look_alike::{Alike, Alikes},
    wording::look_alike as wording,
};

/// The panel on an operation's page.
#[component]
pub(crate) fn LookAlikesPanel(alikes: Alikes) -> impl IntoView {
    let explained = wording::explained(&alikes);
    view! {
        <section class="panel look-alikes" aria-labelledby="look-alikes-title">
            <h2 id="look-alikes-title">"Looks alike"</h2>
            <p class="note">{explained}</p>
            <AlikeList alikes />
        </section>
    }
    .into_any()
}

/// The hint for whoever decides.
#[component]
pub(crate) fn LookAlikesHint(alikes: Alikes) -> impl IntoView {
    view! {
        <div class="look-alikes" role="note" aria-label="Looks alike">
            <p>
                <strong>"Before you decide: "</strong>
                {wording::to_decide(&alikes)}
            </p>
            <AlikeList alikes />
        </div>
    }
    .into_any()
}

#[component]
fn AlikeList(alikes: Alikes) -> impl IntoView {
    let more = wording::more(&alikes);
    let items = alikes.rows.into_iter().map(|alike| {
        let Alike { id, state, sentence, source_system, begun_at } = alike;
        view! {
            <li>
                <Badge state />
                " "
                <a href=format!("/operations/{id}")>
                    <Plain text=sentence />
                </a>
                <span class="note">
                    " from "
                    <Plain text=source_system />
                    ", begun "
                    <Moment at=begun_at />
                </span>
            </li>
        }
    });
    view! {
        <ul>{items.collect_view()}</ul>
        {more.map(|more| view! { <p class="note">{more}</p> })}
    }
    .into_any()
}
