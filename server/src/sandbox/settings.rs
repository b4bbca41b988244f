//! How the sandbox behaves when nothing is wrong with it.

use std::str::FromStr;

/// A page of a search has so many records where nothing is said.
pub const PAGE_RECORDS_DEFAULT: u32 = 100;

/// A page of a search has at most so many records.
pub const PAGE_RECORDS_MAX: u32 = 1_000;

/// A search lags by at most an hour, in milliseconds.
pub const LAG_MILLISECONDS_MAX: u64 = 3_600_000;

/// How it behaves.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Settings {
    /// Whether a repeated idempotency key gets the first record again.
    #[serde(rename = "idempotency")]
    pub honours_idempotency_keys: bool,
    /// Whether a second live record with the same external reference is refused as existing already.
    #[serde(rename = "unique")]
    pub is_unique: bool,
    /// How it says so.
    pub exists: ExistsShape,
    /// So long after its write a record is found by a search, in milliseconds.
    pub lag_milliseconds: u64,
    /// A page of a search has so many records where the caller names no number.
    pub page_records: u32,
    /// Whether a search finds records whose external reference holds the text anywhere, in upper or lower case.
    #[serde(rename = "part_of_text")]
    pub is_part_of_text: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            honours_idempotency_keys: false,
            is_unique: false,
            exists: ExistsShape::default(),
            lag_milliseconds: 0,
            page_records: PAGE_RECORDS_DEFAULT,
            is_part_of_text: false,
        }
    }
}

/// How "already exists" is said: systems differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExistsShape {
    /// 409 with an error that names the record.
    #[default]
    Object,
    /// 409 with a list of errors, the one that matters behind another.
    List,
    /// 409 with a sentence.
    Text,
    /// 200 with an error in it: a success for whoever reads the status alone.
    Success,
}

impl ExistsShape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Object, Self::List, Self::Text, Self::Success];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::List => "list",
            Self::Text => "text",
            Self::Success => "success",
        }
    }
}

impl FromStr for ExistsShape {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|shape| shape.as_str() == name);
        found.ok_or_else(|| format!("{name:?} is no shape; possible: {known}"))
    }
}
