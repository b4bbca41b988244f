//! What hangs on an operation: its trail, conflicts, evidence, deliveries; and counts and seals.

use guard::conflict::{CONFLICTS_GROUPED_MAX, Conflict, ConflictGroup, ConflictStanding};
use guard::decision::DecisionName;
use guard::evidence::{Evidence, File, FileHash, MediaType};
use guard::fingerprint::Fingerprint;
use guard::id::{ConflictId, EvidenceId, OperationId};
use guard::json::Json;
use guard::money::Money;
use guard::refusal::StoreFault;
use guard::store::{Delivery, LISTED_CHANGES_CHARACTERS_MAX};
use guard::summary::{Count, Counted};
use guard::trail::{ChainHash, Entry, EntryKind};
use uuid::Uuid;

use super::{Place, column_number, json_text, uuid};
use crate::trail::{ChainId, Head, Seal};

/// A row of `entry`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct EntryRow {
    pub chain: Uuid,
    pub sequence: i64,
    pub at: i64,
    pub actor: String,
    pub kind: String,
    pub detail: String,
    pub hash: Vec<u8>,
}

impl EntryRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "chain, sequence, at, actor, kind, detail, hash";

    /// The row of an entry in the chain.
    pub fn of(chain: ChainId, entry: &Entry) -> Self {
        let Entry { sequence, at, actor, kind, detail, hash } = entry;
        Self {
            chain: uuid(chain.as_u128()),
            sequence: column_number(*sequence),
            at: at.timestamp_millis(),
            actor: actor.to_string(),
            kind: kind.as_str().to_owned(),
            detail: detail.to_string(),
            hash: hash.as_bytes().to_vec(),
        }
    }
}

impl TryFrom<EntryRow> for (ChainId, Entry) {
    type Error = StoreFault;

    fn try_from(row: EntryRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}", row.chain, row.sequence);
        let place = Place::new("entry", &id);
        let entry = Entry {
            sequence: place.number("sequence", row.sequence)?,
            at: place.moment("at", row.at)?,
            actor: place.read("actor", row.actor.parse())?,
            kind: place.some("kind", EntryKind::parse(&row.kind))?,
            detail: place.read("detail", Json::parse(row.detail.as_bytes()))?,
            hash: ChainHash::from_bytes(place.bytes("hash", &row.hash)?),
        };
        Ok((ChainId::from_u128(row.chain.as_u128()), entry))
    }
}

/// A row of `conflict`, without the payload.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct ConflictRow {
    pub id: Uuid,
    pub operation: Uuid,
    pub fingerprint: Vec<u8>,
    pub changes: String,
    pub changes_total: i64,
    pub opened_at: i64,
    pub hits: i64,
    pub is_open: bool,
    pub workflow: String,
    pub company: String,
    pub places: String,
    pub grouping_key: Vec<u8>,
    pub decision: Option<String>,
}

impl ConflictRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "id, operation, fingerprint, changes, changes_total, opened_at, hits, is_open, workflow, company, \
         places, grouping_key, decision";

    /// As [`Self::COLUMNS`], for lists: without long changes.
    pub fn listed_columns() -> String {
        let short = format!(
            "CASE WHEN length(conflict.changes) <= {LISTED_CHANGES_CHARACTERS_MAX} THEN conflict.changes ELSE '[]' END AS changes"
        );
        let names = Self::COLUMNS.split(", ").map(str::trim);
        let columns = names.map(|name| if name == "changes" { short.clone() } else { format!("conflict.{name}") });
        columns.collect::<Vec<_>>().join(", ")
    }
}

impl From<&Conflict> for ConflictRow {
    fn from(conflict: &Conflict) -> Self {
        let Conflict {
            id,
            operation,
            workflow,
            company,
            fingerprint,
            changes,
            changes_total,
            places,
            opened_at,
            hits,
            standing: _,
        } = conflict;
        Self {
            id: uuid(id.as_u128()),
            operation: uuid(operation.as_u128()),
            fingerprint: fingerprint.as_bytes().to_vec(),
            changes: json_text(changes),
            changes_total: (*changes_total).into(),
            opened_at: opened_at.timestamp_millis(),
            hits: column_number(*hits),
            is_open: conflict.is_open(),
            workflow: workflow.clone(),
            company: company.clone(),
            places: json_text(places),
            grouping_key: places.group.as_bytes().to_vec(),
            decision: conflict.decision().map(json_text),
        }
    }
}

