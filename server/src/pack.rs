//! The evidence pack as a file: JSON, or a page that holds the same JSON, can be printed, and needs nothing else.

use app::pack::{Page, Sealed};
use guard::actor::Actor;
use guard::evidence::Evidence;
use guard::id::OperationId;
use guard::refusal::Refusal;
use guard::service::{Guard, Pack, PackedEntry, PackedVersion, Version};
use guard::store::Delivery;
use guard::token::Reach;
use guard::veil::Veil;
use serde::Serialize;

use crate::api::amendment::AmendmentBody;
use crate::api::view::{ConflictBody, EventBody, Moment, OperationBody, Shown};
use crate::trail::{Coverage, Head, Ledger, coverage};

/// What the JSON calls itself.
const FORMAT: &str = "onceover-evidence-pack-1";

/// Checks a pack without Onceover; a page brings it along.
const VERIFY: &str = include_str!("../../docs/evidence/verify.py");

/// In which form a pack is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A page to read, to print and to check.
    Html,
    /// What a program reads.
    Json,
}

impl Format {
    /// The name in an address, and the end of a file's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
        }
    }

    /// The format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Html, Self::Json].into_iter().find(|format| format.as_str() == name)
    }
}

/// Who takes which pack out, and how.
pub struct Wanted<'a> {
    /// Who.
    pub actor: &'a Actor,
    /// What they reach.
    pub reach: &'a Reach,
    /// The operation.
    pub operation: OperationId,
    /// What they may not see of it.
    pub veil: &'a Veil,
    /// In which form.
    pub format: Format,
}

/// Makes the pack, after the trail tells that it is taken out.
///
/// # Errors
/// [`Refusal::NotFound`] where there is no such operation within reach, the store's fault.
pub async fn make(
    guard: &Guard,
    ledger: &dyn Ledger,
    public_url: &str,
    wanted: &Wanted<'_>,
) -> Result<String, Refusal> {
    let Wanted { actor, reach, operation, veil, format } = *wanted;
    let pack = guard.pack(reach, operation, veil).await?;
    guard.pack_taken(actor, operation, format.as_str(), veil).await?;
    let entries: Vec<_> = pack.entries.iter().map(|packed| &packed.entry).collect();
    let coverage = coverage(ledger, &pack.operation, &entries).await?;
    let by = actor.to_string();
    let body = PackBody::of(&pack, coverage.as_ref(), &by, public_url);
    // Bodies have text keys and no fallible parts: they always serialize.
    let json = serde_json::to_string(&body).unwrap_or_default();
    Ok(match format {
        Format::Json => json,
        Format::Html => {
            let sealed = coverage.map(|coverage| Sealed {
                number: coverage.seal.number,
                at: coverage.seal.at,
                hash: coverage.seal.hash,
                sequence: coverage.head.sequence,
            });
            app::pack::page(&Page { pack: &pack, by: &by, sealed, json: &json, verify: VERIFY })
        }
    })
}

#[derive(Serialize)]
struct PackBody<'a> {
    format: &'static str,
    made_at: Moment,
    made_by: &'a str,
    made_with: &'static str,
    sentence: &'a str,
    operation: OperationBody<'a>,
    masked: &'a [String],
    versions: Vec<VersionBody<'a>>,
    conflicts: Vec<ReceivedBody<'a>>,
    amendments: Vec<AmendmentBody<'a>>,
    evidence: Vec<EvidenceBody<'a>>,
    deliveries: Vec<DeliveryBody<'a>>,
    chain: ChainBody<'a>,
}

impl<'a> PackBody<'a> {
    fn of(pack: &'a Pack, coverage: Option<&'a Coverage>, by: &'a str, public_url: &'a str) -> Self {
        Self {
            format: FORMAT,
            made_at: Moment(pack.made_at),
            made_by: by,
            made_with: concat!("onceover ", env!("CARGO_PKG_VERSION")),
            sentence: &pack.view.sentence,
            operation: OperationBody::of(&pack.operation, public_url),
            masked: &pack.masked,
            versions: pack.versions.iter().map(VersionBody::of).collect(),
            conflicts: pack
                .conflicts
                .iter()
                .map(|conflict| ReceivedBody {
                    conflict: ConflictBody::of(conflict, public_url),
                    opened_at: Moment(conflict.opened_at),
                    hits: conflict.hits,
                })
                .collect(),
            amendments: pack.amendments.iter().map(|amendment| AmendmentBody::of(amendment, public_url)).collect(),
            evidence: pack.evidence.iter().map(EvidenceBody::of).collect(),
            deliveries: pack.deliveries.iter().map(DeliveryBody::of).collect(),
            chain: ChainBody {
                id: Shown(pack.operation.id),
                before: PlaceBody { sequence: pack.before.0, hash: Shown(pack.before.1) },
                entries: pack.entries.iter().map(EntryBody::of).collect(),
                seal: coverage.map(SealBody::of),
            },
        }
    }
}

