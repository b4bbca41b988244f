//! Bodies go when nothing is unresolved and nothing is on hold; whoever moves in the same moment wins; and a document is recognised by what
//! stays, whatever happened in which order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "support/world.rs"]
mod world;

use guard::decision::Decision;
use guard::id::OperationId;
use guard::person::{Person, Role};
use guard::retention::{Content, HoldScope, unsettled};
use guard::state::StateName;
use guard::store::{Retentions as _, Store as _};
use guard::token::Reach;
use guard::trail::EntryKind;
use guard::workflow::{Retention, Workflow};
use proptest::prelude::*;
use world::{Fault, Permit, Worker, World, assert_chain, handoff};

const DAYS: u32 = 10;
const SECONDS_OF_A_DAY: i64 = 86_400;
const FIRST: &str = r#"{"amount":"118.00","currency":"INR"}"#;
const OTHER: &str = r#"{"amount":"236.00","currency":"INR"}"#;

struct Team {
    world: World,
    billing: Worker,
    fay: Person,
}

impl Team {
    async fn new() -> Self {
        let retention = Retention { payload_days: Some(DAYS) };
        let world = World::with(vec![Workflow { retention, ..handoff() }]).await;
        Self { billing: world.worker("billing").await, fay: world.person(Role::Finance).person, world }
    }

    async fn confirmed(&self, document: &str) -> OperationId {
        let permit = self.billing.owns(document).await;
        self.billing.confirms(&permit, "task-907").await.unwrap().id
    }

    fn advance(&self, days: u32) {
        self.world.clock.advance(i64::from(days) * SECONDS_OF_A_DAY);
    }

    async fn sweep(&self) -> u32 {
        self.world.guard.drop_due("handoff", None, 100).await.unwrap().dropped
    }

    async fn keeps_payload(&self, id: OperationId) -> bool {
        self.world.memory.payload(id).await.unwrap().is_some()
    }
}

#[tokio::test]
async fn whoever_moves_in_the_same_moment_wins() {
    let team = Team::new().await;
    for (document, scope) in [("one", HoldScope::Operation), ("two", HoldScope::Document)] {
        let id = team.confirmed(document).await;
        team.advance(DAYS + 1);
        let (guard, fay) = (team.world.guard.clone(), team.fay.clone());
        let holds = async move {
            let version = guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
            guard.place_hold(&fay, id, version, scope, "an audit").await.unwrap();
        };
        team.world.memory.disturb(1, Fault::meanwhile(holds));
        assert_eq!(team.sweep().await, 0, "{document}");
        assert!(team.keeps_payload(id).await);
        team.advance(DAYS + 1);
        assert_eq!(team.sweep().await, 0, "{document} is on hold");
        assert!(!team.world.told(id).contains(&EntryKind::BodiesDropped.as_str()));
    }

    // Another payload that comes in the same moment finds what it differs from.
    let id = team.confirmed("three").await;
    team.advance(DAYS + 1);
    let again = team.billing.asks("three").with(OTHER);
    team.world.memory.disturb(
        1,
        Fault::meanwhile(async move {
            assert_eq!(again.hears().await, "conflict");
        }),
    );
    assert_eq!(team.sweep().await, 0);
    assert!(team.keeps_payload(id).await, "what differs can still be seen");
}

#[tokio::test]
async fn a_lost_answer_leaves_one_certificate() {
    let team = Team::new().await;
    let id = team.confirmed("one").await;
    team.advance(DAYS + 1);
    team.world.memory.disturb(1, Fault::LosesAnswer);
    assert!(team.world.guard.drop_due("handoff", None, 100).await.is_err());
    assert_eq!(team.sweep().await, 0, "it is done already");
    let told = team.world.told(id);
    assert_eq!(told.iter().filter(|kind| **kind == "bodies_dropped").count(), 1, "{told:?}");
    assert!(!team.keeps_payload(id).await);
}

/// What happens in the random walk, to one of three documents.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Confirm,
    Fail,
    Lose,
    Resolve,
    Changed,
    Hold(HoldScope),
    Lift(HoldScope),
    Days(u32),
    Sweep,
}

fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    let scope = prop_oneof![Just(HoldScope::Operation), Just(HoldScope::Document)];
    let step = prop_oneof![
        3 => Just(Step::Begin),
        3 => Just(Step::Confirm),
        1 => Just(Step::Fail),
        1 => Just(Step::Lose),
        1 => Just(Step::Resolve),
        1 => Just(Step::Changed),
        1 => scope.clone().prop_map(Step::Hold),
        1 => scope.prop_map(Step::Lift),
        3 => (1_u32..=DAYS + 1).prop_map(Step::Days),
        4 => Just(Step::Sweep),
    ];
    proptest::collection::vec((0_u8..3, step), 1..60)
}

async fn walk(steps: Vec<(u8, Step)>) {
    let team = Team::new().await;
    let (guard, memory) = (&team.world.guard, &team.world.memory);
    let ada = team.world.operator();
    let mut permits: [Option<Permit>; 3] = [None, None, None];
    for (number, step) in steps {
        let place = usize::from(number);
        let ask = team.billing.asks(&format!("document {number}")).with(FIRST);
        let known = permits[place].as_ref().map(|permit| permit.id);
        match step {
            Step::Begin => {
                if let Ok(decision @ Decision::Proceed { .. }) = ask.answer().await {
                    permits[place] = Some(Permit::of(decision));
                }
            }
            Step::Confirm => {
                if let Some(permit) = &permits[place] {
                    drop(team.billing.confirms(permit, "task-1").await);
                }
            }
            Step::Fail => {
                if let Some(permit) = &permits[place] {
                    drop(team.billing.fails(permit, "refused").await);
                }
            }
            Step::Lose => {
                if let Some(permit) = &permits[place] {
                    drop(team.billing.is_unsure(permit, "lost").await);
                }
            }
            Step::Resolve => {
                if let Some(id) = known {
                    drop(ada.confirms(id, "task-1").await);
                }
            }
            Step::Changed => drop(ask.with(OTHER).answer().await),
            Step::Hold(scope) => {
                if let Some(id) = known {
                    let version = team.world.operation(id).await.version;
                    drop(guard.place_hold(&team.fay, id, version, scope, "an audit").await);
                }
            }
            Step::Lift(scope) => {
                if let Some(id) = known {
                    let version = team.world.operation(id).await.version;
                    drop(guard.lift_hold(&team.fay, id, version, scope, "it is over").await);
                }
            }
            Step::Days(days) => team.advance(days),
            Step::Sweep => {
                let before = memory.every_operation();
                team.sweep().await;
                let until = guard.now() - chrono::TimeDelta::days(DAYS.into());
                for operation in before {
                    let is_free = unsettled(&operation).is_none()
                        && guard.holds_on(&operation).await.unwrap().is_empty()
                        && operation.updated_at <= until;
                    let now = memory.operation(operation.id).await.unwrap().unwrap();
                    let kept = memory.bodies(operation.id).await.unwrap();
                    if is_free {
                        assert!(kept.is_empty() && !now.content.keeps_some(), "{operation:?} keeps {kept:?}");
                    } else {
                        assert_eq!(now, operation, "what is not free is not touched");
                        let is_new = matches!(operation.content, Content::Kept);
                        assert!(!is_new || team.keeps_payload(operation.id).await, "{operation:?} lost its payload");
                    }
                    assert_eq!(
                        (&now.key, now.fingerprint, &now.state),
                        (&operation.key, operation.fingerprint, &operation.state)
                    );
                    assert_chain(&now, &team.world.entries(now.id));
                }
            }
        }
        for operation in memory.every_operation() {
            assert_eq!(
                operation.content.dropped_at().is_none(),
                team.keeps_payload(operation.id).await,
                "{operation:?}"
            );
        }
    }
    // Whatever was dropped, what is confirmed is never sent again, and another payload never passes.
    for operation in memory.every_operation() {
        if operation.state.name() == StateName::Confirmed {
            let ask = team.billing.asks(operation.key.document.as_str()).with(FIRST);
            assert_eq!(ask.hears().await, "replay");
            let ask = team.billing.asks(operation.key.document.as_str()).with(OTHER);
            assert_eq!(ask.hears().await, "conflict");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn only_what_is_settled_and_free_is_dropped_and_nothing_is_forgotten(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(walk(steps));
    }
}
