//! What the guard was good for.

use std::collections::HashMap;

use chrono::Datelike as _;

use super::Guard;
use crate::board::{BOARD_DAYS_MAX, BOARD_YEARS, Board, BoardQuestion, CONFLICTS_SEEN_MAX, NEWEST_MAX};
use crate::key::KeyPart;
use crate::refusal::Refusal;
use crate::token::Reach;

impl Guard {
    /// Looks after repetitions that were held back while their operation was under way or uncertain: counts those whose operation is
    /// confirmed by now, forgets those that turned out to be no duplicates. At most `limit` at a time; answers how many.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn settle_held(&self, limit: u32) -> Result<u32, Refusal> {
        Ok(self.inner.store.settle_held(self.now(), limit).await?)
    }

    /// Remembers for today for how long operations are uncertain now, for the board.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn remember_ages(&self) -> Result<(), Refusal> {
        Ok(self.inner.store.remember_ages(self.now()).await?)
    }

    /// The numbers of a period within reach, with those of the period before.
    ///
    /// # Errors
    /// A period that is none or too long, names that could be in no key, the store's fault.
    pub async fn board(&self, reach: &Reach, question: BoardQuestion) -> Result<Board, Refusal> {
        for (field, wanted) in [("workflow", &question.workflow), ("company", &question.company)] {
            if let Some(Err(fault)) = wanted.as_deref().map(KeyPart::new) {
                return Err(Refusal::field(field, fault.to_string()));
            }
        }
        let BoardQuestion { from, to, .. } = question;
        let years = BOARD_YEARS;
        if !years.contains(&from.year()) || !years.contains(&to.year()) {
            let message =
                format!("is out of bounds; days of the years {} to {} are possible", years.start(), years.end());
            return Err(Refusal::field("from", message));
        }
        if to <= from {
            return Err(Refusal::field("to", "lies before from"));
        }
        if (to - from).num_days() > BOARD_DAYS_MAX.into() {
            return Err(Refusal::field("from", format!("is over {BOARD_DAYS_MAX} days before to; ask for less")));
        }
        let reach = reach.narrowed(question.company.as_ref(), question.workflow.as_ref());
        if reach.is_nothing() {
            return Ok(Board::of(question, self.now(), &[]));
        }
        let store = &self.inner.store;
        let counts = store.counts(&reach, question.before(), to).await?;
        let mut board = Board::of(question, self.now(), &counts);
        board.waiting = store.waiting(&reach, crate::summary::UNCERTAIN_COUNTED_MAX).await?;
        board.take_ages(&store.ages(&reach, from, to).await?);
        board.take_places(&store.places_of_conflicts(&reach, from, to, CONFLICTS_SEEN_MAX).await?);
        let newest = store.prevented(&reach, from, to, NEWEST_MAX).await?;
        let ids: Vec<_> = newest.iter().map(|prevented| prevented.operation).collect();
        let found = store.operations_of(&ids).await?;
        let mut views: HashMap<_, _> = found.iter().map(|operation| (operation.id, self.view(operation))).collect();
        board.newest = newest
            .into_iter()
            .filter_map(|prevented| views.remove(&prevented.operation).map(|view| (prevented, view)))
            .collect();
        Ok(board)
    }
}
