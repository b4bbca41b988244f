//! People settle what is uncertain: claims, evidence, decisions, and the second person that some decisions need.

use std::sync::Arc;

use chrono::TimeDelta;

use super::report::{check_length, check_text};
use super::{Guard, TRIES_MAX, Transition, contended, integer, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::event::{Event, Resolution};
use crate::evidence::{
    EVIDENCE_PER_OPERATION_MAX, Evidence, FILE_BYTES_MAX, FILES_BYTES_PER_OPERATION_MAX, File, FileHash,
    LINK_CHARACTERS_MAX, MediaType, NOTE_CHARACTERS_MAX, file_name,
};
use crate::id::{EvidenceId, OperationId};
use crate::json::Json;
use crate::operation::Operation;
use crate::person::Person;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::Refusal;
use crate::review::{
    CLAIM_MINUTES, CLAIM_RENEWED_BELOW_MINUTES, Claim, Deferral, KEEP_WAITING_DAYS_MAX, KEEP_WAITING_MINUTES_MIN, Look,
    Proposal, Review, Ruling, moves,
};
use crate::state::{State, StateName};
use crate::store::Replaced;
use crate::token::Reach;
use crate::trail::{Entry, EntryKind, detail};
use crate::veil::{OPENED_MINUTES, Veil};
use crate::view::OperationView;
use crate::workflow::ReviewRules;

/// What a decision did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settled {
    /// Where the operation stood.
    pub before: StateName,
    /// The operation as it is now.
    pub operation: OperationView,
    /// The decision that waits for a second person: nothing else was changed then.
    pub proposal: Option<Proposal>,
}

/// How people stand to an operation, for those who may settle it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// Who is on it.
    pub claim: Option<Claim>,
    /// Until when it is kept waiting.
    pub deferral: Option<Deferral>,
    /// What waits for a second person.
    pub proposal: Option<Proposal>,
    /// Whether what was proposed is void, since something moved.
    pub is_void: bool,
    /// Whether a decision needs a second person.
    pub needs_second_person: bool,
    /// Whether its destination can be asked.
    pub has_lookup: bool,
    /// Whether what its destination shows says something of it: of what takes a record back it does not.
    pub may_be_looked_for: bool,
    /// Whether it is the effect of an amendment, which cannot be dropped.
    pub stands_for_amendment: bool,
    /// After how many minutes it is shown as ageing, and as late.
    pub rules: ReviewRules,
}

/// Evidence as somebody adds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewEvidence {
    /// In words.
    pub note: String,
    /// A web address; blank: none.
    pub link: String,
    /// The name and the bytes of a file.
    pub file: Option<(String, Arc<[u8]>)>,
}

impl Guard {
    /// The last entry since `seen_version` that a decision on the operation rests on; none where a page of that version is still true.
    ///
    /// # Errors
    /// A version that the operation has not had yet, the store's fault.
    pub async fn moved_since(&self, operation: &Operation, seen_version: u64) -> Result<Option<Entry>, Refusal> {
        if seen_version > operation.version {
            return Err(Refusal::field("version", "is none that this operation has had; open it again"));
        }
        let mut moved = None;
        let mut after = seen_version;
        while after < operation.version {
            let entries = self.inner.store.entries(operation.id, after, PAGE_ROWS_MAX).await?;
            let Some(last) = entries.last() else { break };
            after = last.sequence;
            moved = entries.into_iter().rev().find(moves).or(moved);
        }
        Ok(moved)
    }

    /// Refuses a decision on a page that is no longer true, and tells who changed it.
    pub(super) async fn refuse_stale(&self, operation: &Operation, seen_version: u64) -> Result<(), Refusal> {
        match self.moved_since(operation, seen_version).await? {
            None => Ok(()),
            Some(Entry { actor, at, .. }) => Err(Refusal::Stale { state: operation.state.name(), by: actor, at }),
        }
    }

    /// What people have done about each of these operations.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn reviews(&self, operations: &[Operation]) -> Result<Vec<Option<Review>>, Refusal> {
        let ids: Vec<OperationId> = operations.iter().map(|operation| operation.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.inner.store.reviews(&ids).await?;
        let mut of = |id: &OperationId| {
            let place = found.iter().position(|review| review.operation == *id)?;
            Some(found.swap_remove(place))
        };
        Ok(ids.iter().map(&mut of).collect())
    }

