//! The commands as people type them: the real binary, real files, real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use insta::assert_snapshot;
use reqwest::StatusCode;
use serde_json::{Value, json};

#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;

use automation::{Automation, answered, begin};
use postgres::Fresh;
use process::{Machine, PATIENCE, Serving, end, eventually};

const HANDOFF: &str = "[[workflow]]\nname = \"handoff\"\n";

/// Everything that the contract shows, in one file.
const EVERYTHING: &str = r#"
[[workflow]]
name = "accounting-handoff"
title = "Accounting handoff"
description = "create the accounting handoff for {document} in {company}"
actions = ["create", "cancel"]
destination = "ledger"
lease_seconds = 60
max_lease_seconds = 3600
two_step = true
volatile = ["/meta/attempt", "/meta/sent~1at"]
amount = "/amount"
currency = "/currency"
key_fields = [{ payload = "/amount", record = "$.total", compare = "decimal" }, { payload = "/id", record = "$['the id']" }]
[workflow.retention]
payload_days = 400
[workflow.amendment]
amendable = ["/quantity", "/lines"]
before_reconciliation = "amend"
after_reconciliation = "reverse_and_repost"
second_approval_over = "100000.00"

[[workflow]]
name = "chat \"message\""

[[destination]]
name = "ledger"
base_url = "https://ledger.example/api"
timeout_seconds = 10
finality_seconds = 30
headers = { Authorization = "env:LEDGER_TOKEN", X-Key = "file:/run/secrets/key", Accept = "application/json" }
idempotency_header = "Idempotency-Key"
idempotency_ttl_seconds = 86400
[destination.create]
method = "POST"
path = "/tasks"
reference = "$.id"
confirmed = ["200-299"]
failed = ["400-404", "410", "422"]
exists = ["409"]
external_reference_header = "X-Reference"
external_reference_pointer = "/external_reference"
[destination.lookup]
method = "GET"
path = "/tasks?external_reference={{ external_reference }}&of={{ payload.customer }}"
records = "$.items[*]"
external_reference = "$.external_reference"
reference = "$.id"
next_page = "$.next"
void = { path = "$.status", values = ["VOIDED"] }
inconclusive = ["403", "429", "500-599"]
absent = ["404"]

[[destination]]
name = "chat"
base_url = "http://chat.example"
"#;

#[test]
fn a_stranger_can_work_from_the_help() {
    let machine = Machine::new();
    let commands: [&[&str]; 19] = [
        &[],
        &["serve"],
        &["check"],
        &["apply"],
        &["export"],
        &["user"],
        &["user", "create"],
        &["user", "list"],
        &["token"],
        &["token", "create"],
        &["token", "list"],
        &["token", "revoke"],
        &["trail"],
        &["trail", "verify"],
        &["backup"],
        &["sandbox"],
        &["drill"],
        &["seed"],
        &["-V"],
    ];
    let helps = commands.map(|command| {
        let arguments: Vec<&str> = if command == ["-V"] { vec!["-V"] } else { [command, &["--help"]].concat() };
        let help = machine.run(&arguments).ok();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        format!("$ onceover {}\n{}\n", arguments.join(" "), help.join("\n"))
    });
    assert_snapshot!("help", helps.join("\n"));
}

#[test]
fn a_wrong_command_line_is_code_two() {
    let machine = Machine::new();
    let wrong: [&[&str]; 7] = [
        &[],
        &["sreve"],
        &["apply"],
        &["user", "create", "--email", "ada@example.com", "--role", "boss"],
        &["user", "create", "--email", "ada@example.com", "--role", "admin", "--password", "correct horse"],
        &["token", "create", "--name", "shop", "--scope", "operations:approve"],
        &["token", "create"],
    ];
    for arguments in wrong {
        assert_eq!(machine.run(arguments).code, 2, "{arguments:?}");
    }
    assert!(!machine.path("onceover.db").exists(), "none of them made a database");
}

