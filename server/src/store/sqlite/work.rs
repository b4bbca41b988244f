//! What the writer does for operations, and the reads of single records.

use std::sync::{Arc, LazyLock};

use guard::conflict::place_key;
use guard::id::{ConflictId, OperationId};
use guard::look_alike::Look;
use guard::operation::Operation;
use guard::period::Day;
use guard::refusal::StoreFault;
use guard::retention::{HoldChange, HoldSubject};
use guard::store::{NewOperation, Replaced, Replacement};
use guard::summary::Count;
use guard::trail::Entry;
use rusqlite::{Connection, OptionalExtension as _, Params, params};
use uuid::Uuid;

use super::amendment::{self, Amending};
use super::fault;
use super::look_alike::keep_look;
use super::period::keep_day;
use super::readers::{all, one};
use super::reconciliation::put_reconciled;
use super::recovery::Keeping;
use super::retention::{change_hold, drop_bodies, is_held};
use super::writer::Work;
use crate::store::row::{
    AmendmentRow, ConflictRow, EntryRow, EvidenceRow, OperationRow, ReconciledRow, column_number, json_text,
};
use crate::trail::ChainId;

static SELECT_BY_ID: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM operation WHERE id = ?1", OperationRow::COLUMNS));

static SELECT_BY_KEY: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM operation WHERE key_hash = ?1", OperationRow::COLUMNS));

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let columns = OperationRow::COLUMNS;
    let places: Vec<String> = (1..=columns.split(',').count()).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO operation ({columns}) VALUES ({}) ON CONFLICT DO NOTHING", places.join(", "))
});

static SELECT_ENTRIES: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM entry WHERE chain = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3", EntryRow::COLUMNS)
});

const KEEP_FACET: &str =
    "INSERT INTO facet (company, workflow, source_system, action) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";

/// Neither the key, which never changes, nor what the store itself keeps up: `superseded_by` and `duplicates_prevented`.
const UPDATE: &str = "UPDATE operation SET state = ?3, state_since = ?4, lease_expires_at = ?5, reason = ?6, \
     destination_reference = ?7, version = ?8, head = ?9, fingerprint = ?10, fingerprint_scheme = ?11, policy_version = ?12, \
     attempt = ?13, lease_token = ?14, attempt_token = ?15, begin_id = ?16, worker = ?17, begun_at = ?18, amount = ?19, \
     currency = ?20, ten_thousandths = ?21, open_conflicts = ?22, updated_at = ?23, keeps_bodies = ?24, payload_dropped_at = ?25, \
     dropped_at = ?26 WHERE id = ?1 AND version = ?2";

/// An id as a column holds it.
pub(super) fn key(operation: OperationId) -> [u8; 16] {
    operation.as_u128().to_be_bytes()
}

/// An optional id as a column holds it.
fn bytes(id: Option<&Uuid>) -> Option<&[u8]> {
    id.map(|id| &id.as_bytes()[..])
}

/// The operation with this id.
pub(super) fn operation(connection: &Connection, id: OperationId) -> Result<Option<Operation>, StoreFault> {
    one::<OperationRow, _>(connection, "operation", &SELECT_BY_ID, [key(id)])
}

/// A body of an operation: its payload, or the destination's response.
pub(super) fn body(connection: &Connection, operation: OperationId, kind: &str) -> Result<Option<String>, StoreFault> {
    connection
        .prepare_cached("SELECT content FROM body WHERE operation = ?1 AND kind = ?2")
        .and_then(|mut statement| statement.query_row((key(operation), kind), |row| row.get(0)).optional())
        .map_err(|error| fault::of(&error, "body", &operation))
}

/// The operation whose key has this hash.
pub(super) fn operation_by_hash(connection: &Connection, hash: &[u8]) -> Result<Option<Operation>, StoreFault> {
    one::<OperationRow, _>(connection, "operation", &SELECT_BY_KEY, [hash])
}

