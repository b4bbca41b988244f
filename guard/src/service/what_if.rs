//! A change of rules, run over what happened.

use chrono::TimeDelta;

use super::Guard;
use super::amendment::approvals_needed;
use crate::amendment::{Amendment, violations};
use crate::clock::Timestamp;
use crate::diff::changes;
use crate::fingerprint::Fingerprint;
use crate::id::ConflictId;
use crate::json::Json;
use crate::lookup::agrees;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::queue::{Filter, Order, PAGE_ROWS_MAX, PageRequest};
use crate::refusal::Refusal;
use crate::rules::RuleChange;
use crate::state::StateName;
use crate::token::Reach;
use crate::trail::EntryKind;
use crate::what_if::{
    Different, LookedAt, WHAT_IF_AMENDMENTS_MAX, WHAT_IF_CONFLICTS_MAX, WHAT_IF_DAYS, WHAT_IF_OPERATIONS_MAX,
    WHAT_IF_SECONDS_MAX, WhatIf,
};
use crate::workflow::{AmendmentRules, Correction, KeyField, Workflow};

/// Of an operation that was looked for, the latest entries are read, so many.
const ENTRIES_READ: u64 = 50;

/// Reads what a path (RFC 9535) selects in the destination's answer that is kept: one value, or none.
pub type ReadRecord<'a> = &'a (dyn Fn(&str, &Json) -> Option<Json> + Send + Sync);

impl Guard {
    /// What a change of a workflow's rules would have made different over the last [`WHAT_IF_DAYS`] days, within reach. It reads in
    /// pages, changes nothing, and says where one of its bounds was reached.
    ///
    /// # Errors
    /// An unknown or retired workflow, the store's fault.
    pub async fn what_if(
        &self,
        reach: &Reach,
        workflow: &str,
        change: &RuleChange,
        read: ReadRecord<'_>,
    ) -> Result<WhatIf, Refusal> {
        let before = self.current_workflow(workflow)?.workflow.clone();
        let after = change.applied_to(&before);
        let mut what_if = WhatIf {
            since: self.now() - TimeDelta::days(WHAT_IF_DAYS),
            conflicts: LookedAt::default(),
            operations: LookedAt::default(),
            amendments: LookedAt::default(),
            replays: Different::default(),
            possible_conflicts: Different::default(),
            allowed: Different::default(),
            forbidden: Different::default(),
            amendments_forbidden: Different::default(),
            corrected_otherwise: Different::default(),
            approved_otherwise: Different::default(),
            agreeing: Different::default(),
            disagreeing: Different::default(),
        };
        if change.volatile.is_some() || change.amendment.is_some() {
            self.look_at_conflicts(reach, &before, &after, &mut what_if).await?;
        }
        if change.amendment.is_some() {
            self.look_at_amendments(reach, &before, &after, &mut what_if).await?;
        }
        let counts_now: Vec<&Pointer> =
            before.volatile.iter().filter(|place| !after.volatile.iter().any(|other| other.covers(place))).collect();
        if !counts_now.is_empty() || change.key_fields.is_some() {
            self.look_at_operations(reach, (&before, &after), &counts_now, read, &mut what_if).await?;
        }
        Ok(what_if)
    }

