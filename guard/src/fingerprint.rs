//! Fingerprints: SHA-256 (FIPS 180-4) of the canonical payload.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::canonical::canonical;
use crate::payload::Payload;
use crate::pointer::Pointer;

/// The number of the scheme by which fingerprints are made now: RFC 8785 with exact numbers, volatile fields left out, SHA-256.
pub const FINGERPRINT_SCHEME: u16 = 1;

/// The number where a fingerprint is of what a record at the destination shows, since its payload never came: what else a payload holds
/// is not compared with it.
pub const FINGERPRINT_SCHEME_OF_RECORD: u16 = 0;

/// The SHA-256 of a canonical payload, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// A text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is \"sha256:\" and 64 hexadecimal digits")]
pub struct NotAFingerprint;

impl Fingerprint {
    /// The fingerprint of a payload without its volatile fields.
    pub fn of(payload: &Payload, volatile: &[Pointer]) -> Self {
        Self(Sha256::digest(canonical(payload.content(), volatile)).into())
    }

    /// The SHA-256 of the canonical form of any value that is kept: rules, a certificate.
    pub fn of_value(value: &crate::json::Json) -> Self {
        Self(Sha256::digest(canonical(value, &[])).into())
    }

    /// The fingerprint with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits = text.strip_prefix("sha256:").ok_or(NotAFingerprint)?;
        parse_hex(digits).map(Self).ok_or(NotAFingerprint)
    }
}

/// Thirty-two bytes from 64 hexadecimal digits.
pub(crate) fn parse_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[index * 2..index * 2 + 2], 16).ok()?;
    }
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(bytes)
}

impl serde::Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, volatile: &[&str]) -> Fingerprint {
        let volatile: Vec<Pointer> = volatile.iter().map(|pointer| pointer.parse().unwrap()).collect();
        Fingerprint::of(&Payload::parse(text.as_bytes()).unwrap(), &volatile)
    }

    #[test]
    fn member_order_and_white_space_do_not_count() {
        let one = of(r#"{"doc":"INV-001","supplier":{"name":"Test One","vat":"XX123"},"total":"118.00"}"#, &[]);
        let other = of(
            "{ \"total\":\"118.00\",\r\n \"supplier\":{\"vat\":\"XX123\",\"name\":\"Test One\"}, \"doc\":\"INV-001\"}",
            &[],
        );
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "sha256:65a5f4e0e3f8ebb46a1d36014ec941b252d6958d7e9d4556401c4e0d16adc540");
    }

    #[test]
    fn different_big_numbers_differ() {
        assert_ne!(of(r#"{"id":820982911946154508}"#, &[]), of(r#"{"id":820982911946154509}"#, &[]));
        assert_ne!(of(r#"{"id":9007199254740993}"#, &[]), of(r#"{"id":9007199254740992}"#, &[]));
    }

    #[test]
    fn volatile_fields_do_not_count() {
        let volatile = ["/meta/attempt"];
        assert_eq!(of(r#"{"a":1,"meta":{"attempt":1}}"#, &volatile), of(r#"{"a":1,"meta":{"attempt":2}}"#, &volatile));
        assert_ne!(of(r#"{"a":1,"meta":{"attempt":1}}"#, &volatile), of(r#"{"a":2,"meta":{"attempt":1}}"#, &volatile));
    }

    #[test]
    fn the_text_form_survives() {
        let fingerprint = of("{}", &[]);
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!("sha256:zz".parse::<Fingerprint>(), Err(NotAFingerprint));
        assert_eq!(format!("sha256:{}", "+1".repeat(32)).parse::<Fingerprint>(), Err(NotAFingerprint));
    }
}
