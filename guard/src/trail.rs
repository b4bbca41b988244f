//! The append-only trail: every entry is chained to the one before it with SHA-256.
//!
//! Entries of one operation form one chain; entries about people, tokens and workflows form the chain of the administration.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::canonical::canonical;
use crate::clock::{Timestamp, rfc3339};
use crate::json::Json;
use crate::number::Number;

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// An attempt was permitted.
    Begun,
    /// The worker marked its sending.
    MarkedSending,
    /// The lease was extended.
    Extended,
    /// The lease ended before anything could be sent.
    Released,
    /// The lease ended while a write was possible.
    Expired,
    /// A worker reported an outcome, and it counts.
    Reported,
    /// A worker reported an outcome that moves nothing: it disagrees with what is held, comes from an earlier attempt, or says what is
    /// known already; it is kept as evidence.
    ReportKept,
    /// The destination was looked at; whether that moved anything, its state tells.
    LookedUp,
    /// Another payload came under the same key.
    ConflictOpened,
    /// A person says to be on it.
    Claimed,
    /// A person no longer is.
    ClaimReleased,
    /// A person added evidence.
    EvidenceAdded,
    /// A person opened what the workflow marks as sensitive.
    FieldsOpened,
    /// A person decided to wait.
    KeptWaiting,
    /// A person decided an uncertain outcome, and a second one has to confirm it.
    ResolutionProposed,
    /// A second person rejected that, or the first one took it back.
    ResolutionRejected,
    /// A person decided on a conflict.
    ConflictDecided,
    /// A person said that a payload which came under another key belongs to this one: it may be begun.
    Registered,
    /// A person decided an uncertain outcome.
    Resolved,
    /// An amendment was proposed.
    AmendmentProposed,
    /// A person approved an amendment; whether that was enough, its state tells.
    AmendmentApproved,
    /// A person rejected an amendment.
    AmendmentRejected,
    /// An amendment was taken back.
    AmendmentWithdrawn,
    /// Nobody decided on an amendment in time.
    AmendmentExpired,
    /// The base of an amendment moved, so that its approval holds no longer.
    AmendmentVoid,
    /// A reconciliation found where the operation lies; whether that moved anything, its state tells.
    Reconciled,
    /// A person said that a record which nobody guarded is this operation's; whether that moved anything, its state tells.
    CandidateConfirmed,
    /// A person said that it is not.
    CandidateRefused,
    /// A person registered the operation for a record that the destination holds.
    Adopted,
    /// Administration: a workflow was made or changed.
    WorkflowApplied,
    /// Administration: a workflow was taken out of the configuration.
    WorkflowRemoved,
    /// Administration: a destination was made or changed.
    DestinationApplied,
    /// Administration: a destination was taken out of the configuration.
    DestinationRemoved,
    /// Administration: a channel of notifications was made or changed.
    ChannelApplied,
    /// Administration: a channel of notifications was taken out of the configuration.
    ChannelRemoved,
    /// Administration: somebody had a test message sent by a channel.
    ChannelTested,
    /// Administration: a person was added.
    PersonAdded,
    /// Administration: a token was made.
    TokenCreated,
    /// Administration: a token was revoked.
    TokenRevoked,
    /// Administration: somebody began to take a list out as a file.
    ExportBegun,
    /// Administration: how many rows of a list went out, and whether that was all.
    ExportEnded,
    /// Administration: somebody took the evidence pack of an operation out.
    EvidencePacked,
    /// It was asked that a record of this operation is taken back, by an operation of its own.
    ReversalAsked,
    /// A record of this operation was taken back.
    Reversed,
    /// The bodies of this operation were dropped: the certificate of what went and of what stays.
    BodiesDropped,
    /// A person placed a legal hold on this operation, or on its document.
    HoldPlaced,
    /// A person lifted a legal hold.
    HoldLifted,
    /// Administration: somebody began to act on everything that a filter said.
    RunBegun,
    /// A run over many operations acted on this one.
    RunApplied,
    /// Administration: a run had a result for each of its operations.
    RunEnded,
    /// Administration: a change of a workflow's rules was proposed.
    RulesProposed,
    /// Administration: a proposed change of rules was approved; the workflow's next version follows.
    RulesApproved,
    /// Administration: a proposed change of rules was rejected.
    RulesRejected,
    /// Administration: a proposed change of rules was withdrawn by its proposer.
    RulesWithdrawn,
    /// Administration: a proposed change of rules became void, since the workflow changed meanwhile.
    RulesVoided,
    /// Administration: a period was closed and signed; the entry holds its certificate.
    PeriodClosed,
    /// Administration: a closed period was opened again.
    PeriodReopened,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 57] = [
        Self::Begun,
        Self::MarkedSending,
        Self::Extended,
        Self::Released,
        Self::Expired,
        Self::Reported,
        Self::ReportKept,
        Self::LookedUp,
        Self::ConflictOpened,
        Self::Claimed,
        Self::ClaimReleased,
        Self::EvidenceAdded,
        Self::FieldsOpened,
        Self::KeptWaiting,
        Self::ResolutionProposed,
        Self::ResolutionRejected,
        Self::ConflictDecided,
        Self::Registered,
        Self::Resolved,
        Self::AmendmentProposed,
        Self::AmendmentApproved,
        Self::AmendmentRejected,
        Self::AmendmentWithdrawn,
        Self::AmendmentExpired,
        Self::AmendmentVoid,
        Self::ReversalAsked,
        Self::Reversed,
        Self::BodiesDropped,
        Self::HoldPlaced,
        Self::HoldLifted,
        Self::Reconciled,
        Self::CandidateConfirmed,
        Self::CandidateRefused,
        Self::Adopted,
        Self::WorkflowApplied,
        Self::WorkflowRemoved,
        Self::DestinationApplied,
        Self::DestinationRemoved,
        Self::ChannelApplied,
        Self::ChannelRemoved,
        Self::ChannelTested,
        Self::PersonAdded,
        Self::TokenCreated,
        Self::TokenRevoked,
        Self::ExportBegun,
        Self::ExportEnded,
        Self::EvidencePacked,
        Self::RunBegun,
        Self::RunApplied,
        Self::RunEnded,
        Self::RulesProposed,
        Self::RulesApproved,
        Self::RulesRejected,
        Self::RulesWithdrawn,
        Self::RulesVoided,
        Self::PeriodClosed,
        Self::PeriodReopened,
    ];

    /// The name in the store and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::MarkedSending => "marked_sending",
            Self::Extended => "extended",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Reported => "reported",
            Self::ReportKept => "report_kept",
            Self::LookedUp => "looked_up",
            Self::ConflictOpened => "conflict_opened",
            Self::Claimed => "claimed",
            Self::ClaimReleased => "claim_released",
            Self::EvidenceAdded => "evidence_added",
            Self::FieldsOpened => "fields_opened",
            Self::KeptWaiting => "kept_waiting",
            Self::ResolutionProposed => "resolution_proposed",
            Self::ResolutionRejected => "resolution_rejected",
            Self::ConflictDecided => "conflict_decided",
            Self::Registered => "registered",
            Self::Resolved => "resolved",
            Self::AmendmentProposed => "amendment_proposed",
            Self::AmendmentApproved => "amendment_approved",
            Self::AmendmentRejected => "amendment_rejected",
            Self::AmendmentWithdrawn => "amendment_withdrawn",
            Self::AmendmentExpired => "amendment_expired",
            Self::AmendmentVoid => "amendment_void",
            Self::ReversalAsked => "reversal_asked",
            Self::Reversed => "reversed",
            Self::BodiesDropped => "bodies_dropped",
            Self::HoldPlaced => "hold_placed",
            Self::HoldLifted => "hold_lifted",
            Self::Reconciled => "reconciled",
            Self::CandidateConfirmed => "candidate_confirmed",
            Self::CandidateRefused => "candidate_refused",
            Self::Adopted => "adopted",
            Self::WorkflowApplied => "workflow_applied",
            Self::WorkflowRemoved => "workflow_removed",
            Self::DestinationApplied => "destination_applied",
            Self::DestinationRemoved => "destination_removed",
            Self::ChannelApplied => "channel_applied",
            Self::ChannelRemoved => "channel_removed",
            Self::ChannelTested => "channel_tested",
            Self::PersonAdded => "person_added",
            Self::TokenCreated => "token_created",
            Self::TokenRevoked => "token_revoked",
            Self::ExportBegun => "export_begun",
            Self::ExportEnded => "export_ended",
            Self::EvidencePacked => "evidence_packed",
            Self::RunBegun => "run_begun",
            Self::RunApplied => "run_applied",
            Self::RunEnded => "run_ended",
            Self::RulesProposed => "rules_proposed",
            Self::RulesApproved => "rules_approved",
            Self::RulesRejected => "rules_rejected",
            Self::RulesWithdrawn => "rules_withdrawn",
            Self::RulesVoided => "rules_voided",
            Self::PeriodClosed => "period_closed",
            Self::PeriodReopened => "period_reopened",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A link of a chain: the SHA-256 of an entry and everything before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What the first entry of a chain is chained to.
    pub const START: Self = Self([0; 32]);

    /// The hash with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl serde::Serialize for ChainHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ChainHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        crate::fingerprint::parse_hex(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("a chain hash has 64 hexadecimal digits"))
    }
}

