//! Recovery: when an unknown operation is looked for at its destination, and when looking in vain is proof.
//!
//! Nothing here reads a clock or rolls dice: what time it is and which bytes are random are arguments, so every schedule can be
//! played through in a test.

use chrono::TimeDelta;

use crate::clock::{Timestamp, rfc3339, to_millisecond};
use crate::id::OperationId;
use crate::lookup::{AnswerClass, Finding};

/// The wait after the first lookup that settles nothing, in seconds; it doubles with every further one.
pub const WAIT_SECONDS_MIN: i64 = 2;

/// The longest wait between two lookups of one operation, in seconds.
pub const WAIT_SECONDS_MAX: i64 = 3_600;

/// A wait is lengthened by a random part of up to this many percent, so that what became unknown together is not asked for together.
pub const JITTER_PERCENT_MAX: i64 = 20;

/// After this many lookups that settled nothing, the operation waits for a person.
pub const LOOKUPS_MAX: u32 = 100;

/// After this many days of lookups that settled nothing, the operation waits for a person.
pub const RECOVERY_DAYS_MAX: i64 = 7;

/// Why nothing followed from a lookup in vain although it came late enough.
pub const REASON_CONTRADICTED: &str =
    "the destination answered that there is such a record already, and does not show it";

/// Of the reason why nothing followed from a lookup at most this many characters are kept beside the schedule.
pub const REASON_CHARACTERS_MAX: usize = 500;

/// The two lookups in vain that make the proof lie at least this far apart, in seconds: one answer of a search that is behind, or
/// of a replica, must not be both of them.
pub const NEGATIVES_APART_SECONDS: i64 = 5;

/// The schedule of an unknown operation whose destination can be asked. It is gone when the operation is no longer unknown.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recovery {
    /// The operation.
    pub operation: OperationId,
    /// The destination that is asked.
    pub destination: String,
    /// Since when it is looked for.
    pub since: Timestamp,
    /// When the last write was possible: the end of the lease, or the moment of the latest report, whichever came later.
    pub last_write_at: Timestamp,
    /// When it is looked for next.
    pub due_at: Timestamp,
    /// How often it was looked for.
    pub lookups: u32,
    /// When it was first looked for in vain after the destination's finality window; one more such lookup is proof.
    pub first_negative_at: Option<Timestamp>,
    /// When the destination said of the latest attempt that there is such a record already: lookups in vain then prove nothing, and a
    /// person decides after the second one.
    pub exists_at: Option<Timestamp>,
    /// What the last lookup showed.
    pub last: Option<LastLookup>,
    /// Who is looking for it right now.
    pub claim: Option<Claim>,
    /// Since when it is no longer looked for, and a person has to decide.
    pub exhausted_at: Option<Timestamp>,
}

/// What the last lookup of an operation showed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LastLookup {
    /// When it was over.
    pub at: Timestamp,
    /// What it showed.
    pub answer: Answer,
    /// In words, where nothing followed from it.
    pub reason: Option<String>,
}

/// A process's right to look for an operation, for a while: should it die, another one may look once this is over.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Claim {
    /// The process.
    pub by: String,
    /// Until when.
    pub until: Timestamp,
}

/// What a lookup showed, as a word: for counts, metrics and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Answer {
    /// See [`Finding::Found`].
    Found,
    /// See [`Finding::Differs`].
    Differs,
    /// See [`Finding::Several`].
    Several,
    /// See [`Finding::VoidOnly`].
    VoidOnly,
    /// See [`Finding::Absent`].
    Absent,
    /// See [`Finding::Inconclusive`].
    Inconclusive(AnswerClass),
}

/// A word that names no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("names no answer of a lookup")]
pub struct NotAnAnswer;

impl Answer {
    /// The answers from which something follows.
    const CONCLUSIVE: [Self; 5] = [Self::Found, Self::Differs, Self::Several, Self::VoidOnly, Self::Absent];

