//! Rows that are no records, full disks, and tables of another version.

use std::sync::Arc;

use guard::clock::Entropy as _;
use guard::decision::DecisionName;
use guard::queue::{Filter, Order, PageRequest};
use guard::refusal::StoreFault;
use guard::store::{Insertion, Replaced};
use guard::token::Reach;
use server::clock::OsEntropy;
use server::store::sqlite::MIGRATIONS;
use server::store::{Database, OpenError};

use crate::support::{Fresh, begun, confirmation, delivery, eventually, on_both};

on_both!(
    a_row_that_is_no_record_is_named,
    the_tables_refuse_what_no_operation_is,
    two_processes_share_one_database,
    a_newer_database_is_refused,
);

async fn a_row_that_is_no_record_is_named(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let good = fresh.begun("813").await;
    let store = &fresh.database.store;
    let id = fresh.id(operation.id.as_u128());
    let named = |table: &str, column: &str, id: String| {
        Some(StoreFault::Corrupt { table: table.to_owned(), column: column.to_owned(), id })
    };
    let own = operation.id.to_string();

    fresh.tamper(&format!("UPDATE operation SET company = 'Globex' WHERE id = {id}")).await.unwrap();
    assert_eq!(store.operation(operation.id).await.err(), named("operation", "key_hash", own.clone()));
    let page = PageRequest { cursor: None, limit: 10 };
    let listed = store.operations(&Reach::EVERYTHING, &Filter::default(), Order::Newest, &page).await;
    assert_eq!(listed.err(), named("operation", "key_hash", own.clone()));
    assert_eq!(store.operation(good.id).await, Ok(Some(good)), "the others are read");
    fresh.tamper(&format!("UPDATE operation SET company = ' ' WHERE id = {id}")).await.unwrap();
    assert_eq!(store.operation(operation.id).await.err(), named("operation", "company", own.clone()));
    fresh.tamper(&format!("UPDATE operation SET company = 'ACME', amount = 'much' WHERE id = {id}")).await.unwrap();
    assert_eq!(store.operation(operation.id).await.err(), named("operation", "amount", own.clone()));

    fresh.tamper(&format!("UPDATE entry SET kind = 'guessed' WHERE chain = {id}")).await.unwrap();
    assert_eq!(store.entries(operation.id, 0, 10).await.err(), named("entry", "kind", format!("{own}/1")));
    fresh.remove().await;
}

async fn the_tables_refuse_what_no_operation_is(fresh: Fresh) {
    let operation = fresh.begun("812").await;
    let id = fresh.id(operation.id.as_u128());
    for illegal in [
        "state = 'done'",
        "state = 'confirmed', lease_expires_at = NULL",
        "state = 'acquired', state_since = NULL, lease_expires_at = NULL",
        "lease_expires_at = NULL",
        "state_since = NULL",
        "reason = 'none is needed'",
        "state = 'unknown', lease_expires_at = NULL",
        "attempt = 0",
        "lease_token = NULL",
        "currency = NULL",
        "version = 0",
        "revision = 0",
        "open_conflicts = -1",
    ] {
        let done = fresh.tamper(&format!("UPDATE operation SET {illegal} WHERE id = {id}")).await;
        assert!(done.is_err(), "{illegal}");
    }
    assert_eq!(fresh.stored(operation.id).await, operation);
    fresh.remove().await;
}

async fn two_processes_share_one_database(fresh: Fresh) {
    let other = fresh.opened_again().await;
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let database = if number % 2 == 0 { fresh.database.clone() } else { other.clone() };
            // Each document twice, from two sides.
            let new = begun(&format!("{}", number / 2));
            tokio::spawn(async move {
                let operation = new.operation.clone();
                match database.store.insert_if_absent(new).await.unwrap() {
                    Insertion::Inserted => {
                        assert_eq!(database.store.replace(confirmation(&operation)).await, Ok(Replaced::Replaced));
                        database.store.note_delivery(delivery(&operation, DecisionName::Replay));
                        1
                    }
                    Insertion::Existing(_) => 0,
                }
            })
        })
        .collect();
    let mut inserted = 0;
    for task in tasks {
        inserted += task.await.unwrap();
    }
    assert_eq!(inserted, 50);
    other.close().await;
    eventually("all is counted", || async {
        fresh.number("SELECT CAST(coalesce(sum(duplicates_prevented), 0) AS BIGINT) FROM operation").await == 50
    })
    .await;
    assert_eq!(fresh.number("SELECT count(*) FROM operation WHERE state = 'confirmed'").await, 50);
    let counted = "SELECT CAST(sum(number) AS BIGINT) FROM count WHERE counted = 'decision:replay'";
    assert_eq!(fresh.number(counted).await, 50);
    fresh.remove().await;
}

