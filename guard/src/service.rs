//! The guard: the one place where decisions are made and states are changed.
//!
//! Every change is a compare-and-set on the operation's version, together with its trail entry. When somebody else moved first, the
//! operation is loaded and decided again.

mod activity;
mod administration;
mod adoption;
mod amendment;
mod begin;
mod call;
mod conflict;
mod desk;
mod founding;
mod grant;
mod lists;
mod look_alike;
mod message;
mod notification;
mod pack;
mod period;
mod proof;
mod pull;
mod reconciliation;
mod recovery;
mod report;
mod retention;
mod reversal;
mod review;
mod rules;
mod sides;
mod totals;
mod triage;
mod what_if;

use std::sync::{Arc, PoisonError, RwLock};

pub use administration::{Applied, Change as AppliedChange, Definitions};
pub use adoption::{Adoption, CandidateRuling};
pub use amendment::{Amendable, AmendmentReport, Approving, Proposer};
pub use begin::{BeginRequest, LABEL_CHARACTERS_MAX};
pub use conflict::{
    ConflictReport, ConflictSettled, Neighbours, PAST_CONFLICTS_MAX, REVISIONS_LISTED_MAX, SeenConflict, Version,
    Versions,
};
pub use desk::History;
pub use lists::Exported;
pub use pack::{PACK_ENTRIES_MAX, Pack, PackedEntry, PackedVersion};
pub use period::Signing;
pub use reconciliation::{ReconcileRequest, Reconciliation, Records};
pub use recovery::{Outlook, Proof, Sought};
pub use report::Report;
pub use retention::SeenOperation;
pub use reversal::AskedReversal;
pub use review::{NewEvidence, Settled, Standing};
pub use sides::{Sides, VALUES_TOLD_MAX};
pub use triage::TriagePage;
pub use what_if::ReadRecord;

use crate::actor::Actor;
use crate::clock::{Clock, Entropy, Timestamp};
use crate::event::Event;
use crate::id::OperationId;
use crate::json::Json;
use crate::key::OperationKey;
use crate::operation::Operation;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::{Refusal, StoreFault};
use crate::retention::HoldChange;
use crate::review::ReviewChange;
use crate::state::{State, StateName};
use crate::store::{
    AmendmentChange, Catalogue, RecoveryChange, Registry, Replaced, Replacement, Store, VersionedWorkflow,
};
use crate::summary::{Count, Counted, SettledBy, TruthWithin};
use crate::token::{Reach, Scope, Token};
use crate::trail::{Entry, EntryKind, detail};
use crate::view::OperationView;
use crate::workflow;

/// A record that moves under this many tries in a row is answered as contended; nothing was decided then.
pub const TRIES_MAX: u32 = 64;

/// The guard. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Guard {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    catalogue: RwLock<Arc<Catalogue>>,
    totals: RwLock<totals::Totals>,
}

