//! What workers tell: sending, still alive, outcome.

use chrono::TimeDelta;

use super::{Guard, TRIES_MAX, Transition, contended, integer, require, text};
use crate::actor::Actor;
use crate::event::{Event, Outcome, REPORT_TEXT_CHARACTERS_MAX, Standing};
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::json::Json;
use crate::key::OperationKey;
use crate::operation::{LeaseToken, Operation};
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::state::State;
use crate::store::Replaced;
use crate::token::{Scope, Token};
use crate::trail::{Entry, EntryKind, detail};

/// A trail is read in pages of this many entries.
const ENTRIES_PER_READ: u32 = 1_000;

/// What a worker says of its attempt.
#[derive(Clone, Debug)]
pub struct Report {
    /// The secret of the attempt's lease.
    pub lease_token: LeaseToken,
    /// How it went.
    pub outcome: Outcome,
    /// The destination's response, kept for people and replays.
    pub response: Option<Json>,
    /// The request's id, as in the log.
    pub request_id: Option<String>,
}

impl Guard {
    /// The worker is about to call the destination. From here on a lost worker leaves uncertainty. Changes nothing where the
    /// operation is sending already.
    ///
    /// # Errors
    /// [`Refusal::LeaseExpired`], [`Refusal::StaleLease`], what hides an operation, the store's fault.
    pub async fn mark_sending(
        &self,
        token: &Token,
        id: OperationId,
        lease_token: &LeaseToken,
    ) -> Result<Operation, Refusal> {
        require(token, Scope::OperationsWrite)?;
        for _ in 0..TRIES_MAX {
            let operation = self.held(token, id, lease_token).await?;
            let at = self.now();
            let state = operation.state.after(&Event::MarkedSending { at })?;
            if let Some(changed) = self.step(token, operation, state, EntryKind::MarkedSending, detail([])).await? {
                return Ok(changed);
            }
        }
        Err(contended())
    }

    /// Extends a live lease to `lease_seconds` from now, bounded by the workflow; never shortens it.
    ///
    /// # Errors
    /// [`Refusal::LeaseExpired`], [`Refusal::StaleLease`], a lease out of bounds, what hides an operation, the store's fault.
    pub async fn extend(
        &self,
        token: &Token,
        id: OperationId,
        lease_token: &LeaseToken,
        lease_seconds: Option<u32>,
    ) -> Result<Operation, Refusal> {
        require(token, Scope::OperationsWrite)?;
        for _ in 0..TRIES_MAX {
            let operation = self.held(token, id, lease_token).await?;
            let seconds = self.lease_bounded(&operation.key, lease_seconds)?;
            let at = self.now();
            let asked = at + TimeDelta::seconds(seconds.into());
            let lease_expires_at = operation.state.lease_expires_at().map_or(asked, |end| end.max(asked));
            let state = operation.state.after(&Event::Extended { at, lease_expires_at })?;
            let facts = detail([("lease_expires_at", Some(text(&crate::clock::rfc3339(lease_expires_at))))]);
            if let Some(changed) = self.step(token, operation, state, EntryKind::Extended, facts).await? {
                return Ok(changed);
            }
        }
        Err(contended())
    }

