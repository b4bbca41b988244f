//! An answer of a destination, as it is given to the caller, kept, and given again.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use guard::destination::Create;
use guard::json::Json;
use guard::number::Number;
use guard::operation::Operation;

use super::header::KEPT;
use crate::destination::Sent;
use crate::destination::effect::Effect;

/// A body is kept for repetitions up to this many bytes.
pub const KEPT_BYTES_MAX: usize = 256 * 1024;

/// A header is kept for repetitions up to this many bytes.
const KEPT_HEADER_BYTES_MAX: usize = 4 * 1024;

/// What is kept nests at most this deep: a response as a worker reports it, in its envelope.
const KEPT_NESTING_MAX: usize = 80;

/// An answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
}

impl Reply {
    /// What is kept of it: a JSON object with `status`, `headers`, and the body as `text` (or `base64` where it is none). A longer body
    /// than [`KEPT_BYTES_MAX`] is left out.
    pub fn to_kept(&self) -> Json {
        let headers = KEPT.iter().filter_map(|name| {
            let text = self.headers.get(name)?.to_str().ok().filter(|text| text.len() <= KEPT_HEADER_BYTES_MAX)?;
            Some((name.as_str().to_owned(), Json::String(text.to_owned())))
        });
        let status = Json::Number(Number::from_integer(self.status.as_u16().into()));
        let mut members = vec![("status".to_owned(), status), ("headers".to_owned(), Json::Object(headers.collect()))];
        if self.body.len() <= KEPT_BYTES_MAX {
            let (name, text) = match std::str::from_utf8(&self.body) {
                Ok(text) => ("text", text.to_owned()),
                Err(_) => ("base64", STANDARD.encode(&self.body)),
            };
            members.push((name.to_owned(), Json::String(text)));
        }
        Json::Object(members)
    }

    /// The answer of what was kept: by the proxy, or `{"status", "body"}` as a worker reports it. None where too little is kept to
    /// repeat it.
    pub fn of_kept(kept: &str) -> Option<Self> {
        let kept = Json::parse_nested(kept.as_bytes(), KEPT_NESTING_MAX).ok()?;
        let Json::Number(status) = kept.member("status")? else { return None };
        let status = status.plain(3)?.parse().ok().and_then(|status| StatusCode::from_u16(status).ok())?;
        let mut headers = HeaderMap::new();
        if let Some(Json::Object(members)) = kept.member("headers") {
            for (name, value) in members {
                let header = HeaderName::from_bytes(name.as_bytes()).ok().filter(|name| KEPT.contains(name));
                let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
                headers.extend(header.zip(value));
            }
        }
        let text = |name| kept.member(name).and_then(Json::as_str);
        let body = match (text("text"), text("base64"), kept.member("body")) {
            (Some(text), _, _) => Bytes::copy_from_slice(text.as_bytes()),
            (None, Some(base64), _) => STANDARD.decode(base64).ok()?.into(),
            (None, None, Some(body)) => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                body.to_string().into()
            }
            (None, None, None) => return None,
        };
        Some(Self { status, headers, body })
    }

    /// Whether it is the answer by which the operation is confirmed: by the profile, under the very reference that is held.
    pub fn confirms(&self, create: &Create, operation: &Operation) -> bool {
        let answer = Sent::Answer { status: self.status, headers: HeaderMap::new(), body: Ok(self.body.clone()) };
        match Effect::of(create, &answer) {
            Effect::Confirmed { destination_reference } => {
                operation.state.destination_reference() == Some(destination_reference.as_str())
            }
            Effect::Failed { .. } | Effect::Exists { .. } | Effect::Unknown { .. } => false,
        }
    }

    /// The answer for the caller.
    pub fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(body: &'static [u8]) -> Reply {
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/vnd.ledger+json")),
            (HeaderName::from_static("location"), HeaderValue::from_static("/tasks/907")),
            (HeaderName::from_static("x-trace"), HeaderValue::from_static("7")),
        ]);
        Reply { status: StatusCode::CREATED, headers, body: Bytes::from_static(body) }
    }

    #[test]
    fn what_is_kept_is_given_again_byte_for_byte() {
        for body in [&b"{ \"id\": 1.0 }\n"[..], b"", b"\xff\x00\xfe", "\u{0}é".as_bytes()] {
            let given = Reply::of_kept(&reply(body).to_kept().to_string()).unwrap();
            assert_eq!((given.status, &given.body[..]), (StatusCode::CREATED, body));
            assert_eq!(given.headers["location"], "/tasks/907");
            assert!(!given.headers.contains_key("x-trace"), "only what is chosen");
        }
    }

    #[test]
    fn what_a_worker_reported_is_given_too() {
        let given = Reply::of_kept(r#"{"status":201,"body":{"id":820982911946154509}}"#).unwrap();
        assert_eq!(&given.body[..], br#"{"id":820982911946154509}"#);
        assert_eq!(given.headers[CONTENT_TYPE], "application/json");
    }

    #[test]
    fn what_is_too_long_or_no_answer_is_not_made_up() {
        let long = Reply { body: vec![b'x'; KEPT_BYTES_MAX + 1].into(), ..reply(b"") };
        assert_eq!(Reply::of_kept(&long.to_kept().to_string()), None);
        for kept in ["", "{}", r#"{"status":201}"#, r#"{"status":99,"text":""}"#, r#"{"status":"201","text":""}"#] {
            assert_eq!(Reply::of_kept(kept), None, "{kept}");
        }
    }
}
