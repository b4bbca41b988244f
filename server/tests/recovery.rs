//! Lost answers become known: real servers, a real destination that counts what it holds, and workers whose answers are lost; on SQLite
//! and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use server::sandbox::Settings;
use tokio::time::Instant;

#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;
#[path = "support/sandbox.rs"]
mod sandbox;

use automation::{Automation, answered, begin};
use postgres::Fresh;
use process::{Machine, PATIENCE, Serving};
use sandbox::Destination;

/// The finality window of the ledger, in seconds.
const FINALITY_SECONDS: u64 = 3;

/// A server under test with its destination.
struct Stage {
    machine: Machine,
    servers: Vec<Serving>,
    automation: Automation,
    ledger: Destination,
    fresh: Option<Fresh>,
}

/// What a worker holds.
struct Permit {
    operation: String,
    reference: String,
    lease: String,
}

impl Permit {
    /// What the answer to a begin permits.
    fn of(answer: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            operation: text(&answer["operation"]["id"]),
            reference: text(&answer["external_reference"]),
            lease: text(&answer["lease"]["token"]),
        }
    }
}

/// A begin with a lease that outlasts whatever its worker does.
fn at_leisure(document: &str) -> Value {
    let mut begin = begin(document);
    begin["lease_seconds"] = json!(60);
    begin
}

impl Stage {
    async fn on(machine: Machine, fresh: Option<Fresh>, servers: usize) -> Self {
        let ledger = Destination::start(Settings::default()).await;
        machine.apply(&configuration(&ledger.url, 200));
        let token = machine.token("billing");
        let servers: Vec<Serving> = (0..servers).map(|_| machine.serve()).collect();
        let automation = Automation::new(&servers[0].url, &token);
        Self { machine, servers, automation, ledger, fresh }
    }

    async fn remove(self) {
        self.servers.into_iter().for_each(Serving::stop);
        if let Some(fresh) = self.fresh {
            fresh.remove().await;
        }
    }

    async fn begins(&self, document: &str) -> (StatusCode, Value) {
        let answer = answered(self.automation.begin(document)).await;
        (answer.status, answer.body)
    }

    /// A worker that is not heard of again: its lease is over in a second.
    async fn owns(&self, document: &str) -> Permit {
        let (status, body) = self.begins(document).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        Permit::of(&body)
    }

    /// A worker that says itself how it went, however long the machine takes over its calls.
    async fn owns_at_leisure(&self, document: &str) -> Permit {
        let answer = answered(self.automation.post("/api/v1/operations", &at_leisure(document))).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
        Permit::of(&answer.body)
    }

    async fn decision(&self, document: &str) -> String {
        self.begins(document).await.1["decision"].as_str().unwrap().to_owned()
    }

    async fn reports(&self, permit: &Permit, outcome: Value) -> StatusCode {
        let mut report = outcome;
        report["lease_token"] = json!(permit.lease);
        answered(self.automation.outcome(&permit.operation, &report)).await.status
    }

    async fn is_unsure(&self, permit: &Permit) {
        let report = json!({ "outcome": "unknown", "reason": "no answer in 10 s" });
        assert_eq!(self.reports(permit, report).await, StatusCode::OK);
    }

    /// The worker sends; its answer is lost in this way, and it says so.
    async fn loses_its_answer(&self, document: &str, faults: &str) -> Permit {
        let permit = self.owns_at_leisure(document).await;
        let _lost = self.ledger.create(&permit.reference, faults).send().await;
        self.is_unsure(&permit).await;
        permit
    }

    async fn operation(&self, permit: &Permit) -> Value {
        answered(self.automation.get(&format!("/api/v1/operations/{}", permit.operation))).await.body
    }

    async fn state(&self, permit: &Permit) -> String {
        self.operation(permit).await["state"].as_str().unwrap().to_owned()
    }

    async fn comes_to(&self, permit: &Permit, state: &str) -> Value {
        eventually(state, async || self.state(permit).await == state).await;
        self.operation(permit).await
    }

