//! The forms by which a person decides what is uncertain.

use chrono::TimeDelta;
use guard::{
    clock::Timestamp, event::Resolution, person::Person, refusal::Refusal, review::KEEP_WAITING_DAYS_MAX,
    service::Standing, state::StateName, view::OperationView,
};
use leptos::{children::ViewFn, form::ActionForm, html::Section, prelude::*};

use super::{
    badge::Badge,
    banner::Refused,
    claim::{ClaimBar, PlaceFields},
    copy::Copyable,
    evidence::FileField,
    frame::Stirred,
    heading::bring_soon,
    look_alikes::LookAlikesHint,
    money::Amount,
    plain::Plain,
};
use crate::{
    failure::Failure,
    functions::{claim::Claim, list_unknown::Asked, resolve::Resolve},
    look_alike::Alikes,
    notice::{Draft, Origin, Verdict},
    wording::{self, review},
};

/// What a person needs to decide on one operation, and the forms; each carries the version and the fingerprint that it was rendered
/// with. An address leads here by `#decide`.
#[component]
pub(crate) fn DecisionPanel(
    operation: OperationView,
    person: Person,
    /// Who is on it, what waits, what was proposed.
    standing: Standing,
    /// When that was true.
    now: Timestamp,
    origin: Origin,
    /// The queue as it is, where it stands there.
    #[prop(optional)]
    place: Asked,
    /// The operation that comes next in it; empty: none.
    #[prop(optional)]
    next: String,
    /// Which operations look like it, where the page does not tell already.
    #[prop(into)]
    alikes: Option<Alikes>,
    /// Until when it cannot be marked as not applied.
    #[prop(into)]
    not_before: Option<Timestamp>,
    /// What was refused before, so that nothing that was written is lost.
    #[prop(into)]
    refused: Option<(Draft, Failure)>,
    /// Why a claim was refused before.
    #[prop(into)]
    unclaimed: Option<Failure>,
    /// What is known of both sides, where the page does not tell already.
    #[prop(optional)]
    sides: Option<ViewFn>,
    /// Whether what is known is evidence enough to mark it as not applied.
    known: ViewFn,
    /// Whether it was opened on the page that is shown: then it comes into view, with the focus.
    #[prop(optional)]
    is_opened: bool,
    /// The act, so that the page can tell its effect.
    act: ServerAction<Resolve>,
    /// The claim, so that the page can read anew.
    claim: ServerAction<Claim>,
) -> impl IntoView {
    let Standing {
        claim: held,
        deferral,
        proposal,
        is_void,
        needs_second_person,
        has_lookup,
        may_be_looked_for: _,
        stands_for_amendment,
        rules: _,
    } = standing;
    let why_not = wording::why_not_resolve(person.role);
    let mine = |verdict: Verdict| {
        refused.clone().filter(|(draft, _)| draft.verdict == verdict && draft.operation == operation.id)
    };
    let form = |verdict: Verdict| {
        let cannot_yet = match verdict {
            Verdict::NotApplied => not_before.map(wording::why_not_before),
            Verdict::Dropped => {
                review::why_not_drop(operation.state.name(), stands_for_amendment).map(ToOwned::to_owned)
            }
            Verdict::ConfirmProposal => {
                proposal.as_ref().and_then(|proposal| review::why_not_confirm(proposal, &person.email))
            }
            Verdict::Confirmed | Verdict::KeepWaiting | Verdict::RejectProposal => None,
        };
        let why_not = why_not.clone().or(cannot_yet);
        let is_own = proposal.as_ref().is_some_and(|proposal| proposal.by == person.email);
        let words = Words::of(verdict, has_lookup, is_own);
        let leads = leads_to(verdict, proposal.as_ref().map(|proposal| &proposal.resolution));
        let leads = leads.map(|state| (state, needs_second_person && proposal.is_none()));
        let evidence =
            (verdict == Verdict::NotApplied).then(|| (review::why_not_add_evidence(person.role), known.clone()));
        view! { <DecisionForm operation=operation.clone() verdict words leads evidence now origin place=place.clone() next=next.clone() refused=mine(verdict) why_not has_lookup act /> }
    };
    let verdicts: &[Verdict] = if proposal.is_some() {
        &[Verdict::ConfirmProposal, Verdict::RejectProposal]
    } else {
        &[Verdict::Confirmed, Verdict::NotApplied, Verdict::KeepWaiting, Verdict::Dropped]
    };
    let forms = verdicts.iter().map(|verdict| form(*verdict)).collect::<Vec<_>>();
    let panel = NodeRef::<Section>::new();
    Effect::new(move || {
        if let Some(panel) = panel.get().filter(|_| is_opened) {
            bring_soon(panel);
        }
    });
    let id = operation.id;
    let second = match (&proposal, is_void, needs_second_person) {
        (Some(proposal), ..) => Some(review::proposal(proposal, now)),
        (None, true, _) => {
            Some("What was proposed is void, since something changed meanwhile. It can be decided anew.".to_owned())
        }
        (None, false, true) => Some(
            "Over its workflow's amount, a decision needs a second person: yours is kept as a proposal.".to_owned(),
        ),
        (None, false, false) => None,
    };
    view! {
        <section class="panel decision" id="decide" tabindex="-1" aria-labelledby="decide-title" node_ref=panel>
            <h2 id="decide-title">
                "Decide: "
                <Plain text=operation.sentence.clone() />
            </h2>
            <ClaimBar operation=id held person=person.clone() now origin place=place.clone() refused=unclaimed act=claim />
            {deferral.map(|deferral| view! { <p class="deferral"><Plain text=review::deferral(&deferral, now) /></p> })}
            {second.map(|second| view! { <p class="second-person"><Plain text=second /></p> })}
            {alikes.map(|alikes| view! { <LookAlikesHint alikes /> })}
            <Sought operation=operation.clone() origin />
            {sides.map(|sides| sides.run())}
            <div class="decision-forms">{forms}</div>
        </section>
    }
    .into_any()
}

