//! The table `operation`.

use guard::fingerprint::Fingerprint;
use guard::id::{OperationId, TokenId};
use guard::key::{KeyPart, OperationKey};
use guard::money::Money;
use guard::operation::{Attempt, LeaseToken, Operation};
use guard::refusal::StoreFault;
use guard::retention::Content;
use guard::state::{State, StateName};
use guard::trail::ChainHash;
use uuid::Uuid;

use super::{Place, column_number, uuid};

/// A row of `operation`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct OperationRow {
    pub id: Uuid,
    pub key_hash: Vec<u8>,
    pub workflow: String,
    pub company: String,
    pub source_system: String,
    pub document: String,
    pub action: String,
    pub revision: i64,
    pub state: String,
    pub state_since: Option<i64>,
    pub lease_expires_at: Option<i64>,
    pub reason: Option<String>,
    pub destination_reference: Option<String>,
    pub dropped_at: Option<i64>,
    pub version: i64,
    pub head: Vec<u8>,
    pub fingerprint: Vec<u8>,
    pub fingerprint_scheme: i64,
    pub policy_version: i64,
    pub attempt: i64,
    pub lease_token: Option<String>,
    pub attempt_token: Option<Uuid>,
    pub begin_id: Option<String>,
    pub worker: Option<String>,
    pub begun_at: Option<i64>,
    pub amount: Option<String>,
    pub currency: Option<String>,
    pub ten_thousandths: Option<i64>,
    pub superseded_by: Option<Uuid>,
    pub duplicates_prevented: i64,
    pub open_conflicts: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub keeps_bodies: bool,
    pub payload_dropped_at: Option<i64>,
}

impl OperationRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, key_hash, workflow, company, source_system, document, action, revision, state, \
         state_since, lease_expires_at, reason, destination_reference, dropped_at, version, head, fingerprint, fingerprint_scheme, \
         policy_version, attempt, lease_token, attempt_token, begin_id, worker, begun_at, amount, currency, \
         ten_thousandths, superseded_by, duplicates_prevented, open_conflicts, created_at, updated_at, \
         keeps_bodies, payload_dropped_at";
}

