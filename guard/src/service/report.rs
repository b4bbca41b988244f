//! What workers tell: sending, still alive, outcome.

use chrono::{DateTime, TimeDelta};

use super::{Guard, TRIES_MAX, Transition, contended, integer, require, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::destination::among;
use crate::event::{Event, Outcome, REPORT_TEXT_CHARACTERS_MAX, Standing};
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::json::Json;
use crate::key::OperationKey;
use crate::operation::{LeaseToken, Operation};
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::state::{State, StateName};
use crate::store::{RecoveryChange, Replaced, Replacement};
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
            let seconds = self.lease_bounded(&operation.key, lease_seconds).await?;
            let at = self.now();
            let asked = at + TimeDelta::seconds(seconds.into());
            let lease_expires_at = operation.state.lease_expires_at().map_or(asked, |end| end.max(asked));
            let state = operation.state.after(&Event::Extended { at, lease_expires_at })?;
            let facts = detail([("lease_expires_at", Some(text(&rfc3339(lease_expires_at))))]);
            if let Some(changed) = self.step(token, operation, state, EntryKind::Extended, facts).await? {
                return Ok(changed);
            }
        }
        Err(contended())
    }

    /// A worker reports how its attempt went. What is answered is in the trail by then; the same report again changes nothing and is
    /// answered as it was the first time, whatever happened since.
    ///
    /// # Errors
    /// [`Refusal::OutcomeDisagrees`] and [`Refusal::StaleLease`] keep the report as evidence, and make the operation disputed where
    /// the effect may exist twice; further, what hides an operation, a text out of bounds, the store's fault.
    pub async fn report(&self, token: &Token, id: OperationId, report: &Report) -> Result<Operation, Refusal> {
        require(token, Scope::OperationsWrite)?;
        check_outcome(&report.outcome)?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&token.reach, id).await?;
            let reporter = self.reporter(&operation, &report.lease_token).await?;
            let at = self.now();
            let event = Event::Reported { at, outcome: report.outcome.clone(), standing: reporter.standing };
            let (state, disagrees) = match operation.state.after(&event) {
                Ok(state) => {
                    let is_new_dispute = state.name() == StateName::Disputed && operation.state.name() != state.name();
                    (state, is_new_dispute)
                }
                Err(Refusal::OutcomeDisagrees { .. }) => (operation.state.clone(), true),
                Err(refusal) => return Err(refusal),
            };
            let facts = report_facts(&operation, &reporter, report, disagrees);
            // Who holds a lease has told nothing yet: the commonest report needs no look into the trail.
            let is_first = reporter.standing == Standing::Latest && operation.state.lease_expires_at().is_some();
            if !is_first && let Some(told) = self.told(id, &facts).await? {
                return answer(reporter.standing, held_then(&told), operation);
            }
            let held = disagrees.then(|| operation.state.name());
            let replacement = self.report_kept(token, &operation, reporter.worker, report, (state, at), facts).await?;
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Replaced {
                return answer(reporter.standing, held, changed);
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

    async fn lease_bounded(&self, key: &OperationKey, asked: Option<u32>) -> Result<u32, Refusal> {
        let find = || self.catalogue().workflows.get(key.workflow.as_str()).cloned();
        let known = match find() {
            Some(known) => known,
            // Another process took it up, and began in it.
            None => {
                self.refresh().await?;
                find().ok_or_else(|| Refusal::not_found("workflow"))?
            }
        };
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
        let worker = operation.attempt.as_ref().and_then(|attempt| attempt.worker.clone());
        let actor = Actor::Token { name: token.name.clone(), worker };
        let replacement = Transition { state, at: self.now(), actor, kind, facts }.of(&operation);
        let changed = replacement.operation.clone();
        Ok((self.replace(replacement).await? == Replaced::Replaced).then_some(changed))
    }

    /// The change that a report makes: it moves the state, or is only kept.
    async fn report_kept(
        &self,
        token: &Token,
        operation: &Operation,
        worker: Option<String>,
        report: &Report,
        (state, at): (State, Timestamp),
        facts: Json,
    ) -> Result<Replacement, Refusal> {
        let moves = state != operation.state;
        // The response that is kept is that of the attempt that settled the operation; a contradiction does not replace it.
        let settles = moves && state.name() != StateName::Disputed;
        let kind = if moves { EntryKind::Reported } else { EntryKind::ReportKept };
        let actor = Actor::Token { name: token.name.clone(), worker };
        let mut replacement = self.change(operation, Transition { state, at, actor, kind, facts }).await?;
        replacement.response = report.response.as_ref().filter(|_| settles).map(Json::to_string);
        if !moves && may_have_written(&report.outcome) {
            replacement.recovery = self.written_until(operation, at).await?;
        }
        if let RecoveryChange::Schedule(recovery) = &mut replacement.recovery {
            recovery.exists_at = self.says_that_it_exists(operation, report).then_some(at);
        }
        Ok(replacement)
    }

    /// Whether the response of a report is the destination's "there is such a record already", by its profile.
    fn says_that_it_exists(&self, operation: &Operation, report: &Report) -> bool {
        let status = report.response.as_ref().and_then(|response| response.member("status"));
        let Some(Json::Number(status)) = status else { return false };
        let Ok(status) = status.as_written().parse() else { return false };
        let catalogue = self.catalogue();
        let destination = catalogue.destination_to_ask(operation.key.workflow.as_str());
        let create = destination.and_then(|destination| destination.create.as_ref());
        create.is_some_and(|create| among(&create.exists, status))
    }

    /// Whose report it is: the lease token tells.
    async fn reporter(&self, operation: &Operation, lease_token: &LeaseToken) -> Result<Reporter, Refusal> {
        if let Some(attempt) = operation.attempt.as_ref().filter(|attempt| attempt.lease_token == *lease_token) {
            let worker = attempt.worker.clone();
            return Ok(Reporter { standing: Standing::Latest, attempt: attempt.number, worker });
        }
        let digest = Json::String(lease_token.digest());
        let is_begun = |entry: &Entry| entry.kind == EntryKind::Begun && entry.detail.member("lease") == Some(&digest);
        let begun = self.find_entry(operation.id, is_begun).await?.ok_or(Refusal::StaleLease)?;
        let attempt = match begun.detail.member("attempt") {
            Some(Json::Number(number)) => number.as_written().parse().map_err(|_| Refusal::StaleLease)?,
            Some(Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_)) | None => {
                return Err(Refusal::StaleLease);
            }
        };
        let worker = match begun.actor {
            Actor::Token { worker, .. } => worker,
            Actor::Person { .. }
            | Actor::Sweeper
            | Actor::Recovery
            | Actor::Schedule
            | Actor::CommandLine
            | Actor::FirstStart => None,
        };
        Ok(Reporter { standing: Standing::Earlier { attempt }, attempt, worker })
    }

    /// The entry of the very same report, where it was handed in before.
    async fn told(&self, id: OperationId, facts: &Json) -> Result<Option<Entry>, Refusal> {
        let is_same = |entry: &Entry| is_report(entry.kind) && same_report(&entry.detail, facts);
        self.find_entry(id, is_same).await
    }

    /// Until when a request of the latest attempt may still be under way although the operation is disputed: a report from an earlier
    /// attempt interrupted it, and its worker has told nothing since.
    pub(super) async fn interrupted_until(&self, operation: &Operation) -> Result<Option<Timestamp>, Refusal> {
        let interrupts = |entry: &Entry| entry.detail.member(INTERRUPTS).is_some();
        let latest = integer(operation.attempt_number());
        let mut until = None;
        let mut after = 0;
        while let Some(entry) = self.find_entry_behind(operation.id, after, interrupts).await? {
            after = entry.sequence;
            until = entry.detail.member(INTERRUPTS).and_then(Json::as_str).map(ToOwned::to_owned);
        }
        let is_told = |entry: &Entry| is_report(entry.kind) && entry.detail.member("attempt") == Some(&latest);
        let Some(until) = until else { return Ok(None) };
        if self.find_entry_behind(operation.id, after, is_told).await?.is_some() {
            return Ok(None);
        }
        Ok(DateTime::parse_from_rfc3339(&until).ok().map(|until| until.to_utc()))
    }

    pub(super) async fn find_entry(
        &self,
        id: OperationId,
        matches: impl Fn(&Entry) -> bool,
    ) -> Result<Option<Entry>, Refusal> {
        self.find_entry_behind(id, 0, matches).await
    }

    async fn find_entry_behind(
        &self,
        id: OperationId,
        mut after: u64,
        matches: impl Fn(&Entry) -> bool,
    ) -> Result<Option<Entry>, Refusal> {
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

/// Who hands a report in.
struct Reporter {
    standing: Standing,
    attempt: u32,
    worker: Option<String>,
}

/// The fact that names how the operation was held when a report disagreed with it.
const DISAGREES_WITH: &str = "disagrees_with";

/// The fact that tells until when the lease lasted that a report of an earlier attempt broke into.
const INTERRUPTS: &str = "interrupts_lease_until";

const fn is_report(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Reported | EntryKind::ReportKept)
}

