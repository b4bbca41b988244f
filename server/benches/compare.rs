//! `make bench`: Onceover over HTTP beside what it stands on, on the same machine, in turn, in one run.
//!
//! Every figure is the median of [`TURNS`] turns; what is compared takes its turns alternately, so that a noisy minute hits both.
//! Settings: `ONCEOVER_BENCH_SECONDS` (of one turn), `ONCEOVER_BENCH_OPERATIONS` (how many the memory is read after),
//! `ONCEOVER_TEST_POSTGRES` (a server whose role may create databases; left out: no PostgreSQL figures),
//! `ONCEOVER_BENCH_PRELOAD` (a library that is preloaded into every server, to slow its disk).

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a program that prints a table of rounded figures"
)]

#[path = "compare/baseline.rs"]
mod baseline;
#[path = "compare/destination.rs"]
mod destination;
#[path = "compare/load.rs"]
mod load;
#[allow(dead_code, reason = "shared with the other benchmarks; each uses what it needs")]
#[path = "compare/process.rs"]
mod process;
#[path = "compare/streams.rs"]
mod streams;
#[path = "compare/visitor.rs"]
mod visitor;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use load::{Round, Seen, Target};
use process::Served;
use streams::Streams;

/// Each figure is the median of this many turns.
const TURNS: usize = 3;

/// Connections that ask at once.
const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// Keys among which replays choose.
const REPLAY_KEYS: u64 = 1_000;

/// The clients of pgbench, and the connections it is compared at.
const PGBENCH_CLIENTS: usize = 16;

/// So many event streams are open while begins are measured beside them.
const STREAMS: usize = 200;

/// So many unknown operations wait while begins are measured beside recovery.
const LOST_OPERATIONS: u64 = 10_000;

/// A destination bears so many lookups a second.
const LOOKUPS_PER_SECOND: u32 = 500;

/// Recovery of all of them is waited for at most this long.
const RECOVERY_SECONDS_MAX: u64 = 180;

const WORKFLOW: &str = "[[workflow]]\nname = \"bench\"\namount = \"/amount\"\ncurrency = \"/currency\"\n";

/// A workflow that is sent through the proxy, and one whose unknown operations are looked for.
fn workflows_with_destination(address: std::net::SocketAddr) -> String {
    format!(
        r#"{WORKFLOW}
[[workflow]]
name = "bench-proxied"
destination = "ledger"

[[workflow]]
name = "bench-lost"
destination = "ledger"

[[destination]]
name = "ledger"
base_url = "http://{address}"
finality_seconds = 0
lookups_per_second = {LOOKUPS_PER_SECOND}

[destination.create]
method = "POST"
path = "/tasks"
reference = "$.id"
confirmed = ["200-299"]
external_reference_header = "X-Reference"

[destination.lookup]
method = "GET"
path = "/tasks?external_reference={{{{ external_reference }}}}"
records = "$.items[*]"
external_reference = "$.external_reference"
reference = "$.id"
"#
    )
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.get(1).map(String::as_str) {
        Some("--serve-nothing") => Ok(runtime.block_on(baseline::serve_nothing(&arguments[2]))?),
        Some("--serve-destination") => Ok(runtime.block_on(destination::serve(&arguments[2]))?),
        Some("--serve-pass-through") => {
            Ok(runtime.block_on(destination::serve_pass_through(&arguments[2], &arguments[3]))?)
        }
        Some("--bare-sqlite") => {
            let time = Duration::from_secs(arguments[3].parse()?);
            println!("{}", baseline::bare_sqlite(Path::new(&arguments[2]), time)?);
            Ok(())
        }
        Some(_) | None => runtime.block_on(compare()),
    }
}

/// What one run is made with.
struct Setting {
    folder: tempfile::TempDir,
    time: Duration,
    operations: u64,
    preload: Option<PathBuf>,
    postgres: Option<String>,
}

impl Setting {
    fn read() -> Outcome<Self> {
        let number = |name: &str, default: u64| std::env::var(name).map_or(Ok(default), |text| text.parse());
        Ok(Self {
            folder: tempfile::tempdir_in(std::env::var("ONCEOVER_BENCH_FOLDER").unwrap_or_else(|_| "target".into()))?,
            time: Duration::from_secs(number("ONCEOVER_BENCH_SECONDS", 5)?),
            operations: number("ONCEOVER_BENCH_OPERATIONS", 1_000_000)?,
            preload: std::env::var_os("ONCEOVER_BENCH_PRELOAD").map(PathBuf::from),
            postgres: std::env::var("ONCEOVER_TEST_POSTGRES").ok(),
        })
    }

