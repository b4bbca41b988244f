//! What a form did or did not do, told on the page after it.

pub(crate) mod amendment;
pub(crate) mod period;
pub(crate) mod reconciliation;
pub(crate) mod retention;
pub(crate) mod rules;

use std::collections::BTreeSet;

use guard::{
    id::{ConflictId, OperationId, TokenId},
    lookup::Trial,
    person::{Person, Role},
    review::Deferral,
    service::{ConflictSettled, Settled},
    token::Token,
};

use crate::{failure::Failure, functions::list_unknown::Asked};

/// A decision on an uncertain operation, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Draft {
    /// The operation.
    pub operation: OperationId,
    /// The version that the page showed.
    pub version: u64,
    /// The fingerprint that the page showed.
    pub fingerprint: String,
    /// What is decided.
    pub verdict: Verdict,
    /// The id under which the destination holds the record.
    #[serde(default)]
    pub destination_reference: String,
    /// How the person knows.
    #[serde(default)]
    pub reason: String,
    /// Where others can see it.
    #[serde(default)]
    pub link: String,
    /// What the destination was shown to hold, where that is decided against.
    #[serde(default)]
    pub acknowledged: String,
    /// Until when it is kept waiting, in UTC.
    #[serde(default)]
    pub until: String,
    /// The page that the person came from.
    #[serde(default)]
    pub origin: Origin,
    /// The queue as it was, where the person came from there.
    #[serde(default)]
    pub place: Asked,
    /// The operation that comes next in it; empty: none.
    #[serde(default)]
    pub next: String,
}

/// What a person can decide about an uncertain operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The destination holds the record.
    Confirmed,
    /// The destination does not hold it.
    NotApplied,
    /// Nothing yet: it waits until a moment.
    KeepWaiting,
    /// Nobody can know, and it is not to be sent (again).
    Dropped,
    /// A second person confirms what was proposed.
    ConfirmProposal,
    /// A second person rejects what was proposed, or the first one takes it back.
    RejectProposal,
}

/// The page that a decision was made on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// The operation's own page.
    #[default]
    Operation,
    /// The queue.
    Queue,
}

impl Verdict {
    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotApplied => "not_applied",
            Self::KeepWaiting => "keep_waiting",
            Self::Dropped => "dropped",
            Self::ConfirmProposal => "confirm_proposal",
            Self::RejectProposal => "reject_proposal",
        }
    }
}

impl Origin {
    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Queue => "queue",
        }
    }
}

/// What a decision did.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Decided {
    /// From what to what.
    pub settled: Settled,
    /// What was decided.
    pub verdict: Verdict,
    /// Until when it is kept waiting.
    pub deferral: Option<Deferral>,
    /// Who decided.
    pub by: String,
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum DecisionNotice {
    /// It was made.
    Done(Box<Decided>),
    /// Nothing was changed.
    Refused(Box<Draft>, Failure),
}

/// What became of evidence that somebody added.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum EvidenceNotice {
    /// It is kept.
    Added,
    /// Nothing was kept; what was written is not lost. A file has to be chosen again.
    Refused {
        /// What was written.
        note: String,
        /// Where others can see it.
        link: String,
        /// Why.
        failure: Failure,
    },
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum ClaimNotice {
    /// Somebody is on it, or no longer is.
    Done,
    /// Nothing was changed.
    Refused(OperationId, Failure),
}

/// A decision on a conflict, as a person writes it. Nothing of it is lost when it is refused.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConflictDraft {
    /// The conflict.
    pub conflict: ConflictId,
    /// The version of the operation that the page showed.
    pub version: u64,
    /// The fingerprint of the payload that came, as the page showed it.
    pub fingerprint: String,
    /// What is decided.
    #[serde(default)]
    pub verdict: Option<ConflictChoice>,
    /// The number of the other document.
    #[serde(default)]
    pub document: String,
    /// The places that say nothing.
    #[serde(default)]
    pub places: Vec<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Where others can see it.
    #[serde(default)]
    pub link: String,
    /// The conflict that opens after it; empty where there is none.
    #[serde(default)]
    pub next: String,
    /// The filter of the queue that the person came from, as its address writes it.
    #[serde(default)]
    pub search: String,
}

