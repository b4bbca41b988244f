//! Lists: what is asked for, page by page.

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::state::StateName;

/// A page holds at most this many rows.
pub const PAGE_ROWS_MAX: u32 = 500;

/// A page holds this many rows where nothing is said.
pub const PAGE_ROWS_DEFAULT: u32 = 50;

/// For one page, at most about this many rows of an index are looked through, whatever is asked for: a page then takes as long in a
/// table of a million as in one of ten thousand.
pub const WALKED_ROWS_MAX: u32 = 800;

/// Where each of these rows has to be looked up in another table, fewer are: that takes several times as long.
pub const LOOKED_UP_ROWS_MAX: u32 = 500;

/// Which operations are asked for; what is left out does not limit. Texts are compared byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Filter {
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only of this company.
    pub company: Option<String>,
    /// Only from this source system.
    pub source_system: Option<String>,
    /// Only of this document.
    pub document: Option<String>,
    /// Only of this action.
    pub action: Option<String>,
    /// Only in one of these states; empty: in any.
    pub states: Vec<StateName>,
    /// Only with a conflict that waits for a person.
    pub with_open_conflicts: bool,
    /// Only created at or after this moment.
    pub from: Option<Timestamp>,
    /// Only created before this moment.
    pub to: Option<Timestamp>,
    /// Only with this worker in the latest attempt.
    pub worker: Option<String>,
    /// Only with at least so much at stake, in ten-thousandths of whatever currency.
    pub stake_from: Option<i64>,
    /// Only with at most so much at stake, in ten-thousandths of whatever currency.
    pub stake_to: Option<i64>,
    /// Only what somebody pasted.
    pub sought: Option<Sought>,
}

/// What somebody pasted into a search.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sought {
    /// An operation's id, or the external reference that was made of it.
    Operation(OperationId),
    /// A document, or the reference of a destination's record.
    Named(String),
}

impl Sought {
    /// What a text means: an id, an external reference, otherwise the name of a document or a record.
    pub fn of(text: &str) -> Self {
        let id = text.parse::<OperationId>().ok().or_else(|| crate::operation::of_external_reference(text));
        id.map_or_else(|| Self::Named(text.to_owned()), Self::Operation)
    }
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The newest first, by the moment of creation.
    Newest,
    /// The oldest first, by the moment of creation.
    Oldest,
}

/// Where the next page starts: opaque to callers, stable when rows are added or leave.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// The cursor with this text; whether it is one is found by the store that reads it.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text that callers pass back.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The cursor behind a row: the moment by which the list is ordered, and the id that tells equal moments apart.
    pub fn behind(moment: Timestamp, id: u128) -> Self {
        Self(format!("{:x}-{id:032x}", moment.timestamp_millis()))
    }

    /// The cursor behind a row in the order of its ids (UUID of version 7, RFC 9562): they start with the milliseconds of their moment.
    pub fn behind_id(id: u128) -> Self {
        let milliseconds = i64::try_from(id >> 80).unwrap_or(i64::MAX);
        Self::behind(chrono::DateTime::from_timestamp_millis(milliseconds).unwrap_or_default(), id)
    }

    /// The moment in milliseconds and the id; none when the text is no cursor.
    pub fn read(&self) -> Option<(i64, u128)> {
        let (moment, id) = self.0.split_once('-')?;
        let id = (id.len() == 32).then_some(id)?;
        Some((i64::from_str_radix(moment, 16).ok()?, u128::from_str_radix(id, 16).ok()?))
    }
}

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageRequest {
    /// Behind this row; none: from the start.
    pub cursor: Option<Cursor>,
    /// At most this many rows, 1 to [`PAGE_ROWS_MAX`].
    pub limit: u32,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts, where there is one. A page with fewer rows than were asked for may have one too: so far was looked
    /// ([`WALKED_ROWS_MAX`]), and there may be more behind.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Nothing, and nothing behind it.
    pub const EMPTY: Self = Self { rows: Vec::new(), next: None };

    /// The page with each row changed.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { rows: self.rows.into_iter().map(change).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    #[test]
    fn what_is_pasted_is_told_apart() {
        let id = OperationId::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00ff);
        assert_eq!(Sought::of(&id.to_string()), Sought::Operation(id));
        assert_eq!(Sought::of("oo-019000000000700080000000000000ff"), Sought::Operation(id));
        assert_eq!(Sought::of("oo-1"), Sought::Named("oo-1".to_owned()));
    }

    #[test]
    fn a_cursor_survives_its_text() {
        let moment = chrono::Utc.timestamp_millis_opt(1_700_000_000_123).unwrap();
        let cursor = Cursor::behind(moment, 7);
        assert_eq!(Cursor::from_text(cursor.as_str()).read(), Some((1_700_000_000_123, 7)));
        for text in ["", "x", "1-2", "zz-00000000000000000000000000000007"] {
            assert_eq!(Cursor::from_text(text).read(), None, "{text}");
        }
    }
}
