//! The drill as somebody types it who wants to know what Onceover is good for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use insta::assert_snapshot;
use serde_json::Value;

#[path = "support/process.rs"]
mod process;

use process::{Machine, Serving};

fn report(machine: &Machine, arguments: &[&str], code: i32) -> Value {
    let ended = machine.run(&[&["drill", "--json"], arguments].concat());
    assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Scenario, permissions, records and verdict of each row.
fn rows(report: &Value) -> Vec<String> {
    let row = |row: &Value| {
        let text = |name: &str| row[name].to_string().trim_matches('"').to_owned();
        format!("{}: {} {} {}", text("scenario"), text("permissions"), text("records"), text("verdict"))
    };
    report["scenarios"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn without_a_guard_effects_are_doubled() {
    let machine = Machine::new();
    let ended = machine.run(&["drill", "--without-guard"]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.stderr, "onceover: without Onceover, 8 of 11 mishaps ended with wrong records\n");
    assert_snapshot!("without_a_guard", ended.stdout);
    assert!(!machine.path("onceover.db").exists(), "it leaves nothing behind");
}

#[test]
fn with_a_guard_nothing_is_doubled_and_nothing_is_lost() {
    let machine = Machine::new();
    let ended = machine.run(&["drill"]);
    assert_snapshot!("with_a_guard", ended.ok());
    assert!(!machine.path("onceover.db").exists(), "it leaves nothing behind");
}

#[test]
fn a_workflow_and_a_destination_must_be_there_and_fit() {
    let machine = Machine::new();
    let refused = |arguments: &[&str]| machine.run(&[&["drill"], arguments].concat()).refused(1);
    assert!(refused(&["--workflow", "handoff"]).starts_with("onceover: there is no database"));
    machine.apply(
        "[[workflow]]\nname = \"a\"\ndestination = \"ledger\"\n[[workflow]]\nname = \"b\"\ndestination = \"ledger\"\n\
         [[destination]]\nname = \"ledger\"\nbase_url = \"http://127.0.0.1:1\"\n\
         [destination.create]\nmethod = \"POST\"\npath = \"/tasks\"\nreference = \"$.id\"\nconfirmed = [\"201\"]\n",
    );
    assert_snapshot!(refused(&["--workflow", "handoff"]), @r#"onceover: there is no workflow "handoff"; there are: a, b"#);
    assert_snapshot!(refused(&["--destination", "bank"]), @r#"onceover: there is no destination "bank"; there are: sandbox (built in), ledger"#);
    assert_snapshot!(refused(&["--destination", "ledger"]), @"onceover: several workflows create there; name one with --workflow: a, b");
    assert_snapshot!(refused(&["--destination", "ledger", "--workflow", "a"]), @"onceover: create of the destination ledger has neither external_reference_header nor external_reference_pointer: the drill could not find its records again");
    machine.write("order.json", "[1]");
    assert_snapshot!(refused(&["--payload", "order.json"]), @"onceover: order.json: a payload is a JSON object, and this is an array");
}

#[test]
fn a_workflow_of_ones_own_is_drilled_against_the_sandbox() {
    let machine = Machine::new();
    machine.apply("[[workflow]]\nname = \"marked\"\ntwo_step = true\nkey_fields = [{ payload = \"/amount\", record = \"$.total\" }]\n");
    let exported = machine.run(&["export"]).ok();
    let trail = machine.run(&["trail", "verify"]).ok();
    machine.write("order.json", r#"{"number":"{{document}}","of":"{{company}}","big":9007199254740993}"#);
    let drilled = report(&machine, &["--workflow", "marked", "--payload", "order.json"], 0);
    assert_eq!((&drilled["workflow"], &drilled["guarded"]), (&"marked".into(), &true.into()));
    assert_eq!(drilled["failures"], 0);
    // Workers that have marked their sending and died may have sent.
    assert!(rows(&drilled).contains(&"worker_killed_after_the_write: 1 1 ok".to_owned()), "{:?}", rows(&drilled));
    assert_eq!(machine.run(&["export"]).ok(), exported);
    assert_eq!(machine.run(&["trail", "verify"]).ok(), trail, "nobody's trail is touched");
}

#[test]
fn a_destination_of_ones_own_is_counted_by_its_lookup() {
    let machine = Machine::new();
    let sandbox = Serving::start(machine.command(&["sandbox", "--listen", "127.0.0.1:0", "--data", "own.db"]));
    let printed = machine.run(&["sandbox", "--print-config"]).ok();
    let printed = printed.replace("http://127.0.0.1:9090", &sandbox.url).replace("\"sandbox\"", "\"ledger\"");
    machine.apply(&printed.replace("finality_seconds = 10", "finality_seconds = 1"));
    let drilled = report(&machine, &["--destination", "ledger"], 0);
    assert_snapshot!(rows(&drilled).join("\n"), @r"
    same_operation_twice: 1 1 ok
    many_workers_at_once: 1 1 ok
    worker_killed_after_the_write: 1 1 ok
    lost_answer: 1 1 ok
    lost_request: 2 1 ok
    error_after_the_write: 0 null skipped
    slow_destination: 1 1 ok
    old_revision_after_a_newer_one: 0 null skipped
    same_number_in_two_companies: 2 2 ok
    twin_documents: 2 2 ok
    redelivery_by_a_queue: 1 1 ok
    ");
    let drilled = report(&machine, &["--destination", "ledger", "--without-guard"], 1);
    assert_eq!((&drilled["workflow"], &drilled["destination"]), (&"sandbox-task".into(), &"ledger".into()));
    assert_snapshot!(rows(&drilled).join("\n"), @r"
    same_operation_twice: 2 2 doubled
    many_workers_at_once: 20 20 doubled
    worker_killed_after_the_write: 2 2 doubled
    lost_answer: 2 2 doubled
    lost_request: 2 1 ok
    error_after_the_write: 0 null skipped
    slow_destination: 2 2 doubled
    old_revision_after_a_newer_one: 0 null skipped
    same_number_in_two_companies: 2 2 ok
    twin_documents: 2 2 ok
    redelivery_by_a_queue: 5 5 doubled
    ");
}