/// Entries of a chain behind a sequence.
pub(super) fn entries(
    connection: &Connection,
    chain: ChainId,
    after: u64,
    limit: u32,
) -> Result<Vec<Entry>, StoreFault> {
    let place = params![chain.as_u128().to_be_bytes(), column_number(after), limit];
    let found = all::<EntryRow, (ChainId, Entry)>(connection, "entry", &SELECT_ENTRIES, place)?;
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// Runs a statement; answers how many rows it wrote.
pub(super) fn execute(
    connection: &Connection,
    table: &str,
    id: &dyn std::fmt::Display,
    sql: &str,
    parameters: impl Params,
) -> Result<usize, StoreFault> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(parameters))
        .map_err(|error| fault::of(&error, table, id))
}

/// Appends an entry to its chain.
pub(super) fn append(transaction: &Connection, entry: &EntryRow) -> Result<(), StoreFault> {
    let EntryRow { chain, sequence, at, actor, kind, detail, hash } = entry;
    execute(
        transaction,
        "entry",
        chain,
        "INSERT INTO entry (chain, sequence, at, actor, kind, detail, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![&chain.as_bytes()[..], sequence, at, actor, kind, detail, hash],
    )?;
    Ok(())
}

/// Keeps a body of an operation, in place of the one before.
pub(super) fn keep_body(
    transaction: &Connection,
    operation: &Uuid,
    kind: &str,
    content: &str,
) -> Result<(), StoreFault> {
    execute(
        transaction,
        "body",
        operation,
        "INSERT INTO body (operation, kind, content) VALUES (?1, ?2, ?3) \
         ON CONFLICT (operation, kind) DO UPDATE SET content = excluded.content",
        params![&operation.as_bytes()[..], kind, content],
    )?;
    Ok(())
}

/// A new operation, as rows.
pub(super) struct Insert {
    row: OperationRow,
    payload: String,
    day: Option<Day>,
    look: Option<Look>,
    entry: EntryRow,
    counts: Vec<Count>,
    amendment: Option<AmendmentRow>,
}

impl From<NewOperation> for Insert {
    fn from(new: NewOperation) -> Self {
        let NewOperation { operation, payload, day, look, entry, counts, amendment } = new;
        Self {
            row: OperationRow::from(&operation),
            payload,
            day,
            look,
            entry: EntryRow::of(operation.id.into(), &entry),
            counts,
            amendment: amendment.as_ref().map(AmendmentRow::from),
        }
    }
}

/// What became of a new operation.
pub(super) enum Inserted {
    New,
    Existing(Box<Operation>),
}

impl Work for Insert {
    type Answer = Inserted;

    fn run(&self, transaction: &Connection) -> Result<Inserted, StoreFault> {
        let row = &self.row;
        let values = params![
            &row.id.as_bytes()[..],
            row.key_hash,
            row.workflow,
            row.company,
            row.source_system,
            row.document,
            row.action,
            row.revision,
            row.state,
            row.state_since,
            row.lease_expires_at,
            row.reason,
            row.destination_reference,
            row.dropped_at,
            row.version,
            row.head,
            row.fingerprint,
            row.fingerprint_scheme,
            row.policy_version,
            row.attempt,
            row.lease_token,
            bytes(row.attempt_token.as_ref()),
            row.begin_id,
            row.worker,
            row.begun_at,
            row.amount,
            row.currency,
            row.ten_thousandths,
            bytes(row.superseded_by.as_ref()),
            row.duplicates_prevented,
            row.open_conflicts,
            row.created_at,
            row.updated_at,
            row.keeps_bodies,
            row.payload_dropped_at,
        ];
        if execute(transaction, "operation", &row.id, &INSERT, values)? == 0 {
            let existing = operation_by_hash(transaction, &row.key_hash)?;
            // No operation has the key, so another one has the id: 74 random bits came twice, or the caller repeats itself.
            let existing = existing.ok_or_else(|| StoreFault::Corrupt {
                table: "operation".to_owned(),
                column: "id".to_owned(),
                id: row.id.to_string(),
            })?;
            return Ok(Inserted::Existing(Box::new(existing)));
        }
        let facet = params![row.company, row.workflow, row.source_system, row.action];
        execute(transaction, "facet", &row.id, KEEP_FACET, facet)?;
        keep_body(transaction, &row.id, "payload", &self.payload)?;
        keep_day(transaction, &row.id, &row.company, self.day)?;
        keep_look(transaction, &row.id, self.look)?;
        append(transaction, &self.entry)?;
        if let Some(row) = &self.amendment {
            amendment::insert(transaction, row, &self.payload)?;
        }
        Ok(Inserted::New)
    }

