//! What holds whatever happens: random moves of workers, people and clocks through the real guard.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use std::sync::{Arc, Mutex};

use guard::clock::{Clock as _, Timestamp};
use guard::decision::{Decision, DecisionName};
use guard::event::{Outcome, Resolution};
use guard::id::OperationId;
use guard::json::Json;
use guard::lookup::{AnswerClass, Finding, Looked};
use guard::operation::Operation;
use guard::refusal::{Refusal, StoreFault};
use guard::state::StateName;
use guard::store::Store as _;
use guard::summary::Counted;
use guard::trail::{Entry, EntryKind};
use guard::workflow::Workflow;
use proptest::prelude::*;
use world::{
    CAREFUL, Fault, HANDOFF, Permit, Worker, World, assert_chain, careful, confirmed, dropped, failed, handoff, ledger,
    not_applied, unknown,
};

const DOCUMENT: &str = "order-1";

/// What the two payloads of a run differ in: an amount, or only volatile fields.
const PAYLOADS: [&str; 3] = [
    r#"{"amount":"118.00","currency":"INR","meta":{"attempt":1}}"#,
    r#"{"currency":"INR","amount":"118.00","meta":{"attempt":2}}"#,
    r#"{"amount":"999.00","currency":"INR"}"#,
];

/// Something that somebody does.
#[derive(Clone, Debug)]
enum Move {
    Begin { worker: usize, payload: usize, begin_id: Option<u8>, lease: u32 },
    Mark { permit: usize },
    Extend { permit: usize, lease: u32 },
    Report { permit: usize, outcome: Outcome },
    Decide { resolution: Resolution, is_late: bool },
    Wait { seconds: i64 },
    Sweep,
    Look { shows: Shows, asked_before: i64 },
    Disturb { nth: usize, trouble: Trouble },
}

/// What the destination shows to a lookup.
#[derive(Clone, Copy, Debug)]
enum Shows {
    Record(&'static str),
    OtherTotal,
    Two,
    VoidOne,
    Nothing,
    NoAnswer,
}

/// What goes wrong with a write to come.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Fails,
    LosesAnswer,
    IsRetried,
    TakesLong,
    ComesSecond,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => prop::sample::select(vec!["A", "B"]).prop_map(confirmed),
        2 => prop::sample::select(vec!["refused", "void"]).prop_map(failed),
        2 => prop::sample::select(vec!["timed out", "cut off"]).prop_map(unknown),
    ]
}

fn resolution() -> impl Strategy<Value = Resolution> {
    prop_oneof![
        prop::sample::select(vec!["A", "C"])
            .prop_map(|reference| Resolution::Confirmed { destination_reference: reference.to_owned() }),
        Just(not_applied()),
        Just(dropped()),
    ]
}

fn quiet_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => (0..2usize, 0..8usize, prop::option::of(0..2u8), 1..=60u32).prop_map(|(worker, payload, begin_id, lease)| {
            // A wrong payload is rarer than a right one.
            Move::Begin { worker, payload: if payload == 7 { 2 } else { payload % 2 }, begin_id, lease }
        }),
        2 => (0..6usize).prop_map(|permit| Move::Mark { permit }),
        1 => (0..6usize, 1..=60u32).prop_map(|(permit, lease)| Move::Extend { permit, lease }),
        5 => (0..6usize, outcome()).prop_map(|(permit, outcome)| Move::Report { permit, outcome }),
        3 => (resolution(), prop::bool::weighted(0.1)).prop_map(|(resolution, is_late)| Move::Decide { resolution, is_late }),
        4 => (0..90i64).prop_map(|seconds| Move::Wait { seconds }),
        1 => Just(Move::Sweep),
        4 => (shows(), prop::sample::select(vec![0, 0, 20])).prop_map(|(shows, asked_before)| Move::Look { shows, asked_before }),
    ]
}

