//! The bodies of requests: read with a limit, as JSON with exact numbers, field by field.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::{HeaderMap, HeaderValue};
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use guard::json::{Json, JsonFault, NESTING_MAX};

use crate::calls::CallNote;
use crate::problem::{Code, Problem};
use crate::state::Server;

/// A body arrives within this time, or the request is given up.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// Of a body that is too large this much more is read and dropped, so that the caller gets to read the answer.
const DROPPED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Levels that the object around a payload or a response needs for itself.
const ENVELOPE_LEVELS: usize = 1;

/// Shorter names are never taken for a mistyped one: too many short words lie close together.
const TYPO_CHARACTERS_MIN: usize = 6;

/// A name this many edits from a known one is taken for a mistyped one.
const TYPO_EDITS_MAX: usize = 2;

/// A JSON object from the body of a request within the limit for one operation.
pub struct JsonBody(pub Json);

impl FromRequest<Server> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Problem> {
        let text = read(request, server.settings.body_bytes_max).await?;
        parse(&text).map(Self)
    }
}

/// Reads the body of a request that says it is JSON.
///
/// # Errors
/// Another media type, more than `bytes_max`, a body that breaks off or takes too long.
pub async fn read(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    check_media_type(request.headers())?;
    let note = request.extensions().get::<CallNote>().cloned();
    let bytes = read_bytes(request, bytes_max).await?;
    if let Some(note) = note {
        note.body(&bytes);
    }
    Ok(bytes)
}

/// Reads the body of a request, whatever it is.
///
/// # Errors
/// More than `bytes_max`, a body that breaks off or takes too long.
pub async fn read_bytes(request: Request, bytes_max: usize) -> Result<Bytes, Problem> {
    let headers = request.headers();
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let asks_first = headers.contains_key(EXPECT);
    let body = request.into_body();
    if announced.is_some_and(|length| length > bytes_max) && asks_first {
        return Err(too_large(bytes_max));
    }
    match tokio::time::timeout(BODY_TIME_MAX, collect(body, bytes_max, announced.unwrap_or(0))).await {
        Ok(read) => read,
        Err(_elapsed) => Err(Problem::new(Code::RequestTimeout, "the body did not arrive within 30 seconds")),
    }
}

async fn collect(body: Body, bytes_max: usize, announced: usize) -> Result<Bytes, Problem> {
    let mut chunks = body.into_data_stream();
    let mut text = BytesMut::with_capacity(announced.min(bytes_max));
    let mut total = 0_usize;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Problem::new(Code::InvalidJson, "the body broke off"))?;
        total = total.saturating_add(chunk.len());
        if total <= bytes_max {
            text.extend_from_slice(&chunk);
        } else if total > bytes_max.saturating_add(DROPPED_BYTES_MAX) {
            break;
        }
    }
    if total > bytes_max { Err(too_large(bytes_max)) } else { Ok(text.freeze()) }
}

/// The problem of a body, or an item of a batch, beyond the limit.
pub fn too_large(bytes_max: usize) -> Problem {
    Problem::new(Code::PayloadTooLarge, format!("at most {bytes_max} bytes are taken here"))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim();
    let unsupported = |detail: String| Err(Problem::new(Code::UnsupportedMediaType, detail));
    if !essence.eq_ignore_ascii_case("application/json") {
        let named = if declared.is_empty() { "nothing" } else { "something else" };
        return unsupported(format!("the request declares {named} as its Content-Type; send application/json"));
    }
    check_coding(headers)
}

/// Refuses a body that is coded: what is in it could not be told.
///
/// # Errors
/// It has a coding.
pub fn check_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let coded = |coding: &HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get(CONTENT_ENCODING).is_some_and(coded) {
        let detail = "the body has a Content-Encoding; send it without one";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    Ok(())
}

/// Reads the JSON of one operation: numbers keep every digit.
///
/// # Errors
/// The first fault with its place.
pub fn parse(text: &[u8]) -> Result<Json, Problem> {
    Json::parse_nested(text, NESTING_MAX + ENVELOPE_LEVELS).map_err(|mut error| {
        if matches!(error.fault, JsonFault::TooDeep(_)) {
            // The limit that callers know is the payload's.
            error.fault = JsonFault::TooDeep(NESTING_MAX);
        }
        error.into()
    })
}

/// The members of an object, taken out one by one.
pub struct Fields {
    members: Vec<(String, Json)>,
}

impl Fields {
    /// The members of `body`, of which only `known` ones are looked at.
    ///
    /// Other members are ignored, unless one looks like a mistyped known one that is missing: a mistyped `revison` would otherwise
    /// change the meaning of the request.
    ///
    /// # Errors
    /// The body is no object, or a name is mistyped.
    pub fn of(body: Json, known: &[&str]) -> Result<Self, Problem> {
        let kind = body.kind();
        let Json::Object(members) = body else {
            return Err(Problem::field("body", format!("is {kind}; an object is needed")));
        };
        check_names(members.iter().map(|(name, _)| name.as_str()), known)?;
        Ok(Self { members })
    }

