//! Pages of operations in the order of their ids: the walk of [`crate::store::walk`], step by step.

use guard::id::OperationId;
use guard::operation::Operation;
use guard::queue::Page;
use guard::refusal::StoreFault;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _};

use super::{fault, work};
use crate::store::row::{Place, json_text};
use crate::store::walk::{
    ARMS_MAX, FACETS_SEEN_MAX, Facet, Facets, Found, Ids, PEEKED_ROWS, Plan, Route, Span, Test, WALKED_MAX, Walk,
    cursor_behind,
};

/// Behind every key part: those have at most 200 characters.
const BEHIND_EVERY_NAME: char = char::MAX;

/// More characters than a key part may have.
const NAME_CHARACTERS_OVER: usize = 201;

/// The next combination of company, workflow, source system and action behind one. With the whole key of the index it is one search: told
/// its first columns alone, SQLite looks at every row that has the same ones before it comes to the next.
const NEXT_FACET: &str = "SELECT company, workflow, source_system, action FROM operation INDEXED BY operation_by_facet \
     WHERE (company, workflow, source_system, action, id) > (?1, ?2, ?3, ?4, x'ffffffffffffffffffffffffffffffff') \
     ORDER BY company, workflow, source_system, action, id LIMIT 1";

/// One page.
pub(super) fn page(connection: &Connection, walk: &Walk) -> Result<Page<Operation>, StoreFault> {
    let Ids { rows, next } = ids(connection, walk)?;
    let read = |id: u128| {
        let found = work::operation(connection, OperationId::from_u128(id))?;
        // Operations are never taken out.
        found.ok_or_else(|| Place::new("operation", &id).corrupt("id"))
    };
    let rows = rows.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { rows, next: next.map(cursor_behind) })
}

fn ids(connection: &Connection, walk: &Walk) -> Result<Ids, StoreFault> {
    let span = &walk.span;
    let look = |routes: &[Route], walked_max: u32| {
        let mut found = Found::default();
        for route in routes {
            look_through(connection, route, span, walked_max, &mut found)?;
        }
        Ok::<_, StoreFault>(found)
    };
    match &walk.plan {
        Plan::Routes(routes) => Ok(look(routes, WALKED_MAX)?.page(span)),
        Plan::ByFacet { facets, states, tests, otherwise } => {
            let peeked = look(std::slice::from_ref(otherwise), PEEKED_ROWS)?;
            if peeked.suffices(span) {
                return Ok(peeked.page(span));
            }
            let arms_each = states.as_ref().map_or(1, std::collections::BTreeSet::len);
            let route = match facets_like(connection, facets, ARMS_MAX / arms_each)? {
                Some(found) => Route::over(found, states.as_ref(), tests.clone()),
                None => otherwise.clone(),
            };
            Ok(look(&[route], WALKED_MAX)?.page(span))
        }
    }
}

/// The combinations that fit; none where they, or those that had to be leapt over, are too many.
fn facets_like(connection: &Connection, wanted: &Facets, max: usize) -> Result<Option<Vec<Facet>>, StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let mut statement = connection.prepare_cached(NEXT_FACET).map_err(failed)?;
    let behind_all = || BEHIND_EVERY_NAME.to_string().repeat(NAME_CHARACTERS_OVER);
    let mut behind: Facet = std::array::from_fn(|_| String::new());
    let mut found = Vec::new();
    for _ in 0..FACETS_SEEN_MAX {
        let next = statement
            .query_row(rusqlite::params_from_iter(&behind), |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
            })
            .optional()
            .map_err(failed)?;
        let Some(facet): Option<Facet> = next else { return Ok(Some(found)) };
        if wanted.hold(&facet) {
            if found.len() == max {
                return Ok(None);
            }
            found.push(facet.clone());
            behind = facet;
            continue;
        }
        // To the next name that is wanted in the first column that is not like that, or behind all that start like this one.
        let unlike = wanted
            .0
            .iter()
            .zip(&facet)
            .position(|(names, name)| names.as_ref().is_some_and(|names| !names.contains(name)));
        let Some((place, names)) = unlike.and_then(|place| Some((place, wanted.0[place].as_ref()?))) else {
            behind = facet;
            continue;
        };
        let mut leap = facet;
        let next =
            names.range::<String, _>((std::ops::Bound::Excluded(&leap[place]), std::ops::Bound::Unbounded)).next();
        leap[place] = next.cloned().unwrap_or_else(behind_all);
        for name in leap.iter_mut().skip(place + 1) {
            name.clear();
        }
        behind = leap;
    }
    Ok(None)
}

