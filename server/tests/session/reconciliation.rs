//! Files that people hand in, and what leaves the desk of a reconciliation.

use guard::actor::Actor;
use guard::key::KeyPart;
use guard::person::Role;
use guard::reconciliation::{Bucket, Run, RunFilter};
use guard::service::Definitions;
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;
use reqwest::StatusCode;
use serde_json::{Value, json};
use server::sandbox::Settings as SandboxSettings;

use super::sandbox::Destination;
use super::support::{Answer, Browser, Desk, Scratch, on_each_database};

const BOUNDARY: &str = "a-line-that-no-file-has";

async fn desk(scratch: &Scratch) -> Desk {
    let desk = scratch.desk().await;
    let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
    workflow.amount = Some("/total".parse().unwrap());
    workflow.currency = Some("/currency".parse().unwrap());
    let workflows = vec![workflow];
    let definitions = Definitions { workflows, ..Definitions::default() };
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    desk
}

async fn runs(desk: &Desk) -> Vec<Run> {
    desk.guard.reconciliations(&Reach::EVERYTHING, &RunFilter::default(), None, 10).await.unwrap().0
}

/// Sends the form as a browser does, the file last.
async fn hand_in(browser: &mut Browser, fields: &[(&str, &str)], file: &str) -> Answer {
    let mut body = String::new();
    for (name, text) in fields {
        body += &format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    }
    let name = if file.is_empty() { "" } else { "ledger.csv" };
    body += &format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         content-type: text/csv\r\n\r\n{file}\r\n--{BOUNDARY}--\r\n"
    );
    let request = browser.post("/reconciliation/file").header("accept", "text/html");
    let request = request.header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"));
    browser.send(request.body(body)).await
}

const OF_ACME: [(&str, &str); 3] = [("workflow", "handoff"), ("company", "acme"), ("delimiter", "")];
const FILE: &str = "destination_reference,amount,currency\nR-1,9.00,EUR\nR-2,-5.00,EUR\n";

#[tokio::test]
async fn a_file_leads_to_its_report_and_the_same_again_changes_nothing() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        let first = hand_in(&mut olga, &OF_ACME, FILE).await;
        assert_eq!(first.status, StatusCode::SEE_OTHER, "{first:?}");
        let report = first.location.clone().unwrap();
        let page = olga.open(&report).await.body;
        assert!(page.contains("Reconciled. This is what it came to.") && page.contains("R-1"), "{page}");
        assert!(!olga.open(&report).await.body.contains("Reconciled. This"), "it is told once");
        let again = hand_in(&mut olga, &OF_ACME, FILE).await;
        assert_eq!(again.location, Some(report.clone()));
        assert!(olga.open(&report).await.body.contains("nothing was changed"));
        let runs = runs(&desk).await;
        assert_eq!(runs.len(), 1);

        let id = report.rsplit_once('/').unwrap().1;
        let file = olga.open(&format!("/export/reconciliation?id={id}&format=csv")).await;
        assert_eq!(file.status, StatusCode::OK);
        assert!(file.body.contains("2,unguarded,2,,,,,,,,3,R-2,,,,-5.00,EUR"), "a number stays one: {}", file.body);
        let rows = olga.open(&format!("/export/reconciliation?id={id}&bucket=unguarded&format=json")).await.body;
        let rows: Value = serde_json::from_str(&rows).unwrap();
        assert_eq!(rows["rows"].as_array().unwrap().len(), 2, "{rows}");
        let none = olga.open(&format!("/export/reconciliation?id={id}&bucket=missing&format=json")).await.body;
        assert_eq!(serde_json::from_str::<Value>(&none).unwrap()["rows"], serde_json::json!([]));
    })
    .await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_stores_nothing_and_names_its_places() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        for (fields, file, told) in [
            (&OF_ACME[..], "destination_reference;amount;currency\nR-1;1.234;EUR\n", "line 2, column 2 (amount)"),
            (&OF_ACME[..], "", "File is missing"),
            (&OF_ACME[1..], FILE, "Workflow is missing"),
            (&[("workflow", "handoff")], FILE, "Company is missing"),
            (&[("workflow", "nothing"), ("company", "acme")], FILE, "nothing"),
            (&[("workflow", "handoff"), ("company", "acme"), ("from", "yesterday")], FILE, "From is no moment"),
            (&[("workflow", "handoff"), ("company", "acme"), ("map.colour", "x")], FILE, "names no field of a record"),
        ] {
            let answer = hand_in(&mut olga, fields, file).await;
            assert_eq!(answer.leads(), (303, "/reconciliation#hand-in"), "{told}");
            let page = olga.open("/reconciliation").await.body;
            assert!(page.contains("Nothing was stored") && page.contains(told), "{told}: {page}");
            // What was written stands in the form again.
            let kept = fields.iter().filter(|(_, text)| !text.is_empty() && *text != "nothing");
            for (name, text) in kept.filter(|(name, _)| ["company", "from"].contains(name)) {
                assert!(page.contains(&format!("name=\"{name}\"")) && page.contains(&format!("value=\"{text}\"")));
            }
        }
        let runs = runs(&desk).await;
        assert_eq!(runs, []);
    })
    .await;
}

