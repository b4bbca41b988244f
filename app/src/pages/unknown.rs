//! `/unknown`: the queue of what is uncertain, the longest first.

use guard::{
    clock::Timestamp,
    lists::ListPage,
    person::Person,
    queue::Page,
    service::{Outlook, Standing},
    view::OperationView,
};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::{
    components::{
        act_on_all::ActOnAll,
        age::Age,
        awaited::Body,
        badge::Badge,
        banner::{DecidedBanner, Undecided},
        decision::DecisionPanel,
        fault::Fault,
        fresh::{Freshness, News, is_in_use, look_again},
        heading::Heading,
        icon::{Icon, Picture},
        incidents::Incidents,
        money::{Amount, Amounts},
        plain::Plain,
        views::Files,
    },
    failure::Failure,
    functions::{
        claim::Claim,
        list_unknown::{Queue, list_unknown},
        resolve::Resolve,
    },
    notice::{ClaimNotice, DecisionNotice, Draft, Origin},
    wording::{
        self,
        review::{self, Ageing},
    },
};

/// The queue. `?decide=` names the operation whose forms are open.
#[component]
pub(crate) fn UnknownPage() -> impl IntoView {
    let query = use_query_map();
    let cursor = Memo::new(move |_| query.with(|query| query.get("cursor").unwrap_or_default()));
    let chosen = Memo::new(move |_| query.with(|query| query.get("decide").unwrap_or_default()));
    let act = ServerAction::<Resolve>::new();
    let done = Memo::new(move |done: Option<&u32>| {
        let done = done.copied().unwrap_or(0);
        if matches!(act.value().get(), Some(Ok(_))) { done + 1 } else { done }
    });
    let claim = ServerAction::<Claim>::new();
    let acted = move || (done.get(), claim.version().get());
    let queue = Resource::new(move || (cursor.get(), acted()), |(cursor, _)| list_unknown(cursor));
    let seen = RwSignal::new(None);
    look_again(move || {
        let asked = cursor.get_untracked();
        leptos::task::spawn_local(async move {
            let Ok(later) = list_unknown(asked.clone()).await else { return };
            // Another page may have been asked for meanwhile, or left.
            if cursor.try_get_untracked() != Some(asked) {
                return;
            }
            let is_deciding = chosen.with_untracked(|chosen| !chosen.is_empty());
            let stays = queue.with_untracked(|queue| match queue {
                Some(Ok(shown)) => {
                    !is_deciding && !is_in_use() && !News::between(&shown.page.rows, &later.page).moves()
                }
                Some(Err(_)) => true,
                None => false,
            });
            if stays {
                queue.set(Some(Ok(later)));
            } else {
                seen.set(Some((later.as_of, later.page)));
            }
        });
    });
    let show = Callback::new(move |()| queue.refetch());
    let page = move || {
        Suspend::new(async move {
            match queue.await {
                Ok(queue) => view! { <Shown queue chosen seen show act claim /> }.into_any(),
                Err(failure) => view! { <Fault failure /> }.into_any(),
            }
        })
    };
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
    queue: Queue,
    chosen: Memo<String>,
    seen: RwSignal<Option<(Timestamp, Page<OperationView>)>>,
    show: Callback<()>,
    act: ServerAction<Resolve>,
    claim: ServerAction<Claim>,
) -> impl IntoView {
    let Queue { as_of, person, waiting, recovering, page, outlooks, standings, notice, claimed } = queue;
    let unclaimed = match claimed {
        Some(ClaimNotice::Refused(id, failure)) => Some((id, failure)),
        Some(ClaimNotice::Done) | None => None,
    };
    let (done, refused) = match notice {
        Some(DecisionNotice::Done(decided)) => (Some(*decided), None),
        Some(DecisionNotice::Refused(draft, failure)) => (None, Some((*draft, failure))),
        None => (None, None),
    };
    // What was refused and has left the queue meanwhile has no form to stand in.
    let gone = refused.clone().filter(|(draft, _)| page.rows.iter().all(|row| row.id != draft.operation));
    let head = view! {
        {done.map(|decided| view! { <DecidedBanner decided /> })}
        {gone.map(|(draft, failure)| view! { <Undecided draft failure /> })}
        <div class="page-head">
            <Heading title="Unknown">"Unknown"</Heading>
            <Freshness as_of shown=page.rows.clone() seen show />
        </div>
    };
    if page.rows.is_empty() {
        return view! {
            {head}
            <p class="empty">
                "Nothing is uncertain. An operation comes here when its worker cannot say whether it was written, when its lease ends while it may have been, or when two truths contradict each other."
            </p>
        }
        .into_any();
    }
    let why_not = wording::why_not_resolve(person.role);
    let next = page.next.as_ref().map(|cursor| format!("/unknown?cursor={}", cursor.as_str()));
    // What the address had open when the page came is where the browser has scrolled to by itself.
    let came_open = StoredValue::new(chosen.get_untracked());
    let rows = page.rows.into_iter().zip(outlooks).zip(standings).map(|((operation, outlook), standing)| {
        let unclaimed = unclaimed.clone().filter(|(id, _)| *id == operation.id).map(|(_, failure)| failure);
        let person = person.clone();
        view! { <Row operation outlook standing as_of person chosen came_open refused=refused.clone() unclaimed act claim /> }
    });
    view! {
        {head}
        <Incidents />
        <div class="queue-sum">
            <p>
                {wording::counted(waiting.uncertain.into(), "operation is", "operations are")}
                " never sent again until somebody knows."
            </p>
            {wording::recovering(recovering).map(|told| view! { <p>{told}</p> })}
            {(!waiting.at_risk.is_empty()).then(|| view! { <p class="queue-risk">"At risk: "</p> })}
            <Amounts money=waiting.at_risk />
        </div>
        <div class="scroll" tabindex="0" role="region" aria-label="Uncertain operations">
            <table class="cards queue">
                <caption class="hidden">"Uncertain operations, the longest first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"State"</th>
                        <th scope="col">"Operation, and why it is uncertain"</th>
                        <th scope="col" aria-sort="descending">"Uncertain for"</th>
                        <th scope="col" class="number">"Money"</th>
                        <th scope="col">"Worker"</th>
                        <th scope="col">"On it"</th>
                        <th scope="col">
                            <span class="hidden">"Decide"</span>
                        </th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
        <nav class="pages" aria-label="Pages">
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>"Next"</a> })}
        </nav>
        <ActOnAll page=ListPage::Unknown query="" why_not />
        <Files list="unknown" query="" />
    }
    .into_any()
}

