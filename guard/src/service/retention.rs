//! Bodies are dropped when their days are over or when somebody has them erased, unless a person placed a hold on them.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::report::check_text;
use super::{Guard, TRIES_MAX, Transition, check_limit, contended, integer, text};
use crate::actor::Actor;
use crate::id::OperationId;
use crate::json::Json;
use crate::operation::Operation;
use crate::person::Person;
use crate::queue::{Filter, Order, PageRequest};
use crate::recovery::Claim;
use crate::refusal::Refusal;
use crate::retention::{
    Bodies, CERTIFIED_FINGERPRINTS_MAX, DROPPED_COUNTED_DAYS, DUE_COUNTED_MAX, DropRule, DuePlace,
    ERASED_OPERATIONS_MAX, Erasable, Hold, HoldChange, HoldScope, HoldSubject, Keeping, Obstacle, Standing, Swept,
    unsettled,
};
use crate::store::{Replaced, VersionedWorkflow};
use crate::summary::{Count, Counted, start_of_hour};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};

/// What a page showed of an operation whose content is to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SeenOperation {
    /// The operation.
    pub operation: OperationId,
    /// Its version.
    pub version: u64,
}

impl Guard {
    /// The workflows that drop bodies after some days, retired ones too: what they made is still kept.
    pub fn retained_workflows(&self) -> Vec<(String, u32)> {
        let catalogue = self.catalogue();
        let of = |known: &VersionedWorkflow| {
            Some((known.workflow.name.as_str().to_owned(), known.workflow.retention.payload_days?))
        };
        catalogue.workflows.values().filter_map(|known| of(known)).collect()
    }

