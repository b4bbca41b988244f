//! Proxied requests that meet faults drawn at random, while the servers are killed at moments drawn at random: what is confirmed is one
//! live record, what failed is none, and everything else waits for a person with its reason.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use guard::clock::Entropy as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use server::clock::OsEntropy;

use super::*;

/// Workers that call the proxy at once.
const WORKERS: usize = 16;

/// A worker tries one document at most so often; it gives up sooner once it knows.
const TRIES_MAX: u32 = 8;

/// Everything comes to rest within this time: leases of killed servers run out first.
const AT_REST_WITHIN: Duration = Duration::from_secs(150);

/// What may happen to one request. A slow one is written after its answer is no longer awaited, and within the finality window.
const FAULTS: [&str; 17] = [
    "cut_before",
    "cut_after",
    "fail_before",
    "fail_after",
    "half_answer",
    "garbage",
    "slow_before=300",
    "slow_after=300",
    "slow_before=4000",
    "slow_after=4000",
    "refuse",
    "too_many",
    "exists",
    "lag=1000",
    "lag=1000,cut_after",
    "twice,cut_after",
    "void,cut_after",
];

#[tokio::test(flavor = "multi_thread")]
async fn faults_and_kills_at_random_leave_one_record_for_each_document_or_a_person_who_is_told() {
    let (documents, seed) = if std::env::var_os("ONCEOVER_SOAK").is_some() {
        (1_000, u64::from_be_bytes(OsEntropy.bytes()[..8].try_into().unwrap()))
    } else {
        (80, 812)
    };
    on_each_database(async |world: &World| {
        let is_over = AtomicBool::new(false);
        let next = AtomicUsize::new(0);
        let workers = async {
            join_all((0..WORKERS).map(|_| async {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= documents {
                        break;
                    }
                    send(world, number, StdRng::seed_from_u64(seed + number as u64)).await;
                }
            }))
            .await;
            is_over.store(true, Ordering::Relaxed);
        };
        let killer = async {
            let mut dice = StdRng::seed_from_u64(seed);
            let mut kills = 0;
            while !is_over.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(dice.random_range(300..1_200))).await;
                world.kill_and_start_again();
                kills += 1;
            }
            kills
        };
        let ((), kills) = tokio::join!(workers, killer);
        assert!(kills >= 3, "the servers were killed {kills} times only");
        check(world, documents, seed).await;
    })
    .await;
}

/// A client that can change only a URL and headers: it sends the same document again until it hears that it is done.
async fn send(world: &World, number: usize, mut dice: StdRng) {
    let document = format!("order-{number}");
    let body = json!({ "document": document, "amount": "1180.00" });
    for _ in 0..TRIES_MAX {
        let fault = if dice.random_bool(0.5) { "" } else { FAULTS.choose(&mut dice).unwrap() };
        let urls = world.urls();
        let url = &urls[dice.random_range(0..urls.len())];
        let request = Automation::new(url, &world.token).post("/proxy/handoff/tasks", &body);
        let request = request
            .header("onceover-company", "acme")
            .header("onceover-source-system", "shop")
            .header("onceover-document", &document)
            .header("sandbox-fault", fault);
        if let Ok(response) = request.send().await
            && response.status().is_success()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(dice.random_range(20..400))).await;
    }
}

/// Records of the destination under one external reference: those that are live, and those that are void.
#[derive(Default)]
struct Held {
    live: Vec<String>,
    void: usize,
}

async fn held(world: &World) -> HashMap<String, Held> {
    let mut held: HashMap<String, Held> = HashMap::new();
    let mut page = Some("/sandbox/tasks?page_size=500".to_owned());
    while let Some(path) = page {
        let answer = world.client.get(format!("{}{path}", world.sandbox.url)).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        for task in answer["items"].as_array().unwrap() {
            let of = held.entry(task["external_reference"].as_str().unwrap().to_owned()).or_default();
            if task["status"] == "VOIDED" {
                of.void += 1;
            } else {
                of.live.push(task["id"].as_str().unwrap().to_owned());
            }
        }
        page = answer["next"].as_str().map(ToOwned::to_owned);
    }
    held
}