#[test]
fn apply_makes_it_so_and_then_finds_it_so() {
    let machine = Machine::new();
    assert_snapshot!(machine.apply(EVERYTHING), @r#"
    KIND         NAME                CHANGE
    workflow     accounting-handoff  added
    workflow     chat "message"      added
    destination  chat                added
    destination  ledger              added
    "#);
    let trail = machine.run(&["trail", "verify"]).ok();
    assert!(!machine.apply(EVERYTHING).contains("added"), "the second time it changes nothing");
    assert_eq!(machine.run(&["trail", "verify"]).ok(), trail, "and makes no entry");
    assert_snapshot!(machine.apply(HANDOFF), @r#"
    KIND         NAME                CHANGE
    workflow     accounting-handoff  retired
    workflow     chat "message"      retired
    workflow     handoff             added
    destination  chat                retired
    destination  ledger              retired

    The file leaves out, and so retires: accounting-handoff, chat "message". Nothing new is begun there; what was begun can be finished.
    "#);
    assert_snapshot!(machine.apply(&format!("{HANDOFF}lease_seconds = 5\n")), @r"
    KIND      NAME     CHANGE
    workflow  handoff  changed
    ");
}

#[test]
fn what_is_exported_is_taken_back_as_unchanged() {
    let machine = Machine::new();
    machine.apply(EVERYTHING);
    let exported = machine.run(&["export"]).ok();
    let applied = machine.apply(&exported);
    let changes: Vec<&str> = applied.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(changes, ["unchanged"; 4], "{exported}");
    assert_eq!(machine.run(&["export"]).ok(), exported);

    let elsewhere = Machine::new();
    elsewhere.apply(&exported);
    assert_eq!(elsewhere.run(&["export"]).ok(), exported);
    assert_snapshot!("exported", exported);
}

#[test]
fn a_file_with_a_fault_changes_nothing() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let before = machine.run(&["export"]).ok();
    let trail = machine.run(&["trail", "verify"]).ok();
    let faults = [
        "lease_second = 1\n",
        "lease_seconds = 0\n",
        "destination = \"nowhere\"\n",
        "key_fields = [{ payload = \"/a\", record = \"a\" }]\n",
    ];
    for fault in faults {
        let file = format!("[[workflow]]\nname = \"first\"\n\n{HANDOFF}{fault}");
        let refused = machine.write("wrong.toml", file).run(&["apply", "wrong.toml"]).refused(1);
        assert!(refused.starts_with("onceover: wrong.toml:6:1: workflow."), "{refused}");
    }
    assert_eq!(machine.run(&["export"]).ok(), before);
    assert_eq!(machine.run(&["trail", "verify"]).ok(), trail);
}

#[test]
fn a_wrong_file_does_not_even_make_a_database() {
    let machine = Machine::new();
    machine.write("wrong.toml", "[[workflow]]\n").run(&["apply", "wrong.toml"]).refused(1);
    machine.run(&["serve", "--config", "wrong.toml"]).refused(1);
    assert!(!machine.path("onceover.db").exists());
}

#[test]
fn a_mistyped_database_does_not_look_like_an_empty_one() {
    let machine = Machine::new();
    let commands: [&[&str]; 6] = [
        &["export"],
        &["user", "list"],
        &["token", "list"],
        &["token", "revoke", "01a22a4c-49cb-7ea4-b0dd-0e916776fc99"],
        &["trail", "verify"],
        &["backup", "copy.db"],
    ];
    for command in commands {
        let refused = machine.run(command).refused(1);
        assert!(refused.starts_with("onceover: there is no database /"), "{refused}");
    }
    assert!(!machine.path("onceover.db").exists());
}

#[test]
fn a_password_is_given_or_made_and_never_kept() {
    let machine = Machine::new();
    let create = |email: &str, role: &str, input: &str| {
        machine.run_with(&["user", "create", "--email", email, "--role", role], input)
    };
    let given = create("Max@Example.com", "operator", "correct horse battery\n");
    assert_eq!(given.stderr, "max@example.com may sign in.\n");
    assert_eq!(given.ok(), "");
    let made = create("ada@example.com", "admin", "").ok();
    let made = made.strip_suffix('\n').unwrap();
    assert!(made.len() >= 26 && !made.contains(char::is_whitespace), "{made:?} is the password alone");
    assert_snapshot!(create("eve@example.com", "viewer", "short\n").refused(1), @"onceover: standard input: password: has under 12 characters");
    assert_snapshot!(create("ADA@example.com", "viewer", "").refused(1), @r#"onceover: the person "ada@example.com" exists already"#);
    assert_snapshot!(create("ada", "viewer", "").refused(1), @"onceover: email: is no address; it looks like name@example.com");
    machine
        .run(&["user", "create", "--email", "kim@example.com", "--role", "finance", "--company", "a", "--company", "b"])
        .ok();
    assert_snapshot!(machine.run(&["user", "list"]).ok(), @r"
    EMAIL            ROLE      COMPANIES
    ada@example.com  admin     every one
    kim@example.com  finance   a, b
    max@example.com  operator  every one
    ");
    for file in ["onceover.db", "onceover.db-wal"] {
        let content = std::fs::read(machine.path(file)).unwrap_or_default();
        for secret in [made, "correct horse battery"] {
            assert!(!contains(&content, secret.as_bytes()), "{file} holds a password");
        }
    }
}

#[test]
fn a_token_is_printed_alone_and_once() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let printed = machine.run(&["token", "create", "--name", "shop"]).ok();
    let secret = printed.strip_suffix('\n').unwrap();
    assert!(secret.starts_with("oo_") && secret.len() == 67 && !secret.contains('\n'), "{printed:?}");
    let narrow = [
        "token",
        "create",
        "--name",
        "narrow",
        "--scope",
        "operations:read",
        "--scope",
        "metrics:read",
        "--company",
        "acme",
        "--workflow",
        "handoff",
    ];
    machine.run(&narrow).ok();
    let list = machine.run(&["token", "list"]).ok();
    let rows: Vec<Vec<&str>> =
        list.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(rows[0], ["ID", "NAME", "SCOPES", "COMPANIES", "WORKFLOWS", "CREATED", "REVOKED"]);
    assert_eq!(rows[1][1..5], ["narrow", "operations:read, metrics:read", "acme", "handoff"]);
    assert_eq!(rows[2][1..5], ["shop", "every one", "every one", "every one"]);
    assert!(!list.contains(secret));
    assert!(
        !contains(&std::fs::read(machine.path("onceover.db")).unwrap(), secret.as_bytes()),
        "only its hash is kept"
    );

    let create =
        |name: &str, more: &[&str]| machine.run(&[&["token", "create", "--name", name], more].concat()).refused(1);
    assert_snapshot!(create("shop", &[]), @r#"onceover: the token "shop" exists already"#);
    assert_snapshot!(create("other", &["--workflow", "handof"]), @r#"onceover: there is no workflow "handof" for this caller; there are: handoff"#);
    assert_snapshot!(machine.run(&["token", "revoke", "shop"]).refused(1), @r#"onceover: "shop" is no token's id; onceover token list shows them"#);
    let nobody = machine.run(&["token", "revoke", "01a22a4c-49cb-7ea4-b0dd-0e916776fc99"]).refused(1);
    assert_snapshot!(nobody, @"onceover: there is no such token; onceover token list shows them");
}

#[tokio::test]
async fn a_running_server_takes_a_token_at_once_and_a_revoked_one_no_longer() {
    let machine = Machine::new();
    let serving = machine.serve();
    machine.apply(HANDOFF);
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    assert_eq!(
        answered(shop.begin("order-1")).await.status,
        StatusCode::CREATED,
        "token and workflow are there at once"
    );

    let list = machine.run(&["token", "list"]).ok();
    let id = list.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    machine.run(&["token", "revoke", id]).ok();
    let revoked = std::time::Instant::now();
    let mut refused = answered(shop.get("/api/v1/operations")).await.status;
    while refused != StatusCode::UNAUTHORIZED {
        assert!(revoked.elapsed() < Duration::from_millis(2_500), "it was revoked two seconds ago");
        tokio::time::sleep(Duration::from_millis(50)).await;
        refused = answered(shop.get("/api/v1/operations")).await.status;
    }
    machine.run(&["token", "revoke", id]).ok();
    serving.stop();
}

#[tokio::test]
async fn a_running_server_follows_what_is_applied() {
    let machine = Machine::new();
    machine.write("served.toml", format!("[server]\nlog = \"debug\"\n{HANDOFF}"));
    let serving = machine.serve_with(&["--config", "served.toml"]);
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    assert_eq!(answered(shop.begin("order-1")).await.status, StatusCode::CREATED, "the file was applied at the start");
    machine.apply("[[workflow]]\nname = \"other\"\n");
    let applied = std::time::Instant::now();
    loop {
        let answer = answered(shop.begin("order-2")).await;
        if answer.status == StatusCode::NOT_FOUND {
            assert_eq!(answer.body["code"], "unknown_workflow", "{answer:?}");
            let detail = answer.body["detail"].as_str().unwrap();
            assert!(detail.contains("is retired, so nothing new is begun in it"), "{detail}");
            break;
        }
        assert!(applied.elapsed() < Duration::from_millis(2_500), "it was retired a while ago: {answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    serving.stop();
}

#[tokio::test]
async fn the_first_start_is_told_to_the_terminal_alone() {
    let machine = Machine::new();
    let serving = machine.serve_with(&["--log", "trace"]);
    let link = serving.greeting.split_whitespace().find(|word| word.contains("/welcome?link=")).expect("a link");
    assert!(link.starts_with(&format!("{}/welcome?link=", serving.url)), "{link}");
    let page = reqwest::Client::builder().no_proxy().build().unwrap().get(link).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    let secret = link.split_once("link=").unwrap().1.to_owned();
    assert!(secret.len() >= 32 && !serving.log().contains(&secret), "the link stays out of the log");
    serving.stop();

    machine.run(&["user", "create", "--email", "ada@example.com", "--role", "admin"]).ok();
    let again = machine.serve();
    assert!(!again.greeting.contains("welcome"), "somebody can sign in: {}", again.greeting);
    again.stop();
}

#[test]
fn a_port_that_is_taken_is_said_before_anything_is_made() {
    let machine = Machine::new();
    let first = machine.serve();
    let second = Machine::new();
    let address = first.url.strip_prefix("http://").unwrap();
    let refused = second.run(&["serve", "--listen", address]).refused(1);
    let expected = format!(
        "onceover: cannot listen on {address}: Address already in use (os error 98); another program listens there; stop it, or choose another port with --listen"
    );
    assert_eq!(refused, expected);
    assert!(!second.path("onceover.db").exists());
    first.stop();
}

#[tokio::test]
async fn it_listens_on_other_addresses_too() {
    for (listen, at) in [("[::1]:0", "[::1]"), ("localhost:0", ""), ("0.0.0.0:0", "127.0.0.1")] {
        let machine = Machine::new();
        let serving = Serving::start(machine.command(&["serve", "--listen", listen]));
        assert!(serving.url.contains(at), "{}", serving.url);
        let answer =
            reqwest::Client::builder().no_proxy().build().unwrap().get(format!("{}/readyz", serving.url)).send();
        assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
        serving.stop();
    }
}

#[tokio::test]
async fn links_start_with_the_public_address() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let serving = machine.serve_with(&["--public-url", "https://onceover.example/"]);
    assert!(serving.greeting.starts_with("Onceover is at https://onceover.example and listens on 127.0.0.1:"));
    assert!(serving.greeting.contains("  https://onceover.example/welcome?link="), "{}", serving.greeting);
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    let answer = answered(shop.begin("order-1")).await;
    let review = answer.body["operation"]["review_url"].as_str().unwrap();
    assert!(review.starts_with("https://onceover.example/operations/"), "{review}");
    serving.stop();
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_a_place() {
    let machine = Machine::new();
    let serving = machine.serve_with(&["--connections-max", "1"]);
    let address = serving.url.strip_prefix("http://").unwrap().to_owned();
    let holder = tokio::net::TcpStream::connect(&address).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = tokio::spawn(client.get(format!("{}/healthz", serving.url)).send());
    assert!(
        tokio::time::timeout(Duration::from_millis(300), &mut request).await.is_err(),
        "there is one place, and it is taken"
    );
    drop(holder);
    let answer = tokio::time::timeout(PATIENCE, request).await.unwrap().unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    serving.stop();
}

#[test]
fn systemd_is_told_when_it_serves_and_when_it_stops() {
    let machine = Machine::new();
    let socket = UnixDatagram::bind(machine.path("notify")).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = machine.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", machine.path("notify"));
    let told = || {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let serving = Serving::start(command);
    assert_eq!(told().trim(), "READY=1");
    serving.stop();
    assert_eq!(told().trim(), "STOPPING=1");
}

#[tokio::test]
async fn a_log_line_reads_alone_and_holds_no_secret() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let token = machine.token("shop");
    let serving = machine.serve_with(&["--log", "trace"]);
    let shop = Automation::new(&serving.url, &token);
    let mut body = begin("order-4711");
    body["payload"]["note"] = json!("a secret between two firms");
    let granted = answered(shop.post("/api/v1/operations", &body).header("x-request-id", "req-4711")).await;
    let lease = granted.body["lease"]["token"].as_str().unwrap().to_owned();
    let id = granted.body["operation"]["id"].as_str().unwrap().to_owned();
    let report = json!({ "lease_token": lease, "outcome": "confirmed", "destination_reference": "task-1", "response": { "status": 201, "body": "a secret between two firms" } });
    assert_eq!(answered(shop.outcome(&id, &report)).await.status, StatusCode::OK);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let sign_in = client
        .post(format!("{}/login", serving.url))
        .form(&[("email", "ada@example.com"), ("password", "a password of hers")]);
    sign_in.send().await.unwrap();

    eventually(PATIENCE, "the request is in the log", || serving.log().contains("req-4711"));
    let log = serving.log();
    for secret in [token.as_str(), &lease, "a secret between two firms", "a password of hers", "order-4711"] {
        assert!(!log.contains(secret), "the log holds {secret:?}");
    }
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect();
    let line =
        lines.iter().find(|line| line["span"]["request_id"] == "req-4711" && line["message"] == "answered").unwrap();
    assert_eq!(
        (&line["method"], &line["route"], &line["status"]),
        (&json!("POST"), &json!("/api/v1/operations"), &json!(201))
    );
    assert_eq!((&line["span"]["token"], &line["span"]["decision"]), (&json!("shop"), &json!("proceed")));
    serving.stop();
}

#[test]
fn the_log_is_for_people_where_they_ask_for_it() {
    let machine = Machine::new();
    let serving = machine.serve_with(&["--log-format", "text"]);
    eventually(PATIENCE, "it serves", || serving.log().contains("serving"));
    let log = serving.log();
    assert!(log.contains(" INFO ") && !log.contains('{') && !log.contains('\u{1b}'), "{log}");
    serving.stop();
}

#[tokio::test]
async fn a_copy_of_a_served_database_holds_what_was_acknowledged() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let serving = machine.serve();
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    for number in 0..20 {
        assert_eq!(answered(shop.begin(&format!("order-{number}"))).await.status, StatusCode::CREATED);
    }
    machine.run(&["backup", "copy.db"]).ok();
    let again = machine.run(&["backup", "copy.db"]).refused(1);
    assert_snapshot!(again, @"onceover: copy.db exists already; name a file that does not");
    serving.stop();

    let copy = ["--database", "sqlite://copy.db"];
    let verified = machine.run(&[&["trail", "verify"], &copy[..]].concat()).ok();
    assert!(verified.contains(" 20 operations"), "{verified}");
    assert_eq!(machine.run(&[&["export"], &copy[..]].concat()).ok(), machine.run(&["export"]).ok());
    let restored = machine.serve_with(&copy);
    for number in 0..20 {
        let answer = answered(shop.at(&restored.url).begin(&format!("order-{number}"))).await;
        assert_eq!((answer.status, &answer.body["decision"]), (StatusCode::CONFLICT, &json!("in_progress")));
    }
    restored.stop();
}

#[tokio::test]
async fn postgresql_is_backed_up_with_its_own_tools() {
    let Some(fresh) = Fresh::new().await else { return };
    let refused = Machine::on(&fresh.url).run(&["backup", "copy.db"]).refused(1);
    assert!(refused.contains("pg_dump") && refused.contains("pg_basebackup"), "{refused}");
    fresh.remove().await;
}

#[tokio::test]
async fn an_altered_trail_is_found_with_its_first_broken_entry() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let serving = machine.serve();
    let shop = Automation::new(&serving.url, &machine.token("shop"));
    let granted = answered(shop.begin("order-1")).await;
    let id = granted.body["operation"]["id"].as_str().unwrap().to_owned();
    let report = json!({ "lease_token": granted.body["lease"]["token"], "outcome": "failed", "reason": "refused by the ledger" });
    assert_eq!(answered(shop.outcome(&id, &report)).await.status, StatusCode::OK);
    serving.stop();
    assert!(machine.run(&["trail", "verify"]).ok().starts_with("The trail is whole: 4 entries, 1 operations"));

    let alter = |statement: &str| {
        let altered = rusqlite::Connection::open(machine.path("onceover.db")).unwrap();
        assert_eq!(altered.execute(statement, []).unwrap(), 1, "{statement}");
    };
    alter("UPDATE entry SET actor = 'system:command-line' WHERE kind = 'reported'");
    let refused = machine.run(&["trail", "verify"]).refused(1);
    assert_eq!(refused, format!("onceover: entry 2 of {id} was altered: it does not fit its hash"));
    alter("DELETE FROM entry WHERE kind = 'begun'");
    let refused = machine.run(&["trail", "verify"]).refused(1);
    assert_eq!(refused, format!("onceover: entry 1 of {id} is missing"));
}

fn contains(content: &[u8], wanted: &[u8]) -> bool {
    content.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn a_command_that_ends_by_itself_leaves_no_file_of_its_own_behind() {
    let machine = Machine::new();
    machine.apply(HANDOFF);
    let left: Vec<_> = std::fs::read_dir(machine.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let left: Vec<_> =
        left.iter().map(|name| name.to_string_lossy()).filter(|name| !name.starts_with("onceover.db")).collect();
    assert_eq!(left, ["applied.toml"]);
    assert_eq!(end(machine.command(&["export"]), "").code, 0);
}

#[test]
fn a_database_that_cannot_be_opened_is_named_without_its_password() {
    let machine = Machine::new();
    machine.write("text.db", "this is a text and no database ".repeat(200));
    let refused = |database: &str| machine.run(&["user", "list", "--database", database]).refused(1);
    assert_snapshot!(refused("postgres://ada:secret@127.0.0.1:1/x"), @"onceover: postgres://ada:********@127.0.0.1:1/x: the database cannot be opened: error communicating with database: Connection refused (os error 111); see that it runs, and that user, password and name in --database are right");
    let text = refused("sqlite://text.db");
    assert!(
        text.starts_with("onceover: sqlite://text.db: the database cannot be opened: ")
            && text.ends_with("; name another file with --database"),
        "{text}"
    );
    assert_snapshot!(refused("mysql://ada:secret@db/x"), @"onceover: --database (or ONCEOVER_DATABASE, or database in [server]): names no database that Onceover knows; write sqlite://PATH or postgres://USER@HOST/NAME");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let machine = Machine::new();
    machine.write("file", "");
    let refused =
        machine.run(&["token", "create", "--name", "shop", "--database", "sqlite://file/onceover.db"]).refused(1);
    assert!(refused.starts_with("onceover: sqlite://file/onceover.db: ") && refused.contains("folder"), "{refused}");
}
