//! A batch of changes as one statement.
//!
//! Inserts, replacements, bodies, trail entries and counts of a whole batch are one statement with an array for each column: one
//! round trip, one plan, one transaction, one flush of the log. What belongs to an item is stored only where its operation was.

use std::sync::LazyLock;

use guard::conflict::place_key;
use guard::look_alike::Look;
use guard::store::{NewOperation, Replacement};
use guard::summary::Count;
use guard::trail::{ChainHash, Entry};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Connection as _, PgConnection, Postgres};
use uuid::Uuid;

use super::amendment::Amending;
use super::period::keep_days;
use super::reconciliation::put_reconciled;
use super::recovery::Keeping;
use super::retention::Forgetting;
use crate::store::behind::TEN_THOUSANDTHS_BOUND;
use crate::store::row::{ConflictRow, CountRow, EntryRow, EvidenceRow, OperationRow, ReconciledRow, json_text};

/// A change of one operation.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A new operation, unless its key is taken.
    Insert(Box<NewOperation>),
    /// A replacement, unless somebody else moved first.
    Replace(Box<Replacement>),
}

impl Change {
    /// The operation that is changed.
    pub(super) fn id(&self) -> Uuid {
        let operation = match self {
            Self::Insert(new) => &new.operation,
            Self::Replace(replacement) => &replacement.operation,
        };
        Uuid::from_u128(operation.id.as_u128())
    }

    /// The trail entry that only this change appends: whether it is there tells whether the change was stored.
    pub(super) fn mark(&self) -> (Uuid, u64, ChainHash) {
        let entry = match self {
            Self::Insert(new) => &new.entry,
            Self::Replace(replacement) => &replacement.entry,
        };
        (self.id(), entry.sequence, entry.hash)
    }

    /// About how many bytes it sends, without what is the same for all.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Insert(new) => new.payload.len(),
            Self::Replace(replacement) => {
                replacement.response.as_ref().map_or(0, String::len)
                    + replacement.file.as_ref().map_or(0, |content| content.len())
                    + replacement.conflict.as_ref().map_or(0, |(_, payload)| payload.len())
                    + replacement.payload.as_ref().map_or(0, String::len)
            }
        }
    }
}

/// Stores what can be stored of the changes, all in one transaction; answers the ids of the operations that were changed. No two of
/// the changes may be of one operation or one key.
pub(super) async fn store(
    connection: &mut PgConnection,
    changes: &[&Change],
    slot: i64,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let columns = Columns::of(changes);
    let beside = Beside::of(changes);
    if beside.is_empty() {
        return columns.statement(slot).fetch_all(connection).await;
    }
    let mut transaction = connection.begin().await?;
    let stored: Vec<Uuid> = columns.statement(slot).fetch_all(&mut *transaction).await?;
    beside.store(&mut transaction, &stored).await?;
    transaction.commit().await?;
    Ok(stored)
}

/// Which of these entries are in the trail.
pub(super) async fn stored_of(
    connection: &mut PgConnection,
    marks: &[(Uuid, u64, ChainHash)],
) -> Result<Vec<Uuid>, sqlx::Error> {
    let chains: Vec<Uuid> = marks.iter().map(|(chain, ..)| *chain).collect();
    let sequences: Vec<i64> = marks.iter().map(|(_, sequence, _)| sequence.cast_signed()).collect();
    let hashes: Vec<&[u8]> = marks.iter().map(|(.., hash)| hash.as_bytes().as_slice()).collect();
    sqlx::query_scalar(
        "SELECT entry.chain FROM unnest($1::uuid[], $2::bigint[], $3::bytea[]) AS mark (chain, sequence, hash) \
         JOIN entry ON entry.chain = mark.chain AND entry.sequence = mark.sequence AND entry.hash = mark.hash",
    )
    .bind(chains)
    .bind(sequences)
    .bind(hashes)
    .fetch_all(connection)
    .await
}

