//! How a list of operations in the order of their ids is read, for both databases.
//!
//! A list comes from stretches of an index ("arms") in which ids ascend; what the index does not tell of a row is looked at in the row.
//! How many rows are looked through for one page is bounded, so that a page takes as long in a large table as in a small one: where
//! little fits, it may be short, and says how far was looked.

use std::collections::BTreeSet;

use guard::clock::Timestamp;
use guard::queue::{Filter, Order, PageRequest, Sought, WALKED_ROWS_MAX};
use guard::state::StateName;
use guard::token::Reach;

/// At most so many arms are merged; a list that would need more is looked for in the order of all.
pub(super) const ARMS_MAX: usize = 400;

/// Where there are more combinations of company, workflow, source system and action than this, those that fit are not looked for.
pub(super) const FACETS_SEEN_MAX: u32 = 2_000;

/// Before combinations are looked for, so many rows of all are looked at: where much fits, they fill the page.
const PEEKED_ROWS: u32 = 300;

/// Before many rows are looked through, so many times the rows of a page are: they suffice where much fits.
const FIRST_LOOK_TIMES: u32 = 4;

/// Of each of many arms, not fewer rows than this are looked through.
const FEW_ROWS: u32 = 8;

/// How far is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// So far as shows whether much fits.
    Peek,
    /// So far as suffices where much fits.
    First,
    /// As far as one page ever looks.
    Whole,
}

/// The four columns whose combinations an index holds, in its order.
pub(super) const FACET_COLUMNS: [&str; 4] = ["company", "workflow", "source_system", "action"];

/// A combination of [`FACET_COLUMNS`].
pub(super) type Facet = [String; 4];

/// What may stand in each of [`FACET_COLUMNS`]; none: anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facets(pub [Option<BTreeSet<String>>; 4]);

impl Facets {
    /// What is asked of them within a reach; none where nothing can be like that.
    fn of(reach: &Reach, filter: &Filter) -> Option<Self> {
        let reach = reach.narrowed(filter.company.as_ref(), filter.workflow.as_ref());
        if reach.is_nothing() {
            return None;
        }
        let one = |name: &Option<String>| name.clone().map(|name| BTreeSet::from([name]));
        Some(Self([reach.companies, reach.workflows, one(&filter.source_system), one(&filter.action)]))
    }

    /// Whether anything is asked of them.
    fn limit(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// The columns of which something is asked, and the names that may stand in them.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&'static str, &BTreeSet<String>)> {
        FACET_COLUMNS.into_iter().zip(&self.0).filter_map(|(column, wanted)| Some((column, wanted.as_ref()?)))
    }

    fn tests(&self) -> impl Iterator<Item = Test> + '_ {
        self.asked().map(|(column, names)| Test::Among { column, names: names.clone() })
    }
}

/// What is looked at in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The column is one of these.
    Among { column: &'static str, names: BTreeSet<String> },
    /// The state is one of these.
    States(BTreeSet<StateName>),
    /// It has an open conflict.
    InConflict,
    /// So much is at stake, in ten-thousandths.
    StakeFrom(i64),
    /// Not more is at stake, in ten-thousandths.
    StakeTo(i64),
}

impl Test {
    /// The column that is looked at.
    pub(super) fn column(&self) -> &'static str {
        match self {
            Self::Among { column, .. } => column,
            Self::States(_) => "state",
            Self::InConflict => "open_conflicts",
            Self::StakeFrom(_) | Self::StakeTo(_) => "ten_thousandths",
        }
    }
}

/// Stretches of one index, and what is looked at in each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The index; none: the primary key.
    pub index: Option<&'static str>,
    /// The columns that the index has before the id.
    pub columns: &'static [&'static str],
    /// What they hold in each arm.
    pub arms: Vec<Vec<String>>,
    /// What the index needs to be told, where it holds only a part of the rows.
    pub part: Option<&'static str>,
    /// What is looked at in each row.
    pub tests: Vec<Test>,
}

