//! A reconciliation from its first record to its last finding.
//!
//! The records are read twice: first to see what belongs to what, then to write each into its row; so nothing has to be remembered of
//! them but a few bytes. A run that broke off is taken up by sending the same records again; what it has moved by then is not moved
//! twice, since each operation keeps what was last said of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::{Guard, TRIES_MAX, Transition, contended, require, text};
use crate::actor::Actor;
use crate::amendment::{Amendment, AmendmentStateName};
use crate::clock::Timestamp;
use crate::event::Event;
use crate::id::{OperationId, ReconciliationId};
use crate::json::Json;
use crate::lookup::{Finding, REFERENCES_MAX};
use crate::money::Money;
use crate::operation::{Operation, of_external_reference};
use crate::payload::Payload;
use crate::person::Person;
use crate::pointer::Pointer;
use crate::queue::{Filter, Order, PAGE_ROWS_MAX, PageRequest};
use crate::reconciliation::matching::{Decided, Link, Matching, OperationVerdict, RecordVerdict, TooMany};
use crate::reconciliation::{
    Bucket, CANDIDATES_SHOWN_MAX, CONTRADICTIONS_ALWAYS_OPENED, Candidate, Coverage, Disagreement, LinkVerdict, Note,
    Origin, Progress, Reconciled, Record, RecordSide, Row, Run, RunFilter, Scope as RunScope, SourceSide, Summary,
    WARNINGS_MAX, amount_difference, compare, is_currency, resembles,
};
use crate::refusal::Refusal;
use crate::state::{State, StateName};
use crate::store::{Replaced, Replacement, VersionedWorkflow};
use crate::token::{Reach, Scope, Token};
use crate::trail::{EntryKind, detail};
use crate::veil::{MASK, MASK_OTHER};
use crate::workflow::Workflow;

/// So many rows are written at a time.
const BATCH_ROWS: usize = 500;

/// Of a batch, at most so many operations are found by destination references: one payment covers a few, not thousands.
const LINKED_PER_BATCH_MAX: u32 = 10_000;

/// So many operations are marked together.
const MARKED_PER_BATCH: usize = 200;

/// A run opens at most this many findings; with more it is shown only.
const FINDINGS_MAX: usize = 100_000;

/// Coverage is told of at most this many source systems.
const COVERAGE_MAX: usize = 200;

/// Operations in question are looked at for candidates where at most this many have the same amount.
const SAME_AMOUNT_MAX: usize = 20;

/// What an operation is whose record was taken back and is there still.
const TAKEN_BACK: &str = "reversed";

/// Gives the records of a file or a list, as often as it is asked to.
#[async_trait]
pub trait Records: Send {
    /// Starts again with the first.
    async fn rewind(&mut self) -> Result<(), Refusal>;

    /// The next ones, some hundreds at most; none behind the last.
    async fn batch(&mut self) -> Result<Vec<Record>, Refusal>;
}

/// What is to be reconciled.
#[derive(Clone, Debug)]
pub struct ReconcileRequest {
    /// Which operations.
    pub scope: RunScope,
    /// Where the records come from.
    pub origin: Origin,
    /// What tells the same records with the same parameters.
    pub identity: String,
    /// Whether contradictions are opened, however many they are.
    pub opens_all: bool,
    /// What was noticed while reading.
    pub warnings: Vec<String>,
    /// Records of what was confirmed up to this moment had to be among them; none: whatever is confirmed.
    pub complete_until: Option<Timestamp>,
    /// Who asks.
    pub actor: Actor,
}

/// A run, and whether it was there already.
#[derive(Clone, Debug)]
pub struct Reconciliation {
    /// The run.
    pub run: Run,
    /// Whether the same was reconciled before; nothing was changed then.
    pub is_repeated: bool,
}

/// The operations that a batch of records is linked to.
#[derive(Default)]
struct Known {
    operations: HashMap<OperationId, (Operation, Option<Payload>)>,
    by_reference: HashMap<String, Vec<OperationId>>,
}

/// What is to be said of an operation.
struct Said {
    operation: OperationId,
    bucket: Bucket,
    finding: Option<Finding>,
    disagreements: Vec<Disagreement>,
}

impl Guard {
    /// Whether a token may reconcile a workflow of a company.
    ///
    /// # Errors
    /// What it lacks.
    pub fn may_reconcile(&self, token: &Token, company: &str) -> Result<(), Refusal> {
        require(token, Scope::ReconciliationWrite)?;
        if token.reach.company(company) {
            return Ok(());
        }
        Err(Refusal::Forbidden { reason: format!("this token does not reach the company {company:?}") })
    }

