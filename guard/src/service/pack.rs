//! The evidence pack: everything that proves what became of an operation, to be read and checked without Onceover.

use super::Guard;
use super::conflict::Version;
use super::desk::HISTORY_ROWS_MAX;
use crate::actor::Actor;
use crate::amendment::Amendment;
use crate::canonical::canonical;
use crate::clock::Timestamp;
use crate::conflict::Conflict;
use crate::evidence::Evidence;
use crate::fingerprint::Fingerprint;
use crate::id::OperationId;
use crate::json::Json;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::queue::PAGE_ROWS_MAX;
use crate::refusal::Refusal;
use crate::store::{Act, Delivery};
use crate::token::Reach;
use crate::trail::{ChainHash, Entry, EntryKind, detail};
use crate::veil::Veil;
use crate::view::OperationView;

/// A pack holds at most so many entries of the trail, the latest ones; it says how many stand before them.
pub const PACK_ENTRIES_MAX: u64 = 20_000;

/// An operation with all that there is of it.
#[derive(Clone, Debug)]
pub struct Pack {
    /// When it was true.
    pub made_at: Timestamp,
    /// The operation.
    pub operation: Operation,
    /// As people see it.
    pub view: OperationView,
    /// The places that are masked in payloads and differences.
    pub masked: Vec<String>,
    /// The sequence and the hash of the entry before the first one here: `(0, ChainHash::START)` where none is left out.
    pub before: (u64, ChainHash),
    /// Its trail, oldest first.
    pub entries: Vec<PackedEntry>,
    /// The payloads: the document's revisions, then what came under this operation's key and made a conflict.
    pub versions: Vec<PackedVersion>,
    /// Its conflicts, newest first, at most `HISTORY_ROWS_MAX`.
    pub conflicts: Vec<Conflict>,
    /// The amendments that proposed it, newest first, at most `HISTORY_ROWS_MAX`.
    pub amendments: Vec<Amendment>,
    /// Its evidence, oldest first, at most `HISTORY_ROWS_MAX`; the bytes of files stay at the desk, their SHA-256 is here.
    pub evidence: Vec<Evidence>,
    /// Its latest deliveries that were answered without a grant, newest first, at most `HISTORY_ROWS_MAX`.
    pub deliveries: Vec<Delivery>,
}

/// An entry of the trail as it may be shown.
#[derive(Clone, Debug)]
pub struct PackedEntry {
    /// The entry, with what is sensitive masked.
    pub entry: Entry,
    /// The text whose hash continues the chain; none where something in it is masked, so that its hash is taken as it stands.
    pub hashed: Option<String>,
}

/// A payload as it may be shown.
#[derive(Clone, Debug)]
pub struct PackedVersion {
    /// Which one.
    pub version: Version,
    /// The operation whose payload it is, or under whose key it came.
    pub operation: OperationId,
    /// What it was recognised by.
    pub fingerprint: Fingerprint,
    /// When it came first.
    pub at: Timestamp,
    /// Its compact JSON; none where retention dropped it.
    pub payload: Option<String>,
    /// When that was dropped; none where it is there.
    pub dropped_at: Option<Timestamp>,
    /// The text whose SHA-256 is the fingerprint; none where the payload was dropped or something in it is masked.
    pub canonical: Option<String>,
}

