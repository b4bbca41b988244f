//! What is told about evidence that came as a form of several parts, which no server function takes.

use guard::refusal::Refusal;

use crate::{context::Visit, notice::EvidenceNotice};

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
