//! Amendments: proposed, approved by others, begun once; rejected, withdrawn, expired or void otherwise.

mod decision;
mod reading;

use chrono::TimeDelta;
use rust_decimal::Decimal;

pub use self::decision::Approving;
pub use self::reading::{Amendable, AmendmentReport};
use super::founding::Founding;
use super::report::{check_length, check_text};
use super::{Guard, TRIES_MAX, Transition, check_limit, contended, integer, require, text};
use crate::actor::Actor;
use crate::amendment::{
    Amendment, AmendmentState, Base, REQUESTED_BY_CHARACTERS_MAX, Ruled, VIOLATIONS_LISTED_MAX, Violation, violations,
};
use crate::clock::{Timestamp, rfc3339};
use crate::conflict::ConflictOutcome;
use crate::decision::Amends;
use crate::diff::{CHANGES_LISTED_MAX, Change, ChangeKind, changes};
use crate::event::{AmendmentStep, Event};
use crate::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use crate::id::{AmendmentId, ConflictId, OperationId};
use crate::json::Json;
use crate::key::{OperationKey, REVISION_MAX};
use crate::money::Money;
use crate::operation::{Operation, hexadecimal};
use crate::payload::Payload;
use crate::period::Span;
use crate::person::Person;
use crate::pointer::Pointer;
use crate::queue::{Page, PageRequest};
use crate::refusal::Refusal;
use crate::reversal::Reversal;
use crate::state::{State, StateName};
use crate::store::{AmendmentChange, Insertion, Replaced, VersionedWorkflow};
use crate::token::{Reach, Scope, Token};
use crate::trail::{ChainHash, Entry, EntryKind, detail};
use crate::workflow::{AmendmentRules, Correction};

/// Who proposes an amendment.
#[derive(Clone, Copy, Debug)]
pub enum Proposer<'a> {
    /// An automation.
    Token(&'a Token),
    /// A person at the desk.
    Person(&'a Person),
}

impl<'a> Proposer<'a> {
    fn reach(self) -> &'a Reach {
        match self {
            Self::Token(token) => &token.reach,
            Self::Person(person) => &person.reach,
        }
    }

    fn may_propose(self) -> Result<(), Refusal> {
        match self {
            Self::Token(token) => require(token, Scope::AmendmentsPropose),
            Self::Person(person) if person.role.may_propose() => Ok(()),
            Self::Person(_) => {
                Err(Refusal::Forbidden { reason: "proposing needs the role operator, finance or admin".to_owned() })
            }
        }
    }

    fn actor(self) -> Actor {
        match self {
            Self::Token(token) => Actor::Token { name: token.name.clone(), worker: None },
            Self::Person(person) => Actor::Person { email: person.email.clone() },
        }
    }

    /// The person behind a token.
    fn behind(self) -> Option<String> {
        match self {
            Self::Person(_) => None,
            Self::Token(token) => match &token.created_by {
                Actor::Person { email } => Some(email.clone()),
                Actor::Token { .. }
                | Actor::Sweeper
                | Actor::Recovery
                | Actor::Schedule
                | Actor::CommandLine
                | Actor::FirstStart => None,
            },
        }
    }
}

/// What a revision that may be begun (again) stands on.
pub(super) enum Standing {
    /// Nothing: it is the first revision.
    First,
    /// An approval that holds.
    Approved(Box<Amending>),
    /// An approval that holds no longer.
    Void {
        /// The amendment, where there is one.
        amendment: Box<Option<Amendment>>,
        /// The revision before it.
        previous: Option<Box<Operation>>,
        /// Why.
        reason: String,
    },
}

/// An amendment that is begun, with what its worker is told.
pub(super) struct Amending {
    amendment: Amendment,
    /// What its worker is told.
    pub amends: Amends,
}

impl Amending {
    /// What the first begin makes of the amendment; a later one, nothing.
    pub(super) fn begun(&self, at: Timestamp) -> AmendmentChange {
        match self.amendment.state {
            AmendmentState::Approved { .. } => {
                let state = AmendmentState::Begun { at };
                AmendmentChange::Put(Box::new(Amendment { state, ..self.amendment.clone() }))
            }
            AmendmentState::AwaitingApproval
            | AmendmentState::Rejected { .. }
            | AmendmentState::Withdrawn { .. }
            | AmendmentState::Expired { .. }
            | AmendmentState::Begun { .. }
            | AmendmentState::Void { .. } => AmendmentChange::Keep,
        }
    }
}

