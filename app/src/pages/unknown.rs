//! `/unknown`: the queue of what is uncertain, by money at risk times age.

use guard::{
    clock::Timestamp,
    id::OperationId,
    lists::ListPage,
    person::Person,
    queue::{PAGE_ROWS_DEFAULT, Page},
    service::{Outlook, Standing},
    summary::LISTED_COUNTED_MAX,
    view::OperationView,
};
use leptos::{children::ViewFn, prelude::*};
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

use crate::{
    components::{
        act_on_all::ActOnAll,
        age::Age,
        awaited::{Body, Part, page_of},
        badge::Badge,
        banner::{DecidedBanner, Undecided},
        decision::{DecisionPanel, Known, keep_unmade},
        fresh::{Freshness, News, is_in_use, look_again},
        heading::Heading,
        icon::{Icon, Picture},
        incidents::Incidents,
        money::{Amount, Amounts},
        plain::Plain,
        recovery::RecoveryPanel,
        sides::{self, SidesPanel},
        table::{Column, Table, numbers, words},
        views::ViewBar,
    },
    failure::Failure,
    functions::{
        claim::Claim,
        list_unknown::{Asked, Queue, list_unknown},
        look_up_now::LookUpNow,
        open_fields::OpenFields,
        read_sides::read_sides,
        resolve::Resolve,
    },
    look_alike::Alikes,
    notice::{ClaimNotice, DecisionNotice, Draft, HasteNotice, Origin},
    wording::{
        self, look_alike,
        review::{self, Ageing},
    },
};

/// The queue. Its address is its whole state; `?decide=` names the operation whose forms are open.
#[component]
pub(crate) fn UnknownPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.with(Asked::of));
    let chosen = Memo::new(move |_| query.with(|query| query.get("decide").unwrap_or_default()));
    let act = ServerAction::<Resolve>::new();
    let done = Memo::new(move |done: Option<&u32>| {
        let done = done.copied().unwrap_or(0);
        if matches!(act.value().get(), Some(Ok(_))) { done + 1 } else { done }
    });
    let claim = ServerAction::<Claim>::new();
    let acted = move || (done.get(), claim.version().get());
    // What an address opens is on the page already, unless somebody comes here by it.
    let queue =
        Resource::new(move || (asked.get(), acted()), move |(asked, _)| list_unknown(asked, chosen.get_untracked()));
    // Of one operation alone, and apart from the list: forms in which something is written stay as they are.
    let look = ServerAction::<LookUpNow>::new();
    let open = ServerAction::<OpenFields>::new();
    let sides: sides::Read = Resource::new(
        move || (chosen.get(), look.version().get(), open.version().get()),
        |(id, ..)| async move { if id.is_empty() { Ok(None) } else { read_sides(id).await.map(Some) } },
    );
    let unmade = keep_unmade(act, move || queue.refetch());
    let acts = Acts { act, unmade, claim, look, looked_for: RwSignal::new(None), open };
    let seen = RwSignal::new(None);
    look_again(move || {
        let open = chosen.get_untracked();
        if !open.is_empty() {
            leptos::task::spawn_local(async move {
                let Ok(later) = read_sides(open.clone()).await else { return };
                if chosen.try_get_untracked() == Some(open) {
                    sides.maybe_update(|shown| {
                        let differs = matches!(shown, Some(Ok(Some(shown))) if *shown != later);
                        let moves = differs && !sides::is_unfolded();
                        if moves {
                            *shown = Some(Ok(Some(later)));
                        }
                        moves
                    });
                }
            });
        }
        let then = asked.get_untracked();
        leptos::task::spawn_local(async move {
            let Ok(later) = list_unknown(then.clone(), String::new()).await else { return };
            // Another page may have been asked for meanwhile, or left.
            if asked.try_get_untracked() != Some(then) {
                return;
            }
            let is_deciding = chosen.with_untracked(|chosen| !chosen.is_empty());
            queue.maybe_update(|queue| {
                let stays = match queue {
                    Some(Ok(shown)) => {
                        !is_deciding && !is_in_use() && !News::between(&shown.page.rows, &later.page).moves()
                    }
                    Some(Err(_)) => true,
                    None => false,
                };
                if stays {
                    *queue = Some(Ok(later));
                } else {
                    seen.set(Some((later.as_of, later.page)));
                }
                stays
            });
        });
    });
    // After a decision the next item opens.
    let navigate = use_navigate();
    Effect::new(move |before: Option<u32>| {
        let now = done.get();
        if before.is_some_and(|before| before != now)
            && let Some(Ok(decided)) = act.value().get_untracked()
        {
            let id = decided.settled.operation.id;
            let next = queue.with_untracked(|queue| match queue {
                Some(Ok(queue)) => neighbours(&queue.page.rows, id).1,
                Some(Err(_)) | None => None,
            });
            let next = next.map(|next| next.to_string()).unwrap_or_default();
            navigate(&asked.get_untracked().address(&next), NavigateOptions { scroll: false, ..Default::default() });
        }
        now
    });
    let show = Callback::new(move |()| queue.refetch());
    let page = page_of(queue, move |queue| view! { <Shown queue asked chosen seen show sides acts /> }.into_any());
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

