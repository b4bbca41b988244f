//! Pages of operations in the order of their ids: the walk of [`crate::store::walk`], step by step.

use guard::id::OperationId;
use guard::operation::Operation;
use guard::queue::{Cursor, Page};
use guard::refusal::StoreFault;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _};

use super::{fault, work};
use crate::store::row::{Place, json_text};
use crate::store::walk::{
    ARMS_MAX, FACET_COLUMNS, FACETS_SEEN_MAX, Facet, Facets, Found, Ids, LEFT_BY_ID, Look, Plan, Route, Span, Test,
    Walk,
};

/// One page.
pub(super) fn page(connection: &Connection, walk: &Walk) -> Result<Page<Operation>, StoreFault> {
    let Ids { rows, next } = ids(connection, walk)?;
    let read = |id: u128| {
        let found = work::operation(connection, OperationId::from_u128(id))?;
        // Operations are never taken out.
        found.ok_or_else(|| Place::new("operation", &id).corrupt("id"))
    };
    let rows = rows.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { rows, next: next.map(Cursor::behind_id) })
}

fn ids(connection: &Connection, walk: &Walk) -> Result<Ids, StoreFault> {
    let span = &walk.span;
    let look = |routes: &[Route], look: Look| {
        let mut found = Found::default();
        for route in routes {
            look_through(connection, route, span, look, &mut found)?;
        }
        Ok::<_, StoreFault>(found)
    };
    let look_twice = |routes: &[Route]| {
        if routes.iter().any(|route| route.deserves_a_first_look(span)) {
            let found = look(routes, Look::First)?;
            if found.suffices(span) {
                return Ok(found.page(span));
            }
        }
        Ok(look(routes, Look::Whole)?.page(span))
    };
    match &walk.plan {
        Plan::Routes(routes) => look_twice(routes),
        Plan::ByFacet { facets, states, tests, otherwise } => {
            let peeked = look(std::slice::from_ref(otherwise), Plan::peek(states.as_ref()))?;
            if peeked.suffices(span) {
                return Ok(peeked.page(span));
            }
            let arms_each = states.as_ref().map_or(1, std::collections::BTreeSet::len);
            let route = match facets_like(connection, facets, ARMS_MAX / arms_each)? {
                Some(found) => Route::over(found, states.as_ref(), tests.clone()),
                None => otherwise.clone(),
            };
            look_twice(&[route])
        }
    }
}

/// The combinations that fit; none where they are more than `max`, or all are too many.
fn facets_like(connection: &Connection, wanted: &Facets, max: usize) -> Result<Option<Vec<Facet>>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "facet", &"?");
    let is_much = format!("SELECT 1 FROM facet LIMIT 1 OFFSET {FACETS_SEEN_MAX}");
    let is_much = connection.prepare_cached(&is_much).and_then(|mut statement| statement.exists([])).map_err(failed)?;
    if is_much {
        return Ok(None);
    }
    let (sql, names) = facets(wanted);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let most = Value::Integer(i64::try_from(max).unwrap_or(i64::MAX).saturating_add(1));
    let found = statement.query_map(rusqlite::params_from_iter(names.into_iter().chain([most])), |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
    });
    let found: Vec<Facet> = found.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    Ok((found.len() <= max).then_some(found))
}

/// The statement that finds combinations, and the names that it is asked with; behind them comes how many there may be.
fn facets(wanted: &Facets) -> (String, Vec<Value>) {
    let mut names = Vec::new();
    let mut sql = format!("SELECT {} FROM facet WHERE 1", FACET_COLUMNS.join(", "));
    for (column, among) in wanted.asked() {
        names.push(Value::Text(json_text(among)));
        sql.push_str(&format!(" AND {column} IN (SELECT value FROM json_each(?{}))", names.len()));
    }
    sql.push_str(&format!(" LIMIT ?{}", names.len() + 1));
    (sql, names)
}

/// The statements that look through one arm of a route. Their first values are the names of the arm, then come `span` and a number of
/// rows.
struct Statements {
    /// The last of so many rows, of which all but that one are to be skipped.
    last: String,
    /// So many rows that fit.
    fitting: String,
    /// The first id and the one behind the last.
    span: [Value; 2],
    /// What `fitting` is asked with behind the number of rows.
    tests: Vec<Value>,
}