/// The state that a decision leads to; none where it leads to none.
const fn leads_to(verdict: Verdict, proposed: Option<&Resolution>) -> Option<StateName> {
    match (verdict, proposed) {
        (Verdict::Confirmed, _) | (Verdict::ConfirmProposal, Some(Resolution::Confirmed { .. })) => {
            Some(StateName::Confirmed)
        }
        (Verdict::NotApplied, _) | (Verdict::ConfirmProposal, Some(Resolution::NotApplied { .. })) => {
            Some(StateName::Failed)
        }
        (Verdict::Dropped, _) | (Verdict::ConfirmProposal, Some(Resolution::Dropped { .. })) => {
            Some(StateName::Rejected)
        }
        (Verdict::KeepWaiting | Verdict::RejectProposal | Verdict::ConfirmProposal, _) => None,
    }
}

/// What a form says.
#[derive(Clone, Copy)]
struct Words {
    title: &'static str,
    effect: &'static str,
    button: &'static str,
}

impl Words {
    /// The words of a verdict; where nobody can ask the destination, those of somebody who knows it from elsewhere.
    const fn of(verdict: Verdict, has_lookup: bool, is_own: bool) -> Self {
        let (title, effect, button) = match (verdict, has_lookup) {
            (Verdict::Confirmed, true) => (
                "Confirm with reference",
                "The destination is asked first. Repetitions are answered with this reference then, and nothing is sent again.",
                "Confirm",
            ),
            (Verdict::Confirmed, false) => (
                "Confirm with reference",
                "It was sent. Repetitions are answered with the reference, and nothing is sent again.",
                "Confirm",
            ),
            (Verdict::NotApplied, true) => (
                "Not applied",
                "The destination does not hold it. The next begin may then send it again: be sure. Needs evidence: a file, a link, or a lookup.",
                "Mark as not applied",
            ),
            (Verdict::NotApplied, false) => (
                "Not applied",
                "It was not sent. The next begin may then send it again: be sure. Needs evidence: a file or a link.",
                "Mark as not applied",
            ),
            (Verdict::KeepWaiting, _) => {
                ("Keep waiting", "It stays uncertain and needs nobody until then. Then it comes back.", "Keep waiting")
            }
            (Verdict::Dropped, _) => (
                "Drop it",
                "Nobody can know whether it was sent, and it is not to be sent again. Its key stays taken: every repetition is told to stop.",
                "Drop it",
            ),
            (Verdict::ConfirmProposal, _) => (
                "Confirm the proposal",
                "It is then as proposed, in your name and in that of the first person.",
                "Confirm the proposal",
            ),
            (Verdict::RejectProposal, _) if is_own => {
                ("Take the proposal back", "It stays as it is, and can be decided anew.", "Take it back")
            }
            (Verdict::RejectProposal, _) => {
                ("Reject the proposal", "It stays as it is, and can be decided anew.", "Reject the proposal")
            }
        };
        Self { title, effect, button }
    }
}