    async fn lookups(&self, permit: &Permit) -> Vec<Value> {
        let path = format!("/api/v1/operations/{}/events", permit.operation);
        let body = answered(self.automation.get(&path)).await.body;
        let events = body["events"].as_array().unwrap().clone();
        events.into_iter().filter(|event| event["kind"] == "looked_up").collect()
    }

    async fn metric(&self, line: &str) -> u64 {
        let answer = self.automation.get("/metrics").send().await.unwrap().text().await.unwrap();
        let found = answer.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
        found.unwrap_or(0)
    }
}

fn configuration(ledger: &str, lookups_per_second: u32) -> String {
    format!(
        r#"
[[workflow]]
name = "handoff"
destination = "ledger"
lease_seconds = 1
key_fields = [{{ payload = "/amount", record = "$.amount", compare = "decimal" }}]

[[destination]]
name = "ledger"
base_url = "{ledger}"
timeout_seconds = 2
finality_seconds = {FINALITY_SECONDS}
lookups_per_second = {lookups_per_second}

[destination.lookup]
method = "GET"
path = "/tasks?external_reference={{{{ external_reference }}}}"
records = "$.items[*]"
external_reference = "$.external_reference"
reference = "$.id"
next_page = "$.next"
void = {{ path = "$.status", values = ["VOIDED"] }}
"#
    )
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "did not come true: {what}");
        wait(Duration::from_millis(50)).await;
    }
}

async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Runs each of these tests against both databases.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(super::Stage::on(super::Machine::new(), None, 1).await).await;
                }
            )+
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let Some(fresh) = super::Fresh::new().await else { return };
                    let machine = super::Machine::on(&fresh.url);
                    super::$name(super::Stage::on(machine, Some(fresh), 2).await).await;
                }
            )+
        }
    };
}

on_both!(
    the_answer_is_lost_and_the_record_is_found,
    a_worker_that_died_is_looked_for_and_absence_frees_the_key_only_when_proven,
    an_index_that_lags_frees_nothing,
    a_batch_that_timed_out_is_settled_by_lookups,
    what_resembles_it_is_shown_and_never_taken,
    other_totals_and_two_records_are_disputed,
    a_paused_worker_that_wakes_after_a_takeover_overwrites_nothing,
    a_destination_that_is_down_is_asked_less_and_settles_nothing,
    a_second_revision_waits_while_the_first_is_unknown,
    a_server_killed_in_a_lookup_loses_nothing,
    the_rate_of_a_destination_holds_over_all_processes,
    a_lookup_configured_later_settles_what_waits,
    begins_are_answered_while_many_wait,
    the_same_failure_has_the_same_consequences_by_lookup_and_by_report,
);

/// The destination saved it, the answer was lost; nobody sends again, and it is found.
async fn the_answer_is_lost_and_the_record_is_found(stage: Stage) {
    let permit = stage.loses_its_answer("order-812", "cut_after").await;
    // The job begins anew, three times, with new request ids.
    for _ in 0..3 {
        assert!(["unknown", "replay"].contains(&stage.decision("order-812").await.as_str()));
    }
    let operation = stage.comes_to(&permit, "confirmed").await;
    assert_eq!(operation["destination_reference"], "task-1");
    assert_eq!(stage.ledger.held().await, (1, 0));
    let (status, body) = stage.begins("order-812").await;
    assert_eq!((status, &body["decision"]), (StatusCode::OK, &json!("replay")));
    assert_eq!(body["operation"]["destination_reference"], "task-1");

    let lookups = stage.lookups(&permit).await;
    assert_eq!(lookups.len(), 1);
    let detail = &lookups[0]["detail"];
    assert_eq!(lookups[0]["actor"], "system:recovery");
    assert_eq!(detail["request"], format!("GET /tasks?external_reference={}", permit.reference));
    assert_eq!(
        (&detail["finding"], &detail["state"], &detail["status"]),
        (&json!("found"), &json!("confirmed"), &json!(200))
    );
    assert!(detail["took_milliseconds"].is_u64());
    let line = r#"onceover_lookups_total{workflow="handoff",company="acme",answer="found"}"#;
    assert_eq!(stage.metric(line).await, 1);
    // The worker wakes, and hears what it knew.
    let report = json!({ "outcome": "confirmed", "destination_reference": "task-1" });
    assert_eq!(stage.reports(&permit, report).await, StatusCode::OK);
    stage.remove().await;
}