    /// A command whose process writes to the disk under measurement.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if let Some(preload) = &self.preload {
            command.env("LD_PRELOAD", preload);
        }
        command
    }

    /// Onceover, ready with a workflow and a token, on this database.
    fn serve(&self, database: &str, workflows: &str) -> Outcome<(Served, Target)> {
        let binary = env!("CARGO_BIN_EXE_onceover");
        let file = self.folder.path().join("bench.toml");
        std::fs::write(&file, workflows)?;
        let run = |arguments: &[&str]| {
            baseline::run_checked(Command::new(binary).args(arguments).args(["--database", database]))
        };
        run(&["apply", &file.to_string_lossy()])?;
        let token = run(&["token", "create", "--name", "bench"])?;
        let served = Served::start(self.command(binary), |command, address| {
            command.args([
                "serve",
                "--database",
                database,
                "--listen",
                &address.to_string(),
                "--requests-per-second",
                "1000000",
            ]);
            command.env("ONCEOVER_LOG", "warn").stderr(std::process::Stdio::null());
        })?;
        let target = Target { address: served.address, token: token.trim().into() };
        Ok((served, target))
    }

    fn bare_sqlite(&self, turn: usize) -> Outcome<f64> {
        let file = self.folder.path().join(format!("bare-{turn}.db"));
        let mut command = self.command(std::env::current_exe()?);
        command.arg("--bare-sqlite").arg(&file).arg(self.time.as_secs().to_string());
        Ok(baseline::run_checked(&mut command)?.trim().parse()?)
    }
}

/// Turns of one figure.
#[derive(Default)]
struct Turns {
    seen: Vec<Seen>,
    processor: Vec<f64>,
}

impl Turns {
    /// The turn with the median rate, with the median share of processors.
    fn median(&self) -> (&Seen, f64) {
        let mut order: Vec<&Seen> = self.seen.iter().collect();
        order.sort_by(|left, right| left.rate().total_cmp(&right.rate()));
        (order[order.len() / 2], median(&self.processor))
    }
}

fn median(values: &[f64]) -> f64 {
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered.get(ordered.len() / 2).copied().unwrap_or(0.0)
}

async fn turn(
    turns: &mut Turns,
    served: &Served,
    target: &Target,
    connections: usize,
    round: Round,
    time: Duration,
) -> Outcome<()> {
    let before = served.usage()?;
    let seen = load::run(target, connections, round, time, u64::MAX).await?;
    let used = served.usage()?.processor.saturating_sub(before.processor);
    turns.processor.push(used.as_secs_f64() / seen.elapsed.as_secs_f64());
    turns.seen.push(seen);
    Ok(())
}

async fn compare() -> Outcome<()> {
    let setting = Setting::read()?;
    println!(
        "one turn {} s, median of {TURNS}; every fsync {}",
        setting.time.as_secs(),
        match setting.preload {
            Some(_) => "1 ms slower",
            None => "as fast as this disk",
        }
    );
    println!("{:<44} {:>10} {:>9} {:>9} {:>8} {:>9}", "", "per second", "p50 ms", "p99 ms", "cpus", "ratio");
    let pairs_at_most_connections = sqlite(&setting).await?;
    destinations(&setting).await?;
    if let Some(url) = &setting.postgres {
        postgres(&setting, url).await?;
    }
    println!(
        "\nSQLite pairs at {} connections: {pairs_at_most_connections:.0} per second",
        CONNECTIONS[CONNECTIONS.len() - 1]
    );
    Ok(())
}