#[tokio::test]
async fn who_may_not_hand_in_is_refused_and_sees_why() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        desk.with_person("vera@example.test", Role::Viewer).await;
        let abroad = Reach::over(["globex".to_owned()], []);
        desk.with_person_of("greta@example.test", Role::Finance, abroad).await;
        let mut vera = desk.signed_in("vera@example.test").await;
        assert_eq!(hand_in(&mut vera, &OF_ACME, FILE).await.status, StatusCode::FORBIDDEN);
        assert!(vera.open("/reconciliation").await.body.contains("needs the role operator, finance or admin"));
        let mut greta = desk.signed_in("greta@example.test").await;
        assert_eq!(hand_in(&mut greta, &OF_ACME, FILE).await.leads(), (303, "/reconciliation#hand-in"));
        assert!(greta.open("/reconciliation").await.body.contains("is not within your reach"));
        let mut stranger = desk.browser();
        assert!(hand_in(&mut stranger, &OF_ACME, FILE).await.leads().1.starts_with("/login"));
        let runs = runs(&desk).await;
        assert_eq!(runs, [], "nothing of it was stored");
    })
    .await;
}

/// Sends the form that pulls as a browser without script does.
async fn pull(browser: &mut Browser, fields: &[(&str, &str)]) -> Answer {
    let request = browser.post("/reconciliation/pull").header("accept", "text/html");
    browser.send(request.form(fields)).await
}

/// A desk whose workflow has the sandbox with its list for a destination.
async fn desk_with_a_list(scratch: &Scratch, ledger: &Destination) -> Desk {
    let desk = scratch.desk().await;
    let profile = server::sandbox::configuration(&ledger.url);
    let definitions = server::config::Configuration::parse("sandbox.toml", &profile).unwrap().definitions;
    desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
    desk
}

const LIST_OF_ACME: [(&str, &str); 4] = [("workflow", "sandbox-task"), ("company", "acme"), ("from", ""), ("to", "")];

#[tokio::test]
async fn a_pull_leads_to_its_report_and_the_same_again_changes_nothing() {
    on_each_database(async |scratch: &Scratch| {
        let ledger = Destination::start(SandboxSettings { page_records: 1, ..SandboxSettings::default() }).await;
        for reference in ["R-1", "R-2"] {
            ledger.create(reference, "").send().await.unwrap();
        }
        let desk = desk_with_a_list(scratch, &ledger).await;
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        let form = olga.open("/reconciliation").await.body;
        assert!(
            form.contains("Sandbox task, from sandbox") && form.contains("action=\"/reconciliation/pull\""),
            "{form}"
        );
        let first = pull(&mut olga, &LIST_OF_ACME).await;
        assert_eq!(first.status, StatusCode::SEE_OTHER, "{first:?}");
        let report = first.location.clone().unwrap();
        let page = olga.open(&report).await.body;
        assert!(page.contains("records pulled from sandbox") && page.contains("olga@example.test"), "{page}");
        assert!(page.contains("Reconciled. This is what it came to.") && page.contains("task-1"), "{page}");
        assert!(olga.open("/reconciliation").await.body.contains("records pulled from sandbox"));
        assert_eq!(pull(&mut olga, &LIST_OF_ACME).await.location, Some(report.clone()));
        assert!(olga.open(&report).await.body.contains("nothing was changed"));
        assert_eq!(runs(&desk).await.len(), 1);

        ledger.create("R-3", "").send().await.unwrap();
        ledger.rule("fault=fail_before&on=page&requests=1").await;
        assert_eq!(pull(&mut olga, &LIST_OF_ACME).await.leads(), (303, "/reconciliation#pull"));
        let told = olga.open("/reconciliation").await.body;
        assert!(told.contains("Nothing was stored") && told.contains("at page 2: it answered 500"), "{told}");
        assert!(told.contains("value=\"acme\""), "what was written stands in the form again");
        assert_eq!(runs(&desk).await.len(), 1, "nothing half is kept");
    })
    .await;
}

