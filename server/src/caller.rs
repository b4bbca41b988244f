//! Who calls: a bearer token (RFC 6750), and how often.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use governor::clock::{Clock as _, DefaultClock};
use guard::token::{Scope, Token};

use crate::calls::CallNote;
use crate::observe::RequestId;
use crate::problem::{Code, Problem};
use crate::state::{Server, burst};

/// Somebody with a valid token.
pub struct Caller {
    /// The token.
    pub token: Arc<Token>,
}

impl Caller {
    /// The caller whose token is in the headers, if it does not ask too often.
    ///
    /// # Errors
    /// No token, an unknown or revoked one, too many requests, the store's fault.
    pub async fn authenticate(server: &Server, headers: &HeaderMap) -> Result<Self, Problem> {
        let caller = Self::identify(server, headers).await?;
        caller.spend(server, NonZeroU32::MIN)?;
        Ok(caller)
    }

    /// The caller whose token is in the headers, however often it asks.
    async fn identify(server: &Server, headers: &HeaderMap) -> Result<Self, Problem> {
        let missing = || Problem::new(Code::Unauthenticated, "send the header Authorization: Bearer <token>");
        let header = headers.get(AUTHORIZATION).ok_or_else(missing)?;
        let (scheme, secret) = header.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(missing)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(missing());
        }
        let found = server.tokens.find(&server.guard, secret.trim()).await?;
        let token = found.ok_or_else(|| {
            Problem::new(Code::Unauthenticated, "the token is not known, or it was revoked; make a new one at the desk")
        })?;
        tracing::Span::current().record("token", token.name.as_str());
        Ok(Self { token })
    }

    /// Counts `requests` against the token's rate, at most a whole burst.
    ///
    /// # Errors
    /// The token asks too often.
    pub fn spend(&self, server: &Server, requests: NonZeroU32) -> Result<(), Problem> {
        let rate = server.settings.requests_per_second;
        let refused = |seconds: u64| {
            let detail = format!("this token may ask {rate} times a second");
            Problem::new(Code::RateLimited, detail).retry_after(seconds)
        };
        // A batch above what a burst may use costs what is left of one after its own request: more would be refused for ever.
        let most = NonZeroU32::new(burst(rate).get() - 1).unwrap_or(NonZeroU32::MIN);
        match server.rates.check_key_n(&self.token.id, requests.min(most)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(until)) => Err(refused(until.wait_time_from(DefaultClock::default().now()).as_secs() + 1)),
            Err(_more_than_a_burst) => Err(refused(1)),
        }
    }

    /// Requires a scope.
    ///
    /// # Errors
    /// The token lacks it.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.token.scopes.contains(&scope) {
            Ok(())
        } else {
            Err(Problem::new(Code::Forbidden, format!("this token lacks the scope {}", scope.as_str())))
        }
    }
}

impl FromRequestParts<Server> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Problem> {
        let caller = Self::identify(server, &parts.headers).await?;
        if let Some(note) = parts.extensions.get::<CallNote>() {
            note.token(&caller.token);
        }
        caller.spend(server, NonZeroU32::MIN)?;
        Ok(caller)
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // The outermost layer has put it there; a router without that layer has no ids.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::new(Code::Internal, "the request has no id"))
    }
}