    /// Reconciles: says what each record is to which operation, keeps that, and opens what contradicts what is held.
    ///
    /// # Errors
    /// No such workflow, too many records, somebody else has taken the run up, the store's fault.
    pub async fn reconcile(
        &self,
        request: &ReconcileRequest,
        records: &mut dyn Records,
    ) -> Result<Reconciliation, Refusal> {
        let workflow = self.catalogue().workflows.get(&request.scope.workflow).map(|known| known.workflow.clone());
        let workflow = workflow.ok_or_else(|| Refusal::not_found("workflow"))?;
        let started_at = self.now();
        let begun = Run {
            id: ReconciliationId::new(started_at, self.inner.entropy.bytes()),
            identity: request.identity.clone(),
            scope: request.scope.clone(),
            origin: request.origin.clone(),
            actor: request.actor.clone(),
            started_at,
            take: 1,
            progress: Progress::Running,
            finished_at: None,
            summary: Summary::default(),
        };
        let run = self.inner.store.take_up(&begun).await?;
        if run.progress == Progress::Done {
            return Ok(Reconciliation { run, is_repeated: true });
        }
        let decided = self.match_all(&run, &workflow, request.complete_until, records).await?;
        let mut writing = Writing::new(&run, &workflow, &decided);
        self.write_records(&mut writing, records).await?;
        writing.take_duplicates();
        self.write_operations(&mut writing).await?;
        let Writing { said, coverage, contradictions, has_more, .. } = writing;
        let mut summary = Summary {
            totals: decided.totals.clone(),
            coverage: coverage
                .into_iter()
                .map(|(source_system, (guarded, unguarded))| Coverage { source_system, guarded, unguarded })
                .collect(),
            repeated: decided.repeated,
            moved: 0,
            is_held_back: false,
            warnings: request.warnings.iter().take(WARNINGS_MAX).cloned().collect(),
        };
        let compared = summary.count(Bucket::Matched) + contradictions;
        let is_most = contradictions > CONTRADICTIONS_ALWAYS_OPENED && contradictions * 2 > compared;
        summary.is_held_back = has_more || (is_most && !request.opens_all);
        if !summary.is_held_back {
            summary.moved = self.say_each(&run, said).await?;
        }
        for bucket in [Bucket::Matched, Bucket::Missing, Bucket::TakenBack] {
            self.mark(&run, bucket).await?;
        }
        let finished_at = Some(self.now());
        let run = Run { progress: Progress::Done, finished_at, summary, ..run };
        match self.inner.store.finish(&run).await? {
            Replaced::Replaced => Ok(Reconciliation { run, is_repeated: false }),
            Replaced::Stale => Err(taken_up()),
        }
    }

    /// Takes everything in, and says where it lies.
    async fn match_all(
        &self,
        run: &Run,
        workflow: &Workflow,
        complete_until: Option<Timestamp>,
        records: &mut dyn Records,
    ) -> Result<Decided, Refusal> {
        let mut matching = Matching::complete_until(complete_until);
        let filter = Filter {
            workflow: Some(run.scope.workflow.clone()),
            company: Some(run.scope.company.clone()),
            from: run.scope.from,
            to: Some(run.scope.to.unwrap_or(run.started_at)),
            ..Filter::default()
        };
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        loop {
            let found = self.inner.store.operations(&Reach::EVERYTHING, &filter, Order::Oldest, &page).await?;
            for operation in &found.rows {
                matching.add_operation(operation).map_err(too_many)?;
            }
            page.cursor = found.next;
            if page.cursor.is_none() {
                break;
            }
        }
        records.rewind().await?;
        loop {
            let batch = records.batch().await?;
            if batch.is_empty() {
                break;
            }
            let known = self.known(run, workflow, &batch).await?;
            for record in &batch {
                let linked = known.linked(record);
                let mut links = Vec::with_capacity(linked.len());
                for (operation, payload) in linked {
                    matching.add_operation(operation).map_err(too_many)?;
                    let compared = compare(workflow, operation, payload, record);
                    // Without an id of its own, a record cannot be what an operation is confirmed with.
                    let is_complete = compared.is_complete && record.destination_reference.is_some();
                    let agrees = compared.agrees();
                    links.push(Link { operation: operation.id, agrees, is_complete });
                }
                matching.add_record(record, &links).map_err(too_many)?;
            }
        }
        for (by, of) in self.confirmed_reversals(&run.scope).await? {
            matching.take_back(&by, of);
        }
        Ok(matching.decide())
    }

