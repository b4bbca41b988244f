//! What people do about a record that nobody guards: say that it belongs to an operation, that it does not, or adopt it.

use super::founding::Founding;
use super::report::check_text;
use super::{Guard, TRIES_MAX, Transition, contended, integer, text};
use crate::actor::Actor;
use crate::event::{Event, Resolution};
use crate::fingerprint::{FINGERPRINT_SCHEME_OF_RECORD, Fingerprint};
use crate::id::{OperationId, ReconciliationId};
use crate::json::Json;
use crate::key::{KeyPart, NotAKeyPart, OperationKey};
use crate::lookup::Finding;
use crate::operation::{Operation, hexadecimal};
use crate::payload::Payload;
use crate::person::Person;
use crate::reconciliation::{Bucket, LinkVerdict, OpenDuplicates, Reconciled, RecordDecision, RecordSide, Row, Run};
use crate::refusal::Refusal;
use crate::state::{State, StateName};
use crate::store::{Insertion, Replaced};
use crate::token::Reach;
use crate::trail::{ChainHash, Entry, EntryKind, detail};
use crate::workflow::Workflow;

/// What a person says of a record and an operation that it may belong to.
#[derive(Clone, Debug)]
pub struct CandidateRuling {
    /// The reconciliation.
    pub run: ReconciliationId,
    /// The row of the record.
    pub number: u64,
    /// The operation.
    pub operation: OperationId,
    /// The version of the operation that was seen.
    pub seen_version: u64,
    /// Whether the record is this operation's.
    pub belongs: bool,
    /// How the person knows.
    pub reason: String,
}

/// A record that a person takes in as an operation's.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// The reconciliation.
    pub run: ReconciliationId,
    /// The row of the record.
    pub number: u64,
    /// The system that its document comes from.
    pub source_system: String,
    /// Its document.
    pub document: String,
    /// What was done.
    pub action: String,
    /// Why.
    pub reason: String,
}

