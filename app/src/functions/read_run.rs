//! A run: what it would act on, how far it is, what became of each operation.

use guard::{
    clock::Timestamp,
    id::RunId,
    lists::{Run, RunItem},
    view::OperationView,
};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Under this name why a run was not proposed is told on the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "run";

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RunCounts {
    /// It was done.
    pub applied: u32,
    /// Nothing had to be done any more.
    pub skipped: u32,
    /// It was refused.
    pub refused: u32,
    /// Of those that were looked for: the record was found, and the operation is confirmed.
    pub found: u32,
    /// The record is absent, proven or so far.
    pub absent: u32,
    /// The record was found and disagrees.
    pub disputed: u32,
    /// Not answered yet, or not in a way that says anything.
    pub open: u32,
}

/// A run, as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RunView {
    /// When it was true.
    pub as_of: Timestamp,
    /// The run.
    pub run: Run,
    /// How far it is.
    pub counts: RunCounts,
    /// Its first operations, or all of them once it has begun.
    pub items: Vec<(RunItem, OperationView)>,
    /// What was written, and why it was not begun.
    pub refused: Option<RunDraft>,
}

/// What was written to begin a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct RunDraft {
    /// The reason.
    pub reason: String,
    /// Until when, as a browser's field writes it.
    pub until: String,
    /// Why it was not begun.
    pub failure: Failure,
}

/// Reads a run of the one who asks.
#[server(prefix = "/fn", endpoint = "read_run", input = Json, output = Json)]
pub(crate) async fn read_run(run: RunId) -> Result<RunView, Failure> {
    use guard::lists::{RUN_ITEMS_MAX, RUN_SAMPLE_ROWS, RunStanding};

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let run = guard.run(person, run).await?;
    let limit = match run.standing {
        RunStanding::Proposed => RUN_SAMPLE_ROWS,
        RunStanding::Running | RunStanding::Ended => RUN_ITEMS_MAX,
    };
    let items = guard.run_items(person, run.id, 0, u32::try_from(limit).unwrap_or(u32::MAX)).await?;
    let mut counts = RunCounts::default();
    for part in items.chunks(guard::queue::PAGE_ROWS_MAX as usize) {
        let ids: Vec<_> = part.iter().map(|(item, _)| item.operation).collect();
        let absent = guard.absent_so_far(&ids).await?;
        for (item, operation) in part {
            counts.add(item, operation, absent.contains(&operation.id));
        }
    }
    let items = items.into_iter().map(|(item, operation)| (item, guard.view(&operation))).collect();
    let refused: Option<Option<RunDraft>> = crate::reply::take_notice(&visit, super::confirm_run::NOTICE).await;
    Ok(RunView { as_of: guard.now(), run, counts, items, refused: refused.flatten() })
}

impl RunCounts {
    #[cfg(feature = "ssr")]
    fn add(&mut self, item: &RunItem, operation: &guard::operation::Operation, is_absent: bool) {
        use guard::{lists::RunOutcome, state::StateName};

        match &item.result {
            None => {}
            Some((RunOutcome::Skipped, _)) => self.skipped += 1,
            Some((RunOutcome::Refused, _)) => self.refused += 1,
            Some((RunOutcome::Applied, _)) => {
                self.applied += 1;
                match operation.state.name() {
                    StateName::Confirmed => self.found += 1,
                    StateName::Failed | StateName::Released => self.absent += 1,
                    StateName::Disputed => self.disputed += 1,
                    StateName::Unknown if is_absent => self.absent += 1,
                    StateName::Unknown
                    | StateName::AwaitingApproval
                    | StateName::Rejected
                    | StateName::Acquired
                    | StateName::Sending => self.open += 1,
                }
            }
        }
    }
}
