//! Onceover's server: it stores and serves what the guard decides and what the desk shows.

pub mod api;
pub mod background;
pub mod body;
pub mod caller;
pub mod cli;
pub mod clock;
pub mod config;
pub mod desk;
pub mod destination;
pub mod health;
pub mod latency;
pub mod listener;
pub mod log;
pub mod metrics;
pub mod observe;
pub mod problem;
pub mod recovery;
pub mod router;
pub mod sandbox;
pub mod session;
pub mod settings;
pub mod site;
pub mod state;
pub mod store;
pub mod tokens;
pub mod trail;
