//! `Prefer: wait=N` (RFC 7240): an answer that says "wait" is held until the operation settles, so that a parked automation goes on
//! by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use guard::decision::{Decision, Next};
use guard::id::OperationId;
use guard::refusal::Refusal;
use guard::service::BeginRequest;
use guard::token::Token;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::state::Server;
use crate::store::Changes;

/// No answer is held longer, in seconds.
pub const WAIT_SECONDS_MAX: u64 = 60;

/// At most this many answers are held at once; further ones are answered right away.
pub const WAITING_MAX: usize = 10_000;

/// A change that nobody told is found after this long: a lost notification costs time, never an answer.
const POLL: Duration = Duration::from_secs(2);

/// A lease that ended is looked at this much later, since clocks are read in whole milliseconds.
const LEASE_END_MARGIN: Duration = Duration::from_millis(2);

/// How long the caller wants its answer held, in seconds up to [`WAIT_SECONDS_MAX`]; none where it does not say so in a way that
/// RFC 7240 knows.
pub fn preference(headers: &HeaderMap) -> Option<u64> {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split(','));
    let wait = preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    let is_number = !wait.is_empty() && wait.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than fit say "very long" too.
    is_number.then(|| wait.parse().unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX))
}

/// Decides on a begin; an answer that says "wait" is held for up to `seconds`, and decided anew whenever the operation changed.
///
/// # Errors
/// What [`guard::service::Guard::begin`] refuses.
pub async fn begin(server: &Server, token: &Token, request: &BeginRequest, seconds: u64) -> Result<Decision, Refusal> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let first = server.guard.begin(token, request).await?;
    let Some(operation) = first.operation().map(|operation| operation.id) else { return Ok(first) };
    let Ok(_seat) = server.wakes.seats.try_acquire() else { return Ok(first) };
    if first.name().next() != Next::Wait {
        return Ok(first);
    }
    let listener = Listener::on(&server.wakes, operation);
    loop {
        // Listening starts before looking, so that no change falls between the two.
        let changed = listener.notify.notified();
        let decision = server.guard.begin(token, request).await?;
        let is_over = Instant::now() >= deadline || server.draining.is_cancelled();
        if decision.name().next() != Next::Wait || is_over {
            return Ok(decision);
        }
        let look = deadline.min(Instant::now() + lease_end(server, &decision).min(POLL));
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(look) => {}
            () = server.draining.cancelled() => {}
        }
    }
}

/// How long the lease in the way still lasts.
fn lease_end(server: &Server, decision: &Decision) -> Duration {
    let end = decision.operation().and_then(|operation| operation.state.lease_expires_at());
    end.map_or(POLL, |end| (end - server.guard.now()).to_std().unwrap_or(Duration::ZERO) + LEASE_END_MARGIN)
}

/// Who waits for which operation. One task passes changes on, so that a change costs one look-up however many wait.
pub struct Wakes {
    waiting: Mutex<HashMap<OperationId, Waiting>>,
    seats: Semaphore,
}

struct Waiting {
    listeners: usize,
    notify: Arc<Notify>,
}

impl Wakes {
    /// Passes on these changes until the last server is gone.
    pub fn over(changes: &Changes) -> Arc<Self> {
        let wakes = Arc::new(Self { waiting: Mutex::default(), seats: Semaphore::new(WAITING_MAX) });
        let target = Arc::downgrade(&wakes);
        let mut changes = changes.subscribe();
        tokio::spawn(async move {
            loop {
                let change = changes.recv().await;
                let Some(wakes) = target.upgrade() else { return };
                match change {
                    Ok(operation) => wakes.wake(operation),
                    Err(RecvError::Lagged(_)) => wakes.wake_all(),
                    Err(RecvError::Closed) => return,
                }
            }
        });
        wakes
    }

    fn wake(&self, operation: OperationId) {
        if let Some(waiting) = self.lock().get(&operation) {
            waiting.notify.notify_waiters();
        }
    }

    fn wake_all(&self) {
        self.lock().values().for_each(|waiting| waiting.notify.notify_waiters());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait; given up when it is dropped, also by a caller that went away.
struct Listener<'a> {
    wakes: &'a Wakes,
    operation: OperationId,
    notify: Arc<Notify>,
}

impl<'a> Listener<'a> {
    fn on(wakes: &'a Wakes, operation: OperationId) -> Self {
        let mut all = wakes.lock();
        let waiting = all.entry(operation).or_insert_with(|| Waiting { listeners: 0, notify: Arc::default() });
        waiting.listeners += 1;
        let notify = Arc::clone(&waiting.notify);
        Self { wakes, operation, notify }
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let mut all = self.wakes.lock();
        if let Some(waiting) = all.get_mut(&self.operation) {
            waiting.listeners -= 1;
            if waiting.listeners == 0 {
                all.remove(&self.operation);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_preference_is_read_as_rfc_7240_writes_it() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("prefer", HeaderValue::from_str(value).unwrap());
            }
            preference(&headers)
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&["wait=10"]), Some(10));
        assert_eq!(read(&["respond-async, Wait = 5; foo=bar"]), Some(5));
        assert_eq!(read(&["handling=lenient", "wait=\"7\""]), Some(7));
        assert_eq!(read(&["wait=600"]), Some(60));
        assert_eq!(read(&["wait=99999999999999999999999"]), Some(60));
        for value in ["wait", "wait=", "wait=-1", "wait=x", "waiting=3"] {
            assert_eq!(read(&[value]), None, "{value}");
        }
    }

    #[tokio::test]
    async fn a_listener_that_goes_away_leaves_nothing_behind() {
        let wakes = Wakes { waiting: Mutex::default(), seats: Semaphore::new(1) };
        let operation = OperationId::from_u128(7);
        let first = Listener::on(&wakes, operation);
        let second = Listener::on(&wakes, operation);
        let changed = second.notify.notified();
        drop(first);
        wakes.wake(operation);
        changed.await;
        drop(second);
        assert!(wakes.lock().is_empty());
    }
}