    /// A person says to be on an uncertain operation, for [`CLAIM_MINUTES`]; whoever was on it before is relieved, and the trail tells
    /// so. Claiming again soon after changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] where it is not uncertain, the store's fault.
    pub async fn claim(&self, person: &Person, id: OperationId) -> Result<Claim, Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "claimed").await?;
            let at = self.now();
            let held = review.claim_at(at).cloned();
            let renewed_below = TimeDelta::minutes(CLAIM_RENEWED_BELOW_MINUTES);
            if let Some(mine) = held.as_ref().filter(|claim| claim.by == person.email)
                && mine.until - at >= renewed_below
            {
                return Ok(mine.clone());
            }
            let claim = Claim { by: person.email.clone(), at, until: at + TimeDelta::minutes(CLAIM_MINUTES) };
            let others = held.filter(|claim| claim.by != person.email);
            let facts = detail([
                ("until", Some(text(&rfc3339(claim.until)))),
                ("taken_from", others.as_ref().map(|claim| text(&claim.by))),
            ]);
            let review = Review { claim: Some(claim.clone()), ..review };
            if self.put_review(person, &operation, review, EntryKind::Claimed, facts).await? == Replaced::Replaced {
                return Ok(claim);
            }
        }
        Err(contended())
    }

    /// A person is no longer on an uncertain operation. Where somebody else is, or nobody, nothing changes.
    ///
    /// # Errors
    /// As for [`Guard::claim`].
    pub async fn release_claim(&self, person: &Person, id: OperationId) -> Result<(), Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "released").await?;
            if review.claim_at(self.now()).is_none_or(|claim| claim.by != person.email) {
                return Ok(());
            }
            let review = Review { claim: None, ..review };
            let put = self.put_review(person, &operation, review, EntryKind::ClaimReleased, detail([])).await?;
            if put == Replaced::Replaced {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// A person adds evidence to an operation: a note, a link, a file, or several of them. It decides nothing.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], what is empty, too long, of no known type or beyond what an operation can
    /// hold, the store's fault.
    pub async fn add_evidence(&self, person: &Person, id: OperationId, new: &NewEvidence) -> Result<Evidence, Refusal> {
        may_add_evidence(person)?;
        let note = new.note.trim();
        check_length("note", note, NOTE_CHARACTERS_MAX)?;
        let link = checked_link(Some(&new.link))?;
        let file = checked(new.file.as_ref())?;
        if note.is_empty() && link.is_none() && file.is_none() {
            return Err(Refusal::field("note", "is empty, and so are link and file; one of them is needed"));
        }
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            self.refuse_without_room(id, file.as_ref()).await?;
            let at = self.now();
            let actor = Actor::Person { email: person.email.clone() };
            let evidence = Evidence {
                id: EvidenceId::new(at, self.inner.entropy.bytes()),
                operation: id,
                at,
                actor: actor.clone(),
                note: note.to_owned(),
                link: link.map(ToOwned::to_owned),
                file: file.clone(),
            };
            let facts = detail([
                ("evidence", Some(text(&evidence.id.to_string()))),
                ("reason", (!note.is_empty()).then(|| text(note))),
                ("link", link.map(text)),
                ("file", file.as_ref().map(file_facts)),
            ]);
            let state = operation.state.clone();
            let transition = Transition { state, at, actor, kind: EntryKind::EvidenceAdded, facts };
            let mut replacement = self.change(&operation, transition).await?;
            replacement.evidence = Some(evidence.clone());
            replacement.file = new.file.as_ref().map(|(_, content)| Arc::clone(content));
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(evidence);
            }
        }
        Err(contended())
    }

    /// Refuses evidence that an operation has no room for.
    async fn refuse_without_room(&self, id: OperationId, file: Option<&File>) -> Result<(), Refusal> {
        let held = self.inner.store.evidence(id, super::desk::HISTORY_ROWS_MAX).await?;
        if held.len() >= EVIDENCE_PER_OPERATION_MAX {
            let message = format!("is too much: an operation holds {EVIDENCE_PER_OPERATION_MAX} pieces of evidence");
            return Err(Refusal::field("note", message));
        }
        let bytes: u64 = held.iter().filter_map(|evidence| evidence.file.as_ref()).map(|file| file.bytes).sum();
        if file.is_some_and(|file| bytes + file.bytes > FILES_BYTES_PER_OPERATION_MAX) {
            return Err(Refusal::field("file", "is too much: the files of an operation have up to 50 MiB together"));
        }
        Ok(())
    }

    /// Evidence that is a file, with its bytes, of an operation within reach.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn evidence_file(&self, reach: &Reach, id: EvidenceId) -> Result<(File, Vec<u8>), Refusal> {
        let found = self.inner.store.evidence_file(id).await?;
        let found =
            found.ok_or_else(|| Refusal::not_found("file; where there was one, retention dropped its content"))?;
        let (evidence, content) = found;
        match self.reachable(reach, evidence.operation).await {
            Ok(_) => {}
            Err(Refusal::NotFound { .. }) => return Err(Refusal::not_found("file")),
            Err(refusal) => return Err(refusal),
        }
        Ok((evidence.file.ok_or_else(|| Refusal::not_found("file"))?, content))
    }

    /// What is masked for a person of an operation's payloads: everything that its workflow marks as sensitive, unless this very person
    /// opened it within the last [`OPENED_MINUTES`].
    ///
    /// # Errors
    /// The store's fault.
    pub async fn veil(&self, person: &Person, operation: &Operation) -> Result<Veil, Refusal> {
        let closed = self.closed_veil(operation);
        if closed.is_lifted() {
            return Ok(closed);
        }
        let opened_after = self.now() - TimeDelta::minutes(OPENED_MINUTES);
        let entries = self.latest_entries(operation).await?;
        let opens = |entry: &Entry| {
            let is_theirs = matches!(&entry.actor, Actor::Person { email } if *email == person.email);
            entry.kind == EntryKind::FieldsOpened && is_theirs && entry.at > opened_after
        };
        let is_open = person.role.may_open_sensitive() && entries.iter().any(opens);
        Ok(if is_open { Veil::default() } else { closed })
    }

    /// A person opens what the workflow marks as sensitive, for [`OPENED_MINUTES`]; the trail tells so. Where it is open, or nothing is
    /// sensitive, nothing changes.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], the store's fault.
    pub async fn open_fields(&self, person: &Person, id: OperationId) -> Result<(), Refusal> {
        if !person.role.may_open_sensitive() {
            let reason = "opening masked fields needs the role operator, finance or admin".to_owned();
            return Err(Refusal::Forbidden { reason });
        }
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            let veil = self.veil(person, &operation).await?;
            if veil.is_lifted() {
                return Ok(());
            }
            let places = veil.places().iter().map(|place| text(place)).collect();
            let facts = detail([("fields", Some(Json::Array(places)))]);
            let actor = Actor::Person { email: person.email.clone() };
            let (state, at) = (operation.state.clone(), self.now());
            let transition = Transition { state, at, actor, kind: EntryKind::FieldsOpened, facts };
            let replacement = self.change(&operation, transition).await?;
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(());
            }
        }
        Err(contended())
    }

    /// What is masked of a workflow's payloads for whoever has opened nothing; none where there is no such workflow.
    pub(super) fn veil_of(&self, workflow: &str) -> Option<Veil> {
        self.catalogue().workflows.get(workflow).map(|known| Veil::over(&known.workflow.sensitive))
    }

    /// What is masked of an operation for whoever has opened nothing.
    pub fn closed_veil(&self, operation: &Operation) -> Veil {
        self.veil_of(operation.key.workflow.as_str()).unwrap_or_default()
    }

    /// A person keeps an uncertain operation waiting until a moment: it needs nobody before that, and comes back then.
    ///
    /// # Errors
    /// As for [`Guard::claim`]; [`Refusal::Stale`], a moment out of bounds, a reason out of bounds.
    pub async fn keep_waiting(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        until: Timestamp,
        reason: &str,
    ) -> Result<Deferral, Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "kept waiting").await?;
            check_text("reason", reason)?;
            let at = self.now();
            check_until(until, at)?;
            self.refuse_stale(&operation, seen_version).await?;
            let deferral = Deferral { by: person.email.clone(), at, until, reason: reason.to_owned() };
            let facts = detail([
                ("until", Some(text(&rfc3339(until)))),
                ("reason", Some(text(reason))),
                ("seen_version", Some(version(seen_version))),
            ]);
            // Whoever decides to wait is no longer on it.
            let claim = review.claim.clone().filter(|claim| claim.by != person.email);
            let review = Review { deferral: Some(deferral.clone()), claim, ..review };
            if self.put_review(person, &operation, review, EntryKind::KeptWaiting, facts).await? == Replaced::Replaced {
                return Ok(deferral);
            }
        }
        Err(contended())
    }

    /// A person decides an uncertain operation, as it was when the page was made. Over the workflow's amount the decision is kept as a
    /// proposal, and nothing else changes until a second person confirms it.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::Stale`] when something that the decision rests on changed since the page was made (by
    /// whom, when, to what), [`Refusal::Impossible`] when it is not uncertain or may not be decided so yet,
    /// [`Refusal::Unconfirmed`] when the destination does not show what is to be confirmed, a missing evidence, a reason or link out
    /// of bounds, the store's fault.
    pub async fn resolve(&self, person: &Person, id: OperationId, ruling: &Ruling) -> Result<Settled, Refusal> {
        may_decide(person)?;
        check_text("reason", &ruling.reason)?;
        match &ruling.resolution {
            Resolution::Confirmed { destination_reference } => {
                check_text("destination_reference", destination_reference)?;
            }
            Resolution::NotApplied { reason } | Resolution::Dropped { reason } => check_text("reason", reason)?,
        }
        let link = checked_link(ruling.link.as_deref())?;
        if ruling.file.is_some() {
            may_add_evidence(person)?;
        }
        let file = checked(ruling.file.as_ref())?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            self.refuse_stale(&operation, ruling.seen_version).await?;
            if file.is_some() {
                self.refuse_without_room(id, file.as_ref()).await?;
            }
            let review = self.review(id).await?;
            if let Some(waits) = self.standing_proposal(&operation, &review).await? {
                return Err(Refusal::Impossible {
                    state: operation.state.name(),
                    what: format!("decided anew while the proposal of {} waits for a second person", waits.by).into(),
                });
            }
            let settling = Settling { ruling, proposal: None };
            let replacement = self.settling(person, &operation, settling).await?;
            if !self.review_rules(&operation).needs_second_person(operation.money.as_ref()) {
                let changed = replacement.operation.clone();
                if self.replace(replacement).await? == Replaced::Replaced {
                    let (before, operation) = (operation.state.name(), self.view(&changed));
                    return Ok(Settled { before, operation, proposal: None });
                }
                continue;
            }
            let evidence = replacement.evidence.clone().filter(|_| file.is_some());
            let proposal = Proposal {
                by: person.email.clone(),
                at: self.now(),
                resolution: ruling.resolution.clone(),
                reason: ruling.reason.clone(),
                link: link.map(ToOwned::to_owned),
                version: operation.version + 1,
                fingerprint: operation.fingerprint,
            };
            let facts = detail([
                ("proposed", Some(text(resolved_to(&ruling.resolution).as_str()))),
                ("destination_reference_proposed", reference_of(&ruling.resolution)),
                ("reason", Some(text(&ruling.reason))),
                ("link", link.map(text)),
                ("file", file.as_ref().map(file_facts)),
                ("look", ruling.look.as_ref().map(look_facts)),
                ("seen_version", Some(version(ruling.seen_version))),
                ("seen_fingerprint", Some(text(&operation.fingerprint.to_string()))),
            ]);
            let review = Review { proposal: Some(proposal.clone()), claim: None, ..review };
            let kind = EntryKind::ResolutionProposed;
            let mut proposing = self.reviewing(person, &operation, review, kind, facts).await?;
            // A file is kept at once: the second person decides by it.
            proposing.file = evidence.as_ref().and(replacement.file);
            proposing.evidence = evidence;
            if self.replace(proposing).await? == Replaced::Replaced {
                let operation = self.reachable(&person.reach, id).await?;
                let before = operation.state.name();
                return Ok(Settled { before, operation: self.view(&operation), proposal: Some(proposal) });
            }
        }
        Err(contended())
    }

    /// A second person confirms what the first one decided: only then it is so.
    ///
    /// # Errors
    /// As for [`Guard::resolve`]; [`Refusal::Forbidden`] for the first person, [`Refusal::Impossible`] where nothing is proposed,
    /// [`Refusal::Stale`] where something moved since the proposal, which is void then.
    pub async fn confirm_proposal(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
    ) -> Result<Settled, Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "confirmed by a second person").await?;
            let proposal = self.proposal(&operation, &review, seen_version).await?;
            if proposal.by == person.email {
                let reason = "whoever proposed a decision cannot confirm it; another person has to".to_owned();
                return Err(Refusal::Forbidden { reason });
            }
            let ruling = Ruling {
                seen_version,
                resolution: proposal.resolution.clone(),
                reason: proposal.reason.clone(),
                link: proposal.link.clone(),
                file: None,
                look: None,
            };
            let settling = Settling { ruling: &ruling, proposal: Some(&proposal) };
            let replacement = self.settling(person, &operation, settling).await?;
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Replaced {
                let (before, operation) = (operation.state.name(), self.view(&changed));
                return Ok(Settled { before, operation, proposal: None });
            }
        }
        Err(contended())
    }

    /// A second person rejects what the first one decided, or the first one takes it back; the operation stays as it is.
    ///
    /// # Errors
    /// As for [`Guard::confirm_proposal`]; a reason out of bounds.
    pub async fn reject_proposal(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        reason: &str,
    ) -> Result<Settled, Refusal> {
        for _ in 0..TRIES_MAX {
            let (operation, review) = self.reviewed(person, id, "rejected by a second person").await?;
            check_text("reason", reason)?;
            let proposal = self.proposal(&operation, &review, seen_version).await?;
            let facts = detail([
                ("proposed_by", Some(text(&proposal.by))),
                ("proposed", Some(text(resolved_to(&proposal.resolution).as_str()))),
                ("reason", Some(text(reason))),
                ("seen_version", Some(version(seen_version))),
            ]);
            let review = Review { proposal: None, ..review };
            let kind = EntryKind::ResolutionRejected;
            if self.put_review(person, &operation, review, kind, facts).await? == Replaced::Replaced {
                let operation = self.reachable(&person.reach, id).await?;
                return Ok(Settled {
                    before: operation.state.name(),
                    operation: self.view(&operation),
                    proposal: None,
                });
            }
        }
        Err(contended())
    }

    /// How people stand to each of these operations.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn standings(&self, operations: &[Operation]) -> Result<Vec<Standing>, Refusal> {
        let now = self.now();
        let reviews = self.reviews(operations).await?;
        let mut standings = Vec::with_capacity(operations.len());
        for (operation, review) in operations.iter().zip(reviews) {
            let rules = self.review_rules(operation);
            let proposal = match &review {
                Some(review) => self.standing_proposal(operation, review).await?,
                None => None,
            };
            let is_proposed = review.as_ref().is_some_and(|review| review.proposal.is_some());
            standings.push(Standing {
                claim: review.as_ref().and_then(|review| review.claim_at(now).cloned()),
                deferral: review.as_ref().and_then(|review| review.deferral_at(now).cloned()),
                is_void: is_proposed && proposal.is_none(),
                proposal,
                needs_second_person: rules.needs_second_person(operation.money.as_ref()),
                has_lookup: self.catalogue().destination_to_ask(operation.key.workflow.as_str()).is_some(),
                may_be_looked_for: !self.is_key_of_reversal(&operation.key),
                stands_for_amendment: self.stands_for_amendment(operation).await?,
                rules,
            });
        }
        Ok(standings)
    }

    /// The rules of the operation's workflow for people who settle.
    pub fn review_rules(&self, operation: &Operation) -> ReviewRules {
        let catalogue = self.catalogue();
        let known = catalogue.workflows.get(operation.key.workflow.as_str());
        known.map(|known| known.workflow.review.clone()).unwrap_or_default()
    }

    /// The proposal that still stands: nothing that it rests on has moved since.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn standing_proposal(&self, operation: &Operation, review: &Review) -> Result<Option<Proposal>, Refusal> {
        let Some(proposal) = &review.proposal else { return Ok(None) };
        let is_void = self.moved_since(operation, proposal.version).await?.is_some();
        Ok((!is_void && proposal.fingerprint == operation.fingerprint).then(|| proposal.clone()))
    }

    /// The proposal that a second person decides on, as the page showed it.
    async fn proposal(&self, operation: &Operation, review: &Review, seen_version: u64) -> Result<Proposal, Refusal> {
        let Some(proposal) = review.proposal.clone() else {
            self.refuse_stale(operation, seen_version).await?;
            let what = "decided by a second person: nothing is proposed".into();
            return Err(Refusal::Impossible { state: operation.state.name(), what });
        };
        self.refuse_stale(operation, seen_version).await?;
        self.refuse_stale(operation, proposal.version).await?;
        Ok(proposal)
    }

    /// The change that a decision makes, with everything that it needs to be allowed.
    async fn settling(
        &self,
        person: &Person,
        operation: &Operation,
        settling: Settling<'_>,
    ) -> Result<crate::store::Replacement, Refusal> {
        let Settling { ruling, proposal } = settling;
        let Ruling { seen_version, resolution, reason, link, file: sent, look } = ruling;
        let link = checked_link(link.as_deref())?;
        let file = checked(sent.as_ref())?;
        let at = self.now();
        let state = operation.state.after(&Event::Resolved { at, resolution: resolution.clone() })?;
        match resolution {
            Resolution::NotApplied { .. } => {
                self.refuse_while_sending(operation, at).await?;
                self.refuse_before_final(operation, at).await?;
                if link.is_none() && file.is_none() {
                    self.refuse_without_evidence(operation).await?;
                }
            }
            // What a second person confirms was checked for the first one.
            Resolution::Confirmed { destination_reference } if proposal.is_none() => {
                self.refuse_unchecked(operation, destination_reference, look.as_ref())?;
            }
            Resolution::Confirmed { .. } => {}
            Resolution::Dropped { .. } if self.stands_for_amendment(operation).await? => {
                let what = "dropped: it stands for an amendment. Say whether it was applied; then the amendment can be withdrawn";
                return Err(Refusal::Impossible { state: operation.state.name(), what: what.into() });
            }
            Resolution::Dropped { .. } => {}
        }
        let facts = detail([
            ("before", Some(text(operation.state.name().as_str()))),
            ("destination_reference", reference_of(resolution)),
            ("reason", Some(text(reason))),
            ("link", link.map(text)),
            ("file", file.as_ref().map(file_facts)),
            ("look", look.as_ref().map(look_facts)),
            ("proposed_by", proposal.map(|proposal| text(&proposal.by))),
            ("proposed_at", proposal.map(|proposal| text(&rfc3339(proposal.at)))),
            ("seen_version", Some(version(*seen_version))),
            ("seen_fingerprint", Some(text(&operation.fingerprint.to_string()))),
        ]);
        let actor = Actor::Person { email: person.email.clone() };
        let transition = Transition { state, at, actor: actor.clone(), kind: EntryKind::Resolved, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.evidence = Some(Evidence {
            id: EvidenceId::new(at, self.inner.entropy.bytes()),
            operation: operation.id,
            at,
            actor,
            note: reason.clone(),
            link: link.map(ToOwned::to_owned),
            file,
        });
        replacement.file = sent.as_ref().map(|(_, content)| Arc::clone(content));
        Ok(replacement)
    }

    /// Whether it is the effect of an amendment, whose key is free again once that comes to nothing. What is dropped keeps its key.
    async fn stands_for_amendment(&self, operation: &Operation) -> Result<bool, Refusal> {
        if operation.key.revision > 1 {
            return Ok(true);
        }
        Ok(operation.key.may_be_reversal() && !self.inner.store.amendments_of(operation.id, 1).await?.is_empty())
    }

    /// A late report makes an operation disputed while its latest attempt is under way. Its worker was told to send and has not
    /// answered; the key must not be free before that lease is over, or two could send at once.
    async fn refuse_while_sending(&self, operation: &Operation, now: Timestamp) -> Result<(), Refusal> {
        if operation.state.name() != StateName::Disputed {
            return Ok(());
        }
        match self.interrupted_until(operation).await?.filter(|until| now < *until) {
            None => Ok(()),
            Some(until) => Err(Refusal::Impossible {
                state: operation.state.name(),
                what: format!(
                    "decided as not applied before {}: attempt {} may be sending until then",
                    rfc3339(until),
                    operation.attempt_number()
                )
                .into(),
            }),
        }
    }

    /// What is missing to mark an operation as not applied with no further link or file; none where what is there is enough.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn lacks_evidence(&self, operation: &Operation) -> Result<Option<String>, Refusal> {
        match self.refuse_without_evidence(operation).await {
            Ok(()) => Ok(None),
            Err(Refusal::InvalidField { message, .. }) => Ok(Some(message)),
            Err(refusal) => Err(refusal),
        }
    }

    /// Refuses to take an operation as not applied on somebody's word alone: a link or a file is needed that came since the attempt
    /// began, or a look at the destination that showed something. Where the destination said that there is such a record already, what
    /// it does not show is no evidence.
    async fn refuse_without_evidence(&self, operation: &Operation) -> Result<(), Refusal> {
        let since = operation.attempt.as_ref().map_or(operation.created_at, |attempt| attempt.begun_at);
        let held = self.inner.store.evidence(operation.id, super::desk::HISTORY_ROWS_MAX).await?;
        let is_shown = |evidence: &Evidence| evidence.link.is_some() || evidence.file.is_some();
        if held.iter().any(|evidence| evidence.at >= since && is_shown(evidence)) {
            return Ok(());
        }
        let recovery = self.inner.store.recovery(operation.id).await?;
        if recovery.is_some_and(|recovery| recovery.exists_at.is_some()) {
            let message = "is needed: the destination said that there is such a record already, so that it does not show it is not enough. Give a file or a link";
            return Err(Refusal::field("evidence", message));
        }
        let latest = integer(operation.attempt_number());
        let entries = self.latest_entries(operation).await?;
        // Of what is disputed, not to be found is no answer: one of the two truths says that it is there.
        let disputed_since = match &operation.state {
            State::Disputed { since, .. } => Some(*since),
            State::AwaitingApproval
            | State::Rejected { .. }
            | State::Acquired { .. }
            | State::Sending { .. }
            | State::Released { .. }
            | State::Failed { .. }
            | State::Unknown { .. }
            | State::Confirmed { .. } => None,
        };
        let has_shown = |entry: &Entry| {
            let finding = entry.detail.member("finding").and_then(Json::as_str);
            entry.kind == EntryKind::LookedUp
                && entry.detail.member("attempt") == Some(&latest)
                && finding != Some("inconclusive")
                && !(finding == Some("absent") && disputed_since.is_some_and(|since| entry.at >= since))
        };
        if entries.iter().any(has_shown) {
            return Ok(());
        }
        let or_look = match self.catalogue().destination_to_ask(operation.key.workflow.as_str()) {
            Some(_) if disputed_since.is_none() => ", or look at the destination",
            Some(_) | None => "",
        };
        let message = format!("is needed, and somebody's word is none, also as a note. Give a file or a link{or_look}");
        Err(Refusal::field("evidence", message))
    }

    /// Refuses to confirm what the destination was not asked about, where it can be asked, and what it does not show, unless the person
    /// was shown that and confirms once more.
    fn refuse_unchecked(&self, operation: &Operation, reference: &str, look: Option<&Look>) -> Result<(), Refusal> {
        if self.catalogue().destination_to_ask(operation.key.workflow.as_str()).is_none() {
            return Ok(());
        }
        let Some(look) = look else {
            return Err(Refusal::field("destination_reference", "was not looked for at the destination yet"));
        };
        if look.shows(reference) {
            return Ok(());
        }
        let shown = look.looked.finding.sentence();
        if look.acknowledged.as_ref() == Some(&shown) { Ok(()) } else { Err(Refusal::Unconfirmed { shown }) }
    }

    /// An uncertain operation within the person's reach with its review, for somebody who may decide on it.
    async fn reviewed(
        &self,
        person: &Person,
        id: OperationId,
        what: &'static str,
    ) -> Result<(Operation, Review), Refusal> {
        may_decide(person)?;
        let operation = self.reachable(&person.reach, id).await?;
        if !operation.state.is_uncertain() {
            return Err(Refusal::Impossible { state: operation.state.name(), what: what.into() });
        }
        let review = self.review(id).await?;
        Ok((operation, review))
    }

    /// What people have done about an operation so far. Read behind the operation: whatever changes it since makes a change stale.
    pub(super) async fn review(&self, id: OperationId) -> Result<Review, Refusal> {
        Ok(self.inner.store.reviews(&[id]).await?.pop().unwrap_or_else(|| Review::fresh(id)))
    }

    /// Writes a review with the entry that tells of it; the state stays.
    pub(super) async fn put_review(
        &self,
        person: &Person,
        operation: &Operation,
        review: Review,
        kind: EntryKind,
        facts: Json,
    ) -> Result<Replaced, Refusal> {
        let replacement = self.reviewing(person, operation, review, kind, facts).await?;
        self.replace(replacement).await
    }

    /// The change that writes a review.
    async fn reviewing(
        &self,
        person: &Person,
        operation: &Operation,
        review: Review,
        kind: EntryKind,
        facts: Json,
    ) -> Result<crate::store::Replacement, Refusal> {
        let actor = Actor::Person { email: person.email.clone() };
        let transition = Transition { state: operation.state.clone(), at: self.now(), actor, kind, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.review = review.change();
        Ok(replacement)
    }
}