impl TryFrom<ConflictRow> for Conflict {
    type Error = StoreFault;

    fn try_from(row: ConflictRow) -> Result<Self, StoreFault> {
        let place = Place::new("conflict", &row.id);
        Ok(Self {
            id: ConflictId::from_u128(row.id.as_u128()),
            operation: OperationId::from_u128(row.operation.as_u128()),
            fingerprint: Fingerprint::from_bytes(place.bytes("fingerprint", &row.fingerprint)?),
            changes: place.json("changes", &row.changes)?,
            changes_total: place.number("changes_total", row.changes_total)?,
            opened_at: place.moment("opened_at", row.opened_at)?,
            hits: place.number("hits", row.hits)?,
            workflow: row.workflow,
            company: row.company,
            places: place.json("places", &row.places)?,
            standing: match row.decision {
                None => ConflictStanding::Open,
                Some(decision) => ConflictStanding::Decided(place.json("decision", &decision)?),
            },
        })
    }
}

/// Open conflicts of one workflow that differ in the same places, counted.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "as the query names them")]
pub struct ConflictGroupRow {
    pub workflow: String,
    pub places: String,
    pub open: i64,
    pub hits: i64,
    pub oldest_at: i64,
    pub counted: i64,
    /// The ids of those that came first, as JSON.
    pub first: String,
}

impl TryFrom<ConflictGroupRow> for ConflictGroup {
    type Error = StoreFault;

    fn try_from(row: ConflictGroupRow) -> Result<Self, StoreFault> {
        let place = Place::new("conflict", &"a group");
        Ok(Self {
            workflow: row.workflow,
            places: place.json("places", &row.places)?,
            open: place.number("is_open", row.open)?,
            hits: place.number("hits", row.hits)?,
            oldest_at: place.moment("opened_at", row.oldest_at)?,
            is_cut: row.counted >= i64::from(CONFLICTS_GROUPED_MAX),
            first: {
                let ids: Vec<Uuid> = place.json("id", &row.first)?;
                ids.into_iter().map(|id| ConflictId::from_u128(id.as_u128())).collect()
            },
        })
    }
}

/// A row of `evidence`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct EvidenceRow {
    pub id: Uuid,
    pub operation: Uuid,
    pub at: i64,
    pub actor: String,
    pub note: String,
    pub link: Option<String>,
    pub file_name: Option<String>,
    pub file_type: Option<String>,
    pub file_bytes: Option<i64>,
    pub file_sha256: Option<Vec<u8>>,
}

impl EvidenceRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str =
        "id, operation, at, actor, note, link, file_name, file_type, file_bytes, file_sha256";
}

impl From<&Evidence> for EvidenceRow {
    fn from(evidence: &Evidence) -> Self {
        let Evidence { id, operation, at, actor, note, link, file } = evidence;
        let file = file.as_ref();
        Self {
            id: uuid(id.as_u128()),
            operation: uuid(operation.as_u128()),
            at: at.timestamp_millis(),
            actor: actor.to_string(),
            note: note.clone(),
            link: link.clone(),
            file_name: file.map(|file| file.name.clone()),
            file_type: file.map(|file| file.media_type.as_str().to_owned()),
            file_bytes: file.map(|file| column_number(file.bytes)),
            file_sha256: file.map(|file| file.sha256.as_bytes().to_vec()),
        }
    }
}

impl TryFrom<EvidenceRow> for Evidence {
    type Error = StoreFault;

    fn try_from(row: EvidenceRow) -> Result<Self, StoreFault> {
        let place = Place::new("evidence", &row.id);
        let file = match (row.file_name, row.file_type, row.file_bytes, row.file_sha256) {
            (Some(name), Some(media_type), Some(bytes), Some(sha256)) => Some(File {
                name,
                media_type: place.some("file_type", MediaType::parse(&media_type))?,
                bytes: place.number("file_bytes", bytes)?,
                sha256: FileHash::from_bytes(place.bytes("file_sha256", &sha256)?),
            }),
            (None, None, None, None) => None,
            (Some(_) | None, Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(place.corrupt("file_name"));
            }
        };
        Ok(Self {
            id: EvidenceId::from_u128(row.id.as_u128()),
            operation: OperationId::from_u128(row.operation.as_u128()),
            at: place.moment("at", row.at)?,
            actor: place.read("actor", row.actor.parse())?,
            note: row.note,
            link: row.link,
            file,
        })
    }
}