#[component]
fn Row(
    operation: OperationView,
    #[prop(into)] outlook: Option<Outlook>,
    standing: Standing,
    as_of: Timestamp,
    person: Person,
    chosen: Memo<String>,
    came_open: StoredValue<String>,
    #[prop(into)] refused: Option<(Draft, Failure)>,
    #[prop(into)] unclaimed: Option<Failure>,
    act: ServerAction<Resolve>,
    claim: ServerAction<Claim>,
) -> impl IntoView {
    let id = operation.id.to_string();
    let ageing =
        review::ageing(&standing.rules, wording::since(&operation.state).unwrap_or(operation.updated_at), as_of);
    let over = ageing.words(&standing.rules);
    let claimed = standing.claim.as_ref().map(|held| review::claim_in_brief(held, &person.email, as_of));
    let deferred = standing.deferral.as_ref().map(|deferral| review::deferral(deferral, as_of));
    let proposed = standing.proposal.as_ref().map(|proposal| review::proposal(proposal, as_of));
    let since = wording::since(&operation.state).unwrap_or(operation.updated_at);
    let is_chosen = Memo::new({
        let id = id.clone();
        move |_| chosen.with(|chosen| *chosen == id)
    });
    let company = operation.key.company.as_str().to_owned();
    let subject = operation.sentence.clone();
    let link = {
        let id = id.clone();
        move || {
            let (address, word) = if is_chosen.get() {
                ("/unknown".to_owned(), "Close")
            } else {
                (format!("/unknown?decide={id}#decide"), "Decide")
            };
            view! {
                <a class="button is-quiet is-small" href=address data-noscroll="true">
                    {word}
                    <span class="hidden">": "{subject.clone()}</span>
                </a>
            }
        }
    };
    let not_before = outlook.as_ref().and_then(|outlook| wording::not_applied_from(outlook, as_of));
    let forms = {
        let (operation, id, standing) = (operation.clone(), id.clone(), standing.clone());
        move || {
            is_chosen.get().then(|| {
                let is_opened = came_open.get_value() != id;
                came_open.set_value(String::new());
                view! {
                    <tr class="queue-open">
                        <td colspan="7">
                            <DecisionPanel
                                operation=operation.clone()
                                person=person.clone()
                                standing=standing.clone()
                                now=as_of
                                origin=Origin::Queue
                                unclaimed=unclaimed.clone()
                                claim
                                not_before=not_before
                                refused=refused.clone()
                                is_opened
                                act
                            />
                        </td>
                    </tr>
                }
            })
        }
    };
    view! {
        <tr class:is-open=move || is_chosen.get()>
            <td data-label="State">
                <Badge state=operation.state.name() />
            </td>
            <th scope="row" data-label="Operation">
                <a class="row-link" href=format!("/operations/{id}")>
                    <Plain text=operation.sentence.clone() />
                </a>
                <p class="row-reason">
                    <Plain text=wording::uncertainty(&operation.state) />
                </p>
                {outlook
                    .as_ref()
                    .map(|outlook| {
                        view! {
                            <p class="row-outlook">
                                <Plain text=wording::outlook_in_brief(outlook, as_of) />
                            </p>
                        }
                    })}
                {proposed.map(|proposed| view! { <p class="row-proposed"><Plain text=proposed /></p> })}
                {deferred.map(|deferred| view! { <p class="row-deferred"><Plain text=deferred /></p> })}
                <p class="row-key">
                    <Plain text=operation.key.workflow.as_str() />
                    " · "
                    <Plain text=company />
                </p>
            </th>
            <td data-label="Uncertain for">
                <span class=format!("ageing is-{}", ageing.as_str())>
                    {(ageing != Ageing::Fresh).then(|| view! { <Icon picture=Picture::Warning /> })}
                    <Age since now=as_of />
                </span>
                {over.map(|over| view! { <p class="row-over">{over}</p> })}
            </td>
            <td class="number" data-label="Money">
                <Amount money=operation.money.clone() />
            </td>
            <td data-label="Worker">
                {match operation.worker.clone() {
                    Some(worker) => view! { <Plain text=worker /> }.into_any(),
                    None => view! { <span class="none">"not named"</span> }.into_any(),
                }}
            </td>
            <td data-label="On it">
                {match claimed {
                    Some(claimed) => view! { <Plain text=claimed /> }.into_any(),
                    None => view! { <span class="none">"nobody"</span> }.into_any(),
                }}
            </td>
            <td class="row-act">{link}</td>
        </tr>
        {forms}
    }
    .into_any()
}
