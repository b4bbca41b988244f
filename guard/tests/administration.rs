//! People, tokens and definitions; every act is an entry of its chain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "support/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guard::actor::Actor;
use guard::destination::Destination;
use guard::json::Json;
use guard::key::KeyPart;
use guard::person::Role;
use guard::refusal::{Refusal, StoreFault};
use guard::service::{AppliedChange, Definitions, Guard};
use guard::store::Registry as _;
use guard::token::{Reach, Scope, Token, TokenSecret};
use guard::trail::{ChainHash, Entry};
use guard::workflow::Workflow;
use world::{Fault, World, careful, handoff};

fn scopes() -> BTreeSet<Scope> {
    BTreeSet::from([Scope::OperationsWrite, Scope::OperationsRead])
}

async fn create(guard: &Guard, name: &str) -> Result<(Token, TokenSecret), Refusal> {
    guard.create_token(name, scopes(), Reach::EVERYTHING, &Actor::CommandLine).await
}

async fn add(guard: &Guard, email: &str, only_first: bool) -> Result<(), Refusal> {
    let hash = "$argon2id$".to_owned();
    let added = guard.add_person(email, Role::Admin, Reach::EVERYTHING, hash, only_first, &Actor::FirstStart).await;
    added.map(|_| ())
}

async fn chain(world: &World) -> Vec<Entry> {
    let entries = world.memory.administration_entries(0, 1_000).await.unwrap();
    let mut head = ChainHash::START;
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(entry.sequence, index as u64 + 1);
        assert_eq!(entry.hash, entry.hash_after(head));
        head = entry.hash;
    }
    entries
}

fn ledger() -> Destination {
    Destination {
        name: "ledger".to_owned(),
        base_url: "https://ledger.example/api".to_owned(),
        timeout_seconds: 10,
        finality_seconds: None,
        headers: BTreeMap::new(),
        idempotency_header: None,
        idempotency_ttl_seconds: None,
        lookups_per_second: None,
        create: None,
        lookup: None,
        list: None,
    }
}

#[tokio::test]
async fn a_token_is_shown_once_and_known_by_its_hash() {
    let world = World::new().await;
    let (token, secret) = create(&world.guard, "billing").await.unwrap();
    assert!(secret.reveal().starts_with("oo_") && secret.reveal().len() == 67);
    assert_eq!(format!("{secret:?}"), "TokenSecret(…)");
    assert_eq!(world.guard.authenticate(secret.reveal()).await, Ok(Some(token.clone())));
    assert_eq!(world.guard.authenticate("oo_00").await, Ok(None));
    let shown = format!("{:?} {:?}", chain(&world).await, world.guard.tokens().await);
    assert!(!shown.contains(&secret.reveal()[3..]), "the secret is in no trail and no list");

    let revoked = world.guard.revoke_token(token.id, &Actor::CommandLine).await.unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(world.guard.authenticate(secret.reveal()).await, Ok(None));
    let told = chain(&world).await.len();
    assert_eq!(world.guard.revoke_token(token.id, &Actor::CommandLine).await.unwrap().revoked_at, revoked.revoked_at);
    assert_eq!(chain(&world).await.len(), told, "revoking it again changes nothing");
    let nobody = guard::id::TokenId::from_u128(7);
    assert_eq!(world.guard.revoke_token(nobody, &Actor::CommandLine).await, Err(Refusal::not_found("token")));
}

