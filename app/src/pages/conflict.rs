//! `/conflicts/{id}`: what differs, what is known, and the decision.

use guard::{
    conflict::{Conflict, ConflictDecision, ConflictOutcome},
    fingerprint::Fingerprint,
    json::Json,
    person::Person,
    service::{ConflictReport, ConflictSettled, Neighbours},
    store::Delivery,
    view::OperationView,
};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    components::{
        age::{Age, AsOf, Moment},
        awaited::{Body, page_of},
        badge::Badge,
        banner::{Done, Refused},
        copy::Copyable,
        diff::{Diff, DiffQuery, Masked},
        facts::{Fact, Told},
        heading::Heading,
        icon::{Icon, Picture},
        money::Amount,
        plain::{Outside, Plain},
    },
    failure::Failure,
    functions::{
        list_conflicts::ConflictSearch,
        read_conflict::{Avoided, ConflictPageReport, read_conflict},
    },
    notice::{ConflictChoice, ConflictDraft, ConflictNotice},
    wording,
};

/// The conflict. Its form is an ordinary one: after a decision the next conflict opens.
#[component]
pub(crate) fn ConflictPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let id = params.with(|params| params.get("id").unwrap_or_default());
        let (search, shown) = query.with(|query| (ConflictSearch::of(query), DiffQuery::of(query)));
        (id, search, shown)
    });
    let report = Resource::new(move || asked.get(), |(id, search, shown)| read_conflict(id, search, shown));
    let page = page_of(report, move |report| {
        let search = asked.with_untracked(|(_, search, _)| search.clone());
        view! { <Shown report search /> }.into_any()
    });
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(report: ConflictPageReport, search: ConflictSearch) -> impl IntoView {
    let ConflictPageReport { as_of, person, report, masked, diffed, neighbours, noise, notice } = report;
    let ConflictReport { conflict, operation, deliveries, opened_by, other } = report;
    let (done, refused) = match notice {
        Some(ConflictNotice::Done(settled)) => (Some(*settled), None),
        Some(ConflictNotice::Refused(draft, failure)) => (None, Some((*draft, failure))),
        None => (None, None),
    };
    let title = format!("Conflict: {}", operation.sentence);
    let sentence = operation.sentence.clone();
    let state = operation.state.name();
    let is_open = conflict.is_open();
    // Without a form to stand in, the refusal stands above the page.
    let gone = refused.clone().filter(|_| !is_open).map(|(draft, failure)| {
        view! {
            <Refused what="Nothing was changed" failure />
            {(!draft.reason.is_empty()).then(|| view! {
                <div class="panel undecided">
                    <h2>"What you wrote"</h2>
                    <dl class="facts"><Told name="Reason" text=draft.reason.clone() /></dl>
                </div>
            })}
        }
    });
    let decided = conflict.decision().cloned().map(|decision| view! { <Decided decision other=other.clone() /> });
    let form = is_open.then(|| {
        view! { <DecisionForm conflict=conflict.clone() operation=operation.clone() person neighbours search=search.clone() noise refused /> }
    });
    let masked = view! { <Masked places=masked operation=operation.id /> };
    let age = view! { <Age since=conflict.opened_at now=as_of /> };
    let changes = wording::counted(diffed.changes as u64, "place differs", "places differ");
    view! {
        {done.map(|settled| view! { <DoneBanner settled /> })}
        {gone}
        <div class="page-head">
            <Heading title>
                "Conflict: "
                <Plain text=sentence />
            </Heading>
            <AsOf at=as_of />
        </div>
        <Steps neighbours search />
        <div class="standing has-conflict">
            <p class="standing-state">
                <span class="badge is-conflict">
                    <Icon picture=Picture::Unequal />
                    {if is_open { "Open conflict" } else { "Decided conflict" }}
                </span>
                <span class="note">"for " {age} ", came " {wording::counted(conflict.hits, "time", "times")}</span>
            </p>
            <p>
                "Another payload came under the same key: " {changes}
                ". Nothing of it was sent, and the operation is as it was: "
                <Badge state />
            </p>
        </div>
        <div class="detail">
            <div class="detail-main">
                {decided}
                <section class="panel" aria-labelledby="diff-title">
                    <h2 id="diff-title">"What differs"</h2>
                    {masked}
                    <Diff diffed />
                </section>
                {form}
            </div>
            <div class="detail-side">
                <Facts conflict=conflict operation opened_by deliveries />
            </div>
        </div>
    }
    .into_any()
}

