//! A record is taken back by an operation of its own: asked by one person, approved by another, sent once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "support/world.rs"]
mod world;

use guard::amendment::{Amendment, AmendmentStateName};
use guard::decision::{Decision, DecisionName};
use guard::event::Outcome;
use guard::id::OperationId;
use guard::key::KeyPart;
use guard::lookup::{Finding, Looked};
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::service::{Approving, AskedReversal, Proposer};
use guard::state::StateName;
use guard::store::Store as _;
use guard::token::Reach;
use guard::workflow::{AmendmentRules, Correction, Workflow};
use insta::assert_snapshot;
use world::{Permit, Worker, World, assert_chain, handoff, ledger, payload};

const FIRST: &str = r#"{"amount":"118.00","currency":"INR"}"#;
const SECOND: &str = r#"{"amount":"236.00","currency":"INR"}"#;

struct Team {
    world: World,
    billing: Worker,
}

impl Team {
    async fn new() -> Self {
        let rules = AmendmentRules {
            amendable: vec!["/amount".parse().unwrap()],
            before_reconciliation: Correction::Amend,
            second_approval_over: Some("1000.00".to_owned()),
            ..AmendmentRules::default()
        };
        Self::with(Workflow { amendment: rules, ..handoff() }).await
    }

    async fn with(workflow: Workflow) -> Self {
        let world = World::with(vec![workflow]).await;
        Self { billing: world.worker("billing").await, world }
    }

    fn person(&self, name: &str, role: Role) -> Person {
        Person { email: format!("{name}@example.test"), ..self.world.person(role).person }
    }

    async fn confirmed(&self, document: &str) -> OperationId {
        let permit = self.billing.owns(document).await;
        self.billing.confirms(&permit, "task-907").await.unwrap().id
    }

    /// An operation of which an earlier attempt made a record, too.
    async fn doubled(&self, document: &str) -> OperationId {
        let first = self.billing.owns(document).await;
        self.billing.fails(&first, "refused, it seemed").await.unwrap();
        let second = self.billing.asks(document).permit().await;
        self.billing.confirms(&second, "task-908").await.unwrap();
        let late = self.billing.reports(&first, Outcome::Confirmed { destination_reference: "task-907".into() }).await;
        assert_eq!(late.unwrap_err(), Refusal::StaleLease);
        assert_eq!(self.world.state(first.id).await, StateName::Disputed);
        first.id
    }

    async fn asks(&self, name: &str, of: OperationId, record: &str) -> Result<Amendment, Refusal> {
        let asked = AskedReversal { record, reason: "posted twice", requested_by: None };
        let seen = self.world.operation(of).await.version;
        self.world.guard.ask_reversal(&self.person(name, Role::Operator), of, seen, asked).await
    }

    async fn approves(&self, name: &str, amendment: &Amendment) -> Result<Amendment, Refusal> {
        self.approves_seeing(name, amendment, None).await
    }

    async fn approves_seeing(
        &self,
        name: &str,
        amendment: &Amendment,
        looked: Option<Looked>,
    ) -> Result<Amendment, Refusal> {
        let seen_version = self.world.operation(amendment.operation).await.version;
        let approving = Approving { seen_version, reason: None, looked, despite_uncertainty: false };
        self.world.guard.approve(&self.person(name, Role::Finance), amendment.id, &approving).await
    }

    /// Begins the operation that takes a record back, with the payload that it was asked with.
    async fn begins(&self, operation: OperationId) -> Decision {
        let key = self.world.operation(operation).await.key;
        let text = self.world.guard.payload(&Reach::EVERYTHING, operation, key.revision).await.unwrap();
        let asks = self.billing.asks(key.document.as_str()).with_action(key.action.as_str());
        asks.at_revision(key.revision).with(&text).decision().await
    }

    async fn takes_back(&self, of: OperationId, record: &str, reference: &str) -> OperationId {
        let asked = self.asks("ada", of, record).await.unwrap();
        self.approves("grace", &asked).await.unwrap();
        let permit = Permit::of(self.begins(asked.operation).await);
        self.billing.confirms(&permit, reference).await.unwrap().id
    }
}

