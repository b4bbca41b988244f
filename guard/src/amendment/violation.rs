//! What a change may not touch.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::place::{Place, Step};
use crate::canonical::canonical;
use crate::diff::ChangeKind;
use crate::json::Json;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::workflow::Correction;

/// A refusal lists at most this many violations.
pub const VIOLATIONS_LISTED_MAX: usize = 100;

/// A change that a rule of the workflow forbids.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Violation {
    /// Where: into the base for what changed or was removed, into the proposal for what was added.
    pub path: Pointer,
    /// How it differs.
    pub kind: ChangeKind,
    /// The rule that forbids it.
    pub rule: Rule,
}

/// A rule that forbids a change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The workflow names no amendable place: nothing may change.
    NothingAmendable,
    /// Only these places may change.
    Amendable {
        /// The places, with all below them.
        places: Vec<Place>,
    },
    /// Items are told apart by a member, and here they cannot be.
    Items {
        /// The place that names the member.
        place: Place,
    },
    /// Items that are told apart by a member stay in their order.
    Order {
        /// The place that names the member.
        place: Place,
    },
    /// What is confirmed is not corrected at all.
    Correction {
        /// Why that rule applies.
        because: String,
    },
}

impl Rule {
    /// The key of the configuration file that says so.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::NothingAmendable | Self::Amendable { .. } | Self::Items { .. } | Self::Order { .. } => {
                "workflow.amendment.amendable"
            }
            Self::Correction { .. } => "workflow.amendment",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingAmendable => {
                formatter.write_str("nothing may be changed: the workflow names no amendable place")
            }
            Self::Amendable { places } => {
                let places: Vec<String> = places.iter().map(ToString::to_string).collect();
                write!(formatter, "only {} may be changed", places.join(", "))
            }
            Self::Items { place } => write!(
                formatter,
                "{place} may be changed where every item has a value of its own that tells it apart, and here one is missing or \
                 stands twice"
            ),
            Self::Order { place } => write!(formatter, "{place} may be changed, but not the order of the items"),
            Self::Correction { because } => {
                write!(formatter, "the correction is {:?}: {because}", Correction::Forbid.as_str())
            }
        }
    }
}

/// What differs between two payloads outside the amendable places; volatile places never count.
pub fn violations(base: &Payload, proposed: &Payload, volatile: &[Pointer], amendable: &[Place]) -> Vec<Violation> {
    let rule =
        if amendable.is_empty() { Rule::NothingAmendable } else { Rule::Amendable { places: amendable.to_vec() } };
    let mut walk = Walk { volatile, rule, path: Vec::new(), found: Vec::new() };
    let open: Vec<Open<'_>> = amendable.iter().map(|place| Open { place, steps: place.steps() }).collect();
    walk.compare(base.content(), proposed.content(), &open);
    walk.found
}

/// A place that may lie below, with the steps that are left.
#[derive(Clone, Copy)]
struct Open<'a> {
    place: &'a Place,
    steps: &'a [Step],
}

impl<'a> Open<'a> {
    /// The place one step further, where it goes into this member or item.
    fn through(self, token: &str) -> Option<Self> {
        match self.steps.split_first() {
            Some((Step::Into(name), steps)) if name == token => Some(Self { steps, ..self }),
            Some((Step::Into(_) | Step::Items(_), _)) | None => None,
        }
    }

    /// The member by which items are told apart here.
    fn identity(self) -> Option<&'a str> {
        match self.steps.first() {
            Some(Step::Items(member)) => Some(member),
            Some(Step::Into(_)) | None => None,
        }
    }
}

struct Walk<'a> {
    volatile: &'a [Pointer],
    rule: Rule,
    path: Vec<String>,
    found: Vec<Violation>,
}

