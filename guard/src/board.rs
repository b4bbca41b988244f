//! What the guard was good for, in numbers: added up once, here, for the desk, the metrics, exports and the API alike.

use std::collections::BTreeMap;

use chrono::{DurationRound as _, TimeDelta};

use crate::clock::Timestamp;
use crate::conflict::Places;
use crate::decision::DecisionName;
use crate::money::Money;
use crate::state::StateName;
use crate::store::PreventedDuplicate;
use crate::summary::{Count, Counted, Prevention, SettledBy, TRUTH_BOUNDS_SECONDS, TruthWithin, Waiting};
use crate::view::OperationView;

/// A board looks at most this many days back at once; the period before it comes to that.
pub const BOARD_DAYS_MAX: u32 = 366;

/// Days of these years can be asked for.
pub const BOARD_YEARS: std::ops::RangeInclusive<i32> = 1971..=9998;

/// A board is drawn in at most this many stretches of whole days.
pub const STRETCHES_MAX: u32 = 31;

/// A board looks at the places of at most this many conflicts, the latest.
pub const CONFLICTS_SEEN_MAX: u32 = 5_000;

/// A board names at most this many places in which conflicts differ.
pub const PLACES_NAMED_MAX: usize = 12;

/// A board names at most this many duplicates that were prevented, the latest.
pub const NEWEST_MAX: u32 = 20;

/// For how long an operation has been uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgeBand {
    /// For up to an hour.
    WithinHour,
    /// For more than that, up to a day.
    WithinDay,
    /// For more than that, up to seven days.
    WithinWeek,
    /// For more than seven days.
    Longer,
}

impl AgeBand {
    /// Every band, the youngest first.
    pub const ALL: [Self; 4] = [Self::WithinHour, Self::WithinDay, Self::WithinWeek, Self::Longer];

    /// The longest age in it; none: without a bound.
    pub const fn bound(self) -> Option<TimeDelta> {
        match self {
            Self::WithinHour => Some(TimeDelta::hours(1)),
            Self::WithinDay => Some(TimeDelta::days(1)),
            Self::WithinWeek => Some(TimeDelta::days(7)),
            Self::Longer => None,
        }
    }

    /// The band of an age.
    pub fn of(age: TimeDelta) -> Self {
        Self::ALL.into_iter().find(|band| band.bound().is_some_and(|bound| age <= bound)).unwrap_or(Self::Longer)
    }
}

/// How many operations were uncertain for how long, as it stood when it was last looked at on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgesOfDay {
    /// The midnight (UTC) that the day starts with.
    pub day: Timestamp,
    /// How many, in the order of [`AgeBand::ALL`].
    pub numbers: [u64; AgeBand::ALL.len()],
}

/// The midnight (UTC) before a moment, or the moment itself.
pub fn start_of_day(moment: Timestamp) -> Timestamp {
    // Fails at the ends of time alone.
    moment.duration_trunc(TimeDelta::days(1)).unwrap_or(moment)
}

/// So many, and their money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub number: u64,
    /// Their money in ten-thousandths, by currency.
    pub money: BTreeMap<String, i64>,
}

impl Tally {
    fn add(&mut self, number: u64, currency: &str, ten_thousandths: i64) {
        self.number = self.number.saturating_add(number);
        if !currency.is_empty() && ten_thousandths != 0 {
            let sum = self.money.entry(currency.to_owned()).or_default();
            *sum = sum.saturating_add(ten_thousandths);
        }
    }

    /// The money as amounts, a sum for each currency.
    pub fn amounts(&self) -> Vec<Money> {
        let sums = self.money.iter();
        sums.map(|(currency, sum)| Money::from_ten_thousandths((*sum).into(), currency.clone())).collect()
    }
}

/// Counts, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// How many begins arrived.
    pub asked: u64,
    /// How many of them were permitted to send.
    pub sent: u64,
    /// How many came with a changed payload.
    pub conflicts: u64,
    /// How often a repetition was held back, every ask of a worker that waits among them.
    pub held: BTreeMap<Prevention, u64>,
    /// The duplicates that were prevented: each operation once, when it was certain that it was confirmed.
    pub prevented: BTreeMap<Prevention, Tally>,
    /// How often operations came into each state.
    pub entered: BTreeMap<StateName, u64>,
    /// Who settled uncertain operations.
    pub settled: BTreeMap<SettledBy, u64>,
    /// How long they had been uncertain, by [`TruthWithin::place`].
    pub truth: [u64; TruthWithin::COUNT],
    /// How long in all, in seconds.
    pub truth_seconds: u64,
    /// How many decisions of people a later truth contradicted.
    pub contradicted: u64,
}

