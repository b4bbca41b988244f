//! Begin: may this be sent?

use std::sync::Arc;

use chrono::TimeDelta;

use super::amendment::Standing;
use super::desk::HISTORY_ROWS_MAX;
use super::grant::{Granted, actor, proceed};
use super::report::check_length;
use super::{Guard, TRIES_MAX, Transition, contended, integer, require, text};
use crate::amendment::AmendmentState;
use crate::conflict::{Conflict, ConflictOutcome, ConflictStanding, Places};
use crate::decision::{Asker, Decision, DecisionName, Verdict, decide};
use crate::diff::{CHANGES_LISTED_MAX, Change, changes};
use crate::fingerprint::{FINGERPRINT_SCHEME_OF_RECORD, Fingerprint};
use crate::id::ConflictId;
use crate::json::Json;
use crate::key::{OperationKey, REVISION_MAX};
use crate::operation::Operation;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::refusal::Refusal;
use crate::rules::RuleStanding;
use crate::state::State;
use crate::store::{Delivery, Replaced, VersionedWorkflow};
use crate::summary::{Count, Counted};
use crate::token::{Scope, Token};
use crate::trail::{EntryKind, detail};

/// The worker's name, a delivery id and a begin id have at most this many characters each.
pub const LABEL_CHARACTERS_MAX: usize = 500;

/// A question: may this be sent?
#[derive(Clone, Debug)]
pub struct BeginRequest {
    /// What identifies the operation.
    pub key: OperationKey,
    /// Its content.
    pub payload: Payload,
    /// The worker, as it names itself: for the trail.
    pub worker: Option<String>,
    /// The message that the worker acts on: for the trail.
    pub delivery_id: Option<String>,
    /// A random value of this one try, under which the same grant is given again.
    pub begin_id: Option<String>,
    /// The lease that the worker wants, in seconds.
    pub lease_seconds: Option<u32>,
    /// The request's id, as in the log.
    pub request_id: Option<String>,
}

impl Guard {
    /// Decides on a begin, atomically. What is granted is stored before it is answered. An answer without a grant is counted
    /// and told in the history by [`Guard::delivered`].
    ///
    /// # Errors
    /// Refusals of the caller, the workflow or a field, before anything is stored; the store's fault, with nothing decided.
    pub async fn begin(&self, token: &Token, request: &BeginRequest) -> Result<Decision, Refusal> {
        let (workflow, lease) = self.admit(token, request).await?;
        let mut known = None;
        for _ in 0..TRIES_MAX {
            let existing = match known.take() {
                Some(operation) => Some(operation),
                None => self.inner.store.operation_by_key(&request.key).await?,
            };
            let Some(operation) = existing else {
                Self::refuse_unasked(&workflow, &request.key)?;
                if request.key.revision > 1 {
                    return self.decide_on_missing_revision(&request.key).await;
                }
                let fingerprint = Fingerprint::of(&request.payload, &workflow.workflow.volatile);
                match self.grant_first(token, request, &workflow, fingerprint, lease).await? {
                    Granted::Yes(decision) => return Ok(*decision),
                    Granted::Moved(existing) => known = existing.map(|operation| *operation),
                }
                continue;
            };
            let received = self.fingerprint_against(&operation, request, &workflow).await?;
            let asker = Asker { token: token.id, begin_id: request.begin_id.as_deref() };
            match decide(&operation, &received, asker, self.now()) {
                Verdict::Conflict => {
                    if let Some(decision) = self.open_conflict(token, request, operation, received).await? {
                        return Ok(decision);
                    }
                }
                Verdict::Expire => {
                    self.expire(&operation).await?;
                }
                Verdict::Repeat => {
                    let amends = Box::pin(self.amends(&operation)).await?;
                    if let Some(decision) = proceed(operation, true, amends) {
                        return Ok(decision);
                    }
                }
                Verdict::InProgress => {
                    if let Some(lease_expires_at) = operation.state.lease_expires_at() {
                        return Ok(Decision::InProgress { operation, lease_expires_at });
                    }
                }
                Verdict::Unknown => return Ok(Decision::Unknown { operation }),
                Verdict::Replay => return Ok(Decision::Replay { operation }),
                Verdict::Superseded => {
                    let current = Box::new(self.newest_revision(&operation).await?);
                    return Ok(Decision::Superseded { operation, current });
                }
                Verdict::BeginAgain => {
                    let amending = match Box::pin(self.amending(&operation)).await? {
                        Standing::First => None,
                        Standing::Approved(amending) => Some(*amending),
                        Standing::Void { amendment, previous, reason } => {
                            if Box::pin(self.make_void(&operation, *amendment, &reason)).await? == Replaced::Stale {
                                continue;
                            }
                            return Ok(Decision::PreviousRevision { previous, reason: Some(reason) });
                        }
                    };
                    let two_step = workflow.workflow.two_step;
                    match self.grant_next(token, request, &operation, two_step, lease, amending).await? {
                        Granted::Yes(decision) => return Ok(*decision),
                        Granted::Moved(existing) => known = existing.map(|operation| *operation),
                    }
                }
                Verdict::AwaitingApproval => return Ok(Decision::AwaitingApproval { operation }),
                Verdict::Rejected => return self.decide_on_rejected(operation).await,
            }
        }
        Err(contended())
    }

