//! Looks at destinations over real sockets: what is asked, and how every kind of answer is read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "destination/answers.rs"]
mod answers;
#[path = "destination/creation.rs"]
mod creation;
#[path = "destination/ledger.rs"]
mod ledger;
#[path = "destination/records.rs"]
mod records;
