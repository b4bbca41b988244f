//! Bursts of unknown operations, seen as one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by failing")]

use chrono::{TimeDelta, TimeZone as _, Utc};
use guard::fingerprint::{FINGERPRINT_SCHEME, Fingerprint};
use guard::id::OperationId;
use guard::incident::{INCIDENT_GAP_MINUTES_MAX, INCIDENT_OPERATIONS_MIN, incidents};
use guard::key::{KeyPart, OperationKey};
use guard::money::Money;
use guard::operation::Operation;
use guard::state::State;
use guard::store::Catalogue;
use guard::trail::ChainHash;

/// An operation that became unknown so many seconds after some moment.
fn unknown(number: u128, workflow: &str, reason: &str, seconds: i64) -> Operation {
    let part = |text: &str| KeyPart::new(text).unwrap();
    let at = Utc.timestamp_millis_opt(1_790_000_000_000).unwrap() + TimeDelta::seconds(seconds);
    Operation {
        id: OperationId::from_u128(number),
        key: OperationKey {
            workflow: part(workflow),
            company: part("ACME"),
            source_system: part("shop"),
            document: part(&number.to_string()),
            action: part("create"),
            revision: 1,
        },
        state: State::Unknown { since: at, reason: reason.to_owned() },
        version: 2,
        head: ChainHash::START,
        fingerprint: Fingerprint::from_bytes([0; 32]),
        fingerprint_scheme: FINGERPRINT_SCHEME,
        policy_version: 1,
        attempt: None,
        money: Some(Money { amount: "2.50".parse().unwrap(), currency: "EUR".to_owned() }),
        superseded_by: None,
        duplicates_prevented: 0,
        open_conflicts: 0,
        created_at: at,
        updated_at: at,
        content: guard::retention::Content::Kept,
    }
}

#[test]
fn a_burst_with_one_cause_is_one_incident() {
    let catalogue = Catalogue::default();
    let few = INCIDENT_OPERATIONS_MIN as u128 - 1;
    let gap = INCIDENT_GAP_MINUTES_MAX * 60;
    let seconds = |number: u128| i64::try_from(number).unwrap() * gap;
    let mut operations: Vec<Operation> =
        (1..=few).map(|number| unknown(number, "handoff", &format!("status 50{number}"), seconds(number))).collect();
    assert_eq!(incidents(&catalogue, &operations), [], "too few");

    operations.push(unknown(50, "handoff", "status 599", seconds(few + 1)));
    // Another cause, another workflow, and one that came too late.
    operations.push(unknown(51, "handoff", "the connection was lost", seconds(2)));
    operations.push(unknown(52, "invoice", "status 500", seconds(2)));
    operations.push(unknown(53, "handoff", "status 500", seconds(few + 2) + 1));
    let mut settled = unknown(54, "handoff", "status 500", seconds(2));
    settled.state = State::Confirmed { since: settled.created_at, destination_reference: "907".to_owned() };
    operations.push(settled);
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