    /// The operations of a workflow and company that took a record back, each with the one that is confirmed as that very record; none
    /// where that is confirmed as another one. Each was approved by people, so that there are few.
    async fn confirmed_reversals(&self, scope: &RunScope) -> Result<Vec<(Operation, Option<OperationId>)>, Refusal> {
        let store = &self.inner.store;
        let reach = Reach::over([scope.company.clone()], [scope.workflow.clone()]);
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        let mut found = Vec::new();
        loop {
            let begun = store.amendments(&reach, Some(AmendmentStateName::Begun), &page).await?;
            let reversals: Vec<_> = begun.rows.into_iter().filter(Amendment::is_reversal).collect();
            let ids: Vec<OperationId> =
                reversals.iter().flat_map(|asked| [asked.operation, asked.base.operation]).collect();
            let held = store.operations_by_id(&ids).await?;
            let held: HashMap<OperationId, Operation> = held.into_iter().map(|held| (held.id, held)).collect();
            for asked in reversals {
                let by = held.get(&asked.operation).filter(|by| by.state.name() == StateName::Confirmed);
                let of = held.get(&asked.base.operation).filter(|of| {
                    of.state.name() == StateName::Confirmed
                        && of.state.destination_reference() == Some(asked.base.destination_reference.as_str())
                });
                found.extend(by.map(|by| (by.clone(), of.map(|of| of.id))));
            }
            page.cursor = begun.next;
            if page.cursor.is_none() {
                return Ok(found);
            }
        }
    }

    /// What the records of a batch are linked to: by the destination reference that is held, and by the external reference.
    async fn known(&self, run: &Run, workflow: &Workflow, batch: &[Record]) -> Result<Known, Refusal> {
        let RunScope { workflow: name, company, .. } = &run.scope;
        let store = &self.inner.store;
        let references: HashSet<&String> =
            batch.iter().filter_map(|record| record.destination_reference.as_ref()).collect();
        let references: Vec<String> = references.into_iter().cloned().collect();
        let mut found = store.operations_by_reference(name, company, &references, LINKED_PER_BATCH_MAX).await?;
        let named = batch.iter().filter_map(|record| of_external_reference(record.external_reference.as_deref()?));
        let held: HashSet<OperationId> = found.iter().map(|known| known.id).collect();
        let named: HashSet<OperationId> = named.filter(|id| !held.contains(id)).collect();
        let named: Vec<OperationId> = named.into_iter().collect();
        let of_scope = |operation: &Operation| {
            operation.key.workflow.as_str() == name && operation.key.company.as_str() == company
        };
        found.extend(store.operations_by_id(&named).await?.into_iter().filter(of_scope));
        let ids: Vec<OperationId> = found.iter().map(|operation| operation.id).collect();
        let mut payloads = self.payloads(workflow, &ids).await?;
        let mut known = Known::default();
        for operation in found {
            if let Some(reference) = operation.state.destination_reference() {
                known.by_reference.entry(reference.to_owned()).or_default().push(operation.id);
            }
            let payload = payloads.remove(&operation.id);
            known.operations.insert(operation.id, (operation, payload));
        }
        Ok(known)
    }

    /// The payloads, where anything is compared by them.
    async fn payloads(
        &self,
        workflow: &Workflow,
        ids: &[OperationId],
    ) -> Result<HashMap<OperationId, Payload>, Refusal> {
        if workflow.key_fields.is_empty() || ids.is_empty() {
            return Ok(HashMap::new());
        }
        let kept = self.inner.store.payloads_of(ids).await?;
        Ok(kept.into_iter().filter_map(|(id, text)| Some((id, Payload::parse(text.as_bytes()).ok()?))).collect())
    }

    /// Writes each record into its row, beside its operation.
    async fn write_records(&self, writing: &mut Writing<'_>, records: &mut dyn Records) -> Result<(), Refusal> {
        records.rewind().await?;
        let mut at = 0_u32;
        loop {
            let batch = records.batch().await?;
            if batch.is_empty() {
                return Ok(());
            }
            let known = self.known(writing.run, writing.workflow, &batch).await?;
            let mut rows = Vec::with_capacity(batch.len());
            let mut unguarded = Vec::new();
            for record in &batch {
                let Some(verdict) = writing.decided.record(at) else { return Err(contended()) };
                if verdict.bucket == Bucket::Unguarded {
                    unguarded.push((rows.len(), record));
                }
                rows.push(writing.record_row(at, &verdict, record, &known));
                at += 1;
            }
            self.find_candidates(writing, &unguarded, &mut rows).await?;
            self.add_rows(writing.run, rows).await?;
        }
    }

    /// Writes the operations that stand beside no record.
    async fn write_operations(&self, writing: &mut Writing<'_>) -> Result<(), Refusal> {
        let total = u32::try_from(writing.decided.operations()).unwrap_or(u32::MAX);
        let alone = |at: &u32| writing.decided.operation(*at).is_some_and(|verdict| verdict.record.is_none());
        let alone: Vec<u32> = (0..total).filter(alone).collect();
        for chunk in alone.chunks(BATCH_ROWS) {
            let ids: Vec<OperationId> = chunk.iter().filter_map(|at| writing.decided.operation_at(*at)).collect();
            let found = self.inner.store.operations_by_id(&ids).await?;
            let found: HashMap<OperationId, Operation> =
                found.into_iter().map(|operation| (operation.id, operation)).collect();
            let row = |at: &u32| {
                let operation = restated(writing.decided, *at, found.get(&writing.decided.operation_at(*at)?)?);
                Some(writing.operation_row(*at, &writing.decided.operation(*at)?, &operation))
            };
            let rows: Vec<Row> = chunk.iter().filter_map(row).collect();
            self.add_rows(writing.run, rows).await?;
        }
        Ok(())
    }

