//! The documented contracts of `Store` and `Registry`, kept in memory, with faults on demand.

mod activity;
mod amendment;
mod call;
mod conflict;
mod lists;
mod look_alike;
mod notification;
mod period;
mod proof;
mod reconciliation;
mod retention;
mod review;
mod rules;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use guard::access::Access;
use guard::amendment::Amendment;
use guard::clock::Timestamp;
use guard::conflict::{Conflict, ConflictStanding};
use guard::evidence::Evidence;
use guard::fingerprint::Fingerprint;
use guard::id::{EvidenceId, OperationId, PersonId};
use guard::key::OperationKey;
use guard::operation::Operation;
use guard::person::Person;
use guard::queue::{Cursor, Filter, Order, Page, PageRequest, Sought};
use guard::recovery::{Claim, Recovery};
use guard::refusal::StoreFault;
use guard::review::Review;
use guard::state::{State, StateName};
use guard::store::{
    Act, Administered, Catalogue, Delivery, Insertion, NewOperation, RecoveryChange, Registry, Replaced, Replacement,
    Store,
};
use guard::summary::{Count, Counted, Recovering, Waiting};
use guard::token::{Reach, Token};
use guard::trail::{ChainHash, Entry};

type Move = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What goes wrong with a write.
pub enum Fault {
    /// It is not stored, and says so.
    Fails(StoreFault),
    /// It is stored, and the answer is lost on the way.
    LosesAnswer,
    /// It is stored, the answer is lost, and the store's driver tries it once more.
    IsRetried,
    /// Something else happens before it is stored.
    Meanwhile(Move),
    /// Something else happens after it was stored, before it is answered.
    Afterwards(Move),
}

impl Fault {
    pub fn meanwhile(happens: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::Meanwhile(Box::pin(happens))
    }

    pub fn afterwards(happens: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::Afterwards(Box::pin(happens))
    }
}

#[derive(Default)]
pub struct Memory {
    tables: Mutex<Tables>,
    /// The faults of the writes to come; `None` is a write that goes well.
    faults: Mutex<VecDeque<Option<Fault>>>,
    /// What happens before the head of the administration's chain is read next.
    before_head: Mutex<Option<Move>>,
}

#[derive(Clone, Default)]
struct Tables {
    operations: BTreeMap<OperationId, Operation>,
    keys: HashMap<OperationKey, OperationId>,
    payloads: HashMap<OperationId, String>,
    responses: HashMap<OperationId, String>,
    entries: HashMap<OperationId, Vec<Entry>>,
    conflicts: Vec<(Conflict, String)>,
    evidence: Vec<Evidence>,
    files: HashMap<EvidenceId, Vec<u8>>,
    deliveries: Vec<Delivery>,
    counts: Vec<Count>,
    catalogue: Catalogue,
    administration: Vec<Entry>,
    tokens: Vec<(Token, [u8; 32])>,
    people: Vec<(Person, String)>,
    amendments: Vec<(Amendment, String)>,
    recoveries: BTreeMap<OperationId, Recovery>,
    reviews: BTreeMap<OperationId, Review>,
    trail_check: Option<guard::activity::TrailCheck>,
    accesses: BTreeMap<String, Access>,
    calls: Vec<(guard::call::Call, guard::call::CallRequest)>,
    lists: lists::ListTables,
    looks: look_alike::Looks,
    prevented: BTreeMap<OperationId, proof::Row>,
    ages: BTreeMap<Timestamp, proof::Ages>,
    notifications: notification::NotificationTables,
    rules: rules::RuleTables,
    periods: period::PeriodTables,
    reconciliations: reconciliation::ReconciliationTables,
    retention: retention::RetentionTables,
}

/// Everything that is kept, as text: equal before and after means that nothing was changed.
#[derive(PartialEq, Eq, Debug)]
pub struct Snapshot(String);

impl Memory {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    /// Lets the `nth` write from now (from 1) go wrong.
    pub fn disturb(&self, nth: usize, fault: Fault) {
        let mut faults = self.faults.lock().unwrap();
        while faults.len() < nth {
            faults.push_back(None);
        }
        faults[nth - 1] = Some(fault);
    }