    /// The member, unless it is missing or null.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(at).1).filter(|value| *value != Json::Null)
    }

    /// The member, which must be there.
    ///
    /// # Errors
    /// It is missing or null.
    pub fn required(&mut self, name: &str) -> Result<Json, Problem> {
        self.take(name).ok_or_else(|| Problem::field(name, "is missing; it is required"))
    }

    /// The text of the member, where there is one.
    ///
    /// # Errors
    /// It is something else than text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        self.take(name).map(|value| text_of(name, value)).transpose()
    }

    /// The text of the member, which must be there.
    ///
    /// # Errors
    /// It is missing, null or something else than text.
    pub fn required_text(&mut self, name: &str) -> Result<String, Problem> {
        text_of(name, self.required(name)?)
    }

    /// The whole number of the member, where there is one.
    ///
    /// # Errors
    /// It is no whole number that fits.
    pub fn whole_number(&mut self, name: &str) -> Result<Option<u32>, Problem> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let kind = value.kind();
        let Json::Number(number) = value else {
            return Err(Problem::field(name, format!("is {kind}; a whole number is needed")));
        };
        let whole = number.plain(WHOLE_NUMBER_DIGITS_MAX).and_then(|digits| digits.parse().ok());
        let refused = || Problem::field(name, format!("is not a whole number from 0 to {}", u32::MAX));
        whole.map(Some).ok_or_else(refused)
    }
}

/// A whole number that fits has at most this many digits.
const WHOLE_NUMBER_DIGITS_MAX: usize = 10;

fn text_of(name: &str, value: Json) -> Result<String, Problem> {
    let kind = value.kind();
    match value {
        Json::String(text) => Ok(text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            Err(Problem::field(name, format!("is {kind}; text is needed")))
        }
    }
}

/// Refuses a name that looks like a mistyped known one which is missing.
///
/// # Errors
/// The name, and the one that was probably meant.
pub fn check_names<'a>(names: impl Iterator<Item = &'a str> + Clone, known: &[&str]) -> Result<(), Problem> {
    for name in names.clone().filter(|name| !known.contains(name)) {
        let missing = known.iter().filter(|known| !names.clone().any(|name| name == **known));
        if let Some(meant) = missing.copied().find(|meant| looks_like(name, meant)) {
            return Err(Problem::field(name, format!("is not known; did you mean {meant}?")));
        }
    }
    Ok(())
}

fn looks_like(name: &str, meant: &str) -> bool {
    meant.len() >= TYPO_CHARACTERS_MIN
        && name.len().abs_diff(meant.len()) <= TYPO_EDITS_MAX
        && strsim::osa_distance(name, meant) <= TYPO_EDITS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Result<Fields, Problem> {
        Fields::of(parse(text.as_bytes())?, &["document", "revision", "action"])
    }

    #[test]
    fn a_mistyped_name_is_refused_and_a_strange_one_ignored() {
        let refused = fields(r#"{"document":"1","revison":2}"#).err().unwrap();
        assert!(refused.document("", "r").contains("revison is not known; did you mean revision?"), "{refused:?}");
        assert!(fields(r#"{"documnet":"1"}"#).is_err());
        assert!(fields(r#"{"document":"1","note":"x","version":2}"#).is_ok());
        assert!(fields(r#"{"document":"1","documentId":"1"}"#).is_ok(), "the known name is there too");
    }

    #[test]
    fn whole_numbers_may_be_written_in_any_way() {
        for (text, number) in [("2", 2), ("2.0", 2), ("2e0", 2), ("20e-1", 2), ("0", 0), ("4294967295", u32::MAX)] {
            let mut fields = fields(&format!("{{\"revision\":{text}}}")).unwrap();
            assert_eq!(fields.whole_number("revision").unwrap(), Some(number), "{text}");
        }
        for text in ["1.5", "-1", "4294967296", "1e900", "\"1\"", "true", "[1]"] {
            let mut fields = fields(&format!("{{\"revision\":{text}}}")).unwrap();
            assert!(fields.whole_number("revision").is_err(), "{text}");
        }
    }

    #[test]
    fn null_is_as_good_as_missing() {
        let mut fields = fields(r#"{"document":null}"#).unwrap();
        assert_eq!(fields.text("document").unwrap(), None);
        assert!(fields.required("document").is_err());
    }

    #[test]
    fn a_payload_may_nest_sixty_four_levels_and_no_more() {
        let nested = |levels: usize| format!("{{\"payload\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(64).as_bytes()).is_ok());
        let refused = parse(nested(65).as_bytes()).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidJson);
        assert!(refused.document("", "r").contains("at most 64 levels"), "{refused:?}");
    }
}
