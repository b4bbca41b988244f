//! The load: connections that each ask, wait for the answer, and ask again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What one run saw.
#[derive(Clone, Default)]
pub struct Seen {
    /// Rounds that were finished: pairs of begin and outcome, or replays.
    pub rounds: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The latency of each begin, in microseconds, ascending.
    pub begin_microseconds: Vec<u32>,
}

impl Seen {
    /// Rounds per second.
    pub fn rate(&self) -> f64 {
        self.rounds as f64 / self.elapsed.as_secs_f64()
    }

    /// The latency of begin that this share of them stayed under, in milliseconds.
    pub fn begin_milliseconds(&self, share: f64) -> f64 {
        let last = self.begin_microseconds.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        f64::from(self.begin_microseconds.get(index).copied().unwrap_or(0)) / 1_000.0
    }
}

/// What a connection asks for, over and over.
#[derive(Clone)]
pub enum Round {
    /// A begin of a fresh key, then its outcome.
    Pair,
    /// A begin of one of this many keys that were confirmed before.
    Replay {
        /// How many keys there are.
        keys: u64,
    },
    /// A fresh key, reported as unknown: it is looked for from then on.
    Lost,
    /// A fresh document through a proxy.
    Proxied,
    /// A request that is answered without any work.
    Nothing,
}

/// The server and the token.
#[derive(Clone)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// The API token.
    pub token: Arc<str>,
}

/// Keys are numbered over all runs, so that each is fresh.
static NEXT_KEY: AtomicU64 = AtomicU64::new(0);

/// Loads the target over so many connections for so long, or until so many rounds are done.
pub async fn run(
    target: &Target,
    connections: usize,
    round: Round,
    time: Duration,
    rounds_max: u64,
) -> std::io::Result<Seen> {
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (target, round, stop, done) = (target.clone(), round.clone(), Arc::clone(&stop), Arc::clone(&done));
        tasks.spawn(async move {
            let mut connection = Connection::open(&target).await?;
            let mut latencies = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                latencies.push(connection.round(&round).await?);
                if done.fetch_add(1, Ordering::Relaxed) + 1 >= rounds_max {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Ok::<_, std::io::Error>(latencies)
        });
    }
    let timer = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move {
            tokio::time::sleep(time).await;
            stop.store(true, Ordering::Relaxed);
        }
    });
    let mut seen = Seen::default();
    while let Some(latencies) = tasks.join_next().await {
        seen.begin_microseconds.extend(latencies.map_err(std::io::Error::other)??);
    }
    seen.elapsed = started.elapsed();
    timer.abort();
    seen.rounds = seen.begin_microseconds.len() as u64;
    seen.begin_microseconds.sort_unstable();
    Ok(seen)
}

/// The body of what a path answers.
pub async fn get(target: &Target, path: &str) -> std::io::Result<String> {
    let mut connection = Connection::open(target).await?;
    let answer = connection.ask("GET", path, "", "").await?;
    expect(&answer, 200)?;
    Ok(answer.body)
}

/// Confirms the keys that replays ask for.
pub async fn prepare_replays(target: &Target, keys: u64) -> std::io::Result<()> {
    let mut connection = Connection::open(target).await?;
    for key in 0..keys {
        let begun = connection.begin(&format!("replay-{key}")).await?;
        connection.confirm(&begun).await?;
    }
    Ok(())
}

struct Connection {
    stream: TcpStream,
    token: Arc<str>,
    buffer: Vec<u8>,
    seed: u64,
}

struct Answer {
    status: u16,
    body: String,
}

