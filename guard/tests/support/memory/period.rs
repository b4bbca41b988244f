//! Periods in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use guard::id::{OperationId, PeriodId};
use guard::period::{Basis, Day, Period, PeriodRow, PeriodStanding, SealMark, Span};
use guard::refusal::StoreFault;
use guard::store::{Act, Periods};
use guard::token::Reach;

use super::Memory;

#[derive(Clone, Default)]
pub(super) struct PeriodTables {
    days: BTreeMap<OperationId, Day>,
    periods: BTreeMap<PeriodId, Period>,
}

impl PeriodTables {
    pub(super) fn follow(&mut self, act: &Act) {
        if let Act::PutPeriod(period) = act {
            self.periods.insert(period.id, (**period).clone());
        }
    }

    pub(super) fn date(&mut self, operation: OperationId, day: Option<Day>) {
        if let Some(day) = day {
            self.days.insert(operation, day);
        }
    }
}

#[async_trait]
impl Periods for Memory {
    async fn days(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, Day)>, StoreFault> {
        let tables = self.tables();
        let days = operations.iter().filter_map(|id| Some((*id, *tables.periods.days.get(id)?)));
        Ok(days.collect())
    }

    async fn period_rows(
        &self,
        company: &str,
        span: Span,
        basis: Basis,
        after: Option<&PeriodRow>,
        limit: u32,
    ) -> Result<Vec<PeriodRow>, StoreFault> {
        let tables = self.tables();
        let mut rows = Vec::new();
        for operation in tables.operations.values().filter(|operation| operation.key.company.as_str() == company) {
            let dated = tables.periods.days.get(&operation.id).copied();
            let (day, its_basis) =
                dated.map_or((operation.created_at.date_naive(), Basis::Created), |day| (day, Basis::Payload));
            if its_basis == basis && span.holds(day) {
                rows.push(PeriodRow {
                    operation: operation.id,
                    workflow: operation.key.workflow.as_str().to_owned(),
                    source_system: operation.key.source_system.as_str().to_owned(),
                    action: operation.key.action.as_str().to_owned(),
                    state: operation.state.name(),
                    money: operation.money.clone(),
                    is_superseded: operation.superseded_by.is_some(),
                    is_reversal: tables
                        .amendments
                        .iter()
                        .any(|(amendment, _)| amendment.operation == operation.id && amendment.is_reversal()),
                    in_conflict: operation.open_conflicts > 0,
                    updated_at: operation.updated_at,
                    day,
                });
            }
        }
        let place = |row: &PeriodRow| match basis {
            Basis::Created => {
                (Day::MIN, row.workflow.clone(), row.source_system.clone(), row.action.clone(), row.operation)
            }
            Basis::Payload => (row.day, String::new(), String::new(), String::new(), row.operation),
        };
        rows.sort_by_key(place);
        rows.retain(|row| after.is_none_or(|after| place(row) > place(after)));
        rows.truncate(limit as usize);
        Ok(rows)
    }

    async fn period(&self, id: PeriodId) -> Result<Option<Period>, StoreFault> {
        Ok(self.tables().periods.periods.get(&id).cloned())
    }

    async fn closed_period(&self, company: &str, span: Span) -> Result<Option<Period>, StoreFault> {
        let tables = self.tables();
        let shared = tables.periods.periods.values().filter(|period| {
            period.standing == PeriodStanding::Closed
                && period.company() == company
                && period.span().from <= span.to
                && span.from <= period.span().to
        });
        Ok(shared.min_by_key(|period| period.span().to).cloned())
    }

    async fn periods(&self, reach: &Reach, before: Option<PeriodId>, limit: u32) -> Result<Vec<Period>, StoreFault> {
        let tables = self.tables();
        let within = tables.periods.periods.values().rev().filter(|period| reach.company(period.company()));
        let page = within.filter(|period| before.is_none_or(|before| period.id < before));
        Ok(page.take(limit as usize).cloned().collect())
    }

    async fn last_seal_mark(&self) -> Result<Option<SealMark>, StoreFault> {
        // Nothing is sealed in memory.
        Ok(None)
    }
}