    /// A worker reports how its attempt went. The same report again changes nothing.
    ///
    /// # Errors
    /// [`Refusal::OutcomeDisagrees`] and [`Refusal::StaleLease`] keep the report as evidence, and make the operation disputed where
    /// the effect may exist twice; further, what hides an operation, a text out of bounds, the store's fault.
    pub async fn report(&self, token: &Token, id: OperationId, report: &Report) -> Result<Operation, Refusal> {
        require(token, Scope::OperationsWrite)?;
        check_outcome(&report.outcome)?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&token.reach, id).await?;
            let latest = operation.attempt.as_ref().is_some_and(|attempt| attempt.lease_token == report.lease_token);
            let standing = if latest {
                Standing::Latest
            } else {
                Standing::Earlier {
                    attempt: self.earlier_attempt(id, &report.lease_token).await?.ok_or(Refusal::StaleLease)?,
                }
            };
            let at = self.now();
            let event = Event::Reported { at, outcome: report.outcome.clone(), standing };
            let done = match operation.state.after(&event) {
                Ok(state) if state == operation.state => match standing {
                    Standing::Latest => return Ok(operation),
                    Standing::Earlier { .. } => {
                        self.keep_report(token, &operation, report, standing, Refusal::StaleLease).await?
                    }
                },
                Ok(state) => self.take_report(token, &operation, state, report, standing).await?,
                Err(refusal @ Refusal::OutcomeDisagrees { .. }) => {
                    self.keep_report(token, &operation, report, standing, refusal).await?
                }
                Err(refusal) => return Err(refusal),
            };
            if let Some(answer) = done {
                return answer;
            }
        }
        Err(contended())
    }

    /// The operation, where the lease token is that of its latest attempt.
    async fn held(&self, token: &Token, id: OperationId, lease_token: &LeaseToken) -> Result<Operation, Refusal> {
        let operation = self.reachable(&token.reach, id).await?;
        let latest = operation.attempt.as_ref().is_some_and(|attempt| attempt.lease_token == *lease_token);
        if latest { Ok(operation) } else { Err(Refusal::StaleLease) }
    }

    fn lease_bounded(&self, key: &OperationKey, asked: Option<u32>) -> Result<u32, Refusal> {
        let catalogue = self.catalogue();
        let name = key.workflow.as_str();
        let known = catalogue.workflows.get(name).ok_or_else(|| Refusal::not_found("workflow"))?;
        known.workflow.lease_seconds(asked).map_err(|message| Refusal::field("lease_seconds", message))
    }

    /// Writes a step of the lease's holder; none when somebody else moved first.
    async fn step(
        &self,
        token: &Token,
        operation: Operation,
        state: State,
        kind: EntryKind,
        facts: Json,
    ) -> Result<Option<Operation>, Refusal> {
        if state == operation.state {
            return Ok(Some(operation));
        }
        let change = Transition { state, at: self.now(), actor: reporter(token, &operation), kind, facts };
        let replacement = change.of(&operation);
        let changed = replacement.operation.clone();
        Ok((self.replace(replacement).await? == Replaced::Replaced).then_some(changed))
    }

    /// Writes a report that moves the state; none when somebody else moved first.
    async fn take_report(
        &self,
        token: &Token,
        operation: &Operation,
        state: State,
        report: &Report,
        standing: Standing,
    ) -> Result<Option<Result<Operation, Refusal>>, Refusal> {
        let (before, after) = (operation.state.name(), state.name());
        let is_new_dispute =
            matches!(state, State::Disputed { .. }) && !matches!(operation.state, State::Disputed { .. });
        let facts = report_facts(operation, report, standing);
        let change =
            Transition { state, at: self.now(), actor: reporter(token, operation), kind: EntryKind::Reported, facts };
        let mut replacement = change.of(operation);
        replacement.response = report.response.as_ref().map(Json::to_string);
        if after == crate::state::StateName::Confirmed && operation.key.revision > 1 {
            let previous = operation.key.at_revision(operation.key.revision - 1);
            replacement.supersedes = self.inner.store.operation_by_key(&previous).await?.map(|previous| previous.id);
        }
        let changed = replacement.operation.clone();
        if self.replace(replacement).await? == Replaced::Stale {
            return Ok(None);
        }
        Ok(Some(match standing {
            Standing::Earlier { .. } => Err(Refusal::StaleLease),
            Standing::Latest if is_new_dispute => Err(Refusal::OutcomeDisagrees { held: before }),
            Standing::Latest => Ok(changed),
        }))
    }

    /// Keeps a report that moves nothing, once, and answers with `refusal`; none when somebody else moved first.
    async fn keep_report(
        &self,
        token: &Token,
        operation: &Operation,
        report: &Report,
        standing: Standing,
        refusal: Refusal,
    ) -> Result<Option<Result<Operation, Refusal>>, Refusal> {
        let facts = report_facts(operation, report, standing);
        let change = Transition {
            state: operation.state.clone(),
            at: self.now(),
            actor: reporter(token, operation),
            kind: EntryKind::ReportKept,
            facts,
        };
        let replacement = change.of(operation);
        let told = |entry: &Entry| {
            matches!(entry.kind, EntryKind::ReportKept | EntryKind::Reported)
                && same_report(&entry.detail, &replacement.entry.detail)
        };
        if self.find_entry(operation.id, told).await?.is_some() {
            return Ok(Some(Err(refusal)));
        }
        Ok((self.replace(replacement).await? == Replaced::Replaced).then_some(Err(refusal)))
    }

    /// The number of the attempt whose lease had this token.
    async fn earlier_attempt(&self, id: OperationId, lease_token: &LeaseToken) -> Result<Option<u32>, Refusal> {
        let digest = Json::String(lease_token.digest());
        let begun = self
            .find_entry(id, |entry| entry.kind == EntryKind::Begun && entry.detail.member("lease") == Some(&digest))
            .await?;
        Ok(begun.and_then(|entry| match entry.detail.member("attempt") {
            Some(Json::Number(number)) => number.as_written().parse().ok(),
            Some(Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_)) | None => None,
        }))
    }

    async fn find_entry(&self, id: OperationId, matches: impl Fn(&Entry) -> bool) -> Result<Option<Entry>, Refusal> {
        let mut after = 0;
        loop {
            let entries = self.inner.store.entries(id, after, ENTRIES_PER_READ).await?;
            let Some(last) = entries.last() else { return Ok(None) };
            after = last.sequence;
            if let Some(found) = entries.into_iter().find(&matches) {
                return Ok(Some(found));
            }
        }
    }
}