/// Which of the rules for corrections applies to an operation.
pub(super) enum Phase {
    /// The one before reconciliation.
    Before,
    /// The one after it: it lies in this closed period.
    Closed(Span),
    /// The one after it: a reconciliation matched it at this moment.
    Reconciled(Timestamp),
}

impl Phase {
    /// The correction that these rules make.
    pub(super) const fn correction(&self, rules: &AmendmentRules) -> Correction {
        match self {
            Self::Before => rules.before_reconciliation,
            Self::Closed(_) | Self::Reconciled(_) => rules.after_reconciliation,
        }
    }
}

/// What is compared to make a proposal.
struct Compared {
    fingerprint: Fingerprint,
    changes: Vec<Change>,
    changes_total: u32,
    violations: Vec<Violation>,
}

impl Guard {
    /// Proposes a change of the latest confirmed revision. It becomes the next revision, which waits for approval. One whose amendment
    /// was rejected, withdrawn, expired or void is proposed anew.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by scope or role, [`Refusal::NotFound`], [`Refusal::Impossible`] where it is not the latest confirmed
    /// revision, [`Refusal::RuleViolation`], [`Refusal::AmendmentOpen`], [`Refusal::NoChange`], a text out of bounds, a conflict of another
    /// operation or one that was decided otherwise, the store's fault.
    pub async fn propose(
        &self,
        who: Proposer<'_>,
        base: OperationId,
        payload: Payload,
        reason: &str,
        requested_by: Option<&str>,
        from_conflict: Option<ConflictId>,
    ) -> Result<Amendment, Refusal> {
        who.may_propose()?;
        check_text("reason", reason)?;
        let requested_by = requested_by.map(str::trim).filter(|name| !name.is_empty());
        check_length("requested_by", requested_by.unwrap_or_default(), REQUESTED_BY_CHARACTERS_MAX)?;
        for _ in 0..TRIES_MAX {
            let base = self.reachable(who.reach(), base).await?;
            let workflow = self.workflow_in_force(base.key.workflow.as_str(), who.reach()).await?;
            let held = base_of(&base)?;
            Box::pin(self.refuse_reversed(&base)).await?;
            self.refuse_foreign_conflict(&base, from_conflict).await?;
            let next_key = next_key(&base)?;
            let next = self.inner.store.operation_by_key(&next_key).await?;
            if let Some(open) = next.as_ref().filter(|next| next.state.name() != StateName::Rejected) {
                return Err(self.amendment_open(open).await?);
            }
            let at = self.now();
            let ruled = self.correction_for(&base, at).await?;
            let compared = self.compare(&base, &payload, &workflow, &ruled).await?;
            if !compared.violations.is_empty() {
                let Compared { changes, changes_total, violations, .. } = compared;
                return Err(Refusal::RuleViolation { changes, changes_total, violations });
            }
            let rules = &workflow.workflow.amendment;
            let money = workflow.workflow.money(&payload);
            let amendment = Amendment {
                id: AmendmentId::new(at, self.inner.entropy.bytes()),
                operation: next
                    .as_ref()
                    .map_or_else(|| OperationId::new(at, self.inner.entropy.bytes()), |next| next.id),
                revision: next_key.revision,
                base: held,
                fingerprint: compared.fingerprint,
                changes: compared.changes,
                changes_total: compared.changes_total,
                proposed_by: who.actor(),
                behind: who.behind(),
                reason: reason.to_owned(),
                requested_by: requested_by.map(ToOwned::to_owned),
                from_conflict,
                ruled,
                approvals_needed: approvals_needed(rules, base.money.as_ref(), money.as_ref()),
                approvals: Vec::new(),
                proposed_at: at,
                expires_at: at + TimeDelta::days(rules.proposal_days().into()),
                state: AmendmentState::AwaitingApproval,
            };
            let is_stored = match next {
                None => self.propose_first(next_key, &amendment, &payload, money.clone(), &workflow).await?,
                Some(rejected) => self.propose_again(&rejected, &amendment, &payload, money, &workflow).await?,
            };
            if is_stored {
                return Ok(amendment);
            }
        }
        Err(contended())
    }

