//! How a destination may be asked at present: not while it is down, and never more often than it bears. All processes that share a
//! store share this too, and the desk shows it.

use chrono::TimeDelta;

use crate::clock::Timestamp;
use crate::recovery::{Answer, jittered, kept, later};

/// After this many answers in a row that mean that the destination is down, it is asked less.
pub const FAILURES_MAX: u32 = 5;

/// The wait before a destination that is down is asked for the first time again, in seconds; it doubles with every further time.
pub const PROBE_SECONDS_MIN: i64 = 10;

/// The longest wait before a destination that is down is asked again, in seconds.
pub const PROBE_SECONDS_MAX: i64 = 300;

/// How a destination may be asked at present.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Access {
    /// The destination.
    pub destination: String,
    /// Raised by every change: a change is stored only where it follows on the version that was read.
    pub version: u64,
    /// How many answers in a row meant that it is down.
    pub failures: u32,
    /// Its circuit, where that is open.
    pub down: Option<Down>,
    /// Lookups have been permitted up to this moment; the next one is begun after it.
    pub paced_until: Timestamp,
}

/// A destination that is down.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Down {
    /// Since when.
    pub since: Timestamp,
    /// What it answered last, in words.
    pub reason: String,
    /// How often it was asked in vain since.
    pub probes: u32,
    /// When it is asked again, by one lookup.
    pub probe_at: Timestamp,
}

/// How many lookups may be begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It is down, and not asked before a moment.
    Closed,
    /// It is down, and one lookup may find out whether it still is.
    Probe,
    /// It may be asked.
    Open,
}

impl Access {
    /// A destination of which nothing is known yet.
    pub const fn fresh(destination: String) -> Self {
        Self { destination, version: 0, failures: 0, down: None, paced_until: Timestamp::UNIX_EPOCH }
    }

    /// Whether it may be asked.
    pub fn room(&self, now: Timestamp) -> Room {
        match &self.down {
            None => Room::Open,
            Some(down) if down.probe_at <= now => Room::Probe,
            Some(_) => Room::Closed,
        }
    }

    /// Takes the one probe of a destination that is down: nobody else asks it before the next moment for one.
    pub fn probed(&self, now: Timestamp, random: [u8; 16]) -> Self {
        let down = self.down.clone().map(|down| {
            let probe_at = later(now, probe_wait(down.probes + 1, random));
            Down { probes: down.probes + 1, probe_at, ..down }
        });
        Self { down, version: self.version + 1, ..self.clone() }
    }

    /// Reserves moments for so many lookups at this rate; answers the first, the span between two, and how it stands then.
    pub fn paced(&self, now: Timestamp, lookups: u32, per_second: u32) -> (Timestamp, TimeDelta, Self) {
        let span = TimeDelta::milliseconds((1_000 / i64::from(per_second.max(1))).max(1));
        let first = self.paced_until.max(now);
        let count = i32::try_from(lookups).unwrap_or(i32::MAX);
        let paced_until = later(first, span * count);
        (first, span, Self { paced_until, version: self.version + 1, ..self.clone() })
    }

    /// How it stands after an answer; none where that changes nothing.
    pub fn answered(&self, answer: Answer, reason: &str, now: Timestamp, random: [u8; 16]) -> Option<Self> {
        if !answer.means_down() {
            let is_clean = self.failures == 0 && self.down.is_none();
            return (!is_clean).then(|| Self { failures: 0, down: None, version: self.version + 1, ..self.clone() });
        }
        let failures = self.failures.saturating_add(1);
        let down = match &self.down {
            // The moment of the next probe was set when this one was taken.
            Some(down) => Some(Down { reason: kept(reason), ..down.clone() }),
            None if failures >= FAILURES_MAX => {
                Some(Down { since: now, reason: kept(reason), probes: 0, probe_at: later(now, probe_wait(0, random)) })
            }
            None => None,
        };
        Some(Self { failures, down, version: self.version + 1, ..self.clone() })
    }
}

/// The wait before the next probe after so many in vain.
fn probe_wait(probes: u32, random: [u8; 16]) -> TimeDelta {
    let seconds = (PROBE_SECONDS_MIN << probes.min(i64::BITS / 2)).min(PROBE_SECONDS_MAX);
    jittered(TimeDelta::seconds(seconds), random)
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;
    use crate::lookup::AnswerClass;

    const TIMEOUT: Answer = Answer::Inconclusive(AnswerClass::Timeout);

    fn at(seconds: i64) -> Timestamp {
        chrono::Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap()
    }

    fn down() -> Access {
        let fresh = Access::fresh("ledger".to_owned());
        (0..FAILURES_MAX).fold(fresh, |access, second| {
            access.answered(TIMEOUT, "no answer in 10 s", at(second.into()), [0; 16]).unwrap()
        })
    }

    #[test]
    fn it_opens_after_answers_in_a_row_only() {
        let mut access = Access::fresh("ledger".to_owned());
        for _ in 0..3 {
            for _ in 1..FAILURES_MAX {
                access = access.answered(TIMEOUT, "", at(0), [0; 16]).unwrap();
                assert_eq!(access.room(at(0)), Room::Open);
            }
            let refused = Answer::Inconclusive(AnswerClass::Refused);
            access = access.answered(refused, "", at(0), [0; 16]).unwrap();
            assert_eq!((access.failures, access.room(at(0))), (0, Room::Open), "it answers, if not to our liking");
        }
        assert_eq!(access.answered(Answer::Absent, "", at(0), [0; 16]), None, "nothing to write where all is well");
    }

    #[test]
    fn one_probe_at_growing_intervals_and_one_answer_closes_it() {
        let mut access = down();
        let mut now = at(4);
        let mut waits = Vec::new();
        for _ in 0..8 {
            assert_eq!(access.room(now), Room::Closed);
            let probe_at = access.down.as_ref().unwrap().probe_at;
            waits.push((probe_at - now).num_seconds());
            now = probe_at;
            assert_eq!(access.room(now), Room::Probe);
            access = access.probed(now, [0; 16]);
            assert_eq!(access.room(now), Room::Closed, "the probe is taken");
            access = access.answered(TIMEOUT, "still nothing", now, [0; 16]).unwrap();
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(access.down.as_ref().unwrap().reason, "still nothing");
        let closed = access.answered(Answer::Absent, "", now, [0; 16]).unwrap();
        assert_eq!((closed.failures, closed.down.clone(), closed.room(now)), (0, None, Room::Open));
    }

    #[test]
    fn lookups_are_spread_over_time_whoever_asks() {
        let fresh = Access::fresh("ledger".to_owned());
        let (first, span, access) = fresh.paced(at(0), 10, 20);
        assert_eq!((first, span), (at(0), TimeDelta::milliseconds(50)));
        let (second, _, access) = access.paced(at(0), 10, 20);
        assert_eq!(second, at(0) + TimeDelta::milliseconds(500), "behind those of another process");
        let (third, _, _) = access.paced(at(9), 1, 20);
        assert_eq!(third, at(9), "what was not used is not saved up");
    }
}
