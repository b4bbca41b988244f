//! Lost answers become known: what lookups at the destination show, and when the next one is due.

use chrono::TimeDelta;

use super::{Guard, TRIES_MAX, Transition, contended, integer, text};
use crate::access::{Access, Down, Room};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::decision::Decision;
use crate::destination::Destination;
use crate::event::Event;
use crate::id::OperationId;
use crate::json::Json;
use crate::lookup::{Candidate, Difference, Finding, Looked};
use crate::operation::Operation;
use crate::payload::Payload;
use crate::person::Person;
use crate::queue::PAGE_ROWS_MAX;
use crate::recovery::{Answer, Claim, NEGATIVES_APART_SECONDS, Recovery, Step};
use crate::refusal::Refusal;
use crate::state::{State, StateName};
use crate::store::{RecoveryChange, Replaced};
use crate::summary::{Count, Counted, LOOKED_FOR_COUNTED_MAX, Recovering, UNCERTAIN_COUNTED_MAX};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};
use crate::workflow::Workflow;

/// Everything that a lookup needs to know.
#[derive(Clone, Debug)]
pub struct Sought {
    /// The operation.
    pub operation: Operation,
    /// Its payload; none where it was dropped.
    pub payload: Option<Payload>,
    /// Its workflow.
    pub workflow: Workflow,
    /// The destination that is asked.
    pub destination: Destination,
}

/// How recovery of an unknown operation stands, for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outlook {
    /// Nobody can ask: the workflow names no destination, or the destination has no lookup.
    NoLookup,
    /// It was looked for long enough; a person decides.
    Exhausted {
        /// The schedule as it stands.
        recovery: Box<Recovery>,
        /// What lookups in vain prove.
        proof: Proof,
    },
    /// It is looked for again and again.
    Waiting {
        /// The schedule as it stands.
        recovery: Box<Recovery>,
        /// What lookups in vain prove.
        proof: Proof,
        /// The next lookup; not before the destination may be asked.
        next_at: Timestamp,
        /// Why the destination is asked less, where it is down.
        down: Option<Down>,
    },
}

/// What lookups in vain prove at the moment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Nothing, ever: the destination names no finality window.
    Never,
    /// Nothing before this moment.
    From {
        /// The end of the finality window.
        at: Timestamp,
    },
    /// One was in vain; the next one in vain is proof, from this moment on.
    OneMore {
        /// When it may be.
        from: Timestamp,
    },
    /// Two in vain are needed from now on.
    Two,
    /// Nothing: the destination said that there is such a record already.
    Contradicted {
        /// When it said so.
        at: Timestamp,
    },
}

impl Guard {
    /// What becomes of the recovery of an operation that comes into a state.
    pub(super) fn recovery_after(&self, operation: &Operation, state: &State, at: Timestamp) -> RecoveryChange {
        let was_unknown = operation.state.name() == StateName::Unknown;
        let is_unknown = state.name() == StateName::Unknown;
        match (was_unknown, is_unknown) {
            (true, true) | (false, false) => RecoveryChange::Keep,
            (true, false) => RecoveryChange::End,
            // What a destination shows of a record that is to be gone says nothing by our rules: a person looks.
            (false, true) if self.is_key_of_reversal(&operation.key) => RecoveryChange::Keep,
            (false, true) => {
                let catalogue = self.catalogue();
                // Where there is none yet, `adopt_unknown` adds it once one is configured.
                catalogue.destination_to_ask(operation.key.workflow.as_str()).map_or(
                    RecoveryChange::Keep,
                    |destination| {
                        let recovery = starting(operation, &destination.name, at);
                        RecoveryChange::Schedule(Box::new(recovery))
                    },
                )
            }
        }
    }

