//! Conflicts: another payload under the same key. A record beside the operation, which it never alters.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::actor::Actor;
use crate::clock::{Timestamp, rfc3339};
use crate::diff::Change;
use crate::fingerprint::Fingerprint;
use crate::id::{AmendmentId, ConflictId, OperationId, RuleProposalId};
use crate::key::{KeyPart, OperationKey, with_parts};
use crate::pointer::Pointer;

/// So many places of a conflict are listed and can be searched by; all of them are in its group.
pub const PLACES_LISTED_MAX: usize = 20;

/// What an index of an array is called in a place: every item of it.
const EVERY_ITEM: &str = "*";

/// A conflict. The same wrong payload again raises `hits`, and so does one that differs from it only in moments, at the same places;
/// any other wrong payload is another conflict.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Conflict {
    /// Its id.
    pub id: ConflictId,
    /// The operation under whose key the payload came.
    pub operation: OperationId,
    /// The operation's workflow.
    pub workflow: String,
    /// The operation's company.
    pub company: String,
    /// The fingerprint of the payload that came.
    pub fingerprint: Fingerprint,
    /// The first [`crate::diff::CHANGES_LISTED_MAX`] changes; in lists, none where they are long.
    pub changes: Vec<Change>,
    /// How many changes there are.
    pub changes_total: u32,
    /// Where it differs.
    pub places: Places,
    /// When it came first.
    pub opened_at: Timestamp,
    /// How often it came.
    pub hits: u64,
    /// Whether somebody has to look at it, or what was decided.
    pub standing: ConflictStanding,
}

impl Conflict {
    /// Whether somebody has to look at it.
    pub const fn is_open(&self) -> bool {
        match self.standing {
            ConflictStanding::Open => true,
            ConflictStanding::Decided(_) => false,
        }
    }

    /// What was decided.
    pub fn decision(&self) -> Option<&ConflictDecision> {
        match &self.standing {
            ConflictStanding::Open => None,
            ConflictStanding::Decided(decision) => Some(decision),
        }
    }
}

/// How a conflict stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictStanding {
    /// Somebody has to look at it.
    Open,
    /// It was decided, for good.
    Decided(Box<ConflictDecision>),
}

/// A decision on a conflict, with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ConflictDecision {
    /// What was decided, and what came of it.
    pub outcome: ConflictOutcome,
    /// Who decided; the address under which the person signs in.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// Where others can see it: a web address.
    pub link: Option<String>,
    /// The version of the operation that the person saw.
    pub seen_version: u64,
    /// The fingerprint of the approved payload that the person saw.
    pub seen_fingerprint: Fingerprint,
}

/// What was decided on a conflict, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictOutcome {
    /// The approved payload stands; what came was wrong.
    KeptApproved,
    /// What came was proposed as an amendment, which others approve.
    AmendmentProposed {
        /// The amendment.
        amendment: AmendmentId,
        /// The revision that it proposes.
        revision: u32,
    },
    /// What came belongs to another document: it may be begun under this key.
    OtherDocument {
        /// The key under which it may be begun.
        key: OperationKey,
    },
    /// What differs says nothing; it was proposed to leave these places out.
    Noise {
        /// The places.
        places: Vec<Pointer>,
        /// The proposed change of the workflow's rules.
        proposal: RuleProposalId,
    },
}

impl ConflictOutcome {
    /// The name in every interface.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::KeptApproved => "kept_approved",
            Self::AmendmentProposed { .. } => "amendment_proposed",
            Self::OtherDocument { .. } => "other_document",
            Self::Noise { .. } => "noise",
        }
    }

    /// What was decided, in words that follow "it was decided that".
    pub fn sentence(&self) -> String {
        match self {
            Self::KeptApproved => "the approved payload stands".to_owned(),
            Self::AmendmentProposed { revision, .. } => {
                format!("it is a change, proposed as revision {revision}")
            }
            Self::OtherDocument { key } => format!("it is another document: {}", key.document.as_str()),
            Self::Noise { .. } => "what differs is noise, to be left out of the fingerprint".to_owned(),
        }
    }
}

/// What a person decides on a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictVerdict {
    /// The approved payload stands.
    KeepApproved,
    /// What came is a change, to be proposed as an amendment by whoever decides.
    ProposeAmendment,
    /// What came belongs to another document of this number.
    OtherDocument {
        /// Its number.
        document: KeyPart,
    },
    /// What differs at these places says nothing, and shall be left out of the fingerprint.
    Noise {
        /// The places, into the payload.
        places: Vec<Pointer>,
    },
}

/// Why a decision on a conflict is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictRefusal {
    /// Somebody else has decided it.
    #[error("{by} decided it at {}: {how}", rfc3339(*.at))]
    Decided {
        /// What was decided, in words.
        how: String,
        /// Who decided.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// The number belongs to another operation already.
    #[error(
        "the document {document:?} has an operation already, with another payload (operation {operation}); nothing was changed"
    )]
    DocumentTaken {
        /// The number.
        document: String,
        /// The operation that has it.
        operation: OperationId,
    },
}

/// Where a conflict differs: the places without the numbers of items.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Places {
    /// The first [`PLACES_LISTED_MAX`], in order: `/amount`, `/lines/*/quantity`.
    pub listed: Vec<String>,
    /// How many there are.
    pub total: u32,
    /// What conflicts of one workflow that differ in the same places have in common.
    pub group: GroupKey,
}

