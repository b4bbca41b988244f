//! The path of a lookup or a list: a template whose values are percent-encoded, so that none of them can become part of the address's shape.

use std::collections::BTreeMap;

use guard::clock::{Timestamp, rfc3339};
use guard::json::Json;
use guard::operation::Operation;
use guard::payload::Payload;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A template may take this many steps.
const FUEL_STEPS_MAX: u64 = 10_000;

/// A path that a template makes has at most this many bytes: what servers commonly take.
pub const PATH_BYTES_MAX: usize = 8_000;

/// Everything but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a template may name.
#[derive(Clone, Debug)]
pub struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// The values of an operation; without its payload where the body was forgotten.
    pub fn of(operation: &Operation, payload: Option<&Payload>) -> Self {
        let key = &operation.key;
        let mut values = BTreeMap::from([
            ("external_reference", Value::from(operation.external_reference())),
            ("document", Value::from(key.document.as_str())),
            ("company", Value::from(key.company.as_str())),
            ("source_system", Value::from(key.source_system.as_str())),
            ("action", Value::from(key.action.as_str())),
            ("revision", Value::from(key.revision)),
            ("idempotency_key", Value::from(operation.idempotency_key())),
        ]);
        if let Some(payload) = payload {
            values.insert("payload", value(payload.content()));
        }
        Self(values)
    }

    /// An external reference that somebody typed, and nothing else.
    pub fn reference(external_reference: &str) -> Self {
        Self(BTreeMap::from([("external_reference", Value::from(external_reference))]))
    }

    /// A company and a period, for a list.
    pub fn period(company: &str, from: Timestamp, to: Timestamp) -> Self {
        let moment = |moment| Value::from(rfc3339(moment));
        Self(BTreeMap::from([("company", Value::from(company)), ("from", moment(from)), ("to", moment(to))]))
    }
}

/// A number travels as it was written: no digit passes through floating point.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => Value::from(number.as_written()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value).collect(),
        Json::Object(members) => Value::from_pairs(members.iter().map(|(name, member)| (name.as_str(), value(member)))),
    }
}

/// Checks a template that may name these values, as far as that is possible without them.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn check(path: &str, possible: &[&str]) -> Result<(), String> {
    let environment = environment();
    let template = environment.template_from_str(path).map_err(|error| format!("is no template: {}", told(&error)))?;
    let mut names: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    names.sort_unstable();
    if let Some(name) = names.iter().find(|name| !possible.contains(&name.as_str())) {
        return Err(format!("names {name:?}; possible: {}", possible.join(", ")));
    }
    if climbs(path) {
        return Err("holds \".\" or \"..\" between slashes; a path lies below base_url".to_owned());
    }
    Ok(())
}

/// The path that a template makes of these values.
///
/// # Errors
/// Why there is none, in a sentence: a value that it names is missing, above all.
pub fn path(template: &str, values: &Values) -> Result<String, String> {
    let path = environment().render_str(template, Value::from_pairs(values.0.clone())).map_err(|error| told(&error))?;
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("the path has over {PATH_BYTES_MAX} bytes"));
    }
    if climbs(&path) {
        return Err("a value is \".\" or \"..\" between slashes, which would lead elsewhere".to_owned());
    }
    Ok(path)
}

/// Whether a segment before the query means another place, encoded or not.
pub fn climbs(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| matches!(&*percent_decode_str(segment).decode_utf8_lossy(), "." | ".."))
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL_STEPS_MAX));
    environment.set_formatter(encode);
    environment
}

fn encode(output: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    let kind = value.kind();
    if matches!(kind, ValueKind::Undefined | ValueKind::None) {
        return Err(Error::new(ErrorKind::UndefinedError, "a value is missing"));
    }
    if !matches!(kind, ValueKind::String | ValueKind::Number | ValueKind::Bool) {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("a {kind} is no text")));
    }
    let text = value.to_string();
    output.write_str(&utf8_percent_encode(&text, RESERVED).to_string()).map_err(Error::from)
}

fn told(error: &Error) -> String {
    let kind = error.kind();
    if kind == ErrorKind::UndefinedError {
        return "a value that it names is missing".to_owned();
    }
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{kind}{detail}")
}