impl Numbers {
    /// Adds counts up.
    pub fn of<'a>(counts: impl IntoIterator<Item = &'a Count>) -> Self {
        let mut numbers = Self::default();
        for count in counts {
            numbers.add(count);
        }
        numbers
    }

    /// Adds a count.
    pub fn add(&mut self, count: &Count) {
        let number = count.number;
        if let Some(kind) = count.counted.held_as() {
            *self.held.entry(kind).or_default() += number;
        }
        match count.counted {
            Counted::Decision(_) | Counted::ProxyReplay => {
                self.asked += number;
                if count.counted == Counted::Decision(DecisionName::Proceed) {
                    self.sent += number;
                }
                if count.counted == Counted::Decision(DecisionName::Conflict) {
                    self.conflicts += number;
                }
            }
            Counted::Entered(state) => *self.entered.entry(state).or_default() += number,
            Counted::LookedUp(_) | Counted::BodyDropped => {}
            Counted::Prevented(kind) => {
                self.prevented.entry(kind).or_default().add(number, &count.currency, count.ten_thousandths);
            }
            Counted::Settled(by) => *self.settled.entry(by).or_default() += number,
            Counted::Truth(within) => {
                if let Some(place) = self.truth.get_mut(within.place()) {
                    *place += number;
                }
            }
            Counted::TruthSeconds => self.truth_seconds = self.truth_seconds.saturating_add(number),
            Counted::Contradicted => self.contradicted += number,
        }
    }

    /// Every duplicate that was prevented.
    pub fn prevented_in_all(&self) -> Tally {
        let mut all = Tally::default();
        for tally in self.prevented.values() {
            all.number = all.number.saturating_add(tally.number);
            for (currency, sum) in &tally.money {
                all.add(0, currency, *sum);
            }
        }
        all
    }

    /// The duplicates of one kind that were prevented.
    pub fn prevented_as(&self, kind: Prevention) -> Tally {
        self.prevented.get(&kind).cloned().unwrap_or_default()
    }

    /// How often repetitions were held back.
    pub fn repetitions(&self) -> u64 {
        self.held.values().sum()
    }

    /// How often operations became unknown or disputed.
    pub fn became_uncertain(&self) -> u64 {
        [StateName::Unknown, StateName::Disputed].iter().filter_map(|state| self.entered.get(state)).sum()
    }

    /// How many operations somebody settled in this way.
    pub fn settled_by(&self, by: SettledBy) -> u64 {
        self.settled.get(&by).copied().unwrap_or_default()
    }

    /// How many uncertain operations were settled.
    pub fn settled_in_all(&self) -> u64 {
        self.settled.values().sum()
    }

    /// How many of a thousand decisions of people no later truth has contradicted; none where people decided nothing.
    pub fn accuracy_permille(&self) -> Option<u64> {
        let decided = self.settled_by(SettledBy::Person);
        let held = decided.checked_sub(self.contradicted.min(decided))?;
        (held * 1_000).checked_div(decided)
    }

    /// Within how many milliseconds so many of a thousand settled operations were settled, as Prometheus estimates it from the same
    /// bounds: evenly spread between two of them. Beyond the last bound, it is the last bound. None where nothing was settled.
    pub fn truth_milliseconds(&self, permille: u64) -> Option<u64> {
        let total: u64 = self.truth.iter().sum();
        let rank = permille.min(1_000) * total;
        let (mut before, mut lower) = (0_u64, 0_u64);
        for (number, bound) in self.truth.iter().zip(TRUTH_BOUNDS_SECONDS) {
            let upper = u64::from(bound);
            if *number > 0 && (before + number) * 1_000 >= rank {
                let part = rank.saturating_sub(before * 1_000) / number;
                return Some(lower * 1_000 + (upper - lower) * part);
            }
            before += number;
            lower = upper;
        }
        (total > 0).then_some(lower * 1_000)
    }
}

/// What a board is asked for: whole hours, from one to before another, within a reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardQuestion {
    /// The first moment.
    pub from: Timestamp,
    /// Before this moment.
    pub to: Timestamp,
    /// This workflow only.
    pub workflow: Option<String>,
    /// This company only.
    pub company: Option<String>,
}

