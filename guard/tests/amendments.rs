//! A genuine change is proposed, approved by others, sent once, and never confused with a retry.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

#[path = "support/world.rs"]
mod world;

use std::collections::BTreeSet;

use guard::actor::Actor;
use guard::amendment::{Amendment, AmendmentState, AmendmentStateName, Shown};
use guard::decision::{Amends, Decision};
use guard::id::{AmendmentId, OperationId};
use guard::lookup::{AnswerClass, Finding, Looked};
use guard::person::{Person, Role};
use guard::queue::PageRequest;
use guard::refusal::Refusal;
use guard::service::{Approving, Proposer};
use guard::state::StateName;
use guard::token::{Reach, Scope, Token};
use guard::workflow::{AmendmentRules, Correction, KeyField, Workflow};
use insta::assert_snapshot;
use world::{Permit, Worker, World, handoff, ledger, payload};

const FIRST: &str = r#"{"amount":"118.00","currency":"INR"}"#;
const SECOND: &str = r#"{"amount":"236.00","currency":"INR"}"#;
const THIRD: &str = r#"{"amount":"354.00","currency":"INR"}"#;

fn rules() -> AmendmentRules {
    AmendmentRules {
        amendable: vec!["/amount".parse().unwrap()],
        before_reconciliation: Correction::Amend,
        after_reconciliation: Correction::ReverseAndRepost,
        second_approval_over: Some("1000.00".to_owned()),
        ..AmendmentRules::default()
    }
}

fn amendable() -> Workflow {
    Workflow { amendment: rules(), ..handoff() }
}

struct Team {
    world: World,
    billing: Worker,
    proposing: Token,
}

impl Team {
    async fn new() -> Self {
        Self::with(amendable()).await
    }

    async fn with(workflow: Workflow) -> Self {
        let world = World::with(vec![workflow]).await;
        let billing = world.worker("billing").await;
        let scopes = BTreeSet::from([Scope::AmendmentsPropose]);
        let made = world.guard.create_token("proposing", scopes, Reach::EVERYTHING, &Actor::CommandLine).await;
        Self { billing, proposing: made.unwrap().0, world }
    }

    fn person(&self, name: &str, role: Role) -> Person {
        Person { email: format!("{name}@example.test"), ..self.world.person(role).person }
    }

    fn finance(&self, name: &str) -> Person {
        self.person(name, Role::Finance)
    }

    /// The first revision, confirmed.
    async fn confirmed(&self, document: &str) -> OperationId {
        let permit = self.billing.owns(document).await;
        self.billing.confirms(&permit, "task-907").await.unwrap().id
    }

    async fn proposes(&self, base: OperationId, text: &str) -> Result<Amendment, Refusal> {
        let who = Proposer::Token(&self.proposing);
        self.world.guard.propose(who, base, payload(text), "quantity changed", None, None).await
    }

    async fn person_proposes(&self, person: &Person, base: OperationId, text: &str) -> Result<Amendment, Refusal> {
        let who = Proposer::Person(person);
        self.world.guard.propose(who, base, payload(text), "quantity changed", None, None).await
    }

    async fn approves(&self, person: &Person, id: AmendmentId) -> Result<Amendment, Refusal> {
        self.approves_seeing(person, id, None, false).await
    }

    async fn approves_seeing(
        &self,
        person: &Person,
        id: AmendmentId,
        looked: Option<Looked>,
        despite_uncertainty: bool,
    ) -> Result<Amendment, Refusal> {
        let seen_version = self.version_of(id).await;
        let approving = Approving { seen_version, reason: None, looked, despite_uncertainty };
        self.world.guard.approve(person, id, &approving).await
    }

    async fn version_of(&self, id: AmendmentId) -> u64 {
        let amendment = self.amendment(id).await;
        self.world.operation(amendment.operation).await.version
    }

    async fn amendment(&self, id: AmendmentId) -> Amendment {
        self.world.guard.amendment(&Reach::EVERYTHING, id).await.unwrap()
    }

    /// Proposed by the automation, approved by Grace.
    async fn approved(&self, base: OperationId, text: &str) -> Amendment {
        let proposed = self.proposes(base, text).await.unwrap();
        self.approves(&self.finance("grace"), proposed.id).await.unwrap()
    }

    async fn asks(&self, document: &str, revision: u32, text: &str) -> Decision {
        self.billing.asks(document).at_revision(revision).with(text).decision().await
    }