    async fn add_rows(&self, run: &Run, rows: Vec<Row>) -> Result<(), Refusal> {
        match self.inner.store.add_rows(run.id, run.take, rows).await? {
            Replaced::Replaced => Ok(()),
            Replaced::Stale => Err(taken_up()),
        }
    }

    /// Puts beside each of these records (with the index of its row) the operations in question that have its money and, as far as that
    /// can be told, its key fields. They are read together for all of them: a file of nothing but such records would otherwise ask the
    /// store three times for each.
    async fn find_candidates(
        &self,
        writing: &Writing<'_>,
        unguarded: &[(usize, &Record)],
        rows: &mut [Row],
    ) -> Result<(), Refusal> {
        let in_question = |record: &Record| {
            let places = writing.decided.in_question(record);
            let places = if places.len() > SAME_AMOUNT_MAX { &[] } else { places };
            places.iter().filter_map(|at| writing.decided.operation_at(*at)).collect::<Vec<_>>()
        };
        let ids: HashSet<OperationId> = unguarded.iter().flat_map(|(_, record)| in_question(record)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<OperationId> = ids.into_iter().collect();
        let found = self.inner.store.operations_by_id(&ids).await?;
        let found: HashMap<OperationId, Operation> =
            found.into_iter().map(|operation| (operation.id, operation)).collect();
        let payloads = self.payloads(writing.workflow, &ids).await?;
        let decisions = self.inner.store.record_decisions_of(&ids).await?;
        let refused: HashSet<(OperationId, &str)> = decisions
            .iter()
            .filter(|decision| decision.verdict == LinkVerdict::Refused)
            .map(|decision| (decision.operation, decision.reference.as_str()))
            .collect();
        for (place, record) in unguarded {
            let is_refused = |id| {
                let reference = record.destination_reference.as_deref();
                reference.is_some_and(|reference| refused.contains(&(id, reference)))
            };
            let candidate = |id: OperationId| {
                let operation = found.get(&id).filter(|_| !is_refused(id))?;
                let same_fields = resembles(writing.workflow, payloads.get(&id), record)?;
                let document = operation.key.document.as_str().to_owned();
                let is_named = record.document.as_deref() == Some(document.as_str());
                let same_fields = u32::try_from(same_fields).unwrap_or(u32::MAX).saturating_add(u32::from(is_named));
                Some(Candidate { operation: id, document, same_fields })
            };
            let mut candidates: Vec<Candidate> = in_question(record).into_iter().filter_map(candidate).collect();
            candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.same_fields), candidate.operation));
            candidates.truncate(CANDIDATES_SHOWN_MAX);
            if let Some(row) = rows.get_mut(*place) {
                row.candidates = candidates;
            }
        }
        Ok(())
    }

    /// Says something of each of these operations, many in one write; how many that moved. Whoever is changed by somebody else
    /// meanwhile is told by itself.
    async fn say_each(&self, run: &Run, said: Vec<Said>) -> Result<u64, Refusal> {
        let store = &self.inner.store;
        let mut moved = 0;
        for chunk in said.chunks(MARKED_PER_BATCH) {
            let ids: Vec<OperationId> = chunk.iter().map(|said| said.operation).collect();
            let before = store.reconciled(&ids).await?;
            let before: HashMap<OperationId, Reconciled> =
                before.into_iter().map(|before| (before.operation, before)).collect();
            let held = store.operations_by_id(&ids).await?;
            let held: HashMap<OperationId, Operation> =
                held.into_iter().map(|operation| (operation.id, operation)).collect();
            let is_new = |said: &&Said| {
                let before = before.get(&said.operation);
                before.is_none_or(|before| before.run != run.id || before.bucket != said.bucket)
            };
            let (mut replacements, mut of) = (Vec::new(), Vec::new());
            for said in chunk.iter().filter(is_new) {
                let Some(operation) = held.get(&said.operation) else { continue };
                let replacement = self.replacement(run, operation, said).await?;
                of.push((said, replacement.operation.state.name() != operation.state.name()));
                replacements.push(replacement);
            }
            for ((said, is_moved), replaced) in of.into_iter().zip(self.replace_each(replacements).await?) {
                moved += u64::from(match replaced {
                    Replaced::Replaced => is_moved,
                    Replaced::Stale => self.say(run, said).await?,
                });
            }
        }
        Ok(moved)
    }

    /// Says something of an operation: one entry of its trail, and the state that follows; whether that moved it. What was said
    /// before is not said twice.
    async fn say(&self, run: &Run, said: &Said) -> Result<bool, Refusal> {
        for _ in 0..TRIES_MAX {
            let Some(operation) = self.inner.store.operation(said.operation).await? else { return Ok(false) };
            let before = self.inner.store.reconciled(&[said.operation]).await?.pop();
            if before.is_some_and(|before| before.run == run.id && before.bucket == said.bucket) {
                return Ok(false);
            }
            let replacement = self.replacement(run, &operation, said).await?;
            let is_moved = replacement.operation.state.name() != operation.state.name();
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(is_moved);
            }
        }
        Err(contended())
    }

    /// Says that an operation lies among those that both sides hold.
    pub(super) async fn say_matched(&self, run: &Run, operation: OperationId) -> Result<(), Refusal> {
        let said = Said { operation, bucket: Bucket::Matched, finding: None, disagreements: Vec::new() };
        self.say(run, &said).await.map(drop)
    }

    async fn replacement(&self, run: &Run, operation: &Operation, said: &Said) -> Result<Replacement, Refusal> {
        let at = self.now();
        let after = said
            .finding
            .as_ref()
            .map(|finding| operation.state.after(&Event::LookedUp { at, finding: finding.clone(), absence: None }));
        // What was never sent cannot be found by a lookup; it is told all the same.
        let state = after.and_then(Result::ok).unwrap_or_else(|| operation.state.clone());
        let references = match &said.finding {
            Some(Finding::Found { destination_reference } | Finding::Differs { destination_reference, .. }) => {
                vec![text(destination_reference)]
            }
            Some(Finding::Several { destination_references } | Finding::VoidOnly { destination_references }) => {
                destination_references.iter().map(|reference| text(reference)).collect()
            }
            Some(Finding::Absent | Finding::Inconclusive { .. }) | None => Vec::new(),
        };
        let disagreements = said.disagreements.iter().map(|disagreement| {
            detail([
                ("field", Some(text(&disagreement.field))),
                ("ours", disagreement.ours.as_deref().map(text)),
                ("theirs", disagreement.theirs.as_deref().map(text)),
            ])
        });
        let disagreements: Vec<Json> = disagreements.collect();
        let is_moved = state.name() != operation.state.name();
        let facts = detail([
            ("reconciliation", Some(text(&run.id.to_string()))),
            ("bucket", Some(text(said.bucket.as_str()))),
            // Of the state alone: what was merely found stands under `found`.
            ("destination_reference", state.destination_reference().filter(|_| is_moved).map(text)),
            ("found", (!references.is_empty()).then_some(Json::Array(references))),
            ("differences", (!disagreements.is_empty()).then_some(Json::Array(disagreements))),
        ]);
        let transition = Transition { state, at, actor: run.actor.clone(), kind: EntryKind::Reconciled, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.reconciled = Some(Reconciled { operation: operation.id, run: run.id, bucket: said.bucket, at });
        Ok(replacement)
    }

    /// Says of every operation of a bucket where it lies, unless that was said last.
    async fn mark(&self, run: &Run, bucket: Bucket) -> Result<(), Refusal> {
        let store = &self.inner.store;
        let mut after = 0;
        loop {
            let rows = store.reconciliation_rows(run.id, bucket, after, PAGE_ROWS_MAX).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.number;
            let ids: Vec<OperationId> = rows.iter().filter_map(|row| Some(row.operation.as_ref()?.operation)).collect();
            let before = store.reconciled(&ids).await?;
            let before: HashSet<OperationId> =
                before.iter().filter(|before| before.bucket == bucket).map(|before| before.operation).collect();
            let new: Vec<OperationId> = ids.into_iter().filter(|id| !before.contains(id)).collect();
            for chunk in new.chunks(MARKED_PER_BATCH) {
                let mut replacements = Vec::with_capacity(chunk.len());
                for operation in store.operations_by_id(chunk).await? {
                    let said = Said { operation: operation.id, bucket, finding: None, disagreements: Vec::new() };
                    replacements.push(self.replacement(run, &operation, &said).await?);
                }
                let ids: Vec<OperationId> = replacements.iter().map(|replacement| replacement.operation.id).collect();
                let replaced = self.replace_each(replacements).await?;
                for (operation, _) in ids.into_iter().zip(replaced).filter(|(_, replaced)| *replaced == Replaced::Stale)
                {
                    let said = Said { operation, bucket, finding: None, disagreements: Vec::new() };
                    self.say(run, &said).await?;
                }
            }
        }
    }

    /// The runs within reach that a filter takes, the newest first, at most `limit`; and whether there are more behind them.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn reconciliations(
        &self,
        reach: &Reach,
        filter: &RunFilter,
        before: Option<ReconciliationId>,
        limit: u32,
    ) -> Result<(Vec<Run>, bool), Refusal> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let mut found = self.inner.store.reconciliations(reach, filter, before, limit.saturating_add(1)).await?;
        let has_more = found.len() > limit as usize;
        found.truncate(limit as usize);
        Ok((found, has_more))
    }

    /// The last run of each workflow and company within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn last_reconciliations(&self, reach: &Reach) -> Result<Vec<Run>, Refusal> {
        Ok(self.inner.store.last_reconciliations(reach).await?)
    }

    /// A run within reach.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn reconciliation(&self, reach: &Reach, id: ReconciliationId) -> Result<Run, Refusal> {
        let found = self.inner.store.reconciliation(id).await?;
        let is_within = |run: &Run| reach.workflow(&run.scope.workflow) && reach.company(&run.scope.company);
        found.filter(is_within).ok_or_else(|| Refusal::not_found("reconciliation"))
    }

    /// The rows of a run in a bucket behind the number `after`, at most `limit`.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn reconciliation_rows(
        &self,
        reach: &Reach,
        id: ReconciliationId,
        bucket: Bucket,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Row>, Refusal> {
        self.reconciliation(reach, id).await?;
        Ok(self.inner.store.reconciliation_rows(id, bucket, after, limit.clamp(1, PAGE_ROWS_MAX)).await?)
    }

    /// Rows as a person may see them: what a workflow marks as sensitive stands in none; the operation's page opens it.
    pub fn cover_rows(&self, run: &Run, rows: &mut [Row]) {
        let veil = self.veil_of(&run.scope.workflow).filter(|veil| !veil.is_lifted());
        let Some(veil) = veil else { return };
        for disagreement in rows.iter_mut().flat_map(|row| &mut row.disagreements) {
            let Ok(place) = disagreement.field.parse::<Pointer>() else { continue };
            if veil.covers(&place) {
                disagreement.ours = disagreement.ours.take().map(|_| MASK.to_owned());
                disagreement.theirs = disagreement.theirs.take().map(|_| MASK_OTHER.to_owned());
            }
        }
    }

    /// Since when an operation is known to agree with the destination; none where the last reconciliation found it otherwise, or
    /// there was none.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn reconciled_at(&self, operation: OperationId) -> Result<Option<Timestamp>, Refusal> {
        let said = self.inner.store.reconciled(&[operation]).await?.pop();
        Ok(said.filter(|said| said.bucket == Bucket::Matched).map(|said| said.at))
    }

    /// A workflow that a person names.
    ///
    /// # Errors
    /// There is none within reach; the refusal names those that there are.
    pub async fn workflow_within(&self, person: &Person, name: &str) -> Result<Arc<VersionedWorkflow>, Refusal> {
        self.workflow_in_force(name, &person.reach).await
    }

    /// Whether a person may hand records in at all.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role.
    pub fn person_may_hand_in(&self, person: &Person) -> Result<(), Refusal> {
        if person.role.may_reconcile() {
            return Ok(());
        }
        Err(Refusal::Forbidden { reason: "reconciling needs the role operator, finance or admin".to_owned() })
    }

    /// Whether a person may hand records of a company in.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, or outside of the person's companies.
    pub fn person_may_reconcile(&self, person: &Person, company: &str) -> Result<(), Refusal> {
        self.person_may_hand_in(person)?;
        if !person.reach.company(company) {
            return Err(Refusal::Forbidden { reason: format!("the company {company:?} is not within your reach") });
        }
        Ok(())
    }
}

