//! The table `amendment`.

use guard::amendment::{Amendment, AmendmentState, AmendmentStateName, Base, Ruled};
use guard::fingerprint::Fingerprint;
use guard::id::{AmendmentId, ConflictId, OperationId};
use guard::refusal::StoreFault;
use guard::workflow::Correction;
use uuid::Uuid;

use super::{Place, column_number, json_text, uuid};

/// A row of `amendment`, without the payload.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct AmendmentRow {
    pub id: Uuid,
    pub operation: Uuid,
    pub revision: i64,
    pub base: Uuid,
    pub base_revision: i64,
    pub base_version: i64,
    pub base_fingerprint: Vec<u8>,
    pub base_reference: String,
    pub base_confirmed_at: i64,
    pub fingerprint: Vec<u8>,
    pub changes: String,
    pub changes_total: i64,
    pub proposed_by: String,
    pub behind: Option<String>,
    pub proposal_reason: String,
    pub requested_by: Option<String>,
    pub conflict: Option<Uuid>,
    pub correction: String,
    pub rule_version: i64,
    pub because: String,
    pub approvals_needed: i64,
    pub approvals: String,
    pub proposed_at: i64,
    pub expires_at: i64,
    pub state: String,
    pub settled_at: Option<i64>,
    pub settled_by: Option<String>,
    pub settled_reason: Option<String>,
}

impl AmendmentRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "amendment.id, amendment.operation, amendment.revision, amendment.base, \
         amendment.base_revision, amendment.base_version, amendment.base_fingerprint, amendment.base_reference, \
         amendment.base_confirmed_at, amendment.fingerprint, amendment.changes, amendment.changes_total, \
         amendment.proposed_by, amendment.behind, amendment.proposal_reason, amendment.requested_by, amendment.conflict, \
         amendment.correction, amendment.rule_version, amendment.because, amendment.approvals_needed, \
         amendment.approvals, amendment.proposed_at, amendment.expires_at, amendment.state, amendment.settled_at, \
         amendment.settled_by, amendment.settled_reason";

    /// Stores a new row, whose columns are these values and, last, the payload. What its operation says of itself comes from there.
    pub fn insert(values: &[String]) -> String {
        let columns = "id, operation, revision, base, base_revision, base_version, base_fingerprint, base_reference, base_confirmed_at, \
             fingerprint, changes, changes_total, proposed_by, behind, proposal_reason, requested_by, conflict, correction, \
             rule_version, because, approvals_needed, approvals, proposed_at, expires_at, state, settled_at, settled_by, \
             settled_reason, payload";
        let (values, operation) = (values.join(", "), values.get(1).map_or("", String::as_str));
        format!(
            "INSERT INTO amendment ({columns}, company, workflow) \
             SELECT {values}, operation.company, operation.workflow FROM operation WHERE operation.id = {operation}"
        )
    }
}

/// The columns that carry the facts of a state.
type Settled = (Option<i64>, Option<String>, Option<String>);

fn settled(state: &AmendmentState) -> Settled {
    match state {
        AmendmentState::AwaitingApproval => (None, None, None),
        AmendmentState::Approved { at } | AmendmentState::Expired { at } | AmendmentState::Begun { at } => {
            (Some(at.timestamp_millis()), None, None)
        }
        AmendmentState::Rejected { at, by, reason } | AmendmentState::Withdrawn { at, by, reason } => {
            (Some(at.timestamp_millis()), Some(by.to_string()), Some(reason.clone()))
        }
        AmendmentState::Void { at, reason } => (Some(at.timestamp_millis()), None, Some(reason.clone())),
    }
}

