//! Conflicts: which payloads there are of an operation, and what people decide about one that came under its key.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use super::amendment::Proposer;
use super::desk::HISTORY_ROWS_MAX;
use super::founding::Founding;
use super::report::check_text;
use super::review::checked_link;
use super::{Guard, TRIES_MAX, Transition, check_limit, contended, integer, text};
use crate::actor::Actor;
use crate::conflict::{
    Conflict, ConflictDecision, ConflictFilter, ConflictGroup, ConflictOrder, ConflictOutcome, ConflictRefusal,
    ConflictStanding, ConflictVerdict,
};
use crate::fingerprint::Fingerprint;
use crate::id::{AmendmentId, ConflictId, OperationId};
use crate::key::{KEY_PART_CHARACTERS_MAX, OperationKey, REVISION_MAX};
use crate::operation::{Operation, hexadecimal};
use crate::payload::Payload;
use crate::person::Person;
use crate::pointer::Pointer;
use crate::queue::{Cursor, Page, PageRequest};
use crate::refusal::Refusal;
use crate::rules::{RuleChange, RuleRefusal};
use crate::state::State;
use crate::store::{Delivery, Insertion, Replaced, VersionedWorkflow};
use crate::token::Reach;
use crate::trail::{ChainHash, Entry, EntryKind, detail};
use crate::view::OperationView;

/// How many conflicts noise would have avoided is counted over at most this many of the latest of a workflow.
pub const PAST_CONFLICTS_MAX: u32 = 500;

/// What a person saw when deciding on a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenConflict {
    /// The version of the operation.
    pub version: u64,
    /// The fingerprint of the payload that came.
    pub received: Fingerprint,
}

/// A conflict with what belongs to it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConflictReport {
    /// The conflict.
    pub conflict: Conflict,
    /// The operation under whose key it came.
    pub operation: OperationView,
    /// The begins that brought the same payload again, the newest first: of the latest `HISTORY_ROWS_MAX` of the operation.
    pub deliveries: Vec<Delivery>,
    /// The entry that opened it, where it is one of the latest.
    pub opened_by: Option<Entry>,
    /// The operation of the other document, once that was decided and it exists.
    pub other: Option<OperationView>,
}

/// What a decision on a conflict did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ConflictSettled {
    /// The conflict as it is now.
    pub conflict: Conflict,
    /// The operation as it is now.
    pub operation: OperationView,
    /// The operation of the other document, where one was registered or there was one.
    pub other: Option<OperationView>,
}

/// What stands before and behind a conflict in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Neighbours {
    /// The one before.
    pub previous: Option<ConflictId>,
    /// The one behind.
    pub next: Option<ConflictId>,
}

/// A payload of a document: what is compared with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// That of a revision, as it stands.
    Revision(u32),
    /// One that came under the key and made a conflict.
    Received(ConflictId),
}

impl fmt::Display for Version {
    /// As an address writes it: `2`, or the conflict's id.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(revision) => write!(formatter, "{revision}"),
            Self::Received(conflict) => write!(formatter, "{conflict}"),
        }
    }
}

impl FromStr for Version {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        if let Some(revision) = text.parse().ok().filter(|revision| (1..=REVISION_MAX).contains(revision)) {
            return Ok(Self::Revision(revision));
        }
        let message = "is no version; write the number of a revision, or the id of a conflict";
        text.parse().map(Self::Received).map_err(|_| Refusal::field("version", format!("{text:?} {message}")))
    }
}

/// The payloads that there are of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// The revisions, from 1.
    pub revisions: Vec<u32>,
    /// The conflicts of the operation that was asked for, the newest first.
    pub received: Vec<Conflict>,
}

/// At most this many revisions of a document are listed; any other is compared by its address.
pub const REVISIONS_LISTED_MAX: u32 = 50;

