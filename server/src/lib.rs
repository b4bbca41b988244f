//! Onceover's server: it stores and serves what the guard decides and what the desk shows.

pub mod clock;
pub mod desk;
pub mod router;
pub mod session;
pub mod site;
pub mod store;
pub mod trail;
