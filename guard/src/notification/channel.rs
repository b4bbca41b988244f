//! Channels: who is told of what, and how, as the configuration file writes them.

use std::fmt;

use super::Kind;
use crate::destination::MASK;
use crate::key::KeyPart;
use crate::token::Reach;
use crate::workflow::DefinitionFault;

/// There are at most this many channels.
pub const CHANNELS_MAX: usize = 50;

/// A channel lists at most this many companies, and as many workflows.
pub const NAMES_MAX: usize = 200;

/// A channel sends mail to at most this many addresses.
pub const RECIPIENTS_MAX: usize = 20;

/// A webhook is signed with at most this many secrets: the new one, and those that are on their way out.
pub const SECRETS_MAX: usize = 5;

/// A group that grows is told again after this time where nothing is said, in minutes.
pub const QUIET_MINUTES_DEFAULT: u32 = 60;

/// The longest quiet time, in minutes.
pub const QUIET_MINUTES_MAX: u32 = 7 * 24 * 60;

/// A way to tell people outside of the desk.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// What is told; everything where it is left out.
    #[serde(default = "kinds_default")]
    pub kinds: Vec<Kind>,
    /// Only of these companies; empty: of every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companies: Vec<String>,
    /// Only of these workflows; empty: of every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<String>,
    /// A group that grows is told again only after this time, in minutes.
    #[serde(default = "quiet_minutes_default")]
    pub quiet_minutes: u32,
    /// Where a signed request is posted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// Whom mail is sent to, and through which server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
}

/// A signed request, by the rules of Standard Webhooks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where it is posted to. Addresses of chats are secrets too: `env:NAME` and `file:PATH` stand for one.
    pub url: Secret,
    /// What it is signed with: each gives a signature, so that a receiver can change from one to the next.
    pub secrets: Vec<Secret>,
}

/// Mail.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// The server that takes it: a host, with a port where it is not the usual one.
    pub server: String,
    /// How the connection is kept from being read.
    #[serde(default)]
    pub tls: Tls,
    /// Who signs in there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// With which password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    /// The address of the sender.
    pub from: String,
    /// Who is told. Those that a workflow names in `amendment.tell` are told of its amendments besides.
    #[serde(default)]
    pub to: Vec<String>,
}

/// How a connection to a mail server is kept from being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// Begun in the clear and then encrypted, or broken off. The usual port is 587.
    #[default]
    Starttls,
    /// Encrypted from the first byte. The usual port is 465.
    Implicit,
    /// Not at all: for a server on the same machine. The usual port is 25.
    None,
}

/// The way that a channel's messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way<'a> {
    /// See [`Webhook`].
    Webhook(&'a Webhook),
    /// See [`Mail`].
    Mail(&'a Mail),
}

/// The name of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WayName {
    /// See [`Webhook`].
    Webhook,
    /// See [`Mail`].
    Mail,
}

impl WayName {
    /// Every way.
    pub const ALL: [Self; 2] = [Self::Webhook, Self::Mail];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Mail => "mail",
        }
    }

    /// The way with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == name)
    }
}

impl Way<'_> {
    /// The name.
    pub const fn name(&self) -> WayName {
        match self {
            Self::Webhook(_) => WayName::Webhook,
            Self::Mail(_) => WayName::Mail,
        }
    }
}

/// A text that nobody should see; better `env:NAME` or `file:PATH`, which say where it is read. Shows itself to nobody.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl Secret {
    /// Whether it says where the text is read, instead of being it.
    pub fn is_reference(&self) -> bool {
        self.0.starts_with("env:") || self.0.starts_with("file:")
    }

    /// Where it is read; masked where it is the text itself.
    pub fn shown(&self) -> &str {
        if self.is_reference() { &self.0 } else { MASK }
    }

    fn check(&self, key: &'static str) -> Result<(), DefinitionFault> {
        let named = self.0.strip_prefix("env:").or_else(|| self.0.strip_prefix("file:")).unwrap_or(&self.0);
        if named.is_empty() || self.0.chars().any(char::is_control) {
            return Err(DefinitionFault::new(key, "holds nothing readable; write \"env:NAME\" or \"file:PATH\""));
        }
        Ok(())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.shown())
    }
}

fn kinds_default() -> Vec<Kind> {
    Kind::ALL.to_vec()
}

const fn quiet_minutes_default() -> u32 {
    QUIET_MINUTES_DEFAULT
}

