//! What becomes of the old part of a store that has grown.

use std::sync::Arc;

use guard::clock::Entropy as _;
use guard::decision::{Decision, DecisionName};
use guard::id::OperationId;
use guard::operation::Operation;
use guard::queue::{Filter, Order, PageRequest};
use guard::token::Reach;
use server::clock::OsEntropy;
use server::store::Database;
use server::store::postgres::MIGRATIONS;
use server::trail::verify;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::server_process::Server;
use crate::support::Fresh;

/// Tables whose rows stay as they were written.
const GROWING: [&str; 4] = ["body", "delivery", "entry", "look_alike"];

/// The tables that are vacuumed by what was added, and whose rows are frozen when they first are.
const KEPT_SO: &str = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace \
     AND reloptions @> '{autovacuum_vacuum_insert_scale_factor=0,autovacuum_vacuum_insert_threshold=100000,autovacuum_freeze_min_age=0}' \
     ORDER BY relname COLLATE \"C\"";

/// A statement that puts these operations beside those that are there.
fn putting(operations: &str) -> String {
    format!(
        "DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO operation (%1$s) SELECT %1$s FROM (%2$s) AS made', \
             string_agg(column_name, ', '), {}) FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = 'operation' AND is_generated = 'NEVER'); END $$",
        format_args!("'{}'", operations.replace('\'', "''"))
    )
}

/// One company's operations are found by the combinations of names that it has, and not by reading all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_a_large_company_reads_what_fits_alone() {
    const OPERATIONS: i64 = 40_000;
    /// Two thousand rows, once to find where looking ends and once to look; the whole index has three times as many.
    const BLOCKS_MAX: i64 = 200;
    let Some(fresh) = Fresh::postgres().await else { return };
    fresh.begun("order 1").await;
    // Put together once for each row, and not once for each column.
    let many = format!(
        "SELECT (made).* FROM (SELECT jsonb_populate_record(operation, jsonb_build_object( \
         'id', gen_random_uuid(), 'key_hash', '\\x' || replace(gen_random_uuid()::text, '-', ''), 'action', 'step ' || number % 8)) AS made \
         FROM operation CROSS JOIN generate_series(1, {OPERATIONS}) AS many (number) OFFSET 0) AS many"
    );
    fresh.tamper(&putting(&many)).await.unwrap();
    let facets = "INSERT INTO facet SELECT DISTINCT company, workflow, source_system, action FROM operation ON CONFLICT DO NOTHING";
    fresh.tamper(facets).await.unwrap();
    fresh.tamper("ANALYZE operation").await.unwrap();
    let blocks = "SELECT (idx_blks_hit + idx_blks_read)::bigint FROM pg_statio_user_indexes WHERE indexrelname = 'operation_by_facet'";
    let before = settled(&fresh, blocks).await;
    let asking = fresh.opened_again().await;
    let reach = Reach::over(["ACME".to_owned()], []);
    let page = PageRequest { cursor: None, limit: 20 };
    let list_of_nobody = async |action: &str| {
        let worker = Some("nobody".to_owned());
        let filter = Filter { action: Some(action.to_owned()), worker, ..Filter::default() };
        asking.store.operations(&reach, &filter, Order::Newest, &page).await.unwrap()
    };
    let none = list_of_nobody("nothing of the kind").await;
    assert!(none.rows.is_empty() && none.next.is_none());
    let unfit = list_of_nobody("step 3").await;
    assert!(unfit.rows.is_empty() && unfit.next.is_some(), "so far was looked");
    asking.close().await;
    let read = settled(&fresh, blocks).await - before;
    assert!(read < BLOCKS_MAX, "{read} blocks of the index were read");
    fresh.remove().await;
}

/// A number of PostgreSQL's statistics, once it no longer moves.
async fn settled(fresh: &Fresh, sql: &str) -> i64 {
    let mut last = -1;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
        let next = fresh.number(sql).await;
        if next == last {
            return next;
        }
        last = next;
    }
}

async fn confirmed(server: &Server, document: &str) -> Operation {
    let Decision::Proceed { operation, .. } = server.begin(document).await.unwrap() else { panic!("{document}") };
    server.confirm(&operation).await.unwrap()
}

