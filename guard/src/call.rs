//! Calls: what automations asked through the API and what they were answered, as a log for whoever writes them.
//!
//! It is no part of the trail: it is bounded, it may lose its last second, and nothing is decided by it. What a workflow marks as
//! sensitive and every secret is left out before a call is kept.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::decision::DecisionName;
use crate::id::{CallId, OperationId, TokenId};
use crate::json::Json;
use crate::key::{KeyPart, OperationKey};
use crate::queue::Cursor;
use crate::token::{Reach, Token};
use crate::veil::{MASK, Veil};

/// Of each token, so many of its latest calls are kept. It may be a few more, until they are counted again.
pub const CALLS_PER_TOKEN_MAX: u32 = 10_000;

/// Calls are kept for this many days where nothing is said.
pub const CALL_DAYS_DEFAULT: u32 = 7;

/// No log may be kept for longer, in days: what is needed for longer stands in the trail.
pub const CALL_DAYS_MAX: u32 = 90;

/// What is kept of a request has at most this many bytes; of a longer one the payload is left out.
pub const CALL_REQUEST_BYTES_MAX: usize = 8 * 1024;

/// A path with its query is kept up to this many characters, and so is the detail of a problem.
pub const CALL_TEXT_CHARACTERS_MAX: usize = 1_000;

/// The members of requests that are secrets: with them, somebody else could report or repeat an attempt.
const SECRET_MEMBERS: [&str; 2] = ["lease_token", "begin_id"];

/// The members of requests that hold nothing of a payload.
const PLAIN_MEMBERS: [&str; 13] = [
    "workflow",
    "company",
    "source_system",
    "document",
    "action",
    "revision",
    "worker",
    "delivery_id",
    "lease_seconds",
    "outcome",
    "destination_reference",
    "reason",
    "requested_by",
];

/// What stands behind the number of bytes that were left out of a request.
pub const LEFT_OUT: &str = " bytes left out";

/// The members of requests that may be long.
const LONG_MEMBERS: [&str; 3] = ["payload", "response", "operations"];

/// What a call was about, as far as it said so and its token reaches it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The workflow.
    pub workflow: Option<String>,
    /// The company. A call without one is seen by those alone who see every company.
    pub company: Option<String>,
    /// The system that the document comes from.
    pub source_system: Option<String>,
    /// The document.
    pub document: Option<String>,
    /// What is done with it.
    pub action: Option<String>,
    /// Its revision.
    pub revision: Option<u32>,
}

impl About {
    /// The key of an operation.
    pub fn operation(key: &OperationKey) -> Self {
        let text = |part: &KeyPart| Some(part.as_str().to_owned());
        Self {
            workflow: text(&key.workflow),
            company: text(&key.company),
            source_system: text(&key.source_system),
            document: text(&key.document),
            action: text(&key.action),
            revision: Some(key.revision),
        }
    }

    /// What a request says of itself; of a batch, what all of its items have in common.
    pub fn of(request: &Json) -> Self {
        let text = |name: &str| {
            let said = request.member(name).and_then(Json::as_str).filter(|text| KeyPart::new(text).is_ok());
            said.map(ToOwned::to_owned)
        };
        if let Some(Json::Array(items)) = request.member("operations") {
            let mut items = items.iter().map(Self::of);
            let Some(first) = items.next() else { return Self::default() };
            return items.fold(first, Self::in_common);
        }
        let revision = match request.member("revision") {
            Some(Json::Number(number)) => number.plain(REVISION_DIGITS_MAX).and_then(|digits| digits.parse().ok()),
            Some(Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_)) | None => None,
        };
        Self {
            workflow: text("workflow"),
            company: text("company"),
            source_system: text("source_system"),
            document: text("document"),
            action: text("action"),
            revision,
        }
    }

    fn in_common(self, other: Self) -> Self {
        let same = |one: Option<String>, other: Option<String>| one.filter(|one| other.as_ref() == Some(one));
        Self {
            workflow: same(self.workflow, other.workflow),
            company: same(self.company, other.company),
            source_system: same(self.source_system, other.source_system),
            document: same(self.document, other.document),
            action: same(self.action, other.action),
            revision: self.revision.filter(|revision| other.revision == Some(*revision)),
        }
    }

    /// What of it lies within reach; all of it or nothing.
    #[must_use]
    pub fn within(self, reach: &Reach) -> Self {
        let is_company = self.company.as_deref().is_none_or(|company| reach.company(company));
        let is_workflow = self.workflow.as_deref().is_none_or(|workflow| reach.workflow(workflow));
        if is_company && is_workflow { self } else { Self::default() }
    }

    /// Whether whoever has this reach may see it: what is not known to be of their companies and workflows is not theirs.
    pub fn is_within(&self, reach: &Reach) -> bool {
        let company =
            reach.companies.is_none() || self.company.as_deref().is_some_and(|company| reach.company(company));
        let workflow =
            reach.workflows.is_none() || self.workflow.as_deref().is_some_and(|workflow| reach.workflow(workflow));
        company && workflow
    }
}

