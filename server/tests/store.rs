//! What every store must do, written once and run against a real SQLite file and a real PostgreSQL server.
//!
//! PostgreSQL is named by `ONCEOVER_TEST_POSTGRES` (a URL whose role may create databases; `scripts/with-postgres.sh` sets it). Without
//! it its half fails, so that nobody believes it ran; `ONCEOVER_SKIP_POSTGRES=1` leaves it out on purpose.

#[path = "store/insertion.rs"]
mod insertion;
#[path = "store/support.rs"]
mod support;
