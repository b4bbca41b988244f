//! Demonstration data: a store full of operations that never happened, and of deeds of people who do not exist.
//!
//! Everything goes through the guard itself, many operations at once, so that the stores write in groups; trail, counts, conflicts and
//! recovery of each operation are those that the real thing would have. What an operation is follows from the seed and its number alone.

mod deeds;
mod recipe;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use chrono::{DateTime, TimeDelta};
use guard::actor::Actor;
use guard::board::start_of_day;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::decision::Decision;
use guard::event::Outcome;
use guard::queue::{Filter, Order, PageRequest};
use guard::refusal::{Refusal, StoreFault};
use guard::service::{BeginRequest, Guard, Report};
use guard::store::Store;
use guard::token::{Reach, Scope, Token};

use self::deeds::Team;
use self::recipe::{Fate, Recipe, definitions};
use crate::store::Database;
use crate::trail;

/// So many operations are made at once: the stores then write them in groups.
const LANES: u64 = 192;

/// Demonstration operations lie in so many days before now.
const DAYS: i64 = 90;

/// The youngest is this old, in minutes: no seal has to wait for it.
const MINUTES_AGO_MIN: i64 = 2;

/// What shall be made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// So many operations.
    pub operations: u64,
    /// So many of them unknown.
    pub unknown: u64,
    /// So many of them with an open conflict.
    pub conflicts: u64,
    /// The same seed makes the same operations, under other ids and at other times.
    pub seed: u64,
    /// Whether the database may hold operations already.
    pub adds: bool,
}

/// What was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planted {
    /// Operations that are new.
    pub operations: u64,
    /// Operations that the same seed had made before.
    pub known: u64,
    /// Seals over them.
    pub seals: u32,
}

