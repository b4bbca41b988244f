//! Periods, as people close and open them.

use guard::{id::PeriodId, period::Period};

use crate::failure::Failure;

/// A period as a person signs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClosingDraft {
    /// The company.
    pub company: String,
    /// The first day.
    pub from: String,
    /// The last day.
    pub to: String,
    /// The fingerprint of the figures that the page showed.
    #[serde(default)]
    pub seen: String,
    /// The person's name.
    #[serde(default)]
    pub name: String,
    /// What they state.
    #[serde(default)]
    pub statement: String,
    /// Why it is closed although something is open.
    #[serde(default)]
    pub reason: String,
}

/// Why a period is opened again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReopeningDraft {
    /// The period.
    pub period: PeriodId,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What became of an act on a period.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum PeriodNotice {
    /// It was closed, or opened again.
    Done(Box<Period>),
    /// Nothing was closed.
    ClosingRefused(Box<ClosingDraft>, Failure),
    /// Nothing was opened.
    ReopeningRefused(Box<ReopeningDraft>, Failure),
}
