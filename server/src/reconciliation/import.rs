//! A file that is handed in: kept on disk while it is read, checked as a whole before anything is stored, then reconciled.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use futures::StreamExt as _;
use guard::actor::Actor;
use guard::clock::{Timestamp, rfc3339};
use guard::reconciliation::{Format, Mapping, Origin, Record, Scope, WARNINGS_MAX};
use guard::refusal::Refusal;
use guard::service::{Guard, ReconcileRequest, Reconciliation};
use guard::workflow::Workflow;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::sync::{Semaphore, mpsc};

use super::{FAULTS_MAX, FILE_BYTES_MAX, Fault, Plan, Records};
use crate::problem::{Code, Problem};

/// A file arrives within this time.
pub const FILE_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// So many records are handed on together.
const BATCH_RECORDS: usize = 500;

/// So many batches are read ahead.
const BATCHES_AHEAD: usize = 2;

/// So many files are reconciled at a time by one process: each takes memory while it is. Others wait.
static PLACES: Semaphore = Semaphore::const_new(2);

/// A file on disk, gone with its last owner.
pub struct Upload {
    file: NamedTempFile,
    sha256: String,
}

impl Upload {
    /// Keeps the bytes of a body.
    ///
    /// # Errors
    /// More than [`FILE_BYTES_MAX`], a body that breaks off or takes too long, a disk that is full.
    pub async fn of_body(body: Body) -> Result<Self, Problem> {
        match tokio::time::timeout(FILE_TIME_MAX, Self::collect(body)).await {
            Ok(kept) => kept,
            Err(_elapsed) => Err(Problem::new(Code::RequestTimeout, "the file did not arrive within 15 minutes")),
        }
    }

    async fn collect(body: Body) -> Result<Self, Problem> {
        let mut kept = Keeping::new()?;
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Problem::new(Code::InvalidFile, "the file broke off"))?;
            kept.add(&chunk)?;
        }
        kept.finish()
    }
}

/// A file that is still coming in.
pub struct Keeping {
    file: NamedTempFile,
    hash: Sha256,
    bytes: usize,
}

impl Keeping {
    /// Starts a file.
    ///
    /// # Errors
    /// The disk.
    pub fn new() -> Result<Self, Problem> {
        let file = NamedTempFile::new().map_err(|error| not_kept(&error))?;
        Ok(Self { file, hash: Sha256::new(), bytes: 0 })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// There are too many; the disk.
    pub fn add(&mut self, chunk: &[u8]) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(chunk.len());
        if self.bytes > FILE_BYTES_MAX {
            return Err(crate::body::too_large(FILE_BYTES_MAX));
        }
        self.hash.update(chunk);
        self.file.write_all(chunk).map_err(|error| not_kept(&error))
    }

    /// The whole file.
    ///
    /// # Errors
    /// The disk.
    pub fn finish(mut self) -> Result<Upload, Problem> {
        self.file.flush().and_then(|()| self.file.seek(SeekFrom::Start(0))).map_err(|error| not_kept(&error))?;
        Ok(Upload { file: self.file, sha256: hex::encode(self.hash.finalize()) })
    }
}

fn not_kept(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "a file for reconciliation could not be kept in the folder for temporary files");
    Problem::new(
        Code::StoreFull,
        "the file cannot be kept while it is read; free space for temporary files, then send it again",
    )
}

/// Everything that is asked for with a file.
pub struct Asked {
    /// The workflow.
    pub workflow: Workflow,
    /// Which operations are compared.
    pub scope: Scope,
    /// Which column holds what.
    pub mapping: Mapping,
    /// The format that the media type says.
    pub declared: Option<Format>,
    /// The encoding that the media type says.
    pub charset: Option<String>,
    /// Whether contradictions are opened however many they are.
    pub opens_all: bool,
    /// Where the records were pulled from; none where they were handed in.
    pub pulled: Option<Pulled>,
    /// Who asks.
    pub actor: Actor,
}

