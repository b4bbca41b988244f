//! What people keep of lists: saved views, and runs that act on everything that a filter says.

use crate::clock::Timestamp;
use crate::id::{OperationId, PersonId, RunId, ViewId};
use crate::money::Money;

/// A person keeps at most this many views of a page.
pub const VIEWS_MAX: usize = 50;

/// The name of a view has at most this many characters.
pub const VIEW_NAME_CHARACTERS_MAX: usize = 60;

/// What a view asks for has at most this many bytes.
pub const VIEW_QUERY_BYTES_MAX: usize = 4_000;

/// A run acts on at most this many operations: as many as a person can answer for.
pub const RUN_ITEMS_MAX: usize = 1_000;

/// A preview shows this many operations.
pub const RUN_SAMPLE_ROWS: usize = 10;

/// A page whose views are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListPage {
    /// The table of operations.
    Operations,
    /// The queue of what is uncertain.
    Unknown,
}

impl ListPage {
    /// Every page.
    pub const ALL: [Self; 2] = [Self::Operations, Self::Unknown];

    /// The name in addresses and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Unknown => "unknown",
        }
    }

    /// The page with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.as_str() == name)
    }
}

/// A list as a person wants to find it again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SavedView {
    /// Its id.
    pub id: ViewId,
    /// Whose it is.
    pub person: PersonId,
    /// Of which page.
    pub page: ListPage,
    /// Its name, one of its kind for each person and page.
    pub name: String,
    /// What stands in the page's address behind the `?`.
    pub query: String,
    /// When it was saved.
    pub created_at: Timestamp,
}

/// What a run does with each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunAction {
    /// Has each one looked for now.
    LookUp,
    /// Puts its person on each one.
    Claim,
    /// Has one looked for, then ten, then all, each time behind the answers to those before.
    Verify,
    /// Keeps each one waiting until a moment that is named when it begins.
    KeepWaiting,
}

impl RunAction {
    /// The name in addresses and in the trail.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LookUp => "look_up",
            Self::Claim => "claim",
            Self::Verify => "verify",
            Self::KeepWaiting => "keep_waiting",
        }
    }

    /// The action with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::LookUp, Self::Claim, Self::Verify, Self::KeepWaiting].into_iter().find(|action| action.as_str() == name)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStanding {
    /// Its person has seen what it would act on, and not said so.
    Proposed,
    /// It is being worked.
    Running,
    /// Every operation has its result.
    Ended,
}

impl RunStanding {
    /// The name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Running => "running",
            Self::Ended => "ended",
        }
    }

    /// The standing with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Proposed, Self::Running, Self::Ended].into_iter().find(|standing| standing.as_str() == name)
    }
}

/// An act on everything that a filter said at one moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Who runs it, and in whose name each operation is acted on.
    pub person: PersonId,
    /// Raised by every change.
    pub version: u64,
    /// How far it is.
    pub standing: RunStanding,
    /// What it does.
    pub action: RunAction,
    /// The page whose filter it was, and what stood in its address.
    pub page: ListPage,
    /// What stood in the page's address behind the `?`.
    pub query: String,
    /// How many operations.
    pub items: u32,
    /// The money in them, a sum per currency.
    pub money: Vec<Money>,
    /// Why, for all of them; empty until it is confirmed.
    pub reason: String,
    /// Until when each operation is kept waiting; none for other actions, and until it is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When the filter was asked.
    pub proposed_at: Timestamp,
    /// When its person said so.
    pub begun_at: Option<Timestamp>,
    /// When the last operation had its result.
    pub ended_at: Option<Timestamp>,
}

/// What became of one operation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It was done.
    Applied,
    /// Nothing had to be done any more.
    Skipped,
    /// It was refused.
    Refused,
}

impl RunOutcome {
    /// The name in the store and in the trail.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
        }
    }

    /// The outcome with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Applied, Self::Skipped, Self::Refused].into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// One operation of a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RunItem {
    /// Its place, from 1.
    pub number: u32,
    /// The operation.
    pub operation: OperationId,
    /// What became of it, and why; none until it was its turn.
    pub result: Option<(RunOutcome, String)>,
}
