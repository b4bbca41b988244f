//! What people did about demonstration operations.

use chrono::{DateTime, TimeDelta};
use guard::clock::{Clock as _, Entropy, Timestamp};
use guard::conflict::ConflictVerdict;
use guard::decision::Decision;
use guard::event::{Outcome, Resolution};
use guard::id::{OperationId, PersonId};
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::review::Ruling;
use guard::service::{Approving, BeginRequest, Guard, NewEvidence, Proposer, Report, SeenConflict};
use guard::token::Reach;

use super::recipe::{Care, End, Fate, PEOPLE_MAX, Proposed, Recipe, Settled};
use super::{LaneClock, Seeding};

/// So long after it began a person looks at what is uncertain, and at a payload that is another one.
const LOOKED_AT_AFTER: TimeDelta = TimeDelta::minutes(40);

/// So long after it began a change is proposed of it.
const PROPOSED_AFTER: TimeDelta = TimeDelta::hours(5);

/// So long after it was proposed a change is decided, or taken back.
const DECIDED_AFTER: TimeDelta = TimeDelta::hours(3);

/// So long after it was approved a change is sent.
const SENT_AFTER: TimeDelta = TimeDelta::minutes(2);

const TICKET: &str = "https://tickets.invalid/";

/// The people of the demonstration. They have no accounts: nobody signs in as one of them.
pub(super) struct Team {
    operators: [Person; PEOPLE_MAX],
    finance: [Person; PEOPLE_MAX],
}

impl Team {
    pub(super) fn of(entropy: &dyn Entropy) -> Self {
        let person = |role: Role, number: usize| Person {
            id: PersonId::new(DateTime::UNIX_EPOCH, entropy.bytes()),
            email: format!("{}-{}@demonstration.invalid", role.as_str(), number + 1),
            role,
            reach: Reach::EVERYTHING,
        };
        Self {
            operators: std::array::from_fn(|number| person(Role::Operator, number)),
            finance: std::array::from_fn(|number| person(Role::Finance, number)),
        }
    }
}

impl Seeding {
    /// Everything that people did about an operation that was begun at the moment of its recipe.
    pub(super) async fn act(
        &self,
        guard: &Guard,
        clock: &LaneClock,
        recipe: &Recipe,
        id: OperationId,
    ) -> Result<(), Refusal> {
        self.wait(clock, self.begun_at(recipe) + LOOKED_AT_AFTER);
        match &recipe.fate {
            Fate::Unknown { care, .. } => self.care(guard, clock, recipe, id, *care).await?,
            Fate::Settled { settled, .. } => self.settle(guard, recipe, id, settled).await?,
            Fate::Confirmed { .. } | Fate::Failed { .. } | Fate::Disputed { .. } => {}
        }
        if recipe.decided.is_some() {
            self.decide(guard, recipe, id).await?;
        }
        if let Some(proposed) = &recipe.proposed {
            self.propose(guard, clock, recipe, id, proposed).await?;
        }
        Ok(())
    }

    /// Lets the clock go on to a moment, or to the end of all that is told.
    fn wait(&self, clock: &LaneClock, at: Timestamp) {
        clock.set(at.min(self.until).max(clock.now()));
    }

    fn operator(&self, recipe: &Recipe) -> &Person {
        &self.team.operators[recipe.person % PEOPLE_MAX]
    }

    fn finance(&self, recipe: &Recipe) -> &Person {
        &self.team.finance[recipe.person % PEOPLE_MAX]
    }

    async fn care(
        &self,
        guard: &Guard,
        clock: &LaneClock,
        recipe: &Recipe,
        id: OperationId,
        care: Care,
    ) -> Result<(), Refusal> {
        let person = self.operator(recipe);
        match care {
            Care::Nothing => {}
            Care::Noted => {
                let note = "Asked the destination's support; they look for it.".to_owned();
                let evidence = NewEvidence { note, link: format!("{TICKET}{id}"), file: None };
                guard.add_evidence(person, id, &evidence).await?;
            }
            Care::Claimed => {
                self.wait(clock, self.until);
                guard.claim(person, id).await?;
            }
            Care::Kept(days) => {
                self.wait(clock, clock.now().max(self.until - recipe.waits_for));
                let seen = guard.operation(&person.reach, id).await?.version;
                let until = guard.now() + TimeDelta::days(days.into());
                guard.keep_waiting(person, id, seen, until, "The statement comes then.").await?;
            }
        }
        Ok(())
    }

