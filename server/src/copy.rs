//! A store that moves house: everything of a SQLite file into an empty PostgreSQL database.
//!
//! The copy is made in a schema of its own, so that no server can serve half of it, and becomes the store in one transaction when every
//! row of every table has been compared and the trail was walked. A copy that was interrupted goes on where it was. What is copied is what
//! the tables hold, whatever they are: a table that a later migration adds comes along by itself, and a table whose columns differ
//! between the two dialects stops the copy before anything is written.

mod row;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt as _;
use guard::clock::Entropy;
use guard::refusal::StoreFault;
use guard::store::Catalogue;
use rusqlite::types::Value;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _};
use url::Url;

use self::row::{Column, Digest, Kind};
use self::source::{Reading, Source, Table};
use crate::store::{Database, OpenError};
use crate::trail::{self, FirstBroken};

/// The schema in which a copy is made until it is whole.
const SCHEMA: &str = "onceover_copy";

/// Two copies into one database would be in each other's way; this number locks it.
const LOCK: i64 = 0x6f6e_6365_6f76_6572;

/// A table with at most this many rows is copied from its start, where a larger one goes on behind its last row.
const ANEW_ROWS_MAX: i64 = 10_000;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Each table with the number of its rows.
    pub tables: Vec<(String, u64)>,
    /// What the walk over the copied trail found.
    pub trail: trail::Report,
}

/// Why there is no copy, or not yet. What was copied stays for the next try, where nobody can take it for a store.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A database cannot be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// PostgreSQL refused something.
    #[error("PostgreSQL: {0}")]
    Target(#[from] sqlx::Error),
    /// The file cannot be read.
    #[error("{}: {reason}", .path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The target's address is none.
    #[error("--to is no address of a PostgreSQL database ({0}); write postgres://USER@HOST/NAME")]
    Address(String),
    /// There is a store already.
    #[error("the target holds a store already (the table {table} in schema {schema}); name an empty database")]
    Taken {
        /// A table of it.
        table: String,
        /// Where it lies.
        schema: String,
    },
    /// Somebody else is at it.
    #[error("another copy into this database is under way")]
    Busy,
    /// The two dialects do not agree.
    #[error(
        "the table {table} differs between the two databases: {how}; this is a fault of Onceover, please report it"
    )]
    Shape {
        /// The table.
        table: String,
        /// How.
        how: String,
    },
    /// The file was written to meanwhile.
    #[error("{} was written to while it was copied; stop its server (onceover serve) and copy again: it goes on where it was", .0.display())]
    Moved(PathBuf),
    /// The rows do not agree, even after a second try.
    #[error(
        "the table {table} does not agree after copying: {source_rows} rows in the file, {target_rows} in PostgreSQL"
    )]
    Differs {
        /// The table.
        table: String,
        /// Rows in the file.
        source_rows: u64,
        /// Rows in PostgreSQL.
        target_rows: u64,
    },
    /// The trail is broken, in the file too: the rows agree.
    #[error("{0}; the file's trail is broken in the same place, since the rows agree: nothing was put in force")]
    Broken(FirstBroken),
    /// What is stored cannot be read.
    #[error(transparent)]
    Fault(#[from] StoreFault),
}

/// Copies the SQLite file `from` into the empty database `to`; `tell` hears of each table.
///
/// # Errors
/// What stands in the way; see [`CopyError`]. Nothing of a copy that failed can be served.
pub async fn copy(
    from: &Path,
    to: &str,
    entropy: Arc<dyn Entropy>,
    mut tell: impl FnMut(&str),
) -> Result<Copied, CopyError> {
    // Brings the file's tables up to date, and writes what waits in them.
    Database::open(&format!("sqlite://{}", from.display()), Arc::clone(&entropy)).await?.close().await;
    let source = Source::open(from).map_err(|error| unread(from, &error))?;

    let mut target = Target::connect(to).await?;
    target.claim().await?;
    // Makes the tables, in the schema of the copy.
    let database = Database::open(&in_schema(to)?, entropy).await?;
    let done = fill(source, &mut target, &database, &mut tell).await;
    database.close().await;
    let copied = done?;
    target.put_in_force(&copied).await?;
    Ok(copied)
}

