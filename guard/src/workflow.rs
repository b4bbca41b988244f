//! Workflows and their rules, as the configuration file writes them.

use crate::amendment::Place;
use crate::key::{ACTION_DEFAULT, KeyPart, OperationKey};
use crate::look_alike::{Look, LookAlikeRules};
use crate::money::Money;
use crate::payload::Payload;
use crate::pointer::Pointer;

/// The lease for a workflow that names none, in seconds.
pub const LEASE_SECONDS_DEFAULT: u32 = 60;

/// The longest lease for a workflow that names none, in seconds.
pub const MAX_LEASE_SECONDS_DEFAULT: u32 = 3_600;

/// No workflow may set a longer lease, in seconds.
pub const LEASE_SECONDS_MAX: u32 = 7 * 24 * 3_600;

/// A workflow lists at most this many volatile fields.
pub const VOLATILE_FIELDS_MAX: usize = 100;

/// A workflow lists at most this many places that may be amended.
pub const AMENDABLE_MAX: usize = 100;

/// A workflow lists at most this many key fields.
pub const KEY_FIELDS_MAX: usize = 50;

/// At most this many addresses are told of a workflow's amendments.
pub const TOLD_MAX: usize = 20;

/// A proposal that nobody decides expires after this many days where its workflow says nothing.
pub const PROPOSAL_DAYS_DEFAULT: u32 = 30;

/// No proposal waits longer, in days.
pub const PROPOSAL_DAYS_MAX: u32 = 366;

/// A title or a description has at most this many characters.
pub const SENTENCE_CHARACTERS_MAX: usize = 300;

/// One kind of effect that automations create in one destination.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// Its name, a key part.
    pub name: KeyPart,
    /// Its name for people; the name where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The sentence shown to people, with `{document}`, `{company}`, `{source_system}`, `{action}`, `{revision}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its operations make.
    #[serde(default, skip_serializing_if = "Kind::is_record")]
    pub kind: Kind,
    /// The actions that may be begun.
    #[serde(default = "actions_default")]
    pub actions: Vec<KeyPart>,
    /// The destination's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// How long a lease lasts for which nothing else is asked, in seconds.
    #[serde(default = "lease_seconds_default")]
    pub lease_seconds: u32,
    /// The longest lease, in seconds.
    #[serde(default = "max_lease_seconds_default")]
    pub max_lease_seconds: u32,
    /// Whether workers mark the moment before they send.
    #[serde(default)]
    pub two_step: bool,
    /// The places left out of the fingerprint.
    #[serde(default)]
    pub volatile: Vec<Pointer>,
    /// The places that people see only after they opened them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<Pointer>,
    /// Where the amount stands in a payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Pointer>,
    /// Where its currency stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Pointer>,
    /// Where the day stands by which an operation belongs to a period. Left out: the day (UTC) on which it was first begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Pointer>,
    /// What must agree between a payload and the destination's record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_fields: Vec<KeyField>,
    /// Where the parts of a key stand for callers of the proxy that do not send them as headers.
    #[serde(default, skip_serializing_if = "KeyPlaces::is_empty")]
    pub key: KeyPlaces,
    /// What may be forgotten, and when.
    #[serde(default)]
    pub retention: Retention,
    /// Which columns of the destination's records hold what.
    #[serde(default, skip_serializing_if = "crate::reconciliation::Mapping::is_empty")]
    pub reconciliation: crate::reconciliation::Mapping,
    /// How often the destination's list is pulled and reconciled. Left out: whenever somebody asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<crate::pull::PullRules>,
    /// What may be amended, and how.
    #[serde(default)]
    pub amendment: AmendmentRules,
    /// How people settle what is uncertain.
    #[serde(default, skip_serializing_if = "ReviewRules::is_empty")]
    pub review: ReviewRules,
    /// When operations look alike. Left out: nothing is hinted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_alikes: Option<LookAlikeRules>,
}

