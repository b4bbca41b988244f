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
//!
//! What no index tells is looked at in the rows, and how many are looked at for one page is bounded ([`ROWS_SEEN_MAX`]): where little
//! fits, a page may be short, and says how far was looked.

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::state::StateName;
use crate::token::Reach;

/// There are at most this many steps: 16 for each power of ten up to [`crate::money::STAKE_MAX`], and what is below ten.
pub const STEPS_MAX: u32 = 320;

/// A page is found in at most so many looks at the store.
pub const LOOKS_MAX: u32 = 2;

/// In all looks of a page together, so many rows that may not fit are looked at.
pub const ROWS_SEEN_MAX: u32 = 1_500;

/// Names of more companies or workflows than this are not looked for one by one.
pub const PARTS_MAX: usize = 8;

/// So many that people have claimed or keep waiting are read at once, instead of looked for in the queue.
pub const REVIEWED_MAX: u32 = 500;

/// In its first look, a page takes so many times its rows of all stretches together, since it does not know whose come first.
const SPARE_TIMES: u32 = 8;

/// Of each stretch, not fewer rows than this are taken.
const FEW_ROWS: u32 = 2;

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
    /// In which order.
    pub sort: Sort,
    /// What whoever looks may see.
    pub reach: Reach,
    /// The address of whoever looks.
    pub person: String,
    /// When claims and waits are over.
    pub now: Timestamp,
}

/// What an index of the queue holds together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything that is uncertain.
    All,
    /// What is disputed.
    Disputed,
    /// What is of this company.
    Company(String),
    /// What is of this workflow.
    Workflow(String),
}

impl Part {
    /// Whether an index holds the part in the order of age alone.
    pub const fn is_held_by_age(&self) -> bool {
        match self {
            Self::All | Self::Company(_) => true,
            Self::Disputed | Self::Workflow(_) => false,
        }
    }
}

impl Triage {
    /// The parts that hold everything that is asked for, the narrowest that there are; none where nothing can be like that.
    pub fn parts(&self) -> Vec<Part> {
        let Self { filter, reach, .. } = self;
        let reach = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
        if reach.is_nothing() {
            return Vec::new();
        }
        if filter.state == Some(StateName::Disputed) || filter.cause == Some(Cause::Disputed) {
            return vec![Part::Disputed];
        }
        match (reach.companies, reach.workflows) {
            (Some(names), _) if names.len() <= PARTS_MAX => names.into_iter().map(Part::Company).collect(),
            (_, Some(names)) if names.len() <= PARTS_MAX => names.into_iter().map(Part::Workflow).collect(),
            (Some(_) | None, Some(_) | None) => vec![Part::All],
        }
    }

    /// Whether only such are asked for as somebody has claimed or keeps waiting.
    pub fn is_of_reviewed(&self) -> bool {
        self.filter.claim == Some(ClaimedBy::Me) || self.filter.show == Show::Waiting
    }

    /// Puts places into the queue's order at a moment.
    pub fn order(&self, places: &mut [Place], as_of: Timestamp) {
        places.sort_unstable_by_key(|place| self.sort.rank(place, as_of));
    }
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

/// A stretch of the queue in which rows come by age: one step of money in a part, or the whole part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Of which part.
    pub part: Part,
    /// The step; none: all of the part, where [`Part::is_held_by_age`].
    pub step: Option<Step>,
    /// Only what is behind this moment (in milliseconds) and id; none: from its start.
    pub behind: Option<(i64, OperationId)>,
}

impl Stretch {
    /// The moment (in milliseconds) and id behind which it is read in this order: where it starts, before or behind all that there are.
    pub fn start(&self, sort: Sort) -> (i64, OperationId) {
        self.behind.unwrap_or_else(|| match sort {
            Sort::AtRisk | Sort::Longest => (i64::MIN, OperationId::from_u128(0)),
            Sort::Latest => (i64::MAX, OperationId::from_u128(u128::MAX)),
        })
    }
}

/// How far is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// So many rows that fit are taken of each stretch.
    pub rows: u32,
    /// So many rows of each stretch are looked at.
    pub seen: u32,
}

/// What a look showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The places that fit, in no order.
    pub places: Vec<Place>,
    /// The last place looked at, fitting or not, of each stretch (by its number) that was left before its end.
    pub stops: Vec<(usize, Place)>,
}

