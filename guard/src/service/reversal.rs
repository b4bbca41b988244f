//! A record of the destination is taken back: asked by one person, approved by another, sent once.

use chrono::TimeDelta;

use super::amendment::approvals_needed;
use super::report::{check_length, check_text};
use super::{Guard, TRIES_MAX, Transition, contended, integer, text};
use crate::actor::Actor;
use crate::amendment::{Amendment, AmendmentState, Base, REQUESTED_BY_CHARACTERS_MAX, Ruled};
use crate::clock::rfc3339;
use crate::fingerprint::Fingerprint;
use crate::id::{AmendmentId, OperationId};
use crate::json::Json;
use crate::key::REVERSALS_MAX;
use crate::money::Money;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::person::Person;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::Refusal;
use crate::reversal::{Reversal, payload};
use crate::state::{State, StateName};
use crate::store::{Replaced, VersionedWorkflow};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};

/// What a person asks to be taken back.
#[derive(Clone, Copy, Debug)]
pub struct AskedReversal<'a> {
    /// The id under which the destination holds the record.
    pub record: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Who asked for it, where that is somebody else.
    pub requested_by: Option<&'a str>,
}

impl Guard {
    /// A person asks that a record of a confirmed or disputed operation is taken back. Somebody else approves it; then a worker begins
    /// it, once. Where an earlier wish for the same record came to nothing, it is asked anew under the same key.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] where there is nothing to take back or a newer
    /// revision stands on the record, [`Refusal::AmendmentOpen`] where a change of it is under way, [`Refusal::ReversalExists`],
    /// [`Refusal::Stale`] where the operation moved since it was seen, a text out of bounds, the store's fault.
    pub async fn ask_reversal(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        asked: AskedReversal<'_>,
    ) -> Result<Amendment, Refusal> {
        may_ask(person)?;
        check_text("record", asked.record)?;
        check_text("reason", asked.reason)?;
        let requested_by = asked.requested_by.map(str::trim).filter(|name| !name.is_empty());
        check_length("requested_by", requested_by.unwrap_or_default(), REQUESTED_BY_CHARACTERS_MAX)?;
        let record = asked.record.trim();
        for _ in 0..TRIES_MAX {
            let of = self.reachable(&person.reach, id).await?;
            self.refuse_stale(&of, seen_version).await?;
            let base = self.reversible(&of, record).await?;
            let workflow = self.workflow_in_force(of.key.workflow.as_str(), &person.reach).await?;
            let content = Payload::new(payload(&of, record)).map_err(|error| Refusal::field("record", error))?;
            let (key, rejected) = self.place_of_reversal(&of, record).await?;
            let money = money_taken_back(&of, record);
            let at = self.now();
            let rules = &workflow.workflow.amendment;
            let amendment = Amendment {
                id: AmendmentId::new(at, self.inner.entropy.bytes()),
                operation: match &rejected {
                    Some(rejected) => rejected.id,
                    None => OperationId::new(at, self.inner.entropy.bytes()),
                },
                revision: key.revision,
                base,
                fingerprint: Fingerprint::of(&content, &workflow.workflow.volatile),
                changes: Vec::new(),
                changes_total: 0,
                proposed_by: Actor::Person { email: person.email.clone() },
                behind: None,
                reason: asked.reason.to_owned(),
                requested_by: requested_by.map(ToOwned::to_owned),
                from_conflict: None,
                ruled: Ruled {
                    correction: crate::workflow::Correction::Reverse,
                    rule_version: workflow.version,
                    because: self.why_approved(&of).await?,
                },
                approvals_needed: approvals_needed(rules, of.money.as_ref(), of.money.as_ref()),
                approvals: Vec::new(),
                proposed_at: at,
                expires_at: at + TimeDelta::days(rules.proposal_days().into()),
                state: AmendmentState::AwaitingApproval,
            };
            let is_stored = match rejected {
                None => self.propose_first(key, &amendment, &content, money.clone(), &workflow).await?,
                Some(rejected) => self.propose_again(&rejected, &amendment, &content, money, &workflow).await?,
            };
            if is_stored {
                self.tell_reversed(&of, amendment.operation).await;
                return Ok(amendment);
            }
        }
        Err(contended())
    }

