//! `/runs/{id}`: what a run would act on, how far it is, and what became of each operation.

use guard::{
    clock::Timestamp,
    id::RunId,
    lists::{Run, RunAction, RunOutcome, RunStanding},
};
use leptos::{form::ActionForm, prelude::*};
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::{AsOf, Moment},
        awaited::{Body, page_of},
        badge::Badge,
        banner::Refused,
        decision::{ReasonField, UntilField},
        facts::Fact,
        fresh::look_again,
        heading::Heading,
        money::{Amount, Amounts},
        plain::Plain,
        table::{Table, numbers, words},
    },
    failure::Failure,
    functions::{
        confirm_run::ConfirmRun,
        read_run::{RunView, read_run},
    },
    wording,
};

/// A run. Without script, its page tells more each time that it is loaded.
#[component]
pub(crate) fn RunPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id")?.parse::<RunId>().ok()));
    let act = ServerAction::<ConfirmRun>::new();
    let run = Resource::new(
        move || (id.get(), act.version().get()),
        |(id, _)| async move {
            match id {
                Some(id) => read_run(id).await,
                None => Err(Failure::Refused(guard::refusal::Refusal::not_found("run"))),
            }
        },
    );
    // Only while it goes on: nothing is taken from under whoever writes a reason.
    look_again(move || {
        let goes_on = |run: &Option<Result<RunView, Failure>>| match run {
            Some(Ok(shown)) => shown.run.standing == RunStanding::Running,
            Some(Err(_)) | None => false,
        };
        if run.with_untracked(goes_on) {
            run.refetch();
        }
    });
    let page = page_of(run, move |run| view! { <Shown run act /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

const fn title(action: RunAction) -> &'static str {
    match action {
        RunAction::LookUp => "Look up many",
        RunAction::Claim => "Claim many",
        RunAction::Verify => "Verify together",
        RunAction::KeepWaiting => "Keep many waiting",
    }
}

#[component]
fn Shown(run: RunView, act: ServerAction<ConfirmRun>) -> impl IntoView {
    let RunView { as_of, run, counts, items, refused } = run;
    let back = match run.query.as_str() {
        "" => format!("/{}", run.page.as_str()),
        query => format!("/{}?{query}", run.page.as_str()),
    };
    let done = counts.applied + counts.skipped + counts.refused;
    let number = wording::counted(run.items.into(), "operation", "operations");
    let told = match run.standing {
        RunStanding::Proposed => format!("{number}, as the filter said a moment ago. Nothing has been done yet."),
        RunStanding::Running => format!("{done} of {number} have their result. It goes on without you."),
        RunStanding::Ended => format!("It has ended: {number} have their result."),
    };
    let how = match run.action {
        RunAction::LookUp => "Each one is looked for at its destination now, as fast as the destination bears it.",
        RunAction::Claim => "You are on each of them for a while; whoever was is relieved.",
        RunAction::Verify => {
            "One is looked for first, then ten, then all, each time behind the answers to those before; without answers it stops."
        }
        RunAction::KeepWaiting => "Each one stays uncertain and needs nobody until then. Then it comes back.",
    };
    let inline = move || match act.value().get() {
        Some(Err(failure)) => Some(view! { <Refused what="It was not begun" failure /> }),
        Some(Ok(_)) | None => None,
    };
    let (written, refused) = refused.map(|draft| ((draft.reason, draft.until), draft.failure)).unzip();
    let form = (run.standing == RunStanding::Proposed)
        .then(|| view! { <Confirm run=run.clone() now=as_of written=written.unwrap_or_default() act /> });
    let is_sample = run.standing == RunStanding::Proposed && items.len() < run.items as usize;
    let caption = if is_sample { "The first of them" } else { "Each operation and what became of it" };
    let mut split = match run.action {
        RunAction::Claim => vec![("You are on it", counts.applied)],
        RunAction::KeepWaiting => vec![("Kept waiting", counts.applied)],
        RunAction::LookUp | RunAction::Verify => vec![
            ("Found and confirmed", counts.found),
            ("Absent, proven or so far", counts.absent),
            ("Found and disagrees", counts.disputed),
            ("Not answered, or inconclusive", counts.open),
        ],
    };
    split.extend([("Skipped", counts.skipped), ("Refused", counts.refused)]);
    let split = split.into_iter().map(|(word, number)| {
        view! {
            <Fact name=word>{number}</Fact>
        }
    });
    let rows = items.into_iter().map(|(item, operation)| {
        let result = match item.result {
            None => view! { <span class="none">"not yet"</span> }.into_any(),
            Some((outcome, told)) => {
                let word = match outcome {
                    RunOutcome::Applied => "applied",
                    RunOutcome::Skipped => "skipped",
                    RunOutcome::Refused => "refused",
                };
                view! {
                    <strong class=format!("result is-{word}")>{word}</strong>
                    ": "
                    <Plain text=told />
                }
                .into_any()
            }
        };
        view! {
            <tr>
                <td data-label="State">
                    <Badge state=operation.state.name() />
                </td>
                <th scope="row" data-label="Operation">
                    <a class="row-link" href=format!("/operations/{}", operation.id)>
                        <Plain text=operation.sentence />
                    </a>
                </th>
                <td class="number" data-label="Money">
                    <Amount money=operation.money />
                </td>
                <td data-label="Result">{result}</td>
            </tr>
        }
    });
    view! {
        <div class="page-head">
            <Heading title=title(run.action)>{title(run.action)}</Heading>
            <AsOf at=as_of />
        </div>
        <p class="run-told" role="status">{told}</p>
        <p class="run-how">{how}</p>
        <Amounts money=run.money.clone() />
        {refused.map(|failure| view! { <Refused what="It was not begun" failure /> })}
        {inline}
        {form}
        {(run.standing != RunStanding::Proposed)
            .then(|| {
                view! {
                    <progress class="run-progress" max=run.items value=done aria-label="Operations with a result"></progress>
                    <dl class="facts">
                        {split.collect_view()}
                    </dl>
                    <p class="run-how">
                        "Reason: "
                        <Plain text=run.reason.clone() />
                        {run.until.map(|until| view! { ". Until " <Moment at=until /> })}
                        {run.begun_at.map(|at| view! { ". Begun " <Moment at /> })}
                        {run.ended_at.map(|at| view! { ", ended " <Moment at /> })}
                    </p>
                }
            })}
        <Table
            region=caption
            caption=caption
            columns=[words("State"), words("Operation"), numbers("Money"), words("Result")]
            rows=rows.collect_view()
        />
        <nav class="pages" aria-label="Pages">
            {is_sample.then(|| view! { <p>"A sample; the run acts on all of them."</p> })}
            <a class="button is-quiet" href=back>"Back to the list"</a>
        </nav>
    }
    .into_any()
}

#[component]
fn Confirm(
    run: Run,
    now: Timestamp,
    /// The reason and the moment, as they were written before.
    written: (String, String),
    act: ServerAction<ConfirmRun>,
) -> impl IntoView {
    let (reason, until) = written;
    let until = (run.action == RunAction::KeepWaiting).then(|| {
        view! {
            <label for="run-until">"Until " <span class="optional">"UTC"</span></label>
            <UntilField id="run-until" name="until" until now is_barred=false />
        }
    });
    let word = format!("Begin with {}", wording::counted(run.items.into(), "operation", "operations"));
    view! {
        <section class="panel run-confirm" aria-labelledby="confirm-title">
            <h2 id="confirm-title">"Begin?"</h2>
            <ActionForm action=act>
                <input type="hidden" name="run" value=run.id.to_string() />
                {until}
                <label for="run-reason">"Reason, for all of them"</label>
                <ReasonField id="run-reason" name="reason" reason is_barred=false />
                <p class="actions">
                    <button type="submit">{word}</button>
                </p>
            </ActionForm>
        </section>
    }
    .into_any()
}