    /// Counts a decision that was answered and tells it in the operation's history, at most a second later. Grants are counted
    /// with their own write and left alone here.
    pub fn delivered(&self, request: &BeginRequest, decision: &Decision) {
        self.deliver(request, decision, Counted::Decision(decision.name()));
    }

    /// As [`Self::delivered`], for a caller of the proxy: a replay is counted apart, since there the caller got the destination's own
    /// answer again.
    pub fn delivered_by_proxy(&self, request: &BeginRequest, decision: &Decision) {
        let counted = match decision.name() {
            DecisionName::Replay => Counted::ProxyReplay,
            other @ (DecisionName::Proceed
            | DecisionName::Superseded
            | DecisionName::InProgress
            | DecisionName::Unknown
            | DecisionName::AwaitingApproval
            | DecisionName::ApprovalMissing
            | DecisionName::PreviousRevision
            | DecisionName::Rejected
            | DecisionName::Conflict) => Counted::Decision(other),
        };
        self.deliver(request, decision, counted);
    }

    fn deliver(&self, request: &BeginRequest, decision: &Decision, counted: Counted) {
        let name = decision.name();
        if name == DecisionName::Proceed {
            return;
        }
        let at = self.now();
        let operation = decision.operation();
        let money = operation.and_then(|operation| operation.money.as_ref());
        let key = &request.key;
        let known_conflict = match decision {
            Decision::Conflict { conflict, is_new: false, .. } => Some(conflict.id),
            Decision::Conflict { is_new: true, .. }
            | Decision::Proceed { .. }
            | Decision::Replay { .. }
            | Decision::Superseded { .. }
            | Decision::InProgress { .. }
            | Decision::Unknown { .. }
            | Decision::AwaitingApproval { .. }
            | Decision::ApprovalMissing { .. }
            | Decision::PreviousRevision { .. }
            | Decision::Rejected { .. } => None,
        };
        self.inner.store.note_delivery(Delivery {
            operation: operation.map(|operation| operation.id),
            at,
            decision: name,
            conflict: known_conflict,
            worker: request.worker.clone(),
            delivery_id: request.delivery_id.clone(),
            request_id: request.request_id.clone(),
            count: Count::one(key.workflow.as_str(), key.company.as_str(), counted, at, money),
            held_by: counted.held_as().and(operation.map(Operation::attempt_number)),
        });
    }

    /// Checks caller and request before anything is looked up or stored.
    async fn admit(
        &self,
        token: &Token,
        request: &BeginRequest,
    ) -> Result<(Arc<VersionedWorkflow>, TimeDelta), Refusal> {
        require(token, Scope::OperationsWrite)?;
        let key = &request.key;
        let company = key.company.as_str();
        if !token.reach.company(company) {
            return Err(Refusal::Forbidden { reason: format!("this token does not reach the company {company:?}") });
        }
        let workflow = self.workflow_for(token, key.workflow.as_str()).await?;
        // A reversal may be begun once it was asked for; whether it was, is seen when it is looked for.
        if !workflow.workflow.actions.contains(&key.action) && !key.may_be_reversal() {
            let known: Vec<&str> = workflow.workflow.actions.iter().map(|action| action.as_str()).collect();
            return Err(Refusal::field(
                "action",
                format!("is {:?}; this workflow allows {}", key.action, known.join(", ")),
            ));
        }
        if !(1..=REVISION_MAX).contains(&key.revision) {
            return Err(Refusal::field("revision", format!("is {}; 1 to {REVISION_MAX} are possible", key.revision)));
        }
        let labels =
            [("worker", &request.worker), ("delivery_id", &request.delivery_id), ("begin_id", &request.begin_id)];
        for (field, label) in labels {
            check_length(field, label.as_deref().unwrap_or_default(), LABEL_CHARACTERS_MAX)?;
        }
        if request.begin_id.as_deref().is_some_and(|begin_id| begin_id.trim().is_empty()) {
            let message = "is empty; make a new random value for every try, or two workers would share one grant";
            return Err(Refusal::field("begin_id", message));
        }
        if request.begin_id.is_some() && request.begin_id == request.delivery_id {
            let message =
                "equals delivery_id; it must be new for every try, or a redelivered message would get a second grant";
            return Err(Refusal::field("begin_id", message));
        }
        let seconds = workflow.workflow.lease_seconds(request.lease_seconds);
        let seconds = seconds.map_err(|message| Refusal::field("lease_seconds", message))?;
        Ok((workflow, TimeDelta::seconds(seconds.into())))
    }