async fn fill(
    mut source: Source,
    target: &mut Target,
    database: &Database,
    tell: &mut impl FnMut(&str),
) -> Result<Copied, CopyError> {
    let mut copied = Vec::new();
    for table in tables(&source, target).await? {
        source = target.fill(source, &table, false).await?;
        let mut digests;
        (source, digests) = target.compare(source, &table).await?;
        if digests.0 != digests.1 {
            // The file was served between two tries, and what had been copied has changed since.
            source = target.fill(source, &table, true).await?;
            (source, digests) = target.compare(source, &table).await?;
        }
        let (held, stored) = digests;
        if held != stored {
            let (source_rows, target_rows) = (held.rows, stored.rows);
            return Err(CopyError::Differs { table: table.name, source_rows, target_rows });
        }
        tell(&format!("{}: {} rows, compared", table.name, held.rows));
        copied.push((table.name, held.rows));
    }
    let catalogue: Catalogue = database.registry.catalogue().await?;
    let walked = trail::verify(database.ledger.as_ref(), &catalogue).await.map_err(CopyError::Broken)?;
    if source.has_moved().map_err(|error| unread(source.path(), &error))? {
        return Err(CopyError::Moved(source.path().to_owned()));
    }
    Ok(Copied { tables: copied, trail: walked })
}

/// The tables of both databases, which must be the same.
async fn tables(source: &Source, target: &mut Target) -> Result<Vec<Table>, CopyError> {
    let unread = |error: rusqlite::Error| unread(source.path(), &error);
    let mut tables = Vec::new();
    for name in source.tables().map_err(unread)? {
        let (held, key) = source.columns(&name).map_err(unread)?;
        let stored = target.columns(&name).await?;
        tables.push(table(name, &held, key, &stored)?);
    }
    Ok(tables)
}

fn unread(path: &Path, error: &rusqlite::Error) -> CopyError {
    CopyError::Source { path: path.to_owned(), reason: error.to_string() }
}

/// How a table is copied whose columns these are, in SQLite and in PostgreSQL (name and type).
fn table(name: String, held: &[String], key: Vec<String>, stored: &[(String, String)]) -> Result<Table, CopyError> {
    let differs = |how: String| CopyError::Shape { table: name.clone(), how };
    // SQLite numbers the deliveries in the order in which they come; several servers cannot.
    let numbers = |column: &str| (name.as_str(), column) == ("delivery", "id");
    let mut columns = Vec::new();
    for (column, data_type) in stored {
        let source = if numbers(column) { "number" } else { column };
        if !held.iter().any(|name| name == source) {
            return Err(differs(format!("the column {column} is in PostgreSQL alone")));
        }
        let kind = if numbers(column) {
            let moment = stored.iter().position(|(name, _)| name == "at");
            Kind::Numbered { moment: moment.ok_or_else(|| differs("it has no column at".to_owned()))? }
        } else {
            Kind::of(data_type).ok_or_else(|| differs(format!("the column {column} is of the type {data_type}")))?
        };
        columns.push(Column { name: column.clone(), source: source.to_owned(), kind });
    }
    if let Some(alone) = held.iter().find(|held| columns.iter().all(|column| column.source != **held)) {
        return Err(differs(format!("the column {alone} is in SQLite alone")));
    }
    let is_shared = key.iter().all(|part| columns.iter().any(|column| column.name == *part && column.source == *part));
    Ok(Table { name, columns, key: if is_shared { key } else { Vec::new() } })
}

