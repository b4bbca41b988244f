//! Lists of the desk on a small and on a large store, as a browser asks for them: the first page and the next one of every combination
//! of filters that a page's form offers, in one run.
//!
//! Both stores are seeded alike and served by a process of their own; each figure is the median of [`TURNS`] first bytes of a whole page,
//! small and large store in turn; of [`TURNS_OF_DOUBT`] where those came out too slow. What counts is the ratio of large to small: a list
//! must not become slower as the table grows. Nothing is faster than the fullest page of the same path in the small store, for whoever sees
//! everything: most lists of that store end before a page is full, or have no second one (the first stands for it then), and a full page
//! compared with an empty one says nothing about growth.
//!
//! Settings: `ONCEOVER_BENCH_SMALL` and `ONCEOVER_BENCH_LARGE` (operations), `ONCEOVER_TEST_POSTGRES` (a server whose role may create
//! databases; left out: SQLite alone), `ONCEOVER_BENCH_KEPT` (a folder: the stores are kept in it and beside it on the server, and measured
//! again without being seeded again).

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program that prints a table of rounded figures"
)]

#[allow(dead_code, reason = "shared with the other benchmarks; each uses what it needs")]
#[path = "compare/process.rs"]
mod process;
#[path = "compare/visitor.rs"]
mod visitor;

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use guard::amendment::AmendmentStateName;
use guard::clock::Entropy;
use guard::queue::{Filter, Order, PageRequest};
use guard::service::Guard;
use guard::token::Reach;
use process::Served;
use server::clock::OsEntropy;
use server::seed::{Plan, plant};
use server::store::Database;
use sqlx::Executor as _;
use visitor::visitor;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Each figure is the median of this many reads.
const TURNS: usize = 3;

/// What came out as too slow by these few is read this many times, with the full page that it is compared with in the same turns: among
/// thousands, some are so by chance.
const TURNS_OF_DOUBT: usize = 15;

/// The page that all others of its path are compared with is read this many times.
const FULL_TURNS: usize = 31;

/// A list may take this many times as long in the large store.
const RATIO_MAX: f64 = 2.0;

/// So many lists are shown, those of the greatest ratios.
const SHOWN: usize = 12;

const SMALL: u64 = 10_000;
const LARGE: u64 = 1_000_000;

/// One unknown operation and one conflict in so many.
const UNKNOWN_EVERY: u64 = 50;
const CONFLICT_EVERY: u64 = 200;

/// The companies of whoever does not see all.
const COMPANIES: [&str; 2] = ["umbra-at", "initech"];

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> Outcome<()> {
    let number = |name: &str, default: u64| std::env::var(name).ok().map_or(Ok(default), |text| text.parse());
    let sizes = [number("ONCEOVER_BENCH_SMALL", SMALL)?, number("ONCEOVER_BENCH_LARGE", LARGE)?];
    let kept = std::env::var("ONCEOVER_BENCH_KEPT").ok();
    let temporary = tempfile::tempdir()?;
    let folder = kept.as_ref().map_or_else(|| temporary.path().to_owned(), std::path::PathBuf::from);
    let mut urls = vec![("SQLite", sizes.map(|size| format!("sqlite://{}/{size}.db", folder.display())))];
    if let Ok(server) = std::env::var("ONCEOVER_TEST_POSTGRES") {
        let (address, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let (address, _) = address.rsplit_once('/').ok_or("ONCEOVER_TEST_POSTGRES names no database")?;
        let pool = sqlx::PgPool::connect(&server).await?;
        let mut made = Vec::new();
        for size in sizes {
            let name = match &kept {
                Some(_) => format!("lists_{size}"),
                None => format!("lists_{size}_{}", hex::encode(&OsEntropy.bytes()[..4])),
            };
            let is_there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
                .bind(&name)
                .fetch_one(&pool)
                .await?;
            if !is_there {
                pool.execute(format!("CREATE DATABASE {name}").as_str()).await?;
            }
            made.push(format!("{address}/{name}?{parameters}"));
        }
        urls.push(("PostgreSQL", <[String; 2]>::try_from(made).map_err(|_| "two databases")?));
    }
    let mut is_flat = true;
    for (database, urls) in urls {
        is_flat &= measure(database, sizes, &urls).await?;
    }
    if !is_flat {
        println!("\nSome lists take over {RATIO_MAX} times as long in the large store: those above.");
    }
    Ok(())
}

/// Seeds the store, unless it was before.
async fn seed(url: &str, operations: u64) -> Outcome<()> {
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let database = Database::open(url, Arc::clone(&entropy)).await?;
    let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
    let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::clone(&entropy)).await?;
    let newest = PageRequest { cursor: None, limit: 1 };
    if guard.operations(&Reach::EVERYTHING, &Filter::default(), Order::Newest, &newest).await?.rows.is_empty() {
        let (unknown, conflicts) = (operations / UNKNOWN_EVERY, operations / CONFLICT_EVERY);
        let plan = Plan { operations, unknown, conflicts, seed: 1, adds: false };
        let start = Instant::now();
        plant(&database, &guard, &entropy, plan, Arc::new(AtomicU64::new(0))).await?;
        println!("  seeded {operations} operations in {:.0} s", start.elapsed().as_secs_f64());
        if url.starts_with("postgres") {
            // The server does it by itself, but not within the minutes in which years were seeded.
            sqlx::PgPool::connect(url).await?.execute("VACUUM (ANALYZE)").await?;
        }
    }
    database.close().await;
    Ok(())
}

