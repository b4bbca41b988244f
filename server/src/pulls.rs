//! Makes the pulls that are scheduled, each by one process at a time; a pull whose process died is made anew when its claim runs out.
//!
//! When the next one is due stands in the store. What fails is tried again at growing intervals, and holds up nothing else.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::id::ReconciliationId;
use guard::pull::{ScheduledPull, period_start};
use guard::reconciliation::Scope;
use guard::refusal::Refusal;
use guard::service::Guard;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::background::Work;
use crate::destination::Destinations;
use crate::reconciliation::pull::{Pull, pull};
use crate::state::Server;

/// What is due is looked for this often, in milliseconds.
pub const TICK_MILLISECONDS: u64 = 1_000;

/// One process makes at most so many scheduled pulls at once, so that a slow destination holds up none of the others.
pub const PULLS_AT_ONCE_MAX: usize = 4;

/// A process has a pull for so long, in seconds; it asks for more while it is at it, and where it died, another one takes over then.
pub const CLAIM_SECONDS: i64 = 60;

/// A claim is made longer this often, in seconds.
const KEEP_SECONDS: u64 = 20;

/// Makes scheduled pulls until the server drains.
pub struct Puller {
    guard: Guard,
    destinations: Destinations,
    /// The name under which this process claims.
    name: String,
    flying: JoinSet<Result<(), Refusal>>,
    claimed: HashMap<Id, ScheduledPull>,
}

impl Puller {
    /// That of a server, under a name of its own.
    pub fn of(server: &Server) -> Self {
        Self {
            guard: server.guard.clone(),
            destinations: server.destinations.clone(),
            name: hex::encode(server.entropy.bytes()),
            flying: JoinSet::new(),
            claimed: HashMap::new(),
        }
    }

    /// Makes what is due until the server drains; what is under way is then broken off and given back, and made anew by whoever comes
    /// next.
    pub async fn run(mut self, draining: CancellationToken) {
        let mut ticks = tokio::time::interval(Duration::from_millis(TICK_MILLISECONDS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = Work::named("pulls");
        loop {
            tokio::select! {
                () = draining.cancelled() => break,
                Some(flown) = self.flying.join_next_with_id() => {
                    self.land(flown);
                    continue;
                }
                _ = ticks.tick() => {}
            }
            work.tell(self.turn().await);
        }
        self.flying.shutdown().await;
        for scheduled in self.claimed.into_values() {
            if let Err(refusal) = self.guard.release_pull(&scheduled, &self.name).await {
                tracing::warn!(%refusal, "a pull that was broken off is made again when its claim runs out");
            }
        }
    }

    /// Makes what is due, and waits for all of it; answers how many pulls that were.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn make_due(&mut self) -> Result<usize, Refusal> {
        self.turn().await?;
        let made = self.flying.len();
        while let Some(flown) = self.flying.join_next_with_id().await {
            self.land(flown);
        }
        Ok(made)
    }

    async fn turn(&mut self) -> Result<(), Refusal> {
        while self.flying.len() < PULLS_AT_ONCE_MAX {
            let Some(scheduled) = self.guard.claim_pull(&self.name, TimeDelta::seconds(CLAIM_SECONDS)).await? else {
                return Ok(());
            };
            let (guard, destinations, name) = (self.guard.clone(), self.destinations.clone(), self.name.clone());
            let task = scheduled.clone();
            let task = self.flying.spawn(async move { make(&guard, &destinations, &name, task).await });
            self.claimed.insert(task.id(), scheduled);
        }
        Ok(())
    }

    fn land(&mut self, flown: Result<(Id, Result<(), Refusal>), JoinError>) {
        let id = flown.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(ScheduledPull { schedule, .. }) = self.claimed.remove(&id) else { return };
        let (workflow, company) = (schedule.workflow, schedule.company);
        let again = "what became of a pull was not kept; it is made again when its claim runs out";
        match flown {
            Ok((_, Ok(()))) => {}
            Ok((_, Err(refusal))) => tracing::warn!(workflow, company, %refusal, "{again}"),
            Err(error) => tracing::error!(workflow, company, %error, "{again}"),
        }
    }
}

/// Makes one pull, and keeps what became of it.
async fn make(guard: &Guard, destinations: &Destinations, by: &str, scheduled: ScheduledPull) -> Result<(), Refusal> {
    let Some(made) = holding(guard, by, &scheduled, Box::pin(pull_now(guard, destinations, &scheduled))).await? else {
        return Ok(());
    };
    let (workflow, company) = (&scheduled.schedule.workflow, &scheduled.schedule.company);
    match &made {
        Ok(run) => tracing::info!(workflow, company, %run, "pulled and reconciled by schedule"),
        Err(reason) => tracing::warn!(workflow, company, reason, "a scheduled pull failed; it is tried again"),
    }
    guard.pull_made(&scheduled, by, &made).await
}

async fn pull_now(
    guard: &Guard,
    destinations: &Destinations,
    scheduled: &ScheduledPull,
) -> Result<ReconciliationId, String> {
    let ScheduledPull { schedule, days, .. } = scheduled;
    let known = guard.catalogue().workflows.get(&schedule.workflow).map(|known| known.workflow.clone());
    let workflow = known.ok_or_else(|| "the workflow was taken out of the configuration".to_owned())?;
    let scope = Scope {
        workflow: schedule.workflow.clone(),
        company: schedule.company.clone(),
        from: Some(period_start(guard.now(), *days)),
        to: None,
    };
    let asked = Pull { workflow, scope, opens_all: false, actor: Actor::Schedule };
    let done = pull(guard, destinations, asked).await.map_err(|not| not.in_a_line())?;
    Ok(done.run.id)
}

/// Works while the claim is kept; none where another process has it.
async fn holding<T>(
    guard: &Guard,
    by: &str,
    scheduled: &ScheduledPull,
    mut work: impl Future<Output = T> + Unpin,
) -> Result<Option<T>, Refusal> {
    loop {
        match tokio::time::timeout(Duration::from_secs(KEEP_SECONDS), &mut work).await {
            Ok(done) => return Ok(Some(done)),
            Err(_elapsed) => {
                if !guard.keep_pull(scheduled, by, TimeDelta::seconds(CLAIM_SECONDS)).await? {
                    return Ok(None);
                }
            }
        }
    }
}
