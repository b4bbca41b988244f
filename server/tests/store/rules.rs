//! Proposed changes of rules, and who brought about a version.

use std::sync::atomic::{AtomicU64, Ordering};

use guard::actor::Actor;
use guard::clock::Entropy as _;
use guard::id::RuleProposalId;
use guard::key::KeyPart;
use guard::rules::{RuleChange, RulePart, RuleProposal, RuleStanding};
use guard::store::{Act, Administered, Registry, VersionedWorkflow};
use guard::trail::{Entry, EntryKind};
use guard::workflow::{AmendmentRules, Workflow};
use server::clock::OsEntropy;

use crate::support::{Fresh, now, object, on_both};

on_both!(
    a_proposal_is_kept_as_it_stands_now,
    one_proposal_waits_for_each_workflow,
    the_last_approval_of_a_part_is_found,
    versions_tell_who_brought_them_about,
);

async fn administer(registry: &dyn Registry, acts: Vec<Act>) -> Administered {
    let mut head = registry.administration_head().await.unwrap();
    let mut chained = Vec::new();
    for act in acts {
        let actor = Actor::Person { email: "fay@example.test".to_owned() };
        let entry = Entry::following(head, now(), actor, EntryKind::RulesProposed, object(&[("name", "x")]));
        head = (entry.sequence, entry.hash);
        chained.push((act, entry));
    }
    registry.administer(chained).await.unwrap()
}

/// One after the other, also within a millisecond.
fn next_id() -> RuleProposalId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let moment = now() + chrono::TimeDelta::seconds(NEXT.fetch_add(1, Ordering::SeqCst).cast_signed());
    RuleProposalId::new(moment, OsEntropy.bytes())
}

fn proposal(workflow: &str, change: RuleChange, standing: RuleStanding) -> RuleProposal {
    RuleProposal {
        id: next_id(),
        workflow: workflow.to_owned(),
        base_version: 1,
        before: RuleChange::default(),
        change,
        reason: "the printer writes the time; \u{fc}ber alles".to_owned(),
        proposed_by: "fay@example.test".to_owned(),
        proposed_at: now(),
        standing,
    }
}

fn volatile() -> RuleChange {
    RuleChange { volatile: Some(vec!["/printed_at".parse().unwrap()]), ..RuleChange::default() }
}

fn approved(version: u32) -> RuleStanding {
    RuleStanding::Approved { by: "finn@example.test".to_owned(), at: now(), reason: "seen".to_owned(), version }
}

fn put(proposal: &RuleProposal) -> Act {
    Act::PutRuleProposal(Box::new(proposal.clone()))
}

async fn a_proposal_is_kept_as_it_stands_now(fresh: Fresh) {
    let (store, registry) = (&fresh.database.store, fresh.database.registry.as_ref());
    let mut first = proposal("handoff", volatile(), RuleStanding::Open);
    assert_eq!(store.rule_proposal(first.id).await, Ok(None));
    assert_eq!(administer(registry, vec![put(&first)]).await, Administered::Done);
    assert_eq!(store.rule_proposal(first.id).await, Ok(Some(first.clone())));
    assert_eq!(store.open_rule_proposal("handoff").await, Ok(Some(first.clone())));
    first.standing = RuleStanding::Rejected { by: "finn@example.test".to_owned(), at: now(), reason: "no".to_owned() };
    assert_eq!(administer(registry, vec![put(&first)]).await, Administered::Done);
    assert_eq!(store.rule_proposal(first.id).await, Ok(Some(first.clone())));
    assert_eq!(store.open_rule_proposal("handoff").await, Ok(None));

    let second = proposal("handoff", volatile(), RuleStanding::Open);
    let other = proposal("careful", volatile(), RuleStanding::Open);
    assert_eq!(administer(registry, vec![put(&second), put(&other)]).await, Administered::Done);
    assert_eq!(store.open_rule_proposals().await, Ok(vec![second.clone(), other]));
    assert_eq!(store.rule_proposals("handoff", None, 9).await, Ok(vec![second.clone(), first.clone()]));
    assert_eq!(store.rule_proposals("handoff", None, 1).await, Ok(vec![second.clone()]));
    assert_eq!(store.rule_proposals("handoff", Some(second.id), 9).await, Ok(vec![first]));
}

async fn one_proposal_waits_for_each_workflow(fresh: Fresh) {
    let (store, registry) = (&fresh.database.store, fresh.database.registry.as_ref());
    let first = proposal("handoff", volatile(), RuleStanding::Open);
    administer(registry, vec![put(&first)]).await;
    let second = proposal("handoff", volatile(), RuleStanding::Open);
    let head = registry.administration_head().await.unwrap();
    let entry = Entry::following(head, now(), Actor::CommandLine, EntryKind::RulesProposed, object(&[("name", "x")]));
    let twice = registry.administer(vec![(put(&second), entry)]).await;
    assert!(!matches!(twice, Ok(Administered::Done)), "{twice:?}");
    assert_eq!(store.open_rule_proposals().await, Ok(vec![first]));
    assert_eq!(registry.administration_head().await.unwrap(), head, "nothing was told of it");
}

async fn the_last_approval_of_a_part_is_found(fresh: Fresh) {
    let (store, registry) = (&fresh.database.store, fresh.database.registry.as_ref());
    let amendment = RuleChange { amendment: Some(AmendmentRules::default()), ..RuleChange::default() };
    let first = proposal("handoff", volatile(), approved(2));
    let second = proposal("handoff", amendment, approved(3));
    let third = proposal("handoff", volatile(), approved(10));
    let rejected = RuleStanding::Rejected { by: "x@example.test".to_owned(), at: now(), reason: "no".to_owned() };
    let fourth = proposal("handoff", volatile(), rejected);
    administer(registry, vec![put(&first), put(&second), put(&third), put(&fourth)]).await;
    assert_eq!(store.approved_rules("handoff", RulePart::Volatile).await, Ok(Some(third)));
    assert_eq!(store.approved_rules("handoff", RulePart::Amendment).await, Ok(Some(second)));
    assert_eq!(store.approved_rules("handoff", RulePart::KeyFields).await, Ok(None));
    assert_eq!(store.approved_rules("other", RulePart::Volatile).await, Ok(None));
}

async fn versions_tell_who_brought_them_about(fresh: Fresh) {
    let (store, registry) = (&fresh.database.store, fresh.database.registry.as_ref());
    let held = |version, title: &str, is_retired| {
        let name = KeyPart::new("handoff").unwrap();
        let workflow = Workflow { title: Some(title.to_owned()), ..Workflow::named(name) };
        VersionedWorkflow { version, workflow, is_retired }
    };
    let put = |held: &VersionedWorkflow| Act::PutWorkflow(Box::new(held.clone()));
    let (first, second) = (held(1, "one", false), held(2, "two", false));
    administer(registry, vec![put(&first), put(&second)]).await;
    let versions = store.workflow_versions("handoff", 9).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.held.clone()).collect::<Vec<_>>(), [second, first]);
    let by: Vec<_> = versions.iter().map(|version| version.changed.clone().unwrap().1.to_string()).collect();
    assert_eq!(by, ["person:fay@example.test"; 2]);
    // A workflow that is taken out keeps its version, and who brought that about.
    administer(registry, vec![put(&held(2, "two", true))]).await;
    let newest = store.workflow_versions("handoff", 1).await.unwrap();
    assert_eq!(newest.len(), 1);
    assert!(newest[0].held.is_retired);
    assert_eq!(newest[0].changed, versions[0].changed);
}
