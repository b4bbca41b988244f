//! Payloads, numbers and keys: measured by other people's implementations, and by what must hold for every value.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

use guard::canonical::canonical;
use guard::diff::{Change, ChangeKind, changes};
use guard::fingerprint::Fingerprint;
use guard::json::Json;
use guard::key::{KeyPart, OperationKey};
use guard::payload::Payload;
use guard::pointer::Pointer;
use proptest::prelude::*;
use serde_json::Value;

fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The value as a reader with doubles sees it; none where a number is beyond them.
fn in_doubles(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            let double: f64 = number.as_written().parse().unwrap();
            Value::Number(serde_json::Number::from_f64(double)?)
        }
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(in_doubles).collect::<Option<_>>()?),
        Json::Object(members) => Value::Object(
            members.iter().map(|(name, value)| Some((name.clone(), in_doubles(value)?))).collect::<Option<_>>()?,
        ),
    })
}

/// The same with serde_json's numbers as doubles; a unit in the last place is its own, it reads in a hurry.
fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            ours == theirs || ((ours - theirs) / ours).abs() < 1e-15
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().all(|(name, ours)| theirs.get(name).is_some_and(|theirs| is_same(ours, theirs)))
        }
        (ours, theirs) => ours == theirs,
    }
}

/// Any JSON whose numbers are doubles.
fn double_safe() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-1_000i64..1_000).prop_map(|whole| f64::from(i32::try_from(whole).unwrap())),
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|double| Value::Number(serde_json::Number::from_f64(double).unwrap())),
        any::<String>().prop_map(Value::String),
        "[\\x00-\\x7f]{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value with white space, members as they come, and numbers with more digits than they need. The digits are those of
/// ECMAScript: of two shortest texts for one double others may pick the other one, which is another number to us.
fn loosely_written(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(" ,\n");
    match value {
        Value::Number(number) => {
            let mut buffer = ryu_js::Buffer::new();
            let text = buffer.format_finite(number.as_f64().unwrap());
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
            let point = if mantissa.contains('.') { "" } else { "." };
            format!("{mantissa}{point}00E{exponent}")
        }
        Value::Array(items) => format!("[ {} ]", list(items.iter().map(loosely_written).collect())),
        Value::Object(members) => {
            let member = |(name, value)| format!("{} : {}", Value::String(String::clone(name)), loosely_written(value));
            format!("{{\t{}\r\n}}", list(members.iter().rev().map(member).collect()))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

/// Text that is JSON, or nearly.
fn nearly_json() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud83d", "\\ude9a", "\\n", "0", "1", "-", "+", ".", "e",
        "E5", "1e400", "true", "false", "null", "\"a\"", "\"a\":1", " ", "\t", "\n", "\u{a0}", "\u{feff}", "é", "🚚",
        "\0", "NaN", "//", "'",
    ]);
    prop_oneof![
        prop::collection::vec(pieces.clone(), 0..12).prop_map(|pieces| pieces.concat()),
        (double_safe(), any::<prop::sample::Index>(), pieces).prop_map(|(value, place, piece)| {
            let mut characters: Vec<char> = value.to_string().chars().collect();
            let place = place.index(characters.len());
            characters.splice(place..=place, piece.chars());
            characters.into_iter().collect()
        }),
    ]
}

/// A number in any spelling that JSON has.
fn spelled() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?([0-9]{1,2}|[1-8][0-9]{2}))?",
        2 => "-?(0|[1-9])(\\.[0-9]{1,2})?([eE][+-]?[0-2])?",
    ]
}

/// Small payloads over few names, so that two of them have much in common.
fn small() -> impl Strategy<Value = Json> {
    let leaf = prop::sample::select(vec!["null", "1", "1.0", "2", "\"x\"", "{}", "[]"]).prop_map(parse);
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            members(inner).prop_map(Json::Object),
        ]
    });
    members(value).prop_map(Json::Object)
}

