//! What a workflow marks as sensitive is shown to nobody at the desk until somebody who may opens it, and the trail tells who did.
//!
//! An automation reads with its token what it sent itself; nothing is masked for it.

use crate::diff::Change;
use crate::json::Json;
use crate::pointer::Pointer;

/// A workflow marks at most this many places as sensitive.
pub const SENSITIVE_FIELDS_MAX: usize = 100;

/// What is opened stays open for whoever opened it for this many minutes.
pub const OPENED_MINUTES: i64 = 5;

/// What stands in place of a masked value.
pub const MASK: &str = "\u{2022}\u{2022}\u{2022}\u{2022} masked";

/// What stands in place of a masked value that differs from the one that it is compared with.
pub const MASK_OTHER: &str = "\u{2022}\u{2022}\u{2022}\u{2022} masked, another value";

/// What is masked of an operation's payloads for somebody. Everything below a masked place is masked with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Veil {
    /// The places that are masked; none where nothing is sensitive, or where it was opened.
    places: Vec<String>,
}

impl Veil {
    /// A veil over these places.
    pub fn over(places: &[Pointer]) -> Self {
        Self { places: places.iter().map(ToString::to_string).collect() }
    }

    /// The places that are masked.
    pub fn places(&self) -> &[String] {
        &self.places
    }

    /// Whether nothing is masked.
    pub fn is_lifted(&self) -> bool {
        self.places.is_empty()
    }

    /// A payload as it may be shown.
    pub fn payload(&self, payload: &Json) -> Json {
        self.value(&Pointer::from_tokens(Vec::new()), payload)
    }

    /// The text of a payload as it may be shown; one that is no JSON any more is masked whole.
    pub fn text(&self, payload: &str) -> String {
        if self.is_lifted() {
            return payload.to_owned();
        }
        Json::parse(payload.as_bytes()).map_or_else(|_| MASK.to_owned(), |json| self.payload(&json).to_string())
    }

    /// The texts of two payloads that are compared, as they may be shown: that a masked value changed is seen, and not from what to what.
    pub fn texts(&self, left: &str, right: &str) -> (String, String) {
        let (shown, parsed) = (self.text(left), (Json::parse(left.as_bytes()), Json::parse(right.as_bytes())));
        let (Ok(before), Ok(after)) = parsed else { return (shown, self.text(right)) };
        let canonical = |value: Option<&Json>| value.map(|value| crate::canonical::canonical(value, &[]));
        let mut other = after.clone();
        for masked in self.pointers() {
            let is_same = canonical(masked.find(&before)) == canonical(masked.find(&after));
            other = mask_at(other, masked.tokens(), if is_same { MASK } else { MASK_OTHER });
        }
        (shown, if self.is_lifted() { right.to_owned() } else { other.to_string() })
    }

    /// As [`Self::texts`], of payloads that were perhaps dropped.
    pub fn compared(&self, left: Option<String>, right: Option<String>) -> (Option<String>, Option<String>) {
        match (left, right) {
            (Some(left), Some(right)) => {
                let (left, right) = self.texts(&left, &right);
                (Some(left), Some(right))
            }
            (left, right) => (left.map(|left| self.text(&left)), right.map(|right| self.text(&right))),
        }
    }

