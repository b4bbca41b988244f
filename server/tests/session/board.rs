//! The numbers of a workload that chance wrote are the same wherever they are told: on the overview, on the board, in both files, in the
//! metrics and in the API; and still after a restart.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::decision::{Decision, DecisionName};
use guard::event::{Outcome, Resolution};
use guard::id::OperationId;
use guard::key::{KeyPart, OperationKey};
use guard::lookup::{Finding, Looked};
use guard::operation::LeaseToken;
use guard::payload::Payload;
use guard::person::{Person, Role};
use guard::refusal::Refusal;
use guard::review::Ruling;
use guard::service::{BeginRequest, Definitions, Report};
use guard::state::StateName;
use guard::summary::Prevention;
use guard::token::{Reach, Scope, Token};
use guard::workflow::Workflow;
use serde_json::Value;

use super::support::{Browser, Desk, PASSWORD, Scratch, on_each_database};

/// How many steps a workload has, and how many documents each of its companies.
const STEPS: usize = 260;
const DOCUMENTS: u64 = 9;

const SEEDS: [u64; 2] = [20_261_130, 7];

/// Chance that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        // Knuth's multiplier; the upper bits are the better ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A workload, and what must come of it by the rule as people read it.
struct Workload<'a> {
    desk: &'a Desk,
    token: Token,
    person: Person,
    dice: Dice,
    leases: BTreeMap<OperationId, LeaseToken>,
    /// Each repetition that was held back: the operation, its attempt and how.
    held: Vec<(OperationId, u32, Prevention)>,
    /// Which attempts were confirmed, with the money of their operation in ten-thousandths.
    confirmed: BTreeMap<(OperationId, u32), (String, i64)>,
    unknown: BTreeSet<OperationId>,
}

