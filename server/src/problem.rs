//! Problem documents (RFC 9457): every refusal of the API, and the one place where a refusal of the guard gets its status and code.
//!
//! A handler returns a [`Problem`]; the outermost layer ([`crate::observe`]) writes the document, since it knows the request's id.

mod code;

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::http::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use guard::json::{JsonError, JsonFault};
use guard::refusal::{Refusal, StoreFault};
use serde::Serialize;
use utoipa::ToSchema;

pub use code::{Code, explain};

use crate::api::amendment::{OpenAmendment, Reversing, Violated};
use crate::api::view::{CodeSchema, Shown};

/// The media type of problem documents (RFC 9457, section 6.1).
pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// When to ask again after the store failed, in seconds.
pub const RETRY_AFTER_STORE_SECONDS: u64 = 2;

/// A refusal on its way to the caller.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    /// JSON members beside those of every problem, without braces; may be empty.
    members: String,
    retry_after_seconds: Option<u64>,
    allow: Option<HeaderValue>,
}

/// The members of every problem document.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument<'a> {
    /// An address that names the kind of problem and explains it.
    #[schema(format = "uri")]
    pub r#type: String,
    /// What kind of problem it is, for people; always the same for one code.
    pub title: &'a str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened this time and how to mend it, for people.
    pub detail: &'a str,
    /// What kind of problem it is, for programs.
    #[schema(value_type = CodeSchema)]
    pub code: Code,
    /// The request's id, as in `X-Request-Id` and in the log.
    pub request_id: &'a str,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), members: String::new(), retry_after_seconds: None, allow: None }
    }

    /// A field that cannot be taken.
    pub fn field(field: &str, message: impl std::fmt::Display) -> Self {
        #[derive(Serialize)]
        struct Field<'a> {
            field: &'a str,
        }
        Self::new(Code::InvalidField, format!("{field} {message}")).with(&Field { field })
    }

    /// Something that does not exist for the caller.
    pub fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what}"))
    }

    /// Adds the members of `extension`, which serializes as an object.
    pub fn with(mut self, extension: &impl Serialize) -> Self {
        // What is given here has text keys and no fallible parts: it always serializes.
        let text = serde_json::to_string(extension).unwrap_or_default();
        let members = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        if !self.members.is_empty() && !members.is_empty() {
            self.members.push(',');
        }
        self.members.push_str(members);
        self
    }

    /// Says when to ask again: in the header and as a member.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        #[derive(Serialize)]
        struct RetryAfter {
            retry_after_seconds: u64,
        }
        self.retry_after_seconds = Some(seconds);
        self.with(&RetryAfter { retry_after_seconds: seconds })
    }

    /// Names the methods that are answered here.
    pub fn allow(mut self, methods: Option<HeaderValue>) -> Self {
        self.allow = methods;
        self
    }

    /// The kind.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// What happened this time and how to mend it, for people.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The document as JSON text.
    pub fn document(&self, public_url: &str, request_id: &str) -> String {
        let document = ProblemDocument {
            r#type: format!("{public_url}/problems/{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.detail,
            code: self.code,
            request_id,
        };
        // Text keys and no fallible parts: it always serializes.
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        if !self.members.is_empty() && text.pop().is_some() {
            text.push(',');
            text.push_str(&self.members);
            text.push('}');
        }
        text
    }
}