#[tokio::test]
async fn token_names_are_unique_and_readable() {
    let world = World::new().await;
    create(&world.guard, "billing").await.unwrap();
    let refusal = async |name: &str| create(&world.guard, name).await.unwrap_err().to_string();
    insta::assert_snapshot!(refusal("billing").await, @r#"the token "billing" exists already"#);
    insta::assert_snapshot!(refusal("").await, @"name: is empty; it is needed here");
    insta::assert_snapshot!(refusal("a/b").await, @r#"name: has over 80 characters, a "/" or a control character"#);
    insta::assert_snapshot!(refusal(&"x".repeat(81)).await, @r#"name: has over 80 characters, a "/" or a control character"#);
    let within = async |scopes: BTreeSet<Scope>, companies: &[&str], workflows: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let reach = Reach::over(names(companies), names(workflows));
        world.guard.create_token("other", scopes, reach, &Actor::CommandLine).await.unwrap_err().to_string()
    };
    insta::assert_snapshot!(within(BTreeSet::new(), &[], &[]).await, @"scope: is empty; a token that may do nothing is of no use");
    insta::assert_snapshot!(within(scopes(), &["acme "], &[]).await, @r#"company: "acme " starts or ends with white space, which is refused and not trimmed: two systems would trim differently"#);
    insta::assert_snapshot!(within(scopes(), &[], &["handof"]).await, @r#"there is no workflow "handof" for this caller; there are: careful, handoff"#);
    assert_eq!(world.guard.tokens().await.unwrap().len(), 1, "a refusal makes none");
}

#[tokio::test]
async fn a_token_does_what_its_scopes_say() {
    let world = World::new().await;
    let reads = BTreeSet::from([Scope::OperationsRead]);
    let (token, _) = world.guard.create_token("reader", reads, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    let billing = world.worker("billing").await;
    let permit = billing.owns("order-1").await;
    let reader = world::Worker { token, ..billing.clone() };
    for refusal in [
        reader.asks("order-2").refusal().await,
        reader.marks(&permit).await.unwrap_err(),
        reader.extends(&permit, 60).await.unwrap_err(),
        reader.confirms(&permit, "task-1").await.unwrap_err(),
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal, @"not allowed: this token lacks the scope operations:write");
        }
    }
}

#[tokio::test]
async fn what_is_not_stored_leaves_its_name_free() {
    let world = World::new().await;
    let other = world.another_process().await;
    world.memory.disturb(1, Fault::Fails(StoreFault::Unavailable));
    assert!(create(&world.guard, "billing").await.is_err());
    assert!(create(&world.guard, "billing").await.is_ok(), "nothing was stored, so the name is free");

    // Somebody else's act in between makes this one follow on it.
    world.memory.disturb(1, Fault::meanwhile(async move { drop(create(&other, "shipping").await.unwrap()) }));
    create(&world.guard, "reports").await.unwrap();
    let kinds: Vec<&str> = chain(&world).await.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds[2..], ["token_created", "token_created", "token_created"]);
}

#[tokio::test]
async fn people_have_one_address_each() {
    let world = World::new().await;
    add(&world.guard, " Ada@Example.TEST ", true).await.unwrap();
    let (person, _) = world.guard.person_by_email("ada@example.test").await.unwrap().expect("in lower case");
    assert_eq!(world.guard.person(person.id).await.unwrap(), Some(person));
    let refusal = async |email: &str, only_first| add(&world.guard, email, only_first).await.unwrap_err().to_string();
    insta::assert_snapshot!(refusal("ada@example.test", false).await, @r#"the person "ada@example.test" exists already"#);
    insta::assert_snapshot!(refusal("eve@example.test", true).await, @r#"the person "eve@example.test" exists already"#);
    for wrong in ["", "ada", "@example.test", "ada@", "a@b@c", "a da@example.test", "a\u{7}@b"] {
        let refusal = refusal(wrong, false).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal, @"email: is no address; it looks like name@example.com");
        }
    }
    assert_eq!(world.guard.person_by_email("ada@example.test\0").await, Ok(None));
    assert_eq!(world.guard.people().await.unwrap().len(), 1);
    let entry = chain(&world).await.pop().unwrap();
    assert_eq!(entry.actor, Actor::FirstStart);
    assert!(!entry.detail.to_string().contains("argon2"), "no hash in the trail");
}

#[tokio::test]
async fn of_two_first_administrators_one_is_made() {
    let world = World::new().await;
    let other = world.another_process().await;
    world.memory.disturb(1, Fault::meanwhile(async move { add(&other, "eve@example.test", true).await.unwrap() }));
    assert!(matches!(add(&world.guard, "ada@example.test", true).await, Err(Refusal::Taken { .. })));
    assert_eq!(world.guard.people().await.unwrap().len(), 1);
}

#[tokio::test]
async fn definitions_are_applied_as_a_whole() {
    let world = World::with(Vec::new()).await;
    let guard = &world.guard;
    let apply = async |workflows: Vec<Workflow>, destinations: Vec<Destination>| {
        guard.apply(&Definitions { workflows, destinations, ..Definitions::default() }, &Actor::CommandLine).await
    };
    let sent = Workflow { destination: Some("ledger".to_owned()), ..handoff() };
    let applied = apply(vec![sent.clone(), careful()], vec![ledger()]).await.unwrap();
    assert!(applied.workflows.values().all(|change| *change == AppliedChange::Added));
    let told = chain(&world).await.len();
    let again = apply(vec![sent.clone(), careful()], vec![ledger()]).await.unwrap();
    assert!(again.workflows.values().all(|change| *change == AppliedChange::Unchanged));
    assert_eq!(chain(&world).await.len(), told, "what is so already is no act");

    let longer = Workflow { lease_seconds: 120, ..sent.clone() };
    let changed = apply(vec![longer.clone()], vec![ledger()]).await.unwrap();
    assert_eq!(changed.workflows["handoff"], AppliedChange::Changed);
    assert_eq!(changed.workflows["careful"], AppliedChange::Retired);
    assert_eq!(guard.catalogue().workflows["handoff"].version, 2);
    assert_eq!(
        guard.definitions(),
        Definitions { workflows: vec![longer.clone()], destinations: vec![ledger()], ..Definitions::default() }
    );
    let back = apply(vec![longer.clone(), careful()], vec![ledger()]).await.unwrap();
    assert_eq!(back.workflows["careful"], AppliedChange::Changed);
    assert_eq!(guard.catalogue().workflows["careful"].version, 2, "a version says one thing for ever");

    let told = chain(&world).await.len();
    let wrong = Workflow { lease_seconds: 0, ..careful() };
    let refusal = apply(vec![handoff(), wrong], Vec::new()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @"workflow: lease_seconds: is 0; a lease lasts at least one second");
    let refusal = apply(vec![sent], Vec::new()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @r#"workflow: destination: names "ledger", which no [[destination]] defines"#);
    let refusal = apply(vec![careful(), careful()], Vec::new()).await.unwrap_err();
    insta::assert_snapshot!(refusal, @r#"workflow: name: is "careful", which stands here twice; give each a name of its own"#);
    world.memory.disturb(1, Fault::Fails(StoreFault::Full));
    assert_eq!(apply(vec![handoff()], Vec::new()).await, Err(Refusal::Store(StoreFault::Full)));
    assert_eq!(chain(&world).await.len(), told);
    assert_eq!(guard.catalogue().workflows["handoff"].workflow, longer, "nothing of it was taken");
}

#[tokio::test]
async fn two_that_apply_at_once_never_share_a_version() {
    let with_lease = |seconds: u32| Definitions {
        workflows: vec![Workflow { lease_seconds: seconds, ..handoff() }],
        ..Definitions::default()
    };
    for is_before_the_write in [false, true] {
        let world = World::with(vec![handoff()]).await;
        let (other, theirs) = (world.another_process().await, with_lease(30));
        let first = async move {
            other.apply(&theirs, &Actor::CommandLine).await.unwrap();
        };
        if is_before_the_write {
            world.memory.disturb(1, Fault::meanwhile(first));
        } else {
            world.memory.before_head(first);
        }
        world.guard.apply(&with_lease(90), &Actor::CommandLine).await.unwrap();
        let held = Arc::clone(&world.guard.catalogue().workflows["handoff"]);
        assert_eq!((held.version, held.workflow.lease_seconds), (3, 90), "on top of the one that was first");
        let entries = chain(&world).await;
        let versions: Vec<String> =
            entries.iter().filter_map(|entry| entry.detail.member("version").map(Json::to_string)).collect();
        assert_eq!(versions, ["1", "2", "3"]);
    }
}

#[tokio::test]
async fn another_process_sees_what_was_applied() {
    let world = World::new().await;
    let other = world.another_process().await;
    world.apply(vec![Workflow::named(KeyPart::new("new").unwrap())]).await;
    assert!(!other.catalogue().workflows.contains_key("new"));
    other.refresh().await.unwrap();
    assert!(other.catalogue().workflows.contains_key("new"));
    assert!(other.catalogue().workflows["handoff"].is_retired);
}
