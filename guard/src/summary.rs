//! Counts that people and Prometheus read.

use crate::clock::Timestamp;
use crate::decision::DecisionName;
use crate::money::Money;
use crate::recovery::Answer;
use crate::state::StateName;

/// Counting uncertain operations stops here: past it, "10,000+" says enough.
pub const UNCERTAIN_COUNTED_MAX: u32 = 10_000;

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
            Self::BodyDropped => "dropped:body".to_owned(),
        }
    }

    /// The decision that is counted, where one is.
    pub const fn decision(self) -> Option<DecisionName> {
        match self {
            Self::Decision(name) => Some(name),
            Self::ProxyReplay => Some(DecisionName::Replay),
            Self::Entered(_) | Self::LookedUp(_) | Self::BodyDropped => None,
        }
    }

    /// What people and Prometheus call the decision that is counted: `replay` and `proxy_replay` are counted apart.
    pub const fn decision_label(self) -> Option<&'static str> {
        match self {
            Self::Decision(name) => Some(name.as_str()),
            Self::ProxyReplay => Some("proxy_replay"),
            Self::Entered(_) | Self::LookedUp(_) | Self::BodyDropped => None,
        }
    }

    /// Whether it kept a repetition from doing the same again.
    pub const fn prevents_duplicate(self) -> bool {
        match self.decision() {
            Some(name) => name.prevents_duplicate(),
            None => false,
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
}

/// The start of the hour in which the moment lies.
pub fn start_of_hour(moment: Timestamp) -> Timestamp {
    use chrono::DurationRound as _;
    moment.duration_trunc(chrono::TimeDelta::hours(1)).unwrap_or(moment)
}

/// What waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Waiting {
    /// How many operations are unknown or disputed, up to [`UNCERTAIN_COUNTED_MAX`].
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
    /// How many unknown operations are looked for again and again, up to [`UNCERTAIN_COUNTED_MAX`].
    pub waiting: u32,
    /// How many are no longer looked for and wait for a person, up to [`UNCERTAIN_COUNTED_MAX`].
    pub exhausted: u32,
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
    fn every_kind_survives_its_text() {
        let decisions = DecisionName::ALL.into_iter().map(Counted::Decision);
        let states = StateName::ALL.into_iter().map(Counted::Entered);
        for counted in decisions
            .chain([Counted::ProxyReplay, Counted::BodyDropped])
            .chain(states)
            .chain(Answer::all().map(Counted::LookedUp))
        {
            assert_eq!(Counted::parse(&counted.to_text()), Some(counted));
        }
    }
}
