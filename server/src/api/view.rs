//! What answers are made of: the public shapes, apart from the guard's own types, so that neither binds the other.

use std::borrow::Cow;
use std::fmt;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use guard::clock::{Timestamp, rfc3339};
use guard::conflict::{Conflict, ConflictDecision, ConflictOutcome};
use guard::decision::{DecisionName, Next};
use guard::diff::{Change, ChangeKind};
use guard::json::Json;
use guard::operation::{LeaseToken, Operation};
use guard::state::StateName;
use guard::trail::{Entry, EntryKind};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::Code;

/// JSON text that was written already: numbers stay as they came.
pub const JSON: &str = "application/json";

/// A successful answer with this body.
pub fn json(body: &impl Serialize) -> Response {
    // Bodies have text keys and no fallible parts: they always serialize.
    json_text(serde_json::to_string(body).unwrap_or_default())
}

/// A successful answer with this JSON text.
pub fn json_text(text: String) -> Response {
    ([(CONTENT_TYPE, JSON)], text).into_response()
}

/// Something that is written by its `Display`.
pub struct Shown<T>(pub T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A moment in RFC 3339, UTC, with milliseconds.
pub struct Moment(pub Timestamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// A JSON value as it came, with every digit.
pub struct Exact<'a>(pub &'a Json);

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// The address at the desk where a person sees an operation, or one conflict of it.
pub struct ReviewUrl<'a> {
    public_url: &'a str,
    operation: guard::id::OperationId,
    conflict: Option<guard::id::ConflictId>,
}

impl Serialize for ReviewUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { public_url, operation, conflict } = self;
        match conflict {
            None => serializer.collect_str(&format_args!("{public_url}/operations/{operation}")),
            Some(conflict) => serializer.collect_str(&format_args!("{public_url}/conflicts/{conflict}")),
        }
    }
}

/// An operation: one intended business effect.
#[derive(Serialize, ToSchema)]
#[schema(as = Operation)]
pub struct OperationBody<'a> {
    /// Its id, for ever.
    #[schema(value_type = String, format = Uuid)]
    pub id: Shown<guard::id::OperationId>,
    /// The workflow.
    pub workflow: &'a str,
    /// The company; the same document in two companies is two operations.
    pub company: &'a str,
    /// The system that the document comes from.
    pub source_system: &'a str,
    /// The document's number there.
    pub document: &'a str,
    /// What is done with it.
    pub action: &'a str,
    /// Which version of the document, from 1.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// Where it stands.
    #[schema(value_type = StateSchema)]
    pub state: &'static str,
    /// `sha256:` and the SHA-256 of the canonical payload without its volatile fields.
    #[schema(value_type = String, pattern = "^sha256:[0-9a-f]{64}$")]
    pub fingerprint: Shown<guard::fingerprint::Fingerprint>,
    /// The number of the latest attempt; 0 where there was none.
    #[schema(minimum = 0)]
    pub attempt: u32,
    /// The id to write into the destination's record, so that it can be found again.
    pub external_reference: String,
    /// The id under which the destination holds the record; null where that is not known, and in a `conflict`: a changed payload
    /// does not get the result of another one.
    #[schema(required)]
    pub destination_reference: Option<Cow<'a, str>>,
    /// How often it was asked for again and held back, at most a second behind: asks, of which a worker that waits makes many.
    #[schema(minimum = 0)]
    pub duplicates_prevented: u64,
    /// How many conflicts wait for a person.
    #[schema(minimum = 0)]
    pub open_conflicts: u32,
    /// When the lease of the attempt under way ends; null where none is held.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    pub lease_expires_at: Option<Moment>,
    /// When it was first begun.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Moment,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
    /// When its payload and the destination's answer were dropped by retention; there while they are gone. The fingerprint, the outcome and
    /// the destination reference stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, required = false, nullable = false)]
    pub payload_dropped_at: Option<Moment>,
    /// Where a person sees it.
    #[schema(value_type = String, format = "uri")]
    pub review_url: ReviewUrl<'a>,
    /// The record that this operation takes back, where it is a reversal; in an answer about this one operation alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reverses: Option<ReversalBody>,
    /// The operations that take back records of this one; in an answer about this one operation alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub reversed_by: Vec<ReversalBody>,
}

/// A record that is taken back, seen from the other side.
#[derive(Serialize, ToSchema)]
#[schema(as = Reversal)]
pub struct ReversalBody {
    /// The operation on the other side: the one that takes the record back, or the one whose record it is.
    #[schema(value_type = String, format = Uuid)]
    pub operation: Shown<guard::id::OperationId>,
    /// The id of the record.
    pub destination_reference: String,
    /// Where the operation that takes it back stands; `confirmed`: it is taken back.
    #[schema(value_type = StateSchema)]
    pub state: &'static str,
}

