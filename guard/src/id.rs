//! Identifiers: UUIDv7 (RFC 9562), each kind of thing with a type of its own.

use std::fmt;
use std::str::FromStr;

use crate::clock::Timestamp;

/// A text that is not a UUID in its hyphenated form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected 32 hexadecimal digits in groups of 8-4-4-4-12")]
pub struct NotAnId;

fn version_seven(now: Timestamp, random: [u8; 16]) -> u128 {
    let milliseconds = u128::from(now.timestamp_millis().unsigned_abs()) & 0xFFFF_FFFF_FFFF;
    let random = u128::from_be_bytes(random);
    let high_random = (random >> 64) & 0x0FFF;
    let low_random = random & 0x3FFF_FFFF_FFFF_FFFF;
    (milliseconds << 80) | (0x7 << 76) | (high_random << 64) | (0b10 << 62) | low_random
}

fn write_hyphenated(value: u128, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        formatter,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        value >> 96,
        (value >> 80) & 0xFFFF,
        (value >> 64) & 0xFFFF,
        (value >> 48) & 0xFFFF,
        value & 0xFFFF_FFFF_FFFF,
    )
}

fn parse_hyphenated(text: &str) -> Result<u128, NotAnId> {
    let bytes = text.as_bytes();
    let hyphens_stand = bytes.len() == 36 && [8, 13, 18, 23].iter().all(|&place| bytes[place] == b'-');
    if !hyphens_stand {
        return Err(NotAnId);
    }
    let mut value = 0u128;
    let mut digits = 0;
    for character in text.chars().filter(|&character| character != '-') {
        value = (value << 4) | u128::from(character.to_digit(16).ok_or(NotAnId)?);
        digits += 1;
    }
    if digits == 32 { Ok(value) } else { Err(NotAnId) }
}

macro_rules! id {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// A new UUIDv7: 48 bits of milliseconds, then 74 random bits.
            pub fn new(now: Timestamp, random: [u8; 16]) -> Self {
                Self(version_seven(now, random))
            }

            /// The id with these 128 bits, as a store keeps it.
            pub const fn from_u128(value: u128) -> Self {
                Self(value)
            }

            /// The 128 bits, as a store keeps them.
            pub const fn as_u128(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hyphenated(self.0, formatter)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hyphenated(self.0, formatter)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                parse_hyphenated(text).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// Names one operation, for ever. Ordered by the moment of its first begin.
    OperationId
);
id!(
    /// Names one conflict.
    ConflictId
);
id!(
    /// Names one amendment.
    AmendmentId
);
id!(
    /// Names one piece of evidence.
    EvidenceId
);
id!(
    /// Names an API token (not its secret).
    TokenId
);
id!(
    /// Names one call of the API. Ordered by the moment it came.
    CallId
);
id!(
    /// Names a person who signs in at the desk.
    PersonId
);
id!(
    /// Names a saved view.
    ViewId
);
id!(
    /// Names a run over what a filter says.
    RunId
);
id!(
    /// Names a proposed change of a workflow's rules.
    RuleProposalId
);
id!(
    /// Names a period of a company.
    PeriodId
);
id!(
    /// Names one notification on its way: the same in each try.
    MessageId
);
id!(
    /// Names one reconciliation.
    ReconciliationId
);

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    #[test]
    fn an_id_survives_its_text() {
        let id = OperationId::new(chrono::Utc.timestamp_millis_opt(1_700_000_000_123).unwrap(), [0xAB; 16]);
        assert_eq!(id.to_string().parse::<OperationId>(), Ok(id));
        assert_eq!(&id.to_string()[14..15], "7", "version 7");
        assert!(matches!(&id.to_string()[19..20], "8" | "9" | "a" | "b"), "RFC 9562 variant");
    }

    #[test]
    fn ids_sort_by_their_moment() {
        let at = |ms| OperationId::new(chrono::Utc.timestamp_millis_opt(ms).unwrap(), [0xFF; 16]);
        assert!(at(1_000) < at(1_001));
    }

    #[test]
    fn what_is_no_uuid_is_refused() {
        for text in [
            "",
            "x",
            "018bcfe5-687b-7bab-abab-abababababa",
            "018bcfe5-687b-7bab-abab-ababababab é",
            "018bcfe5x687b-7bab-abab-abababababab",
        ] {
            assert_eq!(text.parse::<OperationId>(), Err(NotAnId), "{text}");
        }
    }
}