impl Known {
    /// The operations of a record.
    fn linked(&self, record: &Record) -> Vec<(&Operation, Option<&Payload>)> {
        let by_reference = record.destination_reference.as_ref().and_then(|reference| self.by_reference.get(reference));
        let mut ids: Vec<OperationId> = by_reference.cloned().unwrap_or_default();
        let named = record.external_reference.as_deref().and_then(of_external_reference);
        ids.extend(named.filter(|id| !ids.contains(id)));
        let known =
            |id: &OperationId| self.operations.get(id).map(|(operation, payload)| (operation, payload.as_ref()));
        ids.iter().filter_map(known).collect()
    }
}

/// What is needed to write rows, and what is gathered while they are written.
struct Writing<'a> {
    run: &'a Run,
    workflow: &'a Workflow,
    decided: &'a Decided,
    /// The records and operations of each duplicate, by the first record of its group.
    duplicates: BTreeMap<u32, (Vec<String>, Vec<OperationId>)>,
    said: Vec<Said>,
    contradictions: u64,
    /// Whether there are more findings than are opened.
    has_more: bool,
    coverage: BTreeMap<Option<String>, (u64, u64)>,
}

impl<'a> Writing<'a> {
    fn new(run: &'a Run, workflow: &'a Workflow, decided: &'a Decided) -> Self {
        let (duplicates, said, coverage) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { run, workflow, decided, duplicates, said, contradictions: 0, has_more: false, coverage }
    }

