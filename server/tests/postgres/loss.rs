//! Connections that are lost in the middle of what is asked.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use guard::decision::{Decision, DecisionName};
use guard::operation::Operation;
use guard::refusal::{Refusal, StoreFault};
use guard::state::{State, StateName};
use guard::trail::EntryKind;
use server::clock::OsEntropy;
use server::store::Database;

use crate::proxy::Proxy;
use crate::server_process::{HandClock, Server, close};
use crate::support::{Fresh, eventually};

/// Ends connections of the servers to this database, one after the other, until it is told to stop.
async fn kill_connections(fresh_url: String, stop: Arc<AtomicBool>, killed: Arc<AtomicU64>) {
    let pool = sqlx::PgPool::connect(&fresh_url).await.unwrap();
    while !stop.load(Ordering::SeqCst) {
        let victims: Vec<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name = 'onceover' ORDER BY random() LIMIT 3",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        killed.fetch_add(u64::try_from(victims.len()).unwrap(), Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_connections_lose_nothing_acknowledged_and_grant_nothing_twice() {
    const WORKERS: usize = 24;
    const GRANTS: u64 = 200;
    const KILLED: u64 = 50;
    const SECONDS_MAX: u64 = 40;
    let Some(fresh) = Fresh::postgres().await else { return };
    let servers = Server::three(&fresh, None).await;
    let stop = Arc::new(AtomicBool::new(false));
    let grants_so_far = Arc::new(AtomicU64::new(0));
    let killed = Arc::new(AtomicU64::new(0));
    let killer = tokio::spawn(kill_connections(fresh.url.clone(), Arc::clone(&stop), Arc::clone(&killed)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (servers, stop, grants_so_far) = (servers.clone(), Arc::clone(&stop), Arc::clone(&grants_so_far));
            tokio::spawn(async move {
                let mut grants: Vec<(Operation, bool)> = Vec::new();
                let mut number = 0;
                while !stop.load(Ordering::SeqCst) {
                    // Every document is asked for by two workers, at two servers.
                    let document = format!("order {}/{number}", worker / 2);
                    number += 1;
                    let server = &servers[worker % servers.len()];
                    match server.begin(&document).await {
                        Ok(Decision::Proceed { operation, .. }) => {
                            let is_confirmed = match server.confirm(&operation).await {
                                Ok(_) => true,
                                Err(Refusal::Store(StoreFault::Unavailable)) => false,
                                Err(refusal) => panic!("{document}: {refusal}"),
                            };
                            grants.push((operation, is_confirmed));
                            grants_so_far.fetch_add(1, Ordering::SeqCst);
                        }
                        Ok(_) | Err(Refusal::Store(StoreFault::Unavailable)) => {}
                        Err(refusal) => panic!("{document}: {refusal}"),
                    }
                }
                grants
            })
        })
        .collect();
    for _ in 0..SECONDS_MAX * 10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // However fast the database is: enough must have been cut, and enough must have been granted meanwhile.
        if grants_so_far.load(Ordering::SeqCst) >= GRANTS && killed.load(Ordering::SeqCst) > KILLED {
            break;
        }
    }
    stop.store(true, Ordering::SeqCst);
    killer.await.unwrap();
    let killed = killed.load(Ordering::SeqCst);
    let mut granted: HashMap<String, (Operation, bool)> = HashMap::new();
    for worker in workers {
        for (operation, is_confirmed) in worker.await.unwrap() {
            let document = operation.key.document.to_string();
            let before = granted.insert(document.clone(), (operation, is_confirmed));
            assert!(before.is_none(), "{document} was granted twice");
        }
    }
    assert!(killed > KILLED, "{killed} connections were killed");
    assert!(!granted.is_empty());
    for (operation, is_confirmed) in granted.values() {
        let held = fresh.stored(operation.id).await;
        assert_eq!(held.attempt, operation.attempt, "{}", operation.key.document);
        if *is_confirmed {
            assert_eq!(held.state.name(), StateName::Confirmed, "{}", operation.key.document);
        }
    }
    close(servers).await;
    let is_whole = "SELECT count(*) FROM operation WHERE version <> (SELECT count(*) FROM entry WHERE chain = operation.id) \
         OR NOT EXISTS (SELECT FROM body WHERE body.operation = operation.id)";
    assert_eq!(fresh.number(is_whole).await, 0, "every operation has its entries and its payload");
    let miscounted = "SELECT (SELECT sum(number) FROM count WHERE counted = 'decision:proceed')::bigint - (SELECT count(*) FROM operation)";
    assert_eq!(fresh.number(miscounted).await, 0, "every grant is counted once");
    let confirmed = "SELECT (SELECT sum(number) FROM count WHERE counted = 'entered:confirmed')::bigint \
         - (SELECT count(*) FROM operation WHERE state = 'confirmed')";
    assert_eq!(fresh.number(confirmed).await, 0, "and every confirmation");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deliveries_are_counted_once_though_connections_are_killed() {
    const WORKERS: u64 = 8;
    const DELIVERIES: u64 = 400;
    let Some(fresh) = Fresh::postgres().await else { return };
    // Its lease lasts, however long this takes.
    let server = Server::with_clock(fresh.opened_again().await, HandClock::new()).await;
    let Decision::Proceed { operation, .. } = server.begin("order 812").await.unwrap() else { panic!() };
    let stop = Arc::new(AtomicBool::new(false));
    let killed = Arc::new(AtomicU64::new(0));
    let killer = tokio::spawn(kill_connections(fresh.url.clone(), Arc::clone(&stop), Arc::clone(&killed)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move {
                let mut told = 0;
                while told < DELIVERIES / WORKERS {
                    match server.begin("order 812").await {
                        Ok(decision) => {
                            assert_eq!(decision.name(), DecisionName::InProgress);
                            told += 1;
                        }
                        Err(refusal) => assert_eq!(refusal, Refusal::Store(StoreFault::Unavailable)),
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    killer.await.unwrap();
    assert!(killed.load(Ordering::SeqCst) > 0);
    server.database.close().await;
    assert_eq!(fresh.stored(operation.id).await.duplicates_prevented, DELIVERIES);
    let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'decision:in_progress'";
    assert_eq!(fresh.number(counted).await, i64::try_from(DELIVERIES).unwrap());
    assert!(fresh.number("SELECT count(*) FROM delivery").await > 0);
    fresh.remove().await;
}

/// The server commits, and its answer is lost with the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_answer_is_lost_is_found_and_not_done_again() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let proxy = Proxy::to(&fresh.url).await;
    let database = Database::open(&proxy.url(&fresh.url), Arc::new(OsEntropy)).await.unwrap();
    let server = Server::over(database).await;
    // Statements are known to the connections of the writers from here on.
    let warm: Vec<_> = (0..40)
        .map(|number| {
            let server = server.clone();
            tokio::spawn(async move { server.begin(&format!("warm {number}")).await.unwrap() })
        })
        .collect();
    for begin in warm {
        assert_eq!(begin.await.unwrap().name(), DecisionName::Proceed);
    }
    for round in 0..10 {
        proxy.lose_answers(1);
        let decision = server.begin(&format!("order {round}")).await.unwrap();
        assert_eq!(proxy.answers_to_lose(), 0, "an answer was lost");
        let Decision::Proceed { operation, repeated: false, .. } = decision else {
            panic!("{:?}: the grant is the caller's", decision.name())
        };
        proxy.lose_answers(1);
        let confirmed = server.confirm(&operation).await.unwrap();
        assert_eq!(proxy.answers_to_lose(), 0, "an answer was lost");
        assert_eq!(confirmed.state.name(), StateName::Confirmed);
        let entries = server.database.store.entries(operation.id, 0, 10).await.unwrap();
        let kinds: Vec<EntryKind> = entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [EntryKind::Begun, EntryKind::Reported]);
    }
    server.database.close().await;
    let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'decision:proceed'";
    assert_eq!(fresh.number(counted).await, 50, "each is counted once");
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_is_away_is_unavailable_and_comes_back() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let proxy = Proxy::to(&fresh.url).await;
    let database = Database::open(&proxy.url(&fresh.url), Arc::new(OsEntropy)).await.unwrap();
    let server = Server::over(database).await;
    let Decision::Proceed { operation, .. } = server.begin("order 1").await.unwrap() else { panic!() };
    assert_eq!(server.begin("order 1").await.unwrap().name(), DecisionName::InProgress);

    proxy.set_open(false);
    let (begin, report, again) =
        tokio::join!(server.begin("order 2"), server.confirm(&operation), server.database.ready());
    assert_eq!(begin.unwrap_err(), Refusal::Store(StoreFault::Unavailable));
    assert_eq!(report.unwrap_err(), Refusal::Store(StoreFault::Unavailable));
    assert_eq!(again, Err(StoreFault::Unavailable));
    assert_eq!(fresh.number("SELECT count(*) FROM operation").await, 1, "nothing was decided");

    proxy.set_open(true);
    eventually("it is ready again", async || server.database.ready().await.is_ok()).await;
    assert_eq!(server.begin("order 2").await.unwrap().name(), DecisionName::Proceed);
    let confirmed = server.confirm(&operation).await.unwrap();
    assert!(matches!(confirmed.state, State::Confirmed { .. }));
    server.database.close().await;
    let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'decision:in_progress'";
    assert_eq!(fresh.number(counted).await, 1, "what waited to be counted has waited on");
    fresh.remove().await;
}

/// A short absence is not noticed by callers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_is_back_within_seconds_is_waited_for() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let proxy = Proxy::to(&fresh.url).await;
    let database = Database::open(&proxy.url(&fresh.url), Arc::new(OsEntropy)).await.unwrap();
    let server = Server::over(database).await;
    assert_eq!(server.begin("order 1").await.unwrap().name(), DecisionName::Proceed);
    proxy.set_open(false);
    let waiting = {
        let server = server.clone();
        tokio::spawn(async move { server.begin("order 2").await })
    };
    tokio::time::sleep(Duration::from_millis(800)).await;
    proxy.set_open(true);
    assert_eq!(waiting.await.unwrap().unwrap().name(), DecisionName::Proceed);
    server.database.close().await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_is_named_and_nothing_is_decided() {
    let Some(fresh) = Fresh::postgres().await else { return };
    fresh.refuse_inserts("53100", 1).await;
    let server = Server::over(fresh.opened_again().await).await;
    assert_eq!(server.begin("INV-001").await.unwrap_err(), Refusal::Store(StoreFault::Full));
    assert_eq!(
        fresh
            .number("SELECT (SELECT count(*) FROM operation) + (SELECT count(*) FROM entry WHERE kind = 'begun')")
            .await,
        0
    );
    assert_eq!(server.begin("INV-001").await.unwrap().name(), DecisionName::Proceed);
    server.database.close().await;
    fresh.remove().await;
}