    /// Every answer.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::CONCLUSIVE.into_iter().chain(AnswerClass::ALL.into_iter().map(Self::Inconclusive))
    }

    /// The answer of a finding.
    pub const fn of(finding: &Finding) -> Self {
        match finding {
            Finding::Found { .. } => Self::Found,
            Finding::Differs { .. } => Self::Differs,
            Finding::Several { .. } => Self::Several,
            Finding::VoidOnly { .. } => Self::VoidOnly,
            Finding::Absent => Self::Absent,
            Finding::Inconclusive { class, .. } => Self::Inconclusive(*class),
        }
    }

    /// The name in the store, the trail and the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Differs => "differs",
            Self::Several => "several",
            Self::VoidOnly => "void_only",
            Self::Absent => "absent",
            Self::Inconclusive(class) => class.as_str(),
        }
    }

    /// The answer with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|answer| answer.as_str() == name)
    }

    /// Whether the destination as a whole is down or overburdened.
    pub const fn means_down(self) -> bool {
        match self {
            Self::Inconclusive(class) => class.means_down(),
            Self::Found | Self::Differs | Self::Several | Self::VoidOnly | Self::Absent => false,
        }
    }
}

impl From<Answer> for String {
    fn from(answer: Answer) -> Self {
        answer.as_str().to_owned()
    }
}

impl TryFrom<String> for Answer {
    type Error = NotAnAnswer;

    fn try_from(name: String) -> Result<Self, NotAnAnswer> {
        Self::parse(&name).ok_or(NotAnAnswer)
    }
}

/// Proof that an operation was not applied: two lookups in vain, both after the finality window since the last possible write. Only
/// [`Recovery::after`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    last_write_at: Timestamp,
    final_at: Timestamp,
    negatives_at: [Timestamp; 2],
}

impl Absence {
    /// The proof, in words.
    pub fn reason(&self) -> String {
        let [first, second] = self.negatives_at.map(rfc3339);
        format!(
            "proven absent: the last write was possible at {}, the destination's answers are final from {} on, and lookups at {first} and {second} found nothing",
            rfc3339(self.last_write_at),
            rfc3339(self.final_at),
        )
    }
}

/// What a lookup makes of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The schedule, should the operation stay unknown.
    pub recovery: Recovery,
    /// The proof that nothing was applied, where this lookup completes it.
    pub absence: Option<Absence>,
    /// Whether this lookup found nothing, and counts towards the proof.
    pub is_negative: bool,
}

impl Recovery {
    /// The schedule of an operation that has just become unknown: it is looked for at once.
    pub const fn starting(
        operation: OperationId,
        destination: String,
        now: Timestamp,
        last_write_at: Timestamp,
    ) -> Self {
        Self {
            operation,
            destination,
            since: now,
            last_write_at,
            due_at: now,
            lookups: 0,
            first_negative_at: None,
            exists_at: None,
            last: None,
            claim: None,
            exhausted_at: None,
        }
    }

    /// The schedule after a report that it may have been applied: a write was possible until then, so what was looked for in vain
    /// before proves nothing any more.
    pub fn written_until(self, now: Timestamp) -> Self {
        Self {
            last_write_at: self.last_write_at.max(now),
            due_at: now,
            first_negative_at: None,
            claim: None,
            exhausted_at: None,
            ..self
        }
    }

    /// The schedule after a person asked for a lookup: due at once, also where recovery had given up.
    pub fn asked_for(self, now: Timestamp) -> Self {
        Self { due_at: self.due_at.min(now), exhausted_at: None, ..self }
    }

    /// From when on a lookup in vain is a part of the proof; none where the destination never gives one.
    pub fn final_at(&self, finality: Option<TimeDelta>) -> Option<Timestamp> {
        finality.map(|finality| self.last_write_at.checked_add_signed(finality).unwrap_or(Timestamp::MAX_UTC))
    }

    /// Whether somebody is looking for it right now.
    pub fn is_claimed(&self, now: Timestamp) -> bool {
        self.claim.as_ref().is_some_and(|claim| now < claim.until)
    }