/// What the operations of a workflow make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A record in another system.
    #[default]
    Record,
    /// A message to a customer: what was received, when, and which version is told on its operation's page.
    Message,
}

impl Kind {
    /// Whether records are made.
    pub const fn is_record(&self) -> bool {
        match self {
            Self::Record => true,
            Self::Message => false,
        }
    }
}

/// Where the parts of a key stand for callers of the proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPlaces {
    /// The company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<KeyPlace>,
    /// The system that the document comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_system: Option<KeyPlace>,
    /// The document's number. A text here would make every request the same document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Pointer>,
    /// What is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<KeyPlace>,
    /// Which version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Pointer>,
}

impl KeyPlaces {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a part of a key stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the body, at this place. Written with its slash: `/customer/company`.
    Body(Pointer),
    /// Here: always this text, which starts with no slash.
    Text(KeyPart),
}

impl serde::Serialize for KeyPlace {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Body(pointer) => pointer.serialize(serializer),
            Self::Text(part) => part.serialize(serializer),
        }
    }
}

impl<'de> serde::Deserialize<'de> for KeyPlace {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let wrong = |message: String| serde::de::Error::custom(format_args!("{text:?}: {message}"));
        if text.starts_with('/') {
            return text.parse().map(Self::Body).map_err(|error: crate::pointer::NotAPointer| wrong(error.to_string()));
        }
        KeyPart::new(&text).map(Self::Text).map_err(|error| wrong(error.to_string()))
    }
}

/// A field that must agree between a payload and the destination's record.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyField {
    /// Where it stands in the payload.
    pub payload: Pointer,
    /// Where it stands in the record (RFC 9535).
    pub record: String,
    /// How the two are compared.
    #[serde(default)]
    pub compare: Comparison,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Byte for byte.
    #[default]
    Exact,
    /// As decimal numbers.
    Decimal,
    /// As dates.
    Date,
    /// As text, with case and white space folded.
    Text,
}

/// What may be forgotten, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Bodies are kept this many days; keys, fingerprints and outcomes stay. Left out: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_days: Option<u32>,
}

/// How a confirmed record is corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Changed in place.
    Amend,
    /// Replaced by a new record.
    Replace,
    /// Reversed, then posted anew.
    ReverseAndRepost,
    /// Not corrected.
    #[default]
    Forbid,
    /// Taken back, and not posted anew. No rule says so: people ask for it and approve it, record by record.
    Reverse,
}

/// Reads a correction that a rule may ask for: taking a record back and posting nothing is none of them.
fn correction_of_a_rule<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Correction, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum OfARule {
        Amend,
        Replace,
        ReverseAndRepost,
        Forbid,
    }
    Ok(match <OfARule as serde::Deserialize>::deserialize(deserializer)? {
        OfARule::Amend => Correction::Amend,
        OfARule::Replace => Correction::Replace,
        OfARule::ReverseAndRepost => Correction::ReverseAndRepost,
        OfARule::Forbid => Correction::Forbid,
    })
}

/// What may be amended, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmendmentRules {
    /// The places that may change, with all below them; empty: nothing may.
    #[serde(default)]
    pub amendable: Vec<Place>,
    /// The correction before reconciliation.
    #[serde(default, deserialize_with = "correction_of_a_rule")]
    pub before_reconciliation: Correction,
    /// The correction after it.
    #[serde(default, deserialize_with = "correction_of_a_rule")]
    pub after_reconciliation: Correction,
    /// Above this amount two people approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_approval_over: Option<String>,
    /// A proposal that nobody decides expires after this many days. Left out: [`PROPOSAL_DAYS_DEFAULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_days: Option<u32>,
    /// The addresses that are told by mail when amendments wait for approval, beside those of the channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tell: Vec<String>,
}

impl AmendmentRules {
    /// After how many days a proposal expires.
    pub fn proposal_days(&self) -> u32 {
        self.proposal_days.unwrap_or(PROPOSAL_DAYS_DEFAULT)
    }

