//! What changed, told to every server that shares the database.
//!
//! Subscribers in this process are told at once after the commit. The others hear it by `NOTIFY`, sent in a transaction of its own: a
//! transaction that notifies holds a lock on the whole database while it commits, and would make every writer wait for every other's
//! disk; one that does nothing else writes nothing to disk. News are hints to look again: where one is lost (a crash behind the
//! commit, a listener that had to connect again), nothing that was decided is.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use guard::clock::Entropy;
use guard::id::OperationId;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::connection::{Line, bounded};
use super::fault::Trouble;
use crate::store::Changes;

/// The channel of `LISTEN` and `NOTIFY`.
const CHANNEL: &str = "onceover_changes";

/// An id takes 32 bytes, and PostgreSQL takes less than 8,000 bytes in a notification.
const IDS_PER_NOTIFICATION_MAX: usize = 240;

/// At most this many changes wait to be told to the others; what comes on top is not told.
const NEWS_WAITING_MAX: usize = 16_384;

/// At most this many changes are told at once.
const NEWS_PER_ROUND_MAX: usize = 2_400;

/// After telling, changes gather this long before the next ones are told.
const NEWS_PAUSE_MILLISECONDS: u64 = 5;

/// A listener that lost its connection waits this long before it listens again.
const LISTEN_AGAIN_MILLISECONDS: u64 = 500;

/// Tells changes here and elsewhere.
pub(super) struct Newsroom {
    changes: Changes,
    waiting: Mutex<Option<mpsc::Sender<OperationId>>>,
}

impl Newsroom {
    /// Starts telling and listening.
    pub(super) fn open(
        options: &PgConnectOptions,
        changes: Changes,
        entropy: &dyn Entropy,
        tasks: &TaskTracker,
        closing: CancellationToken,
    ) -> Self {
        // By its mark a process knows its own news, which its subscribers have already.
        let mark = Uuid::from_bytes(entropy.bytes()).simple().to_string();
        let (sender, receiver) = mpsc::channel(NEWS_WAITING_MAX);
        tasks.spawn(tell_others(receiver, Line::new(options.clone()), mark.clone()));
        let hears = listen(options.clone(), changes.clone(), mark);
        tasks.spawn(async move { closing.run_until_cancelled(hears).await });
        Self { changes, waiting: Mutex::new(Some(sender)) }
    }

    /// Tells that these operations have changed.
    pub(super) fn tell(&self, operations: Vec<OperationId>) {
        let sender = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for operation in operations {
            self.changes.tell(operation);
            if let Some(sender) = &sender {
                // Too much at once for those elsewhere: they look again by themselves.
                let _untold = sender.try_send(operation);
            }
        }
    }

    /// Tells nothing more to others.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

async fn tell_others(mut waiting: mpsc::Receiver<OperationId>, mut line: Line, mark: String) {
    let mut changed = Vec::new();
    while waiting.recv_many(&mut changed, NEWS_PER_ROUND_MAX).await > 0 {
        let distinct: HashSet<OperationId> = changed.drain(..).collect();
        let distinct: Vec<OperationId> = distinct.into_iter().collect();
        let notifications: Vec<String> =
            distinct.chunks(IDS_PER_NOTIFICATION_MAX).map(|operations| write(&mark, operations)).collect();
        if let Err(Trouble::Lost) = notify(&mut line, &notifications).await {
            // Once more over a new connection; then they are let go, since whoever waits looks again by itself.
            line.hang_up();
            let _untold = notify(&mut line, &notifications).await;
        }
        tokio::time::sleep(Duration::from_millis(NEWS_PAUSE_MILLISECONDS)).await;
    }
    line.close().await;
}

async fn notify(line: &mut Line, notifications: &[String]) -> Result<(), Trouble> {
    let connection = line.connection().await?;
    let notify = sqlx::query("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload");
    bounded(notify.bind(CHANNEL).bind(notifications).execute(connection)).await?;
    Ok(())
}

async fn listen(options: PgConnectOptions, changes: Changes, mark: String) {
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    loop {
        if let Err(error) = hear(&pool, &changes, &mark).await {
            tracing::warn!(%error, "changes of other servers are not heard; listening again");
        }
        tokio::time::sleep(Duration::from_millis(LISTEN_AGAIN_MILLISECONDS)).await;
    }
}

/// Hears until the connection is lost.
async fn hear(pool: &sqlx::PgPool, changes: &Changes, mark: &str) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    while let Some(notification) = listener.try_recv().await? {
        for operation in read(mark, notification.payload()) {
            changes.tell(operation);
        }
    }
    Ok(())
}

/// A notification: the mark of the process, then the ids of the operations.
fn write(mark: &str, operations: &[OperationId]) -> String {
    let ids = operations.iter().map(|operation| format!("{:032x}", operation.as_u128()));
    std::iter::once(mark.to_owned()).chain(ids).collect()
}

/// The operations of a notification; none where it is our own.
fn read(mark: &str, payload: &str) -> Vec<OperationId> {
    if payload.starts_with(mark) {
        return Vec::new();
    }
    let parts = payload.as_bytes().chunks_exact(32).skip(1);
    let ids = parts.filter_map(|digits| u128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    ids.map(OperationId::from_u128).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_read_by_others_only_and_fits() {
        let (ours, theirs) = ("a".repeat(32), "b".repeat(32));
        let operations: Vec<OperationId> =
            (0..IDS_PER_NOTIFICATION_MAX).map(|id| OperationId::from_u128(id as u128)).collect();
        let payload = write(&ours, &operations);
        assert!(payload.len() < 8_000, "{}", payload.len());
        assert_eq!(read(&theirs, &payload), operations);
        assert_eq!(read(&ours, &payload), []);
    }
}