impl ReversalBody {
    fn of(reversal: guard::reversal::Reversal, other: guard::id::OperationId) -> Self {
        let state = reversal.state.as_str();
        Self { operation: Shown(other), destination_reference: reversal.record, state }
    }
}

impl<'a> OperationBody<'a> {
    /// The public shape of an operation.
    pub fn of(operation: &'a Operation, public_url: &'a str) -> Self {
        let key = &operation.key;
        Self {
            id: Shown(operation.id),
            workflow: key.workflow.as_str(),
            company: key.company.as_str(),
            source_system: key.source_system.as_str(),
            document: key.document.as_str(),
            action: key.action.as_str(),
            revision: key.revision,
            state: operation.state.name().as_str(),
            fingerprint: Shown(operation.fingerprint),
            attempt: operation.attempt_number(),
            external_reference: operation.external_reference(),
            destination_reference: operation.state.destination_reference().map(Cow::Borrowed),
            duplicates_prevented: operation.duplicates_prevented,
            open_conflicts: operation.open_conflicts,
            lease_expires_at: operation.state.lease_expires_at().map(Moment),
            created_at: Moment(operation.created_at),
            updated_at: Moment(operation.updated_at),
            payload_dropped_at: operation.content.dropped_at().map(Moment),
            review_url: ReviewUrl { public_url, operation: operation.id, conflict: None },
            reverses: None,
            reversed_by: Vec::new(),
        }
    }

    /// The same with the records that are taken back, by it and of it.
    pub fn with_reversals(
        self,
        reverses: Option<guard::reversal::Reversal>,
        reversed_by: Vec<guard::reversal::Reversal>,
    ) -> Self {
        let reverses = reverses.map(|reversal| {
            let other = reversal.of;
            ReversalBody::of(reversal, other)
        });
        let reversed_by = reversed_by.into_iter().map(|reversal| {
            let other = reversal.operation;
            ReversalBody::of(reversal, other)
        });
        Self { reverses, reversed_by: reversed_by.collect(), ..self }
    }

    /// The same without the stored result.
    pub fn without_result(self) -> Self {
        Self { destination_reference: None, ..self }
    }
}

/// The ownership of an attempt.
#[derive(Serialize, ToSchema)]
pub struct Lease<'a> {
    /// The secret that goes with marks, heartbeats and the outcome.
    pub token: &'a str,
    /// Until when.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Moment,
}

impl<'a> Lease<'a> {
    /// The lease with this secret.
    pub fn of(token: &'a LeaseToken, expires_at: Timestamp) -> Self {
        Self { token: token.reveal(), expires_at: Moment(expires_at) }
    }
}

/// Another payload came under the same key.
#[derive(Serialize, ToSchema)]
#[schema(as = Conflict)]
pub struct ConflictBody<'a> {
    /// Its id; the same wrong payload again is the same conflict.
    #[schema(value_type = String, format = Uuid)]
    pub id: Shown<guard::id::ConflictId>,
    /// Where a person sees it.
    #[schema(value_type = String, format = "uri")]
    pub review_url: ReviewUrl<'a>,
    /// What differs, at most 100 places.
    #[schema(max_items = 100)]
    pub changes: Vec<ChangeBody<'a>>,
    /// How many places differ.
    #[schema(minimum = 0)]
    pub changes_total: u32,
    /// What a person has decided about it; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ConflictDecisionBody<'a>>,
}

/// What a person has decided about a conflict.
#[derive(Serialize, ToSchema)]
#[schema(as = ConflictDecision)]
pub struct ConflictDecisionBody<'a> {
    /// `kept_approved`: the approved payload stands. `amendment_proposed`: it waits for approval as the next revision. `other_document`: begin this payload under `key`. `noise`: what differs shall be
    /// left out of the fingerprint.
    pub outcome: &'a str,
    /// When it was decided.
    #[schema(value_type = String, format = DateTime)]
    pub decided_at: Moment,
    /// Why.
    pub reason: &'a str,
    /// The key under which this payload may be begun, where it is another document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyBody<'a>>,
}

/// The six parts that identify an operation.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationKey)]
#[allow(missing_docs, reason = "the parts of a key, as everywhere")]
pub struct KeyBody<'a> {
    pub workflow: &'a str,
    pub company: &'a str,
    pub source_system: &'a str,
    pub document: &'a str,
    pub action: &'a str,
    pub revision: u32,
}

