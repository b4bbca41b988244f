//! The approved content of an operation.

use crate::json::{Json, JsonError, NESTING_MAX};

/// A payload: a JSON object that nests at most [`NESTING_MAX`] levels.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "Json", try_from = "Json")]
pub struct Payload {
    content: Json,
}

/// Why a value is no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPayload {
    /// It is something else than an object.
    #[error("a payload is a JSON object, and this is {0}")]
    NotAnObject(&'static str),
    /// It nests too deep.
    #[error("the payload nests {0} levels deep; at most {NESTING_MAX} are taken")]
    TooDeep(usize),
    /// It is not the JSON that Onceover takes.
    #[error(transparent)]
    Json(#[from] JsonError),
}

impl Payload {
    /// The payload with this content.
    ///
    /// # Errors
    /// When the content is not an object, or nests too deep.
    pub fn new(content: Json) -> Result<Self, NotAPayload> {
        match &content {
            Json::Object(_) => {}
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                return Err(NotAPayload::NotAnObject(content.kind()));
            }
        }
        let depth = content.depth();
        if depth > NESTING_MAX {
            return Err(NotAPayload::TooDeep(depth));
        }
        Ok(Self { content })
    }

    /// Reads a payload from its JSON text.
    ///
    /// # Errors
    /// When the text is not strict JSON, no object, or nests too deep.
    pub fn parse(text: &[u8]) -> Result<Self, NotAPayload> {
        Self::new(Json::parse_nested(text, NESTING_MAX)?)
    }

    /// The content, an object.
    pub fn content(&self) -> &Json {
        &self.content
    }

    /// The compact JSON text that is stored: members in their order, numbers as written.
    pub fn to_text(&self) -> String {
        self.content.to_string()
    }
}

impl From<Payload> for Json {
    fn from(payload: Payload) -> Self {
        payload.content
    }
}

impl TryFrom<Json> for Payload {
    type Error = NotAPayload;

    fn try_from(content: Json) -> Result<Self, NotAPayload> {
        Self::new(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_is_a_payload() {
        assert_eq!(Payload::parse(b"[1]"), Err(NotAPayload::NotAnObject("an array")));
        assert_eq!(Payload::parse(br#""x""#), Err(NotAPayload::NotAnObject("a string")));
        assert!(Payload::parse(b"{}").is_ok());
        assert!(serde_json::from_str::<Payload>(r#""[1]""#).is_err(), "nor when it travels");
    }
}
