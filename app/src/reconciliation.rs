//! What is told about records that were handed in or pulled, by forms that no server function takes.

use crate::{
    context::Visit,
    notice::reconciliation::{HandInDraft, HandInNotice},
};

/// Under this name what became of a file is kept for the page after it.
pub(crate) const NOTICE: &str = "hand-in";

/// Keeps for the next page that a file was reconciled.
pub async fn tell_done(visit: &Visit, is_repeated: bool) {
    tell(visit, &HandInNotice::Done { is_repeated }).await;
}

/// Keeps for the next page why a file was not reconciled, with what was written beside it.
pub async fn tell_refused(visit: &Visit, written: Vec<(String, String)>, sentence: String, faults: Vec<String>) {
    let draft = HandInDraft(written.into_iter().collect());
    tell(visit, &HandInNotice::Refused { draft, sentence, faults }).await;
}

/// Keeps for the next page why a destination's list was not reconciled, with what was written into the form.
pub async fn tell_not_pulled(visit: &Visit, written: Vec<(String, String)>, sentence: String, faults: Vec<String>) {
    let draft = HandInDraft(written.into_iter().collect());
    tell(visit, &HandInNotice::NotPulled { draft, sentence, faults }).await;
}

async fn tell(visit: &Visit, notice: &HandInNotice) {
    if let Ok(text) = serde_json::to_string(notice) {
        visit.flash.put(NOTICE, text).await;
    }
}