#[tokio::test]
async fn who_may_not_pull_is_refused_and_sees_why() {
    on_each_database(async |scratch: &Scratch| {
        let ledger = Destination::start(SandboxSettings::default()).await;
        let desk = desk_with_a_list(scratch, &ledger).await;
        desk.with_person("vera@example.test", Role::Viewer).await;
        let abroad = Reach::over(["globex".to_owned()], []);
        desk.with_person_of("greta@example.test", Role::Finance, abroad).await;
        let mut vera = desk.signed_in("vera@example.test").await;
        assert_eq!(pull(&mut vera, &LIST_OF_ACME).await.status, StatusCode::FORBIDDEN);
        assert!(
            vera.open("/reconciliation")
                .await
                .body
                .contains("Only an operator, finance or an administrator pulls records")
        );
        let mut greta = desk.signed_in("greta@example.test").await;
        for (fields, told) in [
            (&LIST_OF_ACME[..], "is not within your reach"),
            (&[("workflow", "nothing"), ("company", "globex")], "nothing"),
            (&[("workflow", "sandbox-task"), ("company", "globex"), ("from", "2990-01-01")], "From lies behind"),
        ] {
            assert_eq!(pull(&mut greta, fields).await.leads(), (303, "/reconciliation#pull"), "{told}");
            let page = greta.open("/reconciliation").await.body;
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(pull(&mut desk.browser(), &LIST_OF_ACME).await.leads().1.starts_with("/login"));
        assert_eq!((runs(&desk).await, ledger.requests("search").await), (vec![], 0), "nobody was asked");
    })
    .await;
}

#[tokio::test]
async fn without_a_list_the_form_says_what_is_missing() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        let page = olga.open("/reconciliation").await.body;
        assert!(page.contains("No workflow within your reach has a destination with a list"), "{page}");
        assert_eq!(pull(&mut olga, &OF_ACME[..2]).await.leads(), (303, "/reconciliation#pull"));
        assert!(olga.open("/reconciliation").await.body.contains("has no destination with a list"));
    })
    .await;
}

#[tokio::test]
async fn the_overview_tells_how_scheduled_pulls_fare() {
    on_each_database(async |scratch: &Scratch| {
        let ledger = Destination::start(SandboxSettings::default()).await;
        ledger.create("R-1", "").send().await.unwrap();
        let desk = scratch.desk().await;
        let profile = server::sandbox::configuration(&ledger.url);
        let profile = ["[workflow.pull]", "every_hours", "companies"]
            .iter()
            .fold(profile, |profile, start| profile.replace(&format!("# {start}"), start));
        let definitions = server::config::Configuration::parse("sandbox.toml", &profile).unwrap().definitions;
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        let begin = json!({
            "workflow": "sandbox-task", "company": "acme", "source_system": "shop", "document": "order-1",
            "payload": { "amount": "9.00", "currency": "EUR" },
        });
        assert_eq!(Shop::of(&desk).await.ask("/api/v1/operations", &begin).await.0, 201);
        let page = olga.open("/").await.body;
        assert!(page.contains("Scheduled pulls") && page.contains("None yet") && page.contains("Due now"), "{page}");

        let span = chrono::TimeDelta::seconds(60);
        let claimed = desk.guard.claim_pull("here", span).await.unwrap().unwrap();
        let reason = "at page 3: no whole answer within 5 seconds";
        desk.guard.pull_made(&claimed, "here", &Err(reason.to_owned())).await.unwrap();
        let page = olga.open("/").await.body;
        assert!(page.contains(reason) && page.contains("Failed "), "{page}");
        assert_eq!(desk.guard.claim_pull("here", span).await.unwrap(), None, "it waits");

        let report = pull(&mut olga, &LIST_OF_ACME).await.location.unwrap();
        let run = report.rsplit_once('/').unwrap().1.parse().unwrap();
        desk.clock.advance(chrono::TimeDelta::hours(2));
        let claimed = desk.guard.claim_pull("here", span).await.unwrap().unwrap();
        desk.guard.pull_made(&claimed, "here", &Ok(run)).await.unwrap();
        let page = olga.open("/").await.body;
        assert!(!page.contains(reason) && !page.contains("None yet"), "{page}");
        assert_eq!(page.matches(&format!("{report}?bucket=unguarded")).count(), 2, "as the last one, and by schedule");
    })
    .await;
}

