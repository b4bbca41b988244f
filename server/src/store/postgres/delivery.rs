//! Deliveries that were answered, written behind the answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guard::clock::Entropy;
use guard::id::OperationId;
use guard::store::Delivery;
use guard::summary::Count;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::connection::{Line, bounded};
use super::fault::Trouble;
use super::proof;
use crate::store::behind::{Behind, CountKey, Counts, TEN_THOUSANDTHS_BOUND};

/// Deliveries gather this long before they are written.
const FLUSH_AFTER_MILLISECONDS: u64 = 400;

/// A flush that failed is tried again after this long.
const FLUSH_AGAIN_MILLISECONDS: u64 = 500;

/// When the store is closed, what waits is tried to be written for this long.
const CLOSING_SECONDS_MAX: u64 = 5;

/// What waits to be written, and what wakes the task that writes it.
pub(super) struct Deliveries {
    behind: Mutex<Behind>,
    first: Notify,
    due: Notify,
}

impl Deliveries {
    /// Starts the task that writes; once `closing` is cancelled it writes what is left and ends.
    pub(super) fn start(
        options: &PgConnectOptions,
        slot: i64,
        entropy: Arc<dyn Entropy>,
        tasks: &TaskTracker,
        closing: CancellationToken,
    ) -> Arc<Self> {
        let deliveries = Arc::new(Self { behind: Mutex::default(), first: Notify::new(), due: Notify::new() });
        let flusher = Flusher { line: Line::new(options.clone()), slot, entropy, deliveries: Arc::clone(&deliveries) };
        tasks.spawn(flusher.run(closing));
        deliveries
    }

    /// Takes note of a delivery.
    pub(super) fn note(&self, delivery: Delivery) {
        let noted = self.behind().note(delivery);
        if noted.is_first {
            self.first.notify_one();
        }
        if noted.is_full {
            self.due.notify_one();
        }
    }

    fn behind(&self) -> MutexGuard<'_, Behind> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Flusher {
    line: Line,
    slot: i64,
    entropy: Arc<dyn Entropy>,
    deliveries: Arc<Deliveries>,
}

/// What is written by one flush, with the ids of its history rows: they stay the same when it is tried again.
struct Flush {
    behind: Behind,
    ids: Vec<Uuid>,
    /// Whether an earlier try may have been committed.
    is_in_doubt: bool,
}

impl Flusher {
    async fn run(mut self, closing: CancellationToken) {
        let deliveries = Arc::clone(&self.deliveries);
        while closing.run_until_cancelled(deliveries.first.notified()).await.is_some() {
            let pause = tokio::time::sleep(Duration::from_millis(FLUSH_AFTER_MILLISECONDS));
            tokio::select! {
                () = pause => {}
                () = deliveries.due.notified() => {}
                () = closing.cancelled() => {}
            }
            self.flush_all(&closing).await;
        }
        self.flush_all(&closing).await;
        self.line.close().await;
    }

    /// Writes until nothing waits; gives up some time after the store was closed.
    async fn flush_all(&mut self, closing: &CancellationToken) {
        let mut until = None;
        loop {
            let behind = self.deliveries.behind().take();
            if behind.is_empty() {
                return;
            }
            let id =
                |delivery: &Delivery| Uuid::from_u128(OperationId::new(delivery.at, self.entropy.bytes()).as_u128());
            let ids = behind.told.iter().map(id).collect();
            let mut flush = Flush { behind, ids, is_in_doubt: false };
            while let Err(trouble) = self.flush(&mut flush).await {
                if closing.is_cancelled() {
                    let until = *until.get_or_insert_with(|| Instant::now() + Duration::from_secs(CLOSING_SECONDS_MAX));
                    if Instant::now() >= until {
                        tracing::error!(?trouble, rows = flush.behind.size(), "deliveries could not be counted");
                        return;
                    }
                }
                if let Trouble::Refused { .. } = trouble {
                    // It would be refused for ever. The counts matter most: the history goes without these deliveries.
                    tracing::error!(?trouble, rows = flush.behind.told.len(), "deliveries cannot be told in histories");
                    if flush.behind.told.is_empty() {
                        break;
                    }
                    flush.behind.told.clear();
                    flush.ids.clear();
                    continue;
                }
                tokio::time::sleep(Duration::from_millis(FLUSH_AGAIN_MILLISECONDS)).await;
                if !flush.is_in_doubt {
                    // What came meanwhile is added up with it.
                    self.deliveries.behind().put_back(flush.behind);
                    break;
                }
            }
        }
    }

    /// Writes a flush, once: where an earlier try is in doubt, its history rows tell whether it was committed.
    async fn flush(&mut self, flush: &mut Flush) -> Result<(), Trouble> {
        let slot = self.slot;
        let connection = self.line.connection().await?;
        if flush.is_in_doubt {
            match bounded(is_written(connection, &flush.ids)).await {
                Ok(true) => return Ok(()),
                Ok(false) => flush.is_in_doubt = false,
                Err(trouble) => {
                    self.line.hang_up();
                    return Err(trouble);
                }
            }
        }
        let written = bounded(write(connection, flush, slot)).await;
        if let Err(Trouble::Lost) = &written {
            self.line.hang_up();
            flush.is_in_doubt = true;
        }
        written
    }
}

