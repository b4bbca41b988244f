//! Signed requests, by the rules of Standard Webhooks (<https://www.standardwebhooks.com>).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use guard::clock::rfc3339;
use guard::notification::{About, Delivery, Facts, Webhook};
use hmac::{Hmac, Mac as _};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{DELIVERY_SECONDS_MAX, Letter};
use crate::destination::client::{Client, client_within, send};
use crate::destination::secret::reveal;

/// The answer is read up to this many bytes; nothing of it is used but its status.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What secrets start with.
const SECRET_PREFIX: &str = "whsec_";

/// A secret has at least this many bytes, and at most the next number.
const SECRET_BYTES_MIN: usize = 24;
const SECRET_BYTES_MAX: usize = 64;

/// A receiver, with the keys that its requests are signed with.
pub(super) struct Hook {
    url: Uri,
    keys: Vec<Hmac<Sha256>>,
    client: Client,
}

impl Hook {
    /// The receiver that a definition names.
    pub(super) fn of(webhook: &Webhook) -> Result<Self, Vec<(&'static str, String)>> {
        let mut faults = Vec::new();
        let mut keys = Vec::new();
        for secret in &webhook.secrets {
            match reveal(&secret.0).and_then(|text| key(&text)) {
                Ok(key) => keys.push(key),
                Err(fault) => faults.push(("webhook.secrets", fault)),
            }
        }
        let url = reveal(&webhook.url.0).and_then(|text| address(&text)).map_err(|fault| ("webhook.url", fault));
        let client = client_within(Duration::from_secs(DELIVERY_SECONDS_MAX)).map_err(|fault| ("webhook.url", fault));
        match (url, client) {
            (Ok(url), Ok(client)) if faults.is_empty() => Ok(Self { url, keys, client }),
            (url, client) => {
                faults.extend(url.err());
                faults.extend(client.err());
                Err(faults)
            }
        }
    }

    /// Posts a message, once.
    pub(super) async fn post(&self, letter: &Letter<'_>) -> Delivery {
        let (id, timestamp) = (letter.id.to_string(), letter.now.timestamp());
        let body = body(letter).to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signatures(&self.keys, &id, timestamp, &body))
            .body(Full::new(Bytes::from(body)));
        let request = match request {
            Ok(request) => request,
            Err(error) => return Delivery::Failed(format!("the request cannot be made: {error}")),
        };
        match send(&self.client, request, Duration::from_secs(DELIVERY_SECONDS_MAX), ANSWER_BYTES_MAX).await {
            Ok(answer) if answer.status.is_success() => Delivery::Delivered,
            Ok(answer) if answer.status == StatusCode::GONE => {
                Delivery::Gone("answered 410: the receiver wants no messages any more".to_owned())
            }
            Ok(answer) if answer.status.is_redirection() => {
                Delivery::Failed(format!("answered {}: redirects are not followed", answer.status.as_u16()))
            }
            Ok(answer) => Delivery::Failed(format!("answered {}", answer.status.as_u16())),
            Err(failed) => Delivery::Failed(failed.reason),
        }
    }
}

fn address(text: &str) -> Result<Uri, String> {
    let wrong = || "is no address; it looks like https://chat.example/hooks/onceover".to_owned();
    let url: Uri = text.parse().map_err(|_| wrong())?;
    let is_web = matches!(url.scheme_str(), Some("https" | "http"));
    if is_web && url.host().is_some_and(|host| !host.is_empty()) { Ok(url) } else { Err(wrong()) }
}

/// The key that a secret stands for.
fn key(secret: &str) -> Result<Hmac<Sha256>, String> {
    let wrong = || {
        format!(
            "is no secret of a webhook: {SECRET_PREFIX} and then {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} random bytes in base64; \
             `echo {SECRET_PREFIX}$(openssl rand -base64 32)` makes one"
        )
    };
    let bytes = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret)).map_err(|_| wrong())?;
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()) {
        return Err(wrong());
    }
    Hmac::new_from_slice(&bytes).map_err(|_| wrong())
}

/// A signature for each key, with spaces between.
fn signatures(keys: &[Hmac<Sha256>], id: &str, timestamp: i64, body: &str) -> String {
    let signed = |key: &Hmac<Sha256>| {
        let mut mac = key.clone();
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    };
    keys.iter().map(signed).collect::<Vec<_>>().join(" ")
}

/// The body of a message.
fn body(letter: &Letter<'_>) -> Value {
    let facts = letter.facts;
    json!({ "type": facts.kind(), "timestamp": rfc3339(facts.as_of), "data": data(letter, facts) })
}

fn data(letter: &Letter<'_>, facts: &Facts) -> Value {
    let mut data = json!({
        "channel": letter.channel,
        "summary": facts.sentence(),
        "url": letter.link,
    });
    let money: Vec<Value> = facts
        .money
        .iter()
        .map(|money| json!({ "currency": money.currency, "amount": money.amount.to_string() }))
        .collect();
    let counts = json!({
        "workflow": facts.workflow,
        "company": facts.company,
        "count": facts.count,
        "new": facts.new,
        "is_again": facts.is_again,
        "money": money,
        "oldest_since": facts.oldest.map(rfc3339),
        "oldest_age_seconds": facts.oldest_age_seconds(),
    });
    let about = match &facts.about {
        About::Overdue { limit_minutes } => json!({ "limit_minutes": limit_minutes }),
        About::Incident { destination, cause } => json!({ "destination": destination, "cause": cause }),
        About::Amendments | About::Rules => json!({}),
        About::Test => return data,
    };
    if let Value::Object(members) = &mut data {
        for more in [counts, about] {
            if let Value::Object(more) = more {
                members.extend(more);
            }
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn signatures_are_those_of_the_standard() {
        let (id, timestamp, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let ours = signatures(&[key(SECRET).unwrap()], id, timestamp, body);
        let oracle = standardwebhooks::Webhook::new(SECRET).unwrap();
        assert_eq!(ours, oracle.sign(id, timestamp, body.as_bytes()).unwrap());
        assert_eq!(ours, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "the example of the standard");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_told() {
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64 at all, really not", "x"] {
            let fault = key(text).unwrap_err();
            assert!(text.is_empty() || text == "whsec_" || text == "x" || !fault.contains(text), "{fault}");
        }
        assert!(key(&format!("whsec_{}", STANDARD.encode([7; 65]))).is_err());
        assert!(key(&format!("whsec_{}", STANDARD.encode([7; 64]))).is_ok());
    }
}
