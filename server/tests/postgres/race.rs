//! Several servers that want the same.

use std::time::Duration;

use chrono::TimeDelta;
use guard::decision::{Decision, DecisionName};
use guard::state::{State, StateName};
use server::store::Database;

use crate::server_process::{HandClock, Server, close};
use crate::support::{Fresh, eventually};

const ROUNDS: usize = 20;
const BEGINS_AT_ONCE: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_begins_at_once_over_three_servers_one_is_granted() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let servers = Server::three(&fresh, None).await;
    for round in 0..ROUNDS {
        let begins: Vec<_> = (0..BEGINS_AT_ONCE)
            .map(|number| {
                let server = servers[number % servers.len()].clone();
                tokio::spawn(async move { server.begin(&format!("order {round}")).await.unwrap() })
            })
            .collect();
        let mut granted = Vec::new();
        for begin in begins {
            let decision = begin.await.unwrap();
            if let Decision::Proceed { operation, repeated: false, .. } = decision {
                granted.push(operation);
            } else {
                assert_eq!(decision.name(), DecisionName::InProgress);
            }
        }
        assert_eq!(granted.len(), 1, "round {round}");
        let held = fresh.stored(granted[0].id).await;
        assert_eq!(held.head, granted[0].head);
    }
    close(servers).await;
    let rounds = i64::try_from(ROUNDS).unwrap();
    let prevented = i64::try_from(ROUNDS * (BEGINS_AT_ONCE - 1)).unwrap();
    assert_eq!(fresh.number("SELECT count(*) FROM operation").await, rounds);
    assert_eq!(fresh.number("SELECT count(*) FROM entry WHERE kind = 'begun'").await, rounds);
    assert_eq!(fresh.number("SELECT sum(duplicates_prevented)::bigint FROM operation").await, prevented);
    let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'decision:";
    assert_eq!(fresh.number(&format!("{counted}proceed'")).await, rounds);
    assert_eq!(fresh.number(&format!("{counted}in_progress'")).await, prevented);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_begins_again_at_once_over_three_servers_one_is_granted() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let clock = HandClock::new();
    let servers = Server::three(&fresh, Some(&clock)).await;
    let Decision::Proceed { operation, .. } = servers[0].begin("order 812").await.unwrap() else { panic!() };
    for attempt in 2..=11 {
        let failed = "UPDATE operation SET state = 'failed', reason = 'refused', lease_expires_at = NULL";
        fresh.tamper(&format!("{failed} WHERE id = {}", fresh.id(operation.id.as_u128()))).await.unwrap();
        let begins: Vec<_> = (0..BEGINS_AT_ONCE)
            .map(|number| {
                let server = servers[number % servers.len()].clone();
                tokio::spawn(async move { server.begin("order 812").await.unwrap().name() })
            })
            .collect();
        let mut granted = 0;
        for begin in begins {
            granted += usize::from(begin.await.unwrap() == DecisionName::Proceed);
        }
        assert_eq!(granted, 1, "attempt {attempt}");
        assert_eq!(fresh.stored(operation.id).await.attempt_number(), attempt);
    }
    close(servers).await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lease_is_ended_once_whoever_notices_first() {
    const LEASES: usize = 60;
    let Some(fresh) = Fresh::postgres().await else { return };
    let clock = HandClock::new();
    let servers = Server::three(&fresh, Some(&clock)).await;
    for number in 0..LEASES {
        let decision = servers[number % 3].begin(&format!("order {number}")).await.unwrap();
        assert_eq!(decision.name(), DecisionName::Proceed);
    }
    clock.advance(TimeDelta::seconds(59));
    assert_eq!(servers[0].guard.expire_due(1_000).await.unwrap(), 0, "none is over yet");
    clock.advance(TimeDelta::seconds(1));
    let sweepers: Vec<_> = servers
        .iter()
        .cloned()
        .map(|server| tokio::spawn(async move { server.guard.expire_due(1_000).await.unwrap() }))
        .collect();
    // A begin notices too.
    let begin = servers[1].begin("order 7").await.unwrap();
    assert_eq!(begin.name(), DecisionName::Unknown);
    let mut ended = 0;
    for sweeper in sweepers {
        ended += sweeper.await.unwrap();
    }
    assert!((LEASES - 1..=LEASES).contains(&ended), "{ended}: the begin may have ended one");
    close(servers).await;
    let leases = i64::try_from(LEASES).unwrap();
    assert_eq!(fresh.number("SELECT count(*) FROM operation WHERE state = 'unknown' AND version = 2").await, leases);
    assert_eq!(fresh.number("SELECT count(*) FROM entry WHERE kind = 'expired'").await, leases);
    let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'entered:unknown'";
    assert_eq!(fresh.number(counted).await, leases);
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_one_server_changes_is_told_to_the_others() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let servers = Server::three(&fresh, None).await;
    let mut heard = servers[1].database.changes.subscribe();
    // Listening begins behind the opening; what is told before is not heard.
    let mut number = 0;
    let operation = loop {
        number += 1;
        let Decision::Proceed { operation, .. } = servers[0].begin(&format!("order {number}")).await.unwrap() else {
            panic!()
        };
        match tokio::time::timeout(Duration::from_millis(300), heard.recv()).await {
            Ok(told) if told == Ok(operation.id) => break operation,
            _ => assert!(number < 20, "nothing is heard"),
        }
    };
    servers[0].confirm(&operation).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(5), heard.recv()).await.unwrap();
    assert_eq!(told, Ok(operation.id));
    assert_eq!(
        servers[1].database.store.operation(operation.id).await.unwrap().unwrap().state.name(),
        StateName::Confirmed
    );

    let mut own = servers[0].database.changes.subscribe();
    servers[0].begin("order 812").await.unwrap();
    assert!(own.recv().await.is_ok());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(own.try_recv().is_err(), "a server does not hear its own news a second time");
    close(servers).await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_at_once_make_the_tables_once() {
    let Some(fresh) = Fresh::postgres().await else { return };
    fresh.tamper("DROP SCHEMA public CASCADE").await.unwrap();
    fresh.tamper("CREATE SCHEMA public").await.unwrap();
    let starts: Vec<_> = (0..5)
        .map(|_| {
            let url = fresh.url.clone();
            tokio::spawn(async move { Database::open(&url, std::sync::Arc::new(server::clock::OsEntropy)).await })
        })
        .collect();
    for start in starts {
        let database = start.await.unwrap().unwrap();
        assert_eq!(database.ready().await, Ok(()));
        database.close().await;
    }
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reports_at_once_over_three_servers_settle_once() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let servers = Server::three(&fresh, None).await;
    for round in 0..ROUNDS {
        let Decision::Proceed { operation, .. } = servers[0].begin(&format!("order {round}")).await.unwrap() else {
            panic!()
        };
        let reports: Vec<_> = (0..12)
            .map(|number| {
                let (server, operation) = (servers[number % 3].clone(), operation.clone());
                tokio::spawn(async move { server.confirm(&operation).await.unwrap() })
            })
            .collect();
        for report in reports {
            assert!(
                matches!(report.await.unwrap().state, State::Confirmed { .. }),
                "the same report again is no fault"
            );
        }
        assert_eq!(fresh.stored(operation.id).await.version, 2);
    }
    close(servers).await;
    eventually("every confirmation is counted once", async || {
        let counted = "SELECT sum(number)::bigint FROM count WHERE counted = 'entered:confirmed'";
        fresh.number(counted).await == i64::try_from(ROUNDS).unwrap()
    })
    .await;
    fresh.remove().await;
}
