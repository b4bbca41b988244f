//! The forms by which a person decides what is uncertain.

use guard::{clock::Timestamp, id::OperationId, person::Person, refusal::Refusal, view::OperationView};
use leptos::{form::ActionForm, html::Section, prelude::*};

use super::{banner::Refused, copy::Copyable, frame::Stirred, heading::bring_soon, money::Amount, plain::Plain};
use crate::{
    failure::Failure,
    functions::resolve::Resolve,
    notice::{Draft, Origin, Verdict},
    wording,
};

/// What a person needs to decide on one operation, and both forms; each carries the version and the fingerprint that it was
/// rendered with. An address leads here by `#decide`.
#[component]
pub(crate) fn DecisionPanel(
    operation: OperationView,
    person: Person,
    origin: Origin,
    /// Until when it cannot be marked as not applied.
    #[prop(into)]
    not_before: Option<Timestamp>,
    /// What was refused before, so that nothing that was written is lost.
    #[prop(into)]
    refused: Option<(Draft, Failure)>,
    /// Whether it was opened on the page that is shown: then it comes into view, with the focus.
    #[prop(optional)]
    is_opened: bool,
    /// The act, so that the page can tell its effect.
    act: ServerAction<Resolve>,
) -> impl IntoView {
    let why_not = wording::why_not_resolve(person.role);
    let mine = |verdict: Verdict| {
        refused.clone().filter(|(draft, _)| draft.verdict == verdict && draft.operation == operation.id)
    };
    let (confirm, not_applied) = (mine(Verdict::Confirmed), mine(Verdict::NotApplied));
    let shown = operation.clone();
    let form = move |verdict, refused| {
        let why_not = match verdict {
            Verdict::Confirmed => why_not.clone(),
            Verdict::NotApplied => why_not.clone().or_else(|| not_before.map(wording::why_not_before)),
        };
        view! { <DecisionForm operation=operation.clone() verdict origin refused why_not act /> }
    };
    let panel = NodeRef::<Section>::new();
    Effect::new(move || {
        if let Some(panel) = panel.get().filter(|_| is_opened) {
            bring_soon(panel);
        }
    });
    view! {
        <section class="panel decision" id="decide" tabindex="-1" aria-labelledby="decide-title" node_ref=panel>
            <h2 id="decide-title">
                "Decide: "
                <Plain text=shown.sentence.clone() />
            </h2>
            <Sought operation=shown origin />
            <div class="decision-forms">
                {form(Verdict::Confirmed, confirm)}
                {form(Verdict::NotApplied, not_applied)}
            </div>
        </section>
    }
    .into_any()
}

/// What a person searches the destination for.
#[component]
fn Sought(operation: OperationView, origin: Origin) -> impl IntoView {
    let link = match origin {
        Origin::Operation => None,
        Origin::Queue => Some(view! {
            <p>
                <a href=format!("/operations/{}", operation.id)>"Open the operation: payload, timeline, evidence"</a>
            </p>
        }),
    };
    view! {
        <dl class="sought">
            <div>
                <dt>"External reference"</dt>
                <dd>
                    <Copyable value=operation.external_reference what="external reference" />
                </dd>
            </div>
            <div>
                <dt>"Money"</dt>
                <dd>
                    <Amount money=operation.money />
                </dd>
            </div>
            <div>
                <dt>"Worker"</dt>
                <dd>
                    {match operation.worker {
                        Some(worker) => view! { <Plain text=worker /> }.into_any(),
                        None => view! { <span class="none">"not named"</span> }.into_any(),
                    }}
                </dd>
            </div>
        </dl>
        <p class="note">"Search the destination for the external reference: the worker was given it to write into the record."</p>
        {link}
    }
    .into_any()
}

