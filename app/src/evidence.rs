//! Evidence that came as a form of several parts, which no server function takes: by itself, or with the decision that it is given for.

use std::sync::Arc;

use guard::{id::OperationId, refusal::Refusal};
use serde_json::{Map, Value};

use crate::{
    context::Visit,
    failure::Failure,
    functions::resolve::{decide, told},
    notice::{Draft, EvidenceNotice, Verdict},
};

/// Under this name what became of evidence is kept for the page after it.
pub(crate) const NOTICE: &str = "evidence";

/// Keeps for the page after it what became of evidence: that it is kept, or why it is not, with what was written.
pub async fn tell(visit: &Visit, note: String, link: String, refusal: Option<Refusal>) {
    let notice = match refusal {
        None => EvidenceNotice::Added,
        Some(refusal) => EvidenceNotice::Refused { note, link, failure: refusal.into() },
    };
    if let Ok(text) = serde_json::to_string(&notice) {
        visit.flash.put(NOTICE, text).await;
    }
}

/// A decision that came with its evidence.
#[derive(Debug, Default)]
pub struct Decision {
    /// The fields as the form names them (`draft[reason]`), with what was written.
    pub fields: Vec<(String, String)>,
    /// The name and the bytes of the file.
    pub file: Option<(String, Arc<[u8]>)>,
}

/// Marks an operation as not applied, with the evidence in the same act; answers the page that tells what became of it.
///
/// # Errors
/// [`Failure::SignedOut`]; [`Failure::Malformed`] where it is no form of this desk's; what hides an operation that is out of reach. All
/// other refusals are told on the page, with what was written.
pub async fn not_applied(
    visit: &Visit,
    id: OperationId,
    decision: Decision,
    fault: Option<Refusal>,
) -> Result<String, Failure> {
    let Decision { fields, file } = decision;
    visit.person()?;
    let draft = draft(fields)?;
    if draft.operation != id || draft.verdict != Verdict::NotApplied {
        return Err(Failure::Malformed { message: "it is about another operation, or decides otherwise".to_owned() });
    }
    let result = match fault {
        Some(refusal) => Err(refusal.into()),
        None => decide(visit, &draft, file).await,
    };
    if let Err(failure @ Failure::Refused(Refusal::NotFound { .. })) = result {
        return Err(failure);
    }
    let (name, notice, page) = told(draft, &result);
    if let Ok(text) = serde_json::to_string(&notice) {
        visit.flash.put(name, text).await;
    }
    Ok(page)
}

/// The draft that the fields of a form make; what is not known is left aside.
fn draft(fields: Vec<(String, String)>) -> Result<Draft, Failure> {
    let malformed = |message: String| Failure::Malformed { message };
    let (mut draft, mut place) = (Map::new(), Map::new());
    for (name, text) in fields {
        let Some(name) = name.strip_prefix("draft[").and_then(|name| name.strip_suffix(']')) else { continue };
        match name.strip_prefix("place][") {
            Some(part) => {
                place.insert(part.to_owned(), Value::String(text));
            }
            None if name == "version" => {
                let version: u64 = text.parse().map_err(|_| malformed("its version is no number".to_owned()))?;
                draft.insert(name.to_owned(), version.into());
            }
            None => {
                draft.insert(name.to_owned(), Value::String(text));
            }
        }
    }
    draft.insert("place".to_owned(), Value::Object(place));
    serde_json::from_value(Value::Object(draft)).map_err(|error| malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::Origin;

    #[test]
    fn the_fields_of_a_form_are_a_draft() {
        let id = "0190a000-0000-7000-8000-000000000000";
        let fields = [
            ("draft[operation]", id),
            ("draft[version]", "3"),
            ("draft[fingerprint]", "sha256:0"),
            ("draft[verdict]", "not_applied"),
            ("draft[origin]", "queue"),
            ("draft[reason]", "seen"),
            ("draft[place][company]", "acme"),
            ("unknown", "left aside"),
        ];
        let fields = |left_out: &str| {
            let kept = fields.iter().filter(|(name, _)| *name != left_out);
            kept.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let read = draft(fields("")).unwrap();
        assert_eq!((read.operation.to_string().as_str(), read.version, read.origin), (id, 3, Origin::Queue));
        assert_eq!((read.reason.as_str(), read.place.company.as_str()), ("seen", "acme"));
        assert!(matches!(draft(fields("draft[version]")), Err(Failure::Malformed { .. })));
    }
}