    /// The correction that the workflow's rules make of a confirmed operation at a moment.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn correction_for(&self, operation: &Operation, _at: Timestamp) -> Result<Ruled, Refusal> {
        let workflow = self.workflow_in_force(operation.key.workflow.as_str(), &Reach::EVERYTHING).await?;
        let rules = &workflow.workflow.amendment;
        let rule_version = workflow.version;
        let phase = self.phase_of(operation).await?;
        let correction = phase.correction(rules);
        let because = match phase {
            Phase::Before => "before_reconciliation applies: the operation lies in no closed period, and no \
                              reconciliation has matched it"
                .to_owned(),
            Phase::Closed(span) => {
                format!("after_reconciliation applies: the period {} to {} is closed", span.from, span.to)
            }
            Phase::Reconciled(since) => format!(
                "after_reconciliation applies: the reconciliation of {} matched it with the destination's record",
                rfc3339(since)
            ),
        };
        Ok(Ruled { correction, rule_version, because })
    }

    /// Which of the rules for corrections applies to an operation now.
    pub(super) async fn phase_of(&self, operation: &Operation) -> Result<Phase, Refusal> {
        if let Some(period) = self.closed_period_of(operation).await? {
            return Ok(Phase::Closed(period.span()));
        }
        Ok(self.reconciled_at(operation.id).await?.map_or(Phase::Before, Phase::Reconciled))
    }

    /// An amendment within reach.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn amendment(&self, reach: &Reach, id: AmendmentId) -> Result<Amendment, Refusal> {
        Ok(self.amendment_with_operation(reach, id).await?.0)
    }

    /// The payload that an amendment within reach proposes, compact JSON; none where it was forgotten.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn amendment_payload(&self, reach: &Reach, id: AmendmentId) -> Result<Option<String>, Refusal> {
        self.amendment_with_operation(reach, id).await?;
        Ok(self.inner.store.amendment_payload(id).await?)
    }

    /// A page of the amendments within reach, newest first; only in this state, where one is named.
    ///
    /// # Errors
    /// A limit out of bounds, a text that is no cursor, the store's fault.
    pub async fn amendments(
        &self,
        reach: &Reach,
        state: Option<crate::amendment::AmendmentStateName>,
        page: &PageRequest,
    ) -> Result<Page<Amendment>, Refusal> {
        check_limit(page.limit)?;
        if page.cursor.as_ref().is_some_and(|cursor| cursor.read().is_none()) {
            return Err(Refusal::field("cursor", "is no cursor; take it from the page before"));
        }
        Ok(self.inner.store.amendments(reach, state, page).await?)
    }

    /// Why the base of an amendment is no longer the one that it was proposed on; none where it is.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn base_moved(&self, amendment: &Amendment) -> Result<Option<String>, Refusal> {
        let Some(base) = self.inner.store.operation(amendment.base.operation).await? else {
            return Ok(Some("the revision that it changes is not there any more".to_owned()));
        };
        self.moved_from(&base, amendment).await
    }

    /// The amendment within reach, with the operation that it proposes.
    async fn amendment_with_operation(
        &self,
        reach: &Reach,
        id: AmendmentId,
    ) -> Result<(Amendment, Operation), Refusal> {
        let not_found = || Refusal::not_found("amendment");
        let amendment = self.inner.store.amendment(id).await?.ok_or_else(not_found)?;
        match self.reachable(reach, amendment.operation).await {
            Ok(operation) => Ok((amendment, operation)),
            Err(Refusal::NotFound { .. }) => Err(not_found()),
            Err(refusal) => Err(refusal),
        }
    }

    /// What an operation that may be begun (again) stands on.
    pub(super) async fn amending(&self, operation: &Operation) -> Result<Standing, Refusal> {
        if !may_stand_on_approval(&operation.key) {
            return Ok(Standing::First);
        }
        let amendment = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        if operation.key.revision < 2 && amendment.is_none() {
            // An ordinary action of its workflow that has the name of a reversal's.
            return Ok(Standing::First);
        }
        let previous = self.corrected_by(operation, amendment.as_ref()).await?;
        let reason = match (&amendment, &previous) {
            (Some(amendment), Some(previous)) => match &amendment.state {
                AmendmentState::Approved { .. } | AmendmentState::Begun { .. } => {
                    self.moved_from(previous, amendment).await?
                }
                AmendmentState::AwaitingApproval
                | AmendmentState::Rejected { .. }
                | AmendmentState::Withdrawn { .. }
                | AmendmentState::Expired { .. }
                | AmendmentState::Void { .. } => Some(format!(
                    "its amendment is {}, so that nothing permits to send it",
                    amendment.state.name().as_str()
                )),
            },
            (None, _) | (_, None) => Some("there is no amendment that permits to send it".to_owned()),
        };
        match (amendment, previous, reason) {
            (Some(amendment), Some(previous), None) => {
                let amends = self.amends_of(&amendment, previous).await?;
                Ok(Standing::Approved(Box::new(Amending { amendment, amends })))
            }
            (amendment, previous, reason) => {
                let reason = reason.unwrap_or_default();
                Ok(Standing::Void { amendment: Box::new(amendment), previous: previous.map(Box::new), reason })
            }
        }
    }

    /// What the worker of an amendment that is under way was told; none for a first revision.
    pub(super) async fn amends(&self, operation: &Operation) -> Result<Option<Amends>, Refusal> {
        if !may_stand_on_approval(&operation.key) {
            return Ok(None);
        }
        let amendment = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        let previous = self.corrected_by(operation, amendment.as_ref()).await?;
        let Some((previous, amendment)) = previous.zip(amendment) else { return Ok(None) };
        Ok(Some(self.amends_of(&amendment, previous).await?))
    }

    /// What an operation that stands on an approval corrects: the revision before it, or the operation whose record it takes back.
    async fn corrected_by(
        &self,
        operation: &Operation,
        amendment: Option<&Amendment>,
    ) -> Result<Option<Operation>, Refusal> {
        let store = &self.inner.store;
        Ok(match amendment.filter(|amendment| amendment.is_reversal()) {
            Some(reversal) => store.operation(reversal.base.operation).await?,
            None => store.operation_by_key(&operation.key.at_revision(operation.key.revision - 1)).await?,
        })
    }

    /// What a worker is told of what it corrects.
    async fn amends_of(&self, amendment: &Amendment, previous: Operation) -> Result<Amends, Refusal> {
        let record = if amendment.is_reversal() {
            Some(amendment.base.destination_reference.clone())
        } else {
            previous.state.destination_reference().map(ToOwned::to_owned)
        };
        let payload = self.stored_payload(&previous).await?;
        Ok(Amends { correction: amendment.ruled.correction, previous, record, payload })
    }

    /// Whether the operation changes the destination's record in place, or takes it back: not to find a new one proves nothing then.
    pub(super) async fn amends_in_place(&self, operation: &Operation) -> Result<bool, Refusal> {
        if !may_stand_on_approval(&operation.key) {
            return Ok(false);
        }
        let amendment = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        Ok(amendment.is_some_and(|amendment| match amendment.ruled.correction {
            Correction::Amend | Correction::Reverse => true,
            Correction::Replace | Correction::ReverseAndRepost | Correction::Forbid => false,
        }))
    }

    /// Takes back the permission to send a revision whose base moved.
    pub(super) async fn make_void(
        &self,
        operation: &Operation,
        amendment: Option<Amendment>,
        reason: &str,
    ) -> Result<Replaced, Refusal> {
        let at = self.now();
        let step = AmendmentStep::Void { reason: reason.to_owned() };
        let state = operation.state.after(&Event::Amended { at, step })?;
        let facts = detail([
            ("amendment", amendment.as_ref().map(|amendment| text(&amendment.id.to_string()))),
            ("reason", Some(text(reason))),
        ]);
        let transition = Transition { state, at, actor: Actor::Sweeper, kind: EntryKind::AmendmentVoid, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.amendment = amendment.map_or(AmendmentChange::Keep, |amendment| void(amendment, at, reason));
        self.replace(replacement).await
    }

    /// What becomes of an open amendment when its operation is moved by something else: an attempt of an earlier proposal speaks.
    pub(super) async fn amendment_after(
        &self,
        operation: &Operation,
        state: &State,
        at: Timestamp,
    ) -> Result<AmendmentChange, Refusal> {
        let was_open = matches!(operation.state.name(), StateName::AwaitingApproval | StateName::Released);
        if !may_stand_on_approval(&operation.key) || !was_open || state.name() != StateName::Disputed {
            return Ok(AmendmentChange::Keep);
        }
        let latest = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        let open = latest.filter(|amendment| amendment.state.name().is_open());
        let reason = "an attempt of an earlier proposal for this revision turned out to have been applied";
        Ok(open.map_or(AmendmentChange::Keep, |amendment| void(amendment, at, reason)))
    }

    /// Why the revision is no longer the base that the amendment was proposed on.
    async fn moved_from(&self, base: &Operation, amendment: &Amendment) -> Result<Option<String>, Refusal> {
        if amendment.is_reversal() {
            return Box::pin(self.reversal_moved(base, amendment)).await;
        }
        let revision = base.key.revision;
        let held = &amendment.base;
        let State::Confirmed { since, destination_reference } = &base.state else {
            return Ok(Some(format!("revision {revision} is {}, no longer confirmed", base.state.name().as_str())));
        };
        if base.superseded_by.is_some_and(|next| next != amendment.operation) {
            return Ok(Some(format!("revision {revision} was superseded meanwhile")));
        }
        if base.fingerprint != held.fingerprint
            || *since != held.confirmed_at
            || *destination_reference != held.destination_reference
        {
            return Ok(Some(format!(
                "revision {revision} was settled anew at {} as {destination_reference:?}",
                rfc3339(*since)
            )));
        }
        if let Some(reversal) = Box::pin(self.own_reversal(base)).await? {
            let Reversal { record, operation, state, .. } = reversal;
            let state = state.as_str();
            return Ok(Some(format!("its record {record:?} is taken back by operation {operation}, which is {state}")));
        }
        let ruled = self.correction_for(base, self.now()).await?;
        if ruled.correction == amendment.ruled.correction {
            return Ok(None);
        }
        Ok(Some(format!(
            "the correction was {:?} when it was proposed and is {:?} now: {}",
            amendment.ruled.correction.as_str(),
            ruled.correction.as_str(),
            ruled.because
        )))
    }

    /// Refuses a conflict of another operation, or one that was decided otherwise.
    async fn refuse_foreign_conflict(&self, base: &Operation, from: Option<ConflictId>) -> Result<(), Refusal> {
        let Some(id) = from else { return Ok(()) };
        let conflict = self.inner.store.conflict_by_id(id).await?.filter(|conflict| conflict.operation == base.id);
        let conflict = conflict.ok_or_else(|| Refusal::field("from_conflict", "is no conflict of this operation"))?;
        match conflict.decision() {
            None => Ok(()),
            Some(decision) => {
                let message = format!("is decided: {}", decision.outcome.sentence());
                Err(Refusal::field("from_conflict", message))
            }
        }
    }

    /// What was decided of the conflict that an amendment came from, where that is something else than this amendment.
    pub(super) async fn decided_otherwise(&self, amendment: &Amendment) -> Result<Option<String>, Refusal> {
        let Some(id) = amendment.from_conflict else { return Ok(None) };
        let conflict = self.inner.store.conflict_by_id(id).await?;
        let outcome = conflict.as_ref().and_then(|conflict| Some(&conflict.decision()?.outcome));
        Ok(match outcome {
            None => None,
            Some(ConflictOutcome::AmendmentProposed { amendment: decided, .. }) if *decided == amendment.id => None,
            Some(
                outcome @ (ConflictOutcome::AmendmentProposed { .. }
                | ConflictOutcome::KeptApproved
                | ConflictOutcome::OtherDocument { .. }
                | ConflictOutcome::Noise { .. }),
            ) => Some(format!("the conflict that it came from was decided otherwise: {}", outcome.sentence())),
        })
    }

    pub(super) async fn amendment_open(&self, next: &Operation) -> Result<Refusal, Refusal> {
        if next.state.name() == StateName::Confirmed {
            return Ok(Refusal::Impossible {
                state: StateName::Confirmed,
                what: format!(
                    "amended where revision {} is confirmed; propose the change on that one",
                    next.key.revision
                )
                .into(),
            });
        }
        let amendment = self.inner.store.amendments_of(next.id, 1).await?.pop().map(|amendment| amendment.id);
        let (operation, revision, state) = (next.id, next.key.revision, next.state.name());
        Ok(Refusal::AmendmentOpen { operation, amendment, revision, state })
    }

    /// Compares a proposal with its base, and with the rules.
    async fn compare(
        &self,
        base: &Operation,
        payload: &Payload,
        workflow: &VersionedWorkflow,
        ruled: &Ruled,
    ) -> Result<Compared, Refusal> {
        let volatile: &[Pointer] = &workflow.workflow.volatile;
        let fingerprint = Fingerprint::of(payload, volatile);
        let held = self.stored_payload(base).await?.ok_or_else(|| after_drop(base))?;
        if fingerprint == Fingerprint::of(&held, volatile) {
            return Err(Refusal::NoChange);
        }
        let mut found = changes(&held, payload, volatile);
        let changes_total = u32::try_from(found.len()).unwrap_or(u32::MAX);
        found.truncate(CHANGES_LISTED_MAX);
        let mut violations = violations(&held, payload, volatile, &workflow.workflow.amendment.amendable);
        if ruled.correction == Correction::Forbid {
            let rule = crate::amendment::Rule::Correction { because: ruled.because.clone() };
            let path = Pointer::from_tokens(Vec::new());
            violations.insert(0, Violation { path, kind: ChangeKind::Changed, rule });
        }
        violations.truncate(VIOLATIONS_LISTED_MAX);
        Ok(Compared { fingerprint, changes: found, changes_total, violations })
    }

    /// Stores the next revision as an operation that waits for approval; false where somebody else was first.
    pub(super) async fn propose_first(
        &self,
        key: OperationKey,
        amendment: &Amendment,
        payload: &Payload,
        money: Option<Money>,
        workflow: &VersionedWorkflow,
    ) -> Result<bool, Refusal> {
        let state = State::AwaitingApproval;
        let facts = proposed_facts(amendment, &key, workflow.version, Some(&state));
        let (at, actor) = (amendment.proposed_at, amendment.proposed_by.clone());
        let entry = Entry::following((0, ChainHash::START), at, actor, EntryKind::AmendmentProposed, facts);
        let founding = Founding {
            id: amendment.operation,
            key,
            state,
            entry,
            fingerprint: amendment.fingerprint,
            workflow,
            payload,
            attempt: None,
            amendment: Some(amendment.clone()),
            money,
        };
        let new = founding.into_new();
        let id = new.operation.id;
        Ok(match self.inner.store.insert_if_absent(new).await? {
            Insertion::Inserted => true,
            // A store that lost its own answer and tried again met this very insertion.
            Insertion::Existing(existing) => existing.id == id,
        })
    }

    /// Proposes a revision anew whose amendment came to nothing; false where somebody else moved first.
    pub(super) async fn propose_again(
        &self,
        rejected: &Operation,
        amendment: &Amendment,
        payload: &Payload,
        money: Option<Money>,
        workflow: &VersionedWorkflow,
    ) -> Result<bool, Refusal> {
        let policy_version = workflow.version;
        let at = amendment.proposed_at;
        let state = rejected.state.after(&Event::Amended { at, step: AmendmentStep::Proposed })?;
        let facts = proposed_facts(amendment, &rejected.key, policy_version, None);
        let (actor, kind) = (amendment.proposed_by.clone(), EntryKind::AmendmentProposed);
        let now = Operation {
            fingerprint: amendment.fingerprint,
            fingerprint_scheme: FINGERPRINT_SCHEME,
            policy_version,
            money,
            ..rejected.clone()
        };
        let mut replacement = self.change(&now, Transition { state, at, actor, kind, facts }).await?;
        let look = workflow.workflow.look(&now.key, now.money.as_ref(), payload);
        let (amendment, payload) = (Box::new(amendment.clone()), payload.to_text());
        replacement.amendment = AmendmentChange::Propose { amendment, payload, look };
        let head = replacement.operation.head;
        if self.replace(replacement).await? == Replaced::Replaced {
            return Ok(true);
        }
        // A store that lost its own answer and tried again met this very entry.
        Ok(self.inner.store.operation(rejected.id).await?.is_some_and(|held| held.head == head))
    }
}

