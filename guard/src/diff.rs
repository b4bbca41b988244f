//! What changed between two payloads, path by path.

pub mod alignment;
pub mod line;

use std::collections::{HashMap, HashSet};

use alignment::Budget;

use crate::canonical::canonical;
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
/// Member order never counts, numbers are compared by value, and the items of an array are matched, so that an inserted line does not
/// mark every following line as changed. Made in turn, they turn one payload into the other: first what is changed, then what is
/// removed from the last to the first (both in places of the approved payload), then what is added (in places of the received one).
pub fn changes(approved: &Payload, received: &Payload, volatile: &[Pointer]) -> Vec<Change> {
    compare(approved, received, volatile).changes()
}

/// Two values, place by place.
#[derive(Debug)]
pub enum Comparison<'a> {
    /// Both have it, with the same value.
    Same {
        /// The approved value.
        approved: &'a Json,
    },
    /// Both have it, with different values that are not compared further.
    Changed {
        /// The approved value.
        approved: &'a Json,
        /// The received value.
        received: &'a Json,
    },
    /// Only the received payload has it.
    Added {
        /// The received value.
        received: &'a Json,
        /// The index of the same item in the approved array, where it only moved.
        moved_from: Option<usize>,
    },
    /// Only the approved payload has it.
    Removed {
        /// The approved value.
        approved: &'a Json,
        /// The index of the same item in the received array, where it only moved.
        moved_to: Option<usize>,
    },
    /// A volatile place: it does not count.
    LeftOut {
        /// The approved value.
        approved: Option<&'a Json>,
        /// The received value.
        received: Option<&'a Json>,
    },
    /// Two objects: their members, those of the approved one first.
    Members(Vec<(&'a str, Comparison<'a>)>),
    /// Two arrays: their items in order.
    Items(Vec<Item<'a>>),
}

/// Two items of two arrays that were matched, or one that has no other.
#[derive(Debug)]
pub struct Item<'a> {
    /// Its index in the approved array.
    pub approved: Option<usize>,
    /// Its index in the received array.
    pub received: Option<usize>,
    /// How the two compare.
    pub comparison: Comparison<'a>,
}

/// Compares two payloads place by place.
///
/// The work is bounded ([`alignment::STEPS_MAX`], [`alignment::PAIRINGS_MAX`]); beyond it, items are matched by their number.
pub fn compare<'a>(approved: &'a Payload, received: &'a Payload, volatile: &[Pointer]) -> Comparison<'a> {
    let mut walk = Walk { volatile, path: Vec::new(), budget: Budget::default() };
    walk.compare(approved.content(), received.content())
}

struct Walk<'v> {
    volatile: &'v [Pointer],
    path: Vec<String>,
    budget: Budget,
}

impl Walk<'_> {
    fn compare<'a>(&mut self, approved: &'a Json, received: &'a Json) -> Comparison<'a> {
        match (approved, received) {
            (Json::Object(approved), Json::Object(received)) => self.compare_members(approved, received),
            (Json::Array(approved), Json::Array(received)) => self.compare_items(approved, received),
            _ if approved == received => Comparison::Same { approved },
            _ => Comparison::Changed { approved, received },
        }
    }

    fn compare_members<'a>(
        &mut self,
        approved: &'a [(String, Json)],
        received: &'a [(String, Json)],
    ) -> Comparison<'a> {
        let received_by_name: HashMap<&str, &Json> =
            received.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let approved_names: HashSet<&str> = approved.iter().map(|(name, _)| name.as_str()).collect();
        let mut members = Vec::with_capacity(approved.len());
        for (name, value) in approved {
            let other = received_by_name.get(name.as_str()).copied();
            members.push((name.as_str(), self.at(name.clone(), Some(value), other)));
        }
        for (name, value) in received.iter().filter(|(name, _)| !approved_names.contains(name.as_str())) {
            members.push((name.as_str(), self.at(name.clone(), None, Some(value))));
        }
        Comparison::Members(members)
    }

    fn compare_items<'a>(&mut self, approved: &'a [Json], received: &'a [Json]) -> Comparison<'a> {
        // A volatile place in an array is a place by number: then items are compared by number, as the fingerprint does.
        let by_number = self.volatile.iter().any(|pointer| {
            pointer.tokens().len() > self.path.len() && pointer.tokens().starts_with(self.path.as_slice())
        });
        let aligned = if by_number {
            alignment::by_number(approved.len(), received.len())
        } else {
            alignment::align(approved, received, &mut self.budget)
        };
        let items = aligned.into_iter().map(|pair| {
            let (left, right) = (pair.left, pair.right);
            let index = left.or(right).unwrap_or_default();
            let comparison = self.at(
                index.to_string(),
                left.and_then(|index| approved.get(index)),
                right.and_then(|index| received.get(index)),
            );
            let comparison = match comparison {
                Comparison::Added { received, .. } => Comparison::Added { received, moved_from: pair.moved },
                Comparison::Removed { approved, .. } => Comparison::Removed { approved, moved_to: pair.moved },
                same @ (Comparison::Same { .. }
                | Comparison::Changed { .. }
                | Comparison::LeftOut { .. }
                | Comparison::Members(_)
                | Comparison::Items(_)) => same,
            };
            Item { approved: left, received: right, comparison }
        });
        Comparison::Items(items.collect())
    }

    fn at<'a>(&mut self, token: String, approved: Option<&'a Json>, received: Option<&'a Json>) -> Comparison<'a> {
        self.path.push(token);
        let is_volatile = self.volatile.iter().any(|pointer| pointer.tokens() == self.path.as_slice());
        let comparison = match (approved, received) {
            _ if is_volatile => Comparison::LeftOut { approved, received },
            (Some(approved), Some(received)) => self.compare(approved, received),
            (Some(approved), None) => Comparison::Removed { approved, moved_to: None },
            (None, Some(received)) => Comparison::Added { received, moved_from: None },
            (None, None) => Comparison::LeftOut { approved, received },
        };
        self.path.pop();
        comparison
    }
}

