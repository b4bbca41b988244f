//! Tells people outside of the desk what waits for them: by signed webhook and by mail.
//!
//! What is told, and to whom, is the guard's to say; here it is only sent. A message lies in the store before it is sent, and leaves it
//! after it was taken: it arrives at least once, always under the same id. A receiver is asked once a try, nothing is followed, and
//! both the time and the answer are bounded.

mod mail;
mod teller;
mod webhook;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guard::clock::Timestamp;
use guard::id::MessageId;
use guard::notification::{Channel, Delivery, Facts, Message, Way};
use guard::service::Guard;
use guard::store::Catalogue;

pub use teller::{LOOK_SECONDS_MAX, LOOK_SECONDS_MIN, Teller};

/// One try of a message takes at most this long, in seconds.
pub const DELIVERY_SECONDS_MAX: u64 = 15;

/// The channels by which people are told. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Notifications {
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    /// Links start with it.
    public_url: String,
    prepared: Mutex<HashMap<String, Arc<Prepared>>>,
}

/// A channel that can be used. Holds secrets, and shows itself to nobody.
struct Prepared {
    channel: Channel,
    sender: Sender,
}

enum Sender {
    Webhook(webhook::Hook),
    Mail(mail::Post),
}

/// What is sent in one try.
struct Letter<'a> {
    id: MessageId,
    channel: &'a str,
    facts: &'a Facts,
    /// The page of the desk that shows it.
    link: String,
    /// Where the desk is.
    public_url: &'a str,
    /// When it is sent.
    now: Timestamp,
}

/// What keeps a channel from being used here: each key with a sentence. No secret is in it.
pub fn faults(channel: &Channel) -> Vec<(&'static str, String)> {
    Prepared::of(channel).err().unwrap_or_default()
}

impl Prepared {
    fn of(channel: &Channel) -> Result<Self, Vec<(&'static str, String)>> {
        let sender = match channel.way() {
            Some(Way::Webhook(webhook)) => webhook::Hook::of(webhook).map(Sender::Webhook)?,
            Some(Way::Mail(mail)) => mail::Post::of(mail).map(Sender::Mail).map_err(|fault| vec![fault])?,
            None => return Err(vec![("name", "has no way, or two of them".to_owned())]),
        };
        Ok(Self { channel: channel.clone(), sender })
    }
}

impl Notifications {
    /// The channels of a guard, for a desk at this address.
    pub fn new(guard: Guard, public_url: &str) -> Self {
        let public_url = public_url.trim_end_matches('/').to_owned();
        Self { shared: Arc::new(Shared { guard, public_url, prepared: Mutex::default() }) }
    }

    /// Prepares every channel, so that what is missing is told at the start.
    ///
    /// # Errors
    /// A sentence for each channel that cannot be used from here. No secret is in it.
    pub fn prepare(&self, catalogue: &Catalogue) -> Result<(), Vec<String>> {
        let fault = |channel: &Channel| {
            let fault = self.prepared(channel).err()?;
            Some(format!("the notification channel {}: {fault}", channel.name))
        };
        let faults: Vec<String> = catalogue.channels.values().filter_map(fault).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Sends a message, once.
    pub async fn send(&self, channel: &Channel, message: &Message) -> Delivery {
        self.deliver(channel, message.id, message.recipient.as_deref(), &message.facts).await
    }

    /// Sends a test message: by mail to everybody whom the channel names, all at once; tells of the first who did not get it.
    pub async fn test(&self, channel: &Channel, id: MessageId) -> Delivery {
        let facts = Facts::test(self.shared.guard.now());
        match channel.way() {
            Some(Way::Mail(mail)) => {
                if mail.to.is_empty() {
                    let reason =
                        "it names nobody in mail.to: only those that workflows name in amendment.tell are told";
                    return Delivery::Failed(reason.to_owned());
                }
                let sent = mail.to.iter().map(|address| self.deliver(channel, id, Some(address), &facts));
                let sent = futures::future::join_all(sent).await;
                sent.into_iter().find(|delivery| *delivery != Delivery::Delivered).unwrap_or(Delivery::Delivered)
            }
            Some(Way::Webhook(_)) | None => self.deliver(channel, id, None, &facts).await,
        }
    }

    async fn deliver(&self, channel: &Channel, id: MessageId, recipient: Option<&str>, facts: &Facts) -> Delivery {
        let prepared = match self.prepared(channel) {
            Ok(prepared) => prepared,
            Err(fault) => return Delivery::Failed(fault),
        };
        let public_url = self.shared.public_url.as_str();
        let now = self.shared.guard.now();
        let letter = Letter { id, channel: &channel.name, facts, link: link(public_url, facts), public_url, now };
        let time = Duration::from_secs(DELIVERY_SECONDS_MAX);
        let sent = async {
            match (&prepared.sender, recipient) {
                (Sender::Webhook(hook), _) => hook.post(&letter).await,
                (Sender::Mail(post), Some(address)) => post.send(&letter, address).await,
                (Sender::Mail(_), None) => {
                    Delivery::Failed("a message of a webhook lies in a channel of mail".to_owned())
                }
            }
        };
        tokio::time::timeout(time, sent)
            .await
            .unwrap_or_else(|_| Delivery::Failed(format!("no answer within {DELIVERY_SECONDS_MAX} seconds")))
    }

    /// The channel, ready to be used; made anew where its definition is not the one that was prepared.
    fn prepared(&self, channel: &Channel) -> Result<Arc<Prepared>, String> {
        let mut prepared = self.shared.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.get(&channel.name).filter(|known| known.channel == *channel) {
            return Ok(Arc::clone(known));
        }
        let in_words = |faults: Vec<(&'static str, String)>| {
            faults.into_iter().map(|(key, message)| format!("{key}: {message}")).collect::<Vec<_>>().join("; ")
        };
        let made = Arc::new(Prepared::of(channel).map_err(in_words)?);
        prepared.insert(channel.name.clone(), Arc::clone(&made));
        Ok(made)
    }
}

#[async_trait::async_trait]
impl app::context::Messengers for Notifications {
    async fn test(&self, channel: &Channel, id: MessageId) -> Delivery {
        Self::test(self, channel, id).await
    }
}

/// The page of the desk that shows what a message tells.
fn link(public_url: &str, facts: &Facts) -> String {
    let (page, filter) = facts.page();
    if filter.is_empty() {
        return format!("{public_url}{page}");
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filter).finish();
    format!("{public_url}{page}?{query}")
}

#[cfg(test)]
mod tests;
