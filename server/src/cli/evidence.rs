//! `onceover evidence`.

use std::path::PathBuf;

use guard::actor::Actor;
use guard::id::OperationId;
use guard::token::Reach;
use guard::veil::Veil;

use super::{Common, Failure, Opened, print, tell};
use crate::pack::{Format, Wanted, make};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover evidence 01938f6e-7c1a-7d5e-9c55-0a4f1d2b3c4d --output order-812.html
  onceover evidence 01938f6e-7c1a-7d5e-9c55-0a4f1d2b3c4d --format json | jq .chain

The file needs nothing else: what happened in plain sentences, every version of the payload, what
differs, lookups, decisions, evidence with its SHA-256, and the chain of hashes. Its last section
says how all of it is checked without Onceover, with a program that it brings along.

That it was taken out is an entry of the trail. What a workflow marks as sensitive is masked, and
so are the hashes' texts that hold it, unless --sensitive is given.";

/// Takes out everything that proves what became of an operation, as one file.
#[derive(clap::Args)]
pub(super) struct Evidence {
    /// The operation's id
    operation: String,
    /// A page to read, print and check, or JSON
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Where to; it must not exist yet. Left out: standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With what the workflow marks as sensitive; the trail tells so
    #[arg(long)]
    sensitive: bool,
}

impl Evidence {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let Self { operation, format, output, sensitive } = self;
        let id: OperationId = operation
            .parse()
            .map_err(|fault| Failure(format!("{operation:?}: {fault}; the page of an operation shows its id")))?;
        let settings = common.settle(&common.configuration()?.server)?;
        let opened = Opened::existing(&settings).await?;
        let public_url = settings.public_url.unwrap_or_default();
        let packed = pack(&opened, id, format, sensitive, &public_url).await;
        let text = opened.close(packed).await?;
        let Some(file) = output else { return print(&text) };
        let written = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
        let written = written.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        tell(&format!("{} holds the evidence of operation {id}.", file.display()))
    }
}

async fn pack(
    opened: &Opened,
    id: OperationId,
    format: Format,
    is_sensitive: bool,
    public_url: &str,
) -> Result<String, Failure> {
    let reach = Reach::EVERYTHING;
    let operation = opened.guard.operation(&reach, id).await?;
    let veil = if is_sensitive { Veil::default() } else { opened.guard.closed_veil(&operation) };
    let wanted = Wanted { actor: &Actor::CommandLine, reach: &reach, operation: id, veil: &veil, format };
    Ok(make(&opened.guard, opened.database.ledger.as_ref(), public_url, &wanted).await?)
}