fn members(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Vec<(String, Json)>> {
    let names = prop::sample::subsequence(vec!["a", "b", "0"], 0..=3).prop_shuffle();
    (names, prop::collection::vec(value, 3))
        .prop_map(|(names, values)| names.into_iter().map(ToOwned::to_owned).zip(values).collect())
}

fn pointers(tokens: Vec<&'static str>) -> impl Strategy<Value = Vec<Pointer>> {
    let tokens = prop::collection::vec(prop::sample::select(tokens), 1..4);
    let pointer = tokens.prop_map(|tokens| Pointer::from_tokens(tokens.into_iter().map(ToOwned::to_owned).collect()));
    prop::collection::vec(pointer, 0..4)
}

/// Makes of the approved payload what the changes say.
fn applied(approved: &Json, changes: &[Change]) -> Json {
    let mut json = approved.clone();
    for change in changes.iter().filter(|change| change.kind == ChangeKind::Changed) {
        *place(&mut json, change.path.tokens()) = change.received.clone().unwrap();
    }
    for change in changes.iter().rev().filter(|change| change.kind == ChangeKind::Removed) {
        let (last, parent) = change.path.tokens().split_last().unwrap();
        match place(&mut json, parent) {
            Json::Array(items) => {
                items.remove(last.parse().unwrap());
            }
            Json::Object(members) => members.retain(|(name, _)| name != last),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => panic!("nothing to remove {last} from"),
        }
    }
    for change in changes.iter().filter(|change| change.kind == ChangeKind::Added) {
        let (last, parent) = change.path.tokens().split_last().unwrap();
        let added = change.received.clone().unwrap();
        match place(&mut json, parent) {
            Json::Array(items) => {
                items.insert(last.parse().unwrap(), added);
            }
            Json::Object(members) => members.push((last.clone(), added)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => panic!("nothing to add {last} to"),
        }
    }
    json
}

fn place<'a>(json: &'a mut Json, tokens: &[String]) -> &'a mut Json {
    tokens.iter().fold(json, |json, token| match json {
        Json::Array(items) => &mut items[token.parse::<usize>().unwrap()],
        Json::Object(members) => members.iter_mut().find(|(name, _)| name == token).map(|(_, value)| value).unwrap(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => panic!("nothing below {token}"),
    })
}

fn key_parts() -> impl Strategy<Value = ([String; 5], u32)> {
    let part = "[ab/:]{1,3}|[a-zA-Z0-9é/#\u{301}]{1,12}";
    (prop::array::uniform5(part), 1..4u32)
}

fn key((parts, revision): &([String; 5], u32)) -> OperationKey {
    let [workflow, company, source_system, document, action] = parts.each_ref().map(|part| KeyPart::new(part).unwrap());
    OperationKey { workflow, company, source_system, document, action, revision: *revision }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_form_is_that_of_rfc_8785(value in double_safe()) {
        let theirs = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(canonical(&parse(&loosely_written(&value)), &[]), theirs);
    }

    #[test]
    fn the_canonical_form_is_a_fixed_point(value in double_safe()) {
        let once = canonical(&parse(&value.to_string()), &[]);
        prop_assert_eq!(canonical(&parse(&once), &[]), once);
    }

    #[test]
    fn what_is_taken_is_json_and_means_the_same(text in nearly_json()) {
        if let Ok(ours) = Json::parse(text.as_bytes()) {
            if let Some(ours) = in_doubles(&ours) {
                let theirs: Value = serde_json::from_str(&text).expect("JSON that others read too");
                prop_assert!(is_same(&ours, &theirs), "{ours} {theirs}");
            }
            prop_assert_eq!(parse(&ours.to_string()).to_string(), ours.to_string(), "compact text is JSON again");
            prop_assert_eq!(parse(&ours.indented()).to_string(), ours.to_string(), "so is the text for people");
        }
    }

    #[test]
    fn whatever_others_write_is_taken(value in double_safe()) {
        let ours = in_doubles(&parse(&serde_json::to_string_pretty(&value).unwrap())).unwrap();
        prop_assert!(is_same(&ours, &value), "{ours} {value}");
    }

    #[test]
    fn a_number_is_one_whatever_its_spelling(text in spelled(), zeros in 0..4usize) {
        let Json::Number(number) = parse(&text) else { panic!("{text}") };
        let canonical = number.canonical();
        let Json::Number(again) = parse(&canonical) else { panic!("{canonical}") };
        prop_assert_eq!(&again, &number, "it keeps its value");
        prop_assert_eq!(&again.canonical(), &canonical);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let point = if mantissa.contains('.') { "" } else { ".0" };
        let longer = format!("{mantissa}{point}{}E{exponent}", "0".repeat(zeros));
        let Json::Number(longer) = parse(&longer) else { panic!("{longer}") };
        prop_assert_eq!(longer.canonical(), canonical);
    }

    #[test]
    fn numbers_are_equal_when_they_are_written_alike(left in spelled(), right in spelled()) {
        let (Json::Number(left), Json::Number(right)) = (parse(&left), parse(&right)) else { panic!("numbers") };
        let is_equal = left.canonical() == right.canonical();
        prop_assert_eq!(left == right, is_equal);
        prop_assert_eq!(left.cmp(&right).is_eq(), is_equal);
        prop_assert_eq!(left.cmp(&right), right.cmp(&left).reverse());
    }

    #[test]
    fn changes_are_listed_exactly_when_fingerprints_differ(
        approved in small(), received in small(), volatile in pointers(vec!["a", "b", "0", "1", "2"]),
    ) {
        let (approved, received) = (Payload::new(approved).unwrap(), Payload::new(received).unwrap());
        let found = changes(&approved, &received, &volatile);
        let is_same = Fingerprint::of(&approved, &volatile) == Fingerprint::of(&received, &volatile);
        prop_assert_eq!(found.is_empty(), is_same, "{:?}", found);
    }

    #[test]
    fn the_changes_make_one_payload_of_the_other(
        approved in small(), received in small(), volatile in pointers(vec!["a", "b"]),
    ) {
        let found = changes(&Payload::new(approved.clone()).unwrap(), &Payload::new(received.clone()).unwrap(), &volatile);
        let made = applied(&approved, &found);
        prop_assert_eq!(canonical(&made, &volatile), canonical(&received, &volatile));
    }

    #[test]
    fn volatile_places_never_count(content in small(), volatile in pointers(vec!["a", "b"])) {
        let payload = Payload::new(content).unwrap();
        let stripped = Payload::new(parse(&canonical(payload.content(), &volatile))).unwrap();
        prop_assert_eq!(Fingerprint::of(&payload, &volatile), Fingerprint::of(&stripped, &[]));
    }

    #[test]
    fn different_keys_have_different_hashes(left in key_parts(), right in key_parts()) {
        prop_assert_eq!(key(&left).hash() == key(&right).hash(), left == right);
    }
}

#[test]
fn a_payload_keeps_any_text() {
    let text = r#"{"memo":"a\u0000b","\u0000":"\u001f\u007f\u2028"}"#;
    let payload = Payload::parse(text.as_bytes()).unwrap();
    let stored = payload.to_text();
    assert!(!stored.contains('\0'), "what a store keeps holds U+0000 only as an escape");
    assert_eq!(Payload::parse(stored.as_bytes()), Ok(payload));
}
