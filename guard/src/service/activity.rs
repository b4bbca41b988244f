//! What people did.

use super::Guard;
use crate::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use crate::queue::{PAGE_ROWS_MAX, Page, PageRequest};
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
        if !(1..=PAGE_ROWS_MAX).contains(&page.limit) {
            return Err(Refusal::field("limit", format!("is {}; 1 to {PAGE_ROWS_MAX} are possible", page.limit)));
        }
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