/// What the partial indexes `operation_left` and `operation_left_by_id` hold; written as in the migration, so that both databases know it again.
const LEFT: &str = "state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed')";

/// The index of the same rows in the order of ids alone. SQLite has it, and holds in it what is looked at in a row.
pub(super) const LEFT_BY_ID: &str = "operation_left_by_id";

/// The index for states that are not confirmed.
pub(super) const UNFINISHED: &str = "state <> 'confirmed'";

/// Where a list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a list makes one, uses it and is done")]
pub(super) enum Plan {
    /// From these routes together.
    Routes(Vec<Route>),
    /// From the combinations that there are; where they are too many, from these routes.
    ByFacet {
        /// Which combinations.
        facets: Facets,
        /// In each of these states; none: in any.
        states: Option<BTreeSet<StateName>>,
        /// What is looked at in each row beside them.
        tests: Vec<Test>,
        /// Looked at first, as far as [`Plan::peek`] says, and in full where there are too many combinations.
        otherwise: Route,
    },
}

/// The stretch of ids, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The first id.
    pub first: u128,
    /// The id behind the last one.
    pub end: u128,
    /// From the last to the first.
    pub newest_first: bool,
    /// So many rows are asked for.
    pub limit: u32,
}

/// A list in the order of ids, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub plan: Plan,
    pub span: Span,
}

/// What one look at the routes showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The ids of the rows that fit, in no order.
    pub fitting: Vec<u128>,
    /// The last id of each arm that was looked at no further.
    pub stops: Vec<u128>,
}

/// One page of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    /// In the list's order.
    pub rows: Vec<u128>,
    /// Behind which id the next page starts.
    pub next: Option<u128>,
}

impl Walk {
    /// How the list is read; none where nothing can be on it.
    pub(super) fn of(reach: &Reach, filter: &Filter, order: Order, page: &PageRequest) -> Option<Self> {
        let newest_first = match order {
            Order::Newest => true,
            Order::Oldest => false,
        };
        let facets = Facets::of(reach, filter)?;
        let mut first = filter.from.map_or(0, first_id);
        let mut end = filter.to.map_or(u128::MAX, first_id);
        if let Some(Sought::Operation(id)) = &filter.sought {
            first = first.max(id.as_u128());
            end = end.min(id.as_u128().saturating_add(1));
        }
        if let Some(cursor) = &page.cursor {
            let (_, behind) = cursor.read()?;
            if newest_first { end = end.min(behind) } else { first = first.max(behind.saturating_add(1)) }
        }
        let span = Span { first, end, newest_first, limit: page.limit };
        Some(Self { plan: Plan::of(facets, filter), span })
    }
}

impl Plan {
    /// How far is looked before combinations are looked for: what is not confirmed stands densely in an index, so that all of one look costs
    /// less than a stretch for each combination.
    pub(super) fn peek(states: Option<&BTreeSet<StateName>>) -> Look {
        if states.is_some() { Look::Whole } else { Look::Peek }
    }

