//! Changes of operations: a comparison and a write in one, with everything that goes with it, or nothing.

use guard::clock::Entropy as _;
use guard::conflict::Conflict;
use guard::decision::DecisionName;
use guard::evidence::Evidence;
use guard::fingerprint::Fingerprint;
use guard::id::{ConflictId, EvidenceId};
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::store::{Replaced, Replacement};
use server::clock::OsEntropy;

use crate::support::{
    Fresh, actor, begun_as, confirmation, delivery, eventually, key, moment, now, on_both, uncertainty,
};

on_both!(
    everything_that_goes_with_a_change_is_kept,
    one_of_twenty_that_replace_one_version_wins,
    a_failure_in_the_middle_stores_nothing,
    the_same_conflict_twice_is_stale,
    a_change_leaves_what_the_store_keeps_up,
    every_state_survives_the_store,
);

fn conflict_on(operation: &Operation, fingerprint: [u8; 32]) -> Conflict {
    let at = now();
    Conflict {
        id: ConflictId::new(at, OsEntropy.bytes()),
        operation: operation.id,
        fingerprint: Fingerprint::from_bytes(fingerprint),
        changes: Vec::new(),
        changes_total: 3,
        opened_at: at,
        hits: 1,
        standing: guard::conflict::ConflictStanding::Open,
        workflow: operation.key.workflow.as_str().to_owned(),
        company: operation.key.company.as_str().to_owned(),
        places: guard::conflict::Places::default(),
    }
}

fn evidence_for(operation: &Operation) -> Evidence {
    let at = now();
    Evidence {
        id: EvidenceId::new(at, OsEntropy.bytes()),
        operation: operation.id,
        at,
        actor: actor(),
        note: "seen in the list of tasks".to_owned(),
        link: Some("https://tasks.example.test/907".to_owned()),
        file: Some(guard::evidence::File {
            name: "statement.csv".to_owned(),
            media_type: guard::evidence::MediaType::Csv,
            bytes: 3,
            sha256: guard::evidence::FileHash::of(b"a;b"),
        }),
    }
}