/// Where records were pulled from.
pub struct Pulled {
    /// The destination.
    pub destination: String,
    /// Over how many pages they were spread.
    pub pages: u32,
    /// Records of what was confirmed up to this moment had to be among them.
    pub complete_until: Timestamp,
}

/// Why a file was not reconciled.
#[derive(Debug)]
pub enum NotReconciled {
    /// What is wrong with the file, each with its place.
    Unreadable(Vec<Fault>),
    /// Anything else.
    Refused(Problem),
}

impl From<Refusal> for NotReconciled {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<Problem> for NotReconciled {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<NotReconciled> for Problem {
    fn from(not: NotReconciled) -> Self {
        match not {
            NotReconciled::Unreadable(faults) => invalid(&faults),
            NotReconciled::Refused(problem) => problem,
        }
    }
}

/// Reconciles a file: all of it can be read, or nothing is stored.
///
/// # Errors
/// [`NotReconciled`].
pub async fn reconcile(guard: &Guard, upload: Upload, asked: Asked) -> Result<Reconciliation, NotReconciled> {
    let Ok(_place) = PLACES.acquire().await else {
        return Err(Problem::new(Code::Draining, "the server is about to stop").into());
    };
    let catalogue = guard.catalogue();
    let destination = asked.workflow.destination.as_ref().and_then(|name| catalogue.destinations.get(name));
    let plan = Arc::new(Plan::of(&asked.workflow, destination, asked.mapping.clone()));
    let Upload { file, sha256 } = upload;
    let file = Arc::new(file);
    let mut records =
        FileRecords { plan, file, declared: asked.declared, charset: asked.charset.clone(), coming: None };
    let checked = records.check().await?;
    let (format, warnings) = checked.map_err(NotReconciled::Unreadable)?;
    let content = identity(&sha256, &asked);
    let complete_until = asked.pulled.as_ref().map(|pulled| pulled.complete_until);
    let (identity, origin) = match asked.pulled {
        None => (content, Origin::File { format, sha256 }),
        Some(Pulled { destination, pages, .. }) => {
            (guard.identity_of_pull(&content, &asked.scope).await?, Origin::Pulled { destination, pages, sha256 })
        }
    };
    let request = ReconcileRequest {
        scope: asked.scope,
        origin,
        identity,
        complete_until,
        opens_all: asked.opens_all,
        warnings,
        actor: asked.actor,
    };
    Ok(guard.reconcile(&request, &mut records).await?)
}

/// What tells the same file with the same parameters.
fn identity(sha256: &str, asked: &Asked) -> String {
    let Scope { workflow, company, from, to } = &asked.scope;
    let mapping = serde_json::to_string(&asked.mapping).unwrap_or_default();
    let charset = asked.charset.as_deref().unwrap_or_default();
    let parts = [
        sha256,
        workflow,
        company,
        &from.map(rfc3339).unwrap_or_default(),
        &to.map(rfc3339).unwrap_or_default(),
        &mapping,
        charset,
        if asked.opens_all { "all" } else { "" },
    ];
    let mut hash = Sha256::new();
    let pulled = asked.pulled.as_ref().map(|pulled| pulled.destination.as_str());
    for part in parts.into_iter().chain(pulled) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// The problem of a file.
fn invalid(faults: &[Fault]) -> Problem {
    #[derive(Serialize)]
    struct Faults<'a> {
        faults: &'a [Fault],
    }
    let first = faults.first().map(ToString::to_string).unwrap_or_default();
    let more = faults.len().saturating_sub(1);
    let detail = if more == 0 { first } else { format!("{first} (and {more} more)") };
    Problem::new(Code::InvalidFile, detail).with(&Faults { faults })
}

/// The records of a file, read on a thread of their own, a little ahead of whoever takes them.
struct FileRecords {
    plan: Arc<Plan>,
    file: Arc<NamedTempFile>,
    declared: Option<Format>,
    charset: Option<String>,
    coming: Option<mpsc::Receiver<Result<Vec<Record>, Refusal>>>,
}

type Checked = Result<(Format, Vec<String>), Vec<Fault>>;

impl FileRecords {
    /// Reads everything once, and keeps nothing: what is wrong with it, at most [`FAULTS_MAX`].
    async fn check(&self) -> Result<Checked, Problem> {
        let (plan, file) = (Arc::clone(&self.plan), Arc::clone(&self.file));
        let (declared, charset) = (self.declared, self.charset.clone());
        let checked = tokio::task::spawn_blocking(move || check(&plan, &file, declared, charset.as_deref())).await;
        checked.map_err(|_| Problem::new(Code::Internal, "something broke while the file was read; the log says what"))
    }
}

fn check(plan: &Plan, file: &NamedTempFile, declared: Option<Format>, charset: Option<&str>) -> Checked {
    let reopened = file.reopen().map_err(|error| vec![Fault::of_io(&error)])?;
    let mut records = Records::open(plan, reopened, declared, charset).map_err(|fault| vec![fault])?;
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let (mut held, mut referring) = (0_u64, 0_u64);
    while faults.len() < FAULTS_MAX {
        match records.next_record() {
            Ok(None) => break,
            Ok(Some((record, told))) => {
                held += 1;
                referring += u64::from(record.destination_reference.is_some() || record.external_reference.is_some());
                warnings.extend(told);
                warnings.truncate(WARNINGS_MAX);
            }
            Err(told) => faults.extend(told),
        }
    }
    // A table's header tells it at once; of objects, none that says anything is a mapping that is wrong.
    if held > 0 && referring == 0 && faults.is_empty() {
        let message = "no record holds a destination reference or an external reference where it is looked for; say where \
                       with map.destination_reference or map.external_reference";
        faults.push(Fault::whole(message));
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok((records.format(), warnings)) } else { Err(faults) }
}

#[async_trait]
impl guard::service::Records for FileRecords {
    async fn rewind(&mut self) -> Result<(), Refusal> {
        let (sender, coming) = mpsc::channel(BATCHES_AHEAD);
        self.coming = Some(coming);
        let (plan, file) = (Arc::clone(&self.plan), Arc::clone(&self.file));
        let (declared, charset) = (self.declared, self.charset.clone());
        tokio::task::spawn_blocking(move || {
            let read = read(&plan, &file, declared, charset.as_deref(), &sender);
            // Nobody takes it where the run was given up.
            if let Err(refusal) = read {
                let _given_up = sender.blocking_send(Err(refusal));
            }
        });
        Ok(())
    }

