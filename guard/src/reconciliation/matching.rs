//! What each record is to which operation: pure, over a few bytes for each, so that a million of both fit.
//!
//! Records and operations that are linked form groups, however the links run: one record for one operation mostly, one payment for
//! several invoices, parts of a payment for one invoice, two records of one operation. What a group is does not depend on the order in
//! which anything came.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use rust_decimal::Decimal;
use sha2::{Digest as _, Sha256};

use super::{Bucket, CURRENCIES_MAX, Expectation, RECORDS_MAX, Record, Total, is_currency};
use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::operation::Operation;

/// Of operations in question, at most so many amounts are kept for candidates.
const AMOUNTS_IN_QUESTION_MAX: usize = 200_000;

/// Of one amount, at most so many operations in question are kept: with more, none of them stands out.
const SAME_AMOUNT_KEPT_MAX: usize = 21;

/// Nothing: no index is as large.
const NONE: u32 = u32::MAX;

/// A link between a record and an operation: by the destination reference that is held, or by the external reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The operation.
    pub operation: OperationId,
    /// Whether everything agrees that was compared, beside the amount.
    pub agrees: bool,
    /// Whether every key field was compared.
    pub is_complete: bool,
}

/// There are more than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Records.
    #[error("there are over 2,000,000 records; reconcile a shorter span")]
    Records,
    /// Operations.
    #[error("there are over 2,000,000 operations in this span; reconcile a shorter one")]
    Operations,
    /// Currencies.
    #[error("there are over 300 currencies; the column of the currency may be another one")]
    Currencies,
}

#[derive(Clone, Copy)]
struct OperationSlot {
    id: u128,
    /// 0: none.
    superseded_by: u128,
    amount: Option<Decimal>,
    currency: u16,
    expectation: Expectation,
    /// Whether it was confirmed so late that its record need not have been listed.
    is_fresh: bool,
    has_unknown_currency: bool,
    reversing: Reversing,
}

/// What a confirmed reversal makes of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reversing {
    /// None is about it.
    Nothing,
    /// Its record was taken back. Where that was done by a record of its own, or after the list was made, it may be there still.
    TakenBack { may_be_there: bool },
    /// It took a record back: the one that this operation is confirmed as, by its index. Some destinations make a record of their own
    /// for that.
    TakesBack { of: u32, has_own_record: bool },
}

impl OperationSlot {
    /// Whether it took a record back and left none: then no record is its own.
    const fn is_silent(&self) -> bool {
        matches!(self.reversing, Reversing::TakesBack { has_own_record: false, .. })
    }

    /// Whether its record was taken back, and must not be there.
    const fn must_be_gone(&self) -> bool {
        matches!(self.reversing, Reversing::TakenBack { may_be_there: false })
    }
}

#[derive(Clone, Copy)]
struct RecordSlot {
    amount: Option<Decimal>,
    currency: u16,
    is_void: bool,
    has_unknown_currency: bool,
    /// The first record with the same id, where there is one before.
    first: u32,
    /// The record that says the same, where there is one before: then it counts for nothing, and its links are those of that one.
    repeats: u32,
}

#[derive(Clone, Copy)]
struct LinkSlot {
    record: u32,
    operation: u32,
    agrees: bool,
    is_complete: bool,
}

/// Takes operations and records in, then decides.
#[derive(Default)]
pub struct Matching {
    operations: Vec<OperationSlot>,
    by_id: HashMap<u128, u32>,
    records: Vec<RecordSlot>,
    by_reference: HashMap<u128, (u32, u128)>,
    /// What else was said of a record that was listed before with another value, and by which record first.
    said_differently: HashMap<u128, u32>,
    links: Vec<LinkSlot>,
    currencies: Vec<String>,
    /// Records of what was confirmed up to this moment had to be listed; none: whatever is confirmed.
    complete_until: Option<Timestamp>,
}

impl Matching {
    /// Of records that were listed while work went on: what was confirmed after this moment is not missing where its record is not
    /// among them.
    pub fn complete_until(complete_until: Option<Timestamp>) -> Self {
        Self { complete_until, ..Self::default() }
    }