impl Guard {
    /// A guard over these stores, this clock and this randomness, with the catalogue as it is now.
    ///
    /// # Errors
    /// The store's fault, where the catalogue cannot be read.
    pub async fn open(
        store: Arc<dyn Store>,
        registry: Arc<dyn Registry>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, StoreFault> {
        let catalogue = RwLock::new(Arc::new(registry.catalogue().await?));
        let totals = RwLock::default();
        Ok(Self { inner: Arc::new(Inner { store, registry, clock, entropy, catalogue, totals }) })
    }

    /// The present moment, by the guard's clock.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// What is configured, as this process last saw it.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.inner.catalogue.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the catalogue again where another process has changed it.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn refresh(&self) -> Result<(), StoreFault> {
        if self.inner.registry.epoch().await? != self.catalogue().epoch {
            let fresh = Arc::new(self.inner.registry.catalogue().await?);
            *self.inner.catalogue.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
        Ok(())
    }

    /// The operation as everybody may see it.
    pub fn view(&self, operation: &Operation) -> OperationView {
        let catalogue = self.catalogue();
        let known = catalogue.workflows.get(operation.key.workflow.as_str());
        let description = known.and_then(|known| known.workflow.description.as_deref());
        OperationView::of(operation, workflow::sentence(description, &operation.key))
    }

    /// Ends every lease that is over; answers how many this call ended. At most `limit` at a time.
    ///
    /// # Errors
    /// The store's fault; where it concerns one operation only, after the others were ended.
    pub async fn expire_due(&self, limit: u32) -> Result<usize, Refusal> {
        let due = self.inner.store.expired(self.now(), limit).await?;
        let mut ended = 0;
        let mut fault = None;
        for operation in due {
            match self.expire(&operation).await {
                Ok(Replaced::Replaced) => ended += 1,
                Ok(Replaced::Stale) => {}
                Err(refusal @ Refusal::Store(StoreFault::Unavailable | StoreFault::Full)) => return Err(refusal),
                Err(refusal) => fault = fault.or(Some(refusal)),
            }
        }
        fault.map_or(Ok(ended), Err)
    }

    /// The workflow, for a token that may write in it.
    ///
    /// # Errors
    /// The token does not reach it, there is none, the store's fault.
    pub async fn workflow_for(&self, token: &Token, name: &str) -> Result<Arc<VersionedWorkflow>, Refusal> {
        if !token.reach.workflow(name) {
            return Err(Refusal::Forbidden { reason: format!("this token does not reach the workflow {name:?}") });
        }
        self.workflow_in_force(name, &token.reach).await
    }

    /// The workflow as it is in force; where there is none, the refusal names those within reach.
    async fn workflow_in_force(&self, name: &str, reach: &Reach) -> Result<Arc<VersionedWorkflow>, Refusal> {
        let find = || self.catalogue().workflows.get(name).filter(|known| !known.is_retired).cloned();
        if let Some(workflow) = find() {
            return Ok(workflow);
        }
        self.refresh().await?;
        find().ok_or_else(|| Refusal::UnknownWorkflow {
            name: name.to_owned(),
            known: self.workflow_names(reach),
            is_retired: self.catalogue().workflows.contains_key(name),
        })
    }

    fn workflow_names(&self, reach: &Reach) -> Vec<String> {
        let catalogue = self.catalogue();
        let names = catalogue.workflows.iter().filter(|(_, known)| !known.is_retired).map(|(name, _)| name);
        names.filter(|name| reach.workflow(name)).cloned().collect()
    }

    /// The operation, where it lies within reach; a lease that is over has been ended.
    async fn reachable(&self, reach: &Reach, id: OperationId) -> Result<Operation, Refusal> {
        for _ in 0..TRIES_MAX {
            let found = self.inner.store.operation(id).await?;
            let operation =
                found.filter(|operation| reach.key(&operation.key)).ok_or_else(|| Refusal::not_found("operation"))?;
            if !operation.state.lease_is_over(self.now()) {
                return Ok(operation);
            }
            self.expire(&operation).await?;
        }
        Err(contended())
    }

    /// The latest entries of an operation's trail, at most [`PAGE_ROWS_MAX`], oldest first.
    async fn latest_entries(&self, operation: &Operation) -> Result<Vec<Entry>, Refusal> {
        let after = operation.version.saturating_sub(PAGE_ROWS_MAX.into());
        Ok(self.inner.store.entries(operation.id, after, PAGE_ROWS_MAX).await?)
    }

    /// Ends a lease that is over: proof that nothing was sent, or uncertainty.
    async fn expire(&self, operation: &Operation) -> Result<Replaced, Refusal> {
        let at = self.now();
        let state = match operation.state.after(&Event::LeaseExpired { at }) {
            Ok(state) => state,
            // Extended or settled between the two reads: as good as somebody else's move.
            Err(_) => return Ok(Replaced::Stale),
        };
        let kind = if matches!(state, State::Released { .. }) { EntryKind::Released } else { EntryKind::Expired };
        let facts = detail([("attempt", Some(integer(operation.attempt_number())))]);
        let transition = Transition { state, at, actor: Actor::Sweeper, kind, facts };
        let replacement = self.change(operation, transition).await?;
        self.replace(replacement).await
    }

    /// The replacement that a transition makes, with all that follows from it. Reports, leases that end, lookups and people all come
    /// through here, so that the same state has the same consequences whoever brought it about.
    async fn change(&self, operation: &Operation, transition: Transition) -> Result<Replacement, Refusal> {
        let supersedes = if transition.state.name() == operation.state.name() {
            None
        } else {
            self.superseded_by(&operation.key, &transition.state).await?
        };
        let recovery = self.recovery_after(operation, &transition.state, transition.at);
        let amendment = self.amendment_after(operation, &transition.state, transition.at).await?;
        // What people did about it was about the state that it was in.
        let is_over = operation.state.is_uncertain() && transition.state.name() != operation.state.name();
        let review = if is_over { ReviewChange::End } else { ReviewChange::Keep };
        let contradicts = transition.state.name() == StateName::Disputed && !operation.state.is_uncertain();
        let contradicted = contradicts && self.was_decided_by_person(operation).await?;
        let at = transition.at;
        let mut replacement = Replacement { supersedes, recovery, review, amendment, ..transition.of(operation) };
        if contradicted {
            replacement.counts.push(count_of(operation, Counted::Contradicted, at));
        }
        Ok(replacement)
    }

    /// Whether what an operation was last held as, confirmed or failed, rests on the decision of a person.
    async fn was_decided_by_person(&self, operation: &Operation) -> Result<bool, Refusal> {
        let settled = [StateName::Confirmed, StateName::Failed].map(|state| text(state.as_str()));
        let entries = self.latest_entries(operation).await?;
        let last = entries.windows(2).rev().find_map(|pair| {
            let [before, entry] = pair else { return None };
            let state = entry.detail.member("state").filter(|state| settled.contains(state));
            state.filter(|state| before.detail.member("state") != Some(state)).map(|_| entry)
        });
        Ok(last.is_some_and(|entry| matches!(entry.kind, EntryKind::Resolved | EntryKind::CandidateConfirmed)))
    }

    /// The revision that an operation supersedes once it is confirmed, by whomever.
    async fn superseded_by(&self, key: &OperationKey, state: &State) -> Result<Option<OperationId>, Refusal> {
        if state.name() != StateName::Confirmed || key.revision < 2 {
            return Ok(None);
        }
        let previous = self.inner.store.operation_by_key(&key.at_revision(key.revision - 1)).await?;
        // Whoever takes back a record of one revision leaves what was taken back of another alone.
        Ok(match previous {
            Some(previous) if Box::pin(self.reversal_by(&previous)).await?.is_some() => None,
            previous => previous.map(|previous| previous.id),
        })
    }

    async fn replace(&self, mut replacement: Replacement) -> Result<Replaced, Refusal> {
        replacement.operation.content = replacement.content();
        let Operation { id, key, state, .. } = &replacement.operation;
        let reversal = (key.may_be_reversal() && state.name() == StateName::Confirmed).then_some(*id);
        let replaced = self.inner.store.replace(replacement).await?;
        if let (Replaced::Replaced, Some(reversal)) = (replaced, reversal) {
            Box::pin(self.tell_what_was_reversed(reversal)).await;
        }
        Ok(replaced)
    }

    /// The same for changes of different operations together, each for itself, in their order.
    async fn replace_each(&self, mut replacements: Vec<Replacement>) -> Result<Vec<Replaced>, Refusal> {
        let mut reversals = Vec::with_capacity(replacements.len());
        for replacement in &mut replacements {
            replacement.operation.content = replacement.content();
            let Operation { id, key, state, .. } = &replacement.operation;
            reversals.push((key.may_be_reversal() && state.name() == StateName::Confirmed).then_some(*id));
        }
        let replaced = self.inner.store.replace_all(replacements).await?;
        for (reversal, replaced) in reversals.into_iter().zip(&replaced) {
            if let (Some(reversal), Replaced::Replaced) = (reversal, replaced) {
                Box::pin(self.tell_what_was_reversed(reversal)).await;
            }
        }
        Ok(replaced)
    }
}

/// One change of an operation, before it is written.
struct Transition {
    state: State,
    at: Timestamp,
    actor: Actor,
    kind: EntryKind,
    facts: Json,
}

impl Transition {
    /// The replacement that this change makes of `operation`. The entry always tells the state that the change led to; a new
    /// state is counted.
    fn of(self, operation: &Operation) -> Replacement {
        let Self { state, at, actor, kind, facts } = self;
        let entered = state.name();
        let mut counts = Vec::new();
        if entered != operation.state.name() {
            counts.push(count_of(operation, Counted::Entered(entered), at));
        }
        // Whoever drops it brings no truth.
        if !state.is_uncertain()
            && entered != StateName::Rejected
            && let Some((since, by)) = operation.state.uncertain_since().zip(SettledBy::of(&actor))
        {
            let seconds = u64::try_from((at - since).num_seconds()).unwrap_or_default();
            counts.push(count_of(operation, Counted::Settled(by), at));
            counts.push(count_of(operation, Counted::Truth(TruthWithin::of(seconds)), at).without_money());
            counts.push(Count { number: seconds, ..count_of(operation, Counted::TruthSeconds, at).without_money() });
        }
        let mut members = vec![("state".to_owned(), text(entered.as_str()))];
        if let Json::Object(facts) = facts {
            members.extend(facts);
        }
        let entry = Entry::following((operation.version, operation.head), at, actor, kind, Json::Object(members));
        let operation =
            Operation { state, version: entry.sequence, head: entry.hash, updated_at: at, ..operation.clone() };
        Replacement {
            operation,
            entry,
            conflict: None,
            decided: None,
            evidence: None,
            file: None,
            response: None,
            supersedes: None,
            recovery: RecoveryChange::Keep,
            review: ReviewChange::Keep,
            reconciled: None,
            counts,
            amendment: AmendmentChange::Keep,
            payload: None,
            hold: HoldChange::Keep,
            dropped: None,
        }
    }
}

/// One of a kind, for an operation and its money.
fn count_of(operation: &Operation, counted: Counted, at: Timestamp) -> Count {
    let key = &operation.key;
    Count::one(key.workflow.as_str(), key.company.as_str(), counted, at, operation.money.as_ref())
}

fn text(value: &str) -> Json {
    Json::String(value.to_owned())
}

fn integer(value: impl Into<i64>) -> Json {
    Json::Number(crate::number::Number::from_integer(value.into()))
}

/// Refuses a page of no rows, or of more than there can be.
fn check_limit(limit: u32) -> Result<(), Refusal> {
    if (1..=PAGE_ROWS_MAX).contains(&limit) {
        Ok(())
    } else {
        Err(Refusal::field("limit", format!("is {limit}; 1 to {PAGE_ROWS_MAX} are possible")))
    }
}

fn contended() -> Refusal {
    StoreFault::Contended { tries: TRIES_MAX }.into()
}

fn require(token: &Token, scope: Scope) -> Result<(), Refusal> {
    if token.scopes.contains(&scope) {
        Ok(())
    } else {
        Err(Refusal::Forbidden { reason: format!("this token lacks the scope {}", scope.as_str()) })
    }
}
