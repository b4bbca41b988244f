//! What people did: the entries of the trail that a person made, in all operations and in the administration.

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::queue::Cursor;
use crate::trail::{ChainHash, Entry, EntryKind};

/// Something that a person did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// The operation that it concerns; none for the administration.
    pub operation: Option<OperationId>,
    /// The entry of the trail.
    pub entry: Entry,
}

impl Activity {
    /// The cursor behind it in the list.
    pub fn cursor(&self) -> Cursor {
        let chain = self.operation.map_or(0, |operation| operation.as_u128());
        Self::cursor_behind(self.entry.at.timestamp_millis(), chain, self.entry.sequence)
    }

    /// The cursor behind an entry: its moment in milliseconds, its chain and its sequence.
    pub fn cursor_behind(at: i64, chain: u128, sequence: u64) -> Cursor {
        Cursor::from_text(&format!("{at:x}-{chain:032x}-{sequence:x}"))
    }

    /// The moment in milliseconds, the chain and the sequence that a cursor stands behind; none when it is no cursor of this list.
    pub fn behind(cursor: &Cursor) -> Option<(i64, u128, i64)> {
        let mut parts = cursor.as_str().splitn(3, '-');
        let (at, chain, sequence) = (parts.next()?, parts.next()?, parts.next()?);
        let chain = (chain.len() == 32).then_some(chain)?;
        Some((
            i64::from_str_radix(at, 16).ok()?,
            u128::from_str_radix(chain, 16).ok()?,
            i64::from_str_radix(sequence, 16).ok()?,
        ))
    }
}

/// Which of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityFilter {
    /// Only of this person, by the address under which they sign in.
    pub person: Option<String>,
    /// Only entries of this kind.
    pub kind: Option<EntryKind>,
    /// Only about this operation.
    pub operation: Option<OperationId>,
    /// Only at or after this moment.
    pub from: Option<Timestamp>,
    /// Only before this moment.
    pub to: Option<Timestamp>,
}

/// How far the trail is known to be whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrailState {
    /// The last seal; none while nothing was sealed.
    pub seal: Option<Sealing>,
    /// The last verification; none where there was none.
    pub check: Option<TrailCheck>,
}

/// A seal, without what it holds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sealing {
    /// Its number, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// Entries before this moment are sealed.
    pub until: Timestamp,
    /// Its hash, which stands for all seals before it too.
    pub hash: ChainHash,
}

/// What a verification of the trail showed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrailCheck {
    /// When it was over.
    pub at: Timestamp,
    /// How many entries it read.
    pub entries: u64,
    /// The first place where the trail is broken, in words; none where it is whole.
    pub broken: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_cursor_of_this_list_is_none() {
        for text in ["", "1", "1-2-3", "1-00000000000000000000000000000002", "x-00000000000000000000000000000002-1"] {
            assert_eq!(Activity::behind(&Cursor::from_text(text)), None, "{text}");
        }
        let cursor = Cursor::from_text("1f4-0000000000000000000000000000000a-3");
        assert_eq!(Activity::behind(&cursor), Some((500, 10, 3)));
    }
}
