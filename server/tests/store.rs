//! What every store must do, written once and run against a real SQLite file and a real PostgreSQL server.
//!
//! PostgreSQL is named by `ONCEOVER_TEST_POSTGRES` (a URL whose role may create databases; `scripts/with-postgres.sh` sets it). Without
//! it its half fails, so that nobody believes it ran; `ONCEOVER_SKIP_POSTGRES=1` leaves it out on purpose.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "store/activity.rs"]
mod activity;
#[path = "store/administration.rs"]
mod administration;
#[path = "store/amendment.rs"]
mod amendment;
#[path = "store/calls.rs"]
mod calls;
#[path = "store/conflicts.rs"]
mod conflicts;
#[path = "store/counts.rs"]
mod counts;
#[path = "store/deliveries.rs"]
mod deliveries;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/insertion.rs"]
mod insertion;
#[path = "store/lists.rs"]
mod lists;
#[path = "store/look_alikes.rs"]
mod look_alikes;
#[path = "store/notification.rs"]
mod notification;
#[path = "store/pages.rs"]
mod pages;
#[path = "store/period.rs"]
mod period;
#[path = "store/proof.rs"]
mod proof;
#[path = "store/reconciliation.rs"]
mod reconciliation;
#[path = "store/recovery.rs"]
mod recovery;
#[path = "store/replacement.rs"]
mod replacement;
#[path = "store/retention.rs"]
mod retention;
#[path = "store/review.rs"]
mod review;
#[path = "store/rules.rs"]
mod rules;
#[path = "store/seed.rs"]
mod seed;
#[path = "store/support.rs"]
mod support;
#[path = "store/trail.rs"]
mod trail;