    /// Why this record of an operation cannot be asked to be taken back by this person; none where it can.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn why_not_reverse(
        &self,
        person: &Person,
        id: OperationId,
        record: &str,
    ) -> Result<Option<Refusal>, Refusal> {
        let of = self.reachable(&person.reach, id).await?;
        let asked = async {
            may_ask(person)?;
            self.reversible(&of, record).await?;
            self.place_of_reversal(&of, record).await
        };
        match asked.await {
            Ok(_) => Ok(None),
            Err(Refusal::Store(fault)) => Err(fault.into()),
            Err(refusal) => Ok(Some(refusal)),
        }
    }

    /// The records of an operation within reach that were asked to be taken back, in the order in which that was asked first.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn reversals(&self, reach: &Reach, id: OperationId) -> Result<Vec<Reversal>, Refusal> {
        let of = self.reachable(reach, id).await?;
        let found = self.reversals_of(&of).await?;
        // A process that ended between the two writes left it untold: whoever looks tells it.
        for reversal in &found {
            self.tell_reversed(&of, reversal.operation).await;
        }
        Ok(found)
    }

    /// What an operation within reach takes back; none where it is no reversal.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn reverses(&self, reach: &Reach, id: OperationId) -> Result<Option<Reversal>, Refusal> {
        let operation = self.reachable(reach, id).await?;
        self.reversal_by(&operation).await
    }

    /// What an operation takes back; none where it is no reversal.
    pub(super) async fn reversal_by(&self, operation: &Operation) -> Result<Option<Reversal>, Refusal> {
        if !operation.key.may_be_reversal() {
            return Ok(None);
        }
        let latest = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        Ok(latest.and_then(|amendment| Reversal::of(operation, &amendment)))
    }

    async fn reversals_of(&self, of: &Operation) -> Result<Vec<Reversal>, Refusal> {
        let mut found = Vec::new();
        if of.key.may_be_reversal() {
            return Ok(found);
        }
        for number in 1..=REVERSALS_MAX {
            let Some(held) = self.inner.store.operation_by_key(&of.key.reversal(number)).await? else { break };
            // Another action of the same document and revision has its own among them.
            found.extend(self.reversal_by(&held).await?.filter(|reversal| reversal.of == of.id));
        }
        Ok(found)
    }

    /// The reversal of the very record that an operation is confirmed as, unless it came to nothing.
    pub(super) async fn own_reversal(&self, of: &Operation) -> Result<Option<Reversal>, Refusal> {
        let own = of.state.destination_reference();
        let found = self.reversals_of(of).await?;
        Ok(found.into_iter().find(|reversal| reversal.stands() && Some(reversal.record.as_str()) == own))
    }

    /// Refuses to change a record that is taken back, or about to be.
    pub(super) async fn refuse_reversed(&self, of: &Operation) -> Result<(), Refusal> {
        if self.reversal_by(of).await?.is_some() {
            let what = "amended where it takes a record back; send the document anew".into();
            return Err(Refusal::Impossible { state: of.state.name(), what });
        }
        match self.own_reversal(of).await? {
            None => Ok(()),
            Some(reversal) => Err(Refusal::ReversalExists {
                record: reversal.record,
                operation: reversal.operation,
                amendment: reversal.amendment,
                state: reversal.state,
            }),
        }
    }

    /// The key under which a record is taken back, with the operation that was to do so before, where that came to nothing.
    async fn place_of_reversal(
        &self,
        of: &Operation,
        record: &str,
    ) -> Result<(crate::key::OperationKey, Option<Operation>), Refusal> {
        for number in 1..=REVERSALS_MAX {
            let key = of.key.reversal(number);
            let Some(held) = self.inner.store.operation_by_key(&key).await? else { return Ok((key, None)) };
            let Some(reversal) = self.reversal_by(&held).await? else {
                let what = format!(
                    "reversed here: the workflow has an action {:?} of its own, and operation {} has its key",
                    key.action.as_str(),
                    held.id
                );
                return Err(Refusal::Impossible { state: of.state.name(), what: what.into() });
            };
            if reversal.of != of.id || reversal.record != record {
                continue;
            }
            if !reversal.stands() {
                return Ok((key, Some(held)));
            }
            let Reversal { record, operation, amendment, state, .. } = reversal;
            return Err(Refusal::ReversalExists { record, operation, amendment, state });
        }
        Err(Refusal::field("record", format!("would be the {}th of this revision to be taken back", REVERSALS_MAX + 1)))
    }

    /// The record as a base, where it can be taken back.
    async fn reversible(&self, of: &Operation, record: &str) -> Result<Base, Refusal> {
        let state = of.state.name();
        let impossible = |what: String| Err(Refusal::Impossible { state, what: what.into() });
        if self.reversal_by(of).await?.is_some() {
            return impossible("reversed where it takes a record back itself; send the document anew".to_owned());
        }
        let since = match &of.state {
            State::Confirmed { since, .. } | State::Disputed { since, .. } => *since,
            State::AwaitingApproval
            | State::Rejected { .. }
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Failed { .. }
            | State::Unknown { .. } => {
                return impossible("reversed; only what is confirmed or disputed has a record to take back".to_owned());
            }
        };
        if let Some(next) = self.stands_on(of, record).await? {
            return Err(next);
        }
        Ok(Base {
            operation: of.id,
            revision: of.key.revision,
            version: of.version,
            fingerprint: of.fingerprint,
            destination_reference: record.to_owned(),
            confirmed_at: since,
        })
    }

    /// What stands on a record, so that it cannot be taken back: a newer revision, confirmed or on its way.
    async fn stands_on(&self, of: &Operation, record: &str) -> Result<Option<Refusal>, Refusal> {
        let state = of.state.name();
        let newest = self.newest_revision(of).await?;
        let is_own = of.state.destination_reference() == Some(record);
        if newest.id != of.id && (is_own || newest.state.destination_reference() == Some(record)) {
            let what =
                format!("reversed where revision {} is confirmed; reverse the record on that one", newest.key.revision);
            return Ok(Some(Refusal::Impossible { state, what: what.into() }));
        }
        if !is_own {
            return Ok(None);
        }
        let next = self.inner.store.operation_by_key(&of.key.at_revision(of.key.revision + 1)).await?;
        match next.filter(|next| next.state.name() != StateName::Rejected) {
            Some(next) => Ok(Some(self.amendment_open(&next).await?)),
            None => Ok(None),
        }
    }

    /// Why a record can no longer be taken back as it was asked; none where it can.
    pub(super) async fn reversal_moved(
        &self,
        of: &Operation,
        amendment: &Amendment,
    ) -> Result<Option<String>, Refusal> {
        let (held, revision) = (&amendment.base, of.key.revision);
        let record = &held.destination_reference;
        match &of.state {
            State::Confirmed { since, destination_reference } => {
                // Another record than this one may be settled on meanwhile; this one is then the one too many.
                if destination_reference == record && !self.has_stayed_confirmed(of, held.version).await? {
                    let at = rfc3339(*since);
                    return Ok(Some(format!("revision {revision} was settled anew at {at} as {record:?}")));
                }
            }
            State::Disputed { since, .. } if *since == held.confirmed_at => {}
            State::Disputed { .. } => return Ok(Some(format!("revision {revision} was disputed meanwhile"))),
            State::AwaitingApproval
            | State::Rejected { .. }
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Failed { .. }
            | State::Unknown { .. } => {
                return Ok(Some(format!("revision {revision} is {}", of.state.name().as_str())));
            }
        }
        Ok(self.stands_on(of, record).await?.map(|refusal| refusal.to_string()))
    }

    /// Whether an operation has been confirmed without a break since this version.
    async fn has_stayed_confirmed(&self, of: &Operation, version: u64) -> Result<bool, Refusal> {
        let mut after = version.saturating_sub(1);
        loop {
            let entries = self.inner.store.entries(of.id, after, PAGE_ROWS_MAX).await?;
            let Some(last) = entries.last() else { return Ok(true) };
            after = last.sequence;
            let confirmed = StateName::Confirmed.as_str();
            let state =
                |entry: &crate::trail::Entry| entry.detail.member("state").and_then(Json::as_str) == Some(confirmed);
            if !entries.iter().all(state) {
                return Ok(false);
            }
        }
    }

    /// Why somebody else has to approve.
    async fn why_approved(&self, of: &Operation) -> Result<String, Refusal> {
        let always = "a record is taken back only with the approval of somebody else";
        Ok(match self.closed_period_of(of).await? {
            None => always.to_owned(),
            Some(period) => {
                let span = period.span();
                format!("{always}; the record lies in the closed period {} to {}", span.from, span.to)
            }
        })
    }

    /// Tells in the trail of an operation what its reversals did. The links stand on the reversals' side, so that nothing is lost where
    /// this fails: whoever looks at the operation tells it then.
    async fn tell_reversed(&self, of: &Operation, by: OperationId) {
        drop(self.try_to_tell(of.id, by).await);
    }

    async fn try_to_tell(&self, of: OperationId, by: OperationId) -> Result<(), Refusal> {
        for _ in 0..TRIES_MAX {
            let store = &self.inner.store;
            let Some((held, by)) = store.operation(of).await?.zip(store.operation(by).await?) else { return Ok(()) };
            let Some(amendment) = store.amendments_of(by.id, 1).await?.pop() else { return Ok(()) };
            let Some(next) = self.untold(&held, &by, &amendment).await? else { return Ok(()) };
            let (kind, actor, facts) = next;
            let transition = Transition { state: held.state.clone(), at: self.now(), actor, kind, facts };
            let replaced = store.replace(transition.of(&held)).await?;
            if replaced == Replaced::Replaced && kind == EntryKind::Reversed {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// What is not told yet: that it was asked, then that it was done.
    async fn untold(
        &self,
        of: &Operation,
        by: &Operation,
        amendment: &Amendment,
    ) -> Result<Option<(EntryKind, Actor, Json)>, Refusal> {
        let name = amendment.id.to_string();
        let is_told = |kind: EntryKind| {
            let name = name.clone();
            async move {
                let tells = |entry: &crate::trail::Entry| {
                    entry.kind == kind && entry.detail.member("amendment").and_then(Json::as_str) == Some(&name)
                };
                Ok::<bool, Refusal>(self.find_entry(of.id, tells).await?.is_some())
            }
        };
        let facts = |reason: Option<&str>| {
            detail([
                ("reversal", Some(text(&by.id.to_string()))),
                ("amendment", Some(text(&amendment.id.to_string()))),
                ("record", Some(text(&amendment.base.destination_reference))),
                ("reason", reason.map(text)),
                ("approvals", Some(integer(i64::try_from(amendment.approvals.len()).unwrap_or(i64::MAX)))),
            ])
        };
        if !is_told(EntryKind::ReversalAsked).await? {
            let facts = facts(Some(&amendment.reason));
            return Ok(Some((EntryKind::ReversalAsked, amendment.proposed_by.clone(), facts)));
        }
        if by.state.name() != StateName::Confirmed || is_told(EntryKind::Reversed).await? {
            return Ok(None);
        }
        let who = by.attempt.as_ref().and_then(|attempt| attempt.worker.clone());
        let last = self.latest_entries(by).await?.into_iter().rev().find(|entry| {
            entry.detail.member("state").and_then(Json::as_str) == Some(StateName::Confirmed.as_str())
                && entry.kind != EntryKind::Reconciled
        });
        let actor = last.map_or(Actor::Sweeper, |entry| entry.actor);
        let mut facts = facts(None);
        if let (Json::Object(members), Some(worker)) = (&mut facts, who) {
            members.push(("worker".to_owned(), text(&worker)));
        }
        Ok(Some((EntryKind::Reversed, actor, facts)))
    }

    /// Tells the operation whose record was taken back, once that is confirmed.
    pub(super) async fn tell_what_was_reversed(&self, by: OperationId) {
        let Ok(Some(by)) = self.inner.store.operation(by).await else { return };
        let Ok(Some(reversal)) = self.reversal_by(&by).await else { return };
        let Ok(Some(of)) = self.inner.store.operation(reversal.of).await else { return };
        self.tell_reversed(&of, by.id).await;
    }

    /// Whether only reversals have such a key: the workflow has no action of that name of its own.
    pub(super) fn is_key_of_reversal(&self, key: &crate::key::OperationKey) -> bool {
        let catalogue = self.catalogue();
        let is_listed = || {
            let workflow = catalogue.workflows.get(key.workflow.as_str());
            workflow.is_some_and(|known| known.workflow.actions.contains(&key.action))
        };
        key.may_be_reversal() && !is_listed()
    }

    /// Refuses a begin under the key of a reversal that nobody asked for.
    pub(super) fn refuse_unasked(workflow: &VersionedWorkflow, key: &crate::key::OperationKey) -> Result<(), Refusal> {
        if workflow.workflow.actions.contains(&key.action) {
            return Ok(());
        }
        let message = format!(
            "is {:?}, and nobody asked for a reversal of this revision; a person asks for it on the page of the operation",
            key.action.as_str()
        );
        Err(Refusal::field("action", message))
    }
}

/// What is at stake where a record is taken back: the money of its operation, where that is confirmed as this very record. A record too
/// many is in nobody's books, so that nothing is taken from them with it.
fn money_taken_back(of: &Operation, record: &str) -> Option<Money> {
    let is_its_own = of.state.name() == StateName::Confirmed && of.state.destination_reference() == Some(record);
    of.money.clone().filter(|_| is_its_own)
}

fn may_ask(person: &Person) -> Result<(), Refusal> {
    if person.role.may_propose() {
        return Ok(());
    }
    Err(Refusal::Forbidden { reason: "asking for a reversal needs the role operator, finance or admin".to_owned() })
}
