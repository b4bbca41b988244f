//! Evidence: facts attached to an operation. Evidence is not a decision.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::id::{EvidenceId, OperationId};

/// A note has at most this many characters.
pub const NOTE_CHARACTERS_MAX: usize = 4_000;

/// A link has at most this many characters.
pub const LINK_CHARACTERS_MAX: usize = 2_000;

/// A file has at most this many bytes (5 MiB).
pub const FILE_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The name of a file is kept with at most this many characters.
pub const FILE_NAME_CHARACTERS_MAX: usize = 200;

/// An operation has at most this many pieces of evidence that people added.
pub const EVIDENCE_PER_OPERATION_MAX: usize = 100;

/// The files of one operation have at most this many bytes together (50 MiB).
pub const FILES_BYTES_PER_OPERATION_MAX: u64 = 50 * 1024 * 1024;

/// What somebody knows about an operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    /// Its id.
    pub id: EvidenceId,
    /// The operation.
    pub operation: OperationId,
    /// When it was added.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// In words; empty where a link or a file says it.
    pub note: String,
    /// A ticket, a bank's page, a screenshot: an `http` or `https` address.
    pub link: Option<String>,
    /// The facts of a file that is kept with it.
    pub file: Option<File>,
}

/// The facts of a file; its bytes are kept apart.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What it is.
    pub media_type: MediaType,
    /// How many bytes it has.
    pub bytes: u64,
    /// What its bytes are, for ever.
    pub sha256: FileHash,
}

/// The SHA-256 of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHash([u8; 32]);

impl FileHash {
    /// The hash of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The hash with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl serde::Serialize for FileHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for FileHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bytes = crate::fingerprint::parse_hex(&text);
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("a SHA-256 has 64 hexadecimal digits"))
    }
}

/// What a file may be: what people have at hand as evidence, and what no browser runs as a page. SVG and HTML are not among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaType {
    /// A picture.
    Png,
    /// A picture.
    Jpeg,
    /// A picture.
    Webp,
    /// A document.
    Pdf,
    /// Plain text.
    Text,
    /// A table, such as a bank statement.
    Csv,
    /// A record, such as a destination's answer.
    Json,
    /// An e-mail as it was saved.
    Email,
}

impl MediaType {
    /// Every type.
    pub const ALL: [Self; 8] =
        [Self::Png, Self::Jpeg, Self::Webp, Self::Pdf, Self::Text, Self::Csv, Self::Json, Self::Email];

    /// The name in a header and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
            Self::Text => "text/plain",
            Self::Csv => "text/csv",
            Self::Json => "application/json",
            Self::Email => "message/rfc822",
        }
    }

    /// The type with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|media_type| media_type.as_str() == name)
    }

    /// The endings of names that say it.
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
            Self::Webp => &["webp"],
            Self::Pdf => &["pdf"],
            Self::Text => &["txt", "log"],
            Self::Csv => &["csv"],
            Self::Json => &["json"],
            Self::Email => &["eml"],
        }
    }

    /// The type that a file's name says, where its content agrees.
    ///
    /// # Errors
    /// What is wrong and how to mend it.
    pub fn of(name: &str, content: &[u8]) -> Result<Self, String> {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        let named = Self::ALL.into_iter().find(|media_type| media_type.endings().contains(&ending.as_str()));
        let named = named.ok_or_else(|| {
            let endings: Vec<&str> = Self::ALL.into_iter().flat_map(|known| known.endings().iter().copied()).collect();
            format!("its name ends in none of: {}", endings.join(", "))
        })?;
        let is_text = || std::str::from_utf8(content).is_ok_and(|text| !text.contains('\0'));
        let agrees = match named {
            Self::Png => content.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => content.starts_with(b"\xff\xd8\xff"),
            Self::Webp => content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP"),
            Self::Pdf => content.starts_with(b"%PDF-"),
            Self::Text | Self::Csv | Self::Json | Self::Email => is_text(),
        };
        if agrees {
            Ok(named)
        } else {
            Err(format!("its name ends in {ending:?}, and its content is no {}", named.as_str()))
        }
    }
}

/// The name of a file without its folder, and without what would break a line or a header.
pub fn file_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|character| !character.is_control()).collect();
    // The ending says what it is, so the start gives way.
    let surplus = kept.chars().count().saturating_sub(FILE_NAME_CHARACTERS_MAX);
    kept.chars().skip(surplus).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_what_name_and_content_say_together() {
        assert_eq!(MediaType::of("Statement.PDF", b"%PDF-1.7 ..."), Ok(MediaType::Pdf));
        assert_eq!(MediaType::of("scan.jpeg", b"\xff\xd8\xff\xe0"), Ok(MediaType::Jpeg));
        assert_eq!(MediaType::of("rows.csv", "a;b\nc;\u{e4}".as_bytes()), Ok(MediaType::Csv));
        for (name, content) in [
            ("page.html", b"<html>".as_slice()),
            ("drawing.svg", b"<svg>"),
            ("noending", b"text"),
            ("not.png", b"<script>alert(1)</script>"),
            ("not.txt", b"\xff\xfe\0"),
            ("not.webp", b"RIFF"),
        ] {
            assert!(MediaType::of(name, content).is_err(), "{name}");
        }
        for media_type in MediaType::ALL {
            assert_eq!(MediaType::parse(media_type.as_str()), Some(media_type));
        }
    }

    #[test]
    fn a_name_keeps_its_ending_and_loses_its_folder() {
        assert_eq!(file_name("C:\\bank\\statement.pdf"), "statement.pdf");
        assert_eq!(file_name("../../etc/x\r\n.txt"), "x.txt");
        let long = file_name(&format!("{}.png", "x".repeat(300)));
        assert_eq!(long.chars().count(), FILE_NAME_CHARACTERS_MAX);
        assert!(long.ends_with(".png"));
    }
}
