//! People are told outside of the desk: real receivers on real sockets, which count what arrives; on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "support/automation.rs"]
mod automation;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;
#[path = "notification/receiver.rs"]
mod receiver;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::{Clock, Timestamp};
use guard::event::Outcome;
use guard::key::{KeyPart, OperationKey};
use guard::notification::Channel;
use guard::payload::Payload;
use guard::service::{BeginRequest, Definitions, Report};
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;
use serde_json::{Value, json};
use server::clock::{OsEntropy, SystemClock};
use server::notification::Teller;
use server::state::{Server, Settings};
use server::store::Database;

use automation::{Automation, answered};
use process::{Machine, Serving, eventually, pause};
use receiver::{Answer, Mailbox, NEW_SECRET, OLD_SECRET, Receiver};

/// The machine's clock, moved by hand.
#[derive(Default)]
struct MovedClock {
    machine: SystemClock,
    ahead_seconds: AtomicI64,
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        self.machine.now() + TimeDelta::seconds(self.ahead_seconds.load(Ordering::Relaxed))
    }
}

/// A process on a database, without its background work: each test says when it looks and when it sends.
struct Process {
    server: Server,
    teller: Teller,
    clock: Arc<MovedClock>,
}

impl Process {
    async fn on(url: &str, clock: &Arc<MovedClock>) -> Self {
        let mut database = Database::open(url, Arc::new(OsEntropy)).await.unwrap();
        database.clock = Arc::<MovedClock>::clone(clock);
        let server = Server::open(database, Arc::new(OsEntropy), Settings::at("https://desk.example")).await.unwrap();
        Self { teller: Teller::of(&server), server, clock: Arc::clone(clock) }
    }