/// The places of a page that are looked for, as far as they were found.
#[derive(Clone, Debug)]
pub struct Walk {
    triage: Triage,
    as_of: Timestamp,
    limit: u32,
    looks: u32,
    places: Vec<Place>,
    open: Vec<Stretch>,
    horizon: Option<Place>,
}

/// The places of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// In the queue's order.
    pub rows: Vec<Place>,
    /// The place behind which the next page starts, where there is one.
    pub next: Option<Place>,
}

impl Walk {
    /// Looks for a page of at most `limit` rows over these stretches.
    pub fn over(stretches: Vec<Stretch>, triage: Triage, as_of: Timestamp, limit: u32) -> Self {
        Self { triage, as_of, limit, looks: 0, places: Vec::new(), open: stretches, horizon: None }
    }

    /// Where is to be looked next, and how far; none where the page is found, or enough was looked.
    pub fn next(&self) -> Option<(&[Stretch], Look)> {
        if self.open.is_empty() || self.looks >= LOOKS_MAX {
            return None;
        }
        let number = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        // One more than the page has says that there is a next one.
        let wanted = self.limit.saturating_add(1);
        let share = if self.looks == 0 { wanted.saturating_mul(SPARE_TIMES) / number } else { wanted };
        let rows = share.min(wanted).max(FEW_ROWS);
        let seen = (ROWS_SEEN_MAX / LOOKS_MAX / number).max(FEW_ROWS);
        Some((&self.open, Look { rows: rows.min(seen), seen }))
    }

    /// Takes in what a look showed. A stretch goes on where it was left, as long as rows of it may come before the page's end.
    pub fn take(&mut self, seen: Seen) {
        self.looks += 1;
        self.places.extend(seen.places);
        self.triage.order(&mut self.places, self.as_of);
        let rank = |place: &Place| self.triage.sort.rank(place, self.as_of);
        let end = self.places.get(usize::try_from(self.limit).unwrap_or(usize::MAX));
        let before_end = |stop: &Place| end.is_none_or(|end| rank(stop) < rank(end));
        let stops: Vec<(usize, Place)> = seen.stops.into_iter().filter(|(_, stop)| before_end(stop)).collect();
        self.horizon = stops.iter().map(|(_, stop)| *stop).min_by_key(rank);
        let go_on = |(number, stop): (usize, Place)| {
            let stretch = self.open.get(number)?.clone();
            Some(Stretch { behind: Some((stop.since, stop.id)), ..stretch })
        };
        self.open = stops.into_iter().filter_map(go_on).collect();
    }

    /// The page. Behind the first place at which a stretch was left, nothing is certain.
    pub fn page(mut self) -> Places {
        let rank = |place: &Place| self.triage.sort.rank(place, self.as_of);
        if let Some(horizon) = &self.horizon {
            self.places.retain(|place| rank(place) <= rank(horizon));
        }
        Places::of(self.places, self.limit, self.horizon)
    }
}

impl Triage {
    /// The page behind a spot, where all places that are asked for are known.
    pub fn page_of(&self, mut all: Vec<Place>, as_of: Timestamp, spot: Option<&Spot>, limit: u32) -> Places {
        let rank = |place: &Place| self.sort.rank(place, as_of);
        all.retain(|place| spot.is_none_or(|spot| rank(place) > rank(&spot.behind)));
        self.order(&mut all, as_of);
        Places::of(all, limit, None)
    }
}

impl Places {
    /// The first rows of these; behind them, or behind the horizon where they are not enough, is more.
    fn of(mut rows: Vec<Place>, limit: u32, horizon: Option<Place>) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if rows.len() > limit {
            rows.truncate(limit);
            return Self { next: rows.last().copied(), rows };
        }
        Self { rows, next: horizon }
    }
}

impl Sort {
    /// Whether money says nothing.
    pub const fn is_by_age(self) -> bool {
        match self {
            Self::AtRisk => false,
            Self::Longest | Self::Latest => true,
        }
    }

    /// The smaller, the earlier in the queue of a moment.
    fn rank(self, place: &Place, as_of: Timestamp) -> (i128, i64, i64, u128) {
        let Place { step, since, id } = place;
        match self {
            // Of equal products the larger step comes first.
            Self::AtRisk => {
                let age = i128::from(as_of.timestamp_millis()) - i128::from(*since);
                (-i128::from(step.number()) * age, -step.number(), *since, id.as_u128())
            }
            Self::Longest => (0, 0, *since, id.as_u128()),
            Self::Latest => (0, 0, since.saturating_neg(), !id.as_u128()),
        }
    }
}