/// Whether a flush with these history rows was committed. One without any (deliveries that no operation exists for) cannot be found:
/// it is taken for committed, so that nothing is counted twice.
async fn is_written(connection: &mut PgConnection, ids: &[Uuid]) -> Result<bool, sqlx::Error> {
    let Some(id) = ids.first() else { return Ok(true) };
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM delivery WHERE id = $1)").bind(id).fetch_one(connection).await
}

/// Writes everything in one transaction, locking rows in the order in which writers do.
async fn write(connection: &mut PgConnection, flush: &Flush, slot: i64) -> Result<(), sqlx::Error> {
    let Flush { behind, ids, .. } = flush;
    let mut transaction = connection.begin().await?;
    tell(&mut transaction, &behind.told, ids).await?;
    let mut repeated: Vec<(Uuid, i64)> =
        behind.repeated.iter().map(|(operation, number)| (Uuid::from_u128(operation.as_u128()), *number)).collect();
    let operations = "UPDATE operation SET duplicates_prevented = duplicates_prevented + raised.number \
         FROM unnest($1::uuid[], $2::bigint[]) AS raised (id, number) WHERE operation.id = raised.id";
    raise(&mut transaction, operations, &mut repeated).await?;
    // What is wrong with a row is no fault of this flush: it would be refused for ever.
    let certain = proof::hold(&mut transaction, &behind.held).await?;
    let certain = certain.into_iter().filter_map(|row| Count::try_from(row).ok());
    let mut hits: Vec<(Uuid, i64)> =
        behind.hits.iter().map(|(conflict, number)| (Uuid::from_u128(conflict.as_u128()), *number)).collect();
    let conflicts = "UPDATE conflict SET hits = hits + raised.number \
         FROM unnest($1::uuid[], $2::bigint[]) AS raised (id, number) WHERE conflict.id = raised.id";
    raise(&mut transaction, conflicts, &mut hits).await?;
    let mut counts = behind.counts.clone();
    certain.for_each(|certain| counts.add(&certain));
    count(&mut transaction, &counts, slot).await?;
    transaction.commit().await
}

async fn raise(connection: &mut PgConnection, sql: &str, rows: &mut [(Uuid, i64)]) -> Result<(), sqlx::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_unstable();
    let (ids, numbers): (Vec<Uuid>, Vec<i64>) = rows.iter().copied().unzip();
    sqlx::query(sql).bind(ids).bind(numbers).execute(connection).await?;
    Ok(())
}

async fn tell(connection: &mut PgConnection, told: &[Delivery], ids: &[Uuid]) -> Result<(), sqlx::Error> {
    if told.is_empty() {
        return Ok(());
    }
    let (mut operations, mut moments, mut decisions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut conflicts, mut workers, mut delivery_ids, mut request_ids) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for delivery in told {
        let Delivery { operation, at, decision, conflict, worker, delivery_id, request_id, count: _, held_by: _ } =
            delivery;
        operations.push(operation.map(|operation| Uuid::from_u128(operation.as_u128())));
        moments.push(at.timestamp_millis());
        decisions.push(decision.as_str());
        conflicts.push(conflict.map(|conflict| Uuid::from_u128(conflict.as_u128())));
        workers.push(worker.as_deref());
        delivery_ids.push(delivery_id.as_deref());
        request_ids.push(request_id.as_deref());
    }
    sqlx::query(
        "INSERT INTO delivery (id, operation, at, decision, conflict, worker, delivery_id, request_id) \
         SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[])",
    )
    .bind(ids)
    .bind(operations)
    .bind(moments)
    .bind(decisions)
    .bind(conflicts)
    .bind(workers)
    .bind(delivery_ids)
    .bind(request_ids)
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes counts into a slot.
pub(super) async fn count(connection: &mut PgConnection, counts: &Counts, slot: i64) -> Result<(), sqlx::Error> {
    let mut rows: Vec<(&CountKey, i64, i64)> = counts.sums().collect();
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_unstable();
    let texts = |of: fn(&CountKey) -> &str| rows.iter().map(|(key, ..)| of(key)).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO count (workflow, company, counted, hour, currency, number, ten_thousandths, slot) \
         SELECT *, $8::bigint FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[]) \
         ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE SET number = count.number + excluded.number, \
         ten_thousandths = greatest(least(count.ten_thousandths + excluded.ten_thousandths, $9), -$9)",
    )
    .bind(texts(|key| &key.workflow))
    .bind(texts(|key| &key.company))
    .bind(texts(|key| &key.counted))
    .bind(rows.iter().map(|(key, ..)| key.hour).collect::<Vec<_>>())
    .bind(texts(|key| &key.currency))
    .bind(rows.iter().map(|(_, number, _)| *number).collect::<Vec<_>>())
    .bind(rows.iter().map(|(.., ten_thousandths)| *ten_thousandths).collect::<Vec<_>>())
    .bind(slot)
    .bind(TEN_THOUSANDTHS_BOUND)
    .execute(connection)
    .await?;
    Ok(())
}
