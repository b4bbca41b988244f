//! Tokens, people, workflows.

use guard::{clock::Timestamp, destination::Destination, person::Person, token::Token, workflow::Workflow};
use leptos::prelude::*;

use crate::{encoding::Json, failure::Failure, notice::SettingsNotice};

/// What the settings show.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Settings {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The tokens within reach, newest first; for an administrator.
    pub tokens: Vec<Token>,
    /// The people within reach, by address; for an administrator.
    pub people: Vec<Person>,
    /// What is configured; what was, and is retired, at the end.
    pub workflows: Vec<ConfiguredWorkflow>,
    /// The destinations by name, with their headers masked.
    pub destinations: Vec<Destination>,
    /// What became of the act before.
    pub notice: Option<SettingsNotice>,
}

/// A workflow with its policy version and its destination.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConfiguredWorkflow {
    /// The workflow.
    pub workflow: Workflow,
    /// The policy version: the number of the workflow's rules.
    pub version: u32,
    /// Its destination, with its headers masked.
    pub destination: Option<Destination>,
    /// Whether it is retired: nothing new is begun in it.
    pub is_retired: bool,
}

/// Reads the settings.
#[server(prefix = "/fn", endpoint = "read_settings", input = Json, output = Json)]
pub(crate) async fn read_settings() -> Result<Settings, Failure> {
    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let (mut tokens, mut people) = (Vec::new(), Vec::new());
    if person.role.may_administer() {
        tokens = guard.tokens().await?;
        tokens.retain(|token| token.reach.is_within(&person.reach));
        people = guard.people().await?;
        people.retain(|other| other.reach.is_within(&person.reach));
    }
    guard.refresh().await?;
    let notice = crate::reply::take_notice(&visit, NOTICE).await;
    let workflows = configured(guard);
    let destinations = guard.catalogue().destinations.values().cloned().map(Destination::masked).collect();
    Ok(Settings { as_of: guard.now(), person: person.clone(), tokens, people, workflows, destinations, notice })
}

/// Under this name the effect of an act in the settings is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "settings";

#[cfg(feature = "ssr")]
fn configured(guard: &guard::service::Guard) -> Vec<ConfiguredWorkflow> {
    let catalogue = guard.catalogue();
    let shown = catalogue.workflows.values().map(|known| ConfiguredWorkflow {
        workflow: known.workflow.clone(),
        version: known.version,
        destination: known
            .workflow
            .destination
            .as_ref()
            .and_then(|name| catalogue.destinations.get(name))
            .map(|destination| destination.clone().masked()),
        is_retired: known.is_retired,
    });
    let (retired, current): (Vec<_>, Vec<_>) = shown.partition(|configured| configured.is_retired);
    current.into_iter().chain(retired).collect()
}
