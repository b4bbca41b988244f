//! `onceover backup`.

use std::path::PathBuf;

use super::{Common, Failure, Opened, tell};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover backup /backups/onceover-2026-11-30.db
  onceover trail verify --database sqlite:///backups/onceover-2026-11-30.db

The copy is consistent, and a server may go on serving meanwhile. To restore, stop the server and
serve the copy. A PostgreSQL database has its own tools, which are named when you ask.";

/// Writes a consistent copy of a SQLite database into a new file.
#[derive(clap::Args)]
pub(super) struct Backup {
    /// The copy; it must not exist yet
    file: PathBuf,
}

impl Backup {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let opened = Opened::existing(&common.settle(&common.configuration()?.server)?).await?;
        let done = opened.database.backup(&self.file).await.map_err(Failure::from);
        opened.close(done).await?;
        tell(&format!("{} holds everything up to now.", self.file.display()))
    }
}