    /// Takes in an operation; one that is there already is left.
    ///
    /// # Errors
    /// There are too many.
    pub fn add_operation(&mut self, operation: &Operation) -> Result<(), TooMany> {
        let id = operation.id.as_u128();
        if self.by_id.contains_key(&id) {
            return Ok(());
        }
        let index = index(self.operations.len()).ok_or(TooMany::Operations)?;
        let money = operation.money.as_ref();
        let currency = self.currency(money.map(|money| money.currency.as_str()))?;
        self.operations.push(OperationSlot {
            id,
            superseded_by: operation.superseded_by.map_or(0, OperationId::as_u128),
            amount: money.map(|money| money.amount),
            currency,
            expectation: Expectation::of(&operation.state),
            is_fresh: self
                .complete_until
                .is_some_and(|until| operation.state.confirmed_at().is_some_and(|at| at > until)),
            has_unknown_currency: money.is_some_and(|money| !is_currency(&money.currency)),
            reversing: Reversing::Nothing,
        });
        self.by_id.insert(id, index);
        Ok(())
    }

    /// Says that a confirmed operation took a record back; `of` is the operation that is confirmed as that very record, where there is
    /// one. It is said once everything was taken in; whatever was not is left out.
    pub fn take_back(&mut self, by: &Operation, of: Option<OperationId>) {
        let find = |id: OperationId| self.by_id.get(&id.as_u128()).copied();
        let (place, of) = (find(by.id), of.and_then(find).unwrap_or(NONE));
        let is_fresh = self.complete_until.is_some_and(|until| by.state.confirmed_at().is_some_and(|at| at > until));
        if let Some(slot) = self.operations.get_mut(of as usize) {
            slot.reversing = Reversing::TakenBack { may_be_there: is_fresh };
        }
        if let Some(slot) = place.and_then(|place| self.operations.get_mut(place as usize)) {
            slot.reversing = Reversing::TakesBack { of, has_own_record: false };
        }
    }

    /// Takes in a record with its links; the operations were taken in before.
    ///
    /// # Errors
    /// There are too many.
    pub fn add_record(&mut self, record: &Record, links: &[Link]) -> Result<(), TooMany> {
        let at = index(self.records.len()).ok_or(TooMany::Records)?;
        let linked: Vec<u32> =
            links.iter().filter_map(|link| self.by_id.get(&link.operation.as_u128()).copied()).collect();
        // An amount whose currency no column says is in that of its operation.
        let told = record.currency.as_deref().filter(|_| record.amount.is_some());
        let currency = match (told, linked.first()) {
            (None, Some(operation)) if record.amount.is_some() => {
                self.operations.get(*operation as usize).map_or(0, |operation| operation.currency)
            }
            (told, _) => self.currency(told)?,
        };
        let mut slot = RecordSlot {
            amount: record.amount,
            currency,
            is_void: record.is_void,
            has_unknown_currency: record.currency.as_deref().is_some_and(|currency| !is_currency(currency)),
            first: NONE,
            repeats: NONE,
        };
        if let Some(reference) = record.destination_reference.as_deref() {
            let amount = record.amount.map(|amount| amount.normalize());
            let content = short_hash(&format!(
                "{reference:?} {amount:?} {:?} {:?} {}",
                record.currency, record.date, record.is_void
            ));
            match self.by_reference.get(&short_hash(reference)) {
                Some((first, said)) => {
                    slot.first = *first;
                    slot.repeats = if *said == content {
                        *first
                    } else {
                        match self.said_differently.entry(content) {
                            Entry::Occupied(said) => *said.get(),
                            Entry::Vacant(fresh) => {
                                fresh.insert(at);
                                NONE
                            }
                        }
                    };
                }
                None => {
                    self.by_reference.insert(short_hash(reference), (at, content));
                }
            }
        }
        self.records.push(slot);
        let known = links.iter().filter_map(|link| Some((link, *self.by_id.get(&link.operation.as_u128())?)));
        self.links.extend(known.map(|(link, operation)| LinkSlot {
            record: at,
            operation,
            agrees: link.agrees,
            is_complete: link.is_complete,
        }));
        Ok(())
    }

