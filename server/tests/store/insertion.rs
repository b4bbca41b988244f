//! New operations.

use guard::refusal::StoreFault;
use guard::state::State;
use guard::store::{Insertion, NewOperation};

use crate::support::{Fresh, begun, now, on_both};

on_both!(
    everything_of_a_new_operation_is_kept,
    one_of_fifty_that_insert_at_once_wins,
    a_row_that_is_no_operation_is_refused_alone,
    changes_are_told_after_the_commit,
);

async fn everything_of_a_new_operation_is_kept(fresh: Fresh) {
    let new = begun("812");
    let NewOperation { operation, payload, entry, .. } = new.clone();
    let store = &fresh.database.store;
    assert!(store.operation_by_key(&operation.key).await.unwrap().is_none());
    assert!(matches!(store.insert_if_absent(new).await, Ok(Insertion::Inserted)));
    assert_eq!(store.operation(operation.id).await.unwrap().as_ref(), Some(&operation));
    assert_eq!(store.operation_by_key(&operation.key).await.unwrap().as_ref(), Some(&operation));
    assert_eq!(store.payload(operation.id).await.unwrap(), Some(payload));
    assert_eq!(store.entries(operation.id, 0, 10).await.unwrap(), [entry]);

    let fresh = fresh.reopened().await;
    assert_eq!(fresh.stored(operation.id).await, operation, "and after a restart");
    fresh.remove().await;
}

async fn one_of_fifty_that_insert_at_once_wins(fresh: Fresh) {
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let database = fresh.database.clone();
            tokio::spawn(async move {
                let new = begun("812");
                let id = new.operation.id;
                match database.store.insert_if_absent(new).await.unwrap() {
                    Insertion::Inserted => (true, id),
                    Insertion::Existing(existing) => (false, existing.id),
                }
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    let winners: Vec<_> = answers.iter().filter(|(inserted, _)| *inserted).collect();
    assert_eq!(winners.len(), 1);
    assert!(answers.iter().all(|(_, id)| *id == winners[0].1), "the others are told the winner's");
    assert_eq!(fresh.number("SELECT count(*) FROM operation").await, 1);
    assert_eq!(fresh.number("SELECT count(*) FROM entry").await, 1, "the losers left nothing");
    assert_eq!(fresh.number("SELECT count(*) FROM body").await, 1);
    assert_eq!(fresh.number("SELECT CAST(sum(number) AS BIGINT) FROM count").await, 1);
    fresh.remove().await;
}

/// The tables refuse what is no operation, and those that were committed together with it do not suffer.
async fn a_row_that_is_no_operation_is_refused_alone(fresh: Fresh) {
    let mut illegal = begun("illegal");
    illegal.operation.key.revision = 0;
    let illegal_id = illegal.operation.id;
    let mut also_illegal = begun("also illegal");
    // The entry comes after the operation's row was written: that has to be taken back.
    also_illegal.entry.sequence = 0;
    let mut tasks = Vec::new();
    let legal = (0..20).map(|number| begun(&format!("legal {number}")));
    for new in legal.chain([illegal, also_illegal]).chain((20..40).map(|number| begun(&format!("legal {number}")))) {
        let database = fresh.database.clone();
        let document = new.operation.key.document.to_string();
        tasks.push((document, tokio::spawn(async move { database.store.insert_if_absent(new).await })));
    }
    for (document, task) in tasks {
        let answer = task.await.unwrap();
        if document.contains("illegal") {
            assert!(matches!(answer, Err(StoreFault::Corrupt { .. })), "{document}: {answer:?}");
        } else {
            assert!(matches!(answer, Ok(Insertion::Inserted)), "{document}: {answer:?}");
        }
    }
    assert!(fresh.database.store.operation(illegal_id).await.unwrap().is_none());
    assert_eq!(fresh.number("SELECT count(*) FROM operation").await, 40);
    assert_eq!(fresh.number("SELECT count(*) FROM body").await, 40);
    assert_eq!(fresh.number("SELECT CAST(sum(number) AS BIGINT) FROM count").await, 40);
    fresh.remove().await;
}

async fn changes_are_told_after_the_commit(fresh: Fresh) {
    let mut changes = fresh.database.changes.subscribe();
    let operation = fresh.begun("812").await;
    let told = tokio::time::timeout(std::time::Duration::from_secs(5), changes.recv()).await.unwrap().unwrap();
    assert_eq!(told, operation.id);
    let held = fresh.stored(told).await;
    assert!(matches!(held.state, State::Sending { since, .. } if since <= now()));
    fresh.remove().await;
}
