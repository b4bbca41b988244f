//! One module for each page of the desk.

pub(crate) mod compare;
pub(crate) mod login;
pub(crate) mod missing;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod settings;
pub(crate) mod unknown;
pub(crate) mod welcome;
