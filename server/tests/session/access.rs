//! Who may do what: every page and every server function, for every role, for strangers, and for people of some companies.

use std::collections::BTreeSet;

use app::failure::Failure;
use guard::actor::Actor;
use guard::clock::Clock as _;
use guard::destination::Destination;
use guard::key::KeyPart;
use guard::person::Role;
use guard::refusal::Refusal;
use guard::service::Definitions;
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;
use leptos::server_fn::axum::server_fn_paths;
use leptos_axum::generate_route_list;
use reqwest::StatusCode;
use serde_json::{Value, json};
use server::clock::SystemClock;

use super::support::{Answer, Browser, Desk, Scratch, on_each_database};

const EVERYBODY: &[Role] = &Role::ALL;
const WHO_RESOLVES: &[Role] = &[Role::Operator, Role::Admin];
const ADMINISTRATORS: &[Role] = &[Role::Admin];

/// A server function with a request that is good in every way but, perhaps, who sends it.
struct Function {
    name: &'static str,
    may: &'static [Role],
    request: fn(&Given) -> Request,
}

/// The encodings of server functions.
enum Request {
    Json(Value),
    Form(Vec<(&'static str, String)>),
}

/// What a request can be about.
struct Given {
    /// An operation that waits for a person, as the API shows it.
    unknown: Value,
    /// A token that can be revoked.
    token: String,
    /// Unlike any before.
    number: usize,
}

/// A moment to come as a browser's field writes it.
fn in_an_hour() -> String {
    let then = SystemClock::new().now() + chrono::TimeDelta::hours(1);
    then.format("%Y-%m-%dT%H:%M").to_string()
}

/// Every server function. One that is not here makes the test fail.
const FUNCTIONS: &[Function] = &[
    Function {
        name: "add_person",
        may: ADMINISTRATORS,
        request: |given| {
            let email = format!("new{}@example.test", given.number);
            Request::Form(vec![("draft[email]", email), ("draft[role]", "viewer".to_owned())])
        },
    },
    Function {
        name: "claim",
        may: WHO_RESOLVES,
        request: |given| {
            let id = given.unknown["id"].as_str().unwrap().to_owned();
            let origin = ("origin", "operation".to_owned());
            Request::Form(vec![("operation", id), ("give_back", "false".to_owned()), origin])
        },
    },
    Function { name: "choose_theme", may: EVERYBODY, request: |_| Request::Form(vec![("theme", "dark".to_owned())]) },
    Function {
        name: "create_token",
        may: ADMINISTRATORS,
        request: |given| {
            let name = format!("new{}", given.number);
            Request::Form(vec![("draft[name]", name), ("draft[scopes][]", "operations:read".to_owned())])
        },
    },
    Function {
        name: "list_operations",
        may: EVERYBODY,
        request: |_| {
            let texts =
                ["workflow", "company", "source_system", "document", "action", "conflicts", "from", "to", "cursor"];
            let mut search: serde_json::Map<_, _> =
                texts.map(|name| (name.to_owned(), json!(""))).into_iter().collect();
            search.insert("states".to_owned(), json!([]));
            Request::Json(json!({ "search": search }))
        },
    },
    Function { name: "list_unknown", may: EVERYBODY, request: |_| Request::Json(json!({ "asked": {}, "decide": "" })) },
    Function { name: "list_workflows", may: EVERYBODY, request: |_| Request::Json(json!({})) },
    Function {
        name: "look_up_now",
        may: WHO_RESOLVES,
        request: |given| Request::Form(vec![("operation", given.unknown["id"].as_str().unwrap().to_owned())]),
    },
    Function {
        name: "open_fields",
        may: &[Role::Operator, Role::Finance, Role::Admin],
        request: |given| Request::Form(vec![("operation", given.unknown["id"].as_str().unwrap().to_owned())]),
    },
    Function { name: "read_frame", may: EVERYBODY, request: |_| Request::Json(json!({})) },
    Function {
        name: "read_operation",
        may: EVERYBODY,
        request: |given| Request::Json(json!({ "id": given.unknown["id"] })),
    },
    Function { name: "read_overview", may: EVERYBODY, request: |_| Request::Json(json!({ "span": "Day" })) },
    Function { name: "read_settings", may: EVERYBODY, request: |_| Request::Json(json!({})) },
    Function {
        name: "resolve",
        may: WHO_RESOLVES,
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
        request: |given| Request::Form(vec![("id", given.token.clone())]),
    },
    Function {
        name: "test_lookup",
        may: WHO_RESOLVES,
        request: |given| {
            let id = given.unknown["id"].as_str().unwrap().to_owned();
            Request::Form(vec![("draft[destination]", "ledger".to_owned()), ("draft[sought]", id)])
        },
    },
];

/// Every page behind sign-in, `{id}` being an operation. One that is not here makes the test fail.
const PAGES: &[&str] = &["/", "/operations", "/operations/{id}", "/settings", "/unknown"];

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

/// A desk with a workflow, and an automation with a token for it.
struct World {
    desk: Desk,
    whole: Browser,
    token: String,
    number: usize,
}

impl World {
    async fn over(scratch: &Scratch) -> Self {
        let desk = scratch.desk().await;
        let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
        workflow.destination = Some("ledger".to_owned());
        let definitions = Definitions { workflows: vec![workflow], destinations: vec![nobody_there()] };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let scopes = Scope::ALL.into_iter().collect();
        let made = desk.guard.create_token("automation", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        let whole = desk.whole().await;
        Self { desk, whole, token: made.1.reveal().to_owned(), number: 0 }
    }

    async fn api(&self, path: &str, body: Value) -> Value {
        let request = self.whole.post(path).bearer_auth(&self.token).json(&body);
        let answer = self.whole.clone().send(request).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Somebody with this role, signed in at the whole server.
    async fn person(&self, email: &str, role: Role, reach: Reach) -> Browser {
        self.desk.with_person_of(email, role, reach).await;
        let mut browser = self.desk.signed_in(email).await;
        browser.base.clone_from(&self.whole.base);
        browser
    }

    /// An operation that waits for a person, in this company.
    async fn unknown(&mut self, company: &str) -> Value {
        self.number += 1;
        let begun = self
            .api(
                "/api/v1/operations",
                json!({
                    "workflow": "handoff", "company": company, "source_system": "shop",
                    "document": format!("{company}-{}", self.number), "payload": { "amount": "118.00" },
                }),
            )
            .await;
        let id = begun["operation"]["id"].as_str().unwrap();
        let lease = &begun["lease"]["token"];
        let outcome = json!({ "lease_token": lease, "outcome": "unknown", "reason": "the connection was lost" });
        let settled = self.api(&format!("/api/v1/operations/{id}/outcome"), outcome).await;
        assert_eq!(settled["state"], "unknown");
        settled
    }

    async fn given(&mut self, company: &str) -> Given {
        let unknown = self.unknown(company).await;
        let name = format!("spare{}", self.number);
        let reach = Reach::over([company.to_owned()], []);
        let scopes = BTreeSet::from([Scope::OperationsRead]);
        let made = self.desk.guard.create_token(&name, scopes, reach, &Actor::CommandLine).await.unwrap();
        Given { unknown, token: made.0.id.to_string(), number: self.number }
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
    let known = PAGES.iter().chain(ENTRANCES).map(|page| (*page).to_owned()).collect();
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
            let mut browser = world.person(&email, role, Reach::EVERYTHING).await;
            for function in FUNCTIONS {
                let given = world.given("acme").await;
                let answer = call(&mut browser, function, &given).await;
                let told = format!("{} as {}: {answer:?}", function.name, role.as_str());
                if function.may.contains(&role) {
                    assert_eq!(answer.status, StatusCode::OK, "{told}");
                } else {
                    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{told}");
                    assert!(matches!(failure(&answer), Failure::Refused(Refusal::Forbidden { .. })), "{told}");
                }
            }
        }
        let given = world.given("acme").await;
        let entries = world.desk.database.registry.administration_entries(0, 500).await.unwrap().len();
        for function in FUNCTIONS {
            let answer = call(&mut world.whole.clone(), function, &given).await;
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
        let at = |page: &str| page.replace("{id}", unknown["id"].as_str().unwrap());
        // The first start opens to its link alone; without it, it says so.
        for page in ENTRANCES.iter().copied().filter(|page| *page != "/welcome").chain(["/welcome?refused=link"]) {
            assert_eq!(world.whole.open(page).await.status, StatusCode::OK, "{page}");
        }
        assert_eq!(world.whole.open("/welcome").await.leads(), (303, "/welcome?refused=link"));
        for page in PAGES {
            let answer = world.whole.open(&at(page)).await;
            assert!(answer.leads().1.starts_with("/login?next="), "{page}: {answer:?}");
        }
        for role in Role::ALL {
            let email = format!("{}@example.test", role.as_str());
            let mut browser = world.person(&email, role, Reach::EVERYTHING).await;
            for page in PAGES {
                let answer = browser.open(&at(page)).await;
                assert_eq!(answer.status, StatusCode::OK, "{page} as {}", role.as_str());
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
        let mut ada = world.person("ada@example.test", Role::Admin, reach).await;

        for page in PAGES {
            let body = ada.open(&page.replace("{id}", own.unknown["id"].as_str().unwrap())).await.body;
            assert!(!body.contains("elsewhere"), "{page}");
        }
        let searched = ada.open("/operations?company=elsewhere-ltd").await.body;
        assert!(!searched.contains("elsewhere-ltd-"), "a search finds nothing");

        // What exists elsewhere and what exists nowhere look the same.
        let nowhere = "01920000-0000-7000-8000-000000000000";
        let page = async |ada: &mut Browser, id: &str| {
            let answer = ada.open(&format!("/operations/{id}")).await;
            (answer.status, answer.body.replace(id, "…").len())
        };
        let (hidden, missing) =
            (page(&mut ada, other.unknown["id"].as_str().unwrap()).await, page(&mut ada, nowhere).await);
        assert_eq!(hidden, missing);
        for name in ["claim", "look_up_now", "open_fields", "read_operation", "resolve", "revoke_token"] {
            let function = FUNCTIONS.iter().find(|function| function.name == name).unwrap();
            let answer = call(&mut ada, function, &other).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{name}: {answer:?}");
            let missing = Given {
                unknown: json!({ "id": nowhere, "fingerprint": other.unknown["fingerprint"] }),
                token: nowhere.to_owned(),
                number: 0,
            };
            assert_eq!(call(&mut ada, function, &missing).await.body, answer.body, "{name}");
        }
        // A look at a destination is a look at a company's records.
        let function = FUNCTIONS.iter().find(|function| function.name == "test_lookup").unwrap();
        let (seen, hidden) = (call(&mut ada, function, &own).await, call(&mut ada, function, &other).await);
        assert_eq!((seen.status, hidden.status), (StatusCode::OK, StatusCode::UNPROCESSABLE_ENTITY), "{hidden:?}");
        assert!(!hidden.body.contains("elsewhere"), "{hidden:?}");
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
