//! Rows of review: what people have done about uncertain operations.

use guard::id::OperationId;
use guard::incident::Unsettled;
use guard::refusal::StoreFault;
use guard::review::{Claim, Deferral, Review};
use uuid::Uuid;

use super::operation::stake;
use super::{Place, json_text, uuid};

/// A row of `review`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ReviewRow {
    pub operation: Uuid,
    pub claimed_by: Option<String>,
    pub claimed_at: Option<i64>,
    pub claimed_until: Option<i64>,
    pub waits_by: Option<String>,
    pub waits_since: Option<i64>,
    pub waits_until: Option<i64>,
    pub waits_reason: Option<String>,
    pub proposal: Option<String>,
}

impl ReviewRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str =
        "operation, claimed_by, claimed_at, claimed_until, waits_by, waits_since, waits_until, waits_reason, proposal";
}

/// What incidents are made of: columns of `operation`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct UnsettledRow {
    pub id: Uuid,
    pub workflow: String,
    pub company: String,
    pub state_since: Option<i64>,
    pub reason: Option<String>,
    pub currency: Option<String>,
    pub ten_thousandths: Option<i64>,
}

impl UnsettledRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, workflow, company, state_since, reason, currency, ten_thousandths";
}

impl TryFrom<UnsettledRow> for Unsettled {
    type Error = StoreFault;

    fn try_from(row: UnsettledRow) -> Result<Self, StoreFault> {
        let UnsettledRow { id, workflow, company, state_since, reason, currency, ten_thousandths } = row;
        let place = Place::new("operation", &id);
        let since = place.moment("state_since", place.some("state_since", state_since)?)?;
        let reason = place.some("reason", reason)?;
        let money = stake(currency, ten_thousandths);
        Ok(Self { id: OperationId::from_u128(id.as_u128()), workflow, company, since, reason, money })
    }
}

impl From<&Review> for ReviewRow {
    fn from(review: &Review) -> Self {
        let Review { operation, claim, deferral, proposal } = review;
        let (claim, deferral) = (claim.as_ref(), deferral.as_ref());
        Self {
            operation: uuid(operation.as_u128()),
            claimed_by: claim.map(|claim| claim.by.clone()),
            claimed_at: claim.map(|claim| claim.at.timestamp_millis()),
            claimed_until: claim.map(|claim| claim.until.timestamp_millis()),
            waits_by: deferral.map(|deferral| deferral.by.clone()),
            waits_since: deferral.map(|deferral| deferral.at.timestamp_millis()),
            waits_until: deferral.map(|deferral| deferral.until.timestamp_millis()),
            waits_reason: deferral.map(|deferral| deferral.reason.clone()),
            proposal: proposal.as_ref().map(json_text),
        }
    }
}

impl TryFrom<ReviewRow> for Review {
    type Error = StoreFault;

    fn try_from(row: ReviewRow) -> Result<Self, StoreFault> {
        let place = Place::new("review", &row.operation);
        let claim = match (&row.claimed_by, row.claimed_at, row.claimed_until) {
            (Some(by), Some(at), Some(until)) => Some(Claim {
                by: by.clone(),
                at: place.moment("claimed_at", at)?,
                until: place.moment("claimed_until", until)?,
            }),
            (None, None, None) => None,
            (Some(_) | None, Some(_) | None, Some(_) | None) => return Err(place.corrupt("claimed_by")),
        };
        let deferral = match (&row.waits_by, row.waits_since, row.waits_until, &row.waits_reason) {
            (Some(by), Some(at), Some(until), Some(reason)) => Some(Deferral {
                by: by.clone(),
                at: place.moment("waits_since", at)?,
                until: place.moment("waits_until", until)?,
                reason: reason.clone(),
            }),
            (None, None, None, None) => None,
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => return Err(place.corrupt("waits_by")),
        };
        let proposal = row.proposal.as_deref().map(|text| place.json("proposal", text)).transpose()?;
        Ok(Self { operation: OperationId::from_u128(row.operation.as_u128()), claim, deferral, proposal })
    }
}
