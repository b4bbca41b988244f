//! `onceover check`.

use std::path::PathBuf;

use super::{Common, Failure, ServerFlags, print, resolve, tell};
use crate::config::{Configuration, effective};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover check onceover.toml
      exit code 1 and the file, line and key where something is wrong
  onceover check
      what is in force without a file

Nothing is changed and no database is opened; that nothing is wrong is said on standard error. What
is printed holds no secret: passwords and the values of headers are masked. Where a header stands
for a secret (env:NAME, file:PATH), it is checked that the secret can be read here.";

/// Says what is wrong in a configuration file, or prints what is in force: the file's content with every default, and the
/// settings of a server that is started with the same flags.
#[derive(clap::Args)]
pub(super) struct Check {
    /// The file [default: what --config names]
    file: Option<PathBuf>,
    #[command(flatten)]
    flags: ServerFlags,
}

impl Check {
    pub(super) fn run(self, common: &Common) -> Result<(), Failure> {
        let path = self.file.or_else(|| common.config.clone());
        let mut configuration = match &path {
            Some(path) => Configuration::read(path)?,
            None => Configuration::default(),
        };
        let missing: Vec<_> = configuration.missing_secrets().iter().map(ToString::to_string).collect();
        if !missing.is_empty() {
            return Err(Failure(missing.join("\n")));
        }
        let settings = resolve(&[self.flags.table(common), configuration.server.clone()])?;
        for destination in &configuration.definitions.destinations {
            for (header, value) in &destination.headers {
                let is_secret = ["authorization", "cookie", "key", "secret", "token"]
                    .iter()
                    .any(|word| header.to_lowercase().contains(word));
                if is_secret && !value.starts_with("env:") && !value.starts_with("file:") {
                    tell(&format!(
                        "warning: destination {} holds the value of {header} itself; write env:NAME or file:PATH, and it stays out of \
                         the database",
                        destination.name
                    ))?;
                }
            }
        }
        for channel in &configuration.definitions.channels {
            for (key, _) in channel.secrets().into_iter().filter(|(_, secret)| !secret.is_reference()) {
                if key == "webhook.url" {
                    continue;
                }
                tell(&format!(
                    "warning: notification {} holds {key} itself; write env:NAME or file:PATH, and it stays out of the database",
                    channel.name
                ))?;
            }
        }
        configuration.server = settings.to_table();
        print(&effective(&configuration)?)?;
        match &path {
            Some(path) => tell(&format!("{}: nothing is wrong.", path.display())),
            None => Ok(()),
        }
    }
}
