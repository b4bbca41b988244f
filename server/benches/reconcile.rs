//! A reconciliation of as many records as operations, handed in over HTTP, beside a plain SQL join of the same rows in the same run.
//!
//! The join counts what lies in which bucket and writes nothing; the reconciliation also keeps a row for each record and each operation that
//! stands alone, and an entry in the trail of each operation of which it says something. Both must come to the numbers that the file was
//! made with. Peak memory is that of the server's process. Settings: `ONCEOVER_BENCH_RECONCILED` (how many operations),
//! `ONCEOVER_BENCH_FOLDER` (where the stores lie), `ONCEOVER_TEST_POSTGRES` (a server whose role may create databases; left out: SQLite
//! alone), `ONCEOVER_BENCH_KEPT` (a folder: the stores as they are before are kept in it and beside it on the server, and measured again
//! without being seeded again).

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program that prints a few rounded figures"
)]

#[allow(dead_code, reason = "shared with the comparison; each uses what it needs")]
#[path = "compare/process.rs"]
mod process;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta};
use guard::actor::Actor;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::decision::Decision;
use guard::event::Outcome as Told;
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::queue::{Filter, Order, PAGE_ROWS_MAX, PageRequest};
use guard::service::{BeginRequest, Definitions, Guard, Report};
use guard::token::{Reach, Scope, Token};
use process::Served;
use server::clock::OsEntropy;
use server::store::Database;
use sqlx::{Connection as _, Executor as _};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const OPERATIONS: u64 = 1_000_000;

/// So many operations are made at once: the stores then write them in groups.
const LANES: u64 = 192;

/// Operations lie in so many days before now, and the youngest this long ago: no seal has to wait for it.
const DAYS: i64 = 30;
const YOUNGEST: TimeDelta = TimeDelta::minutes(10);

const WORKFLOW: &str = "bench-reconciled";
const COMPANY: &str = "acme";
const CURRENCIES: [&str; 3] = ["EUR", "INR", "USD"];

/// Of so many operations, one has no record, one a record with another amount, …
const HUNDRED: u64 = 100;
/// … and of so many, one has a second record, and one record belongs to nobody.
const TWO_HUNDRED: u64 = 200;

/// The numbers of a file, or of what was found in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Buckets {
    matched: u64,
    missing: u64,
    duplicated: u64,
    mismatched: u64,
    unguarded: u64,
}

/// What the destination made of one operation.
enum Held {
    Once,
    Never,
    Twice,
    Otherwise,
}

impl Held {
    const fn of(number: u64) -> Self {
        match (number % HUNDRED, number % TWO_HUNDRED) {
            (7, _) => Self::Never,
            (23, _) => Self::Otherwise,
            (_, 111) => Self::Twice,
            _ => Self::Once,
        }
    }
}

/// As the destination holds it.
struct Listed {
    reference: String,
    external_reference: String,
    amount: String,
    currency: &'static str,
}

fn reference(number: u64) -> String {
    format!("LEDGER-{number:08}")
}

fn currency(number: u64) -> &'static str {
    CURRENCIES[usize::try_from(number % 3).unwrap_or_default()]
}

/// Spread over a quarter of a million cents, so that some amounts are alike and most are not.
fn amount(number: u64) -> String {
    let cents = 100 + number.wrapping_mul(0x9E37_79B9) % 250_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure_all())
}

async fn measure_all() -> Outcome<()> {
    let operations = std::env::var("ONCEOVER_BENCH_RECONCILED").map_or(Ok(OPERATIONS), |text| text.parse())?;
    let kept = std::env::var_os("ONCEOVER_BENCH_KEPT").map(PathBuf::from);
    let folder = std::env::var_os("ONCEOVER_BENCH_FOLDER").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let temporary = tempfile::tempdir_in(&folder).or_else(|_| tempfile::tempdir())?;
    println!("a reconciliation of {operations} operations");
    sqlite(operations, kept.as_deref(), temporary.path()).await?;
    if let Ok(server) = std::env::var("ONCEOVER_TEST_POSTGRES") {
        postgres(operations, kept.is_some(), &server).await?;
    }
    Ok(())
}