impl Workload<'_> {
    async fn begin(&mut self) {
        let document = self.dice.below(DOCUMENTS);
        let company = ["acme-in", "acme-de"][usize::try_from(self.dice.below(2)).unwrap()];
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part(["handoff", "crm"][usize::try_from(document % 2).unwrap()]),
            company: part(company),
            source_system: part("shop"),
            document: part(&format!("order-{document}")),
            action: part("create"),
            revision: 1,
        };
        let amount = if self.dice.below(12) == 0 { 1 } else { 100 + document };
        let currency = if company == "acme-in" { "INR" } else { "EUR" };
        let payload = format!(r#"{{"amount":"{amount}.25","currency":"{currency}"}}"#);
        let request = BeginRequest {
            key,
            payload: Payload::parse(payload.as_bytes()).unwrap(),
            worker: None,
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        let decision = self.desk.guard.begin(&self.token, &request).await.unwrap();
        let through_proxy = self.dice.below(5) == 0;
        if through_proxy {
            self.desk.guard.delivered_by_proxy(&request, &decision);
        } else {
            self.desk.guard.delivered(&request, &decision);
        }
        let name = decision.name();
        if let Decision::Proceed { operation, .. } = &decision {
            let lease = operation.attempt.as_ref().unwrap().lease_token.clone();
            self.leases.insert(operation.id, lease);
        } else if let Some(operation) = decision.operation() {
            let is_proxy_replay = name == DecisionName::Replay && through_proxy;
            let kind = if is_proxy_replay { Some(Prevention::ProxyReplay) } else { Prevention::of(name) };
            self.held.extend(kind.map(|kind| (operation.id, operation.attempt_number(), kind)));
        }
    }

    async fn report(&mut self) {
        let open: Vec<OperationId> = self.leases.keys().copied().collect();
        let Some(id) = self.one_of(&open) else { return };
        let outcome = match self.dice.below(5) {
            0 => Outcome::Failed { reason: "refused: 400".to_owned() },
            1 | 2 if !self.unknown.contains(&id) => Outcome::Unknown { reason: "no answer".to_owned() },
            _ => Outcome::Confirmed { destination_reference: format!("task-{id}") },
        };
        let is_unknown = matches!(outcome, Outcome::Unknown { .. });
        let report = Report { lease_token: self.leases[&id].clone(), outcome, response: None, request_id: None };
        let operation = self.desk.guard.report(&self.token, id, &report).await.unwrap();
        if is_unknown {
            self.unknown.insert(id);
        } else {
            self.leases.remove(&id);
            self.unknown.remove(&id);
        }
        self.note(&operation);
    }

    async fn settle(&mut self) {
        let open: Vec<OperationId> = self.unknown.iter().copied().collect();
        let Some(id) = self.one_of(&open) else { return };
        let guard = &self.desk.guard;
        let operation = if self.dice.below(2) == 0 {
            let looked = Looked {
                request: "GET /tasks".to_owned(),
                status: Some(200),
                pages: 1,
                took_milliseconds: 3,
                finding: Finding::Found { destination_reference: format!("task-{id}") },
                candidates: Vec::new(),
            };
            guard.looked_up(id, guard.now(), &looked).await.unwrap()
        } else {
            let version = guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
            let resolution = if self.dice.below(2) == 0 {
                Resolution::NotApplied { reason: "the ledger has none".to_owned() }
            } else {
                Resolution::Confirmed { destination_reference: format!("task-{id}") }
            };
            let ruling = Ruling {
                seen_version: version,
                resolution,
                reason: "looked into the ledger".to_owned(),
                link: Some("https://tickets.example/1".to_owned()),
                file: None,
                look: None,
            };
            guard.resolve(&self.person, id, &ruling).await.unwrap();
            guard.operation(&Reach::EVERYTHING, id).await.unwrap()
        };
        self.unknown.remove(&id);
        self.leases.remove(&id);
        self.note(&operation);
    }

    fn one_of(&mut self, open: &[OperationId]) -> Option<OperationId> {
        if open.is_empty() {
            return None;
        }
        // By their documents' order of birth, so that every run does the same.
        let place = self.dice.below(open.len() as u64);
        open.get(usize::try_from(place).unwrap()).copied()
    }

    fn note(&mut self, operation: &guard::operation::Operation) {
        if operation.state.name() == StateName::Confirmed {
            let money = operation.money.as_ref().unwrap();
            let money = (money.currency.clone(), money.stake());
            self.confirmed.insert((operation.id, operation.attempt_number()), money);
        }
    }

    /// A worker tells the opposite of what a person has decided, on an operation that nobody asks for again.
    async fn contradict(&mut self) {
        let request = BeginRequest {
            key: OperationKey {
                workflow: KeyPart::new("handoff").unwrap(),
                company: KeyPart::new("acme-in").unwrap(),
                source_system: KeyPart::new("shop").unwrap(),
                document: KeyPart::new("contradicted").unwrap(),
                action: KeyPart::new("create").unwrap(),
                revision: 1,
            },
            payload: Payload::parse(br#"{"amount":"1.00","currency":"INR"}"#).unwrap(),
            worker: None,
            delivery_id: None,
            begin_id: None,
            lease_seconds: None,
            request_id: None,
        };
        let guard = &self.desk.guard;
        let Decision::Proceed { operation, .. } = guard.begin(&self.token, &request).await.unwrap() else { panic!() };
        let lease_token = operation.attempt.as_ref().unwrap().lease_token.clone();
        let report = |outcome| Report { lease_token: lease_token.clone(), outcome, response: None, request_id: None };
        let lost = report(Outcome::Unknown { reason: "no answer".to_owned() });
        let unknown = guard.report(&self.token, operation.id, &lost).await.unwrap();
        let ruling = Ruling {
            seen_version: unknown.version,
            resolution: Resolution::NotApplied { reason: "the ledger has none".to_owned() },
            reason: "looked into the ledger".to_owned(),
            link: Some("https://tickets.example/2".to_owned()),
            file: None,
            look: None,
        };
        guard.resolve(&self.person, operation.id, &ruling).await.unwrap();
        let late = report(Outcome::Confirmed { destination_reference: "task-0".to_owned() });
        let refused = guard.report(&self.token, operation.id, &late).await.unwrap_err();
        assert!(matches!(refused, Refusal::OutcomeDisagrees { .. }), "{refused}");
    }

    /// The duplicates that were prevented, by kind: each operation once, by the first repetition that a confirmed attempt held back.
    fn expected(&self) -> (BTreeMap<Prevention, u64>, BTreeMap<String, i64>) {
        let (mut kinds, mut money, mut seen) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        for (operation, attempt, kind) in &self.held {
            let Some((currency, stake)) = self.confirmed.get(&(*operation, *attempt)) else { continue };
            if seen.insert(*operation) {
                *kinds.entry(*kind).or_default() += 1;
                *money.entry(currency.clone()).or_default() += stake;
            }
        }
        (kinds, money)
    }
}

/// What one place tells: duplicates by kind where it says so, in all, their money, repetitions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    kinds: BTreeMap<Prevention, u64>,
    money: BTreeMap<String, i64>,
    repetitions: u64,
    settled: BTreeMap<String, u64>,
    truths: u64,
    contradicted: u64,
    uncertain_now: u64,
}