    fn later(&self, seconds: i64) {
        self.clock.ahead_seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn apply(&self, channels: Vec<Channel>) {
        let mut workflow = Workflow::named(KeyPart::new("accounting-handoff").unwrap());
        workflow.amount = Some("/amount".parse().unwrap());
        workflow.currency = Some("/currency".parse().unwrap());
        workflow.review.late_after_minutes = Some(30);
        let definitions = Definitions { workflows: vec![workflow], channels, ..Definitions::default() };
        self.server.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    }

    /// Makes so many operations uncertain, each of 10 EUR, and lets them grow late.
    async fn seven_are_late(&self) {
        let scopes = BTreeSet::from([Scope::OperationsWrite]);
        let guard = &self.server.guard;
        let (token, _) = guard.create_token("billing", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        let part = |text: &str| KeyPart::new(text).unwrap();
        for number in 0..7 {
            let key = OperationKey {
                workflow: part("accounting-handoff"),
                company: part("acme & sons"),
                source_system: part("shop"),
                document: part(&number.to_string()),
                action: part("create"),
                revision: 1,
            };
            let request = BeginRequest {
                key,
                payload: Payload::parse(br#"{"amount":"168.5715","currency":"EUR"}"#).unwrap(),
                worker: None,
                delivery_id: None,
                begin_id: None,
                lease_seconds: None,
                request_id: None,
            };
            let begun = guard.begin(&token, &request).await.unwrap();
            let operation = begun.operation().unwrap();
            let lease_token = operation.attempt.as_ref().unwrap().lease_token.clone();
            let outcome = Outcome::Unknown { reason: "the connection was lost".to_owned() };
            let report = Report { lease_token, outcome, response: None, request_id: None };
            guard.report(&token, operation.id, &report).await.unwrap();
        }
        self.later(31 * 60);
    }

    async fn tells(&self) -> usize {
        self.server.guard.tell_news().await.unwrap()
    }

    async fn delivers(&self) -> usize {
        self.teller.deliver().await.unwrap()
    }

    async fn close(self) {
        self.server.database.close().await;
    }
}

fn webhook(url: &str) -> Channel {
    let text = format!(
        "name = \"operations\"\nkinds = [\"unknown.overdue\"]\n[webhook]\nurl = \"{url}\"\nsecrets = [\"{NEW_SECRET}\", \"{OLD_SECRET}\"]"
    );
    toml::from_str(&text).unwrap()
}

/// Runs a test on a SQLite file and on a PostgreSQL database.
async fn on_each_database(test: impl AsyncFn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    test(&format!("sqlite://{}", folder.path().join("onceover.db").display())).await;
    if let Some(fresh) = postgres::Fresh::new().await {
        test(&fresh.url).await;
        fresh.remove().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_message_arrives_once_the_receiver_takes_it() {
    on_each_database(async |url: &str| {
        let trap = Receiver::answering([]).await;
        let script = [Answer::Status(500), Answer::Redirect(trap.url.clone()), Answer::Status(204)];
        let receiver = Receiver::answering(script).await;
        let here = Process::on(url, &Arc::default()).await;
        here.apply(vec![webhook(&receiver.url)]).await;
        here.seven_are_late().await;
        assert_eq!(here.tells().await, 1);
        for (taken, wait) in [(0, 15), (0, 30), (1, 0)] {
            assert_eq!(here.delivers().await, taken);
            assert_eq!(here.delivers().await, 0, "not at once again");
            here.later(wait);
        }
        let received = receiver.received();
        assert_eq!(received.len(), 3, "each try is one request");
        assert_eq!(trap.received().len(), 0, "redirects are not followed");
        let ids: BTreeSet<&str> = received.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(ids.len(), 1, "the id stays the same");
        for message in &received {
            for secret in [NEW_SECRET, OLD_SECRET] {
                assert!(message.is_signed_with(secret), "{message:?}");
            }
            assert!(!message.is_signed_with("whsec_YW5vdGhlciBzZWNyZXQgb2Ygc29tZWJvZHkgZWxzZQ=="));
        }
        let body = &received[2].body;
        assert_eq!(body["type"], "unknown.overdue");
        let data = &body["data"];
        assert_eq!(
            data["summary"],
            "7 operations of accounting-handoff have been uncertain for more than 30 minutes, 1,180.0005 EUR at risk"
        );
        assert_eq!((&data["count"], &data["new"], &data["limit_minutes"]), (&json!(7), &json!(7), &json!(30)));
        assert_eq!(data["money"], json!([{ "currency": "EUR", "amount": "1180.0005" }]));
        assert_eq!((&data["workflow"], &data["company"]), (&json!("accounting-handoff"), &json!("acme & sons")));
        assert_eq!(data["url"], "https://desk.example/unknown?workflow=accounting-handoff&company=acme+%26+sons");
        assert!((1_800..1_900).contains(&data["oldest_age_seconds"].as_i64().unwrap()), "{data}");

        let state = here.server.guard.channel_states().await.unwrap().remove(0);
        assert_eq!((state.delivered, state.failed, state.is_failing()), (1, 2, false));
        let error = state.last_error.unwrap().reason;
        assert!(error.contains("redirects are not followed"), "{error}");
        here.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_send_one_message_and_a_restart_none() {
    on_each_database(async |url: &str| {
        let receiver = Receiver::answering([]).await;
        let clock = Arc::default();
        let (here, there) = (Process::on(url, &clock).await, Process::on(url, &clock).await);
        here.apply(vec![webhook(&receiver.url)]).await;
        there.server.guard.refresh().await.unwrap();
        here.seven_are_late().await;
        for _ in 0..5 {
            let ((), ()) = tokio::join!(
                async {
                    here.tells().await;
                    here.delivers().await;
                },
                async {
                    there.tells().await;
                    there.delivers().await;
                }
            );
        }
        assert_eq!(receiver.received().len(), 1);
        here.close().await;
        there.close().await;
        let again = Process::on(url, &clock).await;
        again.later(60);
        assert_eq!((again.tells().await, again.delivers().await), (0, 0));
        assert_eq!(receiver.received().len(), 1, "told once");
        again.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_written_outlives_its_process() {
    on_each_database(async |url: &str| {
        let receiver = Receiver::answering([]).await;
        let clock = Arc::default();
        let here = Process::on(url, &clock).await;
        here.apply(vec![webhook(&receiver.url)]).await;
        here.seven_are_late().await;
        assert_eq!(here.tells().await, 1);
        // Claimed, and gone before it was sent.
        let until = here.server.guard.now() + TimeDelta::seconds(60);
        let claim = guard::recovery::Claim { by: "gone".to_owned(), until };
        assert_eq!(here.server.guard.claim_messages(&claim, 16).await.unwrap().len(), 1);
        here.close().await;

        let again = Process::on(url, &clock).await;
        assert_eq!((again.tells().await, again.delivers().await), (0, 0), "somebody has it");
        again.later(61);
        assert_eq!(again.delivers().await, 1);
        assert_eq!(receiver.received().len(), 1);
        again.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_or_wants_nothing_more_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("onceover.db").display());
    let receiver = Receiver::answering([Answer::Hang, Answer::Status(410)]).await;
    let here = Process::on(&url, &Arc::default()).await;
    here.apply(vec![webhook(&receiver.url)]).await;
    here.seven_are_late().await;
    here.tells().await;
    let began = std::time::Instant::now();
    assert_eq!(here.delivers().await, 0);
    assert!(began.elapsed() < Duration::from_secs(server::notification::DELIVERY_SECONDS_MAX + 10));
    let state = || async { here.server.guard.channel_states().await.unwrap().remove(0) };
    assert!(state().await.last_error.unwrap().reason.contains("within 15 seconds"));
    here.later(60);
    assert_eq!(here.delivers().await, 0);
    let off = state().await.switched_off.expect("switched off");
    assert!(off.reason.contains("410"), "{off:?}");
    here.later(24 * 60 * 60 - 120);
    assert_eq!((here.tells().await, here.delivers().await), (0, 0));
    assert_eq!(receiver.received().len(), 2, "nothing is sent there any more");
    here.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_arrives_with_what_and_how_much_in_its_subject() {
    on_each_database(async |url: &str| {
        let mailbox = Mailbox::open(&["late@acme.example"]).await;
        let channel = format!(
            "name = \"books\"\nkinds = [\"unknown.overdue\"]\n[mail]\nserver = \"{}\"\ntls = \"none\"\n\
             from = \"onceover@acme.example\"\nto = [\"ada@acme.example\", \"late@acme.example\"]",
            mailbox.address
        );
        let here = Process::on(url, &Arc::default()).await;
        here.apply(vec![toml::from_str(&channel).unwrap()]).await;
        here.seven_are_late().await;
        assert_eq!(here.tells().await, 2, "one for each who is told");
        assert_eq!(here.delivers().await, 1, "that one is refused keeps it from nobody else");
        here.later(60);
        assert_eq!(here.delivers().await, 1, "the second try was taken");
        assert_eq!(here.delivers().await, 0);
        let received = mailbox.received();
        let to: BTreeSet<&str> = received.iter().map(|mail| mail.to.as_str()).collect();
        assert_eq!((received.len(), to.len()), (2, 2), "{received:?}");
        for mail in &received {
            assert_eq!(mail.from, "onceover@acme.example");
            let subject = mail.header("Subject");
            assert_eq!(
                subject,
                "7 operations of accounting-handoff have been uncertain for more than 30 minutes, 1,180.0005 EUR at risk"
            );
            assert_eq!(mail.header("Auto-Submitted"), "auto-generated");
            assert!(mail.header("Message-ID").ends_with("@acme.example>"), "{mail:?}");
            let text = mail.text();
            assert!(text.contains("https://desk.example/unknown?workflow=accounting-handoff"), "{text}");
            assert!(text.contains("Company: acme & sons"), "{text}");
        }
        here.close().await;
    })
    .await;
}

/// The configuration of real servers: incidents go to a webhook.
fn configuration(url: &str) -> String {
    format!(
        "[[workflow]]\nname = \"handoff\"\n\n[[notification]]\nname = \"operations\"\n[notification.webhook]\nurl = \"{url}\"\n\
         secrets = [\"file:secret\"]\n"
    )
}

/// Real servers on one database: an incident is one message, whoever is killed.
async fn told_by_one(machine: &Machine, servers: usize) {
    let receiver = Receiver::answering([]).await;
    machine.write("secret", format!("{NEW_SECRET}\n"));
    machine.apply(&configuration(&receiver.url));
    let token = machine.token("billing");
    let serving: Vec<Serving> = (0..servers).map(|_| machine.serve()).collect();
    let automation = Automation::new(&serving[0].url, &token);
    for number in 0..6 {
        let begun = answered(automation.begin(&number.to_string())).await.body;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let lease = text(&begun["lease"]["token"]);
        let report = json!({ "lease_token": lease, "outcome": "unknown", "reason": "no answer in 10 s" });
        let answer = answered(automation.outcome(&text(&begun["operation"]["id"]), &report)).await;
        assert!(answer.status.is_success(), "{answer:?}");
    }
    let arrived = || !receiver.received().is_empty();
    tokio::task::block_in_place(|| eventually(Duration::from_secs(90), "the message arrives", arrived));
    // Killed between the answer and this, it would send it once more, under the same id.
    let delivered = "onceover_notifications_total{way=\"webhook\",result=\"delivered\"} 1";
    let metrics = async |url: &str| {
        let text = answered(Automation::new(url, &token).get("/metrics")).await.body;
        text.as_str().unwrap().to_owned()
    };
    while !metrics(&serving[0].url).await.contains(delivered) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    serving.into_iter().for_each(Serving::kill);
    let again: Vec<Serving> = (0..servers).map(|_| machine.serve()).collect();
    tokio::task::block_in_place(|| pause(Duration::from_secs(20)));
    let received = receiver.received();
    assert_eq!(received.len(), 1, "{received:?}");
    assert!(received[0].is_signed_with(NEW_SECRET));
    assert_eq!((&received[0].body["type"], &received[0].body["data"]["count"]), (&json!("incident.opened"), &json!(6)));
    let text = metrics(&again[0].url).await;
    for line in [delivered, "onceover_notifications_waiting 0", "onceover_notification_channels_failing 0"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    again.into_iter().for_each(Serving::stop);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_tells_once_and_a_killed_one_never_again() {
    told_by_one(&Machine::new(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_real_servers_on_one_database_tell_once() {
    let Some(fresh) = postgres::Fresh::new().await else { return };
    told_by_one(&Machine::on(&fresh.url), 2).await;
    fresh.remove().await;
}

#[test]
fn check_names_the_key_and_shows_no_secret() {
    let machine = Machine::new();
    let hook = |lines: &str| format!("[[notification]]\nname = \"chat\"\n{lines}");
    let checks = |text: String| machine.write("a.toml", text).run(&["check", "a.toml"]);
    let told = checks(hook("[notification.webhook]\nurl = \"https://a.example\"\nsecret = \"env:A\"\n")).refused(1);
    assert!(
        told.contains("a.toml:5:1: notification.webhook.secret: there is no such key; did you mean secrets?"),
        "{told}"
    );
    let told = checks(hook("[notification.mail]\nserver = \"a.example\"\nfrom = \"a@b.example\"\n")).refused(1);
    assert!(told.contains("a.toml:3:15: notification.mail.to: is empty"), "{told}");
    let text = hook(
        "[notification.webhook]\nurl = \"https://a.example/hooks/T0KEN\"\nsecrets = [\"env:ONCEOVER_TEST_OF_NO_SUCH\"]\n",
    );
    let told = checks(text).refused(1);
    assert!(told.contains("a.toml:5:1: notification.webhook.secrets: the environment variable"), "{told}");
    let ended = checks(hook(&format!(
        "[notification.webhook]\nurl = \"https://a.example/hooks/T0KEN\"\nsecrets = [\"{NEW_SECRET}\"]\n"
    )));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stdout.contains("T0KEN") && !ended.stdout.contains("whsec_"), "{}", ended.stdout);
    assert!(ended.stderr.contains("warning: notification chat holds webhook.secrets itself"), "{}", ended.stderr);
}
