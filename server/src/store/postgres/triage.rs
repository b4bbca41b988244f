//! The queue of what is uncertain: stretches of its indexes.

use guard::id::OperationId;
use guard::state::REASON_LEASE_EXPIRED;
use guard::triage::{Cause, ClaimedBy, Look, Part, Place, STEPS_MAX, Seen, Show, Sort, Step, Stretch, Triage};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::list::push_reach;

/// What makes an operation uncertain, as the indexes of the queue say it.
const UNCERTAIN: &str = "state IN ('unknown', 'disputed')";

/// What is at stake, rounded to its step, as the indexes of the queue say it.
const AT_RISK: &str = "at_risk(ten_thousandths)";

/// What the index of a part holds, the column by which it starts, and the name that stands there.
fn held(part: &Part) -> (&'static str, Option<(&'static str, &String)>) {
    match part {
        Part::All => (UNCERTAIN, None),
        Part::Disputed => ("state = 'disputed'", None),
        Part::Company(name) => (UNCERTAIN, Some(("company", name))),
        Part::Workflow(name) => (UNCERTAIN, Some(("workflow", name))),
    }
}

/// The steps that there are in a part, each found by one look at an index: no row between them is read.
pub(super) fn steps(part: &Part) -> QueryBuilder<'static, Postgres> {
    let (held, start) = held(part);
    let push_largest = |query: &mut QueryBuilder<'static, Postgres>| {
        query.push(format!("SELECT {AT_RISK} FROM operation WHERE {held}"));
        if let Some((column, name)) = start {
            query.push(format!(" AND {column} = ")).push_bind(name.clone());
        }
    };
    let mut query = QueryBuilder::new("WITH RECURSIVE step (number) AS ((");
    push_largest(&mut query);
    query.push(format!(" ORDER BY {AT_RISK} DESC LIMIT 1) UNION ALL SELECT ("));
    push_largest(&mut query);
    query.push(format!(
        " AND {AT_RISK} < step.number ORDER BY {AT_RISK} DESC LIMIT 1) FROM step WHERE step.number IS NOT NULL) \
         SELECT number FROM step WHERE number IS NOT NULL LIMIT {STEPS_MAX}"
    ));
    query
}

/// A row of [`places`]: the number of the stretch, where looking at it ended if before its end, and a place that fits if there is one.
#[derive(FromRow)]
pub(super) struct Looked {
    number: i64,
    stop_step: Option<i64>,
    stop_since: Option<i64>,
    stop_id: Option<Uuid>,
    step: Option<i64>,
    since: Option<i64>,
    id: Option<Uuid>,
}

/// Looks through the stretches, all of which are parts of one kind, with or without a step.
pub(super) fn places(triage: &Triage, stretches: &[Stretch], look: Look) -> Option<QueryBuilder<'static, Postgres>> {
    let first = stretches.first()?;
    let (held, start) = held(&first.part);
    let (comparison, direction, nearer) = match triage.sort {
        Sort::AtRisk | Sort::Longest => (">", "", "<="),
        Sort::Latest => ("<", " DESC", ">="),
    };
    let names: Vec<Option<String>> =
        stretches.iter().map(|stretch| self::held(&stretch.part).1.map(|(_, name)| name.clone())).collect();
    let steps: Vec<Option<i64>> = stretches.iter().map(|stretch| stretch.step.map(Step::number)).collect();
    let (moments, ids): (Vec<i64>, Vec<Uuid>) = stretches
        .iter()
        .map(|stretch| stretch.start(triage.sort))
        .map(|(since, id)| (since, Uuid::from_u128(id.as_u128())))
        .unzip();

    let mut of_stretch = format!("FROM operation WHERE {held}");
    if let Some((column, _)) = start {
        of_stretch.push_str(&format!(" AND {column} = stretch.name"));
    }
    if first.step.is_some() {
        of_stretch.push_str(&format!(" AND {AT_RISK} = stretch.step"));
    }
    of_stretch.push_str(&format!(" AND (state_since, id) {comparison} (stretch.since, stretch.id)"));
    let order = format!("ORDER BY state_since{direction}, id{direction}");

    let mut query = QueryBuilder::new(
        "SELECT stretch.number, stop.step AS stop_step, stop.since AS stop_since, stop.id AS stop_id, \
         fitting.step, fitting.since, fitting.id FROM unnest(",
    );
    query.push_bind(names).push("::text[], ").push_bind(steps).push("::bigint[], ").push_bind(moments);
    query.push("::bigint[], ").push_bind(ids);
    query.push(format!(
        "::uuid[]) WITH ORDINALITY AS stretch (name, step, since, id, number) LEFT JOIN LATERAL \
         (SELECT {AT_RISK} AS step, state_since AS since, id {of_stretch} {order} LIMIT 1 OFFSET "
    ));
    query.push_bind(i64::from(look.seen.saturating_sub(1)));
    query.push(format!(
        ") AS stop ON true LEFT JOIN LATERAL (SELECT {AT_RISK} AS step, state_since AS since, id {of_stretch} \
         AND (state_since, id) {nearer} (coalesce(stop.since, "
    ));
    let (end_since, end_id) = match triage.sort {
        Sort::AtRisk | Sort::Longest => (i64::MAX, u128::MAX),
        Sort::Latest => (i64::MIN, 0),
    };
    query.push_bind(end_since).push("), coalesce(stop.id, ").push_bind(Uuid::from_u128(end_id)).push("))");
    // Asked by itself, the planner would enter another index by it, and sort all that it finds there.
    query.push(" AND (true");
    push_filter(&mut query, triage);
    query.push(format!(") IS TRUE {order} LIMIT ")).push_bind(i64::from(look.rows)).push(") AS fitting ON true");
    Some(query)
}

