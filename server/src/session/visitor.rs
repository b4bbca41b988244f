//! Who asks: what a request of the desk is told about its visitor, and what becomes of strangers.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use app::{
    context::{Developers, Flash, Visit},
    failure::Failure,
};
use async_trait::async_trait;
use axum::{
    extract::{ConnectInfo, FromRequestParts, Request, State},
    http::{
        Method, StatusCode, Uri,
        header::{ACCEPT, CONTENT_TYPE, REFERER},
        request::Parts,
    },
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use leptos::prelude::{provide_context, use_context};
use leptos::server_fn::error::{FromServerFnError, SERVER_FN_ERROR_HEADER};
use tower_sessions::Session;

use crate::destination::Destinations;
use crate::live;
use crate::notification::Notifications;

use super::{Gate, fault, limit::client_address, path};

/// Where server functions live.
const FUNCTIONS: &str = "/fn/";

/// What answers to a stranger. Everything else asks for sign-in first, known or not.
const OPEN: [&str; 3] = ["/login", "/logout", WELCOME];

/// The page of the first start.
const WELCOME: &str = "/welcome";

/// Gives the request in hand its [`Visit`]: called by Leptos for each page and each server function.
pub fn provide_visit() {
    let Some(parts) = use_context::<Parts>() else { return };
    if let Some(visit) = parts.extensions.get::<Visit>().cloned() {
        provide_context(visit);
    }
    if let Some(developers) = parts.extensions.get::<Developers>().cloned() {
        provide_context(developers);
    }
}

/// Looks up who asks, in the store and each time, so that a change of a role or the removal of a person holds at once. Strangers are
/// sent to sign in; a server function tells them so in its own encoding.
pub(super) async fn admit(
    State((gate, destinations, notifications)): State<(Gate, Destinations, Notifications)>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let person = match gate.person(&session).await {
        Ok(person) => person,
        Err(refusal) if is_function(&request) => return function_failure(&request, refusal.into()),
        Err(refusal) => return super::refuse(refusal),
    };
    if person.is_none() && !OPEN.contains(&request.uri().path()) {
        return turn_away(&request);
    }
    if let Some(link) = welcome_link(&request) {
        match gate.inner.first_start.opens(&link).await {
            Ok(true) => {}
            Ok(false) => return Redirect::to(&path::with_parameters(WELCOME, &[("refused", "link")])).into_response(),
            Err(refusal) => return super::refuse(refusal),
        }
    }
    let flash: Arc<dyn Flash> = Arc::new(SessionFlash { session, is_kept: person.is_some() });
    let passwords = Arc::new(gate.inner.passwords.clone());
    let (guard, address) = (gate.inner.guard.clone(), Arc::clone(&gate.inner.address));
    // For what no page and no server function does: pulling a list.
    request.extensions_mut().insert(destinations.clone());
    let (lookups, messengers) = (Arc::new(destinations), Arc::new(notifications));
    request.extensions_mut().insert(Visit { guard, person, address, flash, passwords, lookups, messengers });
    next.run(request).await
}

/// The link by which the page of the first start is opened; none for other pages, and where it says already that a link does not
/// work.
fn welcome_link(request: &Request) -> Option<String> {
    if request.uri().path() != WELCOME || *request.method() != Method::GET {
        return None;
    }
    // Reading pairs of text never fails: what is no UTF-8 is replaced.
    let parameters: Vec<(String, String)> =
        serde_urlencoded::from_str(request.uri().query().unwrap_or_default()).unwrap_or_default();
    let find = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    (find("refused").as_deref() != Some("link")).then(|| find("link").unwrap_or_default())
}

fn is_function(request: &Request) -> bool {
    request.uri().path().starts_with(FUNCTIONS)
}

/// To sign-in, and from there back to the page: the one that was asked for, or the one that a form stood on.
fn turn_away(request: &Request) -> Response {
    let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let takes_html = text(ACCEPT).is_some_and(|accepted| accepted.contains("text/html"));
    // No page, but a part of one that is open already: it is for that page to say.
    if request.uri().path() == live::PATH {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if is_function(request) && !takes_html {
        return function_failure(request, Failure::SignedOut);
    }
    let page = if *request.method() == Method::GET {
        request.uri().path_and_query().map(ToString::to_string)
    } else {
        let from = text(REFERER).and_then(|referer| referer.parse::<Uri>().ok());
        from.as_ref().and_then(Uri::path_and_query).map(ToString::to_string)
    };
    let page = page.as_deref().map_or(path::HOME, path::local);
    Redirect::to(&path::with_parameters("/login", &[("next", page)])).into_response()
}

/// The failure as a server function would have told it.
fn function_failure(request: &Request, failure: Failure) -> Response {
    let headers = [(CONTENT_TYPE.as_str(), "application/json"), (SERVER_FN_ERROR_HEADER, request.uri().path())];
    (failure.status(), headers, failure.ser()).into_response()
}

/// The address of the client, as far as it is known.
pub(super) struct Client(pub(super) Option<IpAddr>);

impl fmt::Display for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(formatter, "{address}"),
            None => formatter.write_str("unknown"),
        }
    }
}

impl FromRequestParts<Gate> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        Ok(Self(client_address(peer, &parts.headers, gate.inner.settings.proxies)))
    }
}

/// Messages in the session. A stranger's are not kept: a session is only ever made by signing in.
struct SessionFlash {
    session: Session,
    is_kept: bool,
}

/// Keeps the messages apart from what else a session holds.
fn key(name: &str) -> String {
    format!("flash.{name}")
}

#[async_trait]
impl Flash for SessionFlash {
    async fn put(&self, name: &str, value: String) {
        if !self.is_kept {
            tracing::warn!(name, "a message for a stranger is lost");
            return;
        }
        let kept = async {
            self.session.insert(&key(name), value).await?;
            self.session.save().await
        };
        if let Err(error) = kept.await {
            fault(&error);
        }
    }

    async fn take(&self, name: &str) -> Option<String> {
        let taken = async {
            // Looked at before it is removed, since removing makes a write of every page.
            let held: Option<String> = self.session.get(&key(name)).await?;
            if held.is_some() {
                self.session.remove_value(&key(name)).await?;
                self.session.save().await?;
            }
            Ok::<_, tower_sessions::session::Error>(held)
        };
        taken.await.unwrap_or_else(|error| {
            fault(&error);
            None
        })
    }
}
