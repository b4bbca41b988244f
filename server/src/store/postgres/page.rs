//! Pages of operations in the order of their ids: the walk of [`crate::store::walk`], a whole look in one statement.

use std::collections::HashMap;

use guard::operation::Operation;
use guard::queue::Page;
use guard::refusal::StoreFault;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::ReadError;
use crate::store::row::{OperationRow, Place};
use crate::store::walk::{
    ARMS_MAX, FACETS_SEEN_MAX, Facet, Facets, Found, Ids, LEFT_BY_ID, PEEKED_ROWS, Plan, Route, Span, Test, UNFINISHED,
    WALKED_MAX, Walk, cursor_behind,
};

/// Before many rows are looked through, so many times the rows of a page are: they suffice where much fits.
const FIRST_LOOK_TIMES: u32 = 4;

/// One page.
pub(super) async fn page(connection: &mut PgConnection, walk: &Walk) -> Result<Page<Operation>, ReadError> {
    let Ids { rows, next } = ids(connection, walk).await?;
    let wanted: Vec<Uuid> = rows.iter().copied().map(Uuid::from_u128).collect();
    let sql = format!("SELECT {} FROM operation WHERE id = ANY($1)", OperationRow::COLUMNS);
    let found: Vec<OperationRow> = sqlx::query_as(&sql).bind(wanted).fetch_all(connection).await?;
    let found = found.into_iter().map(|row| Ok((row.id.as_u128(), Operation::try_from(row)?)));
    let mut found = found.collect::<Result<HashMap<u128, Operation>, StoreFault>>()?;
    // Operations are never taken out.
    let read = |id: u128| found.remove(&id).ok_or_else(|| Place::new("operation", &id).corrupt("id"));
    let rows = rows.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(Page { rows, next: next.map(cursor_behind) })
}