async fn sqlite(operations: u64, kept: Option<&Path>, temporary: &Path) -> Outcome<()> {
    println!("\nSQLite");
    let seeded = kept.unwrap_or(temporary).join(format!("reconcile-{operations}.db"));
    let database = seeded_store(&format!("sqlite://{}", seeded.display()), operations).await?;
    let measured = temporary.join("measured.db");
    database.backup(&measured).await?;
    database.close().await;
    let url = format!("sqlite://{}", measured.display());
    let prepared = Prepared::of(&url, operations).await?;
    let joined = {
        let (measured, rows) = (measured.clone(), Arc::clone(&prepared.rows));
        tokio::task::spawn_blocking(move || joined_in_sqlite(&measured, &rows)).await??
    };
    prepared.compare(&url, &joined).await
}

async fn postgres(operations: u64, is_kept: bool, server: &str) -> Outcome<()> {
    println!("\nPostgreSQL");
    let (address, parameters) = server.split_once('?').unwrap_or((server, ""));
    let (address, _) = address.rsplit_once('/').ok_or("ONCEOVER_TEST_POSTGRES names no database")?;
    let of = |name: &str| format!("{address}/{name}?{parameters}");
    let measured = format!("reconcile_{operations}_{}", hex::encode(&OsEntropy.bytes()[..4]));
    let mut connection = sqlx::PgConnection::connect(server).await?;
    if is_kept {
        let seeded = format!("reconcile_{operations}");
        let is_there: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(&seeded)
            .fetch_one(&mut connection)
            .await?;
        if !is_there {
            connection.execute(format!("CREATE DATABASE {seeded}").as_str()).await?;
        }
        seeded_store(&of(&seeded), operations).await?.close().await;
        connection.execute(format!("CREATE DATABASE {measured} TEMPLATE {seeded}").as_str()).await?;
    } else {
        connection.execute(format!("CREATE DATABASE {measured}").as_str()).await?;
        seeded_store(&of(&measured), operations).await?.close().await;
    }
    let url = of(&measured);
    let prepared = Prepared::of(&url, operations).await?;
    let joined = joined_in_postgres(&url, &prepared.rows).await?;
    let compared = prepared.compare(&url, &joined).await;
    connection.execute(format!("DROP DATABASE {measured} WITH (FORCE)").as_str()).await?;
    compared
}

/// The clock of one lane: each operation has its own past.
struct LaneClock(AtomicI64);

impl Clock for LaneClock {
    fn now(&self) -> Timestamp {
        DateTime::from_timestamp_millis(self.0.load(Ordering::Relaxed)).unwrap_or(DateTime::UNIX_EPOCH)
    }
}

fn entropy() -> Arc<dyn Entropy> {
    Arc::new(OsEntropy)
}

async fn guard_over(database: &Database, clock: Arc<dyn Clock>) -> Outcome<Guard> {
    Ok(Guard::open(Arc::clone(&database.store), Arc::clone(&database.registry), clock, entropy()).await?)
}

/// The store with its operations, all confirmed; made through the guard where they are not there yet.
async fn seeded_store(url: &str, operations: u64) -> Outcome<Database> {
    let database = Database::open(url, entropy()).await?;
    let guard = guard_over(&database, Arc::clone(&database.clock)).await?;
    let newest = PageRequest { cursor: None, limit: 1 };
    if !guard.operations(&Reach::EVERYTHING, &Filter::default(), Order::Newest, &newest).await?.rows.is_empty() {
        return Ok(database);
    }
    let start = Instant::now();
    let definitions: Definitions = toml::from_str(&format!(
        "[[workflow]]\nname = {WORKFLOW:?}\nactions = [\"create\"]\namount = \"/amount\"\ncurrency = \"/currency\"\n"
    ))?;
    guard.apply(&definitions, &Actor::CommandLine).await?;
    let scopes = BTreeSet::from([Scope::OperationsWrite]);
    let (token, _) = guard.create_token("seeds", scopes, Reach::EVERYTHING, &Actor::CommandLine).await?;
    let until = database.clock.now() - YOUNGEST;
    let from = until - TimeDelta::days(DAYS);
    let mut lanes = tokio::task::JoinSet::new();
    for lane in 0..LANES.min(operations) {
        let clock = Arc::new(LaneClock(AtomicI64::new(from.timestamp_millis())));
        let guard = guard_over(&database, Arc::<LaneClock>::clone(&clock)).await?;
        let (token, span) = (token.clone(), (until - from).num_milliseconds());
        lanes.spawn(async move {
            let mut number = lane;
            while number < operations {
                let share = i128::from(span) * i128::from(number) / i128::from(operations);
                clock.0.store(from.timestamp_millis() + i64::try_from(share)?, Ordering::Relaxed);
                confirm(&guard, &token, number).await?;
                number += LANES;
            }
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        });
    }
    while let Some(lane) = lanes.join_next().await {
        lane??;
    }
    guard.revoke_token(token.id, &Actor::CommandLine).await?;
    server::trail::seal(database.ledger.as_ref(), database.clock.now()).await?;
    if url.starts_with("postgres") {
        // As autovacuum would have done by then; the plain SQL needs it more than the product, whose plans are fixed.
        sqlx::PgConnection::connect(url).await?.execute("VACUUM (ANALYZE)").await?;
    }
    println!("  seeded {operations} operations in {:.0} s", start.elapsed().as_secs_f64());
    Ok(database)
}

