//! `onceover copy`.

use std::path::Path;
use std::sync::Arc;

use super::table::table;
use super::{Common, Failure, print, tell};
use crate::clock::OsEntropy;
use crate::copy::copy;

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover copy --from sqlite://./data/onceover.db --to postgres://onceover@localhost/onceover
  onceover serve --database postgres://onceover@localhost/onceover

Stop the server of the SQLite file first. Every row is compared after it was copied, and the copied
trail is walked; then the copy becomes the store, all at once. One that was interrupted goes on where
it was when the command is given again. The file stays as it is. People stay signed in.";

/// Moves a SQLite database to PostgreSQL.
#[derive(clap::Args)]
pub(super) struct Copy {
    /// The SQLite database: sqlite://PATH
    #[arg(long, value_name = "URL")]
    from: String,

    /// The PostgreSQL database, which must exist and hold no store: postgres://USER:PASSWORD@HOST/NAME
    ///
    /// A password is better kept in PGPASSWORD or a .pgpass file than on the command line, where others can see it.
    #[arg(long, value_name = "URL")]
    to: String,
}

impl Copy {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        common.settle(&common.configuration()?.server)?;
        let Some(path) = self.from.strip_prefix("sqlite://").map(Path::new) else {
            return Err(Failure("--from: only a SQLite database is copied; write sqlite://PATH".to_owned()));
        };
        if !path.exists() {
            return Err(Failure(format!("--from: there is no database {}", path.display())));
        }
        if !self.to.starts_with("postgres://") && !self.to.starts_with("postgresql://") {
            return Err(Failure("--to: write postgres://USER@HOST/NAME".to_owned()));
        }
        let copied = copy(path, &self.to, Arc::new(OsEntropy), |sentence| {
            // Nobody is left to be told when standard error is closed.
            let _told = tell(sentence);
        });
        let copied = copied.await.map_err(|error| Failure(error.to_string()))?;
        let rows: Vec<_> = copied.tables.iter().map(|(name, rows)| [name.clone(), rows.to_string()]).collect();
        print(&table(["TABLE", "ROWS"], &rows))?;
        let trail = copied.trail;
        tell(&format!(
            "Everything was copied and compared; the trail is whole: {} entries, {} operations, {} payloads, {} seals.",
            trail.entries, trail.operations, trail.payloads, trail.seals
        ))
    }
}
