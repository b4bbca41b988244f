//! Who may do what: every page and every server function, for every role, for strangers, and for people of some companies.

use std::collections::BTreeSet;
use std::sync::Arc;

use app::failure::Failure;
use guard::actor::Actor;
use guard::call::{About, CallFilter, Heard, HeardBody};
use guard::clock::Clock as _;
use guard::destination::Destination;
use guard::incident::INCIDENT_OPERATIONS_MIN;
use guard::key::KeyPart;
use guard::lists::{ListPage, RunAction};
use guard::notification::Channel;
use guard::payload::Payload;
use guard::period::{Day, Span};
use guard::person::{Person, Role};
use guard::queue::{Filter, PageRequest};
use guard::refusal::Refusal;
use guard::rules::{RuleChange, RuleVerdict};
use guard::service::{Definitions, Proposer, Signing};
use guard::token::{Reach, Scope};
use guard::workflow::{Correction, Workflow};
use leptos::server_fn::axum::server_fn_paths;
use leptos_axum::generate_route_list;
use reqwest::StatusCode;
use serde_json::{Value, json};
use server::clock::SystemClock;

use super::support::{Answer, Browser, Desk, Scratch, on_each_database};

const EVERYBODY: &[Role] = &Role::ALL;
const WHO_RESOLVES: &[Role] = &[Role::Operator, Role::Admin];
const WHO_PROPOSES: &[Role] = &[Role::Operator, Role::Finance, Role::Admin];
const WHO_APPROVES_FIELDS: &[Role] = &[Role::Finance, Role::Admin];
const FINANCE: &[Role] = &[Role::Finance];
const ADMINISTRATORS: &[Role] = &[Role::Admin];

/// The workflow of every operation.
const HANDOFF: &str = "handoff";

/// The workflow whose rules are proposed.
const RULED: &str = "ruled";

/// The workflow whose rules are decided.
const DECIDED: &str = "decided";

/// Another payload than that of every operation.
const CHANGED: &str = r#"{"amount":"236.00","currency":"EUR"}"#;

/// What exists nowhere.
const NOWHERE: &str = "01920000-0000-7000-8000-000000000000";

/// A server function with a request that is good in every way but, perhaps, who sends it.
struct Function {
    name: &'static str,
    may: &'static [Role],
    about: Thing,
    request: fn(&Given) -> Request,
}

