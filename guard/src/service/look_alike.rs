//! Which operations look like one.

use chrono::TimeDelta;

use super::Guard;
use crate::look_alike::{LOOK_ALIKES_SIDE_ROWS_MAX, LookAlikes};
use crate::operation::Operation;
use crate::refusal::Refusal;
use crate::store::LookAlikeQuestion;
use crate::token::Reach;

impl Guard {
    /// The look-alikes of each of these operations within reach, in their order; none where its workflow names no counterparty. Other
    /// revisions and actions of the same document are left out: they are expected to be alike. At most [`crate::queue::PAGE_ROWS_MAX`] are asked for.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn look_alikes(
        &self,
        reach: &Reach,
        operations: &[Operation],
    ) -> Result<Vec<Option<LookAlikes>>, Refusal> {
        let catalogue = self.catalogue();
        let days_of = |operation: &Operation| {
            let known = catalogue.workflows.get(operation.key.workflow.as_str())?;
            known.workflow.look_alikes.as_ref().map(|rules| rules.days)
        };
        let question = |operation: &Operation| {
            let span = TimeDelta::days(days_of(operation)?.into());
            // The end is left out by the store: whoever is hinted by one hints at it, too.
            let (from, to) = (operation.created_at - span, operation.created_at + span + TimeDelta::milliseconds(1));
            Some(LookAlikeQuestion { operation: operation.id, from, to })
        };
        let questions: Vec<_> = operations.iter().filter_map(question).collect();
        if questions.is_empty() {
            return Ok(operations.iter().map(|_| None).collect());
        }
        let found = self.inner.store.look_alikes(&questions, LOOK_ALIKES_SIDE_ROWS_MAX).await?;
        let of_one = |operation: &Operation| {
            let days = days_of(operation)?;
            let mut rows: Vec<&Operation> =
                found.iter().filter(|(of, _)| *of == operation.id).map(|(_, other)| other).collect();
            rows.sort_unstable_by_key(|other| std::cmp::Reverse(other.id));
            let side = LOOK_ALIKES_SIDE_ROWS_MAX as usize;
            let behind = rows.iter().filter(|other| other.id > operation.id).count();
            let has_more = behind >= side || rows.len() - behind >= side;
            let rows = rows.into_iter().filter(|other| {
                let (ours, theirs) = (&operation.key, &other.key);
                let is_same_document = ours.company == theirs.company
                    && ours.source_system == theirs.source_system
                    && ours.document == theirs.document;
                !is_same_document && reach.key(theirs)
            });
            Some(LookAlikes { days, rows: rows.cloned().collect(), has_more })
        };
        Ok(operations.iter().map(of_one).collect())
    }
}
