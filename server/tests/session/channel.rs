//! A channel of notifications as the settings show it, with a browser that runs no script.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use guard::actor::Actor;
use guard::person::Role;
use guard::service::Definitions;
use guard::token::Reach;
use guard::trail::EntryKind;

use super::support::{Scratch, on_each_database};

const SECRET: &str = "whsec_bmV3IHNlY3JldCBvZiB0aGVzZSB0ZXN0cywgbG9uZw==";

/// A receiver that wants nothing at first, and then does; and how often it was asked.
async fn receiver() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let answer = move || {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if is_first { StatusCode::GONE } else { StatusCode::OK } }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hooks/T0KEN", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    (url, asked)
}

#[tokio::test]
async fn a_test_message_is_sent_from_the_settings() {
    on_each_database(async |scratch: &Scratch| {
        let desk = scratch.desk().await;
        let (url, asked) = receiver().await;
        let text =
            format!("name = \"chat\"\ncompanies = [\"acme\"]\n[webhook]\nurl = \"{url}\"\nsecrets = [\"{SECRET}\"]");
        let definitions = Definitions { channels: vec![toml::from_str(&text).unwrap()], ..Definitions::default() };
        desk.guard.apply(&definitions, &Actor::CommandLine).await.unwrap();
        desk.with_person("ada@example.test", Role::Admin).await;
        desk.with_person("bob@example.test", Role::Operator).await;
        let mut ada = desk.signed_in("ada@example.test").await;
        for told in ["answered 410: the receiver wants no messages any more", "The test message was taken."] {
            let form = ada.post("/fn/test_channel").header("accept", "text/html").form(&[("name", "chat")]);
            let answer = ada.send(form).await;
            assert_eq!(answer.leads(), (302, "/settings#channel-chat"), "{answer:?}");
            let page = ada.open("/settings").await.body;
            assert!(page.contains(told), "{told}: {page}");
            assert!(!page.contains("T0KEN") && !page.contains("whsec_"), "{page}");
            assert_eq!(page.contains("Switched off"), told.starts_with("answered 410"), "a taken test switches it on");
        }
        let mut bob = desk.signed_in("bob@example.test").await;
        let page = bob.open("/settings").await.body;
        assert!(page.contains("chat") && page.contains("1 taken, 0 given up"), "{page}");
        let answer = bob.send(bob.post("/fn/test_channel").form(&[("name", "chat")])).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
        assert_eq!(asked.load(Ordering::SeqCst), 2, "once each time");

        let entries = desk.database.registry.administration_entries(0, 500).await.unwrap();
        let tested: Vec<String> = entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::ChannelTested)
            .map(|entry| entry.detail.to_string())
            .collect();
        assert_eq!(tested, [r#"{"name":"chat","result":"gone"}"#, r#"{"name":"chat","result":"delivered"}"#]);

        let elsewhere = Reach::over(["elsewhere-ltd".to_owned()], []);
        desk.with_person_of("eve@example.test", Role::Admin, elsewhere).await;
        let mut eve = desk.signed_in("eve@example.test").await;
        assert!(!eve.open("/settings").await.body.contains("channel-chat"));
    })
    .await;
}