impl Guard {
    /// A record of a reconciliation within reach that nobody guards, by the number of its row.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn unguarded_row(&self, reach: &Reach, id: ReconciliationId, number: u64) -> Result<(Run, Row), Refusal> {
        let run = self.reconciliation(reach, id).await?;
        let after = number.checked_sub(1).ok_or_else(|| Refusal::not_found("row"))?;
        let row = self.inner.store.reconciliation_rows(id, Bucket::Unguarded, after, 1).await?.pop();
        let row = row.filter(|row| row.number == number).ok_or_else(|| Refusal::not_found("row"))?;
        Ok((run, row))
    }

    /// What people said of the records in these rows of a run, from one number to another.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn record_decisions(
        &self,
        run: ReconciliationId,
        numbers: std::ops::RangeInclusive<u64>,
    ) -> Result<Vec<RecordDecision>, Refusal> {
        Ok(self.inner.store.record_decisions_of_rows(run, numbers).await?)
    }

    /// What the destinations hold more than once and nobody has explained, by workflow and company within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn open_duplicates(&self, reach: &Reach) -> Result<Vec<OpenDuplicates>, Refusal> {
        let mut found = self.inner.store.open_duplicates().await?;
        found.retain(|open| reach.workflow(&open.workflow) && reach.company(&open.company));
        Ok(found)
    }

    /// A person says whether a record belongs to an operation that resembles it. Where it does, what is uncertain is confirmed by it,
    /// and what was held otherwise is disputed; where it does not, it is no candidate of this operation any more.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Stale`], [`Refusal::Impossible`] where a second person has
    /// to confirm it, a record without an id or that another operation holds, a reason out of bounds, the store's fault.
    pub async fn decide_candidate(&self, person: &Person, ruling: &CandidateRuling) -> Result<Operation, Refusal> {
        if !person.role.may_resolve() {
            return Err(Refusal::Forbidden { reason: "deciding needs the role operator or admin".to_owned() });
        }
        check_text("reason", &ruling.reason)?;
        let (run, row) = self.unguarded_row(&person.reach, ruling.run, ruling.number).await?;
        let (_, reference) = reference_of(&row)?;
        if !row.candidates.iter().any(|candidate| candidate.operation == ruling.operation) {
            return Err(Refusal::field("operation", "is no candidate of this record"));
        }
        if ruling.belongs {
            self.refuse_held(&run, &reference, Some(ruling.operation)).await?;
        }
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, ruling.operation).await?;
            self.refuse_stale(&operation, ruling.seen_version).await?;
            let at = self.now();
            let state = if ruling.belongs { self.belonging(&operation, &reference)? } else { operation.state.clone() };
            let is_moved = state.name() != operation.state.name();
            let facts = detail([
                ("before", Some(text(operation.state.name().as_str()))),
                ("reconciliation", Some(text(&run.id.to_string()))),
                ("row", Some(row_number(ruling.number))),
                ("destination_reference", state.destination_reference().filter(|_| is_moved).map(text)),
                ("found", Some(Json::Array(vec![text(&reference)]))),
                ("reason", Some(text(&ruling.reason))),
            ]);
            let (kind, verdict) = if ruling.belongs {
                (EntryKind::CandidateConfirmed, LinkVerdict::Confirmed)
            } else {
                (EntryKind::CandidateRefused, LinkVerdict::Refused)
            };
            let is_matched = ruling.belongs && state.name() == StateName::Confirmed;
            let actor = Actor::Person { email: person.email.clone() };
            let mut replacement = self.change(&operation, Transition { state, at, actor, kind, facts }).await?;
            let bucket = Bucket::Matched;
            replacement.reconciled =
                is_matched.then_some(Reconciled { operation: operation.id, run: run.id, bucket, at });
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Replaced {
                let decision = RecordDecision {
                    operation: operation.id,
                    reference,
                    verdict,
                    run: run.id,
                    number: ruling.number,
                    by: person.email.clone(),
                    at,
                    reason: ruling.reason.clone(),
                };
                self.inner.store.put_record_decision(&decision).await?;
                return Ok(changed);
            }
        }
        Err(contended())
    }

    /// The state of an operation to which a person says that a record belongs.
    fn belonging(&self, operation: &Operation, reference: &str) -> Result<State, Refusal> {
        if self.review_rules(operation).needs_second_person(operation.money.as_ref()) {
            return Err(Refusal::Impossible {
                state: operation.state.name(),
                what: "confirmed by one person: its amount needs a second one, so decide it on its own page".into(),
            });
        }
        let (at, destination_reference) = (self.now(), reference.to_owned());
        operation.state.after(&if operation.state.is_uncertain() {
            Event::Resolved { at, resolution: Resolution::Confirmed { destination_reference } }
        } else {
            Event::LookedUp { at, finding: Finding::Found { destination_reference }, absence: None }
        })
    }

    /// A person adopts a record: the operation that would have made it is registered as confirmed by it, so that a begin with its key
    /// is answered with it and sends nothing. Adopting it once more, with the same key, changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Taken`] where the key has an operation, a record without an
    /// id or that an operation holds, a part of the key or a reason out of bounds, the store's fault.
    pub async fn adopt(&self, person: &Person, adoption: &Adoption) -> Result<Operation, Refusal> {
        self.person_may_hand_in(person)?;
        check_text("reason", &adoption.reason)?;
        let (run, row) = self.unguarded_row(&person.reach, adoption.run, adoption.number).await?;
        let (record, reference) = reference_of(&row)?;
        let workflow = self.workflow_in_force(&run.scope.workflow, &person.reach).await?;
        let rules = &workflow.workflow;
        let key = OperationKey {
            workflow: rules.name.clone(),
            company: key_part("company", &run.scope.company)?,
            source_system: key_part("source_system", &adoption.source_system)?,
            document: key_part("document", &adoption.document)?,
            action: key_part("action", &adoption.action)?,
            revision: 1,
        };
        if !rules.actions.contains(&key.action) {
            let known: Vec<&str> = rules.actions.iter().map(KeyPart::as_str).collect();
            let message = format!("is {:?}; this workflow allows {}", adoption.action, known.join(", "));
            return Err(Refusal::field("action", message));
        }
        let known = self.inner.store.operation_by_key(&key).await?;
        self.refuse_held(&run, &reference, known.as_ref().map(|known| known.id)).await?;
        let payload = payload_of(rules, record)?;
        let (at, actor) = (self.now(), Actor::Person { email: person.email.clone() });
        let state = State::adopted(at, reference.clone());
        let fingerprint = Fingerprint::of(&payload, &rules.volatile);
        let facts = detail([
            ("state", Some(text(state.name().as_str()))),
            ("key", Some(text(&hexadecimal(&key.hash())))),
            ("fingerprint", Some(text(&fingerprint.to_string()))),
            ("policy_version", Some(integer(workflow.version))),
            ("destination_reference", Some(text(&reference))),
            ("reconciliation", Some(text(&run.id.to_string()))),
            ("row", Some(row_number(adoption.number))),
            ("reason", Some(text(&adoption.reason))),
        ]);
        let entry = Entry::following((0, ChainHash::START), at, actor.clone(), EntryKind::Adopted, facts);
        let id = OperationId::new(at, self.inner.entropy.bytes());
        let (workflow, payload) = (&*workflow, &payload);
        let money = workflow.workflow.money(payload);
        let founding =
            Founding { id, key, state, entry, fingerprint, workflow, payload, attempt: None, amendment: None, money };
        let mut new = founding.into_new();
        new.operation.fingerprint_scheme = FINGERPRINT_SCHEME_OF_RECORD;
        let operation = match self.inner.store.insert_if_absent(new.clone()).await? {
            Insertion::Inserted => new.operation,
            Insertion::Existing(known) if known.state.destination_reference() == Some(&reference) => *known,
            Insertion::Existing(known) => {
                let name = known.key.document.as_str().to_owned();
                return Err(Refusal::Taken { what: "operation of the document".to_owned(), name });
            }
        };
        // Said as of the run, by whoever adopts.
        self.say_matched(&Run { actor, ..run.clone() }, operation.id).await?;
        let decision = RecordDecision {
            operation: operation.id,
            reference,
            verdict: LinkVerdict::Adopted,
            run: run.id,
            number: adoption.number,
            by: person.email.clone(),
            at,
            reason: adoption.reason.clone(),
        };
        self.inner.store.put_record_decision(&decision).await?;
        Ok(operation)
    }

    /// Refuses where another operation holds the record by now.
    async fn refuse_held(&self, run: &Run, reference: &String, but: Option<OperationId>) -> Result<(), Refusal> {
        let (workflow, company) = (&run.scope.workflow, &run.scope.company);
        let held =
            self.inner.store.operations_by_reference(workflow, company, std::slice::from_ref(reference), 2).await?;
        match held.into_iter().find(|held| Some(held.id) != but) {
            None => Ok(()),
            Some(held) => Err(Refusal::Taken {
                what: "record".to_owned(),
                name: format!("{reference}, of the document {}", held.key.document),
            }),
        }
    }
}