fn shows() -> impl Strategy<Value = Shows> {
    prop_oneof![
        2 => prop::sample::select(vec!["A", "B"]).prop_map(Shows::Record),
        1 => Just(Shows::OtherTotal),
        1 => Just(Shows::Two),
        1 => Just(Shows::VoidOne),
        5 => Just(Shows::Nothing),
        2 => Just(Shows::NoAnswer),
    ]
}

fn looked(shows: Shows) -> Looked {
    let finding = match shows {
        Shows::Record(reference) => Finding::Found { destination_reference: reference.to_owned() },
        Shows::OtherTotal => Finding::Differs { destination_reference: "A".to_owned(), differences: Vec::new() },
        Shows::Two => Finding::Several { destination_references: vec!["A".to_owned(), "B".to_owned()] },
        Shows::VoidOne => Finding::VoidOnly { destination_references: vec!["A".to_owned()] },
        Shows::Nothing => Finding::Absent,
        Shows::NoAnswer => {
            Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer in 10 s".to_owned() }
        }
    };
    let (request, candidates) = ("GET /tasks".to_owned(), Vec::new());
    Looked { request, status: None, pages: 1, took_milliseconds: 1, finding, candidates }
}

fn any_move() -> impl Strategy<Value = Move> {
    let trouble = prop::sample::select(vec![
        Trouble::Fails,
        Trouble::LosesAnswer,
        Trouble::IsRetried,
        Trouble::TakesLong,
        Trouble::ComesSecond,
    ]);
    prop_oneof![
        4 => quiet_move(),
        1 => (1..3usize, trouble).prop_map(|(nth, trouble)| Move::Disturb { nth, trouble }),
    ]
}

/// A permission that was handed out, and what its holder did with it.
#[derive(Clone, Debug)]
struct Held {
    permit: Permit,
    worker: usize,
    until: Timestamp,
    is_marked: bool,
    is_answered: bool,
}

type Permits = Arc<Mutex<Vec<Held>>>;

struct Run {
    world: World,
    workers: Vec<Worker>,
    workflow: &'static str,
    permits: Permits,
    heard: Vec<DecisionName>,
    is_disturbed: bool,
}

fn keep(permits: &Permits, worker: usize, decision: Decision) {
    let permit = Permit::of(decision);
    let mut permits = permits.lock().unwrap();
    let until = permit.until;
    match permits.iter_mut().find(|held| held.permit.lease == permit.lease) {
        Some(held) => held.until = held.until.max(until),
        None => permits.push(Held { permit, worker, until, is_marked: false, is_answered: false }),
    }
}

impl Run {
    async fn new(workflow: &'static str) -> Self {
        let world = World::new().await;
        let at_ledger = |workflow: Workflow| Workflow { destination: Some("ledger".to_owned()), ..workflow };
        world.configure(vec![at_ledger(handoff()), at_ledger(careful())], vec![ledger(Some(30))]).await;
        let workers = vec![world.worker("billing").await, world.worker("shipping").await];
        Self { world, workers, workflow, permits: Permits::default(), heard: Vec::new(), is_disturbed: false }
    }

    fn permit(&self, index: usize) -> Option<Held> {
        let permits = self.permits.lock().unwrap();
        // The latest ones are the likelier ones, and every earlier one can be reached.
        permits.iter().rev().nth(index).cloned()
    }

    fn change(&self, held: &Held, change: impl Fn(&mut Held)) {
        let mut permits = self.permits.lock().unwrap();
        permits.iter_mut().filter(|known| known.permit.lease == held.permit.lease).for_each(change);
    }

    fn operation(&self) -> Option<Operation> {
        self.world.memory.every_operation().into_iter().next()
    }

