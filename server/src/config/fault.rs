//! What is wrong in a configuration file, in a sentence that says how to mend it.

use std::fmt;

use guard::destination::{LOOKUP_METHODS, METHODS};

use super::place::Tree;

/// The similarity (Jaro-Winkler, 0 to 1) from which a name is offered for another.
const SIMILAR_MIN: f64 = 0.8;

/// What is said of a key that is missing.
const MISSING: &str = "is missing; add it";

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column }
    }
}

/// What is wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file, as it was named.
    pub file: String,
    /// Where; none where the file as a whole is wrong.
    pub place: Option<Place>,
    /// The key with its tables: `workflow.retention.payload_days`; none where the text is no TOML.
    pub key: Option<String>,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(Place { line, column }) = self.place {
            write!(formatter, ":{line}:{column}")?;
        }
        if let Some(key) = &self.key {
            write!(formatter, ": {key}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for ConfigFault {}

/// The fault of a text that does not have the file's shape.
pub(super) fn of_shape(file: &str, text: &str, error: &toml::de::Error) -> ConfigFault {
    let span = error.span();
    let place = span.as_ref().map(|span| Place::of(text, span.start));
    let key = Tree::of(text).zip(span).and_then(|(tree, span)| tree.key_at(&span));
    let (missing, message) = mended(error.message());
    let key = match (key, missing) {
        (Some(key), Some(missing)) => Some(format!("{key}.{missing}")),
        (key, missing) => key.or(missing),
    };
    let possible: &[&str] = match key.as_deref() {
        Some("destination.lookup.method") => &LOOKUP_METHODS,
        Some("destination.create.method") => &METHODS,
        Some(_) | None => &[],
    };
    let message = if possible.is_empty() || message != MISSING {
        message
    } else {
        format!("{message}; possible: {}", possible.join(", "))
    };
    ConfigFault { file: file.to_owned(), place, key, message }
}

/// Says what the parser and the shapes say in the words of the file; also the key that is missing, where one is.
fn mended(message: &str) -> (Option<String>, String) {
    if let Some(missing) = quoted_after(message, "missing field ") {
        return (Some(missing.to_owned()), MISSING.to_owned());
    }
    if let Some(unknown) = quoted_after(message, "unknown field ") {
        let known: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        return (None, format!("there is no such key; {}", nearest(unknown, &known)));
    }
    if let Some(unknown) = quoted_after(message, "unknown variant ") {
        let known: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        return (None, format!("{unknown:?} is not possible; write one of: {}", known.join(", ")));
    }
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) {
        return (None, format!("is {}; write {}", in_words(found), expected_in_words(expected)));
    }
    if message == "duplicate key" {
        return (None, "this key stands twice; keep one".to_owned());
    }
    (None, message.to_owned())
}

fn quoted_after<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    message.strip_prefix(prefix)?.strip_prefix('`')?.split('`').next()
}

fn nearest(unknown: &str, known: &[&str]) -> String {
    let similar = known.iter().map(|name| (strsim::jaro_winkler(unknown, name), name));
    match similar.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((similarity, name)) if similarity >= SIMILAR_MIN => format!("did you mean {name}?"),
        Some(_) => format!("possible here: {}", known.join(", ")),
        None => "take it out".to_owned(),
    }
}

/// What stands there: `string "60"`, ``integer `-1` ``, `map`.
fn in_words(found: &str) -> String {
    let found = found.replace('`', "");
    let (kind, value) = found.split_once(' ').unwrap_or((&found, ""));
    let value = value.strip_prefix("point ").unwrap_or(value);
    match kind {
        "string" => format!("the text {value}"),
        "integer" | "floating" => format!("the number {value}"),
        "boolean" => value.to_owned(),
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => found,
    }
}

/// What should stand there: `u32`, `a sequence`, `struct Retention`.
fn expected_in_words(expected: &str) -> String {
    match expected {
        "u32" => format!("a whole number from 0 to {}, without quotes", u32::MAX),
        "usize" => "a whole number, without quotes".to_owned(),
        "a boolean" => "true or false, without quotes".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list in [ ], or the table in [[ ]]".to_owned(),
        "a map" => "a table in { } or under [ ]".to_owned(),
        other if other.starts_with("struct ") => "a table in { } or under [ ]".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "a = 1\nü = 2\r\nb = 3\n";
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(text, 9), Place { line: 2, column: 3 });
        assert_eq!(Place::of(text, text.len()), Place { line: 4, column: 1 });
    }
}