async fn confirm(guard: &Guard, token: &Token, number: u64) -> Outcome<()> {
    let (amount, currency) = (amount(number), currency(number));
    let payload = format!(r#"{{"amount":"{amount}","currency":"{currency}","customer":"C-{}"}}"#, number % 5_000);
    let request = BeginRequest {
        key: OperationKey {
            workflow: KeyPart::new(WORKFLOW)?,
            company: KeyPart::new(COMPANY)?,
            source_system: KeyPart::new("shop")?,
            document: KeyPart::new(&format!("SO-{number:08}"))?,
            action: KeyPart::new("create")?,
            revision: 1,
        },
        payload: Payload::parse(payload.as_bytes())?,
        worker: Some("shop-worker".to_owned()),
        delivery_id: None,
        begin_id: None,
        lease_seconds: None,
        request_id: None,
    };
    let Decision::Proceed { operation, lease_token, .. } = guard.begin(token, &request).await? else {
        return Err("an operation of the benchmark was there already".into());
    };
    let outcome = Told::Confirmed { destination_reference: reference(number) };
    let report = Report { lease_token, outcome, response: None, request_id: None };
    guard.report(token, operation.id, &report).await?;
    Ok(())
}

/// What is compared: the destination's records, and what must be found in them.
struct Prepared {
    rows: Arc<Vec<Listed>>,
    expected: Buckets,
    secret: String,
}

/// What the join came to.
struct Joined {
    buckets: Buckets,
    loading: Duration,
    joining: Duration,
}

impl Prepared {
    /// Makes the records of the operations of a store, and a token that may hand them in.
    async fn of(url: &str, operations: u64) -> Outcome<Self> {
        let database = Database::open(url, entropy()).await?;
        let guard = guard_over(&database, Arc::clone(&database.clock)).await?;
        let scopes = BTreeSet::from([Scope::ReconciliationWrite]);
        let name = format!("reconciles {}", hex::encode(&OsEntropy.bytes()[..4]));
        let (_, secret) = guard.create_token(&name, scopes, Reach::EVERYTHING, &Actor::CommandLine).await?;
        let mut rows = Vec::with_capacity(usize::try_from(operations)?);
        let mut expected = Buckets::default();
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        let filter = Filter { workflow: Some(WORKFLOW.to_owned()), ..Filter::default() };
        loop {
            let found = guard.operations(&Reach::EVERYTHING, &filter, Order::Oldest, &page).await?;
            for view in &found.rows {
                let held = view.state.destination_reference().ok_or("an operation is not confirmed")?;
                let number: u64 = held.trim_start_matches("LEDGER-").parse()?;
                let digits = view.id.to_string().replace('-', "");
                let listed = |reference: String, amount: String| Listed {
                    reference,
                    external_reference: format!("oo-{digits}"),
                    amount,
                    currency: currency(number),
                };
                match Held::of(number) {
                    Held::Once => {
                        expected.matched += 1;
                        rows.push(listed(reference(number), amount(number)));
                    }
                    Held::Never => expected.missing += 1,
                    Held::Twice => {
                        expected.duplicated += 1;
                        rows.push(listed(reference(number), amount(number)));
                        rows.push(listed(format!("{}-B", reference(number)), amount(number)));
                    }
                    Held::Otherwise => {
                        expected.mismatched += 1;
                        rows.push(listed(reference(number), format!("9{}", amount(number))));
                    }
                }
                if number.is_multiple_of(TWO_HUNDRED) {
                    expected.unguarded += 1;
                    rows.push(Listed {
                        reference: format!("BY-HAND-{number}"),
                        external_reference: String::new(),
                        // Half of them have the amount of an operation whose record is missing.
                        amount: amount(number + if number.is_multiple_of(2 * TWO_HUNDRED) { 7 } else { 0 }),
                        currency: currency(number + if number.is_multiple_of(2 * TWO_HUNDRED) { 7 } else { 0 }),
                    });
                }
            }
            page.cursor = found.next;
            if page.cursor.is_none() {
                break;
            }
        }
        database.close().await;
        Ok(Self { rows: Arc::new(rows), expected, secret: secret.reveal().to_owned() })
    }

    /// The file that is handed in.
    fn file(&self) -> Outcome<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["destination_reference", "external_reference", "amount", "currency"])?;
        for row in self.rows.iter() {
            let Listed { reference, external_reference, amount, currency } = row;
            writer.write_record([reference.as_str(), external_reference, amount, currency])?;
        }
        Ok(writer.into_inner()?)
    }

    /// Hands the records in, and prints what that took beside the join.
    async fn compare(&self, url: &str, joined: &Joined) -> Outcome<()> {
        check("the join", joined.buckets, self.expected)?;
        let rows = self.rows.len();
        let rate = |time: Duration| rows as f64 / time.as_secs_f64();
        let mebibytes = |bytes: u64| bytes as f64 / (1_024.0 * 1_024.0);
        let (loading, joining) = (joined.loading, joined.joining);
        println!(
            "  plain SQL: {rows} rows loaded in {:.1} s, joined in {:.1} s: {:.0} rows a second ({:.0} with loading)",
            loading.as_secs_f64(),
            joining.as_secs_f64(),
            rate(joining),
            rate(loading + joining),
        );
        let file = self.file()?;
        let size = file.len() as u64;
        let served = Served::start(Command::new(env!("CARGO_BIN_EXE_onceover")), |command, address| {
            command.args(["serve", "--database", url, "--listen", &address.to_string()]);
            command.env("ONCEOVER_LOG", "warn").stderr(Stdio::null());
        })?;
        let before = served.forget_peak()?;
        let processor = served.usage()?.processor;
        let start = Instant::now();
        let address = served.address;
        let path = format!("http://{address}/api/v1/reconciliations?workflow={WORKFLOW}&company={COMPANY}&format=csv");
        let request = reqwest::Client::new().post(path).bearer_auth(&self.secret).header("content-type", "text/csv");
        let answer = request.body(file).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        let took = start.elapsed();
        if status != reqwest::StatusCode::CREATED {
            return Err(format!("the file was answered {status}: {text}").into());
        }
        let (peak, processor) = (served.peak()?, served.usage()?.processor.saturating_sub(processor));
        let answer: serde_json::Value = serde_json::from_str(&text)?;
        let count = |bucket: &str| answer["reconciliation"]["counts"][bucket].as_u64().unwrap_or(u64::MAX);
        let found = Buckets {
            matched: count("matched"),
            missing: count("missing"),
            duplicated: count("duplicated"),
            mismatched: count("mismatched"),
            unguarded: count("unguarded"),
        };
        println!(
            "  reconciled: a file of {:.0} MiB in {:.1} s ({:.1} s of processor): {:.0} rows a second; peak memory {:.0} MiB, {:.0} MiB above \
             idle",
            mebibytes(size),
            took.as_secs_f64(),
            processor.as_secs_f64(),
            rate(took),
            mebibytes(peak),
            mebibytes(peak.saturating_sub(before)),
        );
        println!("  {found:?}");
        println!("  ratio to the join {:.1}, with loading {:.1}", ratio(took, joining), ratio(took, loading + joining));
        check("the reconciliation", found, self.expected)
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn check(whose: &str, found: Buckets, expected: Buckets) -> Outcome<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{whose} found {found:?}; the file was made with {expected:?}").into())
}

