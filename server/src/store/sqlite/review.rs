//! What people do about uncertain operations.

use async_trait::async_trait;
use guard::evidence::Evidence;
use guard::id::{EvidenceId, OperationId};
use guard::operation::Operation;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;
use guard::token::Reach;
use guard::triage::{Place, Step, Stretch, Triage};
use rusqlite::{Connection, OptionalExtension as _, params};
use uuid::Uuid;

use super::readers::one;
use super::work::{self, execute, key};
use super::{SqliteStore, fault, triage};
use crate::store::row::{EvidenceRow, ReviewRow};

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

    async fn steps(&self, triage: &Triage) -> Result<Vec<Step>, StoreFault> {
        let triage = triage.clone();
        self.read(move |connection| triage::steps(connection, &triage)).await
    }

    async fn places(
        &self,
        reach: &Reach,
        triage: &Triage,
        stretches: &[Stretch],
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        let questions: Vec<_> =
            stretches.iter().map(|stretch| triage::stretch_question(reach, triage, stretch, limit)).collect();
        self.read(move |connection| {
            let mut places = Vec::new();
            for question in questions {
                places.extend(triage::places(connection, question)?);
            }
            Ok(places)
        })
        .await
    }

    async fn places_by_age(
        &self,
        reach: &Reach,
        triage: &Triage,
        latest_first: bool,
        behind: Option<(i64, OperationId)>,
        limit: u32,
    ) -> Result<Vec<Place>, StoreFault> {
        let question = triage::age_question(reach, triage, latest_first, behind, limit);
        self.read(move |connection| triage::places(connection, question)).await
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
