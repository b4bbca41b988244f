//! Permissions to send.

use chrono::TimeDelta;

use super::amendment::Amending;
use super::begin::BeginRequest;
use super::period::day_of_payload;
use super::{Guard, Transition, integer, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::decision::{Amends, Decision, DecisionName};
use crate::event::Event;
use crate::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use crate::id::OperationId;
use crate::json::Json;
use crate::money::Money;
use crate::operation::{Attempt, LeaseToken, Operation, hexadecimal};
use crate::refusal::Refusal;
use crate::state::State;
use crate::store::{Insertion, NewOperation, Replaced, VersionedWorkflow};
use crate::summary::{Count, Counted};
use crate::token::Token;
use crate::trail::{ChainHash, Entry, EntryKind, detail};

/// A lease that runs down in the store is renewed at most this often before it is handed out.
const RENEWALS_MAX: u32 = 3;

/// What came of trying to grant.
pub(super) enum Granted {
    /// The caller owns the attempt.
    Yes(Box<Decision>),
    /// Somebody else moved first; this is how the operation stands, where that is known.
    Moved(Option<Box<Operation>>),
}

impl Guard {
    /// Permits the first attempt of a new operation.
    pub(super) async fn grant_first(
        &self,
        token: &Token,
        request: &BeginRequest,
        workflow: &VersionedWorkflow,
        fingerprint: Fingerprint,
        lease: TimeDelta,
    ) -> Result<Granted, Refusal> {
        let at = self.now();
        let state = State::begun(at, at + lease, workflow.workflow.two_step);
        let attempt = self.new_attempt(1, token, request, at);
        let facts = begun_facts(&state, &attempt, request, Some((fingerprint, workflow.version)));
        let entry = Entry::following((0, ChainHash::START), at, actor(token, request), EntryKind::Begun, facts);
        let money = workflow.workflow.amount.as_ref().zip(workflow.workflow.currency.as_ref());
        let money = money.and_then(|(amount, currency)| Money::read(&request.payload, amount, currency));
        let operation = Operation {
            id: OperationId::new(at, self.inner.entropy.bytes()),
            key: request.key.clone(),
            state,
            version: entry.sequence,
            head: entry.hash,
            fingerprint,
            fingerprint_scheme: FINGERPRINT_SCHEME,
            policy_version: workflow.version,
            attempt: Some(attempt),
            money,
            superseded_by: None,
            duplicates_prevented: 0,
            open_conflicts: 0,
            created_at: at,
            updated_at: at,
        };
        let counts = grant_counts(&operation, at);
        let day = day_of_payload(&workflow.workflow, &request.payload);
        let payload = request.payload.to_text();
        let new = NewOperation { operation: operation.clone(), payload, day, entry, counts, amendment: None };
        match self.inner.store.insert_if_absent(new).await? {
            Insertion::Inserted => self.granted(operation, lease, None).await,
            // A store that lost its own answer and tried again met this very insertion.
            Insertion::Existing(existing) if existing.id == operation.id => self.granted(*existing, lease, None).await,
            Insertion::Existing(existing) => Ok(Granted::Moved(Some(existing))),
        }
    }

    /// Permits a further attempt of a released or failed operation.
    pub(super) async fn grant_next(
        &self,
        token: &Token,
        request: &BeginRequest,
        operation: &Operation,
        two_step: bool,
        lease: TimeDelta,
        amending: Option<Amending>,
    ) -> Result<Granted, Refusal> {
        let at = self.now();
        let state = operation.state.after(&Event::Begun { at, lease_expires_at: at + lease, two_step })?;
        let attempt = self.new_attempt(operation.attempt_number() + 1, token, request, at);
        let facts = begun_facts(&state, &attempt, request, None);
        let mut replacement =
            Transition { state, at, actor: actor(token, request), kind: EntryKind::Begun, facts }.of(operation);
        replacement.operation.attempt = Some(attempt);
        replacement.counts = grant_counts(&replacement.operation, at);
        let amends = amending.map(|amending| {
            replacement.amendment = amending.begun(at);
            amending.amends
        });
        let operation = replacement.operation.clone();
        match self.replace(replacement).await? {
            Replaced::Replaced => self.granted(operation, lease, amends).await,
            Replaced::Stale => {
                let found = self.inner.store.operation(operation.id).await?;
                let lease_of = |operation: &Operation| operation.attempt.as_ref().map(|held| held.lease_token.clone());
                match found.filter(|found| lease_of(found) == lease_of(&operation)) {
                    // A store that lost its own answer and tried again met this very attempt.
                    Some(ours) => self.granted(ours, lease, amends).await,
                    None => Ok(Granted::Moved(None)),
                }
            }
        }
    }

    /// Hands out a stored grant, but never one whose lease ran down while it was being stored: such a lease is renewed first. Where
    /// somebody noticed its end before, that stands.
    async fn granted(
        &self,
        mut operation: Operation,
        lease: TimeDelta,
        amends: Option<Amends>,
    ) -> Result<Granted, Refusal> {
        for _ in 0..RENEWALS_MAX {
            let now = self.now();
            if operation.state.lease_expires_at().is_none_or(|stored_until| now + lease / 2 <= stored_until) {
                break;
            }
            let lease_expires_at = now + lease;
            let state = operation.state.after(&Event::Renewed { at: now, lease_expires_at })?;
            let facts = detail([
                ("lease_expires_at", Some(text(&rfc3339(lease_expires_at)))),
                ("reason", Some(text("storing the grant took long"))),
            ]);
            let replacement =
                Transition { state, at: now, actor: Actor::Sweeper, kind: EntryKind::Extended, facts }.of(&operation);
            operation = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Stale {
                return Ok(Granted::Moved(None));
            }
        }
        if operation.state.lease_is_over(self.now()) {
            return Ok(Granted::Moved(None));
        }
        Ok(proceed(operation, false, amends).map_or(Granted::Moved(None), |decision| Granted::Yes(Box::new(decision))))
    }

    fn new_attempt(&self, number: u32, token: &Token, request: &BeginRequest, at: Timestamp) -> Attempt {
        Attempt {
            number,
            lease_token: LeaseToken::new(self.inner.entropy.bytes()),
            token: token.id,
            begin_id: request.begin_id.clone(),
            worker: request.worker.clone(),
            begun_at: at,
        }
    }
}

/// The decision that hands out the lease of the latest attempt; none where no lease is held.
pub(super) fn proceed(operation: Operation, repeated: bool, amends: Option<Amends>) -> Option<Decision> {
    let lease_expires_at = operation.state.lease_expires_at()?;
    let lease_token = operation.attempt.as_ref()?.lease_token.clone();
    let amends = amends.map(Box::new);
    Some(Decision::Proceed { operation, lease_token, lease_expires_at, repeated, amends })
}

/// The worker behind a begin.
pub(super) fn actor(token: &Token, request: &BeginRequest) -> Actor {
    Actor::Token { name: token.name.clone(), worker: request.worker.clone() }
}

fn begun_facts(state: &State, attempt: &Attempt, request: &BeginRequest, first: Option<(Fingerprint, u32)>) -> Json {
    detail([
        // `Transition` puts the state in front of the facts of every later entry; the first one has none before it.
        ("state", first.map(|_| text(state.name().as_str()))),
        ("attempt", Some(integer(attempt.number))),
        ("lease", Some(text(&attempt.lease_token.digest()))),
        // So that a key that is altered in the store no longer fits the trail.
        ("key", first.map(|_| text(&hexadecimal(&request.key.hash())))),
        ("fingerprint", first.map(|(fingerprint, _)| text(&fingerprint.to_string()))),
        ("policy_version", first.map(|(_, version)| integer(version))),
        ("delivery_id", request.delivery_id.as_deref().map(text)),
        ("request_id", request.request_id.as_deref().map(text)),
    ])
}

fn grant_counts(operation: &Operation, at: Timestamp) -> Vec<Count> {
    let key = &operation.key;
    let one = |counted| Count::one(key.workflow.as_str(), key.company.as_str(), counted, at, operation.money.as_ref());
    vec![one(Counted::Decision(DecisionName::Proceed)), one(Counted::Entered(operation.state.name()))]
}
