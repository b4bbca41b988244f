//! `kill -9` of the server at random moments under load: nothing that was acknowledged is lost, and nothing is permitted twice.
//!
//! Automations go on and on over whatever happens: they ask, write into a destination of theirs, tell how it went, and repeat what was not
//! answered. Afterwards the store is asked about everything that it had acknowledged. `ONCEOVER_SOAK=1` makes it the long run;
//! `ONCEOVER_SEED` repeats the choices of a run (not the moments of the machine).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stderr, reason = "the seed and the counts are told where the test fails")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard::clock::Entropy as _;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use server::clock::OsEntropy;
use tokio::sync::watch;

#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;

use automation::{Answer, Automation, answer, answered, begin};
use postgres::Fresh;
use process::{Machine, PATIENCE};

/// One workflow whose workers mark their sending and one whose do not; leases are short, so that some end while nobody answers.
const WORKFLOWS: &str = "
[[workflow]]
name = \"handoff\"
lease_seconds = 1
[[workflow]]
name = \"marked\"
lease_seconds = 1
two_step = true
";

/// Automations at work at the same time.
const WORKERS: usize = 8;

/// They choose among so many of the newest documents, so that the same one is asked for by several at once; every other time they ask
/// for any that there was, so that those whose lease ended are asked for again.
const DOCUMENTS_AT_HAND: usize = 12;

/// The server lives this long after it began to serve, in milliseconds.
const LIFE_MILLISECONDS: std::ops::Range<u64> = 10..1_000;

fn rounds(short: usize, long: usize) -> usize {
    if std::env::var_os("ONCEOVER_SOAK").is_some() { long } else { short }
}

/// Something that the server has acknowledged.
#[derive(Clone, Debug)]
enum Acknowledged {
    Granted { document: String, operation: String, attempt: u64, lease: String },
    Confirmed { operation: String, reference: String },
    Failed { operation: String, attempt: u64 },
}

/// What the automations share: documents, the destination, and what they were told.
struct World {
    /// Where the server is; workers that meet a dead one wait for the next.
    address: watch::Receiver<String>,
    is_over: AtomicBool,
    documents: AtomicUsize,
    /// How often the destination was written to, by document.
    destination: Mutex<HashMap<String, usize>>,
    acknowledged: Mutex<Vec<Acknowledged>>,
    /// Calls whose answer was lost and that were repeated: without them the test would prove nothing.
    repeated: AtomicUsize,
    /// Begins that met an operation whose lease had ended while it may have been sent: likewise.
    uncertain: AtomicUsize,
    /// Grants after an attempt that was proven not to have been used: likewise.
    again: AtomicUsize,
}

impl World {
    fn write(&self, document: &str) -> String {
        *self.destination.lock().unwrap().entry(document.to_owned()).or_default() += 1;
        format!("record-of-{document}")
    }

