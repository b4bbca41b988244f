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

const PLAN: Plan = Plan { operations: 600, unknown: 90, conflicts: 30, seed: 7, adds: false };

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
    assert_eq!((made.operations, made.known), (600, 0));
    assert!(made.seals > 0);
    assert_eq!(how_many(&fresh, Filter { states: vec![StateName::Unknown], ..Filter::default() }).await, 90);
    assert_eq!(how_many(&fresh, Filter { with_open_conflicts: true, ..Filter::default() }).await, 30);
    assert_eq!(how_many(&fresh, Filter { states: vec![StateName::Sending], ..Filter::default() }).await, 0);
    assert!(how_many(&fresh, Filter { company: Some("acme-in".to_owned()), ..Filter::default() }).await > 30);

    let database = &fresh.database;
    let catalogue = database.registry.catalogue().await.unwrap();
    let proof = verify(database.ledger.as_ref(), &catalogue).await.unwrap();
    assert_eq!((proof.operations, proof.payloads), (600, 600));
    assert!(proof.entries > 1_200 && proof.seals == u64::from(made.seals), "{proof:?}");
    let counted = fresh.number("SELECT cast(sum(number) AS bigint) FROM count WHERE counted = 'entered:unknown'").await;
    assert_eq!(counted, 90);

    let again = planted(&fresh, Plan { adds: true, ..PLAN }).await.unwrap();
    assert_eq!((again.operations, again.known), (0, 600), "the same seed makes the same operations");
    let more = planted(&fresh, Plan { adds: true, seed: 8, ..PLAN }).await.unwrap();
    assert_eq!((more.operations, more.known), (600, 0));
    assert_eq!(verify(database.ledger.as_ref(), &catalogue).await.unwrap().operations, 1_200);
    fresh.remove().await;
}

async fn a_database_in_use_is_left_alone(fresh: Fresh) {
    fresh.begun("812").await;
    let refused = planted(&fresh, PLAN).await.unwrap_err();
    assert!(matches!(refused, SeedError::NotEmpty), "{refused}");
    assert!(fresh.database.registry.catalogue().await.unwrap().workflows.is_empty());
    let refused = planted(&fresh, Plan { unknown: 601, adds: true, ..PLAN }).await.unwrap_err().to_string();
    assert_eq!(refused, "--unknown is 601, more than the 600 operations; ask for fewer, or for more operations");
    fresh.remove().await;
}
