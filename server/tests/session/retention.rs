//! Legal holds and erasures at the desk, without script, and what everybody is told after the content is gone.

use chrono::TimeDelta;
use guard::actor::Actor;
use guard::key::KeyPart;
use guard::person::Role;
use guard::service::Definitions;
use guard::token::{Reach, Scope};
use guard::workflow::Workflow;
use reqwest::StatusCode;
use serde_json::{Value, json};
use server::trail::{SEAL_DELAY_SECONDS, seal};

use super::pack::verified;
use super::support::{Answer, Browser, PASSWORD, Scratch, on_each_database};

/// Sends a form as a browser without script does, and opens the page that it leads to.
async fn post(browser: &mut Browser, path: &str, fields: &[(&str, &str)]) -> Answer {
    let answer = browser.send(browser.post(path).header("accept", "text/html").form(fields)).await;
    assert!(answer.status.is_redirection(), "{answer:?}");
    let page = answer.location.unwrap();
    browser.open(page.split('#').next().unwrap()).await
}

/// The value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let (_, behind) = page.split_once(&format!("name=\"{name}\"")).unwrap_or_else(|| panic!("{name}: {page}"));
    let (_, value) = behind.split_once("value=\"").unwrap();
    value.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn content_is_held_then_erased_and_everybody_is_told() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let mut workflow = Workflow::named(KeyPart::new("handoff").unwrap());
        workflow.retention.payload_days = Some(400);
        let definitions = Definitions { workflows: vec![workflow], ..Definitions::default() };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        let scopes = Scope::ALL.into_iter().collect();
        let made = desk.guard.create_token("automation", scopes, Reach::EVERYTHING, &Actor::CommandLine).await.unwrap();
        let token = made.1.reveal().to_owned();
        let whole = desk.whole().await;
        let api = async |path: &str, body: Option<&Value>| {
            let request = match body {
                Some(body) => whole.post(path).json(body),
                None => whole.get(path),
            };
            let answer = whole.clone().send(request.bearer_auth(&token)).await;
            let body = serde_json::from_str::<Value>(&answer.body).unwrap_or_default();
            (answer, body)
        };
        let document = json!({
            "workflow": "handoff", "company": "acme", "source_system": "shop", "document": "order-5",
            "payload": { "customer": "Rosalind Q. Whittaker" },
        });
        let (_, begun) = api("/api/v1/operations", Some(&document)).await;
        let id = begun["operation"]["id"].as_str().unwrap().to_owned();
        let outcome = json!({
            "lease_token": begun["lease"]["token"], "outcome": "confirmed", "destination_reference": "task-5",
            "response": { "status": 201, "body": { "for": "Rosalind Q. Whittaker" } },
        });
        let (_, confirmed) = api(&format!("/api/v1/operations/{id}/outcome"), Some(&outcome)).await;
        assert_eq!(confirmed.get("payload_dropped_at"), None);

        let mut people = Vec::new();
        for (email, role) in [("fay@example.test", Role::Finance), ("vic@example.test", Role::Viewer)] {
            desk.with_person(email, role).await;
            let mut browser = whole.clone();
            browser.sign_in(email, PASSWORD, "/").await;
            people.push(browser);
        }
        let [mut fay, mut vic] = <[Browser; 2]>::try_from(people).ok().unwrap();
        let (own, content) = (format!("/operations/{id}"), format!("/operations/{id}/content"));
        let page = vic.open(&own).await.body;
        assert!(page.contains("A legal hold and the erasure of content need the role finance or admin"), "{page}");

        // On hold, it is told wherever it matters, and nothing is erased.
        let version = hidden(&fay.open(&own).await.body, "draft[version]");
        let hold = [
            ("draft[operation]", id.as_str()),
            ("draft[version]", &version),
            ("draft[act]", "hold_document"),
            ("draft[reason]", "audit 7"),
        ];
        let page = post(&mut fay, "/fn/change_hold", &hold).await.body;
        assert!(page.contains("nothing of it is dropped") && page.contains("is on legal hold since"), "{page}");
        assert!(page.contains("Placed a legal hold on the document") && page.contains("audit 7"), "{page}");
        let page = post(&mut fay, "/fn/change_hold", &hold).await.body;
        assert!(page.contains("Nothing was changed") && page.contains("put on hold once more"), "{page}");
        let page = fay.open(&content).await.body;
        assert!(page.contains("1 payload, 1 response of the destination"), "{page}");
        let seen = hidden(&page, "draft[seen]");
        let erase = |seen: &str| {
            [("draft[operation]", id.clone()), ("draft[seen]", seen.to_owned()), ("draft[reason]", "asked".to_owned())]
        };
        let fields = erase(&seen);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let page = post(&mut fay, "/fn/erase_content", &fields).await.body;
        assert!(page.contains("The content was not erased") && page.contains("audit 7"), "{page}");
        let refused = vic.send(vic.post("/fn/erase_content").form(&fields)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{refused:?}");

        let version = hidden(&fay.open(&own).await.body, "draft[version]");
        let lift = [
            ("draft[operation]", id.as_str()),
            ("draft[version]", &version),
            ("draft[act]", "lift_document"),
            ("draft[reason]", "audit is over"),
        ];
        let page = post(&mut fay, "/fn/change_hold", &lift).await.body;
        assert!(page.contains("The hold is lifted") && !page.contains("is on legal hold since"), "{page}");
        let fields = erase(&hidden(&fay.open(&content).await.body, "draft[seen]"));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let page = post(&mut fay, "/fn/erase_content", &fields).await.body;
        assert!(page.contains("Erased in 1 operation: 1 payload, 1 response of the destination"), "{page}");

        // At the desk.
        let page = fay.open(&own).await.body;
        assert!(
            page.contains("The payload was dropped") && page.contains("Content dropped, erased at once: asked"),
            "{page}"
        );
        assert!(!page.contains("Whittaker"), "{page}");
        assert!(fay.open(&format!("{own}/amend")).await.body.contains("dropped by retention"));

        // Through the API.
        let (_, read) = api(&format!("/api/v1/operations/{id}"), None).await;
        assert!(read["payload_dropped_at"].is_string(), "{read}");
        let (gone, body) = api(&format!("/api/v1/operations/{id}/payloads/1"), None).await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
        assert!(body["detail"].as_str().unwrap().contains("retention dropped it on"), "{body}");
        let (again, body) = api("/api/v1/operations", Some(&document)).await;
        assert_eq!((again.status, &body["decision"]), (StatusCode::OK, &json!("replay")));
        assert_eq!(body["operation"]["destination_reference"], "task-5");
        assert!(body["operation"]["payload_dropped_at"].is_string(), "{body}");
        let mut other = document.clone();
        other["payload"] = json!({ "customer": "somebody else" });
        let (conflict, body) = api("/api/v1/operations", Some(&other)).await;
        assert_eq!((conflict.status, &body["decision"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("conflict")));
        assert_eq!((&body["conflict"]["changes"], &body["conflict"]["changes_total"]), (&json!([]), &json!(0)));
        let page = fay.open(body["conflict"]["review_url"].as_str().unwrap().split(&whole.base).last().unwrap()).await;
        assert!(page.body.contains("dropped by retention"), "{page:?}");
        let metrics = api("/metrics", None).await.0.body;
        let told = "onceover_bodies_dropped_total{workflow=\"handoff\",company=\"acme\"} ";
        assert!(metrics.contains(told), "{metrics}");
        assert!(fay.open("/settings").await.body.contains("within 30 days, the last in the hour from"));

        // The pack says so, and still fits.
        let moved = desk.guard.now() + TimeDelta::seconds(SEAL_DELAY_SECONDS + 1);
        seal(desk.database.ledger.as_ref(), moved).await.unwrap();
        for format in ["json", "html"] {
            let pack = fay.open(&format!("{own}/evidence-pack?format={format}")).await.body;
            assert!(pack.contains("Content dropped, erased at once: asked"), "{pack}");
            let (fits, told) = verified(&pack, None);
            assert!(fits, "{told}");
        }
    })
    .await;
}
