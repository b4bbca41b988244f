//! Pulls: records that are asked of a destination's list, and the schedule by which that is done.
//!
//! Nothing here reads a clock or rolls dice: what time it is and which bytes are random are arguments.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use crate::clock::Timestamp;
use crate::id::ReconciliationId;
use crate::key::KeyPart;
use crate::recovery::{Claim, jittered, kept, later};
use crate::workflow::DefinitionFault;

/// Records of so many days before today are asked for where nothing is said.
pub const DAYS_DEFAULT: u32 = 31;

/// No schedule looks further back, in days.
pub const DAYS_MAX: u32 = 366;

/// No schedule waits longer from one pull to the next, in hours.
pub const EVERY_HOURS_MAX: u32 = 31 * 24;

/// A schedule names at most so many companies.
pub const COMPANIES_MAX: usize = 200;

/// The wait before a pull that failed is tried again, in seconds; it doubles with every further failure.
pub const RETRY_SECONDS_MIN: i64 = 60;

/// The longest wait before a pull that failed is tried again, in seconds.
pub const RETRY_SECONDS_MAX: i64 = 3_600;

/// How often the destination's list is pulled and reconciled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullRules {
    /// So long after a pull that went well the next one is made, in hours.
    pub every_hours: u32,
    /// Records and operations from so many days before today on. Left out: [`DAYS_DEFAULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// The companies, each pulled for itself: a document's number means nothing without one.
    pub companies: Vec<KeyPart>,
}

impl PullRules {
    /// How long after a pull that went well the next one is made.
    pub fn every(&self) -> TimeDelta {
        TimeDelta::hours(self.every_hours.into())
    }

    /// How many days before today are looked at.
    pub fn days(&self) -> u32 {
        self.days.unwrap_or(DAYS_DEFAULT)
    }

    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first key that contradicts a limit.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        let fault = |key, message: String| Err(DefinitionFault::new(key, message));
        if !(1..=EVERY_HOURS_MAX).contains(&self.every_hours) {
            return fault(
                "pull.every_hours",
                format!("is {}; write 1 to {EVERY_HOURS_MAX} hours, or leave [workflow.pull] out", self.every_hours),
            );
        }
        if self.days.is_some_and(|days| !(1..=DAYS_MAX).contains(&days)) {
            return fault("pull.days", format!("is out of bounds; write 1 to {DAYS_MAX} days"));
        }
        if self.companies.is_empty() {
            let message = "is empty; name the companies whose records the destination lists, for example [\"acme\"]";
            return fault("pull.companies", message.to_owned());
        }
        if self.companies.len() > COMPANIES_MAX {
            return fault("pull.companies", format!("names over {COMPANIES_MAX} companies"));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = self.companies.iter().find(|company| !names.insert(company.as_str())) {
            return fault("pull.companies", format!("names {:?} twice", twice.as_str()));
        }
        Ok(())
    }
}

/// From when on a pull of so many days looks: the start of a day in UTC, so that two pulls of one day look at the same.
pub fn period_start(now: Timestamp, days: u32) -> Timestamp {
    let today = now.date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    today.checked_sub_signed(TimeDelta::days(days.into())).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// How the scheduled pulls of a workflow and company stand. It is gone through by one process at a time: whoever claims it raises its
/// version.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PullSchedule {
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// Raised by every change: a change is stored only where it follows on the version that was read.
    pub version: u64,
    /// Since when it is pulled by a schedule.
    pub since: Timestamp,
    /// The last pull that went well.
    pub succeeded: Option<PullSuccess>,
    /// The failures since.
    pub failing: Option<PullFailing>,
    /// How many pulls failed in all.
    pub failures: u64,
    /// Who is pulling right now.
    pub claim: Option<Claim>,
}

/// A scheduled pull that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PullSuccess {
    /// When it was over.
    pub at: Timestamp,
    /// What it came to.
    pub run: ReconciliationId,
}

/// Scheduled pulls that failed since the last one that went well.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PullFailing {
    /// How many in a row.
    pub times: u32,
    /// When the last one failed.
    pub at: Timestamp,
    /// Why, in a sentence.
    pub reason: String,
    /// When it is tried again.
    pub again_at: Timestamp,
}

impl PullSchedule {
    /// A schedule that begins now: the first pull is due at once.
    pub fn starting(workflow: &str, company: &str, now: Timestamp) -> Self {
        Self {
            workflow: workflow.to_owned(),
            company: company.to_owned(),
            version: 1,
            since: now,
            succeeded: None,
            failing: None,
            failures: 0,
            claim: None,
        }
    }

    /// When the next pull is wanted, whatever failed meanwhile.
    pub fn wanted_at(&self, every: TimeDelta) -> Timestamp {
        self.succeeded.map_or(self.since, |succeeded| later(succeeded.at, every))
    }

    /// When the next pull is tried.
    pub fn due_at(&self, every: TimeDelta) -> Timestamp {
        self.failing.as_ref().map_or_else(|| self.wanted_at(every), |failing| failing.again_at)
    }

