//! The operation key: workflow, company, source system, document, action, revision.

use std::fmt;

use sha2::{Digest, Sha256};

/// A key part has at most this many characters.
pub const KEY_PART_CHARACTERS_MAX: usize = 200;

/// The action of an operation for which none is named.
pub const ACTION_DEFAULT: &str = "create";

/// The action of an operation that takes back a record of the destination. Where a second record of the same revision is taken back,
/// its action is `reverse-2`, and so on.
pub const ACTION_REVERSE: &str = "reverse";

/// At most this many records of one revision of a document are taken back.
pub const REVERSALS_MAX: u32 = 100;

/// The greatest revision number.
pub const REVISION_MAX: u32 = 1_000_000;

/// One part of a key: 1 to [`KEY_PART_CHARACTERS_MAX`] characters, compared byte for byte, never trimmed or normalised.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct KeyPart(Box<str>);

/// Why a text is no key part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAKeyPart {
    /// It is empty.
    #[error("is empty; a key part has 1 to {KEY_PART_CHARACTERS_MAX} characters")]
    Empty,
    /// It is too long.
    #[error("has {0} characters; a key part has at most {KEY_PART_CHARACTERS_MAX}")]
    TooLong(usize),
    /// White space at an end.
    #[error("starts or ends with white space, which is refused and not trimmed: two systems would trim differently")]
    OuterWhiteSpace,
    /// A control character.
    #[error("contains the control character U+{:04X}", u32::from(*.0))]
    Control(char),
}

impl KeyPart {
    /// The part with this text.
    ///
    /// # Errors
    /// When the text is empty, too long, has outer white space or a control character.
    pub fn new(text: &str) -> Result<Self, NotAKeyPart> {
        let characters = text.chars().count();
        if characters == 0 {
            return Err(NotAKeyPart::Empty);
        }
        if characters > KEY_PART_CHARACTERS_MAX {
            return Err(NotAKeyPart::TooLong(characters));
        }
        if let Some(control) = text.chars().find(|character| character.is_control()) {
            return Err(NotAKeyPart::Control(control));
        }
        if text.trim() != text {
            return Err(NotAKeyPart::OuterWhiteSpace);
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for KeyPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl<'de> serde::Deserialize<'de> for KeyPart {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// What identifies an operation, and exactly that.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OperationKey {
    /// The workflow's name.
    pub workflow: KeyPart,
    /// The company; the same document number in two companies is two operations.
    pub company: KeyPart,
    /// The system that the document comes from.
    pub source_system: KeyPart,
    /// The document's number there.
    pub document: KeyPart,
    /// What is done with it.
    pub action: KeyPart,
    /// Which version of the document, from 1.
    pub revision: u32,
}

impl OperationKey {
    /// Sixteen bytes that stand for the key in an index: the first half of a SHA-256 over the parts, each with its length, so
    /// that no separator can be forged.
    pub fn hash(&self) -> [u8; 16] {
        let parts = [&self.workflow, &self.company, &self.source_system, &self.document, &self.action];
        let hasher = with_parts(Sha256::new(), parts.map(KeyPart::as_str));
        first_half(hasher.chain_update(self.revision.to_be_bytes()))
    }

    /// The key of another revision of the same document.
    pub fn at_revision(&self, revision: u32) -> Self {
        Self { revision, ..self.clone() }
    }

    /// The key under which the `number`th record of this revision, from 1, is taken back.
    pub fn reversal(&self, number: u32) -> Self {
        let action = if number < 2 { ACTION_REVERSE.to_owned() } else { format!("{ACTION_REVERSE}-{number}") };
        Self { action: KeyPart(action.into()), ..self.clone() }
    }

    /// Whether its action is one of those that take a record back ([`Self::reversal`]). A workflow may have an action of that name of
    /// its own; what takes a record back has an amendment that says so.
    pub fn may_be_reversal(&self) -> bool {
        let Some(rest) = self.action.as_str().strip_prefix(ACTION_REVERSE) else { return false };
        rest.is_empty()
            || rest
                .strip_prefix('-')
                .and_then(|digits| digits.parse().ok().filter(|number: &u32| number.to_string() == digits))
                .is_some_and(|number| (2..=REVERSALS_MAX).contains(&number))
    }
}

/// Hashes parts, each with its length before it, so that no two lists of parts read the same.
pub(crate) fn with_parts<'a>(hasher: Sha256, parts: impl IntoIterator<Item = &'a str>) -> Sha256 {
    parts.into_iter().fold(hasher, |hasher, part| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hasher.chain_update(length.to_be_bytes()).chain_update(part)
    })
}

/// The first half of a SHA-256: enough to find something by in an index, at half the size.
pub(crate) fn first_half(hasher: Sha256) -> [u8; 16] {
    let digest: [u8; 32] = hasher.finalize().into();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: [&str; 5], revision: u32) -> OperationKey {
        let [workflow, company, source_system, document, action] = parts.map(|part| KeyPart::new(part).unwrap());
        OperationKey { workflow, company, source_system, document, action, revision }
    }