    /// How many records were taken in.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    fn currency(&mut self, code: Option<&str>) -> Result<u16, TooMany> {
        if self.currencies.is_empty() {
            // The first is none.
            self.currencies.push(String::new());
        }
        let code = code.unwrap_or_default();
        let at = self.currencies.iter().position(|known| known == code);
        let at = at.unwrap_or_else(|| {
            self.currencies.push(code.to_owned());
            self.currencies.len() - 1
        });
        if at > CURRENCIES_MAX { Err(TooMany::Currencies) } else { u16::try_from(at).map_err(|_| TooMany::Currencies) }
    }

    /// Says where everything lies.
    pub fn decide(self) -> Decided {
        let Self {
            mut operations,
            by_id,
            records,
            by_reference,
            said_differently,
            mut links,
            currencies,
            complete_until: _,
        } = self;
        drop((by_id, by_reference, said_differently));
        let groups = Groups::of(operations.len(), &records, &links);
        // Which of two equal records came first must not decide whose links count.
        let repeated = links.iter().filter_map(|link| {
            let of = records.get(link.record as usize)?.repeats;
            (of != NONE).then_some(LinkSlot { record: of, ..*link })
        });
        let repeated: Vec<LinkSlot> = repeated.collect();
        links.extend(repeated);
        links.sort_unstable_by_key(|link| (link.record, operations.get(link.operation as usize).map(|slot| slot.id)));
        links.dedup_by(|later, earlier| {
            let is_same = (later.record, later.operation) == (earlier.record, earlier.operation);
            if is_same {
                earlier.agrees &= later.agrees;
                earlier.is_complete &= later.is_complete;
            }
            is_same
        });
        let restated = see_reversals(&mut operations, &records, &links);
        let sides = Sides { operations: &operations, records: &records, links: &links };
        let mut decided = Decided {
            operations: vec![OperationPlace::default(); operations.len()],
            records: vec![RecordPlace::default(); records.len()],
            gatherings: HashMap::new(),
            restated,
            ids: Vec::new(),
            in_question: HashMap::new(),
            totals: Vec::new(),
            repeated: 0,
        };
        groups.each(|operations, records| decided.group(&sides, operations, records));
        decided.add_up(&sides, &currencies);
        decided.keep_in_question(&sides, &currencies);
        decided.ids = operations.into_iter().map(|slot| slot.id).collect();
        decided
    }
}

/// Sees which reversals have a record of their own, and says what the amount of each is then: that of its record, whose sign is the
/// destination's to choose; without a record, none.
fn see_reversals(
    operations: &mut [OperationSlot],
    records: &[RecordSlot],
    links: &[LinkSlot],
) -> HashMap<u32, Option<Decimal>> {
    let mut own: HashMap<u32, (u32, Option<Decimal>)> = HashMap::new();
    let sides = Sides { operations, records, links };
    for link in links {
        let reversing = sides.operation(link.operation).map(|slot| slot.reversing);
        let Some(Reversing::TakesBack { of, .. }) = reversing else { continue };
        let live = sides.record(link.record).filter(|record| !record.is_void && record.repeats == NONE);
        // What it took back is no record of its own, though some report that very id.
        if let Some(record) = live.filter(|_| sides.links_of(link.record).iter().all(|other| other.operation != of)) {
            own.entry(link.operation).or_insert((of, record.amount));
        }
    }
    for (by, (of, _)) in &own {
        if let Some(slot) = operations.get_mut(*by as usize) {
            slot.reversing = Reversing::TakesBack { of: *of, has_own_record: true };
        }
        if let Some(slot) = operations.get_mut(*of as usize) {
            slot.reversing = Reversing::TakenBack { may_be_there: true };
        }
    }
    let mut restated = HashMap::new();
    for (slot, at) in operations.iter_mut().zip(0_u32..) {
        let Reversing::TakesBack { .. } = slot.reversing else { continue };
        let theirs = own.get(&at).map(|(_, amount)| *amount);
        slot.amount = match (theirs, slot.amount) {
            (Some(Some(theirs)), Some(ours)) if theirs.abs() == ours.abs() => Some(theirs),
            (Some(_), ours) => ours,
            (None, _) => {
                // The first is none.
                slot.currency = 0;
                None
            }
        };
        restated.insert(at, slot.amount);
    }
    restated
}

fn index(length: usize) -> Option<u32> {
    (length < RECORDS_MAX).then(|| u32::try_from(length).ok()).flatten()
}

/// The first half of a SHA-256: equal texts have equal ones, and no two others will.
fn short_hash(text: &str) -> u128 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest.iter().take(16).fold(0, |hash, byte| (hash << 8) | u128::from(*byte))
}

