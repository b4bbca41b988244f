//! `GET /desk/events`: what changes, told to open pages by server-sent events, one stream for each.
//!
//! An event says "look again" and nothing else: what there is to see is read by the page itself, as its person may see it. A stream tells
//! what happens within its person's reach and stays silent about the rest, so that not even the moment or the number of another
//! company's operations can be told from it. Changes come from this process and from the others that share the database
//! ([`Changes`]); they are hints, and one that is lost is made good by the page, which looks by itself now and then.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use app::context::Visit;
use axum::extract::{Extension, Query, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures::future::join_all;
use futures::stream::unfold;
use guard::clock::rfc3339;
use guard::id::{OperationId, PersonId};
use guard::person::Person;
use guard::store::Store;
use guard::token::Reach;
use tokio::sync::Notify;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, sleep, sleep_until};
use tower_sessions::Session;
use tower_sessions::session::Id;

use crate::session::Gate;
use crate::state::Server;
use crate::store::Changes;

/// Where the stream is.
pub const PATH: &str = "/desk/events";

/// At most this many streams are open in this process; whoever comes then looks by themselves.
pub const STREAMS_MAX: usize = 1_000;

/// At most this many are open for one person: so many pages can be seen at once.
pub const STREAMS_PER_PERSON_MAX: usize = 20;

/// Changes gather this long before they are told.
const GATHER_MILLISECONDS: u64 = 250;

/// So many of the changes that gathered are looked up, to see whose they are; further ones are not told to whom it would matter.
const LOOKED_UP_MAX: usize = 256;

/// After an event a stream is silent this long, whatever happens: then the next event stands for all of it.
pub const SILENCE_MILLISECONDS: u64 = 2_000;

/// So often a stream says that it is there, and sees whether its session still is.
pub const HEARTBEAT_SECONDS: u64 = 15;

/// A browser that lost its stream comes back after this time.
const COME_BACK_SECONDS: u64 = 3;

/// Whoever was refused a stream may ask again after this time.
const ASK_AGAIN_SECONDS: HeaderValue = HeaderValue::from_static("60");

/// The header by which a browser says what it heard last; its name is that of the HTML standard, "Server-sent events".
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Some reverse proxies hold an answer back until it is whole; by this header they are told not to.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

/// The route of the stream, to be put behind the gate.
pub fn routes(server: Server, gate: Gate) -> Router {
    Router::new().route(PATH, get(events)).with_state((server, gate))
}

/// What a page is interested in.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Interest {
    /// In this operation alone; otherwise in all that its person may see.
    operation: Option<OperationId>,
}

async fn events(
    State((server, gate)): State<(Server, Gate)>,
    Extension(visit): Extension<Visit>,
    session: Session,
    Query(interest): Query<Interest>,
    headers: HeaderMap,
) -> Response {
    let (Some(person), Some(session)) = (visit.person, session.id()) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    if let Some(operation) = interest.operation
        && let Err(refusal) = server.guard.operation(&person.reach, operation).await
    {
        let failure = app::failure::Failure::from(refusal);
        return (failure.status(), Json(failure)).into_response();
    }
    let Some(seat) = Live::listen(&server.live, &person, interest.operation) else {
        return (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, ASK_AGAIN_SECONDS)]).into_response();
    };
    // Who heard something before has missed what came since, if anything did: they look.
    let next = if headers.contains_key(LAST_EVENT_ID) { Next::Change } else { Next::Greeting };
    let stream = unfold(Stream { server, gate, session, seat, next, silent_until: None }, Stream::next);
    let headers = [UNBUFFERED, (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, Sse::new(stream)).into_response()
}

/// What a stream says next without waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// When to come back.
    Greeting,
    /// That something may have changed.
    Change,
    /// Nothing.
    Wait,
}

struct Stream {
    server: Server,
    gate: Gate,
    session: Id,
    seat: Seat,
    next: Next,
    silent_until: Option<Instant>,
}

impl Stream {
    /// The next event; none where the stream ends: with the server, with the session, or when its person may see more or less than
    /// before. The browser comes back by itself where it still may.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        let event = match std::mem::replace(&mut self.next, Next::Wait) {
            Next::Greeting => return Some((Ok(greeting()), self)),
            Next::Change => self.change(),
            Next::Wait => {
                let is_changed = tokio::select! {
                    () = self.server.draining.cancelled() => return None,
                    () = self.seat.changed(self.silent_until) => true,
                    () = sleep(Duration::from_secs(HEARTBEAT_SECONDS)) => false,
                };
                match self.gate.visitor(self.session).await {
                    Ok(Some(person)) if person.reach == self.seat.reach => {}
                    Ok(_) => return None,
                    // The store is away, and with it whatever there would be to see.
                    Err(_) => return Some((Ok(heartbeat()), self)),
                }
                if is_changed { self.change() } else { heartbeat() }
            }
        };
        Some((Ok(event), self))
    }

    fn change(&mut self) -> Event {
        self.silent_until = Some(Instant::now() + Duration::from_millis(SILENCE_MILLISECONDS));
        let at = rfc3339(self.server.guard.now());
        greeting().event("change").id(&at).data(&at)
    }
}