    fn counts(&self, answer: &Inserted) -> &[Count] {
        match answer {
            Inserted::New => &self.counts,
            Inserted::Existing(_) => &[],
        }
    }

    fn changed(&self, answer: &Inserted) -> Option<OperationId> {
        match answer {
            Inserted::New => Some(OperationId::from_u128(self.row.id.as_u128())),
            Inserted::Existing(_) => None,
        }
    }
}

/// A change of an operation, as rows.
pub(super) struct Replace {
    row: OperationRow,
    entry: EntryRow,
    conflict: Option<(ConflictRow, String)>,
    places: Vec<[u8; 16]>,
    decided: Option<(ConflictId, String)>,
    evidence: Option<EvidenceRow>,
    file: Option<Arc<[u8]>>,
    response: Option<String>,
    supersedes: Option<OperationId>,
    recovery: Keeping,
    review: super::review::Keeping,
    reconciled: Option<ReconciledRow>,
    counts: Vec<Count>,
    amendment: Amending,
    payload: Option<String>,
    hold: HoldChange,
    dropped: Option<HoldSubject>,
}

impl From<Replacement> for Replace {
    fn from(replacement: Replacement) -> Self {
        let Replacement {
            operation,
            entry,
            conflict,
            decided,
            evidence,
            file,
            response,
            supersedes,
            recovery,
            review,
            reconciled,
            counts,
            amendment,
            payload,
            hold,
            dropped,
        } = replacement;
        Self {
            row: OperationRow::from(&operation),
            entry: EntryRow::of(operation.id.into(), &entry),
            places: conflict
                .iter()
                .flat_map(|(conflict, _)| &conflict.places.listed)
                .map(|place| place_key(place))
                .collect(),
            decided: decided.map(|(id, decision)| (id, json_text(&decision))),
            conflict: conflict.map(|(conflict, payload)| (ConflictRow::from(&conflict), payload)),
            evidence: evidence.as_ref().map(EvidenceRow::from),
            file,
            response,
            supersedes,
            recovery: recovery.into(),
            review: review.into(),
            reconciled: reconciled.as_ref().map(ReconciledRow::from),
            counts,
            amendment: amendment.into(),
            payload,
            hold,
            dropped,
        }
    }
}

impl Replace {
    /// Whether the conflict that shall be opened is there already.
    fn has_conflict(&self, transaction: &Connection) -> Result<bool, StoreFault> {
        let Some((conflict, _)) = &self.conflict else { return Ok(false) };
        transaction
            .prepare_cached("SELECT 1 FROM conflict WHERE operation = ?1 AND fingerprint = ?2")
            .and_then(|mut statement| {
                statement.exists(params![&conflict.operation.as_bytes()[..], conflict.fingerprint])
            })
            .map_err(|error| fault::of(&error, "conflict", &conflict.id))
    }