/// Killed after the write, and killed before it: the destination is asked first, and what is surely absent is attempt 2.
async fn a_worker_that_died_is_looked_for_and_absence_frees_the_key_only_when_proven(stage: Stage) {
    let written = stage.owns("written").await;
    stage.ledger.create(&written.reference, "").send().await.unwrap();
    let unwritten = stage.owns("unwritten").await;
    let since = Instant::now();
    let (status, body) = loop {
        let (status, body) = stage.begins("unwritten").await;
        if body["decision"] != "in_progress" && body["decision"] != "unknown" {
            break (status, body);
        }
        wait(Duration::from_millis(100)).await;
    };
    let elapsed = since.elapsed();
    assert!(elapsed >= Duration::from_secs(FINALITY_SECONDS + 5), "proven after {elapsed:?}");
    assert_eq!((status, &body["attempt"]), (StatusCode::CREATED, &json!(2)), "{body}");
    assert_eq!(stage.comes_to(&written, "confirmed").await["destination_reference"], "task-1");
    let lookups = stage.lookups(&unwritten).await;
    let negative = |lookup: &&Value| lookup["detail"]["counts_towards_proof"] == true;
    assert_eq!(lookups.iter().filter(negative).count(), 2, "{lookups:#?}");
    assert!(lookups.last().unwrap()["detail"]["reason"].as_str().unwrap().starts_with("proven absent"));
    stage.remove().await;
}

/// Two and a half seconds until the index shows it, three until it is final.
async fn an_index_that_lags_frees_nothing(stage: Stage) {
    let permit = stage.loses_its_answer("order-1", "lag=2500,cut_after").await;
    while stage.state(&permit).await == "unknown" {
        let decision = stage.decision("order-1").await;
        assert!(["unknown", "replay"].contains(&decision.as_str()), "{decision}");
        wait(Duration::from_millis(100)).await;
    }
    assert_eq!(stage.operation(&permit).await["state"], "confirmed");
    let lookups = stage.lookups(&permit).await;
    assert!(lookups.len() >= 2 && lookups[0]["detail"]["finding"] == "absent", "{lookups:#?}");
    assert_eq!(stage.ledger.held().await, (1, 0));
    stage.remove().await;
}

/// Twenty in one call that ran into its limit of time; all were accepted.
async fn a_batch_that_timed_out_is_settled_by_lookups(stage: Stage) {
    let operations: Vec<Value> = (0..20).map(|number| at_leisure(&format!("letter-{number}"))).collect();
    let batch = stage.automation.post("/api/v1/operations/batch", &json!({ "operations": operations }));
    let answer = answered(batch).await;
    let mut permits = Vec::new();
    for result in answer.body["results"].as_array().unwrap() {
        let permit = Permit::of(result);
        let _lost = stage.ledger.create(&permit.reference, "cut_after").send().await;
        permits.push(permit);
    }
    for permit in &permits {
        stage.is_unsure(permit).await;
    }
    for permit in &permits {
        stage.comes_to(permit, "confirmed").await;
    }
    assert_eq!(stage.ledger.held().await, (20, 0), "nothing was sent again");
    assert_eq!(stage.ledger.requests("search").await, 20, "each was looked for by one process");
    assert_eq!(stage.metric(&entered("failed")).await, 0);
    stage.remove().await;
}