/// The encodings of server functions.
enum Request {
    Json(Value),
    Form(Vec<(&'static str, String)>),
}

/// What a request can be about besides an operation that waits and a token: made anew for each request.
#[derive(Clone, Copy)]
enum Thing {
    /// An operation that waits for a person.
    Waiting,
    /// One of as many operations that wait as make an incident.
    Incident,
    /// A confirmed operation.
    Confirmed,
    /// An amendment that another person proposed.
    Amendment,
    /// A call of the API.
    Call,
    /// A conflict that nobody has decided.
    Conflict,
    /// A period that can be closed.
    Span,
    /// A closed period.
    Period,
    /// A workflow whose rules nobody has proposed to change.
    Ruled,
    /// A change of rules that another person proposed.
    RuleProposal,
    /// A run that has not begun, of the one who asks; another person's where their role has none.
    Run,
    /// A reconciliation with a record that nobody guards.
    Reconciliation,
    /// A reconciliation with a record that may belong to an operation that waits.
    Candidate,
    /// A view that the one who asks has kept.
    View,
}

/// What a request can be about.
struct Given {
    /// An operation that waits for a person, as the API shows it.
    unknown: Value,
    /// A token that can be revoked.
    token: String,
    /// The thing that the function is about.
    about: Value,
    /// Unlike any before.
    number: usize,
}

impl Given {
    fn text(&self, name: &str) -> String {
        self.about[name].as_str().unwrap().to_owned()
    }

    fn amendment_decision(&self, verdict: &str) -> Vec<(&'static str, String)> {
        vec![
            ("draft[amendment]", self.text("id")),
            ("draft[version]", self.about["version"].to_string()),
            ("draft[fingerprint]", self.text("fingerprint")),
            ("draft[verdict]", verdict.to_owned()),
            ("draft[reason]", "as the customer wrote".to_owned()),
        ]
    }
}

/// A moment to come as a browser's field writes it.
fn in_an_hour() -> String {
    let then = SystemClock::new().now() + chrono::TimeDelta::hours(1);
    then.format("%Y-%m-%dT%H:%M").to_string()
}

/// Every server function. One that is not here makes the test fail.
const FUNCTIONS: &[Function] = &[
    Function {
        name: "ask_reversal",
        may: WHO_PROPOSES,
        about: Thing::Confirmed,
        request: |given| {
            Request::Form(vec![
                ("draft[operation]", given.text("id")),
                // Begun and reported.
                ("draft[version]", "2".to_owned()),
                ("draft[record]", "task-1".to_owned()),
                ("draft[reason]", "posted twice".to_owned()),
            ])
        },
    },
    Function {
        name: "change_hold",
        may: WHO_APPROVES_FIELDS,
        about: Thing::Confirmed,
        request: |given| {
            Request::Form(vec![
                ("draft[operation]", given.text("id")),
                ("draft[version]", "2".to_owned()),
                ("draft[act]", "hold_operation".to_owned()),
                ("draft[reason]", "an audit".to_owned()),
            ])
        },
    },
    Function {
        name: "erase_content",
        may: WHO_APPROVES_FIELDS,
        about: Thing::Confirmed,
        request: |given| {
            Request::Form(vec![
                ("draft[operation]", given.text("id")),
                ("draft[seen]", format!("{}:2", given.text("id"))),
                ("draft[reason]", "the customer asked".to_owned()),
            ])
        },
    },
    Function {
        name: "read_content",
        may: EVERYBODY,
        about: Thing::Confirmed,
        request: |given| Request::Json(json!({ "id": given.about["id"] })),
    },
    Function {
        name: "add_person",
        may: ADMINISTRATORS,
        about: Thing::Waiting,
        request: |given| {
            let email = format!("new{}@example.test", given.number);
            Request::Form(vec![("draft[email]", email), ("draft[role]", "viewer".to_owned())])
        },
    },
    Function {
        name: "adopt_record",
        may: WHO_PROPOSES,
        about: Thing::Reconciliation,
        request: |given| {
            Request::Form(vec![
                ("draft[run]", given.text("id")),
                ("draft[number]", "1".to_owned()),
                ("draft[source_system]", "shop".to_owned()),
                ("draft[document]", format!("adopted-{}", given.number)),
                ("draft[action]", "create".to_owned()),
                ("draft[reason]", "it was made by hand".to_owned()),
            ])
        },
    },
    Function {
        name: "choose_theme",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Form(vec![("theme", "dark".to_owned())]),
    },
    Function {
        name: "choose_zone",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Form(vec![("zone", "Europe/Berlin".to_owned())]),
    },
    Function {
        name: "claim",
        may: WHO_RESOLVES,
        about: Thing::Waiting,
        request: |given| {
            let id = given.unknown["id"].as_str().unwrap().to_owned();
            let origin = ("origin", "operation".to_owned());
            Request::Form(vec![("operation", id), ("give_back", "false".to_owned()), origin])
        },
    },
    Function {
        name: "close_period",
        may: FINANCE,
        about: Thing::Span,
        request: |given| {
            Request::Form(vec![
                ("draft[company]", given.text("company")),
                ("draft[from]", given.text("day")),
                ("draft[to]", given.text("day")),
                ("draft[seen]", given.text("seen")),
                ("draft[name]", "Fay".to_owned()),
                ("draft[statement]", "I have seen these figures".to_owned()),
            ])
        },
    },
    Function {
        name: "compare_versions",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |given| Request::Json(json!({ "id": given.about["id"], "left": "", "right": "", "shown": {} })),
    },
    Function {
        name: "confirm_run",
        may: WHO_RESOLVES,
        about: Thing::Run,
        request: |given| Request::Form(vec![("run", given.text("id")), ("reason", "seen in the queue".to_owned())]),
    },
    Function {
        name: "create_token",
        may: ADMINISTRATORS,
        about: Thing::Waiting,
        request: |given| {
            let name = format!("new{}", given.number);
            Request::Form(vec![("draft[name]", name), ("draft[scopes][]", "operations:read".to_owned())])
        },
    },
    Function {
        name: "decide_amendment",
        may: FINANCE,
        about: Thing::Amendment,
        request: |given| {
            let mut fields = given.amendment_decision("approve");
            fields.push(("draft[despite_uncertainty]", "true".to_owned()));
            Request::Form(fields)
        },
    },
    Function {
        name: "decide_amendment",
        may: FINANCE,
        about: Thing::Amendment,
        request: |given| Request::Form(given.amendment_decision("reject")),
    },
    Function {
        name: "decide_amendment",
        may: WHO_PROPOSES,
        about: Thing::Amendment,
        request: |given| Request::Form(given.amendment_decision("withdraw")),
    },
    Function {
        name: "decide_candidate",
        may: WHO_RESOLVES,
        about: Thing::Candidate,
        request: |given| {
            Request::Form(vec![
                ("draft[run]", given.text("id")),
                ("draft[number]", "1".to_owned()),
                ("draft[operation]", given.text("operation")),
                ("draft[version]", given.about["version"].to_string()),
                ("draft[belonging]", "differs".to_owned()),
                ("draft[reason]", "another customer's".to_owned()),
            ])
        },
    },
    Function {
        name: "decide_conflict",
        may: WHO_RESOLVES,
        about: Thing::Conflict,
        request: |given| {
            Request::Form(vec![
                ("draft[conflict]", given.text("id")),
                ("draft[version]", given.about["version"].to_string()),
                ("draft[fingerprint]", given.text("fingerprint")),
                ("draft[verdict]", "keep".to_owned()),
                ("draft[reason]", "the first was right".to_owned()),
            ])
        },
    },
    Function {
        name: "decide_rules",
        may: WHO_APPROVES_FIELDS,
        about: Thing::RuleProposal,
        request: |given| {
            Request::Form(vec![
                ("draft[proposal]", given.text("id")),
                ("draft[workflow]", DECIDED.to_owned()),
                ("draft[verdict]", "approve".to_owned()),
                ("draft[reason]", "it says nothing".to_owned()),
            ])
        },
    },
    Function {
        name: "drop_view",
        may: EVERYBODY,
        about: Thing::View,
        request: |given| Request::Form(vec![("page", "unknown".to_owned()), ("view", given.text("id"))]),
    },
    Function {
        name: "list_activity",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "search": {} })),
    },
    Function {
        name: "list_amendments",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "state": "", "cursor": "" })),
    },
    Function {
        name: "list_calls",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "search": {} })),
    },
    Function {
        name: "list_conflicts",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "search": {} })),
    },
    Function {
        name: "list_operations",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| {
            let texts =
                ["workflow", "company", "source_system", "document", "action", "conflicts", "from", "to", "cursor"];
            let mut search: serde_json::Map<_, _> =
                texts.map(|name| (name.to_owned(), json!(""))).into_iter().collect();
            search.insert("states".to_owned(), json!([]));
            Request::Json(json!({ "search": search }))
        },
    },
    Function {
        name: "list_periods",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "company": "acme", "from": "2026-01-01", "to": "2026-01-31" })),
    },
    Function {
        name: "list_reconciliations",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "workflow": "", "company": "", "before": "" })),
    },
    Function {
        name: "list_unknown",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "asked": {}, "decide": "" })),
    },
    Function { name: "list_workflows", may: EVERYBODY, about: Thing::Waiting, request: |_| Request::Json(json!({})) },
    Function {
        name: "look_up_now",
        may: WHO_RESOLVES,
        about: Thing::Waiting,
        request: |given| Request::Form(vec![("operation", given.unknown["id"].as_str().unwrap().to_owned())]),
    },
    Function {
        name: "open_fields",
        may: &[Role::Operator, Role::Finance, Role::Admin],
        about: Thing::Waiting,
        request: |given| Request::Form(vec![("operation", given.unknown["id"].as_str().unwrap().to_owned())]),
    },
    Function {
        name: "propose_amendment",
        may: WHO_PROPOSES,
        about: Thing::Confirmed,
        request: |given| {
            Request::Form(vec![
                ("draft[base]", given.text("id")),
                ("draft[payload]", CHANGED.to_owned()),
                ("draft[reason]", "two more were bought".to_owned()),
            ])
        },
    },
    Function {
        name: "propose_rules",
        may: WHO_PROPOSES,
        about: Thing::Ruled,
        request: |given| {
            Request::Form(vec![
                ("draft[workflow]", RULED.to_owned()),
                ("draft[volatile]", format!("/seen{}", given.number)),
                ("draft[reason]", "it says nothing".to_owned()),
            ])
        },
    },
    // How a record is corrected is for finance alone.
    Function {
        name: "propose_rules",
        may: FINANCE,
        about: Thing::Ruled,
        request: |_| {
            Request::Form(vec![
                ("draft[workflow]", RULED.to_owned()),
                ("draft[amendable]", "/amount".to_owned()),
                ("draft[before]", "amend".to_owned()),
                ("draft[after]", "forbid".to_owned()),
                ("draft[reason]", "amounts change".to_owned()),
            ])
        },
    },
    Function {
        name: "propose_run",
        may: WHO_RESOLVES,
        about: Thing::Waiting,
        request: |_| Request::Form(vec![("page", "unknown".to_owned()), ("action", "claim".to_owned())]),
    },
    Function {
        name: "propose_verification",
        may: WHO_RESOLVES,
        about: Thing::Incident,
        request: |given| Request::Form(vec![("operation", given.text("id"))]),
    },
    Function {
        name: "read_amendment",
        may: EVERYBODY,
        about: Thing::Amendment,
        request: |given| Request::Json(json!({ "id": given.about["id"], "shown": {}, "state": "" })),
    },
    Function {
        name: "read_board",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "query": "days=7" })),
    },
    Function {
        name: "read_call",
        may: EVERYBODY,
        about: Thing::Call,
        request: |given| Request::Json(json!({ "id": given.about["id"] })),
    },
    Function {
        name: "read_conflict",
        may: EVERYBODY,
        about: Thing::Conflict,
        request: |given| Request::Json(json!({ "id": given.about["id"], "search": {}, "shown": {} })),
    },
    Function { name: "read_frame", may: EVERYBODY, about: Thing::Waiting, request: |_| Request::Json(json!({})) },
    Function { name: "read_incidents", may: EVERYBODY, about: Thing::Waiting, request: |_| Request::Json(json!({})) },
    Function {
        name: "read_operation",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |given| Request::Json(json!({ "id": given.unknown["id"] })),
    },
    Function {
        name: "read_overview",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "span": "Day" })),
    },
    Function {
        name: "read_period",
        may: EVERYBODY,
        about: Thing::Period,
        request: |given| Request::Json(json!({ "id": given.about["id"] })),
    },
    Function {
        name: "read_proposal",
        may: EVERYBODY,
        about: Thing::Confirmed,
        request: |given| Request::Json(json!({ "id": given.about["id"] })),
    },
    Function { name: "read_reference", may: EVERYBODY, about: Thing::Waiting, request: |_| Request::Json(json!({})) },
    Function {
        name: "read_reconciliation",
        may: EVERYBODY,
        about: Thing::Reconciliation,
        request: |given| Request::Json(json!({ "id": given.about["id"], "bucket": "", "after": 0, "row": null })),
    },
    Function {
        name: "read_reversal",
        may: EVERYBODY,
        about: Thing::Confirmed,
        request: |given| Request::Json(json!({ "id": given.about["id"] })),
    },
    Function {
        name: "read_rules",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "workflow": "handoff" })),
    },
    Function {
        name: "read_run",
        may: WHO_RESOLVES,
        about: Thing::Run,
        request: |given| Request::Json(json!({ "run": given.about["id"] })),
    },
    Function { name: "read_settings", may: EVERYBODY, about: Thing::Waiting, request: |_| Request::Json(json!({})) },
    Function {
        name: "read_sides",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |given| Request::Json(json!({ "id": given.unknown["id"] })),
    },
    Function {
        name: "read_views",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |_| Request::Json(json!({ "page": "unknown" })),
    },
    Function {
        name: "reopen_period",
        may: FINANCE,
        about: Thing::Period,
        request: |given| {
            Request::Form(vec![("draft[period]", given.text("id")), ("draft[reason]", "a bill came late".to_owned())])
        },
    },
    Function {
        name: "resolve",
        may: WHO_RESOLVES,
        about: Thing::Waiting,
        request: |given| {
            let text = |name: &str| given.unknown[name].as_str().unwrap().to_owned();
            Request::Form(vec![
                ("draft[operation]", text("id")),
                ("draft[version]", "2".to_owned()),
                ("draft[fingerprint]", text("fingerprint")),
                ("draft[verdict]", "keep_waiting".to_owned()),
                ("draft[until]", in_an_hour()),
                ("draft[reason]", "the ledger posts at ten".to_owned()),
            ])
        },
    },
    Function {
        name: "revoke_token",
        may: ADMINISTRATORS,
        about: Thing::Waiting,
        request: |given| Request::Form(vec![("id", given.token.clone())]),
    },
    Function {
        name: "save_view",
        may: EVERYBODY,
        about: Thing::Waiting,
        request: |given| Request::Form(vec![("page", "unknown".to_owned()), ("name", format!("mine{}", given.number))]),
    },
    Function {
        name: "test_channel",
        may: ADMINISTRATORS,
        about: Thing::Waiting,
        // Nobody listens there: that is told, and is no refusal.
        request: |_| Request::Form(vec![("name", "nobody-there".to_owned())]),
    },
    Function {
        name: "test_lookup",
        may: WHO_RESOLVES,
        about: Thing::Waiting,
        request: |given| {
            let id = given.unknown["id"].as_str().unwrap().to_owned();
            Request::Form(vec![("draft[destination]", "ledger".to_owned()), ("draft[sought]", id)])
        },
    },
];

