//! One effect for each intent, whatever goes wrong: real servers, the real sandbox as their destination, and the records that it holds.
//!
//! On SQLite with one server, on PostgreSQL with two. Workers do what docs/API.md says: they branch on `next`, repeat what was not
//! answered, and never send without a permission.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::HashSet;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use server::sandbox::ExistsShape;

#[path = "effects/amendment.rs"]
mod amendment;
#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;
#[path = "postgres/proxy.rs"]
#[allow(dead_code, reason = "shared with the tests of the store")]
mod proxy;
#[path = "effects/random.rs"]
mod random;

use automation::{Answer, Automation, answer, answered, begin};
use postgres::Fresh;
use process::{Machine, Serving};
use proxy::{Proxy, Side};

/// Whatever is to be known is known within this time: a lookup whose process was killed is taken over when its claim is over.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

/// Servers and their destination.
struct World {
    machine: Machine,
    sandbox: Serving,
    servers: Mutex<Vec<Serving>>,
    token: String,
    client: Client,
    /// How often workers were allowed to send.
    permissions: AtomicUsize,
    /// Numbers the begins.
    begins: AtomicUsize,
}

/// What a worker does about one order.
#[derive(Clone)]
struct Order {
    company: String,
    document: String,
    lease_seconds: u32,
}