/// These parts by age alone, behind a spot.
pub fn stretches_by_age(parts: Vec<Part>, spot: Option<&Spot>) -> Vec<Stretch> {
    let behind = spot.map(|spot| (spot.behind.since, spot.behind.id));
    parts.into_iter().map(|part| Stretch { part, step: None, behind }).collect()
}

/// The stretches of these steps, of which the page behind a spot is merged.
pub fn stretches(steps: &[(Part, Step)], sort: Sort, spot: Option<&Spot>) -> Vec<Stretch> {
    let stretch = |(part, step): &(Part, Step)| {
        let behind = match spot {
            None => None,
            Some(spot) => match sort {
                Sort::AtRisk => behind(*step, spot)?,
                Sort::Longest | Sort::Latest => Some((spot.behind.since, spot.behind.id)),
            },
        };
        Some(Stretch { part: part.clone(), step: Some(*step), behind })
    };
    steps.iter().filter_map(stretch).collect()
}

/// Behind which moment and id a step goes on after a spot, by money times age; none where nothing of it comes there.
fn behind(step: Step, spot: &Spot) -> Option<Option<(i64, OperationId)>> {
    let Spot { as_of, behind } = spot;
    if step == behind.step {
        return Some(Some((behind.since, behind.id)));
    }
    let money = i128::from(step.number());
    if money == 0 {
        // Nothing is at risk, so nothing of it came before.
        return Some(None);
    }
    if behind.step.number() == 0 {
        // The last page begins where nothing is at risk: all that has money came before.
        return None;
    }
    let as_of = i128::from(as_of.timestamp_millis());
    let product = i128::from(behind.step.number()) * (as_of - i128::from(behind.since));
    // The greatest age whose product is behind; of equal products the larger step comes first.
    let mut age = product.div_euclid(money);
    if product.rem_euclid(money) == 0 && step > behind.step {
        age -= 1;
    }
    if age < 0 {
        return None;
    }
    // Everything at that moment and after it: no id is the greatest.
    let since = i64::try_from(as_of - age - 1).unwrap_or(i64::MIN);
    Some(Some((since, OperationId::from_u128(u128::MAX))))
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

    fn triage(sort: Sort) -> Triage {
        let (filter, person) = (TriageFilter::default(), "ada@example.test".to_owned());
        Triage { filter, sort, reach: Reach::EVERYTHING, person, now: chrono::DateTime::UNIX_EPOCH }
    }

    /// What a store shows of these places, of which such fit.
    fn look(all: &[Place], sort: Sort, stretches: &[Stretch], look: Look, fits: impl Fn(&Place) -> bool) -> Seen {
        let mut seen = Seen::default();
        for (number, stretch) in stretches.iter().enumerate() {
            let key = |place: &Place| (place.since, place.id);
            let mut of_stretch: Vec<Place> =
                all.iter().filter(|place| stretch.step.is_none_or(|step| step == place.step)).copied().collect();
            of_stretch.sort_unstable_by_key(key);
            if sort == Sort::Latest {
                of_stretch.reverse();
            }
            let is_behind = |place: &&Place| {
                stretch.behind.is_none_or(|behind| match sort {
                    Sort::AtRisk | Sort::Longest => key(place) > behind,
                    Sort::Latest => key(place) < behind,
                })
            };
            let (mut fitting, mut looked) = (0, 0);
            for place in of_stretch.iter().filter(is_behind) {
                looked += 1;
                if fits(place) {
                    fitting += 1;
                    seen.places.push(*place);
                }
                if fitting == look.rows || looked == look.seen {
                    seen.stops.push((number, *place));
                    break;
                }
            }
        }
        seen
    }

    fn many(number: u32) -> (Timestamp, Vec<Place>, Vec<(Part, Step)>) {
        let as_of = chrono::Utc.timestamp_millis_opt(1_700_000_000_000).unwrap();
        let mut all = Vec::new();
        for number in 0..number {
            // Many equal ages, equal amounts and equal products.
            let stake = i64::from(number % 7) * i64::from(number % 11) * 10;
            let since = as_of.timestamp_millis() - i64::from(number.wrapping_mul(number) % 90) * 1_000;
            all.push(Place { step: Step::of(Some(stake)), since, id: OperationId::from_u128(number.into()) });
        }
        let mut steps: Vec<Step> = all.iter().map(|place| place.step).collect();
        steps.sort_unstable();
        steps.dedup();
        (as_of, all, steps.into_iter().map(|step| (Part::All, step)).collect())
    }

    /// Reads the whole queue page by page, and compares it with the whole sorted at once; answers the pages that were short.
    fn read_all(number: u32, sort: Sort, limit: u32, fits: impl Fn(&Place) -> bool + Copy) -> usize {
        let (as_of, all, steps) = many(number);
        let triage = triage(sort);
        let mut expected: Vec<Place> = all.iter().filter(|place| fits(place)).copied().collect();
        triage.order(&mut expected, as_of);
        let (mut read, mut short): (Vec<Place>, usize) = (Vec::new(), 0);
        let mut spot = None;
        loop {
            let mut walk = Walk::over(stretches(&steps, sort, spot.as_ref()), triage.clone(), as_of, limit);
            while let Some((open, bounds)) = walk.next() {
                let stretches = u32::try_from(open.len()).unwrap();
                assert!(bounds.seen * stretches <= ROWS_SEEN_MAX.max(FEW_ROWS * stretches), "{bounds:?}");
                let seen = look(&all, sort, open, bounds, fits);
                walk.take(seen);
            }
            let page = walk.page();
            assert!(page.rows.len() <= limit as usize);
            short += usize::from(page.next.is_some() && page.rows.len() < limit as usize);
            read.extend(page.rows);
            match page.next {
                Some(behind) => spot = Some(Spot { as_of, behind }),
                None => break,
            }
        }
        assert_eq!(read.len(), expected.len(), "{sort:?} {limit}");
        assert_eq!(read, expected, "{sort:?} {limit}");
        short
    }

    #[test]
    fn pages_neither_overlap_nor_leave_gaps() {
        for sort in Sort::ALL {
            for limit in [1, 7, 50] {
                assert_eq!(read_all(600, sort, limit, |_| true), 0, "{sort:?} {limit}: a page that could be full is");
                read_all(600, sort, limit, |place| place.id.as_u128() % 3 == 0);
                read_all(600, sort, limit, |_| false);
            }
            assert!(
                read_all(6_000, sort, 50, |place| place.id.as_u128() % 997 == 0) > 0,
                "what is rare is looked for in turns"
            );
        }
    }

    #[test]
    fn the_narrowest_parts_are_read() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let parts = |reach: &Reach, filter: TriageFilter| {
            Triage { reach: reach.clone(), filter, ..triage(Sort::AtRisk) }.parts()
        };
        let some = |text: &str| Some(text.to_owned());
        let all = TriageFilter::default;
        let (company, workflow) =
            (|name: &str| Part::Company(name.to_owned()), |name: &str| Part::Workflow(name.to_owned()));
        let two = Reach::over(names(&["acme", "globex"]), names(&["tasks"]));
        assert_eq!(parts(&Reach::EVERYTHING, all()), [Part::All]);
        assert_eq!(parts(&two, all()), [company("acme"), company("globex")]);
        assert_eq!(parts(&two, TriageFilter { company: some("acme"), ..all() }), [company("acme")]);
        assert_eq!(parts(&two, TriageFilter { company: some("initech"), ..all() }), []);
        assert_eq!(parts(&two, TriageFilter { workflow: some("other"), ..all() }), []);
        assert_eq!(parts(&Reach::EVERYTHING, TriageFilter { workflow: some("tasks"), ..all() }), [workflow("tasks")]);
        assert_eq!(parts(&two, TriageFilter { state: Some(StateName::Disputed), ..all() }), [Part::Disputed]);
        assert_eq!(parts(&two, TriageFilter { cause: Some(Cause::Disputed), ..all() }), [Part::Disputed]);
        let many: Vec<String> = (0..=PARTS_MAX).map(|number| format!("company {number}")).collect();
        assert_eq!(parts(&Reach::over(many.clone(), []), all()), [Part::All]);
        assert_eq!(parts(&Reach::over(many, names(&["tasks"])), all()), [workflow("tasks")]);
    }
}