impl IntoResponse for Problem {
    /// Status and headers; the document follows in the outermost layer.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = self.allow.clone() {
            headers.insert(ALLOW, allow);
        }
        if self.code.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"onceover\""));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// The one place where a refusal of the guard gets its status and code.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::InvalidField { field, message } => Self::field(&field, message),
            Refusal::UnknownWorkflow { known, .. } => {
                #[derive(Serialize)]
                struct Workflows {
                    workflows: Vec<String>,
                }
                Self::new(Code::UnknownWorkflow, detail).with(&Workflows { workflows: known })
            }
            Refusal::NotFound { .. } => Self::new(Code::NotFound, detail),
            Refusal::Forbidden { .. } => Self::new(Code::Forbidden, detail),
            Refusal::LeaseExpired => Self::new(Code::LeaseExpired, detail),
            Refusal::StaleLease => Self::new(Code::StaleLease, detail),
            Refusal::OutcomeDisagrees { .. } => Self::new(Code::OutcomeDisagrees, detail),
            Refusal::Impossible { .. } => Self::new(Code::Impossible, detail),
            // Rules and periods are changed in the browser alone; what they refuse is that they moved on.
            Refusal::Stale { .. } | Refusal::Rules(_) | Refusal::Period(_) | Refusal::Conflict(_) => {
                Self::new(Code::Stale, detail)
            }
            Refusal::Unconfirmed { .. } => Self::new(Code::Impossible, detail),
            Refusal::RuleViolation { changes, changes_total, violations } => {
                Self::new(Code::RuleViolation, detail).with(&Violated::of(&changes, changes_total, &violations))
            }
            Refusal::AmendmentOpen { operation, amendment, revision, .. } => {
                let (amendment_id, operation_id) = (amendment.map(Shown), Shown(operation));
                Self::new(Code::AmendmentOpen, detail).with(&OpenAmendment { amendment_id, operation_id, revision })
            }
            Refusal::ReversalExists { operation, amendment, .. } => {
                let (amendment_id, operation_id) = (Shown(amendment), Shown(operation));
                Self::new(Code::ReversalExists, detail).with(&Reversing { amendment_id, operation_id })
            }
            Refusal::NoChange => Self::new(Code::NoChange, detail),
            Refusal::BaseMoved { .. } => Self::new(Code::BaseMoved, detail),
            Refusal::BaseUncertain { .. } => Self::new(Code::BaseUncertain, detail),
            Refusal::Taken { .. } => Self::new(Code::Taken, detail),
            Refusal::Store(fault) => fault.into(),
        }
    }
}

impl From<StoreFault> for Problem {
    fn from(fault: StoreFault) -> Self {
        match &fault {
            StoreFault::Unavailable | StoreFault::Contended { .. } => {
                Self::new(Code::StoreUnavailable, fault.to_string()).retry_after(RETRY_AFTER_STORE_SECONDS)
            }
            StoreFault::Full => Self::new(Code::StoreFull, fault.to_string()).retry_after(RETRY_AFTER_STORE_SECONDS),
            StoreFault::Corrupt { table, column, id } => {
                // Which row it is helps the one who runs the server, not the caller.
                tracing::error!(table, column, id, "a row is no legal record");
                Self::new(
                    Code::StoreCorrupt,
                    "the store holds a record that cannot be read; the log of the server names it",
                )
            }
        }
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        #[derive(Serialize)]
        struct Place {
            line: usize,
            column: usize,
        }
        let code = match &error.fault {
            JsonFault::UnsafeNumber(_) => Code::UnsafeNumber,
            JsonFault::ByteOrderMark
            | JsonFault::NotUtf8
            | JsonFault::EndOfText
            | JsonFault::Unexpected(_)
            | JsonFault::TrailingText
            | JsonFault::DuplicateMember(_)
            | JsonFault::UnpairedSurrogate
            | JsonFault::BareControl
            | JsonFault::UnknownEscape
            | JsonFault::TooDeep(_) => Code::InvalidJson,
        };
        Self::new(code, error.to_string()).with(&Place { line: error.line, column: error.column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_members_of_every_problem_and_its_own() {
        let problem = Problem::field("revision", "is 0; it starts at 1");
        insta::assert_snapshot!(
            problem.document("https://desk.example", "r-1"),
            @r#"{"type":"https://desk.example/problems/invalid_field","title":"A field of the request cannot be taken","status":422,"detail":"revision is 0; it starts at 1","code":"invalid_field","request_id":"r-1","field":"revision"}"#
        );
    }

    #[test]
    fn a_fault_of_the_store_says_when_to_ask_again_and_keeps_rows_to_itself() {
        let unavailable = Problem::from(StoreFault::Unavailable).into_response();
        assert_eq!(unavailable.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(unavailable.headers().contains_key(RETRY_AFTER));
        let fault = StoreFault::Corrupt { table: "operation".into(), column: "head".into(), id: "7".into() };
        let corrupt = Problem::from(fault);
        assert_eq!(corrupt.code().status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!corrupt.document("", "r").contains("head"));
    }

    #[test]
    fn a_full_disk_is_named() {
        let full = Problem::from(StoreFault::Full);
        assert_eq!(full.code(), Code::StoreFull);
        assert!(full.document("", "r").contains("disk"), "{full:?}");
    }
}
