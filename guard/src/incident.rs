//! Incidents: many unknown operations of one destination with one cause, shortly one after the other, are one thing to look at.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::clock::Timestamp;
use crate::id::OperationId;
use crate::money::Money;
use crate::operation::Operation;
use crate::state::State;
use crate::store::Catalogue;

/// So many unknown operations make an incident.
pub const INCIDENT_OPERATIONS_MIN: usize = 5;

/// Within an incident, the next operation became unknown at most so long after the one before, in minutes.
pub const INCIDENT_GAP_MINUTES_MAX: i64 = 10;

/// Incidents are looked for among so many unknown operations, those that were begun last.
pub const INCIDENT_ROWS_SEEN_MAX: usize = 2_000;

/// A cause is told in at most so many characters.
const CAUSE_CHARACTERS_MAX: usize = 160;

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

/// The incidents among these operations, the greatest first. Those that are not unknown are left out.
pub fn incidents(catalogue: &Catalogue, operations: &[Operation]) -> Vec<Incident> {
    let mut alike: BTreeMap<(String, String), Vec<(Timestamp, &Operation)>> = BTreeMap::new();
    for operation in operations {
        let State::Unknown { since, reason } = &operation.state else { continue };
        let workflow = operation.key.workflow.as_str();
        let known = catalogue.workflows.get(workflow).and_then(|known| known.workflow.destination.as_deref());
        let place = (known.unwrap_or(workflow).to_owned(), class(reason));
        alike.entry(place).or_default().push((*since, operation));
    }
    let mut found = Vec::new();
    for ((destination, cause), mut burst) in alike {
        burst.sort_by_key(|(since, operation)| (*since, operation.id));
        let gap = TimeDelta::minutes(INCIDENT_GAP_MINUTES_MAX);
        for burst in burst.chunk_by(|(before, _), (after, _)| *after - *before <= gap) {
            if let ([(from, _), ..], [.., (to, _)]) = (burst, burst)
                && burst.len() >= INCIDENT_OPERATIONS_MIN
            {
                found.push(Incident {
                    destination: destination.clone(),
                    cause: cause.clone(),
                    from: *from,
                    to: *to,
                    operations: burst.iter().map(|(_, operation)| operation.id).collect(),
                    money: crate::money::sums(burst.iter().filter_map(|(_, operation)| operation.money.as_ref())),
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
