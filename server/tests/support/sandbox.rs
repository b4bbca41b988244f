//! The destination of a test: the sandbox, in this process, over real sockets.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::Arc;
use std::time::Duration;

use guard::clock::Clock;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;
use server::clock::SystemClock;
use server::sandbox::{FAULT_HEADER, REFERENCE_HEADER, Sandbox, Settings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A sandbox on a free port; it ends with its last clone.
#[derive(Clone)]
pub struct Destination {
    pub url: String,
    pub client: Client,
    kept: Arc<Kept>,
}

/// What lives as long as it does.
struct Kept {
    _folder: TempDir,
    draining: CancellationToken,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.draining.cancel();
    }
}

impl Destination {
    pub async fn start(settings: Settings) -> Self {
        Self::start_at(settings, Arc::new(SystemClock::new())).await
    }

    /// With a clock that the test moves.
    pub async fn start_at(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let folder = TempDir::new().unwrap();
        let sandbox = Sandbox::open(&folder.path().join("sandbox.db"), settings, clock).unwrap();
        let listener = server::listener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let draining = CancellationToken::new();
        let until = draining.clone();
        tokio::spawn(async move { sandbox.serve(listener, until).await });
        Self::at(&url, Kept { _folder: folder, draining })
    }

    fn at(url: &str, kept: Kept) -> Self {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        Self { url: url.to_owned(), client, kept: Arc::new(kept) }
    }

    /// A create with these faults (separated by commas) and this external reference.
    pub fn create(&self, reference: &str, faults: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}/tasks", self.url)).header(REFERENCE_HEADER, reference);
        request.header(FAULT_HEADER, faults).body(format!("{{\"document\":\"of {reference}\",\"amount\":1180.00}}"))
    }

    /// Lets this fault happen: `fault=cut_after&requests=1`.
    pub async fn rule(&self, rule: &str) {
        let answer = self.client.post(format!("{}/sandbox/faults?{rule}", self.url)).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED, "{rule}");
    }

    /// Ends every rule.
    pub async fn clear_rules(&self) {
        self.client.delete(format!("{}/sandbox/faults", self.url)).send().await.unwrap();
    }

    /// Changes a setting: `lag_milliseconds=500`.
    pub async fn set(&self, settings: &str) {
        let answer = self.client.patch(format!("{}/sandbox/settings?{settings}", self.url)).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{settings}");
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await.unwrap();
        (answer.status(), serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
    }

    /// Live and void records that it really holds.
    pub async fn held(&self) -> (u64, u64) {
        let (_, count) = self.get("/sandbox/count").await;
        (count["live"].as_u64().unwrap(), count["void"].as_u64().unwrap())
    }

    /// How many requests did this, or met this fault, since its start.
    pub async fn requests(&self, what: &str) -> u64 {
        let (_, count) = self.get("/sandbox/count").await;
        count["requests"][what].as_u64().unwrap_or(0)
    }
}
