//! Counts that people and Prometheus read.

use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::decision::DecisionName;
use crate::money::Money;
use crate::recovery::Answer;
use crate::state::StateName;

/// Counting uncertain operations stops here: past it, "10,000+" says enough.
pub const UNCERTAIN_COUNTED_MAX: u32 = 10_000;

/// So many are counted above a list: past it, "1,000+" says enough there, and the overview says more.
pub const LISTED_COUNTED_MAX: u32 = 1_000;

/// So many of what recovery looks for are counted above a list, where that stands beside what it lists.
pub const LOOKED_FOR_COUNTED_MAX: u32 = 200;

/// So many are counted beside the entries of the navigation, where the last one reads "99+": that happens for every page.
pub const BADGE_COUNTED_MAX: u32 = 100;

/// How a duplicate was prevented: what the first repetition of an operation was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prevention {
    /// It got the result that was there.
    Replay,
    /// It came through the proxy and got the destination's own answer again.
    ProxyReplay,
    /// It was pointed to a newer revision.
    Superseded,
    /// It was held while another attempt was under way, which was confirmed then.
    InProgress,
    /// It was held while nobody knew, until the operation was confirmed.
    Unknown,
}

impl Prevention {
    /// Every kind, the commonest first.
    pub const ALL: [Self; 5] = [Self::Replay, Self::ProxyReplay, Self::Superseded, Self::InProgress, Self::Unknown];

    /// The name in the store, the metrics and exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::ProxyReplay => "proxy_replay",
            Self::Superseded => "superseded",
            Self::InProgress => "in_progress",
            Self::Unknown => "unknown",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of a repetition that got this decision; none where the decision holds nothing back that was asked for before.
    pub const fn of(decision: DecisionName) -> Option<Self> {
        match decision {
            DecisionName::Replay => Some(Self::Replay),
            DecisionName::Superseded => Some(Self::Superseded),
            DecisionName::InProgress => Some(Self::InProgress),
            DecisionName::Unknown => Some(Self::Unknown),
            DecisionName::Proceed
            | DecisionName::AwaitingApproval
            | DecisionName::ApprovalMissing
            | DecisionName::PreviousRevision
            | DecisionName::Rejected
            | DecisionName::Conflict => None,
        }
    }
}

/// Who brought the truth about an uncertain operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// A look at the destination, or its list.
    Recovery,
    /// The worker, later.
    Report,
    /// A person.
    Person,
}

impl SettledBy {
    /// Everybody who may.
    pub const ALL: [Self; 3] = [Self::Recovery, Self::Report, Self::Person];

    /// The name in the store, the metrics and exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Report => "report",
            Self::Person => "person",
        }
    }

    /// Who has this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == name)
    }

    /// Who stands behind an actor; none where it never settles anything.
    pub const fn of(actor: &Actor) -> Option<Self> {
        match actor {
            Actor::Recovery | Actor::Schedule => Some(Self::Recovery),
            Actor::Token { .. } => Some(Self::Report),
            Actor::Person { .. } => Some(Self::Person),
            Actor::Sweeper | Actor::CommandLine | Actor::FirstStart => None,
        }
    }
}

/// The bounds of the times to truth that are told apart, in seconds: from ten seconds to thirty days.
pub const TRUTH_BOUNDS_SECONDS: [u32; 12] =
    [10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200, 604_800, 1_209_600, 2_592_000];

/// A time to truth: up to which of [`TRUTH_BOUNDS_SECONDS`] it lasted, or longer than all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct TruthWithin(u8);

impl TruthWithin {
    /// So many times are told apart.
    pub const COUNT: usize = TRUTH_BOUNDS_SECONDS.len() + 1;

