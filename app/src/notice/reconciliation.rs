//! Reconciliation, as people ask for it and are told of it.

use std::collections::BTreeMap;

use guard::id::{OperationId, ReconciliationId};

use crate::failure::Failure;

/// What was written into the form that hands a file in, or pulls a list, by the names of its fields. The file itself has to be chosen again.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct HandInDraft(pub BTreeMap<String, String>);

impl HandInDraft {
    /// What stands in a field.
    pub(crate) fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// What became of a file, or of a list that was pulled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum HandInNotice {
    /// Nothing was stored.
    Refused {
        /// What was written.
        draft: HandInDraft,
        /// Why, in a sentence.
        sentence: String,
        /// What is wrong with the file, each with its line and column.
        faults: Vec<String>,
    },
    /// The list of the destination was not reconciled.
    NotPulled {
        /// What was written.
        draft: HandInDraft,
        /// Why, in a sentence.
        sentence: String,
        /// What is wrong with which record.
        faults: Vec<String>,
    },
    /// It was reconciled.
    Done {
        /// Whether the same was reconciled before, so that nothing was changed.
        is_repeated: bool,
    },
}

/// Whether a record belongs to an operation, as a person says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Belonging {
    /// It does.
    Belongs,
    /// It does not.
    Differs,
}

impl Belonging {
    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Belongs => "belongs",
            Self::Differs => "differs",
        }
    }
}

/// What a person says of a record and an operation that it may belong to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CandidateDraft {
    /// The reconciliation.
    pub run: ReconciliationId,
    /// The row of the record.
    pub number: u64,
    /// The operation.
    pub operation: OperationId,
    /// The version of it that was seen.
    pub version: u64,
    /// What they say.
    pub belonging: Belonging,
    /// How they know.
    #[serde(default)]
    pub reason: String,
}

/// A record that a person adopts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AdoptionDraft {
    /// The reconciliation.
    pub run: ReconciliationId,
    /// The row of the record.
    pub number: u64,
    /// The system that its document comes from.
    #[serde(default)]
    pub source_system: String,
    /// Its document.
    #[serde(default)]
    pub document: String,
    /// What was done.
    #[serde(default)]
    pub action: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What became of an act on a record.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum FindingNotice {
    /// It was done; the page shows what.
    Done,
    /// Nothing was decided.
    CandidateRefused(Box<CandidateDraft>, Failure),
    /// Nothing was adopted.
    AdoptionRefused(Box<AdoptionDraft>, Failure),
}
