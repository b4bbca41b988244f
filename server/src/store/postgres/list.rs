//! Lists and sums: pages of operations, counts, what waits.
//!
//! A page is read behind a key and never counted or skipped. Names of states stand in the text of a statement, since an index that
//! holds only some states is chosen by them.

use guard::clock::Timestamp;
use guard::operation::Operation;
use guard::queue::{Cursor, Filter, Page, PageRequest, Sought};
use guard::refusal::StoreFault;
use guard::state::StateName;
use guard::summary::Waiting;
use guard::token::Reach;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::store::behind::{UPPER_HALF, whole};
use crate::store::few_companies;
use crate::store::row::{OperationRow, Place};

/// A page of what is uncertain as one statement; none where nothing can be on it.
pub(super) fn uncertain(reach: &Reach, filter: &Filter, page: &PageRequest) -> Option<QueryBuilder<'static, Postgres>> {
    let wanted = |state: &StateName| filter.states.is_empty() || filter.states.contains(state);
    let states: Vec<StateName> = [StateName::Unknown, StateName::Disputed].into_iter().filter(wanted).collect();
    if states.is_empty() {
        return None;
    }
    let mut query = QueryBuilder::new("");
    push_selection(&mut query, reach, filter);
    query.push(" AND state IN ('unknown', 'disputed')");
    if let [state] = states.as_slice() {
        query.push(format!(" AND state = '{}'", state.as_str()));
    }
    if let Some((since, id)) = page.cursor.as_ref().and_then(Cursor::read) {
        query.push(" AND (state_since, id) > (").push_bind(since).push(", ").push_bind(Uuid::from_u128(id)).push(")");
    }
    query.push(" ORDER BY state_since, id LIMIT ").push_bind(i64::from(page.limit) + 1);
    Some(query)
}

fn push_selection(query: &mut QueryBuilder<'static, Postgres>, reach: &Reach, filter: &Filter) {
    query.push("SELECT ").push(OperationRow::COLUMNS).push(" FROM operation WHERE true");
    push_reach(query, reach, "operation");
    let equal = [
        (" AND workflow = ", &filter.workflow),
        (" AND company = ", &filter.company),
        (" AND source_system = ", &filter.source_system),
        (" AND document = ", &filter.document),
        (" AND action = ", &filter.action),
        (" AND worker = ", &filter.worker),
    ];
    for (condition, value) in equal {
        if let Some(value) = value {
            query.push(condition).push_bind(value.clone());
        }
    }
    if filter.with_open_conflicts {
        query.push(" AND open_conflicts > 0");
    }
    if let Some(stake) = filter.stake_from {
        query.push(" AND ten_thousandths >= ").push_bind(stake);
    }
    if let Some(stake) = filter.stake_to {
        query.push(" AND ten_thousandths <= ").push_bind(stake);
    }
    match &filter.sought {
        Some(Sought::Operation(id)) => {
            query.push(" AND id = ").push_bind(Uuid::from_u128(id.as_u128()));
        }
        Some(Sought::Named(name)) => {
            query.push(" AND (document = ").push_bind(name.clone());
            query.push(" OR destination_reference = ").push_bind(name.clone()).push(")");
        }
        None => {}
    }
    // An id starts with the millisecond of its creation, so that the index by id bounds a span of time too.
    if let Some(from) = filter.from {
        query.push(" AND created_at >= ").push_bind(from.timestamp_millis());
        query.push(" AND id >= ").push_bind(first_id(from));
    }
    if let Some(to) = filter.to {
        query.push(" AND created_at < ").push_bind(to.timestamp_millis());
        query.push(" AND id < ").push_bind(first_id(to));
    }
}

/// The least id that an operation of this moment can have.
fn first_id(moment: Timestamp) -> Uuid {
    let milliseconds = u128::from(moment.timestamp_millis().max(0).unsigned_abs()) & 0xFFFF_FFFF_FFFF;
    Uuid::from_u128(milliseconds << 80)
}

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

/// The page that the rows make: one row more than asked for says that there is a next one.
pub(super) fn page(rows: Vec<OperationRow>, limit: u32) -> Result<Page<Operation>, StoreFault> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_next = rows.len() > limit;
    let rows = rows.into_iter().take(limit).map(Operation::try_from).collect::<Result<Vec<_>, _>>()?;
    let next = rows.last().filter(|_| has_next).map(|last| Cursor::behind(since(last), last.id.as_u128()));
    Ok(Page { rows, next })
}

/// Since when an uncertain operation is so.
fn since(operation: &Operation) -> Timestamp {
    use guard::state::State;
    match &operation.state {
        State::Unknown { since, .. } | State::Disputed { since, .. } => *since,
        State::AwaitingApproval
        | State::Rejected { .. }
        | State::Acquired { .. }
        | State::Sending { .. }
        | State::Released { .. }
        | State::Failed { .. }
        | State::Confirmed { .. } => operation.created_at,
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

/// The first rows of a table within reach, at most so many. Where the reach names few companies, those of each are looked for by
/// themselves: among those of all they may be rare.
struct FirstRows {
    table: &'static str,
    columns: &'static str,
    condition: &'static str,
    order: &'static str,
    most: u32,
}

impl FirstRows {
    fn push(&self, query: &mut QueryBuilder<'static, Postgres>, reach: &Reach) {
        let Self { table, columns, condition, order, most } = self;
        let stretch = format!("SELECT {columns} FROM {table} WHERE {condition}");
        let end = format!(" ORDER BY {order} LIMIT ");
        let Some(companies) = few_companies(reach) else {
            query.push(stretch);
            push_reach(query, reach, table);
            query.push(end).push_bind(i64::from(*most));
            return;
        };
        let companies: Vec<String> = companies.iter().cloned().collect();
        query.push(format!("SELECT {columns} FROM unnest(")).push_bind(companies);
        query.push(format!("::text[]) AS reached (name) CROSS JOIN LATERAL ({stretch} AND company = reached.name"));
        let workflows = Reach { companies: None, workflows: reach.workflows.clone() };
        push_reach(query, &workflows, table);
        query.push(&end).push_bind(i64::from(*most)).push(") AS first_of").push(end).push_bind(i64::from(*most));
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
        condition: "state IN ('unknown', 'disputed')",
        order: "state_since, id",
        most,
    };
    first.push(&mut query, reach);
    query.push(") AS uncertain GROUP BY currency ORDER BY currency COLLATE \"C\"");
    query
}

/// How many conflicts are open within reach, as far as they are counted.
fn open_conflicts(reach: &Reach, most: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM (");
    FirstRows { table: "conflict", columns: "id", condition: "is_open", order: "id", most }.push(&mut query, reach);
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

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use guard::id::OperationId;

    use super::*;

    #[test]
    fn the_first_id_of_a_moment_is_before_every_id_of_it_and_behind_the_moment_before() {
        let moment = chrono::Utc.timestamp_millis_opt(1_700_000_000_123).unwrap();
        let before = moment - chrono::TimeDelta::milliseconds(1);
        let id = |moment, random| Uuid::from_u128(OperationId::new(moment, [random; 16]).as_u128());
        assert!(first_id(moment) <= id(moment, 0));
        assert!(first_id(moment) > id(before, 0xFF));
    }
}
