//! Files that people hand in, and what leaves the desk of a reconciliation.

use guard::actor::Actor;
use guard::key::KeyPart;
use guard::person::Role;
use guard::reconciliation::{Run, RunFilter};
use guard::service::Definitions;
use guard::token::Reach;
use guard::workflow::Workflow;
use reqwest::StatusCode;
use serde_json::Value;

use super::support::{Answer, Browser, Desk, Scratch, on_each_database};

const BOUNDARY: &str = "a-line-that-no-file-has";

async fn desk(scratch: &Scratch) -> Desk {
    let desk = scratch.desk().await;
    let workflows = vec![Workflow::named(KeyPart::new("handoff").unwrap())];
    let definitions = Definitions { workflows, destinations: Vec::new() };
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
