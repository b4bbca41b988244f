//! What people did, over all chains of the trail.

use async_trait::async_trait;

use crate::activity::{Activity, ActivityFilter, TrailCheck, TrailState};
use crate::queue::{Page, PageRequest};
use crate::refusal::StoreFault;
use crate::token::Reach;

/// The trail as a list of what people did, and how far it is known to be whole.
#[async_trait]
pub trait Activities: Send + Sync {
    /// A page of the entries of people within reach, the latest first. Entries of the administration are within a reach over everything
    /// alone. At most [`crate::queue::LOOKED_UP_ROWS_MAX`] are looked through for a page.
    async fn activities(
        &self,
        reach: &Reach,
        filter: &ActivityFilter,
        page: &PageRequest,
    ) -> Result<Page<Activity>, StoreFault>;

    /// The last seal and the last verification.
    async fn trail_state(&self) -> Result<TrailState, StoreFault>;

    /// Keeps what a verification showed, in the place of the one before.
    async fn put_trail_check(&self, check: &TrailCheck) -> Result<(), StoreFault>;
}
