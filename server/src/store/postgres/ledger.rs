//! The trail as a whole, for seals and verification.

use std::collections::HashMap;

use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::trail::{ChainHash, Entry};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::ReadError;
use super::list::all;
use crate::store::row::{EntryRow, OperationRow, Place, SealRow, column_number};
use crate::trail::{ChainId, Moment, Seal};

/// The last seal.
pub(super) async fn last_seal(connection: &mut PgConnection) -> Result<Option<Seal>, ReadError> {
    let sql = format!("SELECT {} FROM seal ORDER BY number DESC LIMIT 1", SealRow::COLUMNS);
    let row: Option<SealRow> = sqlx::query_as(&sql).fetch_optional(connection).await?;
    Ok(row.map(Seal::try_from).transpose()?)
}

/// The seals behind this number.
pub(super) async fn seals(connection: &mut PgConnection, after: u64, limit: u32) -> Result<Vec<Seal>, ReadError> {
    let sql = format!("SELECT {} FROM seal WHERE number > $1 ORDER BY number LIMIT $2", SealRow::COLUMNS);
    let rows = sqlx::query(&sql).bind(column_number(after)).bind(i64::from(limit)).fetch_all(connection).await?;
    all::<SealRow, Seal>(&rows)
}

/// Stores a seal unless its number is taken.
pub(super) async fn add_seal(connection: &mut PgConnection, seal: &Seal) -> Result<bool, sqlx::Error> {
    let sql = format!("INSERT INTO seal ({}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", SealRow::COLUMNS);
    let SealRow { number, at, until, heads, hash } = SealRow::from(seal);
    let insert = sqlx::query(&sql).bind(number).bind(at).bind(until).bind(heads).bind(hash);
    Ok(insert.execute(connection).await?.rows_affected() > 0)
}

/// The place of an entry with its hash.
#[derive(FromRow)]
struct HeadRow {
    at: i64,
    chain: Uuid,
    sequence: i64,
    hash: Vec<u8>,
}

impl TryFrom<HeadRow> for (Moment, ChainHash) {
    type Error = StoreFault;

    fn try_from(row: HeadRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}", row.chain, row.sequence);
        let place = Place::new("entry", &id);
        let moment = Moment {
            at: place.moment("at", row.at)?,
            chain: ChainId::from_u128(row.chain.as_u128()),
            sequence: place.number("sequence", row.sequence)?,
        };
        Ok((moment, ChainHash::from_bytes(place.bytes("hash", &row.hash)?)))
    }
}

/// The entries behind a moment and before another.
pub(super) async fn heads_by_moment(
    connection: &mut PgConnection,
    after: Moment,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<(Moment, ChainHash)>, ReadError> {
    let rows = sqlx::query(
        "SELECT at, chain, sequence, hash FROM entry WHERE (at, chain, sequence) > ($1, $2, $3) AND at < $4 \
         ORDER BY at, chain, sequence LIMIT $5",
    )
    .bind(after.at.timestamp_millis())
    .bind(Uuid::from_u128(after.chain.as_u128()))
    .bind(column_number(after.sequence))
    .bind(until.timestamp_millis())
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    all::<HeadRow, _>(&rows)
}

/// The entries of all chains behind a place.
pub(super) async fn all_entries(
    connection: &mut PgConnection,
    after: (ChainId, u64),
    limit: u32,
) -> Result<Vec<(ChainId, Entry)>, ReadError> {
    let sql = format!(
        "SELECT {} FROM entry WHERE (chain, sequence) > ($1, $2) ORDER BY chain, sequence LIMIT $3",
        EntryRow::COLUMNS
    );
    let (chain, sequence) = after;
    let rows = sqlx::query(&sql)
        .bind(Uuid::from_u128(chain.as_u128()))
        .bind(column_number(sequence))
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await?;
    all::<EntryRow, _>(&rows)
}

/// The operations behind an id.
pub(super) async fn all_operations(
    connection: &mut PgConnection,
    after: OperationId,
    limit: u32,
) -> Result<Vec<Operation>, ReadError> {
    let sql = format!("SELECT {} FROM operation WHERE id > $1 ORDER BY id LIMIT $2", OperationRow::COLUMNS);
    let after = Uuid::from_u128(after.as_u128());
    let rows = sqlx::query(&sql).bind(after).bind(i64::from(limit)).fetch_all(connection).await?;
    all::<OperationRow, _>(&rows)
}

/// The administration's last entry as its row holds it.
pub(super) async fn administration(connection: &mut PgConnection) -> Result<(u64, ChainHash), ReadError> {
    let (sequence, head): (i64, Vec<u8>) =
        sqlx::query_as("SELECT sequence, head FROM administration").fetch_one(connection).await?;
    let place = Place::new("administration", &1);
    Ok((place.number("sequence", sequence)?, ChainHash::from_bytes(place.bytes("head", &head)?)))
}

/// The payloads of these operations that are still kept.
pub(super) async fn payloads(
    connection: &mut PgConnection,
    operations: &[OperationId],
) -> Result<Vec<(OperationId, String)>, ReadError> {
    let ids: Vec<Uuid> = operations.iter().map(|operation| Uuid::from_u128(operation.as_u128())).collect();
    let rows: Vec<(Uuid, String)> =
        sqlx::query_as("SELECT operation, content FROM body WHERE operation = ANY($1) AND kind = 'payload'")
            .bind(ids)
            .fetch_all(connection)
            .await?;
    Ok(rows.into_iter().map(|(operation, content)| (OperationId::from_u128(operation.as_u128()), content)).collect())
}

/// The hash of each of these entries.
pub(super) async fn hashes(
    connection: &mut PgConnection,
    entries: &[(ChainId, u64)],
) -> Result<Vec<Option<ChainHash>>, ReadError> {
    let chains: Vec<Uuid> = entries.iter().map(|(chain, _)| Uuid::from_u128(chain.as_u128())).collect();
    let sequences: Vec<i64> = entries.iter().map(|(_, sequence)| column_number(*sequence)).collect();
    let rows = sqlx::query(
        "SELECT entry.at, entry.chain, entry.sequence, entry.hash \
         FROM unnest($1::uuid[], $2::bigint[]) AS asked (chain, sequence) \
         JOIN entry ON entry.chain = asked.chain AND entry.sequence = asked.sequence",
    )
    .bind(chains)
    .bind(sequences)
    .fetch_all(connection)
    .await?;
    let found = all::<HeadRow, (Moment, ChainHash)>(&rows)?;
    let found: HashMap<(ChainId, u64), ChainHash> =
        found.into_iter().map(|(moment, hash)| ((moment.chain, moment.sequence), hash)).collect();
    Ok(entries.iter().map(|entry| found.get(entry).copied()).collect())
}