/// The record of a row, and under which id the destination holds it.
fn reference_of(row: &Row) -> Result<(&RecordSide, String), Refusal> {
    let record = row.record.as_ref().ok_or_else(|| Refusal::not_found("record"))?;
    let reference = record.destination_reference.clone().ok_or_else(|| {
        Refusal::field("destination_reference", "is not in the record; without it nobody could tell the record again")
    })?;
    Ok((record, reference))
}

fn row_number(number: u64) -> Json {
    integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn key_part(field: &str, part: &str) -> Result<KeyPart, Refusal> {
    KeyPart::new(part.trim()).map_err(|wrong: NotAKeyPart| Refusal::field(field, wrong))
}

/// What a record shows of the payload that made it: its money.
fn payload_of(workflow: &Workflow, record: &RecordSide) -> Result<Payload, Refusal> {
    let mut shown = Json::Object(Vec::new());
    let amount = record.amount.map(|amount| amount.to_string());
    for (place, value) in [(&workflow.amount, amount), (&workflow.currency, record.currency.clone())] {
        if let (Some(place), Some(value)) = (place, value) {
            put(&mut shown, place.tokens(), value);
        }
    }
    Payload::new(shown).map_err(|wrong| Refusal::field("payload", wrong))
}

/// Puts a text where a place says, making the objects on the way.
fn put(object: &mut Json, tokens: &[String], value: String) {
    let (Json::Object(members), Some((first, rest))) = (object, tokens.split_first()) else { return };
    if rest.is_empty() {
        members.push((first.clone(), Json::String(value)));
        return;
    }
    let at = members.iter().position(|(name, _)| name == first).unwrap_or_else(|| {
        members.push((first.clone(), Json::Object(Vec::new())));
        members.len() - 1
    });
    if let Some((_, inner)) = members.get_mut(at) {
        put(inner, rest, value);
    }
}