/// An automation beside the desk.
struct Shop {
    browser: Browser,
    token: String,
}

impl Shop {
    async fn of(desk: &Desk) -> Self {
        let scopes = Scope::ALL.into_iter().collect();
        let made = desk.guard.create_token("shop", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        Self { browser: desk.whole().await, token: made.1.reveal().to_owned() }
    }

    async fn ask(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.browser.post(path).bearer_auth(&self.token).json(body);
        let answer = self.browser.send(request).await;
        (answer.status.as_u16(), serde_json::from_str(&answer.body).unwrap())
    }

    async fn begin(&mut self, document: &str, total: &str) -> (u16, Value) {
        let body = json!({
            "workflow": "handoff", "company": "acme", "source_system": "shop", "document": document,
            "payload": { "total": total, "currency": "EUR", "customer": "C-7" },
        });
        self.ask("/api/v1/operations", &body).await
    }

    /// An operation of which nobody knows whether it was applied.
    async fn lose(&mut self, document: &str, total: &str) -> String {
        let (_, begun) = self.begin(document, total).await;
        let id = begun["operation"]["id"].as_str().unwrap().to_owned();
        let lost = json!({ "lease_token": begun["lease"]["token"], "outcome": "unknown", "reason": "no answer" });
        assert_eq!(self.ask(&format!("/api/v1/operations/{id}/outcome"), &lost).await.0, 200);
        id
    }
}

/// Hands a file in; the id of its report.
async fn reconciled(browser: &mut Browser, file: &str) -> String {
    let answer = hand_in(browser, &OF_ACME, file).await;
    let report = answer.location.clone().unwrap();
    report.strip_prefix("/reconciliation/").unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

async fn act(browser: &mut Browser, function: &str, fields: &[(&str, &str)]) -> Answer {
    let request = browser.post(&format!("/fn/{function}")).header("accept", "text/html");
    browser.send(request.form(fields)).await
}

async fn is_sound(desk: &Desk) {
    server::trail::verify(&*desk.database.ledger, &desk.guard.catalogue()).await.unwrap();
}

#[tokio::test]
async fn an_adopted_record_is_answered_and_nothing_is_sent() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        desk.with_person("olga@example.test", Role::Operator).await;
        let mut olga = desk.signed_in("olga@example.test").await;
        let mut shop = Shop::of(&desk).await;
        let run = reconciled(&mut olga, "destination_reference,document,amount,currency\nR-1,INV-1,9.00,EUR\n").await;
        let place = format!("/reconciliation/{run}?bucket=unguarded&after=0&row=1");
        let form = olga.open(&place).await.body;
        assert!(form.contains("Adopt this record") && form.contains("value=\"INV-1\""), "{form}");
        let adopt = async |browser: &mut Browser, document: &str, reason: &str| {
            let fields = [
                ("draft[run]", run.as_str()),
                ("draft[number]", "1"),
                ("draft[source_system]", "shop"),
                ("draft[document]", document),
                ("draft[action]", "create"),
                ("draft[reason]", reason),
            ];
            let answer = act(browser, "adopt_record", &fields).await;
            assert_eq!(answer.location, Some(format!("{place}#act")));
            browser.open(&place).await.body
        };
        let refused = adopt(&mut olga, "INV-1", " ").await;
        assert!(
            refused.contains("Nothing was adopted") && refused.contains("Adopt this record"),
            "a reason is asked for"
        );
        let page = adopt(&mut olga, "INV-1", "made by hand in March").await;
        assert!(page.contains("was adopted as") && page.contains("made by hand in March"), "{page}");
        assert!(!page.contains("Adopt this record"), "it is settled");

        let (status, answer) = shop.begin("INV-1", "9.0").await;
        assert_eq!((status, &answer["decision"]), (200, &json!("replay")), "{answer}");
        assert_eq!(answer["operation"]["destination_reference"], "R-1");
        assert_eq!(shop.begin("INV-1", "9.01").await.0, 422, "another amount is a conflict");
        // Once more changes nothing, and the record belongs to one operation only.
        adopt(&mut olga, "INV-1", "again").await;
        adopt(&mut olga, "INV-2", "again").await;
        assert_eq!(shop.begin("INV-2", "9.00").await.1["decision"], "proceed", "it was not adopted");

        let again = reconciled(&mut olga, "destination_reference,amount,currency\nR-1,9.00,EUR\n").await;
        let report = desk.guard.reconciliation(&Reach::EVERYTHING, again.parse().unwrap()).await.unwrap();
        assert_eq!(report.summary.count(Bucket::Matched), 1);
        let id = answer["operation"]["id"].as_str().unwrap().parse().unwrap();
        assert!(desk.guard.reconciled_at(id).await.unwrap().is_some());
        is_sound(&desk).await;
    })
    .await;
}

