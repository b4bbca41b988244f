//! The table `legal_hold`, and what is kept of an operation by kind.

use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::retention::{Bodies, BodyKind, Hold, HoldScope, HoldSubject};
use uuid::Uuid;

use super::{Place, uuid};

/// A row of `legal_hold`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "the columns are described in the migration")]
pub struct HoldRow {
    pub subject: Vec<u8>,
    pub scope: String,
    pub operation: Uuid,
    pub placed_by: String,
    pub placed_at: i64,
    pub reason: String,
}

impl HoldRow {
    /// The columns, in the order of the fields.
    pub const COLUMNS: &'static str = "subject, scope, operation, placed_by, placed_at, reason";
}

impl From<&Hold> for HoldRow {
    fn from(hold: &Hold) -> Self {
        let Hold { subject, scope, operation, by, at, reason } = hold;
        Self {
            subject: subject.as_bytes().to_vec(),
            scope: scope.as_str().to_owned(),
            operation: uuid(operation.as_u128()),
            placed_by: by.to_string(),
            placed_at: at.timestamp_millis(),
            reason: reason.clone(),
        }
    }
}

impl TryFrom<HoldRow> for Hold {
    type Error = StoreFault;

    fn try_from(row: HoldRow) -> Result<Self, StoreFault> {
        let place = Place::new("legal_hold", &row.operation);
        Ok(Self {
            subject: HoldSubject::from_bytes(place.bytes("subject", &row.subject)?),
            scope: place.some("scope", HoldScope::parse(&row.scope))?,
            operation: OperationId::from_u128(row.operation.as_u128()),
            by: place.read("placed_by", row.placed_by.parse())?,
            at: place.moment("placed_at", row.placed_at)?,
            reason: row.reason,
        })
    }
}

/// How many bodies of a kind there are.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs, reason = "named as what they count")]
pub struct BodiesRow {
    pub kind: String,
    pub number: i64,
    pub bytes: i64,
}

impl BodiesRow {
    /// The statement that counts what is kept of an operation; `place` is how the dialect writes its id.
    pub fn counted(place: &str) -> String {
        let of = |kind: BodyKind, what: &str, from: &str| {
            format!(
                "SELECT '{}' AS kind, count(*) AS number, coalesce(sum(octet_length({what})), 0) AS bytes FROM {from}",
                kind.as_str()
            )
        };
        let body = |kind: &str| format!("body WHERE operation = {place} AND kind = '{kind}'");
        let counts = [
            of(BodyKind::Payload, "content", &body("payload")),
            of(BodyKind::Response, "content", &body("response")),
            of(BodyKind::Received, "payload", &format!("conflict WHERE operation = {place} AND payload IS NOT NULL")),
            of(BodyKind::Proposed, "payload", &format!("amendment WHERE operation = {place} AND payload IS NOT NULL")),
            of(
                BodyKind::File,
                "evidence_file.content",
                &format!(
                    "evidence JOIN evidence_file ON evidence_file.evidence = evidence.id WHERE evidence.operation = {place}"
                ),
            ),
            of(BodyKind::Call, "request", &format!("call WHERE operation = {place} AND request IS NOT NULL")),
        ];
        counts.join(" UNION ALL ")
    }

    /// The statements that drop what is kept of an operation. What was found by a payload's content, its look, goes too; what was found
    /// in which places stays with the conflicts.
    pub fn dropped(place: &str) -> [String; 6] {
        [
            format!("DELETE FROM body WHERE operation = {place}"),
            format!("UPDATE conflict SET payload = NULL, changes = '[]' WHERE operation = {place}"),
            format!("UPDATE amendment SET payload = NULL, changes = '[]' WHERE operation = {place}"),
            format!("DELETE FROM evidence_file WHERE evidence IN (SELECT id FROM evidence WHERE operation = {place})"),
            format!("DELETE FROM look_alike WHERE operation = {place}"),
            format!("UPDATE call SET request = NULL WHERE operation = {place} AND request IS NOT NULL"),
        ]
    }
}

impl TryFrom<BodiesRow> for Bodies {
    type Error = StoreFault;

    fn try_from(row: BodiesRow) -> Result<Self, StoreFault> {
        let place = Place::new("body", &row.kind);
        Ok(Self {
            kind: place.some("kind", BodyKind::parse(&row.kind))?,
            number: place.number("number", row.number)?,
            bytes: place.number("bytes", row.bytes)?,
        })
    }
}

/// What the index of operations whose bodies may be dropped holds, in both dialects; `keeps` is how one writes that bodies are kept.
pub fn to_drop(keeps: &str) -> String {
    format!("{keeps} AND open_conflicts = 0 AND state IN ('confirmed', 'failed', 'released', 'rejected')")
}