    /// The fingerprint of the received payload, comparable with that of the operation.
    ///
    /// It is made under the rules under which the operation's was made. Where those differ and the rules have changed since, the
    /// stored payload is measured by the present rules too: a field declared volatile later makes no conflict with old operations.
    async fn fingerprint_against(
        &self,
        operation: &Operation,
        request: &BeginRequest,
        workflow: &VersionedWorkflow,
    ) -> Result<Fingerprint, Refusal> {
        if operation.fingerprint_scheme == FINGERPRINT_SCHEME_OF_RECORD {
            // Its payload never came: what the record shows of it, its money, is compared.
            let shown = operation.money.as_ref();
            if shown.is_none() || shown == workflow.workflow.money(&request.payload).as_ref() {
                return Ok(operation.fingerprint);
            }
        }
        let held_volatile = self.volatile_of(operation).await?;
        let present: &[Pointer] = &workflow.workflow.volatile;
        let received = Fingerprint::of(&request.payload, held_volatile.as_deref().unwrap_or(present));
        if received == operation.fingerprint || operation.policy_version == workflow.version {
            return Ok(received);
        }
        let Some(held) = self.stored_payload(operation).await? else { return Ok(received) };
        if Fingerprint::of(&held, present) == Fingerprint::of(&request.payload, present) {
            return Ok(operation.fingerprint);
        }
        Ok(received)
    }

    /// The places that were left out of the operation's fingerprint; none where its workflow's version is not known.
    pub(super) async fn volatile_of(&self, operation: &Operation) -> Result<Option<Arc<[Pointer]>>, Refusal> {
        let version = (operation.key.workflow.as_str().to_owned(), operation.policy_version);
        let known = self.catalogue().volatile.get(&version).cloned();
        if known.is_some() {
            return Ok(known);
        }
        // Another process began under a definition that this one has not seen yet.
        self.refresh().await?;
        Ok(self.catalogue().volatile.get(&version).cloned())
    }

    pub(super) async fn stored_payload(&self, operation: &Operation) -> Result<Option<Payload>, Refusal> {
        let stored = self.inner.store.payload(operation.id).await?;
        Ok(stored.and_then(|text| Payload::parse(text.as_bytes()).ok()))
    }

    /// Finds the conflict that this payload makes, or opens it. None when the operation moved meanwhile.
    async fn open_conflict(
        &self,
        token: &Token,
        request: &BeginRequest,
        operation: Operation,
        received: Fingerprint,
    ) -> Result<Option<Decision>, Refusal> {
        if let Some(conflict) = self.inner.store.conflict(operation.id, &received).await? {
            return Ok(Some(Decision::Conflict { operation, conflict, is_new: false }));
        }
        let at = self.now();
        let volatile = self.volatile_of(&operation).await?;
        let held = self.stored_payload(&operation).await?;
        let mut found =
            held.map(|held| changes(&held, &request.payload, volatile.as_deref().unwrap_or(&[]))).unwrap_or_default();
        let changes_total = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let places = Places::of(operation.key.workflow.as_str(), &found);
        found.truncate(CHANGES_LISTED_MAX);
        if let Some(known) = self.conflict_in_same_places(&operation, &found, changes_total).await? {
            let conflict = Conflict { changes: found, ..known };
            return Ok(Some(Decision::Conflict { operation, conflict, is_new: false }));
        }
        let conflict = Conflict {
            id: ConflictId::new(at, self.inner.entropy.bytes()),
            operation: operation.id,
            fingerprint: received,
            workflow: operation.key.workflow.as_str().to_owned(),
            company: operation.key.company.as_str().to_owned(),
            changes: found,
            changes_total,
            places,
            opened_at: at,
            hits: 1,
            standing: ConflictStanding::Open,
        };
        let facts = detail([
            ("conflict", Some(text(&conflict.id.to_string()))),
            ("fingerprint", Some(text(&received.to_string()))),
            ("changes_total", Some(integer(changes_total))),
            ("delivery_id", request.delivery_id.as_deref().map(text)),
            ("request_id", request.request_id.as_deref().map(text)),
        ]);
        let state = operation.state.clone();
        let change = Transition { state, at, actor: actor(token, request), kind: EntryKind::ConflictOpened, facts };
        let mut replacement = change.of(&operation);
        replacement.operation.open_conflicts += 1;
        replacement.conflict = Some((conflict.clone(), request.payload.to_text()));
        let operation = replacement.operation.clone();
        Ok(match self.replace(replacement).await? {
            Replaced::Replaced => Some(Decision::Conflict { operation, conflict, is_new: true }),
            Replaced::Stale => None,
        })
    }

