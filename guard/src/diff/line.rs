//! Two payloads line by line: what stands behind the table of changes.

use super::{Comparison, Item};
use crate::json::{Json, write_string};

/// A line of the approved payload beside the line of the received one. Members of the received payload stand in the order of the
/// approved one, since their order never counts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Both have it.
    Same(String),
    /// Both have it, with different values.
    Changed(String, String),
    /// Only the approved payload has it.
    Removed(String),
    /// Only the received payload has it.
    Added(String),
    /// It is volatile and does not count; what each of them has.
    LeftOut(Option<String>, Option<String>),
}

impl Line {
    /// Whether it differs and counts.
    pub const fn counts(&self) -> bool {
        match self {
            Self::Same(_) | Self::LeftOut(..) => false,
            Self::Changed(..) | Self::Removed(_) | Self::Added(_) => true,
        }
    }
}

impl Comparison<'_> {
    /// Every line of both payloads, in the order of the approved one; two spaces for each level.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        write(&mut lines, 0, "", self);
        lines
    }
}

fn write(lines: &mut Vec<Line>, level: usize, name: &str, comparison: &Comparison<'_>) {
    let start = format!("{}{name}", "  ".repeat(level));
    match comparison {
        Comparison::Same { approved } => lines.extend(texts(&start, level, approved).map(Line::Same)),
        Comparison::Changed { approved, received } if is_one_line(approved) && is_one_line(received) => {
            lines.push(Line::Changed(format!("{start}{approved}"), format!("{start}{received}")));
        }
        Comparison::Changed { approved, received } => {
            lines.extend(texts(&start, level, approved).map(Line::Removed));
            lines.extend(texts(&start, level, received).map(Line::Added));
        }
        Comparison::Added { received, .. } => lines.extend(texts(&start, level, received).map(Line::Added)),
        Comparison::Removed { approved, .. } => lines.extend(texts(&start, level, approved).map(Line::Removed)),
        Comparison::LeftOut { approved, received } => {
            let all = |value: &Option<&Json>| value.map(|value| texts(&start, level, value).collect::<Vec<_>>());
            let mut approved = all(approved).unwrap_or_default().into_iter();
            let mut received = all(received).unwrap_or_default().into_iter();
            loop {
                match (approved.next(), received.next()) {
                    (None, None) => break,
                    (approved, received) => lines.push(Line::LeftOut(approved, received)),
                }
            }
        }
        Comparison::Members(members) => {
            lines.push(Line::Same(format!("{start}{{")));
            for (name, member) in members {
                let mut text = String::new();
                write_string(&mut text, name);
                write(lines, level + 1, &format!("{text}: "), member);
            }
            lines.push(Line::Same(format!("{}}}", "  ".repeat(level))));
        }
        Comparison::Items(items) => {
            lines.push(Line::Same(format!("{start}[")));
            for Item { comparison, .. } in items {
                write(lines, level + 1, "", comparison);
            }
            lines.push(Line::Same(format!("{}]", "  ".repeat(level))));
        }
    }
}

fn is_one_line(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// The lines of one value, its first behind `start`.
fn texts(start: &str, level: usize, value: &Json) -> impl Iterator<Item = String> {
    let text = value.indented();
    let indent = "  ".repeat(level);
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(number, line)| if number == 0 { format!("{start}{line}") } else { format!("{indent}{line}") })
        .collect();
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use crate::diff::compare;
    use crate::payload::Payload;

    #[test]
    fn lines_stand_beside_each_other() {
        let payload = |text: &str| Payload::parse(text.as_bytes()).unwrap();
        let approved = payload(r#"{"amount":"120.00","lines":[{"sku":"A"},{"sku":"B"}],"at":"x"}"#);
        let received = payload(r#"{"at":"y","lines":[{"sku":"A"},{"sku":"X"},{"sku":"B"}],"amount":"102.00"}"#);
        let lines: Vec<String> = compare(&approved, &received, &["/at".parse().unwrap()])
            .lines()
            .iter()
            .map(|line| format!("{line:?}").replace('\\', ""))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        Same("{")
        Changed("  "amount": "120.00"", "  "amount": "102.00"")
        Same("  "lines": [")
        Same("    {")
        Same("      "sku": "A"")
        Same("    }")
        Added("    {")
        Added("      "sku": "X"")
        Added("    }")
        Same("    {")
        Same("      "sku": "B"")
        Same("    }")
        Same("  ]")
        LeftOut(Some("  "at": "x""), Some("  "at": "y""))
        Same("}")
        "#);
    }
}
