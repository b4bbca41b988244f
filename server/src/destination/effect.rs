//! What an answer to a creation proves, by the destination's profile.

use guard::destination::{Create, among};
use guard::event::Outcome;
use guard::json::Json;
use guard::lookup;
use serde_json_path::JsonPath;

use super::Sent;
use super::read::Answer;

/// What is known of a request that creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The record is there, under this reference.
    Confirmed {
        /// Under which id the destination holds it.
        destination_reference: String,
    },
    /// Proven: nothing was applied.
    Failed {
        /// What happened, in a sentence.
        reason: String,
    },
    /// The destination says that there is such a record already: whose it is, a lookup has to tell.
    Exists {
        /// What happened, in a sentence.
        reason: String,
    },
    /// Nothing follows: it may have been applied.
    Unknown {
        /// What happened, in a sentence.
        reason: String,
    },
}

impl From<Effect> for Outcome {
    /// What a worker reports of it: that a record exists already is neither success nor failure, and a lookup has to tell.
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Confirmed { destination_reference } => Self::Confirmed { destination_reference },
            Effect::Failed { reason } => Self::Failed { reason },
            Effect::Exists { reason } | Effect::Unknown { reason } => Self::Unknown { reason },
        }
    }
}

impl Effect {
    /// Reads what became of a request as the profile says.
    pub fn of(create: &Create, sent: &Sent) -> Self {
        let (status, body) = match sent {
            Sent::Answer { status, body, .. } => (*status, body),
            Sent::NotSent { reason } => return Self::Failed { reason: reason.clone() },
            Sent::Lost { reason } => return Self::Unknown { reason: reason.clone() },
        };
        let is_in = |ranges: &[String]| among(ranges, status.as_u16());
        if is_in(&create.failed) {
            return Self::Failed { reason: format!("the destination answered {status}") };
        }
        if is_in(&create.exists) {
            return Self::Exists {
                reason: format!("the destination answered {status}: there is such a record already"),
            };
        }
        if !is_in(&create.confirmed) {
            return Self::Unknown { reason: format!("the destination answered {status}") };
        }
        let reference = match body {
            Ok(bytes) => reference(&create.reference, bytes),
            Err(reason) => Err(reason.clone()),
        };
        match reference {
            Ok(destination_reference) => Self::Confirmed { destination_reference },
            Err(fault) => Self::Unknown { reason: format!("the destination answered {status}, and {fault}") },
        }
    }
}

/// The one text or number at this path.
fn reference(path: &str, body: &[u8]) -> Result<String, String> {
    let path = JsonPath::parse(path).map_err(|error| format!("{path:?} is no path: {error}"))?;
    let answer = Answer::parse(body).map_err(|error| format!("its body cannot be read: {error}"))?;
    let values: Vec<Json> = answer.select(&path).into_iter().cloned().collect();
    // What is no reference to a lookup is none here either: not blank, not endless, storable.
    let found = lookup::destination_reference(&values);
    found.ok_or_else(|| match values.len() {
        0 => format!("nothing stands at {path}"),
        1 => format!("no reference stands at {path}"),
        _ => format!("several values stand at {path}"),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn effect(status: u16, body: &'static str) -> Effect {
        let ranges = |ranges: &[&str]| ranges.iter().map(ToString::to_string).collect();
        let create = Create {
            method: "POST".to_owned(),
            path: "/tasks".to_owned(),
            reference: "$.id".to_owned(),
            confirmed: ranges(&["200-299"]),
            failed: ranges(&["400-404", "422"]),
            exists: ranges(&["409"]),
            external_reference_header: None,
            external_reference_pointer: None,
        };
        let status = StatusCode::from_u16(status).unwrap();
        Effect::of(&create, &Sent::Answer { status, headers: HeaderMap::new(), body: Ok(Bytes::from(body)) })
    }

    #[test]
    fn a_reference_is_a_text_or_a_number_with_its_digits() {
        for (body, expected) in
            [(r#"{"id":"task-907"}"#, "task-907"), (r#"{"id":9007199254740993}"#, "9007199254740993")]
        {
            let confirmed = Effect::Confirmed { destination_reference: expected.to_owned() };
            assert_eq!(effect(201, body), confirmed);
        }
    }

    #[test]
    fn a_success_without_a_reference_proves_nothing() {
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"id":null}"#,
            r#"{"id":""}"#,
            r#"{"id":["task-907"]}"#,
            r#"{"id":" "}"#,
            r#"{"id":"a\u0000"}"#,
            r#"{"success":false}"#,
        ] {
            assert!(matches!(effect(200, body), Effect::Unknown { .. }), "{body}");
        }
    }

    #[test]
    fn a_status_means_what_the_profile_says_and_otherwise_nothing() {
        assert!(matches!(effect(422, "{}"), Effect::Failed { .. }));
        assert!(matches!(effect(409, r#"{"id":"task-907"}"#), Effect::Exists { .. }));
        for status in [302, 405, 429, 500, 503] {
            assert!(matches!(effect(status, r#"{"id":"task-907"}"#), Effect::Unknown { .. }), "{status}");
        }
    }
}
