//! Lists on a small and on a large store: every combination of filters that the table offers, first page and next page, in one run.
//!
//! Both stores are seeded alike; each figure is the median of [`TURNS`] reads. What counts is the ratio of large to small: a list must
//! not become slower as the table grows. Nothing is faster than the first page of all operations in the small store: in it, most lists end
//! before a page is full, or have no second one (the first stands for it then), and the ratio to next to nothing says nothing. Settings: `ONCEOVER_BENCH_SMALL` and `ONCEOVER_BENCH_LARGE` (operations),
//! `ONCEOVER_TEST_POSTGRES` (a server whose role may create databases; left out: SQLite alone), `ONCEOVER_BENCH_KEPT` (a folder: the
//! stores are kept in it and beside it on the server, and measured again without being seeded again).

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program that prints a table of rounded figures"
)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use guard::clock::Entropy;
use guard::queue::{Filter, Order, PAGE_ROWS_DEFAULT, PageRequest};
use guard::service::Guard;
use guard::state::StateName;
use guard::token::Reach;
use server::clock::OsEntropy;
use server::seed::{Plan, plant};
use server::store::Database;
use sqlx::Executor as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Each figure is the median of this many reads.
const TURNS: usize = 5;

/// A list may take this many times as long in the large store.
const RATIO_MAX: f64 = 2.0;

/// So many lists are shown, those of the greatest ratios.
const SHOWN: usize = 10;

const SMALL: u64 = 10_000;
const LARGE: u64 = 1_000_000;

/// One unknown operation and one conflict in so many.
const UNKNOWN_EVERY: u64 = 50;
const CONFLICT_EVERY: u64 = 200;

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

/// A store with the guard over it.
struct Opened {
    database: Database,
    guard: Guard,
}

async fn opened(url: &str, operations: u64) -> Outcome<Opened> {
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let database = Database::open(url, Arc::clone(&entropy)).await?;
    let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
    let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::clone(&entropy)).await?;
    let newest = PageRequest { cursor: None, limit: 1 };
    if !guard.operations(&Reach::EVERYTHING, &Filter::default(), Order::Newest, &newest).await?.rows.is_empty() {
        return Ok(Opened { database, guard });
    }
    let (unknown, conflicts) = (operations / UNKNOWN_EVERY, operations / CONFLICT_EVERY);
    let plan = Plan { operations, unknown, conflicts, seed: 1, adds: false };
    let start = Instant::now();
    plant(&database, &guard, &entropy, plan, Arc::new(AtomicU64::new(0))).await?;
    println!("  seeded {operations} operations in {:.0} s", start.elapsed().as_secs_f64());
    Ok(Opened { database, guard })
}

async fn measure(name: &str, sizes: [u64; 2], urls: &[String; 2]) -> Outcome<bool> {
    println!("\n{name}");
    let small = opened(&urls[0], sizes[0]).await?;
    let large = opened(&urls[1], sizes[1]).await?;
    let reaches = [Reach::EVERYTHING, Reach::over(["umbra-at".to_owned(), "initech".to_owned()], [])];
    let (plain, _) = read(&small, &Reach::EVERYTHING, &Filter::default(), Order::Newest).await?;
    let mut ratios = Vec::new();
    for (reach, (filter, order)) in reaches.iter().flat_map(|reach| lists().into_iter().map(move |list| (reach, list)))
    {
        let (before, after) = (read(&small, reach, &filter, order).await?, read(&large, reach, &filter, order).await?);
        let next = after.1.map(|after| ("next", before.1.unwrap_or(before.0), after));
        for (page, before, after) in std::iter::once(("first", before.0, after.0)).chain(next) {
            let ratio = after.max(plain).as_secs_f64() / before.max(plain).as_secs_f64();
            ratios.push((ratio, page, before, after, format!("{order:?} {filter:?} {reach:?}")));
        }
    }
    ratios.sort_by(|one, other| other.0.total_cmp(&one.0));
    let median = |pick: fn(&(f64, &str, Duration, Duration, String)) -> Duration| {
        let mut times: Vec<Duration> = ratios.iter().map(pick).collect();
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1])
    };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    for (size, times) in [(sizes[0], median(|figure| figure.2)), (sizes[1], median(|figure| figure.3))] {
        let (median, most, slowest) = times;
        println!(
            "  {size:>9} operations: median {:6.2} ms, 99 of 100 within {:6.2} ms, slowest {:6.2} ms",
            milliseconds(median),
            milliseconds(most),
            milliseconds(slowest)
        );
    }
    let over = ratios.iter().filter(|figure| figure.0 > RATIO_MAX).count();
    println!("  the first page of all in the small store: {:.2} ms", milliseconds(plain));
    println!("  {} pages; ratio at most {:.2}; {over} over {RATIO_MAX}", ratios.len(), ratios[0].0);
    for (ratio, page, before, after, list) in ratios.iter().take(SHOWN) {
        let (before, after) = (milliseconds(*before), milliseconds(*after));
        println!("    {ratio:5.2}  {page} page {before:.2} → {after:.2} ms  {list}");
    }
    small.database.close().await;
    large.database.close().await;
    Ok(over == 0)
}

/// The median time of the first page and of the one behind it, where there is one.
async fn read(opened: &Opened, reach: &Reach, filter: &Filter, order: Order) -> Outcome<(Duration, Option<Duration>)> {
    let (mut first, mut next) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let start = Instant::now();
        let page = PageRequest { cursor: None, limit: PAGE_ROWS_DEFAULT };
        let found = opened.guard.operations(reach, filter, order, &page).await?;
        first.push(start.elapsed());
        if found.next.is_some() {
            let start = Instant::now();
            let page = PageRequest { cursor: found.next, limit: PAGE_ROWS_DEFAULT };
            opened.guard.operations(reach, filter, order, &page).await?;
            next.push(start.elapsed());
        }
    }
    first.sort();
    next.sort();
    Ok((first[TURNS / 2], next.get(next.len() / 2).copied()))
}

/// Every combination of what the table's form says.
fn lists() -> Vec<(Filter, Order)> {
    let states: [&[StateName]; 4] =
        [&[], &[StateName::Unknown], &[StateName::Failed, StateName::Disputed], &[StateName::Confirmed]];
    let some = |is_set: bool, text: &str| is_set.then(|| text.to_owned());
    let mut lists = Vec::new();
    for bits in 0..1u32 << 8 {
        let is_set = |bit: u32| bits & (1 << bit) != 0;
        for states in states {
            let filter = Filter {
                workflow: some(is_set(0), "stock-booking"),
                company: some(is_set(1), "umbra-at"),
                source_system: some(is_set(2), "portal"),
                action: some(is_set(3), "release"),
                worker: some(is_set(4), "portal-worker-2"),
                with_open_conflicts: is_set(5),
                stake_from: is_set(6).then_some(10_000_000),
                stake_to: is_set(6).then_some(20_000_000),
                states: states.to_vec(),
                ..Filter::default()
            };
            lists.push((filter, if is_set(7) { Order::Oldest } else { Order::Newest }));
        }
    }
    lists.push((Filter::default(), Order::LongestUncertain));
    lists
}