/// An old key answers as ever, wherever its rows were put and however they are kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn old_rows_that_were_frozen_and_moved_hold_their_keys() {
    const OPERATIONS: usize = 50;
    let Some(fresh) = Fresh::postgres().await else { return };
    let servers = [Server::over(fresh.opened_again().await).await, Server::over(fresh.opened_again().await).await];
    let mut old = Vec::new();
    for number in 0..OPERATIONS {
        old.push(confirmed(&servers[number % 2], &format!("order {number}")).await);
    }

    let mut owner = PgConnection::connect(&fresh.url).await.unwrap();
    owner.execute("VACUUM (FREEZE)").await.unwrap();
    let place = format!("slow_{}", hex::encode(OsEntropy.bytes()));
    // A folder within the data folder: what PostgreSQL has for tests; only its superuser may.
    let is_superuser: bool = sqlx::query_scalar("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        .fetch_one(&mut owner)
        .await
        .unwrap();
    if is_superuser {
        owner.execute("SET allow_in_place_tablespaces = on").await.unwrap();
        owner.execute(format!("CREATE TABLESPACE {place} LOCATION ''").as_str()).await.unwrap();
        // While both servers have plans for these tables, and connections that have used them.
        for moved in ["TABLE entry", "INDEX entry_pkey", "TABLE body", "TABLE operation", "INDEX operation_by_key"] {
            owner.execute(format!("ALTER {moved} SET TABLESPACE {place}").as_str()).await.unwrap();
        }
    }
    for (number, operation) in old.iter().enumerate() {
        let again = servers[(number + 1) % 2].begin(&format!("order {number}")).await.unwrap();
        let Decision::Replay { operation: held, .. } = &again else { panic!("order {number}: {:?}", again.name()) };
        assert_eq!((held.id, held.head), (operation.id, operation.head));
        assert_eq!(servers[0].database.store.entries(operation.id, 0, 10).await.unwrap().len(), 2);
    }
    let new = confirmed(&servers[0], "order new").await;
    assert_eq!(servers[1].begin("order new").await.unwrap().name(), DecisionName::Replay);
    assert_ne!(new.id, old[0].id);
    let database = &servers[0].database;
    let report = verify(&*database.ledger, &database.registry.catalogue().await.unwrap()).await.unwrap();
    assert_eq!(report.operations, u64::try_from(OPERATIONS + 1).unwrap());

    if is_superuser {
        for back in ["TABLE entry", "INDEX entry_pkey", "TABLE body", "TABLE operation", "INDEX operation_by_key"] {
            owner.execute(format!("ALTER {back} SET TABLESPACE pg_default").as_str()).await.unwrap();
        }
        owner.execute(format!("DROP TABLESPACE {place}").as_str()).await.unwrap();
    }
    owner.close().await.unwrap();
    for server in servers {
        server.database.close().await;
    }
    fresh.remove().await;
}

/// Two rows of one key cannot be, whoever writes them: the index that says so spans all operations of all times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_index_over_all_operations_holds_the_keys() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let spanning = "SELECT count(*) FROM pg_index JOIN pg_class AS indexed ON indexed.oid = indrelid \
         WHERE indexrelid = 'operation_by_key'::regclass AND indisunique AND indisvalid AND indpred IS NULL \
         AND pg_get_indexdef(indexrelid) LIKE '%(key_hash)' AND indexed.relkind = 'r' AND indexed.relname = 'operation'";
    assert_eq!(fresh.number(spanning).await, 1, "the whole table, in one piece, without a condition");
    let operation = fresh.begun("order 1").await;
    let twice =
        "SELECT (jsonb_populate_record(operation, jsonb_build_object('id', gen_random_uuid()))).* FROM operation";
    let refused = fresh.tamper(&putting(twice)).await.unwrap_err();
    assert!(refused.contains("operation_by_key"), "{refused}");
    assert_eq!(fresh.stored(operation.id).await.id, operation.id);
    fresh.remove().await;
}

/// A store from before with entries in it: they stay, and are kept as in a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_from_before_is_vacuumed_by_what_is_added_too() {
    let Some(fresh) = Fresh::postgres().await else { return };
    assert_eq!(kept_so(&fresh.url).await, GROWING);

    let mut old = PgConnection::connect(&fresh.url).await.unwrap();
    old.execute("CREATE SCHEMA before").await.unwrap();
    old.close().await.unwrap();
    let separator = if fresh.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}options[search_path]=before", fresh.url);
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    let before = sqlx::migrate::Migrator {
        migrations: MIGRATIONS.iter().filter(|migration| migration.version < 22).cloned().collect::<Vec<_>>().into(),
        ..sqlx::migrate::Migrator::DEFAULT
    };
    before.run(&pool).await.unwrap();
    let id = OsEntropy.bytes();
    let insert = "INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash) \
         VALUES ($1, 1, 1700000000000, 'token:billing', 'begun', '{}', decode(repeat('00', 32), 'hex'))";
    sqlx::query(insert).bind(uuid::Uuid::from_bytes(id)).execute(&pool).await.unwrap();
    pool.close().await;
    assert!(kept_so(&url).await.is_empty());

    // Two processes of the new program, at once.
    let (one, other) =
        tokio::join!(Database::open(&url, Arc::new(OsEntropy)), Database::open(&url, Arc::new(OsEntropy)));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(kept_so(&url).await, GROWING);
    let chain = OperationId::from_u128(u128::from_be_bytes(id));
    assert_eq!(one.store.entries(chain, 0, 10).await.unwrap().len(), 1);
    one.close().await;
    other.close().await;
    fresh.remove().await;
}

async fn kept_so(url: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let tables = sqlx::query_scalar(KEPT_SO).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    tables
}