fn looked(finding: Finding) -> Option<Looked> {
    let (request, candidates) = ("GET /tasks".to_owned(), Vec::new());
    Some(Looked { request, status: Some(200), pages: 1, took_milliseconds: 1, finding, candidates })
}

#[tokio::test]
async fn a_record_is_taken_back_once() {
    let team = Team::new().await;
    let of = team.confirmed("order-1").await;
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    let reversal = team.world.operation(asked.operation).await;
    assert_eq!((reversal.key.action.as_str(), reversal.key.revision), ("reverse", 1));
    assert_eq!((reversal.state.name(), reversal.attempt_number()), (StateName::AwaitingApproval, 0));
    assert!(asked.is_reversal() && asked.changes.is_empty());
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::AwaitingApproval);

    let refused = team.approves("ada", &asked).await.unwrap_err();
    assert_snapshot!(refused, @"not allowed: you proposed it; somebody else approves it");
    let twice = team.asks("linus", of, "task-907").await.unwrap_err();
    assert!(matches!(&twice, Refusal::ReversalExists { operation, .. } if *operation == asked.operation), "{twice:?}");
    assert_eq!(team.approves("grace", &asked).await.unwrap().state.name(), AmendmentStateName::Approved);

    let begun = team.begins(asked.operation).await;
    let Decision::Proceed { operation, amends: Some(amends), .. } = &begun else {
        panic!("an approved reversal is begun");
    };
    assert_eq!((operation.id, amends.correction), (asked.operation, Correction::Reverse));
    assert_eq!((amends.previous.id, amends.record.as_deref()), (of, Some("task-907")));
    assert_eq!(amends.payload.as_ref().map(guard::payload::Payload::to_text).as_deref(), Some(FIRST));
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::InProgress, "never a second permission");
    team.world.clock.advance(90);
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::Unknown);
    team.billing.confirms(&Permit::of(begun), "credit-12").await.unwrap();
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::Replay, "taken back, and not again");
    let twice = team.asks("linus", of, "task-907").await.unwrap_err();
    assert_snapshot!(twice.to_string().replace(&asked.operation.to_string(), "…"), @r#"the record "task-907" has a reversal already, which is confirmed (operation …); no record is taken back twice"#);

    // It stays confirmed, and both sides tell of each other.
    let held = team.world.operation(of).await;
    assert_eq!(held.state.name(), StateName::Confirmed);
    assert_chain(&held, &team.world.entries(of));
    assert_eq!(team.world.told(of), ["begun", "reported", "reversal_asked", "reversed"]);
    let links = team.world.guard.reversals(&Reach::EVERYTHING, of).await.unwrap();
    assert_eq!((links.len(), links[0].operation, links[0].record.as_str()), (1, asked.operation, "task-907"));
    assert!(links[0].since.is_some());
    let back = team.world.guard.reverses(&Reach::EVERYTHING, asked.operation).await.unwrap().unwrap();
    assert_eq!((back.of, back.record.as_str()), (of, "task-907"));
    assert_eq!(team.billing.asks("order-1").hears().await, "replay", "the document was sent, once");
}

#[tokio::test]
async fn each_record_of_a_duplicate_has_a_reversal_of_its_own() {
    let team = Team::new().await;
    let of = team.doubled("order-1").await;
    let first = team.takes_back(of, "task-908", "void-1").await;
    let second = team.takes_back(of, "task-907", "void-2").await;
    assert_ne!(first, second);
    assert_eq!(team.world.operation(second).await.key.action.as_str(), "reverse-2");
    for record in ["task-907", "task-908"] {
        assert!(matches!(team.asks("ada", of, record).await, Err(Refusal::ReversalExists { .. })), "{record}");
    }
    let links = team.world.guard.reversals(&Reach::EVERYTHING, of).await.unwrap();
    let records: Vec<&str> = links.iter().map(|reversal| reversal.record.as_str()).collect();
    assert_eq!(records, ["task-908", "task-907"]);
    assert!(team.world.operation(first).await.superseded_by.is_none());
}