    /// What becomes of the recovery of an operation of which a report says that it may have been written until now.
    pub(super) async fn written_until(&self, operation: &Operation, at: Timestamp) -> Result<RecoveryChange, Refusal> {
        if operation.state.name() != StateName::Unknown {
            return Ok(RecoveryChange::Keep);
        }
        let recovery = self.inner.store.recovery(operation.id).await?;
        Ok(recovery
            .map_or(RecoveryChange::Keep, |recovery| RecoveryChange::Schedule(Box::new(recovery.written_until(at)))))
    }

    /// Refuses to take an operation as not applied while its destination may still be about to show the record.
    pub(super) async fn refuse_before_final(&self, operation: &Operation, now: Timestamp) -> Result<(), Refusal> {
        let recovery = self.inner.store.recovery(operation.id).await?;
        let finality = self.finality(operation);
        let open_until = recovery.and_then(|recovery| recovery.final_at(finality)).filter(|final_at| now < *final_at);
        match open_until {
            None => Ok(()),
            Some(final_at) => Err(Refusal::Impossible {
                state: operation.state.name(),
                what: format!(
                    "decided as not applied before {}: until then the destination may still show a record that was written last",
                    rfc3339(final_at)
                )
                .into(),
            }),
        }
    }

    /// Claims unknown operations that are due at a destination, for a while; at most `limit`.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn claim_recoveries(
        &self,
        destination: &str,
        by: &str,
        span: TimeDelta,
        limit: u32,
    ) -> Result<Vec<OperationId>, Refusal> {
        let now = self.now();
        let claim = Claim { by: by.to_owned(), until: now + span };
        Ok(self.inner.store.claim_recoveries(destination, now, &claim, limit).await?)
    }

    /// Gives back what was claimed and will not be looked for.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn release_recoveries(&self, operations: &[OperationId], by: &str) -> Result<(), Refusal> {
        Ok(self.inner.store.release_recoveries(operations, by).await?)
    }

    /// What is to be looked for, where the operation is still unknown and its destination can still be asked.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn sought(&self, id: OperationId) -> Result<Option<Sought>, Refusal> {
        let Some(operation) = self.inner.store.operation(id).await? else { return Ok(None) };
        if operation.state.name() != StateName::Unknown {
            self.inner.store.drop_recovery(id).await?;
            return Ok(None);
        }
        let catalogue = self.catalogue();
        let name = operation.key.workflow.as_str();
        let known = catalogue.workflows.get(name).zip(catalogue.destination_to_ask(name));
        let Some((workflow, destination)) = known else { return Ok(None) };
        let (workflow, destination) = (workflow.workflow.clone(), destination.clone());
        let payload = self.stored_payload(&operation).await?;
        Ok(Some(Sought { operation, payload, workflow, destination }))
    }

    /// Takes in what a look at the destination showed that was begun at `asked_at`: one entry of the trail, the state that follows,
    /// and the next lookup. Answers the operation as it is then.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], [`Refusal::Impossible`] where nothing was ever sent, the store's fault.
    pub async fn looked_up(&self, id: OperationId, asked_at: Timestamp, looked: &Looked) -> Result<Operation, Refusal> {
        self.take_in(id, asked_at, looked, None).await
    }

    /// Refuses a person who wants the destination to be asked right now about what is disputed, where they may not or where
    /// nothing could be said of it. Nobody looks for it by itself: a person decides, and a look is a fact for them.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::Impossible`] where it is not disputed or cannot be asked about.
    pub fn may_look(&self, person: &Person, operation: &Operation) -> Result<(), Refusal> {
        may_ask(person)?;
        let impossible = |what: &'static str| Refusal::Impossible { state: operation.state.name(), what: what.into() };
        if operation.state.name() != StateName::Disputed {
            return Err(impossible("looked up"));
        }
        if self.is_key_of_reversal(&operation.key) {
            return Err(impossible("looked up: it takes a record back, and a lookup says nothing of that"));
        }
        match self.catalogue().destination_to_ask(operation.key.workflow.as_str()) {
            Some(_) => Ok(()),
            None => Err(impossible("looked up: its destination has no lookup")),
        }
    }

    /// Takes in what a look showed that a person asked for of what is disputed: an entry in their name. It stays disputed, whatever
    /// was found.
    ///
    /// # Errors
    /// As for [`Guard::may_look`]; [`Refusal::NotFound`], the store's fault.
    pub async fn looked_at(
        &self,
        person: &Person,
        id: OperationId,
        asked_at: Timestamp,
        looked: &Looked,
    ) -> Result<Operation, Refusal> {
        self.take_in(id, asked_at, looked, Some(person)).await
    }

    async fn take_in(
        &self,
        id: OperationId,
        asked_at: Timestamp,
        looked: &Looked,
        person: Option<&Person>,
    ) -> Result<Operation, Refusal> {
        let mut tried = None;
        for _ in 0..TRIES_MAX {
            let operation = match person {
                None => self.inner.store.operation(id).await?.ok_or_else(|| Refusal::not_found("operation"))?,
                Some(person) => self.reachable(&person.reach, id).await?,
            };
            if tried == Some(operation.head) {
                // A store that lost its own answer and tried again met this very entry.
                return Ok(operation);
            }
            if let Some(person) = person {
                self.may_look(person, &operation)?;
            }
            let at = self.now();
            // Behind the operation: whatever changes it since makes this change stale.
            let recovery = self.inner.store.recovery(id).await?;
            let recovery = recovery.filter(|_| operation.state.name() == StateName::Unknown);
            // A record that is changed in place may keep the reference of the revision before it: not to find the new one is no proof.
            let finality = if self.amends_in_place(&operation).await? { None } else { self.finality(&operation) };
            let random = self.inner.entropy.bytes();
            let step = recovery.map(|recovery| recovery.after(&looked.finding, asked_at, at, finality, random));
            let absence = step.as_ref().and_then(|step| step.absence);
            let event = Event::LookedUp { at, finding: looked.finding.clone(), absence };
            let state = operation.state.after(&event)?;
            let facts = lookup_facts(&operation, &state, asked_at, looked, step.as_ref());
            let actor = person.map_or(Actor::Recovery, |person| Actor::Person { email: person.email.clone() });
            let transition = Transition { state, at, actor, kind: EntryKind::LookedUp, facts };
            let mut replacement = self.change(&operation, transition).await?;
            if let (Some(step), RecoveryChange::Keep) = (step, &replacement.recovery) {
                replacement.recovery = RecoveryChange::Schedule(Box::new(step.recovery));
            }
            let key = &operation.key;
            let counted = Counted::LookedUp(Answer::of(&looked.finding));
            replacement.counts.push(Count::one(key.workflow.as_str(), key.company.as_str(), counted, at, None));
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(changed);
            }
            tried = Some(changed.head);
        }
        Err(contended())
    }

    /// Gives unknown operations a recovery whose destination became one that can be asked; answers how many. Looks at every unknown
    /// operation that has none.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn adopt_unknown(&self) -> Result<usize, Refusal> {
        let catalogue = self.catalogue();
        let store = &self.inner.store;
        let mut adopted = 0;
        for name in catalogue.workflows.keys() {
            let Some(destination) = catalogue.destination_to_ask(name) else { continue };
            let mut after = OperationId::from_u128(0);
            loop {
                let found = store.without_recovery(name, &destination.name, after, PAGE_ROWS_MAX).await?;
                let Some(last) = found.last() else { break };
                after = last.id;
                let found: Vec<&Operation> = found.iter().filter(|held| !self.is_key_of_reversal(&held.key)).collect();
                adopted += found.len();
                let now = self.now();
                let recoveries = found.iter().map(|operation| starting(operation, &destination.name, now));
                store.add_recoveries(recoveries.collect()).await?;
            }
        }
        Ok(adopted)
    }

    /// A person asks that an unknown operation is looked for now, also where recovery had given up. The lookup itself follows within
    /// the destination's limits.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] where it is not unknown, cannot be asked for or
    /// is being looked for, the store's fault.
    pub async fn look_up_now(&self, person: &Person, id: OperationId) -> Result<Outlook, Refusal> {
        may_ask(person)?;
        let operation = self.reachable(&person.reach, id).await?;
        let impossible =
            |what: &'static str| Err(Refusal::Impossible { state: operation.state.name(), what: what.into() });
        if operation.state.name() != StateName::Unknown {
            return impossible("looked up");
        }
        if !self.inner.store.hasten_recovery(id, self.now()).await? {
            return match self.inner.store.recovery(id).await? {
                Some(_) => impossible("looked up twice at once: a lookup is under way"),
                None => impossible("looked up: its destination has no lookup"),
            };
        }
        self.outlook(&operation).await?.ok_or_else(|| Refusal::not_found("recovery"))
    }

    /// How recovery of an operation stands; none where it is not unknown.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn outlook(&self, operation: &Operation) -> Result<Option<Outlook>, Refusal> {
        Ok(self.outlooks(std::slice::from_ref(operation)).await?.pop().flatten())
    }

    /// How recovery of each operation of a page stands, in their order; none where one is not unknown.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn outlooks(&self, operations: &[Operation]) -> Result<Vec<Option<Outlook>>, Refusal> {
        let is_unknown = |operation: &&Operation| operation.state.name() == StateName::Unknown;
        let unknown: Vec<OperationId> = operations.iter().filter(is_unknown).map(|operation| operation.id).collect();
        if unknown.is_empty() {
            return Ok(operations.iter().map(|_| None).collect());
        }
        let mut recoveries = self.inner.store.recoveries(&unknown).await?;
        let accesses = self.inner.store.accesses().await?;
        let now = self.now();
        let mut outlook = |operation: &Operation| {
            let catalogue = self.catalogue();
            catalogue.destination_to_ask(operation.key.workflow.as_str())?;
            let found = recoveries.iter().position(|recovery| recovery.operation == operation.id)?;
            let recovery = recoveries.swap_remove(found);
            let access = accesses.iter().find(|access| access.destination == recovery.destination);
            Some(outlook_of(recovery, access, self.finality(operation), now))
        };
        let of =
            |operation: &Operation| is_unknown(&operation).then(|| outlook(operation).unwrap_or(Outlook::NoLookup));
        Ok(operations.iter().map(of).collect())
    }

    /// When the destination of an uncertain operation is looked at next, for whoever is told to wait; none where nobody looks, and where
    /// that cannot be told right now: the decision stands without it.
    pub async fn next_look(&self, decision: &Decision) -> Option<Timestamp> {
        let operation = match decision {
            Decision::Unknown { operation } => operation,
            Decision::Proceed { .. }
            | Decision::Replay { .. }
            | Decision::Superseded { .. }
            | Decision::InProgress { .. }
            | Decision::AwaitingApproval { .. }
            | Decision::ApprovalMissing { .. }
            | Decision::PreviousRevision { .. }
            | Decision::Rejected { .. }
            | Decision::Conflict { .. } => return None,
        };
        match self.outlook(operation).await.ok().flatten()? {
            Outlook::Waiting { next_at, .. } => Some(next_at),
            Outlook::Exhausted { .. } | Outlook::NoLookup => None,
        }
    }

    /// How many unknown operations are looked for, and how many no longer are, within reach, counted up to
    /// [`UNCERTAIN_COUNTED_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn recovering(&self, reach: &Reach) -> Result<Recovering, Refusal> {
        Ok(self.inner.store.recovering(reach, UNCERTAIN_COUNTED_MAX).await?)
    }

    /// As [`Self::recovering`], counted up to [`LOOKED_FOR_COUNTED_MAX`], as it stands above a list.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn recovering_above(&self, reach: &Reach) -> Result<Recovering, Refusal> {
        Ok(self.inner.store.recovering(reach, LOOKED_FOR_COUNTED_MAX).await?)
    }

    /// How each destination that was asked before may be asked at present.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn accesses(&self) -> Result<Vec<Access>, Refusal> {
        Ok(self.inner.store.accesses().await?)
    }

    /// Takes the one probe of a destination that is down; false where somebody else took it, or knows more of the destination.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn take_probe(&self, access: &Access) -> Result<bool, Refusal> {
        let now = self.now();
        if access.room(now) != Room::Probe {
            return Ok(false);
        }
        let probed = access.probed(now, self.inner.entropy.bytes());
        Ok(self.inner.store.put_access(&probed).await? == Replaced::Replaced)
    }

    /// Reserves moments for so many lookups at a destination, over all processes; answers the first, and the span between two.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn pace(
        &self,
        destination: &str,
        lookups: u32,
        per_second: u32,
    ) -> Result<(Timestamp, TimeDelta), Refusal> {
        for _ in 0..TRIES_MAX {
            let (first, span, paced) = self.access(destination).await?.paced(self.now(), lookups, per_second);
            if self.inner.store.put_access(&paced).await? == Replaced::Replaced {
                return Ok((first, span));
            }
        }
        Err(contended())
    }

    /// Takes note of how a destination answered: whether it is down, or up again.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn answered(&self, destination: &str, looked: &Looked) -> Result<(), Refusal> {
        let reason = match &looked.finding {
            Finding::Inconclusive { reason, .. } => reason.as_str(),
            Finding::Found { .. }
            | Finding::Differs { .. }
            | Finding::Several { .. }
            | Finding::VoidOnly { .. }
            | Finding::Absent => "",
        };
        self.destination_answered(destination, Answer::of(&looked.finding), reason).await
    }

    /// Takes note of an answer of a destination, in whatever it was asked: whether it is down, or up again.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn destination_answered(&self, destination: &str, answer: Answer, reason: &str) -> Result<(), Refusal> {
        for _ in 0..TRIES_MAX {
            let access = self.access(destination).await?;
            let Some(after) = access.answered(answer, reason, self.now(), self.inner.entropy.bytes()) else {
                return Ok(());
            };
            if self.inner.store.put_access(&after).await? == Replaced::Replaced {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// How a destination may be asked at present.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn access(&self, destination: &str) -> Result<Access, Refusal> {
        let known = self.inner.store.accesses().await?;
        let found = known.into_iter().find(|access| access.destination == destination);
        Ok(found.unwrap_or_else(|| Access::fresh(destination.to_owned())))
    }

    /// How long after the last possible write a lookup in vain is proof, where the operation's destination says so.
    fn finality(&self, operation: &Operation) -> Option<TimeDelta> {
        let catalogue = self.catalogue();
        let destination = catalogue.destination_to_ask(operation.key.workflow.as_str())?;
        destination.finality_seconds.map(|seconds| TimeDelta::seconds(seconds.into()))
    }
}

