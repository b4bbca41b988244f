//! Legal holds and erasures, as a person asks for them, and what became of that.

use guard::{
    id::OperationId,
    retention::{Bodies, HoldScope},
};

use crate::failure::Failure;

/// What a person does about holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HoldAct {
    /// The operation is put on hold.
    HoldOperation,
    /// The document is.
    HoldDocument,
    /// The operation is taken off hold.
    LiftOperation,
    /// The document is.
    LiftDocument,
}

impl HoldAct {
    /// The act that places a hold of this scope.
    pub(crate) const fn place(scope: HoldScope) -> Self {
        match scope {
            HoldScope::Operation => Self::HoldOperation,
            HoldScope::Document => Self::HoldDocument,
        }
    }

    /// The act that lifts a hold of this scope.
    pub(crate) const fn lift(scope: HoldScope) -> Self {
        match scope {
            HoldScope::Operation => Self::LiftOperation,
            HoldScope::Document => Self::LiftDocument,
        }
    }

    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::HoldOperation => "hold_operation",
            Self::HoldDocument => "hold_document",
            Self::LiftOperation => "lift_operation",
            Self::LiftDocument => "lift_document",
        }
    }
}

/// A hold that is placed or lifted, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct HoldDraft {
    /// The operation.
    pub operation: OperationId,
    /// Its version that the page showed.
    pub version: u64,
    /// What is done.
    pub act: HoldAct,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What became of a hold.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum HoldNotice {
    /// It was placed or lifted.
    Done(OperationId, HoldAct),
    /// Nothing was changed.
    Refused(Box<HoldDraft>, Failure),
}

/// An erasure, as a person asks for it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct EraseDraft {
    /// The operation at whose page it is asked for.
    pub operation: OperationId,
    /// What the page showed of the document: `id:version`, with blanks between.
    #[serde(default)]
    pub seen: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What was erased of one operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Erased {
    /// The operation.
    pub operation: OperationId,
    /// What went.
    pub bodies: Vec<Bodies>,
}

/// What became of an erasure.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum EraseNotice {
    /// What went, by operation.
    Done(OperationId, Vec<Erased>),
    /// Nothing was erased; or, where somebody changed an operation while others were erased, not all of it.
    Refused(Box<EraseDraft>, Failure),
}