async fn a_newer_database_is_refused(fresh: Fresh) {
    let known = fresh.number("SELECT max(version) FROM _sqlx_migrations").await;
    let future =
        "UPDATE _sqlx_migrations SET version = 9999 WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
    fresh.tamper(future).await.unwrap();
    match Database::open(&fresh.url, Arc::new(OsEntropy)).await.err() {
        Some(OpenError::Newer { migration, known: told }) => assert_eq!((migration, told), (9_999, known)),
        other => panic!("{other:?}"),
    }
    fresh.remove().await;
}

#[tokio::test]
async fn a_database_of_another_kind_is_refused() {
    for url in ["mysql://localhost/x", "onceover.db", ""] {
        let refused = Database::open(url, Arc::new(OsEntropy)).await.err();
        assert!(matches!(refused, Some(OpenError::UnknownScheme { .. })), "{url}: {refused:?}");
    }
}

/// SQLite only: what was there before a migration is there after it.
#[tokio::test]
async fn a_migration_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("onceover.db");
    for count in 1..MIGRATIONS.iter().count() {
        let path = path.with_extension(format!("{count}.db"));
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
        let before = sqlx::migrate::Migrator {
            migrations: MIGRATIONS.iter().take(count).cloned().collect::<Vec<_>>().into(),
            ..sqlx::migrate::Migrator::DEFAULT
        };
        before.run(&pool).await.unwrap();
        let id = OsEntropy.bytes();
        let insert = "INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash) \
                      VALUES (?1, 1, 1700000000000, 'token:billing', 'begun', '{}', zeroblob(32))";
        sqlx::query(insert).bind(&id[..]).execute(&pool).await.unwrap();
        pool.close().await;

        let database = Database::open(&format!("sqlite://{}", path.display()), Arc::new(OsEntropy)).await.unwrap();
        let chain = guard::id::OperationId::from_u128(u128::from_be_bytes(id));
        let entries = database.store.entries(chain, 0, 10).await.unwrap();
        assert_eq!(entries.len(), 1, "after {count} migrations");
        database.ready().await.unwrap();
        database.close().await;
    }
}

/// SQLite only: the copy is whole, although somebody writes meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_a_database() {
    let fresh = Fresh::sqlite().await;
    let operation = fresh.begun("812").await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let writing = {
        let database = fresh.database.clone();
        tokio::spawn(async move {
            for number in 0..100 {
                database.store.insert_if_absent(begun(&format!("meanwhile {number}"))).await.unwrap();
            }
        })
    };
    fresh.database.backup(&copy).await.unwrap();
    writing.await.unwrap();
    assert!(fresh.database.backup(&copy).await.is_err(), "it is never overwritten");
    let restored = Database::open(&format!("sqlite://{}", copy.display()), Arc::new(OsEntropy)).await.unwrap();
    assert_eq!(restored.store.operation(operation.id).await, Ok(Some(operation)));
    server::trail::verify(&*restored.ledger, &restored.registry.catalogue().await.unwrap()).await.unwrap();
    restored.close().await;
    fresh.remove().await;
}

#[tokio::test]
async fn after_a_close_nothing_is_acknowledged() {
    let fresh = Fresh::sqlite().await;
    let operation = fresh.begun("812").await;
    fresh.database.close().await;
    let store = &fresh.database.store;
    assert!(matches!(store.insert_if_absent(begun("813")).await, Err(StoreFault::Unavailable)));
    assert_eq!(store.operation(operation.id).await, Err(StoreFault::Unavailable));
    assert_eq!(fresh.database.ready().await, Err(StoreFault::Unavailable));
}