/// A revision has at most this many digits.
const REVISION_DIGITS_MAX: usize = 10;

/// One call of the API by a token.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// Whose token it was.
    pub token: TokenId,
    /// When it came.
    pub at: Timestamp,
    /// How long the answer took, in microseconds.
    pub microseconds: u64,
    /// The method.
    pub method: String,
    /// The endpoint, as the API's description names it.
    pub endpoint: String,
    /// The path with its query, at most [`CALL_TEXT_CHARACTERS_MAX`] characters; the endpoint where it is not kept.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem that it was answered with.
    pub problem: Option<String>,
    /// What that problem told, where it can hold nothing that is masked; at most [`CALL_TEXT_CHARACTERS_MAX`] characters.
    pub detail: Option<String>,
    /// What it was about.
    pub about: About,
    /// The operation that it was about.
    pub operation: Option<OperationId>,
    /// The decision on a begin.
    pub decision: Option<DecisionName>,
    /// The request's id, as in the log.
    pub request_id: String,
}

impl Call {
    /// The cursor behind it in the list.
    pub fn cursor(&self) -> Cursor {
        Cursor::behind_id(self.id.as_u128())
    }
}

/// What is kept of the body of a call.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CallRequest {
    /// There was none.
    Empty,
    /// JSON, with what is secret or sensitive masked; at most [`CALL_REQUEST_BYTES_MAX`] bytes.
    Kept {
        /// The text.
        text: String,
        /// How many bytes came.
        bytes: u64,
    },
    /// What came is not kept: it was no JSON, so that nothing in it could be masked, or it was too long.
    Left {
        /// How many bytes came.
        bytes: u64,
    },
}

impl CallRequest {
    /// What is kept of a request of so many bytes. `veil_of` gives the veil over the payloads of a workflow, where there is one of that
    /// name; `about` is the workflow of a request that names none.
    pub fn of(request: &Json, bytes: u64, about: Option<&str>, veil_of: &impl Fn(&str) -> Option<Veil>) -> Self {
        let masked = masked(request, about, veil_of);
        let text = masked.to_string();
        if text.len() <= CALL_REQUEST_BYTES_MAX {
            return Self::Kept { text, bytes };
        }
        let text = shortened(masked).to_string();
        if text.len() <= CALL_REQUEST_BYTES_MAX { Self::Kept { text, bytes } } else { Self::Left { bytes } }
    }

    /// The request as it may be shown now: a workflow may have marked more places as sensitive since.
    #[must_use]
    pub fn shown(self, about: Option<&str>, veil_of: &impl Fn(&str) -> Option<Veil>) -> Self {
        match self {
            Self::Kept { text, bytes } => match Json::parse(text.as_bytes()) {
                Ok(request) => Self::Kept { text: masked(&request, about, veil_of).to_string(), bytes },
                Err(_) => Self::Left { bytes },
            },
            Self::Empty | Self::Left { .. } => self,
        }
    }
}

