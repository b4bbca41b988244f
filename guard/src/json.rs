//! JSON (RFC 8259) read strictly and kept exactly.
//!
//! Payloads are money: a parser that bends numbers to doubles or takes the last of two equal members would let two different
//! payloads look alike. So numbers keep their lexeme, and whatever two readers could understand differently is refused:
//! duplicate members, unpaired surrogates, a byte order mark, bytes that are not UTF-8.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;

use crate::number::{Number, UnsafeNumber};

/// Arrays and objects may nest this deep.
pub const NESTING_MAX: usize = 64;

/// What travels between the guard's own halves nests at most this deep: a payload inside its envelope.
const TRAVEL_NESTING_MAX: usize = 2 * NESTING_MAX;

/// Up to this many members, names are compared one by one; beyond, a hash set finds duplicates.
const LINEAR_SEARCH_MEMBERS_MAX: usize = 16;

/// A JSON value; members stay in the order in which they came.
#[derive(Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number with all its digits.
    Number(Number),
    /// Text, never normalised.
    String(String),
    /// Items in order.
    Array(Vec<Json>),
    /// Members in the order in which they came; no name stands twice.
    Object(Vec<(String, Json)>),
}

/// Why a text is not the JSON that Onceover takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// A byte order mark stands before the text.
    #[error("the text starts with a byte order mark; send UTF-8 without one")]
    ByteOrderMark,
    /// The bytes are not UTF-8.
    #[error("the bytes are not UTF-8")]
    NotUtf8,
    /// The text ends inside a value.
    #[error("the text ends too early")]
    EndOfText,
    /// Something stands where it cannot.
    #[error("unexpected {0}")]
    Unexpected(String),
    /// Something follows the value.
    #[error("something follows after the value")]
    TrailingText,
    /// A name stands twice in one object.
    #[error("the member {0:?} stands twice in one object; readers would disagree which one counts")]
    DuplicateMember(String),
    /// A surrogate without its other half.
    #[error("an unpaired surrogate is no character")]
    UnpairedSurrogate,
    /// A control character stands bare in a string.
    #[error("a control character must be escaped in a string")]
    BareControl,
    /// An escape that JSON does not have.
    #[error("an escape that JSON does not have")]
    UnknownEscape,
    /// Deeper than [`NESTING_MAX`] (or what the caller allowed).
    #[error("arrays and objects nest too deep (at most {0} levels)")]
    TooDeep(usize),
    /// A number beyond what is kept.
    #[error(transparent)]
    UnsafeNumber(#[from] UnsafeNumber),
}

/// A fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl Json {
    /// Reads one JSON value that nests at most [`NESTING_MAX`] levels.
    ///
    /// # Errors
    /// The first fault with its place.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        Self::parse_nested(text, NESTING_MAX)
    }

    /// Reads one JSON value that nests at most `nesting_max` levels: an envelope around a payload is allowed its own.
    ///
    /// # Errors
    /// The first fault with its place.
    pub fn parse_nested(text: &[u8], nesting_max: usize) -> Result<Self, JsonError> {
        let at_start = |fault| JsonError { fault, line: 1, column: 1 };
        if text.starts_with(b"\xEF\xBB\xBF") {
            return Err(at_start(JsonFault::ByteOrderMark));
        }
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => return Err(place(text, error.valid_up_to(), JsonFault::NotUtf8)),
        };
        let mut parser = Parser { text, at: 0, nesting_max };
        parser.document().map_err(|fault| place(text.as_bytes(), parser.at, fault))
    }

    /// The member with this name, where this is an object that has it.
    pub fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    /// The text, where this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// How deep arrays and objects nest in it; a scalar has depth 0.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 0,
        }
    }

    /// What kind of value it is, in a sentence.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The value over several lines, two spaces a level, numbers as they were written: for people.
    pub fn indented(&self) -> String {
        let mut text = String::new();
        self.write_indented(&mut text, 0);
        text
    }

    fn write_indented(&self, text: &mut String, level: usize) {
        match self {
            Self::Array(items) if !items.is_empty() => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    break_line(text, index, level + 1);
                    item.write_indented(text, level + 1);
                }
                break_line(text, 0, level);
                text.push(']');
            }
            Self::Object(members) if !members.is_empty() => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    break_line(text, index, level + 1);
                    write_string(text, name);
                    text.push_str(": ");
                    value.write_indented(text, level + 1);
                }
                break_line(text, 0, level);
                text.push('}');
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) | Self::Object(_) => {
                write_compact(text, self);
            }
        }
    }
}

