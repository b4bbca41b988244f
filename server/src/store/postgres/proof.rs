//! Duplicates prevented, and what conflicts were about.

use std::collections::HashMap;

use async_trait::async_trait;
use guard::board::{AgeBand, AgesOfDay, start_of_day};
use guard::clock::Timestamp;
use guard::conflict::Places;
use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::store::{PreventedDuplicate, Proofs};
use guard::summary::Count;
use guard::token::Reach;
use sqlx::{Connection as _, PgConnection, QueryBuilder};
use uuid::Uuid;

use super::delivery::count;
use super::list::push_reach;
use super::{PostgresStore, ReadError, read};
use crate::store::behind::{Counts, Held};
use crate::store::row::{AgesRow, CertainRow, PlacesRow, PreventedRow};
use crate::store::walk::first_id;

/// Which rows that wait need not wait any longer, and whether they are duplicates. Two processes look after different ones.
const DUE: &str = "SELECT prevented.operation, operation.state = 'confirmed' AND operation.attempt = prevented.attempt \
     FROM prevented JOIN operation ON operation.id = prevented.operation \
     WHERE prevented.certain_at IS NULL AND (operation.state IN ('confirmed', 'released', 'failed', 'rejected') \
         OR operation.attempt <> prevented.attempt) \
     ORDER BY prevented.operation LIMIT $1 FOR UPDATE OF prevented SKIP LOCKED";

/// A repetition is kept while the attempt that held it back is still the latest and not proven not applied; one of a later attempt takes
/// the place of one that still waits.
const HOLD: &str = "INSERT INTO prevented (operation, workflow, company, kind, attempt, currency, ten_thousandths, asked_at, certain_at) \
     SELECT operation.id, workflow, company, held.kind, held.attempt, coalesce(currency, ''), coalesce(ten_thousandths, 0), held.at, \
            CASE WHEN state = 'confirmed' THEN held.at END \
     FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[]) AS held (id, kind, attempt, at) \
     JOIN operation ON operation.id = held.id \
     WHERE operation.attempt = held.attempt AND state NOT IN ('released', 'failed', 'rejected') ORDER BY operation.id \
     ON CONFLICT (operation) DO UPDATE SET kind = excluded.kind, attempt = excluded.attempt, asked_at = excluded.asked_at, \
         certain_at = excluded.certain_at \
         WHERE prevented.certain_at IS NULL AND prevented.attempt < excluded.attempt \
     RETURNING workflow, company, kind, currency, ten_thousandths, certain_at";

/// Keeps the repetitions that were held back; answers what is counted of those whose operation is confirmed. The operations' rows are
/// locked already.
pub(super) async fn hold(
    connection: &mut PgConnection,
    held: &HashMap<OperationId, Held>,
) -> Result<Vec<CertainRow>, sqlx::Error> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows: Vec<(Uuid, &Held)> =
        held.iter().map(|(operation, held)| (Uuid::from_u128(operation.as_u128()), held)).collect();
    rows.sort_unstable_by_key(|(operation, _)| *operation);
    let kept: Vec<CertainRow> = sqlx::query_as(HOLD)
        .bind(rows.iter().map(|(operation, _)| *operation).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, held)| held.kind.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, held)| i64::from(held.attempt)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, held)| held.at.timestamp_millis()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(kept.into_iter().filter(|row| row.certain_at.is_some()).collect())
}

/// Counts or forgets what need not wait any longer, in one transaction.
async fn settle(connection: &mut PgConnection, now: Timestamp, limit: u32, slot: i64) -> Result<u32, ReadError> {
    let mut transaction = connection.begin().await?;
    let due: Vec<(Uuid, bool)> = sqlx::query_as(DUE).bind(i64::from(limit)).fetch_all(&mut *transaction).await?;
    if due.is_empty() {
        return Ok(0);
    }
    let of = |wanted: bool| -> Vec<Uuid> {
        due.iter().filter(|(_, is_duplicate)| *is_duplicate == wanted).map(|(operation, _)| *operation).collect()
    };
    let forget = sqlx::query("DELETE FROM prevented WHERE operation = ANY($1) AND certain_at IS NULL");
    forget.bind(of(false)).execute(&mut *transaction).await?;
    let certain: Vec<CertainRow> = sqlx::query_as(
        "UPDATE prevented SET certain_at = $2 WHERE operation = ANY($1) AND certain_at IS NULL \
         RETURNING workflow, company, kind, currency, ten_thousandths, certain_at",
    )
    .bind(of(true))
    .bind(now.timestamp_millis())
    .fetch_all(&mut *transaction)
    .await?;
    let mut counts = Counts::default();
    for row in certain {
        counts.add(&Count::try_from(row)?);
    }
    count(&mut transaction, &counts, slot).await?;
    transaction.commit().await?;
    Ok(u32::try_from(due.len()).unwrap_or(u32::MAX))
}