/// The search of the destination matches parts; a hundred and twenty others come before the one that is ours, and pages break off.
async fn what_resembles_it_is_shown_and_never_taken(stage: Stage) {
    stage.ledger.rule("fault=part_of_text&on=search").await;
    stage.ledger.rule("fault=part_of_text&on=page").await;
    let alone = stage.owns_at_leisure("alone").await;
    for similar in [format!("{}-CN", alone.reference), format!("X{}", alone.reference), alone.reference.to_uppercase()]
    {
        stage.ledger.create(&similar, "").send().await.unwrap();
    }
    stage.is_unsure(&alone).await;
    let among = stage.owns_at_leisure("among many").await;
    for number in 0..120 {
        stage.ledger.create(&format!("{}-{number}", among.reference), "").send().await.unwrap();
    }
    let _lost = stage.ledger.create(&among.reference, "cut_after").send().await;
    stage.ledger.rule("fault=fail_before&on=page&requests=1").await;
    stage.is_unsure(&among).await;
    assert_eq!(stage.comes_to(&among, "confirmed").await["destination_reference"], "task-124");
    let lookups = stage.lookups(&among).await;
    assert_eq!(lookups[0]["detail"]["finding"], "inconclusive", "a page broke off: that is no absence");
    assert_eq!(lookups[0]["detail"]["class"], "server_error");

    eventually("it was looked for", async || !stage.lookups(&alone).await.is_empty()).await;
    let candidates = stage.lookups(&alone).await[0]["detail"]["candidates"].as_array().unwrap().len();
    assert_eq!((candidates, stage.state(&alone).await.as_str()), (3, "unknown"));
    stage.remove().await;
}