/// What the rows of [`places`] say. Those of one stretch come together, in its order.
pub(super) fn seen(rows: &[Looked], look: Look) -> Seen {
    let place = |step: Option<i64>, since: Option<i64>, id: Option<Uuid>| {
        let id = OperationId::from_u128(id?.as_u128());
        Some(Place { step: Step::from_number(step?), since: since?, id })
    };
    let mut seen = Seen::default();
    for of_stretch in rows.chunk_by(|one, other| one.number == other.number) {
        let Some(first) = of_stretch.first() else { continue };
        let before = seen.places.len();
        seen.places.extend(of_stretch.iter().filter_map(|row| place(row.step, row.since, row.id)));
        let is_full = seen.places.len() - before == usize::try_from(look.rows).unwrap_or(usize::MAX);
        // Behind a full page nothing was looked at.
        let last = seen.places.last().copied().filter(|_| is_full);
        let stop = last.or_else(|| place(first.stop_step, first.stop_since, first.stop_id));
        let number = usize::try_from(first.number - 1).ok();
        seen.stops.extend(number.zip(stop));
    }
    seen
}

/// Adds what people have claimed or keep waiting, one more than `most` of it.
fn push_reviewed(query: &mut QueryBuilder<'static, Postgres>, triage: &Triage, most: u32) {
    let now = triage.now.timestamp_millis();
    query.push("SELECT operation FROM review WHERE ");
    match triage.filter.claim {
        Some(ClaimedBy::Me) => {
            query.push("claimed_by = ").push_bind(triage.person.clone());
            query.push(" AND claimed_until > ").push_bind(now);
        }
        Some(ClaimedBy::Nobody) | None => drop(query.push("waits_until > ").push_bind(now)),
    }
    query.push(" LIMIT ").push_bind(i64::from(most) + 1);
}

/// How much that is, from an index alone: where it is more than `most`, no row behind it is read.
pub(super) fn reviewed_number(triage: &Triage, most: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM (");
    push_reviewed(&mut query, triage, most);
    query.push(") AS reviewed");
    query
}

/// The place of each of it, and whether it fits.
pub(super) fn places_reviewed(triage: &Triage, most: u32) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new(format!("SELECT {AT_RISK}, state_since, operation.id, ({UNCERTAIN}"));
    push_filter(&mut query, triage);
    query.push(") IS TRUE FROM (");
    push_reviewed(&mut query, triage, most);
    query.push(") AS reviewed JOIN operation ON operation.id = reviewed.operation");
    query
}

/// What is asked of each row.
fn push_filter(query: &mut QueryBuilder<'static, Postgres>, triage: &Triage) {
    let Triage { filter, reach, person, now, .. } = triage;
    push_reach(query, reach, "operation");
    let texts = [
        (" AND workflow = ", &filter.workflow),
        (" AND company = ", &filter.company),
        (" AND currency = ", &filter.currency),
    ];
    for (condition, text) in texts {
        if let Some(text) = text {
            query.push(condition).push_bind(text.clone());
        }
    }
    if let Some(state) = filter.state {
        query.push(" AND state = ").push_bind(state.as_str());
    }
    match filter.cause {
        None => {}
        Some(Cause::Disputed) => drop(query.push(" AND state = 'disputed'")),
        Some(Cause::LeaseEnded) => {
            query.push(" AND state = 'unknown' AND reason = ").push_bind(REASON_LEASE_EXPIRED);
        }
        Some(Cause::Reported) => {
            query.push(" AND state = 'unknown' AND reason <> ").push_bind(REASON_LEASE_EXPIRED);
        }
    }
    let reviewed = "EXISTS (SELECT FROM review WHERE review.operation = operation.id AND";
    let now = now.timestamp_millis();
    match filter.claim {
        None => {}
        Some(ClaimedBy::Me) => {
            query.push(format!(" AND {reviewed} claimed_until > ")).push_bind(now);
            query.push(" AND claimed_by = ").push_bind(person.clone()).push(")");
        }
        Some(ClaimedBy::Nobody) => {
            query.push(format!(" AND NOT {reviewed} claimed_until > ")).push_bind(now).push(")");
        }
    }
    match filter.show {
        Show::All => {}
        Show::Waiting => {
            query.push(format!(" AND {reviewed} waits_until > ")).push_bind(now).push(")");
        }
        Show::Now | Show::NeedsMe => {
            query.push(format!(" AND NOT {reviewed} waits_until > ")).push_bind(now).push(")");
        }
    }
    if filter.show == Show::NeedsMe {
        query.push(
            " AND (state = 'disputed' OR NOT EXISTS (SELECT FROM recovery \
             WHERE recovery.operation = operation.id AND exhausted_at IS NULL))",
        );
    }
}