fn break_line(text: &mut String, index: usize, level: usize) {
    if index > 0 {
        text.push(',');
    }
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", level));
}

fn write_compact(text: &mut String, value: &Json) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => text.push_str(number.as_written()),
        Json::String(string) => write_string(text, string),
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_compact(text, item);
            }
            text.push(']');
        }
        Json::Object(members) => {
            text.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(text, name);
                text.push(':');
                write_compact(text, member);
            }
            text.push('}');
        }
    }
}

/// Writes a JSON string with the escapes of RFC 8785, section 3.2.2.2, which are also the shortest of RFC 8259.
pub(crate) fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

impl fmt::Display for Json {
    /// Compact, members in their order, numbers as they were written.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_compact(&mut text, self);
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Travels as its JSON text, so that no reader on the way can bend a number.
impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse_nested(text.as_bytes(), TRAVEL_NESTING_MAX).map_err(serde::de::Error::custom)
    }
}

fn place(text: &[u8], at: usize, fault: JsonFault) -> JsonError {
    let before = &text[..at.min(text.len())];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
    JsonError { fault, line, column }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting_max: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Json, JsonFault> {
        let value = self.value(0)?;
        self.skip_white_space();
        if self.at < self.text.len() {
            return Err(JsonFault::TrailingText);
        }
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> JsonFault {
        match self.text[self.at..].chars().next() {
            Some(character) => JsonFault::Unexpected(format!("{character:?}")),
            None => JsonFault::EndOfText,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonFault> {
        self.skip_white_space();
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'n') => self.literal("null", Json::Null),
            Some(_) | None => Err(self.unexpected()),
        }
    }

    fn literal(&mut self, literal: &str, value: Json) -> Result<Json, JsonFault> {
        if self.text[self.at..].starts_with(literal) {
            self.at += literal.len();
            Ok(value)
        } else {
            Err(self.unexpected())
        }
    }

    fn enter(&mut self, depth: usize) -> Result<(), JsonFault> {
        if depth > self.nesting_max {
            return Err(JsonFault::TooDeep(self.nesting_max));
        }
        self.at += 1;
        self.skip_white_space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonFault> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_white_space();
            if self.peek() == Some(b',') {
                self.at += 1;
            } else {
                self.expect(b']')?;
                return Ok(Json::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonFault> {
        self.enter(depth)?;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut names = HashSet::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_white_space();
            let name_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let name = self.string()?;
            if is_duplicate(&members, &mut names, &name) {
                self.at = name_at;
                return Err(JsonFault::DuplicateMember(name));
            }
            self.skip_white_space();
            self.expect(b':')?;
            let value = self.value(depth)?;
            members.push((name, value));
            self.skip_white_space();
            if self.peek() == Some(b',') {
                self.at += 1;
            } else {
                self.expect(b'}')?;
                return Ok(Json::Object(members));
            }
        }
    }

    fn number(&mut self) -> Result<Number, JsonFault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let lexeme = &self.text[start..self.at];
        Number::from_grammatical(lexeme).map_err(|error| {
            self.at = start;
            error.into()
        })
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let run_start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1F)) {
                self.at += 1;
            }
            string.push_str(&self.text[run_start..self.at]);
            match self.peek() {
                None => return Err(JsonFault::EndOfText),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(JsonFault::BareControl),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonFault> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else { return Err(JsonFault::EndOfText) };
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.code_unit()?;
                let unpaired = |parser: &mut Self| {
                    parser.at = start;
                    JsonFault::UnpairedSurrogate
                };
                match first {
                    0xD800..=0xDBFF => {
                        if !self.text[self.at..].starts_with("\\u") {
                            return Err(unpaired(self));
                        }
                        self.at += 2;
                        let second = self.code_unit()?;
                        if !(0xDC00..=0xDFFF).contains(&second) {
                            return Err(unpaired(self));
                        }
                        let scalar = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                        char::from_u32(scalar).ok_or(JsonFault::UnpairedSurrogate)?
                    }
                    other => char::from_u32(other).ok_or_else(|| unpaired(self))?,
                }
            }
            _ => {
                self.at = start;
                return Err(JsonFault::UnknownEscape);
            }
        })
    }

    fn code_unit(&mut self) -> Result<u32, JsonFault> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.unexpected())?;
            self.at += 1;
        }
        Ok(unit)
    }
}