impl Guard {
    /// Which payloads there are to compare: the revisions of the operation's document, and what came under its key.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn versions(&self, reach: &Reach, id: OperationId) -> Result<Versions, Refusal> {
        let revisions = self.revisions(reach, id).await?.iter().map(|held| held.key.revision).collect();
        Ok(Versions { revisions, received: self.inner.store.conflicts(id, HISTORY_ROWS_MAX).await? })
    }

    /// The payload of a version of the operation's document, compact JSON; none where it was dropped.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] where there is no such version within reach, the store's fault.
    pub async fn version(&self, reach: &Reach, id: OperationId, version: Version) -> Result<Option<String>, Refusal> {
        let operation = self.reachable(reach, id).await?;
        match version {
            Version::Revision(revision) => {
                let holder = self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?;
                let holder = holder.ok_or_else(|| Refusal::not_found("revision"))?;
                Ok(self.inner.store.payload(holder.id).await?)
            }
            Version::Received(conflict) => {
                let found = self.inner.store.conflict_by_id(conflict).await?;
                let found = found.ok_or_else(|| Refusal::not_found("conflict"))?;
                let (_, holder) = self.conflict_within(reach, found).await?;
                if holder.key.at_revision(1) != operation.key.at_revision(1) {
                    return Err(Refusal::not_found("conflict of this document"));
                }
                Ok(self.inner.store.conflict_payload(conflict).await?)
            }
        }
    }

    /// The places that do not count in an operation's fingerprint.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn left_out(&self, operation: &Operation) -> Result<Vec<Pointer>, Refusal> {
        Ok(self.volatile_of(operation).await?.map(|places| places.to_vec()).unwrap_or_default())
    }

    /// A conflict with what belongs to it.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] where there is none within reach, the store's fault.
    pub async fn conflict_report(&self, reach: &Reach, id: ConflictId) -> Result<ConflictReport, Refusal> {
        let (conflict, operation) = self.conflict_within(reach, self.known_conflict(id).await?).await?;
        let deliveries = self.inner.store.deliveries(operation.id, HISTORY_ROWS_MAX).await?;
        let entries = self.latest_entries(&operation).await?;
        let name = id.to_string();
        let opened_by = entries.into_iter().find(|entry| {
            let names_it = entry.detail.member("conflict").and_then(crate::json::Json::as_str) == Some(&name);
            entry.kind == EntryKind::ConflictOpened && names_it
        });
        let other = self.other_of(reach, &conflict).await?;
        Ok(ConflictReport {
            operation: self.view(&operation),
            deliveries: deliveries.into_iter().filter(|delivery| delivery.conflict == Some(id)).collect(),
            conflict,
            opened_by,
            other,
        })
    }

    /// A page of conflicts within reach.
    ///
    /// # Errors
    /// A limit out of bounds, a text that is no cursor, the store's fault.
    pub async fn conflict_page(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        order: ConflictOrder,
        page: &PageRequest,
    ) -> Result<Page<Conflict>, Refusal> {
        check_limit(page.limit)?;
        if page.cursor.as_ref().is_some_and(|cursor| cursor.read().is_none()) {
            return Err(Refusal::field("cursor", "is no cursor; take it from the page before"));
        }
        for (field, wanted) in [("workflow", &filter.workflow), ("company", &filter.company)] {
            super::report::check_length(field, wanted.as_deref().unwrap_or_default(), KEY_PART_CHARACTERS_MAX)?;
        }
        Ok(self.inner.store.conflict_page(reach, filter, order, page).await?)
    }

    /// The groups of open conflicts within reach, the largest first.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn conflict_groups(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        limit: u32,
    ) -> Result<Vec<ConflictGroup>, Refusal> {
        Ok(self.inner.store.conflict_groups(reach, filter, limit).await?)
    }

    /// The conflicts with these ids, of those that are within reach and open.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn open_conflicts_by_id(
        &self,
        reach: &Reach,
        ids: &[ConflictId],
    ) -> Result<HashMap<ConflictId, Conflict>, Refusal> {
        let found = self.inner.store.conflicts_by_id(ids).await?;
        let is_reached = |conflict: &Conflict| reach.company(&conflict.company) && reach.workflow(&conflict.workflow);
        let open = found.into_iter().filter(|conflict| conflict.is_open() && is_reached(conflict));
        Ok(open.map(|conflict| (conflict.id, conflict)).collect())
    }

    /// What stands before and behind a conflict in the queue, the longest open first.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn conflict_neighbours(
        &self,
        reach: &Reach,
        filter: &ConflictFilter,
        conflict: &Conflict,
    ) -> Result<Neighbours, Refusal> {
        let cursor = Some(Cursor::behind(conflict.opened_at, conflict.id.as_u128()));
        let page = PageRequest { cursor, limit: 1 };
        let mut ends = [None, None];
        for (end, order) in ends.iter_mut().zip([ConflictOrder::Newest, ConflictOrder::Oldest]) {
            let found = self.inner.store.conflict_page(reach, filter, order, &page).await?;
            *end = found.rows.first().map(|found| found.id);
        }
        let [previous, next] = ends;
        Ok(Neighbours { previous, next })
    }

    /// How many of the latest conflicts of a workflow within reach would not have been, had each of these sets of places been left out,
    /// and how many were looked at (at most [`PAST_CONFLICTS_MAX`] open and as many decided ones).
    ///
    /// # Errors
    /// The store's fault.
    pub async fn conflicts_avoided(
        &self,
        reach: &Reach,
        workflow: &str,
        sets: &[Vec<Pointer>],
    ) -> Result<(Vec<usize>, usize), Refusal> {
        let (mut avoided, mut looked_at) = (vec![0; sets.len()], 0);
        for is_decided in [false, true] {
            let filter =
                ConflictFilter { workflow: Some(workflow.to_owned()), is_decided, ..ConflictFilter::default() };
            let page = PageRequest { cursor: None, limit: PAST_CONFLICTS_MAX };
            let found = self.inner.store.conflict_page(reach, &filter, ConflictOrder::Newest, &page).await?;
            looked_at += found.rows.len();
            for (avoided, places) in avoided.iter_mut().zip(sets) {
                *avoided += found.rows.iter().filter(|conflict| conflict.places.are_covered_by(places)).count();
            }
        }
        Ok((avoided, looked_at))
    }

    /// A person decides a conflict, for good. Nothing is sent by it: another document may be begun by whoever has to send it.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`ConflictRefusal::Decided`] where somebody was faster, [`Refusal::Stale`] where the operation
    /// has moved since it was seen, [`ConflictRefusal::DocumentTaken`], what [`Guard::propose_rules`] refuses, a reason,
    /// link or number out of bounds, the store's fault.
    pub async fn decide_conflict(
        &self,
        person: &Person,
        id: ConflictId,
        seen: &SeenConflict,
        verdict: &ConflictVerdict,
        reason: &str,
        link: Option<&str>,
    ) -> Result<ConflictSettled, Refusal> {
        if !person.role.may_resolve() {
            return Err(Refusal::Forbidden { reason: "deciding needs the role operator or admin".to_owned() });
        }
        check_text("reason", reason)?;
        let link = checked_link(link)?;
        let mut proposed = None;
        let settle = self.settle_conflict(person, id, (seen, verdict, reason, link), &mut proposed);
        let settled = Box::pin(settle).await;
        if let (Err(_), Some(proposed)) = (&settled, proposed) {
            // Whoever meets it where this fails, too, learns from the conflict that it was decided otherwise.
            drop(Box::pin(self.take_back(person, proposed)).await);
        }
        settled
    }

    /// Takes back what was proposed from a conflict by somebody who then could not decide that conflict.
    async fn take_back(&self, person: &Person, proposed: AmendmentId) -> Result<(), Refusal> {
        let amendment = self.amendment(&person.reach, proposed).await?;
        let reason = match self.decided_otherwise(&amendment).await? {
            Some(reason) => reason,
            None => {
                let still = amendment.from_conflict.map(|conflict| self.known_conflict(conflict));
                let is_open = match still {
                    Some(conflict) => conflict.await?.decision().is_none(),
                    None => false,
                };
                // Somebody else proposed it first, or it was decided just so.
                if !is_open || amendment.proposed_by != (Actor::Person { email: person.email.clone() }) {
                    return Ok(());
                }
                "the operation changed before the conflict that it came from could be decided".to_owned()
            }
        };
        let operation = self.reachable(&person.reach, amendment.operation).await?;
        self.withdraw(person, proposed, operation.version, &reason).await.map(drop)
    }

    /// Decides a conflict; `proposed` becomes what was proposed for that, whether or not it was decided in the end.
    async fn settle_conflict(
        &self,
        person: &Person,
        id: ConflictId,
        (seen, verdict, reason, link): (&SeenConflict, &ConflictVerdict, &str, Option<&str>),
        proposed: &mut Option<AmendmentId>,
    ) -> Result<ConflictSettled, Refusal> {
        for _ in 0..TRIES_MAX {
            let (conflict, operation) = self.conflict_within(&person.reach, self.known_conflict(id).await?).await?;
            if let Some(decision) = conflict.decision() {
                return Err(decided(decision).into());
            }
            if conflict.fingerprint != seen.received {
                return Err(Refusal::field("fingerprint", "is not that of this conflict; open it again"));
            }
            self.refuse_stale(&operation, seen.version).await?;
            let outcome = self.outcome_of(person, &conflict, &operation, verdict, reason).await?;
            if let ConflictOutcome::AmendmentProposed { amendment, .. } = &outcome {
                *proposed = Some(*amendment);
            }
            let at = self.now();
            let actor = Actor::Person { email: person.email.clone() };
            let decision = ConflictDecision {
                outcome,
                by: person.email.clone(),
                at,
                reason: reason.to_owned(),
                link: link.map(ToOwned::to_owned),
                seen_version: seen.version,
                seen_fingerprint: operation.fingerprint,
            };
            let facts = decision_facts(&conflict, &decision);
            let state = operation.state.clone();
            let transition = Transition { state, at, actor, kind: EntryKind::ConflictDecided, facts };
            let mut replacement = transition.of(&operation);
            replacement.operation.open_conflicts = operation.open_conflicts.saturating_sub(1);
            replacement.decided = Some((id, decision.clone()));
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Stale {
                continue;
            }
            if let ConflictOutcome::OtherDocument { key } = &decision.outcome {
                self.register(person, &conflict, key, reason).await?;
            }
            let conflict = Conflict { standing: ConflictStanding::Decided(Box::new(decision)), ..conflict };
            let other = self.other_of(&person.reach, &conflict).await?;
            return Ok(ConflictSettled { conflict, operation: self.view(&changed), other });
        }
        Err(contended())
    }

    /// What comes of a verdict. What it needs of others is asked for first, so that a decision never says what did not happen.
    async fn outcome_of(
        &self,
        person: &Person,
        conflict: &Conflict,
        operation: &Operation,
        verdict: &ConflictVerdict,
        reason: &str,
    ) -> Result<ConflictOutcome, Refusal> {
        match verdict {
            ConflictVerdict::KeepApproved => Ok(ConflictOutcome::KeptApproved),
            ConflictVerdict::ProposeAmendment => {
                let (payload, _) = self.received(conflict).await?;
                let from = Some(conflict.id);
                let proposed = self.propose(Proposer::Person(person), operation.id, payload, reason, None, from).await;
                let amendment = match proposed {
                    Ok(amendment) => amendment,
                    // An earlier try proposed it, and was cut off before it was noted here.
                    Err(refusal @ Refusal::AmendmentOpen { amendment: Some(open), .. }) => {
                        let open = self.amendment(&person.reach, open).await?;
                        if open.from_conflict != from {
                            return Err(refusal);
                        }
                        open
                    }
                    Err(refusal) => return Err(refusal),
                };
                Ok(ConflictOutcome::AmendmentProposed { amendment: amendment.id, revision: amendment.revision })
            }
            ConflictVerdict::OtherDocument { document } => {
                let key = OperationKey { document: document.clone(), revision: 1, ..operation.key.clone() };
                if key.document == operation.key.document {
                    let message = "is the number of this operation; another document has another one";
                    return Err(Refusal::field("document", message));
                }
                if let Some(known) = self.inner.store.operation_by_key(&key).await? {
                    let (payload, _) = self.received(conflict).await?;
                    let volatile = self.left_out(&known).await?;
                    if Fingerprint::of(&payload, &volatile) != known.fingerprint {
                        let document = document.as_str().to_owned();
                        return Err(ConflictRefusal::DocumentTaken { document, operation: known.id }.into());
                    }
                } else {
                    self.received(conflict).await?;
                }
                Ok(ConflictOutcome::OtherDocument { key })
            }
            ConflictVerdict::Noise { places } => {
                if places.is_empty() {
                    return Err(Refusal::field("places", "is empty: choose at least one place that says nothing"));
                }
                let workflow = operation.key.workflow.as_str();
                let known = self.catalogue().workflows.get(workflow).cloned();
                let mut volatile = known.map(|known| known.workflow.volatile.clone()).unwrap_or_default();
                volatile.extend(places.iter().filter(|place| !volatile.contains(place)).cloned().collect::<Vec<_>>());
                let change = RuleChange { volatile: Some(volatile), ..RuleChange::default() };
                let proposal = match self.propose_rules(person, workflow, change, reason).await {
                    Ok(proposal) => proposal.id,
                    // Another conflict has asked for the same already.
                    Err(Refusal::Rules(RuleRefusal::Open { workflow, proposal, by })) => {
                        let open = self.rule_proposal(proposal).await?;
                        let asked = open.change.volatile.unwrap_or_default();
                        if !places.iter().all(|place| asked.contains(place)) {
                            return Err(RuleRefusal::Open { workflow, proposal, by }.into());
                        }
                        proposal
                    }
                    Err(refusal) => return Err(refusal),
                };
                Ok(ConflictOutcome::Noise { places: places.clone(), proposal })
            }
        }
    }

    /// Registers the payload that came under another document's key, as never sent: whoever has to send it begins it. A begin that
    /// was faster stands.
    async fn register(
        &self,
        person: &Person,
        conflict: &Conflict,
        key: &OperationKey,
        reason: &str,
    ) -> Result<Insertion, Refusal> {
        let (payload, workflow) = self.received(conflict).await?;
        let at = self.now();
        let state = State::registered(at);
        let fingerprint = Fingerprint::of(&payload, &workflow.workflow.volatile);
        let facts = detail([
            ("state", Some(text(state.name().as_str()))),
            ("key", Some(text(&hexadecimal(&key.hash())))),
            ("fingerprint", Some(text(&fingerprint.to_string()))),
            ("policy_version", Some(integer(workflow.version))),
            ("conflict", Some(text(&conflict.id.to_string()))),
            ("reason", Some(text(reason))),
        ]);
        let actor = Actor::Person { email: person.email.clone() };
        let entry = Entry::following((0, ChainHash::START), at, actor, EntryKind::Registered, facts);
        let founding = Founding {
            id: OperationId::new(at, self.inner.entropy.bytes()),
            key: key.clone(),
            state,
            entry,
            fingerprint,
            workflow: &workflow,
            payload: &payload,
            attempt: None,
            amendment: None,
            money: workflow.workflow.money(&payload),
        };
        Ok(self.inner.store.insert_if_absent(founding.into_new()).await?)
    }

    /// The payload that came, with the workflow in which it would be begun.
    async fn received(&self, conflict: &Conflict) -> Result<(Payload, std::sync::Arc<VersionedWorkflow>), Refusal> {
        let stored = self.inner.store.conflict_payload(conflict.id).await?;
        let payload = stored.and_then(|text| Payload::parse(text.as_bytes()).ok());
        let payload = payload.ok_or_else(|| Refusal::not_found("payload of this conflict"))?;
        let workflow = self.catalogue().workflows.get(&conflict.workflow).filter(|known| !known.is_retired).cloned();
        let workflow = workflow.ok_or_else(|| Refusal::UnknownWorkflow {
            name: conflict.workflow.clone(),
            known: Vec::new(),
            is_retired: self.catalogue().workflows.contains_key(&conflict.workflow),
        })?;
        Ok((payload, workflow))
    }

    /// The operation of the other document that a conflict was decided to be, within reach.
    async fn other_of(&self, reach: &Reach, conflict: &Conflict) -> Result<Option<OperationView>, Refusal> {
        let Some(ConflictOutcome::OtherDocument { key }) = conflict.decision().map(|decision| &decision.outcome) else {
            return Ok(None);
        };
        if !reach.key(key) {
            return Ok(None);
        }
        let found = self.inner.store.operation_by_key(key).await?;
        Ok(found.map(|operation| self.view(&operation)))
    }

    async fn known_conflict(&self, id: ConflictId) -> Result<Conflict, Refusal> {
        self.inner.store.conflict_by_id(id).await?.ok_or_else(|| Refusal::not_found("conflict"))
    }

    /// A conflict with its operation, where that lies within reach.
    async fn conflict_within(&self, reach: &Reach, conflict: Conflict) -> Result<(Conflict, Operation), Refusal> {
        match self.reachable(reach, conflict.operation).await {
            Ok(operation) => Ok((conflict, operation)),
            Err(Refusal::NotFound { .. }) => Err(Refusal::not_found("conflict")),
            Err(refusal) => Err(refusal),
        }
    }
}

