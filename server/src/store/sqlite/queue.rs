//! What waits for the writer: jobs that somebody waits for, and deliveries that are written behind their answer.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, TryAcquireError};

use guard::refusal::StoreFault;
use guard::store::Delivery;

use super::writer::Job;
use crate::store::behind::Behind;

/// This many jobs may wait; whoever comes then waits outside.
pub(super) const JOBS_WAITING_MAX: usize = 4_096;

/// The writer takes at most this many jobs into one transaction: a commit then stays short, and the fsync is shared well enough.
pub(super) const JOBS_PER_GROUP_MAX: usize = 256;

/// A delivery is written at most this long after its answer.
pub(super) const BEHIND_MILLISECONDS_MAX: u64 = 900;

/// What the writer shall do next.
pub(super) struct Turn {
    /// Jobs to commit together.
    pub jobs: Vec<Box<dyn Job>>,
    /// Whether deliveries are due.
    pub flush: bool,
    /// Whether nothing will come any more.
    pub last: bool,
}

#[derive(Default)]
struct Waiting {
    jobs: std::collections::VecDeque<Box<dyn Job>>,
    flush_at: Option<Instant>,
    is_closed: bool,
}

/// The queue before the writer.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    places: Semaphore,
    behind: Mutex<Behind>,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            places: Semaphore::new(JOBS_WAITING_MAX),
            behind: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The deliveries that wait.
    pub(super) fn behind(&self) -> MutexGuard<'_, Behind> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a job to the writer, once there is a place for it.
    pub(super) async fn put(&self, job: Box<dyn Job>) -> Result<(), StoreFault> {
        let place = match self.places.try_acquire() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits) => self.places.acquire().await.map_err(|_| StoreFault::Unavailable)?,
            Err(TryAcquireError::Closed) => return Err(StoreFault::Unavailable),
        };
        // The place is given back when the writer takes the job.
        place.forget();
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return Err(StoreFault::Unavailable);
        }
        waiting.jobs.push_back(job);
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes note of a delivery; never waits.
    pub(super) fn note(&self, delivery: Delivery) {
        let noted = self.behind().note(delivery);
        if noted.is_first || noted.is_full {
            let wait = if noted.is_full { Duration::ZERO } else { Duration::from_millis(BEHIND_MILLISECONDS_MAX) };
            let due = Instant::now() + wait;
            let mut waiting = self.waiting();
            waiting.flush_at = Some(waiting.flush_at.map_or(due, |before| before.min(due)));
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Asks for another flush: at once for what one flush could not take, later for one that failed.
    pub(super) fn flush_again(&self, wait: Duration) {
        let due = Instant::now() + wait;
        let mut waiting = self.waiting();
        waiting.flush_at = Some(waiting.flush_at.map_or(due, |before| before.min(due)));
    }

    /// No more jobs are taken; those that wait are still done.
    pub(super) fn close(&self) {
        self.waiting().is_closed = true;
        self.places.close();
        self.changed.notify_one();
    }

    /// The writer is gone: whoever waits is answered that the store is unavailable.
    pub(super) fn abandon(&self) {
        self.close();
        let abandoned = std::mem::take(&mut self.waiting().jobs);
        drop(abandoned);
    }

    /// Waits until there is something to do. For the writer's thread.
    pub(super) fn take(&self) -> Turn {
        let mut waiting = self.waiting();
        loop {
            let now = Instant::now();
            let flush = waiting.flush_at.is_some_and(|due| due <= now);
            if !waiting.jobs.is_empty() || flush || waiting.is_closed {
                if flush {
                    waiting.flush_at = None;
                }
                let number = waiting.jobs.len().min(JOBS_PER_GROUP_MAX);
                let jobs: Vec<_> = waiting.jobs.drain(..number).collect();
                let last = waiting.is_closed && waiting.jobs.is_empty();
                drop(waiting);
                self.places.add_permits(jobs.len());
                return Turn { jobs, flush, last };
            }
            waiting = match waiting.flush_at {
                Some(due) => {
                    let timed = self.changed.wait_timeout(waiting, due.saturating_duration_since(now));
                    timed.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