/// The columns of the arrays, each with its type, in the order in which [`Columns::statement`] binds them.
const FRESH: [(&str, &str); 30] = [
    ("id", "uuid"),
    ("key_hash", "bytea"),
    ("workflow", "text"),
    ("company", "text"),
    ("source_system", "text"),
    ("document", "text"),
    ("action", "text"),
    ("revision", "bigint"),
    ("state", "text"),
    ("state_since", "bigint"),
    ("lease_expires_at", "bigint"),
    ("reason", "text"),
    ("destination_reference", "text"),
    ("version", "bigint"),
    ("head", "bytea"),
    ("fingerprint", "bytea"),
    ("fingerprint_scheme", "bigint"),
    ("policy_version", "bigint"),
    ("attempt", "bigint"),
    ("lease_token", "text"),
    ("attempt_token", "uuid"),
    ("begin_id", "text"),
    ("worker", "text"),
    ("begun_at", "bigint"),
    ("amount", "text"),
    ("currency", "text"),
    ("ten_thousandths", "bigint"),
    ("open_conflicts", "bigint"),
    ("created_at", "bigint"),
    ("updated_at", "bigint"),
];

/// What a replacement changes. The key never changes, fingerprint and money only with a proposal (`amendment`); `superseded_by` and `duplicates_prevented` are changed beside
/// the version, so that they must not be written back as they were read.
const MOVED: [(&str, &str); 18] = [
    ("state", "text"),
    ("state_since", "bigint"),
    ("lease_expires_at", "bigint"),
    ("reason", "text"),
    ("destination_reference", "text"),
    ("version", "bigint"),
    ("head", "bytea"),
    ("attempt", "bigint"),
    ("lease_token", "text"),
    ("attempt_token", "uuid"),
    ("begin_id", "text"),
    ("worker", "text"),
    ("begun_at", "bigint"),
    ("open_conflicts", "bigint"),
    ("updated_at", "bigint"),
    ("dropped_at", "bigint"),
    ("keeps_bodies", "boolean"),
    ("payload_dropped_at", "bigint"),
];

const TOLD: [(&str, &str); 7] = [
    ("chain", "uuid"),
    ("sequence", "bigint"),
    ("at", "bigint"),
    ("actor", "text"),
    ("kind", "text"),
    ("detail", "text"),
    ("hash", "bytea"),
];

const KEPT: [(&str, &str); 3] = [("operation", "uuid"), ("kind", "text"), ("content", "text")];

const LOOKS: [(&str, &str); 2] = [("operation", "uuid"), ("look", "bytea")];

const COUNTED: [(&str, &str); 8] = [
    ("operation", "uuid"),
    ("workflow", "text"),
    ("company", "text"),
    ("counted", "text"),
    ("hour", "bigint"),
    ("currency", "text"),
    ("number", "bigint"),
    ("ten_thousandths", "bigint"),
];

