//! The one writer: a thread that takes whatever waits, runs it in one transaction, commits once and then answers everybody. The price
//! of an fsync is shared by all who wait, and groups form by themselves: while one is being committed, the next one gathers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::summary::Count;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::queue::Queue;
use super::{connection, fault};
use crate::store::Changes;
use crate::store::behind::Counts;

/// A flush that failed is tried again after this long.
const FLUSH_AGAIN_MILLISECONDS: u64 = 500;

/// When the database is closed, a flush that fails is tried this often.
const CLOSING_TRIES_MAX: u32 = 3;

/// Something that is written atomically.
pub(super) trait Work: Send + 'static {
    /// What became of it.
    type Answer: Send + 'static;

    /// Writes it inside a transaction. After an error the writer takes back what was written.
    fn run(&self, transaction: &Connection) -> Result<Self::Answer, StoreFault>;

    /// What is counted for it.
    fn counts(&self, answer: &Self::Answer) -> &[Count];

    /// The operation that it changed.
    fn changed(&self, answer: &Self::Answer) -> Option<OperationId>;
}

/// A work that somebody waits for.
pub(super) trait Job: Send {
    /// Runs the work and keeps its answer.
    fn run(&mut self, transaction: &Connection, counts: &mut Counts) -> Result<(), StoreFault>;

    /// Keeps a fault as the answer.
    fn fail(&mut self, fault: StoreFault);

    /// Gives the answer to whoever waits; says what was changed.
    fn answer(self: Box<Self>) -> Option<OperationId>;
}

struct Ticket<W: Work> {
    work: W,
    outcome: Result<W::Answer, StoreFault>,
    waiter: oneshot::Sender<Result<W::Answer, StoreFault>>,
}

impl<W: Work> Job for Ticket<W> {
    fn run(&mut self, transaction: &Connection, counts: &mut Counts) -> Result<(), StoreFault> {
        let answer = self.work.run(transaction)?;
        for count in self.work.counts(&answer) {
            counts.add(count);
        }
        self.outcome = Ok(answer);
        Ok(())
    }

    fn fail(&mut self, fault: StoreFault) {
        self.outcome = Err(fault);
    }

    fn answer(self: Box<Self>) -> Option<OperationId> {
        let Self { work, outcome, waiter } = *self;
        let changed = outcome.as_ref().ok().and_then(|answer| work.changed(answer));
        // Whoever asked may have gone; the work is done all the same.
        let _gone = waiter.send(outcome);
        changed
    }
}

/// Has the writer do a work, and waits until it is durable.
pub(super) async fn perform<W: Work>(queue: &Queue, work: W) -> Result<W::Answer, StoreFault> {
    let (waiter, answered) = oneshot::channel();
    queue.put(Box::new(Ticket { work, outcome: Err(StoreFault::Unavailable), waiter })).await?;
    // Without an answer the writer is gone.
    answered.await.unwrap_or(Err(StoreFault::Unavailable))
}

/// Why a group was not committed.
enum NotCommitted {
    /// One item failed; everything was taken back.
    Item(StoreFault),
    /// All of it failed.
    Group(StoreFault),
}

/// The writer's thread.
pub(super) struct Writer {
    pub path: PathBuf,
    pub queue: Arc<Queue>,
    pub changes: Changes,
    pub connection: Connection,
    pub closed: oneshot::Sender<()>,
}

