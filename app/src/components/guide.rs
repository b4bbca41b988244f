//! The first start: make a token, copy this, watch it appear.

use leptos::prelude::*;

use super::copy::Snippet;
use crate::{functions::read_overview::Guide, wording};

/// How often the page looks whether something has appeared, in milliseconds.
#[cfg(feature = "hydrate")]
const LOOK_MS: u64 = 3_000;

const CONFIGURATION: &str = r#"[[workflow]]
name = "accounting-handoff"
title = "Accounting handoff"
description = "create the accounting handoff for {document} in {company}"
amount = "/amount"
currency = "/currency"
"#;

/// What to do where nothing was ever begun.
#[component]
pub(crate) fn FirstSteps(
    guide: Guide,
    /// Whether the one who looks may make tokens.
    administers: bool,
    /// Looks again whether something has appeared.
    look: Callback<()>,
) -> impl IntoView {
    #[cfg(feature = "hydrate")]
    {
        let every = std::time::Duration::from_millis(LOOK_MS);
        if let Ok(handle) = set_interval_with_handle(move || look.run(()), every) {
            on_cleanup(move || handle.clear());
        }
    }
    #[cfg(not(feature = "hydrate"))]
    let _ = look;

    let Guide { address, example, tokens } = guide;
    let has_workflow = example.is_some();
    let begin = example.map(|example| {
        let body = example.body.replace('\'', "'\\''");
        let command = format!(
            "curl -sS {address}/api/v1/operations \\\n  -H \"Authorization: Bearer $ONCEOVER_TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"
        );
        let outcome = format!(
            "curl -sS {address}/api/v1/operations/OPERATION_ID/outcome \\\n  -H \"Authorization: Bearer $ONCEOVER_TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"lease_token\": \"LEASE_TOKEN\", \"outcome\": \"confirmed\", \"destination_reference\": \"task-907\"}}'"
        );
        (example.workflow, command, outcome)
    });
    let token_note = match (tokens, administers) {
        (0, true) => None,
        (0, false) => Some("An administrator makes it in the settings, or on the command line.".to_owned()),
        (tokens, _) => Some(format!("{} accepted.", wording::counted(tokens as u64, "token is", "tokens are"))),
    };

    view! {
        <section class="guide" aria-labelledby="guide-title">
            <h2 id="guide-title">"Three steps to the first operation"</h2>
            <p>
                "What the API takes and answers: "
                <a href="/developers/reference">"API reference"</a>
                ". What your automation asked, and what it was answered: "
                <a href="/developers">"Developers"</a>
                "."
            </p>
            <p>
                "Nothing was begun yet. This page looks for the first operation every few seconds; without script, "
                <a href="/" rel="external">"look again"</a>"."
            </p>
            <ol>
                <Step title="Say what your automation does" is_done=has_workflow>
                    {if has_workflow {
                        view! { <p>"A workflow is configured. "<a href="/settings#workflows">"See its rules"</a>"."</p> }.into_any()
                    } else {
                        view! {
                            <p>
                                "Write this to "<code>"onceover.toml"</code>", change what differs, and apply it with the same "
                                <code>"--database"</code>" that the server runs on."
                            </p>
                            <Snippet text=CONFIGURATION what="configuration" />
                            <Snippet text="onceover apply onceover.toml" what="command" />
                        }
                        .into_any()
                    }}
                </Step>
                <Step title="Make a token" is_done={tokens > 0}>
                    {token_note.map(|note| view! { <p>{note}</p> })}
                    {administers.then(|| view! { <p><a class="button" href="/settings#tokens">"Make a token"</a></p> })}
                    <p>"Keep it where the automation runs:"</p>
                    <Snippet text="export ONCEOVER_TOKEN=oo_…" what="command" />
                </Step>
                <Step title="Ask before you send" is_done=false>
                    {match begin {
                        Some((workflow, command, outcome)) => {
                            view! {
                                <p>
                                    "A begin in "<code>{workflow}</code>". The answer says "<code>"proceed"</code>
                                    " and gives a lease; send it twice and the second is told to wait."
                                </p>
                                <Snippet text=command what="begin command" />
                                <p>"Then say how it went, with the id and the lease token of the answer. Without it, the outcome is unknown once the lease ends, and waits here for you."</p>
                                <Snippet text=outcome what="outcome command" />
                            }
                            .into_any()
                        }
                        None => view! { <p>"The command to copy appears here once a workflow is configured."</p> }.into_any(),
                    }}
                </Step>
            </ol>
        </section>
    }
    .into_any()
}

#[component]
fn Step(title: &'static str, is_done: bool, children: Children) -> impl IntoView {
    view! {
        <li class:is-done=is_done>
            <h3>
                {title}
                {is_done.then(|| view! { <span class="done">" done"</span> })}
            </h3>
            {children()}
        </li>
    }
    .into_any()
}