/// A decision that is being made, perhaps as it was proposed.
struct Settling<'a> {
    ruling: &'a Ruling,
    proposal: Option<&'a Proposal>,
}

/// Checks that a moment is one until which something can be kept waiting.
pub(super) fn check_until(until: Timestamp, at: Timestamp) -> Result<(), Refusal> {
    let first = at + TimeDelta::minutes(KEEP_WAITING_MINUTES_MIN);
    let last = at + TimeDelta::days(KEEP_WAITING_DAYS_MAX);
    if (first..=last).contains(&until) {
        return Ok(());
    }
    let message = format!(
        "is out of bounds; from {} to {} ({KEEP_WAITING_DAYS_MAX} days) are possible",
        rfc3339(first),
        rfc3339(last)
    );
    Err(Refusal::field("until", message))
}

fn may_decide(person: &Person) -> Result<(), Refusal> {
    if person.role.may_resolve() {
        Ok(())
    } else {
        Err(Refusal::Forbidden { reason: "deciding needs the role operator or admin".to_owned() })
    }
}

fn may_add_evidence(person: &Person) -> Result<(), Refusal> {
    if person.role.may_add_evidence() {
        Ok(())
    } else {
        Err(Refusal::Forbidden { reason: "adding evidence needs the role operator, finance or admin".to_owned() })
    }
}

