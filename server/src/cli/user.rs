//! `onceover user`.

use std::io::{IsTerminal as _, Read as _, stdin};
use std::sync::Arc;

use guard::actor::Actor;
use guard::person::{PASSWORD_BYTES_MAX, Role, check_password};
use guard::token::Reach;

use super::table::table;
use super::{Common, Failure, Opened, print, tell};
use crate::session::PasswordHashes;

const EXAMPLES: &str = "\
Examples:
  onceover user create --email ada@example.com --role admin
      makes a password and prints it
  printf '%s' \"$PASSWORD\" | onceover user create --email max@example.com --role operator \\
      --company acme-in

The password is the first line of standard input: at least 12 characters. Where there is no input
(a terminal, or an empty one), one is made and printed alone on standard output, this once. It is
never an argument, where others could read it.";

/// Let people sign in at the desk.
#[derive(clap::Subcommand)]
pub(super) enum User {
    /// Add somebody
    #[command(after_long_help = EXAMPLES)]
    Create(Create),
    /// List everybody
    List,
}

/// Adds somebody who signs in at the desk. The password comes from standard input, or is made and printed once.
#[derive(clap::Args)]
pub(super) struct Create {
    /// The address with which they sign in
    #[arg(long)]
    email: String,
    /// What they may do: viewer looks; operator settles what is uncertain and conflicts; finance sets rules, approves amendments and closes
    /// periods; admin manages people and tokens, and settles too
    #[arg(long, value_name = "viewer|operator|finance|admin", value_parser = role)]
    role: Role,
    /// Only operations of this company; may be given again [default: every company]
    #[arg(long = "company", value_name = "COMPANY")]
    companies: Vec<String>,
}

fn role(name: &str) -> Result<Role, String> {
    Role::parse(name).ok_or_else(|| format!("write one of: {}", Role::ALL.map(Role::as_str).join(", ")))
}

impl User {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(common).await,
            Self::List => list(common).await,
        }
    }
}

impl Create {
    async fn run(self, common: &Common) -> Result<(), Failure> {
        let settings = common.settle(&common.configuration()?.server)?;
        let given = given_password()?;
        let opened = Opened::made(&settings).await?;
        let made = if given.is_none() { Some(opened.guard.generate_password()) } else { None };
        let password = given.or_else(|| made.clone()).unwrap_or_default();
        let added = self.add(&opened, password).await;
        let email = opened.close(added).await?;
        match made {
            Some(password) => {
                print(&format!("{password}\n"))?;
                tell(&format!("{email} may sign in with the password on standard output. It is not shown again."))
            }
            None => tell(&format!("{email} may sign in.")),
        }
    }

    async fn add(self, opened: &Opened, password: String) -> Result<String, Failure> {
        let hashes = PasswordHashes::new(Arc::clone(&opened.entropy));
        let hash = hashes.make(password).await.map_err(|fault| Failure(fault.to_string()))?;
        let reach = Reach::over(self.companies, []);
        let added = opened.guard.add_person(&self.email, self.role, reach, hash, false, &Actor::CommandLine).await?;
        Ok(added.email)
    }
}

async fn list(common: &Common) -> Result<(), Failure> {
    let opened = Opened::existing(&common.settle(&common.configuration()?.server)?).await?;
    let people = opened.guard.people().await.map_err(Failure::from);
    let rows: Vec<_> = opened
        .close(people)
        .await?
        .into_iter()
        .map(|person| {
            let companies = person.reach.companies.map_or_else(
                || "every one".to_owned(),
                |companies| companies.into_iter().collect::<Vec<_>>().join(", "),
            );
            [person.email, person.role.as_str().to_owned(), companies]
        })
        .collect();
    print(&table(["EMAIL", "ROLE", "COMPANIES"], &rows))
}

/// The first line of standard input; none where nobody wrote anything.
fn given_password() -> Result<Option<String>, Failure> {
    if stdin().is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // One byte more than allowed, to see that there is more.
    stdin().lock().take(PASSWORD_BYTES_MAX as u64 + 2).read_to_end(&mut bytes)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure("the password on standard input is not UTF-8".to_owned()))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        return Ok(None);
    }
    check_password(password).map_err(|refusal| Failure(format!("standard input: {refusal}")))?;
    Ok(Some(password.to_owned()))
}