    /// Lets something happen right before the head of the administration's chain is read.
    pub fn before_head(&self, happens: impl Future<Output = ()> + Send + 'static) {
        *self.before_head.lock().unwrap() = Some(Box::pin(happens));
    }

    pub fn trail(&self, id: OperationId) -> Vec<Entry> {
        self.tables().entries.get(&id).cloned().unwrap_or_default()
    }

    pub fn response(&self, id: OperationId) -> Option<String> {
        self.tables().responses.get(&id).cloned()
    }

    pub fn every_operation(&self) -> Vec<Operation> {
        self.tables().operations.values().cloned().collect()
    }

    pub fn forget_payload(&self, id: OperationId) {
        self.tables().payloads.remove(&id);
    }

    /// Puts an operation into a state that this release cannot lead to yet.
    pub fn force(&self, id: OperationId, state: State) {
        self.tables().operations.get_mut(&id).unwrap().state = state;
    }

    /// Puts a further revision of an operation's document beside it.
    pub fn force_revision(&self, of: OperationId, id: OperationId, revision: u32, state: State) {
        let mut tables = self.tables();
        let base = tables.operations[&of].clone();
        let key = base.key.at_revision(revision);
        tables.keys.insert(key.clone(), id);
        let entries = tables.entries[&of].clone();
        tables.entries.insert(id, entries);
        tables.operations.insert(id, Operation { id, key, state, ..base });
    }

    pub fn force_superseded(&self, id: OperationId, by: OperationId) {
        self.tables().operations.get_mut(&id).unwrap().superseded_by = Some(by);
    }

    /// How many of a kind were counted.
    pub fn counted(&self, counted: Counted) -> u64 {
        self.tables().counts.iter().filter(|count| count.counted == counted).map(|count| count.number).sum()
    }

    /// Operations with what belongs to them, without what is written behind answers.
    pub fn snapshot(&self) -> Snapshot {
        let tables = self.tables();
        let operations: Vec<Operation> = tables
            .operations
            .values()
            .map(|operation| Operation { duplicates_prevented: 0, ..operation.clone() })
            .collect();
        let entries: BTreeMap<&OperationId, &Vec<Entry>> = tables.entries.iter().collect();
        let bodies: BTreeMap<&OperationId, &String> = tables.payloads.iter().collect();
        let responses: BTreeMap<&OperationId, &String> = tables.responses.iter().collect();
        let conflicts: Vec<Conflict> =
            tables.conflicts.iter().map(|(conflict, _)| Conflict { hits: 0, ..conflict.clone() }).collect();
        let (evidence, recoveries, reviews) = (&tables.evidence, &tables.recoveries, &tables.reviews);
        let amendments = &tables.amendments;
        Snapshot(format!(
            "{operations:?} {entries:?} {bodies:?} {responses:?} {conflicts:?} {evidence:?} {recoveries:?} {reviews:?} {amendments:?}"
        ))
    }

    /// Writes, with the fault that was ordered for this write.
    async fn write<T: Send>(&self, apply: impl Fn(&mut Tables) -> T + Send + Sync) -> Result<T, StoreFault> {
        let fault = self.faults.lock().unwrap().pop_front().flatten();
        match fault {
            None => Ok(apply(&mut self.tables())),
            Some(Fault::Fails(fault)) => Err(fault),
            Some(Fault::LosesAnswer) => {
                apply(&mut self.tables());
                Err(StoreFault::Unavailable)
            }
            Some(Fault::IsRetried) => {
                apply(&mut self.tables());
                Ok(apply(&mut self.tables()))
            }
            Some(Fault::Meanwhile(happens)) => {
                happens.await;
                Ok(apply(&mut self.tables()))
            }
            Some(Fault::Afterwards(happens)) => {
                let answer = apply(&mut self.tables());
                happens.await;
                Ok(answer)
            }
        }
    }
}

