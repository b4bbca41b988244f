//! Drops bodies whose days are over: one process at a time, in steps, in the order in which operations last changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use guard::recovery::Claim;
use guard::refusal::Refusal;
use guard::retention::DuePlace;
use guard::service::Guard;
use tokio_util::sync::CancellationToken;

/// What is due is looked for this often, in seconds.
pub const RETENTION_SECONDS: u64 = 10;

/// So many operations are looked at in one step.
pub const RETENTION_STEP_ROWS: u32 = 100;

/// A turn takes about this long at most, in seconds, so that most of the time belongs to those who wait for an answer.
const TURN_SECONDS_MAX: u64 = 3;

/// A process has the sweep for so long, in seconds; another one takes it up then.
const CLAIM_SECONDS: i64 = 60;

/// How far each workflow's list was gone through. What is in somebody's way is met once in each round, and holds up nothing behind it.
#[derive(Debug, Default)]
pub struct Sweep {
    places: BTreeMap<String, DuePlace>,
}

impl Sweep {
    /// Takes a turn; answers the bodies of how many operations were dropped. A workflow whose list came to its end starts from the front
    /// at the next turn.
    ///
    /// # Errors
    /// The store's fault; what was dropped before stays dropped, and the rest is dropped later.
    pub async fn turn(&mut self, guard: &Guard, by: &str, draining: &CancellationToken) -> Result<u64, Refusal> {
        let workflows = guard.retained_workflows();
        if workflows.is_empty() {
            return Ok(0);
        }
        let claim = Claim { by: by.to_owned(), until: guard.now() + TimeDelta::seconds(CLAIM_SECONDS) };
        if !guard.claim_sweep(&claim).await? {
            return Ok(0);
        }
        let started = Instant::now();
        let is_over = || draining.is_cancelled() || started.elapsed() >= Duration::from_secs(TURN_SECONDS_MAX);
        let mut dropped = 0;
        for (workflow, _) in workflows {
            while !is_over() {
                let after = self.places.get(&workflow).copied();
                let swept = guard.drop_due(&workflow, after, RETENTION_STEP_ROWS).await?;
                dropped += u64::from(swept.dropped);
                match swept.next {
                    Some(next) => self.places.insert(workflow.clone(), next),
                    None => {
                        self.places.remove(&workflow);
                        break;
                    }
                };
            }
        }
        if dropped > 0 {
            tracing::info!(operations = dropped, "dropped bodies whose days are over");
        }
        Ok(dropped)
    }
}