    async fn step(&mut self, step: &Move) -> Result<(), TestCaseError> {
        // Whoever looks ends a lease that is over; what a move itself does is seen only after that.
        if let Some(operation) = self.operation().filter(|_| !self.is_disturbed) {
            self.world.operation(operation.id).await;
        }
        let before = self.world.memory.snapshot();
        let state_before = self.operation().map(|operation| operation.state);
        let entries_before = self.operation().map_or(0, |operation| self.world.entries(operation.id).len());
        let refusal = self.make(step).await?;
        let after = self.world.memory.snapshot();
        if !self.is_disturbed
            && let Some(refusal) = refusal
        {
            let told = self.operation().map_or_else(Vec::new, |operation| self.world.entries(operation.id));
            let keeps_evidence = matches!(refusal, Refusal::OutcomeDisagrees { .. } | Refusal::StaleLease);
            let news = &told[entries_before.min(told.len())..];
            let is_evidence =
                news.iter().all(|entry| matches!(entry.kind, EntryKind::Reported | EntryKind::ReportKept));
            prop_assert!(before == after || (keeps_evidence && is_evidence), "{refusal:?} changed something");
        }
        if let (Move::Begin { payload: 2, .. }, Some(before), Some(operation), false) =
            (step, state_before, self.operation(), self.is_disturbed)
        {
            let first = self.world.memory.payload(operation.id).await.unwrap().unwrap();
            if !first.contains("999.00") {
                prop_assert_eq!(before, operation.state, "a conflict alters nothing");
            }
        }
        self.check().await
    }

    /// Makes a move; answers the refusal, where there was one.
    async fn make(&mut self, step: &Move) -> Result<Option<Refusal>, TestCaseError> {
        match step {
            Move::Begin { worker, payload, begin_id, lease } => {
                let begin_id = begin_id.map(|number| format!("{worker}-{number}"));
                Ok(self.begin(*worker, PAYLOADS[*payload], begin_id, *lease).await)
            }
            Move::Mark { permit } => {
                let Some(held) = self.permit(*permit) else { return Ok(None) };
                let marked = self.workers[held.worker].marks(&held.permit).await;
                if marked.is_ok() {
                    self.change(&held, |held| held.is_marked = true);
                }
                Ok(marked.err())
            }
            Move::Extend { permit, lease } => {
                let Some(held) = self.permit(*permit) else { return Ok(None) };
                let extended = self.workers[held.worker].extends(&held.permit, *lease).await;
                if let Ok(operation) = &extended {
                    let until = operation.state.lease_expires_at().expect("a lease that was extended");
                    self.change(&held, |held| held.until = held.until.max(until));
                }
                Ok(extended.err())
            }
            Move::Report { permit, outcome } => {
                let Some(held) = self.permit(*permit) else { return Ok(None) };
                self.report(&held, outcome).await
            }
            Move::Decide { resolution, is_late } => {
                let Some(operation) = self.operation() else { return Ok(None) };
                let operator = self.world.operator();
                let seen = operation.version.saturating_sub(u64::from(*is_late));
                Ok(operator.decides_on(operation.id, seen, resolution.clone()).await.err())
            }
            Move::Wait { seconds } => {
                self.world.clock.advance(*seconds);
                Ok(None)
            }
            Move::Sweep => Ok(self.world.guard.expire_due(10).await.err()),
            Move::Look { shows, asked_before } => {
                let Some(operation) = self.operation() else { return Ok(None) };
                let asked_at = self.world.guard.now() - chrono::TimeDelta::seconds(*asked_before);
                Ok(self.world.guard.looked_up(operation.id, asked_at, &looked(*shows)).await.err())
            }
            Move::Disturb { nth, trouble } => {
                self.is_disturbed = true;
                self.disturb(*nth, *trouble).await;
                Ok(None)
            }
        }
    }

    async fn begin(&mut self, worker: usize, payload: &str, begin_id: Option<String>, lease: u32) -> Option<Refusal> {
        let mut ask = self.workers[worker].asks(DOCUMENT).in_workflow(self.workflow).with(payload).for_seconds(lease);
        ask.request.begin_id = begin_id;
        match ask.answer().await {
            Ok(decision @ Decision::Proceed { repeated, .. }) => {
                if !repeated {
                    self.heard.push(decision.name());
                }
                keep(&self.permits, worker, decision);
                None
            }
            Ok(
                decision @ (Decision::Replay { .. }
                | Decision::Superseded { .. }
                | Decision::InProgress { .. }
                | Decision::Unknown { .. }
                | Decision::AwaitingApproval { .. }
                | Decision::ApprovalMissing { .. }
                | Decision::PreviousRevision { .. }
                | Decision::Rejected { .. }
                | Decision::Conflict { .. }),
            ) => {
                self.heard.push(decision.name());
                None
            }
            Err(refusal) => Some(refusal),
        }
    }