/// What belongs together: a forest over operations, then records.
struct Groups {
    parents: Vec<u32>,
    operations: usize,
}

impl Groups {
    fn of(operations: usize, records: &[RecordSlot], links: &[LinkSlot]) -> Self {
        let nodes = operations + records.len();
        let mut groups = Self { parents: (0..u32::try_from(nodes).unwrap_or(NONE)).collect(), operations };
        for link in links {
            groups.unite(link.operation as usize, operations + link.record as usize);
        }
        for (at, record) in records.iter().enumerate().filter(|(_, record)| record.first != NONE) {
            groups.unite(operations + record.first as usize, operations + at);
        }
        groups
    }

    fn root(&mut self, mut node: usize) -> usize {
        while let Some(parent) = self.parents.get(node).map(|parent| *parent as usize).filter(|parent| *parent != node)
        {
            // Halves the way for whoever comes next.
            let above = self.parents.get(parent).copied().unwrap_or_default();
            if let Some(slot) = self.parents.get_mut(node) {
                *slot = above;
            }
            node = above as usize;
        }
        node
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (low, high) = (one.min(other), one.max(other));
        if let (Some(slot), Ok(low)) = (self.parents.get_mut(high), u32::try_from(low)) {
            *slot = low;
        }
    }

    /// Each group, with its operations and its records.
    fn each(mut self, mut take: impl FnMut(&[u32], &[u32])) {
        let nodes = self.parents.len();
        let operations = self.operations;
        let mut rooted: Vec<(u32, u32)> = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let root = self.root(node);
            rooted.extend(u32::try_from(root).ok().zip(u32::try_from(node).ok()));
        }
        drop(self);
        rooted.sort_unstable();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for group in rooted.chunk_by(|one, other| one.0 == other.0) {
            ours.clear();
            theirs.clear();
            for node in group.iter().map(|(_, node)| *node) {
                match (node as usize).checked_sub(operations) {
                    None => ours.push(node),
                    Some(record) => theirs.extend(u32::try_from(record)),
                }
            }
            take(&ours, &theirs);
        }
    }
}

struct Sides<'a> {
    operations: &'a [OperationSlot],
    records: &'a [RecordSlot],
    /// By record.
    links: &'a [LinkSlot],
}

impl<'a> Sides<'a> {
    fn operation(&self, at: u32) -> Option<&'a OperationSlot> {
        self.operations.get(at as usize)
    }

    fn record(&self, at: u32) -> Option<&'a RecordSlot> {
        self.records.get(at as usize)
    }

    fn links_of(&self, record: u32) -> &'a [LinkSlot] {
        let start = self.links.partition_point(|link| link.record < record);
        let rest = self.links.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|link| link.record == record)).unwrap_or_default()
    }
}

/// What a group is that holds more than one of each, or whose money disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// How many operations it counts.
    pub operations: u32,
    /// How many live records it counts.
    pub live: u32,
    /// The money of its live records, where it was compared with that of its operations and differs.
    pub disagreeing: Option<Decimal>,
    /// Whether it lists one record with different values.
    pub is_listed_differently: bool,
}

/// Where an operation lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationVerdict {
    /// The bucket.
    pub bucket: Bucket,
    /// The record beside which it stands, by its index; none where it stands alone.
    pub record: Option<u32>,
    /// The first record of its group, by its index.
    pub first: Option<u32>,
    /// Its group, where that is more than one of each.
    pub gathering: Option<Gathering>,
    /// Whether a newer revision took its place.
    pub is_superseded: bool,
    /// Whether its group has void records only.
    pub has_only_void: bool,
    /// Whether its record was taken back, and a live one is there all the same.
    pub is_still_there: bool,
}

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVerdict {
    /// The bucket.
    pub bucket: Bucket,
    /// The operation that stands beside it, by its index.
    pub operation: Option<u32>,
    /// An operation that it is linked to, by its index.
    pub about: Option<u32>,
    /// The first record of its group, by its index.
    pub first: u32,
    /// Its group, where that is more than one of each.
    pub gathering: Option<Gathering>,
    /// Whether it only repeats another.
    pub repeats: bool,
}

#[derive(Clone, Copy, Debug)]
struct OperationPlace {
    bucket: Bucket,
    record: u32,
    first: u32,
    is_superseded: bool,
    has_only_void: bool,
    is_still_there: bool,
}