    /// Whether what the test is about has happened at all: calls repeated, an unknown met, an operation begun again.
    fn has_met_everything(&self) -> bool {
        [&self.repeated, &self.uncertain, &self.again].iter().all(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn acknowledge(&self, what: Acknowledged) {
        self.acknowledged.lock().unwrap().push(what);
    }
}

struct Worker {
    name: String,
    token: String,
    world: Arc<World>,
    dice: StdRng,
}

impl Worker {
    async fn work(mut self) {
        while !self.world.is_over.load(Ordering::Relaxed) {
            self.one_document().await;
        }
    }

    async fn one_document(&mut self) {
        if self.dice.random_ratio(1, 3) {
            self.world.documents.fetch_add(1, Ordering::Relaxed);
        }
        let newest = self.world.documents.load(Ordering::Relaxed);
        let number = if self.dice.random_ratio(1, 2) {
            newest.saturating_sub(self.dice.random_range(0..DOCUMENTS_AT_HAND))
        } else {
            self.dice.random_range(0..=newest)
        };
        let document = format!("order-{number}");
        let workflow = if number.is_multiple_of(2) { "handoff" } else { "marked" };
        let mut body = begin(&document);
        body["workflow"] = json!(workflow);
        body["worker"] = json!(self.name);
        body["begin_id"] = json!(hex::encode(self.dice.random::<[u8; 16]>()));
        let Some(begun) = self.insist("/api/v1/operations", &body).await else { return };
        match begun.body["decision"].as_str() {
            Some("proceed") => assert_eq!(begun.status, StatusCode::CREATED),
            Some("replay") => {
                return assert_eq!(
                    begun.body["operation"]["destination_reference"],
                    json!(format!("record-of-{document}"))
                );
            }
            Some("in_progress") => return,
            Some("unknown") => {
                self.world.uncertain.fetch_add(1, Ordering::Relaxed);
                return;
            }
            other => panic!("{other:?} for {document}: {begun:?}"),
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let operation = text(&begun.body["operation"]["id"]);
        let lease = text(&begun.body["lease"]["token"]);
        let attempt = begun.body["attempt"].as_u64().unwrap();
        self.world.again.fetch_add(usize::from(attempt > 1), Ordering::Relaxed);
        self.world.acknowledge(Acknowledged::Granted {
            document: document.clone(),
            operation: operation.clone(),
            attempt,
            lease: lease.clone(),
        });
        if workflow == "marked" {
            if self.dice.random_ratio(1, 10) {
                // Dies before it marked anything.
                return;
            }
            let marked =
                self.insist(&format!("/api/v1/operations/{operation}/sending"), &json!({ "lease_token": lease })).await;
            // Only who may send sends.
            if marked.is_none_or(|marked| marked.status != StatusCode::OK) {
                return;
            }
        }
        let report = match self.dice.random_range(0..10) {
            // Dies before or after it wrote: nobody is told.
            0 => return,
            1 => return drop(self.world.write(&document)),
            // The destination refused: proof that nothing was written.
            2 | 3 => json!({ "lease_token": lease, "outcome": "failed", "reason": "refused" }),
            _ => {
                let reference = self.world.write(&document);
                json!({ "lease_token": lease, "outcome": "confirmed", "destination_reference": reference })
            }
        };
        let Some(told) = self.insist(&format!("/api/v1/operations/{operation}/outcome"), &report).await else { return };
        assert_eq!(told.status, StatusCode::OK, "{document}, attempt {attempt}: {told:?}");
        self.world.acknowledge(if report["outcome"] == "failed" {
            Acknowledged::Failed { operation, attempt }
        } else {
            Acknowledged::Confirmed { operation, reference: text(&report["destination_reference"]) }
        });
    }

    /// Asks until it is answered, over as many lives of the server as it takes; none when the test is over.
    async fn insist(&self, path: &str, body: &Value) -> Option<Answer> {
        let mut address = self.world.address.clone();
        let mut automation = Automation::new(&address.borrow_and_update(), &self.token);
        loop {
            match once(automation.post(path, body)).await {
                Ok(answered) => {
                    assert!(!answered.status.is_server_error(), "{path}: {answered:?}");
                    return Some(answered);
                }
                Err(_) if self.world.is_over.load(Ordering::Relaxed) => return None,
                Err(_) => {
                    self.world.repeated.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    automation = automation.at(&address.borrow_and_update());
                }
            }
        }
    }
}

async fn once(request: RequestBuilder) -> reqwest::Result<Answer> {
    answer(request.send().await?).await
}

async fn killed_again_and_again(machine: Machine, rounds: usize) {
    let seed = std::env::var("ONCEOVER_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from_be_bytes(OsEntropy.bytes()[..8].try_into().unwrap()));
    eprintln!("ONCEOVER_SEED={seed} on {}", machine.database().split("://").next().unwrap());
    let mut dice = StdRng::seed_from_u64(seed);
    machine.apply(WORKFLOWS);
    let token = machine.token("worker");
    let (moved, address) = watch::channel("http://127.0.0.1:1".to_owned());
    let world = Arc::new(World {
        address,
        is_over: AtomicBool::new(false),
        documents: AtomicUsize::new(0),
        destination: Mutex::default(),
        acknowledged: Mutex::default(),
        repeated: AtomicUsize::new(0),
        uncertain: AtomicUsize::new(0),
        again: AtomicUsize::new(0),
    });
    let workers: Vec<_> = (0..WORKERS)
        .map(|number| {
            let name = format!("worker-{number}");
            let worker = Worker {
                name,
                token: token.clone(),
                world: Arc::clone(&world),
                dice: StdRng::seed_from_u64(dice.random()),
            };
            tokio::spawn(worker.work())
        })
        .collect();
    for _ in 0..rounds {
        let serving = tokio::task::block_in_place(|| machine.serve_with(&["--log", "error"]));
        moved.send_replace(serving.url.clone());
        tokio::time::sleep(Duration::from_millis(dice.random_range(LIFE_MILLISECONDS))).await;
        assert_eq!(serving.log(), "", "nothing is an error");
        serving.kill();
    }
    let serving = tokio::task::block_in_place(|| machine.serve_with(&["--log", "error"]));
    moved.send_replace(serving.url.clone());
    tokio::time::sleep(Duration::from_millis(LIFE_MILLISECONDS.end)).await;
    // A slow machine needs longer to get there.
    let deadline = std::time::Instant::now() + PATIENCE;
    while !world.has_met_everything() && std::time::Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world.is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    all_is_there(&world, &Automation::new(&serving.url, &token)).await;
    assert_eq!(serving.log(), "", "nothing is an error");
    tokio::task::block_in_place(|| serving.stop());
    assert!(machine.run(&["trail", "verify"]).ok().starts_with("The trail is whole"));
}

async fn all_is_there(world: &World, shop: &Automation) {
    for (document, writes) in world.destination.lock().unwrap().iter() {
        assert_eq!(*writes, 1, "{document} was written twice");
    }
    let acknowledged = std::mem::take(&mut *world.acknowledged.lock().unwrap());
    let mut leases = HashMap::new();
    let mut trails = HashMap::new();
    let (mut granted, mut settled) = (0, 0);
    for what in acknowledged {
        let (Acknowledged::Granted { operation, .. }
        | Acknowledged::Confirmed { operation, .. }
        | Acknowledged::Failed { operation, .. }) = &what;
        if !trails.contains_key(operation) {
            trails.insert(operation.clone(), Trail::read(shop, operation).await);
        }
        let trail = &trails[operation];
        match &what {
            Acknowledged::Granted { document, attempt, lease, .. } => {
                granted += 1;
                assert_eq!(trail.held["document"], json!(document));
                assert!(trail.has("begun", *attempt), "{what:?} is lost: {trail:?}");
                // The same try may have been answered again; another one never.
                let first = leases.entry((operation.clone(), *attempt)).or_insert_with(|| lease.clone());
                assert_eq!(first, lease, "attempt {attempt} of {document} was granted twice");
            }
            Acknowledged::Confirmed { reference, .. } => {
                settled += 1;
                assert_eq!(
                    (&trail.held["state"], &trail.held["destination_reference"]),
                    (&json!("confirmed"), &json!(reference)),
                    "{what:?} is lost: {trail:?}"
                );
            }
            Acknowledged::Failed { attempt, .. } => {
                settled += 1;
                assert!(trail.has("reported", *attempt), "{what:?} is lost: {trail:?}");
            }
        }
    }
    for trail in trails.values() {
        trail.permits_one_at_a_time();
    }
    let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    eprintln!(
        "{} operations, {granted} grants and {settled} outcomes acknowledged, {} calls repeated, {} begins met an unknown, {} grants \
         of a further attempt",
        trails.len(),
        count(&world.repeated),
        count(&world.uncertain),
        count(&world.again)
    );
    assert!(granted > 0 && settled > 0 && world.has_met_everything(), "the run proved too little");
}

/// How the store holds an operation, and what it tells of it.
#[derive(Debug)]
struct Trail {
    held: Value,
    events: Vec<Value>,
}

impl Trail {
    async fn read(shop: &Automation, operation: &str) -> Self {
        let held = answered(shop.get(&format!("/api/v1/operations/{operation}"))).await;
        assert_eq!(held.status, StatusCode::OK, "{operation} is lost");
        let events = answered(shop.get(&format!("/api/v1/operations/{operation}/events"))).await;
        Self { held: held.body, events: events.body["events"].as_array().unwrap().clone() }
    }

    fn has(&self, kind: &str, attempt: u64) -> bool {
        self.events.iter().any(|event| event["kind"] == kind && event["detail"]["attempt"] == attempt)
    }

    /// Between two permissions stands the proof that the first was not used: released unsent, or reported as failed.
    fn permits_one_at_a_time(&self) {
        let mut is_permitted = false;
        let mut attempts = 0;
        for event in &self.events {
            match (event["kind"].as_str().unwrap(), event["detail"]["state"].as_str()) {
                ("begun", _) => {
                    assert!(!is_permitted, "permitted twice without proof: {self:?}");
                    is_permitted = true;
                    attempts += 1;
                    assert_eq!(event["detail"]["attempt"], json!(attempts), "{self:?}");
                }
                ("released", _) | ("reported", Some("failed")) => is_permitted = false,
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_on_sqlite_loses_nothing_and_permits_nothing_twice() {
    killed_again_and_again(Machine::new(), rounds(8, 100)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_on_postgresql_loses_nothing_and_permits_nothing_twice() {
    let Some(fresh) = Fresh::new().await else { return };
    killed_again_and_again(Machine::on(&fresh.url), rounds(8, 100)).await;
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_over_two_processes_get_one_grant() {
    const AT_ONCE: usize = 50;
    let Some(fresh) = Fresh::new().await else { return };
    let machine = Machine::on(&fresh.url);
    // With a lease that no answer outlasts.
    machine.apply("[[workflow]]\nname = \"handoff\"\n");
    let token = machine.token("worker");
    let processes = [machine.serve_with(&["--log", "error"]), machine.serve_with(&["--log", "error"])];
    let automations: Vec<_> = (0..AT_ONCE).map(|number| Automation::new(&processes[number % 2].url, &token)).collect();
    for round in 0..rounds(30, 200) {
        let start = Arc::new(tokio::sync::Barrier::new(AT_ONCE));
        let asked: Vec<_> = automations
            .iter()
            .map(|automation| {
                let (request, start) = (automation.begin(&format!("order-{round}")), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    answered(request).await
                })
            })
            .collect();
        let mut grants = 0;
        for answer in asked {
            let answer = answer.await.unwrap();
            match answer.status {
                StatusCode::CREATED => grants += 1,
                StatusCode::CONFLICT => assert_eq!(answer.body["decision"], "in_progress", "{answer:?}"),
                _ => panic!("round {round}: {answer:?}"),
            }
        }
        assert_eq!(grants, 1, "round {round}");
    }
    for serving in processes {
        assert_eq!(serving.log(), "", "nothing is an error");
        serving.stop();
    }
    fresh.remove().await;
}
