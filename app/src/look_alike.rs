//! Look-alikes, as pages show them. What they have in common is not shown: it may be masked.

use guard::{clock::Timestamp, id::OperationId, state::StateName};

/// The operations that look like one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Alikes {
    /// They lie at most this many days apart.
    pub days: u32,
    /// The newest first.
    pub rows: Vec<Alike>,
    /// How many are not among them, of those that were looked at.
    pub left_out: usize,
    /// Whether there may be more, further away in time.
    pub has_more: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Alike {
    /// Its id.
    pub id: OperationId,
    /// Where it stands.
    pub state: StateName,
    /// What it is, in a sentence.
    pub sentence: String,
    /// The system that its document comes from.
    pub source_system: String,
    /// When it was first begun.
    pub begun_at: Timestamp,
}

#[cfg(feature = "ssr")]
impl Alikes {
    /// The first `rows_max` of what was found; none where nothing was.
    pub(crate) fn of(
        guard: &guard::service::Guard,
        found: Option<guard::look_alike::LookAlikes>,
        rows_max: usize,
    ) -> Option<Self> {
        let guard::look_alike::LookAlikes { days, rows, has_more } = found?;
        if rows.is_empty() {
            return None;
        }
        let left_out = rows.len().saturating_sub(rows_max);
        let row = |operation: &guard::operation::Operation| Alike {
            id: operation.id,
            state: operation.state.name(),
            sentence: guard.view(operation).sentence,
            source_system: operation.key.source_system.as_str().to_owned(),
            begun_at: operation.created_at,
        };
        Some(Self { days, rows: rows.iter().take(rows_max).map(row).collect(), left_out, has_more })
    }
}

impl Alikes {
    /// How many there are, for a row of a list.
    pub(crate) fn number(&self) -> usize {
        self.rows.len() + self.left_out
    }
}
