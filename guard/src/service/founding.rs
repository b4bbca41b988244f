//! How an operation comes into being: by a begin, by the proposal of a revision, or by a person who registers it.

use super::period::day_of_payload;
use crate::amendment::Amendment;
use crate::clock::Timestamp;
use crate::decision::DecisionName;
use crate::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use crate::id::OperationId;
use crate::key::OperationKey;
use crate::money::Money;
use crate::operation::{Attempt, Operation};
use crate::payload::Payload;
use crate::retention::Content;
use crate::state::State;
use crate::store::{NewOperation, VersionedWorkflow};
use crate::summary::{Count, Counted};
use crate::trail::Entry;

/// What is known of an operation before there is one. Whoever founds it, the same is read from its payload and counted for it.
pub(super) struct Founding<'a> {
    /// Its id.
    pub id: OperationId,
    /// What identifies it.
    pub key: OperationKey,
    /// Where it stands from the start.
    pub state: State,
    /// Its first entry, which tells when that was.
    pub entry: Entry,
    /// The fingerprint of its payload.
    pub fingerprint: Fingerprint,
    /// The workflow, as its fingerprint was made.
    pub workflow: &'a VersionedWorkflow,
    /// Its payload.
    pub payload: &'a Payload,
    /// The permission to send, where it begins with one.
    pub attempt: Option<Attempt>,
    /// The amendment that proposes it.
    pub amendment: Option<Amendment>,
    /// What is at stake: as the workflow reads it from the payload; of a reversal, what it takes back.
    pub money: Option<Money>,
}

impl Founding<'_> {
    /// The operation, with everything that is kept with it.
    pub(super) fn into_new(self) -> NewOperation {
        let Self { id, key, state, entry, fingerprint, workflow, payload, attempt, amendment, money } = self;
        let rules = &workflow.workflow;
        let look = rules.look(&key, money.as_ref(), payload);
        let operation = Operation {
            id,
            key,
            state,
            version: entry.sequence,
            head: entry.hash,
            fingerprint,
            fingerprint_scheme: FINGERPRINT_SCHEME,
            policy_version: workflow.version,
            attempt,
            money,
            superseded_by: None,
            duplicates_prevented: 0,
            open_conflicts: 0,
            created_at: entry.at,
            updated_at: entry.at,
            content: Content::Kept,
        };
        let counts = if operation.attempt.is_some() {
            grant_counts(&operation, entry.at).to_vec()
        } else {
            vec![entered_count(&operation, entry.at)]
        };
        let day = day_of_payload(rules, payload);
        NewOperation { operation, payload: payload.to_text(), day, look, entry, counts, amendment }
    }
}

/// What a permission to send counts.
pub(super) fn grant_counts(operation: &Operation, at: Timestamp) -> [Count; 2] {
    [count(operation, Counted::Decision(DecisionName::Proceed), at), entered_count(operation, at)]
}

fn entered_count(operation: &Operation, at: Timestamp) -> Count {
    count(operation, Counted::Entered(operation.state.name()), at)
}

fn count(operation: &Operation, counted: Counted, at: Timestamp) -> Count {
    let key = &operation.key;
    Count::one(key.workflow.as_str(), key.company.as_str(), counted, at, operation.money.as_ref())
}