/// The way through the queue.
#[component]
fn Steps(neighbours: Neighbours, search: ConflictSearch) -> impl IntoView {
    let link = |id: Option<guard::id::ConflictId>, rel: &'static str, text: &'static str, key: &'static str| {
        id.map(|id| {
            let address = search.address(&format!("/conflicts/{id}"));
            view! { <a class="button is-quiet is-small" rel=rel data-key=key href=address>{text}</a> }
        })
    };
    view! {
        <nav class="pages steps" aria-label="Queue">
            <a class="button is-quiet is-small" href=search.address("/conflicts")>"To the queue"</a>
            {link(neighbours.previous, "prev", "Previous", "[")}
            {link(neighbours.next, "next", "Next", "]")}
        </nav>
    }
    .into_any()
}

/// What a decision did.
#[component]
fn DoneBanner(settled: ConflictSettled) -> impl IntoView {
    let ConflictSettled { conflict, operation, other } = settled;
    let Some(decision) = conflict.decision().cloned() else { return ().into_any() };
    let left = match operation.open_conflicts {
        0 => "No other conflict of this operation is open.".to_owned(),
        more => format!(
            "{} of this operation.",
            wording::counted(more.into(), "other conflict is open", "other conflicts are open")
        ),
    };
    view! {
        <Done>
            <p>
                "Decided: "
                <a href=format!("/conflicts/{}", conflict.id)>
                    <Plain text=operation.sentence />
                </a>
                ": " <Plain text=decision.outcome.sentence() /> ", decided by " <Plain text=decision.by.clone() />
                " at " <Moment at=decision.at /> ". " {left}
            </p>
            <Consequence outcome=decision.outcome other />
        </Done>
    }
    .into_any()
}

/// What follows from an outcome.
#[component]
fn Consequence(outcome: ConflictOutcome, #[prop(into)] other: Option<OperationView>) -> impl IntoView {
    match outcome {
        ConflictOutcome::KeptApproved => {
            view! { <p>"The same payload again is answered with this decision, and opens nothing."</p> }.into_any()
        }
        ConflictOutcome::AmendmentProposed { amendment, revision } => view! {
            <p>
                <a href=format!("/amendments/{amendment}")>"The amendment"</a>
                " is proposed as revision " {revision} ": another person approves it. Nothing is sent before that."
            </p>
        }
        .into_any(),
        ConflictOutcome::OtherDocument { key } => {
            let document = key.document.as_str().to_owned();
            let operation = other.map(|other| {
                let address = format!("/operations/{}", other.id);
                view! { <a href=address><Plain text=other.sentence /></a> " is " <Badge state=other.state.name() /> ". " }
            });
            view! {
                <p>
                    "Nothing was sent. Whoever has to send it begins it as document " <code><Plain text=document /></code>
                    "; the worker that brought it is told so when it asks again. " {operation}
                </p>
            }
            .into_any()
        }
        ConflictOutcome::Noise { places, .. } => {
            let places = places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            view! {
                <p>
                    "It was proposed to leave out " <code><Plain text=places /></code>
                    ". Once another person has approved it in " <a href="/settings/rules">"the rules"</a>
                    ", the same payload is no conflict any more."
                </p>
            }
            .into_any()
        }
    }
}

#[component]
fn Decided(decision: ConflictDecision, #[prop(into)] other: Option<OperationView>) -> impl IntoView {
    let ConflictDecision { outcome, by, at, reason, link, seen_version, seen_fingerprint } = decision;
    let sentence = outcome.sentence();
    view! {
        <section class="panel" aria-labelledby="decided-title">
            <h2 id="decided-title">"The decision"</h2>
            <p><strong><Plain text=sentence /></strong></p>
            <Consequence outcome other />
            <dl class="facts">
                <Told name="By" text=by />
                <Fact name="When"><Moment at /></Fact>
                <Told name="Reason" text=reason />
                {link.map(|link| view! { <Fact name="Link"><Outside link /></Fact> })}
                <Fact name="Seen version">{seen_version}</Fact>
                <Fact name="Seen fingerprint"><code><Plain text=seen_fingerprint.to_string() /></code></Fact>
            </dl>
        </section>
    }
    .into_any()
}

