//! A row on its way: the line of PostgreSQL's COPY in text format, which is the same on the way in and on the way out.

use std::fmt::Write as _;

use rusqlite::types::ValueRef;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// How a column's values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `uuid`; sixteen bytes in SQLite.
    Id,
    /// `bytea`.
    Bytes,
    /// `bigint` and `integer`.
    Number,
    /// `boolean`; 0 or 1 in SQLite.
    Flag,
    /// `text`.
    Text,
    /// `uuid` where SQLite counts: made of the row's moment and its number, so that they are in the same order.
    Numbered {
        /// The place of the column that holds the moment.
        moment: usize,
    },
}

impl Kind {
    /// The kind of a column of this type, as `information_schema` names it.
    pub(super) fn of(data_type: &str) -> Option<Self> {
        match data_type {
            "uuid" => Some(Self::Id),
            "bytea" => Some(Self::Bytes),
            "bigint" | "integer" | "smallint" => Some(Self::Number),
            "boolean" => Some(Self::Flag),
            "text" => Some(Self::Text),
            _ => None,
        }
    }

    /// The value in SQLite of what PostgreSQL shows as this text.
    pub(super) fn to_sqlite(self, text: &str) -> Option<rusqlite::types::Value> {
        use rusqlite::types::Value;
        Some(match self {
            Self::Id => Value::Blob(Uuid::parse_str(text).ok()?.as_bytes().to_vec()),
            Self::Bytes => Value::Blob(hex::decode(text.strip_prefix("\\x")?).ok()?),
            Self::Number => Value::Integer(text.parse().ok()?),
            Self::Flag => Value::Integer(i64::from(text == "true")),
            Self::Text => Value::Text(text.to_owned()),
            Self::Numbered { .. } => return None,
        })
    }
}

/// A column of a table that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Its name in PostgreSQL.
    pub(super) name: String,
    /// Its name in SQLite.
    pub(super) source: String,
    /// How its values are written.
    pub(super) kind: Kind,
}

/// Adds a row of SQLite to `line` as COPY reads it, with its line break. Says which column cannot be written, and why.
pub(super) fn write(line: &mut String, columns: &[Column], row: &rusqlite::Row<'_>) -> Result<(), String> {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            line.push('\t');
        }
        let value = row.get_ref(place).map_err(|error| error.to_string())?;
        value_into(line, column.kind, value, row).map_err(|why| format!("{}: {why}", column.name))?;
    }
    line.push('\n');
    Ok(())
}

fn value_into(line: &mut String, kind: Kind, value: ValueRef<'_>, row: &rusqlite::Row<'_>) -> Result<(), String> {
    match (kind, value) {
        (_, ValueRef::Null) => line.push_str("\\N"),
        (Kind::Id, ValueRef::Blob(bytes)) => {
            let id = Uuid::from_slice(bytes).map_err(|error| error.to_string())?;
            let _written = write!(line, "{id}");
        }
        (Kind::Bytes, ValueRef::Blob(bytes)) => {
            line.push_str("\\\\x");
            line.push_str(&hex::encode(bytes));
        }
        (Kind::Number, ValueRef::Integer(number)) => {
            let _written = write!(line, "{number}");
        }
        (Kind::Flag, ValueRef::Integer(flag @ 0..=1)) => line.push(if flag == 1 { 't' } else { 'f' }),
        (Kind::Text, ValueRef::Text(bytes)) => {
            let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
            escape(line, text)?;
        }
        (Kind::Numbered { moment }, ValueRef::Integer(number)) => {
            let at: i64 = row.get(moment).map_err(|error| error.to_string())?;
            let _written = write!(line, "{}", numbered(at, number));
        }
        (_, other) => return Err(format!("holds {}, which is not of its type", other.data_type())),
    }
    Ok(())
}

/// A UUIDv7 (RFC 9562) of a moment, in milliseconds since 1970, and a number: ordered by the moment, then by the number.
fn numbered(at: i64, number: i64) -> Uuid {
    let (at, number) = (u128::from(at.unsigned_abs()), u128::from(number.unsigned_abs()));
    let bits =
        (at & 0xFFFF_FFFF_FFFF) << 80 | 7 << 76 | (number >> 62 & 0xFFF) << 64 | 2 << 62 | number & (u128::MAX >> 66);
    Uuid::from_u128(bits)
}

/// Escapes as COPY writes it itself.
fn escape(line: &mut String, text: &str) -> Result<(), String> {
    for character in text.chars() {
        match character {
            '\0' => return Err("holds a character NUL, which PostgreSQL cannot keep".to_owned()),
            '\\' => line.push_str("\\\\"),
            '\u{8}' => line.push_str("\\b"),
            '\u{c}' => line.push_str("\\f"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            '\u{b}' => line.push_str("\\v"),
            other => line.push(other),
        }
    }
    Ok(())
}

/// What a table holds, in whatever order its rows are read: their number, and the sum of their SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest {
    /// How many rows there are.
    pub(super) rows: u64,
    sum: [u64; 4],
}

impl Digest {
    /// Adds a row: its line without the line break.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.rows += 1;
        let hash: [u8; 32] = Sha256::digest(line).into();
        let (words, _) = hash.as_chunks::<8>();
        for (sum, word) in self.sum.iter_mut().zip(words) {
            *sum = sum.wrapping_add(u64::from_be_bytes(*word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> Result<String, String> {
        let mut line = String::new();
        escape(&mut line, text).map(|()| line)
    }

    #[test]
    fn text_is_escaped_as_copy_writes_it() {
        assert_eq!(escaped("a\tb\nc\\d\re\u{b}\u{c}\u{8} é"), Ok("a\\tb\\nc\\\\d\\re\\v\\f\\b é".to_owned()));
        assert!(escaped("a\0").is_err());
    }

    #[test]
    fn numbered_rows_keep_their_order() {
        let ids = [(1_000, 1), (1_000, 2), (1_000, i64::MAX), (1_001, 1)].map(|(at, number)| numbered(at, number));
        assert!(ids.is_sorted_by(|left, right| left < right), "{ids:?}");
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn a_digest_tells_rows_but_not_their_order() {
        let of = |lines: &[&str]| {
            let mut digest = Digest::default();
            lines.iter().for_each(|line| digest.add(line.as_bytes()));
            digest
        };
        assert_eq!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "a"]));
        assert_ne!(of(&["a", "a"]), of(&["a", "a", "b", "b"]));
    }
}
