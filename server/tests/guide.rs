//! The worker of docs/API.md, as a reader copies it: against the real binary and a destination that fails.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use server::sandbox::Settings;

#[path = "support/process.rs"]
mod process;
#[path = "support/sandbox.rs"]
mod sandbox;

use process::{Machine, Serving, end};
use sandbox::Destination;

const GUIDE: &str = include_str!("../../docs/API.md");

/// The worker in a folder of its own, with whom it talks to.
struct Worker {
    machine: Machine,
    serving: Serving,
    token: String,
    ledger: String,
}

impl Worker {
    fn new(destination: &Destination) -> Self {
        let machine = Machine::new();
        machine.apply("[[workflow]]\nname = \"accounting-handoff\"\n");
        let program = GUIDE.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        machine.write("worker.py", program);
        let (token, serving) = (machine.token("shop"), machine.serve());
        Self { machine, serving, token, ledger: format!("{}/tasks", destination.url) }
    }

    /// What it says of this order.
    fn hand_over(&self, document: &str) -> Value {
        let key = json!({
            "workflow": "accounting-handoff", "company": "acme-in", "source_system": "shop", "document": document
        });
        let order = json!({ "key": key, "payload": { "amount": "1180.00", "currency": "INR" } });
        let mut command = std::process::Command::new("python3");
        command.arg("worker.py").current_dir(self.machine.path(""));
        command.env("ONCEOVER_API", format!("{}/api/v1", self.serving.url));
        command.env("ONCEOVER_TOKEN", &self.token).env("LEDGER", &self.ledger).env("no_proxy", "127.0.0.1");
        serde_json::from_str(&end(command, &order.to_string()).ok()).unwrap()
    }
}

// The worker blocks the thread that it is awaited on; the destination answers on another.
#[tokio::test(flavor = "multi_thread")]
async fn the_worker_of_the_guide_reports_what_it_knows_and_never_sends_twice() {
    let destination = Destination::start(Settings::default()).await;
    let worker = Worker::new(&destination);

    let confirmed = worker.hand_over("order-1");
    assert_eq!((&confirmed["state"], &confirmed["destination_reference"]), (&json!("confirmed"), &json!("task-1")));
    let (_, held) = destination
        .get(&format!("/tasks?external_reference={}", confirmed["external_reference"].as_str().unwrap()))
        .await;
    assert_eq!(held["items"][0]["id"], "task-1", "the record carries the external reference");
    let again = worker.hand_over("order-1");
    assert_eq!(
        (&again["next"], &again["operation"]["destination_reference"]),
        (&json!("use_result"), &json!("task-1"))
    );
    assert_eq!(destination.held().await, (1, 0));

    destination.rule("fault=refuse&requests=1").await;
    assert_eq!(worker.hand_over("order-2")["state"], "failed");
    assert_eq!(worker.hand_over("order-2")["state"], "confirmed", "what was refused may be sent again");

    // Written or not, and nobody says which: each stays unknown, and is not sent again.
    for (index, fault) in ["cut_after", "half_answer", "garbage", "fail_after"].into_iter().enumerate() {
        destination.rule(&format!("fault={fault}&requests=1")).await;
        let document = format!("lost-{index}");
        assert_eq!(worker.hand_over(&document)["state"], "unknown", "{fault}");
        assert_eq!(worker.hand_over(&document)["next"], "wait", "{fault}");
    }
    assert_eq!(destination.held().await, (6, 0));
    let left = std::fs::read_dir(worker.machine.path("")).unwrap();
    let leases = left.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "lease"));
    assert_eq!(leases.count(), 0, "a lease is kept no longer than it is needed");
}
