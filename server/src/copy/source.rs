//! The SQLite file that is read: one snapshot of it, on a thread of its own.

use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use tokio::sync::mpsc;

use super::row::{Column, write};

/// A chunk has about this many bytes: what is held in memory, twice, and what one transaction of the copy stores.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// So many chunks wait for PostgreSQL.
const CHUNKS_WAITING_MAX: usize = 2;

/// The thread that reads; it gives the source back, and what kept it from reading.
pub(super) type Reading = tokio::task::JoinHandle<(Source, Result<(), String>)>;

/// A table that is copied.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Its name in both databases.
    pub(super) name: String,
    /// Its columns, in PostgreSQL's order.
    pub(super) columns: Vec<Column>,
    /// Its primary key, by which the copy goes on where it was; empty where the two databases number its rows in different ways.
    pub(super) key: Vec<String>,
}

impl Table {
    /// The columns, as a statement for PostgreSQL names them.
    pub(super) fn column_names(&self) -> String {
        listed(self.columns.iter().map(|column| &column.name))
    }
}

/// Names in a statement.
fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The file as it was when the copy began.
pub(super) struct Source {
    path: PathBuf,
    connection: Connection,
    /// Looks at the file without standing in the snapshot.
    watch: Connection,
    version: i64,
}

impl Source {
    /// Opens a file that is up to date.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let watch = Connection::open_with_flags(path, flags)?;
        let version = data_version(&watch)?;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master")?;
        Ok(Self { path: path.to_owned(), connection, watch, version })
    }

    /// Whether somebody wrote to the file since it was opened.
    pub(super) fn has_moved(&self) -> rusqlite::Result<bool> {
        Ok(data_version(&self.watch)? != self.version)
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the tables.
    pub(super) fn tables(&self) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
             AND name <> '_sqlx_migrations' ORDER BY name",
        )?;
        statement.query_map([], |row| row.get(0))?.collect()
    }

    /// The names of a table's columns, and those of its primary key in their order.
    pub(super) fn columns(&self, table: &str) -> rusqlite::Result<(Vec<String>, Vec<String>)> {
        let mut statement = self.connection.prepare("SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid")?;
        let columns = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, i64)> = columns.collect::<rusqlite::Result<_>>()?;
        let mut key: Vec<_> = columns.iter().filter(|(_, place)| *place > 0).collect();
        key.sort_by_key(|(_, place)| *place);
        let key = key.into_iter().map(|(name, _)| name.clone()).collect();
        Ok((columns.into_iter().map(|(name, _)| name).collect(), key))
    }

    /// Reads the rows of a table behind this key, in its order, as lines of COPY, on a thread of its own.
    pub(super) fn stream(self, table: &Table, behind: Vec<Value>) -> (mpsc::Receiver<String>, Reading) {
        let (sender, chunks) = mpsc::channel(CHUNKS_WAITING_MAX);
        let table = table.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = self.read(&table, &behind, &sender);
            (self, read.map_err(|reason| format!("the table {}: {reason}", table.name)))
        });
        (chunks, reading)
    }

    fn read(&self, table: &Table, behind: &[Value], to: &mpsc::Sender<String>) -> Result<(), String> {
        let told = |error: rusqlite::Error| error.to_string();
        let mut statement = self.connection.prepare(&select(table, behind.len())).map_err(told)?;
        let mut rows = statement.query(params_from_iter(behind)).map_err(told)?;
        let mut lines = String::new();
        while let Some(row) = rows.next().map_err(told)? {
            write(&mut lines, &table.columns, row)?;
            // Who does not listen any more has failed, and tells it itself.
            if lines.len() >= CHUNK_BYTES && to.blocking_send(std::mem::take(&mut lines)).is_err() {
                return Ok(());
            }
        }
        if !lines.is_empty() {
            let _heard = to.blocking_send(lines);
        }
        Ok(())
    }
}

/// The statement that reads a table's rows in the order of its key, behind a key of so many values.
fn select(table: &Table, behind: usize) -> String {
    let columns = listed(table.columns.iter().map(|column| &column.source));
    let key = listed(table.key.iter());
    let mut statement = format!("SELECT {columns} FROM \"{}\"", table.name);
    if behind > 0 {
        let values = (1..=behind).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        statement.push_str(&format!(" WHERE ({key}) > ({values})"));
    }
    if !key.is_empty() {
        statement.push_str(&format!(" ORDER BY {key}"));
    }
    statement
}

/// Changes whenever another connection commits.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}