    fn record_row(&mut self, at: u32, verdict: &RecordVerdict, record: &Record, known: &Known) -> Row {
        let id_at = |at: Option<u32>| at.and_then(|at| self.decided.operation_at(at));
        let (beside, about) = (id_at(verdict.operation), id_at(verdict.about));
        let beside = beside.and_then(|id| known.operations.get(&id));
        let beside = beside.zip(verdict.operation).map(|((operation, payload), at)| {
            (restated(self.decided, at, operation), payload.as_ref(), self.decided.operation(at))
        });
        let is_live = !record.is_void && !verdict.repeats;
        if is_live {
            self.cover(record, about.and_then(|id| known.operations.get(&id)).map(|(operation, _)| operation));
        }
        let mut disagreements = Vec::new();
        let mut notes = notes_of(verdict, record);
        if let Some((operation, payload, place)) = &beside {
            let operation: &Operation = operation;
            let is_still_there = place.is_some_and(|place| place.is_still_there);
            let compared = compare(self.workflow, operation, *payload, record);
            let is_plain = verdict.gathering.is_none_or(|gathering| gathering.operations <= 1 && gathering.live <= 1);
            let money = if is_plain { money_disagreement(operation, record) } else { None };
            let is_contradicted = is_still_there || is_unexpected(&operation.state);
            let held = if is_still_there { TAKEN_BACK } else { operation.state.name().as_str() };
            let state = (verdict.bucket == Bucket::Mismatched && is_contradicted).then(|| Disagreement {
                field: "state".to_owned(),
                ours: Some(held.to_owned()),
                theirs: Some("found".to_owned()),
            });
            let of_money = || amount_difference(self.workflow, operation, &record.amount?);
            let of_money = money.as_ref().and_then(|_| of_money());
            let differences = compared.differences.iter().cloned().chain(of_money).collect();
            let is_settling = operation.state.name() == StateName::Unknown;
            if verdict.bucket == Bucket::Pending && is_settling && !compared.is_complete {
                notes.push(Note::NotAllCompared);
            }
            // What is wrong then is the taking back: that is shown, and moves nothing of the operation whose record it is.
            let finding = if is_still_there {
                None
            } else {
                finding_of(verdict.bucket, is_plain, operation, record, differences)
            };
            disagreements = compared.disagreements;
            disagreements.extend(money.into_iter().chain(state));
            if finding.is_some() || verdict.bucket == Bucket::Mismatched {
                let said = Said {
                    operation: operation.id,
                    bucket: verdict.bucket,
                    finding,
                    disagreements: disagreements.clone(),
                };
                self.take_said(said);
            }
        }
        if verdict.bucket == Bucket::Duplicated {
            let (references, operations) = self.duplicates.entry(verdict.first).or_default();
            let reference = record.destination_reference.as_ref().or(record.external_reference.as_ref());
            references.extend(reference.filter(|_| references.len() < REFERENCES_MAX && is_live).cloned());
            operations.extend(beside.as_ref().map(|(operation, ..)| operation.id));
        }
        Row {
            number: u64::from(at) + 1,
            bucket: verdict.bucket,
            together: u64::from(verdict.first) + 1,
            operation: beside.as_ref().map(|(operation, ..)| source_side(operation)),
            record: Some(RecordSide {
                line: record.line,
                destination_reference: record.destination_reference.clone(),
                external_reference: record.external_reference.clone(),
                document: record.document.clone(),
                source_system: record.source_system.clone(),
                amount: record.amount.filter(|_| !verdict.repeats),
                currency: record.currency.clone(),
                date: record.date,
                about,
            }),
            disagreements,
            notes,
            candidates: Vec::new(),
        }
    }

