//! Reads rows through rusqlite, column by column in the order of the `COLUMNS` constants.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use uuid::Uuid;

use super::{
    AccessRow, AmendmentRow, BodiesRow, ClosedPeriodRow, ConflictGroupRow, ConflictRow, CountRow, DayRow, DeliveryRow,
    DestinationRow, EntryRow, EvidenceRow, HoldRow, OpenDuplicatesRow, OperationRow, PeriodOperationRow, PersonRow,
    PullScheduleRow, ReceivedRow, ReconciledRow, ReconciliationRow, RecordDecisionRow, RecoveryRow, ReportRow,
    ReviewRow, RuleProposalRow, SealRow, SealingRow, TokenRow, TrailCheckRow, UnsettledRow, WorkflowRow,
    WorkflowVersionRow,
};

/// A row that rusqlite can read.
pub trait FromSqlite: Sized {
    /// The row.
    ///
    /// # Errors
    /// A column of another type; the error holds its place and name.
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self>;
}

/// Sixteen bytes as an id.
struct Id(Uuid);

impl FromSql for Id {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Uuid::from_slice(value.as_blob()?).map(Self).map_err(|fault| FromSqlError::Other(Box::new(fault)))
    }
}

/// Takes the columns of a row one after the other.
pub(super) struct Columns<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl<'row, 'statement> Columns<'row, 'statement> {
    pub(super) fn of(row: &'row Row<'statement>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let place = self.next;
        self.next += 1;
        self.row.get(place)
    }

    pub(super) fn id(&mut self) -> rusqlite::Result<Uuid> {
        self.take::<Id>().map(|id| id.0)
    }

    pub(super) fn id_or_none(&mut self) -> rusqlite::Result<Option<Uuid>> {
        Ok(self.take::<Option<Id>>()?.map(|id| id.0))
    }
}

impl FromSqlite for OperationRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            key_hash: columns.take()?,
            workflow: columns.take()?,
            company: columns.take()?,
            source_system: columns.take()?,
            document: columns.take()?,
            action: columns.take()?,
            revision: columns.take()?,
            state: columns.take()?,
            state_since: columns.take()?,
            lease_expires_at: columns.take()?,
            reason: columns.take()?,
            destination_reference: columns.take()?,
            dropped_at: columns.take()?,
            version: columns.take()?,
            head: columns.take()?,
            fingerprint: columns.take()?,
            fingerprint_scheme: columns.take()?,
            policy_version: columns.take()?,
            attempt: columns.take()?,
            lease_token: columns.take()?,
            attempt_token: columns.id_or_none()?,
            begin_id: columns.take()?,
            worker: columns.take()?,
            begun_at: columns.take()?,
            amount: columns.take()?,
            currency: columns.take()?,
            ten_thousandths: columns.take()?,
            superseded_by: columns.id_or_none()?,
            duplicates_prevented: columns.take()?,
            open_conflicts: columns.take()?,
            created_at: columns.take()?,
            updated_at: columns.take()?,
            keeps_bodies: columns.take()?,
            payload_dropped_at: columns.take()?,
        })
    }
}

impl FromSqlite for HoldRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            subject: columns.take()?,
            scope: columns.take()?,
            operation: columns.id()?,
            placed_by: columns.take()?,
            placed_at: columns.take()?,
            reason: columns.take()?,
        })
    }
}

impl FromSqlite for BodiesRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { kind: columns.take()?, number: columns.take()?, bytes: columns.take()? })
    }
}

impl FromSqlite for RecoveryRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            operation: columns.id()?,
            destination: columns.take()?,
            since: columns.take()?,
            last_write_at: columns.take()?,
            due_at: columns.take()?,
            lookups: columns.take()?,
            first_negative_at: columns.take()?,
            exists_at: columns.take()?,
            last_at: columns.take()?,
            last_answer: columns.take()?,
            last_reason: columns.take()?,
            claimed_by: columns.take()?,
            claimed_until: columns.take()?,
            exhausted_at: columns.take()?,
        })
    }
}

impl FromSqlite for UnsettledRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            workflow: columns.take()?,
            company: columns.take()?,
            state_since: columns.take()?,
            reason: columns.take()?,
            currency: columns.take()?,
            ten_thousandths: columns.take()?,
        })
    }
}

impl FromSqlite for ReviewRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            operation: columns.id()?,
            claimed_by: columns.take()?,
            claimed_at: columns.take()?,
            claimed_until: columns.take()?,
            waits_by: columns.take()?,
            waits_since: columns.take()?,
            waits_until: columns.take()?,
            waits_reason: columns.take()?,
            proposal: columns.take()?,
        })
    }
}

impl FromSqlite for AccessRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            destination: columns.take()?,
            version: columns.take()?,
            failures: columns.take()?,
            down_since: columns.take()?,
            down_reason: columns.take()?,
            probes: columns.take()?,
            probe_at: columns.take()?,
            paced_until: columns.take()?,
        })
    }
}

impl FromSqlite for ReconciliationRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { id: columns.id()?, content: columns.take()? })
    }
}

impl FromSqlite for ReportRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { run: columns.id()?, content: columns.take()? })
    }
}

impl FromSqlite for RecordDecisionRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { operation: columns.id()?, content: columns.take()? })
    }
}

impl FromSqlite for OpenDuplicatesRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { workflow: columns.take()?, company: columns.take()?, number: columns.take()?, run: columns.id()? })
    }
}

impl FromSqlite for PullScheduleRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            workflow: columns.take()?,
            company: columns.take()?,
            version: columns.take()?,
            content: columns.take()?,
        })
    }
}

impl FromSqlite for ReconciledRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { operation: columns.id()?, run: columns.id()?, bucket: columns.take()?, at: columns.take()? })
    }
}