/// A request with everything masked that is secret or sensitive. Without a workflow that is known, nothing tells what is sensitive:
/// then only what cannot be is left.
fn masked(request: &Json, about: Option<&str>, veil_of: &impl Fn(&str) -> Option<Veil>) -> Json {
    let mask = || Json::String(MASK.to_owned());
    let Json::Object(members) = request else { return mask() };
    let veil = request.member("workflow").and_then(Json::as_str).or(about).and_then(veil_of);
    let is_open = veil.as_ref().is_some_and(Veil::is_lifted);
    let shown = members.iter().map(|(name, value)| {
        let shown = match (name.as_str(), value) {
            (secret, _) if SECRET_MEMBERS.contains(&secret) => mask(),
            (plain, _) if PLAIN_MEMBERS.contains(&plain) => value.clone(),
            ("operations", Json::Array(items)) => {
                Json::Array(items.iter().map(|item| masked(item, about, veil_of)).collect())
            }
            ("payload", _) => veil.as_ref().map_or_else(mask, |veil| veil.payload(value)),
            _ if is_open => value.clone(),
            _ => mask(),
        };
        (name.clone(), shown)
    });
    Json::Object(shown.collect())
}

/// A request without what is long in it, which says how much that was.
fn shortened(request: Json) -> Json {
    let Json::Object(members) = request else { return request };
    let shorter = members.into_iter().map(|(name, value)| {
        if !LONG_MEMBERS.contains(&name.as_str()) {
            return (name, value);
        }
        let bytes = value.to_string().len();
        (name, Json::String(format!("\u{2026} {bytes}{LEFT_OUT}")))
    });
    Json::Object(shorter.collect())
}

/// A text as the log keeps it: bounded, and without what no database keeps.
pub fn call_text(text: &str) -> String {
    text.chars().filter(|character| *character != '\0').take(CALL_TEXT_CHARACTERS_MAX).collect()
}

/// The body of a call as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeardBody {
    /// There was none.
    Empty,
    /// JSON of so many bytes.
    Json(Json, u64),
    /// Something else, or more than is looked at: so many bytes.
    Other(u64),
}

/// A call as the server heard it, before it is kept.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Whose token it was.
    pub token: Arc<Token>,
    /// When it came.
    pub at: Timestamp,
    /// How long the answer took, in microseconds.
    pub microseconds: u64,
    /// The method.
    pub method: String,
    /// The endpoint, as the API's description names it.
    pub endpoint: String,
    /// The path with its query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem that it was answered with, and what that told.
    pub problem: Option<(String, String)>,
    /// The operation that its path or its answer named.
    pub operation: Option<OperationId>,
    /// The decision on a begin.
    pub decision: Option<DecisionName>,
    /// What its path said that it was about, where no operation and no body says so.
    pub about: About,
    /// The request's id.
    pub request_id: String,
    /// Its body.
    pub body: HeardBody,
}

/// Statuses by their first digit (RFC 9110, section 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StatusClass {
    /// It went well.
    Successful,
    /// It leads elsewhere: what a destination answered through the proxy.
    Redirection,
    /// It was refused.
    ClientError,
    /// The server or a destination failed.
    ServerError,
}

impl StatusClass {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::Successful, Self::Redirection, Self::ClientError, Self::ServerError];

    /// The name in addresses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Successful => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// The first status, and the one behind the last.
    pub const fn bounds(self) -> (u16, u16) {
        match self {
            Self::Successful => (200, 300),
            Self::Redirection => (300, 400),
            Self::ClientError => (400, 500),
            Self::ServerError => (500, 600),
        }
    }
}

/// Which calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// Only of this token.
    pub token: Option<TokenId>,
    /// Only with this decision.
    pub decision: Option<DecisionName>,
    /// Only with a problem of this code.
    pub problem: Option<String>,
    /// Only with a status of this class.
    pub class: Option<StatusClass>,
    /// Only at or after this moment.
    pub from: Option<Timestamp>,
    /// Only before this moment.
    pub to: Option<Timestamp>,
}

impl CallFilter {
    /// Whether every call of a walk fits: then a page needs to look at no more than it shows.
    pub fn takes_all(&self, reach: &Reach) -> bool {
        let Self { token: _, decision, problem, class, from: _, to: _ } = self;
        *reach == Reach::EVERYTHING && decision.is_none() && problem.is_none() && class.is_none()
    }
}

