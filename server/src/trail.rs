//! The trail as a whole: seals over the chains, and the proof that nothing was altered or taken out.
//!
//! Each operation is a chain of its own, so that writers do not queue behind one head. A chain alone cannot tell that it was taken out
//! altogether; the seals can: each holds the heads of the chains that changed since the one before, and is chained to it. What was
//! taken out since the last seal, and the last seals themselves, only a copy kept elsewhere can tell: `onceover trail verify` prints
//! the number and hash of the last seal for that.

mod certificate;
mod coverage;
mod proof;
mod sealing;

use std::fmt;

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::trail::{ChainHash, Entry};
use sha2::{Digest as _, Sha256};

pub use self::coverage::{Coverage, coverage};
pub use self::proof::{FirstBroken, Report, verify};
pub use self::sealing::{SEAL_DELAY_SECONDS, SEAL_EVERY_SECONDS, Sealed, seal};

/// Names a chain: the id of its operation, or [`ChainId::ADMINISTRATION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(u128);

impl ChainId {
    /// The chain of the administration: sixteen zero bytes, before every operation.
    pub const ADMINISTRATION: Self = Self(0);

    /// The chain with these 128 bits, as a store keeps it.
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The 128 bits, as a store keeps them.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl From<OperationId> for ChainId {
    fn from(operation: OperationId) -> Self {
        Self(operation.as_u128())
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ADMINISTRATION {
            formatter.write_str("administration")
        } else {
            fmt::Display::fmt(&OperationId::from_u128(self.0), formatter)
        }
    }
}

/// An entry's place and hash in its chain: what a seal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The chain.
    pub chain: ChainId,
    /// The entry's sequence.
    pub sequence: u64,
    /// The entry's hash.
    pub hash: ChainHash,
}

impl Head {
    /// The length of its bytes: chain 16, sequence 8 (big endian), hash 32.
    pub const BYTES: usize = 56;

    /// The bytes, as a seal keeps and hashes them.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.chain.0.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[24..].copy_from_slice(self.hash.as_bytes());
        bytes
    }

    /// The head with these bytes.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (mut chain, mut sequence, mut hash) = ([0; 16], [0; 8], [0; 32]);
        chain.copy_from_slice(&bytes[..16]);
        sequence.copy_from_slice(&bytes[16..24]);
        hash.copy_from_slice(&bytes[24..]);
        Self {
            chain: ChainId(u128::from_be_bytes(chain)),
            sequence: u64::from_be_bytes(sequence),
            hash: ChainHash::from_bytes(hash),
        }
    }
}

/// A seal: the heads of the chains that changed, chained to the seal before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Its number, from 1, without gaps.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// Entries before this moment are covered by this seal or one before it.
    pub until: Timestamp,
    /// The heads, one for each chain, ordered by chain.
    pub heads: Vec<Head>,
    /// The hash of this seal and all before it.
    pub hash: ChainHash,
}

impl Seal {
    /// The seal that follows on `(number, hash)` of the one before; `(0, ChainHash::START)` is before the first.
    pub fn following(previous: (u64, ChainHash), at: Timestamp, until: Timestamp, heads: Vec<Head>) -> Self {
        let (number, previous) = previous;
        let mut seal = Self { number: number + 1, at, until, heads, hash: previous };
        seal.hash = seal.hash_after(previous);
        seal
    }

    /// The hash that this seal must have after `previous`: SHA-256 over `previous`, the number, `at` and `until` in milliseconds since
    /// 1970 (eight bytes each, big endian) and the bytes of the heads.
    pub fn hash_after(&self, previous: ChainHash) -> ChainHash {
        let mut hasher = Sha256::new();
        hasher.update(previous.as_bytes());
        hasher.update(self.number.to_be_bytes());
        hasher.update(self.at.timestamp_millis().to_be_bytes());
        hasher.update(self.until.timestamp_millis().to_be_bytes());
        for head in &self.heads {
            hasher.update(head.to_bytes());
        }
        ChainHash::from_bytes(hasher.finalize().into())
    }
}

/// The place of an entry in the order of moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// When it happened.
    pub at: Timestamp,
    /// Its chain.
    pub chain: ChainId,
    /// Its sequence.
    pub sequence: u64,
}

impl Moment {
    /// Before every entry of this moment and later ones.
    pub const fn start_of(at: Timestamp) -> Self {
        // Sequences start at 1, and the chain 0 is the first.
        Self { at, chain: ChainId::ADMINISTRATION, sequence: 0 }
    }
}

/// What sealing and verifying ask of a store. Every list is a keyset page: in order, behind a place, at most `limit` rows.
#[async_trait]
pub trait Ledger: guard::store::Periods + Send + Sync {
    /// The last seal.
    async fn last_seal(&self) -> Result<Option<Seal>, StoreFault>;

    /// The seals behind this number, oldest first.
    async fn seals(&self, after: u64, limit: u32) -> Result<Vec<Seal>, StoreFault>;

    /// Stores a seal unless its number is taken; whether it was stored.
    async fn add_seal(&self, seal: &Seal) -> Result<bool, StoreFault>;

    /// The entries behind `after` and before the moment `until` (exclusive), ordered by moment, chain, sequence.
    async fn heads_by_moment(
        &self,
        after: Moment,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Moment, ChainHash)>, StoreFault>;

    /// The entries of all chains behind `after`, ordered by chain and sequence; `(ChainId::ADMINISTRATION, 0)` is before all.
    async fn all_entries(&self, after: (ChainId, u64), limit: u32) -> Result<Vec<(ChainId, Entry)>, StoreFault>;

    /// The operations behind this id, ordered by id; `OperationId::from_u128(0)` is before all.
    async fn all_operations(&self, after: OperationId, limit: u32) -> Result<Vec<Operation>, StoreFault>;

    /// The sequence and hash that the administration holds as those of its last entry.
    async fn administration(&self) -> Result<(u64, ChainHash), StoreFault>;

    /// The payloads of these operations that are still kept, compact JSON, in no order. At most [`PAYLOADS_PER_READ_MAX`].
    async fn payloads(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault>;

    /// The hash of each of these entries, in their order; none where the entry does not exist. At most [`HASHES_PER_READ_MAX`].
    async fn hashes(&self, entries: &[(ChainId, u64)]) -> Result<Vec<Option<ChainHash>>, StoreFault>;
}

/// [`Ledger::payloads`] is asked for at most this many at once: they may be of 256 KiB each.
pub const PAYLOADS_PER_READ_MAX: usize = 50;

/// [`Ledger::hashes`] is asked for at most this many entries at once.
pub const HASHES_PER_READ_MAX: usize = 1_000;
