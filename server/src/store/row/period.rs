//! Periods, and what lies in them.

use guard::id::{OperationId, PeriodId};
use guard::money::Money;
use guard::period::{Day, Period, PeriodRow};
use guard::refusal::StoreFault;
use guard::state::StateName;
use uuid::Uuid;

use super::{Place, json_text, uuid};

/// A row of `period`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ClosedPeriodRow {
    pub id: Uuid,
    pub company: String,
    pub from_day: String,
    pub to_day: String,
    pub standing: String,
    pub period: String,
}

impl ClosedPeriodRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, company, from_day, to_day, standing, period";
}

impl From<&Period> for ClosedPeriodRow {
    fn from(period: &Period) -> Self {
        Self {
            id: uuid(period.id.as_u128()),
            company: period.company().to_owned(),
            from_day: period.span().from.to_string(),
            to_day: period.span().to.to_string(),
            standing: period.standing.as_str().to_owned(),
            period: json_text(period),
        }
    }
}

impl TryFrom<ClosedPeriodRow> for Period {
    type Error = StoreFault;

    fn try_from(row: ClosedPeriodRow) -> Result<Self, StoreFault> {
        let place = Place::new("period", &row.id);
        let period: Self = place.json("period", &row.period)?;
        let is_its_own = ClosedPeriodRow { period: row.period.clone(), ..ClosedPeriodRow::from(&period) } == row;
        place.some("standing", is_its_own.then_some(period))
    }
}

/// What is read of an operation for a certificate.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migrations")]
pub struct PeriodOperationRow {
    pub id: Uuid,
    pub workflow: String,
    pub source_system: String,
    pub action: String,
    pub state: String,
    pub amount: Option<String>,
    pub currency: Option<String>,
    pub is_superseded: bool,
    pub is_reversal: bool,
    pub open_conflicts: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub day: Option<String>,
}

impl PeriodOperationRow {
    /// The columns of `operation`, in the order of the fields; behind them stands the day.
    pub const COLUMNS: &'static str = "operation.id, operation.workflow, operation.source_system, \
         operation.action, operation.state, operation.amount, operation.currency, operation.superseded_by IS NOT NULL AS is_superseded, \
         (operation.action LIKE 'reverse%' AND EXISTS (SELECT 1 FROM amendment \
         WHERE amendment.operation = operation.id AND amendment.correction = 'reverse')) AS is_reversal, operation.open_conflicts, \
         operation.created_at, operation.updated_at";
}

impl TryFrom<PeriodOperationRow> for PeriodRow {
    type Error = StoreFault;

    fn try_from(row: PeriodOperationRow) -> Result<Self, StoreFault> {
        let place = Place::new("operation", &row.id);
        let money = match row.amount.zip(row.currency) {
            Some((amount, currency)) => Some(Money { amount: place.read("amount", amount.parse())?, currency }),
            None => None,
        };
        let day: Day = match &row.day {
            Some(day) => place.read("day", day.parse())?,
            None => place.moment("created_at", row.created_at)?.date_naive(),
        };
        Ok(Self {
            operation: OperationId::from_u128(row.id.as_u128()),
            state: place.some("state", StateName::parse(&row.state))?,
            money,
            is_superseded: row.is_superseded,
            is_reversal: row.is_reversal,
            in_conflict: row.open_conflicts > 0,
            updated_at: place.moment("updated_at", row.updated_at)?,
            day,
            workflow: row.workflow,
            source_system: row.source_system,
            action: row.action,
        })
    }
}

/// A row of `dated`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct DayRow {
    pub operation: Uuid,
    pub day: String,
}

impl TryFrom<DayRow> for (OperationId, Day) {
    type Error = StoreFault;

    fn try_from(row: DayRow) -> Result<Self, StoreFault> {
        let day = Place::new("dated", &row.operation).read("day", row.day.parse())?;
        Ok((OperationId::from_u128(row.operation.as_u128()), day))
    }
}

/// The id of a period as a column holds it.
pub const fn period_uuid(id: PeriodId) -> Uuid {
    uuid(id.as_u128())
}