    /// Checks what the shape alone cannot say.
    fn validate(&self) -> Result<(), DefinitionFault> {
        let fault = |key, message: &str| Err(DefinitionFault::new(key, message));
        let corrections = [
            ("amendment.before_reconciliation", self.before_reconciliation),
            ("amendment.after_reconciliation", self.after_reconciliation),
        ];
        if let Some((key, _)) = corrections.into_iter().find(|(_, correction)| *correction == Correction::Reverse) {
            return fault(
                key,
                "is reverse, which people ask for record by record; amend, replace, reverse_and_repost or forbid are rules",
            );
        }
        if self.amendable.len() > AMENDABLE_MAX {
            return fault("amendment.amendable", "lists over 100 places");
        }
        let limit = self.second_approval_over.as_deref().map(str::parse::<rust_decimal::Decimal>);
        if limit.is_some_and(|limit| limit.map_or(true, |limit| limit.is_sign_negative())) {
            return fault(
                "amendment.second_approval_over",
                "is no amount; write it as text, for example \"100000.00\"",
            );
        }
        if self.proposal_days.is_some_and(|days| !(1..=PROPOSAL_DAYS_MAX).contains(&days)) {
            return fault("amendment.proposal_days", "is out of bounds; 1 to 366 days are possible");
        }
        if self.tell.len() > TOLD_MAX {
            return fault("amendment.tell", "lists over 20 addresses");
        }
        if let Some(wrong) = self.tell.iter().find(|address| !crate::person::is_address(address)) {
            return fault("amendment.tell", &format!("holds {wrong:?}, which is no address like name@example.com"));
        }
        Ok(())
    }
}

/// How people settle what is uncertain.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewRules {
    /// Over this amount a decision needs a second person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_person_over: Option<String>,
    /// After this many minutes an uncertain operation is shown as ageing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_after_minutes: Option<u32>,
    /// After this many minutes it is shown as late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_after_minutes: Option<u32>,
}

impl ReviewRules {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what the shape alone cannot say.
    fn validate(&self, has_amount: bool) -> Result<(), DefinitionFault> {
        let fault = |key, message: &str| Err(DefinitionFault::new(key, message));
        if let Some(over) = &self.second_person_over {
            if over.parse::<rust_decimal::Decimal>().map_or(true, |over| over.is_sign_negative()) {
                return fault("review.second_person_over", "is no amount; write it as text, for example \"10000.00\"");
            }
            if !has_amount {
                return fault("review.second_person_over", "needs amount and currency, to know what is at stake");
            }
        }
        if self.warn_after_minutes == Some(0) || self.late_after_minutes == Some(0) {
            return fault("review.warn_after_minutes", "is 0, or late_after_minutes is; leave it out for no limit");
        }
        if let (Some(warn), Some(late)) = (self.warn_after_minutes, self.late_after_minutes)
            && warn > late
        {
            return fault("review.warn_after_minutes", "is over late_after_minutes; what ages is late after that");
        }
        Ok(())
    }

    /// After how many minutes people outside of the desk are told: when it is late; when it ages, where nothing is late.
    pub fn told_after_minutes(&self) -> Option<u32> {
        self.late_after_minutes.or(self.warn_after_minutes)
    }

    /// Whether a decision about this money needs a second person. What cannot be read may be any amount.
    pub fn needs_second_person(&self, money: Option<&Money>) -> bool {
        let Some(over) = self.second_person_over.as_deref() else { return false };
        let over = over.parse::<rust_decimal::Decimal>().unwrap_or_default();
        money.is_none_or(|money| money.amount.abs() > over)
    }
}

impl Correction {
    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amend => "amend",
            Self::Replace => "replace",
            Self::ReverseAndRepost => "reverse_and_repost",
            Self::Forbid => "forbid",
            Self::Reverse => "reverse",
        }
    }

    /// The correction with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Amend, Self::Replace, Self::ReverseAndRepost, Self::Forbid, Self::Reverse]
            .into_iter()
            .find(|known| known.as_str() == name)
    }
}