/// SQLite: pairs beside bare SQLite, replays beside a handler that does nothing; then memory.
async fn sqlite(setting: &Setting) -> Outcome<f64> {
    let nothing = Served::start(Command::new(std::env::current_exe()?), |command, address| {
        command.args(["--serve-nothing", &address.to_string()]);
    })?;
    let nothing_target = Target { address: nothing.address, token: "none".into() };
    let database = format!("sqlite://{}", setting.folder.path().join("bench.db").display());
    let (served, target) = setting.serve(&database, WORKFLOW)?;
    load::prepare_replays(&target, REPLAY_KEYS).await?;

    let mut bare = Vec::new();
    let mut idle: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    let mut pairs: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    let mut replays: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    for number in 0..TURNS {
        bare.push(setting.bare_sqlite(number)?);
        for (index, &connections) in CONNECTIONS.iter().enumerate() {
            turn(&mut idle[index], &nothing, &nothing_target, connections, Round::Nothing, setting.time).await?;
            let replay = Round::Replay { keys: REPLAY_KEYS };
            turn(&mut replays[index], &served, &target, connections, replay, setting.time).await?;
            turn(&mut pairs[index], &served, &target, connections, Round::Pair, setting.time).await?;
        }
    }
    let bare = median(&bare);
    println!("{:<44} {bare:>10.0}", "bare SQLite, pairs in groups of 100");
    for (index, connections) in CONNECTIONS.iter().enumerate() {
        let nothing_rate = idle[index].median().0.rate();
        print_row(&format!("a handler that does nothing, {connections}"), &idle[index], None);
        print_row(&format!("replay, {connections}"), &replays[index], Some(nothing_rate));
        print_row(&format!("begin + outcome on SQLite, {connections}"), &pairs[index], Some(bare));
    }

    let so_far: u64 = REPLAY_KEYS + pairs.iter().flat_map(|turns| &turns.seen).map(|seen| seen.rounds).sum::<u64>();
    let missing = setting.operations.saturating_sub(so_far);
    let hour = Duration::from_secs(3_600);
    let filled = load::run(&target, CONNECTIONS[CONNECTIONS.len() - 1], Round::Pair, hour, missing.max(1)).await?;
    let resident = mebibytes(served.usage()?.resident);
    println!(
        "{:<44} {:>10.0} {:>9.2} {:>9.2} {:>18}",
        format!("… filling up to {} operations", setting.operations.max(so_far)),
        filled.rate(),
        filled.begin_milliseconds(0.5),
        filled.begin_milliseconds(0.99),
        format!("{resident:.0} MiB resident"),
    );
    with_streams(setting, &database, &served, &target).await?;
    Ok(pairs[CONNECTIONS.len() - 1].median().0.rate())
}

/// Pairs beside nobody and beside open event streams, and what those take of memory.
async fn with_streams(setting: &Setting, database: &str, served: &Served, target: &Target) -> Outcome<()> {
    let connections = CONNECTIONS[1];
    let (mut alone, mut beside) = (Turns::default(), Turns::default());
    for _ in 0..TURNS {
        turn(&mut alone, served, target, connections, Round::Pair, setting.time).await?;
    }
    let before = mebibytes(served.usage()?.resident);
    let mut streams = Streams::open(env!("CARGO_BIN_EXE_onceover"), database, target, STREAMS).await?;
    let opened = mebibytes(served.usage()?.resident);
    for _ in 0..TURNS {
        turn(&mut beside, served, target, connections, Round::Pair, setting.time).await?;
    }
    let after = mebibytes(served.usage()?.resident);
    print_row(&format!("begin + outcome, {connections}"), &alone, None);
    print_row(&format!("… beside {STREAMS} event streams, {connections}"), &beside, Some(alone.median().0.rate()));
    println!(
        "{} of {STREAMS} streams are open and heard {:.1} MiB; resident {before:.0} MiB before, {opened:.0} with them, {after:.0} after the work beside them",
        streams.are_open(),
        mebibytes(streams.heard()),
    );
    Ok(())
}

fn mebibytes(bytes: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a rounded figure")]
    let bytes = bytes as f64;
    bytes / (1_024.0 * 1_024.0)
}

