//! Periods: looked at, signed and closed, opened again.

use chrono::TimeDelta;

use super::administration::ADMINISTRATION_TRIES_MAX;
use super::report::{check_length, check_text};
use super::rules::person_actor;
use super::{Guard, contended, text};
use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::id::PeriodId;
use crate::key::KeyPart;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::period::{
    Adding, Basis, CERTIFICATE_MARGIN_SECONDS, Certificate, Day, PERIOD_DAYS_MAX, PERIOD_ROWS_READ, PERIODS_LISTED_MAX,
    Period, PeriodRefusal, PeriodRow, PeriodStanding, SIGNATURE_CHARACTERS_MAX, Signature, Span, Totals, day_at,
};
use crate::person::Person;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::Refusal;
use crate::state::StateName;
use crate::store::{Act, Administered};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};
use crate::workflow::Workflow;

/// What a person signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing<'a> {
    /// The person's name, as they write it.
    pub name: &'a str,
    /// What they state.
    pub statement: &'a str,
    /// Why it is closed although something is open.
    pub reason: &'a str,
    /// The fingerprint of the figures that the page showed ([`Totals::fingerprint`]).
    pub seen: Fingerprint,
}

impl Guard {
    /// What a period of a company holds, as it was a few seconds ago. It is read in pages, operation by operation, so that its sums
    /// are exact.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for a company outside the reach, a span that is none, [`PeriodRefusal::TooLarge`], the store's fault.
    pub async fn period_totals(&self, reach: &Reach, company: &str, span: Span) -> Result<Totals, Refusal> {
        check_span(reach, company, span)?;
        let as_of = self.now() - TimeDelta::seconds(CERTIFICATE_MARGIN_SECONDS);
        let mut adding = Adding::new();
        for basis in [Basis::Created, Basis::Payload] {
            let mut after: Option<PeriodRow> = None;
            loop {
                let rows = self.inner.store.period_rows(company, span, basis, after.as_ref(), PERIOD_ROWS_READ).await?;
                for row in &rows {
                    if let Some(state) = self.state_as_of(row, as_of).await? {
                        adding.take(row, state)?;
                    }
                }
                after = rows.into_iter().last();
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(adding.finish(company, span, as_of))
    }

    /// Closes a period. What the person signs are the figures that the page showed; where they have changed, nothing is closed.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, a company outside the reach, a span that is none, a signature that is incomplete (a reason is
    /// needed where something is open), [`PeriodRefusal::Closed`], [`PeriodRefusal::Moved`], [`PeriodRefusal::TooLarge`], the store's
    /// fault.
    pub async fn close_period(
        &self,
        person: &Person,
        company: &str,
        span: Span,
        signing: &Signing<'_>,
    ) -> Result<Period, Refusal> {
        refuse_unsigned(person)?;
        check_text("name", signing.name)?;
        check_length("name", signing.name, SIGNATURE_CHARACTERS_MAX)?;
        check_text("statement", signing.statement)?;
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            let head = self.inner.registry.administration_head().await?;
            if let Some(closed) = self.inner.store.closed_period(company, span).await? {
                return Err(PeriodRefusal::Closed { period: closed.id, span: closed.span() }.into());
            }
            let totals = self.period_totals(&person.reach, company, span).await?;
            if totals.fingerprint() != signing.seen {
                return Err(PeriodRefusal::Moved.into());
            }
            let reason = signing.reason.trim();
            if totals.is_open() {
                check_text("reason", reason)?;
            }
            let at = self.now();
            let signature = Signature {
                by: person.email.clone(),
                name: signing.name.to_owned(),
                statement: signing.statement.to_owned(),
                reason: (!reason.is_empty()).then(|| reason.to_owned()),
                at,
            };
            let seal = self.inner.store.last_seal_mark().await?;
            let certificate = Certificate { totals, seal, signature };
            let id = PeriodId::new(at, self.inner.entropy.bytes());
            let facts = detail([
                ("period", Some(text(&id.to_string()))),
                ("certificate", Some(certificate.to_json())),
                ("sha256", Some(text(&certificate.fingerprint().to_string()))),
            ]);
            let period = Period { id, certificate, standing: PeriodStanding::Closed };
            let act = (Act::PutPeriod(Box::new(period.clone())), EntryKind::PeriodClosed, facts);
            if self.administer(&person_actor(person), head, vec![act]).await? == Administered::Done {
                return Ok(period);
            }
        }
        Err(contended())
    }

    /// Opens a closed period again. Its certificate stays readable, as what was signed then.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], a reason out of bounds, [`PeriodRefusal::Reopened`], the store's fault.
    pub async fn reopen_period(&self, person: &Person, id: PeriodId, reason: &str) -> Result<Period, Refusal> {
        refuse_unsigned(person)?;
        check_text("reason", reason)?;
        for _ in 0..ADMINISTRATION_TRIES_MAX {
            let head = self.inner.registry.administration_head().await?;
            let mut period = self.period(&person.reach, id).await?;
            if let PeriodStanding::Reopened { by, at, .. } = period.standing {
                return Err(PeriodRefusal::Reopened { by, at }.into());
            }
            let (by, at) = (person.email.clone(), self.now());
            period.standing = PeriodStanding::Reopened { by, at, reason: reason.to_owned() };
            let facts = detail([("period", Some(text(&id.to_string()))), ("reason", Some(text(reason)))]);
            let act = (Act::PutPeriod(Box::new(period.clone())), EntryKind::PeriodReopened, facts);
            if self.administer(&person_actor(person), head, vec![act]).await? == Administered::Done {
                return Ok(period);
            }
        }
        Err(contended())
    }

    /// The period with this id, where its company is within reach.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn period(&self, reach: &Reach, id: PeriodId) -> Result<Period, Refusal> {
        let found = self.inner.store.period(id).await?;
        found.filter(|period| reach.company(period.company())).ok_or_else(|| Refusal::not_found("period"))
    }

