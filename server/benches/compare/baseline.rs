//! What Onceover is measured against: a handler that does nothing, bare SQLite, pgbench.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Rows per transaction of bare SQLite.
const GROUP_ROWS: u64 = 100;

/// Serves a handler that reads the request and does nothing, until the process is ended.
pub async fn serve_nothing(address: &str) -> std::io::Result<()> {
    let nothing = axum::routing::post(|_body: bytes::Bytes| async { "{}" });
    let router = axum::Router::new().route("/api/v1/operations", nothing);
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, router).await
}

/// Inserts and updates rows of an operation's size in bare SQLite, `synchronous=FULL`, in groups of [`GROUP_ROWS`]; answers
/// pairs per second.
pub fn bare_sqlite(file: &Path, time: Duration) -> rusqlite::Result<f64> {
    let mut database = rusqlite::Connection::open(file)?;
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "synchronous", "full")?;
    database.execute_batch(
        "CREATE TABLE pair (id BLOB NOT NULL PRIMARY KEY, key BLOB NOT NULL UNIQUE, state TEXT NOT NULL, reference TEXT,
                            payload TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
    )?;
    let payload = "x".repeat(160);
    let started = Instant::now();
    let mut pairs = 0;
    while started.elapsed() < time {
        let group: Vec<(Vec<u8>, Vec<u8>)> = (pairs..pairs + GROUP_ROWS).map(key_of).collect();
        let insert = database.transaction()?;
        {
            let mut statement = insert
                .prepare_cached("INSERT INTO pair (id, key, state, payload, at) VALUES (?, ?, 'sending', ?, ?)")?;
            for (id, key) in &group {
                statement.execute((id, key, &payload, 1_700_000_000_000_i64))?;
            }
        }
        insert.commit()?;
        let update = database.transaction()?;
        {
            let mut statement =
                update.prepare_cached("UPDATE pair SET state = 'confirmed', reference = ? WHERE id = ?")?;
            for (id, _) in &group {
                statement.execute(("task-907", id))?;
            }
        }
        update.commit()?;
        pairs += GROUP_ROWS;
    }
    Ok(pairs as f64 / started.elapsed().as_secs_f64())
}

/// An id in order, and a key spread over the whole range, as a hash is.
fn key_of(number: u64) -> (Vec<u8>, Vec<u8>) {
    let mut id = vec![0; 8];
    id.extend_from_slice(&number.to_be_bytes());
    let mut key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    (id, key)
}

/// Runs pgbench with one insert and one update, each its own transaction; answers pairs per second.
pub fn pgbench(url: &str, clients: usize, time: Duration, folder: &Path) -> std::io::Result<f64> {
    let script = folder.join("pair.sql");
    std::fs::write(
        &script,
        "\\set spread random(1, 9000000000000000)\n\
         INSERT INTO bench_pair (id, key, state, payload, at) VALUES (gen_random_uuid(), :spread, 'sending', repeat('x', 160), now()) ON CONFLICT DO NOTHING;\n\
         UPDATE bench_pair SET state = 'confirmed', reference = 'task-907' WHERE key = :spread;\n",
    )?;
    run_checked(Command::new("psql").arg(url).args([
        "-qXc",
        "DROP TABLE IF EXISTS bench_pair; CREATE TABLE bench_pair (id uuid PRIMARY KEY, key bigint NOT NULL UNIQUE, state text NOT NULL, reference text, payload text NOT NULL, at timestamptz NOT NULL)",
    ]))?;
    let mut command = Command::new("pgbench");
    command.args([
        "-n",
        "-M",
        "prepared",
        "-j",
        "2",
        "-c",
        &clients.to_string(),
        "-T",
        &time.as_secs().to_string(),
        "-f",
    ]);
    let printed = run_checked(command.arg(&script).arg(url))?;
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok());
    rate.ok_or_else(|| std::io::Error::other(format!("pgbench printed no rate: {printed}")))
}

/// Runs a command to its end; answers what it printed.
pub fn run_checked(command: &mut Command) -> std::io::Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(std::io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))))
}