/// A server over a store, and who asks it.
struct Desk {
    served: Served,
    visitors: [reqwest::Client; 2],
}

impl Desk {
    async fn open(url: &str, operations: u64) -> Outcome<Self> {
        seed(url, operations).await?;
        let binary = env!("CARGO_BIN_EXE_onceover");
        let served = Served::start(Command::new(binary), |command, address| {
            command.args(["serve", "--database", url, "--listen", &address.to_string()]);
            command.env("ONCEOVER_LOG", "error").stderr(Stdio::null());
        })?;
        let names = OsEntropy.bytes();
        let visit = async |place: usize, companies: &[&str]| {
            let email = format!("bench-{}-{place}@example.com", hex::encode(&names[..8]));
            visitor(binary, url, served.address, &email, companies).await
        };
        let visitors = [visit(0, &[]).await?, visit(1, &COMPANIES).await?];
        Ok(Self { served, visitors })
    }

    /// How long the first byte took, the address of the next page, and how many rows there are.
    async fn read(&self, visitor: usize, page: &str) -> Outcome<(Duration, Option<String>, usize)> {
        let start = Instant::now();
        let answer = self.visitors[visitor].get(format!("http://{}{page}", self.served.address)).send().await?;
        let mut answer = answer.error_for_status()?;
        let mut text = answer.chunk().await?.unwrap_or_default().to_vec();
        let taken = start.elapsed();
        while let Some(piece) = answer.chunk().await? {
            text.extend_from_slice(&piece);
        }
        let text = String::from_utf8(text)?;
        let next = text.split_once("rel=\"next\" href=\"").and_then(|(_, behind)| behind.split_once('"'));
        Ok((taken, next.map(|(address, _)| address.replace("&amp;", "&")), text.matches("<tr").count()))
    }
}

/// The figures of one page of a list.
struct Figures {
    page: &'static str,
    list: String,
    small: Duration,
    large: Duration,
    ratio: f64,
}

async fn measure(name: &str, sizes: [u64; 2], urls: &[String; 2]) -> Outcome<bool> {
    println!("\n{name}");
    let desks = [Desk::open(&urls[0], sizes[0]).await?, Desk::open(&urls[1], sizes[1]).await?];
    println!(
        "  {:<12} {:>6} {:>6} {:>20} {:>20} {:>20} {:>7} {:>6}",
        "ms", "pages", "full", "median", "99 of 100", "slowest", "most", "over 2"
    );
    let mut is_flat = true;
    for (path, queries) in lists() {
        let mut figures = Vec::new();
        let mut fullest = (0, path.to_owned());
        for query in &queries {
            let page = address(path, query);
            let (_, _, rows) = desks[0].read(0, &page).await?;
            if rows > fullest.0 {
                fullest = (rows, page);
            }
        }
        let ([full], _) = in_turn(&desks, [(0, 0, fullest.1.as_str())], FULL_TURNS).await?;
        for visitor in 0..desks[0].visitors.len() {
            for query in &queries {
                let first = address(path, query);
                let list = if visitor == 0 { first.clone() } else { format!("{first} (of {})", COMPANIES.join(", ")) };
                let figure = async |page, pages: [&str; 2]| {
                    let (taken, next) =
                        in_turn(&desks, [(0, visitor, pages[0]), (1, visitor, pages[1])], TURNS).await?;
                    let [mut small, mut large] = taken;
                    let mut ratio = ratio_of([small, large], full);
                    if ratio > RATIO_MAX {
                        // The machine may be slower by now than it was when the full page was read.
                        let reads = [(0, visitor, pages[0]), (1, visitor, pages[1]), (0, 0, fullest.1.as_str())];
                        let ([small_again, large_again, full], _) = in_turn(&desks, reads, TURNS_OF_DOUBT).await?;
                        (small, large) = (small_again, large_again);
                        ratio = ratio_of([small, large], full);
                    }
                    Outcome::Ok((Figures { page, list: list.clone(), small, large, ratio }, next))
                };
                let (of_first, next) = figure("first", [&first, &first]).await?;
                figures.push(of_first);
                if let [small, Some(large)] = next {
                    let small = small.unwrap_or_else(|| first.clone());
                    figures.push(figure("next", [&small, &large]).await?.0);
                }
            }
        }
        figures.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        is_flat &= figures.iter().all(|figure| figure.ratio <= RATIO_MAX);
        print(path, full, &figures);
    }
    Ok(is_flat)
}

