//! How many records the destination really holds.

use std::time::Duration;

use guard::lookup::Finding;
use tokio::time::Instant;

use super::scenario::SLOW_MILLISECONDS;
use super::{LOOK_AGAIN_MILLISECONDS, Running};
use crate::sandbox::Sandbox;

impl Running {
    /// The live records under these external references; where there are fewer than there should be, they are looked for until the
    /// destination would show them.
    pub(super) async fn held(&self, references: &[String], expected: u64, until: Instant) -> Result<u64, String> {
        // What was asked for is carried out by then, also where nobody waited for it.
        let finality = self.drill.destination.finality_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let settled = match &self.drill.sandbox {
            Some(_) if self.is_guarded() => Duration::ZERO,
            Some(_) => Duration::from_millis(SLOW_MILLISECONDS),
            None => finality.unwrap_or_default(),
        };
        tokio::time::sleep(settled).await;
        loop {
            let held = match &self.drill.sandbox {
                Some(sandbox) => held_by(sandbox, references).await,
                None => self.found(references).await,
            };
            let is_final = self.drill.sandbox.is_some() || held.as_ref().is_ok_and(|held| *held >= expected);
            if is_final || Instant::now() >= until {
                return held;
            }
            tokio::time::sleep(Duration::from_millis(LOOK_AGAIN_MILLISECONDS)).await;
        }
    }

    /// What lookups find.
    async fn found(&self, references: &[String]) -> Result<u64, String> {
        let mut held = 0;
        for reference in references {
            let looked = self.destinations.look_for(&self.drill.destination, reference).await.looked;
            held += match looked.finding {
                Finding::Found { .. } | Finding::Differs { .. } => 1,
                Finding::Several { destination_references } => {
                    u64::try_from(destination_references.len()).unwrap_or(u64::MAX)
                }
                Finding::VoidOnly { .. } | Finding::Absent => 0,
                Finding::Inconclusive { reason, .. } => return Err(format!("{}: {reason}", looked.request)),
            };
        }
        Ok(held)
    }
}

/// What the sandbox holds, behind the back of its faults.
async fn held_by(sandbox: &Sandbox, references: &[String]) -> Result<u64, String> {
    let counts = sandbox.counts_by("external_reference").await.map_err(|fault| fault.to_string())?;
    Ok(references.iter().filter_map(|reference| counts.get(reference)).map(|counts| counts.live).sum())
}
