//! The drill: does on purpose what goes wrong by accident, and counts the records that the destination really holds.
//!
//! It is an automation like any other: it asks a guard over HTTP, writes into a destination, and tells how it went; or, to show the
//! difference, it leaves the guard out and tries again when in doubt.

mod change;
mod holding;
mod order;
mod report;
mod scenario;
mod worker;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures::future::join_all;
use guard::destination::{Create, Destination};
use guard::person::Person;
use guard::service::Guard;
use guard::workflow::Workflow;
use tokio::time::Instant;

pub use change::amendment_rules;
pub use order::{CONTENT_DEFAULT, Content};
pub use report::{Report, Row, Verdict};
pub use scenario::Scenario;

use crate::destination::Destinations;
use crate::sandbox::Sandbox;
use report::Played;
use scenario::Script;
use worker::End;

/// A scenario is over after this time beside three finality windows, in seconds: what is not known by then waits for a person.
const SCENARIO_SECONDS_MAX: u64 = 60;

/// The records are looked for again so often, in milliseconds, where fewer are found than there should be.
const LOOK_AGAIN_MILLISECONDS: u64 = 500;

/// How the drill reaches the guard.
pub struct GuardAccess {
    /// Its address.
    pub url: String,
    /// A token that may write and propose.
    pub token: String,
    /// The guard itself, for what people decide at the desk.
    pub guard: Guard,
    /// The people who approve.
    pub people: Vec<Person>,
}

/// What is drilled.
pub struct Drill {
    /// The guard; none where workers do without.
    pub guard: Option<GuardAccess>,
    /// The workflow, as the guard knows it.
    pub workflow: Workflow,
    /// The destination, as the guard knows it.
    pub destination: Destination,
    /// The sandbox that it is; none where it is somebody's own.
    pub sandbox: Option<Sandbox>,
    /// What is sent.
    pub content: Content,
    /// Tells this run from others: a part of every document's number.
    pub run: String,
}

/// A drill under way.
struct Running {
    drill: Drill,
    create: Create,
    /// How a record of the sandbox is changed.
    change: Create,
    destinations: Destinations,
    /// Numbers the begins, so that one whose answer was lost can be repeated.
    begins: AtomicU64,
}

impl Drill {
    /// Why this destination cannot be drilled; none where it can.
    pub fn obstacle(destination: &Destination) -> Option<String> {
        let name = &destination.name;
        let Some(create) = &destination.create else {
            return Some(format!(
                "the destination {name} has no [destination.create]: the drill does not know how to create a record"
            ));
        };
        if create.external_reference_header.is_none() && create.external_reference_pointer.is_none() {
            return Some(format!(
                "create of the destination {name} has neither external_reference_header nor external_reference_pointer: the drill \
                 could not find its records again"
            ));
        }
        if destination.lookup.is_none() {
            return Some(format!(
                "the destination {name} has no [destination.lookup]: the drill cannot count its records"
            ));
        }
        None
    }

    /// Goes through every scenario at once, and counts.
    ///
    /// # Errors
    /// [`Drill::obstacle`].
    pub async fn run(self) -> Result<Report, String> {
        if let Some(obstacle) = Self::obstacle(&self.destination) {
            return Err(obstacle);
        }
        let Some(create) = self.destination.create.clone() else {
            return Err("there is nothing to create with".to_owned());
        };
        let running = Running {
            change: change::of_the_sandbox(&create),
            create,
            destinations: Destinations::default(),
            begins: AtomicU64::new(0),
            drill: self,
        };
        let rows = join_all(Scenario::ALL.map(|scenario| running.play(scenario))).await;
        Ok(Report {
            is_guarded: running.drill.guard.is_some(),
            destination: running.drill.destination.name.clone(),
            workflow: running.drill.workflow.name.to_string(),
            run: running.drill.run.clone(),
            rows,
        })
    }
}

impl Running {
    fn is_guarded(&self) -> bool {
        self.drill.guard.is_some()
    }

    async fn play(&self, scenario: Scenario) -> Row {
        let Script { orders, changes, waves } = match scenario.script(&self.drill) {
            Ok(script) => script,
            Err(reason) => return Row::skipped(scenario, reason),
        };
        let finality = u64::from(self.drill.destination.finality_seconds.unwrap_or(0));
        let until = Instant::now() + Duration::from_secs(SCENARIO_SECONDS_MAX + 3 * finality);
        let mut told = Vec::new();
        for wave in waves {
            told.extend(join_all(wave.iter().map(|delivery| self.deliver(&orders, delivery, until))).await);
        }
        let mut references: Vec<String> = told.iter().flat_map(|told| told.references.iter().cloned()).collect();
        references.sort_unstable();
        references.dedup();
        let expected = u64::try_from(orders.len()).unwrap_or(u64::MAX);
        let held = self.held(&references, expected, until).await;
        let outdated = if changes == 0 { Ok(0) } else { self.outdated().await };
        let played = Played {
            is_guarded: self.is_guarded(),
            permissions: told.iter().map(|told| told.permissions).sum(),
            due: expected + changes,
            held,
            expected,
            outdated,
            references: &references,
            ends: &told.iter().map(|told| &told.end).collect::<Vec<&End>>(),
        };
        Row::of(scenario, &played)
    }
}