impl Writer {
    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let _abandoned = AbandonOnExit(Arc::clone(&self.queue));
        loop {
            let turn = self.queue.take();
            if !turn.jobs.is_empty() {
                self.commit(turn.jobs);
            }
            if turn.last {
                break;
            }
            if turn.flush {
                self.flush();
            }
        }
        self.close();
    }

    /// Commits a group and answers it.
    fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let committed = match self.attempt(&mut jobs, false) {
            // Alone, it was the one; otherwise the others must not suffer for it.
            Err(NotCommitted::Item(_)) if jobs.len() > 1 => self.attempt(&mut jobs, true),
            done => done,
        };
        if let Err(NotCommitted::Item(fault) | NotCommitted::Group(fault)) = committed {
            // The lock must not be held while the next group gathers.
            roll_back(&self.connection);
            for job in &mut jobs {
                job.fail(fault.clone());
            }
        }
        for job in jobs {
            if let Some(operation) = job.answer() {
                self.changes.tell(operation);
            }
        }
    }

    /// Runs the jobs in one transaction. With savepoints, an item that fails fails alone; without, it costs nothing to be able to.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>], savepoints: bool) -> Result<(), NotCommitted> {
        let connection = self.begin().map_err(NotCommitted::Group)?;
        let mut counts = Counts::default();
        for job in jobs {
            if savepoints {
                execute(connection, "SAVEPOINT item").map_err(NotCommitted::Group)?;
            }
            let Err(fault) = job.run(connection, &mut counts) else {
                if savepoints {
                    execute(connection, "RELEASE item").map_err(NotCommitted::Group)?;
                }
                continue;
            };
            if !savepoints {
                roll_back(connection);
                return Err(NotCommitted::Item(fault));
            }
            if connection.is_autocommit() {
                // SQLite has taken back the whole transaction by itself.
                return Err(NotCommitted::Group(fault));
            }
            execute(connection, "ROLLBACK TO item; RELEASE item").map_err(NotCommitted::Group)?;
            job.fail(fault);
        }
        counts.write(connection).and_then(|()| execute(connection, "COMMIT")).map_err(|fault| {
            roll_back(connection);
            NotCommitted::Group(fault)
        })
    }

    /// Begins a transaction, on a new connection where the old one is stuck.
    fn begin(&mut self) -> Result<&Connection, StoreFault> {
        if !self.connection.is_autocommit() {
            roll_back(&self.connection);
        }
        if !self.connection.is_autocommit() {
            self.connection = connection::writer(&self.path).map_err(|error| fault::of(&error, "the file", &"-"))?;
        }
        // At once as a writer: a transaction that began as a reader could not become one behind another process.
        execute(&self.connection, "BEGIN IMMEDIATE")?;
        Ok(&self.connection)
    }

    /// Writes deliveries that wait; what does not fit into one flush, or fails, is asked for again.
    fn flush(&mut self) {
        let taken = self.queue.behind().take();
        if taken.is_empty() {
            return;
        }
        let written = self.begin().and_then(|connection| {
            taken.write(connection).and_then(|()| execute(connection, "COMMIT")).inspect_err(|_| roll_back(connection))
        });
        match written {
            Ok(()) if self.queue.behind().is_empty() => {}
            Ok(()) => self.queue.flush_again(Duration::ZERO),
            Err(_) => {
                self.queue.behind().put_back(taken);
                self.queue.flush_again(Duration::from_millis(FLUSH_AGAIN_MILLISECONDS));
            }
        }
    }

    /// Writes what waits, and carries the log over into the file.
    fn close(mut self) {
        let mut tries = 0;
        while !self.queue.behind().is_empty() && tries < CLOSING_TRIES_MAX {
            let before = self.queue.behind().size();
            self.flush();
            let is_stuck = self.queue.behind().size() >= before;
            tries = if is_stuck { tries + 1 } else { 0 };
        }
        if !self.queue.behind().is_empty() {
            tracing::error!("the last counts of deliveries could not be written");
        }
        if let Err(error) = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);") {
            tracing::warn!(%error, "the log was not carried over into the database file; the next start does it");
        }
        drop(self.connection);
        let _gone = self.closed.send(());
    }
}

/// Nobody waits for a writer that is gone, however it went.
struct AbandonOnExit(Arc<Queue>);

impl Drop for AbandonOnExit {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreFault> {
    connection.execute_batch(sql).map_err(|error| fault::of(&error, "the transaction", &"-"))
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a transaction could not be taken back; the connection is opened anew");
    }
}
