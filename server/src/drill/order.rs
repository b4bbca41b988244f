//! The orders that the drill handles.

use guard::json::Json;
use guard::payload::{NotAPayload, Payload};

use super::change::VERSION_MEMBER;

/// What is sent where nothing else is given. It has no document number, so that equal orders are equal to the last byte.
pub const CONTENT_DEFAULT: &str = r#"{"customer":"C-77","currency":"EUR","amount":"1180.00"}"#;

/// The source system of every order of a drill.
pub(super) const SOURCE_SYSTEM: &str = "onceover-drill";

/// Stands for the document's number in a content.
const DOCUMENT: &str = "{{document}}";

/// Stands for the company in a content.
const COMPANY: &str = "{{company}}";

/// The payload of every order: a JSON object in which `{{document}}` and `{{company}}` stand for the order's.
#[derive(Clone, Debug)]
pub struct Content(String);

impl Content {
    /// The content with this text.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn new(text: &str) -> Result<Self, NotAPayload> {
        let content = Self(text.to_owned());
        content.of(&Order { company: "company".to_owned(), document: "document".to_owned() }, None)?;
        Ok(content)
    }

    /// The payload of an order, of this version where it has several.
    pub(super) fn of(&self, order: &Order, version: Option<u32>) -> Result<Json, NotAPayload> {
        // Inside of a JSON text: names of orders are made here and need no escapes.
        let text = self.0.replace(DOCUMENT, &order.document).replace(COMPANY, &order.company);
        let mut content = Payload::parse(text.as_bytes())?.content().clone();
        if let (Some(version), Json::Object(members)) = (version, &mut content) {
            members.retain(|(name, _)| name != VERSION_MEMBER);
            members.push((VERSION_MEMBER.to_owned(), Json::String(version.to_string())));
        }
        Ok(content)
    }
}

/// One business effect that should happen once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) company: String,
    pub(super) document: String,
}
