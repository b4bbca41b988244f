//! Permissions to send.

use chrono::TimeDelta;

use super::amendment::Amending;
use super::begin::BeginRequest;
use super::founding::{Founding, grant_counts};
use super::{Guard, Transition, integer, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::decision::{Amends, Decision};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::json::Json;
use crate::operation::{Attempt, LeaseToken, Operation, hexadecimal};
use crate::refusal::Refusal;
use crate::retention::Content;
use crate::state::State;
use crate::store::{Insertion, Replaced, VersionedWorkflow};
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
        let founding = Founding {
            id: OperationId::new(at, self.inner.entropy.bytes()),
            key: request.key.clone(),
            state,
            entry,
            fingerprint,
            workflow,
            payload: &request.payload,
            attempt: Some(attempt),
            amendment: None,
            money: workflow.workflow.money(&request.payload),
        };
        let new = founding.into_new();
        let operation = new.operation.clone();
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
        if operation.content.dropped_at().is_some() {
            // What was dropped is needed again: to look for the record, and to compare what comes after it.
            replacement.payload = Some(request.payload.to_text());
            replacement.operation.content = Content::Kept;
        }
        replacement.counts = grant_counts(&replacement.operation, at).to_vec();
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
