//! The API from outside: persons that speak the domain ask a real server over a real socket, on a real SQLite file and a real
//! PostgreSQL server (see `store.rs` for how that one is named).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "api/amendment.rs"]
mod amendment;
#[path = "api/answer.rs"]
mod answer;
#[path = "api/batch.rs"]
mod batch;
#[path = "api/begin.rs"]
mod begin;
#[path = "api/body.rs"]
mod body;
#[path = "api/calls.rs"]
mod calls;
#[path = "api/company.rs"]
mod company;
#[path = "api/conflict.rs"]
mod conflict;
#[path = "api/description.rs"]
mod description;
#[path = "api/desk.rs"]
mod desk;
#[path = "api/key.rs"]
mod key;
#[path = "api/lease.rs"]
mod lease;
#[path = "api/metrics.rs"]
mod metrics;
#[path = "api/outcome.rs"]
mod outcome;
#[path = "api/problem.rs"]
mod problem;
#[path = "api/race.rs"]
mod race;
#[path = "api/reading.rs"]
mod reading;
#[path = "api/reconciliation.rs"]
mod reconciliation;
#[path = "api/repetition.rs"]
mod repetition;
#[path = "store/support.rs"]
#[allow(dead_code, reason = "the databases of the store's suite; not everything in it is needed here")]
mod support;
#[path = "api/waiting.rs"]
mod waiting;
