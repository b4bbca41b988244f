//! The right to administer, as a value one must hold: made by [`of`] alone.

use guard::{actor::Actor, person::Person, refusal::Refusal, token::Reach};

use crate::{context::Visit, failure::Failure, wording};

/// Somebody who may administer within their reach.
pub(super) struct Administrator<'a>(&'a Person);

/// The one who asks, where they may administer.
pub(super) fn of(visit: &Visit) -> Result<Administrator<'_>, Failure> {
    let person = visit.person()?;
    match wording::why_not_administer(person.role) {
        None => Ok(Administrator(person)),
        Some(reason) => Err(Refusal::Forbidden { reason }.into()),
    }
}

impl Administrator<'_> {
    /// The name under which acts stand in the trail.
    pub(super) fn actor(&self) -> Actor {
        Actor::Person { email: self.0.email.clone() }
    }

    /// The reach over companies (one a line, or between commas) and workflows, where the administrator has it to give.
    pub(super) fn grantable(
        &self,
        companies: &str,
        workflows: impl IntoIterator<Item = String>,
    ) -> Result<Reach, Refusal> {
        let names = companies.split([',', '\n']).map(str::trim).filter(|name| !name.is_empty());
        let reach = Reach::over(names.map(ToOwned::to_owned), workflows);
        if reach.is_within(&self.0.reach) {
            return Ok(reach);
        }
        let own = self.0.reach.companies.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        Err(Refusal::field("companies", format!("go beyond what you reach yourself: {own}")))
    }

    /// Refuses what lies outside the administrator's reach as if it did not exist.
    pub(super) fn check_reach(&self, reach: Option<&Reach>, what: &str) -> Result<(), Refusal> {
        let within = reach.is_some_and(|reach| reach.is_within(&self.0.reach));
        if within { Ok(()) } else { Err(Refusal::not_found(what)) }
    }
}