    async fn hears(&self, document: &str, revision: u32, text: &str) -> &'static str {
        self.asks(document, revision, text).await.name().as_str()
    }

    /// Begins a revision and confirms it.
    async fn applies(&self, document: &str, revision: u32, text: &str, reference: &str) -> OperationId {
        let permit = Permit::of(self.asks(document, revision, text).await);
        self.billing.confirms(&permit, reference).await.unwrap().id
    }
}

fn looked(finding: Finding) -> Option<Looked> {
    Some(Looked {
        request: "GET http://127.0.0.1:1/tasks".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 3,
        finding,
        candidates: Vec::new(),
    })
}

#[tokio::test]
async fn a_change_is_proposed_approved_sent_once_and_supersedes() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    assert_eq!(team.hears("812", 2, SECOND).await, "approval_missing");

    let proposed = team.proposes(base, SECOND).await.unwrap();
    assert_eq!((proposed.revision, proposed.state.name()), (2, AmendmentStateName::AwaitingApproval));
    assert_eq!(proposed.changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(), ["/amount"]);
    let money = team.world.operation(proposed.operation).await.money.unwrap();
    assert_eq!(money.amount.to_string(), "236.00", "of the new revision's own payload");
    assert_eq!(team.hears("812", 2, SECOND).await, "awaiting_approval");

    team.approves(&team.finance("grace"), proposed.id).await.unwrap();
    let decision = team.asks("812", 2, SECOND).await;
    let Decision::Proceed { amends: Some(amends), .. } = &decision else { panic!("{decision:?}") };
    let Amends { correction, previous, record: _, payload } = &**amends;
    assert_eq!((*correction, previous.id, previous.key.revision), (Correction::Amend, base, 1));
    assert_eq!(previous.state.destination_reference(), Some("task-907"));
    assert_eq!(payload.as_ref().unwrap().to_text(), FIRST);
    assert_eq!(team.hears("812", 2, SECOND).await, "in_progress", "sent once");
    let permit = Permit::of(decision);
    assert_eq!(permit.attempt, 1);
    team.billing.confirms(&permit, "task-907").await.unwrap();

    assert_eq!(team.world.operation(base).await.superseded_by, Some(permit.id));
    let old = team.asks("812", 1, FIRST).await;
    let Decision::Superseded { current, .. } = old else { panic!("{old:?}") };
    assert_eq!(current.id, permit.id);
    assert_eq!(team.hears("812", 2, SECOND).await, "replay");
    assert_eq!(team.hears("812", 1, SECOND).await, "conflict", "a changed payload wins");
    assert_eq!(team.amendment(proposed.id).await.state.name(), AmendmentStateName::Begun);
    assert_eq!(team.world.told(permit.id), ["amendment_proposed", "amendment_approved", "begun", "reported"]);
}

#[tokio::test]
async fn what_is_not_the_latest_confirmed_revision_is_not_amended() {
    let team = Team::new().await;
    let permit = team.billing.owns("812").await;
    assert_snapshot!(team.proposes(permit.id, SECOND).await.unwrap_err(), @"an operation that is sending cannot be amended; only a confirmed revision is");
    team.billing.is_unsure(&permit, "timed out").await.unwrap();
    assert!(matches!(team.proposes(permit.id, SECOND).await, Err(Refusal::Impossible { .. })));
    // C22: nothing of a later revision goes out while the first one is uncertain.
    assert_eq!(team.hears("812", 2, SECOND).await, "previous_revision");
    team.billing.confirms(&permit, "task-907").await.unwrap();
    team.approved(permit.id, SECOND).await;
    team.applies("812", 2, SECOND, "task-907").await;
    assert_snapshot!(team.proposes(permit.id, THIRD).await.unwrap_err(), @"an operation that is confirmed cannot be amended where revision 2 is confirmed; propose the change on the latest one");
    assert_eq!(team.hears("812", 4, THIRD).await, "previous_revision", "a gap");
    assert_eq!(team.hears("812", 3, THIRD).await, "approval_missing");
}