#[tokio::test]
async fn the_record_too_many_goes_and_the_other_one_is_settled_on() {
    let team = Team::new().await;
    let of = team.doubled("order-1").await;
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    // Meanwhile the dispute is settled on the other record, which is no obstacle.
    team.world.operator().confirms(of, "task-908").await.unwrap();
    team.approves("grace", &asked).await.unwrap();
    let permit = Permit::of(team.begins(asked.operation).await);
    team.billing.confirms(&permit, "void-1").await.unwrap();
    assert_eq!(team.billing.asks("order-1").hears().await, "replay");

    // Settled on the very record that shall go, it no longer goes.
    let other = team.doubled("order-2").await;
    let asked = team.asks("ada", other, "task-907").await.unwrap();
    team.approves("grace", &asked).await.unwrap();
    team.world.operator().confirms(other, "task-907").await.unwrap();
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::PreviousRevision);
    assert_eq!(team.world.state(asked.operation).await, StateName::Rejected);
}

#[tokio::test]
async fn what_came_to_nothing_is_asked_anew_under_the_same_key() {
    let team = Team::new().await;
    let of = team.confirmed("order-1").await;
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    let version = team.world.operation(asked.operation).await.version;
    let grace = team.person("grace", Role::Finance);
    team.world.guard.reject(&grace, asked.id, version, "it is right").await.unwrap();
    assert_eq!(team.begins(asked.operation).await.name(), DecisionName::Rejected);
    let anew = team.asks("ada", of, "task-907").await.unwrap();
    assert_eq!(anew.operation, asked.operation);
    assert_ne!(anew.id, asked.id);
    assert_eq!(team.world.told(of), ["begun", "reported", "reversal_asked", "reversal_asked"]);
}

#[tokio::test]
async fn a_record_is_not_changed_and_taken_back_at_once() {
    let team = Team::new().await;
    let (ada, grace) = (team.person("ada", Role::Operator), team.person("grace", Role::Finance));
    let propose = |base: OperationId| {
        let (guard, ada) = (&team.world.guard, &ada);
        async move { guard.propose(Proposer::Person(ada), base, payload(SECOND), "more", None, None).await }
    };
    let of = team.confirmed("order-1").await;
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    assert!(matches!(propose(of).await, Err(Refusal::ReversalExists { .. })));
    let version = team.world.operation(asked.operation).await.version;
    team.world.guard.withdraw(&ada, asked.id, version, "change it instead").await.unwrap();
    let change = propose(of).await.unwrap();
    assert!(matches!(team.asks("ada", of, "task-907").await, Err(Refusal::AmendmentOpen { .. })));
    let seen_version = team.world.operation(change.operation).await.version;
    let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
    team.world.guard.approve(&grace, change.id, &approving).await.unwrap();
    let permit = team.billing.asks("order-1").at_revision(2).with(SECOND).permit().await;
    team.billing.confirms(&permit, "task-907").await.unwrap();
    // The record is the newer revision's now.
    let refused = team.asks("ada", of, "task-907").await.unwrap_err();
    assert_snapshot!(refused, @"an operation that is confirmed cannot be reversed where revision 2 is confirmed; reverse the record on that one");
    let reversal = team.takes_back(permit.id, "task-907", "void-1").await;
    let key = team.world.operation(reversal).await.key;
    assert_eq!((key.action.as_str(), key.revision), ("reverse", 2));
    assert!(matches!(propose(permit.id).await, Err(Refusal::ReversalExists { .. })));
    assert!(matches!(propose(reversal).await, Err(Refusal::Impossible { .. })), "no amendment of a reversal");
    assert!(
        matches!(team.asks("ada", reversal, "void-1").await, Err(Refusal::Impossible { .. })),
        "and none of it back"
    );
}