/// What a person can decide about a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConflictChoice {
    /// The approved payload stands.
    Keep,
    /// It is a change, to be proposed as an amendment.
    Propose,
    /// It is another document.
    Other,
    /// What differs says nothing.
    Noise,
}

impl ConflictChoice {
    /// The name in a form.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Propose => "propose",
            Self::Other => "other",
            Self::Noise => "noise",
        }
    }
}

/// What became of a decision on a conflict.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum ConflictNotice {
    /// It was made.
    Done(Box<ConflictSettled>),
    /// Nothing was changed.
    Refused(Box<ConflictDraft>, Failure),
}

/// What the wish did that an operation is looked for now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Haste {
    /// The next lookup is due.
    Due,
    /// The destination was asked at once.
    Looked {
        /// What it showed, in a sentence.
        shown: String,
    },
}

/// What became of the wish that an operation is looked for now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum HasteNotice {
    /// It was done.
    Done(Haste),
    /// Nothing was changed.
    Refused(Failure),
}

/// A token as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct TokenDraft {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What it may do; the names of scopes.
    #[serde(default)]
    pub scopes: BTreeSet<String>,
    /// Its companies, one a line or between commas; empty: every one.
    #[serde(default)]
    pub companies: String,
    /// Its workflows; empty: every one.
    #[serde(default)]
    pub workflows: BTreeSet<String>,
}

/// A token that was just made.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct MadeToken {
    /// The token.
    pub token: Token,
    /// Its secret, never to be had again.
    pub secret: String,
}

impl std::fmt::Debug for MadeToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MadeToken").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A person as somebody wants to add them.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct PersonDraft {
    /// The address.
    #[serde(default)]
    pub email: String,
    /// The role.
    pub role: Role,
    /// The companies, one a line or between commas; empty: every one.
    #[serde(default)]
    pub companies: String,
    /// The password; empty: one is made. A notice never holds it.
    #[serde(default)]
    pub password: String,
}

impl std::fmt::Debug for PersonDraft {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PersonDraft")
            .field("email", &self.email)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// A person that was just added.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct AddedPerson {
    /// The person.
    pub person: Person,
    /// The password that was made, never to be had again.
    pub password: Option<String>,
}

impl std::fmt::Debug for AddedPerson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AddedPerson").field("person", &self.person).finish_non_exhaustive()
    }
}

/// What is looked for at a destination, to see whether its profile is right.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct LookupDraft {
    /// The destination.
    pub destination: String,
    /// An external reference, or the id of an operation.
    #[serde(default)]
    pub sought: String,
}

/// What a look at a destination showed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct LookedUp {
    /// What was looked for.
    pub draft: LookupDraft,
    /// The plain sentence of the operation, where one was looked for.
    pub sentence: Option<String>,
    /// What was asked, what came back, and how it was read.
    pub trial: Trial,
}

/// What became of an act in the settings.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum SettingsNotice {
    /// A token was made.
    TokenMade(Box<MadeToken>),
    /// No token was made.
    TokenRefused(Box<TokenDraft>, Failure),
    /// A token was revoked.
    TokenRevoked(Box<Token>),
    /// The token was not revoked.
    RevocationRefused(Option<TokenId>, Failure),
    /// A person was added.
    PersonAdded(Box<AddedPerson>),
    /// Nobody was added.
    PersonRefused(Box<PersonDraft>, Failure),
    /// A destination was asked.
    LookedUp(Box<LookedUp>),
    /// No destination was asked.
    LookupRefused(Box<LookupDraft>, Failure),
    /// A channel was tried.
    ChannelTried(Box<ChannelTried>),
    /// No test message was sent by this channel.
    ChannelNotTried(String, Failure),
}

/// A channel that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ChannelTried {
    /// The channel.
    pub name: String,
    /// What came of it.
    pub delivery: guard::notification::Delivery,
}