    async fn batch(&mut self) -> Result<Vec<Record>, Refusal> {
        match self.coming.as_mut() {
            Some(coming) => coming.recv().await.unwrap_or_else(|| Ok(Vec::new())),
            None => Ok(Vec::new()),
        }
    }
}

fn read(
    plan: &Plan,
    file: &NamedTempFile,
    declared: Option<Format>,
    charset: Option<&str>,
    sender: &mpsc::Sender<Result<Vec<Record>, Refusal>>,
) -> Result<(), Refusal> {
    // It was read before, so that only the disk can be in the way.
    let failed = |fault: &Fault| Refusal::field("body", fault);
    let reopened = file.reopen().map_err(|error| failed(&Fault::of_io(&error)))?;
    let mut records = Records::open(plan, reopened, declared, charset).map_err(|fault| failed(&fault))?;
    let mut batch = Vec::with_capacity(BATCH_RECORDS);
    loop {
        let record = records.next_record().map_err(|faults| {
            Refusal::field("body", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let is_over = record.is_none();
        batch.extend(record.map(|(record, _)| record));
        if batch.len() == BATCH_RECORDS || (is_over && !batch.is_empty()) {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_RECORDS));
            if sender.blocking_send(Ok(full)).is_err() {
                return Ok(());
            }
        }
        if is_over {
            return Ok(());
        }
    }
}
