//! The canonical form (JSON Canonicalization Scheme, RFC 8785) with exact numbers.
//!
//! Members are sorted by the UTF-16 code units of their names, as the RFC says; text is never normalised.

use crate::json::{Json, write_string};
use crate::pointer::Pointer;

/// The canonical text of a value without the places that `left_out` points at.
pub fn canonical(value: &Json, left_out: &[Pointer]) -> String {
    let mut text = String::new();
    let pointers: Vec<&[String]> = left_out.iter().map(Pointer::tokens).collect();
    write(&mut text, value, &pointers);
    text
}

fn write(text: &mut String, value: &Json, left_out: &[&[String]]) {
    match value {
        Json::Null | Json::Bool(_) => text.push_str(&value.to_string()),
        Json::Number(number) => text.push_str(&number.canonical()),
        Json::String(string) => write_string(text, string),
        Json::Array(items) => {
            text.push('[');
            let mut first = true;
            for (index, item) in items.iter().enumerate() {
                write_child(text, &index.to_string(), None, item, left_out, &mut first);
            }
            text.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<&(String, Json)> = members.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            text.push('{');
            let mut first = true;
            for (name, member) in sorted {
                write_child(text, name, Some(name), member, left_out, &mut first);
            }
            text.push('}');
        }
    }
}

fn write_child(
    text: &mut String,
    token: &str,
    name: Option<&str>,
    child: &Json,
    left_out: &[&[String]],
    first: &mut bool,
) {
    let below: Vec<&[String]> = left_out
        .iter()
        .filter_map(|pointer| pointer.split_first().filter(|(head, _)| *head == token).map(|(_, rest)| rest))
        .collect();
    if below.iter().any(|pointer| pointer.is_empty()) {
        return;
    }
    if !std::mem::take(first) {
        text.push(',');
    }
    if let Some(name) = name {
        write_string(text, name);
        text.push(':');
    }
    write(text, child, &below);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_of(text: &str, left_out: &[&str]) -> String {
        let pointers: Vec<Pointer> = left_out.iter().map(|pointer| pointer.parse().unwrap()).collect();
        canonical(&Json::parse(text.as_bytes()).unwrap(), &pointers)
    }

    #[test]
    fn members_sort_by_utf16_units() {
        assert_eq!(
            canonical_of("{\"\u{fb33}\":2,\"\u{1f600}\":1,\"a\":0,\"\":3}", &[]),
            "{\"\":3,\"a\":0,\"\u{1f600}\":1,\"\u{fb33}\":2}"
        );
    }

    #[test]
    fn numbers_are_one_however_they_are_written() {
        assert_eq!(canonical_of("[1180.00,1.18e3,-0.0]", &[]), "[1180,1180,0]");
    }

    #[test]
    fn array_order_counts() {
        assert_ne!(canonical_of("[1,2]", &[]), canonical_of("[2,1]", &[]));
    }

    #[test]
    fn places_are_left_out_with_all_below_them() {
        let text = r#"{"meta":{"attempt":2,"sent_at":"x","keep":1},"lines":[{"t":1,"q":2},{"t":3,"q":4}]}"#;
        assert_eq!(
            canonical_of(text, &["/meta/attempt", "/meta/sent_at", "/lines/0", "/absent/deep"]),
            r#"{"lines":[{"q":4,"t":3}],"meta":{"keep":1}}"#
        );
    }
}
