//! Looks for what is unknown at its destination: at once, then again and again, each operation by one process at a time.
//!
//! What a lookup means is the guard's to say; here it is only made. A process claims what is due for as long as a lookup may take. One
//! that is killed loses nothing: its claims run out, and another one looks. A destination is asked no faster than it bears, over all
//! processes, and hardly at all while it is down.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use guard::access::{Access, Room};
use guard::clock::Timestamp;
use guard::destination::Destination;
use guard::id::OperationId;
use guard::recovery::Answer;
use guard::refusal::Refusal;
use guard::service::Guard;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::background::Work;
use crate::destination::Destinations;
use crate::state::Server;

/// What is due is looked for this often, in milliseconds.
pub const TICK_MILLISECONDS: u64 = 250;

/// One process makes at most so many lookups at once: begins must not starve beside them.
pub const LOOKUPS_AT_ONCE_MAX: usize = 64;

/// One process makes at most so many lookups at once at one destination.
pub const LOOKUPS_PER_DESTINATION_MAX: usize = 16;

/// A claim lasts so many seconds longer than the destination's answer is awaited: for the lookup's turn, and for storing what it showed.
pub const CLAIM_SPARE_SECONDS: i64 = 15;

/// Unknown operations without a schedule are looked for this often, in seconds; also when the configuration has changed.
pub const ADOPT_SECONDS: u64 = 60;

/// When the server stops, lookups under way have so many seconds; what they claimed is then given back.
pub const DRAIN_SECONDS_MAX: u64 = 5;

/// Makes lookups until the server drains.
pub struct Recovery {
    guard: Guard,
    destinations: Destinations,
    /// The name under which this process claims.
    name: Arc<str>,
    flying: JoinSet<Result<(), Refusal>>,
    /// What is being looked for, by the task that does.
    claimed: HashMap<Id, Claimed>,
    adopted: Option<Adopted>,
    /// Whether the last turn left no room, so that more may be due.
    is_more_due: bool,
}

/// When unknown operations were last given a schedule, and under which configuration.
struct Adopted {
    at: Instant,
    epoch: u64,
}

/// An operation that is being looked for.
struct Claimed {
    destination: String,
    operation: OperationId,
}

impl Recovery {
    /// The recovery of a server, under a name of its own.
    pub fn of(server: &Server) -> Self {
        Self {
            guard: server.guard.clone(),
            destinations: server.destinations.clone(),
            name: hex::encode(server.entropy.bytes()).into(),
            flying: JoinSet::new(),
            claimed: HashMap::new(),
            adopted: None,
            is_more_due: false,
        }
    }

    /// Looks for what is due until the server drains; then lets what is under way end, and gives back the rest.
    pub async fn run(mut self, draining: CancellationToken) {
        let mut ticks = tokio::time::interval(Duration::from_millis(TICK_MILLISECONDS));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = Work::named("recovery");
        loop {
            tokio::select! {
                () = draining.cancelled() => break,
                Some(flown) = self.flying.join_next_with_id() => {
                    self.land(flown);
                    if !self.is_more_due || self.flying.len() > LOOKUPS_PER_DESTINATION_MAX / 2 {
                        continue;
                    }
                }
                _ = ticks.tick() => {}
            }
            work.tell(self.turn().await);
        }
        self.drain().await;
    }

    /// Begins the lookups for which there is room.
    async fn turn(&mut self) -> Result<(), Refusal> {
        self.is_more_due = false;
        let catalogue = self.guard.catalogue();
        self.adopt(catalogue.epoch).await?;
        let accesses = self.guard.accesses().await?;
        for destination in catalogue.destinations.values().filter(|destination| destination.lookup.is_some()) {
            let fresh = || Access::fresh(destination.name.clone());
            let access = accesses.iter().find(|access| access.destination == destination.name);
            self.begin_at(destination, &access.cloned().unwrap_or_else(fresh)).await?;
        }
        Ok(())
    }

    async fn adopt(&mut self, epoch: u64) -> Result<(), Refusal> {
        let is_fresh =
            |adopted: &Adopted| adopted.epoch == epoch && adopted.at.elapsed() < Duration::from_secs(ADOPT_SECONDS);
        if self.adopted.as_ref().is_some_and(is_fresh) {
            return Ok(());
        }
        let operations = self.guard.adopt_unknown().await?;
        if operations > 0 {
            tracing::info!(operations, "unknown operations can be looked for now");
        }
        self.adopted = Some(Adopted { at: Instant::now(), epoch });
        Ok(())
    }

