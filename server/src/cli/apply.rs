//! `onceover apply`.

use std::path::PathBuf;

use guard::actor::Actor;
use guard::refusal::Refusal;
use guard::rules::RuleRefusal;
use guard::service::{Applied, AppliedChange};

use super::table::table;
use super::{Common, Failure, Opened, print};
use crate::config::Configuration;

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover apply onceover.toml
  onceover export > onceover.toml
      start from what is there

The smallest file:
  [[workflow]]
  name = \"accounting-handoff\"

All or nothing: a file with a fault changes nothing. A workflow that the file leaves out is
retired: nothing new is begun in it, and what was begun can still be finished. Every change is an
entry in the trail. A running server follows within a second.

Rules that people approved at /settings/rules (volatile, key_fields, [workflow.amendment]) are not
overwritten: the file says what is in force, as `onceover export` prints it, or is refused.";

/// Makes workflows, destinations and channels of notifications exactly what a configuration file says, and prints what changed.
#[derive(clap::Args)]
pub(super) struct Apply {
    /// The file; its [server] counts too where no --config is named
    file: PathBuf,
}

impl Apply {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let configuration = Configuration::read(&self.file)?;
        let server = match &common.config {
            Some(path) => Configuration::read(path)?.server,
            None => configuration.server.clone(),
        };
        let opened = Opened::made(&common.settle(&server)?).await?;
        let applied = opened.guard.apply(&configuration.definitions, &Actor::CommandLine).await;
        let applied = opened.close(applied.map_err(|refusal| placed(&configuration, refusal))).await?;
        print(&told(&applied))
    }
}

/// The refusal, with the place in the file where one is to blame.
fn placed(configuration: &Configuration, refusal: Refusal) -> Failure {
    if let Refusal::Rules(approved @ RuleRefusal::ApprovedInBrowser { workflow, key, .. }) = &refusal {
        return configuration.fault_of_workflow(workflow, key, approved.to_string()).into();
    }
    refusal.into()
}

/// What became of each workflow, destination and channel.
fn told(applied: &Applied) -> String {
    let row = |kind: &str, (name, change): (&String, &AppliedChange)| {
        [kind.to_owned(), name.clone(), in_words(*change).to_owned()]
    };
    let destinations = applied.destinations.iter().map(|change| row("destination", change));
    let channels = applied.channels.iter().map(|change| row("notification", change));
    let workflows = applied.workflows.iter().map(|change| row("workflow", change));
    let rows: Vec<_> = workflows.chain(destinations).chain(channels).collect();
    if rows.is_empty() {
        return "Nothing is configured, and the file names nothing.\n".to_owned();
    }
    let retired: Vec<_> = applied.workflows.iter().filter(|(_, change)| **change == AppliedChange::Retired).collect();
    let retired: Vec<_> = retired.into_iter().map(|(name, _)| name.as_str()).collect();
    let mut text = table(["KIND", "NAME", "CHANGE"], &rows);
    if !retired.is_empty() {
        let names = retired.join(", ");
        text += &format!(
            "\nThe file leaves out, and so retires: {names}. Nothing new is begun there; what was begun can be finished.\n"
        );
    }
    text
}

/// The word for a change.
pub(super) const fn in_words(change: AppliedChange) -> &'static str {
    match change {
        AppliedChange::Added => "added",
        AppliedChange::Changed => "changed",
        AppliedChange::Retired => "retired",
        AppliedChange::Unchanged => "unchanged",
    }
}