/// Rows are locked in one order by every writer: new keys by their hash, then operations by id, then new combinations of names, then
/// counts. Whoever waits for a key holds no operation, and whoever waits for an operation holds no count, so that no two wait for each
/// other.
///
/// What belongs to an item is picked by the array of what was stored: no join, which would have to be planned for its size.
pub(super) static STATEMENT: LazyLock<String> = LazyLock::new(|| {
    let mut next = 0;
    let mut rows = |alias: &str, columns: &[(&str, &str)]| {
        let parameters: Vec<String> = columns
            .iter()
            .map(|(_, kind)| {
                next += 1;
                format!("${next}::{kind}[]")
            })
            .collect();
        format!("unnest({}) AS {alias} ({})", parameters.join(", "), names(columns, ""))
    };
    let fresh = rows("fresh", &FRESH);
    let moving: Vec<(&str, &str)> =
        [("id", "uuid"), ("conflict", "bytea"), ("document", "bytea")].into_iter().chain(MOVED).collect();
    let moved = rows("moving", &moving);
    let (told, kept, looks) = (rows("told", &TOLD), rows("kept", &KEPT), rows("looks", &LOOKS));
    let counted = rows("counted", &COUNTED);
    let slot = next + 1;
    let assignments: Vec<String> = MOVED.iter().map(|(name, _)| format!("{name} = moving.{name}")).collect();
    format!(
        "WITH inserted AS ( \
             INSERT INTO operation ({fresh_names}) SELECT * FROM {fresh} ORDER BY key_hash ON CONFLICT DO NOTHING \
             RETURNING id, company, workflow, source_system, action \
         ), replaced AS ( \
             UPDATE operation SET {assignments} FROM {moved} \
             WHERE operation.id = moving.id AND operation.version = moving.version - 1 \
               AND (moving.conflict IS NULL OR NOT EXISTS ( \
                     SELECT FROM conflict WHERE conflict.operation = moving.id AND conflict.fingerprint = moving.conflict)) \
               AND (moving.document IS NULL OR NOT EXISTS (SELECT FROM legal_hold WHERE legal_hold.subject = moving.document)) \
             RETURNING operation.id \
         ), stored AS ( \
             SELECT id FROM inserted UNION ALL SELECT id FROM replaced \
         ), facets AS ( \
             INSERT INTO facet (company, workflow, source_system, action) \
             SELECT DISTINCT company, workflow, source_system, action FROM inserted \
             ORDER BY company, workflow, source_system, action ON CONFLICT DO NOTHING \
         ), told AS ( \
             INSERT INTO entry ({told_names}) SELECT {told_rows} FROM {told} WHERE told.chain = ANY (ARRAY(SELECT id FROM stored)) \
         ), kept AS ( \
             INSERT INTO body ({kept_names}) SELECT {kept_rows} FROM {kept} WHERE kept.operation = ANY (ARRAY(SELECT id FROM stored)) \
             ON CONFLICT (operation, kind) DO UPDATE SET content = excluded.content \
         ), looks AS ( \
             INSERT INTO look_alike (operation, look) SELECT looks.operation, looks.look FROM {looks} \
             WHERE looks.operation = ANY (ARRAY(SELECT id FROM stored)) \
         ), counted AS ( \
             INSERT INTO count (workflow, company, counted, hour, currency, slot, number, ten_thousandths) \
             SELECT workflow, company, counted, hour, currency, ${slot}::bigint, \
                    sum(number)::bigint, greatest(least(sum(ten_thousandths), {bound}), -{bound})::bigint \
             FROM {counted} WHERE counted.operation = ANY (ARRAY(SELECT id FROM stored)) \
             GROUP BY hour, workflow, company, counted, currency ORDER BY hour, workflow, company, counted, currency \
             ON CONFLICT (hour, workflow, company, counted, currency, slot) DO UPDATE \
             SET number = count.number + excluded.number, \
                 ten_thousandths = greatest(least(count.ten_thousandths + excluded.ten_thousandths, {bound}), -{bound}) \
         ) SELECT id FROM stored",
        bound = TEN_THOUSANDTHS_BOUND,
        fresh_names = names(&FRESH, ""),
        assignments = assignments.join(", "),
        told_names = names(&TOLD, ""),
        told_rows = names(&TOLD, "told."),
        kept_names = names(&KEPT, ""),
        kept_rows = names(&KEPT, "kept."),
    )
});

fn names(columns: &[(&str, &str)], before: &str) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("{before}{name}")).collect();
    names.join(", ")
}

/// The rows of a batch, from which the arrays are made.
struct Columns<'a> {
    fresh: Vec<OperationRow>,
    moved: Vec<Moved<'a>>,
    told: Vec<EntryRow>,
    kept: Vec<(Uuid, &'static str, &'a str)>,
    looks: Vec<(Uuid, Look)>,
    counted: Vec<(Uuid, CountRow)>,
}

