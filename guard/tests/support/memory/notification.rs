//! Notifications in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::TimeDelta;
use guard::amendment::AmendmentStateName;
use guard::clock::Timestamp;
use guard::id::MessageId;
use guard::notification::{ChannelState, Fate, Group, Kind, Message, Piece};
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::state::State;
use guard::store::{Act, Notifications, Replaced, Tried};
use guard::token::Reach;

use super::{Memory, is_within};

#[derive(Clone, Default)]
pub(super) struct NotificationTables {
    groups: BTreeMap<(String, Kind, String), Group>,
    messages: BTreeMap<MessageId, (Message, Option<Claim>)>,
    states: BTreeMap<String, ChannelState>,
}

impl NotificationTables {
    /// A channel that is stored is switched on.
    pub(super) fn follow(&mut self, act: &Act) {
        if let Act::PutChannel(channel) = act
            && let Some(state) = self.states.get_mut(&channel.name)
        {
            state.switched_off = None;
        }
    }

    fn note(&mut self, tried: &Tried) {
        let held = self.states.remove(&tried.channel);
        let held = held.unwrap_or_else(|| ChannelState::fresh(tried.channel.clone(), tried.way));
        let after = ChannelState { way: tried.way, ..held }.after(&tried.attempt, tried.at);
        self.states.insert(tried.channel.clone(), after);
    }

    fn due(&self, switched_off: &[String], now: Timestamp, over: Timestamp) -> Vec<MessageId> {
        let is_due = |(message, claim): &(Message, Option<Claim>)| {
            message.due_at <= now
                && claim.as_ref().is_none_or(|claim| claim.until <= now)
                && (message.made_at <= over || !switched_off.contains(&message.channel))
        };
        let mut due: Vec<_> = self.messages.values().filter(|held| is_due(held)).map(|(message, _)| message).collect();
        due.sort_by_key(|message| (message.due_at, message.id));
        due.into_iter().map(|message| message.id).collect()
    }
}

fn key(group: &Group) -> (String, Kind, String) {
    (group.channel.clone(), group.kind, group.subject.clone())
}

#[async_trait]
impl Notifications for Memory {
    async fn told_groups(&self) -> Result<Vec<Group>, StoreFault> {
        Ok(self.tables().notifications.groups.values().cloned().collect())
    }

    async fn overdue(
        &self,
        reach: &Reach,
        workflow: &str,
        limit_minutes: u32,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let tables = self.tables();
        let of_it = tables
            .operations
            .values()
            .filter(|operation| operation.key.workflow.as_str() == workflow && is_within(reach, operation));
        let pieces = of_it.filter_map(|operation| {
            let (State::Unknown { since, .. } | State::Disputed { since, .. }) = &operation.state else { return None };
            let waits = tables.reviews.get(&operation.id).and_then(|review| review.deferral.as_ref());
            let late_at = *since + TimeDelta::minutes(limit_minutes.into());
            Some(Piece {
                workflow: workflow.to_owned(),
                company: Some(operation.key.company.as_str().to_owned()),
                money: operation.money.clone(),
                since: *since,
                due_at: waits.map_or(late_at, |waits| late_at.max(waits.until)),
            })
        });
        Ok(pieces.filter(|piece| piece.due_at <= as_of).collect())
    }

    async fn amendments_waiting(
        &self,
        reach: &Reach,
        workflow: &str,
        as_of: Timestamp,
    ) -> Result<Vec<Piece>, StoreFault> {
        let tables = self.tables();
        let waiting = tables.amendments.iter().map(|(amendment, _)| amendment).filter(|amendment| {
            amendment.state.name() == AmendmentStateName::AwaitingApproval && amendment.proposed_at <= as_of
        });
        let pieces = waiting.filter_map(|amendment| {
            let operation = &tables.operations[&amendment.operation];
            (operation.key.workflow.as_str() == workflow && is_within(reach, operation)).then(|| Piece {
                workflow: workflow.to_owned(),
                company: Some(operation.key.company.as_str().to_owned()),
                money: operation.money.clone(),
                since: amendment.proposed_at,
                due_at: amendment.proposed_at,
            })
        });
        Ok(pieces.collect())
    }

    async fn tell(&self, group: &Group, messages: &[Message]) -> Result<Replaced, StoreFault> {
        self.write(|tables| {
            let tables = &mut tables.notifications;
            let held = tables.groups.get(&key(group)).map_or(0, |held| held.version);
            if held + 1 != group.version {
                return Replaced::Stale;
            }
            tables.groups.insert(key(group), group.clone());
            tables.messages.extend(messages.iter().map(|message| (message.id, (message.clone(), None))));
            Replaced::Replaced
        })
        .await
    }

    async fn forget_group(&self, group: &Group) -> Result<(), StoreFault> {
        let groups = &mut self.tables().notifications.groups;
        if groups.get(&key(group)).is_some_and(|held| held.version == group.version) {
            groups.remove(&key(group));
        }
        Ok(())
    }

    async fn is_message_due(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
    ) -> Result<bool, StoreFault> {
        Ok(!self.tables().notifications.due(switched_off, now, over).is_empty())
    }

    async fn claim_messages(
        &self,
        switched_off: &[String],
        now: Timestamp,
        over: Timestamp,
        claim: &Claim,
        limit: u32,
    ) -> Result<Vec<Message>, StoreFault> {
        let tables = &mut self.tables().notifications;
        let due = tables.due(switched_off, now, over);
        let claimed = due.into_iter().take(limit as usize).filter_map(|id| {
            let (message, held) = tables.messages.get_mut(&id)?;
            *held = Some(claim.clone());
            Some(message.clone())
        });
        Ok(claimed.collect())
    }

    async fn settle_message(&self, id: MessageId, by: &str, fate: Fate, tried: &Tried) -> Result<Replaced, StoreFault> {
        let tables = &mut self.tables().notifications;
        let Some((message, claim)) =
            tables.messages.get_mut(&id).filter(|(_, claim)| claim.as_ref().is_some_and(|claim| claim.by == by))
        else {
            return Ok(Replaced::Stale);
        };
        match fate {
            Fate::Over => drop(tables.messages.remove(&id)),
            Fate::Again(at) => {
                (message.due_at, message.tries) = (at, message.tries + 1);
                *claim = None;
            }
        }
        tables.note(tried);
        Ok(Replaced::Replaced)
    }

    async fn note_try(&self, tried: &Tried) -> Result<(), StoreFault> {
        self.tables().notifications.note(tried);
        Ok(())
    }

    async fn channel_states(&self) -> Result<Vec<ChannelState>, StoreFault> {
        Ok(self.tables().notifications.states.values().cloned().collect())
    }

    async fn messages_waiting(&self) -> Result<u64, StoreFault> {
        Ok(self.tables().notifications.messages.len() as u64)
    }
}
