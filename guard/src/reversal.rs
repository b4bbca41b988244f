//! Reversals: a record of the destination is taken back by an operation of its own, so that the repair of a duplicate cannot itself
//! be doubled.
//!
//! The operation that takes a record back has the key of the one that made it, with the action `reverse`
//! ([`crate::key::OperationKey::reversal`]); each record has one. It waits for the approval of somebody else, as an amendment does.

use crate::amendment::{Amendment, AmendmentStateName};
use crate::clock::Timestamp;
use crate::id::{AmendmentId, OperationId};
use crate::json::Json;
use crate::number::Number;
use crate::operation::Operation;
use crate::state::StateName;

/// A record that was taken back, or is to be.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reversal {
    /// The operation that takes it back.
    pub operation: OperationId,
    /// Where that stands.
    pub state: StateName,
    /// The operation whose record it is.
    pub of: OperationId,
    /// That operation's revision.
    pub revision: u32,
    /// The id under which the destination holds, or held, the record.
    pub record: String,
    /// The latest amendment by which it was asked.
    pub amendment: AmendmentId,
    /// Where that stands.
    pub asked: AmendmentStateName,
    /// Why it was asked.
    pub reason: String,
    /// Since when the record is taken back; none where it is not (yet).
    pub since: Option<Timestamp>,
}

impl Reversal {
    /// What this operation takes back by this amendment; none where it takes nothing back.
    pub(crate) fn of(operation: &Operation, amendment: &Amendment) -> Option<Self> {
        amendment.is_reversal().then(|| Self {
            operation: operation.id,
            state: operation.state.name(),
            of: amendment.base.operation,
            revision: amendment.base.revision,
            record: amendment.base.destination_reference.clone(),
            amendment: amendment.id,
            asked: amendment.state.name(),
            reason: amendment.reason.clone(),
            since: match &operation.state {
                crate::state::State::Confirmed { since, .. } => Some(*since),
                crate::state::State::AwaitingApproval
                | crate::state::State::Rejected { .. }
                | crate::state::State::Acquired { .. }
                | crate::state::State::Sending { .. }
                | crate::state::State::Released { .. }
                | crate::state::State::Failed { .. }
                | crate::state::State::Unknown { .. }
                | crate::state::State::Disputed { .. } => None,
            },
        })
    }

    /// Whether it stands in the way of a change of the same record: it waits, it is under way, or it is done.
    pub const fn stands(&self) -> bool {
        !matches!(self.state, StateName::Rejected)
    }
}

/// The payload of the operation that takes a record back. It names the record and nothing of its content: a worker is given that when
/// it begins.
pub fn payload(of: &Operation, record: &str) -> Json {
    let text = |value: &str| Json::String(value.to_owned());
    let members = [
        ("operation", text(&of.id.to_string())),
        ("revision", Json::Number(Number::from_integer(of.key.revision.into()))),
        ("destination_reference", text(record)),
    ];
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Json::Object(vec![(PAYLOAD_MEMBER.to_owned(), Json::Object(members))])
}

/// The one member of a reversal's payload.
pub const PAYLOAD_MEMBER: &str = "reverses";