impl Connection {
    async fn open(target: &Target) -> std::io::Result<Self> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        let seed = NEXT_KEY.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Ok(Self { stream, token: Arc::clone(&target.token), buffer: Vec::with_capacity(8_192), seed })
    }

    /// One round; answers the latency of its begin in microseconds.
    async fn round(&mut self, round: &Round) -> std::io::Result<u32> {
        let started = Instant::now();
        let latency = |started: Instant| u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        match round {
            Round::Pair => {
                let key = NEXT_KEY.fetch_add(1, Ordering::Relaxed);
                let begun = self.begin(&format!("order-{key:012}")).await?;
                let latency = latency(started);
                self.confirm(&begun).await?;
                Ok(latency)
            }
            Round::Replay { keys } => {
                let key = self.random() % keys;
                let answer = self.post("/api/v1/operations", &begin_body(&format!("replay-{key}"))).await?;
                expect(&answer, 200)?;
                Ok(latency(started))
            }
            Round::Lost => {
                let key = NEXT_KEY.fetch_add(1, Ordering::Relaxed);
                let body = begin_body(&format!("lost-{key:012}")).replacen("bench", "bench-lost", 1);
                let begun = self.post("/api/v1/operations", &body).await?;
                expect(&begun, 201)?;
                let latency = latency(started);
                self.report(&begun, r#""outcome":"unknown","reason":"the answer was lost""#).await?;
                Ok(latency)
            }
            Round::Proxied => {
                let key = NEXT_KEY.fetch_add(1, Ordering::Relaxed);
                let body = format!(r#"{{"document":"order-{key:012}","amount":"1180.00","currency":"INR"}}"#);
                let headers = format!(
                    "onceover-company: acme\r\nonceover-source-system: shop\r\nonceover-document: order-{key:012}\r\n"
                );
                let answer = self.post_with("/proxy/bench-proxied/tasks", &headers, &body).await?;
                expect(&answer, 201)?;
                Ok(latency(started))
            }
            Round::Nothing => {
                let answer = self.post("/api/v1/operations", &begin_body("nothing")).await?;
                expect(&answer, 200)?;
                Ok(latency(started))
            }
        }
    }

    async fn begin(&mut self, document: &str) -> std::io::Result<Answer> {
        let answer = self.post("/api/v1/operations", &begin_body(document)).await?;
        expect(&answer, 201)?;
        Ok(answer)
    }

    async fn confirm(&mut self, begun: &Answer) -> std::io::Result<()> {
        self.report(begun, r#""outcome":"confirmed","destination_reference":"task-907""#).await
    }

    async fn report(&mut self, begun: &Answer, outcome: &str) -> std::io::Result<()> {
        let body: serde_json::Value = serde_json::from_str(&begun.body)?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (id, token) = (text(&body["operation"]["id"]), text(&body["lease"]["token"]));
        let outcome = format!(r#"{{"lease_token":"{token}",{outcome}}}"#);
        let answer = self.post(&format!("/api/v1/operations/{id}/outcome"), &outcome).await?;
        expect(&answer, 200)
    }

    fn random(&mut self) -> u64 {
        // xorshift64 (Marsaglia, 2003): keys only have to be spread.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    async fn post(&mut self, path: &str, body: &str) -> std::io::Result<Answer> {
        self.post_with(path, "", body).await
    }

    async fn post_with(&mut self, path: &str, headers: &str, body: &str) -> std::io::Result<Answer> {
        self.ask("POST", path, headers, body).await
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> std::io::Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(std::io::Error::other("the server closed the connection"));
            }
            if let Some(answer) = read_answer(&self.buffer) {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once all of it is there.
fn read_answer(buffer: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(buffer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse::<usize>().ok() } else { None }
    })?;
    (body.len() >= length).then(|| Answer { status, body: body.to_owned() })
}

fn expect(answer: &Answer, status: u16) -> std::io::Result<()> {
    if answer.status == status {
        return Ok(());
    }
    Err(std::io::Error::other(format!("expected {status}, got {}: {}", answer.status, answer.body)))
}

fn begin_body(document: &str) -> String {
    format!(
        r#"{{"workflow":"bench","company":"acme","source_system":"shop","document":"{document}","worker":"bench-1","payload":{{"customer":"C-77","currency":"INR","amount":"1180.00","lines":[{{"sku":"P1","qty":2,"price":"500.00"}},{{"sku":"P2","qty":1,"price":"180.00"}}]}}}}"#
    )
}