/// What can be done on the page, and what is kept of it.
#[derive(Clone, Copy)]
struct Acts {
    act: ServerAction<Resolve>,
    /// What was written for a decision that was refused.
    unmade: RwSignal<Option<(Draft, Failure)>>,
    claim: ServerAction<Claim>,
    look: ServerAction<LookUpNow>,
    /// The operation that a lookup was last asked for.
    looked_for: RwSignal<Option<OperationId>>,
    open: ServerAction<OpenFields>,
}

/// The operations before and behind one on a page.
fn neighbours(rows: &[OperationView], id: OperationId) -> (Option<OperationId>, Option<OperationId>) {
    let Some(place) = rows.iter().position(|row| row.id == id) else { return (None, None) };
    let before = place.checked_sub(1).and_then(|before| rows.get(before));
    (before.map(|row| row.id), rows.get(place + 1).map(|row| row.id))
}

#[component]
fn Shown(
    queue: Queue,
    asked: Memo<Asked>,
    chosen: Memo<String>,
    seen: RwSignal<Option<(Timestamp, Page<OperationView>)>>,
    show: Callback<()>,
    sides: sides::Read,
    acts: Acts,
) -> impl IntoView {
    let Queue {
        as_of,
        person,
        waiting,
        recovering,
        workflows,
        page,
        outlooks,
        standings,
        alikes,
        notice,
        claimed,
        haste,
    } = queue;
    let place = asked.get_untracked();
    let unclaimed = match claimed {
        Some(ClaimNotice::Refused(id, failure)) => Some((id, failure)),
        Some(ClaimNotice::Done) | None => None,
    };
    let (done, refused) = match notice {
        Some(DecisionNotice::Done(decided)) => (Some(*decided), None),
        Some(DecisionNotice::Refused(draft, failure)) => (None, Some((*draft, failure))),
        None => (None, acts.unmade.get_untracked()),
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
    let views = view! { <ViewBar page=ListPage::Unknown query=place.query() /> };
    // A page that is short and has a next one was left where its bound was reached.
    let is_cut = page.next.is_some() && page.rows.len() < PAGE_ROWS_DEFAULT as usize;
    if page.rows.is_empty() && !is_cut {
        let words = if place == Asked::default() && waiting.uncertain == 0 {
            "Nothing is uncertain. An operation comes here when its worker cannot say whether it was written, when its lease ends while it may have been, or when two truths contradict each other."
        } else {
            "Nothing here. Other parts of the queue may hold something: see All."
        };
        return view! {
            {head}
            {views}
            <Filters place workflows />
            <p class="empty">{words}</p>
        }
        .into_any();
    }
    let why_not = wording::why_not_resolve(person.role);
    let query = place.query();
    let next =
        page.next.as_ref().map(|cursor| Asked { cursor: cursor.as_str().to_owned(), ..place.clone() }.address(""));
    let ids: Vec<OperationId> = page.rows.iter().map(|row| row.id).collect();
    let is_first = place.cursor.is_empty();
    let order = match place.sort.as_str() {
        "longest" => "Uncertain operations, the longest first",
        "latest" => "Uncertain operations, the latest first",
        _ => "Uncertain operations, by money at risk times age",
    };
    let sorts = |by: &str| if place.sort == by { "descending" } else { "none" };
    let (by_age, by_risk) = (sorts("longest"), sorts(""));
    // What the address had open when the page came is where the browser has scrolled to by itself.
    let came_open = StoredValue::new(chosen.get_untracked());
    let rows = page.rows.into_iter().zip(outlooks).zip(standings).zip(alikes).enumerate();
    let rows = rows.map(|(at, (((operation, outlook), standing), alikes))| {
        let beside = Beside {
            place: place.clone(),
            before: at.checked_sub(1).and_then(|before| ids.get(before)).copied(),
            next: ids.get(at + 1).copied(),
        };
        let unclaimed = unclaimed.clone().filter(|(id, _)| *id == operation.id).map(|(_, failure)| failure);
        let person = person.clone();
        view! { <Row operation outlook standing alikes beside as_of person chosen came_open refused=refused.clone() unclaimed haste=haste.clone() sides acts /> }
    });
    let at_risk = if waiting.uncertain >= LISTED_COUNTED_MAX {
        format!("At risk in the {} that are uncertain for longest: ", wording::number(LISTED_COUNTED_MAX.into()))
    } else {
        "At risk: ".to_owned()
    };
    let next_word = if is_cut { "Look further" } else { "Next" };
    view! {
        {head}
        <Incidents />
        <div class="queue-sum">
            <p>
                {wording::counted_to(LISTED_COUNTED_MAX, waiting.uncertain, "operation is", "operations are")}
                " never sent again until somebody knows."
            </p>
            {wording::recovering(recovering).map(|told| view! { <p>{told}</p> })}
            {(!waiting.at_risk.is_empty()).then(|| view! { <p class="queue-risk">{at_risk}</p> })}
            <Amounts money=waiting.at_risk />
        </div>
        {views}
        <Filters place=place.clone() workflows />
        {is_cut
            .then(|| {
                view! {
                    <p class="looked" role="status">
                        {wording::rare("operations")}
                    </p>
                }
            })}
        <Table
            region="Uncertain operations"
            caption=order
            class="queue"
            columns=[
                words("State"),
                words("Operation, and why it is uncertain"),
                words("Uncertain for").sorted(by_age),
                numbers("Money").sorted(by_risk),
                words("Worker"),
                words("On it"),
                Column::of(view! { <span class="hidden">"Decide"</span> }),
            ]
            rows=rows.collect_view()
        />
        <nav class="pages" aria-label="Pages">
            {(!is_first)
                .then(|| {
                    let first = Asked { cursor: String::new(), ..asked.get_untracked() }.address("");
                    view! { <a class="button is-quiet" href=first>"First"</a> }
                })}
            {next.map(|address| view! { <a class="button is-quiet" rel="next" href=address>{next_word}</a> })}
        </nav>
        <ActOnAll page=ListPage::Unknown query why_not />
    }
    .into_any()
}

#[component]
fn Row(
    operation: OperationView,
    #[prop(into)] outlook: Option<Outlook>,
    standing: Standing,
    #[prop(into)] alikes: Option<Alikes>,
    beside: Beside,
    as_of: Timestamp,
    person: Person,
    chosen: Memo<String>,
    came_open: StoredValue<String>,
    #[prop(into)] refused: Option<(Draft, Failure)>,
    #[prop(into)] unclaimed: Option<Failure>,
    #[prop(into)] haste: Option<HasteNotice>,
    sides: sides::Read,
    acts: Acts,
) -> impl IntoView {
    let Acts { act, unmade: _, claim, look, looked_for, open } = acts;
    let id = operation.id.to_string();
    let ageing =
        review::ageing(&standing.rules, wording::since(&operation.state).unwrap_or(operation.updated_at), as_of);
    let over = ageing.words(&standing.rules);
    let claimed = standing.claim.as_ref().map(|held| review::claim_in_brief(held, &person.email, as_of));
    let deferred = standing.deferral.as_ref().map(|deferral| review::deferral(deferral, as_of));
    let proposed = standing.proposal.as_ref().map(|proposal| review::proposal(proposal, as_of));
    let alike = alikes.as_ref().map(look_alike::in_brief);
    let since = wording::since(&operation.state).unwrap_or(operation.updated_at);
    let is_chosen = Memo::new({
        let id = id.clone();
        move |_| chosen.with(|chosen| *chosen == id)
    });
    let company = operation.key.company.as_str().to_owned();
    let subject = operation.sentence.clone();
    let link = {
        let (id, place) = (id.clone(), beside.place.clone());
        move || {
            let (address, word) =
                if is_chosen.get() { (place.address(""), "Close") } else { (place.address(&id), "Decide") };
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
        let (operation, id, standing) = (operation.clone(), id.clone(), standing);
        let (outlook, place) = (outlook.clone(), beside.place.clone());
        let both = {
            let (operation, standing, person) = (operation.id, standing.clone(), person.clone());
            ViewFn::from(move || {
                let (shown_to, shown_at) = (person.clone(), place.clone());
                let part = sides::of(sides, operation, move |sides| {
                    view! { <SidesPanel sides person=shown_to.clone() place=shown_at.clone() open /> }.into_any()
                });
                view! {
                    <Part part />
                    <RecoveryPanel
                        operation
                        outlook=outlook.clone()
                        standing=standing.clone()
                        person=person.clone()
                        origin=Origin::Queue
                        place=place.clone()
                        now=as_of
                        notice=haste.clone()
                        act=look
                        asked=looked_for
                    />
                }
            })
        };
        let known = {
            let operation = operation.id;
            ViewFn::from(move || {
                let part =
                    sides::of(sides, operation, |sides| view! { <Known lacks=sides.lacks_evidence /> }.into_any());
                view! { <Part part /> }
            })
        };
        move || {
            is_chosen.get().then(|| {
                let is_opened = came_open.get_value() != id;
                came_open.set_value(String::new());
                view! {
                    <tr class="queue-open">
                        <td colspan="7">
                            <Steps beside=beside.clone() />
                            <DecisionPanel
                                operation=operation.clone()
                                person=person.clone()
                                standing=standing.clone()
                                now=as_of
                                origin=Origin::Queue
                                place=beside.place.clone()
                                next=beside.next.map(|next| next.to_string()).unwrap_or_default()
                                unclaimed=unclaimed.clone()
                                claim
                                alikes=alikes.clone()
                                not_before=not_before
                                refused=refused.clone()
                                sides=both.clone()
                                known=known.clone()
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
                {alike.map(|alike| view! { <p class="row-alike">{alike}</p> })}
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
                {match operation.worker {
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

/// The queue around an item.
#[derive(Clone)]
struct Beside {
    place: Asked,
    before: Option<OperationId>,
    next: Option<OperationId>,
}

/// The way to the items before and behind.
#[component]
fn Steps(beside: Beside) -> impl IntoView {
    let Beside { place, before, next } = beside;
    let to = |id: Option<OperationId>| id.map(|id| place.address(&id.to_string()));
    view! {
        <nav class="queue-steps" aria-label="Queue">
            {to(before).map(|address| view! { <a class="button is-quiet is-small" rel="prev" data-key="[" data-noscroll="true" href=address>"Previous item"</a> })}
            {to(next).map(|address| view! { <a class="button is-quiet is-small" rel="next" data-key="]" data-noscroll="true" href=address>"Next item"</a> })}
        </nav>
    }
    .into_any()
}

/// What of the queue is shown, and in which order: links and a form, whose address is the state of the page.
#[component]
fn Filters(place: Asked, workflows: Vec<(String, String)>) -> impl IntoView {
    let tab = |show: &'static str, word: &'static str| {
        let is_shown = place.show == show;
        let address = Asked { show: show.to_owned(), cursor: String::new(), ..place.clone() }.address("");
        view! {
            <li>
                <a href=address aria-current=is_shown.then_some("page")>
                    {word}
                </a>
            </li>
        }
    };
    let options = |known: &[(&'static str, &'static str)], chosen: &str| {
        let options = known.iter().map(|(value, word)| {
            view! { <option value=*value selected=*value == chosen>{*word}</option> }
        });
        options.collect::<Vec<_>>()
    };
    let chosen = place.workflow.clone();
    let workflows = workflows.into_iter().map(move |(name, title)| {
        let is_chosen = name == chosen;
        view! { <option value=name selected=is_chosen>{title}</option> }
    });
    let show = place.show.clone();
    view! {
        <nav class="queue-tabs" aria-label="Parts of the queue">
            <ul>
                {tab("", "Needs you now")} {tab("needs_me", "Only a person can settle")} {tab("waiting", "Kept waiting")}
                {tab("all", "All")}
            </ul>
        </nav>
        <form class="queue-filters" method="get" action="/unknown">
            {(!show.is_empty()).then(|| view! { <input type="hidden" name="show" value=show /> })}
            <label>
                "Order"
                <select name="sort">
                    {options(&[("", "Money × age"), ("longest", "Longest uncertain"), ("latest", "Latest")], &place.sort)}
                </select>
            </label>
            <label>
                "Workflow"
                <select name="workflow">
                    <option value="">"All"</option>
                    {workflows.collect::<Vec<_>>()}
                </select>
            </label>
            <label>"Company" <input name="company" value=place.company.clone() maxlength="200" autocomplete="off" /></label>
            <label>"Currency" <input name="currency" value=place.currency.clone() maxlength="12" size="5" autocomplete="off" /></label>
            <label>
                "State"
                <select name="state">
                    {options(&[("", "All"), ("unknown", "Unknown"), ("disputed", "Disputed")], &place.state)}
                </select>
            </label>
            <label>
                "Because"
                <select name="cause">
                    {options(
                        &[("", "All"), ("lease_ended", "Worker not heard of"), ("reported", "Worker could not tell"), ("disputed", "Two truths")],
                        &place.cause,
                    )}
                </select>
            </label>
            <label>
                "On it"
                <select name="claim">
                    {options(&[("", "Anybody"), ("mine", "Me"), ("nobody", "Nobody")], &place.claim)}
                </select>
            </label>
            <button type="submit" class="is-quiet">"Apply"</button>
        </form>
        {(place.sort.is_empty() && place.currency.is_empty())
            .then(|| {
                view! {
                    <p class="note queue-note">
                        "By money at risk times age; amounts that differ by less than a quarter are ordered by age. Different currencies are ordered by their numbers alone: name one to compare like with like."
                    </p>
                }
            })}
    }
    .into_any()
}
