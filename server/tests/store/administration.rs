//! People, tokens, workflows and destinations.

use std::collections::BTreeSet;

use guard::actor::Actor;
use guard::clock::Entropy as _;
use guard::id::{PersonId, TokenId};
use guard::key::KeyPart;
use guard::person::{Person, Role};
use guard::store::{Act, Administered, Registry, VersionedWorkflow};
use guard::token::{Reach, Scope, Token};
use guard::trail::{ChainHash, Entry, EntryKind};
use guard::workflow::Workflow;
use server::clock::OsEntropy;

use crate::support::{Fresh, now, object, on_both};

on_both!(
    acts_are_kept_with_their_entries,
    one_taken_name_takes_back_all_acts,
    a_head_that_moved_on_is_stale,
    one_of_twenty_first_people_is_the_first,
    versions_of_a_workflow_are_kept,
    tokens_are_found_by_their_digest_and_revoked_once,
);

/// The acts with their entries, chained behind this head.
fn chained(mut head: (u64, ChainHash), acts: Vec<Act>) -> Vec<(Act, Entry)> {
    let mut chained = Vec::new();
    for act in acts {
        let entry =
            Entry::following(head, now(), Actor::CommandLine, EntryKind::TokenCreated, object(&[("name", "x")]));
        head = (entry.sequence, entry.hash);
        chained.push((act, entry));
    }
    chained
}

async fn administer(registry: &dyn Registry, acts: Vec<Act>) -> Administered {
    let head = registry.administration_head().await.unwrap();
    registry.administer(chained(head, acts)).await.unwrap()
}

fn person(email: &str, only_first: bool) -> Act {
    let person = Person {
        id: PersonId::new(now(), OsEntropy.bytes()),
        email: email.to_owned(),
        role: Role::Operator,
        reach: Reach::over(["ACME".to_owned()], []),
    };
    Act::AddPerson { person, password_hash: format!("$argon2id${email}"), only_first }
}

fn token(name: &str) -> Token {
    Token {
        id: TokenId::new(now(), OsEntropy.bytes()),
        name: name.to_owned(),
        scopes: BTreeSet::from([Scope::OperationsRead, Scope::OperationsWrite]),
        reach: Reach::over([], ["handoff".to_owned()]),
        created_at: now(),
        created_by: Actor::CommandLine,
        revoked_at: None,
    }
}

fn workflow(name: &str, version: u32, volatile: &str, is_retired: bool) -> Act {
    let mut workflow = Workflow::named(KeyPart::new(name).unwrap());
    workflow.volatile = vec![volatile.parse().unwrap()];
    Act::PutWorkflow(Box::new(VersionedWorkflow { version, workflow, is_retired }))
}

async fn acts_are_kept_with_their_entries(fresh: Fresh) {
    let registry = &fresh.database.registry;
    assert_eq!(registry.administration_head().await.unwrap(), (0, ChainHash::START));
    let epoch = registry.epoch().await.unwrap();
    let billing = token("billing");
    let acts = vec![
        workflow("handoff", 1, "/sent_at", false),
        person("ada@example.test", false),
        Act::AddToken { token: billing.clone(), digest: [7; 32] },
    ];
    assert_eq!(administer(&**registry, acts).await, Administered::Done);

    let entries = registry.administration_entries(0, 10).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(registry.administration_head().await.unwrap(), (3, entries[2].hash));
    assert_eq!(registry.administration_entries(1, 1).await.unwrap(), entries[1..2]);
    let catalogue = registry.catalogue().await.unwrap();
    assert!(catalogue.epoch > epoch);
    assert_eq!(registry.epoch().await.unwrap(), catalogue.epoch);
    assert_eq!(catalogue.workflows.keys().collect::<Vec<_>>(), ["handoff"]);
    let (ada, hash) = registry.person_by_email("ada@example.test").await.unwrap().unwrap();
    assert_eq!(hash, "$argon2id$ada@example.test");
    assert_eq!(registry.person(ada.id).await.unwrap(), Some(ada.clone()));
    assert_eq!(registry.people().await.unwrap(), [ada]);
    assert_eq!(registry.tokens().await.unwrap(), [billing]);
    assert_eq!(registry.person_by_email("nobody@example.test").await.unwrap(), None);
    fresh.remove().await;
}