/// The same database, with the schema of the copy as its only one.
fn in_schema(to: &str) -> Result<String, CopyError> {
    let mut address = Url::parse(to).map_err(|error| CopyError::Address(error.to_string()))?;
    address.query_pairs_mut().append_pair("options[search_path]", SCHEMA);
    Ok(address.into())
}

/// The PostgreSQL database that is filled.
struct Target {
    connection: PgConnection,
    /// Where the store belongs.
    home: String,
}

impl Target {
    async fn connect(to: &str) -> Result<Self, CopyError> {
        let options: PgConnectOptions =
            to.parse().map_err(|error: sqlx::Error| CopyError::Address(error.to_string()))?;
        let options = options.application_name("onceover copy").disable_statement_logging();
        let mut connection = PgConnection::connect_with(&options).await?;
        let home: Option<String> = sqlx::query_scalar("SELECT current_schema()").fetch_one(&mut connection).await?;
        let home = home.ok_or_else(|| CopyError::Address("its search_path names no schema that exists".to_owned()))?;
        // The last transaction waits for the disk, and with it for all before it.
        connection
            .execute("SET synchronous_commit = off; SET bytea_output = hex; SET client_encoding = 'UTF8'")
            .await?;
        Ok(Self { connection, home })
    }

    /// Takes the database for this copy, and makes room for it.
    async fn claim(&mut self) -> Result<(), CopyError> {
        let is_ours: bool =
            sqlx::query_scalar("SELECT pg_try_advisory_lock($1)").bind(LOCK).fetch_one(&mut self.connection).await?;
        if !is_ours {
            return Err(CopyError::Busy);
        }
        let taken = sqlx::query_scalar(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = $1 \
             AND table_name IN ('_sqlx_migrations', 'operation') ORDER BY table_name DESC LIMIT 1",
        );
        if let Some(table) = taken.bind(&self.home).fetch_optional(&mut self.connection).await? {
            return Err(CopyError::Taken { table, schema: self.home.clone() });
        }
        self.connection.execute(format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}").as_str()).await?;
        Ok(())
    }

    /// Names and types of a table's columns, in their order; not of those that PostgreSQL computes itself.
    async fn columns(&mut self, table: &str) -> Result<Vec<(String, String)>, CopyError> {
        let found = sqlx::query_as(
            "SELECT column_name::text, data_type::text FROM information_schema.columns \
             WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER' ORDER BY ordinal_position",
        );
        Ok(found.bind(SCHEMA).bind(table).fetch_all(&mut self.connection).await?)
    }

    /// Copies the rows of a table that are not there yet; all of them where it is small, where its rows have no key in common, or
    /// `anew`.
    async fn fill(&mut self, source: Source, table: &Table, anew: bool) -> Result<Source, CopyError> {
        let name = format!("{SCHEMA}.\"{}\"", table.name);
        let counted = format!("SELECT count(*) FROM (SELECT 1 FROM {name} LIMIT {}) AS rows", ANEW_ROWS_MAX + 1);
        let rows: i64 = sqlx::query_scalar(&counted).fetch_one(&mut self.connection).await?;
        let mut behind = Vec::new();
        if anew || rows <= ANEW_ROWS_MAX || table.key.is_empty() {
            self.connection.execute(format!("TRUNCATE {name}").as_str()).await?;
        } else {
            behind = self.last_key(table, &name).await?;
        }
        let statement = format!("COPY {name} ({}) FROM STDIN", table.column_names());
        let (mut chunks, reading) = source.stream(table, behind);
        while let Some(lines) = chunks.recv().await {
            let mut copy = self.connection.copy_in_raw(&statement).await?;
            copy.send(lines.into_bytes()).await?;
            copy.finish().await?;
        }
        finished(reading).await
    }

