//! One module for each page of the desk.

pub(crate) mod day;