impl BoardQuestion {
    /// Where the period before starts, which is as long.
    pub fn before(&self) -> Timestamp {
        self.from - (self.to - self.from)
    }

    /// How many whole days each stretch of a drawing holds.
    pub fn stretch_days(&self) -> u32 {
        let days = u32::try_from((self.to - self.from).num_days()).unwrap_or(1).max(1);
        days.div_ceil(STRETCHES_MAX)
    }
}

/// One stretch of whole days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where it starts.
    pub start: Timestamp,
    /// What was counted in it.
    pub numbers: Numbers,
    /// How many operations were uncertain for how long when that was last looked at in it, in the order of [`AgeBand::ALL`].
    pub ages: [u64; AgeBand::ALL.len()],
}

/// Everything that a board shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// When it was true.
    pub as_of: Timestamp,
    /// What was asked for.
    pub question: BoardQuestion,
    /// What was counted.
    pub numbers: Numbers,
    /// What was counted in the period before.
    pub before: Numbers,
    /// The same over time.
    pub stretches: Vec<Stretch>,
    /// By workflow.
    pub workflows: BTreeMap<String, (Numbers, Numbers)>,
    /// By company.
    pub companies: BTreeMap<String, (Numbers, Numbers)>,
    /// What waits now.
    pub waiting: Waiting,
    /// In which places conflicts differ that were opened, the commonest first, at most [`PLACES_NAMED_MAX`].
    pub places: Vec<(String, u64)>,
    /// How many conflicts that is of, at most [`CONFLICTS_SEEN_MAX`].
    pub conflicts_seen: u64,
    /// The duplicates that were prevented last, each with its confirmed original.
    pub newest: Vec<(PreventedDuplicate, OperationView)>,
}

impl Board {
    /// Adds up what was counted in the question's period and the one before it.
    pub(crate) fn of(question: BoardQuestion, as_of: Timestamp, counts: &[Count]) -> Self {
        let width = TimeDelta::days(question.stretch_days().into());
        let mut stretches = Vec::new();
        let mut start = question.from;
        while start < question.to {
            stretches.push(Stretch { start, numbers: Numbers::default(), ages: Default::default() });
            start += width;
        }
        let (mut numbers, mut before) = (Numbers::default(), Numbers::default());
        let mut workflows: BTreeMap<String, (Numbers, Numbers)> = BTreeMap::new();
        let mut companies: BTreeMap<String, (Numbers, Numbers)> = BTreeMap::new();
        for count in counts {
            let of_workflow = workflows.entry(count.workflow.clone()).or_default();
            let of_company = companies.entry(count.company.clone()).or_default();
            if count.hour < question.from {
                before.add(count);
                of_workflow.1.add(count);
                of_company.1.add(count);
                continue;
            }
            numbers.add(count);
            of_workflow.0.add(count);
            of_company.0.add(count);
            if let Some(stretch) = stretch_of(&mut stretches, count.hour) {
                stretch.numbers.add(count);
            }
        }
        Self {
            as_of,
            question,
            numbers,
            before,
            stretches,
            workflows,
            companies,
            waiting: Waiting::default(),
            places: Vec::new(),
            conflicts_seen: 0,
            newest: Vec::new(),
        }
    }

    /// Takes in for how long operations were uncertain, the earliest day first: of each stretch the last day stays.
    pub(crate) fn take_ages(&mut self, ages: &[AgesOfDay]) {
        for AgesOfDay { day, numbers } in ages {
            if let Some(stretch) = stretch_of(&mut self.stretches, *day) {
                stretch.ages = *numbers;
            }
        }
    }

    /// Takes in what conflicts were about.
    pub(crate) fn take_places(&mut self, conflicts: &[Places]) {
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for place in conflicts.iter().flat_map(|places| &places.listed) {
            *found.entry(place).or_default() += 1;
        }
        let mut found: Vec<(String, u64)> =
            found.into_iter().map(|(place, number)| (place.to_owned(), number)).collect();
        found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        found.truncate(PLACES_NAMED_MAX);
        self.places = found;
        self.conflicts_seen = conflicts.len() as u64;
    }