fn version(version: u64) -> Json {
    integer(i64::try_from(version).unwrap_or(i64::MAX))
}

/// The state that a decision leads to.
const fn resolved_to(resolution: &Resolution) -> StateName {
    match resolution {
        Resolution::Confirmed { .. } => StateName::Confirmed,
        Resolution::NotApplied { .. } => StateName::Failed,
        Resolution::Dropped { .. } => StateName::Rejected,
    }
}

fn reference_of(resolution: &Resolution) -> Option<Json> {
    match resolution {
        Resolution::Confirmed { destination_reference } => Some(text(destination_reference)),
        Resolution::NotApplied { .. } | Resolution::Dropped { .. } => None,
    }
}

/// What the destination showed for a decision, and whether it was decided against that.
fn look_facts(look: &Look) -> Json {
    detail([
        ("request", Some(text(&look.looked.request))),
        ("asked_at", Some(text(&rfc3339(look.asked_at)))),
        ("status", look.looked.status.map(integer)),
        ("finding", Some(text(look.looked.finding.as_str()))),
        ("shown", Some(text(&look.looked.finding.sentence()))),
        ("acknowledged", look.acknowledged.is_some().then_some(Json::Bool(true))),
    ])
}

fn file_facts(file: &File) -> Json {
    detail([
        ("name", Some(text(&file.name))),
        ("media_type", Some(text(file.media_type.as_str()))),
        ("bytes", Some(integer(i64::try_from(file.bytes).unwrap_or(i64::MAX)))),
        ("sha256", Some(text(&file.sha256.to_string()))),
    ])
}

