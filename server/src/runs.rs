//! Works runs over what a filter said: one process at a time each, item by item; a run whose process died is taken up where it was.

use chrono::TimeDelta;
use guard::id::OperationId;
use guard::lists::{Run, RunAction, RunItem, RunOutcome};
use guard::recovery::Claim;
use guard::refusal::Refusal;
use guard::service::Guard;

/// A run is looked for this often, in milliseconds.
pub const RUNS_MILLISECONDS: u64 = 1_000;

/// So many operations are acted on before the claim is made anew.
const ITEMS_PER_STEP: u32 = 50;

/// A process has a run for so long, in seconds; another one takes it up then.
const CLAIM_SECONDS: i64 = 60;

/// One, then ten, then all: so many operations of a verification have been asked for at the end of each stage but the last.
const STAGES: [u32; 2] = [1, 11];

/// The answers to a stage are awaited at most so long, in seconds; without them the rest is left alone.
const STAGE_SECONDS_MAX: i64 = 180;

/// Does a step of a run that is to be worked, if there is one.
///
/// # Errors
/// The store's fault; what was not done then is done later.
pub async fn step(guard: &Guard, by: &str) -> Result<(), Refusal> {
    loop {
        let claim = Claim { by: by.to_owned(), until: guard.now() + TimeDelta::seconds(CLAIM_SECONDS) };
        let Some(run) = guard.claim_run(&claim).await? else { return Ok(()) };
        if !work(guard, &run).await? {
            return Ok(());
        }
    }
}

/// What of a run is done.
#[derive(Default)]
struct Progress {
    counts: [u32; 3],
    waiting: Vec<RunItem>,
    applied: Vec<(u32, OperationId)>,
}

impl Progress {
    async fn of(guard: &Guard, run: &Run) -> Result<Self, Refusal> {
        let mut progress = Self::default();
        let mut after = 0;
        loop {
            let items = guard.items_to_work(run, after, ITEMS_PER_STEP).await?;
            let Some(last) = items.last() else { return Ok(progress) };
            after = last.number;
            for item in items {
                match &item.result {
                    Some((outcome, _)) => {
                        progress.counts[place(*outcome)] += 1;
                        if *outcome == RunOutcome::Applied {
                            progress.applied.push((item.number, item.operation));
                        }
                    }
                    None => progress.waiting.push(item),
                }
            }
        }
    }
}

const fn place(outcome: RunOutcome) -> usize {
    match outcome {
        RunOutcome::Applied => 0,
        RunOutcome::Skipped => 1,
        RunOutcome::Refused => 2,
    }
}

/// Does a step; whether there may be more to do at once.
async fn work(guard: &Guard, run: &Run) -> Result<bool, Refusal> {
    let progress = Progress::of(guard, run).await?;
    if progress.waiting.is_empty() {
        let [applied, skipped, refused] = progress.counts;
        let counts = [(RunOutcome::Applied, applied), (RunOutcome::Skipped, skipped), (RunOutcome::Refused, refused)];
        guard.end_run(run, counts).await?;
        return Ok(true);
    }
    let bound = match run.action {
        RunAction::LookUp | RunAction::Claim | RunAction::KeepWaiting => u32::MAX,
        RunAction::Verify => match stage(guard, run, &progress).await? {
            Stage::Until(number) => number,
            Stage::Waits => return Ok(false),
            Stage::GaveUp => {
                for item in progress.waiting {
                    guard
                        .leave_run_item(run, item, "the lookups before it were not answered, so it was left alone")
                        .await?;
                }
                return Ok(true);
            }
        },
    };
    let now = progress.waiting.into_iter().filter(|item| item.number <= bound).take(ITEMS_PER_STEP as usize);
    for item in now {
        guard.work_run_item(run, item).await?;
    }
    Ok(true)
}

/// How far a verification may go.
enum Stage {
    /// Up to the item with this number.
    Until(u32),
    /// The answers to what was asked are awaited.
    Waits,
    /// They were awaited in vain.
    GaveUp,
}

async fn stage(guard: &Guard, run: &Run, progress: &Progress) -> Result<Stage, Refusal> {
    let asked = run.items - u32::try_from(progress.waiting.len()).unwrap_or(u32::MAX);
    let begun_at = run.begun_at.unwrap_or(run.proposed_at);
    if let Some(end) = STAGES.into_iter().find(|end| asked < *end) {
        if asked == 0 || !STAGES.contains(&asked) {
            return Ok(Stage::Until(end));
        }
        return answered_up_to(guard, progress, begun_at, end).await;
    }
    if STAGES.last() == Some(&asked) {
        return answered_up_to(guard, progress, begun_at, u32::MAX).await;
    }
    Ok(Stage::Until(u32::MAX))
}

/// The next stage, once every operation that was asked for has an answer.
async fn answered_up_to(
    guard: &Guard,
    progress: &Progress,
    begun_at: guard::clock::Timestamp,
    end: u32,
) -> Result<Stage, Refusal> {
    let asked: Vec<OperationId> = progress.applied.iter().map(|(_, operation)| *operation).collect();
    if guard.answered_since(&asked, begun_at).await? {
        return Ok(Stage::Until(end));
    }
    let is_late = guard.now() > begun_at + TimeDelta::seconds(STAGE_SECONDS_MAX);
    Ok(if is_late { Stage::GaveUp } else { Stage::Waits })
}