    async fn look_at_conflicts(
        &self,
        reach: &Reach,
        before: &Workflow,
        after: &Workflow,
        what_if: &mut WhatIf,
    ) -> Result<(), Refusal> {
        let until = self.deadline();
        let first = ConflictId::new(what_if.since, [0; 16]);
        let mut behind = None;
        loop {
            let page = self.inner.store.conflicts_before(behind, PAGE_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            behind = Some(last.id);
            for (conflict, received) in page {
                if conflict.id < first {
                    return Ok(());
                }
                if what_if.conflicts.number >= WHAT_IF_CONFLICTS_MAX || self.now() > until {
                    what_if.conflicts.is_cut = true;
                    return Ok(());
                }
                what_if.conflicts.number += 1;
                let held = self.inner.store.operation(conflict.operation).await?;
                let Some(operation) = held.filter(|operation| is_of(reach, before, operation)) else { continue };
                let sentence = self.view(&operation).sentence;
                let received = received.and_then(|text| Payload::parse(text.as_bytes()).ok());
                if before.volatile != after.volatile
                    && let Some(received) = &received
                    && let Some(approved) = self.held_payload(&operation).await?
                    && Fingerprint::of(&approved, &after.volatile) == Fingerprint::of(received, &after.volatile)
                {
                    let differing = changes(&approved, received, &before.volatile);
                    let places = differing.iter().take(3).map(|change| change.path.to_string());
                    what_if.replays.add(operation.id, sentence.clone(), places.collect::<Vec<_>>().join(", "));
                }
                let compared = match &received {
                    Some(received) => self.held_payload(&operation).await?.map(|approved| (approved, received)),
                    None => None,
                };
                let may = |rules: &AmendmentRules| {
                    compared.as_ref().is_some_and(|(approved, received)| {
                        violations(approved, received, &before.volatile, &rules.amendable).is_empty()
                    })
                };
                let place = conflict.changes.first().map(|change| change.path.to_string()).unwrap_or_default();
                match (may(&before.amendment), may(&after.amendment)) {
                    (false, true) => what_if.allowed.add(operation.id, sentence, place),
                    (true, false) => what_if.forbidden.add(operation.id, sentence, place),
                    (true, true) | (false, false) => {}
                }
            }
        }
    }

    async fn look_at_amendments(
        &self,
        reach: &Reach,
        before: &Workflow,
        after: &Workflow,
        what_if: &mut WhatIf,
    ) -> Result<(), Refusal> {
        let until = self.deadline();
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        loop {
            let found = self.inner.store.amendments(reach, None, &page).await?;
            for amendment in found.rows {
                if amendment.proposed_at < what_if.since {
                    return Ok(());
                }
                if what_if.amendments.number >= WHAT_IF_AMENDMENTS_MAX || self.now() > until {
                    what_if.amendments.is_cut = true;
                    return Ok(());
                }
                what_if.amendments.number += 1;
                let held = self.inner.store.operation(amendment.operation).await?;
                let Some(operation) = held.filter(|operation| is_of(reach, before, operation)) else { continue };
                self.look_at_amendment(&amendment, &operation, (before, after), what_if).await?;
            }
            match found.next {
                Some(next) => page.cursor = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// What would be different for an amendment, with its base as it is now.
    async fn look_at_amendment(
        &self,
        amendment: &Amendment,
        operation: &Operation,
        (before, after): (&Workflow, &Workflow),
        what_if: &mut WhatIf,
    ) -> Result<(), Refusal> {
        let store = &self.inner.store;
        let Some(base) = store.operation(amendment.base.operation).await? else { return Ok(()) };
        let sentence = || self.view(operation).sentence;
        let is_reversal = amendment.is_reversal();
        let proposed = store.amendment_payload(amendment.id).await?;
        let proposed = proposed.and_then(|text| Payload::parse(text.as_bytes()).ok());
        let money =
            if is_reversal { base.money.clone() } else { proposed.as_ref().and_then(|held| before.money(held)) };
        let needed = |rules: &AmendmentRules| approvals_needed(rules, base.money.as_ref(), money.as_ref());
        let (was, is) = (needed(&before.amendment), needed(&after.amendment));
        if was != is {
            what_if.approved_otherwise.add(operation.id, sentence(), format!("{was} → {is}"));
        }
        if is_reversal {
            return Ok(());
        }
        let phase = self.phase_of(&base).await?;
        let (was, is) = (phase.correction(&before.amendment), phase.correction(&after.amendment));
        if let Some(proposed) = &proposed
            && let Some(approved) = self.held_payload(&base).await?
        {
            let violated = |rules: &AmendmentRules| violations(&approved, proposed, &before.volatile, &rules.amendable);
            let place = violated(&after.amendment).first().map(|violation| violation.path.to_string());
            let was_allowed = was != Correction::Forbid && violated(&before.amendment).is_empty();
            if was_allowed && (place.is_some() || is == Correction::Forbid) {
                let what = place.unwrap_or_else(|| Correction::Forbid.as_str().to_owned());
                what_if.amendments_forbidden.add(operation.id, sentence(), what);
                return Ok(());
            }
        }
        if was != is {
            let what = format!("{} → {}", was.as_str(), is.as_str());
            what_if.corrected_otherwise.add(operation.id, sentence(), what);
        }
        Ok(())
    }

    async fn look_at_operations(
        &self,
        reach: &Reach,
        (before, after): (&Workflow, &Workflow),
        counts_now: &[&Pointer],
        read: ReadRecord<'_>,
        what_if: &mut WhatIf,
    ) -> Result<(), Refusal> {
        let until = self.deadline();
        let filter =
            Filter { workflow: Some(before.name.as_str().to_owned()), from: Some(what_if.since), ..Filter::default() };
        let new_fields: Vec<&KeyField> =
            after.key_fields.iter().filter(|field| !before.key_fields.contains(field)).collect();
        let mut page = PageRequest { cursor: None, limit: PAGE_ROWS_MAX };
        loop {
            let found = self.inner.store.operations(reach, &filter, Order::Newest, &page).await?;
            for operation in found.rows {
                if what_if.operations.number >= WHAT_IF_OPERATIONS_MAX || self.now() > until {
                    what_if.operations.is_cut = true;
                    return Ok(());
                }
                what_if.operations.number += 1;
                self.look_at(&operation, after, counts_now, (&new_fields, read), what_if).await?;
            }
            match found.next {
                Some(next) => page.cursor = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn look_at(
        &self,
        operation: &Operation,
        after: &Workflow,
        counts_now: &[&Pointer],
        (new_fields, read): (&[&KeyField], ReadRecord<'_>),
        what_if: &mut WhatIf,
    ) -> Result<(), Refusal> {
        let sentence = || self.view(operation).sentence;
        let was_repeated = operation.duplicates_prevented > 0 && !counts_now.is_empty();
        let was_answered = operation.state.name() == StateName::Confirmed && !new_fields.is_empty();
        if (was_repeated || was_answered)
            && let Some(payload) = self.held_payload(operation).await?
        {
            let held = counts_now.iter().find(|place| was_repeated && place.find(payload.content()).is_some());
            if let Some(place) = held {
                what_if.possible_conflicts.add(operation.id, sentence(), place.to_string());
            }
            if was_answered && let Some(field) = self.disagreeing_field(operation, &payload, new_fields, read).await? {
                what_if.disagreeing.add(operation.id, sentence(), field);
            }
        }
        if operation.state.name() == StateName::Disputed
            && let Some(differing) = self.differing_fields(operation).await?
            && !after.key_fields.iter().any(|field| differing.contains(&field.payload.to_string()))
        {
            what_if.agreeing.add(operation.id, sentence(), differing.join(", "));
        }
        Ok(())
    }

    /// The first new key field in which the destination's answer, where it is kept, disagrees with the payload.
    async fn disagreeing_field(
        &self,
        operation: &Operation,
        payload: &Payload,
        new_fields: &[&KeyField],
        read: ReadRecord<'_>,
    ) -> Result<Option<String>, Refusal> {
        let Some(text) = self.inner.store.response(operation.id).await? else { return Ok(None) };
        let Ok(response) = Json::parse_nested(text.as_bytes(), crate::json::NESTING_MAX + 2) else { return Ok(None) };
        let record = response.member("body").unwrap_or(&response);
        let disagrees = |field: &&&KeyField| {
            let both = field.payload.find(payload.content()).zip(read(&field.record, record));
            !both.is_some_and(|(ours, theirs)| agrees(field.compare, ours, &theirs))
        };
        Ok(new_fields.iter().find(disagrees).map(|field| field.payload.to_string()))
    }

    /// The key fields in which the record that the last lookup found disagrees; none where it did not find one that disagrees.
    async fn differing_fields(&self, operation: &Operation) -> Result<Option<Vec<String>>, Refusal> {
        let after = operation.version.saturating_sub(ENTRIES_READ);
        let entries = self.inner.store.entries(operation.id, after, PAGE_ROWS_MAX).await?;
        let last = entries.iter().rev().find(|entry| entry.kind == EntryKind::LookedUp);
        let Some(Json::Array(differences)) = last.and_then(|entry| entry.detail.member("differences")) else {
            return Ok(None);
        };
        let places = differences.iter().filter_map(|difference| difference.member("payload")?.as_str());
        Ok(Some(places.map(ToOwned::to_owned).collect()))
    }

    async fn held_payload(&self, operation: &Operation) -> Result<Option<Payload>, Refusal> {
        let text = self.inner.store.payload(operation.id).await?;
        Ok(text.and_then(|text| Payload::parse(text.as_bytes()).ok()))
    }

    fn deadline(&self) -> Timestamp {
        self.now() + TimeDelta::seconds(WHAT_IF_SECONDS_MAX)
    }
}

fn is_of(reach: &Reach, workflow: &Workflow, operation: &Operation) -> bool {
    operation.key.workflow == workflow.name && reach.company(operation.key.company.as_str())
}