/// The columns that an index holds beside those by which its stretches are found.
fn held(index: &str) -> &'static [&'static str] {
    match index {
        "operation_by_facet" | "operation_by_worker" => &["ten_thousandths", "worker"],
        "operation_left" | LEFT_BY_ID => {
            &["state", "company", "workflow", "source_system", "action", "ten_thousandths", "worker"]
        }
        "operation_in_conflict" => {
            &["state", "company", "workflow", "source_system", "action", "ten_thousandths", "worker", "open_conflicts"]
        }
        "operation_unfinished" => &["state"],
        _ => &[],
    }
}

impl Statements {
    fn of(route: &Route, span: &Span) -> Self {
        let arm = route.columns.len();
        let mut conditions: Vec<String> =
            route.columns.iter().enumerate().map(|(index, column)| format!("seen.{column} = ?{}", index + 1)).collect();
        conditions.extend(route.part.map(|part| format!("seen.{part}")));
        conditions.push(format!("seen.id >= ?{} AND seen.id < ?{}", arm + 1, arm + 2));
        let within = conditions.join(" AND ");
        let rows = arm + 3;
        let mut values = Vec::new();
        let mut place = |value: Value| {
            values.push(value);
            format!("?{}", rows + values.len())
        };
        // The plus keeps the planner from entering another index by what is asked here.
        let mut asked = |of: &str, tests: Vec<&Test>| {
            let asked = tests.into_iter().map(|test| {
                let column = format!("+{of}.{}", test.column());
                match test {
                    Test::Among { names, .. } => match names.first().filter(|_| names.len() == 1) {
                        Some(name) => format!(" AND {column} = {}", place(Value::Text(name.clone()))),
                        None => {
                            let names = place(Value::Text(json_text(names)));
                            format!(" AND {column} IN (SELECT value FROM json_each({names}))")
                        }
                    },
                    Test::States(states) => {
                        let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
                        format!(" AND {column} IN ({})", names.join(", "))
                    }
                    Test::InConflict => format!(" AND {column} > 0"),
                    Test::StakeFrom(stake) => format!(" AND {column} >= {}", place(Value::Integer(*stake))),
                    Test::StakeTo(stake) => format!(" AND {column} <= {}", place(Value::Integer(*stake))),
                }
            });
            asked.collect::<String>()
        };
        let (of_index, of_row) = route.tests_apart(route.index.map(held).unwrap_or_default());
        // A row that does not pass what its index tells is not read.
        let whole = if of_row.is_empty() { "" } else { " CROSS JOIN operation AS whole ON whole.id = seen.id" };
        let fits = asked("seen", of_index) + &asked("whole", of_row);
        let index = route.index.map(|index| format!(" INDEXED BY {index}")).unwrap_or_default();
        let direction = if span.newest_first { "DESC" } else { "ASC" };
        let from = format!("SELECT seen.id FROM operation AS seen{index}");
        Self {
            last: format!("{from} WHERE {within} ORDER BY seen.id {direction} LIMIT 1 OFFSET ?{rows}"),
            fitting: format!("{from}{whole} WHERE {within}{fits} ORDER BY seen.id {direction} LIMIT ?{rows}"),
            span: [span.first, span.end].map(|id| Value::Blob(id.to_be_bytes().to_vec())),
            tests: values,
        }
    }
}