/// The rows, as they are loaded; the operation out of the external reference.
const TABLE: &str = "number BIGINT PRIMARY KEY, reference TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL";

/// What somebody would write by hand: each record beside its operation by either reference, then the operations by how many they have.
const JOIN: &str = "WITH linked AS ( \
         SELECT o.id, l.number, o.amount = l.amount AND o.currency = l.currency AS agrees \
         FROM listed l JOIN operation o ON o.destination_reference = l.reference \
         WHERE o.workflow = $1 AND o.company = $2 \
         UNION ALL \
         SELECT o.id, l.number, o.amount = l.amount AND o.currency = l.currency AS agrees \
         FROM listed l JOIN operation o ON o.id = l.operation \
         WHERE o.workflow = $1 AND o.company = $2 AND o.destination_reference IS DISTINCT FROM l.reference \
     ), found AS ( \
         SELECT id, count(*) AS records, count(*) FILTER (WHERE agrees) AS agreeing FROM linked GROUP BY id \
     ) \
     SELECT count(*) FILTER (WHERE records = 1 AND agreeing = 1), \
         (SELECT count(*) FROM operation WHERE workflow = $1 AND company = $2) - count(*), \
         count(*) FILTER (WHERE records > 1), \
         count(*) FILTER (WHERE records = 1 AND agreeing = 0), \
         (SELECT count(*) FROM listed) - (SELECT count(DISTINCT number) FROM linked) \
     FROM found";

