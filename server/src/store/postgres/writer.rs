//! Writers: every change of an operation passes through one of them, together with whatever else waits.
//!
//! A writer takes what is queued, stores it in one transaction and answers each caller after the commit. No timer: while one batch is
//! being stored, the next one gathers. An item that the database refuses fails alone.
//!
//! # When the connection is lost
//! A change under way may then have been committed, or may still be. It is sent again: its trail entry belongs to it alone, a new
//! operation keeps its id and a replacement its version, so that the second try can only find the first one's work or do it, and
//! never do it twice. A try that finds the way barred asks the trail whether its own entry bars it. Where the database stays away too
//! long, the caller is told [`StoreFault::Unavailable`]; should the first try have been committed after all, then as a grant that
//! nobody holds: its lease runs out, and the same `begin_id` gets it again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guard::id::OperationId;
use guard::refusal::StoreFault;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::batch::{self, Change};
use super::connection::{Line, bounded};
use super::fault::Trouble;
use super::news::Newsroom;

/// This many writers work at the same time: while one waits for the disk, the other's batch is being made.
pub(super) const WRITERS: usize = 2;

/// A batch holds at most this many changes.
const BATCH_CHANGES_MAX: usize = 128;

/// A batch sends at most about this many bytes of bodies; a single change may be larger.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// At most this many changes wait; those behind them wait for a place.
const CHANGES_WAITING_MAX: usize = 1_024;

/// A change is tried for this long, from when it was asked for; then it is answered [`StoreFault::Unavailable`].
const CHANGE_SECONDS_MAX: u64 = 5;

/// A writer waits this long before the next try, times the number of tries so far.
const RETRY_MILLISECONDS: u64 = 20;

/// The longest wait before a next try.
const RETRY_MILLISECONDS_MAX: u64 = 500;

struct Job {
    change: Change,
    until: Instant,
    answer: oneshot::Sender<Result<bool, StoreFault>>,
}

impl Job {
    fn settle(self, outcome: Result<bool, StoreFault>) {
        // Whoever asked may have gone away; what was stored stays stored.
        let _gone = self.answer.send(outcome);
    }
}

