//! Telling people outside of the desk: what is to be told now, and what became of each message.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::TimeDelta;

use super::{Guard, text};
use crate::actor::Actor;
use crate::clock::Timestamp;
use crate::id::{MessageId, OperationId};
use crate::incident::{INCIDENT_ROWS_SEEN_MAX, Unsettled, incidents};
use crate::notification::{
    About, Attempt, Channel, ChannelState, Delivery, Facts, Fate, Group, Kind, Message, Piece, SETTLED_SECONDS,
    TRY_HOURS_MAX, Way, WayName,
};
use crate::recovery::{Claim, kept, later};
use crate::refusal::{Refusal, StoreFault};
use crate::rules::RuleProposal;
use crate::store::{Act, Catalogue, Replaced, Tried};
use crate::token::Reach;
use crate::trail::{EntryKind, detail};

/// A group as it is now.
struct Found {
    kind: Kind,
    subject: String,
    about: About,
    pieces: Vec<Piece>,
}

/// What is read once for all channels.
struct Glance {
    as_of: Timestamp,
    has_uncertain: bool,
    has_amendments: bool,
    proposals: Vec<RuleProposal>,
}

impl Guard {
    /// Looks for what is to be told, and writes the messages that tell it; answers how many it wrote. Whoever else looks at the same
    /// time, in this process or another, writes none of them again.
    ///
    /// # Errors
    /// The store's fault; what was not told then is told by the next look.
    pub async fn tell_news(&self) -> Result<usize, Refusal> {
        let catalogue = self.catalogue();
        let groups = self.inner.store.told_groups().await?;
        if catalogue.channels.is_empty() && groups.is_empty() {
            return Ok(0);
        }
        let switched_off = self.switched_off().await?;
        let glance = self.glance(&catalogue).await?;
        let mut told: HashMap<(String, Kind, String), Group> = groups
            .into_iter()
            .map(|group| ((group.channel.clone(), group.kind, group.subject.clone()), group))
            .collect();
        let mut written = 0;
        for channel in catalogue.channels.values().filter(|channel| !switched_off.contains(&channel.name)) {
            for found in self.found(&catalogue, channel, &glance).await? {
                let group = told.remove(&(channel.name.clone(), found.kind, found.subject.clone()));
                written += self.tell_group(&catalogue, channel, &glance, found, group).await?;
            }
        }
        for group in told.into_values().filter(|group| !switched_off.contains(&group.channel)) {
            // It is empty. Kept until its quiet time is over: what comes soon after belongs to what was told.
            let is_over =
                catalogue.channels.get(&group.channel).is_none_or(|channel| group.is_over(channel, self.now()));
            if is_over {
                self.inner.store.forget_group(&group).await?;
            }
        }
        Ok(written)
    }

    /// What is read once for all channels, so that a look costs next to nothing where nothing waits.
    async fn glance(&self, catalogue: &Catalogue) -> Result<Glance, Refusal> {
        let store = &self.inner.store;
        let tells_rules = catalogue.channels.values().any(|channel| channel.kinds.contains(&Kind::RulesWaiting));
        Ok(Glance {
            as_of: later(self.now(), TimeDelta::seconds(-SETTLED_SECONDS)),
            has_uncertain: store.waiting(&Reach::EVERYTHING, 1).await?.uncertain > 0,
            has_amendments: store.proposals_waiting(&Reach::EVERYTHING, 1).await? > 0,
            proposals: if tells_rules { store.open_rule_proposals().await? } else { Vec::new() },
        })
    }

