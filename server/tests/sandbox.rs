//! The sandbox as a destination meets its callers: over real sockets, with every fault counted on the records that it really holds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use server::sandbox::{ExistsShape, Fault, Settings};

#[path = "support/process.rs"]
mod process;
#[path = "support/sandbox.rs"]
mod sandbox;

use process::{Machine, Serving};
use sandbox::Destination;

async fn destination() -> Destination {
    Destination::start(Settings::default()).await
}

#[tokio::test]
async fn a_record_is_created_found_changed_and_made_void() {
    let destination = destination().await;
    let body = r#"{"document":"order-812","big":9007199254740993,"amount":1180.00,"id":"mine","status":"mine"}"#;
    let create = || destination.client.post(format!("{}/tasks", destination.url));
    let created = create().header("X-Reference", "ref-1").body(body).send().await.unwrap();
    assert_eq!(created.status(), StatusCode::CREATED);
    assert_eq!(created.headers()["location"], "/tasks/task-1");
    let text = created.text().await.unwrap();
    assert!(text.contains(r#""amount":1180.00,"big":9007199254740993"#), "digits stay: {text}");
    let task: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&task["id"], &task["status"]), (&json!("task-1"), &json!("OPEN")));

    // Without a reference, and with one in the body.
    assert_eq!(create().body("{}").send().await.unwrap().status(), StatusCode::CREATED);
    let by_body = create().body(r#"{"external_reference":"ref-2"}"#).send().await.unwrap();
    assert_eq!(by_body.json::<Value>().await.unwrap()["external_reference"], "ref-2");
    let contradicting = create().header("X-Reference", "ref-3").body(r#"{"external_reference":"ref-2"}"#);
    assert_eq!(contradicting.send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    for wrong in ["", "[]", "{", "{\"external_reference\":7}"] {
        assert_eq!(create().body(wrong).send().await.unwrap().status(), StatusCode::BAD_REQUEST, "{wrong}");
    }

    let (_, found) = destination.get("/tasks?external_reference=ref-1").await;
    assert_eq!((found["items"].as_array().unwrap().len(), &found["items"][0]), (1, &task));
    assert_eq!(found["next"], Value::Null);
    let (_, read) = destination.get("/tasks/task-1").await;
    assert_eq!(read, task);
    let (missing, _) = destination.get("/tasks/task-99").await;
    assert_eq!(missing, StatusCode::NOT_FOUND);

    let change = |body: &'static str| destination.client.patch(format!("{}/tasks/task-1", destination.url)).body(body);
    let changed: Value = change(r#"{"amount":"12.00"}"#).send().await.unwrap().json().await.unwrap();
    assert_eq!((&changed["amount"], &changed["document"]), (&json!("12.00"), &json!("order-812")));
    assert_eq!(destination.held().await, (3, 0));
    let voided: Value = change(r#"{"status":"VOIDED"}"#).send().await.unwrap().json().await.unwrap();
    assert_eq!((&voided["status"], &voided["amount"]), (&json!("VOIDED"), &json!("12.00")));
    let url = format!("{}/tasks/task-2", destination.url);
    for _ in 0..2 {
        let voided: Value = destination.client.delete(&url).send().await.unwrap().json().await.unwrap();
        assert_eq!(voided["status"], "VOIDED");
        assert_eq!(destination.held().await, (1, 2));
    }
}

#[tokio::test]
async fn what_is_answered_and_what_is_held_is_what_each_fault_says() {
    // The status, none where no answer came; live and void records.
    let expected: [(&str, Option<u16>, (u64, u64)); 16] = [
        ("cut_before", None, (0, 0)),
        ("cut_after", None, (1, 0)),
        ("fail_before", Some(500), (0, 0)),
        ("fail_after", Some(500), (1, 0)),
        ("half_answer", None, (1, 0)),
        ("garbage", Some(200), (1, 0)),
        ("slow_before=2000", Some(201), (1, 0)),
        ("slow_after=2000", Some(201), (1, 0)),
        ("refuse", Some(422), (0, 0)),
        ("too_many", Some(429), (0, 0)),
        ("exists", Some(409), (0, 0)),
        ("twice", Some(201), (2, 0)),
        ("void", Some(201), (0, 1)),
        ("lag=2000", Some(201), (1, 0)),
        ("part_of_text", Some(201), (1, 0)),
        ("page_records=2", Some(201), (1, 0)),
    ];
    assert_eq!(expected.map(|(fault, _, _)| fault.to_owned()), Fault::ALL.map(|fault| fault.to_string()));
    for (fault, status, held) in expected {
        let destination = destination().await;
        let sent = destination.create("ref-1", fault).send().await;
        // An answer counts when all of it came.
        let answered = match sent {
            Ok(answer) => {
                let status = answer.status().as_u16();
                answer.text().await.ok().map(|_| status)
            }
            Err(_) => None,
        };
        assert_eq!((answered, destination.held().await), (status, held), "{fault}");
        assert_eq!(destination.requests(fault.split('=').next().unwrap()).await, 1, "{fault}");
    }
}

#[tokio::test]
async fn a_mistyped_fault_is_refused_and_nothing_is_written() {
    let destination = destination().await;
    for wrong in ["cut", "slow_before", "cut_after,refus"] {
        assert_eq!(destination.create("ref-1", wrong).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    }
    for wrong in [
        "fault=cut",
        "fault=cut_after&on=reading",
        "fault=cut_after&requests=0",
        "fault=cut_after&probability=2",
        "fault=cut_after&request=1",
        "fault=cut_after&seed=1",
        "",
    ] {
        let refused =
            destination.client.post(format!("{}/sandbox/faults?{wrong}", destination.url)).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(destination.held().await, (0, 0));
}

#[tokio::test]
async fn a_write_is_carried_out_though_its_caller_hangs_up() {
    let destination = destination().await;
    let impatient = destination.create("ref-1", "slow_before=400").timeout(Duration::from_millis(100));
    assert!(impatient.send().await.unwrap_err().is_timeout());
    assert_eq!(destination.held().await, (0, 0), "it is not written yet");
    let deadline = Instant::now() + Duration::from_secs(10);
    while destination.held().await != (1, 0) {
        assert!(Instant::now() < deadline, "it is never written");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn rules_hit_the_next_requests_or_some_at_random() {
    let destination = destination().await;
    destination.rule("fault=fail_before&requests=2").await;
    let statuses = async |number: usize| {
        let mut statuses = Vec::new();
        for _ in 0..number {
            statuses.push(destination.create("ref-1", "").send().await.unwrap().status().as_u16());
        }
        statuses
    };
    assert_eq!(statuses(3).await, [500, 500, 201]);
    destination.rule("fault=refuse&probability=0.5&seed=7").await;
    let first = statuses(20).await;
    assert!(first.contains(&422) && first.contains(&201));
    destination.clear_rules().await;
    destination.rule("fault=refuse&probability=0.5&seed=7").await;
    assert_eq!(statuses(20).await, first, "the same seed, the same choices");
    destination.clear_rules().await;
    destination.rule("fault=fail_before&on=search").await;
    assert_eq!(destination.get("/tasks").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(statuses(1).await, [201]);
    assert_eq!(destination.get("/sandbox/faults").await.1["rules"], json!(["fail_before on search: every"]));
}

#[tokio::test]
async fn a_search_lags_pages_matches_parts_and_fails_half_way() {
    let destination = destination().await;
    for reference in ["INV-1", "INV-10", "XINV-1", "INV-1-CN", "inv-1"] {
        destination.create(reference, "").send().await.unwrap();
    }
    let found = async |path: &str| {
        let mut next = path.to_owned();
        let mut references = Vec::new();
        loop {
            let (status, page) = destination.get(&next).await;
            if status != StatusCode::OK {
                return Err(references.len());
            }
            let items = page["items"].as_array().unwrap();
            references.extend(items.iter().map(|item| item["external_reference"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(path) => path.clone_into(&mut next),
                None => return Ok(references),
            }
        }
    };
    assert_eq!(found("/tasks?external_reference=INV-1").await.unwrap(), ["INV-1"]);
    assert_eq!(found("/tasks?page_size=2").await.unwrap().len(), 5, "to the last page");
    destination.set("part_of_text=true&page_records=2").await;
    let parts = found("/tasks?external_reference=INV-1").await.unwrap();
    assert_eq!(parts, ["INV-1", "INV-10", "XINV-1", "INV-1-CN", "inv-1"]);
    destination.rule("fault=fail_before&on=page&requests=1").await;
    assert_eq!(found("/tasks?external_reference=INV-1").await, Err(2), "broken off behind the first page");

    destination.set("part_of_text=false&lag_milliseconds=600").await;
    destination.create("late", "").send().await.unwrap();
    assert!(found("/tasks?external_reference=late").await.unwrap().is_empty());
    let (_, all) = destination.get("/sandbox/tasks?external_reference=late").await;
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "behind its back it is there");
    let deadline = Instant::now() + Duration::from_secs(10);
    while found("/tasks?external_reference=late").await.unwrap().is_empty() {
        assert!(Instant::now() < deadline, "it is never found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_idempotency_key_is_honoured_where_that_is_switched_on() {
    let destination = destination().await;
    let create = |body: &'static str| {
        let request = destination.client.post(format!("{}/tasks", destination.url));
        request.header("Idempotency-Key", "key-1").header("X-Reference", "ref-1").body(body)
    };
    for _ in 0..2 {
        assert_eq!(create("{}").send().await.unwrap().status(), StatusCode::CREATED);
    }
    assert_eq!(destination.held().await, (2, 0), "off");
    destination.set("idempotency=true").await;
    let first: Value = create("{\"a\":1}").send().await.unwrap().json().await.unwrap();
    let second = create("{\"a\":1}").send().await.unwrap();
    assert_eq!(
        (second.status(), &second.headers()["idempotency-replayed"]),
        (StatusCode::CREATED, &"true".parse().unwrap())
    );
    assert_eq!(second.json::<Value>().await.unwrap(), first);
    assert_eq!(create("{\"a\":2}").send().await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(destination.held().await, (3, 0));
}

#[tokio::test]
async fn a_second_record_for_a_reference_exists_already_in_every_shape() {
    let destination = Destination::start(Settings { is_unique: true, ..Settings::default() }).await;
    destination.create("ref-1", "").send().await.unwrap();
    for shape in ExistsShape::ALL {
        destination.set(&format!("exists={}", shape.as_str())).await;
        let answer = destination.create("ref-1", "").send().await.unwrap();
        let status = if shape == ExistsShape::Success { StatusCode::OK } else { StatusCode::CONFLICT };
        assert_eq!(answer.status(), status);
        let text = answer.text().await.unwrap();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let id = match shape {
            ExistsShape::Object | ExistsShape::Success => &body["error"]["id"],
            ExistsShape::List => &body[1]["id"],
            ExistsShape::Text => {
                assert_eq!(text, "a task with this external reference exists already");
                continue;
            }
        };
        assert_eq!(id, "task-1");
    }
    destination.client.delete(format!("{}/tasks/task-1", destination.url)).send().await.unwrap();
    assert_eq!(
        destination.create("ref-1", "").send().await.unwrap().status(),
        StatusCode::CREATED,
        "a void one is none"
    );
    let at_once: Vec<_> = (0..20).map(|_| tokio::spawn(destination.create("ref-2", "").send())).collect();
    let mut created = 0;
    for sent in at_once {
        created += usize::from(sent.await.unwrap().unwrap().status() == StatusCode::CREATED);
    }
    assert_eq!((created, destination.held().await), (1, (2, 1)), "of twenty at once one is written");
}

#[tokio::test]
async fn records_are_counted_by_a_member() {
    let destination = destination().await;
    for (reference, faults) in [("ref-1", "twice"), ("ref-1", "void"), ("ref-2", "")] {
        destination.create(reference, faults).send().await.unwrap();
    }
    let (_, counted) = destination.get("/sandbox/count?by=external_reference").await;
    assert_eq!(counted["by"], json!({ "ref-1": { "live": 2, "void": 1 }, "ref-2": { "live": 1, "void": 0 } }));
    let (_, counted) = destination.get("/sandbox/count?by=document").await;
    assert_eq!(counted["by"]["of ref-1"], json!({ "live": 2, "void": 1 }));
    let (_, counted) = destination.get("/sandbox/count?by=amount").await;
    assert_eq!(counted["by"], json!({ "1180.00": { "live": 3, "void": 1 } }), "a number as it was written");
    assert_eq!(destination.get("/sandbox/count?by=a'b").await.0, StatusCode::BAD_REQUEST);
}

/// The process, killed while it is written to.
#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_record_is_lost_when_the_process_is_killed() {
    let machine = Machine::new();
    let start = || {
        let arguments =
            ["sandbox", "--listen", "127.0.0.1:0", "--data", "records/sandbox.db", "--fault", "cut_after:0.3"];
        tokio::task::block_in_place(|| Serving::start(machine.command(&arguments)))
    };
    let mut acknowledged = Vec::new();
    let mut written = 0;
    for round in 0..4 {
        let serving = start();
        assert_eq!(serving.log(), "");
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/tasks", serving.url);
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (client, url) = (client.clone(), url.clone());
                tokio::spawn(async move {
                    let mut references = Vec::new();
                    for number in 0.. {
                        let reference = format!("{round}/{writer}/{number}");
                        let sent = client.post(&url).header("X-Reference", &reference).body("{}").send().await;
                        match sent {
                            Ok(answer) if answer.status() == StatusCode::CREATED => references.push(reference),
                            Err(error) if error.is_connect() => break,
                            _ => {}
                        }
                    }
                    references
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| serving.kill());
        for writer in writers {
            let references = writer.await.unwrap();
            written += references.len();
            acknowledged.extend(references);
        }
    }
    let serving = start();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let count = client.get(format!("{}/sandbox/count?by=external_reference", serving.url)).send().await.unwrap();
    let count: Value = count.json().await.unwrap();
    assert!(written > 0, "nothing was acknowledged");
    for reference in &acknowledged {
        assert_eq!(count["by"][reference], json!({ "live": 1, "void": 0 }), "{reference} is lost");
    }
    assert!(
        serving.greeting.contains(&format!("holds {} live and 0 void records", count["live"])),
        "{}",
        serving.greeting
    );
    tokio::task::block_in_place(|| serving.stop());
}

#[test]
fn the_printed_configuration_is_applied_at_once() {
    let machine = Machine::new();
    let printed = machine.run(&["sandbox", "--print-config", "--listen", "127.0.0.1:9091"]).ok();
    assert!(printed.contains("base_url = \"http://127.0.0.1:9091\""), "{printed}");
    let applied = machine.apply(&printed);
    assert!(
        applied.contains("workflow     sandbox-task  added") && applied.contains("destination  sandbox       added"),
        "{applied}"
    );
    let files: Vec<_> = std::fs::read_dir(machine.path("")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!files.iter().any(|file| file == "data"), "printing makes no records: {files:?}");
}

#[test]
fn the_records_may_lie_in_a_folder() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("records")).unwrap();
    let serving = Serving::start(machine.command(&["sandbox", "--listen", "127.0.0.1:0", "--data", "records"]));
    assert!(serving.greeting.contains("0 live and 0 void records in records/sandbox.db"), "{}", serving.greeting);
    serving.stop();
    assert!(machine.path("records/sandbox.db").exists());
}

#[test]
fn wrong_faults_and_files_are_told() {
    let machine = Machine::new();
    for fault in ["cut", "cut_after:2", "cut_after:often", "nothing/cut_after", "slow_before"] {
        assert_eq!(machine.run(&["sandbox", "--fault", fault]).code, 2, "{fault}");
    }
    let taken = machine.write("notes.txt", "these are my notes, which are no database at all").run(&[
        "sandbox",
        "--listen",
        "127.0.0.1:0",
        "--data",
        "notes.txt",
    ]);
    assert_eq!(
        taken.refused(1),
        "onceover: notes.txt: the sandbox's file: file is not a database; name another file with --data"
    );
}

#[test]
fn every_fault_stands_in_the_help() {
    let machine = Machine::new();
    let help = machine.run(&["sandbox", "--help"]).ok();
    for fault in Fault::ALL {
        let line = format!("{:18}  {}", fault.to_string(), fault.meaning());
        assert!(help.contains(&line), "{line:?} is missing");
    }
}

#[tokio::test]
async fn it_explains_itself_over_http() {
    let destination = destination().await;
    let help =
        destination.client.get(format!("{}/sandbox", destination.url)).send().await.unwrap().text().await.unwrap();
    for fault in Fault::ALL {
        assert!(help.contains(&format!("{fault} ")), "{fault}");
    }
}

/// curl, as the help has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_looks_lost_to_curl_too() {
    let destination = destination().await;
    let output = tokio::task::block_in_place(|| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--noproxy", "*", "-H", "Sandbox-Fault: cut_after", "-H", "X-Reference: ref-1"]);
        curl.args(["-d", "{\"amount\":\"12.00\"}", &format!("{}/tasks", destination.url)]).output().unwrap()
    });
    assert_eq!((output.status.code(), output.stdout), (Some(52), Vec::new()), "52: an empty answer");
    assert_eq!(destination.held().await, (1, 0));
}