    /// Every one, the shortest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0_u8..).take(Self::COUNT).map(Self)
    }

    /// The one in which so many seconds lie.
    pub fn of(seconds: u64) -> Self {
        let place = TRUTH_BOUNDS_SECONDS.partition_point(|bound| u64::from(*bound) < seconds);
        Self(u8::try_from(place).unwrap_or(u8::MAX))
    }

    /// Its place, from 0.
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// The longest time in it, in seconds; none for the last one.
    pub fn bound_seconds(self) -> Option<u32> {
        TRUTH_BOUNDS_SECONDS.get(self.place()).copied()
    }

    fn to_text(self) -> String {
        self.bound_seconds().map_or_else(|| "more".to_owned(), |bound| bound.to_string())
    }

    fn parse(text: &str) -> Option<Self> {
        Self::all().find(|within| within.to_text() == text)
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "of", content = "name")]
pub enum Counted {
    /// A begin that got this decision.
    Decision(DecisionName),
    /// A request through the proxy that was answered from what the destination had answered before.
    ProxyReplay,
    /// An operation that came into this state.
    Entered(StateName),
    /// A lookup at the destination that showed this.
    LookedUp(Answer),
    /// A confirmed operation that would have been done twice: once for each operation, however often it was asked for again.
    Prevented(Prevention),
    /// An uncertain operation of which somebody brought the truth.
    Settled(SettledBy),
    /// An uncertain operation that was settled within this time.
    Truth(TruthWithin),
    /// The seconds that settled operations were uncertain: `number` holds their sum.
    TruthSeconds,
    /// A decision of a person that a later truth contradicted.
    Contradicted,
    /// A body that retention dropped.
    BodyDropped,
}

impl Counted {
    /// The name in the store: `decision:replay`, `entered:unknown`, `looked_up:absent`.
    pub fn to_text(self) -> String {
        match self {
            Self::Decision(name) => format!("decision:{}", name.as_str()),
            Self::ProxyReplay => "proxy:replay".to_owned(),
            Self::Entered(name) => format!("entered:{}", name.as_str()),
            Self::LookedUp(answer) => format!("looked_up:{}", answer.as_str()),
            Self::Prevented(kind) => format!("prevented:{}", kind.as_str()),
            Self::Settled(by) => format!("settled:{}", by.as_str()),
            Self::Truth(within) => format!("truth:{}", within.to_text()),
            Self::TruthSeconds => "truth:seconds".to_owned(),
            Self::Contradicted => "contradicted:person".to_owned(),
            Self::BodyDropped => "dropped:body".to_owned(),
        }
    }

    /// The decision that is counted, where one is.
    pub const fn decision(self) -> Option<DecisionName> {
        match self {
            Self::Decision(name) => Some(name),
            Self::ProxyReplay => Some(DecisionName::Replay),
            Self::Entered(_)
            | Self::LookedUp(_)
            | Self::Prevented(_)
            | Self::Settled(_)
            | Self::Truth(_)
            | Self::TruthSeconds
            | Self::Contradicted
            | Self::BodyDropped => None,
        }
    }

    /// What people and Prometheus call the decision that is counted: `replay` and `proxy_replay` are counted apart.
    pub const fn decision_label(self) -> Option<&'static str> {
        match self {
            Self::Decision(name) => Some(name.as_str()),
            Self::ProxyReplay => Some("proxy_replay"),
            Self::Entered(_)
            | Self::LookedUp(_)
            | Self::Prevented(_)
            | Self::Settled(_)
            | Self::Truth(_)
            | Self::TruthSeconds
            | Self::Contradicted
            | Self::BodyDropped => None,
        }
    }

    /// How the repetition that is counted was held back; none where it is no repetition, or nothing of the kind is counted.
    pub const fn held_as(self) -> Option<Prevention> {
        match self {
            Self::ProxyReplay => Some(Prevention::ProxyReplay),
            Self::Decision(name) => Prevention::of(name),
            Self::Entered(_)
            | Self::LookedUp(_)
            | Self::Prevented(_)
            | Self::Settled(_)
            | Self::Truth(_)
            | Self::TruthSeconds
            | Self::Contradicted
            | Self::BodyDropped => None,
        }
    }

    /// The kind with this name.
    pub fn parse(text: &str) -> Option<Self> {
        let (of, name) = text.split_once(':')?;
        match of {
            "decision" => DecisionName::parse(name).map(Self::Decision),
            "proxy" => (name == "replay").then_some(Self::ProxyReplay),
            "entered" => StateName::parse(name).map(Self::Entered),
            "looked_up" => Answer::parse(name).map(Self::LookedUp),
            "prevented" => Prevention::parse(name).map(Self::Prevented),
            "settled" => SettledBy::parse(name).map(Self::Settled),
            "truth" if name == "seconds" => Some(Self::TruthSeconds),
            "truth" => TruthWithin::parse(name).map(Self::Truth),
            "contradicted" => (name == "person").then_some(Self::Contradicted),
            "dropped" => (name == "body").then_some(Self::BodyDropped),
            _ => None,
        }
    }
}

/// One count: so many of a kind in one workflow, company, hour and currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Count {
    /// The workflow.
    pub workflow: String,
    /// The company.
    pub company: String,
    /// What is counted.
    pub counted: Counted,
    /// The start of the hour.
    pub hour: Timestamp,
    /// How many.
    pub number: u64,
    /// The currency of `ten_thousandths`; empty where no money is known.
    pub currency: String,
    /// What was at stake in them all, in ten-thousandths of the currency.
    pub ten_thousandths: i64,
}

