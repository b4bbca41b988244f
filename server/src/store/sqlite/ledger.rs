//! What sealing and verifying read and write.

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::summary::Count;
use guard::trail::{ChainHash, Entry};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::readers::{all, one};
use super::registry::head;
use super::work::{execute, key};
use super::writer::{Work, perform};
use super::{SqliteStore, fault};
use crate::store::row::{EntryRow, OperationRow, Place, SealRow, column_number};
use crate::trail::{ChainId, Ledger, Moment, Seal};

/// A seal that is added unless its number is taken.
struct AddSeal {
    row: SealRow,
}

impl Work for AddSeal {
    type Answer = bool;

    fn run(&self, transaction: &Connection) -> Result<bool, StoreFault> {
        let SealRow { number, at, until, heads, hash } = &self.row;
        let added = execute(
            transaction,
            "seal",
            number,
            "INSERT INTO seal (number, at, until, heads, hash) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (number) DO NOTHING",
            params![number, at, until, heads, hash],
        )?;
        Ok(added == 1)
    }

    fn counts(&self, _: &bool) -> &[Count] {
        &[]
    }

    fn changed(&self, _: &bool) -> Option<OperationId> {
        None
    }
}

fn bytes(chain: ChainId) -> [u8; 16] {
    chain.as_u128().to_be_bytes()
}

fn moments(
    connection: &Connection,
    after: Moment,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<(Moment, ChainHash)>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "entry", &"?");
    let mut statement = connection
        .prepare_cached(
            "SELECT at, chain, sequence, hash FROM entry INDEXED BY entry_by_moment \
             WHERE (at, chain, sequence) > (?1, ?2, ?3) AND at < ?4 ORDER BY at, chain, sequence LIMIT ?5",
        )
        .map_err(failed)?;
    let place = params![
        after.at.timestamp_millis(),
        bytes(after.chain),
        column_number(after.sequence),
        until.timestamp_millis(),
        limit
    ];
    let mut rows = statement.query(place).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let (at, chain, sequence, hash): (i64, [u8; 16], i64, Vec<u8>) = (
            row.get(0).map_err(failed)?,
            row.get(1).map_err(failed)?,
            row.get(2).map_err(failed)?,
            row.get(3).map_err(failed)?,
        );
        let chain = ChainId::from_u128(u128::from_be_bytes(chain));
        let place = Place::new("entry", &chain);
        let moment = Moment { at: place.moment("at", at)?, chain, sequence: place.number("sequence", sequence)? };
        found.push((moment, ChainHash::from_bytes(place.bytes("hash", &hash)?)));
    }
    Ok(found)
}

fn hashes(connection: &Connection, entries: &[(ChainId, u64)]) -> Result<Vec<Option<ChainHash>>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "entry", &"?");
    let mut statement =
        connection.prepare_cached("SELECT hash FROM entry WHERE chain = ?1 AND sequence = ?2").map_err(failed)?;
    let mut found = Vec::with_capacity(entries.len());
    for (chain, sequence) in entries {
        let hash: Option<Vec<u8>> = statement
            .query_row(params![bytes(*chain), column_number(*sequence)], |row| row.get(0))
            .optional()
            .map_err(failed)?;
        let place = Place::new("entry", chain);
        found.push(hash.map(|hash| place.bytes("hash", &hash).map(ChainHash::from_bytes)).transpose()?);
    }
    Ok(found)
}

fn payloads(connection: &Connection, operations: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "body", &"?");
    let mut statement = connection
        .prepare_cached("SELECT content FROM body WHERE operation = ?1 AND kind = 'payload'")
        .map_err(failed)?;
    let mut found = Vec::with_capacity(operations.len());
    for operation in operations {
        let content = statement.query_row(params![key(*operation)], |row| row.get(0)).optional().map_err(failed)?;
        found.extend(content.map(|content| (*operation, content)));
    }
    Ok(found)
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn last_seal(&self) -> Result<Option<Seal>, StoreFault> {
        self.read(|connection| {
            let sql = format!("SELECT {} FROM seal ORDER BY number DESC LIMIT 1", SealRow::COLUMNS);
            one::<SealRow, _>(connection, "seal", &sql, [])
        })
        .await
    }

    async fn seals(&self, after: u64, limit: u32) -> Result<Vec<Seal>, StoreFault> {
        self.read(move |connection| {
            let sql = format!("SELECT {} FROM seal WHERE number > ?1 ORDER BY number LIMIT ?2", SealRow::COLUMNS);
            all::<SealRow, _>(connection, "seal", &sql, params![column_number(after), limit])
        })
        .await
    }

    async fn add_seal(&self, seal: &Seal) -> Result<bool, StoreFault> {
        perform(&self.queue, AddSeal { row: SealRow::from(seal) }).await
    }

    async fn heads_by_moment(
        &self,
        after: Moment,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<(Moment, ChainHash)>, StoreFault> {
        self.read(move |connection| moments(connection, after, until, limit)).await
    }

    async fn all_entries(&self, after: (ChainId, u64), limit: u32) -> Result<Vec<(ChainId, Entry)>, StoreFault> {
        self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM entry WHERE (chain, sequence) > (?1, ?2) ORDER BY chain, sequence LIMIT ?3",
                EntryRow::COLUMNS
            );
            let place = params![bytes(after.0), column_number(after.1), limit];
            all::<EntryRow, _>(connection, "entry", &sql, place)
        })
        .await
    }

    async fn all_operations(&self, after: OperationId, limit: u32) -> Result<Vec<Operation>, StoreFault> {
        self.read(move |connection| {
            let sql = format!("SELECT {} FROM operation WHERE id > ?1 ORDER BY id LIMIT ?2", OperationRow::COLUMNS);
            all::<OperationRow, _>(connection, "operation", &sql, params![key(after), limit])
        })
        .await
    }

    async fn administration(&self) -> Result<(u64, ChainHash), StoreFault> {
        self.read_here(head)
    }

    async fn payloads(&self, operations: &[OperationId]) -> Result<Vec<(OperationId, String)>, StoreFault> {
        let operations = operations.to_vec();
        self.read(move |connection| payloads(connection, &operations)).await
    }

    async fn hashes(&self, entries: &[(ChainId, u64)]) -> Result<Vec<Option<ChainHash>>, StoreFault> {
        let entries = entries.to_vec();
        self.read(move |connection| hashes(connection, &entries)).await
    }
}
