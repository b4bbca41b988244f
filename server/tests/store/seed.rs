//! Demonstration data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use guard::clock::Entropy;
use guard::queue::{Filter, Order, PageRequest};
use guard::service::Guard;
use guard::state::StateName;
use guard::token::Reach;
use server::clock::OsEntropy;
use server::seed::{Plan, Planted, SeedError, plant};
use server::trail::verify;

use crate::support::{Fresh, on_both};

on_both!(what_never_happened_has_a_whole_trail, a_database_in_use_is_left_alone,);

const PLAN: Plan = Plan { operations: 2_500, unknown: 90, conflicts: 30, seed: 7, adds: false };

async fn planted(fresh: &Fresh, plan: Plan) -> Result<Planted, SeedError> {
    let database = &fresh.database;
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
    let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::clone(&entropy)).await.unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let planted = plant(database, &guard, &entropy, plan, Arc::clone(&done)).await?;
    assert_eq!(done.load(Ordering::Relaxed), plan.operations);
    Ok(planted)
}

async fn how_many(fresh: &Fresh, filter: Filter) -> usize {
    let page = PageRequest { cursor: None, limit: 500 };
    let store = &fresh.database.store;
    store.operations(&Reach::EVERYTHING, &filter, Order::Newest, &page).await.unwrap().rows.len()
}

async fn what_never_happened_has_a_whole_trail(fresh: Fresh) {
    let made = planted(&fresh, PLAN).await.unwrap();
    assert_eq!((made.operations, made.known), (2_500, 0));
    assert!(made.seals > 0);
    assert_eq!(how_many(&fresh, Filter { states: vec![StateName::Unknown], ..Filter::default() }).await, 90);
    assert_eq!(how_many(&fresh, Filter { with_open_conflicts: true, ..Filter::default() }).await, 30);
    assert_eq!(how_many(&fresh, Filter { states: vec![StateName::Sending], ..Filter::default() }).await, 0);
    assert!(how_many(&fresh, Filter { company: Some("acme-in".to_owned()), ..Filter::default() }).await > 30);

    let count = async |table: &str, condition: &str| {
        fresh.number(&format!("SELECT count(*) FROM {table} WHERE {condition}")).await.unsigned_abs()
    };
    // Each amendment proposes a revision, which is an operation of its own.
    let proposed = count("amendment", "true").await;
    for state in ["awaiting_approval", "approved", "begun", "rejected", "expired"] {
        assert!(count("amendment", &format!("state = '{state}'")).await > 0, "{state}");
    }
    let of_operation = "JOIN operation ON operation.id = amendment.operation";
    let same = "amendment.company = operation.company AND amendment.workflow = operation.workflow";
    assert_eq!(count(&format!("amendment {of_operation}"), same).await, proposed);
    assert!(count("conflict", "decision IS NOT NULL").await > 0);
    let settled = count("entry", "kind = 'resolved'").await;
    assert!(settled > 0 && count("evidence", "true").await > 0 && count("review", "true").await > 0);

    let database = &fresh.database;
    let catalogue = database.registry.catalogue().await.unwrap();
    let proof = verify(database.ledger.as_ref(), &catalogue).await.unwrap();
    assert_eq!((proof.operations, proof.payloads), (2_500 + proposed, 2_500 + proposed));
    assert!(proof.entries > 5_000 && proof.seals == u64::from(made.seals), "{proof:?}");
    let counted = fresh.number("SELECT cast(sum(number) AS bigint) FROM count WHERE counted = 'entered:unknown'").await;
    assert_eq!(counted.unsigned_abs(), 90 + settled);

    let again = planted(&fresh, Plan { adds: true, ..PLAN }).await.unwrap();
    assert_eq!((again.operations, again.known), (0, 2_500), "the same seed makes the same operations");
    let more = planted(&fresh, Plan { operations: 600, adds: true, seed: 8, ..PLAN }).await.unwrap();
    assert_eq!((more.operations, more.known), (600, 0));
    let proposed = count("amendment", "true").await;
    assert_eq!(verify(database.ledger.as_ref(), &catalogue).await.unwrap().operations, 3_100 + proposed);
    fresh.remove().await;
}

async fn a_database_in_use_is_left_alone(fresh: Fresh) {
    fresh.begun("812").await;
    let refused = planted(&fresh, PLAN).await.unwrap_err();
    assert!(matches!(refused, SeedError::NotEmpty), "{refused}");
    assert!(fresh.database.registry.catalogue().await.unwrap().workflows.is_empty());
    let refused =
        planted(&fresh, Plan { operations: 600, unknown: 601, adds: true, ..PLAN }).await.unwrap_err().to_string();
    assert_eq!(refused, "--unknown is 601, more than the 600 operations; ask for fewer, or for more operations");
    fresh.remove().await;
}