    /// Every number with its name: what exports and the API tell.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        write_numbers(&mut lines, &Line::default(), (&self.numbers, &self.before));
        for (workflow, (numbers, before)) in &self.workflows {
            let of = Line { workflow: Some(workflow.clone()), ..Line::default() };
            write_numbers(&mut lines, &of, (numbers, before));
        }
        for (company, (numbers, before)) in &self.companies {
            let of = Line { company: Some(company.clone()), ..Line::default() };
            write_numbers(&mut lines, &of, (numbers, before));
        }
        let mut now = |measure, currency: Option<String>, value: String| {
            lines.push(Line { measure, currency, value, ..Line::default() });
        };
        let waiting = &self.waiting;
        now("uncertain_now", None, waiting.uncertain.to_string());
        let age = waiting.oldest_since.map_or(0, |since| (self.as_of - since).num_seconds().max(0));
        now("uncertain_oldest_age_seconds", None, age.to_string());
        for money in &waiting.at_risk {
            now("uncertain_money", Some(money.currency.clone()), money.amount.to_string());
        }
        now("open_conflicts_now", None, waiting.open_conflicts.to_string());
        let of_places = self.places.iter().map(|(place, number)| Line {
            measure: "conflicts_by_place",
            of: Some(place.clone()),
            value: number.to_string(),
            ..Line::default()
        });
        lines.extend(of_places);
        lines
    }
}

fn stretch_of(stretches: &mut [Stretch], moment: Timestamp) -> Option<&mut Stretch> {
    let place = stretches.partition_point(|stretch| stretch.start <= moment);
    stretches.get_mut(place.checked_sub(1)?)
}

/// One number with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What it is a number of.
    pub measure: &'static str,
    /// Of which kind.
    pub of: Option<String>,
    /// In which workflow; none: in all.
    pub workflow: Option<String>,
    /// In which company; none: in all.
    pub company: Option<String>,
    /// In which currency, where it is money.
    pub currency: Option<String>,
    /// The number, in decimal digits.
    pub value: String,
    /// The same in the period before; none where it is a number of this moment.
    pub before: Option<String>,
}

