//! What changed between two payloads, path by path.

use std::collections::{HashMap, HashSet};

use crate::json::Json;
use crate::payload::Payload;
use crate::pointer::Pointer;

/// An answer lists at most this many changes; it always says how many there are.
pub const CHANGES_LISTED_MAX: usize = 100;

/// How a place differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Both have it, with different values.
    Changed,
    /// Only the received payload has it.
    Added,
    /// Only the approved payload has it.
    Removed,
}

impl ChangeKind {
    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// One place that differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Change {
    /// Where: into the approved payload for what changed or was removed, into the received one for what was added.
    pub path: Pointer,
    /// How it differs.
    pub kind: ChangeKind,
    /// The approved value.
    pub approved: Option<Json>,
    /// The received value.
    pub received: Option<Json>,
}

/// The changes from `approved` to `received`, without those in volatile places; in the order of the approved payload.
///
/// Member order never counts, numbers are compared by value, and an array is matched from both ends, so that one inserted line
/// does not mark every following line as changed.
pub fn changes(approved: &Payload, received: &Payload, volatile: &[Pointer]) -> Vec<Change> {
    let mut comparison = Comparison { volatile, path: Vec::new(), changes: Vec::new() };
    comparison.compare(approved.content(), received.content());
    comparison.changes
}

struct Comparison<'a> {
    volatile: &'a [Pointer],
    path: Vec<String>,
    changes: Vec<Change>,
}

impl Comparison<'_> {
    fn compare(&mut self, approved: &Json, received: &Json) {
        match (approved, received) {
            (Json::Object(approved), Json::Object(received)) => self.compare_members(approved, received),
            (Json::Array(approved), Json::Array(received)) => self.compare_items(approved, received),
            _ if alike(approved, received) => {}
            _ => self.push(ChangeKind::Changed, Some(approved), Some(received)),
        }
    }

    fn compare_members(&mut self, approved: &[(String, Json)], received: &[(String, Json)]) {
        let received_by_name: HashMap<&str, &Json> =
            received.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let approved_names: HashSet<&str> = approved.iter().map(|(name, _)| name.as_str()).collect();
        for (name, value) in approved {
            self.at(name.clone(), |comparison| match received_by_name.get(name.as_str()) {
                Some(received) => comparison.compare(value, received),
                None => comparison.push(ChangeKind::Removed, Some(value), None),
            });
        }
        for (name, value) in received.iter().filter(|(name, _)| !approved_names.contains(name.as_str())) {
            self.at(name.clone(), |comparison| comparison.push(ChangeKind::Added, None, Some(value)));
        }
    }

    fn compare_items(&mut self, approved: &[Json], received: &[Json]) {
        let shorter = approved.len().min(received.len());
        // A volatile place in an array is a place by number: then items are compared by number, as the fingerprint does.
        let by_number = self.volatile.iter().any(|pointer| {
            pointer.tokens().len() > self.path.len() && pointer.tokens().starts_with(self.path.as_slice())
        });
        let comparable = if by_number { 0 } else { shorter };
        let same_start =
            approved.iter().zip(received).take(comparable).take_while(|(left, right)| alike(left, right)).count();
        let same_end = approved
            .iter()
            .rev()
            .zip(received.iter().rev())
            .take(comparable.saturating_sub(same_start))
            .take_while(|(left, right)| alike(left, right))
            .count();
        let approved_middle = &approved[same_start..approved.len() - same_end];
        let received_middle = &received[same_start..received.len() - same_end];
        let paired = approved_middle.len().min(received_middle.len());
        for (offset, (left, right)) in approved_middle.iter().zip(received_middle).enumerate() {
            self.at((same_start + offset).to_string(), |comparison| comparison.compare(left, right));
        }
        for (offset, item) in approved_middle.iter().enumerate().skip(paired) {
            self.at((same_start + offset).to_string(), |comparison| {
                comparison.push(ChangeKind::Removed, Some(item), None);
            });
        }
        for (offset, item) in received_middle.iter().enumerate().skip(paired) {
            self.at((same_start + offset).to_string(), |comparison| {
                comparison.push(ChangeKind::Added, None, Some(item));
            });
        }
    }

    fn at(&mut self, token: String, compare: impl FnOnce(&mut Self)) {
        self.path.push(token);
        if !self.volatile.iter().any(|pointer| pointer.tokens() == self.path.as_slice()) {
            compare(self);
        }
        self.path.pop();
    }

    fn push(&mut self, kind: ChangeKind, approved: Option<&Json>, received: Option<&Json>) {
        self.changes.push(Change {
            path: Pointer::from_tokens(self.path.clone()),
            kind,
            approved: approved.cloned(),
            received: received.cloned(),
        });
    }
}

