//! `onceover copy`: a store moves from SQLite to PostgreSQL, with the real binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use reqwest::StatusCode;
use serde_json::json;
use sqlx::Connection as _;

#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;

use automation::{Automation, answered, begin};
use postgres::Fresh;
use process::Machine;

/// A store with a bit of everything in it.
async fn furnished(operations: &str) -> (Machine, String, String) {
    let machine = Machine::new();
    machine.run(&["seed", "--operations", operations, "--unknown", "40", "--conflicts", "30", "--seed", "7"]).ok();
    machine.run_with(&["user", "create", "--email", "ada@example.com", "--role", "admin"], "a password of hers\n").ok();
    machine.apply("[[workflow]]\nname = \"handoff\"\n");
    let token = machine.token("shop");
    let serving = machine.serve();
    let shop = Automation::new(&serving.url, &token);
    let mut order = begin("order-812");
    order["payload"]["note"] = json!("tab\there, back\\slash, line\nbreak, \u{b}\u{c}\u{8} é \u{1f600}");
    let granted = answered(shop.post("/api/v1/operations", &order)).await;
    let lease = granted.body["lease"]["token"].as_str().unwrap().to_owned();
    let id = granted.body["operation"]["id"].as_str().unwrap().to_owned();
    let report = json!({ "lease_token": lease, "outcome": "confirmed", "destination_reference": "task-907" });
    assert_eq!(answered(shop.outcome(&id, &report)).await.status, StatusCode::OK);
    for _ in 0..3 {
        assert_eq!(answered(shop.post("/api/v1/operations", &order)).await.body["decision"], "replay");
    }
    serving.stop();
    (machine, token, id)
}

fn copying(machine: &Machine, to: &str) -> std::process::Command {
    machine.command(&["copy", "--from", machine.database(), "--to", to])
}

async fn tables_in(url: &str, schema: &str) -> i64 {
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    let count = "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1";
    let count = sqlx::query_scalar(count).bind(schema).fetch_one(&pool).await.unwrap();
    pool.close().await;
    count
}

#[tokio::test]
async fn everything_moves_and_goes_on() {
    let Some(fresh) = Fresh::new().await else { return };
    let (machine, token, id) = furnished("300").await;
    let here = machine.run(&["trail", "verify"]).ok();
    let copied = process::end(copying(&machine, &fresh.url), "").ok();
    assert!(copied.starts_with("TABLE"), "{copied}");

    let there = Machine::on(&fresh.url);
    assert_eq!(there.run(&["trail", "verify"]).ok(), here, "the same trail, to the hash of its last seal");
    assert_eq!(there.run(&["export"]).ok(), machine.run(&["export"]).ok());
    assert_eq!(there.run(&["user", "list"]).ok(), machine.run(&["user", "list"]).ok());
    assert_eq!(tables_in(&fresh.url, "onceover_copy").await, 0);

    let serving = there.serve();
    let shop = Automation::new(&serving.url, &token);
    let mut order = begin("order-812");
    order["payload"]["note"] = json!("tab\there, back\\slash, line\nbreak, \u{b}\u{c}\u{8} é \u{1f600}");
    let again = answered(shop.post("/api/v1/operations", &order)).await;
    assert_eq!((&again.body["decision"], &again.body["operation"]["id"]), (&json!("replay"), &json!(id)));
    assert_eq!(again.body["operation"]["duplicates_prevented"], 3, "what was counted came along");
    assert_eq!(answered(shop.post("/api/v1/operations", &begin("order-813"))).await.body["decision"], "proceed");
    serving.stop();

    let refused = process::end(copying(&machine, &fresh.url), "").refused(1);
    assert!(refused.contains("holds a store already"), "{refused}");
    fresh.remove().await;
}

/// Starts a copy and ends it hard as soon as it has told of this table.
fn interrupt(machine: &Machine, to: &str, table: &str) {
    let mut child =
        copying(machine, to).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.starts_with(table)), "{table} was copied");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn an_interrupted_copy_is_no_store_and_goes_on() {
    let Some(fresh) = Fresh::new().await else { return };
    // So many that bodies go on where they were.
    let (machine, ..) = furnished("12000").await;
    interrupt(&machine, &fresh.url, "body: ");
    assert_eq!(tables_in(&fresh.url, "public").await, 0, "nobody can take half of it for a store");

    // The copy got half way, a row that it has copied is changed in the file afterwards, and one is spoilt.
    let pool = sqlx::PgPool::connect(&fresh.url).await.unwrap();
    for statement in [
        "DELETE FROM onceover_copy.body WHERE operation IN (SELECT operation FROM onceover_copy.body ORDER BY operation DESC LIMIT 500)",
        "UPDATE onceover_copy.body SET content = '{}' WHERE ctid = (SELECT min(ctid) FROM onceover_copy.body)",
    ] {
        assert!(sqlx::query(statement).execute(&pool).await.unwrap().rows_affected() > 0);
    }
    pool.close().await;
    machine.run(&["token", "create", "--name", "later"]).ok();

    process::end(copying(&machine, &fresh.url), "").ok();
    let there = Machine::on(&fresh.url);
    assert_eq!(there.run(&["trail", "verify"]).ok(), machine.run(&["trail", "verify"]).ok());
    assert!(there.run(&["token", "list"]).ok().contains("later"));
    fresh.remove().await;
}

#[tokio::test]
async fn a_file_that_is_written_to_meanwhile_is_not_moved() {
    let Some(fresh) = Fresh::new().await else { return };
    let (machine, ..) = furnished("100").await;
    interrupt(&machine, &fresh.url, "administration: ");
    // The next copy waits for this lock before its last table.
    let mut holder = sqlx::PgConnection::connect(&fresh.url).await.unwrap();
    let mut held = holder.begin().await.unwrap();
    sqlx::query("LOCK TABLE onceover_copy.workflow").execute(&mut *held).await.unwrap();
    let mut child =
        copying(&machine, &fresh.url).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.starts_with("administration: ")));
    machine.run(&["token", "create", "--name", "meanwhile"]).ok();
    held.rollback().await.unwrap();
    let rest: Vec<_> = told.collect();
    assert!(!child.wait().unwrap().success());
    assert!(rest.last().unwrap().contains("was written to while it was copied"), "{rest:?}");
    assert_eq!(tables_in(&fresh.url, "public").await, 0);
    fresh.remove().await;
}

#[test]
fn what_cannot_be_copied_is_named() {
    let machine = Machine::new();
    let refusal = |from: &str, to: &str| machine.run(&["copy", "--from", from, "--to", to]).refused(1);
    assert!(refusal("postgres://a/b", "postgres://a/b").contains("write sqlite://PATH"));
    assert!(refusal("sqlite://nothing.db", "postgres://a/b").contains("there is no database nothing.db"));
    assert!(refusal(machine.database(), "sqlite://b").contains("there is no database"));
}
