//! The machine's clock and randomness: the one place that reads them. Everything else gets them as arguments.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::DateTime;
use guard::clock::{Clock, Entropy, Timestamp};
use rand::RngCore as _;

/// The machine's clock in whole milliseconds. It never goes backwards: when the machine's clock is set back, this one stands still
/// until it has caught up, so that no lease is longer for one caller than for the next.
#[derive(Debug, Default)]
pub struct SystemClock {
    latest_milliseconds: AtomicI64,
}

impl SystemClock {
    /// The machine's clock.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[allow(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
        let read = chrono::Utc::now().timestamp_millis();
        let latest = self.latest_milliseconds.fetch_max(read, Ordering::Relaxed).max(read);
        // Milliseconds that came out of a moment go back into one.
        DateTime::from_timestamp_millis(latest).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

/// Random bytes from a generator that the operating system seeds, for ids and secrets (ChaCha with 12 rounds, seeded anew by and by).
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        #[allow(clippy::disallowed_methods, reason = "the one place that takes randomness")]
        rand::rng().fill_bytes(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_backwards_and_has_whole_milliseconds() {
        let clock = SystemClock::new();
        let first = clock.now();
        assert_eq!(first, guard::clock::to_millisecond(first));
        let ahead = first.timestamp_millis() + 60_000;
        clock.latest_milliseconds.store(ahead, Ordering::Relaxed);
        assert_eq!(clock.now().timestamp_millis(), ahead, "the machine's clock was set back by a minute");
    }

    #[test]
    fn bytes_differ() {
        assert_ne!(OsEntropy.bytes(), OsEntropy.bytes());
    }
}