#[cfg(test)]
mod tests {
    use guard::destination::{LIST_PLACEHOLDERS, PLACEHOLDERS};

    use super::*;

    fn check(path: &str) -> Result<(), String> {
        super::check(path, &PLACEHOLDERS)
    }

    fn values(payload: &str) -> Values {
        let mut values = Values::reference("oo-1");
        values.0.insert("payload", value(&Json::parse(payload.as_bytes()).unwrap()));
        values
    }

    #[test]
    fn a_value_cannot_change_the_shape_of_the_address() {
        let values = values(r#"{"number":"1&all=true#x/../é","id":820982911946154508}"#);
        let made = path("/t?of={{ payload.number }}&id={{payload.id}}&r={{ external_reference }}", &values).unwrap();
        insta::assert_snapshot!(made, @"/t?of=1%26all%3Dtrue%23x%2F..%2F%C3%A9&id=820982911946154508&r=oo-1");
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for document in [r#"{"a":".."}"#, r#"{"a":"."}"#] {
            assert!(path("/tasks/{{ payload.a }}", &values(document)).is_err(), "{document}");
            assert!(path("/tasks/{{ payload.a }}?x", &values(document)).is_err(), "{document}");
            assert!(path("/tasks?of={{ payload.a }}", &values(document)).is_ok(), "{document}");
        }
        assert!(path("/tasks/{{ payload.a }}", &values(r#"{"a":"%2e%2e"}"#)).is_ok(), "encoded once more");
        assert!(check("/a/../b").is_err() && check("/a/%2E%2e").is_err() && check("/a/..b?x=../").is_ok());
    }

    #[test]
    fn a_missing_value_is_an_error_and_never_an_empty_text() {
        let refused = |template: &str, payload: &str| path(template, &values(payload)).unwrap_err();
        refused("/t?of={{ payload.customer }}", "{}");
        refused("/t?of={{ payload.customer.id }}", "{}");
        refused("/t?of={{ payload.customer }}", r#"{"customer":null}"#);
        refused("/t?of={{ payload.customer }}", r#"{"customer":["a"]}"#);
        assert!(
            path("/t?of={{ document }}", &Values::reference("oo-1")).is_err(),
            "nothing but the reference is typed"
        );
        refused(&format!("/{}", "{{ payload.a }}".repeat(20)), &format!(r#"{{"a":"{}"}}"#, "x".repeat(500)));
    }

    #[test]
    fn no_template_runs_for_ever() {
        let endless = "/{% for a in payload.l %}{% for b in payload.l %}{% for c in payload.l %}{{ c }}{% endfor %}{% endfor %}{% endfor %}";
        let list = format!(r#"{{"l":[{}0]}}"#, "0,".repeat(200));
        assert!(path(endless, &values(&list)).is_err());
    }

    #[test]
    fn a_period_is_written_in_full_or_by_its_days() {
        let day = |text: &str| format!("{text}T00:00:00Z").parse().unwrap();
        let values = Values::period("acme & sons", day("2026-03-01"), day("2026-04-01"));
        let made = |template: &str| {
            assert_eq!(super::check(template, &LIST_PLACEHOLDERS), Ok(()));
            path(template, &values).unwrap()
        };
        insta::assert_snapshot!(made("/t?c={{ company }}&from={{ from }}"), @"/t?c=acme%20%26%20sons&from=2026-03-01T00%3A00%3A00.000Z");
        insta::assert_snapshot!(made("/t?from={{ from[:10] }}&to={{ to[:10] }}"), @"/t?from=2026-03-01&to=2026-04-01");
        assert!(super::check("/t?of={{ document }}", &LIST_PLACEHOLDERS).is_err());
    }

    #[test]
    fn templates_are_checked_before_they_are_used() {
        assert_eq!(check("/t?r={{ external_reference }}&c={{ payload.customer['id'] }}"), Ok(()));
        insta::assert_snapshot!(check("/t?r={{ secret }}").unwrap_err(), @r#"names "secret"; possible: external_reference, document, company, source_system, action, revision, idempotency_key, payload"#);
        assert!(check("/t?r={{ external_reference").unwrap_err().starts_with("is no template: syntax error: "));
        assert!(check("/t{% if env %}x{% endif %}").is_err());
    }
}