/// The refusal to change what can no longer be compared.
fn after_drop(base: &Operation) -> Refusal {
    Refusal::Impossible {
        state: base.state.name(),
        what: "amended after its payload was dropped by retention: what changes could neither be shown nor be checked against the \
               workflow's rules. Have its record taken back, and send the document under a new number"
            .into(),
    }
}

/// The operation as a base, where it is one.
fn base_of(operation: &Operation) -> Result<Base, Refusal> {
    let state = operation.state.name();
    let impossible = |what: String| Err(Refusal::Impossible { state, what: what.into() });
    let State::Confirmed { since, destination_reference } = &operation.state else {
        return impossible("amended; only a confirmed revision is".to_owned());
    };
    if operation.superseded_by.is_some() {
        let next = operation.key.revision + 1;
        return impossible(format!("amended where revision {next} is confirmed; propose the change on the latest one"));
    }
    Ok(Base {
        operation: operation.id,
        revision: operation.key.revision,
        version: operation.version,
        fingerprint: operation.fingerprint,
        destination_reference: destination_reference.clone(),
        confirmed_at: *since,
    })
}

fn next_key(base: &Operation) -> Result<OperationKey, Refusal> {
    let revision = base.key.revision + 1;
    if revision > REVISION_MAX {
        return Err(Refusal::field("revision", format!("would be {revision}; {REVISION_MAX} is the greatest")));
    }
    Ok(base.key.at_revision(revision))
}

