//! A desk behind its gate, on a real socket, and people with browsers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use app::context::Visit;
use axum::{
    Extension, Router,
    routing::{get, post},
};
use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::{Clock, Entropy, Timestamp};
use guard::person::{Person, Role};
use guard::service::Guard;
use guard::token::Reach;
use reqwest::header::{HeaderMap, HeaderValue, LOCATION, SET_COOKIE};
use reqwest::{RequestBuilder, StatusCode, redirect};
use server::clock::{OsEntropy, SystemClock};
use server::destination::Destinations;
use server::notification::Notifications;
use server::router::router;
use server::session::{Gate, GateSettings, PasswordHashes, harden};
use server::state::{Server, Settings};
use server::store::{Database, Pool};
use tokio::sync::Notify;
use tracing_subscriber::fmt::MakeWriter;

pub const PASSWORD: &str = "correct horse battery";

/// A request that takes longer hangs.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// The machine's clock, moved by hand.
#[derive(Default)]
pub struct MovedClock {
    machine: SystemClock,
    ahead_milliseconds: AtomicI64,
}

impl MovedClock {
    pub fn advance(&self, by: TimeDelta) {
        self.ahead_milliseconds.fetch_add(by.num_milliseconds(), Ordering::Relaxed);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        self.machine.now() + TimeDelta::milliseconds(self.ahead_milliseconds.load(Ordering::Relaxed))
    }
}

/// One process of a desk: the real one's pages, and a few more that show what the gate gives to a page.
#[derive(Clone)]
pub struct Desk {
    pub database: Database,
    pub guard: Guard,
    pub gate: Gate,
    pub clock: Arc<MovedClock>,
    pub address: SocketAddr,
    /// Lets the slow page go on.
    pub proceed: Arc<Notify>,
    /// Told when the slow page waits.
    pub waits: Arc<Notify>,
}

impl Desk {
    /// A process over this database, at `http://127.0.0.1:PORT` where no other address is set.
    pub async fn over(mut database: Database, settings: impl FnOnce(GateSettings) -> GateSettings) -> Self {
        let clock = Arc::new(MovedClock::default());
        database.clock = Arc::<MovedClock>::clone(&clock);
        let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
        let (store, registry) = (Arc::clone(&database.store), Arc::clone(&database.registry));
        let guard = Guard::open(store, registry, Arc::clone(&database.clock), Arc::clone(&entropy)).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = settings(GateSettings::at(&format!("http://{address}")));
        let is_secure = settings.is_secure;
        let gate = Gate::open(guard.clone(), &database, entropy, settings).await.unwrap();
        let (proceed, waits) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let probes = probes(Arc::clone(&proceed), Arc::clone(&waits));
        let notifications = Notifications::new(guard.clone(), &format!("http://{address}"));
        let pages = server::desk::routes().merge(probes);
        let router = harden(gate.guard_pages(pages, &Destinations::default(), &notifications), is_secure);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { database, guard, gate, clock, address, proceed, waits }
    }

    pub async fn with_person(&self, email: &str, role: Role) -> Person {
        self.with_person_of(email, role, Reach::EVERYTHING).await
    }

    pub async fn with_person_of(&self, email: &str, role: Role, reach: Reach) -> Person {
        let hash = PasswordHashes::new(Arc::new(OsEntropy)).make(PASSWORD.to_owned()).await.unwrap();
        let added = self.guard.add_person(email, role, reach, hash, false, &Actor::CommandLine);
        added.await.unwrap()
    }

    /// Somebody new with a browser.
    pub fn browser(&self) -> Browser {
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .build()
            .unwrap();
        Browser { client, base: format!("http://{}", self.address), cookie: None }
    }

    /// Somebody signed in.
    pub async fn signed_in(&self, email: &str) -> Browser {
        let mut browser = self.browser();
        let answer = browser.sign_in(email, PASSWORD, "/").await;
        assert_eq!((answer.status, answer.location.as_deref()), (StatusCode::SEE_OTHER, Some("/")));
        browser
    }

    /// The whole server over the same gate, as the command serves it: somebody new with a browser at it.
    pub async fn whole(&self) -> Browser {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let settings = Settings::at(&base);
        let server = Server::new(self.guard.clone(), self.database.clone(), Arc::new(OsEntropy), settings);
        let service = router(server, &self.gate).into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Browser { base, ..self.browser() }
    }

    /// A statement that no interface offers yet: changing and removing people.
    pub async fn sql(&self, statement: &str) {
        match &self.database.pool {
            Pool::Sqlite(pool) => drop(sqlx::query(statement).execute(pool).await.unwrap()),
            Pool::Postgres(pool) => drop(sqlx::query(statement).execute(pool).await.unwrap()),
        }
    }

    /// What is kept of sessions: their digests and data.
    pub async fn session_rows(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        const STATEMENT: &str = "SELECT digest, data FROM session";
        match &self.database.pool {
            Pool::Sqlite(pool) => sqlx::query_as(STATEMENT).fetch_all(pool).await.unwrap(),
            Pool::Postgres(pool) => sqlx::query_as(STATEMENT).fetch_all(pool).await.unwrap(),
        }
    }

    /// How many sessions are kept.
    pub async fn sessions(&self) -> usize {
        self.session_rows().await.len()
    }

    /// The secret in the link of the first start.
    pub fn link(&self) -> Option<String> {
        self.gate.first_start_link().map(|link| link.split_once("link=").unwrap().1.to_owned())
    }
}

