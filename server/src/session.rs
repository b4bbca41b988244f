//! Sign-in at the desk: the first start, sessions, passwords, and what stands in front of every page and server function.
//!
//! [`Gate::guard_pages`] wraps the desk's routes; [`harden`] wraps everything. The API has its tokens and does not come through
//! here: a browser never sends one by itself, so no other site can make it.

mod cookie;
pub mod first_start;
mod header;
mod limit;
mod login;
mod logout;
pub mod password;
mod path;
mod store;
mod visitor;
mod welcome;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{StatusCode, Uri},
    middleware,
    response::{IntoResponse, Response},
    routing::post,
};
use guard::clock::Entropy;
use guard::id::PersonId;
use guard::person::Person;
use guard::refusal::{Refusal, StoreFault};
use guard::service::Guard;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tower_sessions::session::Id;
use tower_sessions::{Expiry, Session, SessionManagerLayer, cookie::SameSite, cookie::time};

pub use self::{
    first_start::FirstStart,
    header::harden,
    password::{HashFault, PasswordHashes},
    store::{SESSION_DAYS_MAX, SESSION_IDLE_HOURS_MAX},
    visitor::provide_visit,
};
use self::{limit::Limits, store::Sessions};
use crate::destination::Destinations;
use crate::notification::Notifications;
use crate::store::Database;

/// The forms of sign-in are small.
const FORM_BYTES_MAX: usize = 16 * 1_024;

/// Where a session holds its person's id.
const PERSON: &str = "person";

/// How the desk is reached.
#[derive(Clone, Debug)]
pub struct GateSettings {
    /// The address that people type, as `scheme://host[:port]`, perhaps with a path behind it.
    pub public_url: String,
    /// Whether browsers reach the desk by TLS, here or at a proxy before it: cookies are then sent by TLS alone.
    pub is_secure: bool,
    /// How many reverse proxies stand before this server; each adds one address to `X-Forwarded-For`. With 0 that header is not
    /// looked at, since anybody can write it.
    pub proxies: usize,
}

impl GateSettings {
    /// For a desk at this address without proxies; secure where the address says https.
    #[must_use]
    pub fn at(public_url: &str) -> Self {
        Self { public_url: public_url.to_owned(), is_secure: public_url.starts_with("https://"), proxies: 0 }
    }
}

/// Why there is no gate.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The address is none that a browser could be at.
    #[error("the public URL {url:?} is no address of a site: {reason}")]
    PublicUrl {
        /// The address.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The store could not be read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No password can be hashed.
    #[error(transparent)]
    Hash(#[from] HashFault),
}

/// Who comes in, and how. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    guard: Guard,
    sessions: Sessions,
    passwords: PasswordHashes,
    /// What the password of an unknown account is compared with, so that it takes as long as that of a known one.
    decoy: String,
    limits: Limits,
    first_start: FirstStart,
    settings: GateSettings,
    /// The public address without a slash at its end, as pages show it.
    address: Arc<str>,
    origin: CsrfLayer,
}

impl Gate {
    /// The gate before the desk of this guard, with its sessions in the guard's database.
    ///
    /// # Errors
    /// [`GateError`].
    pub async fn open(
        guard: Guard,
        database: &Database,
        entropy: Arc<dyn Entropy>,
        settings: GateSettings,
    ) -> Result<Self, GateError> {
        let origin = trusted_origin(&settings.public_url)?;
        let first_start = FirstStart::open(guard.clone(), entropy.as_ref()).await?;
        let decoy = hex::encode(entropy.bytes());
        let passwords = PasswordHashes::new(Arc::clone(&entropy));
        let decoy = passwords.make(decoy).await?;
        let sessions = Sessions::new(database.pool.clone(), Arc::clone(&database.clock), entropy);
        let limits = Limits::new();
        let address = settings.public_url.trim_end_matches('/').into();
        let inner = Inner { guard, sessions, passwords, decoy, limits, first_start, settings, address, origin };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether browsers reach the desk by TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.inner.settings.is_secure
    }

    /// The link of the first start; none where somebody exists. For the terminal of whoever started the server.
    #[must_use]
    pub fn first_start_link(&self) -> Option<String> {
        self.inner.first_start.link(&self.inner.settings.public_url)
    }

    /// Deletes the sessions that are over; answers how many. They let nobody in before that either.
    ///
    /// # Errors
    /// The store's fault; the log has the details.
    pub async fn delete_ended_sessions(&self) -> Result<u64, Refusal> {
        self.inner.sessions.delete_ended().await.map_err(|error| fault(&error))
    }

