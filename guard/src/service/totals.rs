//! Counts since the first begin. What was counted in hours that are over no longer changes, so it is added up once and kept.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use chrono::{DateTime, TimeDelta};

use super::Guard;
use crate::clock::Timestamp;
use crate::refusal::Refusal;
use crate::summary::{Count, Counted, HOURS_KEPT_DAYS, start_of_hour};
use crate::token::Reach;

/// An hour that ended this long ago is counted to its end: deliveries are counted a second behind their answers.
const SETTLED: TimeDelta = TimeDelta::hours(3);

/// The sums of the hours before a moment.
pub(super) struct Totals {
    until: Timestamp,
    /// By workflow, company, kind and currency: how many, and their money in ten-thousandths.
    sums: BTreeMap<(String, String, Counted, String), (u64, i64)>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { until: DateTime::UNIX_EPOCH, sums: BTreeMap::new() }
    }
}

impl Totals {
    /// From where on counts are to be read up to `settled`. From the start again where what came last was long ago: hours that were not
    /// read yet may have been added up with others of their day, which were.
    fn reads_from(&self, settled: Timestamp) -> Timestamp {
        let is_recent = settled - self.until < TimeDelta::days(HOURS_KEPT_DAYS - 1);
        if is_recent { self.until } else { DateTime::UNIX_EPOCH }
    }

    /// Adds the counts of the hours from `from` to before `until`, unless somebody else has done so meanwhile.
    fn add(&mut self, from: Timestamp, until: Timestamp, counts: Vec<Count>) {
        let is_anew = from == DateTime::UNIX_EPOCH;
        if until <= self.until || (!is_anew && self.until != from) {
            return;
        }
        if is_anew {
            self.sums.clear();
        }
        self.until = until;
        for Count { workflow, company, counted, number, currency, ten_thousandths, .. } in counts {
            let sum = self.sums.entry((workflow, company, counted, currency)).or_default();
            sum.0 = sum.0.saturating_add(number);
            sum.1 = sum.1.saturating_add(ten_thousandths);
        }
    }

    fn within(&self, reach: &Reach) -> Vec<Count> {
        let reached =
            self.sums.iter().filter(|((workflow, company, ..), _)| reach.workflow(workflow) && reach.company(company));
        reached
            .map(|((workflow, company, counted, currency), (number, ten_thousandths))| Count {
                workflow: workflow.clone(),
                company: company.clone(),
                counted: *counted,
                hour: DateTime::UNIX_EPOCH,
                number: *number,
                currency: currency.clone(),
                ten_thousandths: *ten_thousandths,
            })
            .collect()
    }
}

impl Guard {
    /// Everything that was ever counted within reach, in no order: add up what is alike. Hours that are over come as one count
    /// whose hour is the start of 1970. The first call reads them all; later ones, what has come since.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn counts_in_all(&self, reach: &Reach) -> Result<Vec<Count>, Refusal> {
        let now = self.now();
        let settled = start_of_hour(now - SETTLED);
        let (known, from) = {
            let totals = self.inner.totals.read().unwrap_or_else(PoisonError::into_inner);
            (totals.until, totals.reads_from(settled))
        };
        if known < settled {
            let counts = self.inner.store.counts(&Reach::EVERYTHING, from, settled).await?;
            self.inner.totals.write().unwrap_or_else(PoisonError::into_inner).add(from, settled, counts);
        }
        // Somebody whose clock reads later may have added more meanwhile.
        let (until, mut counts) = {
            let totals = self.inner.totals.read().unwrap_or_else(PoisonError::into_inner);
            (totals.until, totals.within(reach))
        };
        counts.extend(self.inner.store.counts(reach, until, now + TimeDelta::hours(1)).await?);
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use chrono::Duration;

    use super::*;

    fn one(hour: Timestamp) -> Vec<Count> {
        let counted = Counted::BodyDropped;
        vec![Count::one("handoff", "ACME", counted, hour, None)]
    }

    fn number(totals: &Totals) -> u64 {
        totals.within(&Reach::EVERYTHING).iter().map(|count| count.number).sum()
    }

    #[test]
    fn what_is_read_again_from_the_start_is_not_added_twice() {
        let mut totals = Totals::default();
        let first = DateTime::UNIX_EPOCH + Duration::days(20_000);
        assert_eq!(totals.reads_from(first), DateTime::UNIX_EPOCH);
        totals.add(DateTime::UNIX_EPOCH, first, one(first));
        // Two asked at once, and both read from the start.
        totals.add(DateTime::UNIX_EPOCH, first, one(first));
        assert_eq!(number(&totals), 1);

        let next = first + Duration::hours(2);
        assert_eq!(totals.reads_from(next), first);
        totals.add(first, next, one(first));
        totals.add(first, next, one(first));
        assert_eq!(number(&totals), 2);

        let much_later = next + Duration::days(HOURS_KEPT_DAYS);
        assert_eq!(totals.reads_from(much_later), DateTime::UNIX_EPOCH, "a day may have been added up meanwhile");
        totals.add(DateTime::UNIX_EPOCH, much_later, one(first));
        assert_eq!(number(&totals), 1, "all of them were read");
    }
}