    fn keep_conflict(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let Some((row, payload)) = &self.conflict else { return Ok(()) };
        execute(
            transaction,
            "conflict",
            &row.id,
            "INSERT INTO conflict (id, operation, fingerprint, changes, changes_total, opened_at, hits, is_open, workflow, company, \
             places, grouping_key, decision, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                &row.id.as_bytes()[..],
                &row.operation.as_bytes()[..],
                row.fingerprint,
                row.changes,
                row.changes_total,
                row.opened_at,
                row.hits,
                row.is_open,
                row.workflow,
                row.company,
                row.places,
                row.grouping_key,
                row.decision,
                payload
            ],
        )?;
        for place in &self.places {
            let sql = "INSERT INTO conflict_place (place, conflict) VALUES (?1, ?2)";
            execute(transaction, "conflict_place", &row.id, sql, params![place, &row.id.as_bytes()[..]])?;
        }
        Ok(())
    }

    fn keep_decision(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let Some((id, decision)) = &self.decided else { return Ok(()) };
        let sql = "UPDATE conflict SET is_open = 0, decision = ?2 WHERE id = ?1 AND is_open = 1";
        execute(transaction, "conflict", id, sql, params![id.as_u128().to_be_bytes(), decision])?;
        Ok(())
    }

    fn keep_evidence(&self, transaction: &Connection) -> Result<(), StoreFault> {
        let Some(row) = &self.evidence else { return Ok(()) };
        execute(
            transaction,
            "evidence",
            &row.id,
            "INSERT INTO evidence (id, operation, at, actor, note, link, file_name, file_type, file_bytes, file_sha256) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                &row.id.as_bytes()[..],
                &row.operation.as_bytes()[..],
                row.at,
                row.actor,
                row.note,
                row.link,
                row.file_name,
                row.file_type,
                row.file_bytes,
                row.file_sha256,
            ],
        )?;
        if let Some(content) = &self.file {
            let sql = "INSERT INTO evidence_file (evidence, content) VALUES (?1, ?2)";
            execute(transaction, "evidence_file", &row.id, sql, params![&row.id.as_bytes()[..], &content[..]])?;
        }
        Ok(())
    }
}

impl Work for Replace {
    type Answer = Replaced;

    fn run(&self, transaction: &Connection) -> Result<Replaced, StoreFault> {
        let row = &self.row;
        if self.has_conflict(transaction)? {
            return Ok(Replaced::Stale);
        }
        if let Some(document) = &self.dropped
            && is_held(transaction, document)?
        {
            return Ok(Replaced::Stale);
        }
        let values = params![
            &row.id.as_bytes()[..],
            row.version - 1,
            row.state,
            row.state_since,
            row.lease_expires_at,
            row.reason,
            row.destination_reference,
            row.version,
            row.head,
            row.fingerprint,
            row.fingerprint_scheme,
            row.policy_version,
            row.attempt,
            row.lease_token,
            bytes(row.attempt_token.as_ref()),
            row.begin_id,
            row.worker,
            row.begun_at,
            row.amount,
            row.currency,
            row.ten_thousandths,
            row.open_conflicts,
            row.updated_at,
            row.keeps_bodies,
            row.payload_dropped_at,
            row.dropped_at,
        ];
        if execute(transaction, "operation", &row.id, UPDATE, values)? == 0 {
            return Ok(Replaced::Stale);
        }
        append(transaction, &self.entry)?;
        self.keep_conflict(transaction)?;
        self.keep_decision(transaction)?;
        self.keep_evidence(transaction)?;
        if let Some(response) = &self.response {
            keep_body(transaction, &row.id, "response", response)?;
        }
        if let Some(payload) = &self.payload {
            keep_body(transaction, &row.id, "payload", payload)?;
        }
        change_hold(transaction, &self.hold)?;
        if self.dropped.is_some() {
            drop_bodies(transaction, &row.id)?;
        }
        if let Some(previous) = self.supersedes {
            execute(
                transaction,
                "operation",
                &previous,
                "UPDATE operation SET superseded_by = ?2 WHERE id = ?1",
                params![key(previous), &row.id.as_bytes()[..]],
            )?;
        }
        self.amendment.write(transaction)?;
        self.recovery.write(transaction, &row.id)?;
        self.review.write(transaction, &row.id)?;
        if let Some(reconciled) = &self.reconciled {
            put_reconciled(transaction, reconciled)?;
        }
        Ok(Replaced::Replaced)
    }

    fn counts(&self, answer: &Replaced) -> &[Count] {
        match answer {
            Replaced::Replaced => &self.counts,
            Replaced::Stale => &[],
        }
    }

    fn changed(&self, answer: &Replaced) -> Option<OperationId> {
        match answer {
            Replaced::Replaced => Some(OperationId::from_u128(self.row.id.as_u128())),
            Replaced::Stale => None,
        }
    }
}
