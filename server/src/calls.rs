//! The log of calls: what tokens ask is heard by [`crate::observe`], waits for at most half a second and is kept behind the answer, so
//! that no begin waits for it. Where more comes than can be kept, the rest is counted and left out.
//!
//! Strangers leave no trace here: a call belongs to a token. Nothing of the proxy's requests is kept but what they were about, since they
//! hold what is meant for a destination.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use guard::call::{About, Heard, HeardBody};
use guard::clock::Timestamp;
use guard::decision::{Decision, DecisionName};
use guard::id::{OperationId, TokenId};
use guard::json::{Json, NESTING_MAX};
use guard::key::KeyPart;
use guard::token::Token;
use percent_encoding::percent_decode_str;
use tokio::time::MissedTickBehavior;

use crate::background::Work;
use crate::problem::Problem;
use crate::proxy::{ONCEOVER_DECISION, ONCEOVER_OPERATION};
use crate::state::Server;

/// Calls gather this long before they are kept.
const GATHER_MILLISECONDS: u64 = 500;

/// So many calls wait to be kept; further ones are left out.
pub const CALLS_WAITING_MAX: usize = 500;

/// So many of them may be of one token: one that asks a thousand times a second leaves room for others.
pub const CALLS_WAITING_PER_TOKEN_MAX: u32 = 200;

/// So many bytes of requests wait to be kept; beyond, a call is kept without its request.
pub const BYTES_WAITING_MAX: usize = 16 * 1024 * 1024;

/// A longer request is not looked into.
pub const REQUEST_BYTES_READ_MAX: usize = 256 * 1024;

/// Levels of a request above those of a payload: a batch, its items, each with its payload.
const ENVELOPE_LEVELS: usize = 3;

/// What is over the limits is forgotten this often.
const FORGET_SECONDS: u64 = 10;

/// Endpoints below this are logged, where a token asks.
const API: &str = "/api/v1/";

/// So are those of the proxy.
const PROXY: &str = "/proxy/";

/// How the log names every endpoint of the proxy.
pub const PROXY_ENDPOINT: &str = "/proxy/{workflow}/{path}";

/// What is learnt about a call while it is answered. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct CallNote {
    noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
struct Noted {
    token: Option<Arc<Token>>,
    body: Option<Bytes>,
}

impl CallNote {
    /// Whose token it is.
    pub fn token(&self, token: &Arc<Token>) {
        self.lock().token = Some(Arc::clone(token));
    }

    /// The body that came.
    pub fn body(&self, body: &Bytes) {
        self.lock().body = Some(body.clone());
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was decided, on its way out with the answer.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    decision: DecisionName,
    operation: Option<OperationId>,
}

impl Decided {
    /// Of a decision.
    pub fn of(decision: &Decision) -> Self {
        Self { decision: decision.name(), operation: decision.operation().map(|operation| operation.id) }
    }

    /// What the proxy's headers say.
    fn told(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let decision = text(&ONCEOVER_DECISION).and_then(DecisionName::parse)?;
        Some(Self { decision, operation: text(&ONCEOVER_OPERATION).and_then(|id| id.parse().ok()) })
    }
}

/// A call that is being answered.
pub struct Listening {
    note: CallNote,
    at: Timestamp,
    method: String,
    endpoint: String,
    path: String,
    operation: Option<OperationId>,
    about: About,
}

/// A call that waits to be kept; its request is read behind the answer.
struct Waiting {
    heard: Heard,
    body: Option<Bytes>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    of_token: HashMap<TokenId, u32>,
    bytes: usize,
}

/// What waits to be kept.
pub struct CallLog {
    days: u32,
    queue: Mutex<Queue>,
    unlogged: AtomicU64,
}

impl CallLog {
    /// A log that keeps calls for so many days; 0: it keeps none.
    pub fn over(days: u32) -> Self {
        Self { days, queue: Mutex::default(), unlogged: AtomicU64::new(0) }
    }

    /// How many calls this process has left out.
    pub fn unlogged(&self) -> u64 {
        self.unlogged.load(Ordering::Relaxed)
    }