/// One place that differs, as people are told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    /// Where in the approved payload; for what was added, where it would have stood.
    pub approved_path: Pointer,
    /// Where in the received payload; for what was removed, where it would have stood.
    pub received_path: Pointer,
    /// The approved value.
    pub approved: Option<&'a Json>,
    /// The received value.
    pub received: Option<&'a Json>,
    /// The index in the other array, where an item only moved: that of the received array for what was removed, of the approved
    /// one for what was added.
    pub moved: Option<usize>,
}

impl Difference<'_> {
    /// How the place differs.
    pub const fn kind(&self) -> ChangeKind {
        match (self.approved, self.received) {
            (None, _) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            (Some(_), Some(_)) => ChangeKind::Changed,
        }
    }

    /// Where: into the approved payload for what changed or was removed, into the received one for what was added.
    pub const fn path(&self) -> &Pointer {
        match self.kind() {
            ChangeKind::Changed | ChangeKind::Removed => &self.approved_path,
            ChangeKind::Added => &self.received_path,
        }
    }

    /// The change, as every interface tells it.
    pub fn to_change(&self) -> Change {
        Change {
            path: self.path().clone(),
            kind: self.kind(),
            approved: self.approved.cloned(),
            received: self.received.cloned(),
        }
    }
}

impl<'a> Comparison<'a> {
    /// Every place that counts and differs, in the order of the approved payload.
    pub fn differences(&self) -> Vec<Difference<'a>> {
        let mut found = Vec::new();
        self.collect(&mut (Vec::new(), Vec::new()), Wanted::Counts, &mut found);
        found
    }

    /// The volatile places that differ: they do not count.
    pub fn left_out(&self) -> Vec<Difference<'a>> {
        let mut found = Vec::new();
        self.collect(&mut (Vec::new(), Vec::new()), Wanted::LeftOut, &mut found);
        found
    }

    /// The changes, as every interface tells them.
    pub fn changes(&self) -> Vec<Change> {
        self.differences().iter().map(Difference::to_change).collect()
    }

    /// Whether nothing that counts differs.
    pub fn is_same(&self) -> bool {
        match self {
            Self::Same { .. } | Self::LeftOut { .. } => true,
            Self::Changed { .. } | Self::Added { .. } | Self::Removed { .. } => false,
            Self::Members(members) => members.iter().all(|(_, member)| member.is_same()),
            Self::Items(items) => items.iter().all(|item| item.comparison.is_same()),
        }
    }

    fn collect(&self, paths: &mut (Vec<String>, Vec<String>), wanted: Wanted, found: &mut Vec<Difference<'a>>) {
        let (approved, received, moved) = match self {
            Self::Same { .. } => return,
            Self::Members(members) => {
                for (name, member) in members {
                    paths.0.push((*name).to_owned());
                    paths.1.push((*name).to_owned());
                    member.collect(paths, wanted, found);
                    paths.0.pop();
                    paths.1.pop();
                }
                return;
            }
            Self::Items(items) => {
                // An item that has no other would have stood behind the last one that does.
                let (mut next_approved, mut next_received) = (0, 0);
                for item in items {
                    next_approved = item.approved.unwrap_or(next_approved);
                    next_received = item.received.unwrap_or(next_received);
                    paths.0.push(next_approved.to_string());
                    paths.1.push(next_received.to_string());
                    item.comparison.collect(paths, wanted, found);
                    paths.0.pop();
                    paths.1.pop();
                    next_approved += usize::from(item.approved.is_some());
                    next_received += usize::from(item.received.is_some());
                }
                return;
            }
            Self::LeftOut { approved, received } => {
                if wanted == Wanted::Counts || is_alike(*approved, *received) {
                    return;
                }
                (*approved, *received, None)
            }
            Self::Changed { approved, received } => (Some(*approved), Some(*received), None),
            Self::Added { received, moved_from } => (None, Some(*received), *moved_from),
            Self::Removed { approved, moved_to } => (Some(*approved), None, *moved_to),
        };
        let is_left_out = matches!(self, Self::LeftOut { .. });
        if is_left_out == (wanted == Wanted::LeftOut) {
            found.push(Difference {
                approved_path: Pointer::from_tokens(paths.0.clone()),
                received_path: Pointer::from_tokens(paths.1.clone()),
                approved,
                received,
                moved,
            });
        }
    }
}

