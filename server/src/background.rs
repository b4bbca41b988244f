//! What goes on beside requests: ending leases, following the configuration, looking for what is unknown, telling people, pulling
//! lists, sealing the trail, dropping bodies whose days are over, adding up old counts, cleaning up.

use std::future::Future;
use std::time::Duration;

use guard::clock::Entropy as _;
use guard::refusal::Refusal;
use guard::service::Guard;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::calls;
use crate::notification::Teller;
use crate::pulls::Puller;
use crate::recovery::Recovery;
use crate::retention::{RETENTION_SECONDS, Sweep};
use crate::runs::RUNS_MILLISECONDS;
use crate::session::Gate;
use crate::state::Server;
use crate::store::Database;
use crate::trail::{self, SEAL_EVERY_SECONDS, Sealed};

/// Leases that are over are looked for this often, in milliseconds. A begin or a page that meets one ends it at once.
pub const SWEEP_MILLISECONDS: u64 = 1_000;

/// So many leases are ended before the sweeper looks again for more.
pub const SWEEP_ROWS_MAX: u32 = 200;

/// A configuration that another process changed is in force here after this time, in milliseconds.
pub const REFRESH_MILLISECONDS: u64 = 1_000;

/// Repetitions that were held back are looked after this often: so late is it counted that a duplicate was prevented, where that was
/// not yet certain when it came.
pub const SETTLE_HELD_MILLISECONDS: u64 = 1_000;

/// For how long operations are uncertain is remembered this often, in seconds: of each day the last look stays.
pub const AGES_SECONDS: u64 = 600;

/// Sessions that are over are deleted this often, in seconds.
pub const SESSIONS_SECONDS: u64 = 600;

/// Counts that are old enough to be added up by days are looked for this often, in seconds.
pub const FOLD_SECONDS: u64 = 3_600;

/// Starts every task; each ends when the server drains, after the step that it is in.
pub fn start(server: &Server, gate: &Gate) -> TaskTracker {
    let tasks = TaskTracker::new();
    let repeat = |name, period, step| tasks.spawn(repeat(name, period, server.draining.clone(), step));
    let guard = server.guard.clone();
    repeat("sweep", Duration::from_millis(SWEEP_MILLISECONDS), step(move || sweep(guard.clone())));
    let guard = server.guard.clone();
    let period = Duration::from_millis(SETTLE_HELD_MILLISECONDS);
    repeat("duplicates", period, step(move || settle_held(guard.clone())));
    let guard = server.guard.clone();
    repeat("ages", Duration::from_secs(AGES_SECONDS), step(move || remember_ages(guard.clone())));
    let guard = server.guard.clone();
    repeat("refresh", Duration::from_millis(REFRESH_MILLISECONDS), step(move || refresh(guard.clone())));
    let database = server.database.clone();
    repeat("seal", Duration::from_secs(SEAL_EVERY_SECONDS), step(move || seal(database.clone())));
    // A name of this process among those that work on the same database.
    let (guard, by) = (server.guard.clone(), format!("{:x}", u128::from_be_bytes(crate::clock::OsEntropy.bytes())));
    let by_sweep = by.clone();
    repeat("runs", Duration::from_millis(RUNS_MILLISECONDS), step(move || work_runs(guard.clone(), by.clone())));
    tasks.spawn(drop_bodies(server.guard.clone(), by_sweep, server.draining.clone()));
    tasks.spawn(calls::keep(server.clone()));
    let gate = gate.clone();
    repeat("sessions", Duration::from_secs(SESSIONS_SECONDS), step(move || end_sessions(gate.clone())));
    let (database, draining) = (server.database.clone(), server.draining.clone());
    let fold = step(move || fold_counts(database.clone(), draining.clone()));
    repeat("counts", Duration::from_secs(FOLD_SECONDS), fold);
    tasks.spawn(Recovery::of(server).run(server.draining.clone()));
    tasks.spawn(Teller::of(server).run(server.draining.clone()));
    tasks.spawn(Puller::of(server).run(server.draining.clone()));
    tasks.close();
    tasks
}

