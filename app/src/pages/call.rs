//! `/developers/calls/{id}`: one call, its request and a command that repeats it.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::calls::answer;
use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        copy::{Copyable, Snippet},
        facts::{Fact, Told},
        heading::Heading,
    },
    functions::read_call::{CallView, read_call},
};

/// The call.
#[component]
pub(crate) fn CallPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let call = Resource::new(move || id.get(), read_call);
    let page = page_of(call, move |call| view! { <Shown call /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(call: CallView) -> impl IntoView {
    let CallView { as_of, row, path, detail, about, request, missing, command } = call;
    let answer = answer(&row);
    let problem = row.problem.clone().map(|code| {
        let address = format!("/problems/{code}");
        view! {
            <Fact name="What to do">
                <a rel="external" href=address>"About " <code>{code}</code></a>
            </Fact>
        }
    });
    let operation = row.operation.map(|id| {
        view! { <Fact name="Operation"><a href=format!("/operations/{id}")>"What became of it"</a></Fact> }
    });
    let about = about.into_iter().map(|(name, text)| {
        view! { <div><dt>{name}</dt><dd><crate::components::plain::Plain text /></dd></div> }
    });
    let missing = missing.map(|missing| view! { <p class="note">{missing}</p> });
    let request = match request {
        Some(text) => view! { <Snippet text what="request" /> }.into_any(),
        None => view! { <p class="none">"No request is kept."</p> }.into_any(),
    };
    let command = match command {
        Some(text) => view! {
            <p class="note">"The token is not in it: put yours into " <code>"ONCEOVER_TOKEN"</code> "."</p>
            <Snippet text what="curl command" />
        }
        .into_any(),
        None => {
            view! { <p class="none">"What goes through the proxy is not kept, so that there is no command for it."</p> }
                .into_any()
        }
    };
    view! {
        <div class="page-head">
            <Heading title=row.call.clone()>{row.call.clone()}</Heading>
            <AsOf at=as_of />
        </div>
        <p class="lead"><a href="/developers">"All calls"</a></p>
        <div class="call-page">
            <section class="panel" aria-labelledby="call-title">
                <h2 id="call-title">"The call"</h2>
                <dl class="facts">
                    <Fact name="Answer">{answer}</Fact>
                    {detail.map(|text| view! { <Told name="Told" text /> })}
                    {problem}
                    {operation}
                    <Fact name="Came"><Moment at=row.at /></Fact>
                    <Fact name="Took">{row.taken}</Fact>
                    <Told name="Token" text=row.token />
                    <Told name="Path" text=path />
                    <Fact name="Request id"><Copyable value=row.request_id what="request id" /></Fact>
                    {about.collect_view()}
                </dl>
            </section>
            <section class="panel" aria-labelledby="request-title">
                <h2 id="request-title">"The request"</h2>
                {missing}
                {request}
            </section>
            <section class="panel" aria-labelledby="curl-title">
                <h2 id="curl-title">"The same as curl"</h2>
                {command}
            </section>
        </div>
    }
    .into_any()
}
