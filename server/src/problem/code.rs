//! Every kind of problem, with its status and what people need to know about it.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use guard::decision::DecisionName;

use super::Problem;

macro_rules! codes {
    ($($(#[doc = $documentation:literal])+ $name:ident $text:literal $status:ident $title:literal $advice:literal;)+) => {
        /// What kind of problem it is, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
        pub enum Code {
            $($(#[doc = $documentation])+ #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name in documents and addresses.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The status that goes with it.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }

            /// What it is, in a sentence that never changes.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// What to do about it.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)+ }
            }
        }
    };
}

codes! {
    /// The body is not the JSON that is taken.
    InvalidJson "invalid_json" BAD_REQUEST "The body is not the JSON that Onceover takes"
        "Send one JSON value in UTF-8 without a byte order mark. No member may stand twice in one object, every surrogate needs its other half, and a payload nests at most 64 levels. `line` and `column` say where. Nothing was stored.";
    /// A request through the proxy does not say what it is about.
    KeyMissing "key_missing" BAD_REQUEST "The request does not say which document it is about"
        "Send the headers `Onceover-Company`, `Onceover-Source-System` and `Onceover-Document` (`Onceover-Action` and `Onceover-Revision` where they are not `create` and 1), let the workflow's `[workflow.key]` say where they stand in the body, or send an `Idempotency-Key`, whose value is then the document. `missing` lists what was not found. Nothing was stored, and nothing was sent.";
    /// No valid token came with the request.
    Unauthenticated "unauthenticated" UNAUTHORIZED "The request came without a valid token"
        "Send `Authorization: Bearer <token>`. Tokens are made at the desk under Settings or with `onceover token create`; a revoked one is refused.";
    /// The token may not do this.
    Forbidden "forbidden" FORBIDDEN "The token may not do this"
        "The detail says which scope, company or workflow is missing. Use a token that has it; a token's reach never changes.";
    /// It does not exist, or not for this token.
    NotFound "not_found" NOT_FOUND "There is no such thing for this token"
        "Check the address. What lies outside the companies and workflows of a token looks as if it did not exist.";
    /// The workflow is not known, or not to this token.
    UnknownWorkflow "unknown_workflow" NOT_FOUND "There is no such workflow for this token"
        "`workflows` lists the ones that this token may use. Workflows are defined in the configuration file and applied with `onceover apply`.";
    /// The address is answered, but not with this method.
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "The method is not answered at this address"
        "The header `Allow` lists the methods that are.";
    /// The body did not arrive in time.
    RequestTimeout "request_timeout" REQUEST_TIMEOUT "The body did not arrive in time"
        "Nothing was decided. Send the request again.";
    /// An earlier attempt is uncertain.
    Unknown "unknown" CONFLICT "An earlier attempt is uncertain; do not send"
        "Nobody knows yet whether the destination was written. A person decides at `review_url`; ask again later, or hold the request with `Prefer: wait`.";
    /// Another attempt is under way.
    InProgress "in_progress" CONFLICT "Another attempt is under way; do not send"
        "Wait as long as `Retry-After` says and ask again with the same body, or hold the request with `Prefer: wait`.";
    /// The amendment is not approved yet.
    AwaitingApproval "awaiting_approval" CONFLICT "The amendment is proposed and not approved; do not send"
        "A person approves it at `review_url`; ask again later, or hold the request with `Prefer: wait`.";
    /// Nobody proposed this revision.
    ApprovalMissing "approval_missing" CONFLICT "Nobody proposed this revision; do not send"
        "A revision above 1 is an amendment: it is proposed and approved before it may be sent.";
    /// The revision before is not confirmed.
    PreviousRevision "previous_revision" CONFLICT "The revision before this one is missing or not confirmed; do not send"
        "Revisions are sent in their order. Settle the one before first.";
    /// The amendment was rejected, or a person dropped the operation.
    Rejected "rejected" CONFLICT "It was rejected; do not send"
        "The detail gives the reason. Propose another amendment if the change is still wanted.";
    /// Another proposal is open, or the revision is under way.
    AmendmentOpen "amendment_open" CONFLICT "An amendment of this document is open already"
        "One proposal is open at a time: `amendment_id` names it. It is approved and done, rejected or withdrawn before another is proposed.";
    /// The record is taken back, or about to be.
    ReversalExists "reversal_exists" CONFLICT "The record has a reversal already"
        "No record is taken back twice, and none is changed that is taken back: `operation_id` names the operation that does it. Once that is confirmed, a further change is a document of its own; where it shall not happen, a person withdraws it.";
    /// The proposal changes nothing.
    NoChange "no_change" CONFLICT "The proposal changes nothing"
        "The fingerprint is that of the confirmed revision; volatile fields never count. Nothing was proposed.";
    /// What an approval would rest on is no longer so.
    BaseMoved "base_moved" CONFLICT "The revision that the amendment changes is no longer what it was"
        "The detail says what moved. Withdraw the amendment and propose the change on what is so now.";
    /// The destination could not tell whether it still holds the base.
    BaseUncertain "base_uncertain" CONFLICT "The destination could not be asked whether it still holds the base"
        "Ask again later, or approve with the confirmation that this is known.";
    /// The lease ended before the call.
    LeaseExpired "lease_expired" CONFLICT "The lease has expired; do not send"
        "Begin again: the answer says whether another attempt is permitted. Extend a lease with a heartbeat while work takes longer.";
    /// The lease is not that of the latest attempt.
    StaleLease "stale_lease" CONFLICT "The lease is not that of the latest attempt; do not send"
        "Another attempt was permitted since, or the lease token is not one of this operation. Begin again and follow the answer.";
    /// The outcome disagrees with what is held.
    OutcomeDisagrees "outcome_disagrees" CONFLICT "The outcome disagrees with what is held"
        "The attempt was settled otherwise. What came now is kept as evidence; where the effect may exist twice, the operation is disputed and a person decides.";
    /// The transition table has no such step.
    Impossible "impossible" CONFLICT "The operation cannot take this step from where it stands"
        "Read the operation and follow its state.";
    /// It changed meanwhile.
    Stale "stale" CONFLICT "It changed meanwhile"
        "Read it again, then decide again.";
    /// The name is taken.
    Taken "taken" CONFLICT "The name is taken"
        "Choose another name.";
    /// The body is too large.
    PayloadTooLarge "payload_too_large" PAYLOAD_TOO_LARGE "The body is too large"
        "The detail gives the limit. Leave out of the payload what does not belong to the business content, or send a batch in parts.";
    /// The body is declared as something else than JSON.
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE "The body must be JSON"
        "Send `Content-Type: application/json`, without a content coding.";
    /// A field cannot be taken.
    InvalidField "invalid_field" UNPROCESSABLE_ENTITY "A field of the request cannot be taken"
        "`field` names it and the detail says what is wrong with it. Nothing was stored.";
    /// The workflow forbids the change.
    RuleViolation "rule_violation" UNPROCESSABLE_ENTITY "The workflow forbids the change"
        "`violations` lists each place with the rule that forbids it. Finance sets these rules for the workflow (`[workflow.amendment]`). Nothing was proposed.";
    /// A file cannot be read as it stands.
    InvalidFile "invalid_file" UNPROCESSABLE_ENTITY "The file cannot be read as it stands"
        "`faults` lists what is wrong, each with its `line` and `column` and, where a value may be read in two ways, the `parameter` that settles it. Nothing was stored. Mend the file, or send it again with that parameter.";
    /// A number is beyond what is kept exactly.
    UnsafeNumber "unsafe_number" UNPROCESSABLE_ENTITY "A number is beyond what is kept exactly"
        "A number has at most 1,000 digits and an exponent of at most 1,000. Send longer ones as text. Nothing was stored.";
    /// The same key came with another payload.
    Conflict "conflict" UNPROCESSABLE_ENTITY "The same key came with another payload; do not send"
        "`conflict.changes` lists what differs from the payload that was begun first. If the change is genuine, propose an amendment; if this is another document, give it its own number. A person reviews it at `conflict.review_url`.";
    /// The token asks too often.
    RateLimited "rate_limited" TOO_MANY_REQUESTS "The token asks too often"
        "Wait as long as `Retry-After` says. Nothing was decided.";
    /// A request went out through the proxy, and its outcome is not known.
    OutcomeUnknown "outcome_unknown" GATEWAY_TIMEOUT "The request was sent, and its outcome is not known; do not send it again"
        "The destination may have done what was asked, and its answer did not come or could not be kept. Onceover looks for the record by itself where the destination has a lookup; else a person decides at `review_url`. Ask again with the same request: it is not sent again before the outcome is known.";
    /// Nothing was sent, since the destination cannot be reached.
    DestinationUnreachable "destination_unreachable" BAD_GATEWAY "The destination cannot be reached; nothing was sent"
        "Not a byte was written, so the same request may simply be sent again. The detail says what is in the way.";
    /// Something broke in the server.
    Internal "internal" INTERNAL_SERVER_ERROR "Something broke in the server"
        "Ask again: a begin that was decided gives the same decision. The log of the server has the request's id.";
    /// A stored record cannot be read.
    StoreCorrupt "store_corrupt" INTERNAL_SERVER_ERROR "A stored record cannot be read"
        "The log of the server names it. `onceover trail verify` checks the trail.";
    /// The store cannot be reached.
    StoreUnavailable "store_unavailable" SERVICE_UNAVAILABLE "The store cannot be reached; nothing was decided"
        "Do not send. Wait as long as `Retry-After` says and ask again.";
    /// The disk of the store is full.
    StoreFull "store_full" SERVICE_UNAVAILABLE "The disk of the store is full; nothing was decided"
        "Do not send. Free space on the disk of the database, then ask again.";
    /// The server is about to stop.
    Draining "draining" SERVICE_UNAVAILABLE "The server is about to stop"
        "Send new requests to another server, or wait until this one is back.";
}

impl Code {
    /// The code of a decision that is answered as a problem; none for those that are not.
    pub const fn of_decision(decision: DecisionName) -> Option<Self> {
        match decision {
            DecisionName::Proceed | DecisionName::Replay | DecisionName::Superseded => None,
            DecisionName::InProgress => Some(Self::InProgress),
            DecisionName::Unknown => Some(Self::Unknown),
            DecisionName::AwaitingApproval => Some(Self::AwaitingApproval),
            DecisionName::ApprovalMissing => Some(Self::ApprovalMissing),
            DecisionName::PreviousRevision => Some(Self::PreviousRevision),
            DecisionName::Rejected => Some(Self::Rejected),
            DecisionName::Conflict => Some(Self::Conflict),
        }
    }
}

/// `GET /problems/{code}`: what the `type` of a problem document leads to.
pub async fn explain(Path(name): Path<String>) -> Response {
    match Code::ALL.iter().find(|code| code.as_str() == name) {
        Some(code) => {
            let status = code.status();
            format!("{}\n{status}\n\n{}\n\n{}\n", code.as_str(), code.title(), code.advice()).into_response()
        }
        None => Problem::not_found("kind of problem").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_as_it_is_named() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{}\"", code.as_str()));
            assert!(code.status().is_client_error() || code.status().is_server_error());
        }
    }

    #[test]
    fn a_decision_that_is_a_problem_has_its_own_name_as_code() {
        for decision in DecisionName::ALL {
            if let Some(code) = Code::of_decision(decision) {
                assert_eq!(code.as_str(), decision.as_str());
            }
        }
    }
}