impl Guard {
    /// Everything that there is of an operation within reach, as it may be shown behind this veil.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], the store's fault.
    pub async fn pack(&self, reach: &Reach, id: OperationId, veil: &Veil) -> Result<Pack, Refusal> {
        let operation = self.operation(reach, id).await?;
        let store = &self.inner.store;
        let (before, entries) = self.whole_trail(&operation, veil).await?;
        let mut conflicts = store.conflicts(id, HISTORY_ROWS_MAX).await?;
        let mut amendments = store.amendments_of(id, HISTORY_ROWS_MAX).await?;
        let mut versions = Vec::new();
        for held in self.revisions(reach, id).await? {
            let left_out = self.left_out(&held).await?;
            let payload = store.payload(held.id).await?;
            let (payload, canonical) = shown(payload, held.fingerprint, &left_out, veil);
            let version = Version::Revision(held.key.revision);
            let (fingerprint, at) = (held.fingerprint, held.created_at);
            let dropped_at = held.content.dropped_at().filter(|_| payload.is_none());
            versions.push(PackedVersion {
                version,
                operation: held.id,
                fingerprint,
                at,
                payload,
                dropped_at,
                canonical,
            });
        }
        let left_out = self.left_out(&operation).await?;
        let drops = entries.iter().filter(|packed| packed.entry.kind == EntryKind::BodiesDropped);
        let last_drop = drops.map(|packed| packed.entry.at).max().or(operation.content.dropped_at());
        for conflict in conflicts.iter().rev() {
            let payload = store.conflict_payload(conflict.id).await?;
            let (payload, canonical) = shown(payload, conflict.fingerprint, &left_out, veil);
            let version = Version::Received(conflict.id);
            let (fingerprint, at) = (conflict.fingerprint, conflict.opened_at);
            // What was received may have come after the payload was dropped, and be dropped later: the trail tells when.
            let dropped_at = last_drop.filter(|_| payload.is_none());
            versions.push(PackedVersion { version, operation: id, fingerprint, at, payload, dropped_at, canonical });
        }
        veil.cover(conflicts.iter_mut().flat_map(|conflict| &mut conflict.changes));
        veil.cover(amendments.iter_mut().flat_map(|amendment| &mut amendment.changes));
        Ok(Pack {
            made_at: self.now(),
            view: self.view(&operation),
            masked: veil.places().to_vec(),
            before,
            entries,
            versions,
            conflicts,
            amendments,
            evidence: store.evidence(id, HISTORY_ROWS_MAX).await?,
            deliveries: store.deliveries(id, HISTORY_ROWS_MAX).await?,
            operation,
        })
    }

    /// Keeps in the trail that somebody takes an operation's pack out, and whether what is sensitive is readable in it.
    ///
    /// # Errors
    /// The store's fault.
    pub async fn pack_taken(&self, actor: &Actor, id: OperationId, format: &str, veil: &Veil) -> Result<(), Refusal> {
        let text = |value: &str| Json::String(value.to_owned());
        let masked = veil.places().iter().map(|place| text(place)).collect();
        let facts = detail([
            ("operation", Some(text(&id.to_string()))),
            ("format", Some(text(format))),
            ("masked", Some(Json::Array(masked))),
        ]);
        let kind = EntryKind::EvidencePacked;
        self.administer_one(actor, Act::Note, kind, facts, "entry", kind.as_str()).await
    }

    /// The latest [`PACK_ENTRIES_MAX`] entries up to the operation's version, and what they follow on.
    async fn whole_trail(
        &self,
        operation: &Operation,
        veil: &Veil,
    ) -> Result<((u64, ChainHash), Vec<PackedEntry>), Refusal> {
        let store = &self.inner.store;
        let left_out = operation.version.saturating_sub(PACK_ENTRIES_MAX);
        let before = match left_out.checked_sub(1) {
            None => (0, ChainHash::START),
            Some(previous) => {
                let last = store.entries(operation.id, previous, 1).await?.pop();
                last.map_or((0, ChainHash::START), |last| (last.sequence, last.hash))
            }
        };
        let mut packed: Vec<PackedEntry> = Vec::new();
        loop {
            let after = packed.last().map_or(before.0, |last| last.entry.sequence);
            let page = store.entries(operation.id, after, PAGE_ROWS_MAX).await?;
            // What came since the operation was read belongs to another picture of it.
            let page: Vec<Entry> = page.into_iter().filter(|entry| entry.sequence <= operation.version).collect();
            if page.is_empty() {
                return Ok((before, packed));
            }
            packed.extend(page.into_iter().map(|entry| {
                let facts = veil.facts(&entry.detail);
                let hashed = (facts == entry.detail).then(|| entry.canonical());
                PackedEntry { entry: Entry { detail: facts, ..entry }, hashed }
            }));
        }
    }
}

/// A payload as it may be shown, and the text that its fingerprint is made of where all of it is.
fn shown(
    payload: Option<String>,
    fingerprint: Fingerprint,
    left_out: &[Pointer],
    veil: &Veil,
) -> (Option<String>, Option<String>) {
    let Some(payload) = payload else { return (None, None) };
    let Ok(parsed) = Payload::parse(payload.as_bytes()) else { return (Some(veil.text(&payload)), None) };
    let masked = veil.payload(parsed.content());
    let is_whole = masked == *parsed.content();
    // What was measured under other rules than its operation cannot be recomputed from it.
    let is_measured = Fingerprint::of(&parsed, left_out) == fingerprint;
    let canonical = (is_whole && is_measured).then(|| canonical(parsed.content(), left_out));
    (Some(if is_whole { payload } else { masked.to_string() }), canonical)
}
