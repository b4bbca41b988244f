//! The queue of what is uncertain: stretches of its indexes.

use guard::id::OperationId;
use guard::state::REASON_LEASE_EXPIRED;
use guard::token::Reach;
use guard::triage::{Cause, ClaimedBy, STEPS_MAX, Show, Stretch, Triage};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::list::push_reach;
use super::uuid;

/// What makes an operation uncertain, as the indexes of the queue say it.
const UNCERTAIN: &str = "state IN ('unknown', 'disputed')";

/// What is at stake, rounded to its step, as the indexes of the queue say it.
const AT_RISK: &str = "at_risk(ten_thousandths)";

/// The steps that there are, each found by one look at an index: no row between them is read.
pub(super) fn steps(triage: &Triage) -> QueryBuilder<'static, Postgres> {
    let mut query = QueryBuilder::new("WITH RECURSIVE step (number) AS ((");
    push_largest(&mut query, triage);
    query.push(format!(" ORDER BY {AT_RISK} DESC LIMIT 1) UNION ALL SELECT ("));
    push_largest(&mut query, triage);
    query.push(format!(
        " AND {AT_RISK} < step.number ORDER BY {AT_RISK} DESC LIMIT 1) FROM step WHERE step.number IS NOT NULL) \
         SELECT number FROM step WHERE number IS NOT NULL LIMIT {STEPS_MAX}"
    ));
    query
}

fn push_largest(query: &mut QueryBuilder<'static, Postgres>, triage: &Triage) {
    query.push(format!("SELECT {AT_RISK} FROM operation WHERE {UNCERTAIN}"));
    match (&triage.filter.workflow, &triage.filter.company) {
        (_, Some(company)) => {
            query.push(" AND company = ").push_bind(company.clone());
        }
        (Some(workflow), None) => {
            query.push(" AND workflow = ").push_bind(workflow.clone());
        }
        (None, None) => {}
    }
}

/// The places of each stretch.
pub(super) fn places(
    reach: &Reach,
    triage: &Triage,
    stretches: &[Stretch],
    limit: u32,
) -> QueryBuilder<'static, Postgres> {
    let steps: Vec<i64> = stretches.iter().map(|stretch| stretch.step.number()).collect();
    let moments: Vec<i64> = stretches.iter().map(|stretch| stretch.since).collect();
    let ids: Vec<Uuid> = stretches.iter().map(|stretch| Uuid::from_u128(stretch.id)).collect();
    let mut query = QueryBuilder::new("SELECT place.* FROM unnest(");
    query.push_bind(steps).push("::bigint[], ").push_bind(moments).push("::bigint[], ").push_bind(ids);
    query.push(format!(
        "::uuid[]) AS stretch (step, since, id) CROSS JOIN LATERAL (SELECT {AT_RISK} AS step, state_since, id FROM operation \
         WHERE {UNCERTAIN} AND {AT_RISK} = stretch.step AND (state_since, id) > (stretch.since, stretch.id)"
    ));
    push_filter(&mut query, reach, triage);
    query.push(" ORDER BY state_since, id LIMIT ").push_bind(i64::from(limit)).push(") AS place");
    query
}

/// The places by age alone.
pub(super) fn places_by_age(
    reach: &Reach,
    triage: &Triage,
    latest_first: bool,
    behind: Option<(i64, OperationId)>,
    limit: u32,
) -> QueryBuilder<'static, Postgres> {
    let mut query =
        QueryBuilder::new(format!("SELECT {AT_RISK} AS step, state_since, id FROM operation WHERE {UNCERTAIN}"));
    let (comparison, direction) = if latest_first { ("<", " DESC") } else { (">", "") };
    if let Some((since, id)) = behind {
        query.push(format!(" AND (state_since, id) {comparison} (")).push_bind(since).push(", ");
        query.push_bind(uuid(id)).push(")");
    }
    push_filter(&mut query, reach, triage);
    query.push(format!(" ORDER BY state_since{direction}, id{direction} LIMIT ")).push_bind(i64::from(limit));
    query
}

/// What is asked of each row.
fn push_filter(query: &mut QueryBuilder<'static, Postgres>, reach: &Reach, triage: &Triage) {
    let Triage { filter, person, now } = triage;
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