    /// The periods of companies within reach, the newest first, before the id `before` where one is given: at most
    /// [`PERIODS_LISTED_MAX`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn periods(&self, reach: &Reach, before: Option<PeriodId>) -> Result<Vec<Period>, Refusal> {
        Ok(self.inner.store.periods(reach, before, PERIODS_LISTED_MAX).await?)
    }

    /// The closed period in which an operation lies.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn closed_period_of(&self, operation: &Operation) -> Result<Option<Period>, Refusal> {
        let dated = self.inner.store.days(&[operation.id]).await?.pop();
        let day = dated.map_or_else(|| operation.created_at.date_naive(), |(_, day)| day);
        let span = Span { from: day, to: day };
        Ok(self.inner.store.closed_period(operation.key.company.as_str(), span).await?)
    }

    /// Where an operation stood at a moment; none where it did not exist yet.
    async fn state_as_of(&self, row: &PeriodRow, as_of: Timestamp) -> Result<Option<StateName>, Refusal> {
        if row.updated_at <= as_of {
            return Ok(Some(row.state));
        }
        let (mut after, mut state) = (0, None);
        loop {
            let entries = self.inner.store.entries(row.operation, after, PAGE_ROWS_MAX).await?;
            let Some(last) = entries.last() else { return Ok(state) };
            after = last.sequence;
            for entry in entries.iter().filter(|entry| entry.at <= as_of) {
                let told = entry.detail.member("state").and_then(crate::json::Json::as_str);
                state = told.and_then(StateName::parse).or(state);
            }
        }
    }
}

/// The day by which a new operation belongs to a period, where its workflow reads it from the payload.
pub(super) fn day_of_payload(workflow: &Workflow, payload: &Payload) -> Option<Day> {
    day_at(payload, workflow.period.as_ref()?)
}

fn refuse_unsigned(person: &Person) -> Result<(), Refusal> {
    if person.role.may_sign() {
        Ok(())
    } else {
        Err(Refusal::Forbidden { reason: "closing and opening a period needs the role finance".to_owned() })
    }
}

fn check_span(reach: &Reach, company: &str, span: Span) -> Result<(), Refusal> {
    KeyPart::new(company).map_err(|fault| Refusal::field("company", format!("{company:?} {fault}")))?;
    if !reach.company(company) {
        return Err(Refusal::not_found("company"));
    }
    if span.to < span.from {
        return Err(Refusal::field("to", "is before the first day"));
    }
    if span.days() > PERIOD_DAYS_MAX {
        return Err(Refusal::field("to", format!("makes a period of over {PERIOD_DAYS_MAX} days")));
    }
    Ok(())
}
