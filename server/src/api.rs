//! The API for automations, `/api/v1`: one endpoint a file.

pub mod amendment;
pub mod answer;
pub mod batch;
pub mod begin;
pub mod events;
pub mod heartbeat;
pub mod list;
pub mod mark_sending;
pub mod metrics;
pub mod openapi;
pub mod outcome;
pub mod payload;
pub mod proposal;
pub mod query;
pub mod read;
pub mod read_amendment;
pub mod reconcile;
pub mod reconciliation;
pub mod reconciliation_rows;
pub mod request;
pub mod view;
pub mod wait;