/// Whether two values are the same, in whatever order their members stand.
fn alike(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len() && {
                let by_name: HashMap<&str, &Json> = right.iter().map(|(name, value)| (name.as_str(), value)).collect();
                left.iter().all(|(name, value)| by_name.get(name.as_str()).is_some_and(|other| alike(value, other)))
            }
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(left, right))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(approved: &str, received: &str, volatile: &[&str]) -> Vec<String> {
        let volatile: Vec<Pointer> = volatile.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let payload = |text: &str| Payload::parse(text.as_bytes()).unwrap();
        let shown = |value: &Option<Json>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
        changes(&payload(approved), &payload(received), &volatile)
            .iter()
            .map(|change| {
                format!(
                    "{} {} {} {}",
                    change.path,
                    change.kind.as_str(),
                    shown(&change.approved),
                    shown(&change.received)
                )
            })
            .collect()
    }

    #[test]
    fn only_what_changed_is_named() {
        assert_eq!(
            lines(r#"{"a":1,"b":{"c":"x"},"d":null}"#, r#"{"b":{"c":"y"},"a":1.0,"e":[]}"#, &[]),
            [r#"/b/c changed "x" "y""#, "/d removed null -", "/e added - []"]
        );
    }

    #[test]
    fn one_inserted_line_is_one_change() {
        let approved = r#"{"lines":[{"sku":"A"},{"sku":"B"},{"sku":"C"}]}"#;
        let received = r#"{"lines":[{"sku":"A"},{"sku":"X"},{"sku":"B"},{"sku":"C"}]}"#;
        assert_eq!(lines(approved, received, &[]), [r#"/lines/1 added - {"sku":"X"}"#]);
        assert_eq!(lines(received, approved, &[]), [r#"/lines/1 removed {"sku":"X"} -"#]);
    }

    #[test]
    fn items_with_reordered_members_are_the_same_items() {
        let approved = r#"{"l":[{"a":1,"b":2},{"a":3,"b":4}]}"#;
        assert_eq!(lines(approved, r#"{"l":[{"x":0},{"b":2,"a":1},{"b":4,"a":3}]}"#, &[]), [r#"/l/0 added - {"x":0}"#]);
    }

    #[test]
    fn a_volatile_item_is_volatile_by_its_number() {
        assert_eq!(lines(r#"{"l":["now","a"]}"#, r#"{"l":["a"]}"#, &["/l/0"]), [r#"/l/1 removed "a" -"#]);
        assert_eq!(lines(r#"{"l":["then","a"]}"#, r#"{"l":["now","a","later"]}"#, &["/l/0", "/l/2"]), [""; 0]);
    }

    #[test]
    fn volatile_places_are_not_named() {
        assert_eq!(lines(r#"{"m":{"t":1,"u":1}}"#, r#"{"m":{"t":2,"u":2}}"#, &["/m/t"]), ["/m/u changed 1 2"]);
    }

    #[test]
    fn reordered_items_are_changes() {
        assert_eq!(
            lines(r#"{"l":["P1","P2"]}"#, r#"{"l":["P2","P1"]}"#, &[]),
            [r#"/l/0 changed "P1" "P2""#, r#"/l/1 changed "P2" "P1""#]
        );
    }

    #[test]
    fn repeated_items_do_not_overlap() {
        assert_eq!(lines(r#"{"l":[1,1,1]}"#, r#"{"l":[1,1]}"#, &[]), ["/l/2 removed 1 -"]);
    }
}