/// The queue before the writers.
pub(super) struct Writers {
    waiting: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Writers {
    /// Starts the writers; each connects when it is first needed. `slots` are the rows of `count` that each writes.
    pub(super) fn start(
        options: &PgConnectOptions,
        slots: [i64; WRITERS],
        news: &Arc<Newsroom>,
        tasks: &TaskTracker,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(CHANGES_WAITING_MAX);
        let waiting = Arc::new(tokio::sync::Mutex::new(receiver));
        for slot in slots {
            let writer = Writer { line: Line::new(options.clone()), slot, news: Arc::clone(news) };
            tasks.spawn(writer.run(Arc::clone(&waiting)));
        }
        Self { waiting: Mutex::new(Some(sender)) }
    }

    /// Stores a change; false when its key is taken or somebody else moved first.
    ///
    /// # Errors
    /// [`StoreFault::Unavailable`] when it could not be stored in time or the writers are closed, a full disk, a refused record.
    pub(super) async fn store(&self, change: Change) -> Result<bool, StoreFault> {
        let sender = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or(StoreFault::Unavailable)?;
        let until = Instant::now() + Duration::from_secs(CHANGE_SECONDS_MAX);
        let (answer, answered) = oneshot::channel();
        match tokio::time::timeout_at(until, sender.send(Job { change, until, answer })).await {
            Ok(Ok(())) => answered.await.unwrap_or(Err(StoreFault::Unavailable)),
            Ok(Err(_)) | Err(_) => Err(StoreFault::Unavailable),
        }
    }

    /// Takes no more changes; the writers end when the last one is stored.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

struct Writer {
    line: Line,
    slot: i64,
    news: Arc<Newsroom>,
}

/// What came of a batch that was tried until it was clear.
enum Tried {
    /// These operations were changed by it, the others not.
    Stored(HashSet<Uuid>),
    /// Nothing was stored, for this reason.
    Failed(Trouble),
}

impl Writer {
    async fn run(mut self, waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<Job>>>) {
        let mut taken = Vec::new();
        loop {
            if waiting.lock().await.recv_many(&mut taken, BATCH_CHANGES_MAX).await == 0 {
                return self.line.close().await;
            }
            while !taken.is_empty() {
                let batch = next_batch(&mut taken);
                taken.splice(0..0, self.write(batch).await);
            }
        }
    }

    /// Stores a batch in which no two changes touch the same thing, and answers each; gives back those that must be tried again, each
    /// alone.
    async fn write(&mut self, batch: Batch) -> Vec<Job> {
        let Batch { mut jobs, mut rivals } = batch;
        let now = Instant::now();
        for late in jobs.extract_if(.., |job| job.until <= now) {
            late.settle(Err(StoreFault::Unavailable));
        }
        if jobs.is_empty() {
            return rivals;
        }
        let changes: Vec<&Change> = jobs.iter().map(|job| &job.change).collect();
        let until = jobs.iter().map(|job| job.until).max().unwrap_or(now);
        match self.try_until_clear(&changes, until).await {
            Tried::Stored(stored) => {
                let told = stored.iter().map(|id| OperationId::from_u128(id.as_u128()));
                self.news.tell(told.collect());
                for rival in rivals.extract_if(.., |rival| jobs.iter().any(|job| decides(&job.change, &rival.change))) {
                    rival.settle(Ok(false));
                }
                for job in jobs {
                    let is_stored = stored.contains(&job.change.id());
                    job.settle(Ok(is_stored));
                }
                rivals
            }
            Tried::Failed(trouble @ Trouble::Refused { .. }) => {
                if jobs.len() > 1 {
                    // One of them is refused: find out which, each alone.
                    for job in jobs {
                        let alone = Batch { jobs: vec![job], rivals: Vec::new() };
                        Box::pin(self.write(alone)).await;
                    }
                } else {
                    for job in jobs {
                        let id = job.change.id();
                        job.settle(Err(trouble.clone().fault(&id)));
                    }
                }
                rivals
            }
            Tried::Failed(trouble @ (Trouble::Lost | Trouble::Contended | Trouble::Full | Trouble::Unable)) => {
                for job in jobs {
                    job.settle(Err(trouble.clone().fault(&"")));
                }
                rivals
            }
        }
    }

    /// Tries a batch until it is known what became of it, or the time is over.
    async fn try_until_clear(&mut self, changes: &[&Change], until: Instant) -> Tried {
        let mut is_in_doubt = false;
        let mut tries = 0;
        loop {
            tries += 1;
            let trouble = match self.try_once(changes, is_in_doubt).await {
                Ok(stored) => return Tried::Stored(stored),
                Err(Failed { trouble, was_sent }) => {
                    is_in_doubt |= was_sent && trouble == Trouble::Lost;
                    trouble
                }
            };
            match trouble {
                Trouble::Lost => self.line.hang_up(),
                Trouble::Contended => {}
                // Before the changes are reported as failed, what an earlier try may have done is looked up.
                Trouble::Full | Trouble::Unable | Trouble::Refused { .. } => {
                    return match self.found(changes, is_in_doubt).await {
                        Ok(stored) if stored.is_empty() => Tried::Failed(trouble),
                        Ok(stored) => Tried::Stored(stored),
                        Err(_) => Tried::Failed(Trouble::Lost),
                    };
                }
            }
            if Instant::now() >= until {
                return Tried::Failed(trouble);
            }
            let wait = Duration::from_millis((RETRY_MILLISECONDS * tries).min(RETRY_MILLISECONDS_MAX));
            tokio::time::sleep_until((Instant::now() + wait).min(until)).await;
        }
    }

    /// Stores the batch; where an earlier try is in doubt, what it did counts as stored too.
    async fn try_once(&mut self, changes: &[&Change], is_in_doubt: bool) -> Result<HashSet<Uuid>, Failed> {
        let slot = self.slot;
        let connection = self.line.connection().await.map_err(|trouble| Failed { trouble, was_sent: false })?;
        let stored = bounded(batch::store(connection, changes, slot)).await;
        let stored = stored.map_err(|trouble| Failed { trouble, was_sent: true })?;
        let mut stored: HashSet<Uuid> = stored.into_iter().collect();
        if is_in_doubt && stored.len() < changes.len() {
            let found = self.found(changes, is_in_doubt).await;
            stored.extend(found.map_err(|trouble| Failed { trouble, was_sent: true })?);
        }
        Ok(stored)
    }

    /// The operations whose trail holds the very entries of these changes.
    async fn found(&mut self, changes: &[&Change], is_in_doubt: bool) -> Result<HashSet<Uuid>, Trouble> {
        if !is_in_doubt {
            return Ok(HashSet::new());
        }
        let marks: Vec<_> = changes.iter().map(|change| change.mark()).collect();
        let connection = self.line.connection().await?;
        Ok(bounded(batch::stored_of(connection, &marks)).await?.into_iter().collect())
    }
}

struct Failed {
    trouble: Trouble,
    /// Whether the changes had been sent, so that they may have been stored.
    was_sent: bool,
}

/// Changes that are stored together, and those that must wait for what becomes of them.
struct Batch {
    jobs: Vec<Job>,
    rivals: Vec<Job>,
}

/// Takes a batch from the front: bounded in bytes, one change for each operation and each key.
fn next_batch(taken: &mut Vec<Job>) -> Batch {
    let mut batch = Batch { jobs: Vec::with_capacity(taken.len()), rivals: Vec::new() };
    let (mut operations, mut keys) = (HashSet::new(), HashSet::new());
    let mut bytes = 0;
    let mut rest = Vec::new();
    for job in taken.drain(..) {
        bytes += job.change.bytes();
        if bytes > BATCH_BYTES_MAX && !batch.jobs.is_empty() {
            rest.push(job);
            continue;
        }
        let is_alone = match &job.change {
            Change::Insert(new) => keys.insert(new.operation.key.hash()),
            Change::Replace(_) => operations.insert(job.change.id()),
        };
        if is_alone { batch.jobs.push(job) } else { batch.rivals.push(job) }
    }
    *taken = rest;
    batch
}

/// Whether the rival has lost, whatever became of the change: it wants the same key, or to follow on the same version.
fn decides(change: &Change, rival: &Change) -> bool {
    match (change, rival) {
        (Change::Insert(new), Change::Insert(rival)) => new.operation.key == rival.operation.key,
        // A conflict that is there already makes a change stale while the version still stands.
        (Change::Replace(replacement), Change::Replace(rival)) => {
            replacement.conflict.is_none()
                && replacement.operation.id == rival.operation.id
                && replacement.operation.version >= rival.operation.version
        }
        (Change::Insert(_), Change::Replace(_)) | (Change::Replace(_), Change::Insert(_)) => false,
    }
}
