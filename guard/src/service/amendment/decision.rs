//! What people decide about a proposal, and what happens when nobody does.

use crate::actor::Actor;
use crate::amendment::{Amendment, AmendmentState, AmendmentStateName, Approval, Shown};
use crate::clock::{Timestamp, rfc3339};
use crate::event::REPORT_TEXT_CHARACTERS_MAX;
use crate::event::{AmendmentStep, Event};
use crate::id::AmendmentId;
use crate::json::Json;
use crate::lookup::{Finding, Looked};
use crate::operation::Operation;
use crate::person::Person;
use crate::refusal::{Refusal, StoreFault};
use crate::service::report::{check_length, check_text};
use crate::service::{Guard, TRIES_MAX, Transition, contended, integer, text};
use crate::state::places;
use crate::store::{AmendmentChange, Replaced};
use crate::trail::{EntryKind, detail};

/// An approval, as a person gives it.
#[derive(Clone, Debug)]
pub struct Approving {
    /// The version of the proposed revision's operation that the page showed.
    pub seen_version: u64,
    /// Why, where the person says so.
    pub reason: Option<String>,
    /// What the destination shows of the base right now; needed where it has a lookup.
    pub looked: Option<Looked>,
    /// Whether the person approves although the destination could not be asked.
    pub despite_uncertainty: bool,
}

impl Guard {
    /// A person approves a proposal, as it was when the page was made. With all the approvals that it needs, it may be begun.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role or because the person stands behind the proposal, [`Refusal::Stale`] when it changed since,
    /// [`Refusal::Impossible`] when it is decided, [`Refusal::BaseMoved`] when it no longer rests on what it was proposed on,
    /// [`Refusal::BaseUncertain`] when the destination could not tell and the person did not confirm that; the store's fault.
    pub async fn approve(&self, person: &Person, id: AmendmentId, approving: &Approving) -> Result<Amendment, Refusal> {
        may_decide(person)?;
        check_length("reason", approving.reason.as_deref().unwrap_or_default(), REPORT_TEXT_CHARACTERS_MAX)?;
        for _ in 0..TRIES_MAX {
            let (amendment, operation) = self.undecided(person, id, approving.seen_version, "approved").await?;
            if let Some(barred) = amendment.bars(&person.email) {
                return Err(Refusal::Forbidden { reason: barred.to_string() });
            }
            if let Some(reason) = self.base_moved(&amendment).await? {
                return Err(Refusal::BaseMoved { reason });
            }
            // Its proposer lost the race on the conflict, and was cut off before taking it back.
            if let Some(reason) = self.decided_otherwise(&amendment).await? {
                return Err(Refusal::BaseMoved { reason });
            }
            let shown = self.shown(&amendment, &operation, approving)?;
            let at = self.now();
            let reason = approving.reason.clone().filter(|reason| !reason.trim().is_empty());
            let mut approved = amendment.clone();
            approved.approvals.push(Approval { by: person.email.clone(), at, reason, shown });
            let state = if approved.approvals_missing() == 0 {
                approved.state = AmendmentState::Approved { at };
                operation.state.after(&Event::Amended { at, step: AmendmentStep::Approved })?
            } else {
                operation.state.clone()
            };
            let facts = decided_facts(&approved, approved.approvals.last());
            let actor = Actor::Person { email: person.email.clone() };
            let transition = Transition { state, at, actor, kind: EntryKind::AmendmentApproved, facts };
            if let Some(decided) = self.decide_amendment(&operation, approved, transition).await? {
                return Ok(decided);
            }
        }
        Err(contended())
    }

