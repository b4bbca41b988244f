//! Seals and the proof: whatever is done to the tables behind the store's back is found and named.

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::Entropy as _;
use guard::fingerprint::Fingerprint;
use guard::id::{OperationId, PersonId};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::person::{Person, Role};
use guard::refusal::StoreFault;
use guard::store::{Act, Administered, VersionedWorkflow};
use guard::token::Reach;
use guard::trail::{Entry, EntryKind};
use guard::workflow::Workflow;
use server::clock::OsEntropy;
use server::trail::{ChainId, FirstBroken, Report, Sealed, seal, verify};

use crate::support::{Fresh, begun_as, confirmation, key, now, object, on_both, uncertainty};

on_both!(
    a_trail_in_use_is_whole,
    an_altered_detail_is_found,
    an_altered_payload_is_found,
    an_altered_moment_or_actor_is_found,
    a_deleted_entry_is_found,
    a_deleted_operation_is_found,
    an_operation_deleted_with_its_chain_is_found_by_the_seal,
    an_altered_operation_is_found,
    an_added_entry_is_found,
    an_altered_administration_is_found,
    an_altered_or_deleted_seal_is_found,
    a_chain_forged_anew_is_found_by_the_seal,
    a_commit_that_comes_late_is_sealed,
    one_of_two_that_seal_at_once_wins,
);

/// Three confirmed operations and an act of the administration, all sealed; the middle one is given.
async fn sealed(fresh: &Fresh) -> Operation {
    let mut operations = Vec::new();
    for document in ["811", "812", "813"] {
        let operation = fresh.begun(document).await;
        let confirmed = confirmation(&operation);
        operations.push(confirmed.operation.clone());
        fresh.database.store.replace(confirmed).await.unwrap();
    }
    let registry = &fresh.database.registry;
    let head = registry.administration_head().await.unwrap();
    let entry = Entry::following(head, now(), Actor::FirstStart, EntryKind::PersonAdded, object(&[("email", "ada")]));
    let person = Person {
        id: PersonId::new(now(), OsEntropy.bytes()),
        email: "ada@example.test".to_owned(),
        role: Role::Admin,
        reach: Reach::EVERYTHING,
    };
    let act = Act::AddPerson { person, password_hash: "$argon2id$".to_owned(), only_first: true };
    assert_eq!(registry.administer(vec![(act, entry)]).await, Ok(Administered::Done));
    assert_eq!(seal(&*fresh.database.ledger, now() + TimeDelta::seconds(30)).await, Ok(Sealed::Made(1)));
    let report = proven(fresh).await.unwrap();
    assert_eq!((report.operations, report.entries, report.seals), (3, 7, 1));
    operations.sort_by_key(|operation| operation.id);
    operations.swap_remove(1)
}

async fn proven(fresh: &Fresh) -> Result<Report, FirstBroken> {
    let catalogue = fresh.database.registry.catalogue().await.unwrap();
    verify(&*fresh.database.ledger, &catalogue).await
}

async fn broken(fresh: &Fresh) -> FirstBroken {
    proven(fresh).await.unwrap_err()
}

async fn touch_one(fresh: &Fresh, sql: &str) {
    assert_eq!(fresh.tamper(sql).await, Ok(1), "{sql}");
}

async fn a_trail_in_use_is_whole(fresh: Fresh) {
    let ledger = &fresh.database.ledger;
    assert_eq!(proven(&fresh).await.unwrap().entries, 0, "an empty one is whole");
    assert_eq!(seal(&**ledger, now()).await, Ok(Sealed::NothingNew));
    let database = fresh.database.clone();
    let writing = tokio::spawn(async move {
        for number in 0..300 {
            let new = begun_as(key(&number.to_string()), now());
            let operation = new.operation.clone();
            database.store.insert_if_absent(new).await.unwrap();
            let uncertain = uncertainty(&operation, now());
            let operation = uncertain.operation.clone();
            database.store.replace(uncertain).await.unwrap();
            database.store.replace(confirmation(&operation)).await.unwrap();
        }
    });
    let mut proofs = 0;
    while !writing.is_finished() {
        proven(&fresh).await.unwrap();
        seal(&**ledger, now() + TimeDelta::seconds(10)).await.unwrap();
        proofs += 1;
    }
    writing.await.unwrap();
    assert!(proofs > 1);
    seal(&**ledger, now() + TimeDelta::seconds(30)).await.unwrap();
    let report = proven(&fresh).await.unwrap();
    assert_eq!((report.operations, report.entries), (300, 900));
    let last = ledger.last_seal().await.unwrap().unwrap();
    assert_eq!(report.last_seal, Some((last.number, last.hash)));
    assert_eq!(seal(&**ledger, now() + TimeDelta::seconds(60)).await, Ok(Sealed::NothingNew));
    fresh.remove().await;
}