    /// The narrowest index that fits: a document, a record and a worker have few operations, and what is not confirmed is little.
    fn of(facets: Facets, filter: &Filter) -> Self {
        let states: BTreeSet<StateName> = filter.states.iter().copied().collect();
        let mut tests = Vec::new();
        if filter.with_open_conflicts {
            tests.push(Test::InConflict);
        }
        tests.extend(filter.stake_from.map(Test::StakeFrom));
        tests.extend(filter.stake_to.map(Test::StakeTo));
        let of_states = (!states.is_empty()).then(|| Test::States(states.clone()));
        let named = |column, name: &Option<String>| {
            name.clone().map(|name| Test::Among { column, names: BTreeSet::from([name]) })
        };
        let of_document = named("document", &filter.document);
        let of_worker = named("worker", &filter.worker);
        let everything = || {
            let all = [of_states.clone(), of_document.clone(), of_worker.clone()].into_iter().flatten();
            tests.iter().cloned().chain(all).chain(facets.tests()).collect::<Vec<_>>()
        };
        let single = |index, columns: &'static [&'static str], name: &String, part| {
            // What the stretch says already need not be looked at.
            let is_said = |test: &Test| matches!(test, Test::Among { column, names } if columns == [*column] && names.contains(name));
            let tests = everything().into_iter().filter(|test| !is_said(test)).collect();
            Route { index: Some(index), columns, arms: vec![vec![name.clone()]], part, tests }
        };
        const REFERRED: Option<&str> = Some("destination_reference IS NOT NULL");
        match &filter.sought {
            // The span is its id alone.
            Some(Sought::Operation(_)) => {
                return Self::Routes(vec![Route {
                    index: None,
                    columns: &[],
                    arms: vec![Vec::new()],
                    part: None,
                    tests: everything(),
                }]);
            }
            Some(Sought::Named(name)) => {
                return Self::Routes(vec![
                    single("operation_by_document", &["document"], name, None),
                    single("operation_by_reference", &["destination_reference"], name, REFERRED),
                ]);
            }
            None => {}
        }
        if let Some(document) = &filter.document {
            return Self::Routes(vec![single("operation_by_document", &["document"], document, None)]);
        }
        let route = |index, columns, arms, part, tests| Route { index, columns, arms, part, tests };
        if filter.with_open_conflicts {
            let part = Some("open_conflicts > 0");
            // What the index holds need not be looked at in its rows.
            let tests = everything().into_iter().filter(|test| *test != Test::InConflict).collect();
            return Self::Routes(vec![route(Some("operation_in_conflict"), &[], vec![Vec::new()], part, tests)]);
        }
        let names = |states: &BTreeSet<StateName>| states.iter().map(|state| vec![state.as_str().to_owned()]).collect();
        let is_unfinished = !states.is_empty() && !states.contains(&StateName::Confirmed);
        if is_unfinished {
            let tests_of_all = everything().into_iter().filter(|test| !matches!(test, Test::States(_))).collect();
            let is_under_way = |state: &StateName| matches!(state, StateName::Acquired | StateName::Sending);
            let (index, part) =
                if states.iter().any(is_under_way) { ("operation_unfinished", UNFINISHED) } else { (LEFT_BY_ID, LEFT) };
            let by_id = route(Some(index), &["state"], names(&states), Some(part), tests_of_all);
            if !facets.limit() || states.iter().any(is_under_way) {
                return Self::Routes(vec![by_id]);
            }
            let tests = tests.into_iter().chain(of_worker).collect();
            return Self::ByFacet { facets, states: Some(states), tests, otherwise: by_id };
        }
        if let Some(worker) = filter.worker.as_ref().filter(|_| !facets.limit()) {
            let part = Some("worker IS NOT NULL");
            return Self::Routes(vec![single("operation_by_worker", &["worker"], worker, part)]);
        }
        let all = route(None, &[], vec![Vec::new()], None, everything());
        if facets.limit() {
            let tests = tests.into_iter().chain(of_states).chain(of_worker).collect();
            return Self::ByFacet { facets, states: None, tests, otherwise: all };
        }
        Self::Routes(vec![all])
    }
}

impl Route {
    /// The route over these combinations.
    pub(super) fn over(found: Vec<Facet>, states: Option<&BTreeSet<StateName>>, tests: Vec<Test>) -> Self {
        match states {
            None => Self {
                index: Some("operation_by_facet"),
                columns: &FACET_COLUMNS,
                arms: found.into_iter().map(Vec::from).collect(),
                part: None,
                tests,
            },
            Some(states) => {
                let arms = found.iter().flat_map(|facet| {
                    states.iter().map(|state| {
                        let state = std::iter::once(state.as_str().to_owned());
                        state.chain(facet.iter().cloned()).collect()
                    })
                });
                Self {
                    index: Some("operation_left"),
                    columns: &["state", "company", "workflow", "source_system", "action"],
                    arms: arms.collect(),
                    part: Some(LEFT),
                    tests,
                }
            }
        }
    }