#[tokio::test]
async fn rules_say_what_may_change() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let refused = team.proposes(base, r#"{"amount":"236.00","currency":"USD"}"#).await.unwrap_err();
    assert_snapshot!(refused, @"the workflow forbids this change: /currency: only /amount may be changed");
    let Refusal::RuleViolation { changes, changes_total, violations } = refused else { panic!() };
    assert_eq!((changes.len(), changes_total, violations.len()), (2, 2, 1));

    assert_eq!(team.proposes(base, FIRST).await, Err(Refusal::NoChange));
    let sent =
        |amount: &str, attempt| format!(r#"{{"amount":"{amount}","currency":"INR","meta":{{"attempt":{attempt}}}}}"#);
    let permit = team.billing.asks("813").with(&sent("118.00", 1)).permit().await;
    team.billing.confirms(&permit, "task-908").await.unwrap();
    let repeated = team.proposes(permit.id, &sent("118.00", 2)).await;
    assert_eq!(repeated, Err(Refusal::NoChange), "a volatile field never counts");
    assert_eq!(team.proposes(permit.id, &sent("236.00", 2)).await.unwrap().changes_total, 1);
}

fn first_page() -> PageRequest {
    PageRequest { cursor: None, limit: 50 }
}

#[tokio::test]
async fn a_workflow_that_forbids_corrections_lets_nothing_be_proposed() {
    let forbids = AmendmentRules { before_reconciliation: Correction::Forbid, ..rules() };
    let team = Team::with(Workflow { amendment: forbids, ..handoff() }).await;
    let base = team.confirmed("812").await;
    assert_snapshot!(team.proposes(base, SECOND).await.unwrap_err(), @r#"the workflow forbids this change: : the correction is "forbid": before_reconciliation applies: the operation lies in no closed period, and no reconciliation has matched it"#);
}

#[tokio::test]
async fn one_proposal_is_open_at_a_time() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let open = team.proposes(base, SECOND).await.unwrap();
    let Err(Refusal::AmendmentOpen { amendment, operation, revision, state }) = team.proposes(base, THIRD).await else {
        panic!()
    };
    assert_eq!((amendment, operation, revision), (Some(open.id), open.operation, 2));
    assert_eq!(state, StateName::AwaitingApproval);
    team.approves(&team.finance("grace"), open.id).await.unwrap();
    assert!(matches!(team.proposes(base, THIRD).await, Err(Refusal::AmendmentOpen { .. })), "approved is open too");
}

#[tokio::test]
async fn the_proposer_and_whoever_stands_behind_the_proposal_cannot_approve() {
    let team = Team::new().await;
    let grace = team.finance("grace");
    let base = team.confirmed("812").await;
    let own = team.person_proposes(&grace, base, SECOND).await.unwrap();
    assert_snapshot!(team.approves(&grace, own.id).await.unwrap_err(), @"not allowed: you proposed it; somebody else approves it");

    let scopes = BTreeSet::from([Scope::AmendmentsPropose]);
    let behind = Actor::Person { email: grace.email.clone() };
    let (token, _) = team.world.guard.create_token("graces", scopes, Reach::EVERYTHING, &behind).await.unwrap();
    let base = team.confirmed("813").await;
    let by_token = Proposer::Token(&token);
    let made = team.world.guard.propose(by_token, base, payload(SECOND), "why", None, None).await.unwrap();
    assert_snapshot!(team.approves(&grace, made.id).await.unwrap_err(), @"not allowed: it was proposed with a token that you made; somebody else approves it");

    let base = team.confirmed("814").await;
    let who = Proposer::Token(&team.proposing);
    let named = Some(" Grace@Example.Test ");
    let asked = team.world.guard.propose(who, base, payload(SECOND), "why", named, None).await.unwrap();
    assert_snapshot!(team.approves(&grace, asked.id).await.unwrap_err(), @"not allowed: the proposal names you as the one who asked for it; somebody else approves it");

    for role in [Role::Viewer, Role::Operator, Role::Admin] {
        let refused = team.approves(&team.person("otto", role), asked.id).await;
        assert!(matches!(refused, Err(Refusal::Forbidden { .. })), "{role:?}");
    }
    team.approves(&team.finance("joan"), asked.id).await.unwrap();
}

#[tokio::test]
async fn above_the_amount_two_different_people_approve() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let large = r#"{"amount":"-1000.01","currency":"INR"}"#;
    let proposed = team.proposes(base, large).await.unwrap();
    assert_eq!(proposed.approvals_needed, 2);
    let (grace, joan) = (team.finance("grace"), team.finance("joan"));
    let once = team.approves(&grace, proposed.id).await.unwrap();
    assert_eq!((once.state.name(), once.approvals_missing()), (AmendmentStateName::AwaitingApproval, 1));
    assert_eq!(team.hears("812", 2, large).await, "awaiting_approval");
    assert_snapshot!(team.approves(&grace, proposed.id).await.unwrap_err(), @"not allowed: you have approved it; a second person is needed");
    let twice = team.approves(&joan, proposed.id).await.unwrap();
    assert_eq!(twice.state.name(), AmendmentStateName::Approved);
    assert_eq!(team.hears("812", 2, large).await, "proceed");

    let base = team.confirmed("813").await;
    let unreadable = team.proposes(base, r#"{"amount":"much","currency":"INR"}"#).await.unwrap();
    assert_eq!(unreadable.approvals_needed, 2, "what cannot be read may be anything");
}

#[tokio::test]
async fn two_tabs_decide_once() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    let seen_version = team.version_of(proposed.id).await;
    let approving = Approving { seen_version, reason: None, looked: None, despite_uncertainty: false };
    let (grace, joan) = (team.finance("grace"), team.finance("joan"));
    team.world.guard.approve(&grace, proposed.id, &approving).await.unwrap();
    let late = team.world.guard.approve(&joan, proposed.id, &approving).await;
    let Err(Refusal::Stale { by, state, .. }) = late else { panic!("{late:?}") };
    assert_eq!((by, state), (Actor::Person { email: grace.email.clone() }, StateName::Released));
    let late = team.world.guard.reject(&joan, proposed.id, seen_version, "no").await;
    assert!(matches!(late, Err(Refusal::Stale { .. })), "{late:?}");
    let again = team.world.guard.reject(&joan, proposed.id, seen_version + 1, "no").await;
    assert_snapshot!(again.unwrap_err(), @"an operation that is released cannot be rejected: its amendment is approved");
}