/// A row of `delivery` with what its operation says of workflow, company and money.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct DeliveryRow {
    pub operation: Uuid,
    pub at: i64,
    pub decision: String,
    pub conflict: Option<Uuid>,
    pub worker: Option<String>,
    pub delivery_id: Option<String>,
    pub request_id: Option<String>,
    pub workflow: String,
    pub company: String,
    pub amount: Option<String>,
    pub currency: Option<String>,
}

impl DeliveryRow {
    /// The columns, in the order of the fields, where `delivery` is joined with `operation`.
    pub const COLUMNS: &'static str = "delivery.operation, delivery.at, delivery.decision, delivery.conflict, \
         delivery.worker, delivery.delivery_id, delivery.request_id, operation.workflow, operation.company, \
         operation.amount, operation.currency";
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreFault;

    fn try_from(row: DeliveryRow) -> Result<Self, StoreFault> {
        let place = Place::new("delivery", &row.operation);
        let at = place.moment("at", row.at)?;
        let decision = place.some("decision", DecisionName::parse(&row.decision))?;
        let money = match (row.amount, row.currency) {
            (Some(amount), Some(currency)) => Some(Money { amount: place.read("amount", amount.parse())?, currency }),
            (Some(_) | None, None) | (None, Some(_)) => None,
        };
        Ok(Self {
            operation: Some(OperationId::from_u128(row.operation.as_u128())),
            at,
            decision,
            conflict: row.conflict.map(|conflict| ConflictId::from_u128(conflict.as_u128())),
            worker: row.worker,
            delivery_id: row.delivery_id,
            request_id: row.request_id,
            count: Count::one(&row.workflow, &row.company, Counted::Decision(decision), at, money.as_ref()),
            held_by: None,
        })
    }
}

/// A row of `count`, summed over the slots of writers.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct CountRow {
    pub workflow: String,
    pub company: String,
    pub counted: String,
    pub hour: i64,
    pub currency: String,
    pub number: i64,
    pub ten_thousandths: i64,
}

impl From<&Count> for CountRow {
    fn from(count: &Count) -> Self {
        let Count { workflow, company, counted, hour, number, currency, ten_thousandths } = count;
        Self {
            workflow: workflow.clone(),
            company: company.clone(),
            counted: counted.to_text(),
            hour: hour.timestamp_millis(),
            currency: currency.clone(),
            number: column_number(*number),
            ten_thousandths: *ten_thousandths,
        }
    }
}

impl TryFrom<CountRow> for Count {
    type Error = StoreFault;

    fn try_from(row: CountRow) -> Result<Self, StoreFault> {
        let id = format!("{}/{}/{}/{}", row.workflow, row.company, row.counted, row.hour);
        let place = Place::new("count", &id);
        Ok(Self {
            counted: place.some("counted", Counted::parse(&row.counted))?,
            hour: place.moment("hour", row.hour)?,
            number: place.number("number", row.number)?,
            ten_thousandths: row.ten_thousandths,
            workflow: row.workflow,
            company: row.company,
            currency: row.currency,
        })
    }
}

/// A row of `seal`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct SealRow {
    pub number: i64,
    pub at: i64,
    pub until: i64,
    pub heads: Vec<u8>,
    pub hash: Vec<u8>,
}

impl SealRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "number, at, until, heads, hash";
}

impl From<&Seal> for SealRow {
    fn from(seal: &Seal) -> Self {
        let Seal { number, at, until, heads, hash } = seal;
        Self {
            number: column_number(*number),
            at: at.timestamp_millis(),
            until: until.timestamp_millis(),
            heads: heads.iter().flat_map(Head::to_bytes).collect(),
            hash: hash.as_bytes().to_vec(),
        }
    }
}

impl TryFrom<SealRow> for Seal {
    type Error = StoreFault;

    fn try_from(row: SealRow) -> Result<Self, StoreFault> {
        let place = Place::new("seal", &row.number);
        let (heads, rest) = row.heads.as_chunks::<{ Head::BYTES }>();
        if !rest.is_empty() {
            return Err(place.corrupt("heads"));
        }
        Ok(Self {
            number: place.number("number", row.number)?,
            at: place.moment("at", row.at)?,
            until: place.moment("until", row.until)?,
            heads: heads.iter().map(Head::from_bytes).collect(),
            hash: ChainHash::from_bytes(place.bytes("hash", &row.hash)?),
        })
    }
}