fn actions_default() -> Vec<KeyPart> {
    KeyPart::new(ACTION_DEFAULT).into_iter().collect()
}

const fn lease_seconds_default() -> u32 {
    LEASE_SECONDS_DEFAULT
}

const fn max_lease_seconds_default() -> u32 {
    MAX_LEASE_SECONDS_DEFAULT
}

/// A rule of a definition that contradicts another or a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct DefinitionFault {
    /// The key, as the configuration file writes it.
    pub key: &'static str,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl DefinitionFault {
    /// The fault of a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}

impl Workflow {
    /// A workflow with this name and everything else left out.
    pub fn named(name: KeyPart) -> Self {
        Self {
            name,
            title: None,
            description: None,
            kind: Kind::Record,
            actions: actions_default(),
            destination: None,
            lease_seconds: LEASE_SECONDS_DEFAULT,
            max_lease_seconds: MAX_LEASE_SECONDS_DEFAULT,
            two_step: false,
            volatile: Vec::new(),
            sensitive: Vec::new(),
            amount: None,
            currency: None,
            period: None,
            key_fields: Vec::new(),
            key: KeyPlaces::default(),
            retention: Retention::default(),
            reconciliation: crate::reconciliation::Mapping::default(),
            pull: None,
            amendment: AmendmentRules::default(),
            review: ReviewRules::default(),
            look_alikes: None,
        }
    }

    /// Checks what the shape alone cannot say.
    ///
    /// # Errors
    /// The first key that contradicts a limit or another key.
    pub fn validate(&self) -> Result<(), DefinitionFault> {
        let fault = |key, message: &str| Err(DefinitionFault::new(key, message));
        if self.actions.is_empty() {
            return fault("actions", "is empty; name at least one, for example [\"create\"]");
        }
        if let Some(twice) = self.actions.iter().enumerate().find(|(at, action)| self.actions[..*at].contains(action)) {
            return fault("actions", &format!("names {:?} twice", twice.1));
        }
        if self.lease_seconds == 0 {
            return fault("lease_seconds", "is 0; a lease lasts at least one second");
        }
        if self.max_lease_seconds > LEASE_SECONDS_MAX {
            return fault("max_lease_seconds", "is over 604800 (seven days)");
        }
        if self.lease_seconds > self.max_lease_seconds {
            let (lease, bound) = (self.lease_seconds, self.max_lease_seconds);
            let message = format!("is {lease}, over max_lease_seconds ({bound}); lower it or raise that");
            return fault("lease_seconds", &message);
        }
        if self.amount.is_some() != self.currency.is_some() {
            return fault("amount", "goes with currency, since an amount alone says nothing; give both or neither");
        }
        if self.volatile.len() > VOLATILE_FIELDS_MAX {
            return fault("volatile", "lists over 100 places");
        }
        if self.volatile.iter().any(|pointer| pointer.tokens().is_empty()) {
            return fault("volatile", "names the whole payload (\"\"); nothing would be left to compare");
        }
        if self.sensitive.len() > crate::veil::SENSITIVE_FIELDS_MAX {
            return fault("sensitive", "lists over 100 places");
        }
        if self.sensitive.iter().any(|pointer| pointer.tokens().is_empty()) {
            return fault("sensitive", "names the whole payload (\"\"); nothing would be left to show");
        }
        let volatile_covers = |place: &Pointer| self.volatile.iter().any(|pointer| pointer.covers(place));
        if self.amount.as_ref().is_some_and(volatile_covers) {
            return fault("volatile", "covers the amount: a changed amount would pass as a repetition");
        }
        if self.currency.as_ref().is_some_and(volatile_covers) {
            return fault("volatile", "covers the currency: a changed currency would pass as a repetition");
        }
        if self.key_fields.iter().any(|field| volatile_covers(&field.payload)) {
            return fault("volatile", "covers a key field: a changed key field would pass as a repetition");
        }
        if self.period.as_ref().is_some_and(|place| place.tokens().is_empty()) {
            return fault("period", "names the whole payload (\"\"); name the place of a date, for example \"/date\"");
        }
        if self.period.as_ref().is_some_and(volatile_covers) {
            return fault("volatile", "covers the date of the period: a changed date would pass as a repetition");
        }
        if self.key_fields.len() > KEY_FIELDS_MAX {
            return fault("key_fields", "lists over 50 fields");
        }
        let places = [("key.document", &self.key.document), ("key.revision", &self.key.revision)];
        for (key, place) in places {
            if place.as_ref().is_some_and(|place| place.tokens().is_empty()) {
                return fault(key, "names the whole body (\"\"); name a place in it, for example \"/number\"");
            }
        }
        let sentences = [("title", &self.title), ("description", &self.description)];
        for (key, sentence) in sentences {
            if sentence.as_ref().is_some_and(|sentence| sentence.chars().count() > SENTENCE_CHARACTERS_MAX) {
                return fault(key, "has over 300 characters");
            }
        }
        if self.retention.payload_days == Some(0) {
            return fault(
                "retention.payload_days",
                "is 0; bodies are kept at least one day, or for ever where it is left out",
            );
        }
        self.reconciliation.validate()?;
        if let Some(pull) = &self.pull {
            pull.validate()?;
        }
        self.amendment.validate()?;
        self.review.validate(self.amount.is_some())?;
        self.look_alikes.as_ref().map_or(Ok(()), |rules| rules.validate(self.amount.is_some()))
    }