/// Looks through every arm of a route, up to its bound or until a page is full. A row that does not fit never leaves the database: that
/// costs ten times what looking at it does.
fn look_through(
    connection: &Connection,
    route: &Route,
    span: &Span,
    look: Look,
    found: &mut Found,
) -> Result<(), StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let statements = Statements::of(route, span);
    let (rows_of_each, most) = (route.rows_of_each(span, look), route.rows_that_fit(span, look));
    let mut last = connection.prepare_cached(&statements.last).map_err(failed)?;
    let mut fitting = connection.prepare_cached(&statements.fitting).map_err(failed)?;
    for arm in &route.arms {
        let names = || arm.iter().map(|name| Value::Text(name.clone()));
        let [first, end] = statements.span.clone();
        let (mut within, mut stop) = ([first, end], None);
        if !route.tests.is_empty() {
            let skipped = Value::Integer(rows_of_each.saturating_sub(1).into());
            let values = names().chain(within.clone()).chain([skipped]);
            let row = last.query_row(rusqlite::params_from_iter(values), |row| row.get::<_, [u8; 16]>(0));
            stop = row.optional().map_err(failed)?.map(u128::from_be_bytes);
            if let Some(stop) = stop {
                let blob = |id: u128| Value::Blob(id.to_be_bytes().to_vec());
                if span.newest_first { within[0] = blob(stop) } else { within[1] = blob(stop.saturating_add(1)) }
            }
        }
        let limit = Value::Integer(i64::try_from(most).unwrap_or(i64::MAX));
        let values = names().chain(within).chain([limit]).chain(statements.tests.iter().cloned());
        let rows = fitting.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, [u8; 16]>(0));
        let rows: Vec<[u8; 16]> = rows.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
        let is_full = rows.len() == most;
        found.fitting.extend(rows.iter().copied().map(u128::from_be_bytes));
        // Behind a full page nothing was looked at.
        found.stops.extend(rows.last().copied().map(u128::from_be_bytes).filter(|_| is_full).or(stop));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use guard::queue::{Cursor, Filter, Order, PageRequest};
    use guard::token::Reach;

    use super::*;
    use crate::store::walk::tests::every_filter;

    fn schema() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in super::super::MIGRATIONS.iter() {
            connection.execute_batch(&migration.sql).unwrap();
        }
        connection
    }

    fn plan(connection: &Connection, sql: &str) -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let places = statement.parameter_count();
        let rows =
            statement.query_map(rusqlite::params_from_iter(vec![Value::Null; places]), |row| row.get(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_list_is_read_in_the_order_of_an_index() {
        let connection = schema();
        let names = |number: usize| (0..number).map(|index| format!("name {index}")).collect::<Vec<_>>();
        let reaches = [Reach::EVERYTHING, Reach::over(names(1), []), Reach::over(names(3), names(2))];
        let cursor = Some(Cursor::behind(chrono::DateTime::UNIX_EPOCH, 7 << 80));
        let mut looked_at = std::collections::BTreeSet::new();
        for reach in &reaches {
            for filter in every_filter() {
                for order in [Order::Newest, Order::Oldest] {
                    let page = PageRequest { cursor: cursor.clone(), limit: 50 };
                    // A company outside of reach: nothing is asked.
                    let Some(walk) = Walk::of(reach, &filter, order, &page) else { continue };
                    let routes = match walk.plan {
                        Plan::Routes(routes) => routes,
                        Plan::ByFacet { states, tests, otherwise, .. } => {
                            let facet: Facet = std::array::from_fn(|_| "x".to_owned());
                            vec![otherwise, Route::over(vec![facet], states.as_ref(), tests)]
                        }
                    };
                    for route in &routes {
                        let Statements { last, fitting, .. } = Statements::of(route, &walk.span);
                        let held = route.index.map(held).unwrap_or_default();
                        let are_in_row = !route.tests.iter().any(|test| held.contains(&test.column()));
                        let reads_rows = are_in_row && !route.tests.is_empty();
                        looked_at.extend([(last, route.index, false), (fitting, route.index, reads_rows)]);
                    }
                }
            }
        }
        for (sql, index, reads_rows) in &looked_at {
            let plan = plan(&connection, sql);
            let uses = match index {
                None => "SEARCH seen USING PRIMARY KEY (id>? AND id<?)".to_owned(),
                Some(index) if *reads_rows => format!("SEARCH seen USING INDEX {index} ("),
                // What does not pass in the index is not read.
                Some(index) => format!("SEARCH seen USING COVERING INDEX {index} ("),
            };
            assert!(plan.iter().any(|step| step.contains(&uses)), "{plan:#?}\n{sql}");
            assert!(index.is_none_or(|_| plan.iter().any(|step| step.contains("id>? AND id<?"))), "{plan:#?}\n{sql}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}\n{sql}");
        }
        assert!(looked_at.len() > 500, "{} different statements", looked_at.len());
        let company = Filter { company: Some("x".to_owned()), ..Filter::default() };
        let page = PageRequest { cursor: None, limit: 50 };
        let walk = Walk::of(&Reach::EVERYTHING, &company, Order::Newest, &page).unwrap();
        let Plan::ByFacet { facets: wanted, .. } = walk.plan else { panic!() };
        let plan = plan(&connection, &facets(&wanted).0);
        assert!(plan[0].contains("USING PRIMARY KEY (company=?)"), "{plan:#?}");
    }
}