    /// Puts sign-in before the desk's routes: pages and server functions get to know who asks, and only `/login` and `/welcome`
    /// answer to a stranger. Adds `POST /login`, `/logout` and `/welcome`.
    /// Who looks at a destination from there does it through `destinations`.
    pub fn guard_pages(&self, pages: Router, destinations: &Destinations, notifications: &Notifications) -> Router {
        let is_secure = self.inner.settings.is_secure;
        let sessions = SessionManagerLayer::new(self.inner.sessions.clone())
            .with_name(cookie::name(is_secure))
            .with_secure(is_secure)
            .with_http_only(true)
            // Strict would sign out whoever follows a link from a chat.
            .with_same_site(SameSite::Lax)
            .with_path("/")
            .with_expiry(Expiry::OnInactivity(time::Duration::days(SESSION_DAYS_MAX)));
        let outside = (self.clone(), destinations.clone(), notifications.clone());
        let forms = Router::new()
            .route("/login", post(login::post))
            .route("/logout", post(logout::post))
            .route("/welcome", post(welcome::post))
            .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
            .with_state(self.clone());
        // From the last to the first: a post of another site is turned away before anything is looked up.
        pages
            .merge(forms)
            .layer(middleware::from_fn_with_state(outside, visitor::admit))
            .layer(sessions)
            .layer(middleware::map_response_with_state(is_secure, cookie::secure))
            .layer(self.inner.origin.clone().with_rejection_response(refuse_other_site))
    }

    /// Whose session this is: the person as the store has them now. A session whose person is gone ends here.
    async fn person(&self, session: &Session) -> Result<Option<Person>, Refusal> {
        let Some(id) = session.get::<PersonId>(PERSON).await.map_err(|error| fault(&error))? else {
            return Ok(None);
        };
        let person = self.inner.guard.person(id).await?;
        if person.is_none() {
            session.flush().await.map_err(|error| fault(&error))?;
        }
        Ok(person)
    }

    /// Whose session this is, as the store has it now; none once it is over. It is no sign of the person: a page that stands open
    /// keeps no session alive by itself.
    pub(crate) async fn visitor(&self, session: Id) -> Result<Option<Person>, Refusal> {
        let held = self.inner.sessions.peek(session).await.map_err(|error| fault(&error))?;
        let id = held.and_then(|held| serde_json::from_value::<PersonId>(held.get(PERSON)?.clone()).ok());
        match id {
            Some(id) => Ok(self.inner.guard.person(id).await?),
            None => Ok(None),
        }
    }

    /// Begins a session for a person. It has a new id, and whatever session came with the request is over.
    async fn sign_in(&self, session: &Session, person: &Person) -> Result<(), Refusal> {
        session.clear().await;
        let begun = async {
            session.cycle_id().await?;
            session.insert(PERSON, person.id).await?;
            // Now and not behind the answer, so that a fault of the store is told.
            session.save().await
        };
        begun.await.map_err(|error| fault(&error))?;
        tracing::info!(person = %person.id, "signed in");
        Ok(())
    }
}

/// Lets posts come from the desk's own address, also where a proxy changes the name that this server is called by.
fn trusted_origin(public_url: &str) -> Result<CsrfLayer, GateError> {
    let refused =
        |reason: &dyn ToString| GateError::PublicUrl { url: public_url.to_owned(), reason: reason.to_string() };
    let url: Uri = public_url.parse().map_err(|error| refused(&error))?;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err(refused(&"it needs http:// or https:// and a host"));
    };
    // As a browser writes it: small letters, without the port that the scheme implies.
    let host = authority.host().to_lowercase();
    let implied = if scheme == "https" { 443 } else { 80 };
    let origin = match authority.port_u16().filter(|port| *port != implied) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    };
    CsrfLayer::new().add_trusted_origin(origin).map_err(|error| refused(&error))
}

fn refuse_other_site(error: ProtectionError) -> Response {
    tracing::warn!(%error, "a post of another site was refused");
    let told = "This request came from another site, so it was refused. Open the desk and do it there.\n";
    (StatusCode::FORBIDDEN, told).into_response()
}

/// The answer where the store failed.
fn refuse(refusal: Refusal) -> Response {
    tracing::error!(error = %refusal, "the desk could not be served");
    let told = format!("{refusal}\n");
    (app::failure::Failure::from(refusal).status(), told).into_response()
}

/// A fault below sessions; details go to the log alone.
fn fault(error: &dyn std::error::Error) -> Refusal {
    tracing::error!(%error, "sessions cannot be read or written");
    Refusal::Store(StoreFault::Unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_no_browser_is_at_is_refused_with_the_reason() {
        for url in ["", "desk.example.test", "ftp://desk.example.test", "/desk"] {
            let error = trusted_origin(url).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the public URL {url:?} is no address of a site: ")), "{error}");
        }
        for url in [
            "http://127.0.0.1:8080",
            "https://desk.example.test/",
            "HTTPS://Desk.Example.Test:443/desk",
            "http://[::1]:80",
        ] {
            assert!(trusted_origin(url).is_ok(), "{url}");
        }
    }
}
