//! What stands around every page.

use guard::person::Person;
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure};

/// Who is signed in, and what waits.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Surroundings {
    /// Who is signed in.
    pub person: Person,
    /// How many operations are uncertain, up to [`guard::summary::BADGE_COUNTED_MAX`].
    pub uncertain: u32,
    /// How many conflicts are open, up to [`guard::summary::BADGE_COUNTED_MAX`].
    pub open_conflicts: u32,
    /// How many amendments wait for approval, up to [`guard::summary::BADGE_COUNTED_MAX`].
    pub proposals: u32,
    /// How many proposed changes of rules wait for the approval of whoever is signed in.
    pub rules: u32,
    /// The time zone that this browser keeps.
    pub zone: String,
}

/// Reads what stands around every page.
#[server(prefix = "/fn", endpoint = "read_frame", input = Json, output = Json)]
pub(crate) async fn read_frame() -> Result<Surroundings, Failure> {
    let visit = crate::context::Visit::current()?;
    let person = visit.person()?;
    let zone = crate::components::zone::of_request();
    let guard::summary::Badges { uncertain, open_conflicts, proposals } = visit.guard.badges(&person.reach).await?;
    Ok(Surroundings {
        uncertain,
        open_conflicts,
        proposals,
        rules: visit.guard.rules_waiting(person).await?.unwrap_or_default(),
        person: person.clone(),
        zone,
    })
}
