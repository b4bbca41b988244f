//! What is kept of lists: saved views, and runs over what a filter says.

use async_trait::async_trait;

use super::Replaced;
use crate::clock::Timestamp;
use crate::id::{PersonId, RunId, ViewId};
use crate::lists::{ListPage, Run, RunItem, SavedView};
use crate::recovery::Claim;
use crate::refusal::StoreFault;

/// Saved views and runs.
#[async_trait]
pub trait Lists: Send + Sync {
    /// The views that a person has of a page, by name, at most [`crate::lists::VIEWS_MAX`].
    async fn views(&self, person: PersonId, page: ListPage) -> Result<Vec<SavedView>, StoreFault>;

    /// Keeps a view; one of the same person, page and name is replaced.
    async fn put_view(&self, view: &SavedView) -> Result<(), StoreFault>;

    /// Forgets a view of a person; whether there was one.
    async fn drop_view(&self, person: PersonId, id: ViewId) -> Result<bool, StoreFault>;

    /// Keeps a new run, version 1, with all its items.
    async fn add_run(&self, run: &Run, items: &[RunItem]) -> Result<(), StoreFault>;

    /// The run with this id.
    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreFault>;

    /// Stores a run as it stands now, if it still has the version before; a claim on it ends.
    async fn change_run(&self, run: &Run) -> Result<Replaced, StoreFault>;

    /// The items of a run behind this number, in their order, at most `limit`.
    async fn run_items(&self, id: RunId, after: u32, limit: u32) -> Result<Vec<RunItem>, StoreFault>;

    /// Keeps what became of an item; one that has a result keeps it.
    async fn settle_run_item(&self, id: RunId, item: &RunItem) -> Result<(), StoreFault>;

    /// Claims a run that is running and that nobody else works: one that was never claimed first, then the one whose claim ended or
    /// ends the longest ago, so that a run that waits holds up no other.
    async fn claim_run(&self, now: Timestamp, claim: &Claim) -> Result<Option<RunId>, StoreFault>;
}
