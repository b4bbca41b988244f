//! The database's clock, kept as a distance from this machine's monotonic one.
//!
//! Servers that share a database shall agree on when a lease ends, whatever their machines' clocks say. Nothing depends on it for
//! being right: a lease is ended, and an attempt permitted, by a compare-and-set on the operation's version. A clock that is wrong
//! ends a lease too early or too late; it never makes two owners.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::DateTime;
use guard::clock::{Clock, Timestamp};
use sqlx::PgPool;

use super::connection::bounded;
use super::fault::Trouble;

/// The clock is compared with the database's this often.
const COMPARED_EVERY_SECONDS: u64 = 5;

/// At the start the quickest of this many answers counts.
const ANSWERS_AT_START: usize = 3;

/// The database's clock in whole milliseconds; it never goes backwards within a process.
pub(super) struct DatabaseClock {
    /// The moment on this machine from which everything is counted.
    origin: Instant,
    /// The database's time at the origin, in milliseconds since 1970.
    at_origin: AtomicI64,
    latest: AtomicI64,
}

/// What one question after the time found.
#[derive(Clone, Copy)]
struct Reading {
    /// The database's time at the origin, in milliseconds since 1970.
    at_origin: i64,
    /// It may be wrong by this many milliseconds: half the time that the answer took.
    uncertainty: i64,
}

impl DatabaseClock {
    /// The clock of the database behind the pool.
    pub(super) async fn open(pool: &PgPool) -> Result<Self, Trouble> {
        let origin = Instant::now();
        let mut best: Option<Reading> = None;
        for _ in 0..ANSWERS_AT_START {
            let reading = ask(pool, origin).await?;
            if best.is_none_or(|best| reading.uncertainty < best.uncertainty) {
                best = Some(reading);
            }
        }
        let at_origin = AtomicI64::new(best.map_or(0, |best| best.at_origin));
        Ok(Self { origin, at_origin, latest: AtomicI64::new(0) })
    }

    /// Compares itself with the database's clock for ever. While the database is away, the distance stays as it was.
    pub(super) async fn keep_right(self: Arc<Self>, pool: PgPool) {
        loop {
            tokio::time::sleep(Duration::from_secs(COMPARED_EVERY_SECONDS)).await;
            if let Ok(reading) = ask(&pool, self.origin).await {
                self.correct(reading);
            }
        }
    }

    /// Takes a reading over where it differs by more than it may be wrong: a slow answer does not move a clock that is right.
    fn correct(&self, reading: Reading) {
        let held = self.at_origin.load(Ordering::Relaxed);
        if (reading.at_origin - held).abs() > reading.uncertainty {
            self.at_origin.store(reading.at_origin, Ordering::Relaxed);
        }
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let read = self.at_origin.load(Ordering::Relaxed) + milliseconds(self.origin.elapsed());
        let latest = self.latest.fetch_max(read, Ordering::Relaxed).max(read);
        DateTime::from_timestamp_millis(latest).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

async fn ask(pool: &PgPool, origin: Instant) -> Result<Reading, Trouble> {
    // Taken before, so that waiting for a connection does not count.
    let mut connection = bounded(pool.acquire()).await?;
    let asked = origin.elapsed();
    let time = sqlx::query_scalar("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    let theirs: i64 = bounded(time.fetch_one(&mut *connection)).await?;
    let half = (origin.elapsed() - asked) / 2;
    Ok(Reading { at_origin: theirs - milliseconds(asked + half), uncertainty: milliseconds(half) + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_answer_moves_nothing_and_time_stands_rather_than_going_back() {
        let clock =
            DatabaseClock { origin: Instant::now(), at_origin: AtomicI64::new(1_000_000), latest: AtomicI64::new(0) };
        let first = clock.now();
        clock.correct(Reading { at_origin: 1_000_400, uncertainty: 500 });
        assert!((clock.now() - first).num_milliseconds() < 400, "within what the answer may be wrong by");
        clock.correct(Reading { at_origin: 1_060_000, uncertainty: 1 });
        let ahead = clock.now();
        assert!((ahead - first).num_milliseconds() >= 60_000, "the database's clock was set ahead");
        clock.correct(Reading { at_origin: 1_000_000, uncertainty: 1 });
        assert_eq!(clock.now(), ahead, "and back: this one waits");
    }
}