async fn an_altered_detail_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    let detail = r#"{"state":"confirmed","destination_reference":"task 908"}"#;
    touch_one(&fresh, &format!("UPDATE entry SET detail = '{detail}' WHERE chain = {id} AND sequence = 2")).await;
    let chain = ChainId::from(operation.id);
    assert_eq!(broken(&fresh).await, FirstBroken::EntryAltered { chain, sequence: 2 });
    touch_one(&fresh, &format!("UPDATE entry SET detail = '{{' WHERE chain = {id} AND sequence = 2")).await;
    let corrupt = StoreFault::Corrupt {
        table: "entry".to_owned(),
        column: "detail".to_owned(),
        id: format!("{}/2", operation.id),
    };
    assert_eq!(broken(&fresh).await, FirstBroken::Unreadable(corrupt));
    fresh.remove().await;
}

async fn an_altered_payload_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let registry = &fresh.database.registry;
    let head = registry.administration_head().await.unwrap();
    let workflow = VersionedWorkflow {
        version: operation.policy_version,
        workflow: Workflow::named(operation.key.workflow.clone()),
        is_retired: false,
    };
    let entry = Entry::following(head, now(), Actor::CommandLine, EntryKind::WorkflowApplied, object(&[]));
    let act = Act::PutWorkflow(Box::new(workflow));
    assert_eq!(registry.administer(vec![(act, entry)]).await, Ok(Administered::Done));
    assert_eq!(proven(&fresh).await.unwrap().payloads, 3);

    let id = fresh.id(operation.id.as_u128());
    touch_one(&fresh, &format!("UPDATE body SET content = '{{\"total\":\"999.00\"}}' WHERE operation = {id}")).await;
    let measured = Fingerprint::of(&Payload::parse(br#"{"total":"999.00"}"#).unwrap(), &[]).to_string();
    let found = FirstBroken::PayloadAltered { operation: operation.id, measured, told: operation.fingerprint };
    assert_eq!(broken(&fresh).await, found);
    touch_one(&fresh, &format!("DELETE FROM body WHERE operation = {id}")).await;
    assert_eq!(proven(&fresh).await.unwrap().payloads, 2, "one that was dropped cannot be measured");
    fresh.remove().await;
}

async fn an_altered_moment_or_actor_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    let found = FirstBroken::EntryAltered { chain: operation.id.into(), sequence: 1 };
    touch_one(&fresh, &format!("UPDATE entry SET at = at + 1 WHERE chain = {id} AND sequence = 1")).await;
    assert_eq!(broken(&fresh).await, found);
    touch_one(&fresh, &format!("UPDATE entry SET at = at - 1 WHERE chain = {id} AND sequence = 1")).await;
    proven(&fresh).await.unwrap();
    touch_one(&fresh, &format!("UPDATE entry SET actor = 'token:else' WHERE chain = {id} AND sequence = 1")).await;
    assert_eq!(broken(&fresh).await, found);
    fresh.remove().await;
}

async fn a_deleted_entry_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let chain = ChainId::from(operation.id);
    let id = fresh.id(operation.id.as_u128());
    touch_one(&fresh, &format!("DELETE FROM entry WHERE chain = {id} AND sequence = 2")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryMissing { chain, sequence: 2 });
    touch_one(&fresh, &format!("DELETE FROM entry WHERE chain = {id} AND sequence = 1")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryMissing { chain, sequence: 1 });
    fresh.remove().await;
}

