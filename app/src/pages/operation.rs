//! `/operations/{id}`: one operation with everything that is known about it.

use guard::{
    clock::Timestamp,
    id::OperationId,
    person::Person,
    queue::Page,
    reversal::Reversal,
    service::History,
    state::{State, StateName},
    trail::EntryKind,
    view::OperationView,
};
use leptos::{children::ViewFn, prelude::*};
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::{Age, Moment},
        awaited::{Body, page_of},
        badge::Badge,
        banner::{DecidedBanner, Undecided},
        changes::ConflictCard,
        copy::Copyable,
        decision::{DecisionPanel, Known, keep_unmade},
        evidence::EvidencePanel,
        facts::Fact,
        fresh::{Freshness, is_in_use, look_again},
        heading::Heading,
        icon::{Icon, Picture},
        look_alikes::LookAlikesPanel,
        money::Amount,
        payload::{Opening, Payload},
        plain::Plain,
        received::ReceivedPanel,
        recovery::RecoveryPanel,
        retention::RetentionPanel,
        reversals::Reversals,
        timeline::Timeline,
    },
    failure::Failure,
    functions::{
        claim::Claim,
        look_up_now::LookUpNow,
        open_fields::OpenFields,
        read_operation::{Document, Report, Revision, read_operation},
        resolve::Resolve,
    },
    notice::{ClaimNotice, DecisionNotice, Draft, Origin},
    wording,
};

/// The operation.
#[component]
pub(crate) fn OperationPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let act = ServerAction::<Resolve>::new();
    let done = Memo::new(move |done: Option<&u32>| {
        let done = done.copied().unwrap_or(0);
        if matches!(act.value().get(), Some(Ok(_))) { done + 1 } else { done }
    });
    let look = ServerAction::<LookUpNow>::new();
    let claim = ServerAction::<Claim>::new();
    let open = ServerAction::<OpenFields>::new();
    let acted = move || (look.version().get(), claim.version().get(), open.version().get());
    let report = Resource::new(move || (id.get(), done.get(), acted()), |(id, ..)| read_operation(id));
    let looked_for = RwSignal::new(None);
    let unmade = keep_unmade(act, move || report.refetch());
    let seen = RwSignal::new(None);
    look_again(move || {
        let asked = id.get_untracked();
        leptos::task::spawn_local(async move {
            let Ok(later) = read_operation(asked.clone()).await else { return };
            // Another page may have been asked for meanwhile, or left.
            if id.try_get_untracked() != Some(asked) {
                return;
            }
            report.maybe_update(|shown| {
                let is_same = matches!(shown, Some(Ok(shown)) if shown.history.operation == later.history.operation);
                // What was opened or written here would be lost with a new picture.
                let stays = !is_same
                    && !is_in_use()
                    && !document().query_selector("main details[open]").is_ok_and(|found| found.is_some());
                if stays {
                    *shown = Some(Ok(later));
                } else {
                    seen.set(Some((later.as_of, Page { rows: vec![later.history.operation], next: None })));
                }
                stays
            });
        });
    });
    let show = Callback::new(move |()| report.refetch());
    let page = page_of(report, move |report| {
        view! { <Shown report seen show act unmade look looked_for claim open /> }.into_any()
    });
    let told = move || match act.value().get() {
        Some(Ok(decided)) => Some(view! { <DecidedBanner decided /> }),
        Some(Err(_)) | None => None,
    };
    view! {
        {told}
        <Body body=page />
    }
    .into_any()
}