/// The lowest id that a call of this moment can have: ids are ordered by their moment.
pub fn first_call_id(at: Timestamp) -> u128 {
    u128::from(at.timestamp_millis().max(0).unsigned_abs()) << 80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    /// `handoff` has a sensitive place, `open` has none, others are not known.
    fn veil_of(workflow: &str) -> Option<Veil> {
        match workflow {
            "handoff" => Some(Veil::over(&["/iban".parse().unwrap()])),
            "open" => Some(Veil::default()),
            _ => None,
        }
    }

    fn kept(request: &str, about: Option<&str>) -> String {
        match CallRequest::of(&json(request), 7, about, &veil_of) {
            CallRequest::Kept { text, bytes: 7 } => text,
            other @ (CallRequest::Kept { .. } | CallRequest::Empty | CallRequest::Left { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_secret_or_sensitive_is_masked() {
        let begin = r#"{"workflow":"handoff","document":"1","begin_id":"s3cret","payload":{"iban":"DE1","amount":1.10},"extra":"DE1"}"#;
        insta::assert_snapshot!(
            kept(begin, None),
            @r#"{"workflow":"handoff","document":"1","begin_id":"•••• masked","payload":{"iban":"•••• masked","amount":1.10},"extra":"•••• masked"}"#
        );
        let outcome = r#"{"lease_token":"s3cret","outcome":"confirmed","response":{"iban":"DE1"}}"#;
        insta::assert_snapshot!(
            kept(outcome, Some("handoff")),
            @r#"{"lease_token":"•••• masked","outcome":"confirmed","response":"•••• masked"}"#
        );
        insta::assert_snapshot!(
            kept(outcome, Some("open")),
            @r#"{"lease_token":"•••• masked","outcome":"confirmed","response":{"iban":"DE1"}}"#
        );
        insta::assert_snapshot!(
            kept(r#"{"workflow":"handof","payload":{"iban":"DE1"}}"#, None),
            @r#"{"workflow":"handof","payload":"•••• masked"}"#
        );
        insta::assert_snapshot!(
            kept(r#"{"operations":[{"workflow":"open","payload":{"a":1}},{"workflow":"handoff","payload":{"iban":"DE1"}},7]}"#, None),
            @r#"{"operations":[{"workflow":"open","payload":{"a":1}},{"workflow":"handoff","payload":{"iban":"•••• masked"}},"•••• masked"]}"#
        );
    }

    #[test]
    fn a_long_request_goes_without_its_payload_and_an_endless_one_is_left() {
        let long = "x".repeat(CALL_REQUEST_BYTES_MAX);
        let text = kept(&format!(r#"{{"workflow":"open","document":"1","payload":{{"note":"{long}"}}}}"#), None);
        assert_eq!(text, r#"{"workflow":"open","document":"1","payload":"… 8203 bytes left out"}"#);
        let endless = json(&format!(r#"{{"workflow":"open","reason":"{long}"}}"#));
        assert_eq!(CallRequest::of(&endless, 9, None, &veil_of), CallRequest::Left { bytes: 9 });
    }

    #[test]
    fn what_was_marked_as_sensitive_later_is_masked_when_it_is_shown() {
        let kept = CallRequest::Kept { text: r#"{"payload":{"iban":"DE1"}}"#.to_owned(), bytes: 3 };
        let CallRequest::Kept { text, .. } = kept.shown(Some("handoff"), &veil_of) else { panic!() };
        assert_eq!(text, format!(r#"{{"payload":{{"iban":"{MASK}"}}}}"#));
    }

    #[test]
    fn what_is_not_known_to_be_of_a_company_is_seen_by_those_who_see_all() {
        let acme = Reach::over(["acme".to_owned()], []);
        let about = About::of(&json(r#"{"workflow":"handoff","company":"acme","revision":2}"#));
        assert_eq!(about.revision, Some(2));
        assert!(about.is_within(&acme) && about.is_within(&Reach::EVERYTHING));
        assert!(!about.is_within(&Reach::over(["beta".to_owned()], [])));
        let unknown = About::of(&json(r#"{"company":" acme"}"#));
        assert!(!unknown.is_within(&acme) && unknown.is_within(&Reach::EVERYTHING));
        let both =
            About::of(&json(r#"{"operations":[{"company":"acme","workflow":"a"},{"company":"beta","workflow":"a"}]}"#));
        assert_eq!((both.company, both.workflow.as_deref()), (None, Some("a")));
        let beyond = About { company: Some("beta".to_owned()), ..About::default() };
        assert_eq!(beyond.within(&acme), About::default(), "a token says nothing of companies that it does not reach");
    }
}