#[derive(Serialize)]
struct VersionBody<'a> {
    name: String,
    operation_id: Shown<OperationId>,
    at: Moment,
    fingerprint: Shown<guard::fingerprint::Fingerprint>,
    payload: Option<Box<serde_json::value::RawValue>>,
    /// When retention dropped the payload; the entry `bodies_dropped` of that moment tells by which rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_dropped_at: Option<Moment>,
    canonical: Option<&'a str>,
}

impl<'a> VersionBody<'a> {
    fn of(version: &'a PackedVersion) -> Self {
        let name = match version.version {
            Version::Revision(revision) => format!("revision {revision}"),
            Version::Received(conflict) => format!("received {conflict}"),
        };
        // What the store holds was read strictly when it came.
        let payload = version.payload.clone().and_then(|text| serde_json::value::RawValue::from_string(text).ok());
        Self {
            name,
            operation_id: Shown(version.operation),
            at: Moment(version.at),
            fingerprint: Shown(version.fingerprint),
            payload,
            payload_dropped_at: version.dropped_at.map(Moment),
            canonical: version.canonical.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ReceivedBody<'a> {
    #[serde(flatten)]
    conflict: ConflictBody<'a>,
    opened_at: Moment,
    hits: u64,
}

#[derive(Serialize)]
struct EvidenceBody<'a> {
    id: Shown<guard::id::EvidenceId>,
    at: Moment,
    actor: Shown<&'a Actor>,
    note: &'a str,
    link: Option<&'a str>,
    file: Option<FileBody<'a>>,
}

#[derive(Serialize)]
struct FileBody<'a> {
    name: &'a str,
    media_type: &'static str,
    bytes: u64,
    sha256: Shown<guard::evidence::FileHash>,
}

impl<'a> EvidenceBody<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let file = evidence.file.as_ref().map(|file| FileBody {
            name: &file.name,
            media_type: file.media_type.as_str(),
            bytes: file.bytes,
            sha256: Shown(file.sha256),
        });
        Self {
            id: Shown(evidence.id),
            at: Moment(evidence.at),
            actor: Shown(&evidence.actor),
            note: &evidence.note,
            link: evidence.link.as_deref(),
            file,
        }
    }
}

#[derive(Serialize)]
struct DeliveryBody<'a> {
    at: Moment,
    decision: &'static str,
    worker: Option<&'a str>,
    delivery_id: Option<&'a str>,
    request_id: Option<&'a str>,
}

impl<'a> DeliveryBody<'a> {
    fn of(delivery: &'a Delivery) -> Self {
        Self {
            at: Moment(delivery.at),
            decision: delivery.decision.as_str(),
            worker: delivery.worker.as_deref(),
            delivery_id: delivery.delivery_id.as_deref(),
            request_id: delivery.request_id.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ChainBody<'a> {
    id: Shown<OperationId>,
    before: PlaceBody,
    entries: Vec<EntryBody<'a>>,
    seal: Option<SealBody>,
}

#[derive(Serialize)]
struct PlaceBody {
    sequence: u64,
    hash: Shown<guard::trail::ChainHash>,
}

impl PlaceBody {
    fn of(head: Head) -> Self {
        Self { sequence: head.sequence, hash: Shown(head.hash) }
    }
}

#[derive(Serialize)]
struct EntryBody<'a> {
    sentence: String,
    #[serde(flatten)]
    event: EventBody<'a>,
    hashed: Option<&'a str>,
}

impl<'a> EntryBody<'a> {
    fn of(packed: &'a PackedEntry) -> Self {
        Self {
            sentence: app::pack::sentence(&packed.entry),
            event: EventBody::of(&packed.entry),
            hashed: packed.hashed.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct SealBody {
    number: u64,
    at_milliseconds: i64,
    until_milliseconds: i64,
    previous: Shown<guard::trail::ChainHash>,
    heads: String,
    hash: Shown<guard::trail::ChainHash>,
    head: PlaceBody,
}

impl SealBody {
    fn of(coverage: &Coverage) -> Self {
        let seal = &coverage.seal;
        Self {
            number: seal.number,
            at_milliseconds: seal.at.timestamp_millis(),
            until_milliseconds: seal.until.timestamp_millis(),
            previous: Shown(coverage.previous),
            heads: hex::encode(seal.heads.iter().flat_map(Head::to_bytes).collect::<Vec<u8>>()),
            hash: Shown(seal.hash),
            head: PlaceBody::of(coverage.head),
        }
    }
}
