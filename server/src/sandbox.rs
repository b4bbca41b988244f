//! The sandbox: a small system of record that behaves as badly as it is told to.
//!
//! It stands for "the other system" in drills, tests and first steps. Records are durable before they are acknowledged, so that its count
//! may be believed; everything else about it (lost answers, lagging searches, refusals) is a fault that somebody asked for, by a header of a
//! request or at `/sandbox/faults`.

mod control;
mod fault;
mod profile;
mod record;
mod rule;
mod search;
mod settings;
mod task;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use guard::clock::Clock;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

pub use fault::{FAULT_HEADER, Fault, Step};
pub use profile::configuration;
pub use record::{Counts, GROUPS_MAX, RECORDS_MAX, RecordFault};
pub use rule::{Rule, Times};
pub use settings::{ExistsShape, LAG_MILLISECONDS_MAX, PAGE_RECORDS_MAX, Settings};

use crate::listener::{self, Drained};
use fault::Faults;
use record::Records;
use rule::Rules;

/// Where the sandbox listens where nothing is said.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:9090";

/// The header that carries the external reference of a record.
pub const REFERENCE_HEADER: &str = "X-Reference";

/// The header that carries a caller's idempotency key; honoured where [`Settings::honours_idempotency_keys`] says so.
pub const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// The longest body of a record, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// So many connections are served at once; further ones wait.
const CONNECTIONS_MAX: usize = 4_096;

/// A running sandbox. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

struct Shared {
    records: Records,
    clock: Arc<dyn Clock>,
    settings: Mutex<Settings>,
    rules: Mutex<Rules>,
    /// How many requests of each step arrived, and how many faults were made, since the start.
    requests: Mutex<BTreeMap<&'static str, u64>>,
    /// Requests that are carried out though their caller may have gone.
    work: TaskTracker,
}

/// Marks an answer that is never given: the connection ends instead.
#[derive(Clone)]
struct Cut;

impl Sandbox {
    /// A sandbox over this file, which is made where it is missing, and holds what it held before.
    ///
    /// # Errors
    /// The file cannot be opened or is none of a sandbox.
    pub fn open(file: &Path, settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, RecordFault> {
        let shared = Shared {
            records: Records::open(file)?,
            clock,
            settings: Mutex::new(settings),
            rules: Mutex::default(),
            requests: Mutex::default(),
            work: TaskTracker::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Makes a fault happen from now on.
    ///
    /// # Errors
    /// There are too many rules already.
    pub fn add_rule(&self, rule: Rule) -> Result<(), String> {
        locked(&self.shared.rules).add(rule)
    }

    /// What is held, whatever searches show.
    ///
    /// # Errors
    /// The file's fault.
    pub async fn counts(&self) -> Result<Counts, RecordFault> {
        self.shared.records.counts().await
    }

    /// What is held for each value of a member, or of `external_reference`; at most [`GROUPS_MAX`] values.
    ///
    /// # Errors
    /// The file's fault.
    pub async fn counts_by(&self, member: &str) -> Result<BTreeMap<String, Counts>, RecordFault> {
        self.shared.records.counts_by(member.to_owned()).await
    }

    /// Every address that is answered. An answer that is to be lost carries a mark, which [`Sandbox::serve`] obeys.
    fn router(&self) -> Router {
        Router::new()
            // The system of record
            .route("/tasks", post(task::create).get(search::search))
            .route("/tasks/{id}", get(task::read).patch(task::change).delete(task::void))
            // Behind its back: never a fault, never late
            .route("/sandbox", get(control::help))
            .route("/sandbox/count", get(control::count))
            .route("/sandbox/tasks", get(search::all))
            .route("/sandbox/faults", get(control::rules).post(control::add_rule).delete(control::clear_rules))
            .route("/sandbox/settings", get(control::settings).patch(control::change_settings))
            .fallback(async || answer_error(StatusCode::NOT_FOUND, "not_found", "GET /sandbox lists the addresses"))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .with_state(self.clone())
    }

    /// Answers until `draining` is cancelled. Whatever was asked for is carried out before it returns.
    pub async fn serve(&self, listener: TcpListener, draining: CancellationToken) -> Drained {
        let router = self.router();
        let service = tower::service_fn(move |request: Request| {
            let answered = router.clone().oneshot(request);
            async move {
                match answered.await {
                    Ok(answer) if answer.extensions().get::<Cut>().is_some() => {
                        Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the fault that was asked for"))
                    }
                    Ok(answer) => Ok(answer),
                    Err(never) => match never {},
                }
            }
        });
        let drained = listener::serve(listener, service, CONNECTIONS_MAX, draining).await;
        self.shared.work.close();
        self.shared.work.wait().await;
        drained
    }

    /// Carries a request out to its end, also when its caller hangs up: a system that has read a request does what it says.
    async fn to_the_end(&self, work: impl Future<Output = Response> + Send + 'static) -> Response {
        match self.shared.work.spawn(work).await {
            Ok(answer) => answer,
            Err(error) => answer_error(StatusCode::INTERNAL_SERVER_ERROR, "broken", &error.to_string()),
        }
    }

    /// The faults of this request: those that its header asks for, and those of the rules that it meets.
    fn faults(&self, step: Step, headers: &HeaderMap) -> Result<Faults, UnknownFault> {
        let mut faults = Faults::from_header(headers).map_err(UnknownFault)?;
        for fault in locked(&self.shared.rules).hit(step) {
            faults.add(fault);
        }
        let mut requests = locked(&self.shared.requests);
        for name in [step.as_str()].into_iter().chain(faults.names()) {
            *requests.entry(name).or_default() += 1;
        }
        Ok(faults)
    }

    fn settings(&self) -> Settings {
        locked(&self.shared.settings).clone()
    }
}

/// A poisoned lock guards values that are whole all the same: each is replaced in one step.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An answer that says what is wrong, in the sandbox's own shape.
fn answer_error(status: StatusCode, code: &str, message: &str) -> Response {
    (status, axum::Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}

/// An answer with this JSON text.
fn answer_json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// No answer: the connection is cut.
fn cut() -> Response {
    let mut answer = StatusCode::BAD_GATEWAY.into_response();
    answer.extensions_mut().insert(Cut);
    answer
}

/// The header asks for a fault that there is not: nothing is done, so that nobody believes that it happened.
struct UnknownFault(String);

impl IntoResponse for UnknownFault {
    fn into_response(self) -> Response {
        answer_error(StatusCode::BAD_REQUEST, "unknown_fault", &self.0)
    }
}

impl From<RecordFault> for Response {
    fn from(fault: RecordFault) -> Self {
        let status = match fault {
            RecordFault::Full => StatusCode::INSUFFICIENT_STORAGE,
            RecordFault::Database(_) | RecordFault::Body(_) | RecordFault::Ended => StatusCode::INTERNAL_SERVER_ERROR,
        };
        answer_error(status, "not_stored", &fault.to_string())
    }
}