impl Tables {
    fn insert(&mut self, new: &NewOperation) -> Insertion {
        let operation = &new.operation;
        if let Some(holder) = self.keys.get(&operation.key) {
            return Insertion::Existing(Box::new(self.operations[holder].clone()));
        }
        assert_eq!((operation.version, new.entry.sequence), (1, 1), "a new operation has one entry");
        self.keys.insert(operation.key.clone(), operation.id);
        self.operations.insert(operation.id, operation.clone());
        self.payloads.insert(operation.id, new.payload.clone());
        self.periods.date(operation.id, new.day);
        self.looks.keep(operation.id, new.look);
        self.entries.insert(operation.id, vec![new.entry.clone()]);
        if let Some(amendment) = &new.amendment {
            self.add_amendment(amendment, &new.payload);
        }
        self.counts.extend(new.counts.iter().cloned());
        Insertion::Inserted
    }

    fn replace(&mut self, replacement: &Replacement) -> Replaced {
        let Replacement {
            operation,
            entry,
            conflict,
            decided,
            evidence,
            file,
            response,
            supersedes,
            recovery,
            review,
            reconciled,
            counts,
            amendment,
            payload,
            hold,
            dropped,
        } = replacement;
        let Some(held) = self.operations.get(&operation.id) else { return Replaced::Stale };
        if held.version + 1 != operation.version {
            return Replaced::Stale;
        }
        let is_known = |new: &Conflict| {
            self.conflicts
                .iter()
                .any(|(known, _)| known.operation == new.operation && known.fingerprint == new.fingerprint)
        };
        if conflict.as_ref().is_some_and(|(conflict, _)| is_known(conflict)) {
            return Replaced::Stale;
        }
        if dropped.as_ref().is_some_and(|document| self.retention.holds(document)) {
            return Replaced::Stale;
        }
        // Written behind answers, so no reader of the operation is ahead of what is held.
        let duplicates_prevented = held.duplicates_prevented;
        let superseded_by = held.superseded_by;
        self.operations.insert(operation.id, Operation { duplicates_prevented, superseded_by, ..operation.clone() });
        self.entries.entry(operation.id).or_default().push(entry.clone());
        self.conflicts.extend(conflict.clone());
        for (id, decision) in decided.iter() {
            let open = self.conflicts.iter_mut().find(|(known, _)| known.id == *id && known.is_open());
            if let Some((known, _)) = open {
                known.standing = ConflictStanding::Decided(Box::new(decision.clone()));
            }
        }
        self.evidence.extend(evidence.clone());
        if let Some((evidence, content)) = evidence.as_ref().zip(file.as_ref()) {
            self.files.insert(evidence.id, content.to_vec());
        }
        if let Some(response) = response {
            self.responses.insert(operation.id, response.clone());
        }
        if let Some(previous) = supersedes.and_then(|previous| self.operations.get_mut(&previous)) {
            previous.superseded_by = Some(operation.id);
        }
        if let Some(reconciled) = reconciled {
            self.reconciliations.reconciled.insert(operation.id, reconciled.clone());
        }
        match recovery {
            RecoveryChange::Keep => {}
            RecoveryChange::Schedule(recovery) => {
                self.recoveries.insert(operation.id, (**recovery).clone());
            }
            RecoveryChange::End => {
                self.recoveries.remove(&operation.id);
            }
        }
        self.review(operation.id, review);
        self.amend(operation, amendment);
        if let Some(payload) = payload {
            self.payloads.insert(operation.id, payload.clone());
        }
        self.retention.change(hold);
        if dropped.is_some() {
            self.drop_bodies(operation.id);
        }
        self.counts.extend(counts.iter().cloned());
        Replaced::Replaced
    }

    fn administer(&mut self, acts: &[(Act, Entry)]) -> Administered {
        let follows = acts.first().is_none_or(|(_, entry)| entry.sequence == self.administration.len() as u64 + 1);
        if !follows {
            return Administered::Stale;
        }
        let mut after = self.clone();
        for (act, entry) in acts {
            after.rules.follow(act, entry);
            after.periods.follow(act);
            after.notifications.follow(act);
            if !after.act(act) {
                return Administered::Taken;
            }
            after.administration.push(entry.clone());
        }
        after.catalogue.epoch += 1;
        *self = after;
        Administered::Done
    }

