//! What people and readers ask: lists, histories, decisions on what is uncertain.

use super::report::{check_length, check_text};
use super::{Guard, LABEL_CHARACTERS_MAX, TRIES_MAX, Transition, contended, integer, text};
use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::conflict::Conflict;
use crate::event::{Event, REPORT_TEXT_CHARACTERS_MAX, Resolution};
use crate::evidence::{Evidence, LINK_CHARACTERS_MAX};
use crate::id::{EvidenceId, OperationId};
use crate::key::{KEY_PART_CHARACTERS_MAX, REVISION_MAX};
use crate::operation::Operation;
use crate::person::Person;
use crate::queue::{Filter, Order, PAGE_ROWS_MAX, Page, PageRequest, Sought};
use crate::refusal::Refusal;
use crate::state::StateName;
use crate::store::{Delivery, Replaced};
use crate::summary::{Count, Waiting};
use crate::token::Reach;
use crate::trail::{Entry, EntryKind, detail};
use crate::view::OperationView;

/// A history shows at most this many conflicts, pieces of evidence and deliveries each; the trail is paged.
pub const HISTORY_ROWS_MAX: u32 = 200;

/// An operation with everything that is known about it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct History {
    /// The operation.
    pub operation: OperationView,
    /// Its payload, compact JSON; none when it was dropped.
    pub payload: Option<String>,
    /// The latest [`PAGE_ROWS_MAX`] entries of its trail, oldest first.
    pub entries: Vec<Entry>,
    /// Its conflicts, newest first.
    pub conflicts: Vec<Conflict>,
    /// Its evidence, oldest first.
    pub evidence: Vec<Evidence>,
    /// Its deliveries that were answered without a grant, newest first.
    pub deliveries: Vec<Delivery>,
}

/// What a decision did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settled {
    /// Where the operation stood.
    pub before: StateName,
    /// The operation as it is now.
    pub operation: OperationView,
}