impl Default for OperationPlace {
    fn default() -> Self {
        Self {
            bucket: Bucket::NotExpected,
            record: NONE,
            first: NONE,
            is_superseded: false,
            has_only_void: false,
            is_still_there: false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct RecordPlace {
    bucket: Bucket,
    operation: u32,
    about: u32,
    first: u32,
    repeats: bool,
}

impl Default for RecordPlace {
    fn default() -> Self {
        Self { bucket: Bucket::Unguarded, operation: NONE, about: NONE, first: NONE, repeats: false }
    }
}

fn some(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

/// Where everything lies.
#[derive(Debug)]
pub struct Decided {
    operations: Vec<OperationPlace>,
    records: Vec<RecordPlace>,
    /// By the first record.
    gatherings: HashMap<u32, Gathering>,
    /// The amounts of reversals, as they were compared.
    restated: HashMap<u32, Option<Decimal>>,
    ids: Vec<u128>,
    /// Operations that are missing or pending and stand beside no record, by their money.
    in_question: HashMap<(String, Decimal), Vec<u32>>,
    /// Numbers and money.
    pub totals: Vec<Total>,
    /// Records that only repeat another.
    pub repeated: u64,
}

impl Decided {
    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// How many records there are.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// The operation at an index, in the order in which they were taken in.
    pub fn operation_at(&self, at: u32) -> Option<OperationId> {
        self.ids.get(at as usize).copied().map(OperationId::from_u128)
    }

    /// Where the operation at an index lies.
    pub fn operation(&self, at: u32) -> Option<OperationVerdict> {
        let place = self.operations.get(at as usize)?;
        let OperationPlace { bucket, record, first, is_superseded, has_only_void, is_still_there } = *place;
        let gathering = self.gatherings.get(&first).copied();
        Some(OperationVerdict {
            bucket,
            record: some(record),
            first: some(first),
            gathering,
            is_superseded,
            has_only_void,
            is_still_there,
        })
    }

    /// The amount as which the operation at an index was compared and added up, where that is not its own: of a reversal, that of its
    /// record, or none without one.
    pub fn restated(&self, at: u32) -> Option<Option<Decimal>> {
        self.restated.get(&at).copied()
    }

    /// Where the record at an index lies, in the order in which they were taken in.
    pub fn record(&self, at: u32) -> Option<RecordVerdict> {
        let RecordPlace { bucket, operation, about, first, repeats } = *self.records.get(at as usize)?;
        let gathering = self.gatherings.get(&first).copied();
        Some(RecordVerdict { bucket, operation: some(operation), about: some(about), first, gathering, repeats })
    }

    /// Operations in question with the money of a record, by their indexes; over twenty say as much as none.
    pub fn in_question(&self, record: &Record) -> &[u32] {
        let money = record.currency.clone().zip(record.amount.map(|amount| amount.normalize()));
        money.and_then(|money| self.in_question.get(&money)).map_or(&[], Vec::as_slice)
    }

    fn keep_in_question(&mut self, sides: &Sides<'_>, currencies: &[String]) {
        for (at, (slot, place)) in sides.operations.iter().zip(&self.operations).enumerate() {
            let is_in_question = matches!(place.bucket, Bucket::Missing | Bucket::Pending) && place.record == NONE;
            let (Some(amount), true) = (slot.amount, is_in_question) else { continue };
            let Some(currency) = currencies.get(usize::from(slot.currency)).cloned() else { continue };
            let key = (currency, amount.normalize());
            if self.in_question.len() >= AMOUNTS_IN_QUESTION_MAX && !self.in_question.contains_key(&key) {
                continue;
            }
            let same = self.in_question.entry(key).or_default();
            if same.len() < SAME_AMOUNT_KEPT_MAX {
                same.extend(u32::try_from(at));
            }
        }
    }

    fn group(&mut self, sides: &Sides<'_>, operations: &[u32], records: &[u32]) {
        let is_live = |at: &u32| sides.record(*at).is_some_and(|record| !record.is_void && record.repeats == NONE);
        let live: Vec<u32> = records.iter().copied().filter(is_live).collect();
        let ids: Vec<u128> = operations.iter().filter_map(|at| Some(sides.operation(*at)?.id)).collect();
        // The revision that took an operation's place speaks for the record that both name.
        let is_replaced = |at: &u32| {
            sides
                .operation(*at)
                .is_some_and(|slot| slot.superseded_by != 0 && (live.is_empty() || ids.contains(&slot.superseded_by)))
        };
        let (replaced, rest): (Vec<u32>, Vec<u32>) = operations.iter().partition(|at| is_replaced(at));
        let is_silent = |at: &u32| sides.operation(*at).is_some_and(OperationSlot::is_silent);
        let (silent, counted): (Vec<u32>, Vec<u32>) = rest.into_iter().partition(is_silent);
        let is_listed_differently = records
            .iter()
            .any(|at| sides.record(*at).is_some_and(|record| record.first != NONE && record.repeats == NONE));
        let judged = judge(sides, &counted, &live, is_listed_differently);
        let first = records.first().copied().unwrap_or(NONE);
        let is_plain = counted.len() <= 1 && live.len() <= 1 && judged.disagreeing.is_none() && !is_listed_differently;
        if !is_plain && first != NONE {
            let (operations, live) = (count(counted.len()), count(live.len()));
            let disagreeing = judged.disagreeing;
            self.gatherings.insert(first, Gathering { operations, live, disagreeing, is_listed_differently });
        }
        for at in &replaced {
            self.put_operation(*at, OperationPlace { first, is_superseded: true, ..OperationPlace::default() });
        }
        for at in &silent {
            self.put_operation(*at, OperationPlace { first, ..OperationPlace::default() });
        }
        for at in &counted {
            let Some(slot) = sides.operation(*at) else { continue };
            let bucket = if live.is_empty() { without_record(slot) } else { judged.bucket };
            let has_only_void = live.is_empty() && !records.is_empty();
            let is_still_there = !live.is_empty() && slot.must_be_gone();
            let place = OperationPlace { bucket, first, has_only_void, is_still_there, ..OperationPlace::default() };
            self.put_operation(*at, place);
        }
        for at in records {
            let Some(slot) = sides.record(*at) else { continue };
            let links = sides.links_of(*at);
            let beside = links.iter().map(|link| link.operation).find(|operation| {
                let held = self.operations.get(*operation as usize);
                let is_free = held.is_some_and(|held| held.record == NONE && !held.is_superseded);
                is_live(at) && is_free && !is_silent(operation)
            });
            if let Some(operation) = beside.and_then(|operation| self.operations.get_mut(operation as usize)) {
                operation.record = *at;
            }
            self.repeated += u64::from(slot.repeats != NONE);
            if let Some(place) = self.records.get_mut(*at as usize) {
                *place = RecordPlace {
                    bucket: if slot.is_void { Bucket::Void } else { judged.bucket },
                    operation: beside.unwrap_or(NONE),
                    about: links.first().map_or(NONE, |link| link.operation),
                    first,
                    repeats: slot.repeats != NONE,
                };
            }
        }
    }

    fn put_operation(&mut self, at: u32, verdict: OperationPlace) {
        if let Some(place) = self.operations.get_mut(at as usize) {
            *place = verdict;
        }
    }

    fn add_up(&mut self, sides: &Sides<'_>, currencies: &[String]) {
        let mut totals: BTreeMap<(Bucket, u16), Total> = BTreeMap::new();
        let mut total = |bucket: Bucket, currency: u16, add: &dyn Fn(&mut Total)| {
            let entry = totals.entry((bucket, currency)).or_insert_with(|| Total {
                bucket,
                currency: currencies.get(usize::from(currency)).filter(|code| !code.is_empty()).cloned(),
                operations: 0,
                source: Decimal::ZERO,
                records: 0,
                destination: Decimal::ZERO,
            });
            add(entry);
        };
        for (slot, verdict) in sides.operations.iter().zip(&self.operations) {
            total(verdict.bucket, slot.currency, &|total| {
                total.operations += 1;
                total.source = added(total.source, slot.amount);
            });
        }
        for (slot, verdict) in sides.records.iter().zip(&self.records).filter(|(slot, _)| slot.repeats == NONE) {
            total(verdict.bucket, slot.currency, &|total| {
                total.records += 1;
                total.destination = added(total.destination, slot.amount);
            });
        }
        self.totals = totals.into_values().collect();
    }
}

fn added(sum: Decimal, amount: Option<Decimal>) -> Decimal {
    sum.checked_add(amount.unwrap_or_default()).unwrap_or(Decimal::MAX)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

/// Where an operation lies of which no live record was found; a fresh one was confirmed too late for the list.
const fn without_record(slot: &OperationSlot) -> Bucket {
    match slot.expectation {
        Expectation::Live if matches!(slot.reversing, Reversing::TakenBack { .. }) => Bucket::TakenBack,
        Expectation::Live if slot.is_fresh => Bucket::Pending,
        Expectation::Live => Bucket::Missing,
        Expectation::Settling | Expectation::Open => Bucket::Pending,
        Expectation::Nothing => Bucket::NotExpected,
    }
}

struct Judged {
    bucket: Bucket,
    disagreeing: Option<Decimal>,
}

/// What live records are to operations.
fn judge(sides: &Sides<'_>, operations: &[u32], live: &[u32], listed_differently: bool) -> Judged {
    let only = |bucket| Judged { bucket, disagreeing: None };
    if operations.is_empty() || live.is_empty() {
        return only(Bucket::Unguarded);
    }
    let slots: Vec<&OperationSlot> = operations.iter().filter_map(|at| sides.operation(*at)).collect();
    let records: Vec<&RecordSlot> = live.iter().filter_map(|at| sides.record(*at)).collect();
    let links: Vec<&LinkSlot> =
        live.iter().flat_map(|at| sides.links_of(*at)).filter(|link| operations.contains(&link.operation)).collect();
    let money = compare_money(&slots, &records);
    let agrees = links.iter().all(|link| link.agrees) && !listed_differently;
    let is_repeated = operations.iter().any(|at| links.iter().filter(|link| link.operation == *at).count() > 1);
    if is_repeated && !listed_differently {
        // Parts of one payment add up to it; anything else is there twice.
        let are_parts = agrees && matches!(money, Money::Same) && have_one_sign(&records);
        if !are_parts {
            return only(Bucket::Duplicated);
        }
    }
    let disagreeing = match money {
        Money::Differs(theirs) => Some(theirs),
        Money::Same | Money::Unknown | Money::UnknownCurrency => None,
    };
    let may_be_there = slots.iter().all(|slot| slot.expectation != Expectation::Nothing && !slot.must_be_gone());
    if !agrees || !may_be_there || matches!(money, Money::Differs(_) | Money::UnknownCurrency) {
        return Judged { bucket: Bucket::Mismatched, disagreeing };
    }
    let is_settled = slots.iter().all(|slot| match slot.expectation {
        Expectation::Live => true,
        // Found counts where all key fields agree, as in a lookup.
        Expectation::Settling => links.iter().all(|link| link.is_complete) && slots.len() == 1 && records.len() == 1,
        Expectation::Open | Expectation::Nothing => false,
    });
    only(if is_settled { Bucket::Matched } else { Bucket::Pending })
}

enum Money {
    Same,
    Differs(Decimal),
    Unknown,
    UnknownCurrency,
}

fn compare_money(operations: &[&OperationSlot], records: &[&RecordSlot]) -> Money {
    let has_unknown =
        operations.iter().any(|slot| slot.has_unknown_currency) || records.iter().any(|slot| slot.has_unknown_currency);
    if has_unknown {
        return Money::UnknownCurrency;
    }
    let ours: Option<Vec<Decimal>> = operations.iter().map(|slot| slot.amount).collect();
    let theirs: Option<Vec<Decimal>> = records.iter().map(|slot| slot.amount).collect();
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return Money::Unknown };
    let sum = |amounts: Vec<Decimal>| amounts.into_iter().fold(Decimal::ZERO, |sum, amount| added(sum, Some(amount)));
    let (ours, theirs) = (sum(ours), sum(theirs));
    let currency = operations.first().map(|slot| slot.currency);
    let is_one_currency = operations.iter().all(|slot| Some(slot.currency) == currency)
        && records.iter().all(|slot| Some(slot.currency) == currency);
    if is_one_currency && ours == theirs { Money::Same } else { Money::Differs(theirs) }
}

fn have_one_sign(records: &[&RecordSlot]) -> bool {
    let is = |test: fn(Decimal) -> bool| records.iter().all(|slot| slot.amount.is_some_and(test));
    is(|amount| amount > Decimal::ZERO) || is(|amount| amount < Decimal::ZERO)
}