    fn operation_row(&self, at: u32, verdict: &OperationVerdict, operation: &Operation) -> Row {
        let number = u64::try_from(self.decided.records()).unwrap_or(u64::MAX).saturating_add(u64::from(at) + 1);
        let mut notes = Vec::new();
        if verdict.is_superseded {
            notes.push(Note::Superseded);
        }
        if verdict.has_only_void {
            notes.push(Note::OnlyVoid);
        }
        if let Some(gathering) = verdict.gathering {
            notes.push(Note::Together { operations: gathering.operations, records: gathering.live });
        }
        Row {
            number,
            bucket: verdict.bucket,
            together: verdict.first.map_or(number, |first| u64::from(first) + 1),
            operation: Some(source_side(operation)),
            record: None,
            disagreements: Vec::new(),
            notes,
            candidates: Vec::new(),
        }
    }

    /// What is to be said of operations whose records are there more than once, now that all of them are known.
    fn take_duplicates(&mut self) {
        for (destination_references, operations) in std::mem::take(&mut self.duplicates).into_values() {
            for operation in operations {
                let destination_references = destination_references.clone();
                let finding = Some(Finding::Several { destination_references });
                self.take_said(Said { operation, bucket: Bucket::Duplicated, finding, disagreements: Vec::new() });
            }
        }
    }

