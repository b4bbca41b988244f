//! Proposals of amendments and decisions on them, as people write them and as they are told.

use guard::id::{AmendmentId, OperationId};

use crate::failure::Failure;

/// A decision on an amendment, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AmendmentDraft {
    /// The amendment.
    pub amendment: AmendmentId,
    /// The version of the proposed revision's operation that the page showed.
    pub version: u64,
    /// The fingerprint of the proposed payload that the page showed.
    pub fingerprint: String,
    /// What is decided.
    pub verdict: AmendmentVerdict,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Whether it is approved although the destination could not tell.
    #[serde(default)]
    pub despite_uncertainty: bool,
}

/// What a person can decide about an amendment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AmendmentVerdict {
    /// It may be begun, once enough people have approved it.
    Approve,
    /// It shall not be.
    Reject,
    /// It is taken back.
    Withdraw,
}

impl AmendmentVerdict {
    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Withdraw => "withdraw",
        }
    }
}

/// A proposal, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProposalDraft {
    /// The confirmed revision.
    pub base: OperationId,
    /// The payload as JSON text; empty: that of the base.
    #[serde(default)]
    pub payload: String,
    /// Single places. Those that differ from the base are put into the payload.
    #[serde(default)]
    pub fields: Vec<FieldDraft>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Who asked for it.
    #[serde(default)]
    pub requested_by: String,
}

/// One place of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct FieldDraft {
    /// The place, a JSON Pointer.
    pub place: String,
    /// What shall stand there.
    #[serde(default)]
    pub value: String,
}

/// What became of a proposal, or of a decision on it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum AmendmentNotice {
    /// It was proposed.
    Proposed,
    /// It was decided.
    Decided(AmendmentVerdict),
    /// Nothing was changed.
    Refused(Box<AmendmentDraft>, Failure),
}

/// Why nothing was proposed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProposalRefused {
    /// What was written.
    pub draft: ProposalDraft,
    /// Why.
    pub failure: Failure,
}

/// A wish that a record is taken back, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReversalDraft {
    /// The operation whose record it is.
    pub operation: OperationId,
    /// Its version that the page showed.
    pub version: u64,
    /// The record, of those that the page named; empty where it is another one.
    #[serde(default)]
    pub record: String,
    /// The id of another record.
    #[serde(default)]
    pub other_record: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Who asked for it.
    #[serde(default)]
    pub requested_by: String,
}

/// Why nothing was asked to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReversalRefused {
    /// What was written.
    pub draft: ReversalDraft,
    /// Why.
    pub failure: Failure,
}