async fn ids(connection: &mut PgConnection, walk: &Walk) -> Result<Ids, ReadError> {
    let span = &walk.span;
    match &walk.plan {
        Plan::Routes(routes) => look_twice(connection, routes, span).await,
        Plan::ByFacet { facets, states, tests, otherwise } => {
            let peeked = look(connection, std::slice::from_ref(otherwise), span, PEEKED_ROWS).await?;
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
    let found = look(connection, routes, span, (span.limit + 1) * FIRST_LOOK_TIMES).await?;
    if found.suffices(span) {
        return Ok(found.page(span));
    }
    Ok(look(connection, routes, span, WALKED_MAX).await?.page(span))
}

async fn look(
    connection: &mut PgConnection,
    routes: &[Route],
    span: &Span,
    walked_max: u32,
) -> Result<Found, ReadError> {
    let mut found = Found::default();
    for route in routes.iter().filter(|route| !route.arms.is_empty()) {
        let rows: Vec<(Uuid, bool, bool)> =
            statement(route, span, walked_max).build_query_as().fetch_all(&mut *connection).await?;
        for (id, fits, is_stop) in rows {
            if fits {
                found.fitting.push(id.as_u128());
            }
            if is_stop {
                found.stops.push(id.as_u128());
            }
        }
    }
    Ok(found)
}

/// The columns of a route's index as it holds them, and what stands before the id in a row that is compared with them.
fn stretch(route: &Route) -> (Vec<String>, String) {
    // Names of facets are ordered by their bytes.
    let written = |column: &&str| match *column {
        "company" | "workflow" | "source_system" | "action" => format!("{column} COLLATE \"C\""),
        other => other.to_owned(),
    };
    let mut columns: Vec<String> = route.columns.iter().map(written).collect();
    let mut names: String = (0..route.columns.len()).map(|place| format!("arm.name{place}, ")).collect();
    if route.index == Some("operation_in_conflict") {
        columns.push("(open_conflicts > 0)".to_owned());
        names.push_str("true, ");
    }
    columns.push("id".to_owned());
    (columns, names)
}

/// The statement that looks through every arm of a route: the rows that fit, and where each arm was left.
fn statement(route: &Route, span: &Span, walked_max: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT step.id, step.fits, step.is_stop FROM ");
    if !route.columns.is_empty() {
        query.push("unnest(");
        for place in 0..route.columns.len() {
            let names: Vec<String> = route.arms.iter().filter_map(|arm| arm.get(place).cloned()).collect();
            query.push(if place == 0 { "" } else { ", " }).push_bind(names).push("::text[]");
        }
        let names: Vec<String> = (0..route.columns.len()).map(|place| format!("name{place}")).collect();
        query.push(format!(") AS arm ({}), LATERAL ", names.join(", ")));
    }
    let direction = if span.newest_first { "DESC" } else { "ASC" };
    let rows_of_each = i64::from(route.rows_of_each(span, walked_max));
    query.push("(SELECT id, fits, place = ").push_bind(rows_of_each).push(" AS is_stop FROM (SELECT id, ");
    if route.tests.is_empty() {
        query.push("true");
    }
    for (place, test) in route.tests.iter().enumerate() {
        query.push(if place == 0 { "" } else { " AND " });
        match test {
            Test::Among { column, names } => {
                let names: Vec<String> = names.iter().cloned().collect();
                query.push(format!("coalesce({column} = ANY(")).push_bind(names).push("), false)");
            }
            Test::States(states) => {
                let names: Vec<_> = states.iter().map(|state| format!("'{}'", state.as_str())).collect();
                query.push(format!("state IN ({})", names.join(", ")));
            }
            Test::InConflict => {
                query.push("open_conflicts > 0");
            }
            Test::StakeFrom(stake) => {
                query.push("coalesce(ten_thousandths >= ").push_bind(*stake).push(", false)");
            }
            Test::StakeTo(stake) => {
                query.push("coalesce(ten_thousandths <= ").push_bind(*stake).push(", false)");
            }
        }
    }
    // The order of the whole index, and a row compared with its bounds: a stretch of this index and no other answers that. Asked for a
    // name and the order of ids, the planner may take the order of all instead, and read it to its end for a name that is rare.
    let (columns, names) = stretch(route);
    let order: Vec<String> = columns.iter().map(|column| format!("{column} {direction}")).collect();
    let (order, columns) = (order.join(", "), columns.join(", "));
    query.push(format!(
        " AS fits, row_number() OVER (ORDER BY {order}) AS place FROM operation WHERE ({columns}) >= ({names}"
    ));
    query.push_bind(Uuid::from_u128(span.first)).push(format!(") AND ({columns}) < ({names}"));
    query.push_bind(Uuid::from_u128(span.end)).push(")");
    // In the order of ids, this database has one index for all that is not confirmed.
    let part = if route.index == Some(LEFT_BY_ID) { Some(UNFINISHED) } else { route.part };
    if let Some(part) = part {
        query.push(format!(" AND {part}"));
    }
    query.push(format!(" ORDER BY {order} LIMIT ")).push_bind(rows_of_each);
    query.push(") AS walked WHERE fits OR place = ").push_bind(rows_of_each).push(") AS step");
    query
}

/// The combinations that fit; none where they, or those that had to be leapt over, are too many.
async fn facets_like(
    connection: &mut PgConnection,
    wanted: &Facets,
    max: usize,
) -> Result<Option<Vec<Facet>>, ReadError> {
    const FOUR: &str =
        "company COLLATE \"C\", workflow COLLATE \"C\", source_system COLLATE \"C\", action COLLATE \"C\"";
    let bound = i64::try_from(FACETS_SEEN_MAX).unwrap_or(i64::MAX);
    let columns = "company, workflow, source_system, action";
    let mut query = QueryBuilder::new(format!("WITH RECURSIVE facet ({columns}) AS ("));
    match &wanted.0[0] {
        // Each company's are leapt through on their own.
        Some(companies) => {
            let companies: Vec<String> = companies.iter().cloned().collect();
            query.push("SELECT start.* FROM unnest(").push_bind(companies);
            // The leap asks for nothing but what is behind: asked for the company too, the index is entered where the company starts
            // and read up to there, the whole company for each leap. What lies behind its last combination is another company's, and ends it.
            query.push(format!(
                "::text[]) AS wanted (name), LATERAL (SELECT {columns} FROM operation \
                 WHERE company COLLATE \"C\" = wanted.name ORDER BY {FOUR} LIMIT 1) AS start \
                 UNION ALL SELECT next.* FROM facet, LATERAL (SELECT {columns} FROM operation \
                 WHERE ({FOUR}) > (facet.company, facet.workflow, facet.source_system, facet.action) \
                 ORDER BY {FOUR} LIMIT 1) AS next WHERE next.company COLLATE \"C\" = facet.company"
            ));
        }
        None => {
            query.push(format!(
                "(SELECT {columns} FROM operation ORDER BY {FOUR} LIMIT 1) \
                 UNION ALL SELECT next.* FROM facet, LATERAL (SELECT {columns} FROM operation \
                 WHERE ({FOUR}) > (facet.company, facet.workflow, facet.source_system, facet.action) \
                 ORDER BY {FOUR} LIMIT 1) AS next"
            ));
        }
    }
    query.push(format!(") SELECT {columns} FROM facet LIMIT ")).push_bind(bound + 1);
    let rows: Vec<(String, String, String, String)> = query.build_query_as().fetch_all(connection).await?;
    if rows.len() > FACETS_SEEN_MAX {
        return Ok(None);
    }
    let facets = rows.into_iter().map(|(company, workflow, source, action)| [company, workflow, source, action]);
    let found: Vec<Facet> = facets.filter(|facet| wanted.hold(facet)).collect();
    Ok((found.len() <= max).then_some(found))
}