/// What a report is answered that moved or met `operation`.
fn answer(standing: Standing, held: Option<StateName>, operation: Operation) -> Result<Operation, Refusal> {
    match (standing, held) {
        (Standing::Earlier { .. }, _) => Err(Refusal::StaleLease),
        (Standing::Latest, Some(held)) => Err(Refusal::OutcomeDisagrees { held }),
        (Standing::Latest, None) => Ok(operation),
    }
}

/// How the operation was held when a report that was told before disagreed with it.
fn held_then(told: &Entry) -> Option<StateName> {
    told.detail.member(DISAGREES_WITH).and_then(Json::as_str).and_then(StateName::parse)
}

fn report_facts(operation: &Operation, reporter: &Reporter, report: &Report, disagrees: bool) -> Json {
    let (reference, reason) = match &report.outcome {
        Outcome::Confirmed { destination_reference } => (Some(destination_reference), None),
        Outcome::Failed { reason } | Outcome::Unknown { reason } => (None, Some(reason)),
    };
    let response = report.response.as_ref();
    let response_status = response.and_then(|response| response.member("status")).filter(|status| is_status(status));
    let response_fingerprint = response
        .and_then(|response| Payload::new(response.clone()).ok())
        .map(|response| Fingerprint::of(&response, &[]));
    let interrupts = match (reporter.standing, &report.outcome) {
        (Standing::Earlier { .. }, Outcome::Confirmed { .. }) => operation.state.lease_expires_at(),
        (Standing::Earlier { .. }, Outcome::Failed { .. } | Outcome::Unknown { .. }) | (Standing::Latest, _) => None,
    };
    detail([
        ("attempt", Some(integer(reporter.attempt))),
        ("outcome", Some(text(report.outcome.as_str()))),
        ("destination_reference", reference.map(|reference| text(reference))),
        ("reason", reason.map(|reason| text(reason))),
        (DISAGREES_WITH, disagrees.then(|| text(operation.state.name().as_str()))),
        (INTERRUPTS, interrupts.map(|until| text(&rfc3339(until)))),
        ("response_status", response_status.cloned()),
        ("response_fingerprint", response_fingerprint.map(|fingerprint| text(&fingerprint.to_string()))),
        ("request_id", report.request_id.as_deref().map(text)),
    ])
}

/// Whether it is an HTTP status; the trail keeps nothing else of a response, whose body may have to be forgotten.
fn is_status(status: &Json) -> bool {
    match status {
        Json::Number(number) => number.as_written().parse().is_ok_and(|status: u16| (100..=599).contains(&status)),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => false,
    }
}

/// Whether a report that moves nothing still says that a write was possible until now.
const fn may_have_written(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Unknown { .. } => true,
        Outcome::Confirmed { .. } | Outcome::Failed { .. } => false,
    }
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
    check_length(field, value, REPORT_TEXT_CHARACTERS_MAX)
}

/// Refuses a text that no store could keep: beyond `characters_max`, or with U+0000, which PostgreSQL's text does not hold.
pub(super) fn check_length(field: &str, value: &str, characters_max: usize) -> Result<(), Refusal> {
    if value.chars().count() > characters_max {
        return Err(Refusal::field(field, format!("has over {characters_max} characters")));
    }
    if value.contains('\0') {
        return Err(Refusal::field(field, "contains the character U+0000"));
    }
    Ok(())
}
