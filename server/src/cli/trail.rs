//! `onceover trail`.

use guard::activity::TrailCheck;

use super::{Common, Failure, Opened, print};
use crate::trail as proof;

const EXAMPLES: &str = "\
Examples:
  onceover trail verify
  onceover trail verify --database sqlite:///backups/onceover-2026-11-30.db

Every entry is chained to the one before it with SHA-256, and every minute a seal chains the heads
of all that changed. Both are walked: exit code 1 and the first broken entry when one was altered,
added or taken out. A whole operation that is taken out within its first minute was not sealed yet.
The certificates of closed periods are added up anew from the entries: a figure that differs is named.";

/// Prove that nothing in the record of what happened was altered.
#[derive(clap::Subcommand)]
pub(super) enum Trail {
    /// Walk every chain and every seal
    #[command(after_long_help = EXAMPLES)]
    Verify,
}

impl Trail {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        match self {
            Self::Verify => verify(common).await,
        }
    }
}

async fn verify(common: &Common) -> Result<(), Failure> {
    let opened = Opened::existing(&common.settle(&common.configuration()?.server)?).await?;
    let proven = proof::verify(opened.database.ledger.as_ref(), &opened.guard.catalogue()).await;
    let broken = proven.as_ref().err().map(ToString::to_string);
    let entries = proven.as_ref().map_or(0, |report| report.entries);
    // The desk shows it. A copy that cannot be written to is proven all the same.
    if let Err(fault) = opened.guard.trail_checked(&TrailCheck { at: opened.guard.now(), entries, broken }).await {
        tracing::warn!(%fault, "what the verification showed could not be kept");
    }
    let report = opened.close(proven.map_err(|broken| Failure(broken.to_string()))).await?;
    let mut text = format!(
        "The trail is whole: {} entries, {} operations, {} payloads, {} seals.\n",
        report.entries, report.operations, report.payloads, report.seals
    );
    if report.certificates > 0 {
        let what = if report.certificates == 1 {
            "certificate of a closed period says"
        } else {
            "certificates of closed periods say"
        };
        text.push_str(&format!("{} {what} what the trail says.\n", report.certificates));
    }
    if let Some((number, hash)) = report.last_seal {
        text.push_str(&format!(
            "The last seal is number {number}, {hash}. Kept elsewhere, it proves later that none was taken out.\n"
        ));
    }
    print(&text)
}