    /// What is looked at in the index, which holds these columns, and what only the rows behind it tell: they are read for what passed
    /// the first. Where either is nothing, all is looked at at once.
    pub(super) fn tests_apart(&self, held: &[&str]) -> (Vec<&Test>, Vec<&Test>) {
        let (of_index, of_row): (Vec<_>, Vec<_>) = self.tests.iter().partition(|test| held.contains(&test.column()));
        if of_index.is_empty() { (of_row, Vec::new()) } else { (of_index, of_row) }
    }

    /// So many rows of each arm are looked through: its share. Where every row fits, never more than the page needs and one more, and in
    /// the last look as many.
    pub(super) fn rows_of_each(&self, span: &Span, look: Look) -> u32 {
        let needed = span.limit.saturating_add(1);
        let arms = u32::try_from(self.arms.len()).unwrap_or(u32::MAX).max(1);
        let share = |rows: u32| (rows / arms).max(FEW_ROWS);
        let share = match look {
            Look::Peek => share(PEEKED_ROWS),
            Look::First => share(needed.saturating_mul(FIRST_LOOK_TIMES)),
            Look::Whole if self.tests.is_empty() => needed,
            Look::Whole => share(WALKED_ROWS_MAX),
        };
        if self.tests.is_empty() { share.min(needed) } else { share }
    }

    /// Whether looking a little way first spares much.
    pub(super) fn deserves_a_first_look(&self, span: &Span) -> bool {
        self.rows_of_each(span, Look::First).saturating_mul(2) < self.rows_of_each(span, Look::Whole)
    }

    /// So many rows of each arm that fit are taken: as many as the page needs and one more.
    pub(super) fn rows_that_fit(&self, span: &Span, look: Look) -> usize {
        let rows = self.rows_of_each(span, look).min(span.limit.saturating_add(1));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }
}

impl Found {
    /// The page that was found. Behind the last place up to which every arm was looked at, nothing is certain.
    pub(super) fn page(self, span: &Span) -> Ids {
        let Self { mut fitting, stops } = self;
        let limit = usize::try_from(span.limit).unwrap_or(usize::MAX);
        let horizon = if span.newest_first { stops.into_iter().max() } else { stops.into_iter().min() };
        fitting.sort_unstable();
        fitting.dedup();
        if span.newest_first {
            fitting.reverse();
        }
        if let Some(horizon) = horizon {
            fitting.retain(|id| if span.newest_first { *id >= horizon } else { *id <= horizon });
        }
        if fitting.len() > limit {
            fitting.truncate(limit);
            let next = fitting.last().copied();
            return Ids { rows: fitting, next };
        }
        Ids { rows: fitting, next: horizon }
    }

    /// Whether the page is full, or holds all that there is.
    pub(super) fn suffices(&self, span: &Span) -> bool {
        let page = self.clone().page(span);
        page.next.is_none() || page.rows.len() >= usize::try_from(span.limit).unwrap_or(usize::MAX)
    }
}