    /// The key of the last row that was copied.
    async fn last_key(&mut self, table: &Table, name: &str) -> Result<Vec<Value>, CopyError> {
        let kind = |part: &String| table.columns.iter().find(|column| column.name == *part).map(|column| column.kind);
        let kinds: Vec<Kind> = table.key.iter().filter_map(kind).collect();
        let shown = table.key.iter().map(|part| format!("\"{part}\"::text")).collect::<Vec<_>>().join(", ");
        let ordered = table.key.iter().zip(&kinds).map(|(part, kind)| {
            let collation = if *kind == Kind::Text { " COLLATE \"C\"" } else { "" };
            format!("\"{part}\"{collation} DESC")
        });
        let ordered = ordered.collect::<Vec<_>>().join(", ");
        let statement = format!("SELECT {shown} FROM {name} ORDER BY {ordered} LIMIT 1");
        let row = sqlx::query(&statement).fetch_one(&mut self.connection).await?;
        let mut values = Vec::new();
        for (place, kind) in kinds.iter().enumerate() {
            let text: String = row.try_get(place)?;
            let value = kind.to_sqlite(&text);
            values.push(value.ok_or_else(|| CopyError::Shape {
                table: table.name.clone(),
                how: format!("its key holds {text:?}"),
            })?);
        }
        Ok(values)
    }

    /// What the table holds, in the file and here.
    async fn compare(&mut self, source: Source, table: &Table) -> Result<(Source, (Digest, Digest)), CopyError> {
        let mut held = Digest::default();
        let (mut chunks, reading) = source.stream(table, Vec::new());
        while let Some(lines) = chunks.recv().await {
            lines.split_terminator('\n').for_each(|line| held.add(line.as_bytes()));
        }
        let source = finished(reading).await?;

        let statement = format!("COPY {SCHEMA}.\"{}\" ({}) TO STDOUT", table.name, table.column_names());
        let mut stored = Digest::default();
        let mut shown = self.connection.copy_out_raw(&statement).await?;
        // A message is a row or a part of the stream, as the protocol leaves open.
        let mut rest: Vec<u8> = Vec::new();
        while let Some(bytes) = shown.try_next().await? {
            rest.extend_from_slice(&bytes);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                stored.add(&rest[..end]);
                rest.drain(..=end);
            }
        }
        Ok((source, (held, stored)))
    }

    /// Makes the copy the store, at once and durably.
    async fn put_in_force(mut self, copied: &Copied) -> Result<(), CopyError> {
        let home = self.home.replace('"', "\"\"");
        let mut transaction = self.connection.begin().await?;
        transaction.execute("SET LOCAL synchronous_commit = on").await?;
        let names = copied.tables.iter().map(|(name, _)| name.as_str());
        for name in names.chain(["_sqlx_migrations"]) {
            transaction.execute(format!("ALTER TABLE {SCHEMA}.\"{name}\" SET SCHEMA \"{home}\"").as_str()).await?;
        }
        let routines: Vec<String> = sqlx::query_scalar(
            "SELECT format('ALTER ROUTINE %s SET SCHEMA %I', routine.oid::regprocedure, $2::text) FROM pg_proc AS routine \
             WHERE routine.pronamespace = $1::regnamespace",
        )
        .bind(SCHEMA)
        .bind(&self.home)
        .fetch_all(&mut *transaction)
        .await?;
        for statement in routines {
            transaction.execute(statement.as_str()).await?;
        }
        // Refuses where anything was left behind.
        transaction.execute(format!("DROP SCHEMA {SCHEMA} RESTRICT").as_str()).await?;
        transaction.commit().await?;
        // The first plans are made with what the tables hold now.
        self.connection.execute("ANALYZE").await?;
        self.connection.close().await?;
        Ok(())
    }
}

/// The source back from the thread that read it.
async fn finished(reading: Reading) -> Result<Source, CopyError> {
    let told = |path: &Path, reason: String| CopyError::Source { path: path.to_owned(), reason };
    let (source, read) = reading.await.map_err(|error| told(Path::new("the file"), error.to_string()))?;
    match read {
        Ok(()) => Ok(source),
        Err(reason) => Err(told(source.path(), reason)),
    }
}
