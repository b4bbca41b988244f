//! What may be amended: a place in a payload, and all below it.

use std::fmt;
use std::str::FromStr;

use crate::json::Json;
use crate::pointer::Pointer;

/// A place, written as a JSON Pointer in which an array's items may be told apart by a member: `/lines[sku]/quantity` is the quantity
/// of whichever line, and a line is the same line as long as its `sku` is the same. `/lines/0/quantity` is the quantity of the first
/// line, whichever that is. `~2` is `[` in a name that really ends with brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    steps: Vec<Step>,
}

/// One step of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Into the member of an object with this name, or the item of an array with this number.
    Into(String),
    /// Into every item of an array; items are told apart by this member.
    Items(String),
}

/// A text that is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPlace {
    /// It neither is empty nor starts with `/`.
    #[error("a place is empty or starts with \"/\" (RFC 6901), for example \"/amount\" or \"/lines[sku]/quantity\"")]
    NoLeadingSlash,
    /// A `~` stands alone.
    #[error(
        "in a place \"~\" is written \"~0\", \"/\" inside a name \"~1\", and \"[\" in a name that ends with \"]\" \"~2\""
    )]
    LoneTilde,
    /// The brackets name no member.
    #[error("the brackets name the member that tells items apart, for example \"/lines[sku]/quantity\"")]
    NoMember,
}

impl Place {
    /// The steps to it.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether what the pointer points at in this payload lies at this place or below it. The member by which items are told apart
    /// does not: an item with another one is another item.
    pub fn covers(&self, payload: &Json, pointer: &Pointer) -> bool {
        let mut tokens = pointer.tokens().iter();
        let mut identity = None;
        for step in &self.steps {
            let Some(token) = tokens.next() else { return false };
            identity = match step {
                Step::Into(name) if name == token => None,
                Step::Into(_) => return false,
                Step::Items(member) => Some(member),
            };
        }
        let is_item = |depth: usize| {
            let above = Pointer::from_tokens(pointer.tokens()[..depth].to_vec());
            matches!(above.find(payload), Some(Json::Array(_)))
        };
        let in_arrays = self.steps.iter().enumerate().all(|(depth, step)| match step {
            Step::Into(_) => true,
            Step::Items(_) => is_item(depth),
        });
        in_arrays && identity.is_none_or(|member| tokens.next().is_some_and(|token| token != member))
    }
}

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let mut steps = Vec::new();
        if text.is_empty() {
            return Ok(Self { steps });
        }
        let rest = text.strip_prefix('/').ok_or(NotAPlace::NoLeadingSlash)?;
        for token in rest.split('/') {
            match token.strip_suffix(']').and_then(|token| token.rsplit_once('[')) {
                Some((_, "")) => return Err(NotAPlace::NoMember),
                Some((array, member)) => {
                    steps.push(Step::Into(unescaped(array)?));
                    steps.push(Step::Items(unescaped(member)?));
                }
                None => steps.push(Step::Into(unescaped(token)?)),
            }
        }
        Ok(Self { steps })
    }
}

/// As in RFC 6901, and the bracket that an item's member would otherwise begin with.
const ESCAPES: [(char, char); 3] = [('0', '~'), ('1', '/'), ('2', '[')];

fn unescaped(token: &str) -> Result<String, NotAPlace> {
    crate::pointer::unescaped(token, &ESCAPES).ok_or(NotAPlace::LoneTilde)
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        for step in &self.steps {
            match step {
                Step::Into(name) if name.ends_with(']') => write!(formatter, "/{}", escaped(name).replace('[', "~2"))?,
                Step::Into(name) => write!(formatter, "/{}", escaped(name))?,
                Step::Items(member) => write!(formatter, "[{}]", escaped(member).replace('[', "~2"))?,
            }
        }
        Ok(())
    }
}

impl serde::Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Place {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(|wrong| serde::de::Error::custom(format_args!("{text:?}: {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_text() {
        for text in ["", "/a~1b/m~0n//0", "/lines[sku]/quantity", "/lines[a~1b]", "/odd~2x]/y", "/a[b]/c[d]/e"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        assert_eq!("/odd~2x]".parse::<Place>().unwrap().steps, [Step::Into("odd[x]".to_owned())]);
        assert_eq!("lines".parse::<Place>(), Err(NotAPlace::NoLeadingSlash));
        assert_eq!("/lines[]".parse::<Place>(), Err(NotAPlace::NoMember));
        assert_eq!("/a~3".parse::<Place>(), Err(NotAPlace::LoneTilde));
    }

    #[test]
    fn a_place_covers_what_is_below_it() {
        let payload = Json::parse(br#"{"lines":[{"sku":"A","quantity":1,"tax":{"rate":5}}],"note":"x"}"#).unwrap();
        let covers =
            |place: &str, pointer: &str| place.parse::<Place>().unwrap().covers(&payload, &pointer.parse().unwrap());
        assert!(covers("/note", "/note") && covers("", "/note") && covers("/lines", "/lines/0/sku"));
        assert!(covers("/lines[sku]/quantity", "/lines/0/quantity"));
        assert!(covers("/lines[sku]", "/lines/0/tax/rate"));
        assert!(!covers("/lines[sku]", "/lines/0/sku"), "what tells items apart does not change");
        assert!(!covers("/lines[sku]", "/lines/0"), "nor does a whole item");
        assert!(!covers("/lines[sku]/quantity", "/lines/0/sku") && !covers("/not", "/note"));
        assert!(!covers("/note[sku]", "/note/x"), "a text has no items");
    }
}