#[component]
fn Facts(
    conflict: Conflict,
    operation: OperationView,
    #[prop(into)] opened_by: Option<guard::trail::Entry>,
    deliveries: Vec<Delivery>,
) -> impl IntoView {
    let print = |what: &'static str, fingerprint: Fingerprint| {
        view! { <Copyable value=fingerprint.to_string() what /> }
    };
    let opened = opened_by.map(|entry| {
        let fact = |name: &str| entry.detail.member(name).and_then(Json::as_str).map(ToOwned::to_owned);
        view! { <Brought actor=wording::actor(&entry.actor) at=entry.at delivery=fact("delivery_id") request=fact("request_id") /> }
    });
    let again = deliveries.into_iter().map(|delivery| {
        let actor = delivery.worker.unwrap_or_else(|| "a worker without a name".to_owned());
        view! { <Brought actor at=delivery.at delivery=delivery.delivery_id request=delivery.request_id /> }
    });
    view! {
        <section class="panel" aria-labelledby="facts-title">
            <h2 id="facts-title">"Facts"</h2>
            <dl class="facts">
                <Fact name="Operation">
                    <a href=format!("/operations/{}", operation.id)><Plain text=operation.key.document.as_str() /></a>
                    " (revision " {operation.key.revision} ")"
                </Fact>
                <Told name="Workflow" text=operation.key.workflow.as_str().to_owned() />
                <Told name="Company" text=operation.key.company.as_str().to_owned() />
                <Fact name="Money"><Amount money=operation.money /></Fact>
                <Fact name="Opened"><Moment at=conflict.opened_at /></Fact>
                <Fact name="Approved fingerprint">{print("approved fingerprint", operation.fingerprint)}</Fact>
                <Fact name="Received fingerprint">{print("received fingerprint", conflict.fingerprint)}</Fact>
            </dl>
        </section>
        <section class="panel" aria-labelledby="brought-title">
            <h2 id="brought-title">"Who brought it"</h2>
            <ul class="evidence">{again.collect_view()} {opened}</ul>
            <p class="note">"Of a payload that comes again and again, some arrivals are only counted."</p>
        </section>
    }
    .into_any()
}

#[component]
fn Brought(
    actor: String,
    at: guard::clock::Timestamp,
    #[prop(into)] delivery: Option<String>,
    #[prop(into)] request: Option<String>,
) -> impl IntoView {
    view! {
        <li>
            <p><Plain text=actor /> " · " <Moment at /></p>
            {delivery.map(|delivery| view! { <p class="note">"delivery " <code><Plain text=delivery /></code></p> })}
            {request.map(|request| view! { <p class="note">"request " <code><Plain text=request /></code></p> })}
        </li>
    }
    .into_any()
}