fn order(document: &str) -> Order {
    Order { company: "acme".to_owned(), document: document.to_owned(), lease_seconds: 30 }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

impl World {
    fn new(machine: Machine, servers: usize) -> Self {
        let sandbox = Serving::start(machine.command(&["sandbox", "--listen", "127.0.0.1:0", "--data", "ledger.db"]));
        let configuration = machine.run(&["sandbox", "--print-config"]).ok();
        let configuration = configuration
            .replace("http://127.0.0.1:9090", &sandbox.url)
            .replace("sandbox-task", "handoff")
            .replace("timeout_seconds = 5", "timeout_seconds = 3")
            .replace("finality_seconds = 10", "lookups_per_second = 200\nfinality_seconds = 2");
        // A second workflow whose workers mark their sending.
        let marked = "[[workflow]]\nname = \"marked\"\ndestination = \"sandbox\"\ntwo_step = true\n";
        // A third one whose documents may be changed.
        let amendable = "[[workflow]]\nname = \"amendable\"\ndestination = \"sandbox\"\n\
             [workflow.amendment]\namendable = [\"/amount\"]\nbefore_reconciliation = \"amend\"\n";
        machine.apply(&format!("{configuration}\n{marked}\n{amendable}"));
        let token = machine.token("worker");
        let servers = (0..servers).map(|_| machine.serve_with(&["--log", "error"])).collect();
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let (permissions, begins) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { machine, sandbox, servers: Mutex::new(servers), token, client, permissions, begins }
    }

    fn urls(&self) -> Vec<String> {
        self.servers.lock().unwrap().iter().map(|server| server.url.clone()).collect()
    }

    fn automation(&self) -> Automation {
        Automation::new(&self.urls()[0], &self.token)
    }

    /// Ends every server as a power failure would, and starts them again.
    fn kill_and_start_again(&self) {
        tokio::task::block_in_place(|| {
            let mut servers = self.servers.lock().unwrap();
            let number = servers.len();
            servers.drain(..).for_each(Serving::kill);
            servers.extend((0..number).map(|_| self.machine.serve_with(&["--log", "error"])));
        });
    }

    /// Asks one server after the other until one answers.
    async fn insist(&self, path: &str, body: &Value) -> Answer {
        let deadline = Instant::now() + SETTLED_WITHIN;
        loop {
            for url in self.urls() {
                let request = Automation::new(&url, &self.token).post(path, body).header("prefer", "wait=1");
                if let Ok(response) = request.send().await
                    && let Ok(answered) = answer(response).await
                    && !answered.status.is_server_error()
                {
                    return answered;
                }
            }
            assert!(Instant::now() < deadline, "{path}: nobody answers");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn begin_of(&self, workflow: &str, order: &Order) -> Value {
        let mut body = begin(&order.document);
        body["workflow"] = json!(workflow);
        body["company"] = json!(order.company);
        body["lease_seconds"] = json!(order.lease_seconds);
        body["begin_id"] = json!(format!("begin-{}", self.begins.fetch_add(1, Ordering::Relaxed)));
        body
    }

    /// A create at the destination, with faults.
    async fn create(&self, granted: &Value, order: &Order, faults: &str) -> Option<String> {
        let body = begin(&order.document)["payload"].to_string();
        let request = self.client.post(format!("{}/tasks", self.sandbox.url)).header("sandbox-fault", faults);
        let request = request.header("x-reference", granted["external_reference"].as_str().unwrap()).body(body);
        let answer = request.send().await.ok()?;
        let status = answer.status();
        let task: Value = answer.json().await.ok()?;
        (status == StatusCode::CREATED).then(|| task["id"].as_str().unwrap().to_owned())
    }

    /// Reports, again and again until it is taken.
    async fn report(&self, granted: &Value, reference: Option<&str>) -> Answer {
        let mut report =
            json!({ "lease_token": granted["lease"]["token"], "outcome": "unknown", "reason": "no answer" });
        if let Some(reference) = reference {
            report["outcome"] = json!("confirmed");
            report["destination_reference"] = json!(reference);
        }
        let operation = granted["operation"]["id"].as_str().unwrap();
        self.insist(&format!("/api/v1/operations/{operation}/outcome"), &report).await
    }

    /// A worker that asks until it may send, or knows the record. The first create meets these faults.
    async fn handle(&self, order: &Order, faults: &str) -> String {
        let deadline = Instant::now() + SETTLED_WITHIN;
        let mut faults = faults;
        loop {
            assert!(Instant::now() < deadline, "{} is not known", order.document);
            let begun = self.insist("/api/v1/operations", &self.begin_of("handoff", order)).await.body;
            match begun["next"].as_str() {
                Some("send") => {
                    self.permissions.fetch_add(1, Ordering::Relaxed);
                    let created = self.create(&begun, order, faults).await;
                    faults = "";
                    self.report(&begun, created.as_deref()).await;
                }
                Some("use_result") => return begun["operation"]["destination_reference"].as_str().unwrap().to_owned(),
                Some("wait") => tokio::time::sleep(Duration::from_millis(100)).await,
                _ => panic!("{begun}"),
            }
        }
    }

    /// Live records that the destination holds.
    async fn records(&self) -> u64 {
        let count = self.client.get(format!("{}/sandbox/count", self.sandbox.url)).send().await.unwrap();
        count.json::<Value>().await.unwrap()["live"].as_u64().unwrap()
    }

    /// How often the destination was asked for this.
    async fn asked(&self, what: &str) -> u64 {
        let count = self.client.get(format!("{}/sandbox/count", self.sandbox.url)).send().await.unwrap();
        count.json::<Value>().await.unwrap()["requests"][what].as_u64().unwrap_or(0)
    }

    async fn rule(&self, rule: &str) {
        let set = self.client.post(format!("{}/sandbox/faults?{rule}", self.sandbox.url)).send().await.unwrap();
        assert_eq!(set.status(), StatusCode::CREATED);
    }

    fn permissions(&self) -> usize {
        self.permissions.load(Ordering::Relaxed)
    }

    /// Every server is content, and the trail is whole.
    fn close(self) {
        tokio::task::block_in_place(|| {
            for server in self.servers.into_inner().unwrap() {
                assert_eq!(server.log(), "", "nothing is an error");
                server.stop();
            }
            assert!(self.machine.run(&["trail", "verify"]).ok().starts_with("The trail is whole"));
        });
    }
}

/// Plays a scenario on SQLite with one server, and on PostgreSQL with two.
async fn on_each_database(scenario: impl AsyncFn(&World)) {
    let world = tokio::task::block_in_place(|| World::new(Machine::new(), 1));
    scenario(&world).await;
    world.close();
    let Some(fresh) = Fresh::new().await else { return };
    let world = tokio::task::block_in_place(|| World::new(Machine::on(&fresh.url), 2));
    scenario(&world).await;
    world.close();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_operation_twice_is_one_record() {
    on_each_database(async |world: &World| {
        let first = world.handle(&order("order-812"), "").await;
        let second = world.handle(&order("order-812"), "").await;
        assert_eq!(first, second);
        assert_eq!((world.records().await, world.permissions()), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_at_once_are_one_record() {
    const DOCUMENTS: usize = 20;
    on_each_database(async |world: &World| {
        let orders: Vec<_> = (0..DOCUMENTS).map(|number| order(&format!("order-{number}"))).collect();
        let both = orders.iter().chain(&orders).map(|order| world.handle(order, "slow_before=50"));
        let references: HashSet<String> = join_all(both).await.into_iter().collect();
        assert_eq!((references.len(), world.permissions()), (DOCUMENTS, DOCUMENTS));
        assert_eq!(world.records().await, DOCUMENTS as u64);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_number_in_two_companies_and_two_equal_documents_are_two_records_each() {
    on_each_database(async |world: &World| {
        let north = order("order-812");
        let south = Order { company: "acme-south".to_owned(), ..north.clone() };
        // The same payload under another number.
        let twin = order("order-813");
        let references = join_all([&north, &south, &twin].map(|order| world.handle(order, ""))).await;
        assert_eq!(references.into_iter().collect::<HashSet<_>>().len(), 3);
        assert_eq!((world.records().await, world.permissions()), (3, 3));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_delivers_again_makes_one_record() {
    on_each_database(async |world: &World| {
        let order = order("order-812");
        // At once, while the first is under way, and when it is done.
        let deliveries = (0..5).map(|number| async move {
            tokio::time::sleep(Duration::from_millis(20 * number)).await;
            world.handle(&self::order("order-812"), "slow_after=100").await
        });
        let references: HashSet<String> = join_all(deliveries).await.into_iter().collect();
        assert_eq!(references, [world.handle(&order, "").await].into());
        assert_eq!((world.records().await, world.permissions()), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_and_a_lost_request_is_sent_again() {
    on_each_database(async |world: &World| {
        for (number, (faults, permissions)) in
            [("cut_after", 1), ("fail_after", 1), ("garbage", 1), ("half_answer", 1), ("cut_before", 2)]
                .into_iter()
                .enumerate()
        {
            let before = (world.records().await, world.permissions());
            world.handle(&order(&format!("order-{number}")), faults).await;
            let made = (world.records().await - before.0, world.permissions() - before.1);
            assert_eq!(made, (1, permissions), "{faults}");
        }
    })
    .await;
}

/// A worker's HTTP client repeats the POST whose answer was lost, and the destination says that there is such a record: in whatever
/// shape, that is neither a failure nor a result. It is looked up.
#[tokio::test(flavor = "multi_thread")]
async fn already_exists_in_every_shape_is_looked_up() {
    on_each_database(async |world: &World| {
        for shape in ExistsShape::ALL.map(ExistsShape::as_str) {
            let url = format!("{}/sandbox/settings?unique=true&exists={shape}", world.sandbox.url);
            assert_eq!(world.client.patch(url).send().await.unwrap().status(), StatusCode::OK);
            let before = world.records().await;
            let order = order(&format!("order-{shape}"));
            let begun = world.insist("/api/v1/operations", &world.begin_of("handoff", &order)).await.body;
            assert_eq!(world.create(&begun, &order, "cut_after").await, None, "the answer is lost");
            assert_eq!(world.create(&begun, &order, "").await, None, "it exists already");
            assert_eq!(world.report(&begun, None).await.body["state"], "unknown");
            let known = world.handle(&order, "").await;
            let search =
                format!("{}/tasks?external_reference={}", world.sandbox.url, text(&begun["external_reference"]));
            let found: Value = world.client.get(search).send().await.unwrap().json().await.unwrap();
            assert_eq!(
                (&found["items"][0]["id"], found["items"].as_array().unwrap().len()),
                (&json!(known), 1),
                "{shape}"
            );
            assert_eq!(world.records().await - before, 1, "{shape}");
        }
    })
    .await;
}

/// The answer comes when the lease is over and others have asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_destination_slower_than_the_lease_makes_one_record() {
    on_each_database(async |world: &World| {
        let slow = Order { lease_seconds: 1, ..order("order-812") };
        let others = async {
            tokio::time::sleep(Duration::from_millis(1_200)).await;
            world.handle(&slow, "").await
        };
        let (first, other) = tokio::join!(world.handle(&slow, "slow_before=2000"), others);
        assert_eq!(first, other);
        assert_eq!((world.records().await, world.permissions()), (1, 1));
    })
    .await;
}

/// A worker of its own process: asks, sends, says so, and goes on before it reports.
const WORKER: &str = r#"
import json, sys, time, urllib.request
guard, token, sandbox, body = sys.argv[1:]
ask = urllib.request.build_opener(urllib.request.ProxyHandler({}))
begin = urllib.request.Request(guard + "/api/v1/operations", body.encode(), {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
granted = json.load(ask.open(begin))
content = json.dumps(json.loads(body)["payload"]).encode()
ask.open(urllib.request.Request(sandbox + "/tasks", content, {"X-Reference": granted["external_reference"]})).read()
print("written", flush=True)
time.sleep(600)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_between_its_write_and_its_report_leaves_one_record() {
    on_each_database(async |world: &World| {
        let order = Order { lease_seconds: 1, ..order("order-812") };
        let mut body = world.begin_of("handoff", &order);
        tokio::task::block_in_place(|| {
            let mut worker = std::process::Command::new("python3");
            worker.args(["-c", WORKER, &world.urls()[0], &world.token, &world.sandbox.url, &body.to_string()]);
            let mut worker = worker.stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            let mut output = std::io::BufReader::new(worker.stdout.take().unwrap());
            std::io::BufRead::read_line(&mut output, &mut line).unwrap();
            assert_eq!(line, "written\n");
            worker.kill().unwrap();
            worker.wait().unwrap();
        });
        // The message is delivered again, to another worker.
        let deadline = Instant::now() + SETTLED_WITHIN;
        loop {
            assert!(Instant::now() < deadline, "it is never known");
            body["begin_id"] = Value::Null;
            let begun = world.insist("/api/v1/operations", &body).await.body;
            match begun["next"].as_str() {
                Some("wait") => {}
                Some("use_result") => break,
                _ => panic!("{begun}"),
            }
        }
        assert_eq!(world.records().await, 1);
    })
    .await;
}

/// `kill -9` of every server while it carries out a step, and a worker that goes on with whoever is there next.
#[tokio::test(flavor = "multi_thread")]
async fn servers_killed_within_each_step_make_one_record() {
    const MILLISECONDS: [u64; 3] = [0, 2, 8];
    on_each_database(async |world: &World| {
        for milliseconds in MILLISECONDS {
            let killed = async || {
                tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                world.kill_and_start_again();
            };
            for workflow in ["handoff", "marked"] {
                let order = order(&format!("{workflow}-{milliseconds}"));
                let before = world.records().await;
                // Within the begin: the worker repeats this very begin, which is its own grant.
                let begin = world.begin_of(workflow, &order);
                let (begun, ()) = tokio::join!(world.insist("/api/v1/operations", &begin), killed());
                assert_eq!(begun.body["next"], "send", "{begun:?}");
                let begun = begun.body;
                if workflow == "marked" {
                    let operation = begun["operation"]["id"].as_str().unwrap();
                    let path = format!("/api/v1/operations/{operation}/sending");
                    let lease = json!({ "lease_token": begun["lease"]["token"] });
                    let (marked, ()) = tokio::join!(world.insist(&path, &lease), killed());
                    assert_eq!(marked.status, StatusCode::OK, "{marked:?}");
                }
                // While the worker sends.
                let (created, ()) = tokio::join!(world.create(&begun, &order, ""), killed());
                // Within the report.
                let (told, ()) = tokio::join!(world.report(&begun, created.as_deref()), killed());
                assert_eq!((told.status, &told.body["state"]), (StatusCode::OK, &json!("confirmed")), "{told:?}");
                let again = world.insist("/api/v1/operations", &world.begin_of(workflow, &order)).await;
                assert_eq!(again.body["decision"], "replay", "{again:?}");
                assert_eq!(world.records().await - before, 1);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_killed_within_a_lookup_find_the_record_in_their_next_life() {
    on_each_database(async |world: &World| {
        world.rule("fault=slow_before=2000&on=search&requests=1").await;
        let begun = world.insist("/api/v1/operations", &world.begin_of("handoff", &order("order-812"))).await.body;
        assert_eq!(world.create(&begun, &order("order-812"), "cut_after").await, None);
        assert_eq!(world.report(&begun, None).await.body["state"], "unknown");
        let deadline = Instant::now() + SETTLED_WITHIN;
        while world.asked("search").await == 0 {
            assert!(Instant::now() < deadline, "it is not looked for");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.kill_and_start_again();
        assert_eq!(world.handle(&order("order-812"), "").await, "task-1");
        assert_eq!(world.records().await, 1);
        let operation = begun["operation"]["id"].as_str().unwrap();
        let held = answered(world.automation().get(&format!("/api/v1/operations/{operation}"))).await;
        assert_eq!((&held.body["state"], &held.body["attempt"]), (&json!("confirmed"), &json!(1)));
    })
    .await;
}

/// The way to the database is cut at the first statement, at the second, and so on: before the database gets it, or before its answer
/// comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_connection_cut_at_each_statement_makes_one_record() {
    const STATEMENTS: u32 = 16;
    let Some(fresh) = Fresh::new().await else { return };
    let proxy = Proxy::to(&fresh.url).await;
    let world = tokio::task::block_in_place(|| {
        let mut world = World::new(Machine::on(&fresh.url), 0);
        let through = ["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", &proxy.url(&fresh.url)];
        world.servers.get_mut().unwrap().push(Serving::start(world.machine.command(&through)));
        world
    });
    let mut cuts = 0;
    for side in [Side::Asked, Side::Answered] {
        for statement in 0..STATEMENTS {
            let order = order(&format!("{side:?}-{statement}"));
            let before = (world.records().await, world.permissions());
            proxy.cut_at(statement, side);
            world.handle(&order, "").await;
            cuts += u32::from(proxy.is_cut());
            proxy.cut_at(statement, side);
            // Once more, for what a replay asks.
            world.handle(&order, "").await;
            let made = (world.records().await - before.0, world.permissions() - before.1);
            assert_eq!(made, (1, 1), "{side:?} {statement}");
        }
    }
    assert!(cuts > STATEMENTS / 2, "{cuts} connections were cut within an operation");
    tokio::task::block_in_place(|| {
        for server in world.servers.into_inner().unwrap() {
            server.stop();
        }
        assert!(world.machine.run(&["trail", "verify"]).ok().starts_with("The trail is whole"));
    });
    fresh.remove().await;
}
