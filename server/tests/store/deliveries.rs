//! Deliveries that are written behind their answer, and counts.

use std::time::{Duration, Instant};

use guard::clock::Entropy as _;
use guard::conflict::Conflict;
use guard::decision::DecisionName;
use guard::fingerprint::Fingerprint;
use guard::id::ConflictId;
use guard::money::STAKE_MAX;
use guard::store::Delivery;
use guard::summary::{Count, Counted, start_of_hour};
use guard::token::Reach;
use server::clock::OsEntropy;

use crate::support::{Fresh, begun_as, confirmation, delivery, eventually, key, now, on_both};

on_both!(
    a_delivery_is_told_at_most_a_second_later,
    a_close_writes_what_waits,
    ten_thousand_deliveries_are_counted_exactly,
    hits_of_a_conflict_are_counted,
    counts_survive_and_are_summed_within_reach,
    sums_of_money_stop_at_a_bound,
);

async fn a_delivery_is_told_at_most_a_second_later(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let store = &fresh.database.store;
    let told = delivery(&operation, DecisionName::InProgress);
    let asked = Instant::now();
    store.note_delivery(told.clone());
    eventually("the delivery is told", || async { !store.deliveries(operation.id, 10).await.unwrap().is_empty() })
        .await;
    assert!(asked.elapsed() < Duration::from_millis(1_500), "{:?}", asked.elapsed());
    assert_eq!(store.deliveries(operation.id, 10).await.unwrap(), [Delivery { held_by: None, ..told }]);
    assert_eq!(fresh.stored(operation.id).await.duplicates_prevented, 1);

    // The newest first, and what prevents nothing is told and counted, but is no duplicate prevented.
    store.note_delivery(delivery(&operation, DecisionName::Conflict));
    eventually("the other is told", || async { store.deliveries(operation.id, 10).await.unwrap().len() == 2 }).await;
    assert_eq!(store.deliveries(operation.id, 1).await.unwrap()[0].decision, DecisionName::Conflict);
    assert_eq!(fresh.stored(operation.id).await.duplicates_prevented, 1);

    // Without an operation it is counted only.
    let missing = delivery(&operation, DecisionName::ApprovalMissing);
    store.note_delivery(Delivery { operation: None, ..missing });
    eventually("it is counted", || async {
        fresh.number("SELECT count(*) FROM count WHERE counted = 'decision:approval_missing'").await == 1
    })
    .await;
    fresh.remove().await;
}

async fn a_close_writes_what_waits(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    for _ in 0..5 {
        fresh.database.store.note_delivery(delivery(&operation, DecisionName::Replay));
    }
    let fresh = fresh.reopened().await;
    assert_eq!(fresh.stored(operation.id).await.duplicates_prevented, 5);
    assert_eq!(fresh.database.store.deliveries(operation.id, 10).await.unwrap().len(), 5);
    fresh.remove().await;
}

