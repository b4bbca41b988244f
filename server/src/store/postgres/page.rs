//! Pages of operations in the order of their ids: the walk of [`crate::store::walk`], a whole look in one statement.

use std::collections::HashMap;

use guard::operation::Operation;
use guard::queue::{Cursor, Page};
use guard::refusal::StoreFault;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::ReadError;
use crate::store::row::{OperationRow, Place};
use crate::store::walk::{
    ARMS_MAX, FACET_COLUMNS, FACETS_SEEN_MAX, Facet, Facets, Found, Ids, LEFT_BY_ID, Look, Plan, Route, Span, Test,
    UNFINISHED, Walk,
};

/// One page.
pub(super) async fn page(connection: &mut PgConnection, walk: &Walk) -> Result<Page<Operation>, ReadError> {
    let Ids { rows, next } = ids(connection, walk).await?;
    if rows.is_empty() {
        // A list of none implies whatever a partial index asks, and may be looked for in all of its rows.
        return Ok(Page { rows: Vec::new(), next: next.map(Cursor::behind_id) });
    }
    let wanted: Vec<Uuid> = rows.iter().copied().map(Uuid::from_u128).collect();
    let sql = format!("SELECT {} FROM operation WHERE id = ANY($1)", OperationRow::COLUMNS);
    let found: Vec<OperationRow> = sqlx::query_as(&sql).bind(wanted).fetch_all(connection).await?;
    let found = found.into_iter().map(|row| Ok((row.id.as_u128(), Operation::try_from(row)?)));
    let mut found = found.collect::<Result<HashMap<u128, Operation>, StoreFault>>()?;
    // Operations are never taken out.
    let read = |id: u128| found.remove(&id).ok_or_else(|| Place::new("operation", &id).corrupt("id"));
    let rows = rows.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { rows, next: next.map(Cursor::behind_id) })
}

async fn ids(connection: &mut PgConnection, walk: &Walk) -> Result<Ids, ReadError> {
    let span = &walk.span;
    match &walk.plan {
        Plan::Routes(routes) => look_twice(connection, routes, span).await,
        Plan::ByFacet { facets, states, tests, otherwise } => {
            let peeked = look(connection, std::slice::from_ref(otherwise), span, Plan::peek(states.as_ref())).await?;
            if peeked.suffices(span) {
                return Ok(peeked.page(span));
            }
            let arms_each = states.as_ref().map_or(1, std::collections::BTreeSet::len);
            let route = match facets_like(connection, facets, ARMS_MAX / arms_each).await? {
                Some(found) => Route::over(found, states.as_ref(), tests.clone()),
                None => otherwise.clone(),
            };
            look_twice(connection, &[route], span).await
        }
    }
}

/// Looks a little way first, since a statement cannot stop by itself when the page is full.
async fn look_twice(connection: &mut PgConnection, routes: &[Route], span: &Span) -> Result<Ids, ReadError> {
    if routes.iter().any(|route| route.deserves_a_first_look(span)) {
        let found = look(connection, routes, span, Look::First).await?;
        if found.suffices(span) {
            return Ok(found.page(span));
        }
    }
    Ok(look(connection, routes, span, Look::Whole).await?.page(span))
}

async fn look(connection: &mut PgConnection, routes: &[Route], span: &Span, look: Look) -> Result<Found, ReadError> {
    let mut found = Found::default();
    for route in routes.iter().filter(|route| !route.arms.is_empty()) {
        let most = route.rows_that_fit(span, look);
        let rows: Vec<(i64, Option<Uuid>, Option<Uuid>)> =
            statement(route, span, look).build_query_as().fetch_all(&mut *connection).await?;
        // Rows of one arm come together, in the list's order.
        for of_arm in rows.chunk_by(|one, other| one.0 == other.0) {
            let fitting = of_arm.iter().filter_map(|(_, _, id)| id.map(|id| id.as_u128()));
            let before = found.fitting.len();
            found.fitting.extend(fitting);
            let is_full = found.fitting.len() - before == most;
            let stop = of_arm.first().and_then(|(_, stop, _)| stop.map(|stop| stop.as_u128()));
            // Behind a full page nothing was looked at.
            found.stops.extend(found.fitting.last().copied().filter(|_| is_full).or(stop));
        }
    }
    Ok(found)
}