    /// Listens to a request, where the log takes it.
    pub fn listen(&self, server: &Server, route: Option<&str>, request: &mut Request) -> Option<Listening> {
        let route = route.filter(|_| self.days > 0)?;
        let is_proxied = route.starts_with(PROXY);
        if !is_proxied && !route.starts_with(API) {
            return None;
        }
        let note = CallNote::default();
        request.extensions_mut().insert(note.clone());
        let uri = request.uri();
        let (endpoint, path, about) = if is_proxied {
            let workflow = uri.path().trim_start_matches(PROXY).split('/').next().unwrap_or_default();
            let workflow = percent_decode_str(workflow).decode_utf8().ok().filter(|name| KeyPart::new(name).is_ok());
            let about = About { workflow: workflow.map(|name| name.into_owned()), ..About::default() };
            (PROXY_ENDPOINT.to_owned(), PROXY_ENDPOINT.to_owned(), about)
        } else {
            let path = uri.path_and_query().map_or_else(|| uri.path(), |path| path.as_str());
            (route.to_owned(), path.to_owned(), said_by(uri.query().unwrap_or_default()))
        };
        let operation = uri.path().strip_prefix("/api/v1/operations/");
        let operation = operation.and_then(|rest| rest.split('/').next()?.parse().ok());
        let (at, method) = (server.guard.now(), request.method().to_string());
        Some(Listening { note, at, method, endpoint, path, operation, about })
    }

    /// Takes note of an answer; never waits.
    pub fn heard(
        &self,
        listening: Listening,
        response: &Response,
        problem: Option<&Problem>,
        request_id: &str,
        taken: Duration,
    ) {
        let Listening { note, at, method, endpoint, path, operation, about } = listening;
        let Noted { token, body } = std::mem::take(&mut *note.lock());
        let Some(token) = token else { return };
        let decided = response.extensions().get::<Decided>().copied().or_else(|| Decided::told(response.headers()));
        let heard = Heard {
            token,
            at,
            microseconds: u64::try_from(taken.as_micros()).unwrap_or(u64::MAX),
            method,
            endpoint,
            path,
            status: response.status().as_u16(),
            problem: problem.map(|problem| (problem.code().as_str().to_owned(), problem.detail().to_owned())),
            operation: operation.or(decided.and_then(|decided| decided.operation)),
            decision: decided.map(|decided| decided.decision),
            about,
            request_id: request_id.to_owned(),
            body: HeardBody::Empty,
        };
        self.put(heard, body.filter(|body| !body.is_empty()));
    }

    fn put(&self, mut heard: Heard, body: Option<Bytes>) {
        let mut queue = self.queue();
        let waiting = queue.waiting.len();
        let of_token = queue.of_token.entry(heard.token.id).or_default();
        if waiting >= CALLS_WAITING_MAX || *of_token >= CALLS_WAITING_PER_TOKEN_MAX {
            self.unlogged.fetch_add(1, Ordering::Relaxed);
            return;
        }
        *of_token += 1;
        let bytes = body.as_ref().map_or(0, Bytes::len);
        let fits = bytes <= REQUEST_BYTES_READ_MAX && queue.bytes + bytes <= BYTES_WAITING_MAX;
        if bytes > 0 && !fits {
            heard.body = HeardBody::Other(bytes as u64);
        }
        let body = body.filter(|_| fits);
        queue.bytes += body.as_ref().map_or(0, Bytes::len);
        queue.waiting.push(Waiting { heard, body });
    }

    fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.queue()).waiting
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a query says that a call is about.
fn said_by(query: &str) -> About {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
    let find = |name: &str| {
        let found = pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.clone()).filter(|text| KeyPart::new(text).is_ok())
    };
    About { workflow: find("workflow"), company: find("company"), ..About::default() }
}

impl Waiting {
    fn read(self) -> Heard {
        let Self { mut heard, body } = self;
        if let Some(body) = body {
            let bytes = body.len() as u64;
            heard.body = match Json::parse_nested(&body, NESTING_MAX + ENVELOPE_LEVELS) {
                Ok(request) => HeardBody::Json(request, bytes),
                Err(_) => HeardBody::Other(bytes),
            };
        }
        heard
    }
}