/// The statement that looks through one arm of a route, and the values behind those of the arm.
fn statement(route: &Route, span: &Span, walked_max: u32) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut place = |value: Value| {
        values.push(value);
        format!("?{}", route.columns.len() + values.len())
    };
    let mut conditions: Vec<String> =
        route.columns.iter().enumerate().map(|(index, column)| format!("{column} = ?{}", index + 1)).collect();
    conditions.extend(route.part.map(ToOwned::to_owned));
    conditions.push(format!("id >= {}", place(Value::Blob(span.first.to_be_bytes().to_vec()))));
    conditions.push(format!("id < {}", place(Value::Blob(span.end.to_be_bytes().to_vec()))));
    let limit = place(Value::Integer(route.rows_of_each(span, walked_max).into()));
    let tests: Vec<String> = route
        .tests
        .iter()
        .map(|test| match test {
            Test::Among { column, names } => {
                format!("{column} IN (SELECT value FROM json_each({}))", place(Value::Text(json_text(names))))
            }
            Test::States(states) => {
                let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
                format!("state IN ({})", names.join(", "))
            }
            Test::InConflict => "open_conflicts > 0".to_owned(),
            Test::StakeFrom(stake) => format!("ifnull(ten_thousandths >= {}, 0)", place(Value::Integer(*stake))),
            Test::StakeTo(stake) => format!("ifnull(ten_thousandths <= {}, 0)", place(Value::Integer(*stake))),
        })
        .collect();
    let fits = if tests.is_empty() { "1".to_owned() } else { tests.join(" AND ") };
    let index = route.index.map(|index| format!(" INDEXED BY {index}")).unwrap_or_default();
    let direction = if span.newest_first { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT id, {fits} FROM operation{index} WHERE {} ORDER BY id {direction} LIMIT {limit}",
        conditions.join(" AND ")
    );
    (sql, values)
}

/// Looks through every arm of a route, up to its bound or until a page is full.
fn look_through(
    connection: &Connection,
    route: &Route,
    span: &Span,
    walked_max: u32,
    found: &mut Found,
) -> Result<(), StoreFault> {
    let failed = |error: rusqlite::Error| fault::of(&error, "operation", &"?");
    let (sql, values) = statement(route, span, walked_max);
    let rows_of_each = route.rows_of_each(span, walked_max);
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    for arm in &route.arms {
        let names = arm.iter().map(|name| Value::Text(name.clone()));
        let mut rows =
            statement.query(rusqlite::params_from_iter(names.chain(values.iter().cloned()))).map_err(failed)?;
        let (mut walked, mut fitting) = (0, 0);
        while let Some(row) = rows.next().map_err(failed)? {
            let (id, fits): ([u8; 16], bool) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
            let id = u128::from_be_bytes(id);
            walked += 1;
            if fits {
                found.fitting.push(id);
                fitting += 1;
            }
            if walked == rows_of_each || fitting > span.limit {
                found.stops.push(id);
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use guard::queue::{Cursor, Order, PageRequest};
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
                    looked_at.extend(routes.iter().map(|route| (statement(route, &walk.span, 9).0, route.index)));
                }
            }
        }
        for (sql, index) in &looked_at {
            let plan = plan(&connection, sql);
            let uses = index.map_or("USING PRIMARY KEY (id>? AND id<?)".to_owned(), |index| format!("INDEX {index} ("));
            assert!(plan.iter().any(|step| step.contains(&uses)), "{plan:#?}\n{sql}");
            assert!(index.is_none_or(|_| plan.iter().any(|step| step.contains("id>? AND id<?"))), "{plan:#?}\n{sql}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}\n{sql}");
        }
        assert!(looked_at.len() > 500, "{} different statements", looked_at.len());
        let leap = plan(&connection, NEXT_FACET);
        assert!(
            leap[0].contains("COVERING INDEX operation_by_facet ((company,workflow,source_system,action,id)>("),
            "{leap:#?}"
        );
    }
}