/// Puts the ages of a day in place of those before. Two processes do it one after the other.
async fn remember(connection: &mut PgConnection, at: Timestamp) -> Result<(), ReadError> {
    let bounds = AgeBand::ALL.map(|band| {
        // Nothing is older than time.
        band.bound().map_or(i64::MIN, |bound| (at - bound).timestamp_millis())
    });
    let (at, day) = (at.timestamp_millis(), start_of_day(at).timestamp_millis());
    let mut transaction = connection.begin().await?;
    sqlx::query("LOCK TABLE uncertain_age IN SHARE ROW EXCLUSIVE MODE").execute(&mut *transaction).await?;
    sqlx::query("DELETE FROM uncertain_age WHERE day = $1").bind(day).execute(&mut *transaction).await?;
    sqlx::query(
        "INSERT INTO uncertain_age (day, workflow, company, within_hour, within_day, within_week, longer) \
         SELECT $1, workflow, company, count(*) FILTER (WHERE state_since >= $3), \
                count(*) FILTER (WHERE state_since < $3 AND state_since >= $4), \
                count(*) FILTER (WHERE state_since < $4 AND state_since >= $5), count(*) FILTER (WHERE state_since < $5) \
         FROM operation WHERE state IN ('unknown', 'disputed') AND state_since <= $2 GROUP BY workflow, company",
    )
    .bind(day)
    .bind(at)
    .bind(bounds[0])
    .bind(bounds[1])
    .bind(bounds[2])
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}

#[async_trait]
impl Proofs for PostgresStore {
    async fn settle_held(&self, now: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        let mut connection = self.connection().await?;
        read(settle(&mut connection, now, limit, self.slot)).await
    }

    async fn prevented(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<PreventedDuplicate>, StoreFault> {
        let mut query =
            QueryBuilder::new(format!("SELECT {} FROM prevented WHERE certain_at >= ", PreventedRow::COLUMNS));
        query.push_bind(from.timestamp_millis()).push(" AND certain_at < ").push_bind(to.timestamp_millis());
        push_reach(&mut query, reach, "prevented");
        query.push(" ORDER BY certain_at DESC LIMIT ").push_bind(i64::from(limit));
        self.all::<PreventedRow, _>(query.build().persistent(false)).await
    }

    async fn places_of_conflicts(
        &self,
        reach: &Reach,
        from: Timestamp,
        to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Places>, StoreFault> {
        let mut query = QueryBuilder::new("SELECT id, places FROM conflict WHERE id >= ");
        query.push_bind(Uuid::from_u128(first_id(from))).push(" AND id < ").push_bind(Uuid::from_u128(first_id(to)));
        push_reach(&mut query, reach, "conflict");
        query.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(limit));
        self.all::<PlacesRow, _>(query.build().persistent(false)).await
    }

    async fn remember_ages(&self, at: Timestamp) -> Result<(), StoreFault> {
        let mut connection = self.connection().await?;
        read(remember(&mut connection, at)).await
    }

    async fn ages(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<AgesOfDay>, StoreFault> {
        let mut query = QueryBuilder::new(format!("SELECT {} FROM uncertain_age WHERE day >= ", AgesRow::COLUMNS));
        query.push_bind(from.timestamp_millis()).push(" AND day < ").push_bind(to.timestamp_millis());
        push_reach(&mut query, reach, "uncertain_age");
        query.push(" GROUP BY day ORDER BY day");
        self.all::<AgesRow, _>(query.build().persistent(false)).await
    }
}