    /// For how long a pull has been wanted in vain; nothing where none is.
    pub fn overdue(&self, every: TimeDelta, now: Timestamp) -> TimeDelta {
        (now - self.wanted_at(every)).max(TimeDelta::zero())
    }

    /// Whether a process is pulling right now.
    pub fn is_claimed(&self, now: Timestamp) -> bool {
        self.claim.as_ref().is_some_and(|claim| now < claim.until)
    }

    /// Whether this process has it.
    pub fn is_held_by(&self, by: &str) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.by == by)
    }

    /// How it stands when a process has it, or with none given back.
    #[must_use]
    pub fn claimed(self, claim: Option<Claim>) -> Self {
        Self { version: self.version + 1, claim, ..self }
    }

    /// How it stands after a pull that went well.
    #[must_use]
    pub fn after_success(self, at: Timestamp, run: ReconciliationId) -> Self {
        Self { succeeded: Some(PullSuccess { at, run }), failing: None, ..self.claimed(None) }
    }

    /// How it stands after a pull that failed: it is tried again after a wait that doubles with every failure.
    #[must_use]
    pub fn after_failure(self, at: Timestamp, reason: &str, random: [u8; 16]) -> Self {
        let before = self.failing.as_ref().map_or(0, |failing| failing.times);
        let seconds = (RETRY_SECONDS_MIN << before.min(i64::BITS / 2)).min(RETRY_SECONDS_MAX);
        let again_at = later(at, jittered(TimeDelta::seconds(seconds), random));
        let failing = PullFailing { times: before.saturating_add(1), at, reason: kept(reason), again_at };
        Self { failing: Some(failing), failures: self.failures.saturating_add(1), ..self.claimed(None) }
    }
}

/// A scheduled pull, with the rules by which it is made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ScheduledPull {
    /// How it stands.
    pub schedule: PullSchedule,
    /// How often it is made, in hours.
    pub every_hours: u32,
    /// How many days before today it looks at.
    pub days: u32,
    /// The destination that is asked.
    pub destination: String,
}

impl ScheduledPull {
    /// How long after a pull that went well the next one is wanted.
    pub fn every(&self) -> TimeDelta {
        TimeDelta::hours(self.every_hours.into())
    }

    /// When the next pull is tried.
    pub fn due_at(&self) -> Timestamp {
        self.schedule.due_at(self.every())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        chrono::Utc.timestamp_opt(1_700_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn the_next_pull_follows_on_the_last_that_went_well() {
        let every = TimeDelta::hours(24);
        let fresh = PullSchedule::starting("handoff", "acme", at(0));
        assert_eq!((fresh.due_at(every), fresh.overdue(every, at(5))), (at(0), TimeDelta::seconds(5)));
        let done = fresh.after_success(at(10), ReconciliationId::from_u128(1));
        assert_eq!(done.due_at(every), at(10) + every);
        assert_eq!(done.overdue(every, at(20)), TimeDelta::zero());
        assert_eq!(done.due_at(TimeDelta::hours(1)), at(10 + 3_600), "a shorter span counts from the next look on");
    }

    #[test]
    fn a_pull_that_fails_is_tried_again_at_growing_intervals() {
        let every = TimeDelta::hours(24);
        let mut schedule = PullSchedule::starting("handoff", "acme", at(0));
        let mut waits = Vec::new();
        for _ in 0..8 {
            let now = schedule.due_at(every);
            schedule = schedule.after_failure(now, "no\nconnection", [0; 16]);
            waits.push((schedule.due_at(every) - now).num_seconds());
        }
        assert_eq!(waits, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
        assert_eq!(schedule.failing.as_ref().unwrap().reason, "no connection", "one line");
        assert_eq!((schedule.failures, schedule.wanted_at(every)), (8, at(0)), "it is wanted all the same");
        let done = schedule.after_success(at(99), ReconciliationId::from_u128(1));
        assert_eq!((done.failing.clone(), done.failures, done.version), (None, 8, 10));
    }

    #[test]
    fn a_period_starts_with_a_day() {
        assert_eq!(period_start(at(0), 31).to_rfc3339(), "2023-10-14T00:00:00+00:00");
    }

    #[test]
    fn faults_are_named() {
        let rules = |every_hours, days, companies: &[&str]| PullRules {
            every_hours,
            days,
            companies: companies.iter().map(|name| KeyPart::new(name).unwrap()).collect(),
        };
        let fault = |rules: PullRules| rules.validate().unwrap_err().key;
        assert_eq!(rules(24, None, &["acme"]).validate(), Ok(()));
        assert_eq!(fault(rules(0, None, &["acme"])), "pull.every_hours");
        assert_eq!(fault(rules(24, Some(367), &["acme"])), "pull.days");
        assert_eq!(fault(rules(24, None, &[])), "pull.companies");
        assert_eq!(fault(rules(24, None, &["acme", "acme"])), "pull.companies");
    }
}
