//! Lookups of one operation by its id or its key: begins and reports ask for nothing else, so they are asked together.
//!
//! Each lane takes whatever questions wait, puts them into one statement, and answers each. Nothing waits for company: alone, a
//! question is asked at once. A lost connection is made again and the questions are asked again; reading twice harms nobody.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use guard::operation::Operation;
use guard::refusal::StoreFault;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::connection::{Line, bounded};
use super::fault::Trouble;
use crate::store::row::OperationRow;

/// This many lanes ask at the same time, each over a connection of its own.
const LANES: usize = 2;

/// One statement holds at most this many questions.
const QUESTIONS_PER_STATEMENT_MAX: usize = 256;

/// At most this many questions wait; those behind them wait for a place.
const QUESTIONS_WAITING_MAX: usize = 4_096;

/// A question is asked again for this long while the database cannot be reached, then answered [`StoreFault::Unavailable`].
const QUESTION_SECONDS_MAX: u64 = 5;

/// A lane waits this long before it makes a lost connection again.
const RECONNECT_MILLISECONDS: u64 = 50;

/// Two reads by index in one statement; an OR of both would be planned with more care than it is worth.
static OPERATIONS: LazyLock<String> = LazyLock::new(|| {
    let columns = OperationRow::COLUMNS;
    format!(
        "SELECT {columns} FROM operation WHERE id = ANY($1) \
         UNION ALL SELECT {columns} FROM operation WHERE key_hash = ANY($2)"
    )
});

/// Under what an operation is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// Its id.
    Id(Uuid),
    /// The hash of its key.
    KeyHash([u8; 16]),
}

struct Question {
    by: By,
    until: Instant,
    answer: oneshot::Sender<Result<Option<Operation>, StoreFault>>,
}

/// The queue before the lanes.
pub(super) struct Lookup {
    waiting: Mutex<Option<mpsc::Sender<Question>>>,
}

impl Lookup {
    /// Opens the lanes; each connects when it is first asked.
    pub(super) fn open(options: &PgConnectOptions, tasks: &TaskTracker) -> Self {
        let (sender, receiver) = mpsc::channel(QUESTIONS_WAITING_MAX);
        let waiting = Arc::new(tokio::sync::Mutex::new(receiver));
        for _ in 0..LANES {
            tasks.spawn(answer_all(Arc::clone(&waiting), Line::new(options.clone())));
        }
        Self { waiting: Mutex::new(Some(sender)) }
    }

    /// The operation that is found.
    ///
    /// # Errors
    /// [`StoreFault::Unavailable`] when the database could not be reached in time or the lanes are closed; a corrupt row.
    pub(super) async fn find(&self, by: By) -> Result<Option<Operation>, StoreFault> {
        let sender = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or(StoreFault::Unavailable)?;
        let until = Instant::now() + Duration::from_secs(QUESTION_SECONDS_MAX);
        let (answer, answered) = oneshot::channel();
        match tokio::time::timeout_at(until, sender.send(Question { by, until, answer })).await {
            Ok(Ok(())) => answered.await.unwrap_or(Err(StoreFault::Unavailable)),
            Ok(Err(_)) | Err(_) => Err(StoreFault::Unavailable),
        }
    }

    /// Takes no more questions; the lanes end when the last one is answered.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

async fn answer_all(waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<Question>>>, mut line: Line) {
    let mut taken = Vec::new();
    loop {
        if waiting.lock().await.recv_many(&mut taken, QUESTIONS_PER_STATEMENT_MAX).await == 0 {
            return line.close().await;
        }
        answer(&mut line, &mut taken).await;
    }
}

/// Answers all that were taken.
async fn answer(line: &mut Line, taken: &mut Vec<Question>) {
    loop {
        // One whose asker went away needs no answer.
        taken.retain(|question| !question.answer.is_closed());
        if taken.is_empty() {
            return;
        }
        let found = match line.connection().await {
            Ok(connection) => bounded(find(connection, taken)).await,
            Err(trouble) => Err(trouble),
        };
        match found {
            Ok(found) => {
                for Question { by, answer, .. } in taken.drain(..) {
                    let _gone = answer.send(found.get(&by).cloned().map(Operation::try_from).transpose());
                }
            }
            Err(Trouble::Lost | Trouble::Contended) => {
                line.hang_up();
                let now = Instant::now();
                for late in taken.extract_if(.., |question| question.until <= now) {
                    let _gone = late.answer.send(Err(StoreFault::Unavailable));
                }
                tokio::time::sleep(Duration::from_millis(RECONNECT_MILLISECONDS)).await;
            }
            Err(trouble @ (Trouble::Full | Trouble::Unable | Trouble::Refused { .. })) => {
                for Question { answer, .. } in taken.drain(..) {
                    let _gone = answer.send(Err(trouble.clone().fault(&"")));
                }
            }
        }
    }
}

async fn find(connection: &mut PgConnection, questions: &[Question]) -> Result<HashMap<By, OperationRow>, sqlx::Error> {
    let (mut ids, mut key_hashes) = (Vec::new(), Vec::new());
    for question in questions {
        match &question.by {
            By::Id(id) => ids.push(*id),
            By::KeyHash(hash) => key_hashes.push(hash.as_slice()),
        }
    }
    let (by_id, by_hash) = (!ids.is_empty(), !key_hashes.is_empty());
    let rows: Vec<OperationRow> = sqlx::query_as(&OPERATIONS).bind(ids).bind(key_hashes).fetch_all(connection).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        if let (true, Ok(hash)) = (by_hash, <[u8; 16]>::try_from(row.key_hash.as_slice())) {
            found.insert(By::KeyHash(hash), row.clone());
        }
        if by_id {
            found.insert(By::Id(row.id), row);
        }
    }
    Ok(found)
}