#[component]
fn Shown(
    report: Report,
    seen: RwSignal<Option<(Timestamp, Page<OperationView>)>>,
    show: Callback<()>,
    act: ServerAction<Resolve>,
    unmade: RwSignal<Option<(Draft, Failure)>>,
    look: ServerAction<LookUpNow>,
    looked_for: RwSignal<Option<OperationId>>,
    claim: ServerAction<Claim>,
    open: ServerAction<OpenFields>,
) -> impl IntoView {
    let Report {
        as_of,
        person,
        history,
        outlook,
        message,
        standing,
        notice,
        haste,
        kept,
        claimed,
        alikes,
        veil,
        document,
        holds,
        held,
        lacks_evidence,
    } = report;
    let unclaimed = match claimed {
        Some(ClaimNotice::Refused(_, failure)) => Some(failure),
        Some(ClaimNotice::Done) | None => None,
    };
    let History { operation, payload, entries, conflicts, evidence, deliveries } = history;
    let (done, refused) = match notice {
        Some(DecisionNotice::Done(decided)) => (Some(*decided), None),
        Some(DecisionNotice::Refused(draft, failure)) => (None, Some((*draft, failure))),
        None => (None, unmade.get_untracked().filter(|(draft, _)| draft.operation == operation.id)),
    };
    let shown = vec![operation.clone()];
    let is_uncertain = operation.state.is_uncertain();
    // Without a form to stand in, the refusal stands above the page.
    let gone = refused.clone().filter(|_| !is_uncertain);
    let (now_text, next_text) = wording::standing(&operation);
    let title = operation.sentence.clone();
    let sentence = operation.sentence.clone();
    let has_conflicts = !conflicts.is_empty();
    let stands = wording::standing_payload(operation.key.revision);
    let has_open_conflicts = operation.open_conflicts > 0;
    let open_conflicts = has_open_conflicts.then(|| {
        let number = wording::counted(operation.open_conflicts.into(), "conflict is open", "conflicts are open");
        view! {
            <p class="standing-conflict">
                <Icon picture=Picture::Unequal />
                <span>
                    <strong>{number}</strong>
                    ": another payload came under the same key, and nothing of it was sent. "
                    <a rel="external" href="#conflicts-title">"See what differs"</a>
                </span>
            </p>
        }
    });
    let taken_back = document.reversals.iter().filter(|reversal| reversal.stands()).map(|reversal| {
        view! {
            <p>
                "Reversed by "
                <a href=format!("/operations/{}", reversal.operation)>"an operation of its own"</a>
                ": the record "
                <code><Plain text=reversal.record.clone() /></code>
                ", "
                {wording::amendment::reversal(reversal)}
                "."
            </p>
        }
    });
    let taken_back = taken_back.collect_view();
    let on_hold = holds.iter().map(|hold| view! { <p class="held"><Plain text=wording::retention::hold(hold) /></p> });
    let on_hold = on_hold.collect_view();
    let dropped = entries.iter().filter(|entry| entry.kind == EntryKind::BodiesDropped).map(|entry| entry.at).max();
    let dropped_at = operation.payload_dropped_at;
    let is_disputed = operation.state.name() == StateName::Disputed;
    let recovery = (outlook.is_some() || is_disputed).then(|| {
        view! {
            <RecoveryPanel
                operation=operation.id
                outlook=outlook.clone()
                standing=standing.clone()
                person=person.clone()
                origin=Origin::Operation
                now=as_of
                notice=haste
                act=look
                asked=looked_for
            />
        }
    });
    let known = move || view! { <Known lacks=lacks_evidence.clone() /> };
    let forms = is_uncertain.then(|| {
        view! {
            <DecisionPanel
                operation=operation.clone()
                person=person.clone()
                standing
                known=ViewFn::from(known)
                now=as_of
                origin=Origin::Operation
                alikes=None
                unclaimed
                claim
                not_before=outlook.as_ref().and_then(|outlook| wording::not_applied_from(outlook, as_of))
                refused
                act
            />
        }
    });
    let received = message.map(|versions| view! { <ReceivedPanel versions shown=operation.id /> });
    view! {
        {done.map(|decided| view! { <DecidedBanner decided /> })}
        {gone.map(|(draft, failure)| view! { <Undecided draft failure /> })}
        <div class="page-head">
            <Heading title>
                <Plain text=sentence />
            </Heading>
            <Freshness as_of shown seen show />
        </div>
        <div class=format!("standing is-{}", operation.state.name().as_str()) class:has-conflict=has_open_conflicts>
            <p class="standing-state">
                <Badge state=operation.state.name() />
                {wording::since(&operation.state)
                    .map(|since| {
                        view! {
                            <span class="note">
                                "for "
                                <Age since now=as_of />
                            </span>
                        }
                    })}
            </p>
            <p>
                <Plain text=now_text />
            </p>
            <p>{next_text}</p>
            {open_conflicts}
            {taken_back}
            {on_hold}
        </div>
        <div class="detail">
            <div class="detail-main">
                {received}
                {recovery}
                {alikes.map(|alikes| view! { <LookAlikesPanel alikes /> })}
                {forms}
                {has_conflicts
                    .then(|| {
                        let cards = conflicts.into_iter().map(|conflict| view! { <ConflictCard conflict stands now=as_of /> });
                        view! {
                            <section class="panel" aria-labelledby="conflicts-title">
                                <h2 id="conflicts-title">"Conflicts"</h2>
                                <p class="note">
                                    "The same key came with another payload. The first one stands; nothing was sent of the other."
                                </p>
                                {cards.collect_view()}
                            </section>
                        }
                    })}
                <section class="panel" id="payload" aria-labelledby="payload-title">
                    <h2 id="payload-title">{stands}</h2>
                    <Opening operation=operation.id veil person=person.clone() origin=Origin::Operation act=open />
                    <Payload payload dropped_at />
                </section>
                <section class="panel" aria-labelledby="timeline-title">
                    <h2 id="timeline-title">"Timeline"</h2>
                    <Timeline entries deliveries />
                </section>
            </div>
            <div class="detail-side">
                <Facts operation=operation.clone() />
                <Revisions document shown=operation.id />
                <EvidencePanel operation=operation.id evidence dropped person=person.clone() notice=kept />
                <RetentionPanel operation=operation.clone() holds person=person.clone() notice=held />
                <Acts operation person />
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Facts(operation: OperationView) -> impl IntoView {
    let key = operation.key;
    let part = |name: &'static str, value: &str| {
        let value = value.to_owned();
        view! { <Fact name><code><Plain text=value /></code></Fact> }
    };
    let reference = operation.state.destination_reference().map(ToOwned::to_owned);
    view! {
        <section class="panel" aria-labelledby="facts-title">
            <h2 id="facts-title">"Facts"</h2>
            <dl class="facts">
                <Fact name="Money">
                    <Amount money=operation.money />
                </Fact>
                <Fact name="Asked again and held back">{wording::number(operation.duplicates_prevented)}</Fact>
                <Fact name="Attempts">{operation.attempt}</Fact>
                {operation.worker.map(|worker| view! { <Fact name="Worker"><Plain text=worker /></Fact> })}
                {reference
                    .map(|reference| {
                        view! {
                            <Fact name="Destination reference">
                                <Copyable value=reference what="destination reference" />
                            </Fact>
                        }
                    })}
                <Fact name="External reference">
                    <Copyable value=operation.external_reference what="external reference" />
                </Fact>
            </dl>
            <h3>"Key"</h3>
            <dl class="facts">
                {part("Workflow", key.workflow.as_str())}
                {part("Company", key.company.as_str())}
                {part("Source system", key.source_system.as_str())}
                {part("Document", key.document.as_str())}
                {part("Action", key.action.as_str())}
                <Fact name="Revision">{key.revision}</Fact>
                <Fact name="Fingerprint">
                    <Copyable value=operation.fingerprint.to_string() what="fingerprint" />
                </Fact>
                <Fact name="Policy version">{operation.policy_version}</Fact>
                <Fact name="Id">
                    <Copyable value=operation.id.to_string() what="id" />
                </Fact>
                <Fact name="Begun">
                    <Moment at=operation.created_at />
                </Fact>
                <Fact name="Updated">
                    <Moment at=operation.updated_at />
                </Fact>
                {operation
                    .superseded_by
                    .map(|newer| {
                        view! {
                            <Fact name="Superseded by">
                                <a href=format!("/operations/{newer}")>"the next revision"</a>
                            </Fact>
                        }
                    })}
            </dl>
        </section>
    }
    .into_any()
}

/// The document's revisions, and how the next one is proposed.
#[component]
fn Revisions(document: Document, shown: OperationId) -> impl IntoView {
    let Document { revisions, amendment, why_not_amend, reversals, reverses, why_not_reverse } = document;
    if let Some(reversal) = reverses {
        return view! { <TakesBack reversal /> }.into_any();
    }
    let items = revisions.into_iter().map(|revision| {
        let Revision { number, operation, state } = revision;
        let name = format!("Revision {number}");
        let named = if operation == shown {
            view! { <strong aria-current="true">{name}</strong> }.into_any()
        } else {
            view! { <a href=format!("/operations/{operation}")>{name}</a> }.into_any()
        };
        view! { <li>{named} " " <Badge state /></li> }
    });
    let amendment = amendment.map(|id| {
        view! {
            <p>
                <a href=format!("/amendments/{id}")>"The amendment that proposed this revision"</a>
            </p>
        }
    });
    let propose = match why_not_amend {
        None => view! { <a class="button is-quiet" href=format!("/operations/{shown}/amend")>"Propose an amendment"</a> }.into_any(),
        Some(why) => view! {
            <button type="button" class="is-quiet" disabled aria-describedby="amend-why-not">"Propose an amendment"</button>
            <span class="why-not" id="amend-why-not"><Plain text=why /></span>
        }
        .into_any(),
    };
    let reverse = match why_not_reverse {
        None => view! { <a class="button is-quiet" href=format!("/operations/{shown}/reverse")>"Take a record back"</a> }.into_any(),
        Some(why) => view! {
            <button type="button" class="is-quiet" disabled aria-describedby="reverse-why-not">"Take a record back"</button>
            <span class="why-not" id="reverse-why-not"><Plain text=why /></span>
        }
        .into_any(),
    };
    view! {
        <section class="panel" aria-labelledby="revisions-title">
            <h2 id="revisions-title">"Revisions of the document"</h2>
            <ul class="revisions">{items.collect_view()}</ul>
            {amendment}
            <p class="actions">{propose}</p>
            <p class="actions">{reverse}</p>
        </section>
        <Reversals reversals />
    }
    .into_any()
}

/// The record that a reversal takes back.
#[component]
fn TakesBack(reversal: Reversal) -> impl IntoView {
    view! {
        <section class="panel" aria-labelledby="takes-back-title">
            <h2 id="takes-back-title">"What it takes back"</h2>
            <dl class="facts">
                <Fact name="Record">
                    <Copyable value=reversal.record what="record" />
                </Fact>
                <Fact name="Of">
                    <a href=format!("/operations/{}", reversal.of)>"the operation, revision " {reversal.revision}</a>
                </Fact>
                <Fact name="Asked">
                    <a href=format!("/amendments/{}", reversal.amendment)>"why, by whom, and who approved it"</a>
                </Fact>
            </dl>
        </section>
    }
    .into_any()
}

/// What may be done next, and what may not be with the reason.
#[component]
fn Acts(operation: OperationView, person: Person) -> impl IntoView {
    let decide = if operation.state.is_uncertain() {
        wording::why_not_resolve(person.role)
    } else {
        Some("Only what is unknown or disputed is decided by a person.".to_owned())
    };
    let begin = match &operation.state {
        State::Released { .. } | State::Failed { .. } => None,
        State::Confirmed { .. } => Some("It is confirmed: a begin gets the result and sends nothing."),
        State::Unknown { .. } | State::Disputed { .. } => Some("It is uncertain: a begin is told to wait."),
        State::Acquired { .. } | State::Sending { .. } => Some("An attempt holds the lease: a begin is told to wait."),
        State::AwaitingApproval => Some("The amendment is not approved."),
        State::Rejected { dropped_at: None, .. } => Some("The amendment was rejected."),
        State::Rejected { dropped_at: Some(_), .. } => Some("A person dropped it: a begin is told to stop."),
    };
    let late = match &operation.state {
        State::Acquired { .. } | State::Sending { .. } | State::Unknown { .. } => None,
        State::AwaitingApproval | State::Rejected { dropped_at: None, .. } => Some("Nothing was permitted to be sent."),
        State::Released { .. } if operation.attempt == 0 => Some("Nobody has begun it."),
        State::Rejected { dropped_at: Some(_), .. }
        | State::Released { .. }
        | State::Failed { .. }
        | State::Confirmed { .. }
        | State::Disputed { .. } => {
            Some("It is settled: another outcome is kept as evidence, and disputes it where it may exist twice.")
        }
    };
    // What is disputed is at the destination: it is not dropped.
    let decides = if operation.state.name() == StateName::Disputed {
        "decides: confirmed or not applied"
    } else {
        "decides: confirmed, not applied, or dropped"
    };
    let owned = |why: Option<&str>| why.map(ToOwned::to_owned);
    view! {
        <section class="panel" aria-labelledby="acts-title">
            <h2 id="acts-title">"What may happen next"</h2>
            <ul class="acts">
                <Act who="A person" what=decides why_not=decide href=Some("#decide") />
                <Act who="A worker" what="begins the next attempt" why_not=owned(begin) href=None />
                <Act who="Its worker" what="reports an outcome that counts" why_not=owned(late) href=None />
            </ul>
        </section>
    }
    .into_any()
}

#[component]
fn Act(who: &'static str, what: &'static str, why_not: Option<String>, href: Option<&'static str>) -> impl IntoView {
    let is_allowed = why_not.is_none();
    let text = format!("{who} {what}");
    let named = match href.filter(|_| is_allowed) {
        Some(href) => view! { <a rel="external" href=href>{text}</a> }.into_any(),
        None => view! { <span>{text}</span> }.into_any(),
    };
    view! {
        <li class="act" class:is-barred=!is_allowed>
            <p class="act-what">
                <Icon picture=if is_allowed { Picture::Arrow } else { Picture::Barred } />
                {named}
                <span class="hidden">{if is_allowed { ": possible" } else { ": not possible" }}</span>
            </p>
            {why_not
                .map(|why| {
                    view! {
                        <p class="note">
                            <Plain text=why />
                        </p>
                    }
                })}
        </li>
    }
    .into_any()
}