    /// Reports twice: the second time is answered like the first, and changes nothing.
    async fn report(&self, held: &Held, outcome: &Outcome) -> Result<Option<Refusal>, TestCaseError> {
        let worker = &self.workers[held.worker];
        let first = worker.reports(&held.permit, outcome.clone()).await;
        // Whoever reports, heard or not, is done with sending.
        self.change(held, |held| held.is_answered = true);
        if !self.is_disturbed {
            let once = self.world.memory.snapshot();
            let again = worker.reports(&held.permit, outcome.clone()).await;
            prop_assert_eq!(&self.world.memory.snapshot(), &once, "the same report again changes nothing");
            prop_assert_eq!(&again, &first);
        }
        Ok(first.err())
    }

    async fn disturb(&self, nth: usize, trouble: Trouble) {
        let clock = Arc::clone(&self.world.clock);
        let fault = match trouble {
            Trouble::Fails => Fault::Fails(StoreFault::Unavailable),
            Trouble::LosesAnswer => Fault::LosesAnswer,
            Trouble::IsRetried => Fault::IsRetried,
            Trouble::TakesLong => Fault::afterwards(async move { clock.advance(45) }),
            Trouble::ComesSecond => {
                let other = self.workers[1].through(self.world.another_process().await);
                let ask = other.asks(DOCUMENT).in_workflow(self.workflow).with(PAYLOADS[1]);
                let permits = Arc::clone(&self.permits);
                Fault::meanwhile(async move {
                    if let Ok(decision @ Decision::Proceed { .. }) = ask.answer().await {
                        keep(&permits, 1, decision);
                    }
                })
            }
        };
        self.world.memory.disturb(nth, fault);
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        let Some(operation) = self.operation() else { return Ok(()) };
        let entries = self.world.entries(operation.id);
        assert_chain(&operation, &entries);
        check_trail(&entries)?;
        self.check_permissions(&operation)?;
        self.check_recovery(&operation).await?;
        self.check_counts(operation.id, &entries)
    }

    /// A schedule is there while the operation is unknown, and only then.
    async fn check_recovery(&self, operation: &Operation) -> Result<(), TestCaseError> {
        let recovery = self.world.memory.recovery(operation.id).await.unwrap();
        prop_assert_eq!(recovery.is_some(), operation.state.name() == StateName::Unknown, "{:?}", operation.state);
        Ok(())
    }

    /// Never do two callers hold a permission that still lives.
    fn check_permissions(&self, operation: &Operation) -> Result<(), TestCaseError> {
        let now = self.world.clock.now();
        let may_mark = |held: &Held| {
            operation.state.name() == StateName::Acquired
                && operation.attempt.as_ref().is_some_and(|attempt| attempt.lease_token == held.permit.lease)
        };
        let permits = self.permits.lock().unwrap();
        let live: Vec<&Held> = permits
            .iter()
            .filter(|held| now < held.until && !held.is_answered)
            .filter(|held| self.workflow == HANDOFF || held.is_marked || may_mark(held))
            .collect();
        prop_assert!(live.len() <= 1, "two live permissions: {live:?}");
        Ok(())
    }