fn probes(proceed: Arc<Notify>, waits: Arc<Notify>) -> Router {
    let who = |Extension(visit): Extension<Visit>| async move {
        visit.person.map_or("stranger".to_owned(), |person| format!("{} {}", person.email, person.role.as_str()))
    };
    let put = |Extension(visit): Extension<Visit>, text: String| async move { visit.flash.put("told", text).await };
    let take = |Extension(visit): Extension<Visit>| async move { visit.flash.take("told").await.unwrap_or_default() };
    let slow = move |Extension(visit): Extension<Visit>| async move {
        // Looked at first, so that the session is in hand when it ends.
        let _nothing = visit.flash.take("told").await;
        waits.notify_one();
        proceed.notified().await;
        visit.flash.put("told", "late".to_owned()).await;
    };
    Router::new()
        .route("/probe", get(who))
        .route("/probe/told", get(take).post(put))
        .route("/probe/slow", post(slow))
        .route("/fn/probe", post(|| async { "reached" }))
}

/// A browser that keeps one cookie and follows no redirect.
#[derive(Clone)]
pub struct Browser {
    pub client: reqwest::Client,
    pub base: String,
    /// As it would be sent: `name=value`.
    pub cookie: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub location: Option<String>,
    /// The whole `Set-Cookie` of the session.
    pub cookie: Option<String>,
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    /// The status with the place that it leads to, for short assertions.
    pub fn leads(&self) -> (u16, &str) {
        (self.status.as_u16(), self.location.as_deref().unwrap_or_default())
    }

    /// A parameter of the page that it leads to.
    pub fn parameter(&self, name: &str) -> String {
        let query = self.location.as_deref().and_then(|location| location.split_once('?')).unwrap_or_default().1;
        let parameters: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap();
        parameters.into_iter().find(|(known, _)| known == name).unwrap_or_default().1
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Browser {
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base))
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base))
    }

    pub async fn send(&mut self, mut request: RequestBuilder) -> Answer {
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let response = request.send().await.unwrap();
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let location = response.headers().get(LOCATION).map(text);
        let mut cookies = response.headers().get_all(SET_COOKIE).into_iter().map(text);
        let cookie = cookies.find(|cookie| cookie.starts_with("onceover=") || cookie.starts_with("__Host-onceover="));
        if let Some(set) = &cookie {
            let pair = set.split(';').next().unwrap().to_owned();
            self.cookie = Some(pair).filter(|pair| !pair.ends_with('='));
        }
        let (status, headers) = (response.status(), response.headers().clone());
        Answer { status, location, cookie, headers, body: response.text().await.unwrap() }
    }

    pub async fn open(&mut self, path: &str) -> Answer {
        self.send(self.get(path)).await
    }

    pub async fn sign_in(&mut self, email: &str, password: &str, next: &str) -> Answer {
        self.send(self.post("/login").form(&[("email", email), ("password", password), ("next", next)])).await
    }

    pub async fn welcome(&mut self, link: &str, email: &str, password: &str, again: &str) -> Answer {
        let form = [("link", link), ("email", email), ("password", password), ("password_again", again)];
        self.send(self.post("/welcome").form(&form)).await
    }

    /// Who the desk takes this browser for.
    pub async fn who(&mut self) -> String {
        let answer = self.open("/probe").await;
        if answer.status == StatusCode::OK { answer.body } else { "stranger".to_owned() }
    }
}

/// A database of its own for one test.
pub struct Scratch {
    url: String,
    _folder: Option<tempfile::TempDir>,
}

impl Scratch {
    /// A process over it, reached where it listens.
    pub async fn desk(&self) -> Desk {
        self.desk_with(|settings| settings).await
    }

    /// A process over it.
    pub async fn desk_with(&self, settings: impl FnOnce(GateSettings) -> GateSettings) -> Desk {
        let database = Database::open(&self.url, Arc::new(OsEntropy)).await.unwrap();
        Desk::over(database, settings).await
    }
}

/// Runs a test on a fresh SQLite file, then on a fresh database of the PostgreSQL server that `ONCEOVER_TEST_POSTGRES` names.
/// Without one it fails, so that nobody believes that half ran; `ONCEOVER_SKIP_POSTGRES=1` leaves it out on purpose.
pub async fn on_each_database(test: impl AsyncFn(&Scratch)) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("onceover.db").display());
    test(&Scratch { url, _folder: Some(folder) }).await;

    let Ok(server) = std::env::var("ONCEOVER_TEST_POSTGRES") else {
        let is_left_out = std::env::var("ONCEOVER_SKIP_POSTGRES").is_ok_and(|value| value == "1");
        assert!(
            is_left_out,
            "ONCEOVER_TEST_POSTGRES is not set: run scripts/with-postgres.sh, or set ONCEOVER_SKIP_POSTGRES=1"
        );
        return;
    };
    let name = format!("session_{}", hex::encode(OsEntropy.bytes()));
    let administration = sqlx::PgPool::connect(&server).await.unwrap();
    sqlx::query(&format!("CREATE DATABASE {name}")).execute(&administration).await.unwrap();
    let (address, parameters) = server.split_once('?').unwrap_or((&server, ""));
    let (address, _) = address.rsplit_once('/').unwrap();
    test(&Scratch { url: format!("{address}/{name}?{parameters}"), _folder: None }).await;
    sqlx::query(&format!("DROP DATABASE {name} WITH (FORCE)")).execute(&administration).await.unwrap();
}

/// What was logged.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
