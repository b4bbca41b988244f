//! How a decision is answered.

use std::borrow::Cow;

use axum::http::StatusCode;
use guard::clock::Timestamp;
use guard::conflict::ConflictOutcome;
use guard::decision::{Amends, Decision, DecisionName};
use guard::operation::Operation;
use guard::state::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::amendment::CorrectionSchema;
use super::view::{ConflictBody, DecisionSchema, Exact, Lease, NextSchema, OperationBody, Shown, StateSchema};
use crate::problem::{Code, Problem, ProblemDocument};

/// While another attempt is under way, ask again after at most this many seconds, however long its lease is: most work is short.
pub const RETRY_AFTER_IN_PROGRESS_SECONDS_MAX: u64 = 10;

/// Where the destination is looked at next, ask again after at least this many seconds: a look takes a moment.
pub const RETRY_AFTER_LOOK_SECONDS_MIN: u64 = 2;

/// Where the destination is looked at next, ask again after at most this many seconds: a worker may tell, or a person decide, before.
pub const RETRY_AFTER_LOOK_SECONDS_MAX: u64 = 300;

/// Where a person decides, ask again after this many seconds.
pub const RETRY_AFTER_PERSON_SECONDS: u64 = 30;

/// A decision that is no refusal.
pub struct Answer {
    /// 201 for a grant, 200 for a result.
    pub status: StatusCode,
    /// The body, JSON text.
    pub body: String,
    /// Whether it repeats a result that was there.
    pub is_replay: bool,
}

/// The caller owns the attempt and may send.
#[derive(Serialize, ToSchema)]
pub struct Granted<'a> {
    /// `proceed`
    #[schema(value_type = DecisionSchema)]
    pub decision: &'static str,
    /// `send`
    #[schema(value_type = NextSchema)]
    pub next: &'static str,
    /// The operation.
    pub operation: OperationBody<'a>,
    /// The number of the attempt.
    #[schema(minimum = 1)]
    pub attempt: u32,
    /// Its ownership.
    pub lease: Lease<'a>,
    /// The id to write into the destination's record, so that it can be found again.
    pub external_reference: String,
    /// To pass to a destination that takes such a key: the same for every attempt.
    pub idempotency_key: String,
    /// Whether this is the same grant again, for a begin whose answer was lost.
    pub repeated: bool,
    /// How the destination's record is corrected, for an amendment: the workflow's rule says so. `reverse` for a reversal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = CorrectionSchema, nullable = false)]
    pub correction: Option<&'static str>,
    /// What is corrected, for an amendment, or taken back, for a reversal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub previous: Option<CorrectedBody<'a>>,
}

/// The revision that an amendment corrects, or the operation whose record is taken back.
#[derive(Serialize, ToSchema)]
#[schema(as = CorrectedRevision)]
pub struct CorrectedBody<'a> {
    /// Its operation.
    #[schema(value_type = String, format = Uuid)]
    pub operation: Shown<guard::id::OperationId>,
    /// Its number.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// The id under which the destination holds the record; for a reversal, the record to take back.
    #[schema(required)]
    pub destination_reference: Option<&'a str>,
    /// Its payload, with every digit; null where it was forgotten.
    #[schema(value_type = Option<serde_json::Map<String, serde_json::Value>>, required)]
    pub payload: Option<Exact<'a>>,
}

impl<'a> CorrectedBody<'a> {
    fn of(amends: &'a Amends) -> Self {
        Self {
            operation: Shown(amends.previous.id),
            revision: amends.previous.key.revision,
            destination_reference: amends.record.as_deref(),
            payload: amends.payload.as_ref().map(|payload| Exact(payload.content())),
        }
    }
}

/// It is done already; nothing is sent.
#[derive(Serialize, ToSchema)]
pub struct Done<'a> {
    /// `replay`, or `superseded` where a newer revision is confirmed.
    #[schema(value_type = DecisionSchema)]
    pub decision: &'static str,
    /// `use_result`
    #[schema(value_type = NextSchema)]
    pub next: &'static str,
    /// The operation; its `destination_reference` is the result.
    pub operation: OperationBody<'a>,
    /// The newest confirmed revision, where the operation is superseded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub current: Option<OperationBody<'a>>,
}

