//! Bodies that may be forgotten, and legal holds.

use std::sync::LazyLock;

use async_trait::async_trait;
use guard::clock::Timestamp;
use guard::id::OperationId;
use guard::operation::Operation;
use guard::recovery::Claim;
use guard::refusal::StoreFault;
use guard::retention::{Bodies, DuePlace, Hold, HoldChange, HoldSubject};
use guard::store::{Replacement, Retentions};
use sqlx::PgConnection;
use uuid::Uuid;

use super::connection::bounded;
use super::{PostgresStore, uuid};
use crate::store::row::{BodiesRow, HoldRow, OperationRow, Place, to_drop};

/// What is due behind a place.
static DUE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM operation WHERE {} AND workflow = $1 AND updated_at <= $2 AND (updated_at, id) > ($3, $4) \
         ORDER BY updated_at, id LIMIT $5",
        OperationRow::COLUMNS,
        to_drop("keeps_bodies")
    )
});

/// How much is due.
static COUNT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT count(*) FROM (SELECT 1 FROM operation WHERE {} AND workflow = $1 AND updated_at <= $2 LIMIT $3) AS due",
        to_drop("keeps_bodies")
    )
});

/// A sum of numbers is a wider type here than in SQLite.
static BODIES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT kind, number, bytes::bigint AS bytes FROM ({}) AS counted WHERE number > 0",
        BodiesRow::counted("$1")
    )
});

static DROPPED: LazyLock<[String; 6]> = LazyLock::new(|| BodiesRow::dropped("$1"));

/// What stands on an operation and is under way.
const BUILT_ON: &str = "SELECT operation.id FROM amendment JOIN operation ON operation.id = amendment.operation \
     WHERE amendment.base = $1 AND (amendment.state IN ('awaiting_approval', 'approved') \
       OR operation.state IN ('awaiting_approval', 'acquired', 'sending', 'unknown', 'disputed')) LIMIT 1";

/// What changes of a batch make of holds and bodies.
#[derive(Default)]
pub(super) struct Forgetting<'a> {
    holds: Vec<(Uuid, &'a HoldChange)>,
    dropped: Vec<Uuid>,
    /// Payloads that come again, each with its operation.
    again: Vec<(Uuid, &'a str)>,
}

impl<'a> Forgetting<'a> {
    /// Takes in the change of an operation.
    pub(super) fn take(&mut self, operation: Uuid, replacement: &'a Replacement) {
        match &replacement.hold {
            HoldChange::Keep => {}
            change @ (HoldChange::Place(_) | HoldChange::Lift(_)) => self.holds.push((operation, change)),
        }
        self.dropped.extend(replacement.dropped.map(|_| operation));
        self.again.extend(replacement.payload.as_deref().map(|payload| (operation, payload)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.dropped.is_empty() && self.again.is_empty()
    }

    /// Stores it for the operations that were changed.
    pub(super) async fn store(mut self, connection: &mut PgConnection, stored: &[Uuid]) -> Result<(), sqlx::Error> {
        self.dropped.retain(|operation| stored.contains(operation));
        self.dropped.sort_unstable();
        for operation in self.dropped {
            for sql in &*DROPPED {
                sqlx::query(sql).bind(operation).execute(&mut *connection).await?;
            }
        }
        for (operation, payload) in self.again.into_iter().filter(|(operation, _)| stored.contains(operation)) {
            let sql = "INSERT INTO body (operation, kind, content) VALUES ($1, 'payload', $2) \
                       ON CONFLICT (operation, kind) DO UPDATE SET content = excluded.content";
            sqlx::query(sql).bind(operation).bind(payload).execute(&mut *connection).await?;
        }
        for (_, change) in self.holds.into_iter().filter(|(operation, _)| stored.contains(operation)) {
            match change {
                HoldChange::Keep => {}
                HoldChange::Place(hold) => {
                    let row = HoldRow::from(&**hold);
                    let sql = format!(
                        "INSERT INTO legal_hold ({}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (subject) DO UPDATE \
                         SET scope = excluded.scope, operation = excluded.operation, placed_by = excluded.placed_by, \
                             placed_at = excluded.placed_at, reason = excluded.reason",
                        HoldRow::COLUMNS
                    );
                    let insert = sqlx::query(&sql).bind(row.subject).bind(row.scope).bind(row.operation);
                    let insert = insert.bind(row.placed_by).bind(row.placed_at).bind(row.reason);
                    insert.execute(&mut *connection).await?;
                }
                HoldChange::Lift(subject) => {
                    let delete = sqlx::query("DELETE FROM legal_hold WHERE subject = $1");
                    delete.bind(subject.as_bytes().as_slice()).execute(&mut *connection).await?;
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Retentions for PostgresStore {
    async fn due_to_drop(
        &self,
        workflow: &str,
        until: Timestamp,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Result<Vec<Operation>, StoreFault> {
        let (moment, id) = after.map_or((i64::MIN, 0), |(moment, id)| (moment.timestamp_millis(), id.as_u128()));
        let due = sqlx::query(&DUE).bind(workflow).bind(until.timestamp_millis()).bind(moment);
        self.all::<OperationRow, _>(due.bind(Uuid::from_u128(id)).bind(i64::from(limit))).await
    }

    async fn count_due_to_drop(&self, workflow: &str, until: Timestamp, limit: u32) -> Result<u32, StoreFault> {
        let mut connection = self.connection().await?;
        let count = sqlx::query_scalar::<_, i64>(&COUNT).bind(workflow).bind(until.timestamp_millis());
        let counted = bounded(count.bind(i64::from(limit)).fetch_one(&mut *connection)).await;
        let counted = counted.map_err(|trouble| trouble.fault(&"counts"))?;
        Place::new("operation", &"counts").number("updated_at", counted)
    }

    async fn bodies(&self, operation: OperationId) -> Result<Vec<Bodies>, StoreFault> {
        self.all::<BodiesRow, _>(sqlx::query(&BODIES).bind(uuid(operation))).await
    }

    async fn holds(&self, subjects: &[HoldSubject]) -> Result<Vec<Hold>, StoreFault> {
        let subjects: Vec<Vec<u8>> = subjects.iter().map(|subject| subject.as_bytes().to_vec()).collect();
        let sql = format!("SELECT {} FROM legal_hold WHERE subject = ANY($1)", HoldRow::COLUMNS);
        self.all::<HoldRow, _>(sqlx::query(&sql).bind(subjects)).await
    }

    async fn built_on(&self, base: OperationId) -> Result<Option<OperationId>, StoreFault> {
        let mut connection = self.connection().await?;
        let found = sqlx::query_scalar::<_, Uuid>(BUILT_ON).bind(uuid(base)).fetch_optional(&mut *connection);
        let found = bounded(found).await.map_err(|trouble| trouble.fault(&base))?;
        Ok(found.map(|id| OperationId::from_u128(id.as_u128())))
    }

    async fn claim_sweep(&self, now: Timestamp, claim: &Claim) -> Result<bool, StoreFault> {
        let sql = "UPDATE body_sweep SET claimed_by = $1, claimed_until = $2 \
                   WHERE number = 1 AND (claimed_until IS NULL OR claimed_until <= $3 OR claimed_by = $1)";
        let update = sqlx::query(sql).bind(claim.by.clone()).bind(claim.until.timestamp_millis());
        let mut connection = self.connection().await?;
        let done = bounded(update.bind(now.timestamp_millis()).execute(&mut *connection)).await;
        Ok(done.map_err(|trouble| trouble.fault(&"body_sweep"))?.rows_affected() > 0)
    }
}
