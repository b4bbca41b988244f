//! Rules are proposed by one person and approved by another, and no file overwrites them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use std::sync::Arc;

use guard::actor::Actor;
use guard::id::{PersonId, RuleProposalId};
use guard::person::{Person, Role};
use guard::pointer::Pointer;
use guard::refusal::Refusal;
use guard::rules::{RuleChange, RuleProposal, RuleRefusal, RuleStanding, RuleVerdict};
use guard::service::{AppliedChange, Definitions};
use guard::store::Registry as _;
use guard::token::Reach;
use guard::workflow::{AmendmentRules, Correction, Workflow};
use insta::assert_snapshot;
use world::{HANDOFF, World, careful, handoff};

fn person(name: &str, role: Role) -> Person {
    let id = PersonId::new(world::start(), [u8::try_from(name.len()).unwrap(); 16]);
    Person { id, email: format!("{name}@example.test"), role, reach: Reach::EVERYTHING }
}

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

fn noise() -> RuleChange {
    RuleChange::leaving_out(&handoff(), pointer("/printed_at"))
}

fn lines_may_change() -> RuleChange {
    let amendment = AmendmentRules {
        amendable: vec!["/lines".parse().unwrap()],
        before_reconciliation: Correction::Amend,
        after_reconciliation: Correction::ReverseAndRepost,
        second_approval_over: Some("1000.00".to_owned()),
        proposal_days: Some(7),
        tell: vec!["books@example.test".to_owned()],
    };
    RuleChange { amendment: Some(amendment), ..RuleChange::default() }
}

async fn told(world: &World) -> Vec<String> {
    let entries = world.memory.administration_entries(0, 1_000).await.unwrap();
    let shown = entries.iter().skip(2).map(|entry| format!("{} {}", entry.actor, entry.kind.as_str()));
    shown.collect()
}

async fn propose(world: &World, by: &Person, change: RuleChange) -> Result<RuleProposal, Refusal> {
    world.guard.propose_rules(by, HANDOFF, change, "the printer writes the time").await
}

async fn decide(world: &World, by: &Person, id: RuleProposalId, verdict: RuleVerdict) -> Result<RuleProposal, Refusal> {
    world.guard.decide_rules(by, id, verdict, "seen on the conflicts of March").await
}

fn version(world: &World) -> u32 {
    world.guard.catalogue().workflows[HANDOFF].version
}

