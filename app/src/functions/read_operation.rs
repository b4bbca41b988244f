//! One operation with everything that is known about it.

use guard::{
    clock::Timestamp,
    id::{AmendmentId, OperationId},
    person::Person,
    retention::Hold,
    reversal::Reversal,
    service::{History, Outlook, Standing},
    state::StateName,
    veil::Veil,
};
use leptos::prelude::*;

use crate::{
    encoding::Json,
    failure::Failure,
    look_alike::Alikes,
    notice::{ClaimNotice, DecisionNotice, EvidenceNotice, HasteNotice, retention::HoldNotice},
};

/// What the page of an operation shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Report {
    /// When it was true.
    pub as_of: Timestamp,
    /// Who looks.
    pub person: Person,
    /// The operation and all that hangs on it.
    pub history: History,
    /// How recovery stands, where it is unknown.
    pub outlook: Option<Outlook>,
    /// Who is on it, what waits, what was proposed.
    pub standing: Standing,
    /// The versions of the message, where its workflow makes messages to customers.
    pub message: Option<Vec<guard::message::MessageVersion>>,
    /// What became of the decision before.
    pub notice: Option<DecisionNotice>,
    /// What became of the wish for a lookup before.
    pub haste: Option<HasteNotice>,
    /// What became of evidence before.
    pub kept: Option<EvidenceNotice>,
    /// What became of a claim before.
    pub claimed: Option<ClaimNotice>,
    /// Which operations look like it.
    pub alikes: Option<Alikes>,
    /// What is masked.
    pub veil: Veil,
    /// The document's revisions, and what a change of it stands on.
    pub document: Document,
    /// The legal holds that cover it.
    pub holds: Vec<Hold>,
    /// What became of a hold before.
    pub held: Option<HoldNotice>,
    /// What is missing to mark it as not applied; none where what is there is enough, or nothing is to be decided.
    pub lacks_evidence: Option<String>,
}

/// The document of an operation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Document {
    /// Its revisions, from the first.
    pub revisions: Vec<Revision>,
    /// The latest amendment that proposed this one; none for the first.
    pub amendment: Option<AmendmentId>,
    /// Why this person cannot propose a change of this revision; none where they can.
    pub why_not_amend: Option<String>,
    /// The records of the operation that were asked to be taken back.
    pub reversals: Vec<Reversal>,
    /// What it takes back itself, where it is a reversal.
    pub reverses: Option<Reversal>,
    /// Why this person cannot ask that a record of it is taken back; none where they can.
    pub why_not_reverse: Option<String>,
}

/// One revision of a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Revision {
    /// Its number.
    pub number: u32,
    /// Its operation.
    pub operation: OperationId,
    /// Where that stands.
    pub state: StateName,
}

#[cfg(feature = "ssr")]
async fn document(visit: &crate::context::Visit, id: OperationId) -> Result<Document, Failure> {
    use guard::{refusal::Refusal, service::Proposer};

    let (person, guard) = (visit.person()?, &visit.guard);
    let reverses = guard.reverses(&person.reach, id).await?;
    // The revisions before and behind a reversal are those of what it takes back, and stand there.
    let revisions = if reverses.is_some() { Vec::new() } else { guard.revisions(&person.reach, id).await? };
    let revision = |held: guard::operation::Operation| Revision {
        number: held.key.revision,
        operation: held.id,
        state: held.state.name(),
    };
    let amendment = guard.latest_amendment(&person.reach, id).await?;
    let why_not_amend = match guard.amendable(Proposer::Person(person), id).await {
        Ok(_) => None,
        Err(Refusal::Store(fault)) => return Err(fault.into()),
        Err(refusal) => Some(crate::wording::amendment::sentence(&refusal.to_string())),
    };
    // Any record may be named on the form: what stands in the way of all of them, stands in its way.
    let why_not_reverse = guard.why_not_reverse(person, id, "").await?;
    Ok(Document {
        reversals: guard.reversals(&person.reach, id).await?,
        reverses,
        why_not_reverse: why_not_reverse.map(|refusal| crate::wording::amendment::sentence(&refusal.to_string())),
        revisions: revisions.into_iter().map(revision).collect(),
        amendment: amendment.map(|amendment| amendment.id),
        why_not_amend,
    })
}

/// Masks what the person does not see.
#[cfg(feature = "ssr")]
fn draw(veil: &Veil, history: &mut History) {
    history.payload = history.payload.as_deref().map(|payload| veil.text(payload));
    for entry in &mut history.entries {
        entry.detail = veil.facts(&entry.detail);
    }
    veil.cover(history.conflicts.iter_mut().flat_map(|conflict| &mut conflict.changes));
}

/// Reads the operation with this id.
#[server(prefix = "/fn", endpoint = "read_operation", input = Json, output = Json)]
pub(crate) async fn read_operation(id: String) -> Result<Report, Failure> {
    let visit = crate::context::Visit::current()?;
    let person = visit.person()?;
    let id = id.parse().map_err(|_| guard::refusal::Refusal::not_found("operation"))?;
    let mut history = visit.guard.history(&person.reach, id).await?;
    let operation = visit.guard.operation(&person.reach, id).await?;
    let veil = visit.guard.veil(person, &operation).await?;
    draw(&veil, &mut history);
    let outlook = visit.guard.outlook(&operation).await?;
    let standing = visit.guard.standings(std::slice::from_ref(&operation)).await?.pop().unwrap_or_default();
    let alike = visit.guard.look_alikes(&person.reach, std::slice::from_ref(&operation)).await?.pop().flatten();
    let alikes = Alikes::of(&visit.guard, alike, usize::MAX);
    let message = visit.guard.message_versions(&person.reach, id).await?;
    let notice = crate::reply::take_notice(&visit, super::resolve::NOTICE).await;
    let kept = crate::reply::take_notice(&visit, crate::evidence::NOTICE).await;
    let claimed = crate::reply::take_notice(&visit, super::claim::NOTICE).await;
    let haste = crate::reply::take_notice(&visit, super::look_up_now::NOTICE).await;
    let held: Option<HoldNotice> = crate::reply::take_notice(&visit, super::change_hold::NOTICE).await;
    let is_of_this = |notice: &HoldNotice| match notice {
        HoldNotice::Done(operation, _) => *operation == id,
        HoldNotice::Refused(draft, _) => draft.operation == id,
    };
    let lacks_evidence =
        if operation.state.is_uncertain() { visit.guard.lacks_evidence(&operation).await? } else { None };
    Ok(Report {
        as_of: visit.guard.now(),
        person: person.clone(),
        history,
        outlook,
        standing,
        message,
        notice,
        haste,
        kept,
        claimed,
        alikes,
        veil,
        document: document(&visit, id).await?,
        holds: visit.guard.holds_on(&operation).await?,
        held: held.filter(is_of_this),
        lacks_evidence,
    })
}
