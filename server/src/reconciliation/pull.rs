//! A list that is pulled: read to its last page, kept on disk meanwhile, then reconciled like a file. One that breaks off half way is
//! not reconciled at all, since whatever was not read would look missing.

use std::time::Duration;

use chrono::TimeDelta;
use guard::access::Room;
use guard::actor::Actor;
use guard::clock::rfc3339;
use guard::destination::Destination;
use guard::json::Json;
use guard::pull::{DAYS_DEFAULT, period_start};
use guard::reconciliation::{Format, Scope};
use guard::recovery::Answer;
use guard::refusal::Refusal;
use guard::service::{Guard, Reconciliation};
use guard::workflow::Workflow;
use tokio::sync::Semaphore;

use super::Fault;
use super::import::{Asked, Keeping, NotReconciled, Pulled, Upload, reconcile};
use crate::destination::Destinations;
use crate::destination::list::{Listing, Unlisted};
use crate::problem::{Code, Problem};

/// A list is read within this time, all pages together, with the waits between them.
pub const PULL_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// So many lists are read at a time by one process: each takes disk while it is. Others wait.
static PLACES: Semaphore = Semaphore::const_new(4);

/// What is to be pulled.
pub struct Pull {
    /// The workflow.
    pub workflow: Workflow,
    /// Which operations are compared. Without a start: those of the days that the workflow's schedule looks at.
    pub scope: Scope,
    /// Whether contradictions are opened however many they are.
    pub opens_all: bool,
    /// Who asks.
    pub actor: Actor,
}

/// Why nothing was reconciled.
#[derive(Debug)]
pub enum NotPulled {
    /// The list could not be read to its end: the destination, and what happened.
    Unlisted(String, String),
    /// It was read, and cannot be reconciled.
    NotReconciled(NotReconciled),
}

impl From<NotReconciled> for NotPulled {
    fn from(not: NotReconciled) -> Self {
        Self::NotReconciled(not)
    }
}

impl From<Problem> for NotPulled {
    fn from(problem: Problem) -> Self {
        Self::NotReconciled(problem.into())
    }
}

impl From<Refusal> for NotPulled {
    fn from(refusal: Refusal) -> Self {
        Self::NotReconciled(refusal.into())
    }
}

impl NotPulled {
    /// The reason in a sentence without its end, and what is wrong with which record.
    pub fn told(&self) -> (String, Vec<String>) {
        match self {
            Self::Unlisted(destination, reason) => (
                format!("the list of {destination} was not read to its end, so nothing was reconciled: {reason}"),
                Vec::new(),
            ),
            Self::NotReconciled(NotReconciled::Unreadable(faults)) => {
                let told =
                    "the list was read, and its records are not what the profile says, so nothing was reconciled";
                (told.to_owned(), faults.iter().map(Fault::to_string).collect())
            }
            Self::NotReconciled(NotReconciled::Refused(problem)) => (problem.detail().to_owned(), Vec::new()),
        }
    }

    /// The reason in one line.
    pub fn in_a_line(&self) -> String {
        let (sentence, faults) = self.told();
        match faults.as_slice() {
            [] => sentence,
            [first] => format!("{sentence}: {first}"),
            [first, more @ ..] => format!("{sentence}: {first} (and {} more)", more.len()),
        }
    }
}

/// Pulls the list of the workflow's destination and reconciles it: all of it was read, or nothing is stored.
///
/// # Errors
/// [`NotPulled`].
pub async fn pull(guard: &Guard, destinations: &Destinations, pull: Pull) -> Result<Reconciliation, NotPulled> {
    let Pull { workflow, mut scope, opens_all, actor } = pull;
    let catalogue = guard.catalogue();
    let destination = workflow.destination.as_ref().and_then(|name| catalogue.destinations.get(name));
    let listed = destination.and_then(|destination| Some((destination, destination.list.as_ref()?)));
    let Some((destination, list)) = listed else {
        let message = "has no destination with a list; write a [destination.list] into its profile, or hand a file in";
        return Err(Problem::field("workflow", message).into());
    };
    let Ok(_place) = PLACES.acquire().await else {
        return Err(Problem::new(Code::Draining, "the server is about to stop").into());
    };
    let asked_at = guard.now();
    let days = workflow.pull.as_ref().map_or(DAYS_DEFAULT, guard::pull::PullRules::days);
    let from = scope.from.unwrap_or_else(|| period_start(asked_at, days));
    scope.from = Some(from);
    let to = scope.to.unwrap_or(asked_at);
    if from >= to {
        return Err(Problem::field("from", "lies behind the end of the period").into());
    }
    let unlisted = |unlisted: Unlisted| NotPulled::Unlisted(destination.name.clone(), unlisted.reason);
    let mut listing = destinations.list(destination, &scope.company, from, to).map_err(unlisted)?;
    let read = tokio::time::timeout(PULL_TIME_MAX, collect(guard, destination, &mut listing)).await;
    let upload = read.unwrap_or_else(|_elapsed| {
        let reason = format!("it took over {} minutes", PULL_TIME_MAX.as_secs() / 60);
        Err(NotPulled::Unlisted(destination.name.clone(), reason))
    })?;
    let lag = TimeDelta::seconds(destination.finality_seconds.unwrap_or(0).into());
    let pulled = Pulled {
        destination: destination.name.clone(),
        pages: listing.pages(),
        complete_until: asked_at.checked_sub_signed(lag).unwrap_or(asked_at),
    };
    let asked = Asked {
        mapping: list.record.clone(),
        workflow,
        scope,
        declared: Some(Format::Json),
        charset: None,
        opens_all,
        pulled: Some(pulled),
        actor,
    };
    Ok(reconcile(guard, upload, asked).await?)
}

/// Reads every page, in the destination's own time, and keeps the records as a JSON array with one a line.
async fn collect(guard: &Guard, destination: &Destination, listing: &mut Listing) -> Result<Upload, NotPulled> {
    let name = destination.name.as_str();
    let broken = |reason: String| NotPulled::Unlisted(name.to_owned(), reason);
    let access = guard.access(name).await?;
    let may_ask = match access.room(guard.now()) {
        Room::Open => true,
        Room::Closed => false,
        Room::Probe => guard.take_probe(&access).await?,
    };
    if !may_ask {
        let told = access.down.map_or_else(String::new, |down| {
            format!(" since {}, and is asked again at {}: {}", rfc3339(down.since), rfc3339(down.probe_at), down.reason)
        });
        return Err(broken(format!("it is down{told}")));
    }
    let mut kept = Keeping::new()?;
    kept.add(b"[")?;
    let mut is_first = true;
    loop {
        let (turn, _) = guard.pace(name, 1, destination.lookups_per_second()).await?;
        tokio::time::sleep((turn - guard.now()).to_std().unwrap_or(Duration::ZERO)).await;
        let records: Vec<Json> = match listing.next().await {
            Ok(None) => break,
            Ok(Some(records)) => records,
            Err(Unlisted { class, reason }) => {
                guard.destination_answered(name, Answer::Inconclusive(class), &reason).await?;
                return Err(broken(reason));
            }
        };
        // Whatever it lists: it answers.
        guard.destination_answered(name, Answer::Found, "").await?;
        for record in records {
            let line = if is_first { record.to_string() } else { format!(",\n{record}") };
            is_first = false;
            kept.add(line.as_bytes()).map_err(|problem| broken(problem.detail().to_owned()))?;
        }
    }
    kept.add(b"]")?;
    Ok(kept.finish()?)
}
