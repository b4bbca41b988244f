//! The rules of Onceover: what an operation is, what may happen to it, and what an automation is told.
//!
//! Invariant: this crate does no IO. Time, ids and randomness come in as arguments ([`clock`]); everything that is kept goes
//! through [`store::Store`] and [`store::Registry`]. It compiles for `wasm32`, so the browser renders these very types.

pub mod access;
pub mod activity;
pub mod actor;
pub mod amendment;
pub mod board;
pub mod call;
pub mod canonical;
pub mod clock;
pub mod conflict;
pub mod decision;
pub mod destination;
pub mod diff;
pub mod event;
pub mod evidence;
pub mod fingerprint;
pub mod id;
pub mod incident;
pub mod json;
pub mod key;
pub mod lists;
pub mod look_alike;
pub mod lookup;
pub mod message;
pub mod money;
pub mod notification;
pub mod number;
pub mod operation;
pub mod payload;
pub mod period;
pub mod person;
pub mod pointer;
pub mod pull;
pub mod queue;
pub mod reconciliation;
pub mod recovery;
pub mod refusal;
pub mod retention;
pub mod reversal;
pub mod review;
pub mod rules;
pub mod service;
pub mod state;
pub mod store;
pub mod summary;
pub mod token;
pub mod trail;
pub mod triage;
pub mod veil;
pub mod view;
pub mod what_if;
pub mod workflow;