/// The columns of a route's index before the id, as it holds them, and what an arm says of each, by the names of the arm.
fn stretch(route: &Route) -> Vec<(&'static str, String)> {
    // A combination of names is one column: a stretch of this index ends where its first column changes.
    let facet = |from: usize| {
        let names: Vec<String> = (from..from + FACET_COLUMNS.len()).map(|place| format!("name{place}")).collect();
        ("facet", format!("facet_of({})", names.join(", ")))
    };
    match route.index {
        Some("operation_by_facet") => vec![facet(0)],
        Some("operation_left") => vec![facet(1), ("state", "name0".to_owned())],
        Some("operation_in_conflict") => vec![("(open_conflicts > 0)", "true".to_owned())],
        Some(_) | None => {
            route.columns.iter().enumerate().map(|(place, column)| (*column, format!("name{place}"))).collect()
        }
    }
}

/// The statement that looks through every arm of a route: the number of the arm, where looking at it ended, and a row that fits.
fn statement(route: &Route, span: &Span, look: Look) -> QueryBuilder<'static, Postgres> {
    let stretch = stretch(route);
    let mut query = QueryBuilder::new("SELECT arm.place, stop.id, fitting.id FROM (SELECT place");
    for (number, (_, of_arm)) in stretch.iter().enumerate() {
        query.push(format!(", {of_arm} AS of{number}"));
    }
    query.push(" FROM ");
    let mut names = Vec::new();
    for place in 0..route.columns.len() {
        let of_arms: Vec<String> = route.arms.iter().filter_map(|arm| arm.get(place).cloned()).collect();
        query.push(if place == 0 { "unnest(" } else { ", " }).push_bind(of_arms).push("::text[]");
        names.push(format!("name{place}, "));
    }
    // One arm without names is everything. What is said of an arm is computed once.
    let one = if names.is_empty() { "(VALUES (1::bigint))" } else { ") WITH ORDINALITY" };
    query.push(format!("{one} AS named ({}place) OFFSET 0) AS arm", names.concat()));

    // The order of the whole index, and its first column as one of a list of one: a stretch of this index and no other answers that. Asked
    // for a name and the order of ids, the planner may take the order of all instead, and read it to its end for a name that is rare. A row
    // compared with its bounds would be answered by this index too, but be read on behind them, to where the first column changes.
    let direction = if span.newest_first { "DESC" } else { "ASC" };
    let columns = stretch.iter().map(|(column, _)| *column).chain(["id"]);
    let order: Vec<String> = columns.map(|column| format!("{column} {direction}")).collect();
    let order = order.join(", ");
    let said = stretch.iter().enumerate().map(|(number, (column, _))| match number {
        0 => format!("{column} = ANY(ARRAY[arm.of0]) AND "),
        number => format!("{column} = arm.of{number} AND "),
    });
    let said: String = said.collect();
    // In the order of ids, this database has one index for all that is not confirmed.
    let part = if route.index == Some(LEFT_BY_ID) { Some(UNFINISHED) } else { route.part };
    let part = part.map(|part| format!(" AND {part}")).unwrap_or_default();
    let (first, last) = (Uuid::from_u128(span.first), Uuid::from_u128(span.end.saturating_sub(1)));

    let from = |query: &mut QueryBuilder<'static, Postgres>, wanted: &str| {
        query.push(format!("SELECT {wanted} FROM operation WHERE {said}id >= ")).push_bind(first);
        query.push(" AND id <= ").push_bind(last).push(format!("{part} ORDER BY {order} LIMIT "));
    };
    let seen = i64::from(route.rows_of_each(span, look));
    let most = i64::try_from(route.rows_that_fit(span, look)).unwrap_or(i64::MAX);

    query.push(" LEFT JOIN LATERAL (");
    if route.tests.is_empty() {
        query.push("SELECT NULL::uuid AS id) AS stop ON true LEFT JOIN LATERAL (");
        from(&mut query, "id");
        query.push_bind(most).push(") AS fitting ON true");
        return query;
    }
    from(&mut query, "id");
    query.push("1 OFFSET ").push_bind(seen - 1).push(") AS stop ON true LEFT JOIN LATERAL (SELECT id FROM (");
    let (of_index, of_row) = route.tests_apart(held(route.index));
    let mut wanted: Vec<&str> = of_index.iter().map(|test| test.column()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.insert(0, "id");
    from(&mut query, &wanted.join(", "));
    query.push_bind(seen).push(") AS seen WHERE true");
    push_tests(&mut query, &of_index);
    if !of_row.is_empty() {
        // A row that does not pass what its index tells is not read.
        query.push(" AND (SELECT true FROM operation AS whole WHERE whole.id = seen.id");
        push_tests(&mut query, &of_row);
        query.push(")");
    }
    // They come as the index has them.
    query.push(" LIMIT ").push_bind(most).push(") AS fitting ON true");
    query
}