    /// Begins the lookups at one destination for which there is room.
    async fn begin_at(&mut self, destination: &Destination, access: &Access) -> Result<(), Refusal> {
        let name = destination.name.as_str();
        let per_second = destination.lookups_per_second();
        let under_way = self.claimed.values().filter(|claimed| claimed.destination == name).count();
        let room = LOOKUPS_PER_DESTINATION_MAX.saturating_sub(under_way).min(LOOKUPS_AT_ONCE_MAX - self.flying.len());
        // No more than is asked within a second: a claim must not run out while its turn is awaited.
        let room = u32::try_from(room).unwrap_or(u32::MAX).min(per_second);
        let (wanted, is_probe) = match access.room(self.guard.now()) {
            Room::Closed => return Ok(()),
            Room::Probe => (room.min(1), true),
            Room::Open => (room, false),
        };
        if wanted == 0 {
            self.is_more_due = true;
            return Ok(());
        }
        let span = TimeDelta::seconds(i64::from(destination.timeout_seconds) + CLAIM_SPARE_SECONDS);
        let operations = self.guard.claim_recoveries(name, &self.name, span, wanted).await?;
        if operations.is_empty() {
            return Ok(());
        }
        if is_probe && !self.guard.take_probe(access).await? {
            return self.guard.release_recoveries(&operations, &self.name).await;
        }
        let claimed = u32::try_from(operations.len()).unwrap_or(u32::MAX);
        self.is_more_due |= claimed == wanted;
        let (mut turn, apart) = self.guard.pace(name, claimed, per_second).await?;
        for operation in operations {
            let (guard, destinations) = (self.guard.clone(), self.destinations.clone());
            let lookup = Lookup { guard, destinations, operation, by: Arc::clone(&self.name), turn };
            let task = self.flying.spawn(lookup.make());
            self.claimed.insert(task.id(), Claimed { destination: name.to_owned(), operation });
            turn += apart;
        }
        Ok(())
    }

    /// Takes note of a lookup that is over.
    fn land(&mut self, flown: Result<(Id, Result<(), Refusal>), JoinError>) {
        let id = flown.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(Claimed { destination, operation }) = self.claimed.remove(&id) else { return };
        let again = "a lookup came to nothing; another one follows when its claim runs out";
        match flown {
            Ok((_, Ok(()))) => {}
            Ok((_, Err(refusal))) => tracing::warn!(%operation, destination, %refusal, "{again}"),
            Err(error) => tracing::error!(%operation, destination, %error, "{again}"),
        }
    }

    async fn drain(mut self) {
        let end = Instant::now() + Duration::from_secs(DRAIN_SECONDS_MAX);
        while let Ok(Some(flown)) = tokio::time::timeout_at(end, self.flying.join_next_with_id()).await {
            self.land(flown);
        }
        self.flying.shutdown().await;
        let rest: Vec<OperationId> = self.claimed.into_values().map(|claimed| claimed.operation).collect();
        if !rest.is_empty()
            && let Err(refusal) = self.guard.release_recoveries(&rest, &self.name).await
        {
            tracing::warn!(%refusal, "lookups that were broken off are made again when their claims run out");
        }
    }
}

/// One lookup.
struct Lookup {
    guard: Guard,
    destinations: Destinations,
    operation: OperationId,
    by: Arc<str>,
    /// When it may be made.
    turn: Timestamp,
}

impl Lookup {
    async fn make(self) -> Result<(), Refusal> {
        let wait = (self.turn - self.guard.now()).to_std().unwrap_or(Duration::ZERO);
        tokio::time::sleep(wait).await;
        let Some(sought) = self.guard.sought(self.operation).await? else {
            return self.guard.release_recoveries(&[self.operation], &self.by).await;
        };
        let asked_at = self.guard.now();
        let asked = &sought.destination;
        let payload = sought.payload.as_ref();
        let trial = self.destinations.look_up(asked, &sought.workflow, &sought.operation, payload).await;
        let looked = trial.looked;
        let operation = self.guard.looked_up(self.operation, asked_at, &looked).await?;
        tracing::info!(
            operation = %self.operation,
            destination = asked.name,
            answer = Answer::of(&looked.finding).as_str(),
            milliseconds = looked.took_milliseconds,
            state = operation.state.name().as_str(),
            "looked at the destination"
        );
        self.guard.answered(&asked.name, &looked).await
    }
}