fn checked(file: Option<&(String, Arc<[u8]>)>) -> Result<Option<File>, Refusal> {
    file.map(|(name, content)| checked_file(name, content)).transpose()
}

fn checked_file(name: &str, content: &[u8]) -> Result<File, Refusal> {
    let name = file_name(name);
    if name.is_empty() {
        return Err(Refusal::field("file", "has no name"));
    }
    if content.is_empty() {
        return Err(Refusal::field("file", "is empty"));
    }
    if content.len() > FILE_BYTES_MAX {
        return Err(Refusal::field("file", "has over 5 MiB; put it where others can see it, and give the link"));
    }
    let media_type = MediaType::of(&name, content).map_err(|message| Refusal::field("file", message))?;
    let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    Ok(File { name, media_type, bytes, sha256: FileHash::of(content) })
}

pub(super) fn checked_link(link: Option<&str>) -> Result<Option<&str>, Refusal> {
    let Some(link) = link.map(str::trim).filter(|link| !link.is_empty()) else { return Ok(None) };
    if link.chars().count() > LINK_CHARACTERS_MAX {
        return Err(Refusal::field("link", format!("has over {LINK_CHARACTERS_MAX} characters")));
    }
    let is_web_address = link.starts_with("https://") || link.starts_with("http://");
    if !is_web_address || link.chars().any(|character| character.is_control() || character.is_whitespace()) {
        return Err(Refusal::field(
            "link",
            "is no web address; it starts with https:// or http:// and holds no white space",
        ));
    }
    Ok(Some(link))
}
