//! Whatever order people and workers act in: nothing is sent that was not approved as it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use std::collections::BTreeMap;

use guard::amendment::AmendmentStateName;
use guard::decision::Decision;
use guard::event::Outcome;
use guard::fingerprint::Fingerprint;
use guard::id::{AmendmentId, OperationId, PeriodId};
use guard::json::Json;
use guard::operation::Operation;
use guard::period::Span;
use guard::person::{Person, Role};
use guard::queue::PageRequest;
use guard::reconciliation::Bucket;
use guard::service::{Approving, AskedReversal, Proposer, Signing};
use guard::state::{State, StateName};
use guard::token::Reach;
use guard::trail::EntryKind;
use guard::workflow::{AmendmentRules, Correction, Workflow};
use proptest::prelude::*;
use world::{Permit, Worker, World, assert_chain, confirmed, failed, handoff, payload, unknown};

const DOCUMENT: &str = "order-1";

/// What the revisions of a run contain; every one may follow on every other. The last one is above the amount for one approval.
const PAYLOADS: [&str; 4] = [
    r#"{"amount":"118.00","currency":"INR"}"#,
    r#"{"amount":"236.00","currency":"INR"}"#,
    r#"{"amount":"354.00","currency":"INR","meta":{"attempt":1}}"#,
    r#"{"amount":"9000.00","currency":"INR"}"#,
];

const PEOPLE: [&str; 3] = ["ada", "grace", "linus"];

/// Something that somebody does.
#[derive(Clone, Debug)]
enum Move {
    Propose { person: usize, revision: u32, payload: usize },
    AskBack { person: usize, revision: u32, record: usize },
    Approve { person: usize, nth: usize, is_late: bool },
    Reject { person: usize, nth: usize },
    Withdraw { person: usize, nth: usize },
    Begin { revision: u32, payload: usize },
    BeginReversal { nth: usize, is_altered: bool },
    Report { nth: usize, outcome: Outcome },
    Settle { revision: u32, record: usize },
    Close,
    Reopen,
    Reconcile { revision: u32, is_matched: bool },
    Wait { seconds: i64 },
}

const RECORDS: [&str; 2] = ["A", "B"];

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => prop::sample::select(RECORDS.to_vec()).prop_map(confirmed),
        2 => Just(failed("refused")),
        1 => Just(unknown("timed out")),
    ]
}

fn any_move() -> impl Strategy<Value = Move> {
    let (person, revision, nth) = (0..PEOPLE.len(), 1..=3u32, 0..3usize);
    prop_oneof![
        6 => (person.clone(), revision.clone(), 0..PAYLOADS.len())
            .prop_map(|(person, revision, payload)| Move::Propose { person, revision, payload }),
        3 => (person.clone(), revision.clone(), 0..RECORDS.len())
            .prop_map(|(person, revision, record)| Move::AskBack { person, revision, record }),
        8 => (person.clone(), nth.clone(), prop::bool::weighted(0.1))
            .prop_map(|(person, nth, is_late)| Move::Approve { person, nth, is_late }),
        1 => (person.clone(), nth.clone()).prop_map(|(person, nth)| Move::Reject { person, nth }),
        1 => (person, nth.clone()).prop_map(|(person, nth)| Move::Withdraw { person, nth }),
        8 => (revision.clone(), 0..PAYLOADS.len()).prop_map(|(revision, payload)| Move::Begin { revision, payload }),
        3 => (nth.clone(), prop::bool::weighted(0.1))
            .prop_map(|(nth, is_altered)| Move::BeginReversal { nth, is_altered }),
        9 => (nth, outcome()).prop_map(|(nth, outcome)| Move::Report { nth, outcome }),
        1 => (revision.clone(), 0..RECORDS.len()).prop_map(|(revision, record)| Move::Settle { revision, record }),
        1 => Just(Move::Close),
        1 => Just(Move::Reopen),
        1 => (revision, any::<bool>()).prop_map(|(revision, is_matched)| Move::Reconcile { revision, is_matched }),
        1 => (10..90i64).prop_map(|seconds| Move::Wait { seconds }),
    ]
}

struct Run {
    world: World,
    worker: Worker,
    permits: Vec<Permit>,
    closed: Option<PeriodId>,
    /// How many moves did what they are there for: a run in which nothing happens would prove nothing.
    begun: BTreeMap<&'static str, u32>,
}

impl Run {
    async fn new() -> Self {
        let amendment = AmendmentRules {
            amendable: vec!["/amount".parse().unwrap()],
            before_reconciliation: Correction::Amend,
            after_reconciliation: Correction::ReverseAndRepost,
            second_approval_over: Some("1000.00".to_owned()),
            ..AmendmentRules::default()
        };
        let world = World::with(vec![Workflow { amendment, ..handoff() }]).await;
        let worker = world.worker("billing").await;
        Self { world, worker, permits: Vec::new(), closed: None, begun: BTreeMap::new() }
    }

    fn person(&self, index: usize) -> Person {
        let email = format!("{}@example.test", PEOPLE[index]);
        Person { email, ..self.world.person(Role::Finance).person }
    }