    /// A person rejects a proposal. It stays readable, and the change can be proposed anew.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::Stale`], [`Refusal::Impossible`], a reason out of bounds, the store's fault.
    pub async fn reject(
        &self,
        person: &Person,
        id: AmendmentId,
        seen_version: u64,
        reason: &str,
    ) -> Result<Amendment, Refusal> {
        may_decide(person)?;
        check_text("reason", reason)?;
        for _ in 0..TRIES_MAX {
            let (amendment, operation) = self.undecided(person, id, seen_version, "rejected").await?;
            let (at, actor) = (self.now(), Actor::Person { email: person.email.clone() });
            let step = AmendmentStep::Rejected { reason: reason.to_owned() };
            let state = AmendmentState::Rejected { at, by: actor.clone(), reason: reason.to_owned() };
            let end = End { at, actor, kind: EntryKind::AmendmentRejected, step, state, reason };
            if let Some(decided) = self.end_amendment(&operation, amendment, end).await? {
                return Ok(decided);
            }
        }
        Err(contended())
    }

    /// A person takes a proposal back: before it is decided, after it was approved, or after an attempt that is proven not applied.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::Stale`], [`Refusal::Impossible`] where it may have been applied or is over, a reason
    /// out of bounds, the store's fault.
    pub async fn withdraw(
        &self,
        person: &Person,
        id: AmendmentId,
        seen_version: u64,
        reason: &str,
    ) -> Result<Amendment, Refusal> {
        if !person.role.may_propose() {
            let reason = "withdrawing needs the role operator, finance or admin".to_owned();
            return Err(Refusal::Forbidden { reason });
        }
        check_text("reason", reason)?;
        for _ in 0..TRIES_MAX {
            let (amendment, operation) = self.amendment_with_operation(&person.reach, id).await?;
            self.refuse_stale(&operation, seen_version).await?;
            match amendment.state.name() {
                AmendmentStateName::AwaitingApproval | AmendmentStateName::Approved | AmendmentStateName::Begun => {}
                AmendmentStateName::Rejected
                | AmendmentStateName::Withdrawn
                | AmendmentStateName::Expired
                | AmendmentStateName::Void => return Err(decided_already(&operation, &amendment, "withdrawn")),
            }
            let (at, actor) = (self.now(), Actor::Person { email: person.email.clone() });
            let step = AmendmentStep::Withdrawn { reason: reason.to_owned() };
            let state = AmendmentState::Withdrawn { at, by: actor.clone(), reason: reason.to_owned() };
            let end = End { at, actor, kind: EntryKind::AmendmentWithdrawn, step, state, reason };
            if let Some(decided) = self.end_amendment(&operation, amendment, end).await? {
                return Ok(decided);
            }
        }
        Err(contended())
    }

    /// Ends proposals that nobody decided in time; answers how many this call ended. At most `limit` at a time.
    ///
    /// # Errors
    /// The store's fault; where it concerns one proposal only, after the others were ended.
    pub async fn expire_proposals(&self, limit: u32) -> Result<usize, Refusal> {
        let mut ended = 0;
        let mut fault = None;
        for amendment in self.inner.store.proposals_over(self.now(), limit).await? {
            match self.expire_proposal(amendment).await {
                Ok(true) => ended += 1,
                Ok(false) => {}
                Err(refusal @ Refusal::Store(StoreFault::Unavailable | StoreFault::Full)) => return Err(refusal),
                Err(refusal) => fault = fault.or(Some(refusal)),
            }
        }
        fault.map_or(Ok(ended), Err)
    }

