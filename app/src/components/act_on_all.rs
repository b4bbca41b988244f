//! The form that asks what a run over everything that a filter says would act on.

use guard::lists::{ListPage, RUN_ITEMS_MAX, RunAction};
use leptos::{form::ActionForm, prelude::*};

use super::{banner::Refused, plain::Plain};
use crate::functions::propose_run::ProposeRun;

/// A button for each action. All lead to a preview.
#[component]
pub(crate) fn ActOnAll(
    page: ListPage,
    #[prop(into)] query: Signal<String>,
    /// Why the one who looks may not.
    #[prop(into)]
    why_not: Option<String>,
) -> impl IntoView {
    let act = ServerAction::<ProposeRun>::new();
    let is_barred = why_not.is_some();
    #[cfg(feature = "hydrate")]
    {
        let navigate = leptos_router::hooks::use_navigate();
        Effect::new(move |_| {
            if let Some(Ok(run)) = act.value().get() {
                navigate(&format!("/runs/{run}"), leptos_router::NavigateOptions::default());
            }
        });
    }
    let refused = move || match act.value().get() {
        Some(Err(failure)) => Some(view! { <Refused what="Nothing was begun" failure /> }),
        Some(Ok(_)) | None => None,
    };
    let button = move |action: RunAction, word: &'static str| {
        view! {
            <ActionForm action=act>
                <input type="hidden" name="page" value=page.as_str() />
                <input type="hidden" name="query" value=move || query.get() prop:value=move || query.get() />
                <input type="hidden" name="action" value=action.as_str() />
                <button type="submit" class="is-quiet is-small" disabled=is_barred>{word}</button>
            </ActionForm>
        }
    };
    view! {
        <section class="act-on-all" aria-label="Act on all of them">
            <p>
                {format!(
                    "All that are uncertain here, at most {RUN_ITEMS_MAX}; a preview comes first. Outcomes are decided one by one: each rests on evidence of its own.",
                )}
            </p>
            <div class="actions">
                {button(RunAction::LookUp, "Look up all…")}
                {button(RunAction::Claim, "Claim all…")}
                {button(RunAction::Verify, "Verify together…")}
                {(page == ListPage::Unknown).then(|| button(RunAction::KeepWaiting, "Keep all waiting…"))}
                {why_not.map(|why| view! { <span class="why-not"><Plain text=why /></span> })}
            </div>
            {refused}
        </section>
    }
    .into_any()
}
