//! `onceover seed`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Common, Failure, Opened, print, tell};
use crate::seed::{Plan, plant};

/// How far it is is told so often, in seconds.
const PROGRESS_SECONDS: u64 = 5;

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover seed --database sqlite://./demo/onceover.db
      ten thousand operations that never happened, to look at the desk with
  onceover seed --database sqlite://./large/onceover.db --operations 1000000 --unknown 20000
      as many as a few years make, to measure with

This makes demonstration data: operations, outcomes, conflicts and repetitions that never happened,
and what people who do not exist decided, noted and amended, in workflows of its own, over the last
90 days. All of it is counted and sealed like the real thing, and nothing can take it out of the
trail again: use a database of its own. The destinations that it configures exist nowhere and are
never asked. The revisions that amendments propose come on top of the operations.

The same --seed makes the same operations. Stopped half way, the same command with --add goes on.";

/// Makes demonstration data: a database full of operations that never happened.
#[derive(clap::Args)]
pub(super) struct Seed {
    /// How many operations
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    operations: u64,
    /// How many of them are unknown
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    unknown: u64,
    /// How many of them have an open conflict
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    conflicts: u64,
    /// Another number makes other operations
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Add to a database that holds operations already
    #[arg(long)]
    add: bool,
}

impl Seed {
    pub(super) async fn run(self, common: &Common) -> Result<(), Failure> {
        let settings = common.settle(&common.configuration()?.server)?;
        let Self { operations, unknown, conflicts, seed, add: adds } = self;
        let plan = Plan { operations, unknown, conflicts, seed, adds };
        let opened = Opened::made(&settings).await?;
        tell("This is demonstration data: none of these operations ever happened.")?;
        let done = Arc::new(AtomicU64::new(0));
        let telling = tokio::spawn(tell_progress(Arc::clone(&done), operations));
        let planted = plant(&opened.database, &opened.guard, &opened.entropy, plan, done).await;
        telling.abort();
        let planted = opened.close(planted.map_err(|error| Failure(error.to_string()))).await?;
        let mut text = format!("Made {} demonstration operations and {} seals.\n", planted.operations, planted.seals);
        if planted.known > 0 {
            text.push_str(&format!("{} were there already, from the same seed.\n", planted.known));
        }
        print(&text)
    }
}

async fn tell_progress(done: Arc<AtomicU64>, operations: u64) {
    let mut ticks = tokio::time::interval(Duration::from_secs(PROGRESS_SECONDS));
    ticks.tick().await;
    loop {
        ticks.tick().await;
        // Where standard error is gone, nobody reads how far it is.
        let _told = tell(&format!("{} of {operations} made", done.load(Ordering::Relaxed)));
    }
}