fn in_ten_thousandths(text: &str) -> i64 {
    guard::money::stake_of(text).unwrap()
}

/// What Prometheus's text says, summed over workflows and companies.
fn of_metrics(text: &str) -> Told {
    let mut told = Told::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let label = |name: &str| {
            let rest = labels.split_once(&format!("{name}=\"")).unwrap().1;
            rest.split_once('"').unwrap().0.to_owned()
        };
        let number = || value.parse::<u64>().unwrap();
        match name {
            "onceover_duplicates_prevented_total" if number() > 0 => {
                *told.kinds.entry(Prevention::parse(&label("kind")).unwrap()).or_default() += number();
            }
            "onceover_duplicates_prevented_money_total" => {
                *told.money.entry(label("currency")).or_default() += in_ten_thousandths(value);
            }
            "onceover_repetitions_total" => told.repetitions += number(),
            "onceover_settled_total" => *told.settled.entry(label("by")).or_default() += number(),
            "onceover_time_to_truth_seconds_count" => told.truths += number(),
            "onceover_decisions_contradicted_total" => told.contradicted += number(),
            "onceover_uncertain_operations" => told.uncertain_now = number(),
            _ => {}
        }
    }
    told
}

/// What rows of a file or of the API say of everything within reach.
fn of_rows(rows: &[Value]) -> Told {
    let mut told = Told::default();
    for row in rows.iter().filter(|row| row["workflow"].is_null() && row["company"].is_null()) {
        // Numbers of a file; texts of the API.
        let value = row["value"].as_str().map_or_else(|| row["value"].to_string(), ToOwned::to_owned);
        let of = row["of"].as_str().unwrap_or_default();
        let number = || value.parse::<u64>().unwrap();
        match row["measure"].as_str().unwrap() {
            "duplicates_prevented" if number() > 0 => {
                told.kinds.insert(Prevention::parse(of).unwrap(), number());
            }
            "duplicates_prevented_money" if in_ten_thousandths(&value) > 0 => {
                let currency = row["currency"].as_str().unwrap().to_owned();
                *told.money.entry(currency).or_default() += in_ten_thousandths(&value);
            }
            "repetitions_held" => told.repetitions += number(),
            "settled" if number() > 0 => {
                told.truths += number();
                told.settled.insert(of.to_owned(), number());
            }
            "decisions_contradicted" => told.contradicted = number(),
            "uncertain_now" => told.uncertain_now = number(),
            _ => {}
        }
    }
    told
}

/// The rows of a file of comma-separated values, as those of JSON.
fn rows_of_csv(text: &str) -> Vec<Value> {
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let heads = lines.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        let cells = heads.iter().zip(record.iter()).map(|(head, cell)| {
            let cell = if cell.is_empty() { Value::Null } else { Value::String(cell.to_owned()) };
            (head.to_owned(), cell)
        });
        Value::Object(cells.collect())
    };
    lines.records().map(|record| row(record.unwrap())).collect()
}