/// One entry of the trail.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// Its place in its chain, from 1.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// What it tells of.
    pub kind: EntryKind,
    /// The facts: an object. Bodies that may be forgotten are never in it, only their fingerprints.
    pub detail: Json,
    /// The hash of this entry and all before it.
    pub hash: ChainHash,
}

impl Entry {
    /// The entry that follows on `(sequence, previous)`.
    pub fn following(previous: (u64, ChainHash), at: Timestamp, actor: Actor, kind: EntryKind, detail: Json) -> Self {
        let (last_sequence, previous) = previous;
        let mut entry = Self { sequence: last_sequence + 1, at, actor, kind, detail, hash: previous };
        entry.hash = entry.hash_after(previous);
        entry
    }

    /// The hash that this entry must have after `previous`: `SHA-256(previous ‖ canonical entry)`.
    pub fn hash_after(&self, previous: ChainHash) -> ChainHash {
        ChainHash(Sha256::new().chain_update(previous.0).chain_update(self.canonical()).finalize().into())
    }

    /// What is hashed of it: its canonical text (RFC 8785), without the hash.
    pub fn canonical(&self) -> String {
        let text = |value: &str| Json::String(value.to_owned());
        let sequence = i64::try_from(self.sequence).unwrap_or(i64::MAX);
        let content = Json::Object(vec![
            ("actor".to_owned(), text(&self.actor.to_string())),
            ("at".to_owned(), text(&rfc3339(self.at))),
            ("detail".to_owned(), self.detail.clone()),
            ("kind".to_owned(), text(self.kind.as_str())),
            ("sequence".to_owned(), Json::Number(Number::from_integer(sequence))),
        ]);
        canonical(&content, &[])
    }
}