/// The money of two columns; both are there or none.
pub(super) fn money(
    place: &Place,
    amount: Option<String>,
    currency: Option<String>,
) -> Result<Option<Money>, StoreFault> {
    match (amount, currency) {
        (Some(amount), Some(currency)) => Ok(Some(Money { amount: place.read("amount", amount.parse())?, currency })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(place.corrupt("currency")),
        (None, Some(_)) => Err(place.corrupt("amount")),
    }
}

/// The money at stake, as indexes hold it.
pub(super) fn stake(currency: Option<String>, ten_thousandths: Option<i64>) -> Option<Money> {
    currency.zip(ten_thousandths).map(|(currency, stake)| Money::from_ten_thousandths(stake.into(), currency))
}

/// The columns that carry the facts of a state.
#[derive(Default)]
struct StateColumns {
    since: Option<i64>,
    lease_expires_at: Option<i64>,
    reason: Option<String>,
    destination_reference: Option<String>,
    dropped_at: Option<i64>,
}

impl From<&State> for StateColumns {
    fn from(state: &State) -> Self {
        match state {
            State::AwaitingApproval => Self::default(),
            State::Rejected { reason, dropped_at } => Self {
                reason: Some(reason.clone()),
                dropped_at: dropped_at.map(|at| at.timestamp_millis()),
                ..Self::default()
            },
            State::Acquired { lease_expires_at } => {
                Self { lease_expires_at: Some(lease_expires_at.timestamp_millis()), ..Self::default() }
            }
            State::Sending { since, lease_expires_at } => Self {
                since: Some(since.timestamp_millis()),
                lease_expires_at: Some(lease_expires_at.timestamp_millis()),
                ..Self::default()
            },
            State::Released { since } => Self { since: Some(since.timestamp_millis()), ..Self::default() },
            State::Failed { since, reason } | State::Unknown { since, reason } => {
                Self { since: Some(since.timestamp_millis()), reason: Some(reason.clone()), ..Self::default() }
            }
            State::Confirmed { since, destination_reference } => Self {
                since: Some(since.timestamp_millis()),
                destination_reference: Some(destination_reference.clone()),
                ..Self::default()
            },
            State::Disputed { since, reason, destination_reference } => Self {
                since: Some(since.timestamp_millis()),
                reason: Some(reason.clone()),
                destination_reference: destination_reference.clone(),
                ..Self::default()
            },
        }
    }
}

impl From<&Operation> for OperationRow {
    fn from(operation: &Operation) -> Self {
        let Operation {
            id,
            key,
            state,
            version,
            head,
            fingerprint,
            fingerprint_scheme,
            policy_version,
            attempt,
            money,
            superseded_by,
            duplicates_prevented,
            open_conflicts,
            created_at,
            updated_at,
            content,
        } = operation;
        let state_columns = StateColumns::from(state);
        let attempt = attempt.as_ref();
        let money = money.as_ref();
        Self {
            id: uuid(id.as_u128()),
            key_hash: key.hash().to_vec(),
            workflow: key.workflow.as_str().to_owned(),
            company: key.company.as_str().to_owned(),
            source_system: key.source_system.as_str().to_owned(),
            document: key.document.as_str().to_owned(),
            action: key.action.as_str().to_owned(),
            revision: key.revision.into(),
            state: state.name().as_str().to_owned(),
            state_since: state_columns.since,
            lease_expires_at: state_columns.lease_expires_at,
            reason: state_columns.reason,
            destination_reference: state_columns.destination_reference,
            dropped_at: state_columns.dropped_at,
            version: column_number(*version),
            head: head.as_bytes().to_vec(),
            fingerprint: fingerprint.as_bytes().to_vec(),
            fingerprint_scheme: (*fingerprint_scheme).into(),
            policy_version: (*policy_version).into(),
            attempt: attempt.map_or(0, |attempt| attempt.number.into()),
            lease_token: attempt.map(|attempt| attempt.lease_token.reveal().to_owned()),
            attempt_token: attempt.map(|attempt| uuid(attempt.token.as_u128())),
            begin_id: attempt.and_then(|attempt| attempt.begin_id.clone()),
            worker: attempt.and_then(|attempt| attempt.worker.clone()),
            begun_at: attempt.map(|attempt| attempt.begun_at.timestamp_millis()),
            amount: money.map(|money| money.amount.to_string()),
            currency: money.map(|money| money.currency.clone()),
            ten_thousandths: money.map(Money::stake),
            superseded_by: superseded_by.map(|next| uuid(next.as_u128())),
            duplicates_prevented: column_number(*duplicates_prevented),
            open_conflicts: (*open_conflicts).into(),
            created_at: created_at.timestamp_millis(),
            updated_at: updated_at.timestamp_millis(),
            keeps_bodies: content.keeps_some(),
            payload_dropped_at: content.dropped_at().map(|at| at.timestamp_millis()),
        }
    }
}

impl TryFrom<OperationRow> for Operation {
    type Error = StoreFault;

    fn try_from(row: OperationRow) -> Result<Self, StoreFault> {
        let id = row.id;
        let place = Place::new("operation", &id);
        let part = |column, text: &str| place.read(column, KeyPart::new(text));
        let key = OperationKey {
            workflow: part("workflow", &row.workflow)?,
            company: part("company", &row.company)?,
            source_system: part("source_system", &row.source_system)?,
            document: part("document", &row.document)?,
            action: part("action", &row.action)?,
            revision: place.number("revision", row.revision)?,
        };
        if key.hash()[..] != row.key_hash[..] {
            return Err(place.corrupt("key_hash"));
        }
        let money = money(&place, row.amount, row.currency)?;
        let attempt = if row.attempt == 0 {
            None
        } else {
            Some(Attempt {
                number: place.number("attempt", row.attempt)?,
                lease_token: LeaseToken::from_text(&place.some("lease_token", row.lease_token)?),
                token: TokenId::from_u128(place.some("attempt_token", row.attempt_token)?.as_u128()),
                begin_id: row.begin_id,
                worker: row.worker,
                begun_at: place.moment("begun_at", place.some("begun_at", row.begun_at)?)?,
            })
        };
        let columns = StateColumns {
            since: row.state_since,
            lease_expires_at: row.lease_expires_at,
            reason: row.reason,
            destination_reference: row.destination_reference,
            dropped_at: row.dropped_at,
        };
        Ok(Self {
            id: OperationId::from_u128(id.as_u128()),
            state: state(&place, place.some("state", StateName::parse(&row.state))?, columns)?,
            key,
            version: place.number("version", row.version)?,
            head: ChainHash::from_bytes(place.bytes("head", &row.head)?),
            fingerprint: Fingerprint::from_bytes(place.bytes("fingerprint", &row.fingerprint)?),
            fingerprint_scheme: place.number("fingerprint_scheme", row.fingerprint_scheme)?,
            policy_version: place.number("policy_version", row.policy_version)?,
            attempt,
            money,
            superseded_by: row.superseded_by.map(|next| OperationId::from_u128(next.as_u128())),
            duplicates_prevented: place.number("duplicates_prevented", row.duplicates_prevented)?,
            open_conflicts: place.number("open_conflicts", row.open_conflicts)?,
            created_at: place.moment("created_at", row.created_at)?,
            updated_at: place.moment("updated_at", row.updated_at)?,
            content: content(&place, row.keeps_bodies, row.payload_dropped_at)?,
        })
    }
}

fn content(place: &Place<'_>, keeps_bodies: bool, dropped_at: Option<i64>) -> Result<Content, StoreFault> {
    let dropped_at = dropped_at.map(|at| place.moment("payload_dropped_at", at)).transpose()?;
    Ok(match (keeps_bodies, dropped_at) {
        (true, None) => Content::Kept,
        (true, Some(dropped_at)) => Content::CameSince { dropped_at },
        (false, at) => Content::Dropped { at: place.some("payload_dropped_at", at)? },
    })
}

fn state(place: &Place<'_>, name: StateName, columns: StateColumns) -> Result<State, StoreFault> {
    let StateColumns { since, lease_expires_at, reason, destination_reference, dropped_at } = columns;
    let since = || place.moment("state_since", place.some("state_since", since)?);
    let lease_expires_at = || place.moment("lease_expires_at", place.some("lease_expires_at", lease_expires_at)?);
    let reason = || place.some("reason", reason);
    Ok(match name {
        StateName::AwaitingApproval => State::AwaitingApproval,
        StateName::Rejected => State::Rejected {
            reason: reason()?,
            dropped_at: dropped_at.map(|at| place.moment("dropped_at", at)).transpose()?,
        },
        StateName::Acquired => State::Acquired { lease_expires_at: lease_expires_at()? },
        StateName::Sending => State::Sending { since: since()?, lease_expires_at: lease_expires_at()? },
        StateName::Released => State::Released { since: since()? },
        StateName::Failed => State::Failed { since: since()?, reason: reason()? },
        StateName::Unknown => State::Unknown { since: since()?, reason: reason()? },
        StateName::Confirmed => State::Confirmed {
            since: since()?,
            destination_reference: place.some("destination_reference", destination_reference)?,
        },
        StateName::Disputed => State::Disputed { since: since()?, reason: reason()?, destination_reference },
    })
}
