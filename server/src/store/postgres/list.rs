//! Sums: counts of hours, what waits, each counted up to a bound. Names of states stand in the text of a statement, since an index
//! that holds only some states is chosen by them.

use std::borrow::Cow;

use guard::clock::Timestamp;
use guard::refusal::StoreFault;
use guard::summary::Waiting;
use guard::token::Reach;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};

use super::stretch::FirstRows;
use crate::store::behind::{UPPER_HALF, whole};
use crate::store::row::{Place, UnsettledRow};

pub(super) fn push_reach(query: &mut QueryBuilder<'static, Postgres>, reach: &Reach, table: &str) {
    for (column, names) in [("company", &reach.companies), ("workflow", &reach.workflows)] {
        let Some(names) = names else { continue };
        query.push(format!(" AND {table}.{column} = "));
        match names.iter().collect::<Vec<_>>().as_slice() {
            [name] => query.push_bind((*name).clone()),
            names => {
                let names: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
                query.push("ANY(").push_bind(names).push(")")
            }
        };
    }
}

/// The counts of hours within reach, summed over the slots of writers.
pub(super) fn counts(reach: &Reach, from: Timestamp, to: Timestamp) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new(
        "SELECT workflow, company, counted, hour, currency, sum(number)::bigint AS number, \
         greatest(least(sum(ten_thousandths), 9223372036854775807), -9223372036854775807)::bigint AS ten_thousandths \
         FROM count WHERE hour >= ",
    );
    query.push_bind(from.timestamp_millis()).push(" AND hour < ").push_bind(to.timestamp_millis());
    push_reach(&mut query, reach, "count");
    query.push(
        " GROUP BY hour, workflow, company, counted, currency \
         ORDER BY hour, workflow COLLATE \"C\", company COLLATE \"C\", counted COLLATE \"C\", currency COLLATE \"C\"",
    );
    query
}

/// The sums of one currency, and how many there are of everything that is uncertain.
#[derive(FromRow)]
struct AtRisk {
    number: i64,
    oldest_since: Option<i64>,
    currency: Option<String>,
    upper: Option<i64>,
    lower: Option<i64>,
}

/// What is unknown, begun last.
pub(super) const fn unknown_last(most: u32) -> FirstRows {
    FirstRows {
        table: "operation",
        columns: UnsettledRow::COLUMNS,
        condition: Cow::Borrowed("state = 'unknown'"),
        order: "id DESC",
        has_workflows: false,
        most,
    }
}

/// The money in what is uncertain within reach, the oldest first, as far as it is counted.
fn uncertain_money(reach: &Reach, most: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new(format!(
        "SELECT count(*) AS number, min(state_since) AS oldest_since, currency, \
         sum(ten_thousandths / {UPPER_HALF})::bigint AS upper, sum(ten_thousandths % {UPPER_HALF})::bigint AS lower FROM (",
    ));
    let first = FirstRows {
        table: "operation",
        columns: "state_since, id, currency, ten_thousandths",
        condition: Cow::Borrowed("state IN ('unknown', 'disputed')"),
        order: "state_since, id",
        has_workflows: false,
        most,
    };
    first.push(&mut query, reach);
    query.push(") AS uncertain GROUP BY currency ORDER BY currency COLLATE \"C\"");
    query
}

/// How many conflicts are open within reach, as far as they are counted.
fn open_conflicts(reach: &Reach, most: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM (");
    FirstRows { most, ..super::conflict::listed(false) }.push(&mut query, reach);
    query.push(") AS open");
    query
}

/// What waits for a person within reach, up to a number of each.
pub(super) async fn waiting(
    connection: &mut PgConnection,
    reach: &Reach,
    most: u32,
) -> Result<Waiting, super::ReadError> {
    let rows: Vec<AtRisk> = uncertain_money(reach, most).build_query_as().fetch_all(&mut *connection).await?;
    let open: i64 = open_conflicts(reach, most).build_query_scalar().fetch_one(&mut *connection).await?;

    let place = Place::new("operation", &"uncertain");
    let mut waiting = Waiting { open_conflicts: place.number("is_open", open)?, ..Waiting::default() };
    let mut number = 0;
    let mut oldest = None::<i64>;
    for row in rows {
        number += row.number;
        oldest = oldest.into_iter().chain(row.oldest_since).min();
        if let (Some(upper), Some(lower), Some(currency)) = (row.upper, row.lower, row.currency) {
            waiting.at_risk.push(guard::money::Money::from_ten_thousandths(whole(upper, lower), currency));
        }
    }
    waiting.uncertain = place.number("state_since", number)?;
    waiting.oldest_since = oldest.map(|oldest| place.moment("state_since", oldest)).transpose()?;
    Ok(waiting)
}

/// Reads rows into what they mean.
pub(super) fn all<R, T>(rows: &[PgRow]) -> Result<Vec<T>, super::ReadError>
where
    R: for<'r> FromRow<'r, PgRow>,
    T: TryFrom<R, Error = StoreFault>,
{
    rows.iter().map(|row| Ok(T::try_from(R::from_row(row)?)?)).collect()
}