/// Whether operations with this key may stand on an approval: later revisions do, and what takes a record back does.
fn may_stand_on_approval(key: &OperationKey) -> bool {
    key.revision >= 2 || key.may_be_reversal()
}

/// How many people must approve: two where what is changed, or what it becomes, is above the workflow's amount, or cannot be read.
pub(super) fn approvals_needed(rules: &AmendmentRules, base: Option<&Money>, proposed: Option<&Money>) -> u32 {
    let Some(over) = rules.second_approval_over.as_deref() else { return 1 };
    let is_above = |money: Option<&Money>| match (money, over.parse::<Decimal>()) {
        (Some(money), Ok(over)) => money.amount.abs() > over,
        (None, _) | (_, Err(_)) => true,
    };
    if is_above(base) || is_above(proposed) { 2 } else { 1 }
}

fn void(amendment: Amendment, at: Timestamp, reason: &str) -> AmendmentChange {
    let state = match amendment.state {
        AmendmentState::AwaitingApproval | AmendmentState::Approved { .. } | AmendmentState::Begun { .. } => {
            AmendmentState::Void { at, reason: reason.to_owned() }
        }
        // What came to nothing before keeps its reason.
        AmendmentState::Rejected { .. }
        | AmendmentState::Withdrawn { .. }
        | AmendmentState::Expired { .. }
        | AmendmentState::Void { .. } => return AmendmentChange::Keep,
    };
    AmendmentChange::Put(Box::new(Amendment { state, ..amendment }))
}