    fn take_said(&mut self, said: Said) {
        self.contradictions += u64::from(said.finding.is_some() && said.bucket != Bucket::Matched);
        if self.said.len() < FINDINGS_MAX {
            self.said.push(said);
        } else {
            self.has_more = true;
        }
    }

    fn cover(&mut self, record: &Record, operation: Option<&Operation>) {
        let own = || operation.map(|operation| operation.key.source_system.as_str().to_owned());
        let name = record.source_system.clone().or_else(own);
        if self.coverage.len() >= COVERAGE_MAX && !self.coverage.contains_key(&name) {
            return;
        }
        let (guarded, unguarded) = self.coverage.entry(name).or_default();
        *(if operation.is_some() { guarded } else { unguarded }) += 1;
    }
}

fn notes_of(verdict: &RecordVerdict, record: &Record) -> Vec<Note> {
    let mut notes = Vec::new();
    if verdict.repeats {
        notes.push(Note::Repeats);
    }
    if let Some(gathering) = verdict.gathering {
        if gathering.is_listed_differently {
            notes.push(Note::ListedDifferently);
        }
        if gathering.operations > 1 || gathering.live > 1 {
            notes.push(Note::Together { operations: gathering.operations, records: gathering.live });
        }
    }
    let unknown = record.currency.as_ref().filter(|currency| !is_currency(currency));
    notes.extend(unknown.map(|currency| Note::UnknownCurrency { currency: currency.clone() }));
    notes
}

fn money_disagreement(operation: &Operation, record: &Record) -> Option<Disagreement> {
    let (money, amount) = (operation.money.as_ref()?, record.amount?);
    let currency = record.currency.as_deref().unwrap_or(&money.currency);
    if money.amount == amount && money.currency == currency {
        return None;
    }
    Some(Disagreement {
        field: "amount".to_owned(),
        ours: Some(format!("{} {}", money.amount, money.currency)),
        theirs: Some(format!("{amount} {currency}")),
    })
}

/// Whether a live record of an operation in this state contradicts it.
const fn is_unexpected(state: &State) -> bool {
    match state {
        State::AwaitingApproval
        | State::Rejected { .. }
        | State::Acquired { .. }
        | State::Released { .. }
        | State::Failed { .. } => true,
        State::Sending { .. } | State::Unknown { .. } | State::Confirmed { .. } | State::Disputed { .. } => false,
    }
}

/// What a record beside an operation is as the finding of a look at the destination. Of several operations with one record nobody can
/// say which is wrong: that is shown, and moves none.
fn finding_of(
    bucket: Bucket,
    is_plain: bool,
    operation: &Operation,
    record: &Record,
    differences: Vec<crate::lookup::Difference>,
) -> Option<Finding> {
    let reference = record.destination_reference.clone();
    match bucket {
        Bucket::Matched if operation.state.name() == StateName::Unknown => {
            reference.map(|destination_reference| Finding::Found { destination_reference })
        }
        Bucket::Mismatched if is_plain => {
            let held = operation.state.destination_reference();
            let is_other = reference.is_some() && held.is_some() && reference.as_deref() != held;
            if is_other || is_unexpected(&operation.state) {
                return reference.map(|destination_reference| Finding::Found { destination_reference });
            }
            let destination_reference = reference.or_else(|| held.map(ToOwned::to_owned))?;
            let has_any = !differences.is_empty() || operation.money.is_some();
            has_any.then_some(Finding::Differs { destination_reference, differences })
        }
        Bucket::Matched
        | Bucket::Mismatched
        | Bucket::Missing
        | Bucket::Duplicated
        | Bucket::Unguarded
        | Bucket::Pending
        | Bucket::Void
        | Bucket::NotExpected
        | Bucket::TakenBack => None,
    }
}

/// The operation with the amount as which it was compared.
fn restated<'a>(decided: &Decided, at: u32, operation: &'a Operation) -> Cow<'a, Operation> {
    let Some(amount) = decided.restated(at) else { return Cow::Borrowed(operation) };
    let money = operation.money.as_ref().zip(amount);
    let money = money.map(|(money, amount)| Money { amount, currency: money.currency.clone() });
    Cow::Owned(Operation { money, ..operation.clone() })
}

fn source_side(operation: &Operation) -> SourceSide {
    SourceSide {
        operation: operation.id,
        source_system: operation.key.source_system.as_str().to_owned(),
        document: operation.key.document.as_str().to_owned(),
        revision: operation.key.revision,
        state: operation.state.name(),
        amount: operation.money.as_ref().map(|money| money.amount),
        currency: operation.money.as_ref().map(|money| money.currency.clone()),
    }
}

fn taken_up() -> Refusal {
    Refusal::Forbidden { reason: "the same records were sent again meanwhile; that run goes on".to_owned() }
}

fn too_many(too_many: TooMany) -> Refusal {
    Refusal::field("body", too_many)
}
