//! Answers, and what must hold for every one of them.

use reqwest::header::HeaderMap;
use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// A permission to send.
#[derive(Clone, Debug)]
pub struct Grant {
    pub id: String,
    pub lease_token: String,
    pub attempt: u64,
    pub external_reference: String,
    pub idempotency_key: String,
    pub repeated: bool,
}

impl Answer {
    /// Takes an answer in, and checks what holds for every one: it has its request's id, it is no failure of the server, and a
    /// refusal is a problem document that says the same as the status.
    pub async fn of(response: reqwest::Response) -> Self {
        let answer = Self::raw(response).await;
        assert!(answer.status < 500, "a caller can send nothing that breaks the server: {answer:?}");
        answer
    }

    /// Takes an answer in that may be a failure of the server.
    pub async fn raw(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = String::from_utf8(response.bytes().await.unwrap().to_vec()).unwrap();
        let answer = Self { status, headers, text };
        let request_id = answer.header("x-request-id").expect("every answer has its request's id");
        if status >= 400 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
            let problem = answer.json();
            assert_eq!(problem["status"], status, "{answer:?}");
            assert_eq!(problem["request_id"], request_id, "{answer:?}");
            for member in ["type", "title", "detail", "code"] {
                assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {answer:?}");
            }
            assert!(problem["type"].as_str().unwrap().ends_with(problem["code"].as_str().unwrap()), "{answer:?}");
        }
        answer
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn expect(&self, status: u16, decision: &str, next: &str) -> Value {
        let body = self.json();
        assert_eq!(
            (self.status, &body["decision"], &body["next"]),
            (status, &decision.into(), &next.into()),
            "{self:?}"
        );
        body
    }

    fn expect_wait(&self, decision: &str) -> Value {
        let body = self.expect(409, decision, "wait");
        let seconds: u64 = self.header("retry-after").expect("says when to ask again").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{self:?}");
        body
    }

    /// The caller owns the attempt.
    pub fn expect_proceed(&self) -> Grant {
        let body = self.expect(201, "proceed", "send");
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned();
        assert!(body["lease"]["expires_at"].as_str().is_some_and(|moment| moment.ends_with('Z')), "{self:?}");
        assert_eq!(body["operation"]["attempt"], body["attempt"], "{self:?}");
        Grant {
            id: text(&body["operation"]["id"]),
            lease_token: text(&body["lease"]["token"]),
            attempt: body["attempt"].as_u64().unwrap(),
            external_reference: text(&body["external_reference"]),
            idempotency_key: text(&body["idempotency_key"]),
            repeated: body["repeated"].as_bool().unwrap(),
        }
    }

    /// Done already; answers the destination's reference.
    pub fn expect_replay(&self) -> String {
        let body = self.expect(200, "replay", "use_result");
        assert_eq!(self.header("idempotency-replayed"), Some("true"), "{self:?}");
        body["operation"]["destination_reference"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }

    /// Another attempt is under way.
    pub fn expect_in_progress(&self) -> Value {
        self.expect_wait("in_progress")
    }

    /// An earlier attempt is uncertain.
    pub fn expect_unknown(&self) -> Value {
        let body = self.expect_wait("unknown");
        assert!(body["review_url"].as_str().is_some_and(|url| url.contains("/operations/")), "{self:?}");
        body
    }

    /// Another payload under the same key; answers the conflict.
    pub fn expect_conflict(&self) -> Value {
        let body = self.expect(422, "conflict", "stop");
        let conflict = body["conflict"].clone();
        let listed = conflict["changes"].as_array().unwrap().len();
        assert!(listed <= 100 && listed as u64 <= conflict["changes_total"].as_u64().unwrap(), "{self:?}");
        assert!(conflict["review_url"].as_str().is_some_and(|url| url.starts_with("http")), "{self:?}");
        conflict
    }

    /// A decision that says "stop".
    pub fn expect_stop(&self, decision: &str) -> Value {
        self.expect(409, decision, "stop")
    }

    /// A refusal; answers the document.
    pub fn expect_problem(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["code"]), (status, &code.into()), "{self:?}");
        body
    }

    /// The refusal of a field.
    pub fn expect_invalid(&self, field: &str) -> Value {
        let body = self.expect_problem(422, "invalid_field");
        assert_eq!(body["field"], field, "{self:?}");
        body
    }

    /// An operation in this state.
    pub fn expect_state(&self, state: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["state"]), (200, &state.into()), "{self:?}");
        body
    }
}