#[component]
fn DecisionForm(
    conflict: Conflict,
    operation: OperationView,
    person: Person,
    neighbours: Neighbours,
    search: ConflictSearch,
    noise: Vec<Avoided>,
    #[prop(into)] refused: Option<(ConflictDraft, Failure)>,
) -> impl IntoView {
    let why_not = wording::why_not_resolve(person.role);
    let is_barred = why_not.is_some();
    let (draft, failure) = refused.filter(|(draft, _)| draft.conflict == conflict.id).unzip();
    let chosen = draft.as_ref().and_then(|draft| draft.verdict);
    let marked = draft.as_ref().map(|draft| draft.places.clone()).unwrap_or_default();
    let (document, reason, link) = draft.map(|draft| (draft.document, draft.reason, draft.link)).unwrap_or_default();
    let next = neighbours.next.or(neighbours.previous).map(|next| next.to_string()).unwrap_or_default();
    let option = |choice: ConflictChoice, title: &'static str, effect: &'static str| {
        let id = format!("choice-{}", choice.as_str());
        let key = match choice {
            ConflictChoice::Keep => Some("1"),
            ConflictChoice::Propose => Some("2"),
            ConflictChoice::Other => Some("3"),
            ConflictChoice::Noise => None,
        };
        view! {
            <div class="choice-head">
                <input
                    type="radio"
                    data-key=key
                    id=id.clone()
                    name="draft[verdict]"
                    value=choice.as_str()
                    checked=chosen == Some(choice)
                    disabled=is_barred
                    required
                    aria-describedby=format!("{id}-effect")
                />
                <label for=id.clone()>{title}</label>
            </div>
            <p class="choice-effect" id=format!("{id}-effect")>{effect}</p>
        }
    };
    let is_only = noise.iter().filter(|offered| offered.place.is_some()).count() == 1;
    let places = noise.iter().filter_map(|offered| offered.place.clone().map(|place| (place, offered.clone())));
    let places = places.enumerate().map(|(number, (place, offered))| {
        let id = format!("noise-{number}");
        let is_marked = is_only || marked.contains(&place);
        let told =
            format!("alone, it would have avoided {} of the last {} conflicts", offered.avoided, offered.looked_at);
        view! {
            <li>
                <input
                    type="checkbox"
                    id=id.clone()
                    name=format!("draft[places][{number}]")
                    value=place.clone()
                    checked=is_marked
                    disabled=is_barred
                />
                <label for=id><code><Plain text=place /></code></label>
                <span class="note">{told}</span>
            </li>
        }
    });
    let places = places.collect_view();
    let all = noise.iter().find(|offered| offered.place.is_none()).map(|offered| {
        let told = format!(
            "All of them together would have avoided {} of the last {} conflicts of this workflow.",
            offered.avoided, offered.looked_at
        );
        view! { <p class="note">{told}</p> }
    });
    let area = leptos::html::textarea()
        .id("conflict-reason")
        .name("draft[reason]")
        .required(true)
        .disabled(is_barred)
        .rows("2")
        .maxlength("2000");
    let area = if reason.is_empty() { area.into_any() } else { area.child(reason).into_any() };
    view! {
        <section class="panel decision" id="decide" tabindex="-1" aria-labelledby="decide-title">
            <h2 id="decide-title">"Decide"</h2>
            {failure.map(|failure| view! { <Refused what="Nothing was changed" failure /> })}
            <form method="post" action="/fn/decide_conflict" class="conflict-form">
                <input type="hidden" name="draft[conflict]" value=conflict.id.to_string() />
                <input type="hidden" name="draft[version]" value=operation.version />
                <input type="hidden" name="draft[fingerprint]" value=conflict.fingerprint.to_string() />
                <input type="hidden" name="draft[next]" value=next />
                <input type="hidden" name="draft[search]" value=search.query() />
                <fieldset>
                    <legend>"What is right?"</legend>
                    <div class="conflict-choice">
                        {option(
                            ConflictChoice::Keep,
                            "Keep the approved one",
                            "What came was wrong. Nothing is sent, the operation stays as it is, and the same payload opens nothing again.",
                        )}
                    </div>
                    <div class="conflict-choice">
                        {option(
                            ConflictChoice::Propose,
                            "Propose an amendment",
                            "What came is a change of this document. You propose it as the next revision, and another person approves it; only then may it be sent.",
                        )}
                    </div>
                    <div class="conflict-choice">
                        {option(
                            ConflictChoice::Other,
                            "It is another document",
                            "What came has a right of its own, under another number. It is registered there as never sent; nothing is sent by this desk.",
                        )}
                        <div class="choice-more">
                            <label for="conflict-document">"Its number"</label>
                            <input
                                id="conflict-document"
                                name="draft[document]"
                                value=document
                                disabled=is_barred
                                maxlength="200"
                                autocomplete="off"
                                spellcheck="false"
                            />
                        </div>
                    </div>
                    <div class="conflict-choice">
                        {option(
                            ConflictChoice::Noise,
                            "Noise",
                            "What differs says nothing about the business. Leaving it out of the fingerprint is proposed, and another person approves it.",
                        )}
                        <ul class="choice-more choice-places" aria-label="Places that say nothing">{places}</ul>
                        {all}
                    </div>
                </fieldset>
                <label for="conflict-reason">"Reason"</label>
                {area}
                <label for="conflict-link">"Link to evidence " <span class="optional">"optional"</span></label>
                <input id="conflict-link" name="draft[link]" type="url" value=link disabled=is_barred maxlength="2000" placeholder="https://…" />
                <p class="actions">
                    <button type="submit" disabled=is_barred aria-describedby=is_barred.then_some("conflict-why-not")>"Decide"</button>
                    {why_not.map(|why| view! { <span class="why-not" id="conflict-why-not"><Plain text=why /></span> })}
                </p>
            </form>
        </section>
    }
    .into_any()
}
