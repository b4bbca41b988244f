//! Incidents: many unknown operations of one destination with one cause, shortly one after the other, are one thing to look at.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::money::Money;
use crate::store::Catalogue;

/// So many unknown operations make an incident.
pub const INCIDENT_OPERATIONS_MIN: usize = 5;

/// Within an incident, the next operation became unknown at most so long after the one before, in minutes.
pub const INCIDENT_GAP_MINUTES_MAX: i64 = 10;

/// Incidents are looked for among so many unknown operations, those that were begun last: as many as one run verifies
/// ([`crate::lists::RUN_ITEMS_MAX`]).
pub const INCIDENT_ROWS_SEEN_MAX: u32 = 1_000;

/// A cause is told in at most so many characters.
const CAUSE_CHARACTERS_MAX: usize = 160;

/// What incidents are made of: an unknown operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// The operation.
    pub id: OperationId,
    /// Its workflow.
    pub workflow: String,
    /// Its company.
    pub company: String,
    /// Since when it is unknown.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
    /// The money in it.
    pub money: Option<Money>,
}

/// Many unknown operations of one destination with one cause.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Incident {
    /// The destination; the workflow, where that names none.
    pub destination: String,
    /// Why they are unknown, with each number written as `#`.
    pub cause: String,
    /// When the first became unknown.
    pub from: Timestamp,
    /// When the last did.
    pub to: Timestamp,
    /// The operations, in the order in which they became unknown.
    pub operations: Vec<OperationId>,
    /// Whether it may have begun before what was looked at: there may be more operations in it.
    pub is_cut: bool,
    /// The money in them, a sum per currency.
    pub money: Vec<Money>,
}

/// The class of a cause: its text with each run of digits as one `#`, so that ports, ids and seconds do not tell causes apart.
fn class(reason: &str) -> String {
    let mut class = String::new();
    for character in reason.chars() {
        match character {
            '0'..='9' if class.ends_with('#') => {}
            '0'..='9' => class.push('#'),
            other => class.push(other),
        }
    }
    match class.char_indices().nth(CAUSE_CHARACTERS_MAX) {
        Some((end, _)) => class[..end].to_owned() + "…",
        None => class,
    }
}

/// The destination of a workflow, as incidents name it.
fn destination<'a>(catalogue: &'a Catalogue, workflow: &'a str) -> &'a str {
    let known = catalogue.workflows.get(workflow).and_then(|known| known.workflow.destination.as_deref());
    known.unwrap_or(workflow)
}

fn is_one_burst(before: Timestamp, after: Timestamp) -> bool {
    after - before <= TimeDelta::minutes(INCIDENT_GAP_MINUTES_MAX)
}

/// The incidents among these operations, the greatest first.
pub fn incidents(catalogue: &Catalogue, operations: &[Unsettled]) -> Vec<Incident> {
    let is_cut = operations.len() >= usize::try_from(INCIDENT_ROWS_SEEN_MAX).unwrap_or(usize::MAX);
    let earliest = operations.iter().map(|operation| operation.id).min().filter(|_| is_cut);
    let mut alike: BTreeMap<(String, String), Vec<&Unsettled>> = BTreeMap::new();
    for operation in operations {
        let place = (destination(catalogue, &operation.workflow).to_owned(), class(&operation.reason));
        alike.entry(place).or_default().push(operation);
    }
    let mut found = Vec::new();
    for ((destination, cause), mut burst) in alike {
        burst.sort_by_key(|operation| (operation.since, operation.id));
        for burst in burst.chunk_by(|before, after| is_one_burst(before.since, after.since)) {
            if let ([first, ..], [.., last]) = (burst, burst)
                && burst.len() >= INCIDENT_OPERATIONS_MIN
            {
                found.push(Incident {
                    destination: destination.clone(),
                    cause: cause.clone(),
                    from: first.since,
                    to: last.since,
                    operations: burst.iter().map(|operation| operation.id).collect(),
                    is_cut: burst.iter().any(|operation| Some(operation.id) == earliest),
                    money: crate::money::sums(burst.iter().filter_map(|operation| operation.money.as_ref())),
                });
            }
        }
    }
    found.sort_by(|one, other| {
        (other.operations.len(), other.to, &other.destination).cmp(&(one.operations.len(), one.to, &one.destination))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_tell_causes_apart() {
        assert_eq!(class("503 from 10.0.0.1:8080 after 12s"), "# from #.#.#.#:# after #s");
        assert_eq!(class("503"), class("7"));
        assert_eq!(class(&"é".repeat(500)).chars().count(), CAUSE_CHARACTERS_MAX + 1);
    }
}
