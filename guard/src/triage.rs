//! The queue of what is uncertain: what it is filtered by, and in which order it comes.
//!
//! By default what is most urgent comes first: money at risk times age. An exact product cannot be kept in an index, since it grows at
//! a different pace for each row. But within one step of money ([`Step`]) the product is ordered by age alone, whatever time it is. So
//! the queue is read as one stretch of an index for each step, and the stretches are merged by their product at one moment, which the
//! place in the queue carries along: pages neither overlap nor leave gaps, however long somebody reads, and a page costs the same
//! however many wait.
//!
//! Amounts of different currencies cannot be compared without rates, which nobody here knows: they are ordered as if their numbers were
//! of one currency, and the queue can be limited to one. What has no amount comes behind all that has one, the oldest first.

use std::cmp::Reverse;

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::state::StateName;

/// There are at most this many steps: 16 for each power of ten up to [`crate::money::STAKE_MAX`], and what is below ten.
pub const STEPS_MAX: u32 = 320;

/// What is at stake, in ten-thousandths, rounded down to a step: 10, 12, 14, 16, 18, 20, 25, … 45, 50, 60, … 90 and the noughts that
/// follow. What differs by less than a step (10 to 25 per cent) is ordered by age. Both databases round alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step(i64);

impl Step {
    /// The step of so many ten-thousandths; 0 where no amount is known.
    pub fn of(ten_thousandths: Option<i64>) -> Self {
        let stake = ten_thousandths.unwrap_or_default().max(0);
        let mut noughts = 1;
        while stake / noughts >= 100 {
            noughts *= 10;
        }
        let first_two = stake / noughts;
        let width = match first_two {
            ..10 => 1,
            10..20 => 2,
            20..50 => 5,
            50.. => 10,
        };
        Self((first_two - first_two % width) * noughts)
    }

    /// The step that a store has read.
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The number in the store.
    pub const fn number(self) -> i64 {
        self.0
    }
}

/// In which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Money at risk times age, the most urgent first.
    #[default]
    AtRisk,
    /// The longest uncertain first.
    Longest,
    /// What became uncertain last first.
    Latest,
}

impl Sort {
    /// Every order.
    pub const ALL: [Self; 3] = [Self::AtRisk, Self::Longest, Self::Latest];

    /// The name in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtRisk => "at_risk",
            Self::Longest => "longest",
            Self::Latest => "latest",
        }
    }
}

/// What of the queue is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// What is not kept waiting.
    #[default]
    Now,
    /// What only a person can settle: disputed, no longer looked for, or never to be looked for; and not kept waiting.
    NeedsMe,
    /// What is kept waiting.
    Waiting,
    /// Everything.
    All,
}

impl Show {
    /// Everything that can be shown.
    pub const ALL: [Self; 4] = [Self::Now, Self::NeedsMe, Self::Waiting, Self::All];

    /// The name in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::NeedsMe => "needs_me",
            Self::Waiting => "waiting",
            Self::All => "all",
        }
    }
}

/// Whose claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedBy {
    /// That of whoever looks.
    Me,
    /// Nobody's.
    Nobody,
}

/// Why an operation is uncertain, as a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its worker was never heard of again.
    LeaseEnded,
    /// Its worker could not tell.
    Reported,
    /// Two truths contradict each other.
    Disputed,
}

/// What of the queue is asked for; what is left out does not limit. Texts are compared byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TriageFilter {
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only of this company.
    pub company: Option<String>,
    /// Only in this currency.
    pub currency: Option<String>,
    /// Only unknown, or only disputed.
    pub state: Option<StateName>,
    /// Only with this claim.
    pub claim: Option<ClaimedBy>,
    /// Only for this cause.
    pub cause: Option<Cause>,
    /// What is shown.
    pub show: Show,
}

/// A question to the store.
#[derive(Clone, Debug)]
pub struct Triage {
    /// What is asked for.
    pub filter: TriageFilter,
    /// The address of whoever looks.
    pub person: String,
    /// When claims and waits are over.
    pub now: Timestamp,
}

/// A row's place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The step of its money.
    pub step: Step,
    /// Since when it is uncertain, in milliseconds.
    pub since: i64,
    /// The operation.
    pub id: OperationId,
}

/// Where the next page starts: behind a place, as the queue was at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The moment by which ages are measured.
    pub as_of: Timestamp,
    /// The last place before it.
    pub behind: Place,
}

impl Spot {
    /// The text in an address.
    pub fn to_text(self) -> String {
        let Self { as_of, behind: Place { step, since, id } } = self;
        format!("{:x}-{:x}-{since:x}-{:032x}", as_of.timestamp_millis(), step.number(), id.as_u128())
    }

    /// The spot that a text names; none where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '-');
        let mut number = || i64::from_str_radix(parts.next()?, 16).ok();
        let (as_of, step, since) = (number()?, number()?, number()?);
        let id = parts.next().filter(|id| id.len() == 32)?;
        let id = OperationId::from_u128(u128::from_str_radix(id, 16).ok()?);
        let as_of = chrono::DateTime::from_timestamp_millis(as_of)?;
        (step >= 0).then_some(Self { as_of, behind: Place { step: Step::from_number(step), since, id } })
    }
}

