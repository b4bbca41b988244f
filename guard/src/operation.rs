//! One intended business effect.

use std::fmt;

use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::id::{OperationId, TokenId};
use crate::key::OperationKey;
use crate::money::Money;
use crate::retention::Content;
use crate::state::State;
use crate::trail::ChainHash;

/// The operation that an external reference was made of; none where it is not of that form.
pub fn of_external_reference(reference: &str) -> Option<OperationId> {
    let digits = reference.strip_prefix(EXTERNAL_REFERENCE_PREFIX).filter(|digits| digits.len() == 32)?;
    let is_ours = digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    is_ours.then(|| u128::from_str_radix(digits, 16).ok()).flatten().map(OperationId::from_u128)
}

/// What every external reference starts with.
const EXTERNAL_REFERENCE_PREFIX: &str = "oo-";

/// The secret that proves ownership of an attempt: 128 random bits in hexadecimal. Shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct LeaseToken(String);

impl LeaseToken {
    /// A new token from sixteen random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(hexadecimal(&random))
    }

    /// The token with this text, as a store keeps it or a caller sends it.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The secret text: for its owner and the store only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The SHA-256 of the token in hexadecimal: what the trail keeps, so that an earlier attempt can be told by its token.
    pub fn digest(&self) -> String {
        use sha2::Digest as _;
        hexadecimal(&sha2::Sha256::digest(&self.0))
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LeaseToken(…)")
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One permission to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its number within the operation, from 1.
    pub number: u32,
    /// The secret of its lease; kept after the lease, so that a late report is recognised.
    pub lease_token: LeaseToken,
    /// The API token that began it.
    pub token: TokenId,
    /// The random value under which its begin may be repeated.
    pub begin_id: Option<String>,
    /// The worker, as it names itself.
    pub worker: Option<String>,
    /// When it was permitted.
    pub begun_at: Timestamp,
}

/// An operation as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// What identifies it.
    pub key: OperationKey,
    /// Where it stands.
    pub state: State,
    /// How many trail entries it has: every change appends one, so it guards every change too.
    pub version: u64,
    /// The hash of its last trail entry.
    pub head: ChainHash,
    /// The fingerprint of its approved payload.
    pub fingerprint: Fingerprint,
    /// The scheme by which the fingerprint was made ([`crate::fingerprint::FINGERPRINT_SCHEME`], or that of a record that was adopted).
    pub fingerprint_scheme: u16,
    /// The version of the workflow under which the fingerprint was made.
    pub policy_version: u32,
    /// The latest attempt; none while an amendment waits for approval.
    pub attempt: Option<Attempt>,
    /// What is at stake, where the workflow says how to read it.
    pub money: Option<Money>,
    /// The next revision, once that is confirmed.
    pub superseded_by: Option<OperationId>,
    /// How often it was asked for again and held back (at most a second behind): asks, and no number of duplicates.
    pub duplicates_prevented: u64,
    /// How many conflicts wait for a person.
    pub open_conflicts: u32,
    /// When it was first begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Which bodies are kept of it.
    pub content: Content,
}

impl Operation {
    /// The number of the latest attempt; 0 where there was none.
    pub fn attempt_number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, |attempt| attempt.number)
    }

    /// The id that the worker writes into the destination's record, so that it can be found again. Thirty-five characters: what
    /// ISO 20022 allows for an end-to-end reference.
    pub fn external_reference(&self) -> String {
        format!("{EXTERNAL_REFERENCE_PREFIX}{:032x}", self.id.as_u128())
    }

    /// The idempotency key for destinations that take one: the same for every attempt, so that a destination that remembers it
    /// refuses a second record even where everything else went wrong.
    pub fn idempotency_key(&self) -> String {
        self.id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_external_reference_names_its_operation() {
        let id = OperationId::from_u128(0x0190_0000_0000_7000_8000_0000_0000_00ff);
        assert_eq!(of_external_reference("oo-019000000000700080000000000000ff"), Some(id));
        for other in [
            "oo-019000000000700080000000000000FF",
            "oo-1",
            "019000000000700080000000000000ff",
            "oo-+1900000000070008000000000000ff",
        ] {
            assert_eq!(of_external_reference(other), None, "{other}");
        }
    }
}
