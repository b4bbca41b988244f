//! The drop-in proxy over real sockets, on both databases: what callers are answered, and how many records the destination holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "api/answer.rs"]
#[allow(dead_code, reason = "the persons of the API's suite; not everything in it is needed here")]
mod answer;
#[path = "proxy/answers.rs"]
mod answers;
#[path = "api/desk.rs"]
#[allow(dead_code, reason = "the persons of the API's suite; not everything in it is needed here")]
mod desk;
#[path = "proxy/key.rs"]
mod key;
#[path = "proxy/ledger.rs"]
mod ledger;
#[path = "proxy/loss.rs"]
mod loss;
#[path = "proxy/passing.rs"]
mod passing;
#[path = "support/process.rs"]
mod process;
#[path = "proxy/stop.rs"]
mod stop;
#[path = "store/support.rs"]
#[allow(dead_code, reason = "the databases of the store's suite; not everything in it is needed here")]
mod support;
