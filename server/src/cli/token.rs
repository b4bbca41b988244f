//! `onceover token`.

use std::collections::BTreeSet;

use guard::actor::Actor;
use guard::clock::rfc3339;
use guard::id::TokenId;
use guard::token::{Reach, Scope, Token};

use super::table::table;
use super::{Common, Failure, Opened, print, tell};

const EXAMPLES: &str = "\
Examples:
  TOKEN=$(onceover token create --name shop)
  onceover token create --name billing --scope operations:write --company acme-in \\
      --workflow accounting-handoff

Scopes: operations:write, operations:read, amendments:propose, reconciliation:write,
metrics:read. No token can approve, resolve or configure. The token alone is printed, this once;
only its hash is kept. A running server takes it at once.";

/// Let automations ask.
#[derive(clap::Subcommand)]
pub(super) enum TokenCommand {
    /// Make a token and print it
    #[command(after_long_help = EXAMPLES)]
    Create(Create),
    /// List the tokens, without their secrets
    List,
    /// Revoke a token: a running server refuses it within two seconds
    Revoke(Revoke),
}

/// Makes a token and prints it alone on standard output.
#[derive(clap::Args)]
pub(super) struct Create {
    /// Its name, as it stands in the trail
    #[arg(long)]
    name: String,
    /// What it may do; may be given again [default: everything a token can]
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<Scope>,
    /// Only operations of this company; may be given again [default: every company]
    #[arg(long = "company", value_name = "COMPANY")]
    companies: Vec<String>,
    /// Only this workflow; may be given again [default: every workflow]
    #[arg(long = "workflow", value_name = "WORKFLOW")]
    workflows: Vec<String>,
}

/// Revokes a token.
#[derive(clap::Args)]
pub(super) struct Revoke {
    /// Its id, as `onceover token list` shows it
    id: String,
}

fn scope(name: &str) -> Result<Scope, String> {
    Scope::parse(name).ok_or_else(|| format!("write one of: {}", Scope::ALL.map(Scope::as_str).join(", ")))
}

impl TokenCommand {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let settings = common.settle(&common.configuration()?.server)?;
        match self {
            Self::Create(create) => {
                let opened = Opened::made(&settings).await?;
                let created = create.run(&opened).await;
                print(&format!("{}\n", opened.close(created).await?))
            }
            Self::List => {
                let opened = Opened::existing(&settings).await?;
                let tokens = opened.guard.tokens().await.map_err(Failure::from);
                let rows: Vec<_> = opened.close(tokens).await?.into_iter().map(row).collect();
                let header = ["ID", "NAME", "SCOPES", "COMPANIES", "WORKFLOWS", "CREATED", "REVOKED"];
                print(&table(header, &rows))
            }
            Self::Revoke(Revoke { id }) => {
                let id: TokenId = id
                    .parse()
                    .map_err(|_| Failure(format!("{id:?} is no token's id; onceover token list shows them")))?;
                let opened = Opened::existing(&settings).await?;
                let revoked = opened.guard.revoke_token(id, &Actor::CommandLine).await;
                let revoked = revoked.map_err(|refusal| Failure(format!("{refusal}; onceover token list shows them")));
                tell(&format!("The token {:?} is revoked.", opened.close(revoked).await?.name))
            }
        }
    }
}

impl Create {
    async fn run(self, opened: &Opened) -> Result<String, Failure> {
        let scopes: BTreeSet<Scope> =
            if self.scopes.is_empty() { Scope::ALL.into() } else { self.scopes.into_iter().collect() };
        let reach = Reach::over(self.companies, self.workflows);
        let (_, secret) = opened.guard.create_token(&self.name, scopes, reach, &Actor::CommandLine).await?;
        Ok(secret.reveal().to_owned())
    }
}

fn row(token: Token) -> [String; 7] {
    let names = |names: Option<BTreeSet<String>>| {
        names.map_or_else(|| "every one".to_owned(), |names| names.into_iter().collect::<Vec<_>>().join(", "))
    };
    let is_all = token.scopes.len() == Scope::ALL.len();
    let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    [
        token.id.to_string(),
        token.name,
        if is_all { "every one".to_owned() } else { scopes.join(", ") },
        names(token.reach.companies),
        names(token.reach.workflows),
        rfc3339(token.created_at),
        token.revoked_at.map(rfc3339).unwrap_or_default(),
    ]
}
