//! Lists that are pulled: real servers, a real destination, real pages; on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "support/automation.rs"]
mod automation;
#[path = "pull/holder.rs"]
mod holder;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/process.rs"]
mod process;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::clock::{Clock, Timestamp};
use guard::event::Outcome;
use guard::key::{KeyPart, OperationKey};
use guard::operation::Operation;
use guard::payload::Payload;
use guard::pull::ScheduledPull;
use guard::reconciliation::{Bucket, Origin, Row, Run, RunFilter, Scope};
use guard::service::{BeginRequest, Guard, Reconciliation, Report};
use guard::state::StateName;
use guard::token::{Reach, Token};
use reqwest::StatusCode;
use serde_json::json;
use server::clock::{OsEntropy, SystemClock};
use server::config::Configuration;
use server::pulls::{CLAIM_SECONDS, Puller};
use server::reconciliation::pull::{NotPulled, Pull, pull};
use server::sandbox::{Settings as SandboxSettings, configuration};
use server::state::{Server, Settings};
use server::store::Database;

use automation::{Automation, answered};
use holder::Holder;
use process::{Machine, pause};
use sandbox::Destination;

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

/// A process on a database, without its background work: each test says when it pulls.
struct Process {
    server: Server,
    puller: Puller,
    token: Token,
    clock: Arc<MovedClock>,
}