/// Every page behind sign-in, `{id}` being an operation. One that is not here makes the test fail.
const PAGES: &[&str] = &[
    "/",
    "/activity",
    "/amendments",
    "/conflicts",
    "/developers",
    "/developers/reference",
    "/metrics-board",
    "/operations",
    "/operations/{id}",
    "/operations/{id}/amend",
    "/operations/{id}/compare",
    "/operations/{id}/content",
    "/operations/{id}/reverse",
    "/periods",
    "/reconciliation",
    "/settings",
    "/settings/rules",
    "/unknown",
];

/// Every page behind sign-in about something else than an operation, and who finds one there. What somebody else alone may see is
/// as if it did not exist.
const PAGES_OF_THINGS: &[(&str, Thing, &[Role])] = &[
    ("/amendments/{id}", Thing::Amendment, EVERYBODY),
    ("/conflicts/{id}", Thing::Conflict, EVERYBODY),
    ("/developers/calls/{id}", Thing::Call, EVERYBODY),
    ("/periods/{id}", Thing::Period, EVERYBODY),
    ("/reconciliation/{id}", Thing::Reconciliation, EVERYBODY),
    ("/runs/{id}", Thing::Run, WHO_RESOLVES),
];

/// The pages before sign-in.
const ENTRANCES: &[&str] = &["/login", "/welcome"];