    /// Leaves of the values of changes what may be shown: that a masked one changed is seen, and not from what to what.
    pub fn cover<'a>(&self, changes: impl IntoIterator<Item = &'a mut Change>) {
        for change in changes {
            change.approved = change.approved.as_ref().map(|value| self.shown(&change.path, value, MASK));
            change.received = change.received.as_ref().map(|value| self.shown(&change.path, value, MASK_OTHER));
        }
    }

    /// A value that stands at a place of a payload, as it may be shown.
    pub fn value(&self, at: &Pointer, value: &Json) -> Json {
        self.shown(at, value, MASK)
    }

    /// Whether a place is masked, or something below it.
    pub fn covers(&self, at: &Pointer) -> bool {
        self.pointers().any(|masked| masked.covers(at) || at.covers(&masked))
    }

    fn pointers(&self) -> impl Iterator<Item = Pointer> {
        self.places.iter().filter_map(|place| place.parse().ok())
    }

    fn shown(&self, at: &Pointer, value: &Json, mask: &str) -> Json {
        self.pointers().fold(value.clone(), |shown, masked| {
            if masked.covers(at) {
                return Json::String(mask.to_owned());
            }
            match masked.tokens().strip_prefix(at.tokens()) {
                Some(below) => mask_at(shown, below, mask),
                None => shown,
            }
        })
    }

    /// The facts of a lookup as they may be shown: the differences that it found name places of the payload.
    pub fn facts(&self, facts: &Json) -> Json {
        let Json::Object(members) = facts else { return facts.clone() };
        if self.is_lifted() {
            return facts.clone();
        }
        let shown = members.iter().map(|(name, value)| match (name.as_str(), value) {
            ("differences", Json::Array(differences)) => {
                (name.clone(), Json::Array(differences.iter().map(|difference| self.difference(difference)).collect()))
            }
            _ => (name.clone(), value.clone()),
        });
        Json::Object(shown.collect())
    }

    fn difference(&self, difference: &Json) -> Json {
        let place = difference.member("payload").and_then(Json::as_str).and_then(|place| place.parse::<Pointer>().ok());
        let (Some(place), Json::Object(members)) = (place, difference) else { return difference.clone() };
        let shown = members.iter().map(|(name, value)| match name.as_str() {
            "ours" | "theirs" => (name.clone(), self.value(&place, value)),
            _ => (name.clone(), value.clone()),
        });
        Json::Object(shown.collect())
    }
}

/// Masks what stands below a value, where something does; each item of an array is named by its place.
fn mask_at(value: Json, below: &[String], mask: &str) -> Json {
    let Some((first, rest)) = below.split_first() else { return Json::String(mask.to_owned()) };
    match value {
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .map(|(name, value)| if name == *first { (name, mask_at(value, rest, mask)) } else { (name, value) })
                .collect(),
        ),
        Json::Array(items) => Json::Array(
            items
                .into_iter()
                .enumerate()
                .map(|(place, item)| if place.to_string() == *first { mask_at(item, rest, mask) } else { item })
                .collect(),
        ),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn veil(places: &[&str]) -> Veil {
        Veil::over(&places.iter().map(|place| place.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_sensitive_is_masked_with_all_below() {
        let payload = r#"{"customer":{"iban":"DE1","name":{"first":"A"}},"lines":[{"note":"x"},{"note":"y"}]}"#;
        let shown = veil(&["/customer/iban", "/customer/name", "/lines/1/note", "/nowhere"]).text(payload);
        assert_eq!(
            shown,
            format!(
                r#"{{"customer":{{"iban":"{MASK}","name":"{MASK}"}},"lines":[{{"note":"x"}},{{"note":"{MASK}"}}]}}"#
            )
        );
        assert_eq!(veil(&[]).text(payload), payload);
        assert_eq!(veil(&["/x"]).text("no JSON"), MASK);
    }

    #[test]
    fn a_value_is_masked_by_where_it_stands() {
        let veil = veil(&["/customer/iban"]);
        let at = |place: &str, value: &str| {
            veil.value(&place.parse().unwrap(), &Json::parse(value.as_bytes()).unwrap()).to_string()
        };
        assert_eq!(at("/customer/iban", r#""DE1""#), format!("{MASK:?}"));
        assert_eq!(at("/customer/iban/part", "1"), format!("{MASK:?}"));
        assert_eq!(at("/customer", r#"{"iban":"DE1","id":7}"#), format!(r#"{{"iban":"{MASK}","id":7}}"#));
        assert_eq!(at("/amount", "7"), "7");
    }

    #[test]
    fn that_a_masked_value_changed_is_seen() {
        let veil = veil(&["/iban", "/name"]);
        let (left, right) = veil.texts(r#"{"iban":"DE1","name":7,"a":1}"#, r#"{"iban":"DE2","name":7.0,"a":2}"#);
        assert_eq!(left, format!(r#"{{"iban":"{MASK}","name":"{MASK}","a":1}}"#));
        assert_eq!(right, format!(r#"{{"iban":"{MASK_OTHER}","name":"{MASK}","a":2}}"#));
    }

    #[test]
    fn differences_of_a_lookup_are_masked() {
        let facts = r#"{"finding":"differs","differences":[{"payload":"/iban","record":"$.iban","ours":"DE1","theirs":"DE2"},{"payload":"/amount","ours":1,"theirs":2}]}"#;
        let shown = veil(&["/iban"]).facts(&Json::parse(facts.as_bytes()).unwrap()).to_string();
        assert!(!shown.contains("DE") && shown.contains(r#""ours":1"#), "{shown}");
    }
}