/// Which places are collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Counts,
    LeftOut,
}

/// Whether two values are the same, in whatever order their members stand.
fn is_alike(left: Option<&Json>, right: Option<&Json>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left == right || canonical(left, &[]) == canonical(right, &[]),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
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
            [r#"/l/0 removed "P1" -"#, r#"/l/1 added - "P1""#]
        );
    }

    #[test]
    fn an_item_that_moved_is_told_as_such() {
        let payload = |text: &str| Payload::parse(text.as_bytes()).unwrap();
        let approved = payload(r#"{"l":[{"sku":"A"},{"sku":"B"},{"sku":"C"},{"sku":"D"}]}"#);
        let received = payload(r#"{"l":[{"sku":"B"},{"sku":"C"},{"sku":"D"},{"sku":"A"}]}"#);
        let moved: Vec<_> = compare(&approved, &received, &[])
            .differences()
            .iter()
            .map(|found| (found.path().to_string(), found.kind(), found.moved))
            .collect();
        let (removed, added) = (ChangeKind::Removed, ChangeKind::Added);
        assert_eq!(moved, [("/l/0".to_owned(), removed, Some(3)), ("/l/3".to_owned(), added, Some(0))]);
    }

    #[test]
    fn several_changes_in_the_middle_mark_nothing_else() {
        let line = |sku: &str, quantity: u32| format!(r#"{{"sku":"{sku}","quantity":{quantity},"tax":"18"}}"#);
        let list = |lines: &[String]| format!(r#"{{"lines":[{}]}}"#, lines.join(","));
        let approved: Vec<String> = (0..20).map(|at| line(&format!("S{at}"), 1)).collect();
        let mut received = approved.clone();
        received[3] = line("S3", 7);
        received.insert(6, line("X", 1));
        received.remove(12);
        received[14] = line("S14", 9);
        assert_eq!(
            lines(&list(&approved), &list(&received), &[]),
            [
                "/lines/3/quantity changed 1 7".to_owned(),
                format!("/lines/6 added - {}", line("X", 1)),
                format!("/lines/11 removed {} -", line("S11", 1)),
                "/lines/14/quantity changed 1 9".to_owned(),
            ]
        );
    }

    #[test]
    fn lines_without_a_name_of_their_own_are_paired_with_the_most_similar() {
        let approved = r#"{"l":[{"text":"rent","amount":"10"},{"text":"heat","amount":"20"}]}"#;
        let received =
            r#"{"l":[{"text":"water","amount":"5"},{"text":"rent","amount":"11"},{"text":"heat","amount":"21"}]}"#;
        assert_eq!(
            lines(approved, received, &[]),
            [
                r#"/l/0 added - {"text":"water","amount":"5"}"#,
                r#"/l/0/amount changed "10" "11""#,
                r#"/l/1/amount changed "20" "21""#,
            ]
        );
    }

    #[test]
    fn lines_that_were_renumbered_keep_their_place() {
        let approved = r#"{"l":[{"line":1,"what":"rent","net":"10"},{"line":2,"what":"heat","net":"20"}]}"#;
        let received = r#"{"l":[{"line":1,"what":"water","net":"5"},{"line":2,"what":"rent","net":"10"},{"line":3,"what":"heat","net":"20"}]}"#;
        assert_eq!(
            lines(approved, received, &[]),
            [r#"/l/0 added - {"line":1,"what":"water","net":"5"}"#, "/l/0/line changed 1 2", "/l/1/line changed 2 3",]
        );
    }

    #[test]
    fn what_was_left_out_is_told_apart() {
        let payload = |text: &str| Payload::parse(text.as_bytes()).unwrap();
        let (approved, received) = (payload(r#"{"a":1,"at":"x","same":1}"#), payload(r#"{"a":2,"at":"y","same":1.0}"#));
        let volatile = ["/at", "/same"].map(|pointer| pointer.parse().unwrap());
        let comparison = compare(&approved, &received, &volatile);
        let paths = |found: Vec<Difference<'_>>| found.iter().map(|found| found.path().to_string()).collect::<Vec<_>>();
        assert_eq!(paths(comparison.differences()), ["/a"]);
        assert_eq!(paths(comparison.left_out()), ["/at"]);
    }

    #[test]
    fn repeated_items_do_not_overlap() {
        assert_eq!(lines(r#"{"l":[1,1,1]}"#, r#"{"l":[1,1]}"#, &[]), ["/l/2 removed 1 -"]);
    }
}