impl Places {
    /// The places of these changes in a workflow.
    pub fn of(workflow: &str, changes: &[Change]) -> Self {
        let all: BTreeSet<String> = changes.iter().map(|change| place(&change.path)).collect();
        let digest = with_parts(Sha256::new(), std::iter::once(workflow).chain(all.iter().map(String::as_str)));
        let total = u32::try_from(all.len()).unwrap_or(u32::MAX);
        Self {
            listed: all.into_iter().take(PLACES_LISTED_MAX).collect(),
            total,
            group: GroupKey::from_digest(&digest.finalize().into()),
        }
    }

    /// Whether leaving these places out would have left nothing that differs. A place in an array is one item of it, and a conflict is
    /// not known by the numbers of its items, so that such a place covers nothing here.
    pub fn are_covered_by(&self, left_out: &[Pointer]) -> bool {
        let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
        let is_covered = |place: &String| {
            left_out.iter().any(|left_out| {
                place.strip_prefix(left_out.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        self.total > 0 && self.total as usize == self.listed.len() && self.listed.iter().all(is_covered)
    }
}

/// A place without the numbers of items: what looks like an index of an array is every item of it.
fn place(path: &Pointer) -> String {
    let is_index = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    let tokens = path.tokens().iter().map(|token| if is_index(token) { EVERY_ITEM.to_owned() } else { token.clone() });
    Pointer::from_tokens(tokens.collect()).to_string()
}

/// By what a place is searched: the first sixteen bytes of its SHA-256.
pub fn place_key(place: &str) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(place).into();
    GroupKey::from_digest(&digest).as_bytes()
}

/// Names a group of conflicts: one workflow, the same places. Conflicts from before groups were kept have the one of all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey(u128);

/// A text that names no group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("names no group of conflicts")]
pub struct NotAGroup;

impl GroupKey {
    /// The group with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// The sixteen bytes, as a store keeps them.
    pub const fn as_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    fn from_digest(digest: &[u8; 32]) -> Self {
        Self(digest.iter().take(16).fold(0, |key, byte| (key << 8) | u128::from(*byte)))
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl FromStr for GroupKey {
    type Err = NotAGroup;

    fn from_str(text: &str) -> Result<Self, NotAGroup> {
        let digits = Some(text).filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digits.and_then(|digits| u128::from_str_radix(digits, 16).ok()).map(Self).ok_or(NotAGroup)
    }
}

impl serde::Serialize for GroupKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for GroupKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Which conflicts are asked for; what is left out does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ConflictFilter {
    /// Only of this workflow.
    pub workflow: Option<String>,
    /// Only of this company.
    pub company: Option<String>,
    /// Only such as differ in this place, without the numbers of items: `/lines/*/quantity`.
    pub place: Option<String>,
    /// Only of this group.
    pub group: Option<GroupKey>,
    /// Those that were decided, instead of those that are open.
    pub is_decided: bool,
}

/// In which order conflicts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictOrder {
    /// The longest open first.
    Oldest,
    /// The newest first.
    Newest,
}

/// So many open conflicts are grouped, the oldest: of what came later, groups are seen as these are decided.
pub const CONFLICTS_GROUPED_MAX: u32 = crate::summary::LISTED_COUNTED_MAX;

/// Open conflicts of one workflow that differ in the same places.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ConflictGroup {
    /// The workflow.
    pub workflow: String,
    /// The places.
    pub places: Places,
    /// How many are open; all groups together count at most [`CONFLICTS_GROUPED_MAX`].
    pub open: u32,
    /// How often they came in all.
    pub hits: u64,
    /// When the oldest came.
    pub oldest_at: Timestamp,
    /// Whether not all that are open were counted: there may be more in it.
    pub is_cut: bool,
    /// Those of it that came first, at most [`GROUP_FIRST_MAX`].
    pub first: Vec<ConflictId>,
}

/// Of a group, so many are named: the others are found when it is opened.
pub const GROUP_FIRST_MAX: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::ChangeKind;

    fn changes(paths: &[&str]) -> Vec<Change> {
        let change = |path: &&str| Change {
            path: path.parse().unwrap(),
            kind: ChangeKind::Added,
            approved: None,
            received: None,
        };
        paths.iter().map(change).collect()
    }

    #[test]
    fn the_numbers_of_items_do_not_part_groups() {
        let one = Places::of("w", &changes(&["/lines/0/quantity", "/lines/7/quantity", "/amount"]));
        assert_eq!((one.listed.join(" "), one.total), ("/amount /lines/*/quantity".to_owned(), 2));
        assert_eq!(one.group, Places::of("w", &changes(&["/amount", "/lines/3/quantity"])).group);
        assert_ne!(one.group, Places::of("v", &changes(&["/amount", "/lines/3/quantity"])).group);
        assert_ne!(one.group, Places::of("w", &changes(&["/amount"])).group);
        assert_eq!(one.group.to_string().parse(), Ok(one.group));
    }

    #[test]
    fn noise_is_what_left_out_places_cover_whole() {
        let covered = |paths: &[&str], left_out: &[&str]| {
            let left_out: Vec<Pointer> = left_out.iter().map(|path| path.parse().unwrap()).collect();
            Places::of("w", &changes(paths)).are_covered_by(&left_out)
        };
        assert!(covered(&["/meta/sent_at", "/meta/try"], &["/meta"]));
        assert!(!covered(&["/meta/sent_at", "/amount"], &["/meta"]));
        assert!(!covered(&["/metadata"], &["/meta"]));
        assert!(covered(&["/lines/3/sent"], &["/lines"]) && !covered(&["/lines/3/sent"], &["/lines/3/sent"]));
        assert!(!covered(&[], &["/meta"]), "where nothing is known, nothing would have been avoided");
        let many: Vec<String> = (0..30).map(|at| format!("/meta/m{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(!covered(&many, &["/meta"]), "places beyond those that are listed are not known");
    }
}
