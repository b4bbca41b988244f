//! Several servers over one PostgreSQL database, and what may happen to their connections.
//!
//! PostgreSQL is named by `ONCEOVER_TEST_POSTGRES`, as for the suite in `store.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "postgres/loss.rs"]
mod loss;
#[path = "postgres/plan.rs"]
mod plan;
#[allow(dead_code, reason = "shared with the tests of effects")]
#[path = "postgres/proxy.rs"]
mod proxy;
#[path = "postgres/race.rs"]
mod race;
#[path = "postgres/scale.rs"]
mod scale;
#[path = "postgres/server.rs"]
mod server_process;
#[allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "shared with the suite that both databases pass; each uses what it needs"
)]
#[path = "store/support.rs"]
mod support;