#[tokio::test]
async fn a_begin_with_another_payload_than_the_approved_one_is_a_conflict() {
    // C41
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let approved = team.approved(base, SECOND).await;
    assert_eq!(team.hears("812", 2, THIRD).await, "conflict");
    assert_eq!(team.world.state(approved.operation).await, StateName::Released, "and nothing moved");
    assert_eq!(team.hears("812", 2, SECOND).await, "proceed");
}

#[tokio::test]
async fn a_rejected_change_stays_readable_and_is_proposed_anew() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let first = team.proposes(base, SECOND).await.unwrap();
    let grace = team.finance("grace");
    let seen = team.version_of(first.id).await;
    team.world.guard.reject(&grace, first.id, seen, "the customer did not agree").await.unwrap();
    assert_eq!(team.hears("812", 2, SECOND).await, "rejected");
    assert_eq!(team.hears("812", 2, THIRD).await, "conflict");

    let second = team.proposes(base, THIRD).await.unwrap();
    assert_eq!((second.operation, second.revision), (first.operation, 2), "the revision is used again");
    assert_ne!(second.id, first.id);
    assert_eq!(team.hears("812", 2, THIRD).await, "awaiting_approval");
    assert_eq!(team.hears("812", 2, SECOND).await, "conflict");
    assert_eq!(team.world.operation(second.operation).await.money.unwrap().amount.to_string(), "354.00");
    team.approves(&grace, second.id).await.unwrap();
    team.applies("812", 2, THIRD, "task-907").await;

    let kept = team.amendment(first.id).await;
    let AmendmentState::Rejected { by, reason, .. } = &kept.state else { panic!("{kept:?}") };
    assert_eq!(
        (by.to_string(), reason.as_str()),
        ("person:grace@example.test".to_owned(), "the customer did not agree")
    );
    let text = team.world.guard.amendment_payload(&Reach::EVERYTHING, first.id).await.unwrap();
    assert_eq!(text.as_deref(), Some(SECOND));
}