#[tokio::test]
async fn what_another_person_approves_is_the_next_version_and_is_stamped() {
    let world = World::new().await;
    let (fay, finn) = (person("fay", Role::Finance), person("finn", Role::Finance));
    let proposal = propose(&world, &fay, lines_may_change()).await.unwrap();
    assert_eq!((proposal.base_version, version(&world)), (1, 1), "a proposal changes nothing");
    let refusal = decide(&world, &fay, proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert_snapshot!(refusal, @"not allowed: whoever proposed it cannot decide it; another person does");

    let approved = decide(&world, &finn, proposal.id, RuleVerdict::Approve).await.unwrap();
    assert_eq!(approved.standing.version(), Some(2));
    let held = Arc::clone(&world.guard.catalogue().workflows[HANDOFF]);
    assert_eq!((held.version, Some(held.workflow.amendment.clone())), (2, lines_may_change().amendment));
    assert_eq!(held.workflow.volatile, handoff().volatile, "what was not proposed stays");

    let billing = world.worker("billing").await;
    let begun = world.operation(billing.owns("order-1").await.id).await;
    assert_eq!(begun.policy_version, 2, "what is begun from then on is stamped with the version");

    assert_eq!(
        told(&world).await,
        [
            "person:fay@example.test rules_proposed",
            "person:finn@example.test rules_approved",
            "person:finn@example.test workflow_applied",
            "system:command-line token_created",
        ]
    );
    let versions = world.guard.workflow_versions(HANDOFF).await.unwrap();
    let by: Vec<_> =
        versions.iter().map(|one| (one.held.version, one.changed.clone().unwrap().1.to_string())).collect();
    assert_eq!(by, [(2, "person:finn@example.test".to_owned()), (1, "system:command-line".to_owned())]);

    let again = decide(&world, &finn, proposal.id, RuleVerdict::Reject).await.unwrap_err();
    assert_snapshot!(again, @"it is approved already: decided by finn@example.test at 2026-03-01T09:00:00.000Z");
    assert_eq!(version(&world), 2);
}

#[tokio::test]
async fn roles_and_reach_say_who_proposes_and_who_decides() {
    let world = World::new().await;
    let refused = async |by: &Person, change| propose(&world, by, change).await.unwrap_err().to_string();
    let (opal, adam) = (person("opal", Role::Operator), person("adam", Role::Admin));
    assert_snapshot!(refused(&person("vic", Role::Viewer), noise()).await, @"not allowed: proposing a change of volatile needs the role finance, operator or admin");
    assert_snapshot!(refused(&adam, lines_may_change()).await, @"not allowed: proposing a change of amendment needs the role finance");

    let proposal = propose(&world, &opal, noise()).await.unwrap();
    let other_operator = person("otto", Role::Operator);
    let refusal = decide(&world, &other_operator, proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert_snapshot!(refusal, @"not allowed: deciding on volatile needs the role finance or admin");
    let of_one_company = Person { reach: Reach::over(["acme".to_owned()], []), ..adam.clone() };
    let refusal = decide(&world, &of_one_company, proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert_snapshot!(refusal, @"not allowed: the rules hold for every company, and you reach only some");
    let refusal = decide(&world, &adam, proposal.id, RuleVerdict::Withdraw).await.unwrap_err();
    assert_snapshot!(refusal, @"not allowed: only whoever proposed it can withdraw it");
    assert_eq!(version(&world), 1);
    decide(&world, &adam, proposal.id, RuleVerdict::Approve).await.unwrap();
    assert_eq!(version(&world), 2);

    let both = RuleChange { volatile: Some(Vec::new()), ..lines_may_change() };
    let proposal = propose(&world, &person("fay", Role::Finance), both).await.unwrap();
    let refusal = decide(&world, &adam, proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert_snapshot!(refusal, @"not allowed: deciding on amendment needs the role finance");
}

#[tokio::test]
async fn one_proposal_waits_and_what_is_no_change_or_does_not_hold_is_refused() {
    let world = World::new().await;
    let fay = person("fay", Role::Finance);
    let refused = async |change| propose(&world, &fay, change).await.unwrap_err().to_string();
    assert_snapshot!(refused(RuleChange::of(&handoff())).await, @"these are the rules of handoff already; nothing is proposed");
    let covering = RuleChange { volatile: Some(vec![pointer("/amount")]), ..RuleChange::default() };
    assert_snapshot!(refused(covering).await, @"volatile: covers the amount: a changed amount would pass as a repetition");
    let mut endless = lines_may_change();
    endless.amendment.as_mut().unwrap().proposal_days = Some(0);
    assert_snapshot!(refused(endless).await, @"amendment.proposal_days: is out of bounds; 1 to 366 days are possible");
    let mut told_nobody = lines_may_change();
    told_nobody.amendment.as_mut().unwrap().tell = vec!["books".to_owned()];
    assert_snapshot!(refused(told_nobody).await, @r#"amendment.tell: holds "books", which is no address like name@example.com"#);
    let unknown = world.guard.propose_rules(&fay, "handof", noise(), "a reason").await.unwrap_err();
    assert_snapshot!(unknown, @r#"there is no workflow "handof" for this caller; there are: careful, handoff"#);
    assert_eq!(told(&world).await, [""; 0], "a refusal tells nothing");

    let first = propose(&world, &fay, noise()).await.unwrap();
    assert_snapshot!(refused(lines_may_change()).await, @"fay@example.test has proposed a change of the rules of handoff already; it is decided or withdrawn first");
    let withdrawn = decide(&world, &fay, first.id, RuleVerdict::Withdraw).await.unwrap();
    assert!(matches!(withdrawn.standing, RuleStanding::Withdrawn { .. }));
    world.clock.advance(1);
    let second = propose(&world, &fay, lines_may_change()).await.unwrap();
    let rejected = decide(&world, &person("finn", Role::Finance), second.id, RuleVerdict::Reject).await.unwrap();
    assert!(matches!(rejected.standing, RuleStanding::Rejected { .. }));
    assert_eq!(version(&world), 1, "neither is in force");
    let listed: Vec<_> = world.guard.rule_proposals(HANDOFF, None).await.unwrap();
    assert_eq!(listed.iter().map(|proposal| proposal.id).collect::<Vec<_>>(), [second.id, first.id]);
}

#[tokio::test]
async fn two_people_who_approve_at_once_make_one_version() {
    let world = World::new().await;
    let proposal = propose(&world, &person("fay", Role::Finance), noise()).await.unwrap();
    let rival = {
        let (guard, id) = (world.guard.clone(), proposal.id);
        async move {
            guard.decide_rules(&person("finn", Role::Finance), id, RuleVerdict::Approve, "first").await.unwrap();
        }
    };
    world.memory.disturb(1, world::Fault::meanwhile(rival));
    let refusal = decide(&world, &person("flo", Role::Finance), proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert!(matches!(refusal, Refusal::Rules(RuleRefusal::Decided { .. })), "{refusal}");
    assert_eq!(version(&world), 2);
}

#[tokio::test]
async fn a_proposal_that_the_workflow_left_behind_is_void() {
    let world = World::new().await;
    let (fay, finn) = (person("fay", Role::Finance), person("finn", Role::Finance));
    let proposal = propose(&world, &fay, noise()).await.unwrap();
    let renamed = Workflow { title: Some("Handoff".to_owned()), ..handoff() };
    world.apply(vec![renamed.clone(), careful()]).await;
    let void = world.guard.rule_proposal(proposal.id).await.unwrap();
    assert!(matches!(void.standing, RuleStanding::Void { .. }), "{void:?}");
    let refusal = decide(&world, &finn, proposal.id, RuleVerdict::Approve).await.unwrap_err();
    assert_snapshot!(refusal, @"the proposal is void: the workflow was changed by a configuration file. Propose it anew on the rules as they are now");
    assert_eq!(version(&world), 2);
    propose(&world, &fay, noise()).await.expect("a void proposal does not stand in the way");
    world.apply(vec![careful()]).await;
    assert!(world.guard.open_rule_proposals().await.unwrap().is_empty(), "of a retired workflow nothing waits");
}

#[tokio::test]
async fn no_file_overwrites_what_was_approved_in_the_browser() {
    let world = World::new().await;
    let (fay, finn) = (person("fay", Role::Finance), person("finn", Role::Finance));
    let proposal = propose(&world, &fay, lines_may_change()).await.unwrap();
    decide(&world, &finn, proposal.id, RuleVerdict::Approve).await.unwrap();

    let apply = async |workflow: Workflow| {
        let definitions = Definitions { workflows: vec![workflow, careful()], ..Definitions::default() };
        world.guard.apply(&definitions, &Actor::CommandLine).await
    };
    let older = Workflow { title: Some("Handoff".to_owned()), ..handoff() };
    assert_snapshot!(apply(older.clone()).await.unwrap_err(), @"would overwrite what finn@example.test approved in the browser at 2026-03-01T09:00:00.000Z (version 2 of handoff). Write what is in force (`onceover export` prints it), or propose the change at /settings/rules");
    assert_eq!(version(&world), 2, "all or nothing");
    assert_eq!(world.guard.catalogue().workflows[HANDOFF].workflow.title, None);

    // A server starts all the same, with what was approved.
    let stale = Definitions { workflows: vec![older.clone(), careful()], ..Definitions::default() };
    let (kept, told) = world.guard.keeping_approved(&stale).await.unwrap();
    assert_eq!(kept.workflows, [lines_may_change().applied_to(&older), careful()]);
    assert!(matches!(told.as_slice(), [RuleRefusal::ApprovedInBrowser { key, .. }] if key == "amendment"), "{told:?}");

    let in_step = lines_may_change().applied_to(&older);
    assert_eq!(apply(in_step.clone()).await.unwrap().workflows[HANDOFF], AppliedChange::Changed);
    // Nobody set these in the browser, so that the file still may.
    let volatile = Workflow { volatile: vec![pointer("/meta")], ..in_step };
    assert_eq!(apply(volatile).await.unwrap().workflows[HANDOFF], AppliedChange::Changed);
    assert_eq!(version(&world), 4);
}