/// A row that is replaced.
struct Moved<'a> {
    row: OperationRow,
    /// The fingerprint of the conflict that is opened: there must be none of it.
    conflict: Option<&'a [u8]>,
    /// The document whose bodies are dropped: there must be no hold on it.
    document: Option<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(changes: &[&'a Change]) -> Self {
        let mut columns = Self {
            fresh: Vec::with_capacity(changes.len()),
            moved: Vec::with_capacity(changes.len()),
            told: Vec::with_capacity(changes.len()),
            kept: Vec::with_capacity(changes.len()),
            looks: Vec::new(),
            counted: Vec::with_capacity(changes.len() * 2),
        };
        for change in changes {
            match change {
                Change::Insert(new) => {
                    let NewOperation { operation, payload, look, entry, counts, day: _, amendment: _ } = new.as_ref();
                    columns.fresh.push(operation.into());
                    columns.kept.push((change.id(), "payload", payload));
                    columns.looks.extend(look.map(|look| (change.id(), look)));
                    columns.belongings(change.id(), entry, counts);
                }
                Change::Replace(replacement) => {
                    let Replacement {
                        operation,
                        entry,
                        conflict,
                        response,
                        counts,
                        decided: _,
                        evidence: _,
                        file: _,
                        supersedes: _,
                        recovery: _,
                        review: _,
                        amendment: _,
                        reconciled: _,
                        payload: _,
                        hold: _,
                        dropped,
                    } = replacement.as_ref();
                    let conflict = conflict.as_ref().map(|(conflict, _)| conflict.fingerprint.as_bytes().as_slice());
                    let document = dropped.as_ref().map(|document| document.as_bytes().as_slice());
                    columns.moved.push(Moved { row: operation.into(), conflict, document });
                    if let Some(response) = response {
                        columns.kept.push((change.id(), "response", response));
                    }
                    columns.belongings(change.id(), entry, counts);
                }
            }
        }
        // The order in which rows are locked.
        columns.moved.sort_unstable_by_key(|moved| moved.row.id);
        columns
    }

    fn belongings(&mut self, id: Uuid, entry: &Entry, counts: &[Count]) {
        self.told.push(EntryRow::of(crate::trail::ChainId::from_u128(id.as_u128()), entry));
        self.counted.extend(counts.iter().map(|count| (id, CountRow::from(count))));
    }

    fn statement(&self, slot: i64) -> sqlx::query::QueryScalar<'_, Postgres, Uuid, PgArguments> {
        macro_rules! column {
            ($rows:expr, |$row:pat_param| $value:expr) => {
                $rows.iter().map(|$row| $value).collect::<Vec<_>>()
            };
        }
        let Self { fresh, moved, told, kept, looks, counted } = self;
        sqlx::query_scalar(&STATEMENT)
            .bind(column!(fresh, |row| row.id))
            .bind(column!(fresh, |row| row.key_hash.as_slice()))
            .bind(column!(fresh, |row| row.workflow.as_str()))
            .bind(column!(fresh, |row| row.company.as_str()))
            .bind(column!(fresh, |row| row.source_system.as_str()))
            .bind(column!(fresh, |row| row.document.as_str()))
            .bind(column!(fresh, |row| row.action.as_str()))
            .bind(column!(fresh, |row| row.revision))
            .bind(column!(fresh, |row| row.state.as_str()))
            .bind(column!(fresh, |row| row.state_since))
            .bind(column!(fresh, |row| row.lease_expires_at))
            .bind(column!(fresh, |row| row.reason.as_deref()))
            .bind(column!(fresh, |row| row.destination_reference.as_deref()))
            .bind(column!(fresh, |row| row.version))
            .bind(column!(fresh, |row| row.head.as_slice()))
            .bind(column!(fresh, |row| row.fingerprint.as_slice()))
            .bind(column!(fresh, |row| row.fingerprint_scheme))
            .bind(column!(fresh, |row| row.policy_version))
            .bind(column!(fresh, |row| row.attempt))
            .bind(column!(fresh, |row| row.lease_token.as_deref()))
            .bind(column!(fresh, |row| row.attempt_token))
            .bind(column!(fresh, |row| row.begin_id.as_deref()))
            .bind(column!(fresh, |row| row.worker.as_deref()))
            .bind(column!(fresh, |row| row.begun_at))
            .bind(column!(fresh, |row| row.amount.as_deref()))
            .bind(column!(fresh, |row| row.currency.as_deref()))
            .bind(column!(fresh, |row| row.ten_thousandths))
            .bind(column!(fresh, |row| row.open_conflicts))
            .bind(column!(fresh, |row| row.created_at))
            .bind(column!(fresh, |row| row.updated_at))
            .bind(column!(moved, |Moved { row, .. }| row.id))
            .bind(column!(moved, |moved| moved.conflict))
            .bind(column!(moved, |moved| moved.document))
            .bind(column!(moved, |Moved { row, .. }| row.state.as_str()))
            .bind(column!(moved, |Moved { row, .. }| row.state_since))
            .bind(column!(moved, |Moved { row, .. }| row.lease_expires_at))
            .bind(column!(moved, |Moved { row, .. }| row.reason.as_deref()))
            .bind(column!(moved, |Moved { row, .. }| row.destination_reference.as_deref()))
            .bind(column!(moved, |Moved { row, .. }| row.version))
            .bind(column!(moved, |Moved { row, .. }| row.head.as_slice()))
            .bind(column!(moved, |Moved { row, .. }| row.attempt))
            .bind(column!(moved, |Moved { row, .. }| row.lease_token.as_deref()))
            .bind(column!(moved, |Moved { row, .. }| row.attempt_token))
            .bind(column!(moved, |Moved { row, .. }| row.begin_id.as_deref()))
            .bind(column!(moved, |Moved { row, .. }| row.worker.as_deref()))
            .bind(column!(moved, |Moved { row, .. }| row.begun_at))
            .bind(column!(moved, |Moved { row, .. }| row.open_conflicts))
            .bind(column!(moved, |Moved { row, .. }| row.updated_at))
            .bind(column!(moved, |Moved { row, .. }| row.dropped_at))
            .bind(column!(moved, |Moved { row, .. }| row.keeps_bodies))
            .bind(column!(moved, |Moved { row, .. }| row.payload_dropped_at))
            .bind(column!(told, |row| row.chain))
            .bind(column!(told, |row| row.sequence))
            .bind(column!(told, |row| row.at))
            .bind(column!(told, |row| row.actor.as_str()))
            .bind(column!(told, |row| row.kind.as_str()))
            .bind(column!(told, |row| row.detail.as_str()))
            .bind(column!(told, |row| row.hash.as_slice()))
            .bind(column!(kept, |(id, ..)| *id))
            .bind(column!(kept, |(_, kind, _)| *kind))
            .bind(column!(kept, |(.., content)| *content))
            .bind(column!(looks, |(id, _)| *id))
            .bind(column!(looks, |(_, look)| look.as_bytes().as_slice()))
            .bind(column!(counted, |(id, _)| *id))
            .bind(column!(counted, |(_, row)| row.workflow.as_str()))
            .bind(column!(counted, |(_, row)| row.company.as_str()))
            .bind(column!(counted, |(_, row)| row.counted.as_str()))
            .bind(column!(counted, |(_, row)| row.hour))
            .bind(column!(counted, |(_, row)| row.currency.as_str()))
            .bind(column!(counted, |(_, row)| row.number))
            .bind(column!(counted, |(_, row)| row.ten_thousandths))
            .bind(slot)
    }
}

