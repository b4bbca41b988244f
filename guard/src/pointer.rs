//! JSON Pointer (RFC 6901).

use std::fmt;
use std::str::FromStr;

use crate::json::Json;

/// A path into a JSON value: `/lines/0/qty`; the empty pointer is the whole value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    tokens: Vec<String>,
}

/// A text that is no JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPointer {
    /// It neither is empty nor starts with `/`.
    #[error("a JSON Pointer is empty or starts with \"/\" (RFC 6901), for example \"/amount\"")]
    NoLeadingSlash,
    /// A `~` stands alone.
    #[error("in a JSON Pointer \"~\" is written \"~0\" and \"/\" inside a name \"~1\" (RFC 6901)")]
    LoneTilde,
}

impl Pointer {
    /// The pointer with these unescaped reference tokens.
    pub fn from_tokens(tokens: Vec<String>) -> Self {
        Self { tokens }
    }

    /// The unescaped reference tokens.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// The value it points at.
    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        self.tokens.iter().try_fold(value, |value, token| match value {
            Json::Object(members) => members.iter().find(|(name, _)| name == token).map(|(_, value)| value),
            Json::Array(items) => items.get(array_index(token)?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }

    /// Puts a value at this place, whatever stood there; objects on the way that are missing are made. Answers whether there is such
    /// a place: an array has no place for a member, nor a text for anything.
    pub fn put(&self, into: &mut Json, value: Json) -> bool {
        let mut place = into;
        for token in &self.tokens {
            place = match place {
                Json::Object(members) => {
                    let known = members.iter().position(|(name, _)| name == token);
                    let index = known.unwrap_or(members.len());
                    if known.is_none() {
                        members.push((token.clone(), Json::Object(Vec::new())));
                    }
                    &mut members[index].1
                }
                Json::Array(items) => match array_index(token).and_then(|index| items.get_mut(index)) {
                    Some(item) => item,
                    None => return false,
                },
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return false,
            };
        }
        *place = value;
        true
    }

    /// Whether `other` is this place or lies below it.
    pub fn covers(&self, other: &Self) -> bool {
        other.tokens.starts_with(&self.tokens)
    }
}

/// An array index as RFC 6901 writes it: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    if canonical { token.parse().ok() } else { None }
}

impl FromStr for Pointer {
    type Err = NotAPointer;

    fn from_str(text: &str) -> Result<Self, NotAPointer> {
        if text.is_empty() {
            return Ok(Self { tokens: Vec::new() });
        }
        let rest = text.strip_prefix('/').ok_or(NotAPointer::NoLeadingSlash)?;
        let tokens = rest.split('/').map(|token| unescaped(token, &ESCAPES).ok_or(NotAPointer::LoneTilde));
        let tokens = tokens.collect::<Result<_, _>>()?;
        Ok(Self { tokens })
    }
}

/// What stands behind a tilde, and what it stands for.
const ESCAPES: [(char, char); 2] = [('0', '~'), ('1', '/')];

/// The token as it is meant; none where a tilde has nothing of `escapes` behind it.
pub(crate) fn unescaped(token: &str, escapes: &[(char, char)]) -> Option<String> {
    let mut text = String::with_capacity(token.len());
    let mut characters = token.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '~' => {
                let digit = characters.next()?;
                escapes.iter().find(|(escape, _)| *escape == digit)?.1
            }
            other => other,
        });
    }
    Some(text)
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(formatter, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl serde::Serialize for Pointer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Pointer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(|wrong| serde::de::Error::custom(format_args!("{text:?}: {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_survive() {
        let pointer: Pointer = "/a~1b/m~0n//0".parse().unwrap();
        assert_eq!(pointer.tokens(), ["a/b", "m~n", "", "0"]);
        assert_eq!(pointer.to_string(), "/a~1b/m~0n//0");
    }

    #[test]
    fn a_value_is_put_where_the_pointer_points() {
        let put = |pointer: &str, into: &str| {
            let mut into = Json::parse(into.as_bytes()).unwrap();
            let is_put = pointer.parse::<Pointer>().unwrap().put(&mut into, Json::String("x".to_owned()));
            is_put.then(|| into.to_string())
        };
        assert_eq!(put("/a", r#"{"b":1.00}"#).unwrap(), r#"{"b":1.00,"a":"x"}"#);
        assert_eq!(put("/a", r#"{"a":1,"b":2}"#).unwrap(), r#"{"a":"x","b":2}"#);
        assert_eq!(put("/a/b", "{}").unwrap(), r#"{"a":{"b":"x"}}"#);
        assert_eq!(put("/a/1/b", r#"{"a":[1,{}]}"#).unwrap(), r#"{"a":[1,{"b":"x"}]}"#);
        assert_eq!(put("", "1").unwrap(), r#""x""#);
        for (pointer, into) in [("/a", "[]"), ("/0", "[]"), ("/a/b", r#"{"a":"text"}"#), ("/a", "null")] {
            assert_eq!(put(pointer, into), None, "{pointer} of {into}");
        }
    }

    #[test]
    fn a_pointer_needs_its_slash_and_whole_escapes() {
        assert_eq!("a".parse::<Pointer>(), Err(NotAPointer::NoLeadingSlash));
        assert_eq!("/a~2".parse::<Pointer>(), Err(NotAPointer::LoneTilde));
        assert_eq!("/a~".parse::<Pointer>(), Err(NotAPointer::LoneTilde));
    }

    #[test]
    fn it_finds_in_objects_and_arrays() {
        let value = Json::parse(br#"{"lines":[{"qty":1},{"qty":2}],"":3}"#).unwrap();
        let find = |text: &str| text.parse::<Pointer>().unwrap().find(&value).map(ToString::to_string);
        assert_eq!(find("/lines/1/qty").as_deref(), Some("2"));
        assert_eq!(find("/").as_deref(), Some("3"));
        assert_eq!(find("/lines/01/qty"), None, "no leading zero");
        assert_eq!(find("/lines/-"), None);
    }

    #[test]
    fn a_pointer_covers_what_is_below_it() {
        let pointer = |text: &str| text.parse::<Pointer>().unwrap();
        assert!(pointer("/lines").covers(&pointer("/lines/0/qty")));
        assert!(!pointer("/line").covers(&pointer("/lines")));
    }
}