async fn operations(world: &World) -> Vec<Value> {
    let mut operations = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/v1/operations?limit=500{cursor}");
        let page = answered(world.automation().get(&path)).await.body;
        operations.extend(page["operations"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return operations,
        }
    }
}

/// Waits until nothing moves any more, and compares what is held here and there.
async fn check(world: &World, documents: usize, seed: u64) {
    let deadline = Instant::now() + AT_REST_WITHIN;
    let (operations, held) = loop {
        let (operations, held) = (operations(world).await, held(world).await);
        let mut moving = 0;
        for operation in &operations {
            moving += usize::from(is_moving(world, operation, &held).await);
        }
        if moving == 0 {
            break (operations, held);
        }
        assert!(Instant::now() < deadline, "seed {seed}: {moving} operations do not come to rest");
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert_eq!(operations.len(), documents, "seed {seed}: each document is one operation");
    let nothing = Held::default();
    let mut tally: HashMap<&str, usize> = HashMap::new();
    for operation in &operations {
        let records = held.get(operation["external_reference"].as_str().unwrap()).unwrap_or(&nothing);
        let state = operation["state"].as_str().unwrap();
        *tally.entry(state).or_default() += 1;
        let told = format!("seed {seed}: {operation} has the live records {:?}", records.live);
        match state {
            "confirmed" => {
                assert_eq!(records.live, [operation["destination_reference"].as_str().unwrap()], "{told}");
            }
            "failed" => assert!(records.live.is_empty(), "{told}"),
            "disputed" => assert!(records.live.len() > 1 && was_told(world, operation, "several").await, "{told}"),
            // Nothing but a void record: whether that was meant is for a person.
            "unknown" if records.void > 0 => assert!(was_told(world, operation, "void_only").await, "{told}"),
            // Said to exist already, and never shown: nobody but a person may say that there is none.
            "unknown" => assert!(records.live.is_empty() && is_left_to_a_person(world, operation).await, "{told}"),
            _ => panic!("{told}"),
        }
    }
    let of = |state| tally.get(state).copied().unwrap_or(0);
    assert!(of("confirmed") > documents / 2, "seed {seed}: {tally:?}");
    assert!(
        of("disputed") + of("unknown") > 0,
        "seed {seed}: nothing was left to a person, so nothing was tried: {tally:?}"
    );
}

/// Whether something will still happen to it without a person.
async fn is_moving(world: &World, operation: &Value, held: &HashMap<String, Held>) -> bool {
    let records = held.get(operation["external_reference"].as_str().unwrap());
    match operation["state"].as_str().unwrap() {
        "unknown" if records.is_some_and(|records| !records.live.is_empty()) => true,
        "unknown" if records.is_some_and(|records| records.void > 0) => false,
        "unknown" => !is_left_to_a_person(world, operation).await,
        state => ["acquired", "sending"].contains(&state),
    }
}

/// Whether the trail of an operation tells that it is no longer looked for, since its destination said that it exists.
async fn is_left_to_a_person(world: &World, operation: &Value) -> bool {
    let path = format!("/api/v1/operations/{}/events", operation["id"].as_str().unwrap());
    let events = answered(world.automation().get(&path)).await.body;
    events["events"].as_array().unwrap().iter().any(|event| !event["detail"]["exhausted"].is_null())
}

/// Whether the trail of an operation tells that this was found at the destination.
async fn was_told(world: &World, operation: &Value, finding: &str) -> bool {
    let path = format!("/api/v1/operations/{}/events", operation["id"].as_str().unwrap());
    let events = answered(world.automation().get(&path)).await.body;
    events["events"].as_array().unwrap().iter().any(|event| event["detail"]["finding"] == finding)
}
