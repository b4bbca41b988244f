//! The real binary behind which a request is under way, when it is stopped and when it is killed.

use std::time::Duration;

use reqwest::{Client, RequestBuilder};

use crate::ledger::{BODY, CREATED, Ledger, configuration};
use crate::process::{Machine, Serving, eventually};

/// The lease of an attempt is over by then: the destination's second, the margin, and the sweeper.
const LEASE_OVER: Duration = Duration::from_secs(40);

fn asking(serving: &Serving, token: &str, fault: &str) -> RequestBuilder {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}/proxy/handoff/tasks", serving.url)).bearer_auth(token);
    let key = [("onceover-company", "ACME"), ("onceover-source-system", "erp"), ("onceover-document", "INV-1")];
    let request = key.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    request.header("x-fault", fault).header("content-type", "application/json").body(BODY)
}

async fn decision(request: RequestBuilder) -> (u16, String, String) {
    let response = request.send().await.unwrap();
    let decision = response.headers()["onceover-decision"].to_str().unwrap().to_owned();
    (response.status().as_u16(), decision, response.text().await.unwrap())
}

/// The destination can be asked for an external reference.
const LOOKUP: &str = r#"
[destination.lookup]
method = "GET"
path = "/tasks?reference={{ external_reference }}"
records = "$.items[*]"
external_reference = "$.reference"
reference = "$.id"
"#;

/// C20 and C23: what the answer did not tell, or said exists already, is looked up and becomes known by itself.
#[tokio::test(flavor = "multi_thread")]
async fn c20_recovery_finds_what_the_answer_did_not_tell() {
    for (fault, status) in [("silent", 504), ("broken-after", 500), ("exists-after", 409)] {
        let (machine, ledger) = (Machine::new(), Ledger::new().await);
        machine.apply(&configuration(ledger.address, LOOKUP));
        let token = machine.token("billing");
        let serving = machine.serve();
        assert_eq!(decision(asking(&serving, &token, fault)).await.0, status, "{fault}");
        let known = tokio::time::timeout(LEASE_OVER, async {
            loop {
                let (status, decision, body) = decision(asking(&serving, &token, "")).await;
                if decision != "unknown" {
                    return (status, decision, body);
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        let (status, decision, body) = known.await.unwrap();
        assert_eq!((status, decision.as_str()), (200, "replay"), "{fault}: {body}");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["operation"]["destination_reference"], "task-1", "{fault}");
        assert_eq!(ledger.count(), 1, "{fault}: never sent again");
        serving.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_waits_for_what_was_sent_although_its_caller_has_gone() {
    let (machine, ledger) = (Machine::new(), Ledger::new().await);
    machine.apply(&configuration(ledger.address, ""));
    let token = machine.token("billing");
    let mut serving = machine.serve();
    let left = asking(&serving, &token, "hold").timeout(Duration::from_millis(300)).send();
    assert!(left.await.is_err());
    ledger.held.notified().await;
    serving.signal("TERM");
    eventually(Duration::from_secs(10), "it drains", || serving.log().contains("draining"));
    ledger.go_on.notify_one();
    assert_eq!(serving.ended(), Some(0), "{}", serving.log());

    let serving = machine.serve();
    let (status, decision, body) = decision(asking(&serving, &token, "")).await;
    assert_eq!((status, decision.as_str(), body.as_str()), (201, "replay", CREATED));
    assert_eq!(ledger.count(), 1);
    serving.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_flight_leaves_an_operation_that_is_not_sent_again() {
    let (machine, ledger) = (Machine::new(), Ledger::new().await);
    machine.apply(&configuration(ledger.address, ""));
    let token = machine.token("billing");
    let serving = machine.serve();
    let sending = tokio::spawn(asking(&serving, &token, "hold").send());
    ledger.held.notified().await;
    serving.kill();
    assert!(sending.await.unwrap().is_err());

    let serving = machine.serve();
    let ended = tokio::time::timeout(LEASE_OVER, async {
        loop {
            let (status, decision, _) = decision(asking(&serving, &token, "")).await;
            assert_eq!(status, 409);
            if decision != "in_progress" {
                return decision;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    assert_eq!(ended.await.unwrap(), "unknown");
    assert_eq!(ledger.count(), 1);
    serving.stop();
}