/// What a proposal's entry tells. Bodies may have to be forgotten, so that only the places that change stand here.
fn proposed_facts(amendment: &Amendment, key: &OperationKey, policy_version: u32, first: Option<&State>) -> Json {
    let Amendment { base, ruled, .. } = amendment;
    let paths = amendment.changes.iter().map(|change| text(&change.path.to_string())).collect();
    detail([
        // `Transition` puts the state in front of the facts of every later entry; the first one has none before it.
        ("state", first.map(|state| text(state.name().as_str()))),
        ("amendment", Some(text(&amendment.id.to_string()))),
        ("key", Some(text(&hexadecimal(&key.hash())))),
        ("fingerprint", Some(text(&amendment.fingerprint.to_string()))),
        ("policy_version", Some(integer(policy_version))),
        ("base", Some(text(&base.operation.to_string()))),
        ("base_revision", Some(integer(base.revision))),
        ("base_version", Some(integer(i64::try_from(base.version).unwrap_or(i64::MAX)))),
        ("base_fingerprint", Some(text(&base.fingerprint.to_string()))),
        ("record", amendment.is_reversal().then(|| text(&base.destination_reference))),
        ("changes", Some(Json::Array(paths))),
        ("changes_total", Some(integer(amendment.changes_total))),
        ("reason", Some(text(&amendment.reason))),
        ("requested_by", amendment.requested_by.as_deref().map(text)),
        ("behind", amendment.behind.as_deref().map(text)),
        ("conflict", amendment.from_conflict.map(|conflict| text(&conflict.to_string()))),
        ("correction", Some(text(ruled.correction.as_str()))),
        ("rule_version", Some(integer(ruled.rule_version))),
        ("approvals_needed", Some(integer(amendment.approvals_needed))),
        ("expires_at", Some(text(&rfc3339(amendment.expires_at)))),
    ])
}