    async fn settle(&self, guard: &Guard, recipe: &Recipe, id: OperationId, settled: &Settled) -> Result<(), Refusal> {
        let person = self.operator(recipe);
        let (resolution, reason) = match settled {
            Settled::Confirmed { reference } => (
                Resolution::Confirmed { destination_reference: reference.clone() },
                "Found at the destination by its number.",
            ),
            Settled::NotApplied => {
                let note = "The day's list of the destination: it is not in it.".to_owned();
                let evidence = NewEvidence { note, link: format!("{TICKET}{id}"), file: None };
                guard.add_evidence(person, id, &evidence).await?;
                let reason = "It is not in the destination's list of that day.";
                (Resolution::NotApplied { reason: reason.to_owned() }, reason)
            }
            Settled::Dropped => {
                let reason = "The customer cancelled; nobody needs it any more.";
                (Resolution::Dropped { reason: reason.to_owned() }, reason)
            }
        };
        let seen_version = guard.operation(&person.reach, id).await?.version;
        let reason = reason.to_owned();
        let ruling = Ruling { seen_version, resolution, reason, link: None, file: None, look: None };
        guard.resolve(person, id, &ruling).await?;
        Ok(())
    }

    /// Decides every conflict of the operation that is open.
    async fn decide(&self, guard: &Guard, recipe: &Recipe, id: OperationId) -> Result<(), Refusal> {
        let person = self.operator(recipe);
        for conflict in guard.versions(&person.reach, id).await?.received {
            let version = guard.operation(&person.reach, id).await?.version;
            let seen = SeenConflict { version, received: conflict.fingerprint };
            let verdict = ConflictVerdict::KeepApproved;
            let reason = "The sender corrected it on its side; what was sent stands.";
            guard.decide_conflict(person, conflict.id, &seen, &verdict, reason, None).await?;
        }
        Ok(())
    }

    async fn propose(
        &self,
        guard: &Guard,
        clock: &LaneClock,
        recipe: &Recipe,
        id: OperationId,
        proposed: &Proposed,
    ) -> Result<(), Refusal> {
        let Proposed { content, end } = proposed;
        let (operator, finance) = (self.operator(recipe), self.finance(recipe));
        let earliest = self.begun_at(recipe) + PROPOSED_AFTER;
        let waits_since = earliest.max(self.until - recipe.waits_for);
        self.wait(clock, if *end == End::Waits { waits_since } else { earliest });
        let payload = recipe.payload(content)?;
        let reason = "The invoice of the supplier says so.";
        let by = Proposer::Person(operator);
        let amendment = guard.propose(by, id, payload.clone(), reason, None, None).await?;
        self.wait(clock, amendment.proposed_at + DECIDED_AFTER);
        let seen_version = guard.operation(&operator.reach, amendment.operation).await?.version;
        let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
        match end {
            End::Waits => {}
            End::Rejected => {
                guard.reject(finance, amendment.id, seen_version, "The invoice was credited meanwhile.").await?;
            }
            End::Expired if amendment.expires_at <= self.until => {
                self.wait(clock, amendment.expires_at);
                // Deciding what nobody decided in time ends it.
                match guard.approve(finance, amendment.id, &approving).await {
                    Err(Refusal::Stale { .. }) => {}
                    Ok(_) => return Err(Refusal::field("amendment", "was approved after its end")),
                    Err(refusal) => return Err(refusal),
                }
            }
            End::Withdrawn | End::Expired => {
                guard.withdraw(operator, amendment.id, seen_version, "Proposed for the wrong document.").await?;
            }
            End::Approved => drop(guard.approve(finance, amendment.id, &approving).await?),
            End::Begun => {
                guard.approve(finance, amendment.id, &approving).await?;
                self.wait(clock, clock.now() + SENT_AFTER);
                let request = BeginRequest {
                    key: recipe.key()?.at_revision(amendment.revision),
                    payload,
                    worker: Some(recipe.worker.clone()),
                    delivery_id: None,
                    begin_id: None,
                    lease_seconds: None,
                    request_id: None,
                };
                let begun = guard.begin(&self.token, &request).await?;
                let Decision::Proceed { operation, lease_token, .. } = begun else {
                    return Err(Refusal::field("amendment", "was approved and may not be begun"));
                };
                let destination_reference = format!("{}-{}", recipe.document(), amendment.revision);
                let outcome = Outcome::Confirmed { destination_reference };
                let report = Report { lease_token, outcome, response: None, request_id: None };
                guard.report(&self.token, operation.id, &report).await?;
            }
        }
        Ok(())
    }
}