/// What an index holds beside that by which its stretches are found.
fn held(index: Option<&str>) -> &'static [&'static str] {
    match index {
        Some("operation_by_facet" | "operation_left") => &["ten_thousandths", "worker"],
        Some("operation_by_worker") => &["ten_thousandths"],
        Some("operation_unfinished" | LEFT_BY_ID) => {
            &["state", "company", "workflow", "source_system", "action", "ten_thousandths", "worker"]
        }
        Some("operation_in_conflict") => {
            &["state", "company", "workflow", "source_system", "action", "ten_thousandths", "worker", "open_conflicts"]
        }
        Some(_) | None => &[],
    }
}

/// What is looked at. No index is entered by it: it is asked of what the stretch holds.
fn push_tests(query: &mut QueryBuilder<'static, Postgres>, tests: &[&Test]) {
    for test in tests {
        query.push(" AND (");
        match test {
            Test::Among { column, names } => {
                let names: Vec<String> = names.iter().cloned().collect();
                query.push(format!("{column} = ANY(")).push_bind(names).push(")");
            }
            Test::States(states) => {
                let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
                query.push(format!("state IN ({})", names.join(", ")));
            }
            Test::InConflict => {
                query.push("open_conflicts > 0");
            }
            Test::StakeFrom(stake) => {
                query.push("ten_thousandths >= ").push_bind(*stake);
            }
            Test::StakeTo(stake) => {
                query.push("ten_thousandths <= ").push_bind(*stake);
            }
        }
        query.push(") IS TRUE");
    }
}

/// The combinations that fit; none where they are more than `max`, or all are too many.
async fn facets_like(
    connection: &mut PgConnection,
    wanted: &Facets,
    max: usize,
) -> Result<Option<Vec<Facet>>, ReadError> {
    let is_much = format!("SELECT EXISTS (SELECT FROM facet OFFSET {FACETS_SEEN_MAX} LIMIT 1)");
    let is_much: bool = sqlx::query_scalar(&is_much).fetch_one(&mut *connection).await?;
    if is_much {
        return Ok(None);
    }
    let mut query = QueryBuilder::new(format!("SELECT {} FROM facet WHERE true", FACET_COLUMNS.join(", ")));
    for (column, among) in wanted.asked() {
        let among: Vec<String> = among.iter().cloned().collect();
        query.push(format!(" AND {column} = ANY(")).push_bind(among).push(")");
    }
    query.push(" LIMIT ").push_bind(i64::try_from(max).unwrap_or(i64::MAX).saturating_add(1));
    let rows: Vec<(String, String, String, String)> = query.build_query_as().fetch_all(connection).await?;
    let found: Vec<Facet> = rows
        .into_iter()
        .map(|(company, workflow, source_system, action)| [company, workflow, source_system, action])
        .collect();
    Ok((found.len() <= max).then_some(found))
}