    /// The groups of which a channel tells, those that are not empty.
    async fn found(&self, catalogue: &Catalogue, channel: &Channel, glance: &Glance) -> Result<Vec<Found>, Refusal> {
        let (store, reach, as_of) = (&self.inner.store, channel.reach(), glance.as_of);
        let mut found = Vec::new();
        // What is left in a workflow that is retired has to be settled all the same.
        let workflows = || catalogue.workflows.iter().filter(|(name, _)| reach.workflow(name));
        for kind in BTreeSet::from_iter(channel.kinds.iter().copied()) {
            match kind {
                Kind::UnknownOverdue if glance.has_uncertain => {
                    for (name, known) in workflows() {
                        let Some(limit_minutes) = known.workflow.review.told_after_minutes() else { continue };
                        let pieces = store.overdue(&reach, name, limit_minutes, as_of).await?;
                        found.push(Found {
                            kind,
                            subject: name.clone(),
                            about: About::Overdue { limit_minutes },
                            pieces,
                        });
                    }
                }
                Kind::IncidentOpened if glance.has_uncertain => {
                    found.extend(self.incidents_to_tell(catalogue, &reach, as_of).await?);
                }
                Kind::AmendmentWaiting if glance.has_amendments => {
                    for (name, _) in workflows() {
                        let pieces = store.amendments_waiting(&reach, name, as_of).await?;
                        found.push(Found { kind, subject: name.clone(), about: About::Amendments, pieces });
                    }
                }
                // Rules hold for all companies: whoever is told of some is not told of them.
                Kind::RulesWaiting if reach.companies.is_none() => {
                    let proposals = glance.proposals.iter().filter(|proposal| reach.workflow(&proposal.workflow));
                    found.extend(proposals.map(|proposal| {
                        let at = proposal.proposed_at;
                        let workflow = proposal.workflow.clone();
                        let piece = Piece { workflow, company: None, money: None, since: at, due_at: at };
                        let subject = proposal.workflow.clone();
                        Found { kind, subject, about: About::Rules, pieces: vec![piece] }
                    }));
                }
                Kind::UnknownOverdue | Kind::IncidentOpened | Kind::AmendmentWaiting | Kind::RulesWaiting => {}
            }
        }
        for group in &mut found {
            group.pieces.retain(|piece| piece.due_at <= as_of);
        }
        found.retain(|group| !group.pieces.is_empty());
        Ok(found)
    }

    /// The incidents within reach. Bursts of one destination and one cause are one group: the next one is more of the same.
    async fn incidents_to_tell(
        &self,
        catalogue: &Catalogue,
        reach: &Reach,
        as_of: Timestamp,
    ) -> Result<Vec<Found>, Refusal> {
        let mut operations = self.inner.store.latest_unknown(reach, INCIDENT_ROWS_SEEN_MAX).await?;
        operations.retain(|operation| operation.since <= as_of);
        let by_id: HashMap<OperationId, &Unsettled> =
            operations.iter().map(|operation| (operation.id, operation)).collect();
        let mut groups: BTreeMap<(String, String), Vec<Piece>> = BTreeMap::new();
        for incident in incidents(catalogue, &operations) {
            let pieces = incident.operations.iter().filter_map(|id| by_id.get(id)).map(|operation| Piece {
                workflow: operation.workflow.clone(),
                company: Some(operation.company.clone()),
                money: operation.money.clone(),
                since: operation.since,
                due_at: operation.since,
            });
            groups.entry((incident.destination, incident.cause)).or_default().extend(pieces);
        }
        let found = groups.into_iter().map(|((destination, cause), pieces)| Found {
            kind: Kind::IncidentOpened,
            subject: format!("{destination}\n{cause}"),
            about: About::Incident { destination, cause: kept(&cause) },
            pieces,
        });
        Ok(found.collect())
    }

    /// Tells a group, where it is new, or has grown and its quiet time is over; answers how many messages that made.
    async fn tell_group(
        &self,
        catalogue: &Catalogue,
        channel: &Channel,
        glance: &Glance,
        found: Found,
        before: Option<Group>,
    ) -> Result<usize, Refusal> {
        let now = self.now();
        let told_until = before.as_ref().map(|group| group.told_until);
        let facts = Facts::of(found.about, glance.as_of, told_until, &found.pieces);
        if before.as_ref().is_some_and(|group| facts.new == 0 || !group.is_over(channel, now)) {
            return Ok(0);
        }
        let messages: Vec<Message> = recipients(catalogue, channel, &found.kind, &found.subject)
            .into_iter()
            .map(|recipient| Message {
                id: self.message_id(),
                channel: channel.name.clone(),
                recipient,
                facts: facts.clone(),
                made_at: now,
                due_at: now,
                tries: 0,
            })
            .collect();
        let group = Group {
            channel: channel.name.clone(),
            kind: found.kind,
            subject: found.subject,
            version: before.map_or(1, |group| group.version + 1),
            told_at: now,
            told_until: glance.as_of,
        };
        match self.inner.store.tell(&group, &messages).await? {
            Replaced::Replaced => Ok(messages.len()),
            // Somebody else told it.
            Replaced::Stale => Ok(0),
        }
    }

    /// The channels that are switched off.
    async fn switched_off(&self) -> Result<Vec<String>, Refusal> {
        let states = self.inner.store.channel_states().await?;
        Ok(states.into_iter().filter(|state| state.switched_off.is_some()).map(|state| state.channel).collect())
    }