/// A destination at an address where nobody answers.
fn nobody_there() -> Destination {
    let profile = r#"
        name = "ledger"
        base_url = "http://127.0.0.1:9"
        timeout_seconds = 1
        [lookup]
        method = "GET"
        path = "/tasks?reference={{ external_reference }}"
        records = "$[*]"
        external_reference = "$.reference"
        reference = "$.id"
    "#;
    toml::from_str(profile).unwrap()
}

/// A channel at an address where nobody answers.
fn deaf() -> Channel {
    let text = r#"
        name = "nobody-there"
        companies = ["elsewhere-ltd"]
        [webhook]
        url = "http://127.0.0.1:9"
        secrets = ["whsec_bmV3IHNlY3JldCBvZiB0aGVzZSB0ZXN0cywgbG9uZw=="]
    "#;
    toml::from_str(text).unwrap()
}

/// A desk with a workflow, and an automation with a token for it.
struct World {
    desk: Desk,
    whole: Browser,
    token: String,
    /// Who proposes and signs what others decide and open again.
    author: Person,
    /// Who has runs of their own.
    runner: Person,
    number: usize,
}

impl World {
    async fn over(scratch: &Scratch) -> Self {
        let desk = scratch.desk().await;
        let named = |name: &str| Workflow::named(KeyPart::new(name).unwrap());
        let mut workflow = named(HANDOFF);
        workflow.destination = Some("ledger".to_owned());
        workflow.amount = Some("/amount".parse().unwrap());
        workflow.currency = Some("/currency".parse().unwrap());
        workflow.amendment.amendable = vec!["/amount".parse().unwrap()];
        workflow.amendment.before_reconciliation = Correction::Amend;
        let workflows = vec![workflow, named(RULED), named(DECIDED)];
        let definitions = Definitions { workflows, destinations: vec![nobody_there()], channels: vec![deaf()] };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let scopes = Scope::ALL.into_iter().collect();
        let made = desk.guard.create_token("automation", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        let whole = desk.whole().await;
        let author = desk.with_person("author@example.test", Role::Finance).await;
        let runner = desk.with_person("runner@example.test", Role::Admin).await;
        Self { desk, whole, token: made.1.reveal().to_owned(), author, runner, number: 0 }
    }

    async fn ask(&self, path: &str, body: &Value) -> Answer {
        let request = self.whole.post(path).bearer_auth(&self.token).json(body);
        self.whole.clone().send(request).await
    }

    async fn api(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask(path, body).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Somebody with this role, signed in at the whole server.
    async fn person(&self, email: &str, role: Role, reach: Reach) -> (Person, Browser) {
        let person = self.desk.with_person_of(email, role, reach).await;
        let mut browser = self.desk.signed_in(email).await;
        browser.base.clone_from(&self.whole.base);
        (person, browser)
    }

    /// A document that is begun for the first time, as the API is asked for it.
    fn document(&mut self, company: &str) -> Value {
        self.number += 1;
        json!({
            "workflow": HANDOFF, "company": company, "source_system": "shop",
            "document": format!("{company}-{}", self.number), "payload": { "amount": "118.00", "currency": "EUR" },
        })
    }

    /// An operation with this outcome.
    async fn operation(&self, document: &Value, mut outcome: Value) -> Value {
        let begun = self.api("/api/v1/operations", document).await;
        let id = begun["operation"]["id"].as_str().unwrap();
        outcome["lease_token"] = begun["lease"]["token"].clone();
        let settled = self.api(&format!("/api/v1/operations/{id}/outcome"), &outcome).await;
        assert_eq!(settled["state"], outcome["outcome"]);
        settled
    }

    /// An operation that waits for a person, in this company.
    async fn unknown(&mut self, company: &str) -> Value {
        let document = self.document(company);
        self.operation(&document, json!({ "outcome": "unknown", "reason": "the connection was lost" })).await
    }

    /// A confirmed operation, and the document with another payload.
    async fn confirmed(&mut self, company: &str) -> (Value, Value) {
        let mut document = self.document(company);
        let reference = format!("task-{}", self.number);
        let outcome = json!({ "outcome": "confirmed", "destination_reference": reference });
        let confirmed = self.operation(&document, outcome).await;
        document["payload"] = serde_json::from_str(CHANGED).unwrap();
        (confirmed, document)
    }

    /// A day of its own on which nothing was begun.
    fn empty_day(&self) -> Span {
        let first: Day = "2020-01-01".parse().unwrap();
        let day = first + chrono::Days::new(self.number as u64);
        Span { from: day, to: day }
    }

    async fn given(&mut self, company: &str) -> Given {
        let unknown = self.unknown(company).await;
        let name = format!("spare{}", self.number);
        let reach = Reach::over([company.to_owned()], []);
        let scopes = BTreeSet::from([Scope::OperationsRead]);
        let made = self.desk.guard.create_token(&name, scopes, reach, &Actor::CommandLine).await.unwrap();
        Given { about: unknown.clone(), unknown, token: made.0.id.to_string(), number: self.number }
    }

    /// As [`Self::given`], with the thing that is asked about; `person` asks.
    async fn given_about(&mut self, thing: Thing, company: &str, person: &Person) -> Given {
        let given = self.given(company).await;
        let about = self.thing(thing, company, person).await.unwrap_or_else(|| given.unknown.clone());
        Given { about, ..given }
    }

    /// The thing; none where it is the operation that waits.
    async fn thing(&mut self, thing: Thing, company: &str, person: &Person) -> Option<Value> {
        let guard = self.desk.guard.clone();
        let made = match thing {
            Thing::Waiting => return None,
            Thing::Incident => {
                for _ in 1..INCIDENT_OPERATIONS_MIN {
                    self.unknown(company).await;
                }
                return None;
            }
            Thing::Confirmed => self.confirmed(company).await.0,
            Thing::Amendment => {
                let base = self.confirmed(company).await.0["id"].as_str().unwrap().parse().unwrap();
                let (who, payload) = (Proposer::Person(&self.author), Payload::parse(CHANGED.as_bytes()).unwrap());
                let amendment = guard.propose(who, base, payload, "two more", None, None).await.unwrap();
                let operation = guard.operation(&Reach::EVERYTHING, amendment.operation).await.unwrap();
                json!({ "id": amendment.id, "version": operation.version, "fingerprint": amendment.fingerprint })
            }
            Thing::Call => {
                let token = guard.tokens().await.unwrap().into_iter().find(|token| token.name == "automation").unwrap();
                let request = format!(r#"{{"workflow":"{HANDOFF}","company":"{company}"}}"#);
                let heard = Heard {
                    token: Arc::new(token),
                    at: guard.now(),
                    microseconds: 1,
                    method: "POST".to_owned(),
                    endpoint: "/api/v1/operations".to_owned(),
                    path: "/api/v1/operations".to_owned(),
                    status: 422,
                    problem: Some(("invalid_field".to_owned(), format!("{company} is told"))),
                    operation: None,
                    decision: None,
                    about: About::default(),
                    request_id: "r-1".to_owned(),
                    body: HeardBody::Json(guard::json::Json::parse(request.as_bytes()).unwrap(), 1),
                };
                guard.keep_calls(vec![heard]).await.unwrap();
                let own = Reach::over([company.to_owned()], []);
                let page = PageRequest { cursor: None, limit: 1 };
                let found = guard.calls(&own, &CallFilter::default(), &page).await.unwrap();
                json!({ "id": found.rows[0].id })
            }
            Thing::Conflict => {
                let (confirmed, changed) = self.confirmed(company).await;
                let begun = self.ask("/api/v1/operations", &changed).await;
                assert_eq!(begun.status, StatusCode::UNPROCESSABLE_ENTITY, "{begun:?}");
                let id = confirmed["id"].as_str().unwrap().parse().unwrap();
                let known = guard.versions(&Reach::EVERYTHING, id).await.unwrap();
                let conflict = guard.conflict_report(&Reach::EVERYTHING, known.received[0].id).await.unwrap();
                let (id, received) = (conflict.conflict.id, conflict.conflict.fingerprint);
                json!({ "id": id, "version": conflict.operation.version, "fingerprint": received })
            }
            Thing::Span => {
                let span = self.empty_day();
                let totals = guard.period_totals(&Reach::EVERYTHING, company, span).await.unwrap();
                json!({ "company": company, "day": span.from, "seen": totals.fingerprint() })
            }
            Thing::Period => {
                let span = self.empty_day();
                let seen = guard.period_totals(&Reach::EVERYTHING, company, span).await.unwrap().fingerprint();
                let signing = Signing { name: "Fay", statement: "I have seen these figures", reason: "", seen };
                json!({ "id": guard.close_period(&self.author, company, span, &signing).await.unwrap().id })
            }
            Thing::Ruled => {
                let open = guard.open_rule_proposals().await.unwrap();
                for proposal in open.into_iter().filter(|proposal| proposal.workflow == RULED) {
                    let rejected = guard.decide_rules(&self.author, proposal.id, RuleVerdict::Reject, "again");
                    rejected.await.unwrap();
                }
                return None;
            }
            Thing::RuleProposal => {
                let open = guard.open_rule_proposals().await.unwrap();
                let id = match open.into_iter().find(|proposal| proposal.workflow == DECIDED) {
                    Some(proposal) => proposal.id,
                    None => {
                        let volatile = vec![format!("/seen{}", self.number).parse().unwrap()];
                        let change = RuleChange { volatile: Some(volatile), ..RuleChange::default() };
                        guard.propose_rules(&self.author, DECIDED, change, "it says nothing").await.unwrap().id
                    }
                };
                json!({ "id": id })
            }
            Thing::Run => {
                let runs = if WHO_RESOLVES.contains(&person.role) { person } else { &self.runner };
                let filter = Filter::default();
                let run = guard.propose_run(runs, RunAction::Claim, ListPage::Operations, "", &filter).await.unwrap();
                json!({ "id": run.id })
            }
            Thing::Reconciliation => {
                let path = format!("/api/v1/reconciliations?workflow={HANDOFF}&company={company}");
                let file = format!("destination_reference,amount,currency\nloose-{},9.00,EUR\n", self.number);
                let request = self.whole.post(&path).bearer_auth(&self.token).header("content-type", "text/csv");
                let answer = self.whole.clone().send(request.body(file)).await;
                assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
                let answer: Value = serde_json::from_str(&answer.body).unwrap();
                json!({ "id": answer["reconciliation"]["id"] })
            }
            Thing::Candidate => {
                self.number += 1;
                let amount = format!("{}.01", 7_000 + self.number);
                let mut document = self.document(company);
                document["payload"]["amount"] = json!(amount);
                let lost = json!({ "outcome": "unknown", "reason": "the connection was lost" });
                let unknown = self.operation(&document, lost).await;
                let path = format!("/api/v1/reconciliations?workflow={HANDOFF}&company={company}");
                let file = format!("destination_reference,amount,currency\nmaybe-{},{amount},EUR\n", self.number);
                let request = self.whole.post(&path).bearer_auth(&self.token).header("content-type", "text/csv");
                let answer = self.whole.clone().send(request.body(file)).await;
                assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
                let answer: Value = serde_json::from_str(&answer.body).unwrap();
                let id = unknown["id"].as_str().unwrap().parse().unwrap();
                let version = guard.operation(&Reach::EVERYTHING, id).await.unwrap().version;
                json!({ "id": answer["reconciliation"]["id"], "operation": unknown["id"], "version": version })
            }
            Thing::View => {
                let name = format!("view{}", self.number);
                json!({ "id": guard.save_view(person, ListPage::Unknown, &name, "").await.unwrap().id })
            }
        };
        Some(made)
    }
}

async fn call(browser: &mut Browser, function: &Function, given: &Given) -> Answer {
    let request = browser.post(&format!("/fn/{}", function.name));
    let request = match (function.request)(given) {
        Request::Json(body) => request.json(&body),
        Request::Form(fields) => request.form(&fields),
    };
    browser.send(request).await
}

fn failure(answer: &Answer) -> Failure {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[test]
fn every_page_and_function_says_who_may() {
    let pages: BTreeSet<_> = generate_route_list(app::App).iter().map(|page| page.path().to_owned()).collect();
    let of_things = PAGES_OF_THINGS.iter().map(|(page, ..)| page);
    let known = PAGES.iter().chain(of_things).chain(ENTRANCES).map(|page| (*page).to_owned()).collect();
    assert_eq!(pages, known, "pages");
    // The server is linked in, with every function that it registers.
    let functions: BTreeSet<_> = server_fn_paths().map(|(path, _)| path.to_owned()).collect();
    let known = FUNCTIONS.iter().map(|function| format!("/fn/{}", function.name)).collect();
    assert_eq!(functions, known, "server functions");
}

#[tokio::test]
async fn a_function_answers_the_roles_that_may_and_nobody_else() {
    on_each_database(async |scratch: &Scratch| {
        let mut world = World::over(scratch).await;
        for role in Role::ALL {
            let email = format!("{}@example.test", role.as_str());
            let (person, mut browser) = world.person(&email, role, Reach::EVERYTHING).await;
            for function in FUNCTIONS {
                let given = world.given_about(function.about, "acme", &person).await;
                let answer = call(&mut browser, function, &given).await;
                let told = format!("{} as {}: {answer:?}", function.name, role.as_str());
                if function.may.contains(&role) {
                    assert_eq!(answer.status, StatusCode::OK, "{told}");
                } else if function.name == "read_run" {
                    // Nobody reads another person's run, and whoever has none of their own is not told that there are some.
                    let missing = Failure::Refused(Refusal::not_found("run"));
                    assert_eq!((answer.status, failure(&answer)), (StatusCode::NOT_FOUND, missing), "{told}");
                } else {
                    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{told}");
                    assert!(matches!(failure(&answer), Failure::Refused(Refusal::Forbidden { .. })), "{told}");
                }
            }
        }
        let runner = world.runner.clone();
        let mut asked = Vec::new();
        for function in FUNCTIONS {
            asked.push((function, world.given_about(function.about, "acme", &runner).await));
        }
        let entries = world.desk.database.registry.administration_entries(0, 500).await.unwrap().len();
        for (function, given) in &asked {
            let answer = call(&mut world.whole.clone(), function, given).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", function.name);
            assert_eq!(failure(&answer), Failure::SignedOut, "{}", function.name);
        }
        let after = world.desk.database.registry.administration_entries(0, 500).await.unwrap().len();
        assert_eq!(after, entries, "strangers change nothing");
    })
    .await;
}

#[tokio::test]
async fn a_page_opens_for_every_role_and_for_no_stranger() {
    on_each_database(async |scratch: &Scratch| {
        let mut world = World::over(scratch).await;
        let unknown = world.unknown("acme").await;
        let at = |page: &str, thing: &Value| page.replace("{id}", thing["id"].as_str().unwrap());
        // The first start opens to its link alone; without it, it says so.
        for page in ENTRANCES.iter().copied().filter(|page| *page != "/welcome").chain(["/welcome?refused=link"]) {
            assert_eq!(world.whole.open(page).await.status, StatusCode::OK, "{page}");
        }
        assert_eq!(world.whole.open("/welcome").await.leads(), (303, "/welcome?refused=link"));
        for page in PAGES.iter().chain(PAGES_OF_THINGS.iter().map(|(page, ..)| page)) {
            let answer = world.whole.open(&at(page, &unknown)).await;
            assert!(answer.leads().1.starts_with("/login?next="), "{page}: {answer:?}");
        }
        for role in Role::ALL {
            let email = format!("{}@example.test", role.as_str());
            let (person, mut browser) = world.person(&email, role, Reach::EVERYTHING).await;
            for page in PAGES {
                let answer = browser.open(&at(page, &unknown)).await;
                assert_eq!(answer.status, StatusCode::OK, "{page} as {}", role.as_str());
            }
            for (page, thing, may) in PAGES_OF_THINGS {
                let given = world.given_about(*thing, "acme", &person).await;
                let answer = browser.open(&at(page, &given.about)).await;
                let expected = if may.contains(&role) { StatusCode::OK } else { StatusCode::NOT_FOUND };
                assert_eq!(answer.status, expected, "{page} as {}", role.as_str());
                assert_eq!(
                    browser.open(&at(page, &json!({ "id": NOWHERE }))).await.status,
                    StatusCode::NOT_FOUND,
                    "{page}"
                );
            }
            // What is for administrators alone is in no other role's page.
            let settings = browser.open("/settings").await.body;
            assert_eq!(settings.contains("viewer@example.test"), matches!(role, Role::Viewer | Role::Admin));
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_of_another_company_is_seen_or_touched() {
    on_each_database(async |scratch: &Scratch| {
        let mut world = World::over(scratch).await;
        let (own, other) = (world.given("own-company").await, world.given("elsewhere-ltd").await);
        let reach = Reach::over(["own-company".to_owned()], []);
        let hidden = Reach::over(["elsewhere-ltd".to_owned()], []);
        world.desk.with_person_of("elsewhere@example.test", Role::Viewer, hidden).await;
        let (person, mut ada) = world.person("ada@example.test", Role::Admin, reach).await;

        for page in PAGES {
            let body = ada.open(&page.replace("{id}", own.unknown["id"].as_str().unwrap())).await.body;
            assert!(!body.contains("elsewhere"), "{page}");
        }
        for (page, thing, _) in PAGES_OF_THINGS {
            let (own, other) = (
                world.given_about(*thing, "own-company", &person).await,
                world.given_about(*thing, "elsewhere-ltd", &world.author.clone()).await,
            );
            let at = |given: &Given| page.replace("{id}", &given.text("id"));
            let answer = ada.open(&at(&own)).await;
            assert_eq!(answer.status, StatusCode::OK, "{page}");
            assert!(!answer.body.contains("elsewhere"), "{page}");
            assert_eq!(ada.open(&at(&other)).await.status, StatusCode::NOT_FOUND, "{page}");
        }
        let searched = ada.open("/operations?company=elsewhere-ltd").await.body;
        assert!(!searched.contains("elsewhere-ltd-"), "a search finds nothing");

        // What exists elsewhere and what exists nowhere look the same.
        let page = async |ada: &mut Browser, id: &str| {
            let answer = ada.open(&format!("/operations/{id}")).await;
            (answer.status, answer.body.replace(id, "…").len())
        };
        let (hidden, missing) =
            (page(&mut ada, other.unknown["id"].as_str().unwrap()).await, page(&mut ada, NOWHERE).await);
        assert_eq!(hidden, missing);
        let touching = [
            "ask_reversal",
            "change_hold",
            "erase_content",
            "read_content",
            "claim",
            "adopt_record",
            "compare_versions",
            "decide_amendment",
            "decide_candidate",
            "decide_conflict",
            "look_up_now",
            "open_fields",
            "propose_amendment",
            "propose_verification",
            "read_amendment",
            "read_call",
            "read_conflict",
            "read_operation",
            "read_period",
            "read_proposal",
            "read_reconciliation",
            "read_reversal",
            "read_sides",
            "resolve",
            "revoke_token",
        ];
        for name in touching {
            for function in FUNCTIONS.iter().filter(|function| function.name == name) {
                let other = world.given_about(function.about, "elsewhere-ltd", &person).await;
                let answer = call(&mut ada, function, &other).await;
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{name}: {answer:?}");
                let missing = |thing: &Value| {
                    let mut thing = thing.clone();
                    thing["id"] = json!(NOWHERE);
                    thing
                };
                let (unknown, about) = (missing(&other.unknown), missing(&other.about));
                let missing = Given { unknown, about, token: NOWHERE.to_owned(), number: 0 };
                assert_eq!(call(&mut ada, function, &missing).await.body, answer.body, "{name}");
            }
        }
        // A look at a destination is a look at a company's records.
        let function = FUNCTIONS.iter().find(|function| function.name == "test_lookup").unwrap();
        let (seen, hidden) = (call(&mut ada, function, &own).await, call(&mut ada, function, &other).await);
        assert_eq!((seen.status, hidden.status), (StatusCode::OK, StatusCode::UNPROCESSABLE_ENTITY), "{hidden:?}");
        assert!(!hidden.body.contains("elsewhere"), "{hidden:?}");
        // Nor does anybody hear of a channel that tells of another company.
        let function = FUNCTIONS.iter().find(|function| function.name == "test_channel").unwrap();
        let answer = call(&mut ada, function, &own).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
        assert!(!ada.open("/settings").await.body.contains("nobody-there"));
        // Nobody gives away more than they have.
        for (path, draft) in [
            (
                "/fn/create_token",
                [("draft[name]", "wide"), ("draft[scopes][]", "operations:read"), ("draft[companies]", "")],
            ),
            (
                "/fn/add_person",
                [
                    ("draft[email]", "wide@example.test"),
                    ("draft[role]", "admin"),
                    ("draft[companies]", "own-company, elsewhere-ltd"),
                ],
            ),
        ] {
            let answer = ada.send(ada.post(path).form(&draft)).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {answer:?}");
        }
    })
    .await;
}