/// The first number behind a mark in a page, without what sets its thousands apart.
fn number_behind(page: &str, mark: &str) -> u64 {
    let rest = page.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {page}")).1;
    let digits: String = rest
        .chars()
        .skip_while(|character| !character.is_ascii_digit())
        .take_while(|character| character.is_ascii_digit() || *character == ',')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

async fn metrics(desk: &Desk, ada: &Browser, path: &str, name: &str) -> String {
    let scopes = BTreeSet::from([Scope::MetricsRead]);
    let made = desk.guard.create_token(name, scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    let secret = made.1.reveal().to_owned();
    let answer = ada.get(path).bearer_auth(secret).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap()
}

async fn workload(desk: &Desk, person: Person, seed: u64) -> Workload<'_> {
    let named = |name: &str| Workflow {
        amount: Some("/amount".parse().unwrap()),
        currency: Some("/currency".parse().unwrap()),
        ..Workflow::named(KeyPart::new(name).unwrap())
    };
    let definitions = Definitions { workflows: vec![named("handoff"), named("crm")], ..Definitions::default() };
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    let scopes = BTreeSet::from([Scope::OperationsWrite, Scope::OperationsRead]);
    let made = desk.guard.create_token("worker", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
    let mut workload = Workload {
        desk,
        token: made.0,
        person,
        dice: Dice(seed),
        leases: BTreeMap::new(),
        held: Vec::new(),
        confirmed: BTreeMap::new(),
        unknown: BTreeSet::new(),
    };
    for step in 0..STEPS {
        match workload.dice.below(10) {
            0..=5 => workload.begin().await,
            6..=7 => workload.report().await,
            8 => workload.settle().await,
            _ => {
                if step % 3 == 0 {
                    desk.guard.settle_held(100).await.unwrap();
                }
            }
        }
    }
    workload.contradict().await;
    workload
}

#[tokio::test]
async fn the_numbers_are_the_same_wherever_they_are_told() {
    for seed in SEEDS {
        Box::pin(on_each_database(async |scratch: &Scratch| {
            let desk = scratch.desk().await;
            let person = desk.with_person("ada@example.test", Role::Operator).await;
            let workload = workload(&desk, person, seed).await;
            let (kinds, money) = workload.expected();
            let repetitions = workload.held.len() as u64;
            assert!(kinds.values().sum::<u64>() > 3 && repetitions > 30, "seed {seed}: {kinds:?}, {repetitions}");

            let mut ada = desk.whole().await;
            ada.sign_in("ada@example.test", PASSWORD, "/").await;
            let mut told = Told::default();
            for attempt in 0..100 {
                // Behind answers, a second at most.
                desk.guard.settle_held(1_000).await.unwrap();
                told = of_metrics(&metrics(&desk, &ada, "/metrics", &format!("seen {attempt}")).await);
                if told.repetitions == repetitions && told.kinds == kinds {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            assert_eq!((&told.kinds, &told.money, told.repetitions), (&kinds, &money, repetitions), "seed {seed}");
            assert_eq!(told.contradicted, 1);
            assert_eq!(told.truths, told.settled.values().sum::<u64>());

            let file = ada.open("/export/metrics?format=json&days=7").await.body;
            let file: Value = serde_json::from_str(&file).unwrap();
            assert_eq!(of_rows(file["rows"].as_array().unwrap()), told, "the file");
            let file = ada.open("/export/metrics?format=csv&days=7").await.body;
            assert_eq!(of_rows(&rows_of_csv(&file)), told, "the other file");
            let api: Value = serde_json::from_str(&metrics(&desk, &ada, "/api/v1/metrics", "api").await).unwrap();
            assert_eq!(of_rows(api["numbers"].as_array().unwrap()), told, "the API");

            let in_all = told.kinds.values().sum::<u64>();
            let board = ada.open("/metrics-board?days=7").await.body;
            assert_eq!(number_behind(&board, "data-number=\"duplicates_prevented\""), in_all);
            assert_eq!(number_behind(&board, "data-number=\"repetitions_held\""), repetitions);
            assert_eq!(number_behind(&board, "data-number=\"uncertain_now\""), told.uncertain_now);
            for (kind, number) in &told.kinds {
                let row = board.split_once(&format!("data-kind=\"{}\"", kind.as_str())).unwrap().1;
                assert_eq!(number_behind(row, "data-label=\"Duplicates prevented\""), *number, "{kind:?}");
            }
            let overview = ada.open("/?span=7d").await.body;
            let figure = overview.split_once("Duplicates prevented").unwrap().1;
            assert_eq!(number_behind(figure, "class=\"figure-number\""), in_all, "the overview");
            let in_figure = figure.split_once("Prevented in all").unwrap();
            assert_eq!(number_behind(in_figure.1, "class=\"figure-number\""), in_all, "since the first begin");
            for (currency, sum) in &told.money {
                let shown = format!("{}.{:02} {currency}", sum / 10_000, sum % 10_000 / 100);
                assert!(board.replace(',', "").contains(&shown), "{shown} on the board");
                assert!(in_figure.0.replace(',', "").contains(&shown), "{shown} on the overview");
            }

            desk.database.clone().close().await;
            let again = scratch.desk().await;
            let mut ada = again.whole().await;
            ada.sign_in("ada@example.test", PASSWORD, "/").await;
            let text = metrics(&again, &ada, "/metrics", "after the restart").await;
            assert_eq!(of_metrics(&text), told, "after a restart");
        }))
        .await;
    }
}

#[tokio::test]
async fn the_board_shows_a_person_what_is_within_reach_and_links_the_original() {
    Box::pin(on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        desk.with_person("viewer@example.test", Role::Viewer).await;
        let mut viewer = desk.signed_in("viewer@example.test").await;
        let empty = viewer.open("/metrics-board").await;
        assert_eq!(empty.status, 200);
        assert!(empty.body.contains("Nothing was counted in this period"), "{}", empty.body);

        let person = desk.with_person("ada@example.test", Role::Operator).await;
        let workload = workload(&desk, person, 3).await;
        let own = Reach::over(["acme-de".to_owned()], []);
        desk.with_person_of("de@example.test", Role::Viewer, own).await;
        for _ in 0..60 {
            desk.guard.settle_held(1_000).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        let page = viewer.open("/metrics-board?days=7").await.body;
        let (operation, _, _) =
            workload.held.iter().find(|(id, attempt, _)| workload.confirmed.contains_key(&(*id, *attempt))).unwrap();
        assert!(page.contains(&format!("href=\"/operations/{operation}\"")), "the original is linked");
        assert!(page.contains("acme-in") && page.contains("acme-de"));
        assert!(!page.contains(" style=\""), "nothing that the policy would drop");

        let mut german = desk.signed_in("de@example.test").await;
        for path in ["/metrics-board?days=7", "/export/metrics?format=csv"] {
            let page = german.open(path).await.body;
            assert!(page.contains("EUR") && !page.contains("acme-in") && !page.contains("INR"), "{path}: {page}");
        }
        let beyond = german.open("/metrics-board?days=7&company=acme-in").await.body;
        assert!(beyond.contains("Nothing was counted in this period") && !beyond.contains("INR"), "{beyond}");
        for (address, status) in [("/metrics-board?days=0", 422), ("/metrics-board?from=2026-02-30", 422)] {
            assert_eq!(viewer.open(address).await.status, status, "{address}");
        }
        let before = desk.guard.now() - TimeDelta::days(60);
        let address = format!("/metrics-board?from={d}&to={d}", d = before.format("%Y-%m-%d"));
        assert!(viewer.open(&address).await.body.contains("Nothing was counted"), "another time");
    }))
    .await;
}