/// What a decision adds to the problem document that it is answered with.
#[derive(Serialize, ToSchema)]
pub struct Held<'a> {
    /// What was decided.
    #[schema(value_type = DecisionSchema)]
    pub decision: &'static str,
    /// `wait` or `stop`
    #[schema(value_type = NextSchema)]
    pub next: &'static str,
    /// The operation, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub operation: Option<OperationBody<'a>>,
    /// The revision before this one, where that is what is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub previous: Option<PreviousBody>,
    /// What differs from the payload that was begun first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub conflict: Option<ConflictBody<'a>>,
    /// Where a person decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub review_url: Option<String>,
}

/// A decision that is answered as a problem document.
#[derive(Serialize, ToSchema)]
pub struct DecisionProblem<'a> {
    /// The members of every problem.
    #[serde(flatten)]
    pub problem: ProblemDocument<'a>,
    /// The members of a decision.
    #[serde(flatten)]
    pub held: Held<'a>,
}

/// The revision before the one that was asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviousRevision)]
pub struct PreviousBody {
    /// Its operation.
    #[schema(value_type = String, format = Uuid)]
    pub operation: Shown<guard::id::OperationId>,
    /// Its number.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// Where it stands.
    #[schema(value_type = StateSchema)]
    pub state: &'static str,
}

impl PreviousBody {
    fn of(operation: &Operation) -> Self {
        let state = operation.state.name().as_str();
        Self { operation: Shown(operation.id), revision: operation.key.revision, state }
    }
}

/// The problem of a request that went out and whose outcome is not known.
pub fn lost(operation: &Operation, detail: String, public_url: &str) -> Problem {
    let members = with_review(DecisionName::Unknown, operation, public_url);
    Problem::new(Code::OutcomeUnknown, detail).with(&members).retry_after(RETRY_AFTER_PERSON_SECONDS)
}

/// The answer to a decision; `next_look` is when the destination of an uncertain operation is looked at next, where it is.
///
/// # Errors
/// The problem document of a decision that says "wait" or "stop".
pub fn answer(
    decision: &Decision,
    now: Timestamp,
    next_look: Option<Timestamp>,
    public_url: &str,
) -> Result<Answer, Problem> {
    let name = decision.name();
    let body = |operation| OperationBody::of(operation, public_url);
    match decision {
        Decision::Proceed { operation, lease_token, lease_expires_at, repeated, amends } => Ok(Answer::of(
            StatusCode::CREATED,
            name,
            &Granted {
                decision: name.as_str(),
                next: name.next().as_str(),
                operation: body(operation),
                attempt: operation.attempt_number(),
                lease: Lease::of(lease_token, *lease_expires_at),
                external_reference: operation.external_reference(),
                idempotency_key: operation.idempotency_key(),
                repeated: *repeated,
                correction: amends.as_ref().map(|amends| amends.correction.as_str()),
                previous: amends.as_deref().map(CorrectedBody::of),
            },
        )),
        Decision::Replay { operation } => Ok(done(name, body(operation), None)),
        Decision::Superseded { operation, current } => Ok(done(name, body(operation), Some(body(current)))),
        Decision::InProgress { operation, lease_expires_at } => {
            let left = (*lease_expires_at - now).num_milliseconds().max(0).unsigned_abs().div_ceil(1_000);
            let detail = "another attempt holds a live lease; do not send, ask again later";
            Err(held(name, detail, Held { operation: Some(body(operation)), ..Held::of(name) })
                .retry_after(left.clamp(1, RETRY_AFTER_IN_PROGRESS_SECONDS_MAX)))
        }
        Decision::Unknown { operation } => {
            let detail =
                "nobody knows yet whether an earlier attempt reached the destination; do not send, a person decides";
            Err(held(name, detail, with_review(name, operation, public_url)).retry_after(after_look(next_look, now)))
        }
        Decision::AwaitingApproval { operation } => {
            let detail = "the amendment is proposed and waits for approval; do not send, ask again later";
            Err(held(name, detail, with_review(name, operation, public_url)).retry_after(RETRY_AFTER_PERSON_SECONDS))
        }
        Decision::ApprovalMissing { previous } => {
            let detail = "a revision above 1 is an amendment, and nobody proposed this one";
            Err(held(name, detail, Held { previous: Some(PreviousBody::of(previous)), ..Held::of(name) }))
        }
        Decision::PreviousRevision { previous, reason } => {
            let detail = match (previous, reason) {
                (_, Some(reason)) => format!("the approval holds no longer: {reason}; propose it anew").into(),
                (Some(_), None) => Cow::Borrowed("the revision before this one is not confirmed"),
                (None, None) => Cow::Borrowed("the revision before this one was never begun"),
            };
            Err(held(name, detail, Held { previous: previous.as_deref().map(PreviousBody::of), ..Held::of(name) }))
        }
        Decision::Rejected { operation, reason } => {
            let is_dropped = matches!(operation.state, State::Rejected { dropped_at: Some(_), .. });
            let what = if is_dropped { "a person dropped it" } else { "the amendment was rejected" };
            let detail = format!("{what}: {reason}");
            Err(held(name, detail, Held { operation: Some(body(operation)), ..Held::of(name) }))
        }
        Decision::Conflict { operation, conflict, is_new: _ } => {
            let places = conflict.changes_total;
            let places = if places == 1 { "1 place".to_owned() } else { format!("{places} places") };
            let decided = match conflict.decision().map(|decision| &decision.outcome) {
                None => String::new(),
                Some(ConflictOutcome::OtherDocument { key }) => format!(
                    ". A person decided that it is another document: begin it as document {:?}",
                    key.document.as_str()
                ),
                Some(
                    outcome @ (ConflictOutcome::KeptApproved
                    | ConflictOutcome::AmendmentProposed { .. }
                    | ConflictOutcome::Noise { .. }),
                ) => {
                    format!(". A person decided: {}", outcome.sentence())
                }
            };
            let detail =
                format!("the same key was begun with another payload, which differs in {places}; do not send{decided}");
            Err(held(
                name,
                detail,
                Held {
                    operation: Some(body(operation).without_result()),
                    conflict: Some(ConflictBody::of(conflict, public_url)),
                    ..Held::of(name)
                },
            ))
        }
    }
}

