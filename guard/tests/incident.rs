//! Bursts of unknown operations, seen as one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

use chrono::{TimeDelta, TimeZone as _, Utc};
use guard::id::OperationId;
use guard::incident::{
    INCIDENT_GAP_MINUTES_MAX, INCIDENT_OPERATIONS_MIN, INCIDENT_ROWS_SEEN_MAX, Unsettled, incidents,
};
use guard::money::Money;
use guard::store::Catalogue;

/// An operation that became unknown so many seconds after some moment.
fn unknown(number: u128, workflow: &str, reason: &str, seconds: i64) -> Unsettled {
    let at = Utc.timestamp_millis_opt(1_790_000_000_000).unwrap() + TimeDelta::seconds(seconds);
    Unsettled {
        id: OperationId::from_u128(number),
        workflow: workflow.to_owned(),
        company: "ACME".to_owned(),
        since: at,
        reason: reason.to_owned(),
        money: Some(Money { amount: "2.50".parse().unwrap(), currency: "EUR".to_owned() }),
    }
}

#[test]
fn a_burst_with_one_cause_is_one_incident() {
    let catalogue = Catalogue::default();
    let few = INCIDENT_OPERATIONS_MIN as u128 - 1;
    let gap = INCIDENT_GAP_MINUTES_MAX * 60;
    let seconds = |number: u128| i64::try_from(number).unwrap() * gap;
    let mut operations: Vec<Unsettled> =
        (1..=few).map(|number| unknown(number, "handoff", &format!("status 50{number}"), seconds(number))).collect();
    assert_eq!(incidents(&catalogue, &operations), [], "too few");

    operations.push(unknown(50, "handoff", "status 599", seconds(few + 1)));
    // Another cause, another workflow, and one that came too late.
    operations.push(unknown(51, "handoff", "the connection was lost", seconds(2)));
    operations.push(unknown(52, "invoice", "status 500", seconds(2)));
    operations.push(unknown(53, "handoff", "status 500", seconds(few + 2) + 1));
    operations.reverse();
    let found = incidents(&catalogue, &operations);
    assert_eq!(found.len(), 1, "{found:#?}");
    let incident = &found[0];
    assert_eq!((&*incident.destination, &*incident.cause), ("handoff", "status #"));
    let ids: Vec<u128> = incident.operations.iter().map(|id| id.as_u128()).collect();
    assert_eq!(ids, (1..=few).chain([50]).collect::<Vec<_>>());
    assert_eq!(incident.to - incident.from, TimeDelta::seconds(seconds(few)));
    let money = &incident.money[0];
    assert_eq!((money.amount.to_string(), &*money.currency), ("12.50".to_owned(), "EUR"));
}

#[test]
fn an_incident_that_reaches_back_to_the_first_that_was_looked_at_may_have_more() {
    let catalogue = Catalogue::default();
    let most = u128::from(INCIDENT_ROWS_SEEN_MAX);
    let burst = |first: u128, number: u128, workflow: &str| {
        (first..first + number).map(|number| unknown(number, workflow, "timed out", 1)).collect::<Vec<_>>()
    };
    let is_cut = |operations: &[Unsettled]| {
        incidents(&catalogue, operations)
            .iter()
            .map(|incident| (incident.operations.len(), incident.is_cut))
            .collect::<Vec<_>>()
    };
    let few = INCIDENT_OPERATIONS_MIN;
    let earlier = burst(1, most - few as u128, "handoff");
    assert_eq!(is_cut(&earlier), [(INCIDENT_ROWS_SEEN_MAX as usize - few, false)], "there were no more");
    let later = burst(most, few as u128, "invoice");
    assert_eq!(
        is_cut(&[earlier, later].concat()),
        [(INCIDENT_ROWS_SEEN_MAX as usize - few, true), (few, false)],
        "only what was begun first may go on before it"
    );
}