/// Where a list is.
fn address(path: &str, query: &str) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// How many times as long the large one takes, where nothing counts as faster than a full page.
fn ratio_of([small, large]: [Duration; 2], full: Duration) -> f64 {
    large.max(full).as_secs_f64() / small.max(full).as_secs_f64()
}

/// The median times of pages, each of a desk for one of its visitors, read in turn; and the pages behind them.
async fn in_turn<const N: usize>(
    desks: &[Desk; 2],
    reads: [(usize, usize, &str); N],
    turns: usize,
) -> Outcome<([Duration; N], [Option<String>; N])> {
    let (mut times, mut next) = ([const { Vec::new() }; N], [const { None }; N]);
    for _ in 0..turns {
        for (place, (desk, visitor, page)) in reads.into_iter().enumerate() {
            let (taken, behind, _) = desks[desk].read(visitor, page).await?;
            times[place].push(taken);
            next[place] = behind;
        }
    }
    Ok((times.map(|times| within(times, 50)), next))
}

/// So many of a hundred are within this.
fn within(mut times: Vec<Duration>, hundredths: usize) -> Duration {
    times.sort();
    times.get((times.len() * hundredths / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Prints the figures of a path, the greatest ratios first.
fn print(path: &str, full: Duration, figures: &[Figures]) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    let pair = |hundredths| {
        let [small, large] = [|figure: &Figures| figure.small, |figure: &Figures| figure.large]
            .map(|pick| milliseconds(within(figures.iter().map(pick).collect(), hundredths)));
        format!("{small:.2} → {large:.2}")
    };
    let over = figures.iter().filter(|figure| figure.ratio > RATIO_MAX);
    let (pages, most) = (figures.len(), figures.first().map_or(0.0, |figure| figure.ratio));
    println!(
        "  {path:<12} {pages:>6} {:>6.2} {:>20} {:>20} {:>20} {most:>7.2} {:>6}",
        milliseconds(full),
        pair(50),
        pair(99),
        pair(100),
        over.clone().count()
    );
    for Figures { page, list, small, large, ratio } in over.take(SHOWN) {
        let (small, large) = (milliseconds(*small), milliseconds(*large));
        println!("    {ratio:5.2}  {page} page {small:.2} → {large:.2} ms  {list}");
    }
}

/// The paths, and of each every combination of what its form says.
fn lists() -> [(&'static str, Vec<String>); 5] {
    let operations: [&[&str]; 9] = [
        &["", "workflow=stock-booking"],
        &["", "company=umbra-at"],
        &["", "source_system=portal"],
        &["", "action=release"],
        &["", "worker=portal-worker-2"],
        &["", "conflicts=open"],
        &["", "amount_from=1000&amount_to=2000"],
        &["", "state=unknown", "state=failed&state=disputed", "state=confirmed"],
        &["", "order=oldest"],
    ];
    // One of the narrow filters at a time: together they leave nothing of either store.
    let unknown: [&[&str]; 5] = [
        &["", "sort=longest", "sort=latest"],
        &["", "show=needs_me", "show=waiting", "show=all"],
        &["", "workflow=stock-booking"],
        &["", "company=umbra-at"],
        &["", "currency=EUR", "state=disputed", "claim=nobody", "cause=reported"],
    ];
    let conflicts: [&[&str]; 4] = [
        &["", "workflow=stock-booking"],
        &["", "company=umbra-at"],
        &["", "path=/amount", "path=/customer"],
        &["", "state=decided"],
    ];
    let states = AmendmentStateName::ALL.map(|state| format!("state={}", state.as_str()));
    let states: Vec<&str> = ["", "state=all"].into_iter().chain(states.iter().map(String::as_str)).collect();
    let last_month = (chrono::Utc::now() - chrono::TimeDelta::days(30)).format("to=%Y-%m-%d").to_string();
    let activity: [&[&str]; 3] = [
        &["", "person=finance-1@demonstration.invalid"],
        &["", "kind=resolved", "kind=kept_waiting", "kind=amendment_approved"],
        &["", &last_month],
    ];
    [
        ("/unknown", combinations(&unknown)),
        ("/conflicts", combinations(&conflicts)),
        ("/amendments", combinations(&[&states])),
        ("/activity", combinations(&activity)),
        ("/operations", combinations(&operations)),
    ]
}

/// Every way to choose one of each.
fn combinations(choices: &[&[&str]]) -> Vec<String> {
    choices.iter().fold(vec![String::new()], |queries, choice| {
        let with = |query: &String, said: &str| match (query.is_empty(), said.is_empty()) {
            (true, _) => said.to_owned(),
            (false, true) => query.clone(),
            (false, false) => format!("{query}&{said}"),
        };
        queries.iter().flat_map(|query| choice.iter().map(move |said| with(query, said))).collect()
    })
}
