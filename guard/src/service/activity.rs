//! What people did.

use super::{Guard, check_limit};
use crate::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use crate::queue::{Page, PageRequest};
use crate::refusal::{Refusal, StoreFault};
use crate::token::Reach;

impl Guard {
    /// A page of what people did within reach, the latest first.
    ///
    /// # Errors
    /// A cursor or a limit that is none, the store's fault.
    pub async fn activities(
        &self,
        reach: &Reach,
        filter: &ActivityFilter,
        page: &PageRequest,
    ) -> Result<Page<Activity>, Refusal> {
        check_limit(page.limit)?;
        if page.cursor.as_ref().is_some_and(|cursor| Activity::behind(cursor).is_none()) {
            return Err(Refusal::field("cursor", "is none that this list gave; start from the first page"));
        }
        Ok(self.inner.store.activities(reach, filter, page).await?)
    }

    /// How far the trail is known to be whole.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn trail_state(&self) -> Result<TrailState, StoreFault> {
        self.inner.store.trail_state().await
    }

    /// Keeps what a verification of the trail showed.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn trail_checked(&self, check: &TrailCheck) -> Result<(), StoreFault> {
        self.inner.store.put_trail_check(check).await
    }
}
