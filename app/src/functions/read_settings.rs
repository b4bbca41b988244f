//! Tokens, people, workflows.

use guard::{
    clock::Timestamp,
    destination::Destination,
    notification::{ChannelState, Kind, WayName},
    person::Person,
    retention::Standing,
    token::Token,
    workflow::Workflow,
};
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
    /// The channels of notifications within reach, by name.
    pub channels: Vec<ChannelView>,
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
    /// How retention stands in it, where it drops bodies, for whoever reaches every company.
    pub retention: Option<Standing>,
}

/// A channel of notifications, without what is secret in it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ChannelView {
    /// Its name.
    pub name: String,
    /// How messages go.
    pub way: WayName,
    /// Where to, as far as that may be seen.
    pub goes_to: String,
    /// What is told.
    pub kinds: Vec<Kind>,
    /// Of which companies; empty: of every one.
    pub companies: Vec<String>,
    /// Of which workflows; empty: of every one.
    pub workflows: Vec<String>,
    /// When a group that grows is told again, in minutes.
    pub quiet_minutes: u32,
    /// How it fares; none where it was never used.
    pub state: Option<ChannelState>,
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
    let mut workflows = configured(guard);
    if person.reach.companies.is_none() {
        let standings = guard.retention_standings(&person.reach).await?;
        for configured in &mut workflows {
            configured.retention = standings.get(configured.workflow.name.as_str()).copied();
        }
    }
    let destinations = guard.catalogue().destinations.values().cloned().map(Destination::masked).collect();
    let channels = channels(guard, person).await?;
    let (as_of, person) = (guard.now(), person.clone());
    Ok(Settings { as_of, person, tokens, people, workflows, destinations, channels, notice })
}

/// Under this name the effect of an act in the settings is kept for the page after it.
#[cfg(feature = "ssr")]
pub(crate) const NOTICE: &str = "settings";

#[cfg(feature = "ssr")]
async fn channels(guard: &guard::service::Guard, person: &Person) -> Result<Vec<ChannelView>, Failure> {
    use guard::{notification::Way, refusal::Refusal};

    let states = guard.channel_states().await.map_err(Refusal::from)?;
    let catalogue = guard.catalogue();
    let within = catalogue.channels.values().filter(|channel| channel.reach().is_within(&person.reach));
    let shown = within.filter_map(|channel| {
        let way = channel.way()?;
        let goes_to = match way {
            Way::Webhook(webhook) => webhook.shown_url(),
            Way::Mail(mail) if person.role.may_administer() => {
                format!("{} through {}", mail.to.join(", "), mail.server)
            }
            Way::Mail(mail) => crate::wording::counted(mail.to.len() as u64, "address", "addresses"),
        };
        Some(ChannelView {
            name: channel.name.clone(),
            way: way.name(),
            goes_to,
            kinds: channel.kinds.clone(),
            companies: channel.companies.clone(),
            workflows: channel.workflows.clone(),
            quiet_minutes: channel.quiet_minutes,
            state: states.iter().find(|state| state.channel == channel.name).cloned(),
        })
    });
    Ok(shown.collect())
}

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
        retention: None,
    });
    let (retired, current): (Vec<_>, Vec<_>) = shown.partition(|configured| configured.is_retired);
    current.into_iter().chain(retired).collect()
}