impl Channel {
    /// The way that its messages go; none in a definition that does not hold.
    pub const fn way(&self) -> Option<Way<'_>> {
        match (&self.webhook, &self.mail) {
            (Some(webhook), None) => Some(Way::Webhook(webhook)),
            (None, Some(mail)) => Some(Way::Mail(mail)),
            (None, None) | (Some(_), Some(_)) => None,
        }
    }

    /// The companies and workflows of which it tells.
    pub fn reach(&self) -> Reach {
        Reach::over(self.companies.iter().cloned(), self.workflows.iter().cloned())
    }

    /// The definition without what is secret in it.
    pub fn masked(mut self) -> Self {
        let mask = |secret: &mut Secret| *secret = Secret(secret.shown().to_owned());
        if let Some(webhook) = &mut self.webhook {
            webhook.url = Secret(webhook.shown_url());
            webhook.secrets.iter_mut().for_each(mask);
        }
        if let Some(password) = self.mail.as_mut().and_then(|mail| mail.password.as_mut()) {
            mask(password);
        }
        self
    }

    /// What stands for a secret, with the key where it stands.
    pub fn secrets(&self) -> Vec<(&'static str, &Secret)> {
        let webhook = self.webhook.iter().flat_map(|webhook| {
            let secrets = webhook.secrets.iter().map(|secret| ("webhook.secrets", secret));
            std::iter::once(("webhook.url", &webhook.url)).chain(secrets)
        });
        let password = self.mail.iter().filter_map(|mail| Some(("mail.password", mail.password.as_ref()?)));
        webhook.chain(password).collect()
    }

    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first key that contradicts a limit or another key, with its table: `mail.to`.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        let fault = |key, message: String| Err(DefinitionFault::new(key, message));
        if let Err(wrong) = KeyPart::new(self.name.as_str()) {
            return fault("name", format!("is {:?}: {wrong}", self.name));
        }
        if self.kinds.is_empty() {
            return fault("kinds", "is empty, so that nobody would be told anything; leave it out for all".to_owned());
        }
        for (key, names) in [("companies", &self.companies), ("workflows", &self.workflows)] {
            if names.len() > NAMES_MAX {
                return fault(key, format!("lists over {NAMES_MAX} names"));
            }
            if let Some((name, wrong)) = names.iter().find_map(|name| Some((name, KeyPart::new(name).err()?))) {
                return fault(key, format!("holds {name:?}: {wrong}"));
            }
        }
        if !(1..=QUIET_MINUTES_MAX).contains(&self.quiet_minutes) {
            return fault("quiet_minutes", format!("is out of bounds; write 1 to {QUIET_MINUTES_MAX} minutes"));
        }
        match self.way() {
            Some(Way::Webhook(webhook)) => webhook.validate(),
            Some(Way::Mail(mail)) => mail.validate(&self.kinds),
            None => {
                let message = "needs one way: a table [notification.webhook] or [notification.mail], and not both";
                fault("name", format!("is {:?}, which {message}", self.name))
            }
        }
    }
}

impl Webhook {
    /// Where it goes, without what may be secret in it: the host alone, or where the address is read.
    pub fn shown_url(&self) -> String {
        let host = |scheme: &str| {
            let rest = self.url.0.strip_prefix(scheme)?;
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            Some(format!("{scheme}{}/{MASK}", host.rsplit('@').next().unwrap_or_default()))
        };
        host("https://").or_else(|| host("http://")).unwrap_or_else(|| self.url.shown().to_owned())
    }

    fn validate(&self) -> Result<(), DefinitionFault> {
        self.url.check("webhook.url")?;
        let host = self.url.0.strip_prefix("https://").or_else(|| self.url.0.strip_prefix("http://"));
        let is_address = host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace));
        if !self.url.is_reference() && !is_address {
            let message = "is no address; it starts with https:// or http://, or says where it is read: \"env:NAME\"";
            return Err(DefinitionFault::new("webhook.url", message));
        }
        if !(1..=SECRETS_MAX).contains(&self.secrets.len()) {
            let message = format!("holds {}; write 1 to {SECRETS_MAX}, the newest first", self.secrets.len());
            return Err(DefinitionFault::new("webhook.secrets", message));
        }
        self.secrets.iter().try_for_each(|secret| secret.check("webhook.secrets"))
    }
}

impl Mail {
    /// The host and the port of the server; none where that is no port.
    pub fn address(&self) -> Option<(&str, u16)> {
        let usual = match self.tls {
            Tls::Starttls => 587,
            Tls::Implicit => 465,
            Tls::None => 25,
        };
        let (host, port) = match self.server.rsplit_once(':') {
            // An IPv6 address without a port ends in its bracket.
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            Some(_) | None => (self.server.as_str(), usual),
        };
        (!host.is_empty() && !host.contains(['/', '@', ' '])).then_some((host, port))
    }

    fn validate(&self, kinds: &[Kind]) -> Result<(), DefinitionFault> {
        let fault = |key, message: &str| Err(DefinitionFault::new(key, message));
        if self.address().is_none() {
            return fault("mail.server", "is no server; it looks like mail.example.com or mail.example.com:587");
        }
        match (&self.user, &self.password) {
            (Some(_), Some(_)) if self.tls == Tls::None => {
                return fault("mail.tls", "is none, so that the password could be read on its way; write starttls");
            }
            (Some(_), Some(password)) => password.check("mail.password")?,
            (Some(_), None) => return fault("mail.password", "is missing beside user; write \"env:NAME\""),
            (None, Some(_)) => return fault("mail.user", "is missing beside password"),
            (None, None) => {}
        }
        if !crate::person::is_address(&self.from) {
            return fault("mail.from", "is no address; it looks like onceover@example.com");
        }
        if self.to.len() > RECIPIENTS_MAX {
            return fault("mail.to", "lists over 20 addresses; a mailing list is one");
        }
        if self.to.iter().any(|address| !crate::person::is_address(address)) {
            return fault("mail.to", "holds a text that is no address; each looks like name@example.com");
        }
        if self.to.is_empty() && kinds.iter().any(|kind| *kind != Kind::AmendmentWaiting) {
            let message =
                "is empty; name who is told (only kinds = [\"amendment.waiting\"] may leave it to amendment.tell)";
            return fault("mail.to", message);
        }
        Ok(())
    }
}