async fn everything_that_goes_with_a_change_is_kept(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = fresh.begun("812").await;
    let second = begun_as(key("812").at_revision(2), now());
    let second_operation = second.operation.clone();
    store.insert_if_absent(second).await.unwrap();

    let conflict = conflict_on(&second_operation, [7; 32]);
    let evidence = evidence_for(&second_operation);
    let mut replacement = confirmation(&second_operation);
    replacement.operation.open_conflicts = 1;
    replacement.conflict = Some((conflict.clone(), r#"{"total":"1180.00"}"#.to_owned()));
    replacement.evidence = Some(evidence.clone());
    replacement.response = Some(r#"{"status":201}"#.to_owned());
    replacement.supersedes = Some(first.id);
    let Replacement { operation: changed, entry, .. } = replacement.clone();
    assert_eq!(store.replace(replacement).await, Ok(Replaced::Replaced));

    assert_eq!(fresh.stored(changed.id).await, changed);
    assert_eq!(store.entries(changed.id, 1, 10).await.unwrap(), [entry]);
    assert_eq!(store.conflict(changed.id, &conflict.fingerprint).await.unwrap().as_ref(), Some(&conflict));
    assert_eq!(store.conflicts(changed.id, 10).await.unwrap(), [conflict]);
    assert_eq!(store.evidence(changed.id, 10).await.unwrap(), [evidence]);
    assert_eq!(store.response(changed.id).await.unwrap().as_deref(), Some(r#"{"status":201}"#));
    assert_eq!(store.response(first.id).await.unwrap(), None);
    assert_eq!(fresh.number("SELECT count(*) FROM conflict WHERE payload LIKE '%1180%'").await, 1);
    assert_eq!(fresh.stored(first.id).await.superseded_by, Some(changed.id));
    assert_eq!(
        fresh.number("SELECT CAST(sum(number) AS BIGINT) FROM count WHERE counted = 'entered:confirmed'").await,
        1
    );
    fresh.remove().await;
}

async fn one_of_twenty_that_replace_one_version_wins(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let database = fresh.database.clone();
            let replacement = if number % 2 == 0 { confirmation(&operation) } else { uncertainty(&operation, now()) };
            tokio::spawn(
                async move { (replacement.operation.clone(), database.store.replace(replacement).await.unwrap()) },
            )
        })
        .collect();
    let mut winners = Vec::new();
    for task in tasks {
        let (wanted, replaced) = task.await.unwrap();
        if replaced == Replaced::Replaced {
            winners.push(wanted);
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(fresh.stored(operation.id).await, winners[0]);
    assert_eq!(fresh.number("SELECT count(*) FROM entry").await, 2);
    assert_eq!(fresh.number("SELECT CAST(sum(number) AS BIGINT) FROM count").await, 2);
    fresh.remove().await;
}

async fn a_failure_in_the_middle_stores_nothing(fresh: Fresh) {
    let store = &fresh.database.store;
    let other = fresh.begun("813").await;
    let evidence = evidence_for(&other);
    let mut replacement = confirmation(&other);
    replacement.evidence = Some(evidence.clone());
    store.replace(replacement).await.unwrap();

    // Everything fits but the evidence, whose id is taken: it comes when the operation and its entry were written.
    let operation = fresh.begun("812").await;
    let mut replacement = confirmation(&operation);
    replacement.evidence = Some(Evidence { operation: operation.id, ..evidence });
    replacement.response = Some("{}".to_owned());
    replacement.conflict = Some((conflict_on(&operation, [7; 32]), "{}".to_owned()));
    replacement.supersedes = Some(other.id);
    let neighbours: Vec<_> = (0..20)
        .map(|number| {
            let database = fresh.database.clone();
            let new = crate::support::begun(&format!("neighbour {number}"));
            tokio::spawn(async move { database.store.insert_if_absent(new).await })
        })
        .collect();
    let answer = store.replace(replacement).await;
    assert!(matches!(answer, Err(StoreFault::Corrupt { .. })), "{answer:?}");
    for neighbour in neighbours {
        neighbour.await.unwrap().unwrap();
    }

    assert_eq!(fresh.stored(operation.id).await, operation);
    assert_eq!(store.entries(operation.id, 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.conflicts(operation.id, 10).await.unwrap(), []);
    assert_eq!(fresh.number("SELECT count(*) FROM body WHERE kind = 'response'").await, 0);
    assert_eq!(fresh.stored(other.id).await.superseded_by, None);
    assert_eq!(
        fresh.number("SELECT CAST(sum(number) AS BIGINT) FROM count WHERE counted = 'entered:confirmed'").await,
        1
    );
    fresh.remove().await;
}

async fn the_same_conflict_twice_is_stale(fresh: Fresh) {
    let store = &fresh.database.store;
    let operation = fresh.begun("812").await;
    let with_conflict = |operation: &Operation, fingerprint| {
        let mut replacement = uncertainty(operation, now());
        replacement.operation.open_conflicts += 1;
        replacement.conflict = Some((conflict_on(operation, fingerprint), "{}".to_owned()));
        replacement
    };
    let first = with_conflict(&operation, [7; 32]);
    let held = first.operation.clone();
    assert_eq!(store.replace(first).await, Ok(Replaced::Replaced));
    assert_eq!(store.replace(with_conflict(&held, [7; 32])).await, Ok(Replaced::Stale));
    assert_eq!(fresh.stored(operation.id).await, held, "and nothing of it was stored");
    assert_eq!(store.entries(operation.id, 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.replace(with_conflict(&held, [8; 32])).await, Ok(Replaced::Replaced));
    let listed = store.conflicts(operation.id, 10).await.unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed[0].id > listed[1].id || listed[0].opened_at == listed[1].opened_at, "the newest first");
    fresh.remove().await;
}

async fn a_change_leaves_what_the_store_keeps_up(fresh: Fresh) {
    let store = &fresh.database.store;
    let first = fresh.begun("812").await;
    let confirmed = confirmation(&first);
    let held = confirmed.operation.clone();
    store.replace(confirmed).await.unwrap();
    let second = begun_as(key("812").at_revision(2), now());
    let mut supersedes = confirmation(&second.operation);
    supersedes.supersedes = Some(first.id);
    let next = second.operation.id;
    store.insert_if_absent(second).await.unwrap();
    store.replace(supersedes).await.unwrap();
    store.note_delivery(delivery(&held, DecisionName::Replay));
    eventually("the delivery is counted", || async { fresh.stored(first.id).await.duplicates_prevented == 1 }).await;

    // Whoever changes it now knows nothing of either.
    assert_eq!((held.superseded_by, held.duplicates_prevented), (None, 0));
    assert_eq!(store.replace(uncertainty(&held, now())).await, Ok(Replaced::Replaced));
    let stored = fresh.stored(first.id).await;
    assert_eq!((stored.superseded_by, stored.duplicates_prevented), (Some(next), 1));
    fresh.remove().await;
}

async fn every_state_survives_the_store(fresh: Fresh) {
    use guard::state::State;
    let since = moment(0);
    let reason = || "because \u{1f9fe} \"so\"".to_owned();
    let states = [
        State::AwaitingApproval,
        State::Rejected { reason: reason(), dropped_at: None },
        State::Rejected { reason: reason(), dropped_at: Some(since) },
        State::Acquired { lease_expires_at: moment(1) },
        State::Sending { since, lease_expires_at: moment(1) },
        State::Released { since },
        State::Failed { since, reason: reason() },
        State::Unknown { since, reason: reason() },
        State::Confirmed { since, destination_reference: "907".to_owned() },
        State::Disputed { since, reason: reason(), destination_reference: None },
        State::Disputed { since, reason: reason(), destination_reference: Some("907".to_owned()) },
    ];
    let mut operation = fresh.begun("812").await;
    for state in states {
        let replacement = crate::support::change(&operation, state, now());
        operation = replacement.operation.clone();
        assert_eq!(fresh.database.store.replace(replacement).await, Ok(Replaced::Replaced), "{:?}", operation.state);
        assert_eq!(fresh.stored(operation.id).await, operation);
    }
    fresh.remove().await;
}