type Step = Box<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>> + Send + Sync>;

fn step<F: Future<Output = Result<(), Refusal>> + Send + 'static>(
    work: impl Fn() -> F + Send + Sync + 'static,
) -> Step {
    Box::new(move || Box::pin(work()))
}

/// Does a step again and again.
async fn repeat(name: &'static str, period: Duration, draining: CancellationToken, step: Step) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = Work::named(name);
    loop {
        tokio::select! {
            () = draining.cancelled() => return,
            _ = ticks.tick() => {}
        }
        work.tell(step().await);
    }
}

/// Work that is done again and again. What keeps it from being done, a store that is away above all, is told once, and once again
/// when it is over.
pub(crate) struct Work {
    name: &'static str,
    is_failing: bool,
}

impl Work {
    /// Work that went well so far.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, is_failing: false }
    }

    /// Takes note of how it went this time.
    pub(crate) fn tell(&mut self, done: Result<(), Refusal>) {
        match &done {
            Ok(()) if self.is_failing => tracing::info!(task = self.name, "works again"),
            Err(refusal) if !self.is_failing => {
                tracing::error!(task = self.name, %refusal, "cannot do its work; it tries again");
            }
            Ok(()) | Err(_) => {}
        }
        self.is_failing = done.is_err();
    }
}

async fn sweep(guard: Guard) -> Result<(), Refusal> {
    let mut total = 0;
    loop {
        let ended = guard.expire_due(SWEEP_ROWS_MAX).await?;
        total += ended;
        if ended < SWEEP_ROWS_MAX as usize {
            break;
        }
    }
    if total > 0 {
        tracing::info!(leases = total, "ended leases that were over");
    }
    let proposals = guard.expire_proposals(SWEEP_ROWS_MAX).await?;
    if proposals > 0 {
        tracing::info!(proposals, "ended proposals that nobody decided in time");
    }
    Ok(())
}

async fn settle_held(guard: Guard) -> Result<(), Refusal> {
    while guard.settle_held(SWEEP_ROWS_MAX).await? == SWEEP_ROWS_MAX {}
    Ok(())
}

async fn remember_ages(guard: Guard) -> Result<(), Refusal> {
    guard.remember_ages().await
}

async fn work_runs(guard: Guard, by: String) -> Result<(), Refusal> {
    crate::runs::step(&guard, &by).await
}

/// Drops bodies again and again, from where it was.
async fn drop_bodies(guard: Guard, by: String, draining: CancellationToken) {
    let mut ticks = tokio::time::interval(Duration::from_secs(RETENTION_SECONDS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut work, mut sweep) = (Work::named("retention"), Sweep::default());
    loop {
        tokio::select! {
            () = draining.cancelled() => return,
            _ = ticks.tick() => {}
        }
        work.tell(sweep.turn(&guard, &by, &draining).await.map(drop));
    }
}

async fn refresh(guard: Guard) -> Result<(), Refusal> {
    Ok(guard.refresh().await?)
}

async fn seal(database: Database) -> Result<(), Refusal> {
    match trail::seal(database.ledger.as_ref(), database.clock.now()).await? {
        Sealed::Made(seals) => tracing::debug!(seals, "sealed the trail"),
        Sealed::NothingNew | Sealed::OtherWasFirst => {}
    }
    Ok(())
}

/// Adds up old counts, day by day.
async fn fold_counts(database: Database, draining: CancellationToken) -> Result<(), Refusal> {
    let mut days = 0_u64;
    while !draining.is_cancelled() && database.fold_counts(database.clock.now()).await? {
        days += 1;
    }
    if days > 0 {
        tracing::info!(days, "added up the counts of days that are over for long");
    }
    Ok(())
}

async fn end_sessions(gate: Gate) -> Result<(), Refusal> {
    let ended = gate.delete_ended_sessions().await?;
    if ended > 0 {
        tracing::debug!(sessions = ended, "deleted sessions that were over");
    }
    Ok(())
}
