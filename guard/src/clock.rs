//! Time and randomness, as arguments: nothing in this crate reads a clock or rolls dice by itself.

use chrono::{DateTime, SubsecRound, Utc};

/// A moment in UTC. Everything that is kept has whole milliseconds ([`to_millisecond`]).
pub type Timestamp = DateTime<Utc>;

/// Tells the time. The server's clock is its own or its database's; a test's is moved by hand.
pub trait Clock: Send + Sync {
    /// The present moment, in whole milliseconds.
    fn now(&self) -> Timestamp;
}

/// Gives random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Sixteen bytes that nobody can guess.
    fn bytes(&self) -> [u8; 16];
}

/// The moment, cut to whole milliseconds: what is stored, hashed and shown is then the same number.
pub fn to_millisecond(moment: Timestamp) -> Timestamp {
    moment.trunc_subsecs(3)
}

/// RFC 3339 in UTC with milliseconds, as every interface of Onceover writes a moment.
pub fn rfc3339(moment: Timestamp) -> String {
    moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
