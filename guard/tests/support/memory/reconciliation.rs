//! Reconciliations in memory.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use async_trait::async_trait;
use guard::id::{OperationId, ReconciliationId};
use guard::operation::Operation;
use guard::pull::PullSchedule;
use guard::reconciliation::{Bucket, OpenDuplicates, Progress, Reconciled, RecordDecision, Row, Run, RunFilter};
use guard::refusal::StoreFault;
use guard::state::StateName;
use guard::store::{Reconciliations, Replaced, Replacement, Store};
use guard::token::Reach;

use super::Memory;

#[derive(Clone, Default)]
pub struct ReconciliationTables {
    pub runs: BTreeMap<ReconciliationId, Run>,
    pub rows: BTreeMap<(ReconciliationId, Bucket, u64), Row>,
    pub reconciled: BTreeMap<OperationId, Reconciled>,
    pub schedules: BTreeMap<(String, String), PullSchedule>,
    pub decisions: BTreeMap<(OperationId, String), RecordDecision>,
}

impl Memory {
    /// As if a reconciliation had said this of an operation.
    pub fn force_reconciled(&self, operation: OperationId, at: guard::clock::Timestamp, bucket: Bucket) {
        let said = Reconciled { operation, run: ReconciliationId::from_u128(1), bucket, at };
        self.tables().reconciliations.reconciled.insert(operation, said);
    }
}

#[async_trait]
impl Reconciliations for Memory {
    async fn operations_by_reference(
        &self,
        workflow: &str,
        company: &str,
        references: &[String],
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let tables = self.tables();
        let is_held = |operation: &&Operation| {
            operation.key.workflow.as_str() == workflow
                && operation.key.company.as_str() == company
                && operation.state.destination_reference().is_some_and(|held| references.iter().any(|one| one == held))
        };
        Ok(tables.operations.values().filter(is_held).take(usize::try_from(limit).unwrap()).cloned().collect())
    }

    async fn operations_by_id(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        let tables = self.tables();
        Ok(ids.iter().filter_map(|id| tables.operations.get(id)).cloned().collect())
    }

    async fn payloads_of(&self, ids: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
        let tables = self.tables();
        Ok(ids.iter().filter_map(|id| Some((*id, tables.payloads.get(id)?.clone()))).collect())
    }

    async fn take_up(&self, run: &Run) -> Result<Run, StoreFault> {
        self.write(|tables| {
            let known = tables.reconciliations.runs.values().find(|known| known.identity == run.identity).cloned();
            let Some(known) = known else {
                tables.reconciliations.runs.insert(run.id, run.clone());
                return run.clone();
            };
            if known.progress == Progress::Done {
                return known;
            }
            let again = Run { take: known.take + 1, started_at: run.started_at, actor: run.actor.clone(), ..known };
            tables.reconciliations.rows.retain(|(of, ..), _| *of != again.id);
            tables.reconciliations.runs.insert(again.id, again.clone());
            again
        })
        .await
    }

    async fn add_rows(&self, run: ReconciliationId, take: u32, rows: Vec<Row>) -> Result<Replaced, StoreFault> {
        self.write(|tables| {
            if tables.reconciliations.runs.get(&run).is_none_or(|known| known.take != take) {
                return Replaced::Stale;
            }
            let keyed = rows.iter().map(|row| ((run, row.bucket, row.number), row.clone()));
            tables.reconciliations.rows.extend(keyed);
            Replaced::Replaced
        })
        .await
    }

    async fn finish(&self, run: &Run) -> Result<Replaced, StoreFault> {
        self.write(|tables| match tables.reconciliations.runs.get_mut(&run.id) {
            Some(known) if known.take == run.take => {
                *known = run.clone();
                Replaced::Replaced
            }
            Some(_) | None => Replaced::Stale,
        })
        .await
    }

    async fn reconciliation(&self, id: ReconciliationId) -> Result<Option<Run>, StoreFault> {
        Ok(self.tables().reconciliations.runs.get(&id).cloned())
    }

    async fn reconciliations(
        &self,
        reach: &Reach,
        filter: &RunFilter,
        before: Option<ReconciliationId>,
        limit: u32,
    ) -> Result<Vec<Run>, StoreFault> {
        let tables = self.tables();
        let runs = tables.reconciliations.runs.values().rev();
        let wanted = |run: &&Run| {
            reach.workflow(&run.scope.workflow)
                && reach.company(&run.scope.company)
                && filter.takes(run)
                && before.is_none_or(|before| run.id < before)
        };
        Ok(runs.filter(wanted).take(usize::try_from(limit).unwrap()).cloned().collect())
    }