/// The recovery of an operation that becomes unknown at a moment, or was found to be so: a write was possible until its lease ended,
/// until it was reported, or, where that is not known any more, until it became unknown.
fn starting(operation: &Operation, destination: &str, at: Timestamp) -> Recovery {
    let last_write_at = match &operation.state {
        State::Unknown { since, .. } => *since,
        State::Acquired { lease_expires_at } | State::Sending { lease_expires_at, .. } => at.min(*lease_expires_at),
        State::AwaitingApproval
        | State::Rejected { .. }
        | State::Released { .. }
        | State::Failed { .. }
        | State::Confirmed { .. }
        | State::Disputed { .. } => at,
    };
    Recovery::starting(operation.id, destination.to_owned(), at, last_write_at)
}

fn may_ask(person: &Person) -> Result<(), Refusal> {
    if person.role.may_resolve() {
        Ok(())
    } else {
        Err(Refusal::Forbidden { reason: "asking for a lookup needs the role operator or admin".to_owned() })
    }
}

fn outlook_of(recovery: Recovery, access: Option<&Access>, finality: Option<TimeDelta>, now: Timestamp) -> Outlook {
    let proof = match (recovery.first_negative_at, recovery.final_at(finality), recovery.exists_at) {
        (_, None, _) => Proof::Never,
        (None, Some(final_at), _) if now < final_at => Proof::From { at: final_at },
        (_, Some(_), Some(at)) => Proof::Contradicted { at },
        (Some(first), Some(_), None) => Proof::OneMore { from: first + TimeDelta::seconds(NEGATIVES_APART_SECONDS) },
        (None, Some(_), None) => Proof::Two,
    };
    let recovery = Box::new(recovery);
    if recovery.exhausted_at.is_some() {
        return Outlook::Exhausted { recovery, proof };
    }
    let down = access.and_then(|access| access.down.clone());
    let next_at = down.as_ref().map_or(recovery.due_at, |down| recovery.due_at.max(down.probe_at));
    Outlook::Waiting { recovery, proof, next_at, down }
}