#[component]
fn DecisionForm(
    operation: OperationView,
    verdict: Verdict,
    origin: Origin,
    refused: Option<(Draft, Failure)>,
    why_not: Option<String>,
    act: ServerAction<Resolve>,
) -> impl IntoView {
    let (title, effect, button) = match verdict {
        Verdict::Confirmed => (
            "Confirm with reference",
            "The destination holds the record. Repetitions are answered with its reference, and nothing is sent again.",
            "Confirm",
        ),
        Verdict::NotApplied => (
            "Not applied",
            "The destination does not hold it. The next begin may then send it again: be sure.",
            "Mark as not applied",
        ),
    };
    let (draft, failure) = refused.unzip();
    let written = draft.map(|draft| (draft.destination_reference, draft.reason, draft.link));
    let (reference, reason, link) = written.unwrap_or_default();
    let name = verdict.as_str();
    let id = move |part: &str| format!("{name}-{part}");
    let is_barred = why_not.is_some();
    let stirred = use_context::<Stirred>();
    let version = act.version();
    Effect::new(move |seen: Option<usize>| {
        let version = version.get();
        if seen.is_some_and(|seen| seen != version)
            && let Some(stirred) = stirred
        {
            stirred.stir();
        }
        version
    });
    // With script, the refusal stands in the form, and what was written stays in its fields.
    let inline = move || match (act.value().get(), act.input().get()) {
        (Some(Err(failure)), None) => Some(failure),
        _ => None,
    };
    let asked = RwSignal::new(false);

    view! {
        <section class="decision-form" aria-labelledby=id("title")>
            <h3 id=id("title")>{title}</h3>
            <p>{effect}</p>
            {failure.map(|failure| view! { <NotDone failure id=operation.id /> })}
            {move || inline().filter(|_| asked.get()).map(|failure| view! { <NotDone failure id=operation.id /> })}
            <div on:submit=move |_| asked.set(true)>
                <ActionForm action=act>
                    <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
                    <input type="hidden" name="draft[version]" value=operation.version />
                    <input type="hidden" name="draft[fingerprint]" value=operation.fingerprint.to_string() />
                    <input type="hidden" name="draft[verdict]" value=name />
                    <input type="hidden" name="draft[origin]" value=origin.as_str() />
                    {(verdict == Verdict::Confirmed)
                        .then(|| {
                            view! {
                                <label for=id("reference")>"Destination reference"</label>
                                <input
                                    id=id("reference")
                                    name="draft[destination_reference]"
                                    value=reference
                                    required
                                    disabled=is_barred
                                    maxlength="2000"
                                    autocomplete="off"
                                    spellcheck="false"
                                    placeholder="the record's id, such as task-907"
                                />
                            }
                        })}
                    <label for=id("reason")>"Reason"</label>
                    <Reason id=id("reason") reason is_barred />
                    <label for=id("link")>"Link to evidence " <span class="optional">"optional"</span></label>
                    <input
                        id=id("link")
                        name="draft[link]"
                        type="url"
                        value=link
                        disabled=is_barred
                        maxlength="2000"
                        placeholder="https://…"
                    />
                    <p class="actions">
                        <button type="submit" class=("is-danger", verdict == Verdict::NotApplied) disabled=is_barred aria-describedby=is_barred.then(|| id("why-not"))>
                            {button}
                        </button>
                        {why_not.map(|why| view! { <span class="why-not" id=id("why-not")><Plain text=why /></span> })}
                    </p>
                </ActionForm>
            </div>
        </section>
    }
    .into_any()
}

/// Why nothing was changed; where the page is no longer true, the way to the one that is.
#[component]
fn NotDone(failure: Failure, id: OperationId) -> impl IntoView {
    let is_stale = matches!(failure, Failure::Refused(Refusal::Stale { .. } | Refusal::Impossible { .. }));
    view! {
        <Refused what="Nothing was changed" failure />
        {is_stale
            .then(|| {
                view! {
                    <p class="actions">
                        <a class="button is-quiet is-small" rel="external" href=format!("/operations/{id}")>
                            "Look at it as it is now"
                        </a>
                    </p>
                }
            })}
    }
    .into_any()
}

/// The field of the reason. An empty text would be rendered as a space, and that is one in a text area.
#[component]
fn Reason(id: String, reason: String, is_barred: bool) -> impl IntoView {
    let area = leptos::html::textarea().id(id).name("draft[reason]").required(true).disabled(is_barred).rows("2");
    let area = area.maxlength("2000");
    if reason.is_empty() { area.into_any() } else { area.child(reason).into_any() }
}