    /// Whether the act could be done; otherwise a name is taken.
    fn act(&mut self, act: &Act) -> bool {
        match act {
            Act::PutWorkflow(put) => {
                let name = put.workflow.name.as_str().to_owned();
                self.catalogue.volatile.insert((name.clone(), put.version), put.workflow.volatile.clone().into());
                self.catalogue.workflows.insert(name, Arc::new((**put).clone()));
            }
            Act::PutRuleProposal(_) | Act::PutPeriod(_) | Act::Note => {}
            Act::PutDestination(destination) => {
                self.catalogue.destinations.insert(destination.name.clone(), (**destination).clone());
            }
            Act::RemoveDestination(name) => {
                self.catalogue.destinations.remove(name);
            }
            Act::PutChannel(channel) => {
                self.catalogue.channels.insert(channel.name.clone(), (**channel).clone());
            }
            Act::RemoveChannel(name) => {
                self.catalogue.channels.remove(name);
            }
            Act::AddPerson { person, password_hash, only_first } => {
                let is_taken = self.people.iter().any(|(known, _)| known.email == person.email);
                if is_taken || (*only_first && !self.people.is_empty()) {
                    return false;
                }
                self.people.push((person.clone(), password_hash.clone()));
            }
            Act::AddToken { token, digest } => {
                if self.tokens.iter().any(|(known, _)| known.name == token.name) {
                    return false;
                }
                self.tokens.push((token.clone(), *digest));
            }
            Act::RevokeToken { id, at } => {
                for (token, _) in self.tokens.iter_mut().filter(|(token, _)| token.id == *id) {
                    token.revoked_at = Some(*at);
                }
            }
        }
        true
    }
}

#[async_trait]
impl Store for Memory {
    async fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreFault> {
        Ok(self.tables().operations.get(&id).cloned())
    }

    async fn operation_by_key(&self, key: &OperationKey) -> Result<Option<Operation>, StoreFault> {
        let tables = self.tables();
        Ok(tables.keys.get(key).map(|id| tables.operations[id].clone()))
    }

    async fn insert_if_absent(&self, new: NewOperation) -> Result<Insertion, StoreFault> {
        self.write(|tables| tables.insert(&new)).await
    }

    async fn replace(&self, replacement: Replacement) -> Result<Replaced, StoreFault> {
        self.write(|tables| tables.replace(&replacement)).await
    }