    async fn last_reconciliations(&self, reach: &Reach) -> Result<Vec<Run>, StoreFault> {
        let mut last = BTreeMap::new();
        for run in self.reconciliations(reach, &RunFilter::default(), None, u32::MAX).await? {
            if run.progress == Progress::Done {
                last.entry((run.scope.company.clone(), run.scope.workflow.clone())).or_insert(run);
            }
        }
        Ok(last.into_values().collect())
    }

    async fn reconciliation_rows(
        &self,
        run: ReconciliationId,
        bucket: Bucket,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Row>, StoreFault> {
        let tables = self.tables();
        let rows = tables.reconciliations.rows.range((run, bucket, after + 1)..=(run, bucket, u64::MAX));
        Ok(rows.take(usize::try_from(limit).unwrap()).map(|(_, row)| row.clone()).collect())
    }

    async fn pull_schedules(&self) -> Result<Vec<PullSchedule>, StoreFault> {
        Ok(self.tables().reconciliations.schedules.values().cloned().collect())
    }

    async fn put_pull_schedule(&self, schedule: &PullSchedule) -> Result<Replaced, StoreFault> {
        let mut tables = self.tables();
        let place = (schedule.workflow.clone(), schedule.company.clone());
        let held = tables.reconciliations.schedules.get(&place).map_or(0, |held| held.version);
        if held + 1 != schedule.version {
            return Ok(Replaced::Stale);
        }
        tables.reconciliations.schedules.insert(place, schedule.clone());
        Ok(Replaced::Replaced)
    }

    async fn reconciled(&self, operations: &[OperationId]) -> Result<Vec<Reconciled>, StoreFault> {
        let tables = self.tables();
        Ok(operations.iter().filter_map(|id| tables.reconciliations.reconciled.get(id)).cloned().collect())
    }

    async fn put_record_decision(&self, decision: &RecordDecision) -> Result<(), StoreFault> {
        let place = (decision.operation, decision.reference.clone());
        self.write(|tables| drop(tables.reconciliations.decisions.insert(place.clone(), decision.clone()))).await
    }

    async fn record_decisions_of_rows(
        &self,
        run: ReconciliationId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<RecordDecision>, StoreFault> {
        let tables = self.tables();
        let decisions = tables.reconciliations.decisions.values();
        let mut found: Vec<RecordDecision> =
            decisions.filter(|one| one.run == run && numbers.contains(&one.number)).cloned().collect();
        found.sort_by_key(|decision| (decision.number, decision.operation));
        Ok(found)
    }

    async fn record_decisions_of(&self, operations: &[OperationId]) -> Result<Vec<RecordDecision>, StoreFault> {
        let tables = self.tables();
        let decisions = tables.reconciliations.decisions.values();
        Ok(decisions.filter(|decision| operations.contains(&decision.operation)).cloned().collect())
    }

    async fn open_duplicates(&self) -> Result<Vec<OpenDuplicates>, StoreFault> {
        let tables = self.tables();
        let mut found: BTreeMap<(String, String), OpenDuplicates> = BTreeMap::new();
        for said in tables.reconciliations.reconciled.values().filter(|said| said.bucket == Bucket::Duplicated) {
            let Some(operation) = tables.operations.get(&said.operation) else { continue };
            if operation.state.name() != StateName::Disputed {
                continue;
            }
            let (workflow, company) =
                (operation.key.workflow.as_str().to_owned(), operation.key.company.as_str().to_owned());
            let open = found.entry((company.clone(), workflow.clone())).or_insert(OpenDuplicates {
                workflow,
                company,
                number: 0,
                run: said.run,
            });
            open.number += 1;
            open.run = open.run.max(said.run);
        }
        Ok(found.into_values().collect())
    }

    async fn replace_all(&self, replacements: Vec<Replacement>) -> Result<Vec<Replaced>, StoreFault> {
        let mut replaced = Vec::new();
        for replacement in replacements {
            replaced.push(self.replace(replacement).await?);
        }
        Ok(replaced)
    }
}