    #[test]
    fn a_part_is_refused_and_never_mended() {
        assert_eq!(KeyPart::new(""), Err(NotAKeyPart::Empty));
        assert_eq!(KeyPart::new("   "), Err(NotAKeyPart::OuterWhiteSpace));
        assert_eq!(KeyPart::new("INV-1 "), Err(NotAKeyPart::OuterWhiteSpace));
        assert_eq!(KeyPart::new("\u{a0}INV-1"), Err(NotAKeyPart::OuterWhiteSpace));
        assert_eq!(KeyPart::new("a\nb"), Err(NotAKeyPart::Control('\n')));
        assert_eq!(KeyPart::new(&"x".repeat(201)), Err(NotAKeyPart::TooLong(201)));
        assert!(KeyPart::new(&"é".repeat(200)).is_ok());
        assert_eq!(KeyPart::new("null").unwrap().as_str(), "null", "an ordinary document number");
    }

    #[test]
    fn a_reversal_has_a_key_of_its_own() {
        let base = key(["w", "ACME", "erp", "INV-1", "create"], 2);
        assert!(!base.may_be_reversal());
        for (number, action) in [(1, "reverse"), (2, "reverse-2"), (100, "reverse-100")] {
            let reversal = base.reversal(number);
            assert_eq!((reversal.action.as_str(), reversal.revision, reversal.may_be_reversal()), (action, 2, true));
        }
        for action in ["reverse-1", "reverse-02", "reverse-101", "reverse-x", "reverse-", "reversed"] {
            assert!(!key(["w", "ACME", "erp", "INV-1", action], 1).may_be_reversal(), "{action}");
        }
    }

    #[test]
    fn every_part_counts_and_no_separator_can_be_forged() {
        let base = key(["w", "ACME", "erp", "INV-a1", "post"], 1);
        let others = [
            key(["w", "ACME", "erp", "INV-A1", "post"], 1),
            key(["w", "acme", "erp", "INV-a1", "post"], 1),
            key(["w", "ACME", "erp", "INV-a1", "cancel"], 1),
            key(["w", "ACME", "erp", "INV-a1", "post"], 2),
            key(["w", "ACME/erp", "X", "INV-a1", "post"], 1),
            key(["w", "ACME", "erp/X", "INV-a1", "post"], 1),
            key(["w", "ACM", "Eerp", "INV-a1", "post"], 1),
            key(["w2", "ACME", "erp", "INV-a1", "post"], 1),
            key(["w", "ACME", "erp", "Caf\u{e9}", "post"], 1),
            key(["w", "ACME", "erp", "Cafe\u{301}", "post"], 1),
        ];
        let mut hashes: Vec<[u8; 16]> = others.iter().map(OperationKey::hash).collect();
        hashes.push(base.hash());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), others.len() + 1);
    }
}
