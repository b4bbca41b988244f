//! Configuration files that are wrong: what is said about them, and that it changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use insta::assert_snapshot;

#[path = "support/process.rs"]
mod process;

use process::Machine;

/// What is said about a file with this text, which must be wrong: one line that starts with the file's name.
#[track_caller]
fn fault(text: &str) -> String {
    let refused = Machine::new().write("wrong.toml", text).run(&["check", "wrong.toml"]).refused(1);
    let (program, sentence) = refused.split_once(": ").unwrap();
    assert_eq!((program, sentence.lines().count()), ("onceover", 1), "{refused}");
    sentence.to_owned()
}

#[test]
fn what_is_no_toml() {
    assert_snapshot!(fault(r#"[[workflow]
name = "handoff"
"#), @"wrong.toml:1:12: unclosed array table, expected `]`");
    assert_snapshot!(fault(r#"title = "handoff
"#), @r#"wrong.toml:1:17: invalid basic string, expected `"`"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
name = "other"
"#), @"wrong.toml:3:1: this key stands twice; keep one");
}

#[test]
fn rules_for_look_alikes_that_cannot_hold() {
    let money =
        "[[workflow]]\nname = \"handoff\"\namount = \"/amount\"\ncurrency = \"/currency\"\n[workflow.look_alikes]\n";
    let fault = |rules: &str| fault(&format!("{money}{rules}"));
    assert_snapshot!(fault("days = 30\n"), @"wrong.toml:5:1: workflow.look_alikes.counterparty: is missing; add it");
    assert_snapshot!(fault("counterparty = \"customer\"\n"), @r#"wrong.toml:6:16: workflow.look_alikes.counterparty: "customer": a JSON Pointer is empty or starts with "/" (RFC 6901), for example "/amount""#);
    assert_snapshot!(fault("counterparty = \"\"\n"), @r#"wrong.toml:6:1: workflow.look_alikes.counterparty: names the whole payload (""); name the place of the counterparty, for example "/customer""#);
    assert_snapshot!(fault("counterparty = \"/customer\"\ndays = 400\n"), @"wrong.toml:7:1: workflow.look_alikes.days: is out of bounds; 1 to 366 days are possible");
    assert_snapshot!(fault("counterparty = \"/customer\"\nday = 4\n"), @"wrong.toml:7:1: workflow.look_alikes.day: there is no such key; did you mean days?");
}

#[test]
fn keys_that_are_none_or_missing() {
    assert_snapshot!(fault(r#"[[workflows]]
name = "handoff"
"#), @"wrong.toml:1:3: workflows: there is no such key; did you mean workflow?");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
lease_second = 60
"#), @"wrong.toml:3:1: workflow.lease_second: there is no such key; did you mean lease_seconds?");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"

colour = "red"
"#), @"wrong.toml:4:1: workflow.colour: there is no such key; possible here: name, title, description, kind, actions, destination, lease_seconds, max_lease_seconds, two_step, volatile, sensitive, amount, currency, period, key_fields, key, retention, reconciliation, pull, amendment, review, look_alikes");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
[workflow.retention]
payload_day = 400
"#), @"wrong.toml:4:1: workflow.retention.payload_day: there is no such key; did you mean payload_days?");
    assert_snapshot!(fault(r#"[workflow]
name = "handoff"
"#), @"wrong.toml:1:1: workflow: is a table; write a list in [ ], or the table in [[ ]]");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"

[[workflow]]
title = "Handoff"
"#), @"wrong.toml:4:1: workflow.name: is missing; add it");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
"#), @"wrong.toml:1:1: destination.base_url: is missing; add it");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
method = "GET"
path = "/tasks"
"#), @"wrong.toml:4:1: destination.lookup.records: is missing; add it");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
path = "/tasks"
"#), @"wrong.toml:4:1: destination.lookup.method: is missing; add it; possible: GET, POST");
}

#[test]
fn values_of_another_kind() {
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
lease_seconds = "60"
"#), @r#"wrong.toml:3:17: workflow.lease_seconds: is the text "60"; write a whole number from 0 to 4294967295, without quotes"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
lease_seconds = -1
"#), @"wrong.toml:3:17: workflow.lease_seconds: is the number -1; write a whole number from 0 to 4294967295, without quotes");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
lease_seconds = 1.5
"#), @"wrong.toml:3:17: workflow.lease_seconds: is the number 1.5; write a whole number from 0 to 4294967295, without quotes");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
two_step = "yes"
"#), @r#"wrong.toml:3:12: workflow.two_step: is the text "yes"; write true or false, without quotes"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
volatile = "/meta"
"#), @r#"wrong.toml:3:12: workflow.volatile: is the text "/meta"; write a list in [ ], or the table in [[ ]]"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
key_fields = [{ payload = "/amount", record = "$.total", compare = "number" }]
"#), @r#"wrong.toml:3:68: workflow.key_fields[0].compare: "number" is not possible; write one of: exact, decimal, date, text"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
[workflow.amendment]
before_reconciliation = "edit"
"#), @r#"wrong.toml:4:25: workflow.amendment.before_reconciliation: "edit" is not possible; write one of: amend, replace, reverse_and_repost, forbid"#);
}

#[test]
fn texts_that_mean_nothing() {
    assert_snapshot!(fault(r#"[[workflow]]
name = " handoff"
"#), @"wrong.toml:2:8: workflow.name: starts or ends with white space, which is refused and not trimmed: two systems would trim differently");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
volatile = ["/meta/attempt", "sent_at"]
"#), @r#"wrong.toml:3:12: workflow.volatile: "sent_at": a JSON Pointer is empty or starts with "/" (RFC 6901), for example "/amount""#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
amount = "/a~b"
currency = "/currency"
"#), @r#"wrong.toml:3:10: workflow.amount: "/a~b": in a JSON Pointer "~" is written "~0" and "/" inside a name "~1" (RFC 6901)"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
key_fields = [{ payload = "/amount", record = "total" }]
"#), @r#"wrong.toml:3:1: workflow.key_fields: "total" is no JSONPath (RFC 9535) from its character 1 on; it looks like "$.items[*].id""#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
method = "GET"
path = "/tasks"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
void = { path = "status", values = ["VOIDED"] }
"#), @r#"wrong.toml:10:10: destination.lookup.void.path: "status" is no JSONPath (RFC 9535) from its character 1 on; it looks like "$.items[*].id""#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
[workflow.amendment]
amendable = ["/lines"]
second_approval_over = "much"
"#), @r#"wrong.toml:5:1: workflow.amendment.second_approval_over: is no amount; write it as text, for example "100000.00""#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
method = "GET"
path = "/tasks?number={{ order }}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
"#), @"wrong.toml:6:1: destination.lookup.path: has {{ order }}; possible: external_reference, document, company, source_system, action, revision, idempotency_key, payload");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
method = "GET"
path = "/tasks{% if secret %}/all{% endif %}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
"#), @r#"wrong.toml:6:1: destination.lookup.path: names "secret"; possible: external_reference, document, company, source_system, action, revision, idempotency_key, payload"#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.lookup]
method = "GET"
path = "/tasks?r={{ external_reference | upper }"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
"#), @r#"wrong.toml:6:1: destination.lookup.path: opens "{{" without "}}""#);
}

#[test]
fn workflows_that_contradict_themselves() {
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
amount = "/amount"
"#), @"wrong.toml:3:1: workflow.amount: goes with currency, since an amount alone says nothing; give both or neither");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
amount = "/total/amount"
currency = "/currency"
volatile = ["/total"]
"#), @"wrong.toml:5:1: workflow.volatile: covers the amount: a changed amount would pass as a repetition");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
max_lease_seconds = 30
"#), @"wrong.toml:1:1: workflow.lease_seconds: is 60, over max_lease_seconds (30); lower it or raise that");
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"

[[workflow]]
name = "handoff"
"#), @r#"wrong.toml:5:1: workflow.name: is "handoff", which stands here twice; give each a name of its own"#);
    assert_snapshot!(fault(r#"[[workflow]]
name = "handoff"
destination = "ledgers"

[[destination]]
name = "ledger"
base_url = "https://ledger.example"
"#), @r#"wrong.toml:3:1: workflow.destination: names "ledgers", which no [[destination]] defines"#);
}

#[test]
fn destinations_that_cannot_be_used() {
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "ledger.example"
"#), @"wrong.toml:3:1: destination.base_url: does not start with https:// or http://");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ada:secret@ledger.example"
"#), @r#"wrong.toml:3:1: destination.base_url: holds a user or a password; write them as a header, for example Authorization = "env:NAME""#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.create]
method = "post"
path = "/tasks"
reference = "$.id"
confirmed = ["200-299"]
"#), @r#"wrong.toml:5:1: destination.create.method: is "post"; possible: GET, POST, PUT, PATCH, DELETE"#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.create]
method = "POST"
path = "tasks"
reference = "$.id"
confirmed = ["200-299"]
"#), @r#"wrong.toml:6:1: destination.create.path: is "tasks"; a path starts with "/" and lies below base_url"#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.create]
method = "POST"
path = "/tasks"
reference = "$.id"
confirmed = ["200-299"]
failed = ["4xx"]
"#), @r#"wrong.toml:9:1: destination.create.failed: holds "4xx"; write a status as "404" or a range as "400-404""#);
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.create]
method = "POST"
path = "/tasks"
reference = "$.id"
confirmed = ["200-299"]
failed = ["400-422"]
exists = ["409"]
"#), @r#"wrong.toml:10:1: destination.create.exists: holds "409", and create.failed holds "400-422"; an answer means one thing"#);
}

#[test]
fn secrets_that_are_not_there() {
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
headers = { Accept = "application/json", Authorization = "env:ONCEOVER_TEST_NOT_SET" }
"#), @"wrong.toml:4:42: destination.headers.Authorization: the environment variable ONCEOVER_TEST_NOT_SET is not set; set it where the server is started");
    assert_snapshot!(fault(r#"[[destination]]
name = "ledger"
base_url = "https://ledger.example"
[destination.headers]
Authorization = "file:/nowhere/token"
"#), @"wrong.toml:5:1: destination.headers.Authorization: the file /nowhere/token cannot be read: No such file or directory (os error 2)");
}

#[test]
fn settings_that_cannot_be() {
    assert_snapshot!(fault(r#"[server]
listen = "127.0.0.1"
"#), @r#"wrong.toml:2:1: server.listen: "127.0.0.1" is no ADDRESS:PORT; it looks like 127.0.0.1:8080, [::]:8080 or localhost:8080"#);
    assert_snapshot!(fault(r#"[server]
log = "info"
database = "mysql://ada:secret@db/onceover"
"#), @"wrong.toml:3:1: server.database: names no database that Onceover knows; write sqlite://PATH or postgres://USER@HOST/NAME");
    assert_snapshot!(fault(r#"[server]
log_format = "xml"
"#), @r#"wrong.toml:2:1: server.log_format: "xml" is not possible; write one of: auto, text, json"#);
    assert_snapshot!(fault("[server]
requests_per_second = 0
"), @"wrong.toml:2:1: server.requests_per_second: is 0; nothing would be answered, so write 1 or more");
}
#[test]
fn files_that_cannot_be_read() {
    let machine = Machine::new();
    machine.write("latin.toml", b"[[workflow]]\nname = \"caf\xE9\"\n").write("huge.toml", vec![b'\n'; (1 << 20) + 1]);
    let refused = |name| machine.run(&["check", name]).refused(1);
    assert_snapshot!(refused("nowhere.toml"), @"onceover: nowhere.toml: cannot be read: No such file or directory (os error 2)");
    assert_snapshot!(refused("."), @"onceover: .: cannot be read: Is a directory (os error 21)");
    assert_snapshot!(refused("latin.toml"), @"onceover: latin.toml: is not UTF-8 from byte 24 on; save it as UTF-8");
    assert_snapshot!(refused("huge.toml"), @"onceover: huge.toml: has over 1048576 bytes; that is no configuration file");
}

#[test]
fn a_byte_order_mark_and_lines_that_end_in_two_characters_are_taken() {
    let machine = Machine::new();
    machine
        .write("windows.toml", "\u{FEFF}[[workflow]]\r\nname = \"handoff\"\r\n")
        .run(&["check", "windows.toml"])
        .ok();
    machine.write("windows.toml", "\u{FEFF}[[workflow]]\r\nname = \"handoff\"\r\ncolor = 1\r\n");
    let refused = machine.run(&["check", "windows.toml"]).refused(1);
    assert!(refused.starts_with("onceover: windows.toml:3:1: workflow.color: "), "{refused}");
}

#[test]
fn every_secret_that_is_missing_is_named_and_none_is_shown() {
    let machine = Machine::new();
    machine.write("token", "from-the-file\n").write(
        "onceover.toml",
        r#"
            [[destination]]
            name = "ledger"
            base_url = "https://ledger.example"
            headers = { Authorization = "env:LEDGER_TOKEN", X-Key = "file:token", X-Tenant = "in-the-text" }
        "#,
    );
    let check = |secret: Option<&str>| {
        let mut command = machine.command(&["check", "onceover.toml"]);
        command.env("ONCEOVER_DATABASE", "postgres://ada:in-the-url@db/onceover");
        secret.map(|secret| command.env("LEDGER_TOKEN", secret));
        process::end(command, "")
    };
    let refused = check(None).refused(1);
    assert!(refused.contains("destination.headers.Authorization: the environment variable LEDGER_TOKEN is not set"));
    let ended = check(Some("from-the-environment"));
    for secret in ["from-the-file", "from-the-environment", "in-the-text", "in-the-url"] {
        assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "{secret}");
    }
    let shown = ended.ok();
    assert!(shown.contains(r#"Authorization = "env:LEDGER_TOKEN""#), "{shown}");
    assert!(shown.contains(r#"database = "postgres://ada:********@db/onceover""#), "{shown}");
}

#[test]
fn what_is_in_force_is_itself_a_file_that_is_right() {
    let machine = Machine::new();
    let file = "[server]\nlisten = \"[::1]:9\"\n[[workflow]]\nname = \"handoff\"\n[workflow.amendment]\namendable = [\"/lines\"]\n";
    let checked = machine.write("onceover.toml", file).run(&["check", "onceover.toml"]);
    assert_eq!(checked.stderr, "onceover.toml: nothing is wrong.\n");
    let shown = checked.ok();
    assert_eq!(machine.write("shown.toml", &shown).run(&["check", "shown.toml"]).ok(), shown);
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let machine = Machine::new();
    machine.write("onceover.toml", "[server]\nlisten = \"127.0.0.1:1\"\nmetrics_open = true\nlog = \"debug\"\n");
    let shown = |environment: Option<&str>, flags: &[&str]| {
        let mut command = machine.command(&["check", "onceover.toml"]);
        environment.map(|listen| command.env("ONCEOVER_LISTEN", listen));
        let text = process::end(
            {
                command.args(flags);
                command
            },
            "",
        )
        .ok();
        text.lines().find(|line| line.starts_with("listen")).unwrap().to_owned()
    };
    assert_eq!(shown(None, &[]), "listen = \"127.0.0.1:1\"");
    assert_eq!(shown(Some("127.0.0.1:2"), &[]), "listen = \"127.0.0.1:2\"");
    assert_eq!(shown(Some("127.0.0.1:2"), &["--listen", "127.0.0.1:3"]), "listen = \"127.0.0.1:3\"");
}

#[test]
fn a_flag_that_cannot_be_is_named_with_its_variable_and_its_key() {
    let refused = Machine::new().run(&["check", "--listen", "8080"]).refused(1);
    assert_snapshot!(refused, @r#"onceover: --listen (or ONCEOVER_LISTEN, or listen in [server]): "8080" is no ADDRESS:PORT; it looks like 127.0.0.1:8080, [::]:8080 or localhost:8080"#);
}

#[test]
fn the_file_in_the_documentation_is_right() {
    let documentation = include_str!("../../docs/CONFIGURATION.md");
    let (_, file) = documentation.split_once("```toml\n").unwrap();
    let (file, _) = file.split_once("```").unwrap();
    let machine = Machine::new();
    machine.write("onceover.toml", file);
    let mut command = machine.command(&["check", "onceover.toml"]);
    command.env("LEDGER_TOKEN", "secret").env("MAIL_PASSWORD", "secret");
    command.env("HOOK_SECRET", "whsec_bmV3IHNlY3JldCBvZiB0aGVzZSB0ZXN0cywgbG9uZw==");
    let shown = process::end(command, "").ok();
    for line in documentation.lines().filter(|line| line.starts_with("| `--")) {
        let key = line.split('`').nth(5).unwrap();
        assert!(shown.lines().any(|shown| shown.starts_with(&format!("{key} = "))), "there is no setting {key}");
    }
}

#[test]
fn a_server_does_not_start_without_its_destinations_secrets() {
    let machine = Machine::new();
    machine.write(
        "onceover.toml",
        r#"
            [[destination]]
            name = "ledger"
            base_url = "https://ledger.example"
            headers = { Authorization = "env:ONCEOVER_TEST_NOT_SET", X-Tenant = "in-the-text" }
        "#,
    );
    machine.run(&["apply", "onceover.toml"]).ok();
    let refused = machine.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    let told =
        "the destination ledger: headers.Authorization: the environment variable ONCEOVER_TEST_NOT_SET is not set";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!refused.stderr.contains("in-the-text"), "{}", refused.stderr);
}