#[tokio::test]
async fn nobody_begins_what_nobody_asked_for() {
    let team = Team::new().await;
    let of = team.confirmed("order-1").await;
    let refused = team.billing.asks("order-1").with_action("reverse").refusal().await;
    assert_snapshot!(refused, @r#"action: is "reverse", and nobody asked for a reversal of this revision; a person asks for it on the page of the operation"#);
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    team.approves("grace", &asked).await.unwrap();
    let other =
        team.billing.asks("order-1").with_action("reverse").with(r#"{"reverses":{"destination_reference":"task-1"}}"#);
    assert_eq!(other.hears().await, "conflict", "with another record than the approved one");
    let unconfirmed = team.billing.owns("order-2").await;
    let refused = team.asks("ada", unconfirmed.id, "task-1").await.unwrap_err();
    assert_snapshot!(refused, @"an operation that is sending cannot be reversed; only what is confirmed or disputed has a record to take back");
    let viewer = team.person("eve", Role::Viewer);
    let asked = AskedReversal { record: "task-907", reason: "x", requested_by: None };
    let seen = team.world.operation(of).await.version;
    assert!(matches!(team.world.guard.ask_reversal(&viewer, of, seen, asked).await, Err(Refusal::Forbidden { .. })));
}

#[tokio::test]
async fn an_action_of_the_workflow_with_that_name_stays_its_own() {
    let actions = ["create", "reverse"].map(|action| KeyPart::new(action).unwrap()).to_vec();
    let team = Team::with(Workflow { actions, ..handoff() }).await;
    let of = team.confirmed("order-1").await;
    let permit = team.billing.asks("order-1").with_action("reverse").permit().await;
    team.billing.confirms(&permit, "credit-1").await.unwrap();
    let refused = team.asks("ada", of, "task-907").await.unwrap_err();
    assert!(refused.to_string().contains(&permit.id.to_string()), "{refused}");
    let failing = team.billing.asks("order-2").with_action("reverse").permit().await;
    team.billing.fails(&failing, "refused").await.unwrap();
    assert_eq!(team.billing.asks("order-2").with_action("reverse").hears().await, "proceed", "without an approval");
}

#[tokio::test]
async fn an_approval_rests_on_the_record_at_the_destination() {
    let team = Team::new().await;
    let workflow = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    team.world.configure(vec![workflow], vec![ledger(Some(30))]).await;
    let of = team.doubled("order-1").await;
    let asked = team.asks("ada", of, "task-908").await.unwrap();
    let references = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let void = looked(Finding::VoidOnly { destination_references: references(&["task-908"]) });
    assert!(matches!(team.approves_seeing("grace", &asked, void).await, Err(Refusal::BaseMoved { .. })));
    for unseen in [Finding::Absent, Finding::Found { destination_reference: "task-907".into() }] {
        let refused = team.approves_seeing("grace", &asked, looked(unseen)).await;
        assert!(matches!(refused, Err(Refusal::BaseUncertain { .. })), "{refused:?}");
    }
    let both = looked(Finding::Several { destination_references: references(&["task-907", "task-908"]) });
    team.approves_seeing("grace", &asked, both).await.unwrap();
    // Not to find a record of its own proves nothing: no lookups are made for it.
    let permit = Permit::of(team.begins(asked.operation).await);
    team.billing.is_unsure(&permit, "timed out").await.unwrap();
    assert_eq!(team.world.memory.recovery(asked.operation).await.unwrap(), None);
    assert_eq!(team.world.guard.adopt_unknown().await.unwrap(), 0);
}

#[tokio::test]
async fn whoever_looks_tells_what_a_process_left_untold() {
    let team = Team::new().await;
    let of = team.confirmed("order-1").await;
    let asked = team.asks("ada", of, "task-907").await.unwrap();
    team.approves("grace", &asked).await.unwrap();
    let permit = Permit::of(team.begins(asked.operation).await);
    // The report is stored, what follows from it is not.
    team.world.memory.disturb(2, world::Fault::Fails(guard::refusal::StoreFault::Unavailable));
    team.billing.confirms(&permit, "void-1").await.unwrap();
    assert_eq!(team.world.told(of), ["begun", "reported", "reversal_asked"]);
    team.world.guard.reversals(&Reach::EVERYTHING, of).await.unwrap();
    assert_eq!(team.world.told(of), ["begun", "reported", "reversal_asked", "reversed"]);
    team.world.guard.reversals(&Reach::EVERYTHING, of).await.unwrap();
    assert_eq!(team.world.told(of).len(), 4, "once");
}