async fn a_deleted_operation_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    touch_one(&fresh, &format!("DELETE FROM operation WHERE id = {id}")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::OperationMissing { chain: operation.id.into() });
    fresh.remove().await;
}

async fn an_operation_deleted_with_its_chain_is_found_by_the_seal(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    fresh.tamper(&format!("DELETE FROM entry WHERE chain = {id}")).await.unwrap();
    fresh.tamper(&format!("DELETE FROM body WHERE operation = {id}")).await.unwrap();
    touch_one(&fresh, &format!("DELETE FROM operation WHERE id = {id}")).await;
    let found = FirstBroken::SealedMissing { number: 1, chain: operation.id.into(), sequence: 2 };
    assert_eq!(broken(&fresh).await, found);
    assert!(found.to_string().contains(&operation.id.to_string()), "{found}");
    fresh.remove().await;
}

async fn an_altered_operation_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    let column_of = |broken: FirstBroken| {
        let FirstBroken::OperationAltered { operation: found, column, .. } = broken else { panic!("{broken}") };
        assert_eq!(found, operation.id);
        column
    };
    let held = "state = 'confirmed', reason = NULL, destination_reference = 'task 907'";
    for (column, altered, before) in [
        ("state", "state = 'failed', reason = 'it was not', destination_reference = NULL", held),
        ("destination_reference", "destination_reference = 'task 908'", held),
        ("lease_token", "lease_token = 'known to me'", "begun_at = begun_at"),
    ] {
        let token = operation.attempt.as_ref().unwrap().lease_token.reveal();
        touch_one(&fresh, &format!("UPDATE operation SET {altered} WHERE id = {id}")).await;
        assert_eq!(column_of(broken(&fresh).await), column);
        touch_one(&fresh, &format!("UPDATE operation SET {before}, lease_token = '{token}' WHERE id = {id}")).await;
        proven(&fresh).await.unwrap();
    }
    // With a hash that fits: the row alone looks right.
    for (document, is_whole) in [("899", false), (operation.key.document.as_str(), true)] {
        let hash = fresh.bytes(&key(document).hash());
        let moved = format!("UPDATE operation SET document = '{document}', key_hash = {hash} WHERE id = {id}");
        touch_one(&fresh, &moved).await;
        if is_whole {
            proven(&fresh).await.unwrap();
        } else {
            assert_eq!(column_of(broken(&fresh).await), "key");
        }
    }
    let other = format!("(SELECT fingerprint FROM operation WHERE id <> {id} LIMIT 1)");
    touch_one(&fresh, &format!("UPDATE operation SET fingerprint = {other} WHERE id = {id}")).await;
    assert_eq!(column_of(broken(&fresh).await), "fingerprint");
    touch_one(&fresh, &format!("UPDATE operation SET version = 3 WHERE id = {id}")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryMissing { chain: operation.id.into(), sequence: 3 });
    fresh.remove().await;
}

async fn an_added_entry_is_found(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let chain = ChainId::from(operation.id);
    let id = fresh.id(operation.id.as_u128());
    touch_one(&fresh, &format!("UPDATE operation SET version = 1 WHERE id = {id}")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryAdded { chain, sequence: 2 });
    fresh.remove().await;
}

async fn an_altered_administration_is_found(fresh: Fresh) {
    sealed(&fresh).await;
    let chain = ChainId::ADMINISTRATION;
    let id = fresh.id(0);
    touch_one(&fresh, "UPDATE administration SET sequence = 0").await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryAdded { chain, sequence: 1 });
    touch_one(&fresh, "UPDATE administration SET sequence = 1").await;
    touch_one(&fresh, &format!("UPDATE entry SET actor = 'person:eve' WHERE chain = {id}")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryAltered { chain, sequence: 1 });
    touch_one(&fresh, &format!("DELETE FROM entry WHERE chain = {id}")).await;
    assert_eq!(broken(&fresh).await, FirstBroken::EntryMissing { chain, sequence: 1 });
    // With the head reset as well, only the seal knows.
    let start = "UPDATE administration SET sequence = 0, head = (SELECT heads FROM seal WHERE number = 2)";
    fresh
        .tamper("INSERT INTO seal (number, at, until, heads, hash) SELECT 2, at, until, hash, hash FROM seal")
        .await
        .unwrap();
    touch_one(&fresh, start).await;
    touch_one(&fresh, "DELETE FROM seal WHERE number = 2").await;
    assert!(matches!(broken(&fresh).await, FirstBroken::AdministrationAltered { .. }));
    fresh.remove().await;
}