/// Builds the detail of an entry from its facts, leaving out those that are absent.
pub(crate) fn detail<'a>(facts: impl IntoIterator<Item = (&'a str, Option<Json>)>) -> Json {
    Json::Object(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    fn entry(previous: (u64, ChainHash), reason: &str) -> Entry {
        let at = chrono::Utc.timestamp_millis_opt(1_700_000_000_123).unwrap();
        let detail = detail([("reason", Some(Json::String(reason.to_owned()))), ("absent", None)]);
        Entry::following(previous, at, Actor::Sweeper, EntryKind::Expired, detail)
    }

    #[test]
    fn an_altered_entry_no_longer_fits_its_hash() {
        let first = entry((0, ChainHash::START), "a");
        let second = entry((first.sequence, first.hash), "b");
        assert_eq!(second.sequence, 2);
        assert_eq!(second.hash, second.hash_after(first.hash));
        let altered = Entry { detail: detail([("reason", Some(Json::String("c".to_owned())))]), ..second.clone() };
        assert_ne!(altered.hash_after(first.hash), second.hash);
        assert_ne!(second.hash_after(ChainHash::START), second.hash, "and it cannot be moved");
    }

    #[test]
    fn the_hash_follows_the_documented_text() {
        let first = entry((0, ChainHash::START), "a");
        let mut text = vec![0; 32];
        text.extend_from_slice(
            br#"{"actor":"system:sweeper","at":"2023-11-14T22:13:20.123Z","detail":{"reason":"a"},"kind":"expired","sequence":1}"#,
        );
        assert_eq!(first.hash.as_bytes()[..], Sha256::digest(&text)[..]);
    }
}