impl<'a> ConflictDecisionBody<'a> {
    fn of(decision: &'a ConflictDecision) -> Self {
        let key = match &decision.outcome {
            ConflictOutcome::OtherDocument { key } => Some(KeyBody {
                workflow: key.workflow.as_str(),
                company: key.company.as_str(),
                source_system: key.source_system.as_str(),
                document: key.document.as_str(),
                action: key.action.as_str(),
                revision: key.revision,
            }),
            ConflictOutcome::KeptApproved
            | ConflictOutcome::AmendmentProposed { .. }
            | ConflictOutcome::Noise { .. } => None,
        };
        let outcome = decision.outcome.as_str();
        Self { outcome, decided_at: Moment(decision.at), reason: &decision.reason, key }
    }
}

impl<'a> ConflictBody<'a> {
    /// The public shape of a conflict.
    pub fn of(conflict: &'a Conflict, public_url: &'a str) -> Self {
        Self {
            id: Shown(conflict.id),
            review_url: ReviewUrl { public_url, operation: conflict.operation, conflict: Some(conflict.id) },
            changes: conflict.changes.iter().map(ChangeBody::of).collect(),
            changes_total: conflict.changes_total,
            decision: conflict.decision().map(ConflictDecisionBody::of),
        }
    }
}

/// One place that differs between two payloads.
#[derive(Serialize, ToSchema)]
#[schema(as = Change)]
pub struct ChangeBody<'a> {
    /// Where (RFC 6901).
    pub path: String,
    /// How: only the received payload has it (`added`), only the approved one (`removed`), or both with different values.
    #[schema(value_type = ChangeKindSchema)]
    pub kind: &'static str,
    /// The value in the approved payload; left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, nullable = false)]
    pub approved: Option<Exact<'a>>,
    /// The value in the received payload; left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, nullable = false)]
    pub received: Option<Exact<'a>>,
}

impl<'a> ChangeBody<'a> {
    /// The public shape of a change.
    pub fn of(change: &'a Change) -> Self {
        Self {
            path: change.path.to_string(),
            kind: change.kind.as_str(),
            approved: change.approved.as_ref().map(Exact),
            received: change.received.as_ref().map(Exact),
        }
    }
}

/// One entry of an operation's trail.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventBody<'a> {
    /// Its place in the chain, from 1.
    #[schema(minimum = 1)]
    pub sequence: u64,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Moment,
    /// Who did it: `token:NAME`, `token:NAME/WORKER`, `person:EMAIL` or `system:…`.
    #[schema(value_type = String)]
    pub actor: Shown<&'a guard::actor::Actor>,
    /// What it tells of.
    #[schema(value_type = EventKindSchema)]
    pub kind: &'static str,
    /// The facts.
    #[schema(value_type = serde_json::Map<String, serde_json::Value>)]
    pub detail: Exact<'a>,
    /// SHA-256 over this entry and all before it, in hexadecimal.
    #[schema(value_type = String)]
    pub hash: Shown<guard::trail::ChainHash>,
}

impl<'a> EventBody<'a> {
    /// The public shape of an entry.
    pub fn of(entry: &'a Entry) -> Self {
        Self {
            sequence: entry.sequence,
            at: Moment(entry.at),
            actor: Shown(&entry.actor),
            kind: entry.kind.as_str(),
            detail: Exact(&entry.detail),
            hash: Shown(entry.hash),
        }
    }
}

/// Gives the names of one of the guard's enums to the description of the API.
macro_rules! name_schema {
    ($(#[$documentation:meta])* $schema:ident $name:literal $names:expr) => {
        $(#[$documentation])*
        pub struct $schema;

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some($names)).into()
            }
        }

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    };
}

pub(crate) use name_schema;

name_schema!(
    /// What was decided on a begin.
    DecisionSchema "Decision" DecisionName::ALL.map(DecisionName::as_str)
);
name_schema!(
    /// The one instruction that goes with a decision.
    NextSchema "Next" [Next::Send, Next::UseResult, Next::Wait, Next::Stop].map(Next::as_str)
);
name_schema!(
    /// Where an operation stands.
    StateSchema "State" StateName::ALL.map(StateName::as_str)
);
name_schema!(
    /// How a place differs.
    ChangeKindSchema "ChangeKind" [ChangeKind::Changed, ChangeKind::Added, ChangeKind::Removed].map(ChangeKind::as_str)
);
name_schema!(
    /// What an event tells of.
    EventKindSchema "EventKind" EntryKind::ALL.map(EntryKind::as_str)
);
name_schema!(
    /// What kind of problem it is.
    CodeSchema "Code" Code::ALL.iter().map(|code| code.as_str())
);