/// The facts of a lookup. Of the destination's records only references are kept, and of the payload only the key fields that differ:
/// they are what the decision rests on.
fn lookup_facts(
    operation: &Operation,
    state: &State,
    asked_at: Timestamp,
    looked: &Looked,
    step: Option<&Step>,
) -> Json {
    let Looked { request, status, pages, took_milliseconds, finding, candidates } = looked;
    let (references, differences, class, reason) = match finding {
        Finding::Found { destination_reference } => (std::slice::from_ref(destination_reference), None, None, None),
        Finding::Differs { destination_reference, differences } => {
            (std::slice::from_ref(destination_reference), Some(differences), None, None)
        }
        Finding::Several { destination_references } | Finding::VoidOnly { destination_references } => {
            (destination_references.as_slice(), None, None, None)
        }
        Finding::Absent => (&[][..], None, None, None),
        Finding::Inconclusive { class, reason } => (&[][..], None, Some(*class), Some(reason)),
    };
    let moves = state.name() != operation.state.name();
    let proof = step.and_then(|step| step.absence).map(|absence| absence.reason());
    let next = step.filter(|_| !moves).map(|step| &step.recovery);
    detail([
        ("attempt", Some(integer(operation.attempt_number()))),
        ("request", Some(text(request))),
        ("asked_at", Some(text(&rfc3339(asked_at)))),
        ("status", status.map(integer)),
        ("pages", Some(integer(*pages))),
        ("took_milliseconds", Some(integer(i64::try_from(*took_milliseconds).unwrap_or(i64::MAX)))),
        ("finding", Some(text(finding.as_str()))),
        ("class", class.map(|class| text(class.as_str()))),
        ("reason", reason.or(proof.as_ref()).map(|reason| text(reason))),
        // Of the state alone: what was merely found stands under `found`.
        ("destination_reference", state.destination_reference().filter(|_| moves).map(text)),
        ("found", (!references.is_empty()).then(|| Json::Array(references.iter().map(|found| text(found)).collect()))),
        ("differences", differences.map(|differences| Json::Array(differences.iter().map(difference).collect()))),
        ("candidates", (!candidates.is_empty()).then(|| Json::Array(candidates.iter().map(candidate).collect()))),
        ("counts_towards_proof", step.filter(|step| step.is_negative).map(|_| Json::Bool(true))),
        ("next_at", next.filter(|next| next.exhausted_at.is_none()).map(|next| text(&rfc3339(next.due_at)))),
        ("exhausted", next.filter(|next| next.exhausted_at.is_some()).map(|_| Json::Bool(true))),
    ])
}

fn difference(difference: &Difference) -> Json {
    detail([
        ("payload", Some(text(&difference.payload.to_string()))),
        ("record", Some(text(&difference.record))),
        ("ours", difference.ours.clone()),
        ("theirs", difference.theirs.clone()),
    ])
}

fn candidate(candidate: &Candidate) -> Json {
    detail([
        ("external_reference", Some(text(&candidate.external_reference))),
        ("destination_reference", candidate.destination_reference.as_deref().map(text)),
    ])
}