async fn other_totals_and_two_records_are_disputed(stage: Stage) {
    let other = stage.owns_at_leisure("other total").await;
    let create =
        stage.ledger.client.post(format!("{}/tasks", stage.ledger.url)).header("X-Reference", &other.reference);
    create.body(r#"{"amount":"1810.00"}"#).send().await.unwrap();
    stage.is_unsure(&other).await;
    let twice = stage.loses_its_answer("twice", "twice,cut_after").await;
    let void = stage.loses_its_answer("void", "void,cut_after").await;

    stage.comes_to(&other, "disputed").await;
    let lookup = stage.lookups(&other).await.pop().unwrap();
    let difference = &lookup["detail"]["differences"][0];
    assert_eq!((&difference["ours"], &difference["theirs"]), (&json!("1180.00"), &json!("1810.00")));
    stage.comes_to(&twice, "disputed").await;
    assert_eq!(stage.lookups(&twice).await.pop().unwrap()["detail"]["found"], json!(["task-2", "task-3"]));
    for document in ["other total", "twice", "void"] {
        assert_eq!(stage.decision(document).await, "unknown", "{document}: its key is not free");
    }
    eventually("it was looked for", async || stage.lookups(&void).await.len() == 1).await;
    let lookup = stage.lookups(&void).await.pop().unwrap();
    assert_eq!((&lookup["detail"]["finding"], &lookup["detail"]["exhausted"]), (&json!("void_only"), &json!(true)));
    assert_eq!(stage.metric("onceover_recovery_exhausted").await, 1);
    stage.remove().await;
}

/// The first worker sleeps past its lease, the absence of its record is proven, another takes over; then the first one wakes and sends.
async fn a_paused_worker_that_wakes_after_a_takeover_overwrites_nothing(stage: Stage) {
    let first = stage.owns("order-1").await;
    stage.comes_to(&first, "failed").await;
    let second = stage.owns("order-1").await;
    assert_eq!(first.operation, second.operation);
    let confirmed = |reference: &str| json!({ "outcome": "confirmed", "destination_reference": reference });
    assert_eq!(stage.reports(&first, confirmed("A")).await, StatusCode::CONFLICT);
    assert_eq!(stage.state(&second).await, "disputed", "two effects: a person decides");
    assert_eq!(stage.reports(&second, confirmed("B")).await, StatusCode::OK);
    let operation = stage.operation(&second).await;
    assert_eq!((&operation["state"], &operation["destination_reference"]), (&json!("disputed"), &json!("B")));
    assert_eq!(stage.reports(&first, confirmed("A")).await, StatusCode::CONFLICT);
    assert_eq!(stage.operation(&second).await["destination_reference"], "B");
    stage.remove().await;
}

async fn a_destination_that_is_down_is_asked_less_and_settles_nothing(stage: Stage) {
    stage.ledger.rule("fault=fail_before&on=search").await;
    let mut permits = Vec::new();
    for number in 0..30 {
        permits.push(stage.loses_its_answer(&format!("order-{number}"), "cut_after").await);
    }
    eventually("its circuit opens", async || stage.ledger.requests("search").await >= 5).await;
    wait(Duration::from_secs(2)).await;
    let asked = stage.ledger.requests("search").await;
    wait(Duration::from_secs(4)).await;
    let asked_since = stage.ledger.requests("search").await - asked;
    assert!(asked_since <= 1, "{asked_since} lookups while it is down");
    for permit in &permits {
        assert_eq!(stage.state(permit).await, "unknown");
    }
    assert_eq!(stage.metric("onceover_recovery_waiting").await, 30);

    stage.ledger.clear_rules().await;
    for permit in &permits {
        stage.comes_to(permit, "confirmed").await;
    }
    assert_eq!(stage.ledger.held().await, (30, 0));
    stage.remove().await;
}

/// Nothing is built on what nobody knows; once it is known, the next revision needs its approval like any other.
async fn a_second_revision_waits_while_the_first_is_unknown(stage: Stage) {
    stage.ledger.rule("fault=fail_before&on=search&requests=1").await;
    let permit = stage.loses_its_answer("INV-7", "cut_after").await;
    let mut second = begin("INV-7");
    second["revision"] = json!(2);
    let ask = async || answered(stage.automation.post("/api/v1/operations", &second)).await;
    let answer = ask().await;
    assert_eq!((answer.status, &answer.body["decision"]), (StatusCode::CONFLICT, &json!("previous_revision")));
    assert_eq!(answer.body["previous"]["operation"], permit.operation, "{}", answer.body);
    stage.comes_to(&permit, "confirmed").await;
    let answer = ask().await;
    assert_eq!((answer.status, &answer.body["decision"]), (StatusCode::CONFLICT, &json!("approval_missing")));
    stage.remove().await;
}

/// The whole guard dies while it looks; its claims run out, and it is found.
async fn a_server_killed_in_a_lookup_loses_nothing(mut stage: Stage) {
    stage.ledger.rule("fault=slow_before=1500&on=search&requests=3").await;
    let mut permits = Vec::new();
    for number in 0..3 {
        permits.push(stage.loses_its_answer(&format!("order-{number}"), "cut_after").await);
    }
    eventually("it is being looked for", async || stage.ledger.requests("search").await == 3).await;
    stage.servers.drain(..).for_each(Serving::kill);
    stage.servers.push(stage.machine.serve());
    stage.automation = stage.automation.at(&stage.servers[0].url);
    for permit in &permits {
        stage.comes_to(permit, "confirmed").await;
        assert_eq!(stage.lookups(permit).await.len(), 1);
    }
    assert_eq!(stage.ledger.held().await, (3, 0));
    assert!(stage.machine.run(&["trail", "verify"]).ok().starts_with("The trail is whole"));
    stage.remove().await;
}

/// Twenty wait, and five a second may be asked.
async fn the_rate_of_a_destination_holds_over_all_processes(stage: Stage) {
    stage.machine.apply(&configuration(&stage.ledger.url, 5));
    // Every server has seen the new rate by then.
    wait(Duration::from_millis(2_500)).await;
    let mut permits = Vec::new();
    for number in 0..20 {
        let permit = stage.owns(&format!("order-{number}")).await;
        stage.ledger.create(&permit.reference, "").send().await.unwrap();
        permits.push(permit);
    }
    for permit in &permits {
        stage.comes_to(permit, "confirmed").await;
    }
    assert_eq!(stage.ledger.requests("search").await, 20, "each was looked for by one process");
    let mut asked = Vec::new();
    for permit in &permits {
        let asked_at = stage.lookups(permit).await[0]["detail"]["asked_at"].as_str().unwrap().to_owned();
        asked.push(chrono::DateTime::parse_from_rfc3339(&asked_at).unwrap());
    }
    asked.sort_unstable();
    let span = asked[19] - asked[0];
    assert!(span >= chrono::TimeDelta::milliseconds(3_500), "twenty lookups within {span}");
    stage.remove().await;
}

/// What became unknown before its destination could be asked is looked for once it can.
async fn a_lookup_configured_later_settles_what_waits(stage: Stage) {
    stage.machine.apply("[[workflow]]\nname = \"handoff\"\nlease_seconds = 1\n");
    wait(Duration::from_millis(1_500)).await;
    let permit = stage.loses_its_answer("order-1", "cut_after").await;
    wait(Duration::from_millis(1_000)).await;
    assert_eq!(stage.state(&permit).await, "unknown");
    assert!(stage.lookups(&permit).await.is_empty());
    stage.machine.apply(&configuration(&stage.ledger.url, 200));
    assert_eq!(stage.comes_to(&permit, "confirmed").await["destination_reference"], "task-1");
    stage.remove().await;
}

/// Hundreds (with `ONCEOVER_SOAK=1` ten thousand) became unknown at once and are worked through; whoever begins is answered meanwhile.
async fn begins_are_answered_while_many_wait(stage: Stage) {
    let (batches, per_batch) = if std::env::var_os("ONCEOVER_SOAK").is_some() { (10, 1_000) } else { (1, 400) };
    for batch in 0..batches {
        let operations: Vec<Value> = (0..per_batch).map(|number| begin(&format!("waiting-{batch}-{number}"))).collect();
        let asked = stage.automation.post("/api/v1/operations/batch", &json!({ "operations": operations }));
        assert_eq!(answered(asked).await.status, StatusCode::OK);
    }
    eventually("they are being looked for", async || stage.ledger.requests("search").await > 20).await;
    let (mut slowest, mut begun, mut settled) = (Duration::ZERO, 0, 0);
    while settled < batches * per_batch {
        let since = Instant::now();
        assert_eq!(stage.begins(&format!("fresh-{begun}")).await.0, StatusCode::CREATED);
        slowest = slowest.max(since.elapsed());
        begun += 1;
        settled = stage.metric(&entered("failed")).await;
        assert!(slowest < Duration::from_secs(5), "a begin took {slowest:?} while {settled} were settled");
        wait(Duration::from_millis(50)).await;
    }
    assert!(begun > 10, "only {begun} begins, the slowest took {slowest:?}");
    stage.remove().await;
}

fn entered(state: &str) -> String {
    format!(r#"onceover_states_entered_total{{workflow="handoff",company="acme",state="{state}"}}"#)
}

async fn the_same_failure_has_the_same_consequences_by_lookup_and_by_report(stage: Stage) {
    let by_lookup = stage.owns("by lookup").await;
    let by_report = stage.owns("by report").await;
    stage.is_unsure(&by_lookup).await;
    stage.is_unsure(&by_report).await;
    let refused = json!({ "outcome": "failed", "reason": "the destination refused it" });
    assert_eq!(stage.reports(&by_report, refused).await, StatusCode::OK);
    stage.comes_to(&by_lookup, "failed").await;
    assert_eq!(stage.metric(&entered("failed")).await, 2);
    assert_eq!(stage.metric("onceover_recovery_waiting").await, 0);
    for (document, permit) in [("by lookup", &by_lookup), ("by report", &by_report)] {
        let (status, body) = stage.begins(document).await;
        assert_eq!((status, &body["attempt"]), (StatusCode::CREATED, &json!(2)), "{document}");
        assert_eq!(body["operation"]["id"], permit.operation);
    }
    stage.remove().await;
}