impl Guard {
    /// The operation within reach; a lease that is over has been ended.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn operation(&self, reach: &Reach, id: OperationId) -> Result<Operation, Refusal> {
        self.reachable(reach, id).await
    }

    /// A page of operations within reach; leases that are over have been ended.
    ///
    /// # Errors
    /// A limit out of bounds, a text that is no cursor or could be in no key, the store's fault.
    pub async fn operations(
        &self,
        reach: &Reach,
        filter: &Filter,
        order: Order,
        page: &PageRequest,
    ) -> Result<Page<Operation>, Refusal> {
        if !(1..=PAGE_ROWS_MAX).contains(&page.limit) {
            return Err(Refusal::field("limit", format!("is {}; 1 to {PAGE_ROWS_MAX} are possible", page.limit)));
        }
        if page.cursor.as_ref().is_some_and(|cursor| cursor.read().is_none()) {
            return Err(Refusal::field("cursor", "is no cursor; take it from next_cursor of the page before"));
        }
        let texts = [
            ("workflow", &filter.workflow),
            ("company", &filter.company),
            ("source_system", &filter.source_system),
            ("document", &filter.document),
            ("action", &filter.action),
        ];
        check_length("worker", filter.worker.as_deref().unwrap_or_default(), LABEL_CHARACTERS_MAX)?;
        if let Some(Sought::Named(name)) = &filter.sought {
            check_length("q", name, REPORT_TEXT_CHARACTERS_MAX)?;
        }
        for (field, wanted) in texts {
            check_length(field, wanted.as_deref().unwrap_or_default(), KEY_PART_CHARACTERS_MAX)?;
        }
        let mut found = self.inner.store.operations(reach, filter, order, page).await?;
        for operation in &mut found.rows {
            if operation.state.lease_is_over(self.now()) {
                *operation = self.reachable(reach, operation.id).await?;
            }
        }
        let is_asked_for = |state: StateName| filter.states.is_empty() || filter.states.contains(&state);
        found.rows.retain(|operation| is_asked_for(operation.state.name()));
        Ok(found)
    }

    /// The entries of an operation's trail behind `after`, oldest first, at most `limit`.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn entries(&self, reach: &Reach, id: OperationId, after: u64, limit: u32) -> Result<Vec<Entry>, Refusal> {
        self.reachable(reach, id).await?;
        Ok(self.inner.store.entries(id, after, limit).await?)
    }

    /// The payload of a revision of the operation's document, compact JSON.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such revision, or its payload was dropped; the store's fault.
    pub async fn payload(&self, reach: &Reach, id: OperationId, revision: u32) -> Result<String, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let holder = if operation.key.revision == revision {
            Some(operation)
        } else if (1..=REVISION_MAX).contains(&revision) {
            self.inner.store.operation_by_key(&operation.key.at_revision(revision)).await?
        } else {
            None
        };
        let holder = holder.ok_or_else(|| Refusal::not_found("revision"))?;
        self.inner.store.payload(holder.id).await?.ok_or_else(|| Refusal::not_found("payload"))
    }

    /// The destination's response that settled an operation, where it is kept.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn response(&self, reach: &Reach, id: OperationId) -> Result<Option<String>, Refusal> {
        self.reachable(reach, id).await?;
        Ok(self.inner.store.response(id).await?)
    }

    /// Everything that is known about an operation.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn history(&self, reach: &Reach, id: OperationId) -> Result<History, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let store = &self.inner.store;
        Ok(History {
            operation: self.view(&operation),
            payload: store.payload(id).await?,
            entries: store.entries(id, operation.version.saturating_sub(PAGE_ROWS_MAX.into()), PAGE_ROWS_MAX).await?,
            conflicts: store.conflicts(id, HISTORY_ROWS_MAX).await?,
            evidence: store.evidence(id, HISTORY_ROWS_MAX).await?,
            deliveries: store.deliveries(id, HISTORY_ROWS_MAX).await?,
        })
    }

    /// A person decides an uncertain operation, as it was when the page was made.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::Stale`] when the operation changed since the page was made (by whom, when, to
    /// what), [`Refusal::Impossible`] when it is not uncertain, a reason or link out of bounds, the store's fault.
    pub async fn resolve(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        resolution: &Resolution,
        reason: &str,
        link: Option<&str>,
    ) -> Result<Settled, Refusal> {
        if !person.role.may_resolve() {
            return Err(Refusal::Forbidden { reason: "deciding needs the role operator or admin".to_owned() });
        }
        check_text("reason", reason)?;
        match resolution {
            Resolution::Confirmed { destination_reference } => {
                check_text("destination_reference", destination_reference)?;
            }
            Resolution::NotApplied { reason } => check_text("reason", reason)?,
        }
        let link = checked_link(link)?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            self.refuse_stale(&operation, seen_version).await?;
            let at = self.now();
            let state = operation.state.after(&Event::Resolved { at, resolution: resolution.clone() })?;
            if state.name() == StateName::Failed {
                self.refuse_while_sending(&operation, at).await?;
                self.refuse_before_final(&operation, at).await?;
            }
            let before = operation.state.name();
            let reference = match resolution {
                Resolution::Confirmed { destination_reference } => Some(text(destination_reference)),
                Resolution::NotApplied { .. } => None,
            };
            let facts = detail([
                ("before", Some(text(before.as_str()))),
                ("destination_reference", reference),
                ("reason", Some(text(reason))),
                ("link", link.map(text)),
                ("seen_version", Some(integer(i64::try_from(seen_version).unwrap_or(i64::MAX)))),
                ("seen_fingerprint", Some(text(&operation.fingerprint.to_string()))),
            ]);
            let actor = Actor::Person { email: person.email.clone() };
            let transition = Transition { state, at, actor: actor.clone(), kind: EntryKind::Resolved, facts };
            let mut replacement = self.change(&operation, transition).await?;
            replacement.evidence = Some(Evidence {
                id: EvidenceId::new(at, self.inner.entropy.bytes()),
                operation: id,
                at,
                actor,
                note: reason.to_owned(),
                link: link.map(ToOwned::to_owned),
            });
            let changed = replacement.operation.clone();
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(Settled { before, operation: self.view(&changed) });
            }
        }
        Err(contended())
    }

    /// The counts of hours from `from` to before `to` within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn counts(&self, reach: &Reach, from: Timestamp, to: Timestamp) -> Result<Vec<Count>, Refusal> {
        Ok(self.inner.store.counts(reach, from, to).await?)
    }

    /// What waits for a person within reach.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn waiting(&self, reach: &Reach) -> Result<Waiting, Refusal> {
        Ok(self.inner.store.waiting(reach).await?)
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
}

fn checked_link(link: Option<&str>) -> Result<Option<&str>, Refusal> {
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