    /// Claims the sweep of bodies for a process; answers whether it has it.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn claim_sweep(&self, claim: &Claim) -> Result<bool, Refusal> {
        Ok(self.inner.store.claim_sweep(self.now(), claim).await?)
    }

    /// Drops the bodies of operations of a workflow that last changed longer ago than its days, the longest first, from `after` on. At most
    /// `limit` are looked at. Whoever changes an operation meanwhile wins: it is left for later. What is in the way of one is left alone.
    ///
    /// # Errors
    /// A limit out of bounds, the store's fault; what was dropped before stays dropped.
    pub async fn drop_due(&self, workflow: &str, after: Option<DuePlace>, limit: u32) -> Result<Swept, Refusal> {
        check_limit(limit)?;
        let known = self.catalogue().workflows.get(workflow).cloned();
        let Some((rule_version, payload_days)) =
            known.and_then(|known| Some((known.version, known.workflow.retention.payload_days?)))
        else {
            return Ok(Swept::default());
        };
        let until = self.now() - TimeDelta::days(payload_days.into());
        let due = self.inner.store.due_to_drop(workflow, until, after, limit).await?;
        let mut swept = Swept::default();
        let is_whole = u32::try_from(due.len()).is_ok_and(|found| found < limit);
        let last = due.last().map(|last| (last.updated_at, last.id));
        swept.next = last.filter(|_| !is_whole);
        let rule = DropRule::Days { payload_days, rule_version };
        for operation in due {
            swept.looked_at += 1;
            if self.obstacle(&operation).await?.is_some() {
                continue;
            }
            if self.drop_bodies(&operation, &Actor::Sweeper, &rule).await? == Replaced::Replaced {
                swept.dropped += 1;
            }
        }
        Ok(swept)
    }

    /// How retention stands in each workflow that drops bodies after some days; what was dropped is counted within reach, what is due
    /// in every company.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn retention_standings(&self, reach: &Reach) -> Result<BTreeMap<String, Standing>, Refusal> {
        let workflows = self.retained_workflows();
        let mut standings = BTreeMap::new();
        if workflows.is_empty() {
            return Ok(standings);
        }
        let now = self.now();
        let from = start_of_hour(now - TimeDelta::days(DROPPED_COUNTED_DAYS));
        let counts = self.inner.store.counts(reach, from, now + TimeDelta::hours(1)).await?;
        for (workflow, payload_days) in workflows {
            let until = now - TimeDelta::days(payload_days.into());
            let due = self.inner.store.count_due_to_drop(&workflow, until, DUE_COUNTED_MAX).await?;
            let is_drop = |count: &&Count| count.counted == Counted::BodyDropped && count.workflow == workflow;
            let dropped = counts.iter().filter(is_drop).map(|count| count.number).sum();
            let last = counts.iter().filter(is_drop).map(|count| count.hour).max();
            standings.insert(workflow, Standing { due, dropped, last });
        }
        Ok(standings)
    }

    /// How content stands for an operation within reach and its document: what is kept, what is on hold, what is in the way.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn keeping(&self, reach: &Reach, id: OperationId) -> Result<Keeping, Refusal> {
        let operation = self.reachable(reach, id).await?;
        let (found, has_more) = self.of_document(reach, &operation).await?;
        let mut operations = Vec::new();
        for held in found {
            let bodies = self.inner.store.bodies(held.id).await?;
            let mut obstacle = self.obstacle(&held).await?;
            if obstacle.is_none() && bodies.is_empty() {
                obstacle = Some(Obstacle::NothingKept);
            }
            let dropped_at = held.content.dropped_at();
            operations.push(Erasable { operation: self.view(&held), dropped_at, bodies, obstacle });
        }
        let catalogue = self.catalogue();
        let known = catalogue.workflows.get(operation.key.workflow.as_str());
        Ok(Keeping {
            operations,
            has_more,
            holds: self.holds_on(&operation).await?,
            payload_days: known.and_then(|known| known.workflow.retention.payload_days),
        })
    }

    /// The holds that cover an operation.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn holds_on(&self, operation: &Operation) -> Result<Vec<Hold>, Refusal> {
        let subjects = HoldScope::ALL.map(|scope| HoldSubject::of(scope, operation));
        let mut holds = self.inner.store.holds(&subjects).await?;
        holds.sort_by_key(|hold| hold.scope);
        Ok(holds)
    }

    /// A person places a legal hold on an operation or on its document: nothing of it is dropped while it stands.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] where such a hold stands already,
    /// [`Refusal::Stale`], a reason out of bounds, the store's fault.
    pub async fn place_hold(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        scope: HoldScope,
        reason: &str,
    ) -> Result<Hold, Refusal> {
        may_erase(person)?;
        check_text("reason", reason)?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            self.refuse_stale(&operation, seen_version).await?;
            let subject = HoldSubject::of(scope, &operation);
            if let Some(known) = self.inner.store.holds(&[subject]).await?.pop() {
                let what = format!("put on hold once more; {}", Obstacle::Held(Box::new(known))).into();
                return Err(Refusal::Impossible { state: operation.state.name(), what });
            }
            let (at, by) = (self.now(), Actor::Person { email: person.email.clone() });
            let hold = Hold { subject, scope, operation: id, by: by.clone(), at, reason: reason.to_owned() };
            let facts = detail([("scope", Some(text(scope.as_str()))), ("reason", Some(text(reason)))]);
            let state = operation.state.clone();
            let transition = Transition { state, at, actor: by, kind: EntryKind::HoldPlaced, facts };
            let mut replacement = self.change(&operation, transition).await?;
            replacement.hold = HoldChange::Place(Box::new(hold.clone()));
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(hold);
            }
        }
        Err(contended())
    }

    /// A person lifts a legal hold that covers an operation. From then on its days count as ever.
    ///
    /// # Errors
    /// As for [`Guard::place_hold`]; [`Refusal::Impossible`] where there is no such hold.
    pub async fn lift_hold(
        &self,
        person: &Person,
        id: OperationId,
        seen_version: u64,
        scope: HoldScope,
        reason: &str,
    ) -> Result<Hold, Refusal> {
        may_erase(person)?;
        check_text("reason", reason)?;
        for _ in 0..TRIES_MAX {
            let operation = self.reachable(&person.reach, id).await?;
            self.refuse_stale(&operation, seen_version).await?;
            let subject = HoldSubject::of(scope, &operation);
            let Some(hold) = self.inner.store.holds(&[subject]).await?.pop() else {
                let what = "taken off hold; there is no such hold any more".into();
                return Err(Refusal::Impossible { state: operation.state.name(), what });
            };
            let facts = detail([
                ("scope", Some(text(scope.as_str()))),
                ("placed_by", Some(text(&hold.by.to_string()))),
                ("placed_on", Some(text(&hold.operation.to_string()))),
                ("reason", Some(text(reason))),
            ]);
            let (state, at, actor) =
                (operation.state.clone(), self.now(), Actor::Person { email: person.email.clone() });
            let transition = Transition { state, at, actor, kind: EntryKind::HoldLifted, facts };
            let mut replacement = self.change(&operation, transition).await?;
            replacement.hold = HoldChange::Lift(subject);
            if self.replace(replacement).await? == Replaced::Replaced {
                return Ok(hold);
            }
        }
        Err(contended())
    }

    /// A person has the content of a document erased at once: of every operation under its number within reach. Where one of them is
    /// unresolved or on hold, nothing is erased. Answers what went of each.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] by role, [`Refusal::NotFound`], [`Refusal::Impossible`] naming what is in the way, [`Refusal::Stale`] where an
    /// operation moved since it was seen, a reason out of bounds, more operations than [`ERASED_OPERATIONS_MAX`], the store's fault. An
    /// operation that somebody changes while others are erased is refused as stale; what was erased before stays erased.
    pub async fn erase(
        &self,
        person: &Person,
        id: OperationId,
        seen: &[SeenOperation],
        reason: &str,
    ) -> Result<Vec<(OperationId, Vec<Bodies>)>, Refusal> {
        may_erase(person)?;
        check_text("reason", reason)?;
        let asked = self.reachable(&person.reach, id).await?;
        let (found, has_more) = self.of_document(&person.reach, &asked).await?;
        if has_more {
            let message =
                format!("has over {ERASED_OPERATIONS_MAX} operations; such a document is not erased at the desk");
            return Err(Refusal::field("document", message));
        }
        let mut to_erase = Vec::new();
        for operation in found {
            let Some(known) = seen.iter().find(|known| known.operation == operation.id) else {
                return Err(Refusal::field(
                    "seen",
                    "lacks an operation that the document has now; open the page again",
                ));
            };
            self.refuse_stale(&operation, known.version).await?;
            if let Some(obstacle) = self.obstacle(&operation).await? {
                let key = &operation.key;
                let what = format!(
                    "erased with its document: of {} {} revision {}, {obstacle}",
                    key.document, key.action, key.revision
                );
                return Err(Refusal::Impossible { state: operation.state.name(), what: what.into() });
            }
            let bodies = self.inner.store.bodies(operation.id).await?;
            if !bodies.is_empty() {
                to_erase.push((operation, bodies));
            }
        }
        if to_erase.is_empty() {
            let what = "erased; nothing is kept of its document any more".into();
            return Err(Refusal::Impossible { state: asked.state.name(), what });
        }
        let actor = Actor::Person { email: person.email.clone() };
        let rule = DropRule::Erasure { reason: reason.to_owned() };
        let mut erased = Vec::new();
        for (operation, bodies) in to_erase {
            let id = operation.id;
            if self.drop_bodies(&operation, &actor, &rule).await? == Replaced::Stale {
                let now = self.reachable(&person.reach, id).await?;
                self.refuse_stale(&now, operation.version).await?;
                // A hold came in between, or what moves no decision: what there is now says which.
                let obstacle = self.obstacle(&now).await?;
                let again = match obstacle {
                    Some(obstacle) => {
                        return Err(Refusal::Impossible {
                            state: now.state.name(),
                            what: format!("erased: {obstacle}").into(),
                        });
                    }
                    None => self.drop_bodies(&now, &actor, &rule).await?,
                };
                if again == Replaced::Stale {
                    return Err(contended());
                }
            }
            erased.push((id, bodies));
        }
        Ok(erased)
    }

    /// Drops every body of an operation that nothing is in the way of, with the certificate. Stale where somebody moved first, or placed a
    /// hold on the document.
    async fn drop_bodies(&self, operation: &Operation, actor: &Actor, rule: &DropRule) -> Result<Replaced, Refusal> {
        let bodies = self.inner.store.bodies(operation.id).await?;
        let facts = self.certificate(operation, &bodies, rule).await?;
        let (state, at) = (operation.state.clone(), self.now());
        let transition = Transition { state, at, actor: actor.clone(), kind: EntryKind::BodiesDropped, facts };
        let mut replacement = self.change(operation, transition).await?;
        replacement.dropped = Some(HoldSubject::document(&operation.key));
        let number: u64 = bodies.iter().map(|bodies| bodies.number).sum();
        let (workflow, company) = (operation.key.workflow.as_str(), operation.key.company.as_str());
        if number > 0 {
            let one = Count::one(workflow, company, Counted::BodyDropped, at, None);
            replacement.counts.push(Count { number, ..one });
        }
        self.replace(replacement).await
    }

    /// What the trail keeps of a drop: by which rule, what went, and by which fingerprints it is known from now on.
    async fn certificate(&self, operation: &Operation, bodies: &[Bodies], rule: &DropRule) -> Result<Json, Refusal> {
        let store = &self.inner.store;
        let id = operation.id;
        let number = |value: u64| integer(i64::try_from(value).unwrap_or(i64::MAX));
        let dropped = bodies.iter().map(|Bodies { kind, number: count, bytes }| {
            detail([
                ("kind", Some(text(kind.as_str()))),
                ("number", Some(number(*count))),
                ("bytes", Some(number(*bytes))),
            ])
        });
        let conflicts = store.conflicts(id, CERTIFIED_FINGERPRINTS_MAX).await?;
        let proposed = store.amendments_of(id, CERTIFIED_FINGERPRINTS_MAX).await?;
        let files = store.evidence(id, CERTIFIED_FINGERPRINTS_MAX).await?;
        let listed = |texts: Vec<Json>| (!texts.is_empty()).then_some(Json::Array(texts));
        let (name, days, version, reason) = match rule {
            DropRule::Days { payload_days, rule_version } => {
                ("payload_days", Some(integer(*payload_days)), Some(integer(*rule_version)), None)
            }
            DropRule::Erasure { reason } => ("erasure", None, None, Some(text(reason))),
        };
        Ok(detail([
            ("rule", Some(text(name))),
            ("payload_days", days),
            ("rule_version", version),
            ("reason", reason),
            ("dropped", Some(Json::Array(dropped.collect()))),
            ("fingerprint", Some(text(&operation.fingerprint.to_string()))),
            ("received", listed(conflicts.iter().map(|known| text(&known.fingerprint.to_string())).collect())),
            ("proposed", listed(proposed.iter().map(|known| text(&known.fingerprint.to_string())).collect())),
            (
                "files",
                listed(files.iter().filter_map(|known| Some(text(&known.file.as_ref()?.sha256.to_string()))).collect()),
            ),
        ]))
    }

    /// Why the bodies of an operation are not dropped now; none where they may be.
    async fn obstacle(&self, operation: &Operation) -> Result<Option<Obstacle>, Refusal> {
        if let Some(obstacle) = unsettled(operation) {
            return Ok(Some(obstacle));
        }
        let own = self.inner.store.amendments_of(operation.id, 1).await?.pop();
        if own.is_some_and(|own| own.state.name().is_open()) {
            return Ok(Some(Obstacle::UnderWay { operation: operation.id }));
        }
        if let Some(other) = self.inner.store.built_on(operation.id).await? {
            return Ok(Some(Obstacle::UnderWay { operation: other }));
        }
        Ok(self.holds_on(operation).await?.into_iter().next().map(|hold| Obstacle::Held(Box::new(hold))))
    }

    /// The operations under the document number of one, in whatever workflow, within reach, the oldest first; whether there are more.
    async fn of_document(&self, reach: &Reach, operation: &Operation) -> Result<(Vec<Operation>, bool), Refusal> {
        let key = &operation.key;
        let filter = Filter {
            company: Some(key.company.as_str().to_owned()),
            source_system: Some(key.source_system.as_str().to_owned()),
            document: Some(key.document.as_str().to_owned()),
            ..Filter::default()
        };
        let page = PageRequest { cursor: None, limit: ERASED_OPERATIONS_MAX };
        let found = self.operations(reach, &filter, Order::Oldest, &page).await?;
        Ok((found.rows, found.next.is_some()))
    }
}

/// The refusal of a role that neither holds nor erases.
fn may_erase(person: &Person) -> Result<(), Refusal> {
    if person.role.may_erase() {
        Ok(())
    } else {
        let reason = "a legal hold and the erasure of content need the role finance or admin".to_owned();
        Err(Refusal::Forbidden { reason })
    }
}
