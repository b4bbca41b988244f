//! An automation: it asks over HTTP what it may do, with a client of its own.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

/// No call may take longer: an answer that never comes is a fault of the server.
const CALL_SECONDS_MAX: u64 = 60;

#[derive(Clone)]
pub struct Automation {
    client: Client,
    pub url: String,
    token: String,
}

/// An answer with its body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Value,
}

impl Automation {
    pub fn new(url: &str, token: &str) -> Self {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(CALL_SECONDS_MAX)).build().unwrap();
        Self { client, url: url.to_owned(), token: token.to_owned() }
    }

    /// The same automation after the server has moved to another address, with no connection left over.
    pub fn at(&self, url: &str) -> Self {
        Self::new(url, &self.token)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token);
        request.header("content-type", "application/json").body(body.to_string())
    }

    pub fn begin(&self, document: &str) -> RequestBuilder {
        self.post("/api/v1/operations", &begin(document))
    }

    pub fn outcome(&self, operation: &str, report: &Value) -> RequestBuilder {
        self.post(&format!("/api/v1/operations/{operation}/outcome"), report)
    }
}

/// A begin of the workflow `handoff`.
pub fn begin(document: &str) -> Value {
    json!({
        "workflow": "handoff", "company": "acme", "source_system": "shop", "document": document,
        "payload": { "document": document, "amount": "1180.00" }
    })
}

/// The answer to a request that must be answered.
pub async fn answered(request: RequestBuilder) -> Answer {
    answer(request.send().await.unwrap()).await.unwrap()
}

/// The whole of an answer, where it comes.
pub async fn answer(response: Response) -> reqwest::Result<Answer> {
    let status = response.status();
    let text = response.text().await?;
    Ok(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) })
}