    async fn expire_proposal(&self, amendment: Amendment) -> Result<bool, Refusal> {
        let Some(operation) = self.inner.store.operation(amendment.operation).await? else { return Ok(false) };
        let at = self.now();
        let reason = format!("the proposal expired at {}: nobody decided in time", rfc3339(amendment.expires_at));
        let step = AmendmentStep::Expired { reason: reason.clone() };
        let (actor, kind, state) = (Actor::Sweeper, EntryKind::AmendmentExpired, AmendmentState::Expired { at });
        let end = End { at, actor, kind, step, state, reason: &reason };
        match self.end_amendment(&operation, amendment, end).await {
            Ok(ended) => Ok(ended.is_some()),
            // Decided between the two reads: as good as somebody else's move.
            Err(Refusal::Impossible { .. }) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    /// The proposal, where it still waits and is as the page showed it.
    async fn undecided(
        &self,
        person: &Person,
        id: AmendmentId,
        seen_version: u64,
        what: &str,
    ) -> Result<(Amendment, Operation), Refusal> {
        let (amendment, operation) = self.amendment_with_operation(&person.reach, id).await?;
        self.refuse_stale(&operation, seen_version).await?;
        if amendment.state.name() != AmendmentStateName::AwaitingApproval {
            return Err(decided_already(&operation, &amendment, what));
        }
        if self.now() >= amendment.expires_at {
            let decided = decided_already(&operation, &amendment, what);
            self.expire_proposal(amendment).await?;
            self.refuse_stale(&self.reachable(&person.reach, operation.id).await?, seen_version).await?;
            return Err(decided);
        }
        Ok((amendment, operation))
    }

    /// Ends a proposal; none where somebody else moved first.
    async fn end_amendment(
        &self,
        operation: &Operation,
        amendment: Amendment,
        end: End<'_>,
    ) -> Result<Option<Amendment>, Refusal> {
        let End { at, actor, kind, step, state, reason } = end;
        let ended = Amendment { state, ..amendment };
        let state = operation.state.after(&Event::Amended { at, step })?;
        let facts = ended_facts(&ended, reason);
        self.decide_amendment(operation, ended, Transition { state, at, actor, kind, facts }).await
    }

    /// Writes a decision with its entry; none where somebody else moved first.
    async fn decide_amendment(
        &self,
        operation: &Operation,
        amendment: Amendment,
        transition: Transition,
    ) -> Result<Option<Amendment>, Refusal> {
        let mut replacement = self.change(operation, transition).await?;
        replacement.amendment = AmendmentChange::Put(Box::new(amendment.clone()));
        Ok((self.replace(replacement).await? == Replaced::Replaced).then_some(amendment))
    }

    /// What the destination shows of the base, as far as an approval may rest on it.
    fn shown(&self, amendment: &Amendment, operation: &Operation, approving: &Approving) -> Result<Shown, Refusal> {
        let can_be_asked = self.catalogue().destination_to_ask(operation.key.workflow.as_str()).is_some();
        let Some(looked) = &approving.looked else {
            if !can_be_asked {
                return Ok(Shown::NoLookup);
            }
            return uncertain("it was not asked".to_owned(), approving.despite_uncertainty);
        };
        let held = &amendment.base.destination_reference;
        if amendment.is_reversal() {
            return shown_of_reversal(held, &looked.finding, approving.despite_uncertainty);
        }
        let moved = |shown: String| {
            let reason = format!(
                "the destination shows {shown}. Find out there what became of it: until it shows {held:?} as it was, the change can be rejected or withdrawn, and not approved"
            );
            Err(Refusal::BaseMoved { reason })
        };
        match &looked.finding {
            Finding::Found { destination_reference } if destination_reference == held => Ok(Shown::Agrees),
            Finding::Found { destination_reference } => {
                moved(format!("the record {destination_reference:?}, not {held:?}"))
            }
            Finding::Differs { destination_reference, differences } => {
                moved(format!("{destination_reference:?}, which differs in {}", places(differences)))
            }
            Finding::Several { destination_references } => {
                moved(format!("several live records: {}", destination_references.join(", ")))
            }
            Finding::VoidOnly { .. } => moved("that its record is void".to_owned()),
            Finding::Absent => moved("no record of the base".to_owned()),
            Finding::Inconclusive { reason, .. } => uncertain(reason.clone(), approving.despite_uncertainty),
        }
    }
}

/// What the destination shows of a record that is to be taken back. It may hold others, and need not show this one, which may carry no
/// reference of ours.
fn shown_of_reversal(held: &String, finding: &Finding, is_confirmed: bool) -> Result<Shown, Refusal> {
    let shown = match finding {
        Finding::Found { destination_reference } | Finding::Differs { destination_reference, .. }
            if destination_reference == held =>
        {
            return Ok(Shown::Agrees);
        }
        Finding::Several { destination_references } if destination_references.contains(held) => {
            return Ok(Shown::Agrees);
        }
        Finding::VoidOnly { destination_references } if destination_references.contains(held) => {
            let reason = format!("the destination shows that {held:?} is void already; there is nothing to take back");
            return Err(Refusal::BaseMoved { reason });
        }
        Finding::Found { destination_reference } | Finding::Differs { destination_reference, .. } => {
            format!("it shows the record {destination_reference:?}, and {held:?} not")
        }
        Finding::Several { destination_references } | Finding::VoidOnly { destination_references } => {
            format!("it shows {}, and {held:?} not", destination_references.join(", "))
        }
        Finding::Absent => format!("it does not show {held:?}"),
        Finding::Inconclusive { reason, .. } => reason.clone(),
    };
    uncertain(shown, is_confirmed)
}

/// How a proposal comes to its end without being begun.
struct End<'a> {
    at: Timestamp,
    actor: Actor,
    kind: EntryKind,
    step: AmendmentStep,
    state: AmendmentState,
    reason: &'a str,
}

fn uncertain(reason: String, is_confirmed: bool) -> Result<Shown, Refusal> {
    if is_confirmed { Ok(Shown::Inconclusive { reason }) } else { Err(Refusal::BaseUncertain { reason }) }
}

fn may_decide(person: &Person) -> Result<(), Refusal> {
    if person.role.may_approve() {
        return Ok(());
    }
    Err(Refusal::Forbidden { reason: "deciding on an amendment needs the role finance".to_owned() })
}

fn decided_already(operation: &Operation, amendment: &Amendment, what: &str) -> Refusal {
    let state = operation.state.name();
    Refusal::Impossible { state, what: format!("{what}: its amendment is {}", amendment.state.name().as_str()).into() }
}

/// What an approval's entry tells: what the person saw.
fn decided_facts(amendment: &Amendment, approval: Option<&Approval>) -> Json {
    let (shown, uncertain) = match approval.map(|approval| &approval.shown) {
        Some(Shown::NoLookup) => (Some("no_lookup"), None),
        Some(Shown::Agrees) => (Some("agrees"), None),
        Some(Shown::Inconclusive { reason }) => (Some("inconclusive"), Some(reason)),
        None => (None, None),
    };
    let reason = approval.and_then(|approval| approval.reason.as_deref());
    let mut facts = seen_facts(amendment, reason);
    facts.extend([
        ("approvals", Some(integer(i64::try_from(amendment.approvals.len()).unwrap_or(i64::MAX)))),
        ("approvals_needed", Some(integer(amendment.approvals_needed))),
        ("destination_showed", shown.map(text)),
        ("destination_said", uncertain.map(|reason| text(reason))),
    ]);
    detail(facts)
}

fn ended_facts(amendment: &Amendment, reason: &str) -> Json {
    detail(seen_facts(amendment, Some(reason)))
}

/// What was decided on: exactly this payload, on exactly this base, under these rules.
fn seen_facts(amendment: &Amendment, reason: Option<&str>) -> Vec<(&'static str, Option<Json>)> {
    let Amendment { base, ruled, .. } = amendment;
    vec![
        ("amendment", Some(text(&amendment.id.to_string()))),
        ("seen_fingerprint", Some(text(&amendment.fingerprint.to_string()))),
        ("base", Some(text(&base.operation.to_string()))),
        ("base_revision", Some(integer(base.revision))),
        ("base_fingerprint", Some(text(&base.fingerprint.to_string()))),
        ("record", amendment.is_reversal().then(|| text(&base.destination_reference))),
        ("changes_total", Some(integer(amendment.changes_total))),
        ("correction", Some(text(ruled.correction.as_str()))),
        ("rule_version", Some(integer(ruled.rule_version))),
        ("reason", reason.map(text)),
    ]
}