async fn one_taken_name_takes_back_all_acts(fresh: Fresh) {
    let registry = &fresh.database.registry;
    let first = vec![Act::AddToken { token: token("billing"), digest: [7; 32] }, person("ada@example.test", false)];
    assert_eq!(administer(&**registry, first).await, Administered::Done);
    let head = registry.administration_head().await.unwrap();
    let epoch = registry.epoch().await.unwrap();
    let taken_token = Act::AddToken { token: token("billing"), digest: [8; 32] };
    for taken in [taken_token, person("ada@example.test", false), person("eve@example.test", true)] {
        let acts = vec![workflow("handoff", 1, "/sent_at", false), person("grace@example.test", false), taken];
        assert_eq!(administer(&**registry, acts).await, Administered::Taken);
        assert_eq!(registry.administration_head().await.unwrap(), head);
        assert_eq!(registry.epoch().await.unwrap(), epoch);
        assert!(registry.catalogue().await.unwrap().workflows.is_empty());
        assert_eq!(registry.people().await.unwrap().len(), 1);
        assert_eq!(registry.tokens().await.unwrap().len(), 1);
    }
    fresh.remove().await;
}

async fn a_head_that_moved_on_is_stale(fresh: Fresh) {
    let registry = &fresh.database.registry;
    let seen = registry.administration_head().await.unwrap();
    assert_eq!(administer(&**registry, vec![person("ada@example.test", false)]).await, Administered::Done);
    let late = registry.administer(chained(seen, vec![person("grace@example.test", false)])).await.unwrap();
    assert_eq!(late, Administered::Stale);
    // The right place in the chain, behind something else than what is there.
    let other = (1, ChainHash::from_bytes([7; 32]));
    let forked = registry.administer(chained(other, vec![person("grace@example.test", false)])).await.unwrap();
    assert_eq!(forked, Administered::Stale);
    assert_eq!(registry.people().await.unwrap().len(), 1);
    assert_eq!(registry.administration_entries(0, 10).await.unwrap().len(), 1);
    fresh.remove().await;
}

async fn one_of_twenty_first_people_is_the_first(fresh: Fresh) {
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let database = fresh.database.clone();
            tokio::spawn(async move {
                let act = person(&format!("person{number}@example.test"), true);
                loop {
                    let done = administer(&*database.registry, vec![act.clone()]).await;
                    if done != Administered::Stale {
                        return done;
                    }
                }
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += usize::from(task.await.unwrap() == Administered::Done);
    }
    assert_eq!(done, 1);
    assert_eq!(fresh.database.registry.people().await.unwrap().len(), 1);
    fresh.remove().await;
}

async fn versions_of_a_workflow_are_kept(fresh: Fresh) {
    let registry = &fresh.database.registry;
    administer(&**registry, vec![workflow("handoff", 1, "/a", false), workflow("handoff", 2, "/b", false)]).await;
    let retired = workflow("handoff", 2, "/b", true);
    administer(&**registry, vec![retired]).await;
    let catalogue = registry.catalogue().await.unwrap();
    let current = &catalogue.workflows["handoff"];
    assert_eq!((current.version, current.is_retired), (2, true));
    let volatile = |version: u32| catalogue.volatile[&("handoff".to_owned(), version)][0].to_string();
    assert_eq!((volatile(1), volatile(2)), ("/a".to_owned(), "/b".to_owned()));
    fresh.remove().await;
}

async fn tokens_are_found_by_their_digest_and_revoked_once(fresh: Fresh) {
    let registry = &fresh.database.registry;
    let (billing, shipping) = (token("billing"), token("shipping"));
    let add = |token: &Token, digest| Act::AddToken { token: token.clone(), digest };
    administer(&**registry, vec![add(&billing, [7; 32]), add(&shipping, [8; 32])]).await;
    assert_eq!(registry.token_by_digest(&[7; 32]).await.unwrap(), Some(billing.clone()));
    assert_eq!(registry.token_by_digest(&[9; 32]).await.unwrap(), None);
    let at = now();
    administer(&**registry, vec![Act::RevokeToken { id: billing.id, at }]).await;
    let later = at + chrono::TimeDelta::seconds(5);
    administer(&**registry, vec![Act::RevokeToken { id: billing.id, at: later }]).await;
    let revoked = registry.token_by_digest(&[7; 32]).await.unwrap().unwrap();
    assert_eq!(revoked, Token { revoked_at: Some(at), ..billing });
    assert_eq!(registry.token_by_digest(&[8; 32]).await.unwrap(), Some(shipping));
    fresh.remove().await;
}