impl Process {
    async fn on(url: &str, clock: &Arc<MovedClock>) -> Self {
        let mut database = Database::open(url, Arc::new(OsEntropy)).await.unwrap();
        database.clock = Arc::<MovedClock>::clone(clock);
        let server = Server::open(database, Arc::new(OsEntropy), Settings::at("https://desk.example")).await.unwrap();
        let name = hex::encode(guard::clock::Entropy::bytes(&OsEntropy));
        let scopes = guard::token::Scope::ALL.into_iter().collect();
        let made = server.guard.create_token(&name, scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        Self { puller: Puller::of(&server), server, token: made.0, clock: Arc::clone(clock) }
    }

    fn guard(&self) -> &Guard {
        &self.server.guard
    }

    fn later(&self, seconds: i64) {
        self.clock.ahead_seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn apply(&self, text: &str) {
        let read = Configuration::parse("test.toml", text).unwrap();
        self.guard().apply(&read.definitions, &Actor::CommandLine).await.unwrap();
    }

    async fn begins(&self, document: &str, payload: &str) -> Operation {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let request = BeginRequest {
            key: OperationKey {
                workflow: part("sandbox-task"),
                company: part("acme"),
                source_system: part("shop"),
                document: part(document),
                action: part("create"),
                revision: 1,
            },
            payload: Payload::parse(payload.as_bytes()).unwrap(),
            worker: None,
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        self.guard().begin(&self.token, &request).await.unwrap().operation().unwrap().clone()
    }

    async fn reports(&self, operation: &Operation, outcome: Outcome) {
        let lease_token = operation.attempt.as_ref().unwrap().lease_token.clone();
        let report = Report { lease_token, outcome, response: None, request_id: None };
        self.guard().report(&self.token, operation.id, &report).await.unwrap();
    }

    async fn confirms(&self, document: &str, payload: &str, reference: &str) -> Operation {
        let operation = self.begins(document, payload).await;
        self.reports(&operation, Outcome::Confirmed { destination_reference: reference.to_owned() }).await;
        operation
    }

    async fn runs(&self) -> Vec<Run> {
        self.guard().reconciliations(&Reach::EVERYTHING, &RunFilter::default(), None, 50).await.unwrap().0
    }

    async fn rows(&self, run: &Run, bucket: Bucket) -> Vec<Row> {
        self.guard().reconciliation_rows(&Reach::EVERYTHING, run.id, bucket, 0, 50).await.unwrap()
    }

    async fn scheduled(&self) -> ScheduledPull {
        self.guard().scheduled_pulls(&Reach::EVERYTHING).await.unwrap().remove(0)
    }

    async fn state(&self, operation: &Operation) -> StateName {
        self.guard().operation(&Reach::EVERYTHING, operation.id).await.unwrap().state.name()
    }

    /// Somebody pulls now.
    async fn pulls(&self) -> Result<Reconciliation, NotPulled> {
        let workflow = self.guard().catalogue().workflows["sandbox-task"].workflow.clone();
        let (name, company) = ("sandbox-task".to_owned(), "acme".to_owned());
        let scope = Scope { workflow: name, company, from: None, to: None };
        let actor = Actor::Person { email: "olga@example.test".to_owned() };
        let asked = Pull { workflow, scope, opens_all: false, actor };
        Box::pin(pull(self.guard(), &self.server.destinations, asked)).await
    }

    async fn close(self) {
        self.server.database.close().await;
    }
}

/// What the sandbox prints, with its schedule taken in.
fn scheduled(url: &str) -> String {
    let text = configuration(url);
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest) if ["[workflow.pull]", "every_hours", "companies"].iter().any(|start| rest.starts_with(start)) => {
            rest
        }
        Some(_) | None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn payload(amount: &str) -> String {
    json!({ "company": "acme", "amount": amount, "currency": "EUR" }).to_string()
}

/// Runs a test on a SQLite file and on a PostgreSQL database.
async fn on_each_database(test: impl AsyncFn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    Box::pin(test(&format!("sqlite://{}", folder.path().join("onceover.db").display()))).await;
    if let Some(fresh) = postgres::Fresh::new().await {
        Box::pin(test(&fresh.url)).await;
        fresh.remove().await;
    }
}

/// Makes a record of a company in the sandbox; its id.
async fn held(ledger: &Destination, reference: Option<&str>, company: &str, amount: &str, faults: &str) -> String {
    let request = match reference {
        Some(reference) => ledger.create(reference, faults),
        None => ledger.client.post(format!("{}/tasks", ledger.url)),
    };
    let body = json!({ "company": company, "amount": amount, "currency": "EUR" });
    let answer = request.body(body.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let made: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

/// The destination with two records of acme on three pages.
async fn small_ledger() -> Destination {
    let ledger = Destination::start(SandboxSettings { page_records: 1, ..SandboxSettings::default() }).await;
    for amount in ["1.00", "2.00", "3.00"] {
        held(&ledger, None, "acme", amount, "").await;
    }
    ledger
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduled_pull_says_what_each_record_is() {
    on_each_database(async |url: &str| {
        let settings = SandboxSettings { page_records: 2, ..SandboxSettings::default() };
        let ledger = Destination::start(settings).await;
        let mut here = Process::on(url, &Arc::default()).await;
        here.apply(&scheduled(&ledger.url)).await;

        let matched = here.begins("matched", &payload("10.00")).await;
        let id = held(&ledger, Some(&matched.external_reference()), "acme", "10.00", "").await;
        here.reports(&matched, Outcome::Confirmed { destination_reference: id }).await;
        let twice = here.begins("twice", &payload("20.00")).await;
        let id = held(&ledger, Some(&twice.external_reference()), "acme", "20.00", "twice").await;
        here.reports(&twice, Outcome::Confirmed { destination_reference: id }).await;
        let unsure = here.begins("unsure", &payload("30.00")).await;
        held(&ledger, Some(&unsure.external_reference()), "acme", "30.00", "").await;
        here.reports(&unsure, Outcome::Unknown { reason: "no answer".to_owned() }).await;
        let voided = here.begins("voided", &payload("40.00")).await;
        held(&ledger, Some(&voided.external_reference()), "acme", "40.00", "void").await;
        here.reports(&voided, Outcome::Failed { reason: "it was refused".to_owned() }).await;
        held(&ledger, None, "acme", "50.00", "").await;
        held(&ledger, None, "globex", "60.00", "").await;
        let missing = here.confirms("missing", &payload("70.00"), "task-999").await;
        // Longer than the sandbox's answers need to be final.
        here.later(60);
        here.confirms("just now", &payload("80.00"), "task-998").await;

        assert_eq!(here.puller.make_due().await, Ok(1));
        let [run] = here.runs().await.try_into().unwrap();
        let count = |bucket| run.summary.count(bucket);
        assert_eq!((count(Bucket::Matched), count(Bucket::Missing), count(Bucket::Duplicated)), (2, 1, 1), "{run:?}");
        assert_eq!((count(Bucket::Unguarded), count(Bucket::Void), count(Bucket::Pending)), (1, 1, 1), "{run:?}");
        assert_eq!(count(Bucket::Mismatched), 0);
        let Origin::Pulled { destination, pages, .. } = &run.origin else { panic!("{run:?}") };
        assert_eq!((destination.as_str(), *pages, &run.actor), ("sandbox", 3, &Actor::Schedule));
        let unguarded = here.rows(&run, Bucket::Unguarded).await.remove(0).record.unwrap();
        assert_eq!(unguarded.amount, Some("50.00".parse().unwrap()), "that of another company is not ours to tell");
        assert_eq!(unguarded.date, Some(SystemClock::new().now().date_naive()));
        let not_there = here.rows(&run, Bucket::Missing).await.remove(0).operation.unwrap();
        assert_eq!(not_there.operation, missing.id);

        assert_eq!(here.state(&unsure).await, StateName::Confirmed, "it was found");
        assert_eq!(here.state(&twice).await, StateName::Disputed);
        let duplicates = here.guard().open_duplicates(&Reach::EVERYTHING).await.unwrap();
        assert_eq!(duplicates.len(), 1, "the alert rings for what a schedule found");
        let success = here.scheduled().await.schedule.succeeded.unwrap();
        assert_eq!(success.run, run.id);
        here.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_breaks_half_way_is_not_reconciled_and_tried_again() {
    on_each_database(async |url: &str| {
        let ledger = small_ledger().await;
        let mut here = Process::on(url, &Arc::default()).await;
        here.apply(&scheduled(&ledger.url).replace("timeout_seconds = 5", "timeout_seconds = 1")).await;
        here.confirms("order-1", &payload("9.00"), "task-1").await;
        here.later(60);

        for (rule, told) in [
            ("fault=slow_before=4000&on=page&requests=1", "at page 2: no whole answer within 1 seconds"),
            ("fault=fail_before&on=page&requests=1", "at page 2: it answered 500"),
            ("fault=garbage&on=search&requests=1", "the answer is no JSON"),
        ] {
            ledger.rule(rule).await;
            assert_eq!(here.puller.make_due().await, Ok(1), "{told}");
            let failing = here.scheduled().await.schedule.failing.unwrap();
            assert!(failing.reason.contains(told) && failing.reason.contains("nothing was reconciled"), "{failing:?}");
            assert_eq!(here.puller.make_due().await, Ok(0), "not at once again");
            assert_eq!(here.runs().await, [], "nothing of it is kept");
            here.later((failing.again_at - failing.at).num_seconds() + 1);
        }
        let schedule = here.scheduled().await.schedule;
        assert_eq!((schedule.failures, schedule.failing.as_ref().unwrap().times), (3, 3));
        assert_eq!(here.puller.make_due().await, Ok(1));
        let schedule = here.scheduled().await.schedule;
        assert_eq!((schedule.failures, schedule.failing.clone(), here.runs().await.len()), (3, None, 1));
        here.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_make_one_pull_and_a_restart_none() {
    on_each_database(async |url: &str| {
        let ledger = small_ledger().await;
        let clock = Arc::default();
        let (mut here, mut there) = (Process::on(url, &clock).await, Process::on(url, &clock).await);
        here.apply(&scheduled(&ledger.url)).await;
        there.guard().refresh().await.unwrap();
        let made = tokio::join!(here.puller.make_due(), there.puller.make_due());
        assert_eq!(made.0.unwrap() + made.1.unwrap(), 1, "one of them");
        assert_eq!((ledger.requests("search").await, here.runs().await.len()), (1, 1));

        let mut again = Process::on(url, &clock).await;
        assert_eq!(again.puller.make_due().await, Ok(0), "when the next one is due is kept");
        again.later(24 * 3_600 + 1);
        let made = tokio::join!(here.puller.make_due(), there.puller.make_due(), again.puller.make_due());
        assert_eq!(made.0.unwrap() + made.1.unwrap() + made.2.unwrap(), 1);
        assert_eq!(ledger.requests("search").await, 2);

        // A process that dies while it has the pull keeps it from the others for a while only.
        again.later(24 * 3_600 + 1);
        let claimed = here.guard().claim_pull("gone", TimeDelta::seconds(CLAIM_SECONDS)).await.unwrap();
        assert!(claimed.is_some());
        assert_eq!(there.puller.make_due().await, Ok(0));
        there.later(CLAIM_SECONDS + 1);
        assert_eq!(there.puller.make_due().await, Ok(1));
        let gone = here.guard().pull_made(&claimed.unwrap(), "gone", &Err("too late".to_owned())).await;
        assert_eq!((gone, here.scheduled().await.schedule.failures), (Ok(()), 0), "it has no word any more");
        for process in [here, there, again] {
            process.close().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_list_again_is_news_only_where_something_was_done_meanwhile() {
    on_each_database(async |url: &str| {
        let ledger = small_ledger().await;
        let here = Process::on(url, &Arc::default()).await;
        here.apply(&configuration(&ledger.url)).await;
        let order = here.confirms("order-1", &payload("1.00"), "task-1").await;
        here.later(60);
        let first = here.pulls().await.unwrap();
        assert!(!first.is_repeated);
        let entries = here.guard().operation(&Reach::EVERYTHING, order.id).await.unwrap().version;
        let again = here.pulls().await.unwrap();
        assert_eq!((again.is_repeated, again.run.id), (true, first.run.id));
        assert_eq!(here.guard().operation(&Reach::EVERYTHING, order.id).await.unwrap().version, entries);
        assert_eq!(here.runs().await.len(), 1, "nothing was changed");

        here.confirms("order-2", &payload("5.00"), "task-77").await;
        here.later(60);
        let news = here.pulls().await.unwrap();
        assert_eq!(
            (news.is_repeated, news.run.summary.count(Bucket::Missing)),
            (false, 1),
            "not listed, although done"
        );
        assert!(here.pulls().await.unwrap().is_repeated);
        held(&ledger, None, "acme", "4.00", "").await;
        let more = here.pulls().await.unwrap();
        assert_eq!((more.is_repeated, more.run.summary.count(Bucket::Unguarded)), (false, 3));
        assert_eq!(here.runs().await.len(), 3);
        here.close().await;
    })
    .await;
}

/// A workflow whose destination lists by a profile of its own.
fn listed(base_url: &str, list: &str) -> String {
    format!(
        r#"
        [[workflow]]
        name = "sandbox-task"
        destination = "holder"
        amount = "/amount"
        currency = "/currency"
        [[destination]]
        name = "holder"
        base_url = "{base_url}"
        timeout_seconds = 2
        lookups_per_second = 1000
        headers = {{ Authorization = "{}" }}
        [destination.list]
        path = "/payments?of={{{{ company }}}}&since={{{{ from[:10] }}}}"
        records = "$.data[*]"
        {list}
        "#,
        holder::SECRET
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c43_one_payment_for_two_invoices_is_summed_once_over_pages() {
    let holder = Holder::saying(|path| {
        if path.contains("page=2") {
            return json!({ "data": [{ "id": "P-2", "money": { "value": "5.00", "unit": "EUR" } }] });
        }
        json!({ "data": [{ "id": "P-1", "money": { "value": "300.00", "unit": "EUR" } }], "more": "?page=2" })
    })
    .await;
    let list = r#"next_page = "$.more"
        record = { destination_reference = "$.id", amount = "$.money.value", currency = "$.money.unit" }"#;
    on_each_database(async |url: &str| {
        let here = Process::on(url, &Arc::default()).await;
        here.apply(&listed(&holder.url, list)).await;
        here.confirms("INV-1", &payload("100.00"), "P-1").await;
        here.confirms("INV-2", &payload("200.00"), "P-1").await;
        here.later(60);
        let run = here.pulls().await.unwrap().run;
        let total = run.summary.totals.iter().find(|total| total.bucket == Bucket::Matched).unwrap();
        assert_eq!((total.source.to_string(), total.destination.to_string()), ("300.00".into(), "300.00".into()));
        assert_eq!((total.operations, total.records), (2, 1));
        assert_eq!(run.summary.count(Bucket::Unguarded), 1);
        here.close().await;
    })
    .await;
    let since = (SystemClock::new().now() - TimeDelta::days(31)).date_naive();
    assert_eq!(holder.asked()[..2], [format!("/payments?of=acme&since={since}"), "/payments?page=2".to_owned()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c44_minor_units_follow_the_currency() {
    let holder = Holder::saying(|_| {
        let of = |id: &str, ccy: &str, minor: u32| json!({ "id": id, "ccy": ccy, "minor": minor });
        json!({ "data": [of("A", "JPY", 8000), of("B", "JPY", 80), of("C", "KWD", 1234), of("D", "EUR", 80), of("E", "XXY", 80)] })
    })
    .await;
    let list = r#"record = { destination_reference = "id", amount = "/minor", currency = "ccy", minor_units = true }"#;
    on_each_database(async |url: &str| {
        let here = Process::on(url, &Arc::default()).await;
        here.apply(&listed(&holder.url, list)).await;
        let of = |amount: &str, currency: &str| json!({ "amount": amount, "currency": currency }).to_string();
        for (reference, amount, currency) in
            [("A", "80", "JPY"), ("B", "80", "JPY"), ("C", "1.234", "KWD"), ("D", "0.80", "EUR"), ("E", "0.80", "XXY")]
        {
            here.confirms(reference, &of(amount, currency), reference).await;
        }
        here.later(60);
        let run = here.pulls().await.unwrap().run;
        let mut wrong: Vec<String> = here
            .rows(&run, Bucket::Mismatched)
            .await
            .into_iter()
            .map(|row| row.record.unwrap().destination_reference.unwrap())
            .collect();
        wrong.sort();
        assert_eq!((wrong, run.summary.count(Bucket::Matched)), (vec!["A".to_owned(), "E".to_owned()], 3));
        here.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_list_may_not_do_is_told_and_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("onceover.db").display());
    let here = Process::on(&url, &Arc::default()).await;
    let record = r#"record = { destination_reference = "$.id", external_reference = "$.ref" }"#;
    let trap = Holder::saying(|_| json!({ "data": [] })).await;
    let elsewhere = format!("{}/payments?page=2", trap.url);
    let paged = |next: &str| json!({ "data": [{ "id": "P-1" }], "more": next });
    let cases = [
        (paged(&elsewhere), "the next page lies at another host"),
        (paged("?page=1"), "a page names one before it as the next"),
        (json!({ "error": "come back later" }), "nothing where the profile says records stand"),
        (json!({ "data": ["P-1"] }), "a record is a string; an object is needed"),
        (json!({ "data": [{ "number": "P-1" }] }), "no record holds a destination reference or an external reference"),
        (json!({ "data": [{ "id": "P-1", "company": "acme" }, { "id": "P-2" }] }), "a record names no company"),
        (json!({ "data": [{ "id": "P-1", "amount": "1.2.3" }] }), "line 1 (amount)"),
    ];
    for (answer, told) in cases {
        let holder = Holder::saying(move |_| answer.clone()).await;
        let of = if told.contains("no company") { "company = \"$.company\"\n" } else { "" };
        here.apply(&listed(&holder.url, &format!("next_page = \"$.more\"\n{of}{record}"))).await;
        let not = here.pulls().await.unwrap_err().in_a_line();
        assert!(not.contains(told), "{told}: {not}");
    }
    let holder = Holder::redirecting(&elsewhere).await;
    here.apply(&listed(&holder.url, record)).await;
    let not = here.pulls().await.unwrap_err().in_a_line();
    insta::assert_snapshot!(not, @"the list of holder was not read to its end, so nothing was reconciled: it answered 302 Found: it points elsewhere, and that is not followed");
    assert_eq!(trap.asked(), Vec::<String>::new(), "no other host is asked, or gets the secret");
    here.apply(configuration("http://127.0.0.1:9").split("[destination.list]").next().unwrap()).await;
    let not = here.pulls().await.unwrap_err().in_a_line();
    insta::assert_snapshot!(not, @"workflow has no destination with a list; write a [destination.list] into its profile, or hand a file in");
    assert_eq!(here.runs().await, []);
    here.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_are_killed_pull_once_and_say_when_in_their_metrics() {
    on_each_database(async |url: &str| {
        let ledger = small_ledger().await;
        let machine = Machine::on(url);
        machine.apply(&scheduled(&ledger.url));
        let automation = Automation::new("", &machine.token("prometheus"));
        // A SQLite file has one server.
        let mut servers: Vec<_> = (0..if url.starts_with("sqlite") { 1 } else { 2 }).map(|_| machine.serve()).collect();
        let metrics = async |url: &str| answered(automation.at(url).get("/metrics")).await.body;
        let success =
            "onceover_reconciliation_last_success_timestamp_seconds{workflow=\"sandbox-task\",company=\"acme\"} ";
        let told = async |url: &str| {
            let text = metrics(url).await;
            let text = text.as_str().unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix(success));
            line.map(ToOwned::to_owned)
        };
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        let at = loop {
            if let Some(at) = told(&servers[0].url).await {
                break at;
            }
            assert!(tokio::time::Instant::now() < deadline, "{}", servers[0].log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        servers.drain(..).for_each(process::Serving::kill);
        let again = machine.serve();
        // Two turns of its own.
        tokio::task::block_in_place(|| pause(Duration::from_millis(2_500)));
        assert_eq!(told(&again.url).await, Some(at));
        assert_eq!(ledger.requests("search").await, 1, "once, over all of them");
        again.stop();
    })
    .await;
}
