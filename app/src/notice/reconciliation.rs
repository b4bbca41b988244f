//! Reconciliation, as people ask for it and are told of it.

use std::collections::BTreeMap;

/// What was written into the form that hands a file in, by the names of its fields. The file itself has to be chosen again.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct HandInDraft(pub BTreeMap<String, String>);

impl HandInDraft {
    /// What stands in a field.
    pub(crate) fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// What became of a file.
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
    /// It was reconciled.
    Done {
        /// Whether the same was reconciled before, so that nothing was changed.
        is_repeated: bool,
    },
}