fn is_duplicate(members: &[(String, Json)], names: &mut HashSet<String>, name: &str) -> bool {
    if members.len() < LINEAR_SEARCH_MEMBERS_MAX {
        return members.iter().any(|(known, _)| known == name);
    }
    if names.is_empty() {
        names.extend(members.iter().map(|(known, _)| known.clone()));
    }
    !names.insert(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> JsonFault {
        Json::parse(text.as_bytes()).unwrap_err().fault
    }

    #[test]
    fn what_readers_would_read_differently_is_refused() {
        assert_eq!(fault(r#"{"amount":1,"amount":1}"#), JsonFault::DuplicateMember("amount".into()));
        assert_eq!(fault(r#"{"amount":1,"\u0061mount":2}"#), JsonFault::DuplicateMember("amount".into()));
        assert_eq!(fault(r#"{"l":[{"q":1,"q":2}]}"#), JsonFault::DuplicateMember("q".into()));
        assert_eq!(fault("\u{feff}{}"), JsonFault::ByteOrderMark);
        for lonely in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800x""#, r#""\ud800\n""#] {
            assert_eq!(fault(lonely), JsonFault::UnpairedSurrogate, "{lonely}");
        }
        assert_eq!(Json::parse(b"\"\xff\"").unwrap_err().fault, JsonFault::NotUtf8);
    }

    #[test]
    fn a_duplicate_is_found_among_many_members() {
        let members: Vec<String> = (0..40).map(|index| format!("\"m{index}\":0")).collect();
        let text = format!("{{{},\"m17\":1}}", members.join(","));
        assert_eq!(fault(&text), JsonFault::DuplicateMember("m17".into()));
    }

    #[test]
    fn what_json_is_not_is_refused() {
        for text in [
            "",
            " ",
            "nul",
            "NaN",
            "Infinity",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "-",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{'a':1}",
            "[1 2]",
            "\"\t\"",
            "\"\\x\"",
            "\"",
            "{\"a\":1}{",
            "[",
            "tru",
            "\"\\u12g4\"",
        ] {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Json::parse(nested(64).as_bytes()).unwrap().depth(), 64);
        assert_eq!(fault(&nested(65)), JsonFault::TooDeep(64));
        assert_eq!(fault(&"[".repeat(100_000)), JsonFault::TooDeep(64));
    }

    #[test]
    fn a_fault_names_its_place() {
        let error = Json::parse(b"{\n  \"a\": 1,\n  \"a\": 2\n}").unwrap_err();
        insta::assert_snapshot!(error, @r#"line 3, column 3: the member "a" stands twice in one object; readers would disagree which one counts"#);
    }

    #[test]
    fn the_text_comes_back_as_it_was_meant() {
        let text = "{\"b\":[1.50,-0,1e3,true,null],\"a\":\"\\u00e9 \\ud83d\\ude9a \\u0001\\n\"}";
        assert_eq!(
            Json::parse(text.as_bytes()).unwrap().to_string(),
            "{\"b\":[1.50,-0,1e3,true,null],\"a\":\"é 🚚 \\u0001\\n\"}"
        );
    }

    #[test]
    fn people_read_it_over_lines() {
        let value = Json::parse(br#"{"a":[1,{}],"b":{"c":[]}}"#).unwrap();
        insta::assert_snapshot!(value.indented(), @r#"
        {
          "a": [
            1,
            {}
          ],
          "b": {
            "c": []
          }
        }
        "#);
    }
}
