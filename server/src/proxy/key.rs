//! The key of a proxied request: from headers, from the body, or from an idempotency key.

use axum::http::{HeaderMap, HeaderName};
use guard::json::Json;
use guard::key::{ACTION_DEFAULT, KeyPart, OperationKey};
use guard::pointer::Pointer;
use guard::token::Token;
use guard::workflow::{KeyPlace, Workflow};
use serde::Serialize;

use crate::api::request::{part, revision};
use crate::problem::{Code, Problem};

const COMPANY: HeaderName = HeaderName::from_static("onceover-company");
const SOURCE_SYSTEM: HeaderName = HeaderName::from_static("onceover-source-system");
const DOCUMENT: HeaderName = HeaderName::from_static("onceover-document");
const ACTION: HeaderName = HeaderName::from_static("onceover-action");
const REVISION: HeaderName = HeaderName::from_static("onceover-revision");

/// The header of the IETF's draft, as an RFC 8941 string or bare.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The headers that name a key of a guarded request.
pub const KEY_HEADERS: [HeaderName; 5] = [COMPANY, SOURCE_SYSTEM, DOCUMENT, ACTION, REVISION];

/// The source system where an idempotency key is all that the caller sends: its value is random by its nature, so no numbers of two
/// systems can meet.
pub const SOURCE_SYSTEM_DEFAULT: &str = "proxy";

/// A whole number in the body has at most this many digits.
const WHOLE_NUMBER_DIGITS_MAX: usize = 10;

/// The key of a request.
///
/// A header wins over the body, and the body over `Idempotency-Key`. A token that reaches one company alone stands for it.
///
/// # Errors
/// What is missing; a part that cannot be one.
pub fn read(headers: &HeaderMap, body: &Json, workflow: &Workflow, token: &Token) -> Result<OperationKey, Problem> {
    let places = &workflow.key;
    let company = match text(headers, &COMPANY)? {
        Some(text) => Some(part("Onceover-Company", &text)?),
        None => placed("company", places.company.as_ref(), body)?.or_else(|| only_company(token)),
    };
    let mut document = match text(headers, &DOCUMENT)? {
        Some(text) => Some(part("Onceover-Document", &text)?),
        None => in_body("document", places.document.as_ref(), body)?,
    };
    let mut source_system = match text(headers, &SOURCE_SYSTEM)? {
        Some(text) => Some(part("Onceover-Source-System", &text)?),
        None => placed("source_system", places.source_system.as_ref(), body)?,
    };
    if document.is_none() {
        document = idempotency_key(headers)?;
        if document.is_some() && source_system.is_none() {
            source_system = KeyPart::new(SOURCE_SYSTEM_DEFAULT).ok();
        }
    }
    let action = match text(headers, &ACTION)? {
        Some(text) => part("Onceover-Action", &text)?,
        None => match placed("action", places.action.as_ref(), body)? {
            Some(action) => action,
            None => part("action", ACTION_DEFAULT)?,
        },
    };
    let revision = match text(headers, &REVISION)? {
        Some(text) => revision(Some(whole_number("Onceover-Revision", &text)?))?,
        None => revision(revision_in_body(places.revision.as_ref(), body)?)?,
    };
    match (company, source_system, document) {
        (Some(company), Some(source_system), Some(document)) => {
            let workflow = workflow.name.clone();
            Ok(OperationKey { workflow, company, source_system, document, action, revision })
        }
        (company, source_system, document) => {
            let parts = [
                ("company", company.is_none()),
                ("source_system", source_system.is_none()),
                ("document", document.is_none()),
            ];
            Err(missing(parts.into_iter().filter_map(|(name, is_missing)| is_missing.then_some(name)).collect()))
        }
    }
}

fn missing(missing: Vec<&'static str>) -> Problem {
    #[derive(Serialize)]
    struct Missing {
        missing: Vec<&'static str>,
    }
    let detail = format!("the key's {} cannot be found in headers or body", missing.join(", "));
    Problem::new(Code::KeyMissing, detail).with(&Missing { missing })
}

/// The text of a header. One that stands twice would be read differently by two readers.
fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::field(name.as_str(), "stands twice; send it once"));
    }
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Problem::field(name.as_str(), "is not UTF-8"))?;
    Ok(Some(text.to_owned()))
}

fn only_company(token: &Token) -> Option<KeyPart> {
    let companies = token.reach.companies.as_ref().filter(|companies| companies.len() == 1)?;
    companies.first().and_then(|company| KeyPart::new(company).ok())
}

fn placed(name: &str, place: Option<&KeyPlace>, body: &Json) -> Result<Option<KeyPart>, Problem> {
    match place {
        None => Ok(None),
        Some(KeyPlace::Text(part)) => Ok(Some(part.clone())),
        Some(KeyPlace::Body(pointer)) => in_body(name, Some(pointer), body),
    }
}