    fn check_counts(&self, id: OperationId, entries: &[Entry]) -> Result<(), TestCaseError> {
        let memory = &self.world.memory;
        let begun = entries.iter().filter(|entry| entry.kind == EntryKind::Begun).count() as u64;
        prop_assert_eq!(memory.counted(Counted::Decision(DecisionName::Proceed)), begun);
        let states: Vec<StateName> = entries.iter().map(state_told).collect();
        for name in StateName::ALL {
            let entered = (0..states.len())
                .filter(|&index| states[index] == name && (index == 0 || states[index - 1] != name))
                .count() as u64;
            prop_assert_eq!(memory.counted(Counted::Entered(name)), entered, "{}", name.as_str());
        }
        if self.is_disturbed {
            return Ok(());
        }
        for name in DecisionName::ALL {
            let heard = self.heard.iter().filter(|heard| **heard == name).count() as u64;
            prop_assert_eq!(memory.counted(Counted::Decision(name)), heard, "{}", name.as_str());
        }
        let prevented = self.heard.iter().filter(|heard| heard.holds_repetition()).count() as u64;
        let held = self.operation().filter(|operation| operation.id == id).map(|held| held.duplicates_prevented);
        prop_assert_eq!(held, Some(prevented));
        Ok(())
    }
}

fn state_told(entry: &Entry) -> StateName {
    entry.detail.member("state").and_then(Json::as_str).and_then(StateName::parse).expect("a state in every entry")
}

/// Whether a report that moved nothing says that something may have been written until then. That an earlier attempt was refused
/// leaves what was looked for since in vain as it is.
fn may_have_written(entry: &Entry) -> bool {
    entry.kind == EntryKind::ReportKept && entry.detail.member("outcome").and_then(Json::as_str) == Some("unknown")
}

/// What the trail tells is a story that the rules allow.
fn check_trail(entries: &[Entry]) -> Result<(), TestCaseError> {
    let (mut attempt, mut negatives) = (0i64, 0i64);
    let mut before: Option<StateName> = None;
    for entry in entries {
        let state = state_told(entry);
        if entry.kind == EntryKind::Begun {
            attempt += 1;
            let told = entry.detail.member("attempt").map(ToString::to_string);
            prop_assert_eq!(told, Some(attempt.to_string()), "a grant is numbered one above the last");
            let is_free = matches!(before, None | Some(StateName::Released | StateName::Failed));
            prop_assert!(is_free, "begun while {before:?}");
        }
        if state == StateName::Released {
            prop_assert!(matches!(before, Some(StateName::Acquired | StateName::Released)), "released from {before:?}");
        }
        if entry.kind == EntryKind::LookedUp && state == StateName::Failed && before != Some(state) {
            negatives += i64::from(entry.detail.member("counts_towards_proof").is_some());
            prop_assert!(negatives >= 2, "{negatives} lookups in vain taken for proof");
        } else if entry.detail.member("counts_towards_proof").is_some() {
            negatives += 1;
        } else if matches!(entry.kind, EntryKind::Reported | EntryKind::Begun) || may_have_written(entry) {
            negatives = 0;
        }
        if before == Some(StateName::Confirmed) {
            prop_assert!(
                matches!(state, StateName::Confirmed | StateName::Disputed),
                "confirmed was left to {state:?}"
            );
        }
        if matches!(before, Some(StateName::Unknown | StateName::Disputed)) && before != Some(state) {
            let is_settling = matches!(entry.kind, EntryKind::Reported | EntryKind::LookedUp | EntryKind::Resolved);
            prop_assert!(is_settling, "{before:?} was left by {:?}", entry.kind);
        }
        if entry.kind == EntryKind::ConflictOpened || entry.kind == EntryKind::ReportKept {
            prop_assert_eq!(Some(state), before, "it alters nothing");
        }
        before = Some(state);
    }
    Ok(())
}

fn play(workflow: &'static str, moves: &[Move]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut run = Run::new(workflow).await;
        for step in moves {
            run.step(step).await?;
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_one_step(moves in prop::collection::vec(quiet_move(), 1..40)) {
        play(HANDOFF, &moves)?;
    }

    #[test]
    fn whatever_happens_in_two_steps(moves in prop::collection::vec(quiet_move(), 1..40)) {
        play(CAREFUL, &moves)?;
    }

    #[test]
    fn whatever_happens_over_a_store_in_trouble(
        is_careful in any::<bool>(),
        moves in prop::collection::vec(any_move(), 1..40),
    ) {
        play(if is_careful { CAREFUL } else { HANDOFF }, &moves)?;
    }
}
