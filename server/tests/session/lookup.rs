//! Trying a destination's lookup from the settings, with a browser that runs no script.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use guard::actor::Actor;
use guard::destination::Destination;
use guard::person::Role;
use guard::service::Definitions;
use serde_json::json;

use super::support::{Scratch, on_each_database};

const SECRET: &str = "s3cret-of-the-ledger";

/// A ledger that holds one record, and the secrets that it was told.
async fn ledger() -> (Destination, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let answer = move |request: Request| {
        let secret = request.headers()["authorization"].to_str().unwrap().to_owned();
        heard.lock().unwrap().push(secret);
        async {
            json!([{ "id": "task-907", "reference": "INV-1" }, { "id": "task-908", "reference": "INV-10" }]).to_string()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let profile = format!(
        r#"
        name = "ledger"
        base_url = "http://{address}"
        headers = {{ Authorization = "{SECRET}", X-Key = "env:PATH" }}
        [lookup]
        method = "GET"
        path = "/tasks?reference={{{{ external_reference }}}}"
        records = "$[*]"
        external_reference = "$.reference"
        reference = "$.id"
        "#
    );
    (toml::from_str(&profile).unwrap(), told)
}

#[tokio::test]
async fn a_lookup_is_tried_from_the_settings() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let (destination, told) = ledger().await;
        let definitions = Definitions { workflows: vec![], destinations: vec![destination], ..Definitions::default() };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        desk.with_person("ada@example.test", Role::Operator).await;
        let mut ada = desk.signed_in("ada@example.test").await;

        let before = ada.open("/settings").await.body;
        assert!(before.contains("Test lookup"));
        assert!(before.contains("from the environment variable PATH"), "where a secret is found may be seen");
        assert!(!before.contains(SECRET) && !before.contains(&std::env::var("PATH").unwrap()), "what it is may not");

        let form = [("draft[destination]", "ledger"), ("draft[sought]", "INV-1")];
        let request = ada.post("/fn/test_lookup").header("accept", "text/html").form(&form);
        let answer = ada.send(request).await;
        assert_eq!(answer.leads(), (302, "/settings#destination-ledger"), "{answer:?}");
        let after = ada.open("/settings").await.body;
        for shown in ["Found.", "GET /tasks?reference=INV-1", "status 200", "task-907", "Only resembles the reference"]
        {
            assert!(after.contains(shown), "{shown}: {after}");
        }
        assert!(!after.contains(SECRET));
        assert_eq!(*told.lock().unwrap(), [SECRET], "asked once, with the secret");
        let again = ada.open("/settings").await.body;
        assert!(!again.contains("status 200"), "told once");
    })
    .await;
}
