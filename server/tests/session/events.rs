//! The stream of events: who hears what, and when it ends.

use std::collections::BTreeSet;
use std::time::Duration;

use guard::actor::Actor;
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::person::Role;
use guard::service::{BeginRequest, Definitions};
use guard::token::{Reach, Scope, Token};
use guard::workflow::Workflow;
use reqwest::{Response, StatusCode};
use server::live::{HEARTBEAT_SECONDS, PATH, SILENCE_MILLISECONDS, STREAMS_PER_PERSON_MAX};
use server::store::Pool;

use super::support::{Browser, Desk, Scratch, on_each_database};

/// A stream that says nothing for this long has nothing to say: an event comes within a fraction of it.
const QUIET: Duration = Duration::from_secs(3);

/// So much may the process grow, in bytes, for 200 streams: 200 KiB each, sockets and the test's own clients included.
const GROWTH_BYTES_MAX: u64 = 40 * 1_024 * 1_024;

/// Where automations work.
struct Works<'a> {
    desk: &'a Desk,
    token: Token,
}

impl Works<'_> {
    async fn at(desk: &Desk) -> Works<'_> {
        let workflow = Workflow::named(KeyPart::new("handoff").unwrap());
        let definitions = Definitions { workflows: vec![workflow], ..Definitions::default() };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let scopes = BTreeSet::from([Scope::OperationsWrite]);
        let made = desk.guard.create_token("shop", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        Works { desk, token: made.0 }
    }

    /// Begins an operation of a company; answers its id.
    async fn begin(&self, company: &str, document: &str) -> String {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part("handoff"),
            company: part(company),
            source_system: part("shop"),
            document: part(document),
            action: part("create"),
            revision: 1,
        };
        let request = BeginRequest {
            key,
            payload: Payload::parse(b"{}").unwrap(),
            worker: None,
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        let decision = self.desk.guard.begin(&self.token, &request).await.unwrap();
        decision.operation().unwrap().id.to_string()
    }
}

/// An open stream.
struct Stream(Response);

impl Stream {
    async fn of(browser: &Browser, query: &str, last: Option<&str>) -> Result<Self, StatusCode> {
        let mut request = browser.get(&format!("{PATH}{query}")).header("accept", "text/event-stream");
        if let Some(cookie) = &browser.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        if answer.status() != StatusCode::OK {
            return Err(answer.status());
        }
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Ok(Self(answer))
    }

    /// Whether it tells a change within the time; none where it ended.
    async fn tells(&mut self, within: Duration) -> Option<bool> {
        let mut heard = String::new();
        let listen = async {
            while let Some(bytes) = self.0.chunk().await.unwrap() {
                heard.push_str(std::str::from_utf8(&bytes).unwrap());
                if heard.contains("event: change") {
                    return Some(true);
                }
            }
            None
        };
        tokio::time::timeout(within, listen).await.unwrap_or(Some(false))
    }
}

/// The browser of somebody at a whole server over this desk.
async fn at_whole(desk: &Desk, email: &str, role: Role, companies: &[&str]) -> Browser {
    let reach = Reach::over(companies.iter().map(ToString::to_string), []);
    desk.with_person_of(email, role, reach).await;
    let signed_in = desk.signed_in(email).await;
    Browser { cookie: signed_in.cookie, ..desk.whole().await }
}