/// The worker of the latest attempt, behind the token that reports.
fn reporter(token: &Token, operation: &Operation) -> Actor {
    let worker = operation.attempt.as_ref().and_then(|attempt| attempt.worker.clone());
    Actor::Token { name: token.name.clone(), worker }
}

fn report_facts(operation: &Operation, report: &Report, standing: Standing) -> Json {
    let attempt = match standing {
        Standing::Latest => operation.attempt_number(),
        Standing::Earlier { attempt } => attempt,
    };
    let (reference, reason) = match &report.outcome {
        Outcome::Confirmed { destination_reference } => (Some(destination_reference), None),
        Outcome::Failed { reason } | Outcome::Unknown { reason } => (None, Some(reason)),
    };
    let response = report.response.as_ref();
    let response_status = response.and_then(|response| response.member("status")).cloned();
    let response_fingerprint = response
        .and_then(|response| Payload::new(response.clone()).ok())
        .map(|response| Fingerprint::of(&response, &[]));
    detail([
        ("attempt", Some(integer(attempt))),
        ("outcome", Some(text(report.outcome.as_str()))),
        ("destination_reference", reference.map(|reference| text(reference))),
        ("reason", reason.map(|reason| text(reason))),
        ("response_status", response_status),
        ("response_fingerprint", response_fingerprint.map(|fingerprint| text(&fingerprint.to_string()))),
        ("request_id", report.request_id.as_deref().map(text)),
    ])
}

/// Whether two entries tell the same report: the same words about the same attempt.
fn same_report(left: &Json, right: &Json) -> bool {
    ["attempt", "outcome", "destination_reference", "reason"].iter().all(|name| left.member(name) == right.member(name))
}

fn check_outcome(outcome: &Outcome) -> Result<(), Refusal> {
    let (field, value) = match outcome {
        Outcome::Confirmed { destination_reference } => ("destination_reference", destination_reference),
        Outcome::Failed { reason } | Outcome::Unknown { reason } => ("reason", reason),
    };
    check_text(field, value)
}

/// Refuses a text that is blank or beyond [`REPORT_TEXT_CHARACTERS_MAX`].
pub(super) fn check_text(field: &str, value: &str) -> Result<(), Refusal> {
    if value.trim().is_empty() {
        return Err(Refusal::field(field, "is empty; it is needed here"));
    }
    if value.chars().count() > REPORT_TEXT_CHARACTERS_MAX {
        return Err(Refusal::field(field, format!("has over {REPORT_TEXT_CHARACTERS_MAX} characters")));
    }
    if value.contains('\0') {
        return Err(Refusal::field(field, "contains the character U+0000"));
    }
    Ok(())
}