async fn an_altered_or_deleted_seal_is_found(fresh: Fresh) {
    sealed(&fresh).await;
    for (number, document) in [(1, "814"), (2, "815")] {
        fresh.begun(document).await;
        let later = now() + TimeDelta::seconds(30 + number);
        assert_eq!(seal(&*fresh.database.ledger, later).await, Ok(Sealed::Made(1)));
    }
    touch_one(&fresh, "UPDATE seal SET until = until + 1 WHERE number = 2").await;
    assert_eq!(broken(&fresh).await, FirstBroken::SealAltered { number: 2 });
    touch_one(&fresh, "UPDATE seal SET until = until - 1 WHERE number = 2").await;
    proven(&fresh).await.unwrap();
    touch_one(&fresh, "UPDATE seal SET heads = (SELECT heads FROM seal WHERE number = 3) WHERE number = 2").await;
    assert_eq!(broken(&fresh).await, FirstBroken::SealAltered { number: 2 });
    touch_one(&fresh, "DELETE FROM seal WHERE number = 2").await;
    assert_eq!(broken(&fresh).await, FirstBroken::SealMissing { number: 2 });
    fresh.remove().await;
}

/// Somebody who knows the format writes an operation's chain anew, without a fault in it.
async fn a_chain_forged_anew_is_found_by_the_seal(fresh: Fresh) {
    let operation = sealed(&fresh).await;
    let id = fresh.id(operation.id.as_u128());
    fresh.tamper(&format!("DELETE FROM entry WHERE chain = {id}")).await.unwrap();
    fresh.tamper(&format!("DELETE FROM body WHERE operation = {id}")).await.unwrap();
    touch_one(&fresh, &format!("DELETE FROM operation WHERE id = {id}")).await;
    let mut forged = begun_as(operation.key.clone(), operation.created_at - TimeDelta::seconds(1));
    forged.operation.id = operation.id;
    let begun = forged.operation.clone();
    fresh.database.store.insert_if_absent(forged).await.unwrap();
    fresh.database.store.replace(confirmation(&begun)).await.unwrap();
    let found = FirstBroken::SealedAltered { number: 1, chain: operation.id.into(), sequence: 2 };
    assert_eq!(broken(&fresh).await, found);
    fresh.remove().await;
}

/// Its moment lies before the last seal; its commit came after.
async fn a_commit_that_comes_late_is_sealed(fresh: Fresh) {
    sealed(&fresh).await;
    let new = begun_as(key("late"), now() - TimeDelta::seconds(20));
    let id: OperationId = new.operation.id;
    fresh.database.store.insert_if_absent(new).await.unwrap();
    let later = now() + TimeDelta::seconds(40);
    assert_eq!(seal(&*fresh.database.ledger, later).await, Ok(Sealed::Made(1)));
    let last = fresh.database.ledger.last_seal().await.unwrap().unwrap();
    let chains: Vec<ChainId> = last.heads.iter().map(|head| head.chain).collect();
    assert_eq!(chains, [ChainId::from(id)], "and what the first one has is not sealed again");
    fresh.remove().await;
}

async fn one_of_two_that_seal_at_once_wins(fresh: Fresh) {
    sealed(&fresh).await;
    let ledger = &fresh.database.ledger;
    let first = ledger.last_seal().await.unwrap().unwrap();
    assert_eq!(ledger.add_seal(&first).await, Ok(false));
    assert_eq!(ledger.seals(0, 10).await.unwrap(), [first]);
    fresh.remove().await;
}