/// Why nothing, or not everything, was made.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// More is asked of the operations than there are.
    #[error("{what} is {asked}, more than the {operations} operations; ask for fewer, or for more operations")]
    TooMany {
        /// What of them.
        what: &'static str,
        /// How many were asked for.
        asked: u64,
        /// How many operations.
        operations: u64,
    },
    /// The database holds operations.
    #[error(
        "the database holds operations already, and demonstration data cannot be taken out again; name an empty one with --database, or say --add"
    )]
    NotEmpty,
    /// A workflow or destination of the same name is something else here.
    #[error("there is a {kind} {name:?} here that is not the demonstration's; name another database with --database")]
    Taken {
        /// `workflow` or `destination`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The guard or its store refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The clock of one lane: each operation has its own past.
struct LaneClock(AtomicI64);

impl LaneClock {
    fn set(&self, at: Timestamp) {
        self.0.store(at.timestamp_millis(), Ordering::Relaxed);
    }
}

impl Clock for LaneClock {
    fn now(&self) -> Timestamp {
        DateTime::from_timestamp_millis(self.0.load(Ordering::Relaxed)).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

/// What all lanes share.
struct Seeding {
    plan: Plan,
    store: Arc<dyn Store>,
    token: Token,
    team: Team,
    from: Timestamp,
    until: Timestamp,
    done: Arc<AtomicU64>,
}

/// What a server would have remembered of these days, had one run: for how long what is uncertain now was so at the end of each.
async fn remember_ages(database: &Database, from: Timestamp, until: Timestamp) -> Result<(), StoreFault> {
    let store = &database.store;
    let known = store.ages(&Reach::EVERYTHING, start_of_day(from), until).await?;
    let known: BTreeSet<Timestamp> = known.into_iter().map(|ages| ages.day).collect();
    let mut day = start_of_day(from);
    while day <= until {
        let end = day + TimeDelta::days(1);
        if !known.contains(&day) {
            store.remember_ages((end - TimeDelta::milliseconds(1)).min(until)).await?;
        }
        day = end;
    }
    Ok(())
}

/// Makes the demonstration data. `done` counts operations while it goes on.
///
/// # Errors
/// See [`SeedError`]; what was made before stays, and the same seed with `adds` makes the rest.
pub async fn plant(
    database: &Database,
    guard: &Guard,
    entropy: &Arc<dyn Entropy>,
    plan: Plan,
    done: Arc<AtomicU64>,
) -> Result<Planted, SeedError> {
    for (what, asked) in [("--unknown", plan.unknown), ("--conflicts", plan.conflicts)] {
        if asked > plan.operations {
            return Err(SeedError::TooMany { what, asked, operations: plan.operations });
        }
    }
    let one = PageRequest { cursor: None, limit: 1 };
    let found = guard.operations(&Reach::EVERYTHING, &Filter::default(), Order::Newest, &one).await?;
    if !plan.adds && !found.rows.is_empty() {
        return Err(SeedError::NotEmpty);
    }
    configure(guard).await?;
    let name = format!("demonstration {}", hex::encode(&entropy.bytes()[..4]));
    let scopes = BTreeSet::from([Scope::OperationsWrite]);
    let (token, _) = guard.create_token(&name, scopes, Reach::EVERYTHING, &Actor::CommandLine).await?;
    let until = database.clock.now() - TimeDelta::minutes(MINUTES_AGO_MIN);
    let from = until - TimeDelta::days(DAYS);
    let store = Arc::clone(&database.store);
    let seeding =
        Arc::new(Seeding { plan, store, token: token.clone(), team: Team::of(entropy.as_ref()), from, until, done });

    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..LANES.min(plan.operations) {
        let clock = Arc::new(LaneClock(AtomicI64::new(from.timestamp_millis())));
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let shared_clock = Arc::<LaneClock>::clone(&clock);
        let own = Guard::open(store, registry, shared_clock, Arc::clone(entropy)).await.map_err(Refusal::from)?;
        let seeding = Arc::clone(&seeding);
        lanes.spawn(async move { seeding.fill(&own, &clock, lane).await });
    }
    let mut planted = Planted::default();
    let mut failed = None;
    while let Some(lane) = lanes.join_next().await {
        match lane {
            Ok(Ok(made)) => {
                planted.operations += made.operations;
                planted.known += made.known;
            }
            Ok(Err(refusal)) => failed = failed.or(Some(refusal)),
            Err(_) => failed = failed.or(Some(StoreFault::Unavailable.into())),
        }
    }
    // Nobody can use the token: its secret was told to nobody. Revoked, it is out of the way.
    guard.revoke_token(token.id, &Actor::CommandLine).await?;
    if let Some(refusal) = failed {
        return Err(refusal.into());
    }
    remember_ages(database, from, until).await.map_err(Refusal::from)?;
    if let trail::Sealed::Made(seals) =
        trail::seal(database.ledger.as_ref(), database.clock.now()).await.map_err(Refusal::from)?
    {
        planted.seals = seals;
    }
    Ok(planted)
}

/// Adds the demonstration's workflows and destinations to what is configured.
async fn configure(guard: &Guard) -> Result<(), SeedError> {
    guard.refresh().await.map_err(Refusal::from)?;
    let mut all = guard.definitions();
    let ours = definitions()?;
    for workflow in ours.workflows {
        match all.workflows.iter().find(|known| known.name == workflow.name) {
            Some(known) if *known == workflow => {}
            Some(known) => return Err(SeedError::Taken { kind: "workflow", name: known.name.to_string() }),
            None => all.workflows.push(workflow),
        }
    }
    for destination in ours.destinations {
        match all.destinations.iter().find(|known| known.name == destination.name) {
            Some(known) if *known == destination => {}
            Some(known) => return Err(SeedError::Taken { kind: "destination", name: known.name.clone() }),
            None => all.destinations.push(destination),
        }
    }
    guard.apply(&all, &Actor::CommandLine).await?;
    Ok(())
}

impl Seeding {
    fn begun_at(&self, recipe: &Recipe) -> Timestamp {
        (self.from + (self.until - self.from) * recipe.millionths / 1_000_000 + recipe.later).min(self.until)
    }

    /// Makes every operation of a lane, one after the other.
    async fn fill(&self, guard: &Guard, clock: &LaneClock, lane: u64) -> Result<Planted, Refusal> {
        let mut planted = Planted::default();
        let mut number = lane;
        while number < self.plan.operations {
            let recipe = Recipe::of(&self.plan, number);
            if self.make(guard, clock, &recipe).await? {
                planted.operations += 1;
            } else {
                planted.known += 1;
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            number += LANES;
        }
        Ok(planted)
    }

    /// Makes one operation with all that happened to it; answers whether it is new.
    async fn make(&self, guard: &Guard, clock: &LaneClock, recipe: &Recipe) -> Result<bool, Refusal> {
        let begun_at = self.begun_at(recipe);
        clock.set(begun_at);
        let key = recipe.key()?;
        // A failed one would be permitted once more.
        if self.plan.adds && self.store.operation_by_key(&key).await?.is_some() {
            return Ok(false);
        }
        let mut request = BeginRequest {
            key,
            payload: recipe.payload(&recipe.content)?,
            worker: Some(recipe.worker.clone()),
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        let decision = guard.begin(&self.token, &request).await?;
        let Decision::Proceed { operation, lease_token, .. } = decision else { return Ok(false) };
        let report = |outcome| Report { lease_token: lease_token.clone(), outcome, response: None, request_id: None };
        clock.set(begun_at + recipe.takes);
        match &recipe.fate {
            Fate::Confirmed { reference } => {
                let outcome = Outcome::Confirmed { destination_reference: reference.clone() };
                guard.report(&self.token, operation.id, &report(outcome)).await?;
            }
            Fate::Failed { reason } => {
                let outcome = Outcome::Failed { reason: (*reason).to_owned() };
                guard.report(&self.token, operation.id, &report(outcome)).await?;
            }
            Fate::Unknown { reason, .. } | Fate::Settled { reason, .. } => {
                let outcome = Outcome::Unknown { reason: (*reason).to_owned() };
                guard.report(&self.token, operation.id, &report(outcome)).await?;
            }
            Fate::Disputed { reason, reference } => {
                let outcome = Outcome::Failed { reason: (*reason).to_owned() };
                guard.report(&self.token, operation.id, &report(outcome)).await?;
                clock.set(begun_at + recipe.takes * 2);
                let outcome = Outcome::Confirmed { destination_reference: reference.clone() };
                match guard.report(&self.token, operation.id, &report(outcome)).await {
                    // What is held and what is told disagree: that is the dispute.
                    Ok(_) | Err(Refusal::OutcomeDisagrees { .. }) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        for repetition in 1..=recipe.repetitions {
            clock.set(begun_at + recipe.takes * (2 + repetition));
            request.delivery_id = Some(format!("redelivery {repetition}"));
            let decision = guard.begin(&self.token, &request).await?;
            guard.delivered(&request, &decision);
        }
        for content in recipe.conflicting.iter().chain(&recipe.decided) {
            clock.set(begun_at + recipe.takes * 7);
            request.payload = recipe.payload(content)?;
            let decision = guard.begin(&self.token, &request).await?;
            guard.delivered(&request, &decision);
        }
        Box::pin(self.act(guard, clock, recipe, operation.id)).await?;
        Ok(true)
    }
}
