//! The API for automations, `/api/v1`: one endpoint a file.

pub mod wait;