#[tokio::test]
async fn a_proposal_is_withdrawn_before_it_is_sent_and_never_after() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let approved = team.approved(base, SECOND).await;
    let otto = team.person("otto", Role::Operator);
    let withdraw = async |id: AmendmentId| {
        let seen = team.version_of(id).await;
        team.world.guard.withdraw(&otto, id, seen, "a mistake").await
    };
    withdraw(approved.id).await.unwrap();
    assert_eq!(team.hears("812", 2, SECOND).await, "rejected");
    let again = team.approved(base, SECOND).await;
    let permit = Permit::of(team.asks("812", 2, SECOND).await);
    assert_snapshot!(withdraw(again.id).await.unwrap_err(), @"an operation that is sending cannot be withdrawn");
    team.billing.is_unsure(&permit, "timed out").await.unwrap();
    assert!(withdraw(again.id).await.is_err(), "nobody knows whether it was applied");

    // Proven not applied: another change may be wanted. What its worker says later is not lost.
    team.billing.fails(&permit, "refused").await.unwrap();
    withdraw(again.id).await.unwrap();
    let third = team.proposes(base, THIRD).await.unwrap();
    team.billing.confirms(&permit, "task-908").await.unwrap_err();
    assert_eq!(team.world.state(third.operation).await, StateName::Disputed);
    assert_eq!(team.amendment(third.id).await.state.name(), AmendmentStateName::Void);
    team.world.operator().denies(third.operation).await.unwrap();
    assert_eq!(team.hears("812", 2, THIRD).await, "previous_revision", "nobody approved that payload");
    assert_eq!(team.hears("812", 2, THIRD).await, "previous_revision");
}

#[tokio::test]
async fn a_proposal_that_nobody_decides_expires() {
    let team =
        Team::with(Workflow { amendment: AmendmentRules { proposal_days: Some(2), ..rules() }, ..handoff() }).await;
    let base = team.confirmed("812").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    team.world.clock.advance(2 * 24 * 3_600 - 1);
    assert_eq!(team.world.guard.expire_proposals(10).await, Ok(0));
    team.world.clock.advance(1);
    let late = team.approves(&team.finance("grace"), proposed.id).await;
    assert!(matches!(late, Err(Refusal::Stale { by: Actor::Sweeper, .. })), "{late:?}");
    assert_eq!(team.world.guard.expire_proposals(10).await, Ok(0), "it is over already");
    assert_eq!(team.amendment(proposed.id).await.state.name(), AmendmentStateName::Expired);
    assert_eq!(team.hears("812", 2, SECOND).await, "rejected");
    let again = team.proposes(base, SECOND).await.unwrap();
    team.world.clock.advance(2 * 24 * 3_600);
    assert_eq!(team.world.guard.expire_proposals(10).await, Ok(1));
    assert_eq!(team.amendment(again.id).await.state.name(), AmendmentStateName::Expired);
}

#[tokio::test]
async fn an_approval_is_void_where_its_base_moved() {
    let team = Team::new().await;
    let permit = team.billing.owns("812").await;
    team.billing.confirms(&permit, "task-907").await.unwrap();
    let approved = team.approved(permit.id, SECOND).await;
    // The same worker tells of another record: two may be there.
    team.billing.confirms(&permit, "task-908").await.unwrap_err();
    for _ in 0..2 {
        let decision = team.asks("812", 2, SECOND).await;
        let Decision::PreviousRevision { previous: Some(previous), reason: Some(reason) } = decision else { panic!() };
        assert_eq!((previous.id, reason.as_str()), (permit.id, "revision 1 is disputed, no longer confirmed"));
    }
    assert_eq!(team.amendment(approved.id).await.state.name(), AmendmentStateName::Void);

    // Settled again, it is a base again; the old approval does not come back.
    team.world.operator().confirms(permit.id, "task-907").await.unwrap();
    assert_eq!(team.hears("812", 2, SECOND).await, "previous_revision");
    team.approved(permit.id, SECOND).await;
    team.applies("812", 2, SECOND, "task-907").await;
}