async fn ten_thousand_deliveries_are_counted_exactly(fresh: Fresh) {
    let mut operations = Vec::new();
    for number in 0..10 {
        operations.push(fresh.begun(&format!("{number}")).await);
    }
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let database = fresh.database.clone();
            let operations = operations.clone();
            tokio::spawn(async move {
                for number in 0..1_000 {
                    database.store.note_delivery(delivery(&operations[number % 10], DecisionName::Replay));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let fresh = fresh.reopened().await;
    for operation in &operations {
        assert_eq!(fresh.stored(operation.id).await.duplicates_prevented, 1_000);
    }
    let counted = "SELECT CAST(sum(number) AS BIGINT) FROM count WHERE counted = 'decision:replay'";
    assert_eq!(fresh.number(counted).await, 10_000);
    let told = fresh.number("SELECT count(*) FROM delivery").await;
    assert!((10..10_000).contains(&told), "one that is repeated again and again is told in part: {told}");
    fresh.remove().await;
}

async fn hits_of_a_conflict_are_counted(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    let mut replacement = confirmation(&operation);
    let conflict = Conflict {
        id: ConflictId::new(now(), OsEntropy.bytes()),
        operation: operation.id,
        fingerprint: Fingerprint::from_bytes([7; 32]),
        changes: Vec::new(),
        changes_total: 1,
        opened_at: now(),
        hits: 1,
        standing: guard::conflict::ConflictStanding::Open,
        workflow: operation.key.workflow.as_str().to_owned(),
        company: operation.key.company.as_str().to_owned(),
        places: guard::conflict::Places::default(),
    };
    replacement.conflict = Some((conflict.clone(), "{}".to_owned()));
    store.replace(replacement).await.unwrap();
    for _ in 0..3 {
        let hit = delivery(&operation, DecisionName::Conflict);
        store.note_delivery(Delivery { conflict: Some(conflict.id), ..hit });
    }
    eventually("the hits are counted", || async {
        let held = store.conflict(operation.id, &conflict.fingerprint).await.unwrap().unwrap();
        held == Conflict { hits: 4, ..conflict.clone() }
    })
    .await;
    assert_eq!(store.deliveries(operation.id, 10).await.unwrap()[0].conflict, Some(conflict.id));
    fresh.remove().await;
}

async fn counts_survive_and_are_summed_within_reach(fresh: Fresh) {
    let store = &fresh.database.store;
    let at = now();
    let count = |workflow: &str, company: &str, at| {
        Count::one(workflow, company, Counted::Decision(DecisionName::Proceed), at, None)
    };
    let hour = chrono::TimeDelta::hours(1);
    for (number, (workflow, company, at)) in [
        ("handoff", "ACME", at),
        ("handoff", "ACME", at),
        ("handoff", "ACME", at - hour),
        ("invoice", "ACME", at),
        ("handoff", "Globex", at),
    ]
    .into_iter()
    .enumerate()
    {
        let mut new = begun_as(key(&number.to_string()), at);
        new.counts = vec![count(workflow, company, at)];
        store.insert_if_absent(new).await.unwrap();
    }
    let fresh = fresh.reopened().await;
    let store = &fresh.database.store;
    let (from, to) = (start_of_hour(at), start_of_hour(at) + hour);
    let counts = store.counts(&Reach::EVERYTHING, from - hour, to).await.unwrap();
    let handoff = |counts: &[Count]| {
        let own = counts.iter().filter(|count| count.workflow == "handoff" && count.company == "ACME");
        own.map(|count| (count.hour, count.number)).collect::<Vec<_>>()
    };
    assert_eq!(handoff(&counts), [(from - hour, 1), (from, 2)]);
    assert_eq!(counts.iter().map(|count| count.number).sum::<u64>(), 5);
    assert_eq!(handoff(&store.counts(&Reach::EVERYTHING, from, to).await.unwrap()), [(from, 2)]);
    assert_eq!(handoff(&store.counts(&Reach::EVERYTHING, from - hour, from).await.unwrap()), [(from - hour, 1)]);
    let reach = Reach::over(["ACME".to_owned()], ["invoice".to_owned()]);
    assert_eq!(store.counts(&reach, from, to).await.unwrap(), [count("invoice", "ACME", at)]);
    fresh.remove().await;
}

/// An amount that is absurd must not make every later count fail.
async fn sums_of_money_stop_at_a_bound(fresh: Fresh) {
    let store = &fresh.database.store;
    let at = now();
    for number in 0..3 {
        let mut new = begun_as(key(&number.to_string()), at);
        new.counts = vec![Count { ten_thousandths: i64::MAX / 2, ..new.counts[0].clone() }];
        store.insert_if_absent(new).await.unwrap();
    }
    let from = start_of_hour(at);
    let counts = store.counts(&Reach::EVERYTHING, from, from + chrono::TimeDelta::hours(1)).await.unwrap();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0].number, 3);
    assert!(counts[0].ten_thousandths >= 4 * STAKE_MAX, "{}", counts[0].ten_thousandths);
    fresh.remove().await;
}