fn greeting() -> Event {
    Event::default().retry(Duration::from_secs(COME_BACK_SECONDS))
}

fn heartbeat() -> Event {
    Event::default().comment("still here")
}

/// Who listens. One task passes changes on, so that a change costs the same however many listen.
#[derive(Default)]
pub struct Live {
    listeners: Mutex<Listeners>,
}

#[derive(Default)]
struct Listeners {
    by_number: HashMap<u64, Listener>,
    last: u64,
}

struct Listener {
    person: PersonId,
    reach: Reach,
    operation: Option<OperationId>,
    notify: Arc<Notify>,
}

impl Live {
    /// Passes on these changes until the last server is gone.
    pub fn over(changes: &Changes, store: Arc<dyn Store>) -> Arc<Self> {
        let live = Arc::new(Self::default());
        let target = Arc::downgrade(&live);
        let mut changes = changes.subscribe();
        tokio::spawn(async move {
            loop {
                let mut changed = HashSet::new();
                let mut has_lost = false;
                match changes.recv().await {
                    Ok(operation) => drop(changed.insert(operation)),
                    Err(RecvError::Lagged(_)) => has_lost = true,
                    Err(RecvError::Closed) => return,
                }
                sleep(Duration::from_millis(GATHER_MILLISECONDS)).await;
                loop {
                    match changes.try_recv() {
                        Ok(operation) => drop(changed.insert(operation)),
                        Err(TryRecvError::Lagged(_)) => has_lost = true,
                        Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                    }
                }
                let Some(live) = target.upgrade() else { return };
                live.tell(store.as_ref(), &changed, has_lost).await;
            }
        });
        live
    }

    /// How many listen.
    pub fn listening(&self) -> usize {
        self.lock().by_number.len()
    }

    /// A place for somebody to listen at; none where too many do.
    fn listen(live: &Arc<Self>, person: &Person, operation: Option<OperationId>) -> Option<Seat> {
        let mut listeners = live.lock();
        let all = &mut listeners.by_number;
        let own = all.values().filter(|listener| listener.person == person.id).count();
        if all.len() >= STREAMS_MAX || own >= STREAMS_PER_PERSON_MAX {
            return None;
        }
        listeners.last += 1;
        let number = listeners.last;
        let (reach, notify) = (person.reach.clone(), Arc::<Notify>::default());
        let listener = Listener { person: person.id, reach: reach.clone(), operation, notify: Arc::clone(&notify) };
        listeners.by_number.insert(number, listener);
        Some(Seat { live: Arc::clone(live), number, reach, notify })
    }

    /// Tells those whom it concerns.
    async fn tell(&self, store: &dyn Store, changed: &HashSet<OperationId>, has_lost: bool) {
        let is_limited = |listener: &Listener| listener.operation.is_none() && listener.reach != Reach::EVERYTHING;
        let asks = self.lock().by_number.values().any(is_limited);
        let mut keys = HashSet::new();
        if asks {
            let looked = join_all(changed.iter().take(LOOKED_UP_MAX).map(|id| store.operation(*id))).await;
            // What cannot be read now is not told: the page looks by itself later.
            let found = looked.into_iter().filter_map(|found| found.ok().flatten());
            keys.extend(found.map(|operation| (operation.key.workflow, operation.key.company)));
        }
        for listener in self.lock().by_number.values() {
            let is_concerned = match listener.operation {
                Some(operation) => changed.contains(&operation),
                // What was lost may have been anybody's, so that only who may see everything is told of it.
                None if listener.reach == Reach::EVERYTHING => has_lost || !changed.is_empty(),
                None => keys.iter().any(|(workflow, company)| {
                    listener.reach.workflow(workflow.as_str()) && listener.reach.company(company.as_str())
                }),
            };
            if is_concerned {
                listener.notify.notify_one();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who listen; given up when it is dropped, also by a browser that went away. It holds at most one change that was
/// not told yet.
struct Seat {
    live: Arc<Live>,
    number: u64,
    reach: Reach,
    notify: Arc<Notify>,
}

impl Seat {
    /// Waits for a change, and until then.
    async fn changed(&self, until: Option<Instant>) {
        if let Some(until) = until {
            sleep_until(until).await;
        }
        self.notify.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.live.lock().by_number.remove(&self.number);
    }
}
