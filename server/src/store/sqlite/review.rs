//! What people do about uncertain operations.

use async_trait::async_trait;
use guard::id::OperationId;
use guard::refusal::StoreFault;
use guard::review::{Review, ReviewChange};
use guard::store::Reviews;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::SqliteStore;
use super::readers::one;
use super::work::{execute, key};
use crate::store::row::ReviewRow;

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
}