/// What a person searches the destination for.
#[component]
fn Sought(operation: OperationView, origin: Origin) -> impl IntoView {
    let link = match origin {
        Origin::Operation => None,
        Origin::Queue => Some(view! {
            <p>
                <a href=format!("/operations/{}", operation.id)>"Open the operation: timeline, conflicts, revisions"</a>
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
    words: Words,
    /// The state that it leads to, and whether only once a second person confirms it.
    #[prop(into)]
    leads: Option<(StateName, bool)>,
    /// Where evidence is given with it: why this person may add none, and what is known already.
    #[prop(into)]
    evidence: Option<(Option<String>, ViewFn)>,
    now: Timestamp,
    origin: Origin,
    place: Asked,
    next: String,
    #[prop(into)] refused: Option<(Draft, Failure)>,
    #[prop(into)] why_not: Option<String>,
    has_lookup: bool,
    act: ServerAction<Resolve>,
) -> impl IntoView {
    let Words { title, effect, button } = words;
    let (draft, failure) = refused.unzip();
    let written = draft.map(|draft| (draft.destination_reference, draft.reason, draft.link, draft.until));
    let (reference, reason, link, until) = written.unwrap_or_default();
    let name = verdict.as_str();
    let id = move |part: &str| format!("{name}-{part}");
    let is_barred = why_not.is_some();
    let key = match verdict {
        Verdict::Confirmed | Verdict::ConfirmProposal => "1",
        Verdict::NotApplied | Verdict::RejectProposal => "2",
        Verdict::KeepWaiting => "3",
        Verdict::Dropped => "4",
    };
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
    let latest = {
        let failure = failure.clone();
        move || inline().filter(|_| asked.get()).or_else(|| failure.clone())
    };
    let shown = move || match latest() {
        Some(Failure::Refused(Refusal::Unconfirmed { shown })) => Some(view! {
            <label class="check">
                <input type="checkbox" name="draft[acknowledged]" value=shown required />
                " I acknowledge what the destination shows: confirm it all the same"
            </label>
        }),
        _ => None,
    };
    let takes_reason = verdict != Verdict::ConfirmProposal;
    let takes_link = matches!(verdict, Verdict::Confirmed | Verdict::NotApplied | Verdict::Dropped);
    let with_file = evidence.is_some();
    let (why_no_evidence, known) = evidence.unzip();
    // Who may not decide is told that, and no more.
    let why_no_evidence = why_no_evidence.flatten().filter(|_| !is_barred);
    let bars_evidence = is_barred || why_no_evidence.is_some();
    let address = format!("/operations/{}/decision", operation.id);
    let fields = view! {
            <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
            <input type="hidden" name="draft[version]" value=operation.version />
            <input type="hidden" name="draft[fingerprint]" value=operation.fingerprint.to_string() />
            <input type="hidden" name="draft[verdict]" value=name />
            <input type="hidden" name="draft[origin]" value=origin.as_str() />
            <input type="hidden" name="draft[next]" value=next />
            <PlaceFields place prefix="draft[place]" />
            {(verdict == Verdict::Confirmed)
                .then(|| {
                    view! {
                        <label for=id("reference")>
                            "Destination reference"
                            {(!has_lookup).then(|| view! { " "<span class="optional">"empty where it gives none"</span> })}
                        </label>
                        <input
                            id=id("reference")
                            name="draft[destination_reference]"
                            value=reference
                            required=has_lookup
                            disabled=is_barred
                            maxlength="2000"
                            autocomplete="off"
                            spellcheck="false"
                            placeholder="the record's id, such as task-907"
                        />
                    }
                })}
            {(verdict == Verdict::KeepWaiting)
                .then(|| {
                    view! {
                        <label for=id("until")>"Until " <span class="optional">"UTC"</span></label>
                        <UntilField id=id("until") name="draft[until]" until now is_barred />
                    }
                })}
            {takes_reason
                .then(|| {
                    view! {
                        <label for=id("reason")>"Reason"</label>
                        <ReasonField id=id("reason") name="draft[reason]" reason is_barred />
                    }
                })}
            {with_file.then(|| view! { <FileField id=id("file") is_barred=bars_evidence /> })}
            {takes_link
                .then(|| {
                    view! {
                        <label for=id("link")>"Link to evidence " <span class="optional">"optional"</span></label>
                        <input
                            id=id("link")
                            name="draft[link]"
                            type="url"
                            value=link
                            disabled=bars_evidence
                            maxlength="2000"
                            placeholder="https://…"
                        />
                    }
                })}
            {why_no_evidence.map(|why| view! { <p class="why-not"><Plain text=why /></p> })}
            {known.map(|known| known.run())}
            {shown}
            <p class="actions">
                <button type="submit" class=("is-danger", matches!(verdict, Verdict::NotApplied | Verdict::Dropped)) class=("is-quiet", verdict == Verdict::KeepWaiting) disabled=is_barred aria-describedby=is_barred.then(|| id("why-not"))>
                    {button}
                </button>
                {leads
                    .map(|(state, needs_second)| {
                        let when = if needs_second { "Once a second person confirms it, the" } else { "The" };
                        view! { <span class="leads">{when}" operation becomes "<Badge state /></span> }
                    })}
                {why_not.map(|why| view! { <span class="why-not" id=id("why-not")><Plain text=why /></span> })}
            </p>
    };
    // Only a form of several parts brings a file, and no script is needed for one.
    let form = if with_file {
        view! { <form method="post" enctype="multipart/form-data" action=address>{fields}</form> }.into_any()
    } else {
        view! { <ActionForm action=act>{fields}</ActionForm> }.into_any()
    };
    view! {
        <section class="decision-form" data-key=key aria-labelledby=id("title")>
            <h3 id=id("title")>{title}</h3>
            <p>{effect}</p>
            {failure.map(|failure| view! { <Refused what="Nothing was changed" failure /> })}
            {move || {
                inline().filter(|_| asked.get()).map(|failure| view! { <Refused what="Nothing was changed" failure /> })
            }}
            <div on:submit=move |_| asked.set(true)>{form}</div>
        </section>
    }
    .into_any()
}
/// How a browser's field writes a moment.
const UNTIL: &str = "%Y-%m-%dT%H:%M";

/// The field of the moment until which something waits; an hour from now where nothing was written.
#[component]
pub(crate) fn UntilField(
    #[prop(into)] id: String,
    name: &'static str,
    until: String,
    now: Timestamp,
    is_barred: bool,
) -> impl IntoView {
    let until = if until.is_empty() { (now + TimeDelta::hours(1)).format(UNTIL).to_string() } else { until };
    let last = (now + TimeDelta::days(KEEP_WAITING_DAYS_MAX)).format(UNTIL).to_string();
    view! { <input id=id name=name type="datetime-local" value=until max=last required disabled=is_barred /> }
        .into_any()
}

/// Whether evidence is needed to mark something as not applied, or what is known is enough.
#[component]
pub(crate) fn Known(
    /// What is missing; none where nothing is.
    lacks: Option<String>,
) -> impl IntoView {
    let told = match lacks {
        None => "What is known already is evidence enough: a file or a link may be left out.".to_owned(),
        Some(message) => format!("Evidence {message}."),
    };
    view! { <p class="note known">{told}</p> }.into_any()
}

/// Keeps what was written for a decision that was refused since the page was no longer true, and has the page read anew: it stands in the
/// form of that one, with who changed what. Without script, the server does the same.
pub(crate) fn keep_unmade(
    act: ServerAction<Resolve>,
    read_anew: impl Fn() + 'static,
) -> RwSignal<Option<(Draft, Failure)>> {
    let sent = RwSignal::new(None::<Draft>);
    let unmade = RwSignal::new(None);
    Effect::new(move || {
        if let Some(input) = act.input().get() {
            sent.set(Some(input.draft));
        }
    });
    Effect::new(move || match act.value().get() {
        Some(Err(failure @ Failure::Refused(Refusal::Stale { .. } | Refusal::Impossible { .. }))) => {
            unmade.set(sent.get_untracked().map(|draft| (draft, failure)));
            read_anew();
        }
        Some(Ok(_) | Err(_)) => unmade.set(None),
        None => {}
    });
    unmade
}

/// The field of the reason. An empty text would be rendered as a space, and that is one in a text area.
#[component]
pub(crate) fn ReasonField(
    #[prop(into)] id: String,
    name: &'static str,
    reason: String,
    is_barred: bool,
) -> impl IntoView {
    let area = leptos::html::textarea().id(id).name(name).required(true).disabled(is_barred).rows("2");
    let area = area.maxlength("2000");
    if reason.is_empty() { area.into_any() } else { area.child(reason).into_any() }
}