/// The first id that a moment can have.
pub(super) fn first_id(moment: Timestamp) -> u128 {
    u128::try_from(moment.timestamp_millis()).unwrap_or_default().saturating_mul(1 << 80)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every combination of what a filter can say.
    pub(in crate::store) fn every_filter() -> Vec<Filter> {
        let moment = chrono::DateTime::from_timestamp_millis(1_700_000_000_000);
        let states: [&[StateName]; 5] = [
            &[],
            &[StateName::Failed],
            &[StateName::Unknown, StateName::Disputed, StateName::Unknown],
            &[StateName::Sending],
            &[StateName::Confirmed, StateName::Failed],
        ];
        let mut filters = Vec::new();
        for bits in 0..1u32 << 10 {
            let is_set = |bit: u32| bits & (1 << bit) != 0;
            let text = |bit: u32| is_set(bit).then(|| "x".to_owned());
            filters.extend(states.iter().map(|states| Filter {
                workflow: text(0),
                company: text(1),
                source_system: text(2),
                document: text(3),
                action: text(4),
                states: states.to_vec(),
                with_open_conflicts: is_set(5),
                from: moment.filter(|_| is_set(6)),
                to: moment.filter(|_| is_set(6)),
                worker: text(7),
                stake_from: is_set(8).then_some(10_000),
                stake_to: is_set(8).then_some(20_000),
                sought: text(9).map(Sought::Named),
            }));
        }
        filters
    }

    fn span(limit: u32, newest_first: bool) -> Span {
        Span { first: 0, end: u128::MAX, newest_first, limit }
    }

    #[test]
    fn a_page_ends_where_the_first_arm_was_left() {
        let found = |fitting: &[u128], stops: &[u128]| Found { fitting: fitting.to_vec(), stops: stops.to_vec() };
        let page = |found: Found, newest_first| {
            let page = found.page(&span(3, newest_first));
            (page.rows, page.next)
        };
        assert_eq!(page(found(&[1, 5, 3], &[]), true), (vec![5, 3, 1], None));
        assert_eq!(page(found(&[1, 5, 3, 5], &[]), true), (vec![5, 3, 1], None), "each row once");
        assert_eq!(page(found(&[1, 5, 3, 9], &[]), true), (vec![9, 5, 3], Some(3)));
        assert_eq!(page(found(&[1, 5, 9], &[4, 2]), true), (vec![9, 5], Some(4)), "3 may lie in the arm left at 4");
        assert_eq!(page(found(&[], &[4]), true), (vec![], Some(4)));
        assert_eq!(page(found(&[1, 5, 9], &[4, 6]), false), (vec![1], Some(4)));
        assert!(found(&[5, 4, 3, 2], &[1]).suffices(&span(3, true)) && !found(&[5], &[1]).suffices(&span(3, true)));
    }

    #[test]
    fn the_narrowest_index_is_chosen() {
        let indexes = |filter: Filter| match Plan::of(Facets::of(&Reach::EVERYTHING, &filter).unwrap(), &filter) {
            Plan::Routes(routes) => routes.iter().map(|route| route.index.unwrap_or("id")).collect::<Vec<_>>(),
            Plan::ByFacet { states, otherwise, .. } => {
                vec![if states.is_some() { "left" } else { "facet" }, otherwise.index.unwrap_or("id")]
            }
        };
        let some = |text: &str| Some(text.to_owned());
        let company = || Filter { company: some("ACME"), ..Filter::default() };
        let failed = vec![StateName::Failed];
        assert_eq!(indexes(Filter::default()), ["id"]);
        assert_eq!(indexes(company()), ["facet", "id"]);
        assert_eq!(indexes(Filter { document: some("812"), ..company() }), ["operation_by_document"]);
        assert_eq!(indexes(Filter { states: failed.clone(), ..Filter::default() }), ["operation_left_by_id"]);
        assert_eq!(indexes(Filter { states: failed, ..company() }), ["left", "operation_left_by_id"]);
        assert_eq!(indexes(Filter { states: vec![StateName::Sending], ..company() }), ["operation_unfinished"]);
        assert_eq!(indexes(Filter { states: vec![StateName::Confirmed], ..company() }), ["facet", "id"]);
        assert_eq!(indexes(Filter { with_open_conflicts: true, ..company() }), ["operation_in_conflict"]);
        assert_eq!(indexes(Filter { worker: some("w"), ..company() }), ["facet", "id"]);
        assert_eq!(indexes(Filter { worker: some("w"), ..Filter::default() }), ["operation_by_worker"]);
        assert_eq!(
            indexes(Filter { sought: Some(Sought::Named("907".to_owned())), ..company() }),
            ["operation_by_document", "operation_by_reference"]
        );
    }
}