/// Keeps what waits, until the server drains; forgets what is over the limits.
pub async fn keep(server: Server) {
    if server.calls.days == 0 {
        return;
    }
    let mut ticks = tokio::time::interval(Duration::from_millis(GATHER_MILLISECONDS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut keeping, mut forgetting) = (Work::named("calls"), Work::named("old calls"));
    let (mut tokens, mut forgotten_at) = (BTreeSet::new(), Instant::now());
    loop {
        tokio::select! {
            () = server.draining.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let (asked, kept) = write_waiting(&server).await;
        tokens.extend(asked);
        keeping.tell(kept);
        if forgotten_at.elapsed() >= Duration::from_secs(FORGET_SECONDS) {
            let asked: Vec<TokenId> = std::mem::take(&mut tokens).into_iter().collect();
            forgetting.tell(server.guard.forget_calls(server.calls.days, &asked).await.map_err(Into::into));
            forgotten_at = Instant::now();
        }
    }
}

/// Keeps what waits now: before the end, and for tests.
pub async fn write(server: &Server) {
    let (_, kept) = write_waiting(server).await;
    if let Err(refusal) = kept {
        tracing::warn!(%refusal, "the last calls are missing in the log of calls");
    }
}

async fn write_waiting(server: &Server) -> (BTreeSet<TokenId>, Result<(), guard::refusal::Refusal>) {
    let waiting = server.calls.take();
    if waiting.is_empty() {
        return (BTreeSet::new(), Ok(()));
    }
    let number = waiting.len() as u64;
    // Where it takes long, it takes a thread that answers nobody.
    let read = tokio::task::spawn_blocking(|| waiting.into_iter().map(Waiting::read).collect::<Vec<_>>()).await;
    let heard = read.unwrap_or_default();
    let tokens = heard.iter().map(|heard| heard.token.id).collect();
    let kept = server.guard.keep_calls(heard).await;
    if kept.is_err() {
        server.calls.unlogged.fetch_add(number, Ordering::Relaxed);
    }
    (tokens, kept.map_err(Into::into))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use guard::actor::Actor;
    use guard::token::Reach;

    use super::*;

    fn call(token: u128) -> Heard {
        let token = Token {
            id: TokenId::from_u128(token),
            name: "shop".to_owned(),
            scopes: BTreeSet::new(),
            reach: Reach::EVERYTHING,
            created_at: Timestamp::UNIX_EPOCH,
            created_by: Actor::CommandLine,
            revoked_at: None,
        };
        Heard {
            token: Arc::new(token),
            at: Timestamp::UNIX_EPOCH,
            microseconds: 1,
            method: "POST".to_owned(),
            endpoint: "/api/v1/operations".to_owned(),
            path: "/api/v1/operations".to_owned(),
            status: 201,
            problem: None,
            operation: None,
            decision: None,
            about: About::default(),
            request_id: "r".to_owned(),
            body: HeardBody::Empty,
        }
    }

    #[test]
    fn what_comes_faster_than_it_is_kept_is_counted_and_one_token_leaves_room_for_others() {
        let log = CallLog::over(1);
        for _ in 0..CALLS_WAITING_PER_TOKEN_MAX + 5 {
            log.put(call(1), None);
        }
        assert_eq!((log.queue().waiting.len(), log.unlogged()), (CALLS_WAITING_PER_TOKEN_MAX as usize, 5));
        for token in 0..CALLS_WAITING_MAX as u128 {
            log.put(call(100 + token), None);
        }
        assert_eq!(log.take().len(), CALLS_WAITING_MAX);
        assert_eq!(log.unlogged(), 5 + u64::from(CALLS_WAITING_PER_TOKEN_MAX));
        log.put(call(1), None);
        assert_eq!(log.take().len(), 1, "there is room again");
    }

    #[test]
    fn a_long_request_and_what_is_no_json_go_without_their_text() {
        let log = CallLog::over(1);
        let bodies = [vec![b'x'; REQUEST_BYTES_READ_MAX + 1], b"{\"a\":".to_vec(), b"{\"a\":1}".to_vec()];
        for body in &bodies {
            log.put(call(1), Some(Bytes::from(body.clone())));
        }
        let heard: Vec<_> = log.take().into_iter().map(Waiting::read).map(|heard| heard.body).collect();
        assert_eq!(heard[0], HeardBody::Other(bodies[0].len() as u64));
        assert_eq!(heard[1], HeardBody::Other(5));
        assert!(matches!(&heard[2], HeardBody::Json(_, 7)), "{heard:?}");
        let full = vec![b' '; REQUEST_BYTES_READ_MAX];
        for _ in 0..=BYTES_WAITING_MAX / REQUEST_BYTES_READ_MAX {
            log.put(call(1), Some(Bytes::from(full.clone())));
        }
        assert_eq!(log.take().iter().filter(|waiting| waiting.body.is_none()).count(), 1, "memory is bounded");
    }
}