impl From<&Amendment> for AmendmentRow {
    fn from(amendment: &Amendment) -> Self {
        let Amendment {
            id,
            operation,
            revision,
            base,
            fingerprint,
            changes,
            changes_total,
            proposed_by,
            behind,
            reason,
            requested_by,
            from_conflict,
            ruled,
            approvals_needed,
            approvals,
            proposed_at,
            expires_at,
            state,
        } = amendment;
        let (settled_at, settled_by, settled_reason) = settled(state);
        Self {
            id: uuid(id.as_u128()),
            operation: uuid(operation.as_u128()),
            revision: (*revision).into(),
            base: uuid(base.operation.as_u128()),
            base_revision: base.revision.into(),
            base_version: column_number(base.version),
            base_fingerprint: base.fingerprint.as_bytes().to_vec(),
            base_reference: base.destination_reference.clone(),
            base_confirmed_at: base.confirmed_at.timestamp_millis(),
            fingerprint: fingerprint.as_bytes().to_vec(),
            changes: json_text(changes),
            changes_total: (*changes_total).into(),
            proposed_by: proposed_by.to_string(),
            behind: behind.clone(),
            proposal_reason: reason.clone(),
            requested_by: requested_by.clone(),
            conflict: from_conflict.map(|conflict| uuid(conflict.as_u128())),
            correction: ruled.correction.as_str().to_owned(),
            rule_version: ruled.rule_version.into(),
            because: ruled.because.clone(),
            approvals_needed: (*approvals_needed).into(),
            approvals: json_text(approvals),
            proposed_at: proposed_at.timestamp_millis(),
            expires_at: expires_at.timestamp_millis(),
            state: state.name().as_str().to_owned(),
            settled_at,
            settled_by,
            settled_reason,
        }
    }
}

impl TryFrom<AmendmentRow> for Amendment {
    type Error = StoreFault;

    fn try_from(row: AmendmentRow) -> Result<Self, StoreFault> {
        let place = Place::new("amendment", &row.id);
        let name = place.some("state", AmendmentStateName::parse(&row.state))?;
        let state = state(&place, name, (row.settled_at, row.settled_by, row.settled_reason))?;
        Ok(Self {
            id: AmendmentId::from_u128(row.id.as_u128()),
            operation: OperationId::from_u128(row.operation.as_u128()),
            revision: place.number("revision", row.revision)?,
            base: Base {
                operation: OperationId::from_u128(row.base.as_u128()),
                revision: place.number("base_revision", row.base_revision)?,
                version: place.number("base_version", row.base_version)?,
                fingerprint: Fingerprint::from_bytes(place.bytes("base_fingerprint", &row.base_fingerprint)?),
                destination_reference: row.base_reference,
                confirmed_at: place.moment("base_confirmed_at", row.base_confirmed_at)?,
            },
            fingerprint: Fingerprint::from_bytes(place.bytes("fingerprint", &row.fingerprint)?),
            changes: place.json("changes", &row.changes)?,
            changes_total: place.number("changes_total", row.changes_total)?,
            proposed_by: place.read("proposed_by", row.proposed_by.parse())?,
            behind: row.behind,
            reason: row.proposal_reason,
            requested_by: row.requested_by,
            from_conflict: row.conflict.map(|conflict| ConflictId::from_u128(conflict.as_u128())),
            ruled: Ruled {
                correction: place.some("correction", Correction::parse(&row.correction))?,
                rule_version: place.number("rule_version", row.rule_version)?,
                because: row.because,
            },
            approvals_needed: place.number("approvals_needed", row.approvals_needed)?,
            approvals: place.json("approvals", &row.approvals)?,
            proposed_at: place.moment("proposed_at", row.proposed_at)?,
            expires_at: place.moment("expires_at", row.expires_at)?,
            state,
        })
    }
}

fn state(place: &Place<'_>, name: AmendmentStateName, settled: Settled) -> Result<AmendmentState, StoreFault> {
    let (at, by, reason) = settled;
    let at = || place.moment("settled_at", place.some("settled_at", at)?);
    let by = || place.read("settled_by", place.some("settled_by", by)?.parse());
    let reason = || place.some("settled_reason", reason);
    Ok(match name {
        AmendmentStateName::AwaitingApproval => AmendmentState::AwaitingApproval,
        AmendmentStateName::Approved => AmendmentState::Approved { at: at()? },
        AmendmentStateName::Begun => AmendmentState::Begun { at: at()? },
        AmendmentStateName::Expired => AmendmentState::Expired { at: at()? },
        AmendmentStateName::Rejected => AmendmentState::Rejected { at: at()?, by: by()?, reason: reason()? },
        AmendmentStateName::Withdrawn => AmendmentState::Withdrawn { at: at()?, by: by()?, reason: reason()? },
        AmendmentStateName::Void => AmendmentState::Void { at: at()?, reason: reason()? },
    })
}