fn decided(decision: &ConflictDecision) -> ConflictRefusal {
    ConflictRefusal::Decided {
        how: decision.outcome.sentence(),
        by: Actor::Person { email: decision.by.clone() },
        at: decision.at,
    }
}

fn decision_facts(conflict: &Conflict, decision: &ConflictDecision) -> crate::json::Json {
    let amendment = match &decision.outcome {
        ConflictOutcome::AmendmentProposed { amendment, .. } => Some(text(&amendment.to_string())),
        ConflictOutcome::KeptApproved | ConflictOutcome::OtherDocument { .. } | ConflictOutcome::Noise { .. } => None,
    };
    let (document, proposal, places) = match &decision.outcome {
        ConflictOutcome::KeptApproved | ConflictOutcome::AmendmentProposed { .. } => (None, None, None),
        ConflictOutcome::OtherDocument { key } => (Some(text(key.document.as_str())), None, None),
        ConflictOutcome::Noise { places, proposal } => {
            let places = places.iter().map(|place| text(&place.to_string())).collect();
            (None, Some(text(&proposal.to_string())), Some(crate::json::Json::Array(places)))
        }
    };
    detail([
        ("conflict", Some(text(&conflict.id.to_string()))),
        ("outcome", Some(text(decision.outcome.as_str()))),
        ("amendment", amendment),
        ("document", document),
        ("proposal", proposal),
        ("places", places),
        ("reason", Some(text(&decision.reason))),
        ("link", decision.link.as_deref().map(text)),
        ("seen_fingerprint", Some(text(&decision.seen_fingerprint.to_string()))),
        ("received_fingerprint", Some(text(&conflict.fingerprint.to_string()))),
    ])
}