/// Destinations, on SQLite: the proxy beside one that only passes through, then begins beside recovery.
async fn destinations(setting: &Setting) -> Outcome<()> {
    let program = std::env::current_exe()?;
    let destination = Served::start(Command::new(&program), |command, address| {
        command.args(["--serve-destination", &address.to_string()]);
    })?;
    let plain = Served::start(Command::new(&program), |command, address| {
        command.args(["--serve-pass-through", &address.to_string(), &destination.address.to_string()]);
    })?;
    let plain_target = Target { address: plain.address, token: "none".into() };
    let database = format!("sqlite://{}", setting.folder.path().join("destinations.db").display());
    let (served, target) = setting.serve(&database, &workflows_with_destination(destination.address))?;
    let mut passed: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    let mut proxied: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    for _ in 0..TURNS {
        for (index, &connections) in CONNECTIONS.iter().enumerate() {
            turn(&mut passed[index], &plain, &plain_target, connections, Round::Proxied, setting.time).await?;
            turn(&mut proxied[index], &served, &target, connections, Round::Proxied, setting.time).await?;
        }
    }
    for (index, connections) in CONNECTIONS.iter().enumerate() {
        print_row(&format!("a proxy that only passes through, {connections}"), &passed[index], None);
        let beside = Some(passed[index].median().0.rate());
        print_row(&format!("proxied and guarded, {connections}"), &proxied[index], beside);
    }

    let connections = CONNECTIONS[1];
    let mut alone = Turns::default();
    for _ in 0..TURNS {
        turn(&mut alone, &served, &target, connections, Round::Pair, setting.time).await?;
    }
    let hour = Duration::from_secs(3_600);
    load::run(&target, CONNECTIONS[CONNECTIONS.len() - 1], Round::Lost, hour, LOST_OPERATIONS).await?;
    let started = std::time::Instant::now();
    let mut beside = Turns::default();
    let mut left = waiting(&target).await?;
    let most = left;
    while left > 0 && started.elapsed() < Duration::from_secs(RECOVERY_SECONDS_MAX) {
        turn(&mut beside, &served, &target, connections, Round::Pair, setting.time).await?;
        left = waiting(&target).await?;
    }
    print_row(&format!("begin + outcome, {connections}"), &alone, None);
    print_row(&format!("… while unknown ones are looked for, {connections}"), &beside, Some(alone.median().0.rate()));
    println!(
        "{most} of {LOST_OPERATIONS} unknown operations waited; {left} wait after {:.0} s at {LOOKUPS_PER_SECOND} lookups a second",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// How many unknown operations are looked for, as the metrics tell.
async fn waiting(target: &Target) -> Outcome<u64> {
    let metrics = load::get(target, "/metrics").await?;
    let line = metrics.lines().find_map(|line| line.strip_prefix("onceover_recovery_waiting "));
    Ok(line.ok_or("the metrics do not tell how many operations are looked for")?.trim().parse()?)
}

/// PostgreSQL: pairs beside pgbench.
async fn postgres(setting: &Setting, url: &str) -> Outcome<()> {
    baseline::run_checked(
        Command::new("psql").arg(url).args(["-qXc", "DROP DATABASE IF EXISTS onceover_bench WITH (FORCE)"]),
    )?;
    baseline::run_checked(Command::new("psql").arg(url).args(["-qXc", "CREATE DATABASE onceover_bench"]))?;
    let (server, _) = url.rsplit_once('/').ok_or("the address of PostgreSQL names no database")?;
    let database = format!("{server}/onceover_bench");
    let (served, target) = setting.serve(&database, WORKFLOW)?;
    let mut plain = Vec::new();
    let mut pairs: Vec<Turns> = CONNECTIONS.iter().map(|_| Turns::default()).collect();
    for _ in 0..TURNS {
        plain.push(baseline::pgbench(&database, PGBENCH_CLIENTS, setting.time, setting.folder.path())?);
        for (index, &connections) in CONNECTIONS.iter().enumerate() {
            turn(&mut pairs[index], &served, &target, connections, Round::Pair, setting.time).await?;
        }
    }
    let plain = median(&plain);
    println!("{:<44} {plain:>10.0}", format!("pgbench, insert + update, {PGBENCH_CLIENTS} clients"));
    for (index, connections) in CONNECTIONS.iter().enumerate() {
        print_row(&format!("begin + outcome on PostgreSQL, {connections}"), &pairs[index], Some(plain));
    }
    Ok(())
}

fn print_row(name: &str, turns: &Turns, beside: Option<f64>) {
    let (seen, processor) = turns.median();
    let ratio = beside.map_or(String::new(), |beside| format!("{:.2}", seen.rate() / beside));
    println!(
        "{name:<44} {:>10.0} {:>9.2} {:>9.2} {processor:>8.2} {ratio:>9}",
        seen.rate(),
        seen.begin_milliseconds(0.5),
        seen.begin_milliseconds(0.99),
    );
}