    /// The open conflict whose payload differs in exactly these places, where all of them are moments: a job that runs every hour
    /// and writes the hour into its payload makes one conflict, not one for each hour. So does one that was decided as noise, while
    /// the places that shall be left out wait for approval. Any other wrong payload is a conflict of its own.
    async fn conflict_in_same_places(
        &self,
        operation: &Operation,
        found: &[Change],
        changes_total: u32,
    ) -> Result<Option<Conflict>, Refusal> {
        if found.is_empty() || !found.iter().all(only_the_moment_differs) {
            return Ok(None);
        }
        let known = self.inner.store.conflicts(operation.id, HISTORY_ROWS_MAX).await?;
        let alike = known.into_iter().filter(|known| known.changes_total == changes_total).filter(|known| {
            let places = known.changes.iter().map(|change| &change.path);
            known.changes.iter().all(only_the_moment_differs) && places.eq(found.iter().map(|change| &change.path))
        });
        for known in alike {
            let still_takes = match known.decision().map(|decision| &decision.outcome) {
                None => true,
                Some(ConflictOutcome::Noise { proposal, .. }) => {
                    self.rule_proposal(*proposal).await?.standing == RuleStanding::Open
                }
                Some(
                    ConflictOutcome::KeptApproved
                    | ConflictOutcome::AmendmentProposed { .. }
                    | ConflictOutcome::OtherDocument { .. },
                ) => false,
            };
            if still_takes {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// A revision whose approval became void is held back as long as its base is in the way; any other was rejected.
    async fn decide_on_rejected(&self, operation: Operation) -> Result<Decision, Refusal> {
        let reason = match &operation.state {
            State::Rejected { reason, .. } => reason.clone(),
            State::AwaitingApproval
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Failed { .. }
            | State::Unknown { .. }
            | State::Confirmed { .. }
            | State::Disputed { .. } => String::new(),
        };
        let latest = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        let base = latest.as_ref().map(|amendment| amendment.base.operation);
        match latest.map(|amendment| amendment.state) {
            Some(AmendmentState::Void { reason, .. }) => {
                let previous = match base {
                    Some(base) => self.inner.store.operation(base).await?,
                    None => None,
                };
                Ok(Decision::PreviousRevision { previous: previous.map(Box::new), reason: Some(reason) })
            }
            Some(
                AmendmentState::AwaitingApproval
                | AmendmentState::Approved { .. }
                | AmendmentState::Rejected { .. }
                | AmendmentState::Withdrawn { .. }
                | AmendmentState::Expired { .. }
                | AmendmentState::Begun { .. },
            )
            | None => Ok(Decision::Rejected { operation, reason }),
        }
    }

    async fn decide_on_missing_revision(&self, key: &OperationKey) -> Result<Decision, Refusal> {
        let previous = self.inner.store.operation_by_key(&key.at_revision(key.revision - 1)).await?;
        Ok(match previous {
            Some(previous) if matches!(previous.state, State::Confirmed { .. }) => {
                Decision::ApprovalMissing { previous }
            }
            previous => Decision::PreviousRevision { previous: previous.map(Box::new), reason: None },
        })
    }

    /// Follows the revisions to the newest confirmed one.
    pub(super) async fn newest_revision(&self, operation: &Operation) -> Result<Operation, Refusal> {
        let mut newest = operation.clone();
        while let Some(next) = newest.superseded_by {
            newest = self.inner.store.operation(next).await?.ok_or_else(|| Refusal::not_found("newer revision"))?;
        }
        Ok(newest)
    }
}

/// Whether a place holds one moment in the approved payload and another in the received one.
fn only_the_moment_differs(change: &Change) -> bool {
    let is_moment = |value: &Option<Json>| value.as_ref().and_then(Json::as_str).is_some_and(is_moment);
    is_moment(&change.approved) && is_moment(&change.received)
}

/// Whether the text is a date with a time of day (RFC 3339, or with a blank between the two). A date alone is none: it may be the
/// date of a voucher.
fn is_moment(text: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2));
    is_date && time.get(..2).is_some_and(|hour| digits(hour, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_a_time_of_day() {
        for moment in ["2026-04-01T07:00:00Z", "2026-04-01 07:00", "2026-04-01T07:00:00.123+05:30"] {
            assert!(is_moment(moment), "{moment}");
        }
        for other in ["2026-04-01", "20260401", "07:00", "C-77 07", "2026-04-01T", "2026-04-01 due", "12.50"] {
            assert!(!is_moment(other), "{other}");
        }
    }
}