impl FromSqlite for EntryRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            chain: columns.id()?,
            sequence: columns.take()?,
            at: columns.take()?,
            actor: columns.take()?,
            kind: columns.take()?,
            detail: columns.take()?,
            hash: columns.take()?,
        })
    }
}

impl FromSqlite for SealingRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { number: columns.take()?, at: columns.take()?, until: columns.take()?, hash: columns.take()? })
    }
}

impl FromSqlite for TrailCheckRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { at: columns.take()?, entries: columns.take()?, broken: columns.take()? })
    }
}

impl FromSqlite for ConflictRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            operation: columns.id()?,
            fingerprint: columns.take()?,
            changes: columns.take()?,
            changes_total: columns.take()?,
            opened_at: columns.take()?,
            hits: columns.take()?,
            is_open: columns.take()?,
            workflow: columns.take()?,
            company: columns.take()?,
            places: columns.take()?,
            grouping_key: columns.take()?,
            decision: columns.take()?,
        })
    }
}

impl FromSqlite for ConflictGroupRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            workflow: columns.take()?,
            places: columns.take()?,
            open: columns.take()?,
            hits: columns.take()?,
            oldest_at: columns.take()?,
            counted: columns.take()?,
            first: columns.take()?,
        })
    }
}

impl FromSqlite for AmendmentRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            operation: columns.id()?,
            revision: columns.take()?,
            base: columns.id()?,
            base_revision: columns.take()?,
            base_version: columns.take()?,
            base_fingerprint: columns.take()?,
            base_reference: columns.take()?,
            base_confirmed_at: columns.take()?,
            fingerprint: columns.take()?,
            changes: columns.take()?,
            changes_total: columns.take()?,
            proposed_by: columns.take()?,
            behind: columns.take()?,
            proposal_reason: columns.take()?,
            requested_by: columns.take()?,
            conflict: columns.id_or_none()?,
            correction: columns.take()?,
            rule_version: columns.take()?,
            because: columns.take()?,
            approvals_needed: columns.take()?,
            approvals: columns.take()?,
            proposed_at: columns.take()?,
            expires_at: columns.take()?,
            state: columns.take()?,
            settled_at: columns.take()?,
            settled_by: columns.take()?,
            settled_reason: columns.take()?,
        })
    }
}

impl FromSqlite for EvidenceRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            operation: columns.id()?,
            at: columns.take()?,
            actor: columns.take()?,
            note: columns.take()?,
            link: columns.take()?,
            file_name: columns.take()?,
            file_type: columns.take()?,
            file_bytes: columns.take()?,
            file_sha256: columns.take()?,
        })
    }
}

impl FromSqlite for DeliveryRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            operation: columns.id()?,
            at: columns.take()?,
            decision: columns.take()?,
            conflict: columns.id_or_none()?,
            worker: columns.take()?,
            delivery_id: columns.take()?,
            request_id: columns.take()?,
            workflow: columns.take()?,
            company: columns.take()?,
            amount: columns.take()?,
            currency: columns.take()?,
        })
    }
}

impl FromSqlite for CountRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            workflow: columns.take()?,
            company: columns.take()?,
            counted: columns.take()?,
            hour: columns.take()?,
            currency: columns.take()?,
            number: columns.take()?,
            ten_thousandths: columns.take()?,
        })
    }
}

impl FromSqlite for SealRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            number: columns.take()?,
            at: columns.take()?,
            until: columns.take()?,
            heads: columns.take()?,
            hash: columns.take()?,
        })
    }
}

impl FromSqlite for WorkflowRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            name: columns.take()?,
            version: columns.take()?,
            definition: columns.take()?,
            is_retired: columns.take()?,
        })
    }
}

impl FromSqlite for DestinationRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { name: columns.take()?, definition: columns.take()? })
    }
}

impl FromSqlite for PersonRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            email: columns.take()?,
            role: columns.take()?,
            reach: columns.take()?,
            password_hash: columns.take()?,
        })
    }
}

impl FromSqlite for TokenRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            name: columns.take()?,
            scopes: columns.take()?,
            reach: columns.take()?,
            created_at: columns.take()?,
            created_by: columns.take()?,
            revoked_at: columns.take()?,
        })
    }
}

impl FromSqlite for RuleProposalRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            workflow: columns.take()?,
            standing: columns.take()?,
            version: columns.take()?,
            volatile: columns.take()?,
            key_fields: columns.take()?,
            amendment: columns.take()?,
            proposal: columns.take()?,
        })
    }
}

impl FromSqlite for WorkflowVersionRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            name: columns.take()?,
            version: columns.take()?,
            definition: columns.take()?,
            is_retired: columns.take()?,
            changed_at: columns.take()?,
            changed_by: columns.take()?,
        })
    }
}

impl FromSqlite for ReceivedRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { conflict: ConflictRow::from_sqlite(row)?, payload: row.get("payload")? })
    }
}

impl FromSqlite for ClosedPeriodRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            company: columns.take()?,
            from_day: columns.take()?,
            to_day: columns.take()?,
            standing: columns.take()?,
            period: columns.take()?,
        })
    }
}

impl FromSqlite for PeriodOperationRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self {
            id: columns.id()?,
            workflow: columns.take()?,
            source_system: columns.take()?,
            action: columns.take()?,
            state: columns.take()?,
            amount: columns.take()?,
            currency: columns.take()?,
            is_superseded: columns.take()?,
            is_reversal: columns.take()?,
            open_conflicts: columns.take()?,
            created_at: columns.take()?,
            updated_at: columns.take()?,
            day: columns.take()?,
        })
    }
}

impl FromSqlite for DayRow {
    fn from_sqlite(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut columns = Columns::of(row);
        Ok(Self { operation: columns.id()?, day: columns.take()? })
    }
}