/// After how many seconds an uncertain operation may be known: when the destination was looked at next, or a person had time.
fn after_look(next_look: Option<Timestamp>, now: Timestamp) -> u64 {
    next_look.map_or(RETRY_AFTER_PERSON_SECONDS, |at| {
        let seconds = (at - now).num_milliseconds().max(0).unsigned_abs().div_ceil(1_000);
        seconds.clamp(RETRY_AFTER_LOOK_SECONDS_MIN, RETRY_AFTER_LOOK_SECONDS_MAX)
    })
}

impl Answer {
    fn of(status: StatusCode, decision: DecisionName, body: &impl Serialize) -> Self {
        // Bodies have text keys and no fallible parts: they always serialize.
        let body = serde_json::to_string(body).unwrap_or_default();
        Self { status, body, is_replay: decision == DecisionName::Replay }
    }
}

impl Held<'_> {
    const fn of(name: DecisionName) -> Self {
        let (decision, next) = (name.as_str(), name.next().as_str());
        Self { decision, next, operation: None, previous: None, conflict: None, review_url: None }
    }
}

fn done<'a>(name: DecisionName, operation: OperationBody<'a>, current: Option<OperationBody<'a>>) -> Answer {
    let body = Done { decision: name.as_str(), next: name.next().as_str(), operation, current };
    Answer::of(StatusCode::OK, name, &body)
}

fn with_review<'a>(name: DecisionName, operation: &'a Operation, public_url: &'a str) -> Held<'a> {
    let review_url = Some(format!("{public_url}/operations/{}", operation.id));
    Held { operation: Some(OperationBody::of(operation, public_url)), review_url, ..Held::of(name) }
}

fn held(name: DecisionName, detail: impl Into<Cow<'static, str>>, members: Held<'_>) -> Problem {
    // Every decision with "wait" or "stop" has a code; the fall-back keeps this total.
    Problem::new(Code::of_decision(name).unwrap_or(Code::Internal), detail).with(&members)
}