/// The text or the number at a place of the body; null is as good as missing.
fn in_body(name: &str, pointer: Option<&Pointer>, body: &Json) -> Result<Option<KeyPart>, Problem> {
    let text = match pointer.and_then(|pointer| pointer.find(body)) {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::String(text)) => text.as_str(),
        Some(Json::Number(number)) => number.as_written(),
        Some(other @ (Json::Bool(_) | Json::Array(_) | Json::Object(_))) => {
            return Err(Problem::field(name, format!("is {} in the body; text is needed", other.kind())));
        }
    };
    part(name, text).map(Some)
}

fn revision_in_body(pointer: Option<&Pointer>, body: &Json) -> Result<Option<u32>, Problem> {
    let text = match pointer.and_then(|pointer| pointer.find(body)) {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::String(text)) => Some(text.clone()),
        Some(Json::Number(number)) => number.plain(WHOLE_NUMBER_DIGITS_MAX),
        Some(Json::Bool(_) | Json::Array(_) | Json::Object(_)) => None,
    };
    whole_number("revision", &text.unwrap_or_default()).map(Some)
}

fn whole_number(name: &str, text: &str) -> Result<u32, Problem> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| Problem::field(name, "is no whole number"))
}

/// The value of an idempotency key, a document's number of its own.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<KeyPart>, Problem> {
    let refused = |message: &str| Problem::new(Code::KeyMissing, format!("Idempotency-Key {message}"));
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(refused("stands twice; send it once"));
    }
    let unreadable = || refused("is no text in quotes (RFC 8941) and no bare value of letters, digits and \"-\"");
    let text = value.to_str().map_err(|_| unreadable())?.trim();
    let value = if text.starts_with('"') { quoted(text) } else { bare(text).map(ToOwned::to_owned) };
    let value = value.ok_or_else(unreadable)?;
    KeyPart::new(&value).map(Some).map_err(|fault| refused(&fault.to_string()))
}

/// An RFC 8941 string without parameters.
fn quoted(text: &str) -> Option<String> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => value.push(characters.next().filter(|character| matches!(character, '"' | '\\'))?),
            character @ ' '..='~' => value.push(character),
            _ => return None,
        }
    }
    characters.as_str().is_empty().then_some(value)
}

/// What many clients send: a value without quotes, of characters that mean nothing else in a structured field.
fn bare(text: &str) -> Option<&str> {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:~+/=@#|!$&%*".contains(&byte);
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    (starts_well && text.bytes().all(is_taken)).then_some(text)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn key(value: &str) -> Result<String, Code> {
        let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value.as_bytes()).unwrap())]);
        let found = idempotency_key(&headers).map_err(|problem| problem.code())?;
        Ok(found.unwrap().as_str().to_owned())
    }

    #[test]
    fn an_idempotency_key_is_quoted_or_bare() {
        let uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";
        for (value, read) in [
            (format!("\"{uuid}\""), uuid),
            (uuid.to_owned(), uuid),
            ("  \"abc\"  ".to_owned(), "abc"),
            (r#""a\"b\\c""#.to_owned(), r#"a"b\c"#),
            ("42".to_owned(), "42"),
            ("\"../../etc/passwd\"".to_owned(), "../../etc/passwd"),
            ("\"1' OR '1'='1\"".to_owned(), "1' OR '1'='1"),
        ] {
            assert_eq!(key(&value).unwrap(), read, "{value}");
        }
        assert_ne!(key("\"ABC\""), key("\"abc\""), "case counts");
    }

    #[test]
    fn what_is_no_idempotency_key_is_refused_and_not_mended() {
        let long = format!("\"{}\"", "k".repeat(10_000));
        for value in [
            "\"\"",
            "\"   \"",
            "\"a\\nb\"",
            "\"abc",
            "abc\"",
            "\"caf\u{e9}\"",
            "\"a\tb\"",
            "\"abc\", \"def\"",
            "'abc'",
            ":YWJj:",
            "?1",
            "",
            "a b",
            "\"abc\"x",
            &long,
        ] {
            assert_eq!(key(value), Err(Code::KeyMissing), "{value}");
        }
        let twice = HeaderMap::from_iter([
            (IDEMPOTENCY_KEY, HeaderValue::from_static("a")),
            (IDEMPOTENCY_KEY, HeaderValue::from_static("b")),
        ]);
        let mut headers = HeaderMap::new();
        twice.iter().for_each(|(name, value)| _ = headers.append(name, value.clone()));
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        assert!(idempotency_key(&headers).is_err());
    }
}