    fn revision(&self, revision: u32) -> Option<Operation> {
        let all = self.world.memory.every_operation();
        all.into_iter().find(|held| held.key.revision == revision && held.key.action.as_str() == "create")
    }

    /// The nth latest amendment, with the version of its operation.
    async fn amendment(&self, nth: usize) -> Option<(AmendmentId, u64)> {
        let page = PageRequest { cursor: None, limit: 50 };
        let rows = self.world.guard.amendments(&Reach::EVERYTHING, None, &page).await.unwrap().rows;
        let amendment = rows.into_iter().nth(nth)?;
        Some((amendment.id, self.world.operation(amendment.operation).await.version))
    }

    async fn step(&mut self, step: &Move) -> Result<(), TestCaseError> {
        match step {
            Move::Propose { person, revision, payload: content } => {
                let Some(base) = self.revision(*revision) else { return Ok(()) };
                let person = self.person(*person);
                let who = Proposer::Person(&person);
                drop(self.world.guard.propose(who, base.id, payload(PAYLOADS[*content]), "changed", None, None).await);
            }
            Move::AskBack { person, revision, record } => {
                let Some(of) = self.revision(*revision) else { return Ok(()) };
                let asked = AskedReversal { record: RECORDS[*record], reason: "twice", requested_by: None };
                drop(self.world.guard.ask_reversal(&self.person(*person), of.id, of.version, asked).await);
            }
            Move::Approve { person, nth, is_late } => {
                let Some((id, version)) = self.amendment(*nth).await else { return Ok(()) };
                let seen_version = version.saturating_sub(u64::from(*is_late));
                let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
                drop(self.world.guard.approve(&self.person(*person), id, &approving).await);
            }
            Move::Reject { person, nth } => {
                let Some((id, version)) = self.amendment(*nth).await else { return Ok(()) };
                drop(self.world.guard.reject(&self.person(*person), id, version, "no").await);
            }
            Move::Withdraw { person, nth } => {
                let Some((id, version)) = self.amendment(*nth).await else { return Ok(()) };
                drop(self.world.guard.withdraw(&self.person(*person), id, version, "anew").await);
            }
            Move::Begin { revision, payload } => {
                let asks = self.worker.asks(DOCUMENT).at_revision(*revision).with(PAYLOADS[*payload]);
                let decision = asks.decision().await;
                self.permit(decision, PAYLOADS[*payload]).await?;
            }
            Move::BeginReversal { nth, is_altered } => {
                let all = self.world.memory.every_operation();
                let Some(held) = all.into_iter().filter(|held| held.key.may_be_reversal()).nth(*nth) else {
                    return Ok(());
                };
                let (id, revision) = (held.id, held.key.revision);
                let mut text = self.world.guard.payload(&Reach::EVERYTHING, id, revision).await.unwrap();
                if *is_altered {
                    text = text.replace(r#""destination_reference":""#, r#""destination_reference":"X"#);
                }
                let asks = self.worker.asks(DOCUMENT).with_action(held.key.action.as_str()).at_revision(revision);
                let decision = asks.with(&text).decision().await;
                self.permit(decision, &text).await?;
            }
            Move::Report { nth, outcome } => {
                let Some(permit) = self.permits.iter().rev().nth(*nth) else { return Ok(()) };
                drop(self.worker.reports(permit, outcome.clone()).await);
            }
            Move::Settle { revision, record } => {
                let Some(held) = self.revision(*revision) else { return Ok(()) };
                drop(self.world.operator().confirms(held.id, RECORDS[*record]).await);
            }
            Move::Close => self.close().await,
            Move::Reopen => {
                if let Some(period) = self.closed.take() {
                    self.world.guard.reopen_period(&self.person(0), period, "too early").await.unwrap();
                }
            }
            Move::Reconcile { revision, is_matched } => {
                let Some(held) = self.revision(*revision) else { return Ok(()) };
                let bucket = if *is_matched { Bucket::Matched } else { Bucket::Missing };
                self.world.memory.force_reconciled(held.id, self.world.guard.now(), bucket);
            }
            Move::Wait { seconds } => self.world.clock.advance(*seconds),
        }
        self.check().await
    }

    async fn close(&mut self) {
        if self.closed.is_some() {
            return;
        }
        self.world.clock.advance(10);
        let day = self.world.guard.now().date_naive().to_string();
        let span = Span { from: day.parse().unwrap(), to: day.parse().unwrap() };
        let totals = self.world.guard.period_totals(&Reach::EVERYTHING, "acme", span).await.unwrap();
        let (name, statement) = ("Ada", "these figures agree with the ledger");
        let signing = Signing { name, statement, reason: "it is late", seen: totals.fingerprint() };
        let closed = self.world.guard.close_period(&self.person(0), "acme", span, &signing).await;
        self.closed = closed.ok().map(|period| period.id);
    }

    /// A permission was given: what it rests on must be there, at this very moment.
    async fn permit(&mut self, decision: Decision, sent: &str) -> Result<(), TestCaseError> {
        let Decision::Proceed { operation, amends, .. } = &decision else { return Ok(()) };
        let is_reversal = operation.key.may_be_reversal();
        if operation.key.revision == 1 && !is_reversal {
            prop_assert!(amends.is_none());
        } else {
            let told = amends.as_ref().expect("whoever corrects is told what");
            self.check_approved(operation, sent).await?;
            let base = self.world.operation(told.previous.id).await;
            if is_reversal {
                prop_assert!(
                    matches!(base.state, State::Confirmed { .. } | State::Disputed { .. }),
                    "{:?}",
                    base.state
                );
                let names_it = sent.contains(&format!(r#""{}""#, told.record.as_deref().unwrap()));
                prop_assert!(names_it, "{sent}");
            } else {
                prop_assert_eq!(base.state.name(), StateName::Confirmed);
                prop_assert!(base.superseded_by.is_none_or(|by| by == operation.id));
                let ruled = self.world.guard.correction_for(&base, self.world.guard.now()).await.unwrap();
                prop_assert_eq!(ruled.correction, told.correction, "by the rules of this moment");
            }
        }
        *self.begun.entry(if is_reversal { "reversal" } else { "change" }).or_default() += 1;
        self.permits.push(Permit::of(decision));
        Ok(())
    }

    async fn check_approved(&self, operation: &Operation, sent: &str) -> Result<(), TestCaseError> {
        let volatile = handoff().volatile;
        prop_assert_eq!(Fingerprint::of(&payload(sent), &volatile), operation.fingerprint);
        let amendment = self.world.guard.latest_amendment(&Reach::EVERYTHING, operation.id).await.unwrap().unwrap();
        prop_assert_eq!(amendment.state.name(), AmendmentStateName::Begun);
        prop_assert_eq!(amendment.fingerprint, operation.fingerprint, "approved as it is");
        prop_assert_eq!(amendment.approvals_missing(), 0);
        for approval in &amendment.approvals {
            prop_assert!(!amendment.proposed_by.to_string().ends_with(&approval.by), "four eyes");
        }
        let by: std::collections::BTreeSet<&str> = amendment.approvals.iter().map(|one| one.by.as_str()).collect();
        prop_assert_eq!(by.len(), usize::try_from(amendment.approvals_needed).unwrap(), "different people");
        // The trail tells the same: each approval of this very payload, before the permission.
        let entries = self.world.entries(operation.id);
        let name = amendment.id.to_string();
        let told = entries.iter().filter(|entry| {
            let is = |fact: &str, value: &str| entry.detail.member(fact).and_then(Json::as_str) == Some(value);
            entry.kind == EntryKind::AmendmentApproved
                && is("amendment", &name)
                && is("seen_fingerprint", &operation.fingerprint.to_string())
        });
        prop_assert_eq!(told.count(), amendment.approvals.len());
        Ok(())
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        let mut by_record: BTreeMap<(OperationId, String), u32> = BTreeMap::new();
        for operation in self.world.memory.every_operation() {
            assert_chain(&operation, &self.world.entries(operation.id));
            let open = self.world.guard.latest_amendment(&Reach::EVERYTHING, operation.id).await.unwrap();
            let Some(amendment) = open else { continue };
            // An amendment is open exactly while its operation waits or may be begun for the first time.
            let waits = operation.state.name() == StateName::AwaitingApproval;
            prop_assert_eq!(waits, amendment.state.name() == AmendmentStateName::AwaitingApproval);
            if amendment.is_reversal() {
                let record = amendment.base.destination_reference.clone();
                *by_record.entry((amendment.base.operation, record)).or_default() += 1;
            }
        }
        prop_assert!(
            by_record.values().all(|&reversals| reversals == 1),
            "each record has one reversal: {by_record:?}"
        );
        Ok(())
    }
}

fn play(moves: &[Move]) -> Result<BTreeMap<&'static str, u32>, TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut run = Run::new().await;
        // Most of what can happen happens to what is confirmed.
        let first = run.worker.owns(DOCUMENT).await;
        run.worker.confirms(&first, "A").await.unwrap();
        run.permits.push(first);
        for step in moves {
            run.step(step).await?;
        }
        Ok(run.begun)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_sent_that_was_not_approved_as_it_is(moves in prop::collection::vec(any_move(), 10..60)) {
        play(&moves)?;
    }
}

#[test]
fn the_moves_reach_what_they_are_about() {
    let approved = |nth| Move::Approve { person: 1, nth, is_late: false };
    let begun = play(&[
        Move::Propose { person: 0, revision: 1, payload: 1 },
        approved(0),
        Move::Begin { revision: 2, payload: 1 },
        Move::Report { nth: 0, outcome: confirmed("A") },
        Move::AskBack { person: 0, revision: 2, record: 0 },
        approved(0),
        Move::BeginReversal { nth: 0, is_altered: true },
        Move::BeginReversal { nth: 0, is_altered: false },
    ]);
    assert_eq!(begun.unwrap(), BTreeMap::from([("change", 1), ("reversal", 1)]));
}
