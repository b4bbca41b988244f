//! An operation as people and automations see it: without the secret of its lease.

use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::key::OperationKey;
use crate::money::Money;
use crate::operation::Operation;
use crate::state::State;

/// An operation, for every interface.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OperationView {
    /// Its id.
    pub id: OperationId,
    /// What identifies it.
    pub key: OperationKey,
    /// The plain sentence that tells what it is.
    pub sentence: String,
    /// Where it stands.
    pub state: State,
    /// The version that a decision on it must name.
    pub version: u64,
    /// The fingerprint of its approved payload.
    pub fingerprint: Fingerprint,
    /// The version of the workflow under which the fingerprint was made.
    pub policy_version: u32,
    /// The number of the latest attempt; 0 where there was none.
    pub attempt: u32,
    /// The worker of the latest attempt, as it names itself.
    pub worker: Option<String>,
    /// When the latest attempt was permitted.
    pub begun_at: Option<Timestamp>,
    /// The id that the worker writes into the destination's record.
    pub external_reference: String,
    /// What is at stake.
    pub money: Option<Money>,
    /// The next revision, once that is confirmed.
    pub superseded_by: Option<OperationId>,
    /// How often it was asked for again and held back.
    pub duplicates_prevented: u64,
    /// How many conflicts wait for a person.
    pub open_conflicts: u32,
    /// When it was first begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its payload was dropped by retention; none while it is kept.
    pub payload_dropped_at: Option<Timestamp>,
}

impl OperationView {
    /// The view of an operation, with the sentence of its workflow.
    pub fn of(operation: &Operation, sentence: String) -> Self {
        let attempt = operation.attempt.as_ref();
        Self {
            id: operation.id,
            key: operation.key.clone(),
            sentence,
            state: operation.state.clone(),
            version: operation.version,
            fingerprint: operation.fingerprint,
            policy_version: operation.policy_version,
            attempt: operation.attempt_number(),
            worker: attempt.and_then(|attempt| attempt.worker.clone()),
            begun_at: attempt.map(|attempt| attempt.begun_at),
            external_reference: operation.external_reference(),
            money: operation.money.clone(),
            superseded_by: operation.superseded_by,
            duplicates_prevented: operation.duplicates_prevented,
            open_conflicts: operation.open_conflicts,
            created_at: operation.created_at,
            updated_at: operation.updated_at,
            payload_dropped_at: operation.content.dropped_at(),
        }
    }
}