#[tokio::test]
async fn a_person_says_whether_a_record_belongs_to_an_operation() {
    on_each_database(async |scratch: &Scratch| {
        let desk = desk(scratch).await;
        for (email, role) in [("olga@example.test", Role::Operator), ("fay@example.test", Role::Finance)] {
            desk.with_person(email, role).await;
        }
        let mut olga = desk.signed_in("olga@example.test").await;
        let mut fay = desk.signed_in("fay@example.test").await;
        let mut shop = Shop::of(&desk).await;
        let (one, other) = (shop.lose("INV-7", "50.00").await, shop.lose("INV-8", "60.00").await);
        let file = "destination_reference,amount,currency\nR-7,50.00,EUR\nR-8,60.00,EUR\n";
        let run = reconciled(&mut olga, file).await;
        let decide = async |browser: &mut Browser, number: u64, id: &str, belonging: &str, version: u64| {
            let (number_text, version) = (number.to_string(), version.to_string());
            let fields = [
                ("draft[run]", run.as_str()),
                ("draft[number]", &number_text),
                ("draft[operation]", id),
                ("draft[version]", &version),
                ("draft[belonging]", belonging),
                ("draft[reason]", "the customer's name says so"),
            ];
            act(browser, "decide_candidate", &fields).await;
            let after = number - 1;
            browser.open(&format!("/reconciliation/{run}?bucket=unguarded&after={after}&row={number}")).await.body
        };
        let state = async |id: &str| {
            let held = desk.guard.operation(&Reach::EVERYTHING, id.parse().unwrap()).await.unwrap();
            (held.state.name().as_str(), held.state.destination_reference().map(ToOwned::to_owned))
        };
        assert!(decide(&mut fay, 1, &one, "belongs", 2).await.contains("Nothing was decided"), "by role");
        assert!(decide(&mut olga, 1, &one, "belongs", 1).await.contains("Nothing was decided"), "a stale form");
        assert_eq!(state(&one).await.0, "unknown");
        decide(&mut olga, 2, &one, "belongs", 2).await;
        assert_eq!(state(&one).await.0, "unknown", "it is no candidate of that record");
        assert!(decide(&mut olga, 1, &one, "belongs", 2).await.contains("belongs to"));
        assert_eq!(state(&one).await, ("confirmed", Some("R-7".to_owned())));
        assert!(desk.guard.reconciled_at(one.parse().unwrap()).await.unwrap().is_some());
        assert!(decide(&mut olga, 2, &other, "differs", 2).await.contains("does not belong to"));
        assert_eq!(state(&other).await, ("unknown", None), "nothing is moved");
        // What was said stays said: it is no candidate of the next reconciliation either.
        let next = reconciled(&mut olga, &format!("{file}R-9,1.00,EUR\n")).await;
        let row = desk.guard.unguarded_row(&Reach::EVERYTHING, next.parse().unwrap(), 2).await.unwrap().1;
        assert_eq!(row.candidates, []);
        is_sound(&desk).await;
    })
    .await;
}