#[tokio::test]
async fn a_stream_tells_what_its_person_may_see_and_is_silent_about_the_rest() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let works = Works::at(&desk).await;
        let ours = works.begin("acme", "order-1").await;
        let theirs = works.begin("globex", "order-1").await;
        let ada = at_whole(&desk, "ada@example.test", Role::Admin, &[]).await;
        let olga = at_whole(&desk, "olga@example.test", Role::Operator, &["acme"]).await;

        assert_eq!(Stream::of(&desk.whole().await, "", None).await.err(), Some(StatusCode::UNAUTHORIZED));
        let foreign = Stream::of(&olga, &format!("?operation={theirs}"), None).await.err();
        assert_eq!(foreign, Some(StatusCode::NOT_FOUND));

        let mut all = Stream::of(&ada, "", None).await.unwrap();
        let mut limited = Stream::of(&olga, "", None).await.unwrap();
        let mut one = Stream::of(&olga, &format!("?operation={ours}"), None).await.unwrap();

        works.begin("globex", "order-2").await;
        assert_eq!(all.tells(QUIET).await, Some(true));
        assert_eq!(limited.tells(QUIET).await, Some(false), "not even that something happened");

        works.begin("acme", "order-2").await;
        assert_eq!(limited.tells(QUIET).await, Some(true));
        assert_eq!(one.tells(QUIET).await, Some(false), "another operation");

        // A day of repetitions in a moment is one event, and one more for each silence that passed meanwhile.
        let begun = std::time::Instant::now();
        for number in 3..40 {
            works.begin("acme", &format!("order-{number}")).await;
        }
        let mut told = 0;
        while limited.tells(QUIET).await == Some(true) {
            told += 1;
        }
        let silences = begun.elapsed().as_millis() / u128::from(SILENCE_MILLISECONDS);
        assert!(told >= 1 && told <= silences + 2, "{told} events in {silences} silences, and nothing is left to tell");

        let mut back = Stream::of(&olga, "", Some("2026-03-01T00:00:00.000Z")).await.unwrap();
        assert_eq!(back.tells(QUIET).await, Some(true), "who comes back looks");
    })
    .await;
}

#[tokio::test]
async fn a_stream_hears_of_what_another_process_does() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        // SQLite has one process that serves.
        if matches!(desk.database.pool, Pool::Sqlite(_)) {
            return;
        }
        let other = scratch.desk().await;
        let works = Works::at(&other).await;
        let olga = at_whole(&desk, "olga@example.test", Role::Operator, &["acme"]).await;
        let mut stream = Stream::of(&olga, "", None).await.unwrap();
        works.begin("globex", "order-1").await;
        assert_eq!(stream.tells(QUIET).await, Some(false));
        works.begin("acme", "order-1").await;
        assert_eq!(stream.tells(QUIET).await, Some(true));
    })
    .await;
}

#[tokio::test]
async fn a_stream_ends_with_the_session() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let works = Works::at(&desk).await;
        let ada = at_whole(&desk, "ada@example.test", Role::Admin, &[]).await;
        let mut stream = Stream::of(&ada, "", None).await.unwrap();
        let mut leaving = ada.clone();
        assert_eq!(leaving.send(leaving.post("/logout")).await.status, StatusCode::SEE_OTHER);
        works.begin("acme", "order-1").await;
        assert_eq!(stream.tells(Duration::from_secs(HEARTBEAT_SECONDS)).await, None, "and tells nothing any more");
        assert_eq!(Stream::of(&ada, "", None).await.err(), Some(StatusCode::UNAUTHORIZED));
    })
    .await;
}

#[tokio::test]
async fn two_hundred_streams_cost_little_and_one_person_has_no_more_than_their_share() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let works = Works::at(&desk).await;
        let people = 200 / STREAMS_PER_PERSON_MAX;
        let whole = desk.whole().await;
        let mut browsers = Vec::new();
        for number in 0..people {
            let email = format!("person-{number}@example.test");
            desk.with_person(&email, Role::Operator).await;
            browsers.push(Browser { cookie: desk.signed_in(&email).await.cookie, ..whole.clone() });
        }
        let before = resident_bytes();
        let mut streams = Vec::new();
        for browser in &browsers {
            for _ in 0..STREAMS_PER_PERSON_MAX {
                streams.push(Stream::of(browser, "", None).await.unwrap());
            }
        }
        assert_eq!(Stream::of(&browsers[0], "", None).await.err(), Some(StatusCode::SERVICE_UNAVAILABLE));
        for number in 0..500 {
            works.begin("acme", &format!("order-{number}")).await;
        }
        for stream in &mut streams {
            assert_eq!(stream.tells(QUIET).await, Some(true));
        }
        let grown = resident_bytes().saturating_sub(before);
        // Where tests share a process, what the others take cannot be told from what the streams take.
        let is_alone = std::env::var_os("NEXTEST").is_some();
        assert!(!is_alone || grown < GROWTH_BYTES_MAX, "200 streams and 500 operations took {grown} bytes");

        // A browser that goes away leaves its place.
        drop(streams);
        let again = async {
            while Stream::of(&browsers[0], "", None).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2 * HEARTBEAT_SECONDS), again).await.unwrap();
    })
    .await;
}

/// What this process holds in memory.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4_096;
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * PAGE_BYTES
}