    /// Claims messages that are to be sent now, at most `limit`. Where there are none, nothing is written.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn claim_messages(&self, claim: &Claim, limit: u32) -> Result<Vec<Message>, Refusal> {
        let (store, now) = (&self.inner.store, self.now());
        let over = later(now, TimeDelta::hours(-TRY_HOURS_MAX));
        let switched_off = self.switched_off().await?;
        if !store.is_message_due(&switched_off, now, over).await? {
            return Ok(Vec::new());
        }
        Ok(store.claim_messages(&switched_off, now, over, claim, limit).await?)
    }

    /// The channel by which a message is to be sent; none where it is not to be sent any more, since it is too old or its channel was
    /// taken out.
    pub fn channel_of(&self, message: &Message) -> Option<Channel> {
        let is_over = later(message.made_at, TimeDelta::hours(TRY_HOURS_MAX)) <= self.now();
        self.catalogue().channels.get(&message.channel).filter(|_| !is_over).cloned()
    }

    /// Keeps what became of a message; none where it was not even tried.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn message_settled(
        &self,
        message: &Message,
        by: &str,
        delivery: Option<&Delivery>,
    ) -> Result<Attempt, Refusal> {
        let now = self.now();
        let again_at = message.again_at(now, self.inner.entropy.bytes());
        let (fate, attempt) = match delivery {
            None => {
                let reason = "a message was not sent: it is too old, or its channel was taken out of the configuration";
                (Fate::Over, Attempt::GivenUp(reason.to_owned()))
            }
            Some(Delivery::Delivered) => (Fate::Over, Attempt::Delivered),
            Some(Delivery::Failed(reason)) => match again_at {
                Some(at) => (Fate::Again(at), Attempt::Failed(kept(reason))),
                None => (Fate::Over, Attempt::GivenUp(kept(reason))),
            },
            // It waits: the channel may be switched on again.
            Some(Delivery::Gone(reason)) => match again_at {
                Some(at) => (Fate::Again(at), Attempt::SwitchedOff(kept(reason))),
                None => (Fate::Over, Attempt::SwitchedOff(kept(reason))),
            },
        };
        let way = match (self.catalogue().channels.get(&message.channel).and_then(Channel::way), &message.recipient) {
            (Some(way), _) => way.name(),
            (None, Some(_)) => WayName::Mail,
            (None, None) => WayName::Webhook,
        };
        let tried = Tried { channel: message.channel.clone(), way, at: now, attempt };
        self.inner.store.settle_message(message.id, by, fate, &tried).await?;
        Ok(tried.attempt)
    }

    /// Keeps that somebody tried a channel, and what came of it. A channel that was switched off and took it is switched on again.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn channel_tested(&self, actor: &Actor, channel: &Channel, delivery: &Delivery) -> Result<(), Refusal> {
        let attempt = match delivery {
            Delivery::Delivered => Attempt::Delivered,
            Delivery::Failed(reason) => Attempt::Failed(kept(reason)),
            Delivery::Gone(reason) => Attempt::SwitchedOff(kept(reason)),
        };
        let result = match delivery {
            Delivery::Delivered => "delivered",
            Delivery::Failed(_) => "failed",
            Delivery::Gone(_) => "gone",
        };
        let facts = detail([("name", Some(text(&channel.name))), ("result", Some(text(result)))]);
        self.administer_one(actor, Act::Note, EntryKind::ChannelTested, facts, "channel", &channel.name).await?;
        if let Some(way) = channel.way() {
            let tried = Tried { channel: channel.name.clone(), way: way.name(), at: self.now(), attempt };
            self.inner.store.note_try(&tried).await?;
        }
        Ok(())
    }

    /// The id of a message that is about to be sent.
    pub fn message_id(&self) -> MessageId {
        MessageId::new(self.now(), self.inner.entropy.bytes())
    }

    /// How each channel fares, of those that were ever used, by name.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn channel_states(&self) -> Result<Vec<ChannelState>, StoreFault> {
        self.inner.store.channel_states().await
    }

    /// How many messages are on their way.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn messages_waiting(&self) -> Result<u64, StoreFault> {
        self.inner.store.messages_waiting().await
    }
}

/// Who is told: one message each, so that an address that is refused keeps it from nobody else.
fn recipients(catalogue: &Catalogue, channel: &Channel, kind: &Kind, subject: &str) -> Vec<Option<String>> {
    let mail = match channel.way() {
        None => return Vec::new(),
        Some(Way::Webhook(_)) => return vec![None],
        Some(Way::Mail(mail)) => mail,
    };
    let named = match kind {
        Kind::AmendmentWaiting => catalogue.workflows.get(subject).map(|known| &known.workflow.amendment.tell),
        Kind::UnknownOverdue | Kind::IncidentOpened | Kind::RulesWaiting => None,
    };
    let addresses = mail.to.iter().chain(named.into_iter().flatten()).map(|address| address.to_lowercase());
    addresses.collect::<BTreeSet<_>>().into_iter().map(Some).collect()
}