    async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, StoreFault> {
        let tables = self.tables();
        let mut rows: Vec<(Timestamp, Operation)> = tables
            .operations
            .values()
            .filter(|operation| is_within(reach, operation) && matches(filter, operation))
            .map(|operation| (operation.created_at, operation.clone()))
            .collect();
        rows.sort_by_key(|(moment, operation)| (*moment, operation.id));
        if order == Order::Newest {
            rows.reverse();
        }
        if let Some((milliseconds, id)) = page.cursor.as_ref().and_then(Cursor::read) {
            let behind = (milliseconds, id);
            rows.retain(|(moment, operation)| {
                let place = (moment.timestamp_millis(), operation.id.as_u128());
                if order == Order::Newest { place < behind } else { place > behind }
            });
        }
        let limit = page.limit as usize;
        let next = (rows.len() > limit).then(|| {
            let (moment, operation) = &rows[limit - 1];
            Cursor::behind(*moment, operation.id.as_u128())
        });
        rows.truncate(limit);
        Ok(Page { rows: rows.into_iter().map(|(_, operation)| operation).collect(), next })
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> Result<Vec<Operation>, StoreFault> {
        let mut over: Vec<Operation> =
            self.tables().operations.values().filter(|operation| operation.state.lease_is_over(now)).cloned().collect();
        over.sort_by_key(|operation| operation.state.lease_expires_at());
        over.truncate(limit as usize);
        Ok(over)
    }

    async fn entries(&self, operation: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        let entries = self.trail(operation);
        Ok(entries.into_iter().filter(|entry| entry.sequence > after).take(limit as usize).collect())
    }

    async fn payload(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        Ok(self.tables().payloads.get(&operation).cloned())
    }

    async fn response(&self, operation: OperationId) -> Result<Option<String>, StoreFault> {
        Ok(self.tables().responses.get(&operation).cloned())
    }

    async fn conflict(
        &self,
        operation: OperationId,
        fingerprint: &Fingerprint,
    ) -> Result<Option<Conflict>, StoreFault> {
        let tables = self.tables();
        let found = tables
            .conflicts
            .iter()
            .find(|(conflict, _)| conflict.operation == operation && conflict.fingerprint == *fingerprint);
        Ok(found.map(|(conflict, _)| conflict.clone()))
    }

    async fn conflicts(&self, operation: OperationId, limit: u32) -> Result<Vec<Conflict>, StoreFault> {
        let tables = self.tables();
        let of_operation = tables.conflicts.iter().rev().filter(|(conflict, _)| conflict.operation == operation);
        Ok(of_operation.take(limit as usize).map(|(conflict, _)| conflict.clone()).collect())
    }

    async fn evidence(&self, operation: OperationId, limit: u32) -> Result<Vec<Evidence>, StoreFault> {
        let tables = self.tables();
        let of_operation = tables.evidence.iter().filter(|evidence| evidence.operation == operation);
        Ok(of_operation.take(limit as usize).cloned().collect())
    }

    async fn deliveries(&self, operation: OperationId, limit: u32) -> Result<Vec<Delivery>, StoreFault> {
        let tables = self.tables();
        let of_operation = tables.deliveries.iter().rev().filter(|delivery| delivery.operation == Some(operation));
        Ok(of_operation.take(limit as usize).cloned().collect())
    }

    fn note_delivery(&self, delivery: Delivery) {
        let mut tables = self.tables();
        tables.counts.push(delivery.count.clone());
        let repeated = delivery.operation.filter(|_| delivery.decision.holds_repetition());
        if let Some(operation) = repeated.and_then(|id| tables.operations.get_mut(&id)) {
            operation.duplicates_prevented += 1;
        }
        tables.hold_back(&delivery);
        for (conflict, _) in tables.conflicts.iter_mut().filter(|(known, _)| delivery.conflict == Some(known.id)) {
            conflict.hits += 1;
        }
        tables.deliveries.push(delivery);
    }

    async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, StoreFault> {
        let mut sums: BTreeMap<(String, String, Counted, Timestamp, String), (u64, i64)> = BTreeMap::new();
        for count in &self.tables().counts {
            let is_within = reach.workflow(&count.workflow) && reach.company(&count.company);
            if is_within && (from..to).contains(&count.hour) {
                let kind =
                    (count.workflow.clone(), count.company.clone(), count.counted, count.hour, count.currency.clone());
                let sum = sums.entry(kind).or_default();
                sum.0 += count.number;
                sum.1 += count.ten_thousandths;
            }
        }
        Ok(sums
            .into_iter()
            .map(|((workflow, company, counted, hour, currency), (number, ten_thousandths))| Count {
                workflow,
                company,
                counted,
                hour,
                number,
                currency,
                ten_thousandths,
            })
            .collect())
    }

    async fn waiting(&self, reach: &Reach, most: u32) -> Result<Waiting, StoreFault> {
        let tables = self.tables();
        let within = tables.operations.values().filter(|operation| is_within(reach, operation));
        let mut since: Vec<Timestamp> = within.filter_map(|operation| operation.state.uncertain_since()).collect();
        since.sort();
        since.truncate(usize::try_from(most).unwrap());
        let open: BTreeSet<OperationId> = tables
            .conflicts
            .iter()
            .filter(|(conflict, _)| conflict.is_open())
            .map(|(known, _)| known.operation)
            .collect();
        let open_conflicts: u32 = tables
            .operations
            .values()
            .filter(|operation| is_within(reach, operation) && open.contains(&operation.id))
            .map(|operation| operation.open_conflicts)
            .sum();
        Ok(Waiting {
            uncertain: u32::try_from(since.len()).unwrap(),
            oldest_since: since.into_iter().min(),
            at_risk: Vec::new(),
            open_conflicts: open_conflicts.min(most),
        })
    }

    async fn recovery(&self, operation: OperationId) -> Result<Option<Recovery>, StoreFault> {
        Ok(self.tables().recoveries.get(&operation).cloned())
    }

    async fn recoveries(&self, operations: &[OperationId]) -> Result<Vec<Recovery>, StoreFault> {
        let tables = self.tables();
        Ok(operations.iter().filter_map(|operation| tables.recoveries.get(operation).cloned()).collect())
    }

    async fn claim_recoveries(
        &self,
        destination: &str,
        now: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreFault> {
        let mut tables = self.tables();
        let mut due: Vec<&mut Recovery> = tables
            .recoveries
            .values_mut()
            .filter(|recovery| recovery.destination == destination && recovery.exhausted_at.is_none())
            .filter(|recovery| recovery.due_at <= now && !recovery.is_claimed(now))
            .collect();
        due.sort_by_key(|recovery| (recovery.due_at, recovery.operation));
        let claimed = due.into_iter().take(limit as usize).map(|recovery| {
            recovery.claim = Some(claim.clone());
            recovery.operation
        });
        Ok(claimed.collect())
    }

    async fn release_recoveries(&self, operations: &[OperationId], by: &str) -> Result<(), StoreFault> {
        for recovery in self.tables().recoveries.values_mut() {
            let is_ours = recovery.claim.as_ref().is_some_and(|claim| claim.by == by);
            if is_ours && operations.contains(&recovery.operation) {
                recovery.claim = None;
            }
        }
        Ok(())
    }

    async fn hasten_recovery(&self, operation: OperationId, now: Timestamp) -> Result<bool, StoreFault> {
        let mut tables = self.tables();
        let recovery = tables.recoveries.get_mut(&operation).filter(|recovery| !recovery.is_claimed(now));
        let Some(recovery) = recovery else { return Ok(false) };
        *recovery = recovery.clone().asked_for(now);
        Ok(true)
    }

    async fn without_recovery(
        &self,
        workflow: &str,
        destination: &str,
        after: OperationId,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let tables = self.tables();
        let is_there = |operation: &Operation| {
            tables.recoveries.get(&operation.id).is_some_and(|recovery| recovery.destination == destination)
        };
        let lacking = tables.operations.values().filter(|operation| {
            operation.state.name() == StateName::Unknown
                && operation.key.workflow.as_str() == workflow
                && operation.id > after
                && !is_there(operation)
        });
        Ok(lacking.take(limit as usize).cloned().collect())
    }

    async fn add_recoveries(&self, recoveries: Vec<Recovery>) -> Result<(), StoreFault> {
        let mut tables = self.tables();
        for recovery in recoveries {
            let is_unknown =
                tables.operations.get(&recovery.operation).is_some_and(|held| held.state.name() == StateName::Unknown);
            if is_unknown {
                let destination = recovery.destination.clone();
                tables.recoveries.entry(recovery.operation).or_insert(recovery).destination = destination;
            }
        }
        Ok(())
    }

    async fn drop_recovery(&self, operation: OperationId) -> Result<(), StoreFault> {
        self.tables().recoveries.remove(&operation);
        Ok(())
    }

    async fn recovering(&self, reach: &Reach, most: u32) -> Result<Recovering, StoreFault> {
        let tables = self.tables();
        let within = |recovery: &&Recovery| is_within(reach, &tables.operations[&recovery.operation]);
        let (exhausted, waiting): (Vec<&Recovery>, Vec<&Recovery>) =
            tables.recoveries.values().filter(within).partition(|recovery| recovery.exhausted_at.is_some());
        let number = |recoveries: Vec<&Recovery>| u32::try_from(recoveries.len()).unwrap().min(most);
        let (waiting, exhausted) = (number(waiting), number(exhausted));
        Ok(Recovering { waiting, exhausted, is_cut: waiting.max(exhausted) == most })
    }

    async fn accesses(&self) -> Result<Vec<Access>, StoreFault> {
        Ok(self.tables().accesses.values().cloned().collect())
    }

    async fn put_access(&self, access: &Access) -> Result<Replaced, StoreFault> {
        let mut tables = self.tables();
        let held = tables.accesses.get(&access.destination).map_or(0, |held| held.version);
        if held + 1 != access.version {
            return Ok(Replaced::Stale);
        }
        tables.accesses.insert(access.destination.clone(), access.clone());
        Ok(Replaced::Replaced)
    }
}

fn is_within(reach: &Reach, operation: &Operation) -> bool {
    reach.company(operation.key.company.as_str()) && reach.workflow(operation.key.workflow.as_str())
}

fn matches(filter: &Filter, operation: &Operation) -> bool {
    let key = &operation.key;
    let is = |wanted: &Option<String>, held: &str| wanted.as_deref().is_none_or(|wanted| wanted == held);
    is(&filter.workflow, key.workflow.as_str())
        && is(&filter.company, key.company.as_str())
        && is(&filter.source_system, key.source_system.as_str())
        && is(&filter.document, key.document.as_str())
        && is(&filter.action, key.action.as_str())
        && (filter.states.is_empty() || filter.states.contains(&operation.state.name()))
        && (!filter.with_open_conflicts || operation.open_conflicts > 0)
        && filter.from.is_none_or(|from| operation.created_at >= from)
        && filter.to.is_none_or(|to| operation.created_at < to)
        && filter.worker.as_ref().is_none_or(|worker| {
            operation.attempt.as_ref().is_some_and(|attempt| attempt.worker.as_ref() == Some(worker))
        })
        && filter.stake_from.is_none_or(|from| stake(operation).is_some_and(|stake| stake >= from))
        && filter.stake_to.is_none_or(|to| stake(operation).is_some_and(|stake| stake <= to))
        && match &filter.sought {
            None => true,
            Some(Sought::Operation(id)) => operation.id == *id,
            Some(Sought::Named(name)) => {
                key.document.as_str() == name || operation.state.destination_reference() == Some(name)
            }
        }
}

fn stake(operation: &Operation) -> Option<i64> {
    operation.money.as_ref().map(guard::money::Money::stake)
}

#[async_trait]
impl Registry for Memory {
    async fn catalogue(&self) -> Result<Catalogue, StoreFault> {
        Ok(self.tables().catalogue.clone())
    }

    async fn epoch(&self) -> Result<u64, StoreFault> {
        Ok(self.tables().catalogue.epoch)
    }

    async fn administration_head(&self) -> Result<(u64, ChainHash), StoreFault> {
        let happens = self.before_head.lock().unwrap().take();
        if let Some(happens) = happens {
            happens.await;
        }
        let tables = self.tables();
        Ok(tables.administration.last().map_or((0, ChainHash::START), |entry| (entry.sequence, entry.hash)))
    }

    async fn administration_entries(&self, after: u64, limit: u32) -> Result<Vec<Entry>, StoreFault> {
        let tables = self.tables();
        Ok(tables.administration.iter().filter(|entry| entry.sequence > after).take(limit as usize).cloned().collect())
    }

    async fn administer(&self, acts: Vec<(Act, Entry)>) -> Result<Administered, StoreFault> {
        self.write(|tables| tables.administer(&acts)).await
    }

    async fn token_by_digest(&self, digest: &[u8; 32]) -> Result<Option<Token>, StoreFault> {
        Ok(self.tables().tokens.iter().find(|(_, held)| held == digest).map(|(token, _)| token.clone()))
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreFault> {
        Ok(self.tables().tokens.iter().rev().map(|(token, _)| token.clone()).collect())
    }

    async fn person_by_email(&self, email: &str) -> Result<Option<(Person, String)>, StoreFault> {
        Ok(self.tables().people.iter().find(|(person, _)| person.email == email).cloned())
    }

    async fn person(&self, id: PersonId) -> Result<Option<Person>, StoreFault> {
        Ok(self.tables().people.iter().find(|(person, _)| person.id == id).map(|(person, _)| person.clone()))
    }

    async fn people(&self) -> Result<Vec<Person>, StoreFault> {
        let mut people: Vec<Person> = self.tables().people.iter().map(|(person, _)| person.clone()).collect();
        people.sort_by(|left, right| left.email.cmp(&right.email));
        Ok(people)
    }
}