impl Walk<'_> {
    fn compare(&mut self, base: &Json, proposed: &Json, open: &[Open<'_>]) {
        if is_permitted(open) || base == proposed || canonical(base, &[]) == canonical(proposed, &[]) {
            return;
        }
        match (base, proposed) {
            (Json::Object(base), Json::Object(proposed)) => self.members(base, proposed, open),
            (Json::Array(base), Json::Array(proposed)) => self.items(base, proposed, open),
            (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_), _) => {
                self.forbid(ChangeKind::Changed);
            }
        }
    }

    fn members(&mut self, base: &[(String, Json)], proposed: &[(String, Json)], open: &[Open<'_>]) {
        let by_name: HashMap<&str, &Json> = proposed.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let known: HashSet<&str> = base.iter().map(|(name, _)| name.as_str()).collect();
        for (name, value) in base {
            let open = into(open, name);
            self.at(name, |walk| walk.pair(Some(value), by_name.get(name.as_str()).copied(), &open));
        }
        for (name, value) in proposed.iter().filter(|(name, _)| !known.contains(name.as_str())) {
            let open = into(open, name);
            self.at(name, |walk| walk.pair(None, Some(value), &open));
        }
    }

    fn items(&mut self, base: &[Json], proposed: &[Json], open: &[Open<'_>]) {
        let told_apart = open.iter().find_map(|open| open.identity().map(|member| (open.place, member)));
        if let Some((place, member)) = told_apart {
            let Some((ours, theirs)) = identities(base, member).zip(identities(proposed, member)) else {
                return self.forbid_by(ChangeKind::Changed, Rule::Items { place: place.clone() });
            };
            return self.items_by(member, place, (base, &ours), (proposed, &theirs), open);
        }
        if open.is_empty() && base.len() != proposed.len() {
            return self.forbid(ChangeKind::Changed);
        }
        for index in 0..base.len().max(proposed.len()) {
            let token = index.to_string();
            let open = into(open, &token);
            self.at(&token, |walk| walk.pair(base.get(index), proposed.get(index), &open));
        }
    }

    /// Compares the items that are the same by their identity.
    fn items_by(
        &mut self,
        member: &str,
        place: &Place,
        (base, ours): (&[Json], &[String]),
        (proposed, theirs): (&[Json], &[String]),
        open: &[Open<'_>],
    ) {
        let common = |own: &[String], other: &[String]| -> Vec<String> {
            own.iter().filter(|id| other.contains(id)).cloned().collect()
        };
        if common(ours, theirs) != common(theirs, ours) {
            self.forbid_by(ChangeKind::Changed, Rule::Order { place: place.clone() });
        }
        for (index, (item, identity)) in base.iter().zip(ours).enumerate() {
            let same = theirs.iter().position(|other| other == identity).and_then(|place| proposed.get(place));
            let token = index.to_string();
            let mut below = into(open, &token);
            below.extend(
                open.iter()
                    .filter(|open| open.identity() == Some(member))
                    .filter_map(|open| open.steps.split_first().map(|(_, steps)| Open { steps, ..*open })),
            );
            match same {
                Some(other) => self.at(&token, |walk| walk.compare(item, other, &below)),
                None => self.at(&token, |walk| walk.forbid(ChangeKind::Removed)),
            }
        }
        for (index, identity) in theirs.iter().enumerate() {
            if !ours.contains(identity) {
                self.at(&index.to_string(), |walk| walk.forbid(ChangeKind::Added));
            }
        }
    }

    fn pair(&mut self, base: Option<&Json>, proposed: Option<&Json>, open: &[Open<'_>]) {
        match (base, proposed) {
            (Some(base), Some(proposed)) => self.compare(base, proposed, open),
            (Some(_), None) if !is_permitted(open) => self.forbid(ChangeKind::Removed),
            (None, Some(_)) if !is_permitted(open) => self.forbid(ChangeKind::Added),
            (Some(_), None) | (None, Some(_)) | (None, None) => {}
        }
    }

    fn at(&mut self, token: &str, compare: impl FnOnce(&mut Self)) {
        self.path.push(token.to_owned());
        if !self.volatile.iter().any(|pointer| pointer.tokens() == self.path.as_slice()) {
            compare(self);
        }
        self.path.pop();
    }

    fn forbid(&mut self, kind: ChangeKind) {
        self.forbid_by(kind, self.rule.clone());
    }

    fn forbid_by(&mut self, kind: ChangeKind, rule: Rule) {
        self.found.push(Violation { path: Pointer::from_tokens(self.path.clone()), kind, rule });
    }
}

/// Whether a place ends here: all below it may change.
fn is_permitted(open: &[Open<'_>]) -> bool {
    open.iter().any(|open| open.steps.is_empty())
}

fn into<'a>(open: &[Open<'a>], token: &str) -> Vec<Open<'a>> {
    open.iter().filter_map(|open| open.through(token)).collect()
}

/// What tells each item apart; none where an item has no such member, or two have the same.
fn identities(items: &[Json], member: &str) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    items
        .iter()
        .map(|item| {
            let identity = canonical(item.member(member)?, &[]);
            seen.insert(identity.clone()).then_some(identity)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(base: &str, proposed: &str, amendable: &[&str]) -> Vec<String> {
        let payload = |text: &str| Payload::parse(text.as_bytes()).unwrap();
        let amendable: Vec<Place> = amendable.iter().map(|place| place.parse().unwrap()).collect();
        let volatile = ["/meta/sent_at".parse().unwrap()];
        violations(&payload(base), &payload(proposed), &volatile, &amendable)
            .iter()
            .map(|violation| format!("{} {}", violation.path, violation.kind.as_str()))
            .collect()
    }

    #[test]
    fn a_place_permits_what_is_below_it_and_nothing_else() {
        let base = r#"{"customer":"C-77","quantity":2,"lines":[{"sku":"A"}],"meta":{"sent_at":"then"}}"#;
        let proposed = r#"{"customer":"C-78","quantity":3,"lines":[{"sku":"B"}],"meta":{"sent_at":"now"}}"#;
        assert_eq!(found(base, proposed, &["/quantity", "/lines"]), ["/customer changed"]);
        assert_eq!(found(base, proposed, &[""]), [""; 0]);
        assert_eq!(found(base, proposed, &[]), ["/customer changed", "/quantity changed", "/lines/0/sku changed"]);
        assert_eq!(found(r#"{"quantity":2}"#, r#"{"quantity":2.0}"#, &[]), [""; 0], "the same number");
    }

    #[test]
    fn members_come_and_go_only_where_a_place_says_so() {
        assert_eq!(found(r#"{"a":1}"#, r#"{"b":1}"#, &["/b"]), ["/a removed"]);
        assert_eq!(found(r#"{"a":{"b":1}}"#, r#"{"a":{"b":1,"c":2}}"#, &["/a/c"]), [""; 0]);
        assert_eq!(found(r"{}", r#"{"a":{"c":2}}"#, &["/a/c"]), ["/a added"]);
    }

    #[test]
    fn items_by_position() {
        let base = r#"{"lines":[{"q":1},{"q":2}]}"#;
        assert_eq!(found(base, r#"{"lines":[{"q":9},{"q":9}]}"#, &["/lines/0/q"]), ["/lines/1/q changed"]);
        assert_eq!(found(base, r#"{"lines":[{"q":1},{"q":2},{"q":3}]}"#, &["/lines/2"]), [""; 0]);
        assert_eq!(found(base, r#"{"lines":[{"q":1},{"q":2},{"q":3}]}"#, &["/lines/0"]), ["/lines/2 added"]);
        assert_eq!(found(base, r#"{"lines":[{"q":1}]}"#, &["/note"]), ["/lines changed"]);
    }

    #[test]
    fn items_by_an_identifying_member() {
        let base = r#"{"lines":[{"sku":"A","q":1,"p":5},{"sku":"B","q":2,"p":5}]}"#;
        let by_sku = ["/lines[sku]/q"];
        assert_eq!(found(base, r#"{"lines":[{"sku":"A","q":7,"p":5},{"sku":"B","q":8,"p":5}]}"#, &by_sku), [""; 0]);
        assert_eq!(
            found(base, r#"{"lines":[{"sku":"A","q":7,"p":6},{"sku":"B","q":8,"p":5}]}"#, &by_sku),
            ["/lines/0/p changed"]
        );
        assert_eq!(
            found(base, r#"{"lines":[{"sku":"X","q":1,"p":5},{"sku":"B","q":2,"p":5}]}"#, &by_sku),
            ["/lines/0 removed", "/lines/0 added"],
            "another line is not this line with another number"
        );
        assert_eq!(
            found(base, r#"{"lines":[{"sku":"B","q":2,"p":5},{"sku":"A","q":1,"p":5}]}"#, &by_sku),
            ["/lines changed"]
        );
        assert_eq!(
            found(base, r#"{"lines":[{"sku":"A","q":1,"p":5},{"sku":"A","q":2,"p":5}]}"#, &by_sku),
            ["/lines changed"]
        );
    }
}