/// A stretch of the queue: one step of money, behind a moment and an id, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The step.
    pub step: Step,
    /// Only what is behind this moment, or at it with a greater id than the next field.
    pub since: i64,
    /// See above.
    pub id: u128,
}

/// The stretches of which the page behind a spot is merged.
pub fn stretches(steps: &[Step], spot: Option<&Spot>) -> Vec<Stretch> {
    let whole = |step: &Step| Some(Stretch { step: *step, since: i64::MIN, id: 0 });
    let Some(Spot { as_of, behind }) = spot else { return steps.iter().filter_map(whole).collect() };
    let as_of = i128::from(as_of.timestamp_millis());
    let product = i128::from(behind.step.number()) * (as_of - i128::from(behind.since));
    let stretch = |step: &Step| {
        if *step == behind.step {
            return Some(Stretch { step: *step, since: behind.since, id: behind.id.as_u128() });
        }
        let money = i128::from(step.number());
        if money == 0 {
            // Nothing is at risk, so nothing of it came before.
            return whole(step);
        }
        if behind.step.number() == 0 {
            // The last page begins where nothing is at risk: all that has money came before.
            return None;
        }
        // The greatest age whose product is behind; of equal products the larger step comes first.
        let mut age = product.div_euclid(money);
        if product.rem_euclid(money) == 0 && *step > behind.step {
            age -= 1;
        }
        if age < 0 {
            return None;
        }
        // Everything at that moment and after it: no id is the greatest.
        let since = i64::try_from(as_of - age - 1).unwrap_or(i64::MIN);
        Some(Stretch { step: *step, since, id: u128::MAX })
    };
    steps.iter().filter_map(stretch).collect()
}

/// Puts places into the queue's order at a moment.
pub fn order(places: &mut [Place], as_of: Timestamp) {
    let as_of = i128::from(as_of.timestamp_millis());
    places.sort_unstable_by_key(|place| {
        let product = i128::from(place.step.number()) * (as_of - i128::from(place.since));
        (Reverse(product), Reverse(place.step), place.since, place.id)
    });
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    #[test]
    fn steps_round_down_by_less_than_a_quarter() {
        let step = |stake| Step::of(Some(stake)).number();
        assert_eq!([0, 9, 10, 11, 19, 20, 24, 49, 50, 99].map(step), [0, 9, 10, 10, 18, 20, 20, 45, 50, 90]);
        assert_eq!(step(11_800_000), 10_000_000);
        assert_eq!(step(crate::money::STAKE_MAX), crate::money::STAKE_MAX);
        assert_eq!(Step::of(None).number(), 0);
        for stake in (10..200_000).step_by(7) {
            let rounded = step(stake);
            assert!(rounded <= stake && stake * 4 < rounded * 5 + 5, "{stake} {rounded}");
            assert_eq!(step(rounded), rounded, "a step is its own step");
        }
    }

    #[test]
    fn a_spot_survives_its_text() {
        let as_of = chrono::Utc.timestamp_millis_opt(1_700_000_000_123).unwrap();
        let behind =
            Place { step: Step::of(Some(11_800_000)), since: 1_600_000_000_000, id: OperationId::from_u128(7) };
        let spot = Spot { as_of, behind };
        assert_eq!(Spot::parse(&spot.to_text()), Some(spot));
        for text in ["", "x", "1-2-3", "1-2-3-4", "-1-2-3-00000000000000000000000000000007"] {
            assert_eq!(Spot::parse(text), None, "{text}");
        }
    }

    /// Reads the whole queue page by page, and compares it with the whole sorted at once.
    #[test]
    fn pages_neither_overlap_nor_leave_gaps() {
        let as_of = chrono::Utc.timestamp_millis_opt(1_700_000_000_000).unwrap();
        let mut all = Vec::new();
        for number in 0..600_u32 {
            // Many equal ages, equal amounts and equal products.
            let stake = i64::from(number % 7) * i64::from(number % 11) * 10;
            let since = as_of.timestamp_millis() - i64::from(number * number % 90) * 1_000;
            all.push(Place { step: Step::of(Some(stake)), since, id: OperationId::from_u128(number.into()) });
        }
        let mut steps: Vec<Step> = all.iter().map(|place| place.step).collect();
        steps.sort_unstable();
        steps.dedup();
        let mut expected = all.clone();
        order(&mut expected, as_of);
        for limit in [1, 7, 50] {
            let mut read: Vec<Place> = Vec::new();
            loop {
                let spot = read.last().map(|last| Spot { as_of, behind: *last });
                let mut page = Vec::new();
                for stretch in stretches(&steps, spot.as_ref()) {
                    let mut of_step: Vec<Place> = all
                        .iter()
                        .filter(|place| place.step == stretch.step)
                        .filter(|place| (place.since, place.id.as_u128()) > (stretch.since, stretch.id))
                        .copied()
                        .collect();
                    of_step.sort_unstable_by_key(|place| (place.since, place.id));
                    page.extend(of_step.into_iter().take(limit));
                }
                order(&mut page, as_of);
                page.truncate(limit);
                if page.is_empty() {
                    break;
                }
                read.extend(page);
            }
            assert_eq!(read, expected, "{limit}");
        }
    }
}