#[tokio::test]
async fn an_approval_is_refused_where_the_base_moved() {
    let team = Team::new().await;
    let permit = team.billing.owns("812").await;
    team.billing.confirms(&permit, "task-907").await.unwrap();
    let proposed = team.proposes(permit.id, SECOND).await.unwrap();
    team.billing.confirms(&permit, "task-908").await.unwrap_err();
    let grace = team.finance("grace");
    assert_snapshot!(team.approves(&grace, proposed.id).await.unwrap_err(), @"the base has moved: revision 1 is disputed, no longer confirmed");
    team.world.clock.advance(1);
    team.world.operator().confirms(permit.id, "task-907").await.unwrap();
    assert_snapshot!(team.approves(&grace, proposed.id).await.unwrap_err(), @r#"the base has moved: revision 1 was settled anew at 2026-03-01T09:00:01.000Z as "task-907""#);
}

#[tokio::test]
async fn an_approval_is_void_where_the_rules_make_another_correction_now() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    team.approved(base, SECOND).await;
    let stricter = AmendmentRules { before_reconciliation: Correction::ReverseAndRepost, ..rules() };
    team.world.apply(vec![Workflow { amendment: stricter, ..handoff() }]).await;
    let decision = team.asks("812", 2, SECOND).await;
    let Decision::PreviousRevision { reason: Some(reason), .. } = decision else { panic!("{decision:?}") };
    assert_snapshot!(reason, @r#"the correction was "amend" when it was proposed and is "reverse_and_repost" now: before_reconciliation applies: the operation lies in no closed period, and no reconciliation has matched it"#);
}

#[tokio::test]
async fn what_was_reconciled_follows_the_rule_after_reconciliation() {
    let team = Team::new().await;
    let base = team.confirmed("order-1").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    assert_eq!(proposed.ruled.correction, Correction::Amend);
    team.world.memory.force_reconciled(base, team.world.guard.now(), guard::reconciliation::Bucket::Matched);
    let reason = team.approves(&team.finance("grace"), proposed.id).await.unwrap_err();
    assert_snapshot!(reason, @r#"the base has moved: the correction was "amend" when it was proposed and is "reverse_and_repost" now: after_reconciliation applies: the reconciliation of 2026-03-01T09:00:00.000Z matched it with the destination's record"#);
    let version = team.version_of(proposed.id).await;
    team.world.guard.withdraw(&team.finance("grace"), proposed.id, version, "anew").await.unwrap();
    assert_eq!(team.proposes(base, SECOND).await.unwrap().ruled.correction, Correction::ReverseAndRepost);
    // Found otherwise by the last one, it is not reconciled any more.
    let other = team.confirmed("order-2").await;
    team.world.memory.force_reconciled(other, team.world.guard.now(), guard::reconciliation::Bucket::Mismatched);
    assert_eq!(team.proposes(other, SECOND).await.unwrap().ruled.correction, Correction::Amend);
}

#[tokio::test]
async fn an_approval_rests_on_what_the_destination_shows() {
    let team = Team::new().await;
    let key_fields = vec![KeyField {
        payload: "/amount".parse().unwrap(),
        record: "$.total".to_owned(),
        compare: guard::workflow::Comparison::Decimal,
    }];
    let asked = Workflow { destination: Some("ledger".to_owned()), key_fields, ..amendable() };
    team.world.configure(vec![asked], vec![ledger(Some(30))]).await;
    let base = team.confirmed("812").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    let grace = team.finance("grace");
    assert_snapshot!(team.approves(&grace, proposed.id).await.unwrap_err(), @"the destination could not be asked whether it still holds the base: it was not asked");
    let found = |reference: &str| looked(Finding::Found { destination_reference: reference.to_owned() });
    let shows = async |finding| team.approves_seeing(&grace, proposed.id, finding, true).await;
    assert_snapshot!(shows(found("task-1")).await.unwrap_err(), @r#"the base has moved: the destination shows the record "task-1", not "task-907". Find out there what became of it: until it shows "task-907" as it was, the change can be rejected or withdrawn, and not approved"#);
    assert_snapshot!(shows(looked(Finding::Absent)).await.unwrap_err(), @r#"the base has moved: the destination shows no record of the base. Find out there what became of it: until it shows "task-907" as it was, the change can be rejected or withdrawn, and not approved"#);
    let timeout =
        || looked(Finding::Inconclusive { class: AnswerClass::Timeout, reason: "no answer in 10 s".to_owned() });
    let unsure = team.approves_seeing(&grace, proposed.id, timeout(), false).await;
    assert_snapshot!(unsure.unwrap_err(), @"the destination could not be asked whether it still holds the base: no answer in 10 s");
    let approved = shows(timeout()).await.unwrap();
    assert_eq!(approved.approvals[0].shown, Shown::Inconclusive { reason: "no answer in 10 s".to_owned() });

    let base = team.confirmed("813").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    let approved = team.approves_seeing(&grace, proposed.id, found("task-907"), false).await.unwrap();
    assert_eq!(approved.approvals[0].shown, Shown::Agrees);
    let entry = team.world.entries(proposed.operation).pop().unwrap();
    assert_eq!(entry.actor.to_string(), "person:grace@example.test");
    for name in [
        "amendment",
        "seen_fingerprint",
        "base",
        "base_fingerprint",
        "correction",
        "rule_version",
        "destination_showed",
    ] {
        assert!(entry.detail.member(name).is_some(), "{name}");
    }
}

#[tokio::test]
async fn old_events_never_run_on_top_of_newer_ones() {
    // C40, C42
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    team.approved(base, SECOND).await;
    let second = team.applies("812", 2, SECOND, "task-907").await;
    team.approved(second, THIRD).await;
    let third = team.applies("812", 3, THIRD, "task-907").await;
    for (revision, text) in [(1, FIRST), (2, SECOND)] {
        let Decision::Superseded { current, .. } = team.asks("812", revision, text).await else { panic!() };
        assert_eq!(current.id, third);
    }
    assert_eq!(team.hears("812", 3, THIRD).await, "replay");

    // Two partial refunds of one bill are two operations once they have numbers of their own.
    assert_eq!(team.hears("BILL-1", 1, FIRST).await, "proceed");
    assert_eq!(team.hears("BILL-1", 1, SECOND).await, "conflict");
    assert_eq!(team.hears("BILL-1#R2", 1, SECOND).await, "proceed");
}

#[tokio::test]
async fn a_proposal_whose_stored_answer_was_lost_is_made_once() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    team.world.memory.disturb(1, world::Fault::IsRetried);
    let proposed = team.proposes(base, SECOND).await.unwrap();
    let seen = team.version_of(proposed.id).await;
    team.world.guard.reject(&team.finance("grace"), proposed.id, seen, "no").await.unwrap();
    assert_eq!(team.world.guard.amendments(&Reach::EVERYTHING, None, &first_page()).await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn what_lies_outside_reach_looks_as_if_it_did_not_exist() {
    let team = Team::new().await;
    let base = team.confirmed("812").await;
    let proposed = team.proposes(base, SECOND).await.unwrap();
    let elsewhere = Reach::over(["other".to_owned()], []);
    let outsider = Person { reach: elsewhere.clone(), ..team.finance("eve") };
    assert_eq!(team.approves(&outsider, proposed.id).await, Err(Refusal::not_found("amendment")));
    assert_eq!(team.person_proposes(&outsider, base, THIRD).await, Err(Refusal::not_found("operation")));
    assert!(team.world.guard.amendments(&elsewhere, None, &first_page()).await.unwrap().rows.is_empty());
    let reader = Token { scopes: BTreeSet::from([Scope::OperationsRead]), ..team.proposing.clone() };
    let refused = team.world.guard.propose(Proposer::Token(&reader), base, payload(THIRD), "why", None, None).await;
    assert!(matches!(refused, Err(Refusal::Forbidden { .. })));
}

/// A record that is changed in place may keep the reference of the revision before it. Not to find the new reference then proves
/// nothing; a new record that is not found is proven absent as ever.
#[tokio::test]
async fn not_to_find_what_is_changed_in_place_is_no_proof() {
    for (correction, state) in [(Correction::Amend, StateName::Unknown), (Correction::Replace, StateName::Failed)] {
        let team = Team::new().await;
        let amendment = AmendmentRules { before_reconciliation: correction, ..rules() };
        let asked = Workflow { destination: Some("ledger".to_owned()), amendment, ..handoff() };
        team.world.configure(vec![asked], vec![ledger(Some(30))]).await;
        let base = team.confirmed("812").await;
        let proposed = team.proposes(base, SECOND).await.unwrap();
        let held = looked(Finding::Found { destination_reference: "task-907".to_owned() });
        team.approves_seeing(&team.finance("grace"), proposed.id, held, false).await.unwrap();
        let permit = Permit::of(team.asks("812", 2, SECOND).await);
        team.billing.is_unsure(&permit, "timed out").await.unwrap();
        for _ in 0..3 {
            team.world.clock.advance(3_600);
            let now = guard::clock::Clock::now(&*team.world.clock);
            let absent = looked(Finding::Absent).unwrap();
            team.world.guard.looked_up(permit.id, now, &absent).await.unwrap();
        }
        assert_eq!(team.world.state(permit.id).await, state, "{correction:?}");
    }
}