    /// What is at stake by a payload, where the workflow says how to read it and it can be read.
    pub fn money(&self, payload: &Payload) -> Option<Money> {
        Money::read(payload, self.amount.as_ref()?, self.currency.as_ref()?)
    }

    /// By what an operation of this content looks like others, where the workflow names a counterparty.
    pub fn look(&self, key: &OperationKey, money: Option<&Money>, payload: &Payload) -> Option<Look> {
        Look::of(self.look_alikes.as_ref()?, key, money, payload)
    }

    /// The name for people.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(self.name.as_str())
    }

    /// The plain sentence that tells what an operation is.
    pub fn sentence(&self, key: &OperationKey) -> String {
        sentence(self.description.as_deref(), key)
    }

    /// The lease that a caller gets, in seconds.
    ///
    /// # Errors
    /// What it asks for is beyond the workflow's bound.
    pub fn lease_seconds(&self, asked: Option<u32>) -> Result<u32, String> {
        match asked {
            None => Ok(self.lease_seconds),
            Some(seconds) if (1..=self.max_lease_seconds).contains(&seconds) => Ok(seconds),
            Some(seconds) => Err(format!("is {seconds}; this workflow allows 1 to {} seconds", self.max_lease_seconds)),
        }
    }
}

/// The plain sentence of an operation, from its workflow's description where there is one.
pub fn sentence(description: Option<&str>, key: &OperationKey) -> String {
    let template = description.unwrap_or("{action} {document} in {company}");
    let mut text = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (value, after) = match after.split_once('}') {
            Some(("document", after)) => (key.document.as_str().to_owned(), after),
            Some(("company", after)) => (key.company.as_str().to_owned(), after),
            Some(("source_system", after)) => (key.source_system.as_str().to_owned(), after),
            Some(("action", after)) => (key.action.as_str().to_owned(), after),
            Some(("workflow", after)) => (key.workflow.as_str().to_owned(), after),
            Some(("revision", after)) => (key.revision.to_string(), after),
            Some(_) | None => ("{".to_owned(), after),
        };
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    // A description that names its action in its own words would tell of the record, not of its end.
    if key.may_be_reversal() && !template.contains("{action}") { format!("reverse: {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow() -> Workflow {
        Workflow::named(KeyPart::new("handoff").unwrap())
    }

    #[test]
    fn the_sentence_is_filled_once() {
        let key = OperationKey {
            workflow: KeyPart::new("handoff").unwrap(),
            company: KeyPart::new("{document}").unwrap(),
            source_system: KeyPart::new("shop").unwrap(),
            document: KeyPart::new("812").unwrap(),
            action: KeyPart::new("create").unwrap(),
            revision: 1,
        };
        assert_eq!(sentence(Some("create {document} in {company} {x} {"), &key), "create 812 in {document} {x} {");
        assert_eq!(sentence(None, &key), "create 812 in {document}");
        let reversal = key.reversal(1);
        assert_eq!(sentence(None, &reversal), "reverse 812 in {document}");
        assert_eq!(sentence(Some("post {document}"), &reversal), "reverse: post 812");
    }

    #[test]
    fn contradictions_are_named() {
        let fault = |change: &dyn Fn(&mut Workflow)| {
            let mut workflow = workflow();
            change(&mut workflow);
            workflow.validate().unwrap_err().key
        };
        assert_eq!(fault(&|workflow| workflow.lease_seconds = 4_000), "lease_seconds");
        assert_eq!(fault(&|workflow| workflow.amount = Some("/amount".parse().unwrap())), "amount");
        assert_eq!(fault(&|workflow| workflow.volatile = vec!["".parse().unwrap()]), "volatile");
        assert_eq!(fault(&|workflow| workflow.actions.clear()), "actions");
        assert_eq!(fault(&|workflow| workflow.actions.push(KeyPart::new("create").unwrap())), "actions");
        assert_eq!(fault(&|workflow| workflow.retention.payload_days = Some(0)), "retention.payload_days");
        for amount in ["much", "-1"] {
            let over = |workflow: &mut Workflow| workflow.amendment.second_approval_over = Some(amount.into());
            assert_eq!(fault(&over), "amendment.second_approval_over", "{amount}");
        }
        let look_alikes =
            |counterparty: &str, days| Some(LookAlikeRules { counterparty: counterparty.parse().unwrap(), days });
        let reads_money = |workflow: &mut Workflow| {
            (workflow.amount, workflow.currency) = ("/amount".parse().ok(), "/currency".parse().ok());
        };
        assert_eq!(fault(&|workflow| workflow.look_alikes = look_alikes("/customer", 30)), "look_alikes.counterparty");
        for (counterparty, days, key) in [
            ("", 30, "look_alikes.counterparty"),
            ("/customer", 0, "look_alikes.days"),
            ("/customer", 367, "look_alikes.days"),
        ] {
            let wrong = |workflow: &mut Workflow| {
                reads_money(workflow);
                workflow.look_alikes = look_alikes(counterparty, days);
            };
            assert_eq!(fault(&wrong), key, "{counterparty} {days}");
        }
        let reverse = |workflow: &mut Workflow| workflow.amendment.after_reconciliation = Correction::Reverse;
        assert_eq!(fault(&reverse), "amendment.after_reconciliation", "people ask for it, no rule does");
        assert_eq!(workflow().validate(), Ok(()));
    }

    #[test]
    fn volatile_must_not_hide_money() {
        let mut workflow = workflow();
        workflow.amount = Some("/total/amount".parse().unwrap());
        workflow.currency = Some("/currency".parse().unwrap());
        workflow.volatile = vec!["/total".parse().unwrap()];
        assert_eq!(workflow.validate().unwrap_err().key, "volatile");
        workflow.volatile = vec!["/currency".parse().unwrap()];
        assert_eq!(workflow.validate().unwrap_err().key, "volatile");
    }

    #[test]
    fn a_lease_stays_in_bounds() {
        assert_eq!(workflow().lease_seconds(None), Ok(60));
        assert_eq!(workflow().lease_seconds(Some(3_600)), Ok(3_600));
        assert!(workflow().lease_seconds(Some(3_601)).is_err());
        assert!(workflow().lease_seconds(Some(0)).is_err());
    }
}
