//! What people do about uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::incident::Unsettled;
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Look, Part, Place, Seen, Step, Stretch, Triage};
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use uuid::Uuid;

use super::list::{self, Question};
use super::readers::{all, one};
use super::work::{self, execute, key};
use super::{SqliteStore, fault, triage};
use crate::store::row::{EvidenceRow, ReviewRow, UnsettledRow};

/// What a change of an operation makes of its review, as a row.
pub(super) enum Keeping {
    Keep,
    Put(Box<ReviewRow>),
    End,
}

impl From<ReviewChange> for Keeping {
    fn from(change: ReviewChange) -> Self {
        match change {
            ReviewChange::Keep => Self::Keep,
            ReviewChange::Put(review) => Self::Put(Box::new(review.as_ref().into())),
            ReviewChange::End => Self::End,
        }
    }
}

impl Keeping {
    /// Writes it for an operation.
    pub(super) fn write(&self, transaction: &Connection, operation: &Uuid) -> Result<(), StoreFault> {
        match self {
            Self::Keep => Ok(()),
            Self::Put(row) => {
                let sql = format!(
                    "INSERT OR REPLACE INTO review ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    ReviewRow::COLUMNS
                );
                let values = params![
                    &row.operation.as_bytes()[..],
                    row.claimed_by,
                    row.claimed_at,
                    row.claimed_until,
                    row.waits_by,
                    row.waits_since,
                    row.waits_until,
                    row.waits_reason,
                    row.proposal,
                ];
                execute(transaction, "review", operation, &sql, values).map(drop)
            }
            Self::End => {
                let sql = "DELETE FROM review WHERE operation = ?1";
                execute(transaction, "review", operation, sql, [&operation.as_bytes()[..]]).map(drop)
            }
        }
    }
}

#[async_trait]
impl Reviews for SqliteStore {
    async fn reviews(&self, operations: &[OperationId]) -> Result<Vec<Review>, StoreFault> {
        let operations = operations.to_vec();
        self.read(move |connection| {
            let sql = format!("SELECT {} FROM review WHERE operation = ?1", ReviewRow::COLUMNS);
            let found = operations
                .iter()
                .map(|operation| one::<ReviewRow, _>(connection, "review", &sql, [key(*operation)]).transpose());
            found.flatten().collect()
        })
        .await
    }

    async fn evidence_file(&self, id: EvidenceId) -> Result<Option<(Evidence, Vec<u8>)>, StoreFault> {
        self.read(move |connection| {
            let key = id.as_u128().to_be_bytes();
            let content: rusqlite::Result<Option<Vec<u8>>> = connection
                .prepare_cached("SELECT content FROM evidence_file WHERE evidence = ?1")
                .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional());
            let content = content.map_err(|error| fault::of(&error, "evidence_file", &id))?;
            let sql = format!("SELECT {} FROM evidence WHERE id = ?1", EvidenceRow::COLUMNS);
            Ok(one::<EvidenceRow, Evidence>(connection, "evidence", &sql, [key])?.zip(content))
        })
        .await
    }

    async fn latest_unknown(&self, reach: &Reach, limit: u32) -> Result<Vec<Unsettled>, StoreFault> {
        let Question { sql, values } = list::latest_unknown(reach, limit);
        self.read(move |connection| all::<UnsettledRow, _>(connection, "operation", &sql, params_from_iter(values)))
            .await
    }

    async fn steps(&self, parts: &[Part]) -> Result<Vec<(Part, Step)>, StoreFault> {
        let parts = parts.to_vec();
        self.read(move |connection| {
            let mut steps = Vec::new();
            for part in &parts {
                steps.extend(triage::steps(connection, part)?);
            }
            Ok(steps)
        })
        .await
    }

    async fn places(&self, triage: &Triage, stretches: &[Stretch], look: Look) -> Result<Seen, StoreFault> {
        let (triage, stretches) = (triage.clone(), stretches.to_vec());
        self.read(move |connection| triage::places(connection, &triage, &stretches, look)).await
    }

    async fn places_reviewed(&self, triage: &Triage, most: u32) -> Result<Option<Vec<Place>>, StoreFault> {
        let triage = triage.clone();
        self.read(move |connection| triage::places_reviewed(connection, &triage, most)).await
    }

    async fn operations_of(&self, ids: &[OperationId]) -> Result<Vec<Operation>, StoreFault> {
        let ids = ids.to_vec();
        self.read(move |connection| {
            let found = ids.iter().map(|id| work::operation(connection, *id).transpose());
            found.flatten().collect()
        })
        .await
    }
}