fn write_numbers(lines: &mut Vec<Line>, about: &Line, (numbers, before): (&Numbers, &Numbers)) {
    let mut write = |measure, of: Option<&str>, currency: Option<&str>, value: String, before: String| {
        let (of, currency) = (of.map(ToOwned::to_owned), currency.map(ToOwned::to_owned));
        lines.push(Line { measure, of, currency, value, before: Some(before), ..about.clone() });
    };
    write("begins", None, None, numbers.asked.to_string(), before.asked.to_string());
    write("sent", None, None, numbers.sent.to_string(), before.sent.to_string());
    write("conflicting_begins", None, None, numbers.conflicts.to_string(), before.conflicts.to_string());
    for kind in Prevention::ALL {
        let of = |numbers: &Numbers| numbers.held.get(&kind).copied().unwrap_or_default().to_string();
        write("repetitions_held", Some(kind.as_str()), None, of(numbers), of(before));
    }
    for kind in Prevention::ALL {
        let (now, then) = (numbers.prevented_as(kind), before.prevented_as(kind));
        write("duplicates_prevented", Some(kind.as_str()), None, now.number.to_string(), then.number.to_string());
        let currencies: std::collections::BTreeSet<&String> = now.money.keys().chain(then.money.keys()).collect();
        for currency in currencies {
            let sum = |tally: &Tally| {
                let sum = tally.money.get(currency).copied().unwrap_or_default();
                Money::from_ten_thousandths(sum.into(), currency.clone()).amount.to_string()
            };
            let of = Some(kind.as_str());
            write("duplicates_prevented_money", of, Some(currency), sum(&now), sum(&then));
        }
    }
    let uncertain = [numbers, before].map(|numbers| numbers.became_uncertain().to_string());
    let [now, then] = uncertain;
    write("became_uncertain", None, None, now, then);
    for by in SettledBy::ALL {
        let [now, then] = [numbers, before].map(|numbers| numbers.settled_by(by).to_string());
        write("settled", Some(by.as_str()), None, now, then);
    }
    for (name, permille) in [("median", 500), ("p95", 950)] {
        let seconds = |numbers: &Numbers| {
            let found = numbers.truth_milliseconds(permille);
            found.map(|found| format!("{}.{:03}", found / 1_000, found % 1_000)).unwrap_or_default()
        };
        write("time_to_truth_seconds", Some(name), None, seconds(numbers), seconds(before));
    }
    write("decisions_contradicted", None, None, numbers.contradicted.to_string(), before.contradicted.to_string());
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn at(day: u32, hour: u32) -> Timestamp {
        chrono::Utc.with_ymd_and_hms(2026, 3, day, hour, 0, 0).unwrap()
    }

    fn count(counted: Counted, hour: Timestamp, number: u64, money: i64) -> Count {
        let currency = if money == 0 { String::new() } else { "EUR".to_owned() };
        let (workflow, company) = ("handoff".to_owned(), "acme".to_owned());
        Count { workflow, company, counted, hour, number, currency, ten_thousandths: money }
    }

    #[test]
    fn asks_and_duplicates_are_two_numbers() {
        let counts = [
            count(Counted::Decision(DecisionName::InProgress), at(1, 1), 40, 40 * 10_000),
            count(Counted::Decision(DecisionName::Replay), at(1, 2), 2, 20_000),
            count(Counted::Prevented(Prevention::InProgress), at(1, 2), 1, 10_000),
        ];
        let numbers = Numbers::of(&counts);
        assert_eq!((numbers.asked, numbers.repetitions()), (42, 42));
        let all = numbers.prevented_in_all();
        assert_eq!((all.number, all.money["EUR"]), (1, 10_000));
    }

    #[test]
    fn a_quantile_lies_between_its_bounds() {
        let truth = |seconds: &[u64]| {
            let counts = seconds.iter().map(|seconds| count(Counted::Truth(TruthWithin::of(*seconds)), at(1, 0), 1, 0));
            Numbers::of(&counts.collect::<Vec<_>>())
        };
        assert_eq!(Numbers::default().truth_milliseconds(500), None);
        assert_eq!(truth(&[5, 5, 5, 5]).truth_milliseconds(500), Some(5_000));
        assert_eq!(truth(&[30, 200]).truth_milliseconds(500), Some(60_000));
        assert_eq!(truth(&[30, 200]).truth_milliseconds(950), Some(276_000));
        assert_eq!(truth(&[9_000_000]).truth_milliseconds(500), Some(2_592_000_000), "the last bound");
    }

    #[test]
    fn decisions_that_were_contradicted_are_a_share() {
        let decided = |decided, contradicted| {
            let of = |counted, number| count(counted, at(1, 0), number, 0);
            let counts = [of(Counted::Settled(SettledBy::Person), decided), of(Counted::Contradicted, contradicted)];
            Numbers::of(&counts).accuracy_permille()
        };
        assert_eq!([decided(0, 0), decided(0, 1), decided(8, 1), decided(2, 3)], [None, None, Some(875), Some(0)]);
    }

    #[test]
    fn every_count_lies_in_its_stretch_and_its_period() {
        let question = BoardQuestion { from: at(3, 0), to: at(5, 0), workflow: None, company: None };
        let replay = Counted::Prevented(Prevention::Replay);
        let counts =
            [count(replay, at(2, 23), 1, 0), count(replay, at(3, 0), 2, 0), count(replay, at(4, 23), 4, 10_000)];
        let board = Board::of(question, at(4, 23), &counts);
        assert_eq!((board.numbers.prevented_in_all().number, board.before.prevented_in_all().number), (6, 1));
        let of_days: Vec<u64> =
            board.stretches.iter().map(|stretch| stretch.numbers.prevented_in_all().number).collect();
        assert_eq!(of_days, [2, 4]);
        assert_eq!(board.question.before(), at(1, 0));
        let line = |measure| {
            let lines = board.lines();
            let found = lines.into_iter().find(|line| line.measure == measure && line.of.as_deref() == Some("replay"));
            found.map(|line| (line.value, line.before.unwrap_or_default()))
        };
        assert_eq!(line("duplicates_prevented"), Some(("6".to_owned(), "1".to_owned())));
        assert_eq!(line("duplicates_prevented_money"), Some(("1.00".to_owned(), "0.00".to_owned())));
    }

    #[test]
    fn long_periods_have_no_more_stretches_than_can_be_read() {
        for days in [1, 7, 30, 31, 32, 90, 366] {
            let from = at(1, 0);
            let question = BoardQuestion { from, to: from + TimeDelta::days(days), workflow: None, company: None };
            let stretches = Board::of(question, from, &[]).stretches.len();
            assert!((1..=STRETCHES_MAX as usize).contains(&stretches), "{days} days: {stretches}");
        }
    }
}