/// What few changes bring along: conflicts, evidence, the operations that they supersede, recoveries, reviews and amendments.
struct Beside<'a> {
    conflicts: Vec<(ConflictRow, &'a str, Vec<[u8; 16]>)>,
    /// Each operation with the conflict of it that was decided.
    decided: Vec<(Uuid, Uuid, String)>,
    evidence: Vec<(EvidenceRow, Option<&'a [u8]>)>,
    /// Each superseded operation with its successor.
    superseded: Vec<(Uuid, Uuid)>,
    recoveries: Keeping,
    reviews: super::review::Keeping,
    /// New operations with their company and day.
    days: Vec<(Uuid, String, String)>,
    amendments: Amending<'a>,
    reconciled: Vec<ReconciledRow>,
    forgetting: Forgetting<'a>,
}

impl<'a> Beside<'a> {
    fn of(changes: &[&'a Change]) -> Self {
        let (conflicts, decided, evidence, superseded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (recoveries, reviews) = (Keeping::default(), super::review::Keeping::default());
        let days = changes.iter().filter_map(|change| day_of(change)).collect();
        let (amendments, reconciled, forgetting) = (Amending::default(), Vec::new(), Forgetting::default());
        let mut beside = Self {
            conflicts,
            decided,
            evidence,
            superseded,
            recoveries,
            reviews,
            days,
            amendments,
            reconciled,
            forgetting,
        };
        for change in changes {
            let replacement = match change {
                Change::Insert(new) => {
                    beside.amendments.take_new(new.amendment.as_ref(), &new.payload);
                    continue;
                }
                Change::Replace(replacement) => replacement,
            };
            let conflict = replacement.conflict.as_ref();
            beside.conflicts.extend(conflict.map(|(conflict, payload)| {
                let places = conflict.places.listed.iter().map(|place| place_key(place)).collect();
                (conflict.into(), payload.as_str(), places)
            }));
            let decided = replacement.decided.as_ref();
            beside.decided.extend(
                decided.map(|(conflict, decision)| {
                    (change.id(), Uuid::from_u128(conflict.as_u128()), json_text(decision))
                }),
            );
            let evidence = replacement.evidence.as_ref().map(EvidenceRow::from);
            beside.evidence.extend(evidence.map(|evidence| (evidence, replacement.file.as_deref())));
            let previous = replacement.supersedes.map(|previous| Uuid::from_u128(previous.as_u128()));
            beside.superseded.extend(previous.map(|previous| (previous, change.id())));
            beside.reconciled.extend(replacement.reconciled.as_ref().map(ReconciledRow::from));
            beside.recoveries.take(change.id(), &replacement.recovery);
            beside.reviews.take(change.id(), &replacement.review);
            beside.amendments.take(&replacement.operation, &replacement.amendment);
            beside.forgetting.take(change.id(), replacement);
        }
        beside
    }

    fn is_empty(&self) -> bool {
        self.conflicts.is_empty()
            && self.decided.is_empty()
            && self.evidence.is_empty()
            && self.superseded.is_empty()
            && self.recoveries.is_empty()
            && self.reviews.is_empty()
            && self.days.is_empty()
            && self.amendments.is_empty()
            && self.reconciled.is_empty()
            && self.forgetting.is_empty()
    }

    /// Stores what belongs to the operations that were changed.
    async fn store(mut self, connection: &mut PgConnection, stored: &[Uuid]) -> Result<(), sqlx::Error> {
        self.days.retain(|(operation, ..)| stored.contains(operation));
        keep_days(connection, self.days).await?;
        self.conflicts.retain(|(conflict, ..)| stored.contains(&conflict.operation));
        for (conflict, payload, places) in self.conflicts {
            let sql = format!(
                "INSERT INTO conflict ({}, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                ConflictRow::COLUMNS
            );
            bind_conflict(sqlx::query(&sql), &conflict).bind(payload).execute(&mut *connection).await?;
            let places: Vec<Vec<u8>> = places.into_iter().map(Vec::from).collect();
            let insert = sqlx::query(
                "INSERT INTO conflict_place (place, conflict) SELECT place, $2 FROM unnest($1::bytea[]) AS place",
            );
            insert.bind(places).bind(conflict.id).execute(&mut *connection).await?;
        }
        self.decided.retain(|(operation, ..)| stored.contains(operation));
        self.decided.sort_unstable();
        for (_, conflict, decision) in self.decided {
            let update = sqlx::query("UPDATE conflict SET is_open = false, decision = $2 WHERE id = $1 AND is_open");
            update.bind(conflict).bind(decision).execute(&mut *connection).await?;
        }
        self.evidence.retain(|(evidence, _)| stored.contains(&evidence.operation));
        for (evidence, content) in self.evidence {
            let sql = format!(
                "INSERT INTO evidence ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                EvidenceRow::COLUMNS
            );
            let id = evidence.id;
            let insert = sqlx::query(&sql)
                .bind(id)
                .bind(evidence.operation)
                .bind(evidence.at)
                .bind(evidence.actor)
                .bind(evidence.note)
                .bind(evidence.link)
                .bind(evidence.file_name)
                .bind(evidence.file_type)
                .bind(evidence.file_bytes)
                .bind(evidence.file_sha256);
            insert.execute(&mut *connection).await?;
            if let Some(content) = content {
                let insert = sqlx::query("INSERT INTO evidence_file (evidence, content) VALUES ($1, $2)");
                insert.bind(id).bind(content).execute(&mut *connection).await?;
            }
        }
        self.superseded.retain(|(_, successor)| stored.contains(successor));
        self.superseded.sort_unstable();
        for (previous, successor) in self.superseded {
            let update = sqlx::query("UPDATE operation SET superseded_by = $2 WHERE id = $1");
            update.bind(previous).bind(successor).execute(&mut *connection).await?;
        }
        self.amendments.store(connection, stored).await?;
        self.recoveries.store(connection, stored).await?;
        self.reviews.store(connection, stored).await?;
        self.forgetting.store(connection, stored).await?;
        self.reconciled.retain(|row| stored.contains(&row.operation));
        if self.reconciled.is_empty() { Ok(()) } else { put_reconciled(connection, self.reconciled).await }
    }
}

/// The day of a new operation, with its company.
fn day_of(change: &Change) -> Option<(Uuid, String, String)> {
    match change {
        Change::Insert(new) => Some((change.id(), new.operation.key.company.as_str().to_owned(), new.day?.to_string())),
        Change::Replace(_) => None,
    }
}

fn bind_conflict<'q>(
    query: Query<'q, Postgres, PgArguments>,
    conflict: &ConflictRow,
) -> Query<'q, Postgres, PgArguments> {
    let ConflictRow {
        id,
        operation,
        fingerprint,
        changes,
        changes_total,
        opened_at,
        hits,
        is_open,
        workflow,
        company,
        places,
        grouping_key,
        decision,
    } = conflict.clone();
    query
        .bind(id)
        .bind(operation)
        .bind(fingerprint)
        .bind(changes)
        .bind(changes_total)
        .bind(opened_at)
        .bind(hits)
        .bind(is_open)
        .bind(workflow)
        .bind(company)
        .bind(places)
        .bind(grouping_key)
        .bind(decision)
}