    /// The schedule after a lookup that was begun at `asked_at` and is over `now`.
    ///
    /// A lookup in vain counts only where it was begun after the finality window since the last possible write; the second one that
    /// counts, a while after the first, is proof, unless the destination said that there is such a record: then a person decides. What is inconclusive proves nothing and takes nothing back.
    pub fn after(
        &self,
        finding: &Finding,
        asked_at: Timestamp,
        now: Timestamp,
        finality: Option<TimeDelta>,
        random: [u8; 16],
    ) -> Step {
        let final_at = self.final_at(finality);
        let is_late = *finding == Finding::Absent && final_at.is_some_and(|final_at| asked_at >= final_at);
        let apart = TimeDelta::seconds(NEGATIVES_APART_SECONDS);
        let twice = match (self.first_negative_at, final_at) {
            (Some(first), Some(final_at)) if is_late && asked_at >= first + apart => {
                Some(Absence { last_write_at: self.last_write_at, final_at, negatives_at: [first, asked_at] })
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        // The destination contradicts itself: it has the record, and shows none.
        let is_contradicted = self.exists_at.is_some();
        let is_at_odds = is_contradicted && twice.is_some();
        let absence = twice.filter(|_| !is_contradicted);
        let is_negative = is_late && !is_contradicted;
        let reason = match finding {
            Finding::Inconclusive { reason, .. } => Some(kept(reason)),
            Finding::Absent if is_contradicted => Some(REASON_CONTRADICTED.to_owned()),
            Finding::Found { .. }
            | Finding::Differs { .. }
            | Finding::Several { .. }
            | Finding::VoidOnly { .. }
            | Finding::Absent => None,
        };
        let mut recovery = Self {
            lookups: self.lookups.saturating_add(1),
            first_negative_at: self.first_negative_at.or(is_late.then_some(asked_at)),
            last: Some(LastLookup { at: now, answer: Answer::of(finding), reason }),
            claim: None,
            exhausted_at: None,
            ..self.clone()
        };
        recovery.due_at = now + wait(recovery.lookups, random);
        match (finding, recovery.first_negative_at, final_at) {
            // A void record stays void: looking again shows nothing new.
            (Finding::VoidOnly { .. }, ..) => recovery.exhausted_at = Some(now),
            (Finding::Absent, ..) if is_at_odds => recovery.exhausted_at = Some(now),
            // The next answer may be the proof, so it is asked for when it can be.
            (Finding::Absent, Some(first), _) => recovery.due_at = now.max(first + apart),
            (Finding::Absent, None, Some(final_at)) if asked_at < final_at => {
                recovery.due_at = if recovery.is_worn_out(now) { final_at } else { recovery.due_at.min(final_at) };
                recovery.due_at = recovery.due_at.max(now);
            }
            (
                Finding::Found { .. }
                | Finding::Differs { .. }
                | Finding::Several { .. }
                | Finding::Absent
                | Finding::Inconclusive { .. },
                ..,
            ) => {
                if recovery.is_worn_out(now) {
                    recovery.exhausted_at = Some(now);
                }
            }
        }
        Step { recovery, absence, is_negative }
    }

    /// Whether enough was looked, where looking goes on showing nothing.
    fn is_worn_out(&self, now: Timestamp) -> bool {
        self.lookups >= LOOKUPS_MAX || now - self.since >= TimeDelta::days(RECOVERY_DAYS_MAX)
    }
}

/// A reason as it is kept: one line of bounded length, which every store can hold.
pub(crate) fn kept(reason: &str) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    reason.chars().map(plain).take(REASON_CHARACTERS_MAX).collect()
}

/// The wait after so many lookups, doubled each time and lengthened at random.
fn wait(lookups: u32, random: [u8; 16]) -> TimeDelta {
    let doublings = lookups.saturating_sub(1).min(i64::BITS / 2);
    let seconds = (WAIT_SECONDS_MIN << doublings).min(WAIT_SECONDS_MAX);
    jittered(TimeDelta::seconds(seconds), random)
}

/// The span, lengthened by a random part of up to [`JITTER_PERCENT_MAX`].
pub(crate) fn jittered(span: TimeDelta, random: [u8; 16]) -> TimeDelta {
    let [first, second, ..] = random;
    let thousandths = i64::from(u16::from_be_bytes([first, second])) * 1_000 / i64::from(u16::MAX);
    span + TimeDelta::milliseconds(span.num_milliseconds() * JITTER_PERCENT_MAX * thousandths / 100_000)
}

/// A moment that many milliseconds after another, whole.
pub(crate) fn later(moment: Timestamp, span: TimeDelta) -> Timestamp {
    to_millisecond(moment.checked_add_signed(span).unwrap_or(Timestamp::MAX_UTC))
}

#[cfg(test)]
mod tests;