impl Count {
    /// One of a kind.
    pub fn one(workflow: &str, company: &str, counted: Counted, at: Timestamp, money: Option<&Money>) -> Self {
        Self {
            workflow: workflow.to_owned(),
            company: company.to_owned(),
            counted,
            hour: start_of_hour(at),
            number: 1,
            currency: money.map_or_else(String::new, |money| money.currency.clone()),
            ten_thousandths: money.map_or(0, Money::stake),
        }
    }

    /// The same without its money: what is no sum of money is counted once for all currencies.
    #[must_use]
    pub fn without_money(self) -> Self {
        Self { currency: String::new(), ten_thousandths: 0, ..self }
    }
}

/// The start of the hour in which the moment lies.
pub fn start_of_hour(moment: Timestamp) -> Timestamp {
    use chrono::DurationRound as _;
    moment.duration_trunc(chrono::TimeDelta::hours(1)).unwrap_or(moment)
}

/// Counts are told apart by the hour for so many whole days, which is longer than anybody looks at hours. A store may add up what is older
/// by days, so that what it keeps of counts grows by the day.
pub const HOURS_KEPT_DAYS: i64 = 32;

/// The moment before which hours need not be told apart any more: the start of a day.
pub fn hours_kept_since(now: Timestamp) -> Timestamp {
    use chrono::DurationRound as _;
    let since = now - chrono::TimeDelta::days(HOURS_KEPT_DAYS);
    since.duration_trunc(chrono::TimeDelta::days(1)).unwrap_or(since)
}

/// What is told beside the entries of the navigation, each counted up to [`BADGE_COUNTED_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Badges {
    /// How many operations are uncertain.
    pub uncertain: u32,
    /// How many conflicts are open.
    pub open_conflicts: u32,
    /// How many amendments wait for approval.
    pub proposals: u32,
}

/// What waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Waiting {
    /// How many operations are unknown or disputed, the oldest of them up to [`UNCERTAIN_COUNTED_MAX`].
    pub uncertain: u32,
    /// Since when the oldest is.
    pub oldest_since: Option<Timestamp>,
    /// The money at risk in them, a sum per currency.
    pub at_risk: Vec<Money>,
    /// How many conflicts are open, up to [`UNCERTAIN_COUNTED_MAX`].
    pub open_conflicts: u32,
}

/// What is being looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recovering {
    /// How many unknown operations are looked for again and again.
    pub waiting: u32,
    /// How many are no longer looked for and wait for a person.
    pub exhausted: u32,
    /// Whether not all were counted: there may be more of both.
    pub is_cut: bool,
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    #[test]
    fn hours_start_on_the_hour() {
        let moment = chrono::Utc.with_ymd_and_hms(2026, 3, 1, 14, 59, 59).unwrap();
        assert_eq!(start_of_hour(moment), chrono::Utc.with_ymd_and_hms(2026, 3, 1, 14, 0, 0).unwrap());
    }

    #[test]
    fn a_time_to_truth_lies_within_its_bound() {
        let bound = |seconds| TruthWithin::of(seconds).bound_seconds();
        assert_eq!([0, 10, 11, 3_600].map(bound), [Some(10), Some(10), Some(60), Some(3_600)]);
        assert_eq!([2_592_000, 2_592_001, u64::MAX].map(bound), [Some(2_592_000), None, None]);
        assert_eq!(TruthWithin::of(u64::MAX).place() + 1, TruthWithin::COUNT);
    }

    #[test]
    fn every_kind_survives_its_text() {
        let decisions = DecisionName::ALL.into_iter().map(Counted::Decision);
        let states = StateName::ALL.into_iter().map(Counted::Entered);
        let proof = Prevention::ALL.into_iter().map(Counted::Prevented);
        let proof = proof.chain(SettledBy::ALL.into_iter().map(Counted::Settled));
        let proof = proof.chain(TruthWithin::all().map(Counted::Truth));
        let single = [Counted::ProxyReplay, Counted::TruthSeconds, Counted::Contradicted, Counted::BodyDropped];
        let lookups = Answer::all().map(Counted::LookedUp);
        for counted in decisions.chain(single).chain(states).chain(lookups).chain(proof) {
            assert_eq!(Counted::parse(&counted.to_text()), Some(counted));
        }
    }
}