/// The id of the operation that an external reference names, in hexadecimal.
fn operation_of(row: &Listed) -> Option<&str> {
    row.external_reference.strip_prefix("oo-")
}

fn buckets(counts: [i64; 5]) -> Outcome<Buckets> {
    let [matched, missing, duplicated, mismatched, unguarded] = counts.map(u64::try_from);
    Ok(Buckets {
        matched: matched?,
        missing: missing?,
        duplicated: duplicated?,
        mismatched: mismatched?,
        unguarded: unguarded?,
    })
}

fn joined_in_sqlite(file: &Path, rows: &[Listed]) -> Outcome<Joined> {
    let mut connection = rusqlite::Connection::open(file)?;
    let start = Instant::now();
    connection.execute_batch(&format!("CREATE TEMPORARY TABLE listed ({TABLE}, operation BLOB)"))?;
    let transaction = connection.transaction()?;
    {
        let sql =
            "INSERT INTO listed (number, reference, amount, currency, operation) VALUES (?1, ?2, ?3, ?4, unhex(?5))";
        let mut insert = transaction.prepare(sql)?;
        for (row, number) in rows.iter().zip(0_i64..) {
            insert.execute(rusqlite::params![number, row.reference, row.amount, row.currency, operation_of(row)])?;
        }
    }
    transaction.commit()?;
    let loading = start.elapsed();
    let start = Instant::now();
    // Left alone, it walks the whole workflow for each row.
    let join = JOIN.replace("o.workflow", "+o.workflow").replace("o.company", "+o.company");
    let counts = connection.query_row(&join, [WORKFLOW, COMPANY], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
    })?;
    Ok(Joined { buckets: buckets(counts)?, loading, joining: start.elapsed() })
}

async fn joined_in_postgres(url: &str, rows: &[Listed]) -> Outcome<Joined> {
    let mut connection = sqlx::PgConnection::connect(url).await?;
    let start = Instant::now();
    connection.execute(format!("CREATE TEMPORARY TABLE listed ({TABLE}, operation UUID)").as_str()).await?;
    let mut copy = connection.copy_in_raw("COPY listed FROM STDIN").await?;
    for (rows, chunk) in rows.chunks(10_000).zip(0_usize..) {
        let mut text = String::new();
        for (row, number) in rows.iter().zip(chunk * 10_000..) {
            let Listed { reference, amount, currency, .. } = row;
            let operation = operation_of(row).unwrap_or("\\N");
            text.push_str(&format!("{number}\t{reference}\t{amount}\t{currency}\t{operation}\n"));
        }
        copy.send(text.into_bytes()).await?;
    }
    copy.finish().await?;
    connection.execute("ANALYZE listed").await?;
    let loading = start.elapsed();
    let start = Instant::now();
    let counts: (i64, i64, i64, i64, i64) =
        sqlx::query_as(JOIN).bind(WORKFLOW).bind(COMPANY).fetch_one(&mut connection).await?;
    let joining = start.elapsed();
    connection.close().await?;
    Ok(Joined { buckets: buckets([counts.0, counts.1, counts.2, counts.3, counts.4])?, loading, joining })
}
